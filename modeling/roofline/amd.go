package roofline

import (
	"slices"
	"strings"
)

// amd reads the counters of ROCm's profilers on CDNA: rocprof-compute
// (Omniperf), rocprof and rocprofv3. The formulas are those of the roofline of
// ROCm Compute Profiler, panel 400 of its analysis configurations
// (analysis_configs/gfx90a and gfx942, 0400_roofline.yaml) and
// utils/roofline_calc.py, which agree. All counts are of one GCD, or of a whole
// MI300 in SPX mode: what the profiler calls a device.
//
// A packed instruction (v_pk_fma_f32) counts as one, there and here.
type amd struct {
	counters
	opt Options
}

const (
	waveSize  = 64  // lanes of a wavefront on CDNA
	mfmaBlock = 512 // operations that one count of SQ_INSTS_VALU_MFMA_MOPS_* stands for (AMD, "MI200 performance counters": in units of 512)
	amdLine   = 64  // bytes that rocprof-compute counts for a request to vL1D or L2
	tccLine   = 128 // bytes of a line of L2 (CDNA2 and later), of which TCC_REQ counts requests
	ldsBank   = 4   // bytes that a bank of LDS moves in a cycle
	ldsBanks  = 32  // banks of LDS in a compute unit, CDNA 1 to 3
)

// blocks of hardware begin the names of ROCm's counters.
var blocks = []string{"SQ_", "SQC_", "TCC_", "TCP_", "TA_", "TD_", "GRBM_", "SPI_", "CPC_", "CPF_"}

func isAMDCounter(name string) bool {
	return slices.ContainsFunc(blocks, func(b string) bool { return strings.HasPrefix(name, b) }) ||
		name == "FETCH_SIZE" || name == "WRITE_SIZE" || name == "FetchSize" || name == "WriteSize"
}

func isAMD(metrics map[string]float64) bool {
	for name := range metrics {
		if isAMDCounter(name) {
			return true
		}
	}
	return false
}

func (c amd) time() Quantity {
	q := best(c.first("duration", "DurationNs", TimeCounter), c.opt.launch.ownTime())
	if q.OK && !(q.Value > 0) {
		return missing(q.From + " is not positive")
	}
	return q
}

// whole is a counter summed over its channels: ROCm's own sum where there is
// one, else that of the channels. The two may differ by less than 1 %, as they
// are counted in passes of their own.
func (c amd) whole(name string) Quantity { return c.first(name+"_sum", name) }

func (c amd) wave() float64 {
	for _, n := range []string{"Wave_Size", "wave_size"} {
		if v := c.counters[n]; v > 0 {
			return v
		}
	}
	return waveSize
}

var amdFormat = map[Precision]string{FP64: "F64", FP32: "F32", FP16: "F16",
	TensorFP64: "F64", TensorFP32: "F32", TensorFP16: "F16", TensorBF16: "BF16", TensorFP8: "F8", TensorInt8: "I8"}

// flop is wavefront size x (add + mul + trans + 2 fma), or 512 per count of
// matrix operations. Integers are instructions x wavefront size: the counters
// do not tell additions from multiply-adds.
func (c amd) flop(p Precision) Quantity {
	op := func(ops ...string) []string {
		for i, o := range ops {
			ops[i] = "SQ_INSTS_VALU_" + o
		}
		return ops
	}
	f := amdFormat[p]
	switch {
	case p == Int:
		return c.sum(c.wave(), op("INT32", "INT64")...)
	case p >= TensorFP64:
		return c.sum(mfmaBlock, op("MFMA_MOPS_"+f)...)
	}
	q := plus(c.sum(1, op("ADD_"+f, "MUL_"+f, "TRANS_"+f)...), c.sum(2, op("FMA_"+f)...))
	if p == FP16 && c.opt.HalfWeight > 0 {
		q = times(c.opt.HalfWeight, q)
	}
	return times(c.wave(), q)
}

func (c amd) bytes(l Level) Quantity {
	switch l {
	case DRAM:
		return c.fabric()
	case L3:
		return missing("no counter of rocprof gives the traffic of the Infinity Cache")
	case L2:
		return best(
			times(amdLine, total(c.whole("TCP_TCC_READ_REQ"), c.whole("TCP_TCC_WRITE_REQ"), c.whole("TCP_TCC_ATOMIC_WITH_RET_REQ"), c.whole("TCP_TCC_ATOMIC_WITHOUT_RET_REQ"))),
			times(tccLine, c.whole("TCC_REQ")),
		)
	case L1:
		return times(amdLine, c.whole("TCP_TOTAL_CACHE_ACCESSES"))
	}
	banks := float64(ldsBanks)
	if v := c.counters[banksFact]; v > 0 {
		banks = v
	}
	return times(ldsBank*banks, minus(c.first("SQ_LDS_IDX_ACTIVE"), c.first("SQ_LDS_BANK_CONFLICT")))
}

// fabric is what L2 moves over Infinity Fabric, to HBM for the most part. A
// write is 64 bytes or 32. A read is 32, 64 or, on MI300, 128 bytes, which
// TCC_BUBBLE counts there; MI350 counts each size.
func (c amd) fabric() Quantity {
	ea := "TCC_EA"
	for name := range c.counters {
		if strings.HasPrefix(name, "TCC_EA0_") {
			ea = "TCC_EA0"
		}
	}
	return best(c.port(ea), c.sum(1, "FETCH_SIZE", "WRITE_SIZE"), c.sum(1, "FetchSize", "WriteSize"))
}

func (c amd) port(ea string) Quantity {
	reads, small := c.whole(ea+"_RDREQ"), c.whole(ea+"_RDREQ_32B")
	read := plus(times(32, small), times(64, minus(reads, small)))
	if ea == "TCC_EA0" {
		large := c.whole("TCC_BUBBLE")
		read = best(
			plus(plus(times(32, small), times(64, c.whole(ea+"_RDREQ_64B"))), times(128, c.whole(ea+"_RDREQ_128B"))),
			plus(plus(times(128, large), times(32, small)), times(64, minus(minus(reads, large), small))),
		)
		if !read.OK { // the second way is MI300's, the more common
			read = plus(plus(large, small), reads)
		}
	}
	full := c.whole(ea + "_WRREQ_64B")
	q := plus(read, plus(times(64, full), times(32, minus(c.whole(ea+"_WRREQ"), full))))
	// MI100 has a second port.
	if ea == "TCC_EA" && (c.whole("TCC_EA1_RDREQ").OK || c.whole("TCC_EA1_WRREQ").OK) {
		return plus(q, c.port("TCC_EA1"))
	}
	return q
}

func (amd) peak(Precision) Quantity { return missing("no counter gives a ceiling (roofline.csv does)") }

func (amd) bandwidth(Level) Quantity {
	return missing("no counter gives a ceiling (roofline.csv does)")
}

// busy is the use of the busiest issue port of the compute units: cycles in
// which they issued to it / (cycles x compute units), rocprof-compute's
// utilization of VALU, SALU and MFMA (panel 200). Cycles are those of one XCD.
func (c amd) busy() Quantity {
	cycles := product(c.first("GRBM_GUI_ACTIVE"), c.first(unitsFact))
	if dies := c.counters[diesFact]; dies > 1 {
		cycles = ratio(cycles, known(dies, diesFact))
	}
	top := ratio(c.first("SQ_ACTIVE_INST_VALU"), cycles)
	for _, q := range []Quantity{ratio(c.first("SQ_ACTIVE_INST_SCA"), cycles), ratio(times(0.25, c.first("SQ_VALU_MFMA_BUSY_CYCLES")), cycles)} { // four matrix cores
		if top.OK && q.OK && q.Value > top.Value {
			top = q
		}
	}
	return top
}

func (amd) uncounted() []string { return nil }

// remarks tells where rocprof-compute's roofline and the hardware differ: on
// MI300 and later L1's lines are of 128 bytes, and a read of one is one request.
func (c amd) remarks() []string {
	var out []string
	if c.whole("TCC_EA0_RDREQ").OK && c.whole("TCP_TCC_READ_REQ").OK {
		out = append(out, "L2 traffic counts 64 bytes for each request of L1, as rocprof-compute's roofline does; on MI300 and later a read moves up to 128")
	}
	if q := c.flop(FP16); q.OK && q.Value > 0 && c.opt.HalfWeight == 0 {
		out = append(out, "FP16 work is counted as 1 flop per lane and operation; packed code (v_pk_*_f16) does 2: Options.HalfWeight")
	}
	return out
}

// minus is a - b, spelt as a sum with a weight.
func minus(a, b Quantity) Quantity { return plus(a, times(-1, b)) }

// total is the sum of counts that must all be known.
func total(qs ...Quantity) Quantity {
	sum := qs[0]
	for _, q := range qs[1:] {
		sum = plus(sum, q)
	}
	return sum
}
