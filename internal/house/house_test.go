package house

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/rooflab/rooflab"
	root   = "../.."

	maxLines     = 500 // a file that people read from top to bottom
	maxTestLines = 900 // tables of cases are skimmed
)

// mayImport lists, for each top-level folder, what its packages may import
// besides packages of the same folder. An entry is a folder or one package.
// Data flows collectors -> datasets -> modeling -> agents: collectors emit the
// records that datasets defines, so they import its schema and not the reverse.
var mayImport = map[string][]string{
	"kernel":     {},
	"datasets":   {"kernel/display"},
	"collectors": {"kernel/display", "datasets"},
	"modeling":   {"kernel/display", "datasets"},
	"agents":     {"kernel/display", "datasets", "collectors", "modeling", "internal/bench/pypi"}, // llm's tests have a peer from there
	"internal":   {"kernel", "modeling"},                                                          // internal/bench races our training with others'
	"cmd":        {"kernel", "datasets", "collectors", "modeling", "agents", "internal"},
	"notebooks":  {"kernel", "datasets", "collectors", "modeling", "agents", "internal"},
}

// heavy names the modules that must not get into what a cell links: each may
// be imported only by packages in a folder of one of the given names (drivers
// that register themselves), by cmd and by internal/pins.
var heavy = map[string][]string{
	"github.com/duckdb/duckdb-go/v2":     {"duckdb"},
	"github.com/gomlx/go-xla":            {"xla", "engines"},
	"modernc.org/sqlite":                 {"sqlite", "nsys"},
	"github.com/apache/arrow-go/v18":     {"arrow", "parquet"},
	"github.com/gomlx/compute/gobackend": {"gobackend", "engines"},
	"github.com/NVIDIA/go-nvml":          {"rooflab-nvml"}, // what is linked with it cannot load plugins: a program of its own
}

// badNames say nothing about what a package is for.
var badNames = []string{"util", "utils", "common", "helper", "helpers", "manager", "managers", "misc", "base", "shared", "lib", "types"}

// file is one parsed Go file of the tree.
type file struct {
	path  string // relative to the root, with slashes
	dir   string
	test  bool
	lines int
	ast   *ast.File
	fset  *token.FileSet
}

func (f file) position(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.path, f.fset.Position(n.Pos()).Line)
}

// tree parses all Go files of the module.
func tree(t *testing.T) []file {
	t.Helper()
	var files []file
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			name := d.Name()
			if rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || rel == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(fset, rel, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file{path: rel, dir: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"),
			lines: strings.Count(string(src), "\n"), ast: parsed, fset: fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d Go files found under %s: is this still the root of the module?", len(files), root)
	}
	return files
}

// imports lists a file's imports with their nodes.
func (f file) imports() map[string]*ast.ImportSpec {
	m := map[string]*ast.ImportSpec{}
	for _, s := range f.ast.Imports {
		if p, err := strconv.Unquote(s.Path.Value); err == nil {
			m[p] = s
		}
	}
	return m
}

// within says whether the package pkg is the folder or package of, or below it.
func within(pkg, of string) bool { return pkg == of || strings.HasPrefix(pkg, of+"/") }

// importFault says why a package in dir may not import pkg (both relative to
// the module), or "".
func importFault(dir, pkg string) string {
	from, _, _ := strings.Cut(dir, "/")
	to, _, _ := strings.Cut(pkg, "/")
	allowed, known := mayImport[from]
	switch {
	case !known:
		return fmt.Sprintf("%s is no folder of the house: %s", from, "see mayImport in internal/house")
	case to == "cmd":
		return "nothing imports a command"
	case from == to || slices.ContainsFunc(allowed, func(a string) bool { return within(pkg, a) }):
		return ""
	}
	return fmt.Sprintf("%s may import only itself and %q", from, allowed)
}

func TestImportsFlowOneWay(t *testing.T) {
	for _, f := range tree(t) {
		for imp, spec := range f.imports() {
			pkg, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			if f.test && !within(f.dir, "kernel") {
				// A test may look at its package from further right (a store for a
				// parser's records), except that kernel stays apart altogether.
				if strings.HasPrefix(pkg, "cmd/") {
					t.Errorf("%s imports %s: nothing imports a command", f.position(spec), pkg)
				}
				continue
			}
			if fault := importFault(f.dir, pkg); fault != "" {
				t.Errorf("%s imports %s: %s", f.position(spec), pkg, fault)
			}
		}
	}
}

func TestImportFaultKnowsTheDirections(t *testing.T) {
	for _, tt := range []struct {
		dir, pkg string
		ok       bool
	}{
		{"collectors/ncu", "datasets", true},
		{"collectors/ncu", "collectors", true},
		{"datasets/duckdb", "datasets", true},
		{"datasets", "collectors/ncu", false},
		{"datasets", "kernel/display", true},
		{"datasets", "kernel/session", false},
		{"datasets", "kernel/displayed", false},
		{"modeling", "agents", false},
		{"agents", "modeling/backend", true},
		{"kernel/session", "datasets", false},
		{"kernel/session", "internal/doctor", false},
		{"cmd/rooflab", "agents", true},
		{"cmd/rooflab", "cmd/other", false},
		{"stuff", "kernel", false},
	} {
		if fault := importFault(tt.dir, tt.pkg); (fault == "") != tt.ok {
			t.Errorf("%s importing %s: fault %q, want allowed = %v", tt.dir, tt.pkg, fault, tt.ok)
		}
	}
}

func TestHeavyEnginesStayInDrivers(t *testing.T) {
	for _, f := range tree(t) {
		if f.test || f.dir == "internal/pins" || within(f.dir, "cmd") {
			continue
		}
		for imp, spec := range f.imports() {
			for mod, folders := range heavy {
				if !within(imp, mod) {
					continue
				}
				if !inFolder(f.dir, folders) {
					t.Errorf("%s imports %s: only a driver package in a folder named %s may, so that cells stay light",
						f.position(spec), imp, strings.Join(folders, " or "))
				}
			}
		}
	}
}

// inFolder says whether a folder on the way to dir has one of the names.
func inFolder(dir string, names []string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(s string) bool { return slices.Contains(names, s) })
}

func isDriver(dir string) bool {
	for _, folders := range heavy {
		if inFolder(dir, folders) {
			return true
		}
	}
	return false
}

func TestFilesAreShortEnoughToRead(t *testing.T) {
	for _, f := range tree(t) {
		limit := maxLines
		if f.test {
			limit = maxTestLines
		}
		if f.lines > limit && !ast.IsGenerated(f.ast) {
			t.Errorf("%s has %d lines, the limit is %d: split it by idea", f.path, f.lines, limit)
		}
	}
}

func TestPackagesAreNamedAndDescribed(t *testing.T) {
	described := map[string]bool{}
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		if slices.Contains(badNames, path.Base(f.dir)) || slices.Contains(badNames, f.ast.Name.Name) {
			t.Errorf("%s: a package called %s says nothing about what it is for", f.path, f.ast.Name.Name)
		}
		described[f.dir] = described[f.dir] || f.ast.Doc != nil
	}
	for dir, ok := range described {
		if !ok {
			t.Errorf("%s has no package comment: say what flows in and out", dir)
		}
	}
}

// An init function may only register: its statements are calls of functions
// whose names say so, possibly in a loop. A driver package may also set up the
// engine that it registers.
func TestInitOnlyRegisters(t *testing.T) {
	for _, f := range tree(t) {
		if isDriver(f.dir) {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Name.Name != "init" {
				continue
			}
			for _, s := range fn.Body.List {
				if !registers(s) {
					t.Errorf("%s: init does more than register", f.position(s))
				}
			}
		}
	}
}

func registers(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.RangeStmt:
		return !slices.ContainsFunc(s.Body.List, func(s ast.Stmt) bool { return !registers(s) })
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		var name string
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			name = fun.Name
		case *ast.SelectorExpr:
			name = fun.Sel.Name
		case *ast.IndexExpr: // a generic function, instantiated
			if id, ok := fun.X.(*ast.Ident); ok {
				name = id.Name
			} else if sel, ok := fun.X.(*ast.SelectorExpr); ok {
				name = sel.Sel.Name
			}
		}
		return strings.HasPrefix(strings.ToLower(name), "register")
	}
	return false
}

func TestRegistersTellsRegistrationFromWork(t *testing.T) {
	for src, want := range map[string]bool{
		"register(x)":                          true,
		"sql.Register(`d`, d{})":               true,
		"display.RegisterFor[T](f)":            true,
		"for _, x := range xs { Register(x) }": true,
		"x = load()":                           false,
		"load()":                               false,
		"for { register(x) }":                  false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p; func init() { "+src+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := registers(f.Decls[0].(*ast.FuncDecl).Body.List[0]); got != want {
			t.Errorf("%s: registers = %v, want %v", src, got, want)
		}
	}
}

// The README promises exactly two commands for set-up, and CONTRIBUTING one
// page that names every folder.
func TestPagesKeepTheirPromises(t *testing.T) {
	contributing, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for folder := range mayImport {
		if !strings.Contains(string(contributing), folder+"/") {
			t.Errorf("CONTRIBUTING.md does not say what is in %s/", folder)
		}
	}
	readme, err := os.Open(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer readme.Close()
	var commands []string
	for s := bufio.NewScanner(readme); s.Scan(); {
		if strings.HasPrefix(s.Text(), "    make ") {
			commands = append(commands, strings.Fields(s.Text())[1])
		}
	}
	if want := []string{"lab", "test"}; !slices.Equal(commands, want) {
		t.Errorf("README.md sets up with make %q, want %q", commands, want)
	}
}
