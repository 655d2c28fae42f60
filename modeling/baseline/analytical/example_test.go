package analytical_test

import (
	"context"
	"fmt"
	"math"

	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/devices"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// The time of a kernel before it ever ran: work from its source, peaks from the
// device's data sheet. A million additions of floats move 12 MB, at 1555 GB/s.
func Example() {
	const source = `__kernel void add(__global const float *a, __global const float *b, __global float *c) {
		int i = get_global_id(0);
		c[i] = a[i] + b[i];
	}`
	cost, err := kernelcost.Analyse(source, "", kernelcost.Launch{Global: []int64{1e6}, Local: []int64{100}})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu, err := devices.Find("A100-PCIE-40GB")
	if err != nil {
		fmt.Println(err)
		return
	}
	limits, err := analytical.FromCeilings(roofline.Of(gpu),
		map[roofline.Precision]string{roofline.FP32: "flop fp32", roofline.Int: "integer operations"},
		map[roofline.Level]string{roofline.DRAM: "bytes of buffers"})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Given peaks learn nothing: any measured launch will do.
	e := &predict.Examples{Features: analytical.SourceWork, X: [][]float64{analytical.Work(cost)}, Groups: []string{"add"}, Target: "time", Unit: "s", Y: []float64{1}}
	m, err := analytical.Learner{Limits: limits}.Fit(context.Background(), e, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	logs, err := m.Log(context.Background(), e)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f flop, %.0f bytes: %.1f us\n", e.X[0][1], e.X[0][5], 1e6*math.Exp(logs[0]))
	// Output: 1000000 flop, 12000000 bytes: 7.7 us
}
