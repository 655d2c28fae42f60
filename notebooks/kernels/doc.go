// Package kernels is a set of small floating-point kernels for the CPU whose
// work is known exactly, and a stopwatch for them. The notebooks measure them,
// and the profiles in ../data were recorded with them.
//
// In flow a kernel and a size, out flows a Sample: how long one call took, and
// how many operations it executed and bytes it moved. The counts come from the
// source of the kernel (a product of n x n matrices is n^3 multiplications),
// not from hardware counters, which virtual machines seldom give.
//
// All numbers are float64. What is called "add" and "mul" here may be fused
// by the compiler of some architectures; the flop count is the same.
package kernels
