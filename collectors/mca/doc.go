// Package mca predicts how fast loops run on processors that are not here: it
// has llvm-mca simulate the innermost loops of a program for any processor that
// LLVM has a model of. In flow sources in C or C++, or assembly; out flow the
// records that the format "llvm-mca" makes of llvm-mca's report, one run for
// each processor, one region for each loop.
//
// Regions are those that the assembly marks with LLVM-MCA-BEGIN and
// LLVM-MCA-END; where it marks none, they are the innermost loops: from a label
// to the last jump back to it, with no other such pair within. A loop is named
// FUNCTION:LINE by the source line of its jump, or FUNCTION.LABEL where the
// assembly has no line numbers.
//
// A simulation knows nothing of caches and branch prediction: its cycles are a
// bound from below for code whose data is in the first cache.
package mca
