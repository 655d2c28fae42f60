// Package kernels races two Jupyter kernels: ours against stock GoNB, the same
// cells, driven in the same way by the same client. Kernels to start flow in,
// a bench.Report flows out.
//
// The client speaks the wire protocol over ZeroMQ, as Jupyter's own does. A
// cell's time runs from sending execute_request until both execute_reply and
// the idle status have arrived. Both kernels are alive at the same time and
// take turns cell by cell, so that the noise of the machine hits both; the
// other one idles meanwhile. Every cell's output is checked: a kernel that
// fails fast must not win.
package kernels
