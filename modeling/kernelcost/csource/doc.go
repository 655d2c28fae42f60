// Package csource reads the C that kernels are written in: OpenCL C, and the
// kernels of CUDA C++ as far as their syntax is C with templates, references and
// the built-in variables. In flow a text and its macro definitions, out flow
// syntax trees of its functions.
//
// Reading never fails: what is not understood is a Bad statement or expression
// and a Problem with its line, and reading goes on behind it. A hostile text
// costs no more than its limits (tokens after expansion, depth of nesting).
//
// Names resolve while they are read, since C needs it: (x)(y) is a cast or a
// call, and a * b a declaration or a product, by what the names are. A variable
// of a function has a slot, a number of its own within that function.
//
// Why no grammar of tree-sitter: its grammar for C gives errors for address
// space qualifiers and takes a vector literal for a call, there is none for
// OpenCL, and macros have to be expanded before anything can be counted.
package csource
