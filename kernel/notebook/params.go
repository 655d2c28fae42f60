package notebook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Param is one parameter as the user wrote it: -p Name=Value.
type Param struct{ Name, Value string }

// ParseParam splits "name=value".
func ParseParam(s string) (Param, error) {
	name, value, ok := strings.Cut(s, "=")
	name = strings.TrimSpace(name)
	if !ok || !token.IsIdentifier(name) {
		return Param{}, fmt.Errorf("parameter %q: expected name=value with a Go identifier as the name, for example -p size=1024", s)
	}
	return Param{Name: name, Value: value}, nil
}

// Inject puts params into nb as papermill does: a cell tagged
// "injected-parameters" after the one tagged "parameters" (or at the top when
// there is none), replacing an injected cell of an earlier run.
//
// A parameter that the parameters cell declares is assigned, so it keeps its
// declared type and the compiler checks the value; one that it does not declare
// is an error that lists the names there are. Without a parameters cell each
// parameter is declared, and a cell that declares it, too, is an error, since it
// would undo the parameter. A value is taken as a Go expression where the declared
// value is not a string, else it is quoted unless it is a string literal
// already; undeclared parameters take Go literals as they are and quote the rest.
func Inject(nb *Notebook, params []Param) error {
	if len(params) == 0 {
		return nil
	}
	cells := slices.DeleteFunc(slices.Clone(nb.Cells), func(c *Cell) bool { return c.HasTag(TagInjected) })
	at, known := 0, map[string]declared(nil)
	for i, c := range cells {
		if c.Type == Code && c.HasTag(TagParameters) {
			var err error
			if known, err = declarations(c.Source); err != nil {
				return fmt.Errorf("cell %d (tagged %q): %w", i+1, TagParameters, err)
			}
			at = i + 1
			break
		}
	}
	var b strings.Builder
	b.WriteString("// Parameters")
	for _, p := range params {
		var line string
		switch d, ok := known[p.Name]; {
		case known == nil:
			if n := setBy(cells, p.Name); n > 0 {
				return fmt.Errorf("parameter %q: cell %d sets %s itself, and no cell is tagged %q; tag cell %d so, and the value goes behind it",
					p.Name, n, p.Name, TagParameters, n)
			}
			line = fmt.Sprintf("var %s = %s", p.Name, literal(p.Value, false))
		case !ok:
			names := make([]string, 0, len(known))
			for n := range known {
				names = append(names, n)
			}
			slices.Sort(names)
			return fmt.Errorf("parameter %q: cell %d, tagged %q, declares no such name; it declares %s",
				p.Name, at, TagParameters, orNone(names))
		case d.text:
			line = assign(d, p.Name, quoted(p.Value))
		default:
			line = assign(d, p.Name, literal(p.Value, true))
		}
		b.WriteString("\n" + line)
	}
	nb.Cells = slices.Insert(cells, at, NewCell(Code, b.String(), TagInjected))
	nb.ensureIDs()
	return nil
}

// setBy is the number of the first cell that declares the name at its top
// level, or 0.
func setBy(cells []*Cell, name string) int {
	for i, c := range cells {
		if c.Type != Code {
			continue
		}
		if known, err := declarations(c.Source); err == nil {
			if _, ok := known[name]; ok {
				return i + 1
			}
		}
	}
	return 0
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func assign(d declared, name, value string) string {
	if d.constant { // a constant cannot be assigned; declaring it again replaces it
		return "const " + name + " = " + value
	}
	return name + " = " + value
}

// declared is what a parameters cell says of one name.
type declared struct{ text, constant bool }

// declarations finds the variables and constants that a cell declares at its
// top level, whether it is written as statements or as declarations.
func declarations(src string) (map[string]declared, error) {
	var kept strings.Builder
	for line := range strings.Lines(src) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, "%") || strings.HasPrefix(t, "!") {
			line = "\n" // a command of the cell language, not Go
		}
		kept.WriteString(line)
	}
	out := map[string]declared{}
	add := func(constant bool, typ ast.Expr, names []ast.Expr, values []ast.Expr) {
		for i, n := range names {
			id, ok := n.(*ast.Ident)
			if !ok || id.Name == "_" {
				continue
			}
			d := declared{constant: constant}
			if t, ok := typ.(*ast.Ident); ok {
				d.text = t.Name == "string"
			} else if typ == nil && i < len(values) {
				lit, ok := values[i].(*ast.BasicLit)
				d.text = ok && lit.Kind == token.STRING
			}
			out[id.Name] = d
		}
	}
	decl := func(d ast.Decl) {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			return
		}
		for _, s := range gen.Specs {
			if v, ok := s.(*ast.ValueSpec); ok {
				names := make([]ast.Expr, len(v.Names))
				for i, n := range v.Names {
					names[i] = n
				}
				add(gen.Tok == token.CONST, v.Type, names, v.Values)
			}
		}
	}
	const head = "package p; func _() {\n"
	file, bodyErr := parser.ParseFile(token.NewFileSet(), "parameters", head+kept.String()+"\n}", parser.SkipObjectResolution)
	if bodyErr == nil {
		for _, s := range file.Decls[0].(*ast.FuncDecl).Body.List {
			switch s := s.(type) {
			case *ast.DeclStmt:
				decl(s.Decl)
			case *ast.AssignStmt:
				if s.Tok == token.DEFINE {
					add(false, nil, s.Lhs, s.Rhs)
				}
			}
		}
		return out, nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), "parameters", "package p; "+kept.String(), parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("expected only Go variable declarations, so that their names can be read: %w", bodyErr)
	}
	for _, d := range file.Decls {
		decl(d)
	}
	return out, nil
}

// literal returns value where it is Go (any expression, or only a literal) and
// else quoted.
func literal(value string, anyExpr bool) string {
	e, err := parser.ParseExpr(value)
	if err == nil && !strings.ContainsAny(value, "\n\r") && (anyExpr || isLiteral(e)) {
		return strings.TrimSpace(value)
	}
	return strconv.Quote(value)
}

func quoted(value string) string {
	if e, err := parser.ParseExpr(value); err == nil {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			return strings.TrimSpace(value)
		}
	}
	return strconv.Quote(value)
}

func isLiteral(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return e.Name == "true" || e.Name == "false"
	case *ast.UnaryExpr:
		return (e.Op == token.SUB || e.Op == token.ADD) && isLiteral(e.X)
	case *ast.KeyValueExpr:
		return isLiteral(e.Key) && isLiteral(e.Value)
	case *ast.CompositeLit:
		for _, x := range e.Elts {
			if !isLiteral(x) {
				return false
			}
		}
		return true
	}
	return false
}
