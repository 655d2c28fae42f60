// Package syntax reads C, C++ of the C kind, OpenCL C and CUDA into trees that
// keep where everything stands, for changing source text in place.
//
// In flows a text, out flows a File: its functions with their parameters and
// statements, each node with the range of bytes that it covers, and each name
// with the variable that it means. Macros that the text defines are expanded for
// the tree, whose nodes then cover the name of the macro in the text: what stands
// in them can be understood, and cannot be changed.
//
// Reading never fails. What is not understood is a node of kind Bad and a
// Problem of its function, so that whoever wants to be sure can ask for neither.
//
// Why not package csource of modeling/kernelcost, which counts: it expands macros
// away and keeps no ends. Why not tree-sitter: its grammar for C gives errors for
// address spaces and vector literals, there is none for OpenCL, and a name has to
// be resolved before it can be moved.
package syntax
