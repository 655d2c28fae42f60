package ncurep

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// metric is one of a result, as it is in the file.
type metric struct {
	name      string
	total     value
	category  uint64
	instances []field // still to be read
}

// series is the category of metrics that are sampled over time.
const series = 1

// stalls is how metrics begin whose instances are PC samples.
const stalls = "smsp__pcsamp_warps_issue_stalled_"

func (p *parser) metric(fd field) (m metric, err error) {
	named := false
	err = p.eachIn(fd, "a metric", func(fd field) error {
		switch fd.num {
		case 1:
			i := uint64(0)
			if err := p.number(fd, &i); err != nil {
				return err
			}
			if i >= uint64(len(p.strings)) {
				return p.bad(fd.at, "a metric's name is string %d, and there are %d", i, len(p.strings))
			}
			m.name, named = p.strings[i], true
		case 2:
			m.total, err = p.value(fd, "a metric's value")
			return err
		case 3:
			m.instances = append(m.instances, fd)
		case 4:
			return p.number(fd, &m.category)
		}
		return nil
	})
	if err == nil && !named {
		err = p.bad(fd.at, "a metric has no name")
	}
	return m, err
}

// instance is one instance of a metric.
type instance struct {
	id, value value
	more      []value
}

func (p *parser) instance(fd field) (i instance, err error) {
	err = p.eachIn(fd, "an instance of a metric", func(fd field) error {
		var err error
		switch fd.num {
		case 1:
			i.id, err = p.value(fd, "what an instance belongs to")
		case 2:
			i.value, err = p.value(fd, "an instance's value")
		case 3:
			var v value
			v, err = p.value(fd, "an instance's values")
			i.more = append(i.more, v)
		}
		return err
	})
	return i, err
}

// putMetric puts a metric of a result: its counters, samples over time, or
// PC samples.
func (p *parser) putMetric(r *result, m *metric) error {
	unit, exp10 := unitOf(m.name)
	all := make([]instance, len(m.instances))
	for i, fd := range m.instances {
		var err error
		if all[i], err = p.instance(fd); err != nil {
			return err
		}
	}
	if m.category == series && !strings.HasPrefix(m.name, "profiler__") {
		if err := p.putSeries(m.name, unit, exp10, all); err != nil {
			return err
		}
		if m.total.kind == none && len(all) > 0 {
			return nil // a rate has no sum over time
		}
		return p.putCounter(r, m.name, "", m.total, unit, exp10)
	}
	if len(all) == 1 && len(all[0].more) == 0 {
		switch only := all[0].value; {
		case only.kind == textual && m.total.kind != textual: // the number is no more than a count of it
			return p.putCounter(r, m.name, "", only, unit, exp10)
		case only == m.total && all[0].id.u == 0:
			all = nil
		}
	}
	if err := p.putCounter(r, m.name, "", m.total, unit, exp10); err != nil {
		return err
	}
	if strings.HasPrefix(m.name, stalls) {
		return p.collectStalls(r, m.name, all)
	}
	for i := range all {
		name := p.instanceName(r, m.name, all[i].id)
		if name == "" {
			name = fmt.Sprint(i)
		}
		if err := p.putCounter(r, m.name, name, all[i].value, unit, exp10); err != nil {
			return err
		}
		for k, v := range all[i].more {
			if err := p.putCounter(r, m.name, fmt.Sprintf("%s/%d", name, k), v, unit, exp10); err != nil {
				return err
			}
		}
	}
	return nil
}

// instanceName is what an instance belongs to, in words.
func (p *parser) instanceName(r *result, metric string, id value) string {
	if id.kind != integer || !r.isPC(metric, id.u) {
		return id.String()
	}
	name, offset, ok := r.locate(id.u)
	switch {
	case !ok:
		return fmt.Sprintf("0x%x", id.u)
	case name == r.mangled:
		return fmt.Sprintf("0x%04x", offset)
	}
	return fmt.Sprintf("%s+0x%04x", name, offset)
}

func (p *parser) putCounter(r *result, metric, instance string, v value, unit string, exp10 int) error {
	c := datasets.Counter{Run: runID, Region: r.rec.Region, Launch: r.rec.ID, Metric: metric, Instance: instance,
		RawValue: v.String(), Unit: unit, Status: datasets.StatusOK}
	switch {
	case v.kind == none || v.kind == textual && v.s == "no data" || v.kind == floating && (math.IsNaN(v.f) || math.IsInf(v.f, 0)):
		c.Status = datasets.StatusNA
	case v.kind == textual:
		c.Unit = ""
	default:
		c.Value = datasets.Some(scaled(v.f, exp10))
	}
	return p.out.Put(&c)
}

// scaled is v times a power of ten; nanoseconds lose nothing by it.
func scaled(v float64, exp10 int) float64 {
	if exp10 < 0 {
		return v / math.Pow10(-exp10)
	}
	return v * math.Pow10(exp10)
}

// putSeries puts the samples of a metric over time.
func (p *parser) putSeries(metric, unit string, exp10 int, all []instance) error {
	for _, i := range all {
		if i.id.kind != integer || i.id.u > math.MaxInt64 {
			p.once("time", "samples of %s without a time are left out", metric)
			continue
		}
		t := datasets.Telemetry{Run: runID, Sensor: metric, TNs: int64(i.id.u), Unit: unit, Kind: "average"}
		if v := i.value; (v.kind == floating || v.kind == integer) && !math.IsNaN(v.f) && !math.IsInf(v.f, 0) {
			t.Value = datasets.Some(scaled(v.f, exp10))
		}
		if strings.HasSuffix(metric, ".sum") {
			t.Kind = "instant" // a sum over the interval
		}
		if err := p.out.Put(&t); err != nil {
			return err
		}
	}
	return nil
}

// sampled are the PC samples of a result for one instruction and one reason.
type sampled struct {
	pc     uint64
	reason string
}

// collectStalls keeps the samples of one reason: those of all cycles and those
// of cycles without an issue are two metrics and become one record.
func (p *parser) collectStalls(r *result, metric string, all []instance) error {
	reason, notIssued := strings.CutSuffix(strings.TrimPrefix(metric, stalls), "_not_issued")
	for _, i := range all {
		if i.id.kind != integer || i.value.kind != integer && i.value.kind != floating {
			continue
		}
		key := sampled{i.id.u, reason}
		s, ok := r.samples[key]
		if !ok {
			s = &datasets.PCSample{Reason: reason}
			r.samples[key] = s
			r.order = append(r.order, key)
		}
		n := datasets.Some(int64(i.value.f))
		if notIssued {
			s.NotIssued = n
		} else {
			s.Samples = n
		}
	}
	return nil
}

// putSamples puts the PC samples that are not zero, with their instructions.
func (p *parser) putSamples(r *result) error {
	for _, key := range r.order {
		s := r.samples[key]
		if s.Samples.V == 0 && s.NotIssued.V == 0 {
			continue
		}
		name, offset, ok := r.locate(key.pc)
		if !ok {
			p.once("pc", "PC samples at an address that is in no known function are left out: 0x%x", key.pc)
			continue
		}
		fn, err := p.putFunction(r.rec.Region, r.mangled, name, r.source)
		if err != nil {
			return err
		}
		s.Run, s.Launch = runID, r.rec.ID
		if s.Code, err = p.instruction(fn, offset); err != nil {
			return err
		}
		if err := p.out.Put(s); err != nil {
			return err
		}
	}
	return nil
}
