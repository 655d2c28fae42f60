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
	name     string
	total    value
	category uint64
	body     message // instances are read when they are wanted: a file may hold millions
	n        int     // of instances
}

// series is the category of metrics that are sampled over time.
const series = 1

// stalls is how metrics begin whose instances are PC samples.
const stalls = "smsp__pcsamp_warps_issue_stalled_"

func (p *parser) metric(fd field) (m metric, err error) {
	named := false
	if m.body, err = p.message(fd, "a metric"); err != nil {
		return m, err
	}
	err = p.each(m.body, func(fd field) error {
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
			m.n++
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
	body      message // more values, field 3
	more      bool
}

// eachInstance calls f with the instances of a metric.
func (p *parser) eachInstance(m *metric, f func(instance) error) error {
	return p.each(m.body, func(fd field) error {
		if fd.num != 3 {
			return nil
		}
		i := instance{}
		var err error
		if i.body, err = p.message(fd, "an instance of a metric"); err != nil {
			return err
		}
		err = p.each(i.body, func(fd field) (err error) {
			switch fd.num {
			case 1:
				i.id, err = p.value(fd, "what an instance belongs to")
			case 2:
				i.value, err = p.value(fd, "an instance's value")
			case 3:
				i.more = true
			}
			return err
		})
		if err != nil {
			return err
		}
		return f(i)
	})
}

// putMetric puts a metric of a result: its counters, samples over time, or
// PC samples.
func (p *parser) putMetric(r *result, m *metric) error {
	unit, exp10 := unitOf(m.name)
	if m.category == series && !strings.HasPrefix(m.name, "profiler__") {
		if err := p.eachInstance(m, func(i instance) error { return p.putReading(m.name, unit, exp10, i) }); err != nil {
			return err
		}
		if m.total.kind == none && m.n > 0 {
			return nil // a rate has no sum over time
		}
		return p.putCounter(r, m.name, "", m.total, unit, exp10)
	}
	if m.n == 1 {
		alone, err := p.alone(m)
		switch {
		case err != nil:
			return err
		case alone.kind != none:
			return p.putCounter(r, m.name, "", alone, unit, exp10)
		}
	}
	if err := p.putCounter(r, m.name, "", m.total, unit, exp10); err != nil {
		return err
	}
	if strings.HasPrefix(m.name, stalls) {
		return p.eachInstance(m, func(i instance) error { return r.keepStall(m.name, i) })
	}
	n := 0
	return p.eachInstance(m, func(i instance) error {
		name := p.instanceName(r, m.name, i.id)
		if name == "" {
			name = fmt.Sprint(n)
		}
		n++
		if err := p.putCounter(r, m.name, name, i.value, unit, exp10); err != nil || !i.more {
			return err
		}
		k := 0
		return p.each(i.body, func(fd field) error {
			if fd.num != 3 {
				return nil
			}
			v, err := p.value(fd, "an instance's values")
			if err != nil {
				return err
			}
			k++
			return p.putCounter(r, m.name, fmt.Sprintf("%s/%d", name, k-1), v, unit, exp10)
		})
	})
}

// alone is the value of a metric whose only instance is the metric itself:
// the same value again, or a text whose number is no more than a count of it.
func (p *parser) alone(m *metric) (v value, err error) {
	err = p.eachInstance(m, func(i instance) error {
		switch {
		case i.more:
		case i.value.kind == textual && m.total.kind != textual, i.value == m.total && i.id.u == 0:
			v = i.value
		}
		return nil
	})
	return v, err
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

// putReading puts one sample of a metric over time.
func (p *parser) putReading(metric, unit string, exp10 int, i instance) error {
	if i.id.kind != integer || i.id.u > math.MaxInt64 {
		p.once("time", "samples of %s without a time are left out", metric)
		return nil
	}
	t := datasets.Telemetry{Run: runID, Sensor: metric, TNs: int64(i.id.u), Unit: unit, Kind: "average"}
	if v := i.value; (v.kind == floating || v.kind == integer) && !math.IsNaN(v.f) && !math.IsInf(v.f, 0) {
		t.Value = datasets.Some(scaled(v.f, exp10))
	}
	if strings.HasSuffix(metric, ".sum") {
		t.Kind = "instant" // a sum over the interval
	}
	return p.out.Put(&t)
}

// sampled are the PC samples of a result for one instruction and one reason.
type sampled struct {
	pc     uint64
	reason string
}

// keepStall keeps the samples of one reason: those of all cycles and those of
// cycles without an issue are two metrics and become one record.
func (r *result) keepStall(metric string, i instance) error {
	reason, notIssued := strings.CutSuffix(strings.TrimPrefix(metric, stalls), "_not_issued")
	if i.id.kind != integer || i.value.kind != integer && i.value.kind != floating {
		return nil
	}
	r.counted[reason] = r.counted[reason] || !notIssued
	key := sampled{i.id.u, reason}
	s, ok := r.samples[key]
	if !ok {
		if i.value.f == 0 {
			return nil // most are, and those are not put
		}
		s = &datasets.PCSample{Reason: reason, Samples: datasets.Null[int64]{Valid: r.counted[reason]}}
		r.samples[key] = s
		r.order = append(r.order, key)
	}
	n := datasets.Some(int64(i.value.f))
	if notIssued {
		s.NotIssued = n
	} else {
		s.Samples = n
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
