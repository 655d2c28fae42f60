package llmperf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/modeling/kernelcost"
)

// Argument is what is known of one argument of a launch before it runs.
type Argument struct {
	Name string
	Kind Kind
	// Type is a scalar or vector type of OpenCL C ("float4"), of a buffer that
	// of its elements; "" of local memory and raw bytes.
	Type     string
	Values   []float64 // of a scalar, one per lane; NaN where unknown
	Elements int64     // of a buffer
	Bytes    int64     // of a buffer, of local memory, of raw bytes
	// Init says how a buffer is filled, "zero", "fill", "iota", "random" or
	// "file", and Range the numbers that describe it: the value, start and step,
	// or low and high, without a random generator's seed.
	Init   string
	Range  []float64
	Access string // "r", "w" or "rw"
	spec   string
}

// Kind is the kind of an argument.
type Kind string

// The kinds of arguments.
const (
	Buffer Kind = "buffer"
	Scalar Kind = "scalar"
	Local  Kind = "local" // local memory
	Raw    Kind = "raw"   // bytes of a struct
)

var laneBytes = map[string]int64{"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8, "half": 2, "float": 4, "double": 8}

// typeBytes is the size of a type; a vector of three lanes takes that of four
// (OpenCL C, section 6.1.5).
func typeBytes(name string) (bytes int64, ok bool) {
	base := strings.TrimRight(name, "0123456789")
	size, ok := laneBytes[base]
	if !ok {
		return 0, false
	}
	switch name[len(base):] {
	case "":
		return size, true
	case "2", "4", "8", "16":
		n, err := strconv.ParseInt(name[len(base):], 10, 64)
		return n * size, err == nil
	case "3":
		return 4 * size, true
	}
	return 0, false
}

// ParseArgument reads an argument as collectors/opencl describes it:
// [NAME=]TYPE:VALUE, [NAME=]buf:TYPE:COUNT[:INIT][:ACCESS], [NAME=]local:BYTES
// or [NAME=]raw:HEX.
func ParseArgument(spec string) (Argument, error) {
	a := Argument{spec: spec}
	rest := spec
	if name, r, ok := strings.Cut(spec, "="); ok && !strings.ContainsAny(name, ":(") {
		a.Name, rest = name, r
	}
	fail := func(format string, args ...any) (Argument, error) {
		return Argument{}, fmt.Errorf("reading the argument %q: %s; it is [NAME=]TYPE:VALUE, [NAME=]buf:TYPE:COUNT[:INIT][:ACCESS], [NAME=]local:BYTES or [NAME=]raw:HEX", spec, fmt.Sprintf(format, args...))
	}
	fields := strings.Split(rest, ":")
	if len(fields) < 2 {
		return fail("there is no value")
	}
	switch fields[0] {
	case "buf":
		if len(fields) < 3 {
			return fail("a buffer has a type and a count")
		}
		size, ok := typeBytes(fields[1])
		n, err := strconv.ParseInt(fields[2], 10, 64)
		if !ok {
			return fail("%q is no type", fields[1])
		}
		if err != nil || n < 0 || n > math.MaxInt64/size {
			return fail("%q is no count of elements", fields[2])
		}
		a.Kind, a.Type, a.Elements, a.Bytes, a.Init, a.Access = Buffer, fields[1], n, n*size, "zero", "rw"
		for _, f := range fields[3:] {
			if f == "r" || f == "w" || f == "rw" {
				a.Access = f
				continue
			}
			if err := a.init(f); err != nil {
				return fail("%v", err)
			}
		}
	case "local":
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil || n < 0 {
			return fail("%q is no number of bytes", fields[1])
		}
		a.Kind, a.Bytes = Local, n
	case "raw":
		a.Kind, a.Bytes = Raw, int64(len(fields[1])/2)
	default:
		if _, ok := typeBytes(fields[0]); !ok {
			return fail("%q is no type", fields[0])
		}
		a.Kind, a.Type = Scalar, fields[0]
		for _, lane := range strings.Split(fields[1], ",") {
			v, err := number(lane)
			if err != nil {
				return fail("%q is no number", lane)
			}
			a.Values = append(a.Values, v)
		}
	}
	return a, nil
}

// number reads integers in any of C's bases, and floating-point numbers.
func number(s string) (float64, error) {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return float64(n), nil
	}
	return strconv.ParseFloat(s, 64)
}

func (a *Argument) init(f string) error {
	name, rest, _ := strings.Cut(f, "(")
	switch name {
	case "zero", "fill", "iota", "random", "file":
	default:
		return fmt.Errorf("%q is neither how a buffer is filled (zero, fill, iota, random, file) nor an access (r, w, rw)", f)
	}
	a.Init = name
	if rest == "" || name == "file" {
		return nil
	}
	for i, p := range strings.Split(strings.TrimSuffix(rest, ")"), ",") {
		v, err := number(strings.TrimSpace(p))
		if err != nil {
			return fmt.Errorf("%q in %q is no number", p, f)
		}
		if name == "random" && i == 0 {
			continue // the seed
		}
		a.Range = append(a.Range, v)
	}
	return nil
}

// ParseArguments reads arguments that are separated by blanks, as the attribute
// args of a launch has them.
func ParseArguments(text string) ([]Argument, error) {
	var as []Argument
	for _, spec := range strings.Fields(text) {
		a, err := ParseArgument(spec)
		if err != nil {
			return nil, err
		}
		as = append(as, a)
	}
	return as, nil
}

// String is the argument as ParseArgument reads it. Where it came from there it
// is the same text, else that without a seed.
func (a Argument) String() string {
	if a.spec != "" {
		return a.spec
	}
	var b strings.Builder
	if a.Name != "" {
		b.WriteString(a.Name + "=")
	}
	switch a.Kind {
	case Buffer:
		fmt.Fprintf(&b, "buf:%s:%d", a.Type, a.Elements)
		if a.Init != "" {
			ps := numbers(a.Range)
			if a.Init == "random" {
				ps = append([]string{"0"}, ps...)
			}
			b.WriteString(":" + a.Init)
			if len(ps) > 0 {
				b.WriteString("(" + strings.Join(ps, ",") + ")")
			}
		}
		if a.Access != "" {
			b.WriteString(":" + a.Access)
		}
	case Local:
		fmt.Fprintf(&b, "local:%d", a.Bytes)
	case Raw:
		b.WriteString("raw:" + strings.Repeat("00", int(a.Bytes)))
	default:
		b.WriteString(a.Type + ":" + strings.Join(numbers(a.Values), ","))
	}
	return b.String()
}

func numbers(xs []float64) []string {
	var out []string
	for _, x := range xs {
		out = append(out, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return out
}

// fill is what a buffer holds, as far as that is one number or random ones. Without
// bounds random integers are from 0 up to 100, others from 0 to 1, as
// collectors/opencl makes them.
func (a Argument) fill() (kernelcost.Fill, bool) {
	switch {
	case a.Kind != Buffer:
	case a.Init == "zero":
		return kernelcost.Fill{}, true
	case a.Init == "fill" && len(a.Range) == 1:
		return kernelcost.Fill{Low: a.Range[0], High: a.Range[0]}, true
	case a.Init == "random" && len(a.Range) == 2:
		return kernelcost.Fill{Low: a.Range[0], High: a.Range[1]}, true
	case a.Init == "random" && (strings.HasPrefix(a.Type, "float") || strings.HasPrefix(a.Type, "double") || strings.HasPrefix(a.Type, "half")):
		return kernelcost.Fill{High: 1}, true
	case a.Init == "random":
		return kernelcost.Fill{High: 100}, true
	}
	return kernelcost.Fill{}, false
}
