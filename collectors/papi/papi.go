// Package papi reads what PAPI's high-level interface writes for each process,
// papi_hl_output/rank_000000.json. All of its numbers are texts.
//
// PAPI 7 numbers the visits of regions and says which is within which:
//
//	{"papi_version": "7.0.0.0", "cpu_info": "...", "event_definitions": {"PAPI_TOT_INS": {"component": "perf_event", "type": "delta"}},
//	 "threads": {"0": {"regions": {"0": {"name": "solve", "parent_region_id": "-1", "cycles": "12", "real_time_nsec": "34", "PAPI_TOT_INS": "56"}}}}}
//
// PAPI 6 and 5.7 list regions by name, once per visit or with a region_count:
//
//	{"cpu in mhz": "2400", "threads": [{"id": "0", "regions": [{"solve": {"region_count": "2", "cycles": "12", "PAPI_TOT_INS": "56"}}]}]}
//
// An event that was read within a region is an object, {"region_value": "56",
// "read_1": "20"}. Files of several ranks that PAPI's script merged have them
// under "ranks".
//
// Out flow one run, a region per path of names, and a launch per visit or
// record, with its thread and its rank, which is in the name of the file. Each
// event is a counter; what was read on the way has "read_1" as its instance.
// real_time_nsec and perf::TASK-CLOCK are in seconds. Values contain those of
// the regions within.
package papi

import (
	"bytes"
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "papi-json",
		About:   "PAPI, JSON of the high-level interface",
		Version: 1,
		Detect:  detect,
		Parse:   parse,
	})
}

func detect(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	if !bytes.HasPrefix(b, []byte("{")) {
		return collectors.No
	}
	has := func(key string) bool { return bytes.Contains(b, []byte(`"`+key+`"`)) }
	switch {
	case has("papi_version") && (has("threads") || has("event_definitions")):
		return collectors.Certain
	case has("threads") && has("regions") && (has("cpu in mhz") || has("region_count") || has("real_time_nsec") || bytes.Contains(b, []byte(`"PAPI_`))):
		return collectors.Certain
	}
	return collectors.No
}

const (
	runID, machineID = 1, 1
	fileLimit        = 256 << 20
)

type reader struct {
	in      *collectors.Input
	out     *collectors.Output
	json    *collectors.JSON
	run     datasets.Run
	machine datasets.Machine
	regions map[regionKey]int64
	launch  int64
	times   map[string]bool
}

type regionKey struct {
	parent int64
	name   string
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, json: collectors.NewJSON(in), regions: map[regionKey]int64{}, times: map[string]bool{},
		run: datasets.Run{ID: runID, Tool: "papi", Format: "papi-json", Status: datasets.RunOK}, machine: datasets.Machine{ID: machineID}}
	root, err := r.read(ctx)
	if err != nil {
		return err
	}
	if root.members == nil && root.items == nil {
		return r.bad(root, "the file holds no measurement", `an object with "threads"`)
	}
	if err := r.facts(root); err != nil {
		return err
	}
	switch threads, ranks := root.get("threads"), root.get("ranks"); {
	case threads != nil:
		if err := r.threads(threads, rankOf(in.Name)); err != nil {
			return err
		}
	case ranks != nil:
		if err := r.ranks(ranks); err != nil {
			return err
		}
	default:
		return r.bad(root, "the object has no threads", `"threads"`)
	}
	if r.launch == 0 {
		r.run.Status, r.run.Error = datasets.RunEmpty, "no region was measured"
		out.Warn(0, 0, "%s", r.run.Error)
	}
	for _, name := range []string{"real_time_nsec", "cycles"} {
		if r.times[name] {
			r.run.TimeMetric, r.run.TimeInclusive = name, true
			break
		}
	}
	if r.machine.CPU != "" || r.machine.ClockHz.Valid {
		r.run.Machine = machineID
		if err := out.Put(&r.machine); err != nil {
			return err
		}
	}
	return out.Put(&r.run)
}

// rankOf reads the rank in rank_000012.json; without MPI PAPI draws a number.
func rankOf(name string) datasets.Null[int64] {
	base := filepath.Base(name)
	s, ok := strings.CutPrefix(base, "rank_")
	if !ok {
		return datasets.Null[int64]{}
	}
	s, _, _ = strings.Cut(s, ".")
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return datasets.Null[int64]{}
	}
	return datasets.Some(int64(n))
}

// facts keeps what the file says of the machine and the events.
func (r *reader) facts(root *node) error {
	for _, m := range root.members {
		if m.value.items != nil || m.value.members != nil {
			if m.key != "event_definitions" {
				continue
			}
			for _, e := range m.value.members {
				for _, f := range e.value.members {
					if err := r.out.Put(&datasets.Attribute{Run: runID, Name: e.key + " " + f.key, Value: f.value.text}); err != nil {
						return err
					}
				}
			}
			continue
		}
		switch m.key {
		case "papi_version":
			r.run.ToolVersion = m.value.text
		case "cpu_info":
			r.machine.CPU = m.value.text
		case "max_cpu_rate_mhz", "cpu in mhz":
			if v, err := collectors.ParseNumber(m.value.text, collectors.Dot, 6); err == nil {
				r.machine.ClockHz = datasets.Some(v)
			}
		}
		if err := r.out.Put(&datasets.Attribute{Run: runID, Name: m.key, Value: m.value.text}); err != nil {
			return err
		}
	}
	return nil
}

// ranks reads what PAPI's script merged: [{"id": "0", "threads": [...]}].
func (r *reader) ranks(ranks *node) error {
	for _, m := range ranks.elements() {
		id := m.key
		if n := m.value.get("id"); n != nil {
			id = n.text
		}
		n, err := strconv.ParseUint(id, 10, 31)
		if err != nil {
			return r.bad(m.value, "the rank has no number", `"id"`)
		}
		threads := m.value.get("threads")
		if threads == nil {
			return r.bad(m.value, "the rank has no threads", `"threads"`)
		}
		if err := r.threads(threads, datasets.Some(int64(n))); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) threads(threads *node, rank datasets.Null[int64]) error {
	for _, m := range threads.elements() {
		id := m.key
		if n := m.value.get("id"); n != nil {
			id = n.text
		}
		n, err := strconv.ParseUint(id, 10, 62)
		if err != nil {
			return r.bad(m.value, "the thread has no number", `"id"`)
		}
		regions := m.value.get("regions")
		if regions == nil {
			return r.bad(m.value, "the thread has no regions", `"regions"`)
		}
		if err := r.visits(regions, rank, datasets.Some(int64(n))); err != nil {
			return err
		}
	}
	return nil
}

// visits reads the regions of a thread, in either shape.
func (r *reader) visits(regions *node, rank, thread datasets.Null[int64]) error {
	ids := map[string]int64{} // PAPI 7: regions of visits, by number
	for _, m := range regions.elements() {
		if m.value.members == nil {
			return r.bad(m.value, "a region is no object", "an object of events")
		}
		if name := m.value.get("name"); name != nil && m.value.get("parent_region_id") != nil {
			parent := int64(0)
			if p := m.value.get("parent_region_id"); p.text != "-1" {
				var known bool
				if parent, known = ids[p.text]; !known {
					return r.bad(p, "the region is within one that the thread does not have before it", "the number of a region above")
				}
			}
			id, err := r.region(parent, name.text)
			if err != nil {
				return err
			}
			ids[m.key] = id
			if err := r.visit(id, m.key, m.value, rank, thread); err != nil {
				return err
			}
			continue
		}
		// PAPI 6: {"solve": {events}}, in a list or directly.
		list := []member{m}
		if m.key == "" {
			list = m.value.members
		}
		for _, v := range list {
			if v.value.members == nil {
				return r.bad(v.value, "a region is no object", "an object of events")
			}
			id, err := r.region(0, v.key)
			if err != nil {
				return err
			}
			if err := r.visit(id, "", v.value, rank, thread); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) region(parent int64, name string) (int64, error) {
	key := regionKey{parent, name}
	if id, ok := r.regions[key]; ok {
		return id, nil
	}
	id := int64(len(r.regions) + 1)
	r.regions[key] = id
	return id, r.out.Put(&datasets.Region{ID: id, Run: runID, Parent: parent, Kind: datasets.KindRange, Raw: name, Short: name})
}

// nanoseconds are events that count them.
var nanoseconds = map[string]bool{"real_time_nsec": true, "perf::TASK-CLOCK": true, "perf::CPU-CLOCK": true}

func (r *reader) visit(region int64, toolID string, events *node, rank, thread datasets.Null[int64]) error {
	r.launch++
	l := datasets.Launch{ID: r.launch, Run: runID, Region: region, Rank: rank, Thread: thread, Sequence: datasets.Some(r.launch - 1), ToolID: toolID}
	if t := events.get("real_time_nsec"); t != nil {
		if v := t.get("region_value"); v != nil {
			t = v
		}
		if n, err := strconv.ParseInt(t.text, 10, 64); err == nil && n >= 0 {
			l.DurNs = datasets.Some(n)
		}
	}
	if err := r.out.Put(&l); err != nil {
		return err
	}
	for _, m := range events.members {
		if m.key == "name" || m.key == "parent_region_id" || m.key == "" {
			continue
		}
		if m.value.members == nil {
			if err := r.counter(&l, m.key, "", m.value); err != nil {
				return err
			}
			continue
		}
		for _, v := range m.value.members {
			instance := v.key
			if instance == "region_value" || instance == "total" {
				instance = ""
			}
			if err := r.counter(&l, m.key, instance, v.value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) counter(l *datasets.Launch, event, instance string, n *node) error {
	c := datasets.Counter{Run: runID, Region: l.Region, Launch: l.ID, Metric: event, Instance: instance, RawValue: n.text, Status: datasets.StatusOK}
	exp := 0
	if nanoseconds[event] {
		c.Unit, c.RawUnit, exp = "s", "ns", -9
	}
	if n.members != nil || n.items != nil {
		return r.bad(n, "the value of "+event+" is no number", "a number as a text")
	}
	v, err := collectors.ParseNumber(n.text, collectors.Dot, exp)
	if err != nil {
		return r.bad(n, "the value of "+event+" is no number", "a number as a text")
	}
	c.Value = datasets.Some(v)
	if instance == "" {
		r.times[event] = true
	}
	return r.out.Put(&c)
}
