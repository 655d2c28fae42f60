package roofline

import (
	"fmt"
	"strings"
)

// Bound is what limits a kernel.
type Bound string

// Bounds. Memory and compute bounds name the level or precision.
const (
	Unknown Bound = "unknown"
	Latency Bound = "latency"
	SM      Bound = "SM"
)

// BusyEnough is the use of a ceiling from which a kernel counts as bound by
// it. Nsight Compute's guide takes the same 60 % for its speed of light.
const BusyEnough = 0.6

// bound applies the rule: of all limits whose use is known (each level's
// bandwidth, each precision's peak, and the SM's busiest unit), the one used
// most bounds the kernel if it is used to BusyEnough or more. If none is, the
// kernel waits: latency, or too little parallelism. That is said only when
// the use of DRAM and of the computing side is known; otherwise the bound is
// unknown, and Why names what is missing.
func (r *Result) bound() {
	type limit struct {
		bound Bound
		used  float64
	}
	var top limit
	memory, compute := false, r.SM.OK
	consider := func(b Bound, q Quantity) {
		if q.OK && q.Value > top.used {
			top = limit{b, q.Value}
		}
	}
	for _, t := range r.Traffic {
		consider(Bound(t.Level.String()), t.Used)
		memory = memory || t.Level == DRAM && t.Used.OK
	}
	for _, w := range r.Work {
		consider(Bound(w.Precision.String()), w.Used)
		compute = compute || w.Used.OK
	}
	// The SM's busiest unit includes the floating-point pipes: name it only
	// where no finer limit explains it.
	if top.used < BusyEnough {
		consider(SM, r.SM)
	}
	switch {
	case top.used >= BusyEnough:
		r.Bound = top.bound
		what := "bandwidth"
		if _, ok := top.bound.Precision(); ok {
			what = "arithmetic"
		} else if top.bound == SM {
			what = "throughput (which unit is not known)"
		}
		r.Why = fmt.Sprintf("bound by %s %s: %.0f %% of the ceiling is used (60 %% or more counts as bound)", top.bound, what, 100*top.used)
	case memory && compute:
		r.Bound = Latency
		r.Why = fmt.Sprintf("bound by latency: no ceiling is used to 60 %%, the most is %s with %.0f %%", top.bound, 100*top.used)
	default:
		r.Bound = Unknown
		var lacking []string
		if !memory {
			t := r.Traffic[DRAM]
			lacking = append(lacking, "the use of DRAM ("+t.Used.From+")")
		}
		if !compute {
			p, ok := r.Dominant()
			if !ok {
				p = FP32
			}
			lacking = append(lacking, "the use of arithmetic ("+r.Work[p].Used.From+")")
		}
		r.Why = "bound unknown without " + strings.Join(lacking, " and ")
	}
}

// The bounds of ordinary floating-point arithmetic; those of other precisions
// are their names, too.
const (
	FP64bound Bound = "FP64"
	FP32bound Bound = "FP32"
	FP16bound Bound = "FP16"
)

// Precision is the precision that bounds, false for other bounds.
func (b Bound) Precision() (Precision, bool) {
	for p := range Precision(precisions) {
		if Bound(p.String()) == b {
			return p, true
		}
	}
	return 0, false
}

// Level is the level of memory that bounds, false for other bounds.
func (b Bound) Level() (Level, bool) {
	for l := range Level(levels) {
		if Bound(l.String()) == b {
			return l, true
		}
	}
	return 0, false
}
