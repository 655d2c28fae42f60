package opencl

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

// argument is one argument of a kernel, parsed.
type argument struct {
	Name   string
	Spec   string // as written
	Kind   string // "buf", "local", "raw", or "" for a scalar
	Type   element
	Count  uint64 // of a buffer, in elements; of local memory, in bytes
	Init   string // "zero", "fill", "iota", "random" or "file"
	Params []string
	Access string // "r", "w" or "rw"
	Value  []byte // of a scalar or of raw
}

// element is a scalar or vector type of OpenCL C.
type element struct {
	Name  string // "float4"
	Base  string // "float"
	Lanes int    // 4
	Slots int    // how many lanes it takes in memory: 4 for a vector of 3
	Size  int    // bytes of one lane
}

var laneSizes = map[string]int{"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8, "half": 2, "float": 4, "double": 8}

func parseElement(s string) (element, error) {
	base := strings.TrimRight(s, "0123456789")
	e := element{Name: s, Base: base, Lanes: 1, Slots: 1, Size: laneSizes[base]}
	if e.Size == 0 {
		return e, fmt.Errorf("%q is no type: it is char, short, int or long (or with u), half, float or double, and 2, 3, 4, 8 or 16 for a vector", s)
	}
	switch s[len(base):] {
	case "":
	case "2", "3", "4", "8", "16":
		e.Lanes, _ = strconv.Atoi(s[len(base):])
		e.Slots = e.Lanes
		if e.Lanes == 3 {
			e.Slots = 4
		}
	default:
		return e, fmt.Errorf("%q is no type: a vector has 2, 3, 4, 8 or 16 lanes", s)
	}
	return e, nil
}

func (e element) bytes() uint64 { return uint64(e.Slots * e.Size) }
func (e element) float() bool   { return e.Base == "half" || e.Base == "float" || e.Base == "double" }

// put writes a number as one lane.
func (e element) put(b []byte, v float64) {
	switch e.Base {
	case "float":
		binary.NativeEndian.PutUint32(b, math.Float32bits(float32(v)))
	case "double":
		binary.NativeEndian.PutUint64(b, math.Float64bits(v))
	case "half":
		binary.NativeEndian.PutUint16(b, halfBits(float32(v)))
	default:
		e.putInt(b, int64(v))
	}
}

func (e element) putInt(b []byte, v int64) {
	switch e.Size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(v))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(v))
	case 8:
		binary.NativeEndian.PutUint64(b, uint64(v))
	}
}

// get reads one lane as a number.
func (e element) get(b []byte) float64 {
	switch e.Base {
	case "float":
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	case "double":
		return math.Float64frombits(binary.NativeEndian.Uint64(b))
	case "half":
		return halfValue(binary.NativeEndian.Uint16(b))
	case "char":
		return float64(int8(b[0]))
	case "uchar":
		return float64(b[0])
	case "short":
		return float64(int16(binary.NativeEndian.Uint16(b)))
	case "ushort":
		return float64(binary.NativeEndian.Uint16(b))
	case "int":
		return float64(int32(binary.NativeEndian.Uint32(b)))
	case "uint":
		return float64(binary.NativeEndian.Uint32(b))
	case "long":
		return float64(int64(binary.NativeEndian.Uint64(b)))
	}
	return float64(binary.NativeEndian.Uint64(b))
}

// parse reads a value as one lane, exactly for integers of 64 bits.
func (e element) parse(b []byte, s string) error {
	if e.float() {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", s)
		}
		e.put(b, v)
		return nil
	}
	bits := e.Size * 8
	if strings.HasPrefix(e.Base, "u") {
		v, err := strconv.ParseUint(s, 0, bits)
		if err != nil {
			return fmt.Errorf("%q is no %s", s, e.Base)
		}
		e.putInt(b, int64(v))
		return nil
	}
	v, err := strconv.ParseInt(s, 0, bits)
	if err != nil {
		return fmt.Errorf("%q is no %s", s, e.Base)
	}
	e.putInt(b, v)
	return nil
}

// halfBits rounds to the nearest half, ties to even.
func halfBits(f float32) uint16 {
	b := math.Float32bits(f)
	sign, exp, man := uint16(b>>16&0x8000), int(b>>23&0xff)-127, b&0x7fffff
	switch {
	case exp == 128 && man != 0:
		return sign | 0x7e00
	case exp > 15:
		return sign | 0x7c00
	case exp < -25:
		return sign
	}
	shift := uint32(13)
	if exp < -14 { // subnormal: the leading one becomes explicit
		man |= 0x800000
		shift += uint32(-14 - exp)
		exp = -15
	}
	half := man >> shift
	if rest, tie := man&(1<<shift-1), uint32(1)<<(shift-1); rest > tie || rest == tie && half&1 == 1 {
		half++ // a carry into the exponent is what rounding up means
	}
	return sign | uint16(uint32(exp+15)<<10+half)
}

func halfValue(h uint16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	exp, man := int(h>>10&0x1f), float64(h&0x3ff)
	switch exp {
	case 0:
		return sign * math.Ldexp(man, -24)
	case 31:
		if man != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+man, exp-25)
}

// parseArgument reads [NAME=]SPEC, as the package's comment describes it.
func parseArgument(s string) (argument, error) {
	a := argument{Spec: s, Access: "rw", Init: "zero"}
	spec := s
	if name, rest, ok := strings.Cut(s, "="); ok && !strings.ContainsAny(name, ":(") {
		a.Name, spec, a.Spec = name, rest, rest
	}
	parts := strings.Split(spec, ":")
	bad := func(format string, args ...any) (argument, error) {
		return a, fmt.Errorf("argument %q: %s", s, fmt.Sprintf(format, args...))
	}
	if len(parts) < 2 {
		return bad("expected TYPE:VALUE, buf:TYPE:COUNT, local:BYTES or raw:HEX")
	}
	switch a.Kind = parts[0]; a.Kind {
	case "local":
		n, err := strconv.ParseUint(parts[1], 10, 40)
		if err != nil || n == 0 || len(parts) > 2 {
			return bad("expected local:BYTES with a number of bytes above 0")
		}
		a.Count, a.Access = n, ""
		return a, nil
	case "raw":
		b, err := hex.DecodeString(parts[1])
		if err != nil || len(b) == 0 || len(parts) > 2 {
			return bad("expected raw:HEX with two hexadecimal digits for each byte")
		}
		a.Value, a.Access = b, ""
		return a, nil
	case "buf":
		if err := a.buffer(parts[1:]); err != nil {
			return bad("%v", err)
		}
		return a, nil
	case "image", "image2d", "image3d", "sampler":
		return bad("images and samplers are not supported: use a buffer")
	}
	t, err := parseElement(a.Kind)
	if err != nil {
		return bad("%v", err)
	}
	a.Kind, a.Type, a.Access = "", t, ""
	values := strings.Split(strings.Join(parts[1:], ":"), ",")
	if len(values) != t.Lanes {
		return bad("%s has %d values, found %d", t.Name, t.Lanes, len(values))
	}
	a.Value = make([]byte, t.bytes())
	for i, v := range values {
		if err := t.parse(a.Value[i*t.Size:], strings.TrimSpace(v)); err != nil {
			return bad("%v", err)
		}
	}
	return a, nil
}

// buffer reads TYPE:COUNT[:INIT][:ACCESS].
func (a *argument) buffer(parts []string) error {
	if len(parts) < 2 {
		return errors.New("expected buf:TYPE:COUNT")
	}
	var err error
	if a.Type, err = parseElement(parts[0]); err != nil {
		return err
	}
	if a.Count, err = strconv.ParseUint(parts[1], 10, 40); err != nil || a.Count == 0 {
		return fmt.Errorf("%q is no number of elements", parts[1])
	}
	rest := strings.Join(parts[2:], ":") // a path may hold colons
	for _, access := range []string{"rw", "r", "w"} {
		if rest == access {
			a.Access, rest = access, ""
		} else if cut, ok := strings.CutSuffix(rest, ":"+access); ok {
			a.Access, rest = access, cut
			break
		}
	}
	if rest == "" {
		return nil
	}
	name, params, _ := strings.Cut(rest, "(")
	if params != "" {
		if !strings.HasSuffix(params, ")") {
			return fmt.Errorf("%q lacks its closing parenthesis", rest)
		}
		params = strings.TrimSuffix(params, ")")
		a.Params = strings.Split(params, ",")
		for i := range a.Params {
			a.Params[i] = strings.TrimSpace(a.Params[i])
		}
	}
	a.Init = name
	want := map[string][2]int{"zero": {0, 0}, "fill": {1, 1}, "iota": {2, 2}, "random": {1, 3}, "file": {1, 1}}
	n, known := want[name]
	if !known {
		return fmt.Errorf("%q is no way to fill a buffer: there are zero, fill(V), iota(START,STEP), random(SEED[,LOW,HIGH]) and file(PATH)", rest)
	}
	if len(a.Params) < n[0] || len(a.Params) > n[1] || name == "random" && len(a.Params) == 2 {
		return fmt.Errorf("%q has %d parameters in its parentheses", rest, len(a.Params))
	}
	return a.fill(make([]byte, a.Type.bytes()), false)
}

// fill writes the first content of a buffer; files says that files are read.
func (a *argument) fill(b []byte, files bool) error {
	e := a.Type
	lanes := len(b) / e.Size
	switch a.Init {
	case "zero":
		clear(b)
	case "fill":
		one := make([]byte, e.Size)
		if err := e.parse(one, a.Params[0]); err != nil {
			return err
		}
		for i := range lanes {
			copy(b[i*e.Size:], one)
		}
	case "iota":
		start, err1 := strconv.ParseFloat(a.Params[0], 64)
		step, err2 := strconv.ParseFloat(a.Params[1], 64)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("iota(%s) needs two numbers", strings.Join(a.Params, ","))
		}
		for i := range lanes {
			e.put(b[i*e.Size:], start+float64(i)*step)
		}
	case "random":
		seed, err := strconv.ParseUint(a.Params[0], 10, 64)
		low, high := 0.0, 1.0
		if !e.float() {
			high = 100
		}
		if err == nil && len(a.Params) == 3 {
			var err2 error
			low, err = strconv.ParseFloat(a.Params[1], 64)
			high, err2 = strconv.ParseFloat(a.Params[2], 64)
			err = errors.Join(err, err2)
		}
		if err != nil || !(high > low) {
			return fmt.Errorf("random(%s) needs a seed, and a lower and an upper bound or none", strings.Join(a.Params, ","))
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		for i := range lanes {
			v := low + (high-low)*rng.Float64()
			if !e.float() {
				v = math.Floor(v)
			}
			e.put(b[i*e.Size:], v)
		}
	case "file":
		if !files {
			return nil
		}
		f, err := os.Open(a.Params[0])
		if err != nil {
			return err
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			return err
		}
		if st.Size() != int64(len(b)) {
			return fmt.Errorf("%s has %d bytes, the buffer %d", a.Params[0], st.Size(), len(b))
		}
		for n := 0; n < len(b); {
			k, err := f.Read(b[n:])
			if n += k; err != nil {
				return err
			}
		}
	}
	return nil
}
