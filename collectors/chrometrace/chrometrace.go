// Package chrometrace reads traces in the Trace Event Format: what Chrome,
// Perfetto's legacy export, PyTorch's profiler (Kineto), JAX, VizTracer,
// clang -ftime-trace, Bazel and many others write. In flow an array of events,
// bare or within an object, out flow one run, a forest of regions and a launch
// per event. Files of any size are read in bounded memory: the text passes
// through a window, events are sorted by time in a temporary file.
//
// How events become records:
//
//   - A complete event (X), a pair B/E, an asynchronous pair b/e, and an
//     instant (i, I, R, n) is one launch, with start and duration; times are
//     microseconds whatever displayTimeUnit says, which is how viewers show
//     them. Integers, decimals and strings of them are read exactly, to the
//     nanosecond. Instants have no duration, neither has a B without an E.
//   - The region of a launch is its name and category below the region of the
//     event around it: the innermost event of the same process and thread
//     that was open when it started and that it does not outlast. The same name and
//     category below the same region is one region, whatever the thread.
//     Where times are whole microseconds, which tracers truncate to, an event
//     may outlast the one around it by one. Events that overlap without
//     nesting are siblings, and counted in a warning.
//   - An E ends the innermost B of its name on its thread, or the innermost of
//     all where it has no name. One that matches none is warned about.
//   - Asynchronous events with the same id nest in each other, not in threads.
//   - Counter events (C) are telemetry; the sensor is the name, "name/series"
//     where there are several series.
//   - Flow events (s, t, f) are attributes "flow s CATEGORY" of the launch
//     around them, of the run where there is none; the value is the id.
//   - Numbers among args are counters, texts and lists attributes. Numbers that
//     identify rather than measure (correlation, External id ...) are
//     attributes too. What an E adds has the instance "end".
//   - Metadata (M) and what stands beside the events are attributes of the run.
//     How many events of each phase and category there are is one too,
//     "events X cpu_op".
//   - The counter dur of a region is the sum over its launches.
//
// For PyTorch, kernels are regions of kind kernel with device, stream, grid,
// block, registers and shared memory at the launch; operators and Python
// functions are functions, annotations ranges. distributedInfo gives the rank,
// deviceProperties the machine, [memory] events are telemetry too. Kernels,
// copies and waits of a stream are roots, or below a gpu_user_annotation, never
// below each other. They are not below the operators that launched them, since
// they run beside them: the attribute correlation joins a kernel with the
// cudaLaunchKernel within its operator. Ranges of the CUPTI range profiler have
// counters, and no duration: Kineto divides the time of the recording by their
// number. An event of TensorFlow or JAX with kernel_details is a kernel.
package chrometrace

import (
	"bytes"
	"context"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "chrome-trace",
		About:   "Trace Event Format (Chrome, Perfetto, PyTorch profiler, VizTracer ...), JSON",
		Version: 1,
		Detect:  detect,
		Parse:   parse,
	})
	collectors.Register(collectors.Format{
		Name:    "pytorch-execution-trace",
		About:   "PyTorch execution trace (recognised, not read)",
		Version: 1,
		Detect:  detectExecution,
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			return &collectors.UnsupportedError{File: in.Name, What: "an execution trace of PyTorch, a graph of operators and tensors without any time",
				Hint: "import the trace of torch.profiler that was recorded beside it (*.pt.trace.json)"}
		},
	})
}

func init() {
	collectors.Register(collectors.Format{
		Name:    "perfetto-trace",
		About:   "Perfetto's own traces, also of rocprofv3 (.pftrace): recognised, to be converted first",
		Version: 1,
		// Messages of protobuf have no magic number: each packet is field 1.
		Detect: func(h collectors.Head) collectors.Confidence {
			named := strings.HasSuffix(h.Name, ".pftrace") || strings.HasSuffix(h.Name, ".perfetto-trace")
			if named && len(h.Bytes) > 0 && h.Bytes[0] == '\n' && bytes.IndexByte(h.Bytes, 0) >= 0 {
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			return &collectors.UnsupportedError{File: in.Name, What: "a trace in Perfetto's own format",
				Hint: "convert it with Perfetto's traceconv (traceconv json FILE trace.json) and import trace.json; rocprofv3 writes what rooflab reads with --output-format csv json"}
		},
	})
}

func detect(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	if len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return collectors.No
	}
	has := func(s string) bool { return bytes.Contains(b, []byte(s)) }
	if b[0] == '{' {
		switch {
		case has(`"traceEvents"`):
			return collectors.Certain
		case has(`"schemaVersion"`) && (has(`"deviceProperties"`) || has(`"computeProperties"`) || has(`"distributedInfo"`)):
			return collectors.Certain
		case has(`"distributedInfo"`), has(`"deviceProperties"`) && strings.Contains(h.Name, "trace"):
			return collectors.Likely
		}
		return collectors.No
	}
	b = bytes.TrimLeft(b[1:], " \t\r\n")
	switch {
	case len(b) == 0 || b[0] != '{':
		return collectors.No
	case has(`"ph"`) && (has(`"ts"`) || has(`"pid"`)):
		return collectors.Certain
	case has(`"ph"`):
		return collectors.Likely
	}
	return collectors.No
}

func detectExecution(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	has := func(s string) bool { return bytes.Contains(b, []byte(s)) }
	if len(b) > 0 && b[0] == '{' && has(`"nodes"`) && (has(`"rf_id"`) || has(`"op_schema"`) || has(`"ctrl_deps"`) && has(`"schema"`)) {
		return collectors.Certain
	}
	return collectors.No
}
