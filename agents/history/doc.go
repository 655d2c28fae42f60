// Package history is what optimizers remember from run to run: attempts (the
// evidence and code that were there, the edit, what came of it) and ends of runs.
//
// In flow Attempts and Ends, which Store.Add appends to a file of JSON lines, each
// once, whoever else writes there. Out flow a Log of them, and from a Log:
//
//	Similar    the attempts in the situations most like a given one, for a prompt
//	Gains      what each transformation has gained in situations like it, for the rules
//	Backends   a table by backend: runs, candidates, gains, evidence-aligned scores
//	Judges     how well predictions that were made before measuring came true
//
// A line that is damaged, such as the last one of a process that was killed, is
// left out and said. Edits that hold what looks like a key or password are kept
// without their text. The file is on this machine alone; what a backend is told
// from it, the caller decides.
package history
