package llmperf

import (
	"math"
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
	for word, want := range map[string]float64{"log": 128, "sin": 1280, "o[i]": 128, "= 0.0f": 0, "kernel": 0, "j < 10": 11 * 128} {
		at := strings.Index(source, word)
		out := make([]float32, 1)
		executed(out, c, source, []tokenize.Span{{Start: at, End: at + len(word)}})
		if got := math.Round(math.Exp2(float64(out[0])) - 1); got != want {
			t.Errorf("%q is executed %v times, want %v", word, got, want)
		}
	}
}
