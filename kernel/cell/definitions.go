package cell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Definitions are the names that cells have declared, sorted by kind. A method
// is called Type~Method, as GoNB does.
type Definitions struct{ Imports, Constants, Types, Variables, Functions []string }

// Definitions lists what cells have declared.
func (st *State) Definitions() Definitions {
	var d Definitions
	d.Imports = sortedKeys(st.imports)
	for _, n := range st.Names() {
		switch st.decls[n].kind {
		case token.CONST:
			d.Constants = append(d.Constants, n)
		case token.TYPE:
			d.Types = append(d.Types, n)
		case token.VAR:
			d.Variables = append(d.Variables, n)
		default:
			d.Functions = append(d.Functions, n)
		}
	}
	for recv, ms := range st.methods {
		for m := range ms {
			d.Functions = append(d.Functions, recv+"~"+m)
		}
	}
	sort.Strings(d.Functions)
	return d
}

// Forget takes a declaration back, the methods of a type included, and tells
// its kind: "import", "const", "type", "var", "func", or "" if there is none of
// that name. What uses it is in error when it is next reached; values that
// others hold live on.
func (st *State) Forget(name string) (kind string) {
	defer st.publish()
	if recv, method, ok := strings.Cut(name, "~"); ok {
		if st.methods[recv][method] == nil {
			return ""
		}
		delete(st.methods[recv], method)
		return "func"
	}
	if d := st.decls[name]; d != nil {
		st.drop(name)
		return d.kind.String()
	}
	if _, ok := st.imports[name]; ok {
		delete(st.imports, name)
		return "import"
	}
	return ""
}

// TestsName is the name under which any cell has the package at TestsPath,
// which runs tests.
const (
	TestsName = "rl" + Mark + "test"
	TestsPath = "github.com/rooflab/rooflab/kernel/gotest"
)

// Test is a function that `go test` would run.
type Test struct {
	Name string
	// Param is the type of its parameter in package testing: "T", "B", or "M"
	// for TestMain.
	Param string
	// File is the cell that declared it, as Plan was told.
	File string
}

// Tests lists the tests and benchmarks that cells have declared, sorted by name.
func (st *State) Tests() []Test {
	var all []Test
	for _, n := range st.Names() {
		d := st.decls[n]
		if d.kind != token.FUNC {
			continue
		}
		switch param := d.testParam(); {
		case n == "TestMain" && param == "M", n != "TestMain" && param == "T" && isTest(n, "Test"), param == "B" && isTest(n, "Benchmark"):
			all = append(all, Test{n, param, d.piece.file})
		}
	}
	return all
}

// isTest reports whether a name is the prefix alone or goes on with anything but
// a small letter, as `go test` wants it.
func isTest(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && !unicode.IsLower(first)
}

// testParam returns X for func(*testing.X), else "".
func (d *decl) testParam() string {
	f, err := parser.ParseFile(token.NewFileSet(), "", filePrefix+d.piece.text, parser.SkipObjectResolution)
	if err != nil || len(f.Decls) != 1 {
		return ""
	}
	fd, ok := f.Decls[0].(*ast.FuncDecl)
	if !ok || fd.Type.TypeParams != nil || fd.Type.Results != nil || fd.Type.Params.NumFields() != 1 {
		return ""
	}
	star, ok := fd.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return ""
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if pkg, ok := sel.X.(*ast.Ident); !ok || d.imports[pkg.Name] != "testing" {
		return ""
	}
	return sel.Sel.Name
}
