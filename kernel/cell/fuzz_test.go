package cell_test

import (
	"go/types"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rooflab/rooflab/kernel/cell"
)

// seeds are cells as people write them; the fuzz targets also cut them anywhere.
var seeds = []string{
	"import \"encoding/json\"\ntype point struct { x, y int; Label string }\nfunc (p *point) Move(dx int) *point { p.x += dx; return p }\norigin := point{Label: \"a\"}\norigin.Move(1).Label",
	"for i, p := range points {\n\tif q := p.Move(i); q != nil {\n\t\tfmt.Println(q.Label, `raw`, 'c', 0x1p-2) // why\n\t}\n}",
	"switch v := any(origin).(type) {\ncase *point:\n\tv.Move(1)\ndefault:\n\tselect {\n\tcase <-ctx.Done():\n\t}\n}",
	"type pair[A, B any] struct { First A; Second B }\nfunc (p pair[A, B]) Swap() pair[B, A] { return pair[B, A]{p.Second, p.First} }\npair[int, string]{1, \"é\"}.Swap().First",
	"var (\n\ta, b = strings.Cut(\"x=y\", \"=\")\n\tm = map[string][]int{\"k\": {1, 2, 3}}\n)\nconst (\n\tA = iota\n\tB\n)\n/* done */ m[a][0] + B",
	"import (\n\t\"fmt\"\n\tstr \"strings\"\n)\nfunc main() { go func() { defer fmt.Println(str.ToUpper(\"a\")) }() }",
	"func f[T ~int | ~string](xs ...T) (out []T) {\nouter:\n\tfor _, x := range xs {\n\t\tout = append(out, x)\n\t\tcontinue outer\n\t}\n\treturn\n}\nf(1, 2)",
	"x := 1 +\n", "s := \"open", "func }", "a b c", "/* open", "`raw", "\xff\xfe.", "é.世界.", "3..x", "x.(", "import \"", "type T struct { T }\nvar t T\nt.", "type I interface { I }\nvar i I\ni.",
}

func seed(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, len(s))
		f.Add(s, len(s)/2)
	}
}

// standard lets fuzzed imports reach no further than two packages.
type standard struct{ cell.Packages }

func (s standard) Ensure(paths ...string) error {
	for _, p := range paths {
		if _, err := s.Import(p); err != nil {
			return err
		}
	}
	return nil
}

func (s standard) Import(path string) (*types.Package, error) {
	switch path {
	case "fmt", "strings", cell.LivePath, "unsafe":
		return s.Packages.Import(path)
	}
	return nil, errNotHere
}

type notHere struct{}

func (notHere) Error() string { return "not in this test" }

var errNotHere = notHere{}

func fuzzed(t testing.TB) *cell.State {
	st := cell.New(standard{packages(t, "fmt", "strings", cell.LivePath, "unsafe")})
	run(t, st, 1, "type point struct { x, y int; Label string }\nfunc (p *point) Move(dx int) *point { return p }\npoints := []*point{}\norigin := point{}")
	return st
}

// checkCompletion holds for every text: the range is around the cursor, and a
// candidate continues what is typed.
func checkCompletion(t *testing.T, st *cell.State, text string, cursor int) {
	found, start, end := st.Complete(text, cursor)
	cursor = min(max(cursor, 0), len(text))
	if start > cursor || end < cursor || start < 0 || end > len(text) {
		t.Fatalf("%q at %d: range %d to %d", text, cursor, start, end)
	}
	for _, c := range found {
		if !strings.HasPrefix(strings.ToLower(c.Text), strings.ToLower(text[start:cursor])) || strings.Contains(c.Text, cell.Mark) {
			t.Fatalf("%q at %d: candidate %q", text, cursor, c.Text)
		}
	}
}

// TestEveryPrefixOfACellIsAnswered asks at every place of the seeds, of the
// cut text and of the whole.
func TestEveryPrefixOfACellIsAnswered(t *testing.T) {
	st := fuzzed(t)
	for _, s := range seeds {
		for i := range len(s) + 1 {
			if i < len(s) && !utf8.RuneStart(s[i]) {
				continue
			}
			checkCompletion(t, st, s[:i], i)
			checkCompletion(t, st, s, i)
			st.Inspect(s[:i], i, true)
			st.Inspect(s, i, false)
		}
	}
	if faults := st.Faults(); len(faults) > 0 {
		t.Errorf("%d questions failed inside, the first: %s", len(faults), faults[0])
	}
}

// TestLinesOfAWholeCellAreNeverInvalid cuts cells behind each of their lines.
func TestLinesOfAWholeCellAreNeverInvalid(t *testing.T) {
	whole := 0
	for _, s := range seeds {
		if status, _ := cell.Judge(s); status != cell.Complete {
			continue
		}
		whole++
		for i := range s {
			if s[i] != '\n' {
				continue
			}
			if status, _ := cell.Judge(s[:i]); status == cell.Invalid {
				t.Errorf("%q is called invalid, and %q follows", s[:i], s[i:])
			}
		}
	}
	if whole < 6 {
		t.Errorf("only %d cells of the test are complete", whole)
	}
}

func FuzzComplete(f *testing.F) {
	seed(f)
	st := fuzzed(f)
	f.Fuzz(func(t *testing.T, text string, cursor int) {
		checkCompletion(t, st, text, cursor)
		if faults := st.Faults(); len(faults) > 0 {
			t.Fatal(faults[0])
		}
	})
}

func FuzzInspect(f *testing.F) {
	seed(f)
	st := fuzzed(f)
	f.Fuzz(func(t *testing.T, text string, cursor int) {
		note, found := st.Inspect(text, cursor, true)
		if found && (note.Decl == "" || note.Text() == "" || note.Markdown() == "") {
			t.Fatalf("%q at %d: an empty note", text, cursor)
		}
		if faults := st.Faults(); len(faults) > 0 {
			t.Fatal(faults[0])
		}
	})
}

func FuzzIsComplete(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		cell.Judge(text[:min(max(cut, 0), len(text))])
		status, indent := cell.Judge(text)
		if strings.Trim(indent, " \t") != "" || status != cell.Incomplete && indent != "" {
			t.Fatalf("%q: %v with indent %q", text, status, indent)
		}
	})
}
