package edit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
)

// guarded has lines that may not be changed around and within a function whose
// lines 7 to 9 may be.
const guarded = `#include "guarded.h"
#define LIMIT 100
#ifdef CHECKED
#define CHECK(x) verify(x)
#endif
void step(double *a, int n) {
	for (int i = 0; i < n; i++)
		a[i] = a[i] * 2;
	a[0] = 1;
#if LIMIT > 10
	clamp(a, n, LIMIT);
#endif
}
`

// hot is a header that guarded includes, all of it editable.
const hot = "#define TILE 16\nstatic inline double twice(double x) { return 2 * x; }\n"

func guardedSources() []edit.Source {
	return []edit.Source{
		{Path: "guarded.c", Text: guarded, Editable: []edit.Range{{Start: 7, End: 9}}},
		{Path: "guarded.h", Text: hot, Editable: edit.All(hot)},
	}
}

// Lines that may not be changed keep their meaning, too, whatever stands before
// them.
func TestLinesThatMayNotBeChangedKeepTheirMeaning(t *testing.T) {
	const last = "\ta[0] = 1;"
	for name, tt := range map[string]struct {
		file, search, replace string
		reason                edit.Reason
	}{
		"a comment that goes on":         {"guarded.c", last, last + "\n// next \\", edit.Outside},
		"a macro that goes on":           {"guarded.c", last, last + "\n#define MORE \\", edit.Outside},
		"a string that goes on":          {"guarded.c", last, last + "\nconst char *s = \"\\", edit.Outside},
		"a raw string":                   {"guarded.c", last, last + "\nconst char *s = R\"x(", edit.Outside},
		"a comment":                      {"guarded.c", last, last + " /*", edit.SignatureChange},
		"a condition":                    {"guarded.c", last, last + "\n#if 0", edit.Outside},
		"a condition in another's place": {"guarded.c", last, last + "\n#endif\n#if 0", edit.Outside},
		"another function":               {"guarded.c", last, last + "\n}\nvoid unused(double *a, int n) {", edit.Outside},
		"a block that is skipped":        {"guarded.c", last, last + "\nif (0) {", edit.SignatureChange},
		"an argument that is dropped":    {"guarded.c", last, last + "\n(void)sizeof(", edit.Outside},
		"a macro of a locked word":       {"guarded.c", last, last + "\n#define clamp(a, n, l)", edit.Outside},
		"a keyword":                      {"guarded.c", last, last + "\n#define if while", edit.Outside},
		"a macro that is gone":           {"guarded.c", last, last + "\n#undef LIMIT", edit.Outside},
		"a condition's macro":            {"guarded.c", last, last + "\n#define CHECKED", edit.Outside},
		"a macro by a digraph":           {"guarded.c", last, last + "\n%:define clamp(a, n, l)", edit.Binary},
		"brackets by digraphs":           {"guarded.c", last, last + "\nif (0) <%", edit.Binary},
		"a trigraph":                     {"guarded.c", last, last + "\n// next ??/", edit.Binary},
		"a macro of an included file":    {"guarded.h", "#define TILE 16", "#define TILE 16\n#define clamp(a, n, l)", edit.Outside},
		"names of lines":                 {"guarded.c", last, last + "\n#line 1 \"main.c\"", edit.Outside},
		"names of lines, short":          {"guarded.c", last, last + "\n# 7 \"main.c\"", edit.Outside},
		"a line in a line":               {"guarded.c", last, last + "\rclamp(a, n, 0);", edit.Binary},
		"a line separator":               {"guarded.c", last, last + " //\u2028clamp(a, n, 0);", edit.Binary},
		"a line of NEL":                  {"guarded.c", last, last + " //\u0085clamp(a, n, 0);", edit.Binary},
		"a zero width name":              {"guarded.c", last, "\tint cla\u200dmp = 1;", edit.Binary},
		"a vertical tab":                 {"guarded.c", last, last + "\v", edit.Binary},
		// And what is allowed.
		"a macro of its own":           {"guarded.c", last, "#define STRIDE 4\n\ta[0] = STRIDE - 3;", ""},
		"a macro of another value":     {"guarded.h", "#define TILE 16", "#define TILE 32", ""},
		"a block of its own":           {"guarded.c", last, "\tif (n > 0) {\n\t\ta[0] = 1;\n\t}", ""},
		"branches that open a bracket": {"guarded.c", last, "#ifdef FAST\n\tif (n) {\n#else\n\tif (n > 0) {\n#endif\n\t\ta[0] = 1;\n\t}", ""},
		"escapes that are text":        {"guarded.c", last, last + "\n\tconst char *s = \"\\u000a ??? 100%: <%\";", ""},
		"a name of a template":         {"guarded.c", last, last + "\n\tstd::vector<::ns::t> v;", ""},
	} {
		p := edit.Apply(one(tt.file, tt.search, tt.replace), guardedSources(), rules)
		var got edit.Reason
		if r := p.Outcomes[0].Rejected; r != nil {
			got = r.Reason
		}
		if got != tt.reason {
			t.Errorf("%s: %q, want %q: %v", name, got, tt.reason, p.Outcomes[0].Rejected)
		}
	}
}

// Numbers in a diff that are wrong do not make it another diff.
func TestDiffsWithWrongNumbersDoWhatTheirLinesSay(t *testing.T) {
	const body = " \tfor (int i = 0; i < n; i++)\n-\t\ta[i] = a[i] * 2;\n+\t\ta[i] += a[i];\n \ta[0] = 1;\n"
	for _, head := range []string{"@@ -7,3 +7,3 @@", "@@ -1,1 +1,1 @@", "@@ -0,0 +0,0 @@", "@@ -7,9 +7,9 @@", "@@ -99999999999999999999,3 +1,3 @@", "@@ -7 +7 @@", "@@ ... @@", "@@ -7,3 +7,3 @@ void step(double *a, int n) {"} {
		answer := "evidence: R1\n```diff\n--- a/guarded.c\n+++ b/guarded.c\n" + head + "\n" + body + "```\n"
		a := edit.Parse(answer, edit.ParseOptions{})
		p := edit.Apply(a.Edits, guardedSources(), rules)
		if len(a.Edits) != 1 || p.Accepted() != 1 || p.Files[0].Text != strings.Replace(guarded, "a[i] = a[i] * 2;", "a[i] += a[i];", 1) {
			t.Errorf("%s: %+v, %v", head, a, p.Outcomes)
		}
	}
	// Lines that are not there are not found, wherever the numbers point.
	a := edit.Parse("evidence: R1\n--- a/guarded.c\n+++ b/guarded.c\n@@ -8,1 +8,1 @@\n-\t\ta[i] = a[i] * 3;\n+\t\ta[i] = 0;\n", edit.ParseOptions{})
	if r := edit.Apply(a.Edits, guardedSources(), rules).Outcomes[0].Rejected; r == nil || r.Reason != edit.NotFound {
		t.Errorf("%v", r)
	}
	// A diff that makes a file, or takes one away, is none of a source.
	for answer, want := range map[string]edit.Reason{
		"evidence: R1\n--- /dev/null\n+++ b/evil.c\n@@ -0,0 +1 @@\n+int x;\n":                                                               edit.NewFile,
		"evidence: R1\n--- a/guarded.h\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-" + strings.ReplaceAll(strings.TrimSpace(hot), "\n", "\n-") + "\n": edit.EmptiedFile,
		"evidence: R1\n--- a/../../etc/passwd\n+++ b/../../etc/passwd\n@@ -1 +1 @@\n-root\n+me\n":                                           edit.PathEscape,
	} {
		a := edit.Parse(answer, edit.ParseOptions{})
		if len(a.Edits) != 1 {
			t.Fatalf("%q: %+v", answer, a)
		}
		if r := edit.Apply(a.Edits, guardedSources(), rules).Outcomes[0].Rejected; r == nil || r.Reason != want {
			t.Errorf("%q: %v, want %s", answer, r, want)
		}
	}
}

// Kernels for devices are held to their signatures in their own forms.
func TestSignaturesOfDeviceCode(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after string
		reason        edit.Reason
	}{
		"CUDA: no kernel any more":     {"__global__ void k(float *a) {", "__device__ void k(float *a) {", edit.SignatureChange},
		"CUDA: launch bounds":          {"__global__ void k(float *a) {", "__global__ void __launch_bounds__(256) k(float *__restrict__ a) {", ""},
		"CUDA: a parameter more":       {"__global__ void k(float *a) {", "__global__ void k(float *a, int n) {", edit.SignatureChange},
		"CUDA: C linkage":              {"extern \"C\" __global__ void k(float *a) {", "__global__ void k(float *a) {", edit.SignatureChange},
		"OpenCL: another memory":       {"__kernel void k(__global float *a) {", "__kernel void k(__constant float *a) {", edit.SignatureChange},
		"OpenCL: other spelling":       {"__kernel void k(__global float *a) {", "kernel void k(global float *restrict a) {", ""},
		"OpenCL: no kernel any more":   {"__kernel void k(__global float *a) {", "void k(__global float *a) {", edit.SignatureChange},
		"OpenCL: vectors":              {"__kernel void k(__global float *a) {", "__kernel void k(__global float4 *a) {", edit.SignatureChange},
		"C++: a template":              {"void k(float *a) {", "template <class T> void k(T *a) {", edit.SignatureChange},
		"C++: another return type":     {"void k(float *a) {", "auto k(float *a) -> int {", edit.SignatureChange},
		"C: without a prototype":       {"void k(float *a) {", "void k(a) float *a; {", edit.SignatureChange},
		"const of what a pointer has":  {"void k(const float *a) {", "void k(float *a) {", edit.SignatureChange},
		"const of the pointer itself":  {"void k(float *a) {", "void k(float *const a) {", ""},
		"renamed, and a macro for it":  {"void k(float *a) {", "#define k j\nvoid j(float *a) {", edit.SignatureChange},
		"gone, and another's argument": {"void k(float *a) {", "void j(void (*k)(float *), float *a) {", edit.SignatureChange},
	} {
		src := edit.Source{Path: "k.cu", Text: tt.before + "\n\ta[0] = 1;\n}\n"}
		src.Editable = edit.All(src.Text)
		p := edit.Apply(one("k.cu", tt.before+"\n\ta[0] = 1;", tt.after+"\n\ta[0] = 2;"), []edit.Source{src}, rules)
		var got edit.Reason
		if r := p.Outcomes[0].Rejected; r != nil {
			got = r.Reason
		}
		if got != tt.reason {
			t.Errorf("%s: %q, want %q: %v", name, got, tt.reason, p.Outcomes[0].Rejected)
		}
	}
}

// However much an answer says, it is read in a time that its size bounds. What is
// tested is that it ends, and what is left of it.
func TestAnswersWithoutEndAreBounded(t *testing.T) {
	var source strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&source, "int f%d(int x) { return x + %d; }\n", i, i)
	}
	src := edit.Source{Path: "a.c", Text: source.String(), Editable: edit.All(source.String())}
	line := func(i int) string { return fmt.Sprintf("int f%d(int x) { return x + %d; }", i, i) }
	block := func(i int) string {
		return "<<<<<<< SEARCH\n" + line(i) + "\n=======\n" + strings.Replace(line(i), "+", "-", 1) + "\n>>>>>>> REPLACE\n"
	}
	var edits, hunks strings.Builder
	hunks.WriteString("evidence: R1\n")
	for i := range 1000 {
		edits.WriteString("evidence: R1\n" + block(i))
		hunks.WriteString(block(i))
	}
	var ids strings.Builder
	for i := range 55000 {
		fmt.Fprintf(&ids, "evidence: A%d\n", i)
	}
	for name, tt := range map[string]struct {
		answer         string
		edits, changed int
		problem        edit.Reason
	}{
		"10 MB":                  {strings.Repeat("x", 10<<20), 0, 0, edit.Oversize},
		"empty":                  {"", 0, 0, ""},
		"blank":                  {" \n\t\r\n\n", 0, 0, ""},
		"a thousand edits":       {edits.String(), edit.MaxEdits, edit.MaxEdits, edit.Oversize},
		"a thousand blocks":      {hunks.String(), 1, 1, ""},
		"openings without end":   {strings.Repeat("<<<<<<< SEARCH\n", 60000), 0, 0, edit.Oversize},
		"hunks without lines":    {"file: a.c\n" + strings.Repeat("@@ -1 +1 @@\n", 60000), 1, 0, ""},
		"fences":                 {strings.Repeat("```\n", 200000), 0, 0, ""},
		"reasons":                {strings.Repeat("why: x\n", 140000), 0, 0, edit.Malformed},
		"ids":                    {ids.String(), 0, 0, edit.Malformed},
		"a line":                 {"evidence: " + strings.Repeat("R1, ", 200000), 0, 0, edit.Malformed},
		"predictions":            {"predict: " + strings.Repeat("time down, ", 80000), 0, 0, edit.Malformed},
		"a prediction of commas": {"predict: " + strings.Repeat(",", 900000), 0, 0, edit.Malformed},
	} {
		t.Log(name)
		a := edit.Parse(tt.answer, edit.ParseOptions{File: "a.c"})
		p := edit.Apply(a.Edits, []edit.Source{src}, rules)
		if len(a.Edits) != tt.edits || p.Accepted() != tt.changed {
			t.Errorf("%s: %d edits, %d accepted", name, len(a.Edits), p.Accepted())
		}
		if tt.problem == "" && len(a.Problems) > 0 || tt.problem != "" && (len(a.Problems) == 0 || a.Problems[len(a.Problems)-1].Reason != tt.problem) {
			t.Errorf("%s: problems %v", name, a.Problems[:min(3, len(a.Problems))])
		}
		for _, o := range p.Outcomes {
			if tt.changed == 0 && (o.Rejected == nil || o.Rejected.Reason != edit.NotFound) {
				t.Errorf("%s: %v", name, o.Rejected)
			}
		}
	}
}
