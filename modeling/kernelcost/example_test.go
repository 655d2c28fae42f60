package kernelcost_test

import (
	"fmt"

	"github.com/rooflab/rooflab/modeling/kernelcost"
)

func Example() {
	const source = `__kernel void blur(__global const float *in, __global float *out, int n) {
  int i = get_global_id(0);
  if (i > 0 && i < n - 1)
    out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3.0f;
}`
	c, err := kernelcost.Analyse(source, "-cl-mad-enable", kernelcost.Launch{
		Scalars: map[string]float64{"n": 1000}, Global: []int64{1024}, Local: []int64{64}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c)
	for _, b := range c.Buffers {
		fmt.Println(b.Name, b.Elements(), "elements")
	}
	for _, s := range c.Sites {
		fmt.Println("line", s.Line, s.Operation, s.Buffer, s.Pattern, s.Count)
	}
	// Output:
	// blur: 2994 flop, 5066 integer operations, 15968 B of global memory asked for (7992 B touched), 0.188 flop/B; 0 % assumed, 0 % sampled
	// in 1000 elements
	// out 999 elements
	// line 4 load in unit 998
	// line 4 load in unit 998
	// line 4 load in unit 998
	// line 4 store out unit 998
}
