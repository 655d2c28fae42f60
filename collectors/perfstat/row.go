package perfstat

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// row is one line of any of the forms, as texts.
type row struct {
	interval string // seconds since perf started; "" without -I
	part     string // of the machine: kind and name
	partKind string
	cpus     string // how many CPUs the part has
	cgroup   string

	value, unit, event string
	variance           string // %
	runtime            string // ns
	percent            string // of the time that the event was counted
	metric, metricUnit string // perf's derived metric
	line, column       int    // where the value is
	metricColumn       int
	heading            string // not a count: the name of the group of metrics that follow
	group              string // of a metric on a line of its own
	onlyMetric         bool
	closed             bool // a separator follows the percentage
}

type groupKey struct{ interval, part, cgroup string }

// group is what becomes a launch.
type group struct {
	first  row
	start  datasets.Null[int64]
	dur    datasets.Null[int64]
	values []measured
	ratios []row // rows with derived metrics
}

// measured is a counter and where it is in the file.
type measured struct {
	datasets.Counter
	line int
}

// add takes a row.
func (r *reader) add(w row) error {
	switch {
	case w.heading != "":
		r.group = w.heading
		return nil
	case w.onlyMetric:
		w.group = r.group
	default:
		r.group = ""
	}
	r.rows++
	if w.interval == "" && r.timed && r.at != "" { // a summary of the intervals
		if err := r.flush(); err != nil {
			return err
		}
		r.at, r.before = "", 0
	}
	if w.interval != r.at {
		if err := r.flush(); err != nil {
			return err
		}
		ns, err := nanoseconds(w.interval)
		if err != nil {
			e := r.in.Syntax(w.line, 1, "the line has no time of its interval")
			e.Expected, e.Found = "seconds with nine decimals", collectors.Quote(w.interval)
			return e
		}
		r.before = r.now
		if ns < r.before { // perf stat -r begins anew
			r.before = 0
		}
		r.at, r.now, r.timed = w.interval, ns, true
	}
	key := groupKey{w.interval, w.partKind + w.part, w.cgroup}
	g := r.groups[key]
	if g == nil {
		g = &group{first: w}
		if r.timed {
			g.start, g.dur = datasets.Some(r.before), datasets.Some(r.now-r.before)
		}
		r.groups[key] = g
		r.order = append(r.order, g)
	}
	if w.metricUnit != "" {
		g.ratios = append(g.ratios, w)
	}
	if w.onlyMetric {
		return nil
	}
	return r.measure(g, w)
}

func nanoseconds(s string) (int64, error) {
	whole, frac, ok := strings.Cut(s, ".")
	if !ok || len(frac) != 9 || len(whole) > 9 {
		return 0, strconv.ErrSyntax
	}
	a, err := strconv.ParseUint(whole, 10, 63)
	if err != nil {
		return 0, err
	}
	b, err := strconv.ParseUint(frac, 10, 63)
	return int64(a*1e9 + b), err
}

// unitOf returns the unit of a counter; perf writes "Joules".
func unitOf(s string) collectors.Unit {
	switch s {
	case "Joules":
		return collectors.Unit{Base: "J"}
	case "Watts":
		return collectors.Unit{Base: "W"}
	}
	return collectors.ParseUnit(s)
}

func (r *reader) number(w row, text, what string, u collectors.Unit) (float64, error) {
	v, err := u.Scale(text, r.style)
	if err != nil || math.IsInf(v, 0) {
		e := r.in.Syntax(w.line, max(w.column, 1), what+" is no number")
		e.Expected, e.Found, e.Hint = "a number, <not counted> or <not supported>", collectors.Quote(text), "the line is damaged: measure again"
		return 0, e
	}
	return v, nil
}

// measure makes the counters of a row.
func (r *reader) measure(g *group, w row) error {
	if isClock(w.event) && w.unit == "" && w.value == w.runtime { // some versions print clocks in nanoseconds, without a unit
		w.unit = "ns"
	}
	u := unitOf(w.unit)
	c := datasets.Counter{Run: r.run.ID, Region: r.region.ID, Metric: w.event, Unit: u.Base, RawValue: w.value, RawUnit: w.unit, Status: datasets.StatusOK}
	if w.percent != "" {
		p, err := r.number(w, strings.TrimSuffix(w.percent, "%"), "how much of the time "+w.event+" ran", collectors.Unit{Base: "%"})
		if err != nil {
			return err
		}
		c.Coverage = datasets.Some(p)
		if p < 100 {
			c.Status = datasets.StatusMultiplexed
		}
	}
	switch w.value {
	case "<not supported>":
		c.Status, c.Coverage = datasets.StatusUnsupported, datasets.Null[float64]{}
	case "<not counted>":
		c.Status = datasets.StatusMissing
	default:
		v, err := r.number(w, w.value, "the value of "+w.event, u)
		if err != nil {
			return err
		}
		c.Value = datasets.Some(v)
	}
	for n := 2; g.has(c.Metric, c.Instance); n++ {
		c.Instance = "#" + strconv.Itoa(n)
	}
	g.values = append(g.values, measured{c, w.line})
	if w.variance != "" && c.Value.Valid {
		v, err := r.number(w, strings.TrimSuffix(w.variance, "%"), "the variance of "+w.event, collectors.Unit{Base: "%"})
		if err != nil {
			return err
		}
		g.values = append(g.values, measured{datasets.Counter{Run: r.run.ID, Region: r.region.ID, Metric: "variance", Instance: instance(c), Value: datasets.Some(v),
			Unit: "%", RawValue: w.variance, RawUnit: "%", Status: datasets.StatusOK}, w.line})
	}
	if w.runtime != "" && c.Value.Valid {
		v, err := r.number(w, w.runtime, "the run time of "+w.event, collectors.Unit{Base: "s", Exp10: -9})
		if err != nil {
			return err
		}
		g.values = append(g.values, measured{datasets.Counter{Run: r.run.ID, Region: r.region.ID, Metric: "event-runtime", Instance: instance(c), Value: datasets.Some(v),
			Unit: "s", RawValue: w.runtime, RawUnit: "ns", Status: datasets.StatusOK}, w.line})
	}
	return nil
}

func instance(c datasets.Counter) string { return c.Metric + c.Instance }

func (g *group) has(metric, instance string) bool {
	for i := range g.values {
		if g.values[i].Metric == metric && g.values[i].Instance == instance {
			return true
		}
	}
	return false
}

// flush emits the launches of an interval, or of the whole measurement.
func (r *reader) flush() error {
	for _, g := range r.order {
		if err := r.emit(g); err != nil {
			return err
		}
	}
	r.groups, r.order = map[groupKey]*group{}, r.order[:0]
	return nil
}

func (r *reader) emit(g *group) error {
	r.launch++
	l := datasets.Launch{ID: r.launch, Run: r.run.ID, Region: r.region.ID, Sequence: datasets.Some(r.seq), StartNs: g.start, DurNs: g.dur}
	r.seq++
	if !g.dur.Valid && r.elapsed.Valid && r.elapsed.V < 9e9 {
		l.DurNs = datasets.Some(int64(math.Round(r.elapsed.V * 1e9)))
	}
	w := g.first
	if w.partKind == "thread" {
		if i := strings.LastIndexByte(w.part, '-'); i > 0 {
			if tid, err := strconv.ParseInt(w.part[i+1:], 10, 32); err == nil {
				l.Thread = datasets.Some(tid)
			}
		}
	}
	if err := r.out.Put(&l); err != nil {
		return err
	}
	for _, a := range [][2]string{{w.partKind, w.part}, {"aggregate-number", w.cpus}, {"cgroup", w.cgroup}} {
		if a[0] != "" && a[1] != "" {
			if err := r.out.Put(&datasets.Attribute{Run: r.run.ID, Region: r.region.ID, Launch: l.ID, Name: a[0], Value: a[1]}); err != nil {
				return err
			}
		}
	}
	derived, err := r.derive(g)
	if err != nil {
		return err
	}
	for _, list := range [][]measured{g.values, derived} {
		for i := range list {
			c := &list[i].Counter
			c.Launch = l.ID
			r.seen[c.Metric] = r.seen[c.Metric] || c.Value.Valid
			if err := r.out.Put(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish emits what is left of a run.
func (r *reader) finish() error {
	// What the whole command took belongs to its only launch, else to the region.
	if len(r.order) == 1 && !r.timed {
		for _, m := range r.footer {
			if g := r.order[0]; !g.has(m.Metric, "") {
				g.values = append(g.values, m)
			}
		}
		r.footer = nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	if r.rows == 0 {
		r.run.Status, r.run.Error = datasets.RunEmpty, "perf stat counted nothing"
		r.out.Warn(0, 0, "%s: the file has no line with an event (what --metric-only and --topdown print is not read: measure again without)", r.run.Error)
	} else {
		if err := r.out.Put(&r.region); err != nil {
			return err
		}
		for i := range r.footer {
			r.seen[r.footer[i].Metric] = true
			if err := r.out.Put(&r.footer[i].Counter); err != nil {
				return err
			}
		}
	}
	if r.seen["duration_time"] {
		r.run.TimeMetric = "duration_time"
	} else {
		for m, ok := range r.seen {
			if ok && isClock(m) && (r.run.TimeMetric == "" || m < r.run.TimeMetric) {
				r.run.TimeMetric = m
			}
		}
	}
	r.run.TimeInclusive = r.run.TimeMetric != ""
	return r.out.Put(&r.run)
}

// note warns once about a kind of thing.
func (r *reader) note(key string, line, column int, format string, args ...any) {
	if !r.noted[key] {
		r.noted[key] = true
		r.out.Warn(line, column, "%s", fmt.Sprintf(format, args...))
	}
}
