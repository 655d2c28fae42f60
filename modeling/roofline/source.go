package roofline

import (
	"fmt"
	"math"
	"strings"
)

// A source reads the quantities of one launch from the counters of one family
// of tools. What it does not find it says so in the Quantity, with the names of
// the counters that would give it.
type source interface {
	time() Quantity             // s
	flop(p Precision) Quantity  // flop, or operations of an integer precision
	bytes(l Level) Quantity     // byte, read and written
	peak(p Precision) Quantity  // flop/s at the profiled clock
	bandwidth(l Level) Quantity // byte/s at the profiled clock
	busy() Quantity             // use of the busiest unit of the cores, 0 to 1
}

// sourceOf is the source that suits a launch's counters; each quantity that it
// lacks is taken from counters that give it as it is (see FlopCounter).
func sourceOf(l Launch, opt Options) source {
	c := counters(l.Metrics)
	opt.launch, opt.memo, opt.stems = l, map[string]Quantity{}, map[string]bool{}
	p := plain{c, l.ownTime()}
	if isPublished(c) {
		return withPlain{published{c}, p}
	}
	if isPlain(c) {
		return withPlain{p, p}
	}
	return withPlain{family(c, opt), p}
}

// ownTime is the duration of the launch that the profile gives beside counters.
func (l Launch) ownTime() Quantity {
	if l.Time.OK && l.Time.Value > 0 {
		return l.Time
	}
	return missing("the launch has no duration")
}

// A remarker is a source that knows more of its numbers: work that the profile
// shows and does not count, and what to know of the rest.
type remarker interface {
	uncounted() []string
	remarks() []string
}

func remarksOf(s source) (uncounted, remarks []string) {
	if w, ok := s.(withPlain); ok {
		s = w.source
	}
	if r, ok := s.(remarker); ok {
		return r.uncounted(), r.remarks()
	}
	return nil, nil
}

// TimeCounter is the time of a launch in s in profiles that are not Nsight
// Compute's: Caliper's name.
const TimeCounter = "time.duration"

// FlopCounter is the counter that gives work of a precision as it is, in flop,
// "flop.fp64": programs that count what they do write it into their profiles.
func FlopCounter(p Precision) string {
	return [...]string{"flop.fp64", "flop.fp32", "flop.fp16", "op.int", "flop.tensor.fp64", "flop.tensor.fp32", "flop.tensor.fp16",
		"flop.tensor.bf16", "flop.tensor.fp8", "op.tensor.int8"}[p]
}

// ByteCounter is the counter that gives the traffic of a level as it is, in
// byte, "byte.dram".
func ByteCounter(l Level) string {
	return [...]string{"byte.dram", "byte.l3", "byte.l2", "byte.l1", "byte.shared"}[l]
}

// plain reads counters that give a quantity as it is.
type plain struct {
	c   counters
	own Quantity // the launch's own time
}

// isPlain tells a program that counted its work or traffic itself, and nothing
// else did.
func isPlain(metrics counters) bool {
	plain := false
	for name := range metrics {
		plain = plain || strings.HasPrefix(name, "flop.") || strings.HasPrefix(name, "byte.")
	}
	return plain && !isNVIDIA(metrics) && !isAMD(metrics) && !isCPU(metrics)
}

func (s plain) time() Quantity            { return best(s.c.first(TimeCounter), s.own) }
func (s plain) flop(p Precision) Quantity { return s.c.first(FlopCounter(p)) }
func (s plain) bytes(l Level) Quantity    { return s.c.first(ByteCounter(l)) }
func (plain) peak(Precision) Quantity     { return missing("no counter gives a ceiling") }
func (plain) bandwidth(Level) Quantity    { return missing("no counter gives a ceiling") }
func (plain) busy() Quantity              { return missing("no counter gives the use of a unit") }

// withPlain asks a tool's counters first, except for bytes: where a program
// counted its own traffic at a level, it meant that.
type withPlain struct {
	source
	plain plain
}

func (s withPlain) time() Quantity            { return best(s.source.time(), s.plain.time()) }
func (s withPlain) flop(p Precision) Quantity { return best(s.source.flop(p), s.plain.flop(p)) }
func (s withPlain) bytes(l Level) Quantity {
	if q := s.plain.bytes(l); q.OK {
		return q
	}
	return s.source.bytes(l)
}

// counters reads quantities from names. Each reading tries the counters that
// different versions and sections of Nsight Compute give, best first.
type counters map[string]float64

// get is a counter's value; what is not finite or negative is none.
func (c counters) get(name string) (float64, string) {
	switch v, ok := c[name]; {
	case !ok:
		return 0, name + " not measured"
	case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
		return 0, fmt.Sprintf("%s is %g", name, v)
	default:
		return v, ""
	}
}

// sum adds counters that must all be there, each times its weight.
func (c counters) sum(weight float64, names ...string) Quantity {
	total := known(0, strings.Join(names, " + "))
	var lacking, odd []string
	for _, n := range names {
		v, no := c.get(n)
		if name, ok := strings.CutSuffix(no, notMeasured); ok {
			lacking = append(lacking, name)
		} else if no != "" {
			odd = append(odd, no)
		}
		total.Value += v
	}
	if lacking != nil {
		odd = append(odd, strings.Join(lacking, ", ")+notMeasured)
	}
	if odd != nil {
		return missing(strings.Join(odd, ", "))
	}
	return times(weight, known(total.Value, total.From))
}

const notMeasured = " not measured"

// times is a quantity times a constant.
func times(weight float64, q Quantity) Quantity {
	if !q.OK || weight == 1 {
		return q
	}
	return known(weight*q.Value, fmt.Sprintf("%g x %s", weight, factor(q.From)))
}

// factor is a formula as a part of a product or a divisor.
func factor(from string) string {
	if strings.Contains(from, " + ") || strings.Contains(from, " / ") {
		return "(" + from + ")"
	}
	return from
}

// first is the first of counters that is there.
func (c counters) first(names ...string) Quantity {
	for _, n := range names {
		// Most names are not there: no text is made for those.
		if v, ok := c[n]; ok && v >= 0 && !math.IsInf(v, 1) {
			return known(v, n)
		}
	}
	_, no := c.get(names[0])
	return missing(no)
}

// product multiplies known quantities.
func product(qs ...Quantity) Quantity {
	out := known(1, "")
	var from []string
	for _, q := range qs {
		if !q.OK {
			return q
		}
		out.Value *= q.Value
		from = append(from, factor(q.From))
	}
	return known(out.Value, strings.Join(from, " x "))
}

// best is the first known of its arguments; when none is, the first says what
// to measure.
func best(qs ...Quantity) Quantity {
	for _, q := range qs {
		if q.OK {
			return q
		}
	}
	return qs[0]
}

func plus(a, b Quantity) Quantity {
	switch {
	case a.OK && b.OK:
		return known(a.Value+b.Value, a.From+" + "+b.From)
	case !a.OK && !b.OK:
		return missing(strings.TrimSuffix(a.From, notMeasured) + ", " + b.From)
	case !a.OK:
		return a
	}
	return b
}
