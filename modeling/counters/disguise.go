package counters

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/rooflab/rooflab/datasets/split"
)

const (
	sameRatio  = 0.005 // relative deviation up to which a ratio is constant
	determined = 0.999 // and the part of the variance of log time that it must leave unexplained by noise
)

// disguised removes columns that are the time under a name that does not say
// so. Three columns are in a relation that measured things are not in by
// chance when their ratio is constant: c / t (c is the time in another unit),
// c * t (a frequency), and c * t / d, where c is the rate at which d happens.
// Where c * d / t is constant nothing tells which of the two was divided; that
// is a warning, as is any three columns from which a product of powers gives
// the time (split.Check).
func (p *prepared) disguised(y []float64, o *Options) {
	if y[0] <= 0 { // sorted
		return
	}
	at := sample(p.rows)
	logs := func(raw []float64) []float64 {
		v := make([]float64, len(at))
		for i, r := range at {
			if v[i] = math.Log(raw[r]); math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
				return nil
			}
		}
		floats.AddConst(-stat.Mean(v, nil), v)
		return v
	}
	t := logs(y)
	n := float64(len(at))
	tt := floats.Dot(t, t) / n
	limit := math.Min(sameRatio*sameRatio, (1-determined)*tt)
	var v [][]float64 // per column; nil where not positive throughout
	var with, self []float64
	for i := range p.columns {
		l := logs(p.columns[i].raw)
		v = append(v, l)
		if l == nil {
			with, self = append(with, 0), append(self, 0)
			continue
		}
		with, self = append(with, floats.Dot(l, t)/n), append(self, floats.Dot(l, l)/n)
	}
	gone := make([]string, len(v))
	for i := range v {
		switch {
		case v[i] == nil || slices.Contains(o.Keep, p.columns[i].name):
		case self[i]+tt-2*with[i] < limit:
			gone[i] = "derived from time: proportional to " + p.target
		case self[i]+tt+2*with[i] < limit:
			gone[i] = "derived from time: proportional to 1 / " + p.target
		}
	}
	for i := range v {
		for j := range i {
			if v[i] == nil || v[j] == nil || gone[i] != "" || gone[j] != "" {
				continue
			}
			both := self[i] + self[j] + tt
			// The variance of a +- b +- t is below the limit only if the others'
			// covariance makes up for it; most pairs are out by their size alone.
			if sd := math.Sqrt(self[i]) + math.Sqrt(self[j]); sd*sd < tt/2 {
				continue
			}
			cross := floats.Dot(v[i], v[j]) / n
			a, b := p.columns[i].name, p.columns[j].name
			switch {
			case both-2*cross+2*with[i]-2*with[j] < limit:
				if !slices.Contains(o.Keep, a) {
					gone[i] = fmt.Sprintf("derived from time: %s / %s", b, p.target)
				}
			case both-2*cross-2*with[i]+2*with[j] < limit:
				if !slices.Contains(o.Keep, b) {
					gone[j] = fmt.Sprintf("derived from time: %s / %s", a, p.target)
				}
			case both+2*cross-2*with[i]-2*with[j] < limit:
				p.warnings = append(p.warnings, fmt.Sprintf("%s times %s is %s: if one of them was computed from the time, drop it", a, b, p.target))
			}
		}
	}
	kept := p.columns[:0:0]
	for i, c := range p.columns {
		if gone[i] == "" {
			kept = append(kept, c)
		} else {
			p.dropped = append(p.dropped, Dropped{c.name, gone[i]})
		}
	}
	p.columns = kept
	if w := p.computable(y, at); w != "" {
		p.warnings = append(p.warnings, w)
	}
}

// computable asks split.Check whether a few columns give the time.
func (p *prepared) computable(y []float64, at []int) string {
	cols := []series.Series{series.New(pick(y, at), series.Float, p.target)}
	for _, c := range p.columns {
		if c.name != p.target {
			cols = append(cols, series.New(pick(c.raw, at), series.Float, c.name))
		}
	}
	all := make([]int, len(at))
	for i := range all {
		all[i] = i
	}
	leaks, err := split.Check(dataframe.New(cols...), split.Split{Train: all}, "", p.target)
	if err != nil { // the columns are there
		return ""
	}
	for _, l := range leaks {
		if l.Kind == split.TargetFromOthers {
			return strings.Join(l.Columns, ", ") + ": " + l.Detail + ": time in disguise, or a kernel that a few counters determine"
		}
	}
	return ""
}
