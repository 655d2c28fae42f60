package cell

import (
	"go/ast"
	"go/token"
	"strings"
)

// piece is a stretch of user text that is emitted into a generated file. The
// edits, by offset in text, are applied in the second emission.
type piece struct {
	text      string
	file      string
	line, col int
	edits     []edit
}

type edit struct {
	start, end int // replaced range; start == end inserts
	text       string
	order      int
}

// decl is one declaration of the session.
type decl struct {
	kind  token.Token // FUNC, TYPE, VAR, CONST
	names []string    // what it declares; a method: its own name
	recv  string      // receiver base type of a method
	piece piece       // FUNC, TYPE, CONST: the declaration; VAR: see below
	free  []string    // names that it uses
	// imports binds the package names among free to import paths, as they
	// were when the declaration was made.
	imports map[string]string

	// Variables. The piece holds "var a, b = init" only for the first check and
	// for types that cannot be written down.
	typ       string            // spelled type, empty if it cannot be written
	typFree   []string          // names in typ that are not imports
	typeSig   string            // the structure of the type, names of ours expanded
	symbol    string            // name of the memory
	versions  map[string]string // types of ours that typ reaches -> symbol
	exprNames []string          // all names on the left side when typ is empty
	// predeclared says that it is one of the variables that every session has.
	predeclared bool
}

// assign is a variable declaration or := at the top level of a cell, before
// its variables have types.
type assign struct {
	names  []string // left side, "_" where blank or already declared in this cell
	all    []string // left side as the user wrote it
	typ    *piece   // explicit type
	values *piece   // right side, nil for var x T
	at     int      // offset, for errors
	// declared says that it is a var declaration, not a :=.
	declared bool
	// singles are the variables of var a, b = x, y one by one.
	singles []*assign
	// run numbers the declarations that stand together, from 1; see arrange.
	run int
}

// item is one top-level element of a cell's body in source order.
type item struct {
	stmt   *piece  // a statement to run
	assign *assign // or an assignment to run
	result bool    // stmt is the trailing expression
	quiet  bool    // ... whose value the user suppressed with a semicolon
}

// parsed is a cell after parsing.
type parsed struct {
	src     *source
	imports []importSpec
	decls   []*decl
	items   []item
	inits   []string // functions init_* and main that the cell declares, called before the body
}

type importSpec struct {
	name, path string // name is "" unless given
	off        int
}

// parse splits a cell's Go text into its parts.
func parse(src *source) (*parsed, Problems) {
	p := &parsed{src: src}
	if ps := p.directives(); ps != nil {
		return nil, ps
	}
	imports, funcs := topLevel(src.text)
	for _, sp := range imports {
		if ps := p.parseImport(sp); ps != nil {
			return nil, ps
		}
	}
	for _, sp := range funcs {
		if ps := p.parseFunc(sp); ps != nil {
			return nil, ps
		}
	}
	rest := blank(src.text, append(append([]span{}, imports...), funcs...)...)
	body, offset, ps := parseBody(src, rest)
	if ps != nil {
		return nil, ps
	}
	declared := map[string]bool{}
	for i, s := range body.List {
		sp := span{offset(s.Pos()), min(offset(s.End()), len(src.text))} // a label at the end reaches to the brace that was added
		if ps := p.statement(s, sp, offset, declared, i == len(body.List)-1); ps != nil {
			return nil, ps
		}
	}
	return p, nil
}

// directives refuses what would be a comment without effect in a cell: a
// variable would stay empty where a package gives it a file's content.
func (p *parsed) directives() Problems {
	const embed = "//go:embed "
	for i, at := range p.src.lines {
		if strings.HasPrefix(p.src.text[at:], embed) && codeAt(p.src.text, at) {
			return Problems{{p.src.file, i + 1, 1, "go:embed does not work in cells; read the file with os.ReadFile"}}
		}
	}
	return nil
}

// codeAt reports whether an offset lies outside of strings and comments.
func codeAt(text string, at int) bool {
	for _, t := range scan(text[:at]) {
		if t.tok == token.STRING && len(t.lit) > 0 && t.lit[0] == '`' && (len(t.lit) == 1 || !strings.HasSuffix(t.lit, "`")) {
			return false
		}
	}
	return true
}

func (p *parsed) piece(sp span) piece {
	line, col := p.src.position(sp.start)
	return piece{text: p.src.text[sp.start:sp.end], file: p.src.file, line: line, col: col}
}

func (p *parsed) statement(s ast.Stmt, sp span, offset func(token.Pos) int, declared map[string]bool, last bool) Problems {
	switch s := s.(type) {
	case *ast.EmptyStmt:
		return nil
	case *ast.DeclStmt:
		gd := s.Decl.(*ast.GenDecl)
		switch gd.Tok {
		case token.CONST:
			pc := p.piece(sp)
			d := &decl{kind: token.CONST, piece: pc, free: freeNames("package p;" + pc.text)}
			for _, spec := range gd.Specs {
				for _, n := range spec.(*ast.ValueSpec).Names {
					d.names = append(d.names, n.Name)
				}
			}
			p.decls = append(p.decls, d)
		case token.TYPE:
			for _, spec := range gd.Specs {
				ts := spec.(*ast.TypeSpec)
				pc := p.piece(span{offset(ts.Pos()), offset(ts.End())})
				p.decls = append(p.decls, &decl{kind: token.TYPE, names: []string{ts.Name.Name}, piece: pc, free: freeNames("package p;type " + pc.text)})
			}
		case token.VAR:
			for _, spec := range gd.Specs {
				vs := spec.(*ast.ValueSpec)
				a := &assign{at: offset(vs.Pos()), declared: true}
				for _, n := range vs.Names {
					a.names, a.all = append(a.names, n.Name), append(a.all, n.Name)
					declared[n.Name] = true
				}
				if vs.Type != nil {
					pc := p.piece(span{offset(vs.Type.Pos()), offset(vs.Type.End())})
					a.typ = &pc
				}
				if len(vs.Values) > 0 {
					pc := p.piece(span{offset(vs.Values[0].Pos()), offset(vs.Values[len(vs.Values)-1].End())})
					a.values = &pc
				}
				if n := len(vs.Names); n > 1 && n == len(vs.Values) {
					for i, name := range vs.Names {
						values := p.piece(span{offset(vs.Values[i].Pos()), offset(vs.Values[i].End())})
						one := &assign{at: offset(name.Pos()), declared: true, names: []string{name.Name}, all: []string{name.Name}, values: &values}
						if a.typ != nil {
							typ := *a.typ
							one.typ = &typ
						}
						a.singles = append(a.singles, one)
					}
				}
				p.items = append(p.items, item{assign: a})
			}
		}
		return nil
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			break
		}
		a := &assign{at: sp.start}
		fresh := false
		for _, l := range s.Lhs {
			id, ok := l.(*ast.Ident)
			if !ok {
				line, col := p.src.position(offset(l.Pos()))
				return Problems{{p.src.file, line, col, "non-name " + p.src.text[offset(l.Pos()):offset(l.End())] + " on left side of :="}}
			}
			a.all = append(a.all, id.Name)
			if id.Name == "_" || declared[id.Name] {
				a.names = append(a.names, "_")
				continue
			}
			a.names = append(a.names, id.Name)
			declared[id.Name] = true
			fresh = true
		}
		if !fresh {
			line, col := p.src.position(offset(s.TokPos))
			return Problems{{p.src.file, line, col, "no new variables on left side of :="}}
		}
		pc := p.piece(span{offset(s.Rhs[0].Pos()), offset(s.Rhs[len(s.Rhs)-1].End())})
		a.values = &pc
		p.items = append(p.items, item{assign: a})
		return nil
	case *ast.ExprStmt:
		if last {
			pc := p.piece(sp)
			rest := strings.TrimLeft(p.src.text[sp.end:], " \t\r")
			p.items = append(p.items, item{stmt: &pc, result: true, quiet: strings.HasPrefix(rest, ";")})
			return nil
		}
	}
	pc := p.piece(sp)
	p.items = append(p.items, item{stmt: &pc})
	return nil
}

// freeOf returns the names that the cell's body uses, declarations apart.
func (it item) free() []string {
	switch {
	case it.stmt != nil:
		return freeNames(bodyPrefix + it.stmt.text + "\n}")
	default:
		var names []string
		if it.assign.typ != nil {
			names = append(names, freeNames("package p;var _ "+it.assign.typ.text)...)
		}
		if it.assign.values != nil {
			names = append(names, freeNames("package p;var _ = "+it.assign.values.text)...)
		}
		return names
	}
}
