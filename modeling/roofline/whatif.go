package roofline

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Side is where a kernel stands of a balance point: the classic two-way class.
// It says which roof is above the kernel, not whether the kernel reaches it;
// Result.Bound says that.
type Side string

// Sides.
const (
	MemorySide  Side = "memory"  // below the balance point: the sloped roof is above
	ComputeSide Side = "compute" // at or above it: the flat one
	NoSide      Side = "unknown"
)

// Balance is the machine's balance point for a level and a precision, peak /
// bandwidth, flop/byte: kernels of less intensity are on the memory side.
func (r Result) Balance(l Level, p Precision) Quantity {
	return ratio(r.Work[p].Ceiling, r.Traffic[l].Ceiling)
}

// Side compares the intensity at a level with the balance point. A kernel
// without work in the precision has intensity 0 and is on the memory side.
func (r Result) Side(l Level, p Precision) Side {
	ai, balance := r.Intensity(l, p), r.Balance(l, p)
	switch {
	case !ai.OK || !balance.OK:
		return NoSide
	case ai.Value < balance.Value:
		return MemorySide
	}
	return ComputeSide
}

// Limit is one ceiling and the least time that it leaves a kernel: amount /
// ceiling, all else for nothing.
type Limit struct {
	Bound Bound // a level, a precision, or Issue
	Time  Quantity
}

// Issue is the limit of the instruction roofline: the issue slots.
const Issue Bound = "instruction issue"

// Limits are those with a known time above 0, the longest first: the roof,
// then the next roof when that is lifted, and so on. A kernel cannot be faster
// than the first without moving less, computing less or another machine.
func (r Result) Limits() []Limit {
	var out []Limit
	add := func(b Bound, q Quantity) {
		if q.OK && q.Value > 0 {
			out = append(out, Limit{b, q})
		}
	}
	for _, t := range r.Traffic {
		add(Bound(t.Level.String()), ratio(t.Bytes, t.Ceiling))
	}
	for _, w := range r.Work {
		add(Bound(w.Precision.String()), ratio(w.Flop, w.Ceiling))
	}
	add(Issue, ratio(r.Instr.Warps, r.Instr.Ceiling))
	sort.SliceStable(out, func(i, j int) bool { return out[i].Time.Value > out[j].Time.Value })
	return out
}

// WhatIf is the time that a kernel would take at a roof.
type WhatIf struct {
	What    string   // "the L2 roof"
	By      Bound    // the ceiling that this roof is, or that limits there
	Time    Quantity // s
	Speedup Quantity // the kernel's time / Time; below 1 the kernel is above the roof, see Result.Notes
	Text    string   // a sentence; where Time is unknown it says what is missing
}

// String is the sentence.
func (w WhatIf) String() string { return w.Text }

// WhatIf is the time at the roof of a level and a precision, the larger of
// bytes / bandwidth and flop / peak.
func (r Result) WhatIf(l Level, p Precision) WhatIf {
	w := WhatIf{What: "the " + l.String() + " roof", By: Bound(l.String())}
	memory, compute := ratio(r.Traffic[l].Bytes, r.Traffic[l].Ceiling), ratio(r.Work[p].Flop, r.Work[p].Ceiling)
	switch {
	case !memory.OK:
		w.Time = memory
	case !compute.OK:
		w.Time = compute
	case compute.Value > memory.Value:
		w.Time, w.By = compute, Bound(p.String())
	default:
		w.Time = memory
	}
	if w.By != Bound(l.String()) {
		w.What += fmt.Sprintf(", where %s arithmetic limits,", p)
	}
	return r.finishWhatIf(w)
}

// WhatIfs answers for every level whose roof is known, in the precision that
// the kernel computes most in (or, without work, of the bytes alone), and then
// for the roofs that come next when the ones before are lifted.
func (r Result) WhatIfs() []WhatIf {
	var out []WhatIf
	p, computes := r.Dominant()
	for _, t := range r.Traffic {
		w := r.WhatIf(t.Level, p)
		if !computes || !w.Time.OK {
			w = r.finishWhatIf(WhatIf{What: "the full bandwidth of " + t.Level.String(), By: Bound(t.Level.String()), Time: ratio(t.Bytes, t.Ceiling)})
		}
		if w.Time.OK && w.Time.Value > 0 {
			out = append(out, w)
		}
	}
	return append(out, r.Lifted()...)
}

// Lifted answers what comes when roofs are lifted: for the longest of Limits
// that nothing but it limits, then for the next without it, to the last.
func (r Result) Lifted() []WhatIf {
	var out []WhatIf
	limits := r.Limits()
	for i, l := range limits[:max(0, len(limits)-1)] {
		next := limits[i+1]
		w := WhatIf{What: "the " + string(next.Bound) + " roof, the next when " + string(l.Bound) + " is lifted,", By: next.Bound, Time: next.Time}
		out = append(out, r.finishWhatIf(w))
	}
	return out
}

func (r Result) finishWhatIf(w WhatIf) WhatIf {
	w.Speedup = ratio(r.Time, w.Time)
	switch {
	case !w.Time.OK:
		w.Text = fmt.Sprintf("the time at %s is not known: %s", w.What, w.Time.From)
	case !w.Speedup.OK:
		w.Text = fmt.Sprintf("at %s this kernel would take %s; what it takes is not known", w.What, seconds(w.Time.Value))
	case w.Speedup.Value < 0.995:
		w.Text = fmt.Sprintf("at %s this kernel would take %s, more than the %s it takes: the ceiling is too low, or the data partly come from elsewhere", w.What, seconds(w.Time.Value), seconds(r.Time.Value))
	case w.Speedup.Value < 1.05:
		w.Text = fmt.Sprintf("at %s this kernel would take %s instead of %s: it is there", w.What, seconds(w.Time.Value), seconds(r.Time.Value))
	default:
		w.Text = fmt.Sprintf("at %s this kernel would take %s instead of %s, %.3g times faster", w.What, seconds(w.Time.Value), seconds(r.Time.Value), w.Speedup.Value)
	}
	return w
}

// seconds writes a time with three digits and the prefix that suits.
func seconds(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}} {
		if math.Abs(v) >= 0.9995*u.size {
			return fmt.Sprintf("%.3g %s", v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", v*1e9)
}

// Near is the level whose roof the kernel is nearest to, of those above which
// it is known to stand, with the part of it that is attained.
func (r Result) Near() (Level, Quantity, bool) {
	p, ok := r.Dominant()
	var found Level
	nearest := missing("no roof is known")
	for _, l := range slices.Sorted(slices.Values([]Level{DRAM, L3, L2, L1, Shared})) {
		if d := r.Distance(l, p); ok && d.OK && (!nearest.OK || d.Value > nearest.Value) {
			found, nearest = l, d
		}
	}
	return found, nearest, nearest.OK
}
