package parsertest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
)

// Fact is something that is known of a profile from elsewhere than the parser
// under test.
type Fact struct {
	File string             // base name
	What string             // "inclusive Ir of main"
	Of   func(*Records) any // the parser's answer: a float64, an int, a string, a datasets.Null
	Want any                // the truth
	How  string             // how the truth was derived: a command line, another tool, the text's line
}

// Facts parses the files of a folder, detected as when users import them, and
// compares what they say with facts, of which each file has at least three.
// refused are the files that must not be imported, each with a part of the
// message that says why.
func Facts(t *testing.T, dir string, facts []Fact, refused map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatalf("no sample profiles in %s (%v): the folder shared/ must lie beside the repository", dir, err)
	}
	byFile := map[string][]Fact{}
	for _, f := range facts {
		byFile[f.File] = append(byFile[f.File], f)
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			format, recs, err := ParseFile(t, filepath.Join(dir, name))
			if part, no := refused[name]; no {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Fatalf("imported as %s with the error %v, want a refusal with %q", format, err, part)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			CheckReferences(t, recs)
			if n := len(byFile[name]); n < 3 {
				t.Errorf("only %d facts are known of it, want 3", n)
			}
			for _, f := range byFile[name] {
				if f.How == "" {
					t.Errorf("%s: nothing says where the truth is from", f.What)
				}
				if got := f.Of(recs); !same(got, f.Want) {
					t.Errorf("%s is %v, want %v (%s)", f.What, got, f.Want, f.How)
				}
			}
		})
		delete(byFile, name)
	}
	for name := range byFile {
		t.Errorf("there are facts about %s, which is not in %s", name, dir)
	}
}

// same compares numbers to 12 digits, anything else by its text.
func same(got, want any) bool {
	g, ok := float(got)
	w, wok := float(want)
	if ok && wok {
		return g == w || math.Abs(g-w) <= 1e-12*math.Max(math.Abs(g), math.Abs(w))
	}
	return fmt.Sprint(got) == fmt.Sprint(want)
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case datasets.Null[float64]:
		return v.V, v.Valid
	case datasets.Null[int64]:
		return float64(v.V), v.Valid
	}
	return 0, false
}

// Total is the sum of a metric over all counters of a profile that have a
// value.
func (r *Records) Total(metric string) float64 {
	sum := 0.0
	for _, c := range r.Counters {
		if c.Metric == metric && c.Value.Valid {
			sum += c.Value.V
		}
	}
	return sum
}
