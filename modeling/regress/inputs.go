package regress

import (
	"math"
	"sort"
)

// inputs turn a row of counters into a network's inputs. All constants come
// from the training rows only.
type inputs struct{ columns []input }

// input is one column: log of amounts that span decades, then standardised.
type input struct {
	name        string
	log         bool    // take log(x + floor), x not negative
	floor       float64 // half the smallest positive training value
	mean, scale float64
	flag        bool // a second input says that the value is missing
}

// decades is the span beyond which an amount is taken by its logarithm.
const decades = 100

func prepare(t *table, rows []int) (in inputs, dropped []Dropped) {
	for _, n := range t.features {
		c := input{name: n}
		smallest, largest, lowest := math.Inf(1), 0.0, math.Inf(1)
		var have []float64
		for _, r := range rows {
			v := t.cols[n][r]
			if math.IsNaN(v) {
				c.flag = true
				continue
			}
			have = append(have, v)
			lowest = math.Min(lowest, v)
			if v > 0 {
				smallest, largest = math.Min(smallest, v), math.Max(largest, v)
			}
		}
		if len(have) == 0 {
			dropped = append(dropped, Dropped{n, "no value in the training rows"})
			continue
		}
		if lowest >= 0 && largest > decades*smallest {
			c.log, c.floor = true, smallest/2
		}
		for i, v := range have {
			have[i] = c.transform(v)
		}
		c.mean, c.scale = momentsOf(have)
		if c.scale == 0 {
			if !c.flag {
				dropped = append(dropped, Dropped{n, "the same value in all training rows"})
				continue
			}
			c.scale = 1 // it varies only in being missing
		}
		in.columns = append(in.columns, c)
	}
	return in, dropped
}

func (c input) transform(v float64) float64 {
	if c.log {
		return math.Log(math.Max(v, 0) + c.floor)
	}
	return v
}

func (in inputs) width() int {
	w := len(in.columns)
	for _, c := range in.columns {
		if c.flag {
			w++
		}
	}
	return w
}

func (in inputs) names() []string {
	var ns []string
	for _, c := range in.columns {
		ns = append(ns, c.name)
	}
	return ns
}

// row is the network's input for one row of counters. Values far outside what
// was seen in training are held at ten standard deviations.
func (in inputs) row(value func(name string) float64) []float32 {
	row := make([]float32, 0, in.width())
	for _, c := range in.columns {
		v := value(c.name)
		missing := math.IsNaN(v)
		z := 0.0
		if !missing {
			z = math.Max(-10, math.Min(10, (c.transform(v)-c.mean)/c.scale))
		}
		row = append(row, float32(z))
		if c.flag {
			flag := float32(0)
			if missing {
				flag = 1
			}
			row = append(row, flag)
		}
	}
	return row
}

func moments(xs []float64, rows []int) (mean, sd float64) {
	picked := make([]float64, len(rows))
	for i, r := range rows {
		picked[i] = xs[r]
	}
	if mean, sd = momentsOf(picked); sd == 0 {
		sd = 1
	}
	return mean, sd
}

func momentsOf(xs []float64) (mean, sd float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sd += (x - mean) * (x - mean) / float64(len(xs))
	}
	sd = math.Sqrt(sd)
	if sd <= 1e-12*math.Abs(mean) { // rounding of equal values
		sd = 0
	}
	return mean, sd
}

func kthSmallest(xs []float64, k int) float64 {
	s := append([]float64(nil), xs...)
	sort.Float64s(s)
	return s[k-1]
}

func widen(xs []float32) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}
