package validate

import (
	"fmt"
	"math"
)

// Rule says when two numbers are the same.
type Rule string

const (
	// Exact: bit for bit. -0 differs from 0, and a NaN from one with other bits.
	Exact Rule = ""
	// Absolute: |got - want| <= Abs.
	Absolute Rule = "absolute"
	// Relative: |got - want| <= Rel |want|.
	Relative Rule = "relative"
	// Scaled: |got - want| <= Abs + Rel |want|, as numpy.allclose has it.
	Scaled Rule = "scaled"
	// ULP: at most ULP floating point numbers of the format lie from one to the
	// other, the other included. Of numbers in a text, which have no format, the
	// format is float64.
	ULP Rule = "ulp"
)

// Tolerance is a Rule with its bounds. By all rules but Exact, NaN is the same
// as NaN, an infinity the same as that of the same sign and nothing else, and
// -0 the same as 0.
type Tolerance struct {
	Rule     Rule
	Abs, Rel float64
	ULP      uint64
}

func (t Tolerance) check() error {
	bad := func(v float64) bool { return !(v >= 0) || math.IsInf(v, 0) }
	switch t.Rule {
	case Exact, ULP:
		return nil
	case Absolute, Relative, Scaled:
		if bad(t.Abs) || bad(t.Rel) {
			return fmt.Errorf("the bounds of the tolerance (absolute %g, relative %g) are finite and not below 0", t.Abs, t.Rel)
		}
		return nil
	}
	return fmt.Errorf("there is no tolerance %q: it is %q (bit for bit), %q, %q, %q or %q", t.Rule, Exact, Absolute, Relative, Scaled, ULP)
}

func (t Tolerance) String() string {
	switch t.Rule {
	case Absolute:
		return fmt.Sprintf("|got - want| <= %g", t.Abs)
	case Relative:
		return fmt.Sprintf("|got - want| <= %g |want|", t.Rel)
	case Scaled:
		return fmt.Sprintf("|got - want| <= %g + %g |want|", t.Abs, t.Rel)
	case ULP:
		return fmt.Sprintf("at most %d ULP", t.ULP)
	}
	return "bit for bit"
}

// same compares numbers of so many bits (32 or 64); exact ones are compared
// before.
func (t Tolerance) same(want, got float64, bits int) bool {
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		return math.IsNaN(want) && math.IsNaN(got)
	case math.IsInf(want, 0) || math.IsInf(got, 0):
		return want == got
	}
	d := math.Abs(got - want)
	switch t.Rule {
	case Absolute:
		return d <= t.Abs
	case Relative:
		return d <= t.Rel*math.Abs(want)
	case Scaled:
		return d <= t.Abs+t.Rel*math.Abs(want)
	case ULP:
		return ulps(want, got, bits) <= t.ULP
	}
	return math.Float64bits(want) == math.Float64bits(got)
}

// ulps is how many floating point numbers lie from a to b, both finite, b
// included. Their bits, without the sign, are in their order; so are numbers of
// both signs when those below 0 count down from it.
func ulps(a, b float64, bits int) uint64 {
	place := func(v float64) int64 {
		if bits == 32 {
			u := int64(math.Float32bits(float32(v)))
			if u&(1<<31) != 0 {
				return -(u &^ (1 << 31))
			}
			return u
		}
		u := math.Float64bits(v)
		if u&(1<<63) != 0 {
			return -int64(u &^ (1 << 63))
		}
		return int64(u)
	}
	// The distance is at most twice the largest int64, which fits an uint64.
	x, y := place(a), place(b)
	if x < y {
		x, y = y, x
	}
	return uint64(x) - uint64(y)
}
