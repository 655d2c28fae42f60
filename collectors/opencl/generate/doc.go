// Package generate makes OpenCL kernels to learn from: in flow a seed and a
// number, out flow kernels with launches whose arguments are within bounds, and
// job files with which package opencl measures them.
//
// A kernel follows one of the Patterns (map, stencil, reduction, scan, matrix
// products, sparse and irregular ones, sorting steps, ...) with random choices
// of types, tiling, access order, arithmetic and launch shape, or is a random
// composition. The idea of learning runtimes from generated OpenCL kernels with
// solved arguments is LLMPerf's (Nguyen et al. 2025).
//
// # Bounds
//
// Each access of a kernel is written through an index expression, whose
// variables carry their ranges: work-item ids from the launch, loop variables
// from their loops, loaded indices from what their buffers hold, all narrowed
// by the conditions around them. For a launch, interval arithmetic over these
// gives the greatest index that each buffer sees, and so its size; it also gives
// how many accesses are executed, by which sizes are chosen so that launches
// last from microseconds to tenths of a second.
package generate
