package stalls

import "strings"

// Group is what kind of thing a warp waits for.
type Group string

// Groups of reasons.
const (
	Issuing  Group = "issuing"         // no stall
	Ready    Group = "ready"           // could issue, another warp did
	Memory   Group = "memory"          // data, or a queue to the memory
	Sync     Group = "synchronisation" // other warps
	Compute  Group = "compute"         // a result, or a busy unit
	Fetch    Group = "fetch"           // the next instruction
	Finished Group = "finishing"       // the end of the warp
	OtherWay Group = "other"
)

// Reason is what is known about a stall reason.
type Reason struct {
	Name      string // as this package writes it
	Group     Group
	Meaning   string
	Remedy    string   // what usually helps
	Spellings []string // of tools, besides the name
}

// Reasons are the stall reasons that this package knows: those of NVIDIA's
// hardware since Volta, those that CUPTI had before (old_...), those of AMD's
// stochastic sampling, of Intel's EU stall sampling, and perf's stall events.
// Other names are kept as the profile has them.
var Reasons = []Reason{
	{"selected", Issuing, "The warp was picked and issued an instruction.", "None: this is work being done.", []string{"issued", "inst_issued", "no_stall"}},
	{"not_selected", Ready, "The warp could issue, but the scheduler picked another one.", "Enough warps are ready: fewer warps, each with more registers or more independent work, lose nothing.", []string{"nsel", "arbiter_not_win"}},
	{"long_scoreboard", Memory, "The warp waits for data from global, local, surface or texture memory (through L1TEX).", "Touch less memory and touch it better: coalesce, reuse through shared memory or registers, load earlier than needed (unroll, prefetch, asynchronous copies), or keep more warps in flight.", []string{"long_sb"}},
	{"short_scoreboard", Memory, "The warp waits for a result from the MIO pipes: shared memory, special functions, or conversions of slow kinds.", "Remove bank conflicts, read shared memory in wide accesses, keep values in registers, put independent work between the request and its use, use fewer transcendental functions.", []string{"short_sb"}},
	{"lg_throttle", Memory, "The queue for local and global memory instructions is full.", "Issue fewer, wider accesses (vector loads and stores), avoid register spills to local memory, spread accesses among arithmetic.", []string{"lg"}},
	{"mio_throttle", Memory, "The queue of the MIO pipes is full: shared memory, special functions, dynamic branches.", "Fewer and wider shared-memory accesses, values exchanged by shuffles, fewer special functions in a row.", []string{"mio"}},
	{"tex_throttle", Memory, "The queue of the texture unit is full; on some chips FP64 work also goes through it.", "Fewer texture and surface accesses at once, plain global loads where locality allows it; where FP64 is behind it, less double precision.", []string{"tex"}},
	{"math_pipe_throttle", Compute, "The execution pipe that the instruction needs is busy.", "Spread work over different pipes, use cheaper operations (lower precision, fused multiply-add, tensor instructions), or remove work that is redundant: the kernel is near this pipe's rate.", []string{"math", "math_pipe", "pipe_busy", "pipe", "stl_pipe"}},
	{"wait", Compute, "The warp waits out the fixed latency of its last instruction.", "More independent instructions per warp (unroll, several accumulators), or more warps to hide the latency.", nil},
	{"barrier", Sync, "The warp waits for others of its block at a barrier.", "Balance the work between barriers, use smaller blocks or barriers of a single warp, and remove barriers that nothing needs.", []string{"sync", "synchronization", "barrier_wait"}},
	{"membar", Sync, "The warp waits for a memory fence to complete.", "Fences of smaller scope (block instead of device), fewer of them, fewer outstanding writes before them.", []string{"memory_barrier"}},
	{"branch_resolving", Fetch, "The warp waits until the target of a branch is known.", "Fewer jumps: unroll, predicate short branches, inline calls, sort work so that threads of a warp agree.", []string{"branch", "branching", "branch_resolve"}},
	{"no_instructions", Fetch, "The next instruction is not there: a miss of the instruction cache, or a jump over a distance.", "Smaller code: less unrolling and inlining, loops that fit into the instruction cache; bigger grids when kernels are very short.", []string{"no_instruction", "no_inst", "no_instruction_available", "inst_fetch", "instruction_fetch", "ifet", "stl_ifet"}},
	{"imc_miss", Memory, "A constant that is named in an instruction missed in the constant cache.", "Fewer distinct constants, the same address for all threads of a warp, values passed in registers or as compile-time constants.", []string{"imc", "constant_memory_dependency", "constant_memory", "cmem", "stl_cmem"}},
	{"dispatch_stall", Compute, "The dispatcher held the warp back: a conflict of resources though the instruction was ready.", "Rarely large; look for conflicts of register banks and heavy use of one pipe.", []string{"dispatch"}},
	{"drain", Finished, "The warp has ended but its writes to memory are on their way.", "Coalesced and fewer stores at the end of the kernel, or store earlier; longer-lived threads.", nil},
	{"sleeping", Sync, "All threads of the warp sleep or have yielded.", "Shorter sleeps; wait on a barrier or a flag with less polling.", []string{"sleep", "sleep_wait", "slp", "stl_slp"}},
	{"misc", OtherWay, "Another reason that the hardware does not tell.", "None in general.", []string{"other", "othr", "stl_othr", "miscellaneous"}},
	{"gmma", Compute, "The warp waits for an asynchronous matrix operation of its warp group.", "Keep several matrix operations in flight, overlap them with the loads of the next tile, and wait for them late.", []string{"warpgroup_arrive", "wgmma"}},
	{"old_exec_dependency", Compute, "The warp waits for the result of an earlier instruction (sampling before Volta).", "More independent instructions per warp, or more warps.", []string{"exec_dependency", "execution_dependency", "idep", "stl_idep"}},
	{"old_memory_dependency", Memory, "The warp waits for data from memory (sampling before Volta).", "As for long_scoreboard.", []string{"memory_dependency", "gmem", "stl_gmem"}},
	{"old_memory_throttle", Memory, "Too many memory operations are pending (sampling before Volta).", "As for lg_throttle.", []string{"memory_throttle", "mthr", "stl_mthr"}},
	{"old_texture", Memory, "The texture unit is busy or data from it is awaited (sampling before Volta).", "As for tex_throttle.", []string{"texture", "tmem", "stl_tmem"}},
	{"amd_waitcnt", Memory, "The wave stands at s_waitcnt until memory operations have come back.", "As for long_scoreboard; move s_waitcnt away from the request by independent work between load and use.", []string{"waitcnt", "waitcnt_instruction"}},
	{"amd_alu_dependency", Compute, "The wave waits for the result of an arithmetic instruction.", "More independent instructions per wave, or more waves.", []string{"alu_dependency"}},
	{"amd_internal_instruction", OtherWay, "The wave executes an instruction that the sequencer handles itself.", "Rarely large.", []string{"internal_instruction"}},
	{"amd_arbiter_stall", Compute, "The wave was picked but its execution unit could not take the instruction.", "Spread work over different units; fewer operations of the one that is full.", []string{"arbiter_win_ex_stall", "arbiter_win_ex_stalled"}},
	{"amd_other_wait", OtherWay, "The wave waits for another reason (message, trap, scheduling).", "None in general.", []string{"other_wait"}},
	{"intel_sbid", Memory, "The thread waits for a scoreboard token: memory, sampler or another send.", "As for long_scoreboard.", []string{"sbid"}},
	{"intel_send", Memory, "The unit that sends messages to memory is busy.", "Fewer, wider accesses.", []string{"send"}},
	{"intel_dist_acc", Compute, "The thread waits for a result in a register or an accumulator.", "More independent instructions per thread.", []string{"dist_acc", "dist"}},
	{"intel_control", Fetch, "The thread waits for a branch or another control instruction.", "As for branch_resolving.", []string{"control"}},
	{"perf_frontend", Fetch, "Cycles in which the processor's front end delivered nothing to the back end.", "Smaller hot code, fewer mispredicted branches, better layout of code.", []string{"stalled_cycles_frontend", "idle_cycles_frontend", "topdown_fe_bound", "frontend_bound"}},
	{"perf_backend", Compute, "Cycles in which the processor's back end could take no work: memory or execution units.", "See whether memory (locality, prefetch) or execution (dependencies, divisions) holds it.", []string{"stalled_cycles_backend", "idle_cycles_backend", "topdown_be_bound", "backend_bound"}},
}

var byKey = func() map[string]*Reason {
	m := map[string]*Reason{}
	for i := range Reasons {
		r := &Reasons[i]
		m[key(r.Name)] = r
		for _, s := range r.Spellings {
			m[key(s)] = r
		}
	}
	return m
}()

// prefixes and suffixes are what tools write around a reason.
var (
	prefixes = []string{"smsp__pcsamp_warps_issue_stalled_", "smsp__pcsamp_warps_issue_", "smsp__average_warps_issue_stalled_", "smsp__average_warp_latency_issue_stalled_",
		"smsp__warps_issue_stalled_", "smsp__pcsamp_sample_", "cupti_activity_pc_sampling_stall_", "rocprofiler_pc_sampling_instruction_not_issued_reason_", "gins:", "warp_issue_stalled_", "issue_stalled_", "stalled_", "stall_"}
	suffixes = []string{"_not_issued", "_(not_issued)", "_per_warp_active", "_per_issue_active"}
)

var underscores = strings.NewReplacer(" ", "_", "-", "_")

// bare is a reason without what tools write around it, in lower case.
func bare(name string) string {
	r := strings.ToLower(strings.TrimSpace(name))
	r = underscores.Replace(r)
	if _, ok := perfStall[r]; ok {
		return r
	}
	if i := strings.LastIndexByte(r, '.'); i > 0 && (r[i:] == ".pct" || r[i:] == ".ratio" || r[i:] == ".sum") {
		r = r[:i]
	}
	for _, p := range prefixes {
		r = strings.TrimPrefix(r, p)
	}
	for _, s := range suffixes {
		r = strings.TrimSuffix(r, s)
	}
	return r
}

// perfStall are events whose names begin as other tools' prefixes do.
var perfStall = map[string]bool{"stalled_cycles_frontend": true, "stalled_cycles_backend": true}

func key(name string) string { return strings.ReplaceAll(bare(name), "_", "") }

// LookUp finds a reason by its name or by any spelling of a tool
// ("stall_long_sb", "Stall Long Scoreboard",
// "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued").
func LookUp(name string) (Reason, bool) {
	if r, ok := byKey[key(name)]; ok {
		return *r, true
	}
	return Reason{}, false
}

// Canonical is the name of a reason as this package writes it; a reason that
// it does not know keeps its name.
func Canonical(name string) string {
	if r, ok := byKey[key(name)]; ok {
		return r.Name
	}
	return name
}

// notIssuedOnly reports whether a reason's rows are the not-issued part of
// another reason's rows, which tools write as reasons of their own.
func notIssuedOnly(name string) bool {
	r := underscores.Replace(strings.ToLower(strings.TrimSpace(name)))
	return strings.HasSuffix(r, "_not_issued") || strings.HasSuffix(r, "_(not_issued)")
}
