package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Options say how to choose. The zero value is good.
type Options struct {
	K          int      // counters wanted, 5 by default
	Members    int      // of the ensemble, 400 by default
	Columns    float64  // part of the columns that a member is offered, 0.7 by default
	Steps      int      // of a member at most, 2 K by default: a stand-in taken early leaves room for the counter itself
	Best       int      // candidates among which a step draws, 3 by default
	Seed       uint64   // equal seeds give equal results
	Alias      float64  // |r| from which columns are copies, 0.999 by default
	MaxMissing float64  // part of the rows that may lack a value, 0.2 by default
	Drop       []string // columns not to choose from
	Keep       []string // columns to choose from though they look derived from time, or are no counters
	// Progress, if not nil, is told after each member how many are done. Calls
	// come one at a time.
	Progress func(done, members int)
}

func (o *Options) fill() error {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.K, 5)
	set(&o.Members, 400)
	set(&o.Best, 3)
	set(&o.Steps, 2*o.K)
	for _, f := range []struct {
		v *float64
		d float64
	}{{&o.Columns, 0.7}, {&o.Alias, 0.999}, {&o.MaxMissing, 0.2}} {
		if *f.v == 0 {
			*f.v = f.d
		}
	}
	if o.K < 1 || o.Members < 1 || o.Best < 1 || o.Steps < 1 {
		return fmt.Errorf("choosing counters: K is %d, Members %d, Best %d, Steps %d: they must be positive", o.K, o.Members, o.Best, o.Steps)
	}
	if !(o.Columns > 0 && o.Columns <= 1) || !(o.Alias > 0 && o.Alias <= 1) || !(o.MaxMissing > 0 && o.MaxMissing < 1) {
		return fmt.Errorf("choosing counters: Columns is %g, Alias %g, MaxMissing %g: they are parts of one", o.Columns, o.Alias, o.MaxMissing)
	}
	return nil
}

// Counter is what the ensemble says of one counter.
type Counter struct {
	Name    string
	Aliases []string // columns of which it is a copy; choosing it chooses them
	About   Description
	Log     bool // it was taken by its logarithm

	Stability  float64 // share of the members that chose it, among those that were offered it
	Rank       float64 // mean step at which they chose it, from 1; NaN if none did
	Sign       int     // of its coefficient in most members: +1 more time with more of it, -1 less; 0 if none chose it
	SignShare  float64 // share of the members that chose it with that sign
	Importance float64 // mean fall of the residual variance when chosen, a part of the target's variance; 0 if never
	Correlation,
	Lasso, // coefficient of LASSO on standardised columns at the cross-validated penalty
	Mutual float64 // mutual information with the target, nat
	// Adds is the fall of the residual variance at which the last pursuit took
	// it, a part of the target's variance; 0 for what is not chosen.
	Adds float64
}

// Result is a choice of counters.
type Result struct {
	Target   string
	LogTime  bool // the target was taken by its logarithm
	Rows     int
	LeftOut  int // rows without a target
	Gaps     int // values that were missing and took their column's median
	Units    int // groups of rows that were drawn together
	Chosen   []Counter
	All      []Counter // every candidate, the most stable first
	R2       float64   // share of the target's variance that the chosen explain, on the rows they were chosen by
	Members  int       // done
	Options  Options
	Dropped  []Dropped
	Warnings []string
	Lasso    Lasso
}

// Names are those of the chosen counters, in the order they were picked.
func (r *Result) Names() []string {
	out := make([]string, len(r.Chosen))
	for i, c := range r.Chosen {
		out[i] = c.Name
	}
	return out
}

// Select chooses the counters of t that explain its target. When ctx ends
// after some members are done, the result of those comes with its error; it is
// then not the same from run to run.
func Select(ctx context.Context, t Table, o Options) (*Result, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	p, err := prepare(&t, &o)
	if err != nil {
		return nil, err
	}
	traces, stopped := p.ensemble(ctx, &o)
	if len(traces) == 0 {
		return nil, fmt.Errorf("choosing counters: %w", stopped)
	}
	r := &Result{Target: t.Target, LogTime: p.yscale.log, Rows: p.rows, LeftOut: p.leftOut, Gaps: p.gaps, Units: len(p.units),
		Members: len(traces), Options: o, Dropped: p.dropped, Warnings: p.warnings}
	r.Options.Progress = nil // a record holds data
	cs := p.summarise(traces)
	if stopped == nil {
		if r.Lasso, err = p.lasso(ctx, o.Seed); err == nil {
			for i := range cs {
				cs[i].Lasso = r.Lasso.coefs[i]
			}
			err = p.mutual(ctx, o.Seed, cs)
		}
		stopped = err
	}
	order, adds, r2 := p.final(cs, o.K)
	for i, j := range order {
		cs[j].Adds = adds[i]
		r.Chosen = append(r.Chosen, cs[j])
	}
	r.R2 = r2
	if n := len(order); n < o.K {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d counters were wanted, but only %d explain anything beyond the others", o.K, n))
	}
	if p.yscale.log && len(p.units) < 5*o.K {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d independent rows are few for %d counters", len(p.units), o.K))
	}
	r.All = slices.Clone(cs)
	slices.SortStableFunc(r.All, func(a, b Counter) int {
		return cmp.Or(cmp.Compare(b.Stability, a.Stability), cmp.Compare(b.Importance, a.Importance), cmp.Compare(math.Abs(b.Correlation), math.Abs(a.Correlation)))
	})
	if stopped != nil {
		return r, fmt.Errorf("choosing counters: after %d of %d members: %w", r.Members, o.Members, stopped)
	}
	return r, nil
}

// ensemble runs the members on all processors. The error is ctx's.
func (p *prepared) ensemble(ctx context.Context, o *Options) ([]trace, error) {
	traces := make([]trace, o.Members)
	done := make([]bool, o.Members)
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	finished := 0
	for range min(runtime.GOMAXPROCS(0), o.Members) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= o.Members {
					return
				}
				traces[i] = p.member(o, uint64(i)) //nolint:gosec // not negative
				mu.Lock()
				done[i] = true
				finished++
				if o.Progress != nil {
					o.Progress(finished, o.Members)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if finished == o.Members {
		return traces, nil
	}
	var out []trace
	for i, d := range done {
		if d {
			out = append(out, traces[i])
		}
	}
	err := context.Cause(ctx)
	if err == nil {
		err = errors.New("stopped")
	}
	return out, err
}

// summarise makes a Counter of each column, in their order.
func (p *prepared) summarise(traces []trace) []Counter {
	cs := make([]Counter, len(p.columns))
	offered, chosen := make([]float64, len(cs)), make([]float64, len(cs))
	positive := make([]float64, len(cs))
	for _, t := range traces {
		for _, j := range t.offered {
			offered[j]++
		}
		for step, j := range t.chosen {
			chosen[j]++
			cs[j].Rank += float64(step + 1)
			cs[j].Importance += t.drops[step]
			if t.coefs[step] > 0 {
				positive[j]++
			}
		}
	}
	for j := range cs {
		c, col := &cs[j], &p.columns[j]
		c.Name, c.Aliases, c.Log, c.Correlation = col.name, col.aliases, col.scale.log, col.r
		c.About = Describe(col.name)
		if chosen[j] == 0 {
			c.Rank = math.NaN()
			continue
		}
		c.Stability = chosen[j] / offered[j]
		c.Rank /= chosen[j]
		c.Importance /= chosen[j]
		share := positive[j] / chosen[j]
		if c.Sign, c.SignShare = 1, share; share < 0.5 {
			c.Sign, c.SignShare = -1, 1-share
		}
	}
	return cs
}

// final picks k columns on all rows by gain times stability, and returns the
// part of the variance that each adds and that all explain.
func (p *prepared) final(cs []Counter, k int) (order []int, adds []float64, r2 float64) {
	ones := make([]float64, p.rows)
	for i := range ones {
		ones[i] = 1
	}
	columns := make([][]float64, len(cs))
	for j := range cs {
		columns[j] = p.columns[j].z
	}
	m := newPursuit(columns, p.y, ones)
	for len(m.chosen) < k {
		best, top := -1, 0.0
		for j := range cs {
			if g := m.gain(j) * cs[j].Stability; g > top*(1+1e-9) {
				best, top = j, g
			}
		}
		if best < 0 || m.rss <= explained*m.total {
			break
		}
		adds = append(adds, m.take(best)/m.total)
	}
	return m.chosen, adds, 1 - m.rss/m.total
}
