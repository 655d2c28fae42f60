package agents

import (
	"fmt"
	"math"

	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/search"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/modeling/change"
)

// Aim is what candidates must be shown to do better.
type Aim string

// Aims.
const (
	LessTime   Aim = "time"   // faster on a size, and slower on none
	LessEnergy Aim = "energy" // the same of energy
	LessEither Aim = "either" // one of both: what a Pareto search goes on with
)

func aimOf(t *target.Target, s search.Strategy) Aim {
	if _, front := s.(search.Pareto); front {
		return LessEither
	}
	if t.Measure.Metric == target.Energy {
		return LessEnergy
	}
	return LessTime
}

// unmet turns down what is not shown to reach the aim.
func (a Aim) unmet(ms []Measurement) *Rejection {
	time := ofMeasurement(ms)
	if a == LessTime || a == "" || time != nil && (time.Reason == WrongResult || time.Reason == Sleeping || time.Reason == TimerTricks) {
		return time
	}
	for _, m := range ms { // what ofMeasurement would say behind a slower size
		for _, f := range m.Findings {
			switch f.Kind {
			case measure.Waits:
				return &Rejection{Measuring, Sleeping, f.Text}
			case measure.OwnClock:
				return &Rejection{Measuring, TimerTricks, f.Text}
			}
		}
	}
	energy := ofEnergy(ms)
	if a == LessEither && time == nil {
		return nil
	}
	return energy
}

// ofEnergy turns down what is not shown to take less energy: less on one of the
// sizes that are optimized for, and more on none.
func ofEnergy(ms []Measurement) *Rejection {
	less := false
	detail := "nothing was measured"
	for _, m := range ms {
		detail = m.String()
		if m.Energy == nil {
			return &Rejection{Measuring, Unclear, "its energy is not known: " + m.EnergyNote}
		}
		if m.Energy.Verdict == change.Slower {
			return &Rejection{Measuring, MoreEnergy, detail}
		}
		less = less || m.Energy.Verdict == change.Faster
	}
	if less {
		return nil
	}
	for _, m := range ms {
		if m.Energy.Verdict == change.Same {
			return &Rejection{Measuring, NotFaster, m.String()}
		}
	}
	return &Rejection{Measuring, Unclear, detail}
}

// EnergyRatio is the energy before over the energy after, as the geometric mean
// over the sizes that are optimized for; NaN where it is not known.
func (c *Candidate) EnergyRatio() float64 { return meanEnergy(c.Measurements) }

func meanEnergy(ms []Measurement) float64 {
	sum := 0.0
	for _, m := range ms {
		if m.Energy == nil {
			return math.NaN()
		}
		sum += math.Log(float64(m.Energy.Ratio))
	}
	if len(ms) == 0 {
		return math.NaN()
	}
	return math.Exp(sum / float64(len(ms)))
}

// gain is what a candidate gains on its base, in words.
func (c *Candidate) gain() string {
	s := fmt.Sprintf("%.3g times as fast", c.Speedup())
	if e := c.EnergyRatio(); !math.IsNaN(e) {
		s += fmt.Sprintf(", %.3g times the energy", 1/e)
	}
	return s
}
