package gbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

type reader struct {
	in       *collectors.Input
	out      *collectors.Output
	j        *collectors.JSON
	run      datasets.Run
	machine  datasets.Machine
	seen     map[string]bool
	regions  map[string]int64
	plain    map[string]bool   // names of rows that were measured
	whole    map[[2]string]int // counters of regions as a whole, by region and metric
	launches int64
	failed   int64
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, j: collectors.NewLooseJSON(in), seen: map[string]bool{}, regions: map[string]int64{}, plain: map[string]bool{}, whole: map[[2]string]int{},
		run:     datasets.Run{ID: runID, Tool: "google-benchmark", Format: formatJSON, Status: datasets.RunOK, TimeMetric: "real_time"},
		machine: datasets.Machine{ID: machineID}}
	if err := r.j.Delim('{', "the file"); err != nil {
		return err
	}
	for r.j.More() {
		if err := r.member(ctx); err != nil {
			return err
		}
	}
	if err := r.j.Delim('}', "the end of the file"); err != nil {
		return err
	}
	if _, err := r.j.Token(); !errors.Is(err, io.EOF) {
		return r.j.Syntax("the file goes on after its object")
	}
	if !r.seen["benchmarks"] {
		e := r.j.Syntax("the file lacks a member")
		e.Expected, e.Hint = `"benchmarks"`, "is this Google Benchmark's JSON?"
		return e
	}
	return r.finish()
}

func (r *reader) member(ctx context.Context) error {
	key, err := r.j.Member(r.seen, "the file")
	if err != nil {
		return err
	}
	switch key {
	case "context":
		return r.context()
	case "benchmarks":
		if err := r.j.Delim('[', `"benchmarks"`); err != nil {
			return err
		}
		for n := 0; r.j.More(); n++ {
			if n%256 == 0 && ctx.Err() != nil {
				return fmt.Errorf("reading %s: %w", r.in.Name, ctx.Err())
			}
			var row map[string]any
			if err := r.j.Decode(&row); err != nil {
				return r.j.Wrap(err)
			}
			if err := r.row(row); err != nil {
				return err
			}
		}
		return r.j.Delim(']', `"benchmarks"`)
	}
	var v any
	if err := r.j.Decode(&v); err != nil {
		return r.j.Wrap(err)
	}
	return r.attribute(0, 0, key, text(v))
}

// text is a value as an attribute holds it: null is no text.
func text(v any) string {
	if v == nil {
		return ""
	}
	return collectors.JSONText(v)
}

// context reads what the file says about program and machine.
func (r *reader) context() error {
	var m map[string]any
	if err := r.j.Decode(&m); err != nil {
		return r.j.Wrap(err)
	}
	for _, n := range slices.Sorted(maps.Keys(m)) {
		value := text(m[n])
		num, _ := m[n].(json.Number)
		switch n {
		case "host_name":
			r.machine.Host = value
		case "executable":
			r.run.Command = value
		case "library_version":
			r.run.ToolVersion = value
		case "json_schema_version":
			r.run.FormatVersion = value
			if value != "1" {
				return &collectors.UnsupportedError{File: r.in.Name, What: "Google Benchmark's JSON in schema version " + collectors.Quote(value), Hint: "rooflab reads version 1 and files without a version"}
			}
		case "num_cpus":
			if k, err := num.Int64(); err == nil {
				r.machine.Units = datasets.Some(k)
			}
		case "mhz_per_cpu":
			if f, err := num.Float64(); err == nil && f > 0 {
				r.machine.ClockHz = datasets.Some(f * 1e6)
			}
		case "date":
			// Old versions write local time without a zone, which says no instant.
			for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05-0700"} {
				if at, err := time.Parse(layout, value); err == nil {
					r.run.Started = datasets.Some(at.UTC())
				}
			}
		}
		if err := r.attribute(0, 0, n, value); err != nil {
			return err
		}
	}
	return nil
}

// notCounters are members of a row that are no numbers of the benchmark's.
var notCounters = map[string]bool{"name": true, "run_name": true, "run_type": true, "time_unit": true, "aggregate_name": true, "aggregate_unit": true, "family_index": true,
	"per_family_instance_index": true, "repetitions": true, "repetition_index": true, "threads": true, "error_occurred": true, "skipped": true}

// units of counters that the library itself knows; times have the row's unit.
var units = map[string]collectors.Unit{"bytes_per_second": {Base: "byte/s"}, "items_per_second": {Base: "item/s"}, "max_bytes_used": {Base: "byte"}, "net_heap_growth": {Base: "byte"}, "total_allocated_bytes": {Base: "byte"}}

var suffixes = []string{"mean", "median", "stddev", "cv", "min", "max"}

// aggregate says whether a row is computed from others, and how.
func (r *reader) aggregate(row map[string]any) (name, how string, yes bool) {
	name, _ = row["name"].(string)
	base, _ := row["run_name"].(string)
	if row["run_type"] == "aggregate" {
		how, _ = row["aggregate_name"].(string)
		if how == "" {
			how = "aggregate"
		}
		if base == "" {
			base = strings.TrimSuffix(name, "_"+how)
		}
		return base, how, true
	}
	for _, key := range []string{"BigO", "RMS"} {
		if b, ok := strings.CutSuffix(name, "_"+key); ok && row["iterations"] == nil {
			return b, key, true
		}
	}
	if row["run_type"] == nil {
		for _, s := range suffixes {
			if b, ok := strings.CutSuffix(name, "_"+s); ok && r.plain[b] {
				return b, s, true
			}
		}
	}
	if base == "" {
		base = name
	}
	return base, "", false
}

func (r *reader) row(row map[string]any) error {
	name, how, isAggregate := r.aggregate(row)
	if name == "" {
		e := r.j.Syntax("the benchmark that ends here has no name")
		e.Expected = `"name": "..."`
		return e
	}
	region, err := r.region(name)
	if err != nil {
		return err
	}
	unit, _ := row["time_unit"].(string)
	if unit != "" && collectors.ParseUnit(unit).Base != "s" {
		e := r.j.Syntax("the unit of time of the benchmark that ends here is none")
		e.Expected, e.Found = `"ns", "us", "ms" or "s"`, collectors.Quote(unit)
		return e
	}
	if _, timed := row["real_time"]; timed && unit == "" {
		unit = "ns" // before version 1.0 there was no other
	}
	failed := row["error_occurred"] == true || row["skipped"] == true
	launch := int64(0)
	if !isAggregate {
		r.plain[name] = true
		r.launches++
		launch = r.launches
		l := datasets.Launch{ID: launch, Run: runID, Region: region, Sequence: datasets.Some(launch - 1)}
		if n, ok := row["repetition_index"].(json.Number); ok {
			l.ToolID = n.String()
		}
		if err := r.out.Put(&l); err != nil {
			return err
		}
	}
	if err := r.facts(row, region, launch, isAggregate); err != nil {
		return err
	}
	for _, n := range slices.Sorted(maps.Keys(row)) {
		if notCounters[n] {
			continue
		}
		if err := r.value(n, how, row, region, launch, unit, failed); err != nil {
			return err
		}
	}
	return nil
}

// facts emits what a row says that is no number.
func (r *reader) facts(row map[string]any, region, launch int64, isAggregate bool) error {
	if isAggregate {
		return nil
	}
	for _, n := range []string{"repetition_index", "repetitions", "threads"} {
		if v, ok := row[n]; ok {
			if err := r.attribute(region, launch, n, text(v)); err != nil {
				return err
			}
		}
	}
	status := ""
	if row["error_occurred"] == true {
		status = "error"
	} else if row["skipped"] == true {
		status = "skipped"
	}
	if status == "error" {
		r.failed++
		line, column := r.j.Place(r.j.InputOffset())
		r.out.Warn(line, column, "the benchmark %s has failed: %s", text(row["name"]), text(row["error_message"]))
	}
	return r.attribute(region, launch, "status", status)
}

// value emits one member of a row.
func (r *reader) value(n, how string, row map[string]any, region, launch int64, timeUnit string, failed bool) error {
	v := row[n]
	_, infinite := collectors.NotFinite(v)
	num, isNumber := v.(json.Number)
	if !isNumber && !infinite {
		name := n
		if n == "error_message" || n == "skip_message" {
			name = "message"
		}
		return r.attribute(region, launch, name, text(v))
	}
	c := datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: n, RawValue: text(v), Status: datasets.StatusNA}
	u := units[n]
	isTime := n == "real_time" || n == "cpu_time" || n == "real_coefficient" || n == "cpu_coefficient"
	if isTime {
		c.RawUnit, u = timeUnit, collectors.ParseUnit(timeUnit)
	}
	if how != "" {
		c.Metric += "." + how
		key := [2]string{strconv.FormatInt(region, 10), c.Metric}
		if r.whole[key]++; r.whole[key] > 1 {
			c.Instance = "#" + strconv.Itoa(r.whole[key])
		}
		if row["aggregate_unit"] == "percentage" || how == "cv" || n == "rms" { // fractions, whatever the row's unit of time
			u, c.RawUnit = collectors.Unit{Base: "%", Exp10: 2}, ""
		}
		if n == "iterations" {
			u = collectors.Unit{}
		}
	}
	c.Unit = u.Base
	if isNumber && !(failed && n != "iterations") {
		f, err := u.Scale(num.String(), collectors.Dot)
		if err != nil {
			return r.j.Syntax(collectors.Quote(n) + " of the benchmark that ends here: " + err.Error())
		}
		c.Value, c.Status = datasets.Some(f), datasets.StatusOK
	}
	return r.out.Put(&c)
}

func (r *reader) region(name string) (int64, error) {
	if id, ok := r.regions[name]; ok {
		return id, nil
	}
	id := int64(len(r.regions) + 1)
	r.regions[name] = id
	if err := r.out.Put(&datasets.Region{ID: id, Run: runID, Kind: datasets.KindFunction, Raw: name, Short: name}); err != nil {
		return 0, err
	}
	args := 0
	for _, part := range arguments(name) {
		key, value, ok := strings.Cut(part, ":")
		switch {
		case strings.HasSuffix(part, "_time"):
			key, value = "timing", part
		case !ok:
			key, value = "arg."+strconv.Itoa(args), part
			args++
		}
		if err := r.attribute(id, 0, key, value); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// arguments are the parts of a name behind slashes, but for slashes within
// brackets and a prefix whose next part is a name itself.
func arguments(name string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<', '(', '[':
			depth++
		case '>', ')', ']':
			depth--
		case '/':
			if depth <= 0 {
				parts = append(parts, name[start:i])
				start = i + 1
			}
		}
	}
	parts = append(parts, name[start:])
	first := len(parts)
	for first > 1 && isArgument(parts[first-1]) {
		first--
	}
	return parts[first:]
}

// isArgument says whether a part of a name is an argument: a number, a pair,
// or what the library adds.
func isArgument(s string) bool {
	switch s {
	case "real_time", "process_time", "manual_time":
		return true
	}
	if strings.Contains(s, ":") && !strings.Contains(s, "::") {
		return true
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func (r *reader) attribute(region, launch int64, name, value string) error {
	if value == "" {
		return nil
	}
	return r.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: launch, Name: name, Value: value})
}

func (r *reader) finish() error {
	switch {
	case len(r.regions) == 0:
		r.run.Status, r.run.Error = datasets.RunEmpty, "the file holds no benchmark"
		r.out.Warn(0, 0, "%s", r.run.Error)
	case r.failed > 0 && r.failed == r.launches:
		r.run.Status, r.run.Error = datasets.RunFailed, "every benchmark has failed"
	}
	m := r.machine
	if m.Host != "" || m.Units.Valid || m.ClockHz.Valid {
		r.run.Machine = machineID
		if err := r.out.Put(&m); err != nil {
			return err
		}
	}
	return r.out.Put(&r.run)
}
