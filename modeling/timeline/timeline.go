package timeline

import (
	"context"
	"fmt"
	"time"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/observe"
)

// Constants of the field, which Options can replace.
const (
	// LaunchTime is how long the call that launches a kernel takes at most, as a
	// rule: HTA's documentation of kernel launch statistics says 5 to 20 µs.
	LaunchTime = 20 * time.Microsecond
	// KernelWait is HTA's consecutive_kernel_delay: shorter gaps between kernels
	// that were queued are what it takes to start the next.
	KernelWait = 30 * time.Nanosecond
	// LongGap is from where Nsight Systems' rule gpu_gaps reports a gap.
	LongGap = 500 * time.Millisecond
	// Periods and LowUtilisation are those of Nsight Systems' rule
	// gpu_time_util: the window in 30 equal parts, reported below 50 %.
	Periods        = 30
	LowUtilisation = 0.5
	// SmallCopy is the size in bytes up to which a copy is small: CUDA copies so much
	// from pageable memory without waiting for the device (CUDA Runtime API, API synchronization
	// behavior), and Nsight Systems' rule cuda_memcpy_sync leaves it out.
	SmallCopy = 64 << 10
)

// Options say what to look at. Zero fields are the defaults.
type Options struct {
	// From and To are a window in the trace's time, in nanoseconds.
	From, To datasets.Null[int64]
	// Beside are further runs of the same recording, on the same clock:
	// rocprofv3 writes kernels, copies and calls in files of their own, and ranks
	// write one each. Runs of different formats are taken together; those of the same format
	// have devices of their own.
	Beside []int64
	// Gaps and Stretches are how many of the longest are kept per device; 20.
	Gaps, Stretches int
	// KernelWait, LongGap and SmallCopy replace the constants. LongGap is a
	// hundredth of the window where that is less.
	KernelWait, LongGap time.Duration
	SmallCopy           int64
	// StretchGap is the longest gap within a launch-bound stretch: 100 µs, a few
	// launches' worth of work of a framework between two calls.
	StretchGap time.Duration
	// StretchLaunches is how many launches make a stretch; 10.
	StretchLaunches int
}

func (o Options) withDefaults() Options {
	if o.Gaps <= 0 {
		o.Gaps = 20
	}
	if o.Stretches <= 0 {
		o.Stretches = 20
	}
	if o.KernelWait <= 0 {
		o.KernelWait = KernelWait
	}
	if o.SmallCopy <= 0 {
		o.SmallCopy = SmallCopy
	}
	if o.StretchGap <= 0 {
		o.StretchGap = 100 * time.Microsecond
	}
	if o.StretchLaunches <= 0 {
		o.StretchLaunches = 10
	}
	return o
}

// ID tells a device from others of a trace. What the trace does not say is
// absent.
type ID struct {
	Run    int64 // the first run of those that have its work
	Rank   datasets.Null[int64]
	PID    datasets.Null[int64]
	Device datasets.Null[int64]
}

// String is "device 0", with rank, process and run where they tell it from
// others.
func (id ID) String() string {
	s := "device n/a"
	if id.Device.Valid {
		s = fmt.Sprintf("device %d", id.Device.V)
	}
	if id.Rank.Valid {
		s = fmt.Sprintf("rank %d %s", id.Rank.V, s)
	}
	return s
}

// Wait is why a device was idle.
type Wait string

// Reasons for a gap; see the package comment.
const (
	HostWait    Wait = "host wait"
	KernelGap   Wait = "kernel wait"
	OtherWait   Wait = "other wait"
	UnknownWait Wait = "unknown"
)

// Waits are all reasons, in the order of reports.
var Waits = []Wait{HostWait, KernelGap, OtherWait, UnknownWait}

// Work is one piece of work of a device.
type Work struct {
	observe.Row
	Name   string // short name of a kernel, or direction of a copy
	Class  Class
	Stream datasets.Null[int64]
	Start  int64                // ns
	Dur    datasets.Null[int64] // ns
}

// Activity is what the host did within some time.
type Activity struct {
	observe.Row
	Name  string
	Class Class
	Time  time.Duration // of it within that time
}

// Calls are all calls of one name.
type Calls struct {
	observe.Row // of the longest
	Name        string
	Class       Class
	Count       int
	Time        time.Duration // the sum of durations
}

// Gap is a time in which a device was idle.
type Gap struct {
	From, To      int64 // ns
	Before, After Work  // what ended last, and what came next; no launch at the edges of a window
	Wait          Wait
	Host          []Activity // what the host did; filled in for the gaps that are kept
	Uncertain     bool       // work of unknown duration began within it
}

// Time is how long it was.
func (g Gap) Time() time.Duration { return time.Duration(g.To - g.From) }

// Stretch is a launch-bound stretch.
type Stretch struct {
	From, To    int64 // ns, from the first gap to the end of the last launch
	Launches    int
	Short       int // launches shorter than the call that made them
	Known       int // launches whose call is known
	Idle, Busy  time.Duration
	First, Last Work
	Top         string // the kernel with the most launches, the first by name of several
	Estimate    bool   // the calls of some are unknown
}

// Time is how long it was.
func (s Stretch) Time() time.Duration { return time.Duration(s.To - s.From) }

// Copies are the copies of one direction.
type Copies struct {
	Class       Class
	Count       int
	Sum         time.Duration // of durations
	Time        time.Duration // in which one runs or several
	Hidden      time.Duration // of Time, in which kernels run
	Bytes       float64
	Sized       int // copies whose size is known
	Small       int // of SmallCopy bytes or less
	SmallTime   time.Duration
	Pageable    int // from or to pageable memory
	PageTime    time.Duration
	Synchronous int // of a call that returns when the copy is done
	SyncTime    time.Duration
	Largest     []Work // the longest few
	Pages       []Work // the longest few with pageable memory
	Blocking    []Work // the longest few that are synchronous
}

// Stream is what one stream of a device did.
type Stream struct {
	Context, Stream datasets.Null[int64]
	Launches        int
	Busy            time.Duration // in which its work runs
}

// Bin is one decade of the lengths of gaps.
type Bin struct {
	From, To time.Duration // lengths of at least From and less than To
	Count    int
	Time     time.Duration
}

// Period is one of the equal parts of a window.
type Period struct {
	From, To int64 // ns
	Busy     time.Duration
}

// Tally is a number and the time it stands for.
type Tally struct {
	Count int
	Time  time.Duration
}

// Launches are what is known of the calls that launched kernels.
type Launches struct {
	Kernels int // kernels with start and duration
	Known   int // of them, those whose call is known
	Short   int // of these, shorter than the call
	Starved int // of these, called when the device had run dry
	Before  int // kernels that start before their call, which clocks that differ make; left out of the rest
	// Call and Latency are medians, to within 1 %: how long calls took, and the time
	// from the start of a call to the start of its kernel.
	Call, Latency time.Duration
	Worst         []Work // the longest latencies
	ShortWork     []Work // the first short kernels
}

// Device is what one device did in its window. Times of the breakdown
// (Compute, ExposedCommunication, ExposedCopy, Idle) add up to the window.
type Device struct {
	ID
	From, To int64 // ns
	Works    int   // pieces of work within the window
	Zero     int   // of them, those that take no time
	Unknown  int   // and those of unknown duration or start, which no time has

	Busy                 time.Duration // any work runs
	Kernel               time.Duration // a kernel runs
	Compute              time.Duration // a kernel runs that does not communicate
	Communication        time.Duration // a kernel runs that communicates
	HiddenCommunication  time.Duration // of it, while one runs that does not
	Copy                 time.Duration // a copy runs
	HiddenCopy           time.Duration // of it, while a kernel runs
	Memset               time.Duration
	ExposedCommunication time.Duration
	ExposedCopy          time.Duration // copies and memsets without any kernel
	Idle                 time.Duration

	Kernels        int             // launches of kernels
	Communications int             // of them, those that communicate
	Copies         []Copies        // by direction
	Concurrency    []time.Duration // i: time in which i kernels run at once; the last has all above, too
	Streams        []Stream
	Gaps           int // how many there are
	Longest        []Gap
	Lengths        []Bin
	Waits          map[Wait]Tally
	HostIdle       map[Class]time.Duration // what the host did while the device was idle; HostNone is none of what was traced
	HostTraced     bool                    // whether the trace has calls of the host at all
	Launch         Launches
	Stretches      []Stretch // those with the most idle time
	Bound          StretchTotal
	Parts          []Period
	CommWork       []Work // the longest kernels that communicate
	Uncertain      int    // gaps in which work of unknown duration began
}

// StretchTotal adds up all launch-bound stretches.
type StretchTotal struct {
	Count, Launches, Short int
	Idle, Busy             time.Duration
	Estimate               bool
}

// Window is how long the device was looked at.
func (d *Device) Window() time.Duration { return time.Duration(d.To - d.From) }

// Timeline is a recording.
type Timeline struct {
	Runs     []int64
	Devices  []Device
	Host     []Calls // what the host called, the longest in total first
	Findings []Finding
	Notes    []string
	Options  Options // with the defaults filled in

	parts  []part
	with   string        // common tables of queries
	owners map[owner]int // index of Devices
}

// Analyse reads the timeline of a run. A trace of a host alone gives a Timeline
// without devices, whose notes say so.
func Analyse(ctx context.Context, s *datasets.Store, run int64, opt Options) (*Timeline, error) {
	t := &Timeline{Runs: append([]int64{run}, opt.Beside...), Options: opt.withDefaults()}
	r := &reader{ctx: ctx, s: s, t: t}
	for _, step := range []func() error{r.runs, r.kinds, r.devices, r.overlap, r.sweep, r.calls} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("reading the timeline of run %d: %w", run, err)
		}
	}
	t.notes(r)
	t.find()
	return t, nil
}
