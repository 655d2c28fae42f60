// Package roofline computes the hierarchical roofline (Williams et al. 2009;
// Yang, Kurth and Williams 2020) and the instruction roofline (Ding and Williams
// 2019) of kernels: on GPUs of NVIDIA from Nsight Compute's counters, on AMD's
// from those of ROCm's profilers, on processors from hardware counters or,
// said to be an estimate, from simulated ones.
//
// In flow launches, each a map from a counter's name to its value in SI units
// (FromStore reads them from a store, with the ceilings of their machine). Out
// flow Results: work per precision, bytes per memory level, attained rates,
// ceilings, what bounds the kernel by a stated rule (Bound), on which side of
// the balance point it stands (Side), and what it would take at each roof
// (WhatIfs). Every Quantity says which counters gave it; ceilings are, in this
// order, the profile's, those that Options give, measured ones of the machine,
// and theoretical ones of the device table. A counter that is not there is
// named in the result; it never counts as zero. What else is to be known of
// the numbers, a ceiling that is exceeded or an estimate, is in Result.Notes.
package roofline

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Launch is what was counted for one launch of a kernel (or, summed, for many).
type Launch struct {
	Kernel  string
	Metrics map[string]float64 // by ncu's name, in s, byte, byte/s, cycle, cycle/s, byte/cycle, inst/cycle, %
	// Threads are those of the whole grid along each axis, 0 where the profile
	// does not say. The work of an algorithm often follows from them.
	Threads [3]int64
	// Time is the duration that the profile gives of the launch itself, used
	// where no counter gives one; Ceilings are those of its machine, used where
	// the profile and Options have none; Arch is its device ("cc8.6", "gfx90a").
	Time     Quantity
	Ceilings Ceilings
	Arch     string
}

// Quantity is a number that may be unknown. From is the formula of counters that
// gave it for a launch ("32 x (a + b) / t": +, x and / between spaces, names and
// numbers as they are), or, when it is unknown, which counters are missing.
type Quantity struct {
	Value float64
	OK    bool
	From  string
}

func (q Quantity) String() string {
	if !q.OK {
		return "unknown (" + q.From + ")"
	}
	return fmt.Sprintf("%.6g", q.Value)
}

// Given is the From of quantities that Options brought.
const Given = "given"

// known is a quantity with a value; one that is not finite is not known.
func known(v float64, from string) Quantity {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return missing(from + " is no finite number")
	}
	return Quantity{v, true, from}
}

func missing(what string) Quantity { return Quantity{math.NaN(), false, what} }

// Precision is a kind of arithmetic with a peak of its own: a number format,
// and whether ordinary or matrix units compute it.
type Precision int

// Precisions, in the order of Result.Work. Those of tensor cores (NVIDIA) and
// MFMA units (AMD) are apart; their work is in flop, that of Int and TensorInt8
// in integer operations. TensorFP32 is TF32 on NVIDIA.
const (
	FP64 Precision = iota
	FP32
	FP16
	Int
	TensorFP64
	TensorFP32
	TensorFP16
	TensorBF16
	TensorFP8
	TensorInt8
	precisions int = iota
)

func (p Precision) String() string {
	return [...]string{"FP64", "FP32", "FP16", "INT", "tensor FP64", "tensor FP32", "tensor FP16", "tensor BF16", "tensor FP8", "tensor INT8"}[p]
}

// Integer says that work of the precision is counted in operations, not flop.
func (p Precision) Integer() bool { return p == Int || p == TensorInt8 }

// Level is a level of the memory hierarchy.
type Level int

// Levels, in the order of Result.Traffic. L3 is a CPU's last cache and AMD's
// Infinity Cache; Shared is shared memory, AMD's LDS.
const (
	DRAM Level = iota
	L3
	L2
	L1
	Shared
	levels int = iota
)

func (l Level) String() string { return [...]string{"DRAM", "L3", "L2", "L1", "shared memory"}[l] }

// Work is what a kernel computed in one precision.
type Work struct {
	Precision Precision
	Flop      Quantity // add + mul + 2 fma over all threads
	Rate      Quantity // flop/s attained
	Ceiling   Quantity // flop/s at the profiled clock
	Used      Quantity // Rate / Ceiling
}

// Traffic is what a kernel moved at one level.
type Traffic struct {
	Level   Level
	Bytes   Quantity // read and written
	Rate    Quantity // byte/s attained
	Ceiling Quantity // byte/s at the profiled clock
	Used    Quantity // Rate / Ceiling
}

// Result is the roofline of one kernel.
type Result struct {
	Kernel   string
	Launches int
	Time     Quantity // s
	Work     [precisions]Work
	Traffic  [levels]Traffic
	SM       Quantity // utilisation of the busiest SM unit, 0 to 1, as ncu gives it
	Instr    Instructions
	Bound    Bound
	Why      string   // the rule's numbers, in words
	Missing  []string // what could not be computed, and the counters that would give it
	Notes    []string // what to know about the numbers: a ceiling that is exceeded, an estimate

	uncounted []string // work that the profile shows and does not count
	remarks   []string // what the source says of its numbers
}

// Options change how counters are read. The zero value is right for scalar
// FP64 and FP32 code.
type Options struct {
	// HalfWeight is the flop of one FP16 add per thread instruction: 1 for
	// scalar code, 2 for packed half2. 0: 2 where the profile's sections count so
	// (derived__..._hfma_pred_on_x4), else 1, which Result.Notes then says.
	HalfWeight float64
	// TensorFlop is the flop of one matrix instruction of half precision
	// (sm__inst_executed_pipe_tensor_op_hmma.sum, or sm__inst_executed_pipe_tensor.sum),
	// for profiles without sm__ops_path_tensor_src_*. It depends on the
	// architecture and the instruction; 0 is 512 on Volta. Elsewhere tensor work is
	// reported as missing where there is any.
	TensorFlop float64
	// Bandwidth and Peak are ceilings to use where the profile has none, in
	// byte/s and flop/s, at the clock of the measurement. Ceilings are more of
	// them, with where they come from, used where those lack one.
	Bandwidth map[Level]float64
	Peak      map[Precision]float64
	Ceilings  Ceilings
	// Flop gives the work of a launch where its counters do not, as counted
	// from the algorithm (2 n^3 for a matrix product); nil where unknown.
	Flop func(Launch) map[Precision]float64

	launch Launch              // what a source is reading
	memo   map[string]Quantity // what it has read so far
	stems  map[string]bool     // the counters that are there, without their forms
}

// Reached takes measured ceilings from probes: launches that were made to reach
// a machine's limits, such as a triad and a chain of multiply-adds. Each ceiling
// is the highest rate that any of them attained at a level or precision; what no
// probe tells stays without a ceiling. The other options are zero.
func Reached(probes []Launch) Options {
	opt := Options{Bandwidth: map[Level]float64{}, Peak: map[Precision]float64{}}
	for _, r := range AnalyseAll(probes, Options{}) {
		for _, t := range r.Traffic {
			if t.Rate.OK && t.Rate.Value > opt.Bandwidth[t.Level] {
				opt.Bandwidth[t.Level] = t.Rate.Value
			}
		}
		for _, w := range r.Work {
			if w.Rate.OK && w.Rate.Value > opt.Peak[w.Precision] {
				opt.Peak[w.Precision] = w.Rate.Value
			}
		}
	}
	return opt
}

// AnalyseAll computes the roofline of each launch.
func AnalyseAll(ls []Launch, opt Options) []Result {
	rs := make([]Result, len(ls))
	for i, l := range ls {
		rs[i] = Analyse(l, opt)
	}
	return rs
}

// Analyse computes the roofline of one launch.
func Analyse(l Launch, opt Options) Result {
	c := sourceOf(l, opt)
	r := Result{Kernel: l.Kernel, Launches: 1, Time: best(c.time(), l.ownTime())}
	var given map[Precision]float64
	if opt.Flop != nil {
		given = opt.Flop(l)
	}
	machine, clock := opt.Ceilings.Or(l.Ceilings), clockOf(c)
	for p := range r.Work {
		w := &r.Work[p]
		w.Precision = Precision(p)
		w.Flop = c.flop(w.Precision)
		if v, ok := given[w.Precision]; ok && !w.Flop.OK {
			w.Flop = amount(v, Given)
		}
		w.Ceiling = c.peak(w.Precision)
		if v, ok := opt.Peak[w.Precision]; ok && !w.Ceiling.OK {
			w.Ceiling = Ceiling{Value: v, From: Given}.at(clock)
		}
		if v, ok := machine.Peak[w.Precision]; ok && !w.Ceiling.OK {
			w.Ceiling = v.at(clock)
		}
	}
	for i := range r.Traffic {
		t := &r.Traffic[i]
		t.Level = Level(i)
		t.Bytes = c.bytes(t.Level)
		t.Ceiling = c.bandwidth(t.Level)
		if v, ok := opt.Bandwidth[t.Level]; ok && !t.Ceiling.OK {
			t.Ceiling = Ceiling{Value: v, From: Given}.at(clock)
		}
		if v, ok := machine.Bandwidth[t.Level]; ok && !t.Ceiling.OK {
			t.Ceiling = v.at(clock)
		}
	}
	r.SM = c.busy()
	r.Instr = instructions(c, r.Traffic, machine)
	r.uncounted, r.remarks = remarksOf(c)
	r.finish()
	return r
}

// amount is work or time that somebody gave: 0 or more.
func amount(v float64, from string) Quantity {
	if v < 0 {
		return missing(fmt.Sprintf("%s: %g is negative", from, v))
	}
	return known(v, from)
}

// finish computes rates, use and bound from amounts and ceilings.
func (r *Result) finish() {
	for i := range r.Work {
		w := &r.Work[i]
		w.Rate = ratio(w.Flop, r.Time)
		w.Used = ratio(w.Rate, w.Ceiling)
	}
	for i := range r.Traffic {
		t := &r.Traffic[i]
		t.Rate = ratio(t.Bytes, r.Time)
		t.Used = ratio(t.Rate, t.Ceiling)
	}
	r.Instr.finish(r.Time)
	r.Missing = slices.Clone(r.uncounted)
	r.Notes = append(slices.Clone(r.remarks), r.exceeded()...)
	note := func(what string, q Quantity) {
		if !q.OK {
			r.Missing = append(r.Missing, what+": "+q.From)
		}
	}
	note("time", r.Time)
	for _, w := range r.Work {
		// What few kernels and devices have is not missed where there is none of
		// it, or nothing is known of it.
		if w.Precision > FP16 && (!w.Flop.OK || w.Flop.Value == 0) {
			continue
		}
		note(w.Precision.String()+" work", w.Flop)
		note(w.Precision.String()+" ceiling", w.Ceiling)
	}
	for _, t := range r.Traffic {
		if t.Level == L3 && !t.Bytes.OK {
			continue
		}
		note(t.Level.String()+" bytes", t.Bytes)
		note(t.Level.String()+" ceiling", t.Ceiling)
	}
	r.bound()
	r.sayEstimates()
}

// exceeded says which ceilings a kernel is above, which no kernel is.
func (r *Result) exceeded() []string {
	var out []string
	say := func(what string, used, ceiling Quantity) {
		if used.OK && used.Value > 1 {
			out = append(out, fmt.Sprintf("%s: the rate is %.1f %% of the ceiling (%s): the ceiling is too low, or holds at another clock", what, 100*used.Value, ceiling.From))
		}
	}
	for _, w := range r.Work {
		say(w.Precision.String(), w.Used, w.Ceiling)
	}
	for _, t := range r.Traffic {
		say(t.Level.String(), t.Used, t.Ceiling)
	}
	say("instructions", r.Instr.Used, r.Instr.Ceiling)
	return out
}

// lower is the lower of two known quantities.
func lower(a, b Quantity) Quantity {
	switch {
	case !a.OK:
		return a
	case !b.OK:
		return b
	case b.Value < a.Value:
		return b
	}
	return a
}

// ratio is a / b where both are known and b is not zero.
func ratio(a, b Quantity) Quantity {
	switch {
	case !a.OK:
		return a
	case !b.OK:
		return b
	case b.Value == 0:
		return missing("division by zero: " + b.From)
	}
	top, bottom := a.From, b.From
	if strings.Contains(top, " + ") {
		top = "(" + top + ")"
	}
	if strings.Contains(bottom, " x ") || strings.Contains(bottom, " + ") || strings.Contains(bottom, " / ") {
		bottom = "(" + bottom + ")"
	}
	return known(a.Value/b.Value, top+" / "+bottom)
}

// Intensity is the arithmetic intensity of a precision at a level, flop/byte.
func (r Result) Intensity(l Level, p Precision) Quantity {
	return ratio(r.Work[p].Flop, r.Traffic[l].Bytes)
}

// Roof is the rate that the roofline allows a precision at a level,
// min(peak, intensity x bandwidth), flop/s.
func (r Result) Roof(l Level, p Precision) Quantity {
	ai, peak, bw := r.Intensity(l, p), r.Work[p].Ceiling, r.Traffic[l].Ceiling
	for _, q := range []Quantity{ai, peak, bw} {
		if !q.OK {
			return q
		}
	}
	return known(math.Min(peak.Value, ai.Value*bw.Value), "min(peak, intensity x bandwidth)")
}

// Distance is the part of the roof that is attained, 0 to about 1.
func (r Result) Distance(l Level, p Precision) Quantity {
	return ratio(r.Work[p].Rate, r.Roof(l, p))
}

// Dominant is the precision with the most work, false where none is known.
// Integer instructions are mostly of addresses and loops: they dominate only
// where there is less than a hundredth as much of floating-point work.
func (r Result) Dominant() (Precision, bool) {
	most := func(integer bool) (best Precision, found bool) {
		for _, w := range r.Work {
			if w.Precision.Integer() == integer && w.Flop.OK && w.Flop.Value > 0 && (!found || w.Flop.Value > r.Work[best].Flop.Value) {
				best, found = w.Precision, true
			}
		}
		return best, found
	}
	flop, computes := most(false)
	ops, counts := most(true)
	switch {
	case computes && counts && r.Work[flop].Flop.Value < r.Work[ops].Flop.Value/100:
		return ops, true
	case computes:
		return flop, true
	case counts:
		return ops, true
	}
	return FP32, false
}

// String is the result as a few lines.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Kernel, r.Why)
	if r.Time.OK {
		fmt.Fprintf(&b, "  time %.6g s", r.Time.Value)
		if r.Launches > 1 {
			fmt.Fprintf(&b, " in %d launches", r.Launches)
		}
		b.WriteByte('\n')
	}
	rate := func(name string, amount, rate, ceiling, used Quantity, unit string) {
		if !amount.OK {
			return
		}
		fmt.Fprintf(&b, "  %-13s %.6g %s", name, amount.Value, unit)
		if rate.OK {
			fmt.Fprintf(&b, ", %.4g %s/s", rate.Value, unit)
		}
		if used.OK {
			fmt.Fprintf(&b, ", %.1f %% of %.4g", 100*used.Value, ceiling.Value)
		}
		b.WriteByte('\n')
	}
	for _, w := range r.Work {
		unit := "flop"
		if w.Precision.Integer() {
			unit = "op"
		}
		if w.Precision <= FP16 || w.Flop.Value > 0 {
			rate(w.Precision.String(), w.Flop, w.Rate, w.Ceiling, w.Used, unit)
		}
	}
	for _, t := range r.Traffic {
		rate(t.Level.String(), t.Bytes, t.Rate, t.Ceiling, t.Used, "byte")
	}
	if text := r.Instr.String(); text != "" {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  note: %s\n", n)
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "  not known: %s\n", strings.Join(r.Missing, "\n             "))
	}
	return strings.TrimRight(b.String(), "\n")
}
