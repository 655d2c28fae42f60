package agents

import (
	"context"
	"fmt"
	"math"

	"github.com/rooflab/rooflab/agents/search"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// FrontRow is a program that no other was found to beat in both time and energy.
type FrontRow struct {
	Candidate string `json:"candidate"` // as Result.Name has it; "" of the original
	Name      string `json:"name"`
	Program   string `json:"program"`
	Chosen    bool   `json:"chosen"` // by what is preferred
	// Measurements are against the original, on fresh inputs, after all choices.
	Measurements []Measurement `json:"measurements,omitempty"`
}

// Time and Energy are parts of the original's; NaN where not known.
func (f FrontRow) Time() float64 {
	if len(f.Measurements) == 0 && f.Candidate == "" {
		return 1
	}
	return 1 / meanSpeedup(f.Measurements)
}

// Energy is as Time.
func (f FrontRow) Energy() float64 {
	if len(f.Measurements) == 0 && f.Candidate == "" {
		return 1
	}
	return 1 / meanEnergy(f.Measurements)
}

// front measures what a Pareto search found against the original.
func (r *runner) front(ctx context.Context, original *Program, t *tree, chosen *node) error {
	if _, ok := t.strategy.(search.Pareto); !ok {
		return nil
	}
	for _, n := range t.frontier {
		row := FrontRow{Name: "the original", Program: n.program.ID, Chosen: n == chosen}
		if n.made != nil {
			row.Candidate, row.Name = r.res.Name(n.made), n.made.Proposal.Name
			row.Measurements = r.res.Measurements
			if n != chosen {
				var err error
				if row.Measurements, err = r.final(ctx, original, n.program, r.sizes()); err != nil {
					return err
				}
			}
		}
		r.res.Front = append(r.res.Front, row)
	}
	return nil
}

// FrontTable is a row for each program of the front, by time as the search saw
// it; without rows where the search was for none.
func (r *Result) FrontTable() tabular.Table {
	t := tabular.Table{Title: "Time and energy, as parts of the original's", Columns: tabular.Columns("<candidate", "<name", "time", "energy", "energy x time", "<")}
	part := func(v float64) string {
		if math.IsNaN(v) {
			return "unknown"
		}
		return fmt.Sprintf("%.3g", v)
	}
	for _, f := range r.Front {
		chosen := ""
		if f.Chosen {
			chosen = "chosen by " + string(r.Prefer)
		}
		t.Add(f.Candidate, f.Name, part(f.Time()), part(f.Energy()), part(f.Time()*f.Energy()), chosen)
	}
	if len(t.Rows) > 0 {
		t.Note("each was measured against the original again, after the front had been found: one may turn out to be beaten by another")
	}
	return t
}
