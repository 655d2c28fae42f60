package target

import "math"

// Format is how an output is read to compare it.
type Format string

// Formats.
const (
	FormatBytes   Format = "bytes" // bit for bit
	FormatText    Format = "text"  // numbers in it are compared as numbers, all else as it stands
	FormatFloat32 Format = "float32"
	FormatFloat64 Format = "float64" // both little-endian
)

// Formats lists them all.
func Formats() []Format { return []Format{FormatBytes, FormatText, FormatFloat32, FormatFloat64} }

// Output is something that a run puts out and that must be as the reference's.
type Output struct {
	Stdout    bool       `toml:"stdout"`
	File      string     `toml:"file"`
	Format    Format     `toml:"format"`    // FormatBytes where it is not said
	Tolerance *Tolerance `toml:"tolerance"` // nil: bit for bit
}

// Name is the file, or "standard output".
func (o Output) Name() string {
	if o.Stdout {
		return "standard output"
	}
	return o.File
}

// Tolerance is how far a number may be from the reference's. Relative and
// Absolute may stand together, the others stand alone. What is nil is not said.
//
//	relative, absolute   |got - want| <= absolute + relative |want|   (numpy.isclose)
//	scaled               |got - want| <= scaled max |want|, the maximum over the output
//	ulp                  at most so many floating-point numbers lie from one to the other
//
// The scaled form is the normwise relative error (Higham, Accuracy and
// Stability of Numerical Algorithms, 2nd edition, section 6.2), in the maximum norm.
type Tolerance struct {
	Relative *float64 `toml:"relative"`
	Absolute *float64 `toml:"absolute"`
	Scaled   *float64 `toml:"scaled"`
	ULP      *int64   `toml:"ulp"`
}

// Accepts says that a number is near enough to the reference's. Scale is the
// largest finite |want| of the output. NaN is accepted for NaN, an infinity for
// the same infinity; without a tolerance only the same bits are.
func (o Output) Accepts(want, got, scale float64) bool {
	t := o.Tolerance
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		return math.IsNaN(want) && math.IsNaN(got) && (t != nil || math.Float64bits(want) == math.Float64bits(got))
	case t == nil:
		return math.Float64bits(want) == math.Float64bits(got)
	case math.IsInf(want, 0) || math.IsInf(got, 0):
		return want == got
	case t.ULP != nil:
		n, exact := ULPs(want, got), uint64(*t.ULP)
		if o.Format == FormatFloat32 {
			n = ULPs32(float32(want), float32(got))
		}
		return n <= exact
	case t.Scaled != nil:
		return math.Abs(got-want) <= *t.Scaled*scale
	}
	limit := 0.0
	if t.Absolute != nil {
		limit += *t.Absolute
	}
	if t.Relative != nil {
		limit += *t.Relative * math.Abs(want)
	}
	return math.Abs(got-want) <= limit
}

// ULPs is how many steps from one float64 to the next lead from a to b; -0 and
// 0 are the same. Neither may be NaN.
func ULPs(a, b float64) uint64 { return steps(order64(a), order64(b)) }

// ULPs32 is the same for float32.
func ULPs32(a, b float32) uint64 { return steps(order32(a), order32(b)) }

func steps(a, b int64) uint64 {
	if a < b {
		a, b = b, a
	}
	return uint64(a) - uint64(b)
}

// order64 numbers all float64 in their order, 0 for both zeros.
func order64(v float64) int64 {
	if i := int64(math.Float64bits(v)); i >= 0 {
		return i
	}
	return -int64(math.Float64bits(v) &^ (1 << 63))
}

func order32(v float32) int64 {
	i := int64(math.Float32bits(v))
	if i < 1<<31 {
		return i
	}
	return -(i - 1<<31)
}
