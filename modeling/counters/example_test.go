package counters_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/rooflab/rooflab/modeling/counters"
)

// Run time that follows two of three counters.
func ExampleSelect() {
	rng := rand.New(rand.NewPCG(1, 2))
	t := counters.Table{Target: "seconds", Names: []string{"dram__sectors_read.sum", "smsp__inst_executed.sum", "PAPI_BR_MSP"}, Columns: make([][]float64, 3)}
	for range 100 {
		sectors, instructions := math.Exp(15+rng.NormFloat64()), math.Exp(18+rng.NormFloat64())
		t.Columns[0], t.Columns[1] = append(t.Columns[0], sectors), append(t.Columns[1], instructions)
		t.Columns[2] = append(t.Columns[2], math.Exp(9+rng.NormFloat64()))
		t.Y = append(t.Y, (32*sectors/9e11+instructions/1e12)*math.Exp(0.05*rng.NormFloat64()))
	}
	r, err := counters.Select(context.Background(), t, counters.Options{K: 2, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Chosen {
		fmt.Printf("%s: chosen by %.0f %%: %s\n", c.Name, 100*c.Stability, c.About)
	}
	// Output:
	// dram__sectors_read.sum: chosen by 100 %: sectors of 32 bytes for reads, at device memory, summed over all units [sector]
	// smsp__inst_executed.sum: chosen by 100 %: instructions executed, counted once for each warp, at the SMs' sub-partitions, summed over all units [warp instruction]
}
