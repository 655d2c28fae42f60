// Package perfscript reads the text of `perf script`, with call stacks or
// without.
//
// In flows a line per sample, followed by a line per frame of its call stack,
// innermost first, and a blank line:
//
//	comm  pid/tid [cpu] seconds:  period event:
//	        address symbol+offset (module)
//	        address symbol (inlined)
//
// All fields but the address and the symbol are optional (perf script -F).
// Where a sample has one number it is the thread's id, as perf prints it by
// default. Without call stacks the only frame is on the sample's own line.
//
// Out flow one run, and one region per path of frames (outermost first), so
// that the regions are the call tree. Samples are counted where they were
// taken: a launch is what one thread (comm, pid, tid) did in one region
// itself, without what it called. Its counters are "samples", with the event
// as their instance, and one with the event's name that holds the sum of the
// samples' periods: cycles, instructions, or seconds for cpu-clock and
// task-clock. Periods that perf did not print follow from the header where
// the events were sampled with a fixed period (perf record -c).
//
// Frames that perf resolved as inlined are regions of their own with the
// attribute "inlined" and the module of the function that holds them. So are
// the functions that a JIT's map joined with "->". A sample without any frame
// is of a region "[unknown]". Memory grows with the number of distinct paths,
// not with the file.
package perfscript

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "perf-script",
		About:   "Linux perf, text of perf script",
		Version: 2,
		Detect:  detect,
		Parse:   parse,
	})
}

// detect wants samples: lines with a thread and a time or an event, and below
// them frames. A file that begins with stacks alone (perf script -F ip,sym) is
// only likely to be one.
func detect(h collectors.Head) collectors.Confidence {
	samples, frames := 0, 0
	for line := range bytes.Lines(bytes.TrimLeft(h.Bytes, "\r\n")) {
		text := bytes.TrimRight(line[:min(len(line), 2048)], "\r\n") // longer lines have branches at their end
		blank := len(bytes.TrimSpace(text)) == 0
		switch {
		case blank || text[0] == '#':
		case isNoise(text):
		default:
			if s, ok := splitSample(text); ok {
				if samples++; s.frame != nil || s.record || samples > 1 {
					return collectors.Certain
				}
				continue
			}
			f, ok := splitFrame(text)
			if !ok {
				if samples > 0 && isIndented(text) {
					continue
				}
				return collectors.No
			}
			if samples > 0 {
				return collectors.Certain
			}
			if !isIndented(text) && f.module == "" || f.module == "" && f.symbol[0] >= '0' && f.symbol[0] <= '9' {
				return collectors.No // numbers in columns, nm, git log --oneline
			}
			if frames++; frames > 8 {
				return collectors.Likely
			}
		}
	}
	switch {
	case samples > 0:
		return collectors.Likely
	case frames > 1:
		return collectors.Likely
	}
	return collectors.No
}

// isNoise tells what perf writes to its standard error, which users redirect
// into the same file.
func isNoise(text []byte) bool {
	for _, p := range []string{"Warning:", "Processed ", "Check IO/CPU overload", "Failed to open", "failed to open", "Kernel address maps", "addr2line:", "[ perf record:",
		"Samples in kernel modules", "kernel address", "couldn't", "Couldn't", "Symbol fallback"} {
		if bytes.HasPrefix(text, []byte(p)) {
			return true
		}
	}
	return bytes.HasSuffix(text, []byte("continuing without symbols"))
}

func isIndented(text []byte) bool { return len(text) > 0 && (text[0] == ' ' || text[0] == '\t') }

const runID, machineID = 1, 1

type reader struct {
	in      *collectors.Input
	out     *collectors.Output
	run     datasets.Run
	machine datasets.Machine
	tree    *tree

	cur     sample  // the sample whose frames are being read
	open    bool    // there is one
	stack   []frame // its frames, innermost first
	line    int     // where it began
	n       int64   // samples
	first   float64
	last    float64
	timed   bool
	lost    int64
	strange int // lines within stacks that are no frames
	periods map[string]fixedPeriod
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, periods: map[string]fixedPeriod{},
		run: datasets.Run{ID: runID, Tool: "perf", Format: "perf-script", Status: datasets.RunOK}, machine: datasets.Machine{ID: machineID}}
	r.tree = newTree(out)
	last := 0
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		text, line, ended := l.Text, l.Number, l.Ended
		last = line
		if err := r.take(text, line); err != nil {
			return err
		}
		if !ended && len(text) > 0 && text[len(text)-1] != ')' {
			return in.Cut(line, len(text), "the file is cut: run perf script again")
		}
	}
	return r.end(last)
}

// take reads one line.
func (r *reader) take(text []byte, line int) error {
	if len(bytes.TrimSpace(text)) == 0 {
		// A blank line ends a stack; some versions print one before it, too.
		if r.open && len(r.stack) == 0 || !r.open {
			return nil
		}
		return r.close()
	}
	if text[0] == '#' {
		return r.header(string(text), line)
	}
	if s, ok := splitSample(text); ok {
		if err := r.close(); err != nil {
			return err
		}
		return r.begin(s, line)
	}
	f, ok := splitFrame(text)
	switch {
	case ok && (isIndented(text) || r.open && f.module != ""): // an address of 16 digits can fill the indent
		// -F ip,sym without call stacks: a line is a sample, its address is
		// in 16 columns behind a space, where stacks have a tab.
		if !r.open && len(text) > 17 && text[0] == ' ' && text[17] == ' ' && fieldEnd(string(text), nextField(string(text), 0)) == 17 {
			r.open, r.cur, r.line, r.stack = true, sample{}, line, append(r.stack[:0], f)
			return r.close()
		}
		if !r.open {
			r.open, r.cur, r.line = true, sample{}, line
		}
		r.stack = append(r.stack, f)
		return nil
	case r.open && text[0] == '|': // -F srccode
		return nil
	case isIndented(text) && r.open:
		if !isSourceLine(text) {
			if r.strange++; r.strange <= 3 {
				r.out.Warn(line, 1, "the line within a call stack is no frame and is left out: %s", collectors.Quote(strings.TrimSpace(string(text))))
			}
		}
		return nil
	case isNoise(text), isIndented(text) && r.n > 0 && isSourceLine(text): // the latter below a sample that is one line
		return nil
	}
	e := r.in.Syntax(line, 1, "the line is neither a sample nor a frame of a call stack")
	e.Expected, e.Found = `"comm pid time: event:" or an indented "address symbol (module)"`, collectors.Quote(string(text))
	e.Hint = "take lines out that perf script did not write, or run it again with its default fields"
	return e
}

// isSourceLine tells what -F srcline and srccode add below a frame.
func isSourceLine(text []byte) bool {
	t := bytes.TrimSpace(text)
	i := bytes.LastIndexByte(t, ':')
	if i > 0 && i+1 < len(t) && allDigits(string(t[i+1:])) || bytes.HasPrefix(t, []byte("|")) || bytes.Equal(t, []byte("??:0")) {
		return true
	}
	// Without debug information it is "[kernel.kallsyms][ffffffff8158c3f5]".
	return bytes.Contains(t, []byte(" (discriminator")) || bytes.HasSuffix(t, []byte(" (inlined)")) || bytes.HasSuffix(t, []byte("]")) && bytes.Contains(t, []byte("["))
}

// begin opens a sample.
func (r *reader) begin(s sample, line int) error {
	if s.record { // a PERF_RECORD_ line is no sample
		if lost, ok := strings.CutPrefix(s.event, "PERF_RECORD_LOST"); ok && !strings.HasPrefix(lost, "_SAMPLES") {
			if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(s.rest, "lost")), 10, 64); err == nil && n > 0 && n < 1<<40 {
				r.lost += n
			}
		}
		return nil
	}
	r.cur, r.open, r.line, r.stack = s, true, line, r.stack[:0]
	r.cur.comm, r.cur.event = r.tree.intern(s.comm), r.tree.intern(s.event)
	if s.frame != nil {
		r.stack = append(r.stack, *s.frame)
		return r.close()
	}
	return nil
}

// close counts the open sample.
func (r *reader) close() error {
	if !r.open {
		return nil
	}
	s := &r.cur
	r.open = false
	r.n++
	if s.timed {
		if !r.timed || s.seconds < r.first {
			r.first = s.seconds
		}
		if !r.timed || s.seconds > r.last {
			r.last = s.seconds
		}
		r.timed = true
	}
	err := r.tree.add(s, r.stack)
	r.stack = r.stack[:0]
	return err
}

// fixedPeriod is an event's period as the header tells it.
type fixedPeriod struct{ period int64 }

// header reads a line of comment: perf script --header writes "# key : value".
func (r *reader) header(text string, line int) error {
	key, value, ok := strings.Cut(strings.TrimLeft(text, "# "), ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || key == "" || value == "" || strings.Contains(key, ",") {
		return nil
	}
	switch key {
	case "hostname":
		r.machine.Host = value
	case "cpudesc":
		r.machine.CPU = value
	case "arch":
		r.machine.Arch = value
	case "nrcpus online":
		if n, err := strconv.ParseInt(value, 10, 32); err == nil {
			r.machine.Units = datasets.Some(n)
		}
	case "total memory":
		if kb, ok := strings.CutSuffix(value, " kB"); ok {
			if n, err := strconv.ParseInt(kb, 10, 50); err == nil {
				r.machine.MemBytes = datasets.Some(n << 10)
			}
		}
	case "perf version":
		r.run.ToolVersion = value
	case "cmdline":
		r.run.Command = value
	case "captured on":
		if t, err := time.Parse("Mon Jan _2 15:04:05 2006", strings.Join(strings.Fields(value), " ")); err == nil {
			r.run.Started = datasets.Some(t)
		}
	case "event":
		r.fixed(value)
	}
	return r.out.Put(&datasets.Attribute{Run: runID, Name: key, Value: value})
}

// fixed remembers the period of an event that was sampled with a fixed one:
// "name = cycles, ..., { sample_period, sample_freq } = 1000, ..." without
// "freq = 1".
func (r *reader) fixed(text string) {
	name, rest, ok := strings.Cut(strings.TrimPrefix(text, "name = "), ",")
	if !ok || strings.Contains(rest, " freq = 1") {
		return
	}
	_, value, ok := strings.Cut(rest, "{ sample_period, sample_freq } = ")
	if !ok {
		return
	}
	value, _, _ = strings.Cut(value, ",")
	if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil && n > 0 {
		r.periods[name] = fixedPeriod{n}
	}
}

// end emits what was counted.
func (r *reader) end(line int) error {
	if r.open && len(r.stack) > 0 {
		r.out.Warn(r.line, 1, "no blank line follows the last sample: the file may have been cut")
	}
	if err := r.close(); err != nil {
		return err
	}
	if line == 0 {
		e := r.in.Syntax(1, 1, "the file is empty")
		e.Expected = "samples as perf script prints them"
		return e
	}
	if r.strange > 3 {
		r.out.Warn(0, 0, "%d lines within call stacks are no frames and were left out", r.strange)
	}
	if r.lost > 0 {
		r.out.Warn(0, 0, "perf lost %d events while it recorded", r.lost)
		if err := r.out.Put(&datasets.Attribute{Run: runID, Name: "lost events", Value: strconv.FormatInt(r.lost, 10)}); err != nil {
			return err
		}
	}
	for _, a := range []struct {
		name string
		v    float64
	}{{"time of first sample", r.first}, {"time of last sample", r.last}} {
		if r.timed {
			if err := r.out.Put(&datasets.Attribute{Run: runID, Name: a.name, Value: strconv.FormatFloat(a.v, 'f', -1, 64)}); err != nil {
				return err
			}
		}
	}
	if err := r.tree.emit(r.periods); err != nil {
		return err
	}
	if r.n == 0 {
		r.run.Status, r.run.Error = datasets.RunEmpty, "the text holds no sample"
		r.out.Warn(0, 0, "%s", r.run.Error)
	}
	r.run.TimeMetric = r.tree.timeMetric()
	if r.machine.Host != "" || r.machine.CPU != "" {
		r.run.Machine = machineID
		if err := r.out.Put(&r.machine); err != nil {
			return err
		}
	}
	return r.out.Put(&r.run)
}
