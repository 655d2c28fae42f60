// Package suite holds programs with room for improvement, each a target of the
// optimizer: sources, a description in TOML, inputs from a seed, at least five
// sizes besides the one that is optimized for, and bounds within which outputs are
// compared at sizes that are drawn. They are written for rooflab, as
// people write such code before anyone has looked at a profile, and are linked
// in, so that a test, a study or a newcomer has them wherever rooflab runs.
//
// In flows the name of a target, out flows its folder on disk:
//
//	path, err := suite.Write("stencil", "heat")
//	t, err := target.Load(path)
//	result, err := agents.Optimize(ctx, t)
//
// or, in a shell, rooflab optimize sample stencil heat and rooflab optimize
// heat/stencil.toml. A folder below targets with a file NAME.toml of its own name
// is a target; there is nothing else to register.
//
// Those in C, with what is slow in each, and why it is written so:
//
//	dot           one chain of additions: C's order of a sum, which the compiler keeps unless a tolerance frees it
//	histogram     logarithms of what is the same for a channel, for each event: the formula as a paper has it
//	nbody         pow(d2, 1.5) as in the formula, and sums in memory, which stores might change
//	scan          running sums and means down columns, as "for x, for y" reads
//	spmv          a division by the row's strength for each entry, and the sum of a row in memory
//	stencil       "for x, for y" over rows that lie along x: each access is a row away from the last
//	transpose     reads along rows are writes down columns, whose lines share few sets of a cache where rows are of 2^k bytes
//	seismicproxy  four kernels that count z innermost, as in Fortran, where x lies densest; two passes that could be one
//	xsproxy       tables that a store might change: their differences and quotients anew for each of five channels; for
//	              each detector what is the same for a particle; the logarithm of the range of energies for each particle
//
// Those in OpenCL C, which PoCL runs on a processor:
//
//	accuracy      the rank of the right class is counted in memory, under a branch
//	bilateral     a general power for a square; the first dimension counts rows, so that neighbours lie a row apart
//	gemm          each element reads a row and a column of its own; the first dimension counts rows
//	reduction     each product is added atomically to the one place that all work-items share
//	sobol         coordinates lie in memory while a loop changes them, and neighbours write far apart
//
// What is slow in them is what compilers leave as it is for a reason: they may not
// reorder sums, may not know that arrays are apart, do not exchange loops. There is
// also what no transformation helps: the sums along rows in scan stay a chain, the
// search in a grid in xsproxy a loop whose length nobody knows, and transpose gains
// little at sizes other than its own.
package suite
