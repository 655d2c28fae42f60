package cell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

const filePrefix = "package p;"

func (p *parsed) parseImport(sp span) Problems {
	text := p.src.text[sp.start:sp.end]
	if strings.HasPrefix(text, "package") {
		return nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", filePrefix+text, parser.ImportsOnly)
	if err != nil {
		return p.shifted(sp, err)
	}
	for _, im := range f.Imports {
		path, err := strconv.Unquote(im.Path.Value)
		if err != nil {
			continue
		}
		spec := importSpec{path: path, off: sp.start + fset.Position(im.Pos()).Offset - len(filePrefix)}
		if im.Name != nil {
			spec.name = im.Name.Name
		}
		p.imports = append(p.imports, spec)
	}
	return nil
}

// shifted maps parser errors of a span that stood behind filePrefix.
func (p *parsed) shifted(sp span, err error) Problems {
	part := newSource(p.src.file, p.src.text[sp.start:sp.end])
	ps := problemsOf(part, err, len(filePrefix))
	line, col := p.src.position(sp.start)
	for i := range ps {
		if ps[i].Line == 1 {
			ps[i].Col += col - 1
		}
		ps[i].Line += line - 1
	}
	return ps
}

func (p *parsed) parseFunc(sp span) Problems {
	pc := p.piece(sp)
	f, err := parser.ParseFile(token.NewFileSet(), "", filePrefix+pc.text, 0)
	if err != nil {
		return p.shifted(sp, err)
	}
	fd, ok := f.Decls[0].(*ast.FuncDecl)
	if !ok {
		return nil
	}
	if fd.Body == nil {
		return Problems{{p.src.file, pc.line, pc.col, "missing function body"}}
	}
	d := &decl{kind: token.FUNC, names: []string{fd.Name.Name}, piece: pc, free: freeNames(filePrefix + pc.text)}
	if fd.Recv != nil && len(fd.Recv.List) == 1 {
		d.recv = receiver(fd.Recv.List[0].Type)
		d.free = append(d.free, d.recv)
	} else if name := fd.Name.Name; name == "main" || name == "init" || strings.HasPrefix(name, "init_") {
		// They run when the cell runs, and are renamed: a package has one init
		// mechanism of its own, which cells do not use.
		if name == "main" || name == "init" {
			at := int(fd.Name.Pos()) - 1 - len(filePrefix)
			unique := name + Mark + strconv.Itoa(len(p.inits)+1)
			d.piece.text = d.piece.text[:at] + unique + d.piece.text[at+len(name):]
			d.names[0] = unique
		}
		p.inits = append(p.inits, d.names[0])
	}
	p.decls = append(p.decls, d)
	return nil
}

// receiver returns the base type name of a method receiver.
func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
