package edit_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
)

// heat is a source whose lines 5 to 12 may be changed.
const heat = `#include "heat.h"

#define N 64
/* One step. */
void step(const double *restrict a, double *b)
{
	for (int i = 1; i < N - 1; i++) {
		b[i] = a[i];
		b[i] = 0.5 * b[i];
	}
	b[0] = a[0];
}

int done(void) { return 0; }
`

func sources() []edit.Source {
	return []edit.Source{{Path: "heat.c", Text: heat, Editable: []edit.Range{{Start: 5, End: 12}}}, {Path: "heat.h", Text: "void step(const double *, double *);\n"}}
}

var rules = edit.Rules{Evidence: []string{"R1", "S3"}}

func one(file, search, replace string) []edit.Edit {
	return []edit.Edit{{Evidence: []string{"R1"}, Hunks: []edit.Hunk{hunk(file, search, replace, 0)}}}
}

func TestApplyRejectsWithTheReason(t *testing.T) {
	const loop = "\t\tb[i] = a[i];"
	for _, tt := range []struct {
		name   string
		edits  []edit.Edit
		reason edit.Reason
		says   string
	}{
		{"outside", one("heat.c", "int done(void) { return 0; }", "int done(void) { return 1; }"), edit.Outside, "line 14; editable are lines 5-12"},
		{"half outside", one("heat.c", "#define N 64\n/* One step. */\nvoid step(const double *restrict a, double *b)", "#define N 32\n/* One step. */\nvoid step(const double *restrict a, double *b)"), edit.Outside, "line 3"},
		{"inserted outside", one("heat.c", "#define N 64", "#define N 64\n#define M 1"), edit.Outside, "before 4"},
		{"not found", one("heat.c", "b[i] = c[i];", "x"), edit.NotFound, `"b[i] = c[i];"`},
		{"part of a line", one("heat.c", "b[i] = a", "x"), edit.NotFound, "whole lines"},
		{"an empty search", one("heat.c", "", "x"), edit.NotFound, "empty"},
		{"not unique", one("heat.c", "  }", "  }}"), edit.NotUnique, "lines 10, 12"}, // with white space alike
		{"a new file", one("new.c", "", "int x;"), edit.NewFile, "change heat.c"},
		{"a read-only file", one("heat.h", "void step(const double *, double *);", "x"), edit.ReadOnly, "change heat.c"},
		{"above", one("../heat.c", "x", "y"), edit.PathEscape, `".."`},
		{"within and above", one("a/../../heat.c", "x", "y"), edit.PathEscape, `".."`},
		{"Windows' above", one(`..\heat.c`, "x", "y"), edit.PathEscape, `".."`},
		{"absolute", one("/etc/passwd", "x", "y"), edit.PathEscape, "absolute"},
		{"a drive", one(`C:\heat.c`, "x", "y"), edit.PathEscape, "absolute"},
		{"home", one("~/heat.c", "x", "y"), edit.PathEscape, "absolute"},
		{"the same text", one("heat.c", loop, loop), edit.NoOp, "same text"},
		{"only comments", one("heat.c", loop, loop+" // copy"), edit.NoOp, "comments"},
		{"only space", one("heat.c", loop, "\t\t b[i]  =  a[i];"), edit.NoOp, "white space"},
		{"a NUL", one("heat.c", loop, "\t\tb[i] = \x00;"), edit.Binary, "NUL"},
		{"no UTF-8", one("heat.c", loop, "\t\tb[i] = 1; // \xff"), edit.Binary, "UTF-8"},
		{"text that turns around", one("heat.c", loop, "\t\tb[i] = 1; /*\u202e*/"), edit.Binary, "cannot be seen"},
		{"numbers of other lines", one("heat.c", "|   11* \t\tb[i] = a[i];", "x;"), edit.NotFound, "copy whole lines"},
		{"numbers that jump", one("heat.c", "    8* \t\tb[i] = a[i];\n   10* \t\tb[i] = 0.5 * b[i];", "x;"), edit.NotFound, "copy whole lines"},
		{"large", one("heat.c", loop, strings.Repeat("x", edit.DefaultMaxBytes)), edit.Oversize, "limit"},
		{"another type", one("heat.c", "void step(const double *restrict a, double *b)", "void step(const float *restrict a, double *b)"), edit.SignatureChange, "of step"},
		{"another parameter", one("heat.c", "void step(const double *restrict a, double *b)", "void step(const double *restrict a, double *b, int n)"), edit.SignatureChange, "of step"},
		{"static", one("heat.c", "void step(const double *restrict a, double *b)", "static void step(const double *restrict a, double *b)"), edit.SignatureChange, "of step"},
		{"another name", one("heat.c", "void step(const double *restrict a, double *b)", "void stop(const double *restrict a, double *b)"), edit.SignatureChange, "step would be gone"},
		{"a comment that swallows", one("heat.c", "\tb[0] = a[0];\n}", "\tb[0] = a[0];\n} /*"), edit.SignatureChange, "done would be gone"},
		{"a condition that swallows", one("heat.c", "\tb[0] = a[0];\n}", "\tb[0] = a[0];\n}\n#if 0"), edit.Outside, "line 14"},
		{"nothing cited", []edit.Edit{{Hunks: one("heat.c", loop, "x;")[0].Hunks}}, edit.NoEvidence, "evidence: IDS"},
		{"an id of nothing", []edit.Edit{{Evidence: []string{"R1", "X9"}, Hunks: one("heat.c", loop, "x;")[0].Hunks}}, edit.UnknownEvidence, "X9 was not supplied"},
		{"no block", []edit.Edit{{Evidence: []string{"R1"}}}, edit.Malformed, "no block"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := edit.Apply(tt.edits, sources(), rules)
			r := p.Outcomes[0].Rejected
			if r == nil || r.Reason != tt.reason || !strings.Contains(r.Detail, tt.says) || len(p.Files) > 0 || len(p.Outcomes[0].Changes) > 0 {
				t.Fatalf("%+v, %+v; want %s: %s", r, p.Files, tt.reason, tt.says)
			}
		})
	}
}

func TestApplyTellsWhichLinesChange(t *testing.T) {
	edits := []edit.Edit{
		{Evidence: []string{"R1"}, Hunks: []edit.Hunk{hunk("heat.c", "void step(const double *restrict a, double *b)\n{\n\tfor (int i = 1; i < N - 1; i++) {",
			"void step(const double *restrict a, double *restrict b)\n{\n\t#pragma omp simd\n\tfor (int i = 1; i < N - 1; i++) {", 0)}},
		{Evidence: []string{"S3"}, Hunks: []edit.Hunk{hunk("heat.c", "    b[i] = a[i];\n    b[i] = 0.5 * b[i];", "    b[i] = 0.5 * a[i];", 0)}},
		{Evidence: []string{"S3"}, Hunks: []edit.Hunk{hunk("heat.c", "\t\tb[i] = a[i];", "\t\tb[i] = 2 * a[i];", 0)}},
	}
	p := edit.Apply(edits, sources(), rules)
	want := strings.NewReplacer("double *b)", "double *restrict b)", "{\n\tfor", "{\n\t#pragma omp simd\n\tfor", "\t\tb[i] = a[i];\n\t\tb[i] = 0.5 * b[i];", "    b[i] = 0.5 * a[i];").Replace(heat)
	if len(p.Files) != 1 || p.Files[0].Text != want || p.Accepted() != 2 {
		t.Fatalf("%+v\n%+v", p.Files, p.Outcomes)
	}
	if r := p.Outcomes[2].Rejected; r == nil || r.Reason != edit.Overlap {
		t.Errorf("the third edit wants lines of the second: %+v", r)
	}
	// Line 5 became line 5; a line came in before line 7; lines 8 and 9 became
	// line 9, which were found with other white space.
	got := append(p.Outcomes[0].Changes, p.Outcomes[1].Changes...)
	rows := []edit.Change{
		{File: "heat.c", Old: edit.Range{Start: 5, End: 5}, New: edit.Range{Start: 5, End: 5}},
		{File: "heat.c", Old: edit.Range{Start: 7, End: 6}, New: edit.Range{Start: 7, End: 7}},
		{File: "heat.c", Old: edit.Range{Start: 8, End: 9}, New: edit.Range{Start: 9, End: 9}, Loose: true},
	}
	if !reflect.DeepEqual(got, rows) {
		t.Errorf("got  %+v\nwant %+v", got, rows)
	}
}

// A line that a diff gives decides between places that match exactly.
func TestALineOfADiffDecides(t *testing.T) {
	src := []edit.Source{{Path: "a.c", Text: "x;\ny;\nx;\n", Editable: edit.All("x;\ny;\nx;\n")}}
	for at, want := range map[int]string{1: "z;\ny;\nx;\n", 3: "x;\ny;\nz;\n", 2: ""} {
		p := edit.Apply([]edit.Edit{{Hunks: []edit.Hunk{hunk("a.c", "x;", "z;", at)}}}, src, edit.Rules{AllowUncited: true})
		if r := p.Outcomes[0].Rejected; want == "" && (r == nil || r.Reason != edit.NotUnique) || want != "" && (r != nil || p.Files[0].Text != want) {
			t.Errorf("at %d: %+v, %+v", at, r, p.Files)
		}
	}
}

// Models copy the numbers that prompts show. With all of them right, the line is
// sure.
func TestLinesThatWereCopiedWithTheirNumbers(t *testing.T) {
	p := edit.Apply(one("heat.c", "|    8* \t\tb[i] = a[i];\n|    9* \t\tb[i] = 0.5 * b[i];\n|   10* \t}", "|    8* \t\tb[i] = 0.5 * a[i];\n\t\tb[0] = i;\n|   10* \t}"), sources(), rules)
	want := strings.Replace(heat, "\t\tb[i] = a[i];\n\t\tb[i] = 0.5 * b[i];\n", "\t\tb[i] = 0.5 * a[i];\n\t\tb[0] = i;\n", 1)
	if o := p.Outcomes[0]; o.Rejected != nil || p.Files[0].Text != want || !o.Changes[0].Loose {
		t.Errorf("%+v, %q", o, p.Files)
	}
}

// A comment beside a change, and a block that is given twice, are no reason to
// reject an edit; a comment alone is, also after another edit.
func TestOneChangeIsEnough(t *testing.T) {
	loop := hunk("heat.c", "\t\tb[i] = a[i];", "\t\tb[i] = 2 * a[i];", 0)
	note := hunk("heat.c", "\tb[0] = a[0];", "\tb[0] = a[0]; // copied", 0)
	p := edit.Apply([]edit.Edit{{Evidence: []string{"R1"}, Hunks: []edit.Hunk{loop, loop}}, {Evidence: []string{"R1"}, Hunks: []edit.Hunk{note}}}, sources(), rules)
	if a, b := p.Outcomes[0], p.Outcomes[1]; a.Rejected != nil || len(a.Changes) != 1 || b.Rejected == nil || b.Rejected.Reason != edit.NoOp {
		t.Errorf("%+v", p.Outcomes)
	}
	if p := edit.Apply([]edit.Edit{{Evidence: []string{"R1"}, Hunks: []edit.Hunk{loop, note}}}, sources(), rules); p.Accepted() != 1 {
		t.Errorf("%+v", p.Outcomes)
	}
}

// The two branches of a condition may each open a brace that is closed once.
func TestBranchesThatOpenABraceEach(t *testing.T) {
	p := edit.Apply(one("heat.c", "\tfor (int i = 1; i < N - 1; i++) {", "#ifdef DOWN\n\tfor (int i = N - 2; i > 0; i--) {\n#else\n\tfor (int i = 1; i < N - 1; i++) {\n#endif"), sources(), rules)
	if o := p.Outcomes[0]; o.Rejected != nil {
		t.Error(o.Rejected)
	}
}

func TestUnknownEvidenceIsCountedAlsoWhereItIsAllowed(t *testing.T) {
	p := edit.Apply([]edit.Edit{{Evidence: []string{"R1", "X9"}, Hunks: one("heat.c", "\tb[0] = a[0];", "\tb[0] = 1;")[0].Hunks}}, sources(), edit.Rules{Evidence: []string{"R1"}, AllowUnknown: true})
	if o := p.Outcomes[0]; o.Rejected != nil || !reflect.DeepEqual(o.Unknown, []string{"X9"}) {
		t.Errorf("%+v", o)
	}
}

func TestLineEndsStay(t *testing.T) {
	for _, tt := range []struct{ text, search, replace, want string }{
		{"a;\r\nb;\r\nc;\r\n", "b;", "x;\ny;", "a;\r\nx;\r\ny;\r\nc;\r\n"},
		{"a;\nb;", "b;", "x;\ny;", "a;\nx;\ny;"},
		{"a;\nb;", "a;\nb;", "a;\nb;\nc;", "a;\nb;\nc;"},
		{"a;\nb;", "a;\nb;", "a;", "a;"},
		{"\ta;\nb;\n\n", "\n a;\n\n", "x;\n", "x;\nb;\n\n"}, // blank lines around the search text
	} {
		p := edit.Apply([]edit.Edit{{Hunks: []edit.Hunk{hunk("a.c", tt.search, tt.replace, 0)}}},
			[]edit.Source{{Path: "a.c", Text: tt.text, Editable: edit.All(tt.text)}}, edit.Rules{AllowUncited: true})
		if r := p.Outcomes[0].Rejected; r != nil || p.Files[0].Text != tt.want {
			t.Errorf("%q: %v, %q; want %q", tt.text, r, p.Files, tt.want)
		}
	}
}
