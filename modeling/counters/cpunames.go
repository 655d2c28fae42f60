package counters

import "regexp"

// likwidNames are events and derived metrics of LIKWID, the latter without
// their unit in brackets.
var likwidNames = [][3]string{
	{`INSTR_RETIRED(?:_ANY)?|RETIRED_INSTRUCTIONS|INST_RETIRED`, "instructions completed", "instruction"},
	{`CPU_CLK_UNHALTED_CORE|ACTUAL_CPU_CLOCK|CPU_CLOCKS_UNHALTED|CPU_CYCLES|CPU_CLOCK_UNHALTED_TOTAL_CYCLES`, "cycles of the core", "cycle"},
	{`CPU_CLK_UNHALTED_REF|MAX_CPU_CLOCK`, "cycles of the reference clock", "cycle"},
	{`FP_ARITH_INST_RETIRED_SCALAR_(SINGLE|DOUBLE)`, "scalar floating-point instructions completed: $1 precision", "instruction"},
	{`FP_ARITH_INST_RETIRED_(128|256|512)B_PACKED_(SINGLE|DOUBLE)`, "floating-point instructions completed on vectors of $1 bits: $2 precision", "instruction"},
	{`RETIRED_SSE_AVX_FLOPS_(ALL|SINGLE|DOUBLE)\w*`, "floating-point operations completed: $1", "flop"},
	{`CAS_COUNT_(RD|WR)`, "lines that a memory controller read (RD) or wrote (WR): $1", "line"},
	{`DRAM_CHANNEL_(\d+)|DATA_FROM_LOCAL_DRAM_CHANNEL|DATA_TO_LOCAL_DRAM_CHANNEL`, "lines moved on a memory channel $1", "line"},
	{`DDR_(READ|WRITE)_BYTES`, "memory traffic of a controller, in lines: $1", "line"},
	{`PMM_\w*(RD|WR)\w*`, "accesses of persistent memory: $1", "line"},
	{`(?:LLC|L3)_VICTIMS\w*`, "lines that the L3 cache evicted", "line"},
	{`(?:LLC|L3)_LOOKUP\w*|L3_ACCESS\w*`, "lookups of the L3 cache", "access"},
	{`L3_MISS\w*`, "accesses that missed the L3 cache", "miss"},
	{`L1D_REPLACEMENT`, "lines brought into the L1 data cache", "line"},
	{`L1D_M_EVICT`, "changed lines that the L1 data cache evicted", "line"},
	{`L2_LINES_IN_ALL`, "lines brought into the L2 cache", "line"},
	{`L2_LINES_OUT\w*|L2_TRANS_L2_WB`, "lines that the L2 cache evicted or wrote back", "line"},
	{`L2_RQSTS_MISS|L2_\w*MISS`, "requests that missed the L2 cache", "miss"},
	{`L2_TRANS_ALL_REQUESTS|REQUESTS_TO_L2\w*`, "requests to the L2 cache", "request"},
	{`ICACHE_(?:ACCESSES|FETCHES)`, "instruction fetches", "fetch"},
	{`ICACHE_\w*(?:MISSES|REFILLS\w*)`, "instruction fetches that missed the L1 instruction cache", "miss"},
	{`DATA_CACHE_ACCESSES`, "accesses of the L1 data cache", "access"},
	{`(?:HWPREF_)?DATA_CACHE_(?:REFILLS|FILLS)\w*`, "lines brought into the L1 data cache", "line"},
	{`D?TLB_LOAD_MISSES\w*|DTLB_STORE_MISSES\w*|L1_DTLB_MISS\w*`, "data accesses whose page was not in the TLB", "miss"},
	{`ITLB_MISSES\w*`, "instruction fetches whose page was not in the TLB", "miss"},
	{`BR_INST_RETIRED_ALL_BRANCHES|RETIRED_BRANCH_INSTR`, "branches", "branch"},
	{`BR_MISP_RETIRED_ALL_BRANCHES|RETIRED_MISP_BRANCH_INSTR|RETIRED_MISPREDICTED_BRANCH_INSTR`, "branches predicted wrongly", "branch"},
	{`MEM_(?:INST|UOPS?)_RETIRED_(?:ALL_)?(LOADS|STORES)\w*|LS_DISPATCH_(LOADS|STORES)`, "memory instructions: $1$2", "instruction"},
	{`UOPS_(ISSUED|EXECUTED|RETIRED)_(ANY|ALL|THREAD)|RETIRED_UOPS`, "micro-operations $1", "micro-operation"},
	{`UOPS_(ISSUED|EXECUTED|RETIRED)_(STALL|USED|TOTAL)_CYCLES`, "cycles in which micro-operations were $1: $2", "cycle"},
	{`CYCLE_ACTIVITY_(\w+)`, "cycles in a state: $1", "cycle"},
	{`TOPDOWN_SLOTS|SLOTS`, "issue slots", "slot"},
	{`(?:ARITH|DIV)\w*(?:ACTIVE|BUSY)\w*`, "cycles in which the divide unit was busy", "cycle"},
	{`DIV_OP_COUNT|ARITH_DIVIDER_COUNT|ARITH_NUM_DIV`, "divisions", "operation"},
	{`(?:PWR|RAPL)_(PKG|DRAM|CORE|PP0|PP1|PLATFORM)_ENERGY`, "energy: $1", "J"},
	{`(?:TXL|RXL)_FLITS\w*|\w*FLITS_\w+`, "packets between sockets", "flit"},
	{`TEMP_CORE|Temperature`, "temperature of the core", ""},

	{`(?:RDTSC )?Runtime(?: \(RDTSC\))?`, "time", ""},
	{`Runtime unhalted`, "time in which the core ran, at its nominal clock", ""},
	{`(?:Uncore )?(?:Clock|Frequency)`, "clock", ""},
	{`CPI(?: \(based on uops\))?`, "cycles for one instruction", "cycle/instruction"},
	{`IPC`, "instructions per cycle", "instruction/cycle"},
	{`(AVX |AVX512 |Packed |Scalar )?(DP|SP|HP)(?: STAT)?`, "floating-point rate, ${1}in $2 (DP FP64, SP FP32, HP FP16)", ""},
	{`(Packed|Scalar)`, "rate of $1 floating-point instructions", ""},
	{`Vectorization ratio`, "share of floating-point instructions that are vectors", ""},
	{`Operational intensity`, "floating-point operations for each byte of memory traffic", ""},
	{`((?:(?:Memory|L[123]|L2D|L3D|Total|Remote|Local|DRAM|PMM|QPI|UPI|Sent|Received|load|store|read|write|evict|access|data|to L[123]|from L[123]) )+?)(?:data )?bandwidth`, "data moved per second: $1", ""},
	{`((?:(?:Memory|L[123]|L2D|L3D|Total|Remote|Local|DRAM|PMM|QPI|UPI|Sent|Received|load|store|read|write|evict|access|data|to L[123]|from L[123]) )+?)(?:data )?volume`, "data moved: $1", ""},
	{`(data cache|L[123]I?|L[12] D?TLB|L[12] DTLB|L1I|Branch|L3 access) (?:request |access )?rate`, "requests of $1 for each instruction", ""},
	{`(data cache|L[123]I?|L[12] DTLB|Branch) (?:miss|misprediction) rate`, "misses of $1 for each instruction", ""},
	{`(data cache|L[123]I?|L[12] DTLB|Branch) (?:miss|misprediction) ratio`, "share of the lookups of $1 that missed", ""},
	{`data cache (requests|misses)`, "$1 of the L1 data cache", ""},
	{`Instructions per branch`, "instructions for each branch", ""},
	{`Load to store ratio`, "loads for each store", ""},
	{`Energy(?: (PKG|DRAM|Core|PP0|PP1))?`, "energy $1", ""},
	{`Power(?: (PKG|DRAM|Core|PP0|PP1))?`, "power $1", ""},
	{`(?:Used|Unused) cycles ratio`, "share of the cycles in which something was done, or nothing", ""},
	{`(?:Total execution stalls|Stalls caused by (.+?)(?: rate)?|Execution stall rate)`, "cycles in which nothing was executed: $1", ""},
}

// amdMore are names of rocprof and rocprof-compute beside those of amdNames:
// facts of a launch, and the finer counters of the caches.
var amdMore = [][3]string{
	{`(?:Accum_|Arch_)?VGPR(?:_Count)?`, "vector registers of a work item: a property of the compiled kernel, no counter", "register"},
	{`SGPR(?:_Count)?`, "scalar registers of a wavefront: a property of the compiled kernel, no counter", "register"},
	{`Scratch_Per_Workitem|Scratch_Size|Private_Segment_Size`, "private memory of a work item, spilled registers among it: a property of the compiled kernel", "byte"},
	{`LDS_Per_Workgroup|LDS_Block_Size|Group_Segment_Size`, "local data share that a work group declares: a property of the compiled kernel", "byte"},
	{`Wave_Size`, "work items of a wavefront", "work item"},
	{`SQ_CYCLES`, "cycles of a sequencer's clock", "cycle"},
	{`SQ_ITEMS`, "work items launched", "work item"},
	{`SQ_INSTS_EXP_GDS`, "instructions that export, or use the global data share", "wavefront instruction"},
	{`SQ_INSTS_VSKIPPED`, "vector instructions skipped", "wavefront instruction"},
	{`SQ_VALU_MFMA_BUSY_CYCLES`, "cycles in which the matrix units were busy", "cycle"},
	{`SQC_TC_(?:INST|DATA)?_?(READ|WRITE|ATOMIC)?_?REQ`, "requests of the instruction and scalar caches to L2 $1", "request"},
	{`SQC_DCACHE_ATOMIC`, "atomics of the scalar cache", "request"},
	{`SQC_\w*(?:STALL|READYB)`, "cycles that the instruction or scalar cache waited", "cycle"},
	{`TCC_CYCLE`, "cycles of L2's clock", "cycle"},
	{`TCC_BUSY`, "cycles in which L2 was busy", "cycle"},
	{`TCC_TAG_STALL|TCC_TOO_MANY_\w+_STALL`, "cycles that L2's tag lookup stalled", "cycle"},
	{`TCC_(?:PROBE|PROBE_ALL)`, "probes of L2 for coherence", "request"},
	{`TCC_(?:NC|UC|CC|RW|STREAMING)_REQ`, "requests to L2 of one coherence type (NC not coherent, UC uncached, CC coherent, RW read-write)", "request"},
	{`TCC_ALL_TC_OP_\w+`, "lines that L2 invalidated or wrote back on request", "line"},
	{`TCC_BUBBLE`, "reads of 128 bytes from L2 to memory", "request"},
	{`TCC_EA\d?_(RDREQ|WRREQ|ATOMIC)_LEVEL`, "requests of L2 to memory in flight, summed over cycles: with the number of requests, their latency", ""},
	{`TCC_EA\d?_(RD|WR)(?:REQ)?_(DRAM|UNCACHED_32B)`, "requests of L2 to memory, a part of them ($1 $2)", "request"},
	{`TCC_EA\d?_ATOMIC`, "atomics that L2 passed on to memory", "request"},
}

// clocks are counters that count a clock while the kernel runs, or the time
// that something was busy, idle or waiting: time in another unit. Their names
// do not say so in the words that split.TimeDerived looks for.
var clocks = regexp.MustCompile(`(?i)^(?:GRBM_(?:COUNT|GUI_ACTIVE|\w+_BUSY)|SQ_(?:BUSY|WAIT|WAVE_CYC|ACTIVE_INST|INST_CYC|INST_LEVEL)\w*|TCC_(?:CYCLE|BUSY|\w*LEVEL)\w*|` +
	`T[ACD]P?_\w*(?:BUSY|LATENCY|GATE_EN\d?)\w*|CP[CF]_\w*(?:BUSY|IDLE|STALL)\w*|SPI_\w*(?:BUSY|CSN_BUSY)\w*|(?:VALU|SALU|MemUnit|GPU|Mfma)\w*Busy|` +
	`PAPI_(?:TOT|REF)_CYC|PAPI_(?:STL|FUL)_[IC]CY|PAPI_MEM_[SRW]CY|PAPI_RES_STL|CPU_CLK_UNHALTED\w*|CPU_CLOCK\w*|(?:ACTUAL|MAX)_CPU_CLOCK|` +
	`CPU_CYCLES|TOPDOWN_SLOTS|topdown-\w+|SLOTS|(?:Uncore )?Clock|CPI|IPC|(?:PWR|RAPL)_\w+)(?:_sum|_avr|_avg|_max|_min)?(?: ?\[.*\])?$`)
