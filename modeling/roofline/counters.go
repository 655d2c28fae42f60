package roofline

import (
	"strings"
)

// TimeCounter is the time of a launch in s in profiles that are not Nsight
// Compute's: Caliper's name.
const TimeCounter = "time.duration"

// FlopCounter is the counter that gives work of a precision as it is, in flop,
// "flop.fp64": programs that count what they do write it into their profiles.
func FlopCounter(p Precision) string { return [...]string{"flop.fp64", "flop.fp32", "flop.fp16"}[p] }

// ByteCounter is the counter that gives the traffic of a level as it is, in
// byte, "byte.dram".
func ByteCounter(l Level) string {
	return [...]string{"byte.dram", "byte.l2", "byte.l1", "byte.shared"}[l]
}

// counters reads quantities from names. Each reading tries the counters that
// different versions and sections of Nsight Compute give, best first.
type counters map[string]float64

// sum adds counters that must all be there, each times its weight.
func (c counters) sum(weight float64, names ...string) Quantity {
	total := 0.0
	var lacking []string
	for _, n := range names {
		v, ok := c[n]
		if !ok {
			lacking = append(lacking, n)
		}
		total += v
	}
	if lacking != nil {
		return missing(strings.Join(lacking, ", ") + " not measured")
	}
	return known(weight*total, strings.Join(names, " + "))
}

func (c counters) first(names ...string) Quantity {
	for _, n := range names {
		if v, ok := c[n]; ok {
			return known(v, n)
		}
	}
	return missing(names[0] + " not measured")
}

// product multiplies known quantities.
func product(qs ...Quantity) Quantity {
	out := known(1, "")
	var from []string
	for _, q := range qs {
		if !q.OK {
			return q
		}
		out.Value *= q.Value
		from = append(from, q.From)
	}
	out.From = strings.Join(from, " x ")
	return out
}

// best is the first known of its arguments; when none is, the first says what
// to measure.
func best(qs ...Quantity) Quantity {
	for _, q := range qs {
		if q.OK {
			return q
		}
	}
	return qs[0]
}

// time is the duration of the launch in seconds.
func (c counters) time() Quantity {
	q := best(
		c.first("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max", "gpu__time_duration_measured_user.sum", "Duration", TimeCounter),
		ratio(c.first("sm__cycles_elapsed.max", "sm__cycles_elapsed.avg"), c.rate("sm")),
	)
	if q.OK && !(q.Value > 0) {
		return missing(q.From + " is not positive")
	}
	return q
}

// rate is the clock of a unit, cycle/s.
func (c counters) rate(unit string) Quantity {
	names := []string{unit + "__cycles_elapsed.avg.per_second"}
	if unit == "sm" || unit == "l1tex" || unit == "smsp" { // one clock domain
		names = append(names, "sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second")
	}
	return c.first(names...)
}

var letter = [...]string{FP64: "d", FP32: "f", FP16: "h"}

// flop is add + mul + 2 fma of a precision.
func (c counters) flop(p Precision, time Quantity, opt Options) Quantity {
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
		ways = append(ways, product(plus(addmul, fma), c.rate(unit), time))
	}
	q := best(append(ways, c.sum(1, FlopCounter(p)))...)
	if p != FP16 {
		return q
	}
	if q.OK {
		q.Value *= opt.HalfWeight
	}
	if opt.TensorFlop > 0 {
		tensor := c.sum(opt.TensorFlop, "sm__inst_executed_pipe_tensor.sum")
		if q.OK && tensor.OK {
			return plus(q, tensor)
		}
		return best(tensor, q)
	}
	return q
}

func plus(a, b Quantity) Quantity {
	switch {
	case a.OK && b.OK:
		return known(a.Value+b.Value, a.From+" + "+b.From)
	case !a.OK && !b.OK:
		return missing(strings.TrimSuffix(a.From, " not measured") + ", " + b.From)
	case !a.OK:
		return a
	}
	return b
}

// peak is the most flop/s of a precision at the profiled clock: two per fused
// multiply-add.
func (c counters) peak(p Precision, opt Options) Quantity {
	q := product(c.sum(2, "sm__sass_thread_inst_executed_op_"+letter[p]+"fma_pred_on.sum.peak_sustained"), c.rate("sm"))
	if q.OK && p == FP16 {
		q.Value *= opt.HalfWeight
	}
	if v, ok := opt.Peak[p]; ok && !q.OK {
		return known(v, Given)
	}
	return q
}

const (
	sector    = 32  // bytes of a cache sector, on every GPU that ncu knows
	wavefront = 128 // bytes that shared memory moves at most in a wavefront: 32 banks of 4
)

// bytes is the traffic of a level, read and written.
func (c counters) bytes(l Level, time Quantity) Quantity {
	if q := c.sum(1, ByteCounter(l)); q.OK {
		return q
	}
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
func (c counters) bandwidth(l Level, opt Options) Quantity {
	var q Quantity
	switch l {
	case DRAM:
		q = product(c.sum(1, "dram__bytes.sum.peak_sustained"), c.rate("dram"))
	case L2:
		q = product(c.sum(1, "lts__t_bytes.sum.peak_sustained"), c.rate("lts"))
	case L1:
		q = product(c.sum(1, "l1tex__t_bytes.sum.peak_sustained"), c.rate("l1tex"))
	default:
		q = product(c.sum(wavefront, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.peak_sustained"), c.rate("l1tex"))
	}
	if v, ok := opt.Bandwidth[l]; ok && !q.OK {
		return known(v, Given)
	}
	return q
}
