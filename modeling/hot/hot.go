// Package hot finds the kernels that are worth looking at: the smallest set
// that covers a given share of a run's time.
//
// In flow observations of time (modeling/observe reads them from a store), out
// flows a Result: the kernels, the most expensive first, each with its time,
// share and the rows that say so. Nothing is guessed: launches without a time
// are counted and named.
package hot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/observe"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// DefaultShare is the share of time that is covered unless Options say
// otherwise.
const DefaultShare = 0.8

// Options say what to cover.
type Options struct {
	// Share of the time, above 0 and up to 1; 0 is DefaultShare.
	Share float64
	// Regions keeps places of a call tree apart that have the same name.
	Regions bool
	// Metric and Kinds are those of observe.Options. Any metric that adds up can
	// take the place of time.
	Metric string
	Kinds  []string
}

// Kernel is one kernel (or region) with its time over all launches.
type Kernel struct {
	Name       string
	Kind       string
	Region     int64 // with Options.Regions, else 0
	Time       float64
	Share      float64 // of the time of all
	Cumulative float64 // share of this one and all before it
	Launches   int     // 0 where the tool does not count them
	Unknown    int     // launches without a time, which Time lacks
	Evidence   []observe.Row
}

// Result is the smallest set. No smaller one covers the share; where several
// of its size do, it is the one that covers the most, and the first by name.
type Result struct {
	Kernels []Kernel
	Rest    []Kernel // those that are not needed, in the same order
	Ties    []Kernel // those of Rest that take as long as the last of Kernels: the order of names left them out
	Unknown []Kernel // those with no time at all
	Share   float64  // what was asked for
	Covered float64  // what Kernels cover
	Total   float64  // time of all
	Unit    string
	Runs    []int64
}

// Find reads a run and picks its hot kernels.
func Find(ctx context.Context, s *datasets.Store, run int64, opt Options) (Result, error) {
	obs, err := observe.Run(ctx, s, run, observe.Options{Metric: opt.Metric, Kinds: opt.Kinds})
	if err != nil {
		return Result{}, err
	}
	r, err := Of(obs, opt)
	if err != nil {
		return r, fmt.Errorf("hot kernels of run %d: %w", run, err)
	}
	return r, nil
}

// Of picks the hot kernels among observations. Their order does not matter.
func Of(obs []observe.Observation, opt Options) (Result, error) {
	if opt.Share == 0 {
		opt.Share = DefaultShare
	}
	r := Result{Share: opt.Share}
	if !(opt.Share > 0 && opt.Share <= 1) {
		return r, fmt.Errorf("the share is %g: it must be above 0 and at most 1", opt.Share)
	}
	ks, err := r.group(obs, opt.Regions)
	if err != nil {
		return r, err
	}
	if !(r.Total > 0) {
		return r, errors.New("no time was measured: there is nothing to cover")
	}
	sum, covered := 0.0, false
	for _, k := range ks {
		if k.Unknown > 0 && len(k.Evidence) == 0 {
			r.Unknown = append(r.Unknown, k)
			continue
		}
		sum += k.Time
		k.Share, k.Cumulative = k.Time/r.Total, min(1, sum/r.Total)
		if covered {
			r.Rest = append(r.Rest, k)
			if k.Time == r.Kernels[len(r.Kernels)-1].Time {
				r.Ties = append(r.Ties, k)
			}
			continue
		}
		r.Kernels = append(r.Kernels, k)
		r.Covered = k.Cumulative
		// Sums of the same times in another order differ in the last digits.
		covered = sum >= opt.Share*r.Total*(1-1e-12)
	}
	return r, nil
}

// group adds up observations by kernel, the longest time first.
func (r *Result) group(obs []observe.Observation, regions bool) ([]Kernel, error) {
	type key struct {
		name, kind string
		region     int64
	}
	type group struct {
		Kernel
		times []float64
	}
	groups := map[key]*group{}
	for _, o := range obs {
		k := key{o.Kernel, o.Kind, 0}
		if regions {
			k.region = o.Region
		}
		g := groups[k]
		if g == nil {
			g = &group{Kernel: Kernel{Name: k.name, Kind: k.kind, Region: k.region}}
			groups[k] = g
		}
		g.Launches += o.Launches
		if !slices.Contains(r.Runs, o.Run) {
			r.Runs = append(r.Runs, o.Run)
		}
		if !o.Value.Valid {
			g.Unknown++
			continue
		}
		if v := o.Value.V; v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s (%s) has the time %g: it must be finite and not negative", o.Kernel, o.Row, v)
		}
		if r.Unit != "" && o.Unit != r.Unit {
			return nil, fmt.Errorf("%s (%s) is in %q and others are in %q: they cannot be added", o.Kernel, o.Row, o.Unit, r.Unit)
		}
		r.Unit = o.Unit
		g.times = append(g.times, o.Value.V)
		g.Evidence = append(g.Evidence, o.Row)
	}
	slices.Sort(r.Runs)
	var out []Kernel
	var all []float64
	for _, g := range groups {
		g.Time = sorted(g.times)
		slices.SortFunc(g.Evidence, func(a, b observe.Row) int {
			return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Launch, b.Launch))
		})
		all = append(all, g.Time)
		out = append(out, g.Kernel)
	}
	r.Total = sorted(all)
	slices.SortFunc(out, func(a, b Kernel) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Region, b.Region))
	})
	return out, nil
}

// sorted adds up in an order that does not depend on that of the input.
func sorted(vs []float64) (sum float64) {
	slices.Sort(vs)
	for _, v := range vs {
		sum += v
	}
	return sum
}

// Names are those of the hot kernels.
func (r Result) Names() []string {
	out := make([]string, len(r.Kernels))
	for i, k := range r.Kernels {
		out[i] = k.Name
	}
	return out
}

// Table is the result as a table.
func (r Result) Table() tabular.Table {
	t := tabular.Table{Title: fmt.Sprintf("%d of %d kernels cover %s of %s (%s asked for)", len(r.Kernels), len(r.Kernels)+len(r.Rest),
		tabular.Percent(r.Covered), tabular.Quantity(r.Total, r.Unit), tabular.Percent(r.Share)),
		Columns: tabular.Columns("<kernel", "<kind", "time", "share", "cumulative", "launches", "<evidence")}
	for _, k := range r.Kernels {
		launches := fmt.Sprint(k.Launches)
		if k.Launches == 0 {
			launches = "n/a"
		}
		evidence := k.Evidence[0].String()
		if n := len(k.Evidence); n > 1 {
			evidence += fmt.Sprintf(" and %d more", n-1)
		}
		t.Add(k.Name, k.Kind, tabular.Quantity(k.Time, r.Unit), tabular.Percent(k.Share), tabular.Percent(k.Cumulative), launches, evidence)
		if k.Unknown > 0 {
			t.Note("%d launches of %s have no time: its time is a lower bound", k.Unknown, k.Name)
		}
	}
	for _, k := range r.Ties {
		t.Note("%s takes as long as the last kernel of the set", k.Name)
	}
	for _, k := range r.Unknown {
		t.Note("%s has no time: it may belong to the set", k.Name)
	}
	return t
}

// String is the result as text.
func (r Result) String() string { return r.Table().String() }

// Display shows the result as a table.
func (r Result) Display() display.Bundle { return r.Table().Display() }
