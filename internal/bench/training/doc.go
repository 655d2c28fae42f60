// Package training races a training step of rooflab on XLA's CPU plugin
// against PyTorch's eager mode: forward, backward and Adam, in float32, for
// the architectures in Architectures. The program to race flows in, a
// bench.Report flows out.
//
// Each side of an architecture is a process of its own that lives through all
// rounds, and the sides take turns: a few steps of ours, a few of the peer's.
// Both begin with the same weights and the same batch, and the losses of their
// first steps are compared, since a side that leaves something out is fast.
// Memory is the peak of the resident set (VmHWM) of a side's process. The peer
// comes from PyPI into a virtual environment of ours (package pypi).
package training
