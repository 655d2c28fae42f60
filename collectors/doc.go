// Package collectors turns what profilers write into records of package
// datasets. Every format has a folder of its own below this one, which
// registers a Format; this package holds what they share, in the order in
// which a profile passes it:
//
//  1. Open finds the file's content: gzip is undone, the first bytes are kept.
//  2. Detect asks every registered Format how sure it is of them.
//  3. Format.Parse reads an Input, which knows lines and positions, and emits
//     records and warnings into an Output, as it reads: memory does not grow
//     with the file unless the format demands it.
//  4. Import does all of that within one transaction of a store.
//
// A file that breaks the rules of its format is a *SyntaxError, with line,
// column, what was found, what was expected and what to do. A file that is
// recognised and that rooflab does not read is an *UnsupportedError. What is
// odd but leaves no doubt about any value is a Warning, and reading goes on.
// No parser panics, and none makes up a value: what a tool did not measure has
// a status instead.
//
// Live collectors measure now instead: each is a Collector, which `rooflab
// collect` and Collect run over a Job. Gather keeps what it emits until it is
// whole, Gathered.Store writes it in one transaction. Package process runs the
// measured command and kills it whole; package host tells on which machine.
//
// A program that reads profiles imports the formats that it wants, or all:
//
//	import _ "github.com/rooflab/rooflab/collectors/all"
package collectors
