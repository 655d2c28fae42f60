// Package llvm looks at programs without running them: clang translates C, C++
// or OpenCL C to LLVM's intermediate representation (IR), which this package
// parses and analyses itself. In flow sources, out flow the instructions as
// code, and static features of functions and loops.
//
// A run is one source with its options. A region is a function (a kernel, for
// OpenCL, CUDA and HIP); its loops are regions within it, nested as they are,
// named FUNCTION:LINE. Loops are natural ones, found in the control flow by
// dominators, so that irreducible cycles are none. Code is one row per
// instruction, isa "llvm-ir", with the source line where debug information has
// it; offset is its place in the function.
//
// Features of a function are counts over its text, of a loop counts over one
// iteration, without the loops within. They are
//
//	instructions, blocks, edges, cyclomatic, args, loops, loops_innermost,
//	loop_depth_max; of a loop loop_depth, innermost, latches
//	op.NAME, group.NAME        instructions by opcode and by kind
//	loads, stores, atomics, load_bytes, store_bytes, global_bytes, local_bytes
//	flop, flop.TYPE            lanes count each, fma is 2
//	arithmetic_intensity       flop / (load_bytes + store_bytes), none without bytes
//	calls, calls_indirect, calls_math, intrinsics, barriers
//	branches_conditional, branches_item_dependent
//	access.loop.PATTERN        accesses by how their address changes from one
//	                           iteration of the innermost loop to the next
//	access.item.PATTERN        and from one work-item to its neighbour
//
// PATTERN is constant, unit (the size of the access), strided, indirect (as a
// loaded value says) or unknown. Strides come from following addresses back to
// loop counters and work-item ids as sums; a load is taken to give the same
// value as long as its address is the same. Debug and lifetime intrinsics are
// not counted.
//
// Counts are of the IR that the chosen optimisation makes of the source. With
// -O1, the default, values are in registers and loops are as they were written;
// -O2 vectorises and unrolls.
package llvm
