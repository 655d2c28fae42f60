// Package gnutime reads what GNU time prints with -v: what the kernel counted
// of a command (/usr/bin/time -v, also appended to one file with -a -o).
//
// In flows the text, in which the command's own output may stand between the
// blocks; out flows one run, whose counters are named as those of the collector
// "run":
//
//	region     a command, as it is printed between the quotes
//	launch     one per block: repeats are launches of one region
//	counter    time.wall, time.user, time.system (s), memory.rss.max (byte, of
//	           kbytes of 1024), page_fault.minor and .major (fault),
//	           context_switch.voluntary and .involuntary (switch),
//	           io.block.read and .write (block of 512 bytes), exit_status
//
// A command that failed makes the status of the run "failed". Of the other lines
// of a block the share of the CPU and the page size follow from elsewhere, and
// the rest is left out, as the kernel of Linux does not count it.
package gnutime

import (
	"context"
	"regexp"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const (
	format = "time-v"
	runID  = 1
)

func init() {
	collectors.Register(collectors.Format{Name: format, About: "GNU time -v: time, memory, page faults and switches of commands", Version: 1, Detect: detect, Parse: parse})
}

const begins, ends = "\tCommand being timed: ", "\tExit status: "

func detect(h collectors.Head) collectors.Confidence {
	if h.HasLine(begins) && h.HasLine("\tUser time (seconds): ") {
		return collectors.Certain
	}
	return collectors.No
}

// lines are those of a block that count something, by what stands before the
// value.
var lines = []struct {
	label, metric, unit string
	scale               collectors.Unit
}{
	{"User time (seconds)", "time.user", "s", collectors.Unit{}},
	{"System time (seconds)", "time.system", "s", collectors.Unit{}},
	{"Elapsed (wall clock) time (h:mm:ss or m:ss)", "time.wall", "s", collectors.Unit{}},
	{"Maximum resident set size (kbytes)", "memory.rss.max", "byte", collectors.Unit{Exp2: 10}},
	{"Major (requiring I/O) page faults", "page_fault.major", "fault", collectors.Unit{}},
	{"Minor (reclaiming a frame) page faults", "page_fault.minor", "fault", collectors.Unit{}},
	{"Voluntary context switches", "context_switch.voluntary", "switch", collectors.Unit{}},
	{"Involuntary context switches", "context_switch.involuntary", "switch", collectors.Unit{}},
	{"File system inputs", "io.block.read", "block", collectors.Unit{}},
	{"File system outputs", "io.block.write", "block", collectors.Unit{}},
	{"Exit status", "exit_status", "", collectors.Unit{}},
}

type reader struct {
	in       *collectors.Input
	out      *collectors.Output
	run      datasets.Run
	regions  map[string]int64
	launches int64
	region   int64 // of the block that is open, 0 where none is
	seen     map[string]bool
	killed   bool // the line before the block says that a signal ended the command
	failures []string
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, regions: map[string]int64{}, run: datasets.Run{ID: runID, Tool: "time", Format: format, Status: datasets.RunOK, TimeMetric: "time.wall"}}
	last, length := 1, 0
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		text := string(l.Text)
		last, length = l.Number, len(text)
		if strings.HasPrefix(text, "\t") && !l.Ended {
			return in.Cut(l.Number, length, "if the file is whole, end it with a newline; else get it again")
		}
		if err := r.line(text, l.Number); err != nil {
			return err
		}
	}
	switch {
	case r.region != 0:
		e := in.Syntax(last, length+1, "the file ends within the block of a command")
		e.Expected, e.Hint = `a line "Exit status: 0"`, "the file is cut: get it again, or remove the block"
		return e
	case r.launches == 0:
		e := in.Syntax(last, 1, "there is no block of GNU time")
		e.Expected, e.Hint = `a line "Command being timed: ..."`, "write it with /usr/bin/time -v -o FILE COMMAND"
		return e
	case len(r.failures) > 0:
		r.run.Status, r.run.Error = datasets.RunFailed, strings.Join(r.failures[:min(len(r.failures), 20)], "; ")
		out.Warn(0, 0, "%s", r.run.Error)
	}
	return out.Put(&r.run)
}

func (r *reader) line(text string, line int) error {
	switch {
	case strings.HasPrefix(text, "Command exited with non-zero status "), strings.HasPrefix(text, "Command terminated by signal "), strings.HasPrefix(text, "Command stopped by signal "):
		r.failures = append(r.failures, strings.TrimSpace(text))
		r.killed = !strings.Contains(text, "exited")
		return nil
	case strings.HasPrefix(text, begins):
		if r.region != 0 {
			e := r.in.Syntax(line, 1, "a block begins, and the one before it has no end")
			e.Expected, e.Hint = `a line "Exit status: 0" before it`, "the file is damaged: get it again, or remove the block"
			return e
		}
		return r.begin(text, line)
	case r.region == 0 || !strings.HasPrefix(text, "\t"):
		return nil // the command's own output
	}
	for _, f := range lines {
		if rest, ok := strings.CutPrefix(text, "\t"+f.label+": "); ok {
			if r.seen[f.metric] {
				e := r.in.Syntax(line, 2, "a line is twice in the block of a command")
				e.Found, e.Hint = collectors.Quote(f.label), "the file is damaged: get it again, or remove the block"
				return e
			}
			r.seen[f.metric] = true
			if err := r.counter(f.metric, f.unit, f.scale, rest, line, len(text)-len(rest)+1); err != nil {
				return err
			}
		}
	}
	if strings.HasPrefix(text, ends) {
		r.region, r.killed = 0, false
	}
	return nil
}

func (r *reader) begin(text string, line int) error {
	command, ok := strings.CutPrefix(strings.TrimRight(text, " "), begins+`"`)
	command, closed := strings.CutSuffix(command, `"`)
	if !ok || !closed || command == "" {
		e := r.in.Syntax(line, len(begins)+1, "the command of a block is not in quotes")
		e.Found, e.Hint = collectors.Quote(text[len(begins):]), "the file is damaged: get it again, or remove the block"
		return e
	}
	region, known := r.regions[command]
	if !known {
		region = int64(len(r.regions) + 1)
		r.regions[command] = region
		if err := r.out.Put(&datasets.Region{ID: region, Run: runID, Kind: datasets.KindRange, Raw: command, Short: command}); err != nil {
			return err
		}
	}
	r.launches++
	r.region, r.seen = region, map[string]bool{}
	return r.out.Put(&datasets.Launch{ID: r.launches, Run: runID, Region: region, Sequence: datasets.Some(r.launches - 1)})
}

var elapsed = regexp.MustCompile(`^(?:(\d{1,9}):)?(\d{1,9}):(\d{2}(?:\.\d+)?)$`)

func (r *reader) counter(metric, unit string, scale collectors.Unit, text string, line, column int) error {
	text = strings.TrimSpace(text)
	c := datasets.Counter{Run: runID, Region: r.region, Launch: r.launches, Metric: metric, Unit: unit, RawValue: text, RawUnit: unit, Status: datasets.StatusOK}
	fault := func(expected string) error {
		e := r.in.Syntax(line, column, "the value of "+metric+" is none")
		e.Expected, e.Found, e.Hint = expected, collectors.Quote(text), "the file is damaged: get it again, or remove the block"
		return e
	}
	switch {
	case metric == "exit_status" && r.killed: // it prints 0 all the same
		c.Status = datasets.StatusNA
		return r.out.Put(&c)
	case metric == "time.wall":
		m := elapsed.FindStringSubmatch(text)
		if m == nil {
			return fault("h:mm:ss or m:ss.ss")
		}
		seconds := 0.0
		for i, factor := range []float64{3600, 60, 1} {
			if m[i+1] == "" {
				continue
			}
			v, err := collectors.ParseNumber(m[i+1], collectors.Dot, 0)
			if err != nil {
				return fault("h:mm:ss or m:ss.ss")
			}
			seconds += factor * v
		}
		c.Value = datasets.Some(seconds)
		c.RawUnit = "h:mm:ss"
		return r.out.Put(&c)
	case scale.Exp2 == 10:
		c.RawUnit = "kbytes"
	}
	v, err := scale.Scale(text, collectors.Dot)
	if err != nil || v < 0 || strings.ContainsAny(text, ", ") {
		return fault("a number, 0 or more")
	}
	c.Value = datasets.Some(v)
	return r.out.Put(&c)
}
