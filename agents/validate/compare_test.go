package validate_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"testing/quick"

	"github.com/rooflab/rooflab/agents/validate"
)

// raw writes values little-endian.
func raw(t *testing.T, values any) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func compare(t *testing.T, o validate.Output, want, got *bytes.Reader) validate.Comparison {
	t.Helper()
	o.Path = "x"
	c, err := validate.Compare(o, want, got)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRulesOfTolerance(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	negative := math.Copysign(0, -1)
	rel := func(r float64) validate.Tolerance { return validate.Tolerance{Rule: validate.Relative, Rel: r} }
	abs := func(a float64) validate.Tolerance { return validate.Tolerance{Rule: validate.Absolute, Abs: a} }
	scaled := func(a, r float64) validate.Tolerance {
		return validate.Tolerance{Rule: validate.Scaled, Abs: a, Rel: r}
	}
	ulp := func(n uint64) validate.Tolerance { return validate.Tolerance{Rule: validate.ULP, ULP: n} }
	exact := validate.Tolerance{}
	for _, c := range []struct {
		name      string
		tol       validate.Tolerance
		want, got float64
		same      bool
	}{
		{"exact", exact, 1, 1, true},
		{"exact, next", exact, 1, math.Nextafter(1, 2), false},
		{"exact, zeros", exact, 0, negative, false},
		{"exact, NaN", exact, nan, nan, true},
		{"absolute, at the bound", abs(0.5), 1, 1.5, true},
		{"absolute, above", abs(0.5), 1, 1.5625, false},
		{"relative, at the bound", rel(0.25), 4, 5, true},
		{"relative, above", rel(0.25), 4, 5.0625, false},
		{"relative is of want", rel(0.25), 5, 4, true}, // 1 <= 1.25; of got it would be 1 <= 1
		{"relative, of 0", rel(0.25), 0, 1e-300, false},
		{"scaled, of 0", scaled(1e-8, 1e-5), 0, 1e-8, true},
		{"scaled, both", scaled(1, 0.5), 2, 4, true}, // 2 <= 1 + 1
		{"scaled, above", scaled(1, 0.5), 2, 4.5, false},
		{"NaN and NaN", rel(0), nan, nan, true},
		{"NaN and number", abs(1e300), nan, 1, false},
		{"number and NaN", abs(1e300), 1, nan, false},
		{"infinities", scaled(0, 0), inf, inf, true},
		{"of both signs", abs(1e308), inf, -inf, false},
		{"infinity and number", rel(1e300), inf, 1e308, false},
		{"number and infinity", rel(1e300), 1e308, inf, false},
		{"overflow of the distance", abs(1e308), -1.5e308, 1.5e308, false},
		{"zeros", abs(0), 0, negative, true},
		{"ULP 1", ulp(1), 1, math.Nextafter(1, 2), true},
		{"ULP 2 of 1", ulp(1), 1, math.Nextafter(math.Nextafter(1, 2), 2), false},
		{"ULP over 0", ulp(2), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, true},
		{"ULP over 0, 2 of 1", ulp(1), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, false},
		{"ULP, as far as it goes", ulp(math.MaxInt64), -math.MaxFloat64, math.MaxFloat64, false},
		{"ULP, NaN", ulp(5), nan, 1, false},
	} {
		o := validate.Output{Format: validate.Float64, Tolerance: c.tol}
		if got := compare(t, o, raw(t, c.want), raw(t, c.got)); got.OK() != c.same {
			t.Errorf("%s: want %g, got %g: %v", c.name, c.want, c.got, got)
		}
	}
	// A NaN with other bits is another one bit for bit.
	other := math.Float64frombits(math.Float64bits(nan) ^ 4)
	if compare(t, validate.Output{Format: validate.Float64}, raw(t, nan), raw(t, other)).OK() {
		t.Error("exact: NaN with other bits")
	}
	// 1 and the next float32 are 2^-23 apart: one ULP of theirs, 2^29 of float64's.
	f := validate.Output{Format: validate.Float32, Tolerance: ulp(1)}
	if c := compare(t, f, raw(t, float32(1)), raw(t, float32(1+0x1p-23))); !c.OK() || c.MaxULP != 1 || c.MaxAbs != 0x1p-23 {
		t.Errorf("float32: %+v", c)
	}
}

func TestTheFirstDifferenceAndTheLargestErrorsAreTold(t *testing.T) {
	want, got := make([]float64, 100_000), make([]float64, 100_000) // several blocks
	for i := range want {
		want[i], got[i] = 2, 2
	}
	got[50_000], got[99_999], got[3] = 2.5, 4, 2.0000001
	o := validate.Output{Format: validate.Float64, Tolerance: validate.Tolerance{Rule: validate.Absolute, Abs: 1e-3}}
	c := compare(t, o, raw(t, want), raw(t, got))
	if c.Different != 2 || c.Want != 100_000 || c.Got != 100_000 || c.MaxAbs != 2 || c.MaxRel != 1 {
		t.Errorf("%+v", c)
	}
	if text := "x differs (|got - want| <= 0.001): 2 of 100000 values, the first at index 50000: 2.5 instead of 2, off by 0.5"; c.String() != text {
		t.Errorf("%q", c)
	}
}

func TestLengthsAreCompared(t *testing.T) {
	f := validate.Output{Format: validate.Float32}
	whole := []float32{1, 2, 3}
	c := compare(t, f, raw(t, whole), raw(t, whole[:2]))
	if c.OK() || c.Got != 2 || c.First.Index != 2 || c.First.Want != "3" || c.First.Got != "" {
		t.Errorf("shorter: %v", c)
	}
	if c := compare(t, f, raw(t, whole), raw(t, []byte{})); c.OK() || c.Got != 0 {
		t.Errorf("empty: %v", c)
	}
	c = compare(t, f, raw(t, whole[:1]), raw(t, []byte{0, 0, 0x80, 0x3f, 9}))
	if c.OK() || c.First.Got != "1 bytes of a value" {
		t.Errorf("part of a value more: %v", c)
	}
	if _, err := validate.Compare(validate.Output{Path: "x", Format: validate.Float32}, raw(t, []byte{1, 2, 3}), raw(t, whole)); err == nil {
		t.Error("3 bytes pass for float32")
	}
}

func TestWholeNumbersAreComparedExactly(t *testing.T) {
	one := validate.Tolerance{Rule: validate.Absolute, Abs: 1}
	for _, c := range []struct {
		format    validate.Format
		tol       validate.Tolerance
		want, got any
		same      bool
		text      string
	}{
		{validate.Int32, validate.Tolerance{}, int32(-5), int32(-4), false, "-4 instead of -5, off by 1"},
		{validate.Int32, one, int32(-1), int32(0), true, ""},
		{validate.Int8, one, int8(-128), int8(127), false, "127 instead of -128, off by 255"},
		{validate.Uint8, one, uint8(0), uint8(255), false, "off by 255"},
		// float64 cannot tell these two apart.
		{validate.Int64, validate.Tolerance{}, int64(1<<53 + 1), int64(1 << 53), false, "9007199254740992 instead of 9007199254740993"},
		{validate.Int64, one, int64(math.MinInt64), int64(math.MaxInt64), false, "off by 1.84467e+19"},
		{validate.Uint64, one, uint64(math.MaxUint64), uint64(math.MaxUint64 - 1), true, ""},
		{validate.Uint16, validate.Tolerance{Rule: validate.Relative, Rel: 0.1}, uint16(100), uint16(110), true, ""},
		{validate.Bytes, validate.Tolerance{}, []byte("abc"), []byte("abd"), false, "index 2: 0x64 instead of 0x63"},
	} {
		got := compare(t, validate.Output{Format: c.format, Tolerance: c.tol}, raw(t, c.want), raw(t, c.got))
		if got.OK() != c.same || !strings.Contains(got.String(), c.text) {
			t.Errorf("%s: %v, want %q", c.format, got, c.text)
		}
	}
}

func TestTextsAreComparedByTheirNumbers(t *testing.T) {
	near := validate.Tolerance{Rule: validate.Relative, Rel: 0.01}
	for _, c := range []struct {
		name      string
		tol       validate.Tolerance
		ignore    []string
		want, got string
		text      string // of the difference; "" is none
	}{
		{"exactly", validate.Tolerance{}, nil, "a 1\nb 2\n", "a 1\nb 2.0\n", "1 of 2 values, the first at index 1 (line 2): \"b 2.0\" instead of \"b 2\""},
		{"near", near, nil, "e = 100.0 J\n", "e = 100.5 J\n", ""},
		{"spaces", near, nil, "e =  1\n", "e = 1 \n", ""},
		{"far", near, nil, "x 1 2\ny 3 400\n", "x 1 2\ny 3 500\n", "1 of 4 values, the first at index 3 (line 2): 500 instead of 400, off by 100"},
		{"other words", near, nil, "sum 1\n", "total 1\n", "\"total 1\" instead of \"sum 1\""},
		{"names with digits", near, nil, "k1000 1\n", "k1001 1\n", "\"k1001 1\" instead"},
		{"Fortran", near, nil, "0.1D+03\n", "1.0e2\n", ""},
		{"not a number", near, nil, "r nan\n", "r 1\n", "1 instead of nan"},
		{"both not", near, nil, "r -nan\n", "r NaN\n", ""},
		{"infinite", near, nil, "r inf\n", "r -inf\n", "-inf instead of inf"},
		{"fewer numbers", near, nil, "1 2 3\n", "1 2\n", "\"1 2\" instead of \"1 2 3\""},
		{"fewer lines", near, nil, "1\n2\n", "1\n", "1 values instead of 2"},
		{"more lines", near, nil, "1\n", "1\n\n", "2 values instead of 1"},
		{"ignored", near, []string{"^time"}, "time 1 s\n2\n", "2\n", ""},
		{"no last newline", near, nil, "2\n", "2", ""},
	} {
		o := validate.Output{Format: validate.Text, Tolerance: c.tol, Ignore: c.ignore}
		got := compare(t, o, bytes.NewReader([]byte(c.want)), bytes.NewReader([]byte(c.got)))
		if got.OK() != (c.text == "") || !strings.Contains(got.String(), c.text) {
			t.Errorf("%s: %v, want %q", c.name, got, c.text)
		}
	}
}

// What is compared with itself is the same, whatever it is and by any rule.
func TestAnythingIsTheSameAsItself(t *testing.T) {
	for _, f := range []validate.Format{validate.Bytes, validate.Float32, validate.Float64, validate.Int16, validate.Uint64, validate.Text} {
		for _, r := range []validate.Rule{validate.Exact, validate.Absolute, validate.Relative, validate.Scaled, validate.ULP} {
			if f == validate.Bytes && r != validate.Exact {
				continue
			}
			o := validate.Output{Format: f, Tolerance: validate.Tolerance{Rule: r}}
			if err := quick.Check(func(b []byte) bool {
				b = bytes.Repeat(b, 8) // whole values of each format
				return compare(t, o, bytes.NewReader(b), bytes.NewReader(b)).OK()
			}, &quick.Config{MaxCount: 50}); err != nil {
				t.Errorf("%s %s: %v", f, r, err)
			}
		}
	}
}

func FuzzCompareText(f *testing.F) {
	f.Add("x = 1.5e3, y\n", "x = 1.5e3, z\n")
	f.Add("nan inf -1d2 .5", "0x1f 3D 1e999999")
	f.Fuzz(func(t *testing.T, want, got string) {
		o := validate.Output{Path: "x", Format: validate.Text, Tolerance: validate.Tolerance{Rule: validate.Scaled, Abs: 1, Rel: 1}}
		c, err := validate.Compare(o, strings.NewReader(want), strings.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		if c.OK() != (c.First == nil) {
			t.Errorf("%+v", c)
		}
	})
}
