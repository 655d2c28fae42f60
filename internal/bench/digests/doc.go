// Package digests measures what the digest of PC samples costs on tables that
// it makes itself: peak memory against a fixed bound, time against a plain
// read of the same table, and the digest's size against that of the samples.
//
// A Shape flows into Generate, out flows a store with the true stalls of every
// line; a Race digests it in a process of its own, compares what the digest
// kept with the truth, and gives a bench.Report.
package digests
