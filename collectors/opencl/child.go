package opencl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/rooflab/rooflab/collectors"
)

// childCommand is the first argument of a process that runs kernels.
const childCommand = "opencl-child"

// childMark keeps a program that does not know the argument from starting
// itself again and again.
const childMark = "ROOFLAB_OPENCL_CHILD"

// request is what the collector asks of a child: one program. A child answers
// requests until its input ends.
type request struct {
	Platform, Device string
	Program          program
	From             int     // the first of the program's launches to run
	Reinit           bool    // inputs are written again before every launch
	Settle           float64 // see settled; 0 takes the launch's repeats and no more
}

// message is what a child says, one JSON object a line. One field is set.
type message struct {
	Hello       int                      `json:",omitempty"` // the version of this protocol
	Unavailable *collectors.MissingError `json:",omitempty"`
	Device      *deviceFacts             `json:",omitempty"`
	Build       *buildResult             `json:",omitempty"`
	Kernel      *kernelFacts             `json:",omitempty"`
	Begin       *int                     `json:",omitempty"` // which launch comes now
	Launch      *launchResult            `json:",omitempty"`
	Timing      *timing                  `json:",omitempty"`
	Done        bool                     `json:",omitempty"`
}

// ns is the time on the device, as the host saw it where the device does not say.
func (t timing) ns() float64 {
	if t.Profiled {
		return float64(t.End - t.Start)
	}
	return float64(t.HostNs)
}

const protocol = 1

type buildResult struct {
	Log   string
	Error string
}

type kernelFacts struct {
	Name     string
	Features map[string]float64
	Facts    []fact
}

// launchResult is said of a configuration before its timings.
type launchResult struct {
	Error   string
	Outputs []output
	Bytes   uint64 // of all buffers
}

type output struct {
	Name string // of the argument, or its number
	contents
}

// timing is one timed execution.
type timing struct {
	Queued, Submit, Start, End uint64 // ns, by the device's clock
	Profiled                   bool   // the device gave these four
	HostNs                     int64
	AtNs                       int64 // when the call began, since the child's first launch
}

// ServeIfAsked runs kernels for a collector of another process and does not
// return, where the process was started for that; else it does nothing. A
// program that collects with this package calls it before anything else in
// main.
func ServeIfAsked() {
	if len(os.Args) == 2 && os.Args[1] == childCommand && os.Getenv(childMark) != "" {
		Serve()
	}
}

// Serve reads one request from standard input and answers on descriptor 3. It
// ends the process.
func Serve() {
	out := os.NewFile(3, "answers")
	if _, err := out.Stat(); err != nil {
		fmt.Fprintln(os.Stderr, "this command is for rooflab itself: `rooflab collect opencl` starts it")
		os.Exit(2)
	}
	runtime.LockOSThread()
	if err := serve(os.Stdin, json.NewEncoder(out)); err != nil {
		fmt.Fprintln(os.Stderr, "opencl:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(in io.Reader, out *json.Encoder) error {
	if err := out.Encode(message{Hello: protocol}); err != nil {
		return err
	}
	requests := json.NewDecoder(in)
	var r *runner
	for {
		var req request
		if err := requests.Decode(&req); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading the request: %w", err)
		}
		if r == nil {
			var err error
			r, err = newRunner(req, out)
			var missing *collectors.MissingError
			if errors.As(err, &missing) {
				return errors.Join(out.Encode(message{Unavailable: missing}), out.Encode(message{Done: true}))
			}
			if err != nil {
				return err
			}
		}
		if err := out.Encode(message{Device: &r.facts}); err != nil {
			return err
		}
		if err := r.run(req); err != nil {
			return err
		}
		if err := out.Encode(message{Done: true}); err != nil {
			return err
		}
	}
}
