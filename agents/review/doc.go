// Package review is what a person sees of a candidate, and what they decide.
//
// In flow the diff of a candidate, its edits with what became of them, the
// report that they cite and the metrics before and after. Out flow Hunks, each
// with the evidence that its edits cite and their predictions beside what was
// measured, as HTML for notebooks and pages and as text for terminals; and, the
// other way, Decisions, which a run's folder keeps. Package review/chart draws
// what moved.
//
// Text of models, sources and profiles is shown as text: nothing in it is
// markup, and none of it is trusted.
package review
