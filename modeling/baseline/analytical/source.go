package analytical

import (
	"math"

	"github.com/rooflab/rooflab/modeling/kernelcost"
)

// SourceWork names the amounts of Work: features that Limits can divide by
// peaks.
var SourceWork = []string{"flop fp16", "flop fp32", "flop fp64", "integer operations", "bytes asked", "bytes of buffers"}

// Work is what a launch does by the estimate from its source, in the order of
// SourceWork. "bytes asked" is what work-items ask of global memory, which
// caches serve in part; "bytes of buffers" is what lies between the least and
// the greatest access of each buffer, once, NaN where that is not known: a
// limit of DRAM that only holds while every byte is needed and none twice.
func Work(c *kernelcost.Cost) []float64 {
	footprint, known := c.Footprint()
	if !known {
		footprint = math.NaN()
	}
	t := &c.Total
	return []float64{t.Flop(2), t.Flop(4), t.Flop(8), t.Ints(), t.GlobalBytes(), footprint}
}
