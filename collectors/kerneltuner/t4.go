package kerneltuner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// t4 reads results in the T4 schema.
type t4 struct {
	*tuning
	seen     map[string]bool
	timeUnit string // what the metadata say
}

func parseT4(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	t := &t4{tuning: newTuning(in, out, formatT4), seen: map[string]bool{}}
	if err := t.j.Delim('{', "the file"); err != nil {
		return err
	}
	for t.j.More() {
		if err := t.member(ctx); err != nil {
			return err
		}
	}
	if err := t.j.Delim('}', "the end of the file"); err != nil {
		return err
	}
	if err := t.end(); err != nil {
		return err
	}
	if !t.seen["results"] {
		e := t.j.Syntax("the file lacks a member")
		e.Expected, e.Hint = `"results"`, "is this a file of results in the T4 schema?"
		return e
	}
	return t.finish()
}

func (t *t4) member(ctx context.Context) error {
	key, err := t.j.Member(t.seen, "the file")
	if err != nil {
		return err
	}
	if key == "results" {
		return t.results(ctx)
	}
	var v any
	if err := t.j.Decode(&v); err != nil {
		return t.j.Wrap(err)
	}
	switch m := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if err := t.metadata(name, collectors.JSONText(m[name])); err != nil {
				return err
			}
		}
		return nil
	}
	if key == "schema_version" {
		t.run.FormatVersion = collectors.JSONText(v)
		if major, _, _ := strings.Cut(collectors.JSONText(v), "."); major != "1" {
			return &collectors.UnsupportedError{File: t.in.Name, What: "a file of the T4 schema in version " + collectors.Quote(collectors.JSONText(v)), Hint: "rooflab reads versions 1.x"}
		}
		return nil
	}
	return t.attribute(0, 0, key, collectors.JSONText(v))
}

// metadata keeps what KTT says besides the results.
func (t *t4) metadata(name, value string) error {
	switch strings.ToLower(name) {
	case "device", "device_name":
		t.machine.GPU = value
	case "autotuner":
		t.run.Tool = value
	case "autotuner_version":
		t.run.ToolVersion = value
	case "kernel", "kernel_name":
		t.kernel = value
	case "timeunit":
		t.timeUnit = value
		if t.count > 0 {
			t.out.Warn(0, 0, "the file names the unit of its times, %s, after the times: they have none", collectors.Quote(value))
		}
	}
	return t.attribute(0, 0, name, value)
}

func (t *t4) results(ctx context.Context) error {
	if err := t.j.Delim('[', `"results"`); err != nil {
		return err
	}
	for n := 0; t.j.More(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", t.in.Name, ctx.Err())
		}
		ps, err := t.pairs("the result")
		if err != nil {
			return err
		}
		if err := t.result(ps); err != nil {
			return err
		}
	}
	return t.j.Delim(']', `"results"`)
}

func (t *t4) result(ps []pair) error {
	l := t.launch("")
	r := map[string]any{}
	for _, p := range ps {
		r[p.key] = p.value
	}
	invalidity, named := r["invalidity"].(string)
	conf, hasConf := r["configuration"].(map[string]any)
	if !named || !hasConf {
		e := t.j.Syntax("the result that ends here lacks its configuration or its invalidity")
		e.Expected = `"configuration": {...} and "invalidity": "..."`
		return e
	}
	unit, err := t.unitOfTimes(r)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(conf)) {
		if err := t.parameter(l, name, conf[name]); err != nil {
			return err
		}
	}
	for _, p := range ps {
		switch p.key {
		case "configuration":
		case "times":
			err = t.times(l, p.value, unit, invalidity)
		case "measurements":
			err = t.measurements(l, p.value, unit, invalidity)
		case "compilation_data":
			err = t.compilation(l, p.value)
		case "correctness":
			_, _, err = t.counter(l.ID, p.key, "", "", p.value)
		default:
			err = t.attribute(regionID, l.ID, p.key, collectors.JSONText(p.value))
		}
		if err != nil {
			return err
		}
	}
	return t.out.Put(l)
}

// unitOfTimes finds the unit of the times of a result: that of the metadata,
// else of its measurement "time".
func (t *t4) unitOfTimes(r map[string]any) (string, error) {
	if t.timeUnit != "" {
		return t.timeUnit, nil
	}
	list, _ := r["measurements"].([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if u, ok := m["unit"].(string); ok && u != "" && m["name"] == "time" {
			return u, nil
		}
	}
	if !t.warned["unit"] {
		t.warned["unit"] = true
		line, column := t.j.Place(t.j.InputOffset())
		t.out.Warn(line, column, "the file does not tell the unit of its times, so they have none (Kernel Tuner writes milliseconds)")
	}
	return "", nil
}

// tooLong is KTT's time for something that was not measured, 2^64 - 1 ns, in
// whatever unit.
func tooLong(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	f, err := n.Float64()
	for _, scale := range []float64{1, 1e3, 1e6, 1e9} {
		if err == nil && f*scale >= 1.8446e19 && f*scale <= 1.8447e19 {
			return true
		}
	}
	return err == nil && f >= oldFailure
}

// time emits a time. A configuration that is not correct has none.
func (t *t4) time(l *datasets.Launch, metric, instance, unit string, v any, invalid bool) (datasets.Null[float64], error) {
	_, isNumber := v.(json.Number)
	if tooLong(v) || invalid && isNumber {
		raw, base := unitOf(metric, unit)
		if unit == "" {
			raw, base = "", collectors.Unit{}
		}
		return datasets.Null[float64]{}, t.out.Put(&datasets.Counter{Run: runID, Region: regionID, Launch: l.ID, Metric: metric, Instance: instance, Unit: base.Base, RawUnit: raw, RawValue: collectors.JSONText(v), Status: datasets.StatusNA})
	}
	if unit == "" {
		unit = noUnit // the units of a cache file's names are not those of this file
	}
	value, ok, err := t.counter(l.ID, metric, instance, unit, v)
	if err == nil && !ok {
		err = t.attribute(regionID, l.ID, metric, collectors.JSONText(v))
	}
	return value, err
}

func (t *t4) times(l *datasets.Launch, v any, unit, invalidity string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return t.j.Syntax("the times of the result that ends here are no object")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list, isList := m[name].([]any)
		if !isList {
			if _, err := t.time(l, name, "", unit, m[name], false); err != nil {
				return err
			}
			continue
		}
		for i, e := range list {
			if _, err := t.time(l, name, fmt.Sprint(i), unit, e, invalidity != "correct"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *t4) measurements(l *datasets.Launch, v any, unit, invalidity string) error {
	list, ok := v.([]any)
	if !ok {
		return t.j.Syntax("the measurements of the result that ends here are no list")
	}
	for _, e := range list {
		m, ok := e.(map[string]any)
		name, named := m["name"].(string)
		value, has := m["value"]
		if !ok || !named || !has {
			e := t.j.Syntax("a measurement of the result that ends here is incomplete")
			e.Expected = `{"name": ..., "value": ..., "unit": ...}`
			return e
		}
		written, _ := m["unit"].(string)
		if name == "time" {
			seconds, err := t.time(l, name, "", unit, value, invalidity != "correct")
			if err != nil {
				return err
			}
			if seconds.Valid {
				t.timed = true
				if _, u := unitOf(name, unit); unit != "" && u.Base == "s" {
					duration(l, seconds.V)
				}
			}
			continue
		}
		if written == "" && units[name] == "ms" {
			written = unit
		}
		_, ok, err := t.counter(l.ID, name, "", written, value)
		if err == nil && !ok {
			ok, err = t.list(l.ID, name, written, value)
		}
		if err == nil && !ok {
			err = t.attribute(regionID, l.ID, name, collectors.JSONText(value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compilation reads what KTT knows of the compiled kernel.
func (t *t4) compilation(l *datasets.Launch, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return t.attribute(regionID, l.ID, "compilation_data", collectors.JSONText(v))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if size, ok := m[name].(map[string]any); ok && name == "local_size" {
			for i, axis := range []string{"x", "y", "z"} {
				if n, ok := size[axis].(json.Number); ok {
					if k, err := n.Int64(); err == nil && k > 0 {
						l.Block[i] = datasets.Some(k)
					}
				}
			}
		}
		if n, ok := m[name].(json.Number); ok {
			if k, err := n.Int64(); err == nil && name == "registers" {
				l.Regs = datasets.Some(k)
			}
			if _, _, err := t.counter(l.ID, name, "", "", n); err != nil {
				return err
			}
			continue
		}
		if err := t.attribute(regionID, l.ID, name, collectors.JSONText(m[name])); err != nil {
			return err
		}
	}
	return nil
}
