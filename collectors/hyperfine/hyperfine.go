// Package hyperfine reads what hyperfine --export-json writes: the times of
// commands that were run again and again.
//
// In flows the JSON, out flows one run, whose counters are named as those of
// the collector "run":
//
//	region     a result: raw and short are the command, or the name that it was
//	           given (--command-name); attributes parameter.NAME (--parameter-list)
//	launch     one per run of the command, where the file has "times"
//	counter    of a launch: time.wall (s), and where the file has them
//	           memory.rss.max (byte) and exit_status ("na": a signal ended it)
//	counter    of the region as a whole, as hyperfine computed them:
//	           time.wall.mean, .stddev, .median, .min and .max, time.user.mean
//	           and time.system.mean. The standard deviation of one run is "na"
//
// A command that failed (hyperfine -i) makes the status of the run "failed".
package hyperfine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const (
	format = "hyperfine"
	runID  = 1
)

func init() {
	collectors.Register(collectors.Format{Name: format, About: "hyperfine --export-json", Version: 1, Detect: detect, Parse: parse})
}

func detect(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	if !bytes.HasPrefix(b, []byte("{")) || !h.Has(`"results"`) || !h.Has(`"command"`) {
		return collectors.No
	}
	if h.Has(`"hyperfine_version"`) {
		return collectors.Certain
	}
	n := 0
	for _, key := range []string{`"mean"`, `"stddev"`, `"median"`, `"user"`, `"system"`, `"times"`, `"exit_codes"`} {
		if h.Has(key) {
			n++
		}
	}
	switch {
	case n >= 6:
		return collectors.Certain
	case n >= 4:
		return collectors.Likely
	}
	return collectors.No
}

// result is one of "results". Numbers keep their text (json.Number).
type result struct {
	Command                                      *string
	Mean, Stddev, Median, User, System, Min, Max any
	Times                                        []any
	Memory                                       []any `json:"memory_usage_byte"`
	Exit                                         []any `json:"exit_codes"`
	// Parameters are texts; versions before 1.11 wrote numbers, too.
	Parameters map[string]any
	Parameter  any // of versions before 1.10
}

type reader struct {
	in       *collectors.Input
	out      *collectors.Output
	j        *collectors.JSON
	run      datasets.Run
	results  int64
	launches int64
	failed   int
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, j: collectors.NewJSON(in), run: datasets.Run{ID: runID, Tool: "hyperfine", Format: format, Status: datasets.RunOK, TimeMetric: "time.wall"}}
	if err := r.j.Delim('{', "the file"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for r.j.More() {
		key, err := r.j.Member(seen, "the file")
		if err != nil {
			return err
		}
		switch key {
		case "results":
			err = r.list(ctx)
		case "schema_version":
			return &collectors.UnsupportedError{File: in.Name, What: "the JSON of hyperfine 2, in another form", Hint: "take hyperfine 1 (hyperfine --export-json FILE), or measure with rooflab collect run"}
		default:
			var v any
			err = r.j.Wrap(r.j.Decode(&v))
		}
		if err != nil {
			return err
		}
	}
	if err := r.j.Delim('}', "the end of the file"); err != nil {
		return err
	}
	if _, err := r.j.Token(); !errors.Is(err, io.EOF) {
		e := r.j.Syntax("the file goes on after its object")
		e.Hint = "it may be two exports in one: import each by itself"
		return e
	}
	if !seen["results"] {
		e := r.j.Syntax("the file lacks a member")
		e.Expected, e.Hint = `"results"`, "is this hyperfine's JSON? Write it with hyperfine --export-json FILE"
		return e
	}
	return r.finish()
}

func (r *reader) list(ctx context.Context) error {
	if err := r.j.Delim('[', `"results"`); err != nil {
		return err
	}
	for r.j.More() {
		if ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", r.in.Name, ctx.Err())
		}
		var v result
		if err := r.j.Decode(&v); err != nil {
			return r.j.Wrap(err)
		}
		if err := r.result(&v); err != nil {
			return err
		}
	}
	return r.j.Delim(']', `"results"`)
}

func (r *reader) fault(msg, expected, found string) error {
	e := r.j.Syntax(msg)
	e.Expected, e.Found, e.Hint = expected, found, "the file is damaged, or was changed by hand: export it again"
	return e
}

func (r *reader) result(v *result) error {
	switch {
	case v.Command == nil || *v.Command == "":
		return r.fault("the result that ends here names no command", `"command"`, "")
	case v.Mean == nil && v.Times == nil:
		return r.fault("the result that ends here has no time", `"mean" or "times"`, "")
	case v.Times != nil && v.Exit != nil && len(v.Exit) != len(v.Times):
		return r.fault("the result that ends here has not one exit code for each time", strconv.Itoa(len(v.Times)), strconv.Itoa(len(v.Exit)))
	case v.Memory != nil && len(v.Memory) != len(v.Times):
		return r.fault("the result that ends here has not one use of memory for each time", strconv.Itoa(len(v.Times)), strconv.Itoa(len(v.Memory)))
	}
	r.results++
	region := r.results
	if err := r.out.Put(&datasets.Region{ID: region, Run: runID, Kind: datasets.KindRange, Raw: *v.Command, Short: *v.Command, Order: datasets.Some(region - 1)}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(v.Parameters)) {
		if err := r.attribute(region, "parameter."+name, v.Parameters[name]); err != nil {
			return err
		}
	}
	if v.Parameter != nil {
		if err := r.attribute(region, "parameter", v.Parameter); err != nil {
			return err
		}
	}
	for _, a := range []struct {
		name  string
		value any
	}{{"time.wall.mean", v.Mean}, {"time.wall.stddev", v.Stddev}, {"time.wall.median", v.Median}, {"time.wall.min", v.Min}, {"time.wall.max", v.Max}, {"time.user.mean", v.User}, {"time.system.mean", v.System}} {
		if a.value == nil && a.name != "time.wall.stddev" {
			continue
		}
		if err := r.counter(region, 0, a.name, "s", a.value); err != nil {
			return err
		}
	}
	for i := range v.Times {
		r.launches++
		launch := r.launches
		ns, err := collectors.ParseNumber(collectors.JSONText(v.Times[i]), collectors.Dot, 9)
		if err != nil || ns < 0 || ns >= 1<<62 {
			return r.fault("a time of the result that ends here can be none", "seconds, 0 or more", collectors.Quote(collectors.JSONText(v.Times[i])))
		}
		if err := r.out.Put(&datasets.Launch{ID: launch, Run: runID, Region: region, Sequence: datasets.Some(launch - 1), DurNs: datasets.Some(int64(ns + 0.5))}); err != nil {
			return err
		}
		if err := r.counter(region, launch, "time.wall", "s", v.Times[i]); err != nil {
			return err
		}
		if v.Memory != nil {
			if err := r.counter(region, launch, "memory.rss.max", "byte", v.Memory[i]); err != nil {
				return err
			}
		}
		if v.Exit != nil {
			if err := r.counter(region, launch, "exit_status", "", v.Exit[i]); err != nil {
				return err
			}
		}
	}
	for _, code := range v.Exit {
		if code == nil || collectors.JSONText(code) != "0" {
			r.failed++
		}
	}
	return nil
}

// counter puts a number; one that is not there has the status "na".
func (r *reader) counter(region, launch int64, metric, unit string, value any) error {
	c := datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: metric, Unit: unit, RawUnit: unit, RawValue: "null", Status: datasets.StatusNA}
	if value != nil {
		n, ok := value.(json.Number)
		if !ok {
			return r.fault("the value for "+metric+" in the result that ends here is no number", "a number", collectors.Quote(collectors.JSONText(value)))
		}
		v, err := collectors.ParseNumber(n.String(), collectors.Dot, 0)
		if err != nil {
			return r.fault("the value for "+metric+" in the result that ends here does not fit a number of 64 bits", "", n.String())
		}
		c.Value, c.RawValue, c.Status = datasets.Some(v), n.String(), datasets.StatusOK
	}
	return r.out.Put(&c)
}

func (r *reader) attribute(region int64, name string, v any) error {
	return r.out.Put(&datasets.Attribute{Run: runID, Region: region, Name: name, Value: collectors.JSONText(v)})
}

func (r *reader) finish() error {
	switch {
	case r.results == 0:
		r.run.Status, r.run.Error = datasets.RunEmpty, "the file holds no result"
		r.out.Warn(0, 0, "%s", r.run.Error)
	case r.failed > 0:
		r.run.Status, r.run.Error = datasets.RunFailed, fmt.Sprintf("%d runs of the commands did not end with the exit code 0", r.failed)
		r.out.Warn(0, 0, "%s", r.run.Error)
	}
	if r.launches == 0 {
		r.run.TimeMetric = "time.wall.mean"
	}
	return r.out.Put(&r.run)
}
