package roofline

import (
	"fmt"
	"math"
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

// isAMD tells ROCm's counters by the blocks of hardware that begin their names.
func isAMD(metrics map[string]float64) bool {
	for name := range metrics {
		for _, block := range []string{"SQ_", "SQC_", "TCC_", "TCP_", "TA_", "TD_", "GRBM_", "SPI_", "CPC_", "CPF_"} {
			if strings.HasPrefix(name, block) {
				return true
			}
		}
		if name == "FETCH_SIZE" || name == "WRITE_SIZE" || name == "FetchSize" || name == "WriteSize" {
			return true
		}
	}
	return false
}

func (c amd) time() Quantity {
	q := c.first("duration", "DurationNs")
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
	q := plus(c.sum(c.wave(), op("ADD_"+f, "MUL_"+f, "TRANS_"+f)...), c.sum(2*c.wave(), op("FMA_"+f)...))
	if q.OK && p == FP16 {
		q.Value *= c.opt.HalfWeight
	}
	return q
}

func (c amd) bytes(l Level) Quantity {
	switch l {
	case DRAM:
		return c.fabric()
	case L3:
		return missing("no counter of rocprof gives the traffic of the Infinity Cache")
	case L2:
		return best(
			c.weighted(amdLine, c.whole("TCP_TCC_READ_REQ"), c.whole("TCP_TCC_WRITE_REQ"), c.whole("TCP_TCC_ATOMIC_WITH_RET_REQ"), c.whole("TCP_TCC_ATOMIC_WITHOUT_RET_REQ")),
			c.weighted(tccLine, c.whole("TCC_REQ")),
		)
	case L1:
		return c.weighted(amdLine, c.whole("TCP_TOTAL_CACHE_ACCESSES"))
	}
	banks := float64(ldsBanks)
	if v := c.counters[banksFact]; v > 0 {
		banks = v
	}
	return c.weighted(ldsBank*banks, minus(c.first("SQ_LDS_IDX_ACTIVE"), c.first("SQ_LDS_BANK_CONFLICT")))
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
	read := plus(c.weighted(32, small), c.weighted(64, minus(reads, small)))
	if ea == "TCC_EA0" {
		large := c.whole("TCC_BUBBLE")
		read = best(
			plus(plus(c.weighted(32, small), c.weighted(64, c.whole(ea+"_RDREQ_64B"))), c.weighted(128, c.whole(ea+"_RDREQ_128B"))),
			plus(plus(c.weighted(128, large), c.weighted(32, small)), c.weighted(64, minus(minus(reads, large), small))),
		)
		if !read.OK { // the second way is MI300's, the more common
			read = plus(plus(large, small), reads)
		}
	}
	full := c.whole(ea + "_WRREQ_64B")
	q := plus(read, plus(c.weighted(64, full), c.weighted(32, minus(c.whole(ea+"_WRREQ"), full))))
	// MI100 has a second port.
	if ea == "TCC_EA" && (c.whole("TCC_EA1_RDREQ").OK || c.whole("TCC_EA1_WRREQ").OK) {
		return plus(q, c.port("TCC_EA1"))
	}
	return q
}

// peak is what the machine's table of ceilings says: what the profiler's
// microbenchmarks reached (roofline.csv), else two operations per lane, compute
// unit and cycle for unpacked FP32 and FP64, as rocprof-compute has it.
func (c amd) peak(p Precision) Quantity {
	if _, given := c.opt.Peak[p]; given {
		return missing("given")
	}
	theory := missing("no ceiling of the machine is known (roofline.csv, or Options.Peak)")
	if p == FP64 || p == FP32 {
		if q := product(c.first(clockFact), c.first(unitsFact)); q.OK {
			theory = known(2*waveSize*q.Value, fmt.Sprintf("theoretical: 2 flop x %d lanes x %s", waveSize, q.From))
		}
	}
	return best(c.machine(levelOf(p)), theory)
}

func (c amd) bandwidth(l Level) Quantity {
	if _, given := c.opt.Bandwidth[l]; given {
		return missing("given")
	}
	q := c.machine(levelName[l])
	if !q.OK && l == Shared {
		return c.machine("shared")
	}
	return q
}

// busy is the use of the busiest issue port of the compute units: cycles in
// which they issued to it / (cycles x compute units), rocprof-compute's
// utilization of VALU, SALU and MFMA (panel 200). Cycles are those of one XCD.
func (c amd) busy() Quantity {
	cycles := product(c.first("GRBM_GUI_ACTIVE"), c.first(unitsFact))
	if dies := c.counters[diesFact]; cycles.OK && dies > 1 {
		cycles.Value /= dies
	}
	top := ratio(c.first("SQ_ACTIVE_INST_VALU"), cycles)
	if !top.OK {
		return top
	}
	for name, weight := range map[string]float64{"SQ_ACTIVE_INST_SCA": 1, "SQ_VALU_MFMA_BUSY_CYCLES": 0.25} { // four matrix cores
		if q := ratio(c.first(name), cycles); q.OK && weight*q.Value > top.Value {
			top, top.Value = q, weight*q.Value
		}
	}
	top.Value = math.Min(top.Value, 1)
	return top
}

// weighted is weight x the sum of counts that must all be known.
func (c amd) weighted(weight float64, qs ...Quantity) Quantity {
	sum := qs[0]
	for _, q := range qs[1:] {
		sum = plus(sum, q)
	}
	if !sum.OK {
		return sum
	}
	return known(weight*sum.Value, fmt.Sprintf("%g x (%s)", weight, sum.From))
}

// minus is a - b where both are known.
func minus(a, b Quantity) Quantity {
	if !a.OK || !b.OK {
		return plus(a, b) // which says what is missing
	}
	return known(a.Value-b.Value, a.From+" - "+b.From)
}
