package review_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/review"
	"github.com/rooflab/rooflab/modeling/insight"
)

// A diff as patch reads it: lines 2 and 22 differ, of a file whose lines look
// like those of a diff.
const diff = `--- a/f.c
+++ b/f.c
@@ -1,4 +1,5 @@
 one
--- two
+++ b/two
+@@ -1 +1 @@
 three
 four
@@ -20,3 +21,3 @@
 twenty
-twentyone
+21
 twentytwo
\ No newline at end of file
`

func evidence() review.Evidence {
	return review.Evidence{
		Report: &insight.Report{Items: []insight.Item{
			{ID: "X1", Statement: "Line 2 misses.", Metric: "D1mr", Value: 1000, Location: &insight.Location{File: "/home/somebody/f.c", Line: 2}},
			{ID: "X2", Statement: "Line 21 is slow.", Metric: "Ir", Value: 5000, Unit: "event", Location: &insight.Location{File: "f.c", Line: 21}, Estimate: "a guess"},
			{ID: "C1", Statement: "Nothing else does.", Metric: "Bcm", Value: 3},
			{ID: "N9", Statement: "Noise.", Metric: "noise", Value: 1},
		}},
		Supplied: []string{"X1", "X2", "C1"},
		Before:   align.Values{"time": 2, "D1mr": 1000, "Bcm": 1000},
		After:    align.Values{"time": 1, "D1mr": 1200, "Bcm": 995},
	}
}

func outcomes() []edit.Outcome {
	down := func(m string) edit.Prediction { return edit.Prediction{Metric: m, Direction: edit.Down} }
	return []edit.Outcome{
		{Edit: edit.Edit{Why: "both", Evidence: []string{"C1", "X1", "X2"}, Predictions: []edit.Prediction{down("time"), down("D1mr"), down("Bcm"), down("never")}},
			Changes: []edit.Change{{File: "f.c", Old: edit.Range{Start: 2, End: 2}}, {File: "f.c", Old: edit.Range{Start: 21, End: 21}}}},
		{Edit: edit.Edit{Why: "the last", Evidence: []string{"N9", "Z7"}}, Changes: []edit.Change{{File: "f.c", Old: edit.Range{Start: 20, End: 22}}}},
		{Edit: edit.Edit{Why: "no"}, Rejected: &edit.Rejection{Reason: edit.NoEvidence}},
		{Edit: edit.Edit{Why: "elsewhere"}, Changes: []edit.Change{{File: "g.c", Old: edit.Range{Start: 2, End: 2}}}},
	}
}

func TestHunksAreReadByTheirCounts(t *testing.T) {
	hunks, err := review.Parse(diff)
	if err != nil || len(hunks) != 2 {
		t.Fatalf("%v, %d hunks", err, len(hunks))
	}
	var got []string
	for _, h := range hunks {
		for _, l := range h.Lines {
			got = append(got, fmt.Sprintf("%c%d,%d %s", l.Kind, l.Old, l.New, l.Text))
		}
	}
	want := []string{" 1,1 one", "-2,0 -- two", "+0,2 ++ b/two", "+0,3 @@ -1 +1 @@", " 3,4 three", " 4,5 four",
		" 20,21 twenty", "-21,0 twentyone", "+0,22 21", " 22,23 twentytwo"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if h := hunks[1]; h.File != "f.c" || h.Old != (edit.Range{Start: 20, End: 22}) || h.New != (edit.Range{Start: 21, End: 23}) {
		t.Errorf("%s %v %v", h.File, h.Old, h.New)
	}
	for _, bad := range []string{"@@ -1,2 +1,2 @@\n a\n", "@@ -1,1 +1,1 @@\n?a\n", "@@ -1,1 +1,1 @@\n\n"} {
		if _, err := review.Parse(bad); err == nil {
			t.Errorf("%q is a diff", bad)
		}
	}
	if hunks, err := review.Parse(""); err != nil || hunks != nil {
		t.Error(hunks, err)
	}
}

func TestEachHunkHasTheEvidenceOfItsEdits(t *testing.T) {
	hunks, err := review.Parse(diff)
	if err != nil {
		t.Fatal(err)
	}
	review.Annotate(hunks, outcomes(), evidence())
	var got []string
	for i, h := range hunks {
		for _, n := range h.Edits {
			for _, c := range n.Cites {
				got = append(got, fmt.Sprintf("%d.%d %s item=%v supplied=%v here=%v above=%v", i, n.Edit, c.ID, c.Item != nil, c.Supplied, c.Here, c.Above))
			}
		}
	}
	want := []string{
		"0.1 X1 item=true supplied=true here=true above=false",
		"0.1 C1 item=true supplied=true here=false above=false",
		"0.1 X2 item=true supplied=true here=false above=false",
		"1.1 X2 item=true supplied=true here=true above=true",
		"1.1 C1 item=true supplied=true here=false above=true",
		"1.1 X1 item=true supplied=true here=false above=true",
		"1.2 N9 item=true supplied=false here=false above=false",
		"1.2 Z7 item=false supplied=false here=false above=false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Down by half; up; down by half a per cent, which is no change; not measured.
	var fates []review.Fate
	for _, p := range hunks[0].Edits[0].Predicts {
		fates = append(fates, p.Fate)
	}
	if want := []review.Fate{review.True, review.False, review.False, review.Unmeasured}; !slices.Equal(fates, want) {
		t.Errorf("predictions: %v, want %v", fates, want)
	}
	if n := hunks[1].Edits[0]; !n.Above {
		t.Error("predictions of an edit are told at each of its hunks")
	}
}

// An edit whose lines ended as they were is not lost: it stands at the first
// hunk of its file.
func TestEditsWithoutAHunkAreShown(t *testing.T) {
	hunks, err := review.Parse(diff)
	if err != nil {
		t.Fatal(err)
	}
	review.Annotate(hunks, []edit.Outcome{{Edit: edit.Edit{Why: "nothing"}, Changes: []edit.Change{{File: "f.c", Old: edit.Range{Start: 10, End: 10}}}}}, evidence())
	if len(hunks[0].Edits) != 1 || len(hunks[1].Edits) != 0 {
		t.Errorf("%v, %v", hunks[0].Edits, hunks[1].Edits)
	}
	// An insertion before line 2 belongs to the first.
	hunks, _ = review.Parse("--- a/f.c\n+++ b/f.c\n@@ -1,2 +1,3 @@\n one\n+new\n two\n")
	review.Annotate(hunks, []edit.Outcome{{Changes: []edit.Change{{File: "f.c", Old: edit.Range{Start: 2, End: 1}}}}}, evidence())
	if len(hunks[0].Edits) != 1 {
		t.Error("an insertion is at no hunk")
	}
}

func TestWhatWasTurnedDownIsShownAsProposed(t *testing.T) {
	hunks := review.Proposed(3, edit.Outcome{Rejected: &edit.Rejection{Reason: edit.Outside, Detail: "line 9 may not be changed"},
		Edit: edit.Edit{Evidence: []string{"X1"}, Hunks: []edit.Hunk{{File: "f.c", Search: []string{"a"}, Replace: []string{"b", "c"}}}}}, evidence())
	var b strings.Builder
	review.HTML(&b, hunks)
	for _, want := range []string{"as proposed", "<del>- a</del>", "<ins>+ b</ins><ins>+ c</ins>", "edit rejected (outside)", "line 9 may not be changed", "Line 2 misses."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, b.String())
		}
	}
}

func TestThePageSaysWhatAnEditCites(t *testing.T) {
	hunks, err := review.Parse(diff)
	if err != nil {
		t.Fatal(err)
	}
	review.Annotate(hunks, outcomes(), evidence())
	var b strings.Builder
	review.HTML(&b, hunks)
	for _, want := range []string{"lines 1-4 before, 1-5 after", "D1mr = 1000, at /home/somebody/f.c:2 (these lines)", "an estimate: a guess", "made up: the evidence has no item",
		"not among what was shown", "cites X2, C1, X1, as above", "✓ predicts time down: came true, from 2 to 1 (x 0.5)",
		"✗ predicts D1mr down: did not come true, from 1000 to 1200 (x 1.2)", "? predicts never down: not measured", `tabindex="0"`, `role="region"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, b.String())
		}
	}
}

// Whatever sources, models and profiles hold is text.
func TestNothingShownIsMarkup(t *testing.T) {
	const evil = `</pre></div><script>alert(1)</script><img src=x onerror="alert(2)">'"&` + "\x00\x1b[31m\u202e"
	item := insight.Item{ID: evil, Statement: evil, Metric: evil, Unit: evil, Estimate: evil, Location: &insight.Location{File: evil, Line: 1, Function: evil}}
	ev := review.Evidence{Report: &insight.Report{Items: []insight.Item{item}}, Supplied: []string{evil}, Before: align.Values{evil: 1}, After: align.Values{evil: 2}}
	o := edit.Outcome{Edit: edit.Edit{Why: evil, Evidence: []string{evil, "other " + evil}, Predictions: []edit.Prediction{{Metric: evil, Direction: evil}},
		Hunks: []edit.Hunk{{File: evil, Search: []string{evil}, Replace: []string{evil}}}}, Changes: []edit.Change{{File: evil, Old: edit.Range{Start: 1, End: 1}}},
		Rejected: &edit.Rejection{Reason: evil, File: evil, Detail: evil}}
	hunks, err := review.Parse("+++ b/" + evil + "\n@@ -1 +1 @@\n-" + evil + "\n+" + evil + "\n")
	if err != nil {
		t.Fatal(err)
	}
	taken := o
	taken.Rejected = nil
	review.Annotate(hunks, []edit.Outcome{taken}, ev)
	var b strings.Builder
	review.HTML(&b, append(hunks, review.Proposed(1, o, ev)...))
	review.Answer(&b, evil)
	review.Problems(&b, []edit.Rejection{*o.Rejected})
	page := b.String()
	if n := strings.Count(page, "&lt;script&gt;"); n < 15 {
		t.Errorf("the text is %d times on the page, want it everywhere:\n%s", n, page)
	}
	for _, not := range []string{"<script", "<img", "\x00", "\x1b", "\u202e"} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %q", not)
		}
	}
}

// However long, what is shown is bounded and says what is left out.
func TestWhatIsShownIsBounded(t *testing.T) {
	h := review.Hunk{File: "f.c"}
	for range 10_000 {
		h.Lines = append(h.Lines, review.Line{Kind: '+', Text: strings.Repeat("x", 1000)})
	}
	var b strings.Builder
	review.HTML(&b, []review.Hunk{h})
	review.Answer(&b, strings.Repeat("y", 1_000_000))
	if b.Len() > 300_000 {
		t.Errorf("the page has %d bytes", b.Len())
	}
	for _, want := range []string{"9600 more lines", "600 more characters", "980000 more characters"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
