package notebook_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/kernel/notebook"
)

func params(t *testing.T, list ...string) []notebook.Param {
	t.Helper()
	var out []notebook.Param
	for _, s := range list {
		p, err := notebook.ParseParam(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestInjectedValuesFollowTheDeclaredKind(t *testing.T) {
	for _, tt := range []struct{ name, cell, param, want string }{
		{"a number", "n := 10", "n=20", "n = 20"},
		{"a whole number for a float stays untyped", "lr := 0.5", "lr=1", "lr = 1"},
		{"text is quoted", `path := "a.csv"`, "path=data/b.csv", `path = "data/b.csv"`},
		{"text that looks like a number is quoted", `tag := "x"`, "tag=12", `tag = "12"`},
		{"a quoted text is taken as it is", `path := "a"`, `path="b c"`, `path = "b c"`},
		{"quotes, backslashes and equal signs survive", `s string`, `s=a="b"\n=c`, `s = "a=\"b\"\\n=c"`},
		{"an expression where no text was declared", "d := 5 * time.Second", "d=2*time.Minute", "d = 2*time.Minute"},
		{"a composite literal", "xs := []int{1}", "xs=[]int{1, 2}", "xs = []int{1, 2}"},
		{"a constant is declared anew", "const n = 1", "n=2", "const n = 2"},
		{"a grouped declaration after a command", "%get x@v1\nvar (\n\ta = 1\n\tname = `x`\n)", "name=y", `name = "y"`},
		{"one of several names", "a, b := 1, \"x\"", "b=5", `b = "5"`},
		{"a file with an import", "import \"time\"\nvar d = time.Second", "d=time.Hour", "d = time.Hour"},
		{"what is no Go is quoted for the compiler to judge", "n := 1", "n=a b", `n = "a b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.ContainsAny(tt.cell, ":=") {
				tt.cell = "var " + tt.cell
			}
			nb := notebook.New(notebook.NewCell(notebook.Markdown, "intro"),
				notebook.NewCell(notebook.Code, tt.cell, notebook.TagParameters), notebook.NewCell(notebook.Code, "use()"))
			if err := notebook.Inject(nb, params(t, tt.param)); err != nil {
				t.Fatal(err)
			}
			c := nb.Cells[2]
			if want := "// Parameters\n" + tt.want; c.Source != want || !c.HasTag(notebook.TagInjected) || c.ID == "" {
				t.Errorf("injected %q (tags %v), want %q", c.Source, c.Metadata, want)
			}
		})
	}
}

func TestInjectReplacesAnEarlierInjection(t *testing.T) {
	nb := notebook.New(notebook.NewCell(notebook.Code, "n := 1", notebook.TagParameters))
	for _, p := range []string{"n=2", "n=3"} {
		if err := notebook.Inject(nb, params(t, p)); err != nil {
			t.Fatal(err)
		}
	}
	if len(nb.Cells) != 2 || nb.Cells[1].Source != "// Parameters\nn = 3" {
		t.Errorf("%d cells, the last %q", len(nb.Cells), nb.Cells[len(nb.Cells)-1].Source)
	}
}

func TestWithoutAParametersCellValuesAreDeclaredAtTheTop(t *testing.T) {
	nb := notebook.New(notebook.NewCell(notebook.Code, "use()"))
	if err := notebook.Inject(nb, params(t, "n=-3", "ok=true", "f=1e-3", "path=a/b.c", "xs=[]int{1}", "call=f(1)")); err != nil {
		t.Fatal(err)
	}
	want := "// Parameters\nvar n = -3\nvar ok = true\nvar f = 1e-3\nvar path = \"a/b.c\"\nvar xs = []int{1}\nvar call = \"f(1)\""
	if got := nb.Cells[0].Source; got != want {
		t.Errorf("injected\n%s\nwant\n%s", got, want)
	}
}

func TestInjectRefusesWhatCannotBeMeant(t *testing.T) {
	nb := notebook.New(notebook.NewCell(notebook.Code, "size, path := 1, \"x\"", notebook.TagParameters))
	err := notebook.Inject(nb, params(t, "sise=2"))
	if err == nil || !strings.Contains(err.Error(), `"sise"`) || !strings.Contains(err.Error(), "path, size") || len(nb.Cells) != 1 {
		t.Errorf("a misspelt name: %v, %d cells", err, len(nb.Cells))
	}
	nb = notebook.New(notebook.NewCell(notebook.Code, "if {", notebook.TagParameters))
	if err := notebook.Inject(nb, params(t, "n=2")); err == nil || !strings.Contains(err.Error(), "cell 1") {
		t.Errorf("a parameters cell that is no Go: %v", err)
	}
	for _, s := range []string{"n", "=1", "2n=1", "a b=1"} {
		if _, err := notebook.ParseParam(s); err == nil {
			t.Errorf("ParseParam(%q) was taken", s)
		}
	}
}

func FuzzInject(f *testing.F) {
	f.Add("n := 1", "2")
	f.Add("var s = \"a\"", "x\ny")
	f.Fuzz(func(t *testing.T, cell, value string) {
		nb := notebook.New(notebook.NewCell(notebook.Code, cell, notebook.TagParameters))
		if err := notebook.Inject(nb, []notebook.Param{{Name: "n", Value: value}}); err != nil {
			return
		}
		// Whatever the value holds, the cell is one Go statement.
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func _() {\n"+nb.Cells[1].Source+"\n}", 0)
		if err != nil {
			t.Fatalf("value %q made the cell %q: %v", value, nb.Cells[1].Source, err)
		}
		if body := file.Decls[0].(*ast.FuncDecl).Body.List; len(file.Decls) != 1 || len(body) != 1 {
			t.Errorf("value %q made %d statements: %q", value, len(body), nb.Cells[1].Source)
		}
	})
}

func TestAParameterThatACellUndoesIsRefused(t *testing.T) {
	nb := notebook.New(notebook.NewCell(notebook.Markdown, "# n := 1"), notebook.NewCell(notebook.Code, "n := 5"))
	err := notebook.Inject(nb, params(t, "n=7"))
	if err == nil || !strings.Contains(err.Error(), "cell 2 sets n itself") || len(nb.Cells) != 2 {
		t.Errorf("%v, %d cells", err, len(nb.Cells))
	}
}
