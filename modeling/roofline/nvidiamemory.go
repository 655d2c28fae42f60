package roofline

const (
	sector    = 32  // bytes of a cache sector, on every GPU that ncu knows
	wavefront = 128 // bytes that shared memory and L1 move at most per cycle and SM: 32 banks of 4 (CUDA C++ Programming Guide)
)

// memoryThroughput is what Nsight Compute's page of details calls the rate of
// DRAM, in byte/s, in its section Memory Workload Analysis. The use of the
// memory system, in %, has the same name in another section.
const memoryThroughput = "Memory Throughput"

// bytes is the traffic of a level, read and written.
func (c nvidia) bytes(l Level) Quantity {
	switch l {
	case DRAM:
		return best(
			c.count("dram__bytes"),
			c.counts(1, "dram__bytes_read", "dram__bytes_write"),
			c.counts(1, "dram__bytes_op_read", "dram__bytes_op_write"), // Blackwell
			c.counts(sector, "dram__sectors"),
			c.counts(sector, "dram__sectors_read", "dram__sectors_write"),
			c.counts(sector, "dram__sectors_op_read", "dram__sectors_op_write"),
			c.counts(1, "fbpa__dram_read_bytes", "fbpa__dram_write_bytes"),
			c.counts(sector, "fbpa__dram_read_sectors", "fbpa__dram_write_sectors"),
			c.counts(sector, "fbpa__dram_sectors"),
			product(c.first(memoryThroughput), c.time()),
		)
	case L2:
		return best(
			c.count("lts__t_bytes"),
			c.counts(sector, "lts__t_sectors"),
			c.counts(sector, "lts__t_sectors_op_read", "lts__t_sectors_op_write"),
			// What passes between L1 and L2, seen from the L1 side.
			c.counts(1, "l1tex__m_xbar2l1tex_read_bytes", "l1tex__m_l1tex2xbar_write_bytes"),
			product(c.first("derived__lts__lts2xbar_bytes.sum.per_second"), c.time()),
		)
	case L3:
		return missing("NVIDIA's GPUs have no L3")
	case L1:
		return best(
			c.count("l1tex__t_bytes"),
			c.counts(sector, "l1tex__t_sectors"),
			times(sector, c.globalSectors()),
			// What ncu's hierarchical sections draw: cycles in which data go back
			// to registers.
			c.counts(wavefront, "l1tex__lsu_writeback_active_mem_lg"),
			c.counts(wavefront, "l1tex__lsu_writeback_active_mem_lgds"),
			c.counts(wavefront, "l1tex__lsu_writeback_active"),
			product(c.first("derived__l1tex__lsu_writeback_bytes_mem_lg.sum.per_second", "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second",
				"derived__l1tex__lsu_writeback_bytes.sum.per_second"), c.time()),
		)
	}
	return best(
		c.count("smsp__sass_data_bytes_mem_shared"), c.count("sm__sass_data_bytes_mem_shared"),
		times(wavefront, c.sharedWavefronts()),
	)
}

// globalSectors are the sectors of loads and stores at L1: of global memory,
// and of local memory (spilled registers) where that is counted.
func (c nvidia) globalSectors() Quantity {
	global := c.counts(1, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld", "l1tex__t_sectors_pipe_lsu_mem_global_op_st")
	local := c.counts(1, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld", "l1tex__t_sectors_pipe_lsu_mem_local_op_st")
	if global.OK && local.OK && local.Value > 0 {
		return plus(global, local)
	}
	return global
}

// sharedWavefronts are those of loads and stores: the count of all has those
// of the launch itself, too, which kernels without shared memory show.
func (c nvidia) sharedWavefronts() Quantity {
	const all = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
	q := c.counts(1, all+"_op_ld", all+"_op_st")
	if atom := c.count(all + "_op_atom"); q.OK && atom.OK && atom.Value > 0 {
		return plus(q, atom)
	}
	if q.OK {
		return q
	}
	return best(c.count(all), q)
}

// bandwidth is the most byte/s of a level at the profiled clock.
func (c nvidia) bandwidth(l Level) Quantity {
	// Both move a wavefront per cycle and SM.
	perCycle := product(known(wavefront, "128"), c.instances("sm"), c.rate("sm"))
	switch l {
	case DRAM:
		throughput := c.first("dram__throughput.avg"+pct, "gpu__dram_throughput.avg"+pct, "dram__throughput.max"+pct, "DRAM Throughput")
		if throughput.OK && throughput.Value < leastPercent {
			throughput = missing(throughput.From + " is too little to compute the peak from")
		}
		return best(
			c.most("dram__bytes"),
			c.most("dram__bytes_read"), c.most("dram__bytes_op_read"), // percentages of the same peak
			times(sector, c.most("dram__sectors")),
			ratio(times(100, c.bytes(DRAM)), product(c.time(), throughput)),
			// Two transfers per cycle of the memory clock, in kHz, over the bus, in bits.
			product(known(2000, "2000"), c.first("device__attribute_memory_clock_rate"), ratio(c.first("device__attribute_global_memory_bus_width"), known(8, "8"))),
		)
	case L2:
		return best(
			c.most("lts__t_bytes"),
			times(sector, c.most("lts__t_sectors")),
			product(c.first("derived__lts__lts2xbar_bytes.sum.peak_sustained"), c.rate("lts")),
			product(c.first("l1tex__m_xbar2l1tex_read_bytes.sum.peak_sustained"), c.rate("lts")),
		)
	case L3:
		return missing("NVIDIA's GPUs have no L3")
	case L1:
		return best(
			c.most("l1tex__t_bytes"),
			times(sector, c.most("l1tex__t_sectors")),
			times(wavefront, c.most("l1tex__lsu_writeback_active_mem_lg")),
			times(wavefront, c.most("l1tex__lsu_writeback_active")),
			product(c.first("derived__l1tex__lsu_writeback_bytes_mem_lg.sum.peak_sustained", "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.peak_sustained",
				"derived__l1tex__lsu_writeback_bytes.sum.peak_sustained"), c.rate("l1tex")),
			perCycle,
		)
	}
	return best(times(wavefront, c.most("l1tex__data_pipe_lsu_wavefronts_mem_shared")), perCycle)
}

// warps, threads and the rest are what the instruction roofline needs, under
// the names that Ding and Williams's method has in ncu.
func (c nvidia) warps() Quantity {
	return best(c.count("smsp__inst_executed"), c.count("sm__inst_executed"))
}

func (c nvidia) threads() Quantity {
	const perInst = "thread_inst_executed_pred_on_per_inst_executed.ratio"
	q := best(c.count("smsp__thread_inst_executed_pred_on"), c.count("sm__thread_inst_executed_pred_on"),
		c.count("smsp__sass_thread_inst_executed_pred_on"),
		product(c.warps(), c.first("smsp__"+perInst, "sm__"+perInst)),
		c.count("smsp__thread_inst_executed"), c.count("sm__thread_inst_executed"),
		product(c.warps(), c.first("smsp__thread_inst_executed_per_inst_executed.ratio", "sm__thread_inst_executed_per_inst_executed.ratio")))
	return ratio(q, known(32, "32"))
}

func (c nvidia) issuePeak() Quantity {
	return best(c.most("smsp__inst_executed"), c.most("sm__inst_executed"), product(c.instances("smsp"), c.rate("sm")))
}

func (c nvidia) transactions(l Level) Quantity {
	switch l {
	case DRAM:
		return best(c.count("dram__sectors"), c.counts(1, "dram__sectors_read", "dram__sectors_write"), ratio(c.bytes(DRAM), known(sector, "32")))
	case L2:
		return best(c.count("lts__t_sectors"), ratio(c.bytes(L2), known(sector, "32")))
	case L1:
		return best(c.globalSectors(), c.count("l1tex__t_sectors"), ratio(c.bytes(L1), known(sector, "32")))
	case Shared:
		return c.sharedWavefronts()
	}
	return missing("NVIDIA's GPUs have no " + l.String())
}

func (nvidia) transactionBytes(l Level) float64 {
	if l == Shared {
		return wavefront
	}
	return sector
}

func (c nvidia) accesses(l Level) (instructions, transactions Quantity) {
	switch l {
	case L1:
		return best(
				c.counts(1, "smsp__sass_inst_executed_op_global_ld", "smsp__sass_inst_executed_op_global_st"),
				c.counts(1, "smsp__inst_executed_op_global_ld", "smsp__inst_executed_op_global_st"),
				c.counts(1, "l1tex__t_requests_pipe_lsu_mem_global_op_ld", "l1tex__t_requests_pipe_lsu_mem_global_op_st")),
			c.counts(1, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld", "l1tex__t_sectors_pipe_lsu_mem_global_op_st")
	case Shared:
		const all = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
		return best(
			c.counts(1, "smsp__sass_inst_executed_op_shared_ld", "smsp__sass_inst_executed_op_shared_st"),
			c.counts(1, "smsp__inst_executed_op_shared_ld", "smsp__inst_executed_op_shared_st")), c.counts(1, all+"_op_ld", all+"_op_st")
	}
	return missing("accesses are counted at L1 and shared memory"), missing("accesses are counted at L1 and shared memory")
}
