package align_test

import (
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/modeling/insight"
)

// supplied is four items: R1 names no line, S1 line 12, S2 lines 20 to 22 of a
// file of another machine, C1 a line of another file.
func supplied() []insight.Item {
	return []insight.Item{
		{ID: "R1", Kernel: "step"},
		{ID: "S1", Location: &insight.Location{File: "src/heat.c", Line: 12}},
		{ID: "S2", Location: &insight.Location{File: "/home/u/app/src/heat.c", Line: 20, EndLine: 22}},
		{ID: "C1", Location: &insight.Location{File: "main.c", Line: 13}},
	}
}

func change(file string, start, end int) edit.Change {
	return edit.Change{File: file, Old: edit.Range{Start: start, End: end}}
}

func outcome(evidence string, changes ...edit.Change) edit.Outcome {
	return edit.Outcome{Edit: edit.Edit{Evidence: strings.Fields(evidence)}, Changes: changes}
}

func TestCoverageAndHallucinations(t *testing.T) {
	for _, tt := range []struct {
		cited    string
		supplied []insight.Item
		want     align.Part
		invented int
	}{
		{"R1 S1", supplied(), align.Part{Of: 2, All: 4}, 0},
		{"r1 S1 X9 X10 R1", supplied(), align.Part{Of: 2, All: 4}, 2}, // an id counts once
		{"", supplied(), align.Part{All: 4}, 0},
		{"R1", nil, align.Part{}, 1}, // nothing was supplied: no coverage is known
	} {
		s := align.Of(align.Case{Supplied: tt.supplied, Outcome: outcome(tt.cited)}, align.Options{})
		if s.Coverage != tt.want || s.Hallucinated != tt.invented {
			t.Errorf("%q: %+v, want %+v and %d", tt.cited, s, tt.want, tt.invented)
		}
	}
}

func TestLocationAgreement(t *testing.T) {
	rejected := outcome("S1", change("src/heat.c", 12, 12))
	rejected.Rejected = &edit.Rejection{Reason: edit.Outside}
	for _, tt := range []struct {
		name string
		o    edit.Outcome
		near int
		want align.Part
	}{
		{"all of three lines", outcome("S2", change("src/heat.c", 20, 22)), 0, align.Part{Of: 3, All: 3}},
		{"lines 11 to 13, of which 12 is cited", outcome("S1", change("src/heat.c", 11, 13)), 0, align.Part{Of: 1, All: 3}},
		{"the same, with one line beside it", outcome("S1", change("src/heat.c", 11, 13)), 1, align.Part{Of: 3, All: 3}},
		{"a line that only an uncited item names", outcome("S1", change("src/heat.c", 21, 21)), 0, align.Part{All: 1}},
		{"the same line of another file", outcome("S1 C1", change("src/heat.c", 13, 13), change("main.c", 13, 13)), 0, align.Part{Of: 1, All: 2}},
		{"an insertion below line 12", outcome("S1", change("src/heat.c", 13, 12)), 0, align.Part{Of: 1, All: 1}},
		{"an insertion above line 12", outcome("S1", change("src/heat.c", 12, 11)), 0, align.Part{Of: 1, All: 1}},
		{"an insertion further below", outcome("S1", change("src/heat.c", 14, 13)), 0, align.Part{All: 1}},
		{"evidence that names no line", outcome("R1", change("src/heat.c", 12, 12)), 0, align.Part{}},
		{"evidence that was not supplied", outcome("X9", change("src/heat.c", 12, 12)), 0, align.Part{}},
		{"a rejected edit", rejected, 0, align.Part{}},
		{"a file whose name only ends alike", outcome("C1", change("domain.c", 13, 13)), 0, align.Part{All: 1}},
	} {
		if s := align.Of(align.Case{Supplied: supplied(), Outcome: tt.o}, align.Options{Near: tt.near}); s.Location != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, s.Location, tt.want)
		}
	}
}

func TestDirectionalConsistency(t *testing.T) {
	o := edit.Outcome{Edit: edit.Edit{Evidence: []string{"R1"}, Predictions: []edit.Prediction{
		{Metric: "time", Direction: edit.Down}, {Metric: "dram", Direction: edit.Down}, {Metric: "occupancy", Direction: edit.Up}, {Metric: "stalls", Direction: edit.Up}}}}
	before := align.Values{"time": 10, "dram": 1000, "occupancy": 0, "stalls": -2}
	for _, tt := range []struct {
		name       string
		before     align.Values
		after      align.Values
		effect     float64
		want       align.Part
		unmeasured int
	}{
		{"all as predicted", before, align.Values{"time": 9, "dram": 500, "occupancy": 0.1, "stalls": -1}, 0, align.Part{Of: 4, All: 4}, 0},
		{"one the other way, one not at all, one within a per cent", before, align.Values{"time": 11, "dram": 995, "occupancy": 0, "stalls": -1}, 0, align.Part{Of: 1, All: 4}, 0},
		{"the one within a per cent counts if it is asked for", before, align.Values{"time": 11, "dram": 995, "occupancy": 0, "stalls": -1}, -1, align.Part{Of: 2, All: 4}, 0},
		{"two unknown", before, align.Values{"time": 9, "dram": math.NaN(), "stalls": -1}, 0, align.Part{Of: 2, All: 2}, 2},
		{"no profile after", before, nil, 0, align.Part{}, 4},
		{"no profile before", nil, before, 0, align.Part{}, 4},
	} {
		s := align.Of(align.Case{Supplied: supplied(), Outcome: o, Before: tt.before, After: tt.after}, align.Options{MinEffect: tt.effect})
		if s.Direction != tt.want || s.Unmeasured != tt.unmeasured {
			t.Errorf("%s: %+v, %d; want %+v, %d", tt.name, s.Direction, s.Unmeasured, tt.want, tt.unmeasured)
		}
	}
	// Of D1mr, time and Dw, time is predicted both ways, which is right for nobody,
	// and Dw twice; D1mr is written as d1mr. So 2 of 3 are right: D1mr and Dw.
	hedged := edit.Outcome{Edit: edit.Edit{Predictions: []edit.Prediction{{Metric: "time", Direction: edit.Down}, {Metric: "d1mr", Direction: edit.Down},
		{Metric: "time", Direction: edit.Up}, {Metric: "Dw", Direction: edit.Up}, {Metric: "dw", Direction: edit.Up}}}}
	s := align.Of(align.Case{Outcome: hedged, Before: align.Values{"time": 10, "D1mr": 100, "Dw": 5}, After: align.Values{"time": 5, "D1mr": 10, "Dw": 6}}, align.Options{})
	if s.Direction != (align.Part{Of: 2, All: 3}) || s.Unmeasured != 0 {
		t.Errorf("predictions of both ways: %+v, %d unmeasured", s.Direction, s.Unmeasured)
	}
	if v := (align.Part{}).Value(); !math.IsNaN(v) {
		t.Errorf("an unknown part has the value %g", v)
	}
}

func scores() align.Scores {
	return align.Scores{
		{Backend: "rules", Run: "a", Edit: 1, Coverage: align.Part{Of: 2, All: 4}, Location: align.Part{Of: 3, All: 4}, Direction: align.Part{Of: 1, All: 1}},
		{Backend: "small", Run: "a", Edit: 1, Coverage: align.Part{Of: 0, All: 4}, Rejected: edit.UnknownEvidence, Hallucinated: 3, Unmeasured: 2},
		{Backend: "rules", Run: "b", Edit: 1, Coverage: align.Part{Of: 1, All: 4}, Location: align.Part{Of: 1, All: 4}},
		{Backend: "small", Run: "a", Edit: 2, Coverage: align.Part{Of: 1, All: 4}, Location: align.Part{Of: 0, All: 2}},
	}
}

// Means are over edits that know a score: rules has coverage (1/2 + 1/4) / 2,
// location (3/4 + 1/4) / 2 and a single direction.
func TestSummaries(t *testing.T) {
	by := scores().ByBackend()
	if len(by) != 2 || by[0].Backend != "rules" || by[0].Coverage != (align.Mean{Value: 0.375, N: 2}) || by[0].Location != (align.Mean{Value: 0.5, N: 2}) || by[0].Direction != (align.Mean{Value: 1, N: 1}) {
		t.Errorf("%+v", by)
	}
	if s := by[1]; s.Edits != 2 || s.Accepted != 1 || s.Hallucinated != 3 || s.Hallucinating != 1 || s.Unmeasured != 2 || s.Location != (align.Mean{Value: 0, N: 1}) || s.Direction.N != 0 || !math.IsNaN(s.Direction.Value) {
		t.Errorf("%+v", s)
	}
	runs := scores().ByRun()
	if len(runs) != 3 || runs[0].Run != "a" || runs[2].Run != "b" || runs[2].Backend != "rules" || runs[2].Coverage.Value != 0.25 {
		t.Errorf("%+v", runs)
	}
	want := `How edits agree with their evidence, means over the edits that know a score
backend  edits  accepted        coverage        location        direction  unmeasured  hallucinated  in edits
rules        2         2  37.5 % (n = 2)  50.0 % (n = 2)  100.0 % (n = 1)           0             0         0
small        2         1  12.5 % (n = 2)   0.0 % (n = 1)          unknown           2             3         1`
	if got := by.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := runs.String(); !strings.Contains(got, "rules    b") {
		t.Errorf("runs are not named:\n%s", got)
	}
	if got := scores().String(); !strings.Contains(got, "rejected: unknown evidence   0.0 % (0/4)       unknown        unknown           2             3") {
		t.Errorf("%s", got)
	}
}

func TestFramesHaveNaNWhereNothingIsKnown(t *testing.T) {
	df := scores().Frame()
	if df.Err != nil || df.Nrow() != 4 {
		t.Fatal(df.Err, df.Nrow())
	}
	if v := df.Col("direction").Float(); v[0] != 1 || !math.IsNaN(v[1]) || !math.IsNaN(v[2]) {
		t.Errorf("direction %v", v)
	}
	if v := df.Col("rejected").Records(); v[0] != "" || v[1] != "unknown evidence" {
		t.Errorf("rejected %q", v)
	}
	by := scores().ByBackend().Frame()
	if by.Err != nil || by.Nrow() != 2 || by.Col("coverage").Float()[0] != 0.375 || !math.IsNaN(by.Col("direction").Float()[1]) || by.Col("direction_n").Records()[1] != "0" {
		t.Errorf("%v", by)
	}
}
