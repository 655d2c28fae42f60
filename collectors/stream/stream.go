// Package stream reads the results of STREAM (stream.c, version 5, also with
// MPI) and of BabelStream as they print them: the bandwidth of memory.
//
// In flows the text, with what else the job printed around it; out flows one
// run:
//
//	machine    the GPU that BabelStream names
//	region     a kernel of the benchmark, "Copy", "Triad"
//	launch     one per row: a table that is there again gives launches of the
//	           same regions
//	counter    of a launch: bandwidth (byte/s, from the best time, as printed:
//	           1 MB is 1,000,000 bytes), time.avg, time.min and time.max (s)
//	ceiling    "dram", measured: the best Triad, if the solution validates
//	attribute  of the run: array size, threads and what else the text tells
//
// Whether the arrays were larger than the caches is for the user to know: the
// ceiling's source says how large they were.
package stream

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const (
	format           = "stream"
	runID, machineID = 1, 1
)

func init() {
	collectors.Register(collectors.Format{Name: format, About: "STREAM and BabelStream: bandwidth of memory, as printed", Version: 1, Detect: detect, Parse: parse})
}

// titles are the lines above the tables, with the order of the times below.
var titles = []struct {
	line  *regexp.Regexp
	times []string
	unit  collectors.Unit
	tool  string
}{
	{regexp.MustCompile(`^Function +(Best )?Rate \(?MB/s\)? +Avg time +Min time +Max time\s*$`), []string{"avg", "min", "max"}, collectors.Unit{Base: "byte/s", Exp10: 6}, "STREAM"},
	{regexp.MustCompile(`^Function +MBytes/sec +Min \(sec\) +Max +Average\s*$`), []string{"min", "max", "avg"}, collectors.Unit{Base: "byte/s", Exp10: 6}, "BabelStream"},
	{regexp.MustCompile(`^Function +MiBytes/sec +Min \(sec\) +Max +Average\s*$`), []string{"min", "max", "avg"}, collectors.Unit{Base: "byte/s", Exp2: 20}, "BabelStream"},
}

func titleOf(line string) int {
	if !strings.HasPrefix(line, "Function ") {
		return -1
	}
	for i, t := range titles {
		if t.line.MatchString(line) {
			return i
		}
	}
	return -1
}

func detect(h collectors.Head) collectors.Confidence {
	if !h.HasLine("Function ") {
		return collectors.No
	}
	for line := range bytes.Lines(h.Bytes) {
		if bytes.HasPrefix(line, []byte("Function ")) && titleOf(strings.TrimRight(string(line), "\r\n")) >= 0 {
			return collectors.Certain
		}
	}
	return collectors.No
}

// facts are lines that tell how it was measured.
var facts = []struct {
	line *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^Array size = (\d+) \(elements\)`), "array size (elements)"},
	{regexp.MustCompile(`^Memory per array = ([0-9.]+ MiB)`), "memory per array"},
	{regexp.MustCompile(`^Number of Threads counted = (\d+)`), "threads"},
	{regexp.MustCompile(`^This system uses (\d+) bytes per array element`), "bytes per element"},
	{regexp.MustCompile(`^STREAM version \$Revision: ([0-9.]+) \$`), "version"},
	{regexp.MustCompile(`^Version: ([0-9.]+)`), "version"},
	{regexp.MustCompile(`^Array size: ([0-9.]+ [KMG]?i?B)`), "memory per array"},
	{regexp.MustCompile(`^Precision: (\w+)`), "precision"},
	{regexp.MustCompile(`^Implementation: (\w+)`), "implementation"},
	{regexp.MustCompile(`^Using (?:[A-Za-z]+ )?device:? (\S.*)$`), "device"},
}

type reader struct {
	in      *collectors.Input
	out     *collectors.Output
	run     datasets.Run
	machine datasets.Machine
	known   map[string]string
	regions map[string]int64
	rows    int64
	best    float64 // of Triad
	failed  string
	checked bool
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, known: map[string]string{}, regions: map[string]int64{}, machine: datasets.Machine{ID: machineID},
		run: datasets.Run{ID: runID, Format: format, Status: datasets.RunOK, TimeMetric: "time.avg"}}
	table, below := -1, 0
	last := 1
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		text := string(l.Text)
		last = l.Number
		if i := titleOf(text); i >= 0 {
			table, below = i, 0
			r.run.Tool = titles[i].tool
			continue
		}
		switch fields := strings.Fields(text); {
		case table >= 0 && isKernel(fields):
			if !l.Ended {
				return in.Cut(l.Number, len(text), "if the file is whole, end it with a newline; else get it again")
			}
			below++
			if err := r.row(text, l.Number, table); err != nil {
				return err
			}
			continue
		case table >= 0 && below == 0 && len(fields) > 0 && strings.Trim(text, "-") != "":
			e := in.Syntax(l.Number, 1, "the line below the titles is no row of the table")
			e.Expected, e.Found, e.Hint = `"Copy:  20000.0  0.0080  0.0080  0.0081"`, collectors.Quote(text), "the output is mixed with another's: write it to a file of its own"
			return e
		}
		table = -1
		if err := r.fact(text); err != nil {
			return err
		}
	}
	if r.run.Tool == "" {
		e := in.Syntax(last, 1, "there is no table of STREAM")
		e.Expected, e.Hint = `a line "Function    Best Rate MB/s  Avg time     Min time     Max time"`, "write all that stream prints to the file"
		return e
	}
	return r.finish()
}

// isKernel tells rows by their name: those of STREAM have a colon behind it.
func isKernel(fields []string) bool {
	if len(fields) == 0 {
		return false
	}
	switch strings.TrimSuffix(fields[0], ":") {
	case "Copy", "Scale", "Add", "Triad", "Mul", "Dot", "Nstream":
		return true
	}
	return false
}

// fact keeps what a line tells of the machine and the run.
func (r *reader) fact(text string) error {
	switch {
	case strings.HasPrefix(text, "Solution Validates"):
		r.checked = true
	case strings.HasPrefix(text, "Failed Validation"), strings.HasPrefix(text, "Validation failed"):
		r.failed = strings.TrimSpace(text)
	}
	for _, f := range facts {
		m := f.line.FindStringSubmatch(text)
		if m == nil || r.known[f.name] == m[1] {
			continue
		}
		r.known[f.name] = m[1]
		switch f.name {
		case "version":
			r.run.ToolVersion = m[1]
			continue
		case "device":
			r.machine.GPU = strings.TrimSpace(m[1])
		}
		if err := r.out.Put(&datasets.Attribute{Run: runID, Name: f.name, Value: m[1]}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) row(text string, line, table int) error {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		e := r.in.Syntax(line, len(strings.TrimRight(text, " "))+1, "the row has not a name and four numbers")
		e.Found, e.Hint = collectors.Quote(text), "the file is cut or mixed with another output: get it again"
		return e
	}
	name := strings.TrimSuffix(fields[0], ":")
	region, known := r.regions[name]
	if !known {
		region = int64(len(r.regions) + 1)
		r.regions[name] = region
		if err := r.out.Put(&datasets.Region{ID: region, Run: runID, Kind: datasets.KindKernel, Raw: name, Short: name}); err != nil {
			return err
		}
	}
	r.rows++
	if err := r.out.Put(&datasets.Launch{ID: r.rows, Run: runID, Region: region, Sequence: datasets.Some(r.rows - 1)}); err != nil {
		return err
	}
	at := len(fields[0])
	for i, f := range fields[1:] {
		at += strings.Index(text[at:], f)
		c := datasets.Counter{Run: runID, Region: region, Launch: r.rows, Metric: "bandwidth", Unit: "byte/s", RawValue: f, RawUnit: "MB/s", Status: datasets.StatusOK}
		unit := titles[table].unit
		if unit.Exp2 > 0 {
			c.RawUnit = "MiB/s"
		}
		if i > 0 {
			c.Metric, c.Unit, c.RawUnit, unit = "time."+titles[table].times[i-1], "s", "s", collectors.Unit{Base: "s"}
		}
		v, err := unit.Scale(f, collectors.Dot)
		if err != nil || v < 0 {
			e := r.in.Syntax(line, at+1, "the value of "+c.Metric+" is no number")
			e.Expected, e.Found, e.Hint = "a number with a decimal point, 0 or more", collectors.Quote(f), "the file is damaged: run the benchmark again"
			return e
		}
		c.Value = datasets.Some(v)
		if i == 0 && name == "Triad" {
			r.best = max(r.best, v)
		}
		if err := r.out.Put(&c); err != nil {
			return err
		}
		at += len(f)
	}
	return nil
}

func (r *reader) finish() error {
	switch {
	case r.rows == 0:
		r.run.Status, r.run.Error = datasets.RunEmpty, "the table has no row: the benchmark was stopped"
		r.out.Warn(0, 0, "%s", r.run.Error)
	case r.failed != "":
		r.run.Status, r.run.Error = datasets.RunFailed, r.failed
		r.out.Warn(0, 0, "the benchmark's results are wrong, so no ceiling is taken from them: %s", r.failed)
	case r.run.Tool == "STREAM" && !r.checked:
		r.out.Warn(0, 0, "the file does not say that the solution validates, so no ceiling is taken from it: it may be cut")
	case r.best > 0:
		source := r.run.Tool + " Triad"
		for _, f := range []struct{ name, before string }{{"memory per array", "arrays of "}, {"threads", "threads: "}} {
			if v := r.known[f.name]; v != "" {
				source += ", " + f.before + v
			}
		}
		r.run.Machine = machineID
		if err := r.out.Put(&datasets.Ceiling{Machine: machineID, Run: runID, Level: "dram", Value: r.best, Unit: "byte/s", Measured: true, Source: source}); err != nil {
			return err
		}
	}
	if r.run.Machine != 0 || r.machine.GPU != "" {
		r.run.Machine = machineID
		if err := r.out.Put(&r.machine); err != nil {
			return err
		}
	}
	return r.out.Put(&r.run)
}
