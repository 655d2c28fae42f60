package collectors_test

import (
	"testing"

	"github.com/rooflab/rooflab/collectors"
)

func TestShortNameKeepsOnlyTheName(t *testing.T) {
	for raw, want := range map[string]string{
		"saxpy": "saxpy",
		"void ns::gemm<float, 32>(float const*, int)":                            "gemm",
		"(anonymous namespace)::saxpy(int)":                                      "saxpy",
		"void (anonymous namespace)::k<1>((anonymous namespace)::T)":             "k",
		"<unnamed>::saxpy_kernel(float, const float *)":                          "saxpy_kernel",
		"unnamed>::saxpy_kernel(float, const float *, float *, int)":             "saxpy_kernel",
		"void unnamed>::gemm_tiled_kernel<32>(const float *, int)":               "gemm_tiled_kernel",
		"void at::native::vec<4, at::Add<float>, at::Array<char *, 3>>(int, T1)": "vec",
		"void f<ns::{lambda(int)#1}>(int)":                                       "f",
		"_Z5saxpyifPKfPf":                                                        "saxpy",
		"_ZN4axon6kernel4gemmILi32EEEvPKf":                                       "gemm",
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE":                         "pad",
		"_RNvCs1234_7mycrate3foo":                                                "foo",
		"gemm_kernel [clone .kd]":                                                "gemm_kernel",
		"":                                                                       "",
		"Foo::operator()(int)":                                                   "operator()",
		"regexp/syntax.(*parser).push":                                           "regexp/syntax.(*parser).push",
		"emulator::main::hc2aaa9b4591a10c7":                                      "main",
		"_$LT$u8$u20$as$u20$core..clone..Clone$GT$::clone::h7bfab8630dda96cf":    "clone",
		"Base_CUDA":    "Base_CUDA",
		"lulesh.cycle": "lulesh.cycle",
	} {
		if got := collectors.ShortName(raw); got != want {
			t.Errorf("ShortName(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestUnitsComeOutInSI(t *testing.T) {
	for _, c := range []struct {
		number, unit string
		value        float64
		base         string
	}{
		{"292,928", "ns", 0.000292928, "s"},
		{"10.5", "usecond", 10.5e-6, "s"},
		{"1.41", "cycle/nsecond", 1.41e9, "Hz"},
		{"1.41", "Ghz", 1.41e9, "Hz"},
		{"772656250", "cycle/second", 772656250, "Hz"},
		{"65.54", "Kbyte", 65540, "byte"},
		{"2", "KiB", 2048, "byte"},
		{"1.5", "Gbyte/second", 1.5e9, "byte/s"},
		{"3", "Kbyte/block", 3000, "byte/block"},
		{"18", "register/thread", 18, "register/thread"},
		{"87.50", "%", 87.5, "%"},
		{"7", "warp", 7, "warp"},
		{"7", "", 7, ""},
	} {
		u := collectors.ParseUnit(c.unit)
		v, err := u.Scale(c.number, collectors.Dot)
		if err != nil || v != c.value || u.Base != c.base {
			t.Errorf("%s %s = %v %s (%v), want %v %s", c.number, c.unit, v, u.Base, err, c.value, c.base)
		}
	}
}

func TestStyleOfNumbers(t *testing.T) {
	for s, want := range map[string]collectors.Style{
		"12": collectors.Plain, "-3": collectors.Plain, "1e5": collectors.Plain,
		"117.344": collectors.Ambiguous, "117,344": collectors.Ambiguous,
		"87.50": collectors.Dot, "1,234.5": collectors.Dot, "1,234,567": collectors.Dot, "0.123": collectors.Dot, "1234.567": collectors.Dot, "1.234e5": collectors.Dot,
		"65,77": collectors.Comma, "27.595.520": collectors.Comma, "1.234,5": collectors.Comma, "27 595,52": collectors.Comma, "0,123": collectors.Comma,
		"": collectors.NotNumber, "n/a": collectors.NotNumber, "1.2.3": collectors.NotNumber, "1,2,3": collectors.NotNumber, "1.2,3,4": collectors.NotNumber,
		"12a": collectors.NotNumber, "-": collectors.NotNumber, "0x1f": collectors.NotNumber, "inf": collectors.NotNumber, "(1, 2, 3)": collectors.NotNumber,
	} {
		if got := collectors.StyleOf(s); got != want {
			t.Errorf("StyleOf(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestParseNumberRefusesTheOtherStyle(t *testing.T) {
	if v, err := collectors.ParseNumber("117.344", collectors.Comma, 0); err != nil || v != 117344 {
		t.Errorf("a grouped number: %v, %v", v, err)
	}
	if v, err := collectors.ParseNumber("117.344", collectors.Dot, 0); err != nil || v != 117.344 {
		t.Errorf("a decimal number: %v, %v", v, err)
	}
	if v, err := collectors.ParseNumber("65,77", collectors.Dot, 0); err == nil {
		t.Errorf("65,77 with a decimal point came out as %v", v)
	}
	if v, err := collectors.ParseNumber("1e999999999", collectors.Dot, 0); err == nil {
		t.Errorf("an endless number came out as %v", v)
	}
}
