package roofline

import "fmt"

// nvidia reads Nsight Compute's counters.
type nvidia struct {
	counters
	opt Options
}

// time is the duration of the launch in seconds.
func (c nvidia) time() Quantity {
	q := best(
		c.first("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max", "gpu__time_duration_measured_user.sum", "Duration"),
		ratio(c.first("sm__cycles_elapsed.max", "sm__cycles_elapsed.avg"), c.rate("sm")),
	)
	if q.OK && !(q.Value > 0) {
		return missing(q.From + " is not positive")
	}
	return q
}

// rate is the clock of a unit, cycle/s.
func (c nvidia) rate(unit string) Quantity {
	names := []string{unit + "__cycles_elapsed.avg.per_second"}
	if unit == "sm" || unit == "l1tex" || unit == "smsp" { // one clock domain
		names = append(names, "sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second")
	}
	return c.first(names...)
}

var letter = [...]string{FP64: "d", FP32: "f", FP16: "h"}

// flop is add + mul + 2 fma of a precision.
func (c nvidia) flop(p Precision) Quantity {
	if p > FP16 {
		return missing("not counted")
	}
	op := func(unit, op, suffix string) string {
		return unit + "__sass_thread_inst_executed_op_" + letter[p] + op + "_pred_on.sum" + suffix
	}
	var ways []Quantity
	for _, unit := range []string{"sm", "smsp"} {
		addmul := c.sum(1, op(unit, "add", ""), op(unit, "mul", ""))
		fma := c.sum(2, op(unit, "fma", ""))
		ways = append(ways, plus(addmul, fma))
	}
	// The roofline section of ncu gives the same per cycle.
	for _, unit := range []string{"smsp", "sm"} {
		addmul := c.sum(1, op(unit, "add", ".per_cycle_elapsed"), op(unit, "mul", ".per_cycle_elapsed"))
		fma := c.sum(2, op(unit, "fma", ".per_cycle_elapsed"))
		ways = append(ways, product(plus(addmul, fma), c.rate(unit), c.time()))
	}
	q := best(ways...)
	if p != FP16 {
		return q
	}
	if q.OK && c.opt.HalfWeight != 1 {
		q = product(known(c.opt.HalfWeight, fmt.Sprintf("%g", c.opt.HalfWeight)), q)
	}
	if c.opt.TensorFlop > 0 {
		tensor := c.sum(c.opt.TensorFlop, "sm__inst_executed_pipe_tensor.sum")
		if q.OK && tensor.OK {
			return plus(q, tensor)
		}
		return best(tensor, q)
	}
	return q
}

// peak is the most flop/s of a precision at the profiled clock: two per fused
// multiply-add.
func (c nvidia) peak(p Precision) Quantity {
	if p > FP16 {
		return missing("no ceiling in the profile")
	}
	q := product(c.sum(2, "sm__sass_thread_inst_executed_op_"+letter[p]+"fma_pred_on.sum.peak_sustained"), c.rate("sm"))
	if q.OK && p == FP16 && c.opt.HalfWeight != 1 {
		q = product(known(c.opt.HalfWeight, fmt.Sprintf("%g", c.opt.HalfWeight)), q)
	}
	return q
}

const (
	sector    = 32  // bytes of a cache sector, on every GPU that ncu knows
	wavefront = 128 // bytes that shared memory moves at most in a wavefront: 32 banks of 4
)

// bytes is the traffic of a level, read and written.
func (c nvidia) bytes(l Level) Quantity {
	time := c.time()
	switch l {
	case DRAM:
		return best(
			c.sum(1, "dram__bytes.sum"),
			c.sum(1, "dram__bytes_read.sum", "dram__bytes_write.sum"),
			c.sum(1, "dram__bytes_op_read.sum", "dram__bytes_op_write.sum"),
			c.sum(sector, "dram__sectors.sum"),
			c.sum(sector, "dram__sectors_read.sum", "dram__sectors_write.sum"),
			product(c.sum(1, "dram__bytes.sum.per_second"), time),
			product(c.sum(1, "dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second"), time),
		)
	case L2:
		return best(c.sum(1, "lts__t_bytes.sum"), c.sum(sector, "lts__t_sectors.sum"), product(c.sum(1, "lts__t_bytes.sum.per_second"), time))
	case L3:
		return missing("no such level")
	case L1:
		return best(
			c.sum(1, "l1tex__t_bytes.sum"), c.sum(sector, "l1tex__t_sectors.sum"), product(c.sum(1, "l1tex__t_bytes.sum.per_second"), time),
			// Global loads and stores alone: what a small set of counters gives.
			c.sum(sector, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
		)
	}
	return best(
		c.sum(1, "smsp__sass_data_bytes_mem_shared.sum"), c.sum(1, "sm__sass_data_bytes_mem_shared.sum"),
		c.sum(wavefront, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
	)
}

// bandwidth is the most byte/s of a level at the profiled clock.
func (c nvidia) bandwidth(l Level) Quantity {
	var q Quantity
	switch l {
	case DRAM:
		q = product(c.sum(1, "dram__bytes.sum.peak_sustained"), c.rate("dram"))
	case L2:
		q = product(c.sum(1, "lts__t_bytes.sum.peak_sustained"), c.rate("lts"))
	case L3:
		return missing("no such level")
	case L1:
		q = product(c.sum(1, "l1tex__t_bytes.sum.peak_sustained"), c.rate("l1tex"))
	default:
		q = product(c.sum(wavefront, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.peak_sustained"), c.rate("l1tex"))
	}
	return q
}

// busy is the use of the SM's busiest unit.
func (c nvidia) busy() Quantity {
	q := c.first("sm__throughput.avg.pct_of_peak_sustained_elapsed")
	if q.OK {
		q.From += " / 100"
		q.Value /= 100
	}
	return q
}
