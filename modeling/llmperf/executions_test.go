package llmperf

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/tokenize"
)

// Of 128 work-items each runs the loop 10 times; the logarithm of v does not
// change in it, the sine does. What executes nothing has no count.
func TestTokensAreExecutedAsOftenAsTheirPlaces(t *testing.T) {
	source := `kernel void k(global float *o, float v) {
  int i = get_global_id(0);
  float s = 0.0f;
  for (int j = 0; j < 10; j++) {
    s += log(v);
    s = sin(s);
  }
  o[i] = s;
}`
	c, err := kernelcost.Analyse(source, "", kernelcost.Launch{Global: []int64{128}, Local: []int64{32}})
	if err != nil {
		t.Fatal(err)
	}
	counts := countsOf(c)
	if counts.items != float32(math.Log2(129)) || counts.groups != float32(math.Log2(5)) {
		t.Errorf("%v work-items in %v groups, want the logarithms of 129 and 5", counts.items, counts.groups)
	}
	for word, want := range map[string]float64{"log": 128, "sin": 1280, "o[i]": 128, "= 0.0f": 0, "kernel": 0, "j < 10": 11 * 128} {
		at := strings.Index(source, word)
		out := make([]float32, 1)
		counts.tell(out, source, []tokenize.Span{{Start: at, End: at + len(word)}})
		if got := math.Round(math.Exp2(float64(out[0])) - 1); got != want {
			t.Errorf("%q is executed %v times, want %v", word, got, want)
		}
	}
}

// What Table keeps is what is found again where a table does not keep it.
func TestTablesKeepHowOftenPlacesAreExecuted(t *testing.T) {
	x := Example{Source: "kernel void k(global float *o, int n) { for (int i = 0; i < n; i++) o[i] += 1; }", Global: []int64{64}, Local: []int64{16},
		Args: []Argument{{Name: "o", Kind: Buffer, Type: "float", Elements: 8, Bytes: 32}, {Name: "n", Kind: Scalar, Type: "int", Values: []float64{8}}}}
	other := x
	other.Global = []int64{128}
	none := x
	none.Kernel = "missing"
	e, err := Table([]Example{x, none, other})
	if err != nil {
		t.Fatal(err)
	}
	mixed := e.Rows([]int{2, 1, 0})
	kept, err := counted(t.Context(), mixed)
	if err != nil {
		t.Fatal(err)
	}
	if kept[0] != e.Kept[2] || kept[1] != nil || len(kept[2].places) == 0 {
		t.Errorf("%v is not what was kept", kept)
	}
	mixed.Kept = nil
	again, err := counted(t.Context(), mixed)
	if err != nil || !reflect.DeepEqual(again, kept) {
		t.Errorf("%v: %v, want %v", err, again, kept)
	}
}
