package agentsrules

import (
	"encoding/json"
	"math"
	"slices"
)

// Interval is a value with bounds; all NaN where they are not known.
type Interval struct{ Value, Low, High float64 }

// MarshalJSON writes null for what is not known.
func (i Interval) MarshalJSON() ([]byte, error) {
	out := [3]*float64{}
	for k, v := range []float64{i.Value, i.Low, i.High} {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[k] = &v
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Interval) UnmarshalJSON(data []byte) error {
	var in [3]*float64
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	for k, to := range []*float64{&i.Value, &i.Low, &i.High} {
		*to = math.NaN()
		if in[k] != nil {
			*to = *in[k]
		}
	}
	return nil
}

// paired is the median of the ratios of pairs, before over after, with the
// distribution-free interval of the sign test: from the k-th smallest ratio to the
// k-th largest, k the largest for which 2 P(B < k) <= alpha, B binomial of n and
// 1/2 (Conover, Practical Nonparametric Statistics, 3rd ed., 3.2). With too few
// pairs for alpha the bounds are NaN.
func paired(before, after []float64, alpha float64) Interval {
	n := len(before)
	ratios := make([]float64, n)
	for i := range before {
		ratios[i] = before[i] / after[i]
	}
	slices.Sort(ratios)
	out := Interval{math.NaN(), math.NaN(), math.NaN()}
	if n == 0 {
		return out
	}
	out.Value = (ratios[(n-1)/2] + ratios[n/2]) / 2
	k, below, p := 0, 0.0, math.Pow(0.5, float64(n)) // p is P(B = k)
	for {
		below += p
		if 2*below > alpha {
			break
		}
		p *= float64(n-k) / float64(k+1)
		k++
	}
	if k > 0 {
		out.Low, out.High = ratios[k-1], ratios[n-k]
	}
	return out
}
