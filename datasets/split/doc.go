// Package split deals rows to training, calibration and test so that what a
// model is asked about is really new to it, and finds leaks: ways in which the
// answers could reach a model by another road.
//
// A split is by an axis: by kernel, by program, by machine or by input. Rows
// that agree on the axis stand on one side; random rows of the same kernel on
// both sides measure memory rather than understanding. In flow one key per row
// (Keys takes them from a store, Column from a dataframe) and a seed; out flow
// row numbers. The same keys and the same seed always give the same split, in
// whatever order the rows come.
package split
