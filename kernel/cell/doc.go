// Package cell is the cell language: Go with imports, declarations,
// statements and expressions in any mixture.
//
// The source of a cell flows in, together with the State that earlier cells
// left; a Plan flows out: the generated Go files of one plugin, or errors at
// the user's own lines. Nothing here runs a process.
//
// All cells share one package. A plan holds the new cell and those earlier
// declarations that it can reach; variables are emitted as declarations
// without initialisers, because their memory (a symbol of an earlier plugin)
// is shared, and functions are compiled again, so that they always call the
// newest version of what they use. Types keep their identity as long as their
// definition, their methods and what these reach stay the same; a changed
// type gets a new symbol (a suffix that the front ends remove from text).
package cell
