package devmap

import (
	"math"
	"testing"
)

// Four launches, the GPU 2, 4 and 1/2 times as fast and 1/8: even, so that the
// fixed device is the GPU. Who takes GPU, CPU, CPU, CPU is right three times; the
// speedups over the GPU are 1, 1/4, 2 and 8, of mean 2.8125 and of geometric
// mean 4^(1/4). Always right gives 1, 1, 2, 8: mean 3.
func TestAccuracyAndSpeedupsByHand(t *testing.T) {
	ls := []launch{{cpu: 2, gpu: 1}, {cpu: 4, gpu: 1}, {cpu: 1, gpu: 2}, {cpu: 1, gpu: 8}}
	always := outcome{method: staticMapping, gpu: []bool{true, true, true, true}}
	some := outcome{method: best, gpu: []bool{true, false, false, false}}
	rs, err := results([]outcome{always, some}, ls, protocol{words: "w", units: "sources", unit: []string{"a", "b", "c", "d"}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range rs {
		got[r.Name+", "+r.Metric] = r.Value
		if r.Low > r.Value || r.High < r.Value || r.N != 4 || r.Split != "w" {
			t.Errorf("%+v", r)
		}
	}
	for name, want := range map[string]float64{
		staticMapping + ", accuracy": 0.5, staticMapping + ", speedup over the GPU always, mean": 1, staticMapping + ", speedup over the GPU always, geometric mean": 1,
		best + ", accuracy": 0.75, best + ", speedup over the GPU always, mean": 2.8125, best + ", speedup over the GPU always, geometric mean": math.Sqrt2,
		best + ", accuracy ahead (paired difference)": 0.25,
	} {
		if v, ok := got[name]; !ok || math.Abs(v-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if len(rs) != 7 {
		t.Errorf("%d results", len(rs))
	}
}
