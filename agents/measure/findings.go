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
	// Waits: the candidate lets time pass in which it neither computes nor is ready
	// to, more than the original does and more than its own computing explains where
	// others use the CPUs. One that is faster all the same may wait for a device that
	// computes.
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
	// waitShare is by what part of the original's time the time in which the
	// candidate does not compute may be longer than expected. Expected is as long as
	// the original's, for input and output, or where that is more, as much beside its
	// CPU time as with the original, for CPUs that others use.
	waitShare = 0.25
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
	waits := func(v Sample) float64 { return max(0, v.Seconds-v.CPU-v.Delayed) }
	cpu := func(v Sample) float64 { return v.CPU }
	a, b := middle(r.Original, waits), middle(r.Candidate, waits)
	expected := a * max(1, middle(r.Candidate, cpu)/middle(r.Original, cpu))
	p, _ = change.MannWhitney(known(r.Original, waits), known(r.Candidate, waits))
	computes := middle(r.Candidate, func(v Sample) float64 { return v.CPU / v.Seconds })
	if b-expected > waitShare*middle(r.Original, func(v Sample) float64 { return v.Seconds }) && p <= clockP && computes < 0.25 {
		out = append(out, Finding{Waits, fmt.Sprintf("for %.3g s it lets time pass without computing; the original does for %.3g s", b, a)})
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
