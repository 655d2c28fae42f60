package cell_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/kernel/cell"
	"github.com/rooflab/rooflab/kernel/toolchain"
)

// packages returns what the real toolchain imports, with some at hand.
func packages(t testing.TB, paths ...string) *toolchain.Packages {
	t.Helper()
	tc, err := toolchain.New(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tc.Ensure(paths...); err != nil {
		t.Fatal(err)
	}
	return tc.Packages()
}

// session plans and commits cells over the real toolchain, as the session
// engine does; nothing runs.
func session(t testing.TB, cells ...string) *cell.State {
	t.Helper()
	// Questions do not wait for packages that compile for long: those that the
	// tests ask about are compiled before.
	st := cell.New(packages(t, "fmt", "strings", "encoding/json", "net/http", cell.LivePath, "unsafe"))
	for i, text := range cells {
		run(t, st, i+1, text)
	}
	return st
}

func run(t testing.TB, st *cell.State, id int, text string) {
	t.Helper()
	plan, err := st.Plan(id, fmt.Sprintf("In[%d]", id), text)
	if err != nil {
		t.Fatalf("cell %q: %v", text, err)
	}
	plan.Commit()
}

// cut takes the mark of the cursor out of a text.
func cut(t testing.TB, marked string) (string, int) {
	t.Helper()
	before, after, ok := strings.Cut(marked, "¦")
	if !ok {
		t.Fatalf("no cursor in %q", marked)
	}
	return before + after, len(before)
}

func texts(cs []cell.Candidate) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Text)
	}
	return out
}

var cellsOfTest = []string{
	`import "encoding/json"
type inner struct { Depth int }
type point struct {
	x, y int // where it is
	Label string
	inner
}
func (p *point) Move(dx int) *point { p.x += dx; return p }
func (p point) norm() float64 { return 0 }
type pair[A, B any] struct { First A; second B }
func (p pair[A, B]) Swap() pair[B, A] { return pair[B, A]{p.second, p.First} }
func makePoint(name string, at ...int) (*point, error) { return &point{Label: name}, nil }
const speed = 3`,
	`origin := point{}
both := pair[int, *point]{}
text := "a"
data, err := json.Marshal(1)
var build strings.Builder
points := []*point{&origin}
byName := map[string]point{}
work := func(n int) point { return origin }`,
}

func TestCompletionListsMembers(t *testing.T) {
	st := session(t, cellsOfTest...)
	point := []string{"Depth", "Label", "Move", "inner", "norm", "x", "y"}
	for _, c := range []struct {
		cell string
		want []string // all candidates, in order
	}{
		{"fmt.Fprintl¦", []string{"Fprintln"}},
		{"strings.ToUpperS¦", []string{"ToUpperSpecial"}},
		{"json.Mars¦", []string{"Marshal", "MarshalIndent", "Marshaler", "MarshalerError"}},
		{"origin.¦", point},
		{"origin.La¦", []string{"Label"}},
		{"origin.l¦", []string{"Label"}},
		{"(&origin).¦", point},
		{"origin.Move(1).¦", point},
		{"origin.Move(1).Move(2).n¦", []string{"norm"}},
		{"fmt.Println(origin.La¦", []string{"Label"}},
		{"fmt.Println(origin.La¦)", []string{"Label"}},
		{"x := origin.¦\nz := 1", point},
		{"points[0].¦", point},
		{"byName[\"a\"].L¦", []string{"Label"}},
		{"work(1).L¦", []string{"Label"}},
		{"both.¦", []string{"First", "Swap", "second"}},
		{"both.Swap().First.La¦", []string{"Label"}},
		{"pair[int, string]{}.S¦", []string{"Swap", "second"}},
		{"build.WriteS¦", []string{"WriteString"}},
		{"if origin.La¦", []string{"Label"}},
		{"if v := origin.La¦", []string{"Label"}},
		{"for _, p := range points {\n\tp.¦\n}", point},
		{"for _, p := range points {\n\tfmt.Println(p.La¦\n}", []string{"Label"}},
		{"for i := 0; i < origin.x¦", []string{"x"}},
		{"switch origin.La¦", []string{"Label"}},
		{"switch text {\ncase origin.La¦", []string{"Label"}},
		{"func f(p *point) {\n\tq := p.Move(1)\n\tq.¦", point},
		{"func f(p *point) {\n\tq := p.Move(1)\n\tq.La¦\n}\nf(nil)", []string{"Label"}},
		{"go origin.Mo¦", []string{"Move"}},
		{"defer origin.Mo¦", []string{"Move"}},
		{"var r strings.Bui¦", []string{"Builder"}},
		{"func g(b *strings.Bui¦", []string{"Builder"}},
		{"func g() strings.Bui¦", []string{"Builder"}},
		{"var m map[strings.Bui¦", []string{"Builder"}},
		{"sub := 3 +\nx := = 4\norigin.La¦", []string{"Label"}},
		{"point.¦", []string{"norm"}},
		{"(*point).M¦", []string{"Move"}},
		{"ctx.Don¦", []string{"Done"}},
		{"err.¦", []string{"Error"}},
		{"import str \"strings\"\nstr.ToUpperS¦", []string{"ToUpperSpecial"}},
		{"point{La¦", []string{"Label"}},
		{"point{Label: text, ¦}", []string{"inner", "x", "y"}},
		{"points = append(points, &point{La¦: text})", []string{"Label"}},
		{"[]*point{{La¦: text}}", []string{"Label"}},
		{"text.¦", nil},
		{"nothing.¦", nil},
		{"3.¦", nil},
		{"\"origin.¦\"", nil},
		{"// origin.¦", nil},
		{"/* origin.¦ */", nil},
		{"`origin.¦`", nil},
		{"func new¦Name() {}", nil},
	} {
		text, at := cut(t, c.cell)
		found, start, end := st.Complete(text, at)
		if got := texts(found); !slices.Equal(got, c.want) {
			t.Errorf("%q gives %q, want %q", c.cell, got, c.want)
		}
		if start > at || end < at || strings.ContainsAny(text[start:end], ". (") {
			t.Errorf("%q replaces %q", c.cell, text[start:end])
		}
	}
}

func TestCompletionListsNames(t *testing.T) {
	st := session(t, cellsOfTest...)
	for _, c := range []struct {
		cell  string
		first string
		has   []string
		hasNo []string
	}{
		{"ori¦", "origin", nil, nil},
		{"ma¦", "makePoint", []string{"make", "map", "maps", "math", "max"}, []string{"origin"}},
		{"spe¦", "speed", nil, nil},
		{"po¦", "point", []string{"points"}, nil},
		{"PO¦", "point", []string{"points"}, nil},
		{"js¦", "json", nil, nil},
		{"hist¦ := 1", "", nil, nil},
		{"func f(argument int) {\n\tlocal := 1\n\tfor i := range 3 {\n\t\tlo¦\n\t}\n\tlocalLater := 2\n}", "local", []string{"log"}, []string{"localLater"}},
		{"func f(argument int) {\n\targ¦", "argument", nil, nil},
		{"for index := range 3 {\n\tfmt.Println(ind¦)\n}", "index", nil, nil},
		{"first := 1\nfir¦", "first", nil, nil},
		{"fir¦\nfirst := 1", "first", nil, nil},
		{"func help1() {}\nhel¦", "help1", nil, nil},
		{"¦", "", []string{"origin", "json", "makePoint"}, []string{"zip", "break"}},
		{"x := ¦", "", []string{"origin", "text"}, []string{"rl"}},
		{"retu¦", "return", nil, nil},
		{"ct¦", "ctx", nil, nil},
	} {
		text, at := cut(t, c.cell)
		found, _, _ := st.Complete(text, at)
		got := texts(found)
		if c.first != "" && (len(got) == 0 || got[0] != c.first) {
			t.Errorf("%q gives %q, want %q first", c.cell, got, c.first)
		}
		for _, n := range c.has {
			if !slices.Contains(got, n) {
				t.Errorf("%q lacks %q: %q", c.cell, n, got)
			}
		}
		for _, n := range c.hasNo {
			if slices.Contains(got, n) {
				t.Errorf("%q gives %q", c.cell, n)
			}
		}
		for _, n := range got {
			if strings.Contains(n, cell.Mark) {
				t.Errorf("%q gives the generated name %q", c.cell, n)
			}
		}
	}
}

func TestCandidatesSayWhatTheyAre(t *testing.T) {
	st := session(t, cellsOfTest...)
	for _, c := range []struct{ cell, text, kind, doc string }{
		{"fmt.Sprintl¦", "Sprintln", "function", "func Sprintln(a ...any) string"},
		{"origin.Mo¦", "Move", "method", "func (*point) Move(dx int) *point"},
		{"origin.La¦", "Label", "field", "string"},
		{"makeP¦", "makePoint", "function", "func makePoint(name string, at ...int) (*point, error)"},
		{"origi¦", "origin", "var", "point"},
		{"bot¦", "both", "var", "pair[int, *point]"},
		{"buil¦", "build", "var", "strings.Builder"},
		{"poin¦", "point", "type", "type point struct"},
		{"spee¦", "speed", "const", "const speed"},
		{"jso¦", "json", "package", `package "encoding/json"`},
		{"appe¦", "append", "function", "func append(slice []Type, elems ...Type) []Type"},
		{"fallt¦", "fallthrough", "keyword", ""},
		{"math.Pi¦", "Pi", "const", "float = 3.14159"},
	} {
		text, at := cut(t, c.cell)
		found, _, _ := st.Complete(text, at)
		if len(found) == 0 {
			t.Errorf("%q gives nothing", c.cell)
			continue
		}
		if f := found[0]; f.Text != c.text || f.Kind != c.kind || f.Doc != c.doc {
			t.Errorf("%q gives {%q %q %q}, want {%q %q %q}", c.cell, f.Text, f.Kind, f.Doc, c.text, c.kind, c.doc)
		}
	}
}

func TestImportPathsComplete(t *testing.T) {
	st := session(t)
	for _, c := range []struct{ cell, want string }{
		{"import \"encoding/js¦", "encoding/json"},
		{"import \"encoding/js¦\"", "encoding/json"},
		{"import (\n\t\"fmt\"\n\te \"encoding/js¦\n)", "encoding/json"},
		{"import \"gonum.org/v1/plot/plott¦\"", "gonum.org/v1/plot/plotter"},
		{"import \"gonum.org/v1/gonum/spatial/kdt¦\"", "gonum.org/v1/gonum/spatial/kdtree"},
	} {
		text, at := cut(t, c.cell)
		found, start, end := st.Complete(text, at)
		if got := texts(found); !slices.Contains(got, c.want) {
			t.Errorf("%q gives %q, want %q among them", c.cell, got, c.want)
		}
		if got := text[start:end]; !strings.HasPrefix(c.want, got) || got == "" {
			t.Errorf("%q replaces %q", c.cell, got)
		}
	}
	if found, _, _ := st.Complete(`f("encoding/js")`, 13); found != nil {
		t.Errorf("a string that is no import path gives %q", texts(found))
	}
}

func TestInspectionFindsNames(t *testing.T) {
	st := session(t, cellsOfTest...)
	for _, c := range []struct {
		cell string
		has  []string
	}{
		{"fmt.Println¦", []string{"func Println(a ...any) (n int, err error)", "Println formats using the default formats", "package fmt"}},
		{"fmt.Pri¦ntln(1)", []string{"func Println(a ...any)"}},
		{"fmt.Println(origin, ¦", []string{"func Println(a ...any)"}},
		{"fmt.Println(\"a¦", []string{"func Println(a ...any)"}},
		{"fmt.Println(1)¦", []string{"func Println(a ...any)"}},
		{"f¦mt.Println(1)", []string{`package fmt // import "fmt"`, "implements formatted I/O"}},
		{"strings.NewReplacer¦", []string{"func NewReplacer(oldnew ...string) *strings.Replacer", "NewReplacer panics if given an odd number"}},
		{"strings.Builder¦", []string{"type Builder struct", "A Builder is used to efficiently build a string"}},
		{"build.WriteString¦", []string{"func (*strings.Builder) WriteString(s string) (int, error)", "WriteString appends the contents of s"}},
		{"origin¦", []string{"var origin point", "declared in In[2] as origin = point{}"}},
		{"origin.Move¦(1)", []string{"func (p *point) Move(dx int) *point", "In[1]"}},
		{"origin.Move(1).norm¦", []string{"func (p point) norm() float64"}},
		{"origin.x¦", []string{"field x int", "where it is", "In[1]"}},
		{"makePoint(¦", []string{"func makePoint(name string, at ...int) (*point, error)", "In[1]"}},
		{"point¦", []string{"type point struct {", "Label string", "func (p *point) Move(dx int) *point", "In[1]"}},
		{"both¦", []string{"var both pair[int, *point]"}},
		{"speed¦", []string{"const speed int = 3", "In[1]"}},
		{"len¦", []string{"func len(v Type) int", "number of elements"}},
		{"append(¦", []string{"func append(slice []Type, elems ...Type) []Type"}},
		{"err.Error¦", []string{"Error() string"}},
		{"ctx¦", []string{"context.Context", "interrupt"}},
		{"Out¦[1]", []string{"map[int]any"}},
		{"func f(a int) {\n\tb := a¦\n}", []string{"var a int"}},
		{"first := origin.Move(1)\nfirst¦", []string{"var first *point", "this cell"}},
		{"fir¦st := origin.Move(1)", []string{"var first *point", "this cell"}},
		{"http.StatusTeapot¦", []string{"const StatusTeapot int = 418", "RFC 9110"}},
		{"http.Client{Timeout¦: 1}", []string{"field Timeout time.Duration", "Timeout specifies a time limit"}},
		{"json¦", []string{`package json // import "encoding/json"`, "RFC 7159"}},
	} {
		text, at := cut(t, c.cell)
		note, ok := st.Inspect(text, at, false)
		if !ok {
			t.Errorf("%q: nothing found", c.cell)
			continue
		}
		for _, s := range []string{note.Text(), note.Markdown()} {
			for _, want := range c.has {
				if flat := strings.Join(strings.Fields(s), " "); !strings.Contains(flat, want) {
					t.Errorf("%q lacks %q:\n%s", c.cell, want, s)
				}
			}
			if strings.Contains(s, cell.Mark) {
				t.Errorf("%q shows a generated name:\n%s", c.cell, s)
			}
		}
	}
	for _, s := range []string{"¦", "nothing¦", "origin.nothing¦", "// fmt.Println¦ is", "3 + ¦4"} {
		text, at := cut(t, s)
		if note, ok := st.Inspect(text, at, false); ok {
			t.Errorf("%q finds %q", s, note.Text())
		}
	}
}

func TestInspectionGivesSourceOnDemand(t *testing.T) {
	st := session(t, cellsOfTest...)
	for _, c := range []struct{ name, source string }{
		{"makePoint", "return &point{Label: name}, nil"},
		{"origin.Move", "p.x += dx; return p"},
		{"strings.ToUpper", "isASCII, hasLower := true, false"},
	} {
		if note, ok := st.Inspect(c.name, len(c.name), true); !ok || !strings.Contains(note.Source, c.source) {
			t.Errorf("the source of %s is %q", c.name, note.Source)
		}
		if note, _ := st.Inspect(c.name, len(c.name), false); note.Source != "" {
			t.Errorf("the source of %s is shown unasked", c.name)
		}
	}
}

func TestRedeclarationIsSeenAtOnce(t *testing.T) {
	st := session(t, "type thing struct { Old int }\nv := thing{}")
	run(t, st, 2, "type thing struct { New int }\nv := thing{}")
	if found, _, _ := st.Complete("v.", 2); !slices.Equal(texts(found), []string{"New"}) {
		t.Errorf("v. gives %q", texts(found))
	}
}

func TestVariablesOfRedeclaredTypesKeepTheirFields(t *testing.T) {
	st := session(t, "type thing struct { Old int }\nv := thing{}", "type thing struct { New int }", "w := thing{}")
	for _, c := range []struct{ cell, want string }{{"v.¦", "Old"}, {"w.¦", "New"}} {
		text, at := cut(t, c.cell)
		if found, _, _ := st.Complete(text, at); !slices.Equal(texts(found), []string{c.want}) {
			t.Errorf("%q gives %q, want %q", c.cell, texts(found), c.want)
		}
	}
	if note, _ := st.Inspect("v", 1, false); !strings.HasPrefix(note.Decl, "var v thing") || strings.Contains(note.Decl, "old") {
		t.Errorf("v is %q", note.Decl)
	}
}

func TestOpenedPackagesComplete(t *testing.T) {
	st := session(t)
	if _, err := st.Open("strings"); err != nil {
		t.Fatal(err)
	}
	if found, _, _ := st.Complete("ToUpperS", 8); len(found) != 1 || found[0].Doc != "func ToUpperSpecial(c unicode.SpecialCase, s string) string" {
		t.Errorf("ToUpperS gives %v", found)
	}
	if found, _, _ := st.Complete("NewReplacer().Repl", 18); !slices.Equal(texts(found), []string{"Replace"}) {
		t.Errorf("NewReplacer().Repl gives %v", found)
	}
	if note, _ := st.Inspect("ToUpper(", 8, false); !strings.Contains(note.Doc, "Unicode letters mapped") {
		t.Errorf("ToUpper is %v", note)
	}
}

// Planning a cell and asking about another go on at the same time; the race
// detector watches.
func TestQuestionsBesidePlanning(t *testing.T) {
	st := session(t, cellsOfTest...)
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				if found, _, _ := st.Complete("origin.La", 9); !slices.Equal(texts(found), []string{"Label"}) {
					t.Errorf("origin.La gives %q", texts(found))
				}
				if _, ok := st.Inspect("makePoint(", 10, true); !ok {
					t.Error("makePoint is not found")
				}
			}
		}()
	}
	for i := range 20 {
		run(t, st, 10+i, fmt.Sprintf("v%d := origin.Move(%d)\nvar u%d []strings.Builder\nfunc f%d() int { return origin.x }", i, i, i, i))
	}
	wg.Wait()
	if found, _, _ := st.Complete("v19.La", 6); !slices.Equal(texts(found), []string{"Label"}) {
		t.Errorf("v19.La gives %q", texts(found))
	}
}

func TestCompleteness(t *testing.T) {
	for _, c := range []struct {
		text   string
		status cell.Completeness
		indent string
	}{
		{"", cell.Complete, ""},
		{"\n \n", cell.Complete, ""},
		{"x := 1", cell.Complete, ""},
		{`fmt.Println("a")`, cell.Complete, ""},
		{"func f() int { return 1 }", cell.Complete, ""},
		{"1 + 2", cell.Complete, ""},
		{"// a remark", cell.Complete, ""},
		{"x := 1 // a remark", cell.Complete, ""},
		{"import \"fmt\"\nfmt.Println()", cell.Complete, ""},
		{"for i := range 3 {\n\tf(i)\n}", cell.Complete, ""},
		{"func f() {", cell.Incomplete, "\t"},
		{"func f() {\n\tif x {", cell.Incomplete, "\t\t"},
		{"func f() {\n\tif x {\n\t}", cell.Incomplete, "\t"},
		{"for i := range 3 {", cell.Incomplete, "\t"},
		{"fmt.Println(", cell.Incomplete, "\t"},
		{"fmt.Println(1,", cell.Incomplete, "\t"},
		{"x := 1 +", cell.Incomplete, "\t"},
		{"x := 1 + // the rest follows", cell.Incomplete, "\t"},
		{"x :=", cell.Incomplete, "\t"},
		{"x.", cell.Incomplete, "\t"},
		{"s := `raw", cell.Incomplete, ""},
		{"type T struct {", cell.Incomplete, "\t"},
		{"type T struct {\n\ta int", cell.Incomplete, "\t"},
		{"if x == 1 {", cell.Incomplete, "\t"},
		{"if x == 1 {\n} else {", cell.Incomplete, "\t"},
		{"switch x {\ncase 1:", cell.Incomplete, "\t"},
		{"/* open", cell.Incomplete, ""},
		{"x := 1 /* open", cell.Incomplete, ""},
		{"import (", cell.Incomplete, "\t"},
		{"var (\n\ta = 1", cell.Incomplete, "\t"},
		{"go func() {\n\tf()", cell.Incomplete, "\t"},
		{"m := map[string]int{\n\t\"a\": 1,", cell.Incomplete, "\t"},
		{"x := )", cell.Invalid, ""},
		{"func }", cell.Invalid, ""},
		{"a b c", cell.Invalid, ""},
		{`s := "abc`, cell.Invalid, ""},
		{"x := 1\n}", cell.Invalid, ""},
		{"f(]", cell.Invalid, ""},
		{"a b c {", cell.Invalid, ""},
	} {
		status, indent := cell.IsComplete(c.text)
		if status != c.status || indent != c.indent {
			t.Errorf("%q is %v, indent %q, want %v, %q", c.text, status, indent, c.status, c.indent)
		}
	}
}
