package measure

import (
	"fmt"
	"math"

	"github.com/rooflab/rooflab/modeling/change"
	"github.com/rooflab/rooflab/modeling/score"
)

// What a Finding is about.
const (
	// OwnClock: the candidate's own figures for its time do not go with the time
	// that passed. They do not count anyhow.
	OwnClock = "own clock"
	// Waits: the candidate hardly computes while it runs, and the original does.
	Waits = "waits"
)

// Finding is something about a candidate that a reader should know.
type Finding struct {
	Kind string
	Text string
}

func (f Finding) String() string { return f.Kind + ": " + f.Text }

// Thresholds of findings.
const (
	// clockShare is by what part of the time that the original says it takes the
	// candidate's unclaimed time may be longer than the original's.
	clockShare = 0.25
	// clockP is the p value, of the test of Mann and Whitney, at which it is.
	clockP = 0.01
	// busy and idle are shares of CPU time in the time of a run.
	busy, idle = 0.8, 0.4
)

func findings(r Result) []Finding {
	var out []Finding
	claimed := func(v Sample) float64 { return v.Claimed }
	// What is outside of the part that the program times (starting, reading,
	// writing) stays as it was.
	unclaimed := func(v Sample) float64 { return v.Seconds - v.Claimed }
	o, c := middle(r.Original, claimed), middle(r.Candidate, claimed)
	more := middle(r.Candidate, unclaimed) - middle(r.Original, unclaimed)
	p, _ := change.MannWhitney(known(r.Original, unclaimed), known(r.Candidate, unclaimed))
	switch {
	case c < 0:
		out = append(out, Finding{OwnClock, fmt.Sprintf("it says it took %.3g s", c)})
	case middle(r.Candidate, unclaimed) < 0:
		out = append(out, Finding{OwnClock, fmt.Sprintf("it says it took %.3g s, of %.3g s in which it ran", c, r.Candidate.Median)})
	case more > clockShare*o && p <= clockP:
		out = append(out, Finding{OwnClock, fmt.Sprintf("it says it takes %.3g s instead of %.3g s, and runs for %.3g s instead of %.3g s", c, o, r.Candidate.Median, r.Original.Median)})
	}
	share := func(s Series) float64 { return middle(s, func(v Sample) float64 { return v.CPU / v.Seconds }) }
	if a, b := share(r.Original), share(r.Candidate); a >= busy && b <= idle {
		out = append(out, Finding{Waits, fmt.Sprintf("it computes for %.0f %% of its time; the original does for %.0f %%", 100*b, 100*a)})
	}
	return out
}

// middle is the median of what is known, NaN where that is nothing.
func middle(s Series, of func(Sample) float64) float64 { return score.Median(known(s, of)) }

func known(s Series, of func(Sample) float64) []float64 {
	var out []float64
	for _, v := range s.Samples {
		if x := of(v); !math.IsNaN(x) {
			out = append(out, x)
		}
	}
	return out
}
