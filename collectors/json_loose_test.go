package collectors_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rooflab/rooflab/collectors"
)

func TestLooseJSON(t *testing.T) {
	const text = `{"a": NaN, "b": [Infinity, -Infinity, -1], "NaN \" -Infinity": "Infinity", "c": -2.5e-3, "d":NaN, "e": [nan, inf, -nan, -inf, null, "nan", "n"], "n":null}`
	const want = "map[NaN \" -Infinity:Infinity a:~ b:[~~~~~~ -~~~~~~ -1] c:-2.5e-3 d:~ e:[\x7f ` -\x7f -` <nil> nan n] n:<nil>]"
	in, err := collectors.Open("x", iotest.OneByteReader(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []*collectors.Input{in, open(t, text)} {
		j := collectors.NewLooseJSON(in)
		var v map[string]any
		if err := j.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(v); got != want || j.InputOffset() != int64(len(text)) {
			t.Errorf("%s up to %d, want %s up to %d", got, j.InputOffset(), want, len(text))
		}
		if s, ok := collectors.NotFinite(v["a"]); s != "NaN" || !ok {
			t.Errorf("NaN is %q, %v", s, ok)
		}
		if s, ok := collectors.NotFinite(v["e"].([]any)[3]); s != "-inf" || !ok {
			t.Errorf("-inf is %q, %v", s, ok)
		}
		if _, ok := collectors.NotFinite(json.Number("1")); ok {
			t.Error("1 is not finite")
		}
	}
	if loose := string(collectors.LooseJSON([]byte(text))); len(loose) != len(text) || strings.Contains(loose, "-inf") || !strings.Contains(loose, `"nan"`) {
		t.Errorf("%s became %s", text, loose)
	}
	for _, text := range []string{"[NaM]", "[-]", "[Inf]", "[nam]", "[-null]", "[infinity]", "[n", "[--1]", "[-NaN]", "[N", "-"} {
		var v any
		if err := collectors.NewLooseJSON(open(t, text)).Decode(&v); err == nil {
			t.Errorf("%s is read as %v", text, v)
		}
	}
}

func open(t *testing.T, text string) *collectors.Input {
	t.Helper()
	in, err := collectors.Open("x", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return in
}
