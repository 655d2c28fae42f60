package roofline

import (
	"fmt"
	"regexp"
	"strings"
)

// estimate begins the part of a From, in braces behind its formula, that says
// what the quantity rests on besides a count of it.
const estimate = " {estimate: "

var remark = regexp.MustCompile(` \{estimate: ([^}]*)\}`)

// estimated marks a known quantity as an estimate.
func (q Quantity) estimated(why string) Quantity {
	if q.OK {
		q.From += estimate + why + "}"
	}
	return q
}

// Estimate says that a quantity was not measured but computed under an
// assumption or is a bound; From says which, in braces: "64 x DLmr {estimate:
// ...}".
func (q Quantity) Estimate() bool { return q.OK && strings.Contains(q.From, estimate) }

// Formula is From without what says that it is an estimate.
func (q Quantity) Formula() string { return remark.ReplaceAllString(q.From, "") }

// Counters that FromStore adds to functions of Callgrind and Cachegrind, from
// the IR of the same functions.
var estimatedFlop = map[Precision]string{FP64: "estimate_flop_fp64", FP32: "estimate_flop_fp32"}

const estimatedSize = "estimate_bytes_per_access"

// simulated says that the counters are those of Valgrind's cache simulation.
func (c cpu) simulated() bool {
	_, ir := c.counters["ir"]
	return ir
}

// simulatedBytes estimates traffic as misses x 64 bytes. Valgrind simulates two
// levels, of which the second is the last: what misses the first one comes, on
// a real machine, from L2; L3 is not told. Dirty lines that are written back
// are not counted, as in STREAM; a line that is written without being read is,
// once, as it is fetched.
func (c cpu) simulatedBytes(l Level) Quantity {
	misses := func(names ...string) Quantity {
		return c.all(line, names...).estimated("misses of Valgrind's simulated cache, without write-backs and prefetching")
	}
	switch l {
	case DRAM:
		return misses("dlmr", "dlmw")
	case L2:
		return misses("d1mr", "d1mw")
	case L1:
		accesses := c.all(1, "dr", "dw")
		if !accesses.OK {
			return accesses
		}
		if size := c.get(estimatedSize); size.OK {
			return product(accesses, size).estimated("with the mean size of the accesses in the IR")
		}
		return times(8, accesses).estimated("with 8 bytes for each access, whose size is not counted")
	case L3:
		return missing("Valgrind simulates two levels of cache, and no third")
	}
	return missing("no such level")
}

// estimates says what is estimated, and how.
func (r *Result) estimates() []string {
	var out []string
	say := func(what string, q Quantity) {
		if q.Estimate() {
			out = append(out, fmt.Sprintf("%s is an estimate, %s: %s", what, q.Formula(), remark.FindStringSubmatch(q.From)[1]))
		}
	}
	say("time", r.Time)
	for _, w := range r.Work {
		say(w.Precision.String()+" work", w.Flop)
	}
	for _, t := range r.Traffic {
		say(t.Level.String()+" traffic", t.Bytes)
	}
	return out
}

// sayEstimates says in Why and Notes that a result rests on estimates. Where
// its time is not known, which is so for a simulation that no other run timed,
// it tells the bound that the roofline gives without time: the limit that takes
// the longest when each is used to the full, which is the same as comparing
// intensities with balance points. It is a bound on the kernel at its best.
func (r *Result) sayEstimates() {
	notes := r.estimates()
	if notes == nil {
		return
	}
	r.Notes = append(r.Notes, notes...)
	if r.Bound == Unknown && !r.Time.OK {
		r.atBest()
	}
	r.Why = "an estimate: " + r.Why
}

func (r *Result) atBest() {
	var top Bound
	longest, memory, compute := 0.0, false, false
	consider := func(b Bound, t Quantity) {
		if t.OK && t.Value > longest {
			top, longest = b, t.Value
		}
	}
	for _, t := range r.Traffic {
		q := ratio(t.Bytes, t.Ceiling)
		memory = memory || q.OK && t.Level == DRAM
		consider(Bound(t.Level.String()), q)
	}
	for _, w := range r.Work {
		q := ratio(w.Flop, w.Ceiling)
		compute = compute || q.OK
		consider(Bound(w.Precision.String()), q)
	}
	if !memory || !compute || longest == 0 {
		return
	}
	r.Bound = top
	r.Why = fmt.Sprintf("at best bound by %s, which alone takes %.3g s at its ceiling, longer than any other; how far the kernel is from that is not known without its time", top, longest)
}
