// Package run is the collector "run": it runs a command, several times if
// asked, and keeps what the kernel counts of any process: time, memory, page
// faults, context switches. In flows a command, out flows one run, with one
// region for the command and one launch for each repeat.
//
// Counters of each launch:
//
//	time.wall             s      from the start of the command to its end
//	time.user             s      in user mode, over the command and all descendants that it waited for
//	time.system           s      in the kernel, likewise
//	memory.rss.max        byte   peak resident memory of the largest process
//	memory.tree.rss.max   byte   most that the process tree had at one of the times that were looked at
//	process.count.max     process  most processes that there were at one of them
//	page_fault.minor      fault  served without a device
//	page_fault.major      fault  that waited for a device
//	context_switch.voluntary, context_switch.involuntary   switch
//	io.block.read, io.block.write   block  of 512 bytes, from and to devices
//	exit_status           -      where a signal ended the command: n/a
package run

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.RegisterCollector(collectors.Collector{
		Name:    "run",
		About:   "any command: time, CPU time, memory, page faults, context switches, for each repeat",
		Version: 1,
		New:     newRun,
	})
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

type options struct {
	repeats, warmup int
	inputs          list
	stdin           string
	quiet           bool
	sample          time.Duration
	timeout         time.Duration
}

func newRun(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	o := &options{}
	fs.IntVar(&o.repeats, "repeats", 1, "how often the command is measured")
	fs.IntVar(&o.warmup, "warmup", 0, "how often it runs before that, unmeasured")
	fs.Var(&o.inputs, "input", "a file that the command reads: its content goes into the input hash (may be given several times)")
	fs.StringVar(&o.stdin, "stdin", "", "standard input of each repeat, a file, which goes into the input hash too")
	fs.BoolVar(&o.quiet, "quiet", false, "drop what the command writes")
	fs.DurationVar(&o.sample, "sample", 10*time.Millisecond, "how often the memory of the process tree is looked at; 0 does not look")
	fs.DurationVar(&o.timeout, "timeout", 0, "end a repeat that takes longer: it has failed; 0 waits for ever")
	return o.collect
}

func (o *options) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	switch {
	case len(job.Command) == 0:
		return errors.New("no command to run: name it after --")
	case o.repeats < 1:
		return fmt.Errorf("--repeats %d: it takes 1 at least", o.repeats)
	case o.warmup < 0:
		return fmt.Errorf("--warmup %d: it takes 0 at least", o.warmup)
	}
	inputs := o.inputs
	if o.stdin != "" {
		inputs = append(inputs, o.stdin)
	}
	subject, err := process.Describe(ctx, job, inputs...)
	if err != nil {
		return err
	}
	run := subject.Run("rooflab", "", "run")
	run.TimeMetric, run.TimeInclusive = "time.wall", true
	var results []process.Result
	for i := range o.warmup + o.repeats {
		r, err := o.once(ctx, job, out, i)
		if err != nil {
			return err
		}
		if i < o.warmup {
			if !r.OK() {
				return o.emit(out, subject, failed(run, fmt.Sprintf("warm-up %d of %d", i+1, o.warmup), r), nil)
			}
			continue
		}
		if i == o.warmup {
			run.Started = datasets.Some(r.Start.UTC())
		}
		results = append(results, r)
		if r.LeftOver {
			out.Warn(0, 0, "repeat %d left processes running; they take time from what is measured after it", i-o.warmup+1)
		}
		// A command that fails once measures something else: what was measured
		// stays, and it is not run again.
		if !r.OK() {
			run = failed(run, fmt.Sprintf("repeat %d of %d", i-o.warmup+1, o.repeats), r)
			break
		}
	}
	return o.emit(out, subject, run, results)
}

func failed(run datasets.Run, which string, r process.Result) datasets.Run {
	run.Status, run.Error = datasets.RunFailed, fmt.Sprintf("%s: the command ended with %s", which, r)
	return run
}

// once runs the command for the i-th time.
func (o *options) once(ctx context.Context, job collectors.Job, out *collectors.Output, i int) (process.Result, error) {
	c := process.Command{Argv: job.Command, Dir: job.Dir, Stdout: job.Stdout, Stderr: job.Stderr, Tree: o.sample}
	if o.quiet {
		c.Stdout, c.Stderr = nil, nil
	}
	switch {
	case o.stdin != "":
		path := o.stdin
		if !filepath.IsAbs(path) {
			path = filepath.Join(job.Dir, path)
		}
		f, err := os.Open(path)
		if err != nil {
			return process.Result{}, err
		}
		defer f.Close()
		c.Stdin = f
	case job.Stdin == nil:
	case o.warmup+o.repeats == 1:
		c.Stdin = job.Stdin
	default: // each repeat is to read the same
		f, ok := job.Stdin.(io.Seeker)
		if _, err := seek(f, ok); err == nil {
			c.Stdin = job.Stdin
		}
	}
	if o.timeout <= 0 {
		return process.Run(ctx, c)
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	r, err := process.Run(limited, c)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		out.Warn(0, 0, "a repeat was ended after --timeout %s", o.timeout)
		r.TimedOut = true
		return r, nil
	}
	return r, err
}

func seek(s io.Seeker, ok bool) (int64, error) {
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return s.Seek(0, io.SeekStart)
}

func (o *options) emit(out *collectors.Output, subject *process.Subject, run datasets.Run, results []process.Result) error {
	if err := subject.Put(out, run); err != nil {
		return err
	}
	for _, a := range [][2]string{{"run.repeats", strconv.Itoa(o.repeats)}, {"run.warmup", strconv.Itoa(o.warmup)}, {"run.memory_sample_interval", o.sample.String()}} {
		if err := out.Put(&datasets.Attribute{Run: 1, Name: a[0], Value: a[1]}); err != nil {
			return err
		}
	}
	if len(results) == 0 {
		return nil
	}
	if err := subject.PutLaunches(out, results...); err != nil {
		return err
	}
	for i, r := range results {
		launch := int64(i + 1)
		for _, c := range counters(r, o.sample > 0) {
			c.Run, c.Region, c.Launch = 1, 1, launch
			if err := out.Put(&c); err != nil {
				return err
			}
		}
		if r.Usage.Seen && r.Usage.MaxRSS > 0 {
			a := datasets.Attribute{Run: 1, Region: 1, Launch: launch, Name: "memory.rss.max.source", Value: "highest mark seen while it ran (a lower bound)"}
			if err := out.Put(&a); err != nil {
				return err
			}
		}
	}
	return nil
}

func counters(r process.Result, tree bool) []datasets.Counter {
	u := r.Usage
	var cs []datasets.Counter
	add := func(metric string, v float64, unit string, known bool) {
		c := datasets.Counter{Metric: metric, Unit: unit, Status: datasets.StatusNA}
		if known {
			c.Value, c.Status = datasets.Some(v), datasets.StatusOK
		}
		cs = append(cs, c)
	}
	counted := u.User+u.System > 0 || u.MinorFaults > 0 // a command that was ended by force is not accounted for
	add("time.wall", u.Wall.Seconds(), "s", true)
	add("time.user", u.User.Seconds(), "s", counted)
	add("time.system", u.System.Seconds(), "s", counted)
	add("memory.rss.max", float64(u.MaxRSS), "byte", u.MaxRSS > 0)
	if tree {
		add("memory.tree.rss.max", float64(u.TreeRSS), "byte", u.TreeRSS > 0 && u.Processes > 0)
		add("process.count.max", float64(u.Processes), "process", u.Processes > 0)
	}
	add("page_fault.minor", float64(u.MinorFaults), "fault", counted)
	add("page_fault.major", float64(u.MajorFaults), "fault", counted)
	add("context_switch.voluntary", float64(u.Voluntary), "switch", counted)
	add("context_switch.involuntary", float64(u.Involuntary), "switch", counted)
	add("io.block.read", float64(u.BlocksRead), "block", counted)
	add("io.block.write", float64(u.BlocksWritten), "block", counted)
	add("exit_status", float64(r.Exit), "", r.Exit >= 0)
	return cs
}
