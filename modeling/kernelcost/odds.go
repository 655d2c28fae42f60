package kernelcost

import (
	"math"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// Fill is what a buffer holds when the launch begins: numbers spread evenly from
// Low up to High; all the same where those are equal.
type Fill struct{ Low, High float64 }

// odds are the share of loaded numbers for which a comparison with a number
// holds, by what the buffer that they come from is filled with.
func (r *run) odds(s *state, cond csource.Expr) (p float64, ok bool) {
	e, isBinary := cond.(*csource.Binary)
	if !isBinary || !isComparison(e.Op) {
		return 0, false
	}
	a, b, op := r.silent(s, e.X), number(s, r, e.Y), e.Op
	if a.fill == nil {
		a, b, op = r.silent(s, e.Y), number(s, r, e.X), mirrored[op]
	}
	if a.fill == nil || math.IsNaN(b) {
		return 0, false
	}
	return a.fill.share(op, b, a.isInt()), true
}

// number is the value of an expression that is one number for all, else NaN.
func number(s *state, r *run, e csource.Expr) float64 {
	if f, ok := e.(*csource.FloatLit); ok {
		return f.Value
	}
	switch v := r.silent(s, e); {
	case v.has:
		return v.number
	case v.k == uniform && v.isInt() && v.obj == nil:
		return float64(v.u)
	}
	return math.NaN()
}

// share is the part of the numbers x with x op b; of integers those from Low up to
// High-1, each as often.
func (f *Fill) share(op string, b float64, integer bool) float64 {
	if f.Low >= f.High {
		x := f.Low
		if map[string]bool{"<": x < b, "<=": x <= b, ">": x > b, ">=": x >= b, "==": x == b, "!=": x != b}[op] {
			return 1
		}
		return 0
	}
	below := func(b float64) float64 { return min(max((b-f.Low)/(f.High-f.Low), 0), 1) }
	less, equal := below(b), 0.0
	if integer {
		less = below(math.Ceil(b))
		equal = below(math.Floor(b)+1) - less
		equal = max(equal, 0)
	}
	switch op {
	case "<":
		return less
	case "<=":
		return less + equal
	case ">":
		return 1 - less - equal
	case ">=":
		return 1 - less
	case "==":
		return equal
	}
	return 1 - equal
}
