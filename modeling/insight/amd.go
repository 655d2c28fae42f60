package insight

const rocmGuide = "ROCm Compute Profiler documentation"

// amdRules are rules over the counters of AMD's profilers, by the formulas of
// the ROCm Compute Profiler's documentation.
var amdRules = family{"AMD", []rule{
	{
		name: "amd-l2-hit-rate", what: "L2 hit rate", unit: "part", fact: true, limit: 2, under: true,
		value: []string{"TCC_HIT_sum // TCC_HIT_sum + TCC_MISS_sum"}, from: rocmGuide + ", L2 cache",
		bad: "%s hits in L2 for %s of its requests.", meaning: "What misses goes to memory through the data fabric.",
	},
	{
		name: "amd-active-threads", what: "active threads per vector instruction", unit: "",
		value: []string{"SQ_THREAD_CYCLES_VALU // SQ_ACTIVE_INST_VALU"}, limit: 57.6, under: true, from: ours + rocmGuide + ", VALU active threads",
		bad:      "Only %[2]s of 64 threads of a wavefront are active per vector instruction in %[1]s.",
		fine:     "%s hardly diverges: %s of 64 threads are active per vector instruction.",
		gain:     func(v float64) float64 { return 1 - v/64 },
		meaning:  "Threads of a wavefront take different ways, or work-groups are no multiple of 64.",
		remedies: []string{"Group work so that threads of a wavefront agree; work-groups of a multiple of 64 threads; selects instead of short branches."},
		moves:    []Move{{"SQ_THREAD_CYCLES_VALU", Up}},
	},
	{
		name: "amd-waiting", what: "part of the wavefronts' cycles spent waiting", unit: "part",
		value: []string{"SQ_WAIT_ANY // SQ_WAVE_CYCLES"}, limit: 0.6, from: ours + rocmGuide + ", Wavefront runtime stats",
		bad:      "Wavefronts of %s wait for %s of their cycles.",
		fine:     "Wavefronts of %s wait for %s of their cycles.",
		gain:     func(v float64) float64 { return 0.5 * v },
		meaning:  "They stand at s_waitcnt or a barrier: for memory in most kernels.",
		remedies: []string{"More wavefronts per compute unit (fewer registers, less LDS), loads issued earlier, data reused from LDS or registers."},
		moves:    []Move{{"SQ_WAIT_ANY", Down}},
	},
	{
		name: "amd-issue-wait", what: "part of the wavefronts' cycles spent waiting to issue", unit: "part",
		value: []string{"SQ_WAIT_INST_ANY // SQ_WAVE_CYCLES"}, limit: 0.2, from: ours + rocmGuide + ", Wavefront runtime stats",
		bad:      "Wavefronts of %s wait for %s of their cycles to issue an instruction.",
		gain:     func(v float64) float64 { return 0.5 * v },
		meaning:  "The unit that the instruction needs is taken, or several wavefronts compete for it.",
		remedies: []string{"Fewer instructions of the busiest kind; spread work over vector, scalar, memory and LDS units."},
		moves:    []Move{{"SQ_WAIT_INST_ANY", Down}},
	},
	{
		name: "amd-lds-conflicts", what: "part of the LDS cycles that bank conflicts take", unit: "part",
		value: []string{"SQ_LDS_BANK_CONFLICT // SQ_LDS_IDX_ACTIVE"}, limit: 0.1, from: ours + rocmGuide + ", LDS stats", when: []string{"SQ_LDS_IDX_ACTIVE"},
		bad:      "Bank conflicts take %[2]s of the LDS cycles of %[1]s.",
		fine:     "%s has few LDS bank conflicts (%s of its cycles).",
		gain:     func(v float64) float64 { return v },
		meaning:  "Threads of a wavefront hit different words of the same bank of the local data share.",
		remedies: []string{"Pad rows of arrays in LDS by one element, or permute the index; wide reads."},
		moves:    []Move{{"SQ_LDS_BANK_CONFLICT", Down}},
	},
	{
		name: "amd-scratch", what: "scratch memory per work-item", unit: "byte",
		value: []string{"Scratch_Per_Workitem", "Scratch_Size", "Private_Segment_Size"}, limit: 0, from: rocmGuide + ", Kernel launch stats",
		bad:      "%s uses %s of scratch memory per work-item: registers are spilled, or arrays of a thread are indexed.",
		fine:     "%s uses no scratch memory (%s per work-item).",
		gain:     func(float64) float64 { return 0.1 },
		meaning:  "Scratch lies in memory and passes through the caches.",
		remedies: []string{"Fewer live values: smaller tiles, less unrolling; indices that the compiler can know; __launch_bounds__ that allow more registers."},
		moves:    []Move{{"Scratch_Per_Workitem", Down}},
	},
	{
		name: "amd-occupancy", what: "wavefronts in flight per busy compute unit", unit: "",
		value: []string{"4 x SQ_WAVE_CYCLES // SQ_BUSY_CU_CYCLES"}, limit: 8, fact: true, under: true, from: ours + rocmGuide + ", Wavefront occupancy",
		bad:     "%s has on average only %s wavefronts in flight on a busy compute unit.",
		fine:    "%s has on average %s wavefronts in flight on a busy compute unit.",
		meaning: "Few wavefronts hide little latency; registers, LDS, the size of work-groups and the grid decide how many there are.",
	},
	{
		name: "amd-valu-busy", what: "part of the cycles in which the vector units issue", unit: "part", fact: true, limit: 2, under: true,
		value: []string{"SQ_ACTIVE_INST_VALU // SQ_BUSY_CU_CYCLES"}, from: rocmGuide + ", Compute unit: VALU utilization",
		bad: "The vector units of %s issue in %s of the busy cycles.",
	},
	{
		name: "amd-fabric-read", what: "part of the reads from L2 to memory that are of 32 bytes", unit: "part",
		value: []string{"TCC_EA_RDREQ_32B_sum // TCC_EA_RDREQ_sum"}, limit: 0.1, from: ours + rocmGuide + ", L2-Fabric", when: []string{"TCC_EA_RDREQ_sum"},
		bad:      "%[2]s of the reads that %[1]s sends to memory are of 32 bytes instead of 64.",
		gain:     func(v float64) float64 { return v / 2 },
		meaning:  "Half of each 64-byte request is not asked for: accesses are not coalesced.",
		remedies: []string{"Let neighbouring threads read neighbouring addresses, aligned to 64 bytes."},
		moves:    []Move{{"TCC_EA_RDREQ_32B_sum", Down}},
	},
}}
