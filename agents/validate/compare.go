package validate

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Format is how an output holds its values. Numbers are little-endian, one
// after the other.
type Format string

const (
	Bytes   Format = ""
	Float32 Format = "float32"
	Float64 Format = "float64"
	Int8    Format = "int8"
	Int16   Format = "int16"
	Int32   Format = "int32"
	Int64   Format = "int64"
	Uint8   Format = "uint8"
	Uint16  Format = "uint16"
	Uint32  Format = "uint32"
	Uint64  Format = "uint64"
	Text    Format = "text" // lines; by a tolerance the numbers in them are compared, and the words between
)

// sizes of a value in bytes.
var sizes = map[Format]int{Bytes: 1, Float32: 4, Float64: 8, Int8: 1, Int16: 2, Int32: 4, Int64: 8, Uint8: 1, Uint16: 2, Uint32: 4, Uint64: 8}

// Comparison is an output of the original beside that of the candidate.
type Comparison struct {
	Output    string // its path, or Stdout
	Tolerance Tolerance
	Want, Got int64 // how many values each has: numbers, bytes, or lines of a text that is compared exactly
	Different int64 // how many of those that both have differ by more than the tolerance
	First     *Difference
	// The largest errors over all pairs of finite numbers, also of those within
	// the tolerance; 0 where there are none. MaxRel leaves out wants of 0. MaxULP is
	// for floating point numbers.
	MaxAbs, MaxRel float64
	MaxULP         uint64
	Missing        bool // the candidate left no such file
}

// Difference is a value that differs.
type Difference struct {
	Index     int64  // 0 is the first
	Line      int64  // of a text, in the original's output, 1 is the first; else 0
	Want, Got string // as text; "" is the end of the output
	// Error is |got - want|; NaN where they are no finite numbers.
	Error float64
}

// OK reports whether the outputs are the same.
func (c Comparison) OK() bool { return !c.Missing && c.Different == 0 && c.Want == c.Got }

// String says in a line how the outputs differ, or by how much they do not.
func (c Comparison) String() string {
	switch {
	case c.Missing:
		return fmt.Sprintf("%s is missing", c.Output)
	case c.OK() && c.Tolerance.Rule == Exact:
		return fmt.Sprintf("%s is the same bit for bit, %d values", c.Output, c.Want)
	case c.OK():
		return fmt.Sprintf("%s is the same by %v, %d values, largest errors %.3g absolute, %.3g relative, %d ULP", c.Output, c.Tolerance, c.Want, c.MaxAbs, c.MaxRel, c.MaxULP)
	}
	s := fmt.Sprintf("%s differs (%v)", c.Output, c.Tolerance)
	if c.Want != c.Got {
		s += fmt.Sprintf(": it has %d values instead of %d", c.Got, c.Want)
	}
	if c.Different > 0 {
		s += fmt.Sprintf(": %d of %d values", c.Different, min(c.Want, c.Got))
	}
	if d := c.First; d != nil {
		s += fmt.Sprintf(", the first at index %d", d.Index)
		if d.Line > 0 {
			s += fmt.Sprintf(" (line %d)", d.Line)
		}
		s += fmt.Sprintf(": %s instead of %s", orEnd(d.Got), orEnd(d.Want))
		if !math.IsNaN(d.Error) {
			s += fmt.Sprintf(", off by %.6g", d.Error)
		}
	}
	return s
}

func orEnd(s string) string {
	if s == "" {
		return "the end"
	}
	return s
}

// Compare compares what the original wrote with what the candidate wrote. An
// error says that want is no output of this format, or that reading failed.
func Compare(o Output, want, got io.Reader) (Comparison, error) {
	if err := o.check(); err != nil {
		return Comparison{}, err
	}
	c := Comparison{Output: o.Path, Tolerance: o.Tolerance}
	w, g := bufio.NewReaderSize(want, 1<<16), bufio.NewReaderSize(got, 1<<16)
	var err error
	if o.Format == Text {
		err = c.text(o, w, g)
	} else {
		err = c.values(o.Format, w, g)
	}
	if err != nil {
		return c, fmt.Errorf("comparing %s: %w", o.Path, err)
	}
	return c, nil
}

// values compares numbers or bytes, a block at a time: most blocks of outputs
// that are the same are the same bytes.
func (c *Comparison) values(f Format, want, got io.Reader) error {
	size := sizes[f]
	w, g := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		nw, err := full(want, w)
		if err != nil {
			return fmt.Errorf("reading what the original wrote: %w", err)
		}
		ng, err := full(got, g)
		if err != nil {
			return fmt.Errorf("reading what the candidate wrote: %w", err)
		}
		if nw%size != 0 {
			return fmt.Errorf("the original wrote %d bytes, which are no %s values of %d bytes", c.Want*int64(size)+int64(nw), f, size)
		}
		vw, vg := nw/size, ng/size
		both := min(vw, vg)
		if !bytes.Equal(w[:both*size], g[:both*size]) {
			for i := range both {
				c.pair(c.Want+int64(i), f, w[i*size:(i+1)*size], g[i*size:(i+1)*size])
			}
		}
		if vw != vg || ng%size != 0 {
			d := &Difference{Index: c.Want + int64(both), Error: math.NaN()}
			if vw > both {
				d.Want = show(f, w[both*size:(both+1)*size])
			}
			if vg > both {
				d.Got = show(f, g[both*size:(both+1)*size])
			} else if rest := ng % size; rest != 0 && vg == both {
				d.Got = fmt.Sprintf("%d bytes of a value", rest)
				if vw == vg { // else the numbers of values tell
					c.Different++
				}
			}
			c.first(d)
		}
		c.Want, c.Got = c.Want+int64(vw), c.Got+int64(vg)
		if nw < len(w) && ng < len(g) {
			return nil
		}
	}
}

// full reads as much as there is, up to the length of b.
func full(r io.Reader, b []byte) (int, error) {
	n, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

func (c *Comparison) first(d *Difference) {
	if c.First == nil {
		c.First = d
	}
}

// pair compares one value, whose bytes are w and g.
func (c *Comparison) pair(index int64, f Format, w, g []byte) {
	if bytes.Equal(w, g) {
		return
	}
	same, err := false, math.NaN()
	switch f {
	case Bytes:
	case Float32, Float64:
		a, b := float(f, w), float(f, g)
		bits := 8 * sizes[f]
		same = c.Tolerance.Rule != Exact && c.Tolerance.same(a, b, bits)
		err = c.note(a, b, bits)
	default:
		d := distance(f, w, g)
		a := whole(f, w)
		same = c.Tolerance.whole(a, d)
		err = float64(d)
		c.MaxAbs = max(c.MaxAbs, err)
		if a != 0 {
			c.MaxRel = max(c.MaxRel, err/math.Abs(a))
		}
	}
	if !same {
		c.Different++
		c.first(&Difference{Index: index, Want: show(f, w), Got: show(f, g), Error: err})
	}
}

// whole is the rule for whole numbers, whose distance is exact.
func (t Tolerance) whole(want float64, distance uint64) bool {
	d := float64(distance)
	switch t.Rule {
	case Absolute:
		return d <= t.Abs
	case Relative:
		return d <= t.Rel*math.Abs(want)
	case Scaled:
		return d <= t.Abs+t.Rel*math.Abs(want)
	case ULP:
		return distance <= t.ULP
	}
	return distance == 0
}

// note keeps the largest errors and answers with |b - a|.
func (c *Comparison) note(a, b float64, bits int) float64 {
	d := math.Abs(b - a)
	if math.IsNaN(d) || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return math.NaN()
	}
	c.MaxAbs = max(c.MaxAbs, d)
	if a != 0 {
		c.MaxRel = max(c.MaxRel, d/math.Abs(a))
	}
	c.MaxULP = max(c.MaxULP, ulps(a, b, bits))
	return d
}

func float(f Format, b []byte) float64 {
	if f == Float32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// unsigned reads the bits of a whole number.
func unsigned(b []byte) uint64 {
	var u uint64
	for i, v := range b {
		u |= uint64(v) << (8 * i)
	}
	return u
}

// signed reads one that may be below 0.
func signed(b []byte) int64 {
	shift := 64 - 8*len(b)
	return int64(unsigned(b)<<shift) >> shift
}

func isSigned(f Format) bool { return f == Int8 || f == Int16 || f == Int32 || f == Int64 }

func whole(f Format, b []byte) float64 {
	if isSigned(f) {
		return float64(signed(b))
	}
	return float64(unsigned(b))
}

func distance(f Format, a, b []byte) uint64 {
	if isSigned(f) {
		x, y := signed(a), signed(b)
		return uint64(max(x, y)) - uint64(min(x, y))
	}
	x, y := unsigned(a), unsigned(b)
	return max(x, y) - min(x, y)
}

// show writes a value so that another one is written in another way.
func show(f Format, b []byte) string {
	switch f {
	case Bytes:
		return fmt.Sprintf("0x%02x", b[0])
	case Float32, Float64:
		v := float(f, b)
		if math.IsNaN(v) {
			return fmt.Sprintf("NaN (%#x)", unsigned(b))
		}
		return strconv.FormatFloat(v, 'g', -1, 8*sizes[f])
	}
	if isSigned(f) {
		return strconv.FormatInt(signed(b), 10)
	}
	return strconv.FormatUint(unsigned(b), 10)
}
