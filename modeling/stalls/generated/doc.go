// Package generated makes stores of PC samples with known stalls, as large as
// wanted, to see what a digest of them takes and whether it loses anything.
//
// A Shape flows into Generate, out flows a store with the true stalls of every
// line; Digest digests a store and says what that took of its process, and
// Truth.Check compares the two.
package generated
