package nsys

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// sensor is a metric that was sampled.
type sensor struct{ name, unit string }

// metrics reads the samples of GPU metrics, averages over the time since the
// sample before.
func (e *export) metrics() error {
	e.read["GPU_METRICS"], e.read["TARGET_INFO_GPU_METRICS"] = true, true
	type key struct{ typ, metric int64 }
	sensors := map[key]sensor{}
	typed := e.db.has("TARGET_INFO_GPU_METRICS", "typeId") && e.db.has("GPU_METRICS", "typeId")
	err := e.db.each(e.ctx, "TARGET_INFO_GPU_METRICS", []string{"typeId", "metricId", "metricName"}, "", func(r *record) error {
		k := key{}
		if typed {
			k.typ, _ = r.integer("typeId")
		}
		k.metric, _ = r.integer("metricId")
		sensors[k] = named(r.text("metricName"))
		return nil
	})
	if err != nil {
		return err
	}
	return e.db.each(e.ctx, "GPU_METRICS", []string{"timestamp", "typeId", "metricId", "value"}, "timestamp", func(r *record) error {
		k := key{}
		typ, _ := r.integer("typeId")
		if typed {
			k.typ = typ
		}
		k.metric, _ = r.integer("metricId")
		s, ok := sensors[k]
		if !ok {
			s = sensor{name: "metric " + strconv.FormatInt(k.metric, 10)}
		}
		t, ok := r.integer("timestamp")
		if !ok {
			return &collectors.SyntaxError{File: e.in.Name, Msg: "a sample of GPU_METRICS has no time", Hint: "the database is damaged: export the report again"}
		}
		var value datasets.Null[float64]
		switch v := r.values[r.at["value"]].(type) {
		case int64:
			value = datasets.Some(float64(v))
		case float64:
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				value = datasets.Some(v)
			}
		}
		return e.sample(int(typ&0xff), s, t, value)
	})
}

func (e *export) sample(gpu int, s sensor, t int64, value datasets.Null[float64]) error {
	e.samples++
	u := collectors.ParseUnit(s.unit)
	// Clocks are said to be in MHz; versions that store Hz under that name
	// have values that no clock in MHz reaches.
	if u.Base == "Hz" && value.V > 1e5 {
		u.Exp10 = 0
	}
	if value.Valid && (u.Exp10 != 0 || u.Exp2 != 0) {
		v, err := u.Scale(strconv.FormatFloat(value.V, 'g', -1, 64), collectors.Dot)
		if err != nil {
			return fmt.Errorf("reading %s: the metric %s: %w", e.in.Name, s.name, err)
		}
		value.V = v
	}
	return e.out.Put(&datasets.Telemetry{Run: runID, Sensor: fmt.Sprintf("gpu%d.%s", gpu, s.name), TNs: t, Value: value, Unit: u.Base, Kind: "average"})
}

// named cuts the unit off a metric's name: "SMs Active [Throughput %]".
func named(name string) sensor {
	if i := strings.LastIndexByte(name, '['); i > 0 && strings.HasSuffix(name, "]") {
		unit := name[i+1 : len(name)-1]
		if strings.HasSuffix(unit, "%") {
			unit = "%"
		}
		return sensor{strings.TrimSpace(name[:i]), unit}
	}
	return sensor{name: name}
}

// genericEvents reads the samples of exports before GPU_METRICS had a table:
// events whose data is JSON, with the metrics as members.
func (e *export) genericEvents() error {
	if !e.db.has("GENERIC_EVENTS", "timestamp", "typeId", "data") || e.samples > 0 {
		return nil
	}
	gpu := map[int64]bool{}
	err := e.db.each(e.ctx, "GENERIC_EVENT_TYPES", []string{"typeId", "data"}, "", func(r *record) error {
		id, _ := r.integer("typeId")
		data := r.text("data")
		gpu[id] = strings.Contains(data, "GPU") || strings.Contains(data, "GpuMetrics")
		return nil
	})
	if err != nil {
		return err
	}
	e.read["GENERIC_EVENT_TYPES"], e.read["GENERIC_EVENT_SOURCES"] = true, true
	some := false
	err = e.db.each(e.ctx, "GENERIC_EVENTS", []string{"timestamp", "typeId", "data"}, "timestamp", func(r *record) error {
		id, _ := r.integer("typeId")
		t, ok := r.integer("timestamp")
		if !gpu[id] || !ok {
			return nil
		}
		var data map[string]any
		if err := json.Unmarshal([]byte(r.text("data")), &data); err != nil {
			return &collectors.SyntaxError{File: e.in.Name, Msg: fmt.Sprintf("the data of the generic event at %d ns is no JSON: %v", t, err), Hint: "export the report again"}
		}
		names := slices.Sorted(maps.Keys(data))
		for _, n := range names {
			text := fmt.Sprint(data[n])
			v, err := collectors.ParseNumber(text, collectors.Dot, 0)
			if err != nil || strings.HasPrefix(n, "#") || n == "ts" || n == "rawTimestamp" {
				continue
			}
			some = true
			if err := e.sample(int(id&0xff), named(n), t, datasets.Some(v)); err != nil {
				return err
			}
		}
		return nil
	})
	e.read["GENERIC_EVENTS"] = some
	return err
}
