package edit_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
)

// fenced puts ~ for the back quote, which raw strings cannot hold.
func fenced(s string) string { return strings.ReplaceAll(s, "~", "`") }

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func hunk(file, search, replace string, at int) edit.Hunk {
	return edit.Hunk{File: file, Search: lines(search), Replace: lines(replace), At: at}
}

// plain is edits without where in the answer they are.
func plain(edits []edit.Edit) []edit.Edit {
	var out []edit.Edit
	for _, e := range edits {
		e.Line, e.Ignored = 0, nil
		e.Hunks = append([]edit.Hunk{}, e.Hunks...)
		for i := range e.Hunks {
			e.Hunks[i].Line = 0
		}
		out = append(out, e)
	}
	return out
}

func TestParseReadsWhatModelsWrite(t *testing.T) {
	down := func(m string) edit.Prediction { return edit.Prediction{Metric: m, Direction: edit.Down} }
	up := func(m string) edit.Prediction { return edit.Prediction{Metric: m, Direction: edit.Up} }
	one := []edit.Hunk{hunk("heat.c", "  a = 1;", "  a = 2;", 0)}
	for _, tt := range []struct {
		name, answer string
		want         []edit.Edit
	}{
		{"a block as asked for", `file: heat.c
evidence: R1, S3
predict: dram__bytes.sum down, sm__warps_active.avg up
why: fewer bytes
<<<<<<< SEARCH
  a = 1;
=======
  a = 2;
>>>>>>> REPLACE
`, []edit.Edit{{Evidence: []string{"R1", "S3"}, Predictions: []edit.Prediction{down("dram__bytes.sum"), up("sm__warps_active.avg")}, Why: "fewer bytes", Hunks: one}}},
		{"Markdown around it, and prose between", fenced(`Sure! The loop waits for memory.

**Evidence:** [R1] (DRAM bound) and S3, which speaks of FP64
- **Predict:** ~time~: decreases (by 10 %); occupancy higher.

**heat.c**
~~~c
<<<<<<< SEARCH
  a = 1;
=======
  a = 2;
>>>>>>> REPLACE
~~~
That is all.`), []edit.Edit{{Evidence: []string{"R1", "S3"}, Predictions: []edit.Prediction{down("time"), up("occupancy")}, Hunks: one}}},
		{"two edits, the first in two files", `file: a.c
evidence: r1
<<<<<<< SEARCH
x
=======
>>>>>>> REPLACE
file: b.c
<<<<<<< SEARCH
y
=======
y

z
>>>>>>> REPLACE
evidence: C2
<<<<<<< SEARCH
w
=======
v
>>>>>>> REPLACE
`, []edit.Edit{
			{Evidence: []string{"R1"}, Hunks: []edit.Hunk{hunk("a.c", "x", "", 0), hunk("b.c", "y", "y\n\nz", 0)}},
			{Evidence: []string{"C2"}, Hunks: []edit.Hunk{hunk("b.c", "w", "v", 0)}}}},
		{"a unified diff of two files, CRLF", "evidence: S1\r\n~~~diff\r\ndiff --git a/src/k.cl b/src/k.cl\r\nindex 12..34 100644\r\n--- a/src/k.cl\r\n+++ b/src/k.cl\r\n@@ -3,3 +3,4 @@ kernel\r\n one\r\n-two\r\n+zwei\r\n+drei\r\n four\r\n@@ -20 +21 @@\r\n-x\r\n+y\r\n--- b.c\t2026-01-01\r\n+++ b.c\t2026-01-02\r\n@@ -1,2 +1,2 @@\r\n p\r\n-q\r\n+r\r\n~~~\r\n",
			[]edit.Edit{{Evidence: []string{"S1"}, Hunks: []edit.Hunk{hunk("src/k.cl", "one\ntwo\nfour", "one\nzwei\ndrei\nfour", 3), hunk("src/k.cl", "x", "y", 20), hunk("b.c", "p\nq", "p\nr", 1)}}}},
		{"a diff that counts wrongly, in a fence", fenced(`evidence: S1
~~~diff
--- a/k.c
+++ b/k.c
@@ -3,9 +3,9 @@
 one
-two
+zwei
--- a/l.c
+++ b/l.c
@@ -1,1 +1,1 @@
-a
+b
+c

 d
~~~
- This is a list and no removed line.
`), []edit.Edit{{Evidence: []string{"S1"}, Hunks: []edit.Hunk{hunk("k.c", "one\ntwo", "one\nzwei", 3), hunk("l.c", "a\n\nd", "b\nc\n\nd", 1)}}}},
		{"prose after a diff that counts rightly", `evidence: S1
--- a/k.c
+++ b/k.c
@@ -3,2 +3,1 @@
 one
--- two
- This is a list and no removed line.
`, []edit.Edit{{Evidence: []string{"S1"}, Hunks: []edit.Hunk{hunk("k.c", "one\n-- two", "one", 3)}}}},
		{"a diff without numbers", "evidence: S1\n--- k.c\n+++ k.c\n@@ ... @@\n one\n\n-two\n+zwei\n\nDone.", []edit.Edit{{Evidence: []string{"S1"}, Hunks: []edit.Hunk{hunk("k.c", "one\n\ntwo", "one\n\nzwei", 0)}}}},
		{"text that holds marks, with longer ones", `file: notes.c
evidence: R1
<<<<<<<<< SEARCH
<<<<<<< SEARCH
=======
=========
>>>>>>> REPLACE
>>>>>>>>> REPLACE
`, []edit.Edit{{Evidence: []string{"R1"}, Hunks: []edit.Hunk{hunk("notes.c", "<<<<<<< SEARCH\n=======", ">>>>>>> REPLACE", 0)}}}},
		{"nothing cited", "evidence: none\nfile: heat.c\n<<<<<<< SEARCH\n  a = 1;\n=======\n  a = 2;\n>>>>>>> REPLACE", []edit.Edit{{Hunks: one}}},
		{"a file of the options", "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE", []edit.Edit{{Hunks: []edit.Hunk{hunk("only.c", "x", "y", 0)}}}},
		{"events with commas", "file: heat.c\nevidence: C1\npredict: cpu/event=0xc4,umask=0x20/ down,time down; `x` up\n<<<<<<< SEARCH\n  a = 1;\n=======\n  a = 2;\n>>>>>>> REPLACE",
			[]edit.Edit{{Evidence: []string{"C1"}, Predictions: []edit.Prediction{down("cpu/event=0xc4,umask=0x20/"), down("time"), up("x")}, Hunks: one}}},
		{"no edit at all", "I would not change anything: see file.c and <<<< there.", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := edit.Parse(fenced(tt.answer), edit.ParseOptions{File: "only.c"})
			if len(got.Problems) > 0 {
				t.Errorf("problems: %v", got.Problems)
			}
			if p := plain(got.Edits); !reflect.DeepEqual(p, tt.want) {
				t.Errorf("got  %+v\nwant %+v", p, tt.want)
			}
			// What was read is written so that it is read again.
			if again := edit.Parse(edit.Format(got.Edits), edit.ParseOptions{}); !reflect.DeepEqual(plain(again.Edits), plain(got.Edits)) || len(again.Problems) > 0 {
				t.Errorf("formatted, it is read as %+v, %v", again.Edits, again.Problems)
			}
		})
	}
}

func TestParseSaysWhatCannotBeRead(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		reason       edit.Reason
		line         int
		says         string
	}{
		{"cut off", "file: a.c\nevidence: R1\n<<<<<<< SEARCH\nx\n=======\ny\n", edit.Malformed, 3, "does not end"},
		{"no divider", "file: a.c\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n", edit.Malformed, 2, "has no ======="},
		{"two dividers", "file: a.c\n<<<<<<< SEARCH\nx\n=======\ny\n=======\nz\n>>>>>>> REPLACE\n", edit.Malformed, 2, "second ======="},
		{"a block in a block", "file: a.c\n<<<<<<< SEARCH\nx\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", edit.Malformed, 2, "another block begins at line 4"},
		{"no file", "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", edit.Malformed, 1, "no file is named"},
		{"a header alone", "x\nevidence: R1\n", edit.Malformed, 2, "without a block"},
		{"a diff without hunks", "--- a/x.c\n+++ b/x.c\nnothing\n", edit.Malformed, 1, "no @@ line"},
		{"a binary patch", "diff --git a/x b/x\nGIT binary patch\nliteral 4\n", edit.Binary, 2, "binary"},
		{"too long", strings.Repeat("x", edit.MaxAnswer+1), edit.Oversize, 0, "the limit is"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := edit.Parse(tt.answer, edit.ParseOptions{})
			if len(got.Problems) != 1 || got.Problems[0].Reason != tt.reason || got.Problems[0].Line != tt.line || !strings.Contains(got.Problems[0].Error(), tt.says) {
				t.Errorf("%+v, want %s at line %d: %s", got.Problems, tt.reason, tt.line, tt.says)
			}
		})
	}
}

func TestParseStopsAtTooManyEdits(t *testing.T) {
	for _, one := range []string{"evidence: R1\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", "<<<<<<< SEARCH\n"} {
		got := edit.Parse("file: a.c\n"+strings.Repeat(one, 3*edit.MaxEdits), edit.ParseOptions{})
		if n := len(got.Problems); n == 0 || n > edit.MaxEdits+1 || got.Problems[n-1].Reason != edit.Oversize || len(got.Edits) > edit.MaxEdits {
			t.Errorf("%d edits, %d problems", len(got.Edits), n)
		}
	}
}

// A block after a broken one is still read.
func TestParseGoesOnAfterABrokenBlock(t *testing.T) {
	got := edit.Parse("file: a.c\nevidence: R1\n<<<<<<< SEARCH\nx\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", edit.ParseOptions{})
	if len(got.Edits) != 1 || len(got.Problems) != 1 || !reflect.DeepEqual(plain(got.Edits)[0].Hunks, []edit.Hunk{hunk("a.c", "x", "y", 0)}) {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNoIdAndNoPredictionIsKept(t *testing.T) {
	got := edit.Parse("evidence: R1 since FP64 is slow, the profile\npredict: faster, time down\nfile: a.c\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", edit.ParseOptions{})
	e := got.Edits[0]
	if !reflect.DeepEqual(e.Evidence, []string{"R1"}) || len(e.Predictions) != 1 || !reflect.DeepEqual(e.Ignored, []string{"since FP64 is slow", "the profile", "faster"}) {
		t.Errorf("%+v", e)
	}
}
