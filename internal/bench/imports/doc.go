// Package imports races `rooflab import` against what people import profiles
// with now, on profiles that it makes itself: one long Nsight Compute CSV
// against pandas (read_csv and pivot_table), many Caliper files against
// Thicket, and a long Chrome trace against a bound on memory. The program to
// race flows in, a bench.Report flows out.
//
// Every side is a process of its own, measured from outside: wall time, and
// the peak of resident memory that the system reports at its end. What was
// read is checked on both sides, since a reader that loses rows is fast. The
// peers come from PyPI, at pinned versions, into a virtual environment of ours
// in the user's cache.
package imports
