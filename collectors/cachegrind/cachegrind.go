// Package cachegrind reads the profiles of Valgrind's cachegrind.
//
// In flows the text (desc:, cmd:, events:, then fl=, fn= and lines of costs,
// last summary:), out flows one run:
//
//	region     a function: one of its file and name, without parents
//	counter    an event of a function: Ir in "inst", accesses, misses, branches
//	launch     one per function, which the counters and samples are of
//	code       a line of source that had costs; inline depth 1 where it is of
//	           another file than the function (fi=, fe=)
//	pc_sample  the cost of a line, the event's name as reason (only above 0)
//	attribute  what desc: says of the simulated caches; file of a function
//
// The costs are exclusive: cachegrind knows no calls. Those of cg_diff, the
// differences of two files, may be negative. A file without its
// summary is cut, and one whose summary differs from the sum of its lines is
// damaged: both are errors.
package cachegrind

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const (
	formatName = "cachegrind"
	runID      = 1
)

func init() {
	collectors.Register(collectors.Format{
		Name:    formatName,
		About:   "Cachegrind (Valgrind)",
		Version: 1,
		Detect:  detect,
		Parse:   parse,
	})
}

var (
	start     = regexp.MustCompile(`\A(#.*\r?\n|desc: .*\r?\n|\r?\n)*cmd: .*\r?\n(events: .*\r?\n)`)
	callgraph = regexp.MustCompile(`(?m)^(calls=|positions: |creator: |version: |c?fn=\([0-9]+\)|ob=)`)
)

func detect(h collectors.Head) collectors.Confidence {
	if !h.HasLine("cmd: ") || !start.Match(h.Bytes) || callgraph.Match(h.Bytes) {
		return collectors.No
	}
	if bytes.Contains(h.Bytes, []byte("\nfl=")) || bytes.Contains(h.Bytes, []byte("\nfn=")) {
		return collectors.Certain
	}
	return collectors.Likely
}

// units of the events.
var units = map[string]string{"Ir": "inst", "Dr": "access", "Dw": "access", "Bc": "branch", "Bi": "branch", "Bcm": "miss", "Bim": "miss",
	"I1mr": "miss", "D1mr": "miss", "D1mw": "miss", "ILmr": "miss", "DLmr": "miss", "DLmw": "miss", "I2mr": "miss", "D2mr": "miss", "D2mw": "miss"}

type place struct {
	fn, line int64
	file     string
}

type function struct {
	id   int64
	file string
	self []int64
}

type reader struct {
	in        *collectors.Input
	out       *collectors.Output
	run       datasets.Run
	line      int
	events    []string
	fl, fi    string
	functions map[[2]string]*function
	list      []*function
	fn        *function
	places    map[place][]int64
	order     []place
	total     []int64
	summary   []int64
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, functions: map[[2]string]*function{}, places: map[place][]int64{},
		run: datasets.Run{ID: runID, Tool: "cachegrind", Format: formatName, Status: datasets.RunOK}}
	ended := true
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		r.line, ended = l.Number, l.Ended
		s := strings.TrimSpace(string(l.Text))
		if s == "" || s[0] == '#' {
			continue
		}
		if r.summary != nil {
			return r.fail(1, "the file goes on after its summary", "", s)
		}
		if err := r.read(s); err != nil {
			return err
		}
	}
	if r.summary == nil || !ended {
		e := in.Syntax(r.line+1, 1, "the file ends before its summary, which cachegrind writes last")
		if r.summary != nil {
			e = in.Syntax(r.line, 1, "the summary has no line end: it may be cut")
		}
		e.Hint = "the file is cut: get it again, or record it again"
		return e
	}
	return r.emit()
}

func (r *reader) fail(column int, msg, expected, found string) error {
	e := r.in.Syntax(r.line, column, msg)
	e.Expected, e.Hint = expected, "the line is damaged: record or get the file again"
	if found != "" {
		e.Found = collectors.Quote(found)
	}
	return e
}

func (r *reader) read(s string) error {
	if s[0] >= '0' && s[0] <= '9' {
		return r.costs(s)
	}
	if i := strings.IndexByte(s, '='); i > 0 && (s[:i] == "fl" || s[:i] == "fi" || s[:i] == "fe" || s[:i] == "fn") {
		value := s[i+1:]
		switch s[:i] {
		case "fl":
			r.fl, r.fi, r.fn = value, value, nil
		case "fn":
			r.function(value)
		default:
			r.fi = value
		}
		return nil
	}
	key, value, ok := strings.Cut(s, ":")
	value = strings.TrimSpace(value)
	switch {
	case !ok:
		return r.fail(1, "the line is none of cachegrind's format", "costs, fl=, fn= or summary:", s)
	case key == "cmd":
		r.run.Command = value
	case key == "desc":
		name, text, _ := strings.Cut(value, ":")
		return r.out.Put(&datasets.Attribute{Run: runID, Name: strings.TrimSpace(name), Value: strings.TrimSpace(text)})
	case key == "events":
		if r.events != nil {
			return r.fail(1, "the events are named twice", "", s)
		}
		r.events = strings.Fields(value)
		for i, e := range r.events {
			for _, f := range r.events[:i] {
				if e == f {
					return r.fail(1, "an event is named twice", "", e)
				}
			}
		}
		r.total = make([]int64, len(r.events))
	case key == "summary":
		if r.events == nil {
			return r.fail(1, "the summary comes before the events are named", `a line "events: ..."`, s)
		}
		sums, err := r.numbers(strings.Fields(value), len("summary:")+1)
		if err != nil {
			return err
		}
		r.summary = sums
	default:
		return r.out.Put(&datasets.Attribute{Run: runID, Name: key, Value: value})
	}
	return nil
}

// function begins the entry of a function.
func (r *reader) function(name string) {
	key := [2]string{r.fl, name}
	r.fi = r.fl
	if r.fn = r.functions[key]; r.fn == nil {
		r.fn = &function{id: int64(len(r.list) + 1), file: r.fl, self: make([]int64, len(r.events))}
		r.functions[key] = r.fn
		r.list = append(r.list, r.fn)
	}
}

// numbers reads one number per event; those that are left out are 0, and
// cachegrind writes "." for one, too.
func (r *reader) numbers(fields []string, column int) ([]int64, error) {
	if len(fields) > len(r.events) {
		return nil, r.fail(column, "the line has more costs than there are events", strconv.Itoa(len(r.events))+" costs", strings.Join(fields, " "))
	}
	ns := make([]int64, len(r.events))
	for i, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if f == "." {
			n, err = 0, nil
		}
		if err != nil {
			return nil, r.fail(column, "a cost is no number", "a number", f)
		}
		ns[i] = n
	}
	return ns, nil
}

func (r *reader) costs(s string) error {
	fields := strings.Fields(s)
	line, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return r.fail(1, "the line's number is none", "a number", fields[0])
	}
	if r.events == nil || r.fn == nil {
		return r.fail(1, "costs without a function", `"events:", "fl=" and "fn=" before`, s)
	}
	ns, err := r.numbers(fields[1:], len(fields[0])+2)
	if err != nil {
		return err
	}
	at := place{r.fn.id, line, r.fi}
	sums := r.places[at]
	if sums == nil {
		sums = make([]int64, len(ns))
		r.places[at] = sums
		r.order = append(r.order, at)
	}
	for i, n := range ns {
		if sum := r.total[i] + n; n > 0 && sum < r.total[i] || n < 0 && sum > r.total[i] {
			return r.fail(1, "the sum of an event does not fit 63 bits", "", s)
		}
		sums[i] += n
		r.fn.self[i] += n
		r.total[i] += n
	}
	return nil
}

func (r *reader) emit() error {
	for i, want := range r.summary {
		if want != r.total[i] {
			e := r.in.Syntax(r.line, 1, "the summary of "+r.events[i]+" is not the sum of the lines")
			e.Expected, e.Found, e.Hint = strconv.FormatInt(r.total[i], 10), strconv.FormatInt(want, 10), "the file is damaged: get it again, or record it again"
			return e
		}
	}
	names := make([]string, len(r.list))
	for key, f := range r.functions {
		names[f.id-1] = key[1]
	}
	for i, f := range r.list {
		g := datasets.Region{ID: f.id, Run: runID, Kind: datasets.KindFunction, Raw: names[i], Short: collectors.ShortName(names[i])}
		if g.Short == "" {
			g.Raw, g.Short = "(no name)", "(no name)"
		}
		if d := collectors.Demangle(g.Raw); d != g.Raw {
			g.Mangled = g.Raw
		}
		err := errors.Join(r.out.Put(&g), r.out.Put(&datasets.Launch{ID: f.id, Run: runID, Region: f.id, Sequence: datasets.Some(f.id - 1)}))
		if f.file != "" {
			err = errors.Join(err, r.out.Put(&datasets.Attribute{Run: runID, Region: f.id, Name: "file", Value: f.file}))
		}
		for k, n := range f.self {
			err = errors.Join(err, r.out.Put(&datasets.Counter{Run: runID, Region: f.id, Launch: f.id, Metric: r.events[k], Value: datasets.Some(float64(n)),
				Unit: units[r.events[k]], RawValue: strconv.FormatInt(n, 10), Status: datasets.StatusOK}))
		}
		if err != nil {
			return err
		}
	}
	for i, at := range r.order {
		c := datasets.Code{ID: int64(i + 1), Run: runID, Region: at.fn, ISA: "source", File: at.file, InlineDepth: datasets.Some[int64](0)}
		if c.File == "???" {
			c.File = ""
		}
		if at.line > 0 {
			c.Line = datasets.Some(at.line)
		}
		if at.file != r.list[at.fn-1].file {
			c.InlineDepth = datasets.Some[int64](1)
		}
		if err := r.out.Put(&c); err != nil {
			return err
		}
		for k, n := range r.places[at] {
			if n == 0 {
				continue
			}
			if err := r.out.Put(&datasets.PCSample{Run: runID, Launch: at.fn, Code: c.ID, Reason: r.events[k], Samples: datasets.Some(n)}); err != nil {
				return err
			}
		}
	}
	if len(r.list) == 0 {
		r.run.Status, r.run.Error = datasets.RunEmpty, "the file holds no costs"
		r.out.Warn(0, 0, "%s", r.run.Error)
	}
	return r.out.Put(&r.run)
}
