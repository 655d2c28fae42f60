package measure_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/modeling/change"
)

// given gives times in their order, and as many joules.
func given(seconds []float64) measure.Runner {
	i := -1
	return func(context.Context) (measure.Sample, error) {
		i++
		return measure.Sample{Seconds: seconds[i], Energy: seconds[i], CPU: math.NaN(), Claimed: math.NaN()}, nil
	}
}

// inModes are 24 times, each fast or, at the places that are named, slow.
func inModes(fast, slow float64, places ...int) []float64 {
	out := make([]float64, 24)
	for i := range out {
		out[i] = fast + 0.001*float64(i%3)
		if slices.Contains(places, i) {
			out[i] = slow + 0.001*float64(i%3)
		}
	}
	return out
}

// TestVerdictAndIntervalAgreeWhereTheTestsDoNot has two sides on which the rank test
// and the bootstrap disagree.
func TestVerdictAndIntervalAgreeWhereTheTestsDoNot(t *testing.T) {
	// A machine with two modes: 17 of 24 repeats of the original are slow, 12 of 24 of
	// the candidate, whose median is in either mode.
	before := []float64{1.98, 2, 2, 1, 1.02, 2.06, 1.98, 1.01, 1.98, 1.95, 2.02, 1.02, 2.02, 2.01, 1.97, 2.02, 2.01, 0.99, 1.97, 1.96, 2.03, 1.02, 2.03, 1.01}
	after := []float64{1.95, 1.92, 1.91, 1.01, 1.92, 1.02, 1.01, 1.94, 0.99, 1.84, 1.92, 0.99, 1, 1, 1.88, 0.99, 0.99, 0.99, 1.95, 1, 0.96, 1.02, 1.02, 1.83}
	// 19 of 24 repeats of either side are in one mode, where the candidate takes 1.0 s
	// in place of 1.1 s, so that nearly all medians are; the others are the other way
	// round. The candidate is the faster one of 19 * 19 = 361 pairs of 24 * 24 = 576:
	// without ties z is (361 - 288) / sqrt(24 * 24 * 49 / 12) = 1.5, and p 0.13.
	odd := []int{0, 5, 10, 15, 20}
	for name, c := range map[string]struct {
		before, after []float64
		ranks         bool // show a difference
	}{
		"ranks alone show it":         {before, after, true},
		"the bootstrap alone does so": {inModes(1.1, 0.5, odd...), inModes(1, 3, odd...), false},
	} {
		for _, by := range []measure.By{measure.Time, measure.ByEnergy} {
			r := compare(t, given(c.before), given(c.after), measure.Options{Warmups: -1, By: by})
			if (r.P <= r.Threshold) != c.ranks || len(r.Candidate.Samples) != 24 || r.Speedup < 1.05 {
				t.Fatalf("%s: these samples are not what the test is about: %v, threshold %.3g", name, r, r.Threshold)
			}
			if r.Verdict != change.Unclear || r.Low > 1 || r.High < 1 || r.Stopped != measure.StopRepeats {
				t.Errorf("%s: %v: %s", name, r, r.Stopped)
			}
			if e := r.Energy; e.Verdict != change.Unclear || e.Low > 1 || e.High < 1 {
				t.Errorf("%s: energy %+v", name, e)
			}
		}
	}
}

// Whatever is measured, the verdict can be read off the interval and the ratio.
func TestVerdictsFollowFromIntervals(t *testing.T) {
	g := rand.New(rand.NewPCG(11, 11))
	seen := map[change.Verdict]int{}
	for range 250 {
		side := func() []float64 {
			share, slow, shift, spread := g.Float64(), 1+g.Float64(), 1+0.1*g.Float64(), 0.03*g.Float64()*g.Float64()
			out := make([]float64, 24)
			for i := range out {
				out[i] = shift * math.Exp(spread*g.NormFloat64())
				if g.Float64() < share*share {
					out[i] *= slow
				}
			}
			return out
		}
		r := compare(t, given(side()), given(side()), measure.Options{Warmups: -1})
		seen[r.Verdict]++
		apart := r.Low > 1 || r.High < 1
		ratio := 1 / r.Speedup // of times
		var want change.Verdict
		switch e := r.Options.MinEffect; {
		case apart && ratio <= 1-e:
			want = change.Faster
		case apart && ratio >= 1+e:
			want = change.Slower
		case 1/r.High >= 1-e && 1/r.Low <= 1+e:
			want = change.Same
		default:
			want = change.Unclear
		}
		if r.Verdict != want || apart && r.P > r.Threshold {
			t.Errorf("%v (threshold %.3g), want %s", r, r.Threshold, want)
		}
	}
	for _, v := range []change.Verdict{change.Faster, change.Slower, change.Same, change.Unclear} {
		if seen[v] < 5 {
			t.Errorf("%d of these measurements are %q: %v", seen[v], v, seen)
		}
	}
}
