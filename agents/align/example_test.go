package align_test

import (
	"fmt"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/modeling/insight"
)

// An edit that cites one of two items and an id that nobody gave, changes the
// line that the item names and the one below, and is right about one of two
// counters.
func Example() {
	score := align.Of(align.Case{
		Backend:  "small",
		Supplied: []insight.Item{{ID: "S1", Location: &insight.Location{File: "heat.c", Line: 12}}, {ID: "R1"}},
		Outcome: edit.Outcome{
			Edit: edit.Edit{Evidence: []string{"S1", "X7"}, Predictions: []edit.Prediction{
				{Metric: "time", Direction: edit.Down}, {Metric: "dram__bytes.sum", Direction: edit.Down}, {Metric: "never measured", Direction: edit.Up}}},
			Changes: []edit.Change{{File: "heat.c", Old: edit.Range{Start: 12, End: 13}}},
		},
		Before: align.Values{"time": 2e-3, "dram__bytes.sum": 8e6},
		After:  align.Values{"time": 1.5e-3, "dram__bytes.sum": 8e6},
	}, align.Options{})
	fmt.Println("coverage", score.Coverage.Value(), "location", score.Location.Value(), "direction", score.Direction.Value())
	fmt.Println("hallucinated", score.Hallucinated, "unmeasured", score.Unmeasured)
	// Output:
	// coverage 0.5 location 0.5 direction 0.5
	// hallucinated 1 unmeasured 1
}
