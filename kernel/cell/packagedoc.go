package cell

import (
	"go/ast"
	"go/build"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// packageDoc is the documentation of one package, read from its source.
type packageDoc struct {
	pkg     *doc.Package
	fset    *token.FileSet
	sources map[string]span // "Func" or "Type.Method" -> its text in file
	files   map[string]string
	fields  map[string]string // "Type.Field" -> comment
}

// documentation reads a package's source, once. It returns nil where there is
// no source to read.
func (l *language) documentation(pkgs Packages, path string) *packageDoc {
	if d, ok := l.docs[path]; ok {
		return d
	}
	cat, ok := pkgs.(Catalog)
	if !ok {
		return nil
	}
	dir := cat.SourceDir(path)
	if dir == "" {
		return nil
	}
	d := readDoc(dir, path)
	l.docs[path] = d
	return d
}

func readDoc(dir, path string) *packageDoc {
	bp, err := build.Default.ImportDir(dir, 0)
	if err != nil && bp == nil {
		return nil
	}
	d := &packageDoc{fset: token.NewFileSet(), sources: map[string]span{}, files: map[string]string{}, fields: map[string]string{}}
	fset := d.fset
	var files []*ast.File
	for _, name := range append(bp.GoFiles, bp.CgoFiles...) {
		file := filepath.Join(dir, name)
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if f == nil || err != nil {
			continue
		}
		files = append(files, f)
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				key := decl.Name.Name
				if decl.Recv != nil && len(decl.Recv.List) == 1 {
					key = receiver(decl.Recv.List[0].Type) + "." + key
				}
				d.sources[key] = span{fset.Position(decl.Pos()).Offset, fset.Position(decl.End()).Offset}
				d.files[key] = file
			case *ast.GenDecl:
				for _, s := range decl.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok {
						fieldComments(ts, d.fields)
					}
				}
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	mode := doc.Mode(0)
	if path == "builtin" {
		mode = doc.AllDecls
	}
	d.pkg, err = doc.NewFromFiles(fset, files, path, mode)
	if err != nil {
		return nil
	}
	return d
}

// fieldComments notes the comments on a type's fields and interface methods.
func fieldComments(ts *ast.TypeSpec, into map[string]string) {
	var list *ast.FieldList
	switch t := ts.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, f := range list.List {
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for _, n := range f.Names {
			into[ts.Name.Name+"."+n.Name] = text
		}
	}
}

// comment returns the documentation of a package-level name, or of a member
// ("Type", "Member").
func (d *packageDoc) comment(typ, name string) string {
	if d == nil {
		return ""
	}
	p := d.pkg
	if typ != "" {
		for _, t := range p.Types {
			if t.Name == typ {
				for _, m := range t.Methods {
					if m.Name == name {
						return m.Doc
					}
				}
			}
		}
		return d.fields[typ+"."+name]
	}
	values := append(append([]*doc.Value{}, p.Consts...), p.Vars...)
	funcs := append([]*doc.Func{}, p.Funcs...)
	for _, t := range p.Types {
		if t.Name == name {
			return t.Doc
		}
		values = append(append(values, t.Consts...), t.Vars...)
		funcs = append(funcs, t.Funcs...)
	}
	for _, f := range funcs {
		if f.Name == name {
			return f.Doc
		}
	}
	for _, v := range values {
		for _, n := range v.Names {
			if n == name {
				return valueComment(v, name)
			}
		}
	}
	return ""
}

// valueComment prefers the comment on the name's own line to the group's.
func valueComment(v *doc.Value, name string) string {
	for _, s := range v.Decl.Specs {
		vs, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, n := range vs.Names {
			if n.Name != name {
				continue
			}
			if t := vs.Doc.Text(); t != "" {
				return t
			}
			if t := vs.Comment.Text(); t != "" {
				return t
			}
		}
	}
	return v.Doc
}

// declaration is a type's declaration as its package's documentation shows it.
func (d *packageDoc) declaration(name string) string {
	if d == nil {
		return ""
	}
	for _, t := range d.pkg.Types {
		if t.Name == name {
			t.Decl.Doc = nil
			var b strings.Builder
			if format.Node(&b, d.fset, t.Decl) != nil {
				return ""
			}
			return b.String()
		}
	}
	return ""
}

// source returns the text of a function or method.
func (d *packageDoc) source(key string) string {
	if d == nil {
		return ""
	}
	sp, ok := d.sources[key]
	if !ok {
		return ""
	}
	data, err := os.ReadFile(d.files[key])
	if err != nil || sp.end > len(data) {
		return ""
	}
	return string(data[sp.start:sp.end])
}
