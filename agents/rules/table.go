package rules

var (
	memoryRules  = []string{"cache-misses", "l1d-misses", "simulated-d1-misses", "simulated-ll-misses", "dram-bound", "l1-bound", "l2-bound", "l3-bound", "latency-bound", "ipc", "static-stride"}
	computeRules = []string{"ipc", "vector-share", "mca-block-throughput", "*-bound"}
	gpuRules     = []string{"excess-sectors", "global-load-bytes-per-sector", "global-store-bytes-per-sector", "global-load-sectors", "global-store-sectors", "l1-hit-rate", "l2-hit-rate", "amd-l2-hit-rate", "dram-bound", "memory-pipe", "work-item-stride", "work-group-shape"}
)

// BuildRule is the rule of evidence that says what the commands of a build leave
// undone.
const BuildRule = "build-flags"

// Transformations are all that there are, in the order in which they are looked
// for.
var Transformations = []Transformation{
	{Name: "interchange", Title: "loops change places so that the inner one walks along rows", Gain: 0.7, Rules: memoryRules, Counts: []string{"D1mr", "D1mw", "DLmr"}, find: interchange,
		Precondition: "rectangular bounds; no dependence whose order would change; no floating-point sum over both loops"},
	{Name: "tiling", Title: "loops in blocks that stay in the cache", Gain: 0.5, Rules: memoryRules, Counts: []string{"D1mr", "D1mw", "DLmr"}, find: tiling,
		Precondition: "as interchange"},
	{Name: "scalar-replacement", Title: "an element that a loop updates is kept in a register", Gain: 0.3, Rules: append([]string{"memory-pipe", "repeated-access", "local-memory"}, computeRules...), Counts: []string{"Ir", "opencl.global_stores", "opencl.global_bytes"}, find: scalarReplacement,
		Precondition: "nothing else in the loop may touch the element; the loop has an iteration or the element was written before; so it was, or it is written unconditionally"},
	{Name: "hoisting", Title: "what is the same in all iterations is computed before", Gain: 0.2, Rules: append([]string{"special-functions", "global-reuse"}, computeRules...), Counts: []string{"Ir", "opencl.global_bytes", "opencl.special"}, find: hoisting,
		Precondition: "no store may change it; where it may fault it is computed only if the loop has an iteration"},
	{Name: "strength-reduction", Title: "cheaper operations with the same result", Gain: 0.3, Rules: append([]string{"special-functions"}, computeRules...), Counts: []string{"Ir", "opencl.special"}, find: strengthReduction,
		Precondition: "exact: powers of two, whole quotients; else only with Reassociate"},
	{Name: "restrict", Title: "the compiler is told that parameters do not overlap", Gain: 0.25, Rules: append([]string{"vector-share"}, computeRules...), Counts: []string{"Ir"}, find: restrict,
		Precondition: "all calls are seen and pass different arrays or allocations"},
	{Name: "vectorisation", Title: "the compiler is told that iterations are independent", Gain: 0.35, Rules: computeRules, Counts: []string{"Ir"}, find: vectorisation,
		Precondition: "no dependence between iterations of the inner loop; sums of integers, others only with Reassociate"},
	{Name: "threads", Title: "iterations are shared among processors", Gain: 0.45, Rules: []string{"cpus-utilized", "ipc", "*-bound"}, find: threads,
		Precondition: "no dependence between iterations of the outer loop; sums of integers, others only with Reassociate; the build has OpenMP"},
	{Name: "selection", Title: "a choice in place of a branch", Gain: 0.25, Rules: []string{"branch-misses", "divergence", "predication", "amd-active-threads"}, Counts: []string{"Bcm", "opencl.divergence"}, find: selection,
		Precondition: "both ways assign to the same place values of the same type; nothing new is stored"},
	{Name: "fusion", Title: "two loops over the same data become one", Gain: 0.25, Rules: memoryRules, Counts: []string{"D1mr", "DLmr", "Ir"}, find: fusion,
		Precondition: "the same bounds; no iteration needs or spoils what a later one of the other does"},
	{Name: "unrolling", Title: "the end of a loop is looked at less often", Gain: 0.1, Rules: []string{"ipc", "mca-block-throughput", "issue-slots", "latency-bound"}, Counts: []string{"Ir"}, find: unrolling,
		Precondition: "a short body without ways out; the compiler does it, in the same order"},
	{Name: "private-atomics", Title: "one atomic operation for all that a loop does to a place", Gain: 0.7, Rules: []string{"atomics", "divergence", "latency-bound", "memory-pipe"}, Counts: []string{"opencl.atomics"}, find: privateAtomics,
		Precondition: "integers; the place stays the same in the loop, is used otherwise nowhere in it, and old values are not used"},
	{Name: "coalescing", Title: "the dimensions of a kernel change places, so that neighbours touch neighbouring elements", Gain: 0.6, Rules: gpuRules, Counts: []string{"opencl.strided", "opencl.sector_bytes"}, find: coalescing,
		Precondition: "launches are square; the kernel knows its work-items by their global index only"},
	{Name: "staging", Title: "what a work-group shares is read into local memory once", Gain: 0.5, Rules: append([]string{"global-reuse"}, gpuRules...), Counts: []string{"opencl.strided", "opencl.sector_bytes", "opencl.global_bytes"}, find: staging,
		Precondition: "square work-groups of a size that is known; all work-items get there; indices are made of work-items, one counter and parameters"},
	{Name: "tree-reduction", Title: "a work-group adds as a tree in place of one work-item", Gain: 0.4, Rules: []string{"group-serial", "reason-barrier", "divergence", "predication", "amd-active-threads", "latency-bound", "eligible-warps"}, find: treeReduction,
		Precondition: "integers, or Reassociate; one element for each work-item; all get there"},
	{Name: "group-shape", Title: "work-groups long in the first dimension", Gain: 0.3, Rules: gpuRules, find: groupShape,
		Precondition: "sizes are written as numbers and divide; no kernel looks at its work-group"},
	{Name: "flags", Title: "more of the compiler's optimisations and of the processor's vectors", Gain: 0.3, Rules: append([]string{BuildRule}, computeRules...), Counts: []string{"Ir"}, find: flags,
		Precondition: "GCC; contraction is off, so that products and sums round as before; fast-math only with Reassociate"},
	{Name: buildFlags, Title: "the build asks for more of the compiler", Gain: 0.5, Rules: append([]string{BuildRule}, computeRules...),
		Precondition: "a line of a file of the build may be changed and has the flags that the compiler is seen to be given; contraction is off unless Reassociate; OpenMP only for pragmas that are there"},
}
