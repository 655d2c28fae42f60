package smi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

// log is a file that is being read.
type log struct {
	ctx context.Context
	in  *collectors.Input
	out *collectors.Output
	r   *delimited.Reader

	run     datasets.Run
	machine datasets.Machine
	facts   map[string]bool   // that were put
	names   map[int64]string  // of GPUs
	ids     map[string]int64  // GPUs by uuid or place on the bus
	fine    map[string]string // last text of a fact
	gpus    map[int64]bool
	warned  map[string]bool
	rows    int
	samples int64

	ceilings bool // there are some of the machine
}

func newLog(ctx context.Context, in *collectors.Input, out *collectors.Output, format string) *log {
	tool := "nvidia-smi"
	switch {
	case strings.HasPrefix(format, "nvml"):
		tool = "nvml"
	case strings.HasPrefix(format, "dcgm"):
		tool = "dcgm"
	case strings.HasPrefix(format, "rocm-smi"):
		tool = "rocm-smi"
	case strings.HasPrefix(format, "amd-smi"):
		tool = "amd-smi"
	case !strings.HasPrefix(format, "nvidia-smi"):
		tool = strings.TrimSuffix(strings.TrimSuffix(format, "-csv"), "-json")
	}
	return &log{ctx: ctx, in: in, out: out, r: delimited.New(in), facts: map[string]bool{}, names: map[int64]string{}, ids: map[string]int64{}, fine: map[string]string{},
		gpus: map[int64]bool{}, warned: map[string]bool{},
		run: datasets.Run{ID: runID, Tool: tool, Format: format, Status: datasets.RunOK}, machine: datasets.Machine{ID: machineID}}
}

// each calls f for every line.
func (l *log) each(f func(text string) error) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && l.ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", l.in.Name, l.ctx.Err())
		}
		text, err := l.r.Text()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(text); err != nil {
			return err
		}
	}
}

// cut leaves out a last line that has no end: loggers are stopped while they
// write. It reports whether it did.
func (l *log) cut(text string) bool {
	if l.r.Ended {
		return false
	}
	l.out.Warn(l.r.Line, 1, "the last line has no end, so it may be cut, and was left out: %s", collectors.Quote(text))
	return true
}

func (l *log) once(topic, format string, args ...any) {
	if !l.warned[topic] {
		l.warned[topic] = true
		l.out.Warn(l.r.Line, 1, format, args...)
	}
}

// fact puts a fact about a GPU, again when it changes.
func (l *log) fact(gpu int64, name, value string) error {
	return l.about(fmt.Sprintf("gpu%d.%s", gpu, name), value)
}

func (l *log) about(name, value string) error {
	if value == "" || l.fine[name] == value {
		return nil
	}
	l.fine[name] = value
	if l.facts[name+"\x00"+value] || len(l.facts) > 10_000 {
		return nil
	}
	l.facts[name+"\x00"+value] = true
	return l.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: value})
}

// reading puts one reading. A text that says that there is none is one without
// value.
func (l *log) reading(gpu int64, s sensor, t int64, c delimited.Cell) error {
	return l.readingOf(entity{fmt.Sprintf("gpu%d", gpu), gpu}, s, t, c)
}

// entity is what a reading is of: a GPU, or a part or neighbour of one.
type entity struct {
	name string // "gpu0", "gpu0.mig1", "switch2"
	gpu  int64
}

func (l *log) readingOf(e entity, s sensor, t int64, c delimited.Cell) error {
	v, err := number(c.Text, s.unit)
	if err != nil {
		return l.r.Fault(c, "the reading of "+s.name+" is no number", "a number with a decimal point, or N/A")
	}
	if !v.Valid {
		if err := l.about(e.name+"."+s.name+".status", c.Text); err != nil {
			return err
		}
	}
	return l.putOf(e, s, t, v)
}

func (l *log) put(gpu int64, s sensor, t int64, v datasets.Null[float64]) error {
	return l.putOf(entity{fmt.Sprintf("gpu%d", gpu), gpu}, s, t, v)
}

func (l *log) putOf(e entity, s sensor, t int64, v datasets.Null[float64]) error {
	kind := s.kind
	if kind == "" {
		var sure bool
		kind, sure = powerKind(l.names[e.gpu])
		basis := kind + ": by the model of the GPU"
		if !sure {
			basis = kind + ": the file does not name the GPU; on A100, V100 and older ones a reading is of an instant"
		}
		if err := l.about(e.name+"."+s.name+".kind", basis); err != nil {
			return err
		}
	}
	l.samples++
	l.gpus[e.gpu] = true
	return l.out.Put(&datasets.Telemetry{Run: runID, Sensor: e.name + "." + s.name, TNs: t, Value: v, Unit: s.unit.Base, Kind: kind})
}

// number reads a reading with or without a unit behind it, which it must be in
// where there is one.
func number(text string, u collectors.Unit) (v datasets.Null[float64], err error) {
	t := strings.TrimSpace(text)
	switch low := strings.ToLower(t); {
	case low == "", low == "-", low == "nan", low == "inf", low == "-inf", low == "none", low == "null", strings.HasPrefix(low, "n/a"), strings.HasPrefix(low, "[n/a"), strings.HasPrefix(low, "[not supported"),
		strings.HasPrefix(low, "[unknown"), strings.HasPrefix(low, "[gpu requires"), strings.HasPrefix(low, "[gpu is lost"), strings.HasPrefix(low, "[insufficient"), low == "not supported", low == "unknown error", low == "err!":
		return v, nil
	}
	if i := strings.IndexByte(t, ' '); i > 0 {
		said, ok := unitOf(t[i+1:])
		if !ok || u.Base != "" && said.Base != u.Base {
			return v, fmt.Errorf("another unit: %s", t)
		}
		t, u = t[:i], said
	}
	if strings.ContainsAny(t, ", ") {
		return v, errors.New("no number")
	}
	n, err := u.Scale(t, collectors.Dot)
	if err != nil || math.IsInf(n, 0) {
		return v, errors.New("no number")
	}
	return datasets.Some(n), nil
}

// unitOf reads a unit as nvidia-smi writes it.
func unitOf(text string) (collectors.Unit, bool) {
	switch strings.TrimSpace(text) {
	case "W":
		return watts, true
	case "mW":
		return collectors.Unit{Base: "W", Exp10: -3}, true
	case "mJ":
		return collectors.Unit{Base: "J", Exp10: -3}, true
	case "J":
		return collectors.Unit{Base: "J"}, true
	case "C":
		return celsius, true
	case "%":
		return percent, true
	case "MHz":
		return mega, true
	case "MiB":
		return mebi, true
	case "MB": // dmon's memory
		return mebi, true
	case "KB/s":
		return collectors.Unit{Base: "byte/s", Exp10: 3}, true
	case "MB/s":
		return megaps, true
	case "GB/s":
		return collectors.Unit{Base: "byte/s", Exp10: 9}, true
	case "us":
		return collectors.Unit{Base: "s", Exp10: -6}, true
	case "ms":
		return collectors.Unit{Base: "s", Exp10: -3}, true
	case "mV":
		return collectors.Unit{Base: "V", Exp10: -3}, true
	}
	return collectors.Unit{}, false
}

// stamps are the forms of dates that tools write. Without a zone they are
// taken as UTC: the file does not tell where it is from.
var stamps = []string{"2006/01/02 15:04:05.999999999", time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"Mon Jan _2 15:04:05 2006", "20060102 15:04:05", "01/02/2006 15:04:05", "2006/01/02 15:04:05"}

// when reads a time: a date, or a number of the given unit ("date" guesses
// seconds, ms, us or ns since 1970 by its size).
func when(text, unit string) (ns int64, date, zone, ok bool) {
	text = strings.TrimSpace(text)
	for i, form := range stamps {
		if unit != "date" {
			break
		}
		if t, err := time.Parse(form, text); err == nil && t.Year() > 1970 && t.Year() < 2262 {
			return t.UnixNano(), true, i == 1 || i == 4, true
		}
	}
	exp := map[string]int{"s": 9, "ms": 6, "us": 3, "ns": 0, "date": 9}[unit]
	v, err := collectors.ParseNumber(text, collectors.Dot, exp)
	if err != nil || math.Abs(v) >= 1<<63 {
		return 0, false, false, false
	}
	if unit == "date" { // seconds: 1e18 ns are 2001
		for v > 4e18 && exp > 0 {
			exp -= 3
			if v, err = collectors.ParseNumber(text, collectors.Dot, exp); err != nil {
				return 0, false, false, false
			}
		}
	}
	return int64(math.Round(v)), v > 1e18, true, true
}

// begin notes the time of the first reading.
func (l *log) begin(ns int64, date, zone bool) error {
	if date && !l.run.Started.Valid {
		l.run.Started = datasets.Some(time.Unix(0, ns).UTC())
	}
	if date && !zone {
		return l.about("time zone", "the file does not tell it: times are taken as UTC")
	}
	return nil
}

// finish ends the file.
func (l *log) finish() error {
	if l.samples == 0 && l.run.Status == datasets.RunOK {
		l.run.Status, l.run.Error = datasets.RunEmpty, "the file holds no reading: the logger was stopped before the first, found no GPU, or was asked for none"
		l.out.Warn(0, 0, "nothing was measured: %s", l.run.Error)
	}
	return l.end()
}

func (l *log) end() error {
	if l.ceilings || l.machine != (datasets.Machine{ID: machineID}) {
		l.run.Machine = machineID
		if err := l.out.Put(&l.machine); err != nil {
			return err
		}
	}
	return l.out.Put(&l.run)
}

// mask puts the reasons that a mask names, each as a reading of 1 or 0.
func (l *log) mask(gpu, t int64, c delimited.Cell) error {
	text := strings.ToLower(c.Text)
	if v, err := number(c.Text, plain); err == nil && !v.Valid {
		return l.fact(gpu, "throttle.status", c.Text)
	}
	m, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil || !strings.HasPrefix(text, "0x") {
		return l.r.Fault(c, "the mask of reasons is no number", `"0x" and hexadecimal digits`)
	}
	for _, r := range reasons {
		on := 0.0
		if m&r.bit != 0 {
			on = 1
		}
		m &^= r.bit
		if err := l.put(gpu, sensor{"throttle." + r.name, plain, instant}, t, datasets.Some(on)); err != nil {
			return err
		}
	}
	if m != 0 {
		return l.put(gpu, sensor{fmt.Sprintf("throttle.unknown_0x%x", m), plain, instant}, t, datasets.Some(1.0))
	}
	return nil
}

// active reads "Active" and "Not Active".
func active(text string) (v datasets.Null[float64]) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "active", "1", "yes", "true":
		return datasets.Some(1.0)
	case "not active", "0", "no", "false":
		return datasets.Some(0.0)
	}
	return v
}
