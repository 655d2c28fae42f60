package perfstat

import (
	"math"
	"regexp"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// eventName is an event in parts: "cpu_core/branch-misses/u" and
// "branch-misses:u" are the event branch-misses with the modifier u.
type eventName struct{ pmu, name, modifier string }

func splitEvent(s string) eventName {
	if pmu, rest, ok := strings.Cut(s, "/"); ok {
		if i := strings.LastIndexByte(rest, '/'); i >= 0 {
			return eventName{pmu, rest[:i], strings.TrimPrefix(rest[i+1:], ":")}
		}
	}
	name, modifier, _ := strings.Cut(s, ":")
	return eventName{"", name, modifier}
}

func isClock(event string) bool {
	n := splitEvent(event).name
	return n == "task-clock" || n == "cpu-clock"
}

// of finds another event of the same group that was counted by the same PMU in
// the same modes.
func (g *group) of(like eventName, names ...string) *datasets.Counter {
	for _, name := range names {
		for i := range g.values {
			c := &g.values[i].Counter
			if !c.Value.Valid || c.Instance != "" {
				continue
			}
			if e := splitEvent(c.Metric); e.name == name && e.pmu == like.pmu && e.modifier == like.modifier {
				return c
			}
		}
	}
	return nil
}

// clock finds the clock of a group, in seconds. With a separator perf rounds
// its milliseconds to two decimals, but not the time that the clock ran, which
// is the same.
func (g *group) clock() *datasets.Counter {
	for i := range g.values {
		c := &g.values[i].Counter
		if !c.Value.Valid || c.Instance != "" || !isClock(c.Metric) || c.Unit != "s" {
			continue
		}
		for _, m := range g.values[i:] {
			if m.Metric == "event-runtime" && m.Instance == c.Metric && math.Abs(m.Value.V-c.Value.V) <= 5.1e-6 {
				exact := *c
				exact.Value = m.Value
				return &exact
			}
		}
		return c
	}
	return nil
}

var cycles = []string{"cycles", "cpu-cycles"}

// denominators of perf's "of all" metrics.
var denominators = map[string][]string{
	"of all branches":           {"branches", "branch-instructions"},
	"of all cache refs":         {"cache-references"},
	"of all L1-dcache accesses": {"L1-dcache-loads"},
	"of all L1-dcache hits":     {"L1-dcache-loads"},
	"of all L1-icache accesses": {"L1-icache-loads"},
	"of all L1-icache hits":     {"L1-icache-loads"},
	"of all LL-cache accesses":  {"LLC-loads"},
	"of all LL-cache hits":      {"LLC-loads"},
	"of all dTLB cache hits":    {"dTLB-loads"},
	"of all dTLB cache access":  {"dTLB-loads"},
	"of all iTLB cache hits":    {"iTLB-loads"},
	"of all iTLB cache access":  {"iTLB-loads"},
	"frontend cycles idle":      cycles,
	"backend cycles idle":       cycles,
}

// perfMetric knows the names of metrics that perf itself defines.
var perfMetric = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(_[a-z0-9]+)+$`)

var rates = map[string]float64{"/sec": 1, "K/sec": 1e3, "M/sec": 1e6, "G/sec": 1e9}

// derive makes counters of the derived metrics that perf printed. They are
// computed again where the inputs are there.
func (r *reader) derive(g *group) ([]measured, error) {
	var out []measured
	for _, w := range g.ratios {
		c := datasets.Counter{Run: r.run.ID, Region: r.region.ID, Metric: w.metricUnit, Instance: w.event, RawValue: w.metric, RawUnit: w.metricUnit, Status: datasets.StatusOK}
		if w.group != "" {
			c.Instance = w.group
		} else if c.Instance == "" && len(out) > 0 {
			c.Instance = out[len(out)-1].Instance
		}
		text := w.metric
		scale := 1.0
		percent := strings.HasSuffix(strings.TrimSpace(text), "%")
		if percent {
			text, c.Unit = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%")), "%"
		}
		if name, ok := strings.CutPrefix(w.metricUnit, "%"); ok && strings.TrimSpace(name) != "" { // "%  tma_retiring"
			c.Metric, c.Unit = strings.TrimSpace(name), "%"
		}
		switch w.metricUnit { // as perf says since Linux 2.6.39
		case "IPC":
			w.metricUnit = "insn per cycle"
		case "CPUs":
			w.metricUnit, c.Metric = "CPUs utilized", "CPUs utilized"
		}
		// Newer versions say "281.7 cs/sec  cs_per_second".
		if i := strings.LastIndexByte(w.metricUnit, ' '); i > 0 && perfMetric.MatchString(w.metricUnit[i+1:]) {
			c.Metric, c.RawUnit = w.metricUnit[i+1:], strings.TrimSpace(w.metricUnit[:i])
			if unit, ok := strings.CutSuffix(c.RawUnit, "/sec"); ok && !strings.ContainsAny(unit, " /") {
				c.Unit = unit + "/s"
			} else if c.RawUnit == "GHz" {
				c.Unit, scale = "Hz", 1e9
			}
		}
		event := splitEvent(w.event)
		own := g.counter(w.event)
		if w.group != "" {
			own = nil // metrics of a group are of several events, and not of the one above them
		}
		var num, den *datasets.Counter
		factor := 1.0
		switch per, isRate := rates[w.metricUnit]; {
		case isRate:
			c.Metric, c.Unit, scale = "rate", "/s", per
			num, den = own, g.clock()
			if own != nil && own.RawUnit == "ns" { // perf divides the nanoseconds of duration_time, and its counter is in seconds
				c.Unit, scale = "", per/1e9
			}
		case w.metricUnit == "GHz":
			c.Unit, scale = "Hz", 1e9
			num, den = own, g.clock()
		case w.metricUnit == "insn per cycle", w.metricUnit == "insns per cycle":
			c.Metric = "insn per cycle" // as perf says since Linux 4.9
			num, den = own, g.of(event, cycles...)
		case w.metricUnit == "CPUs utilized":
			num = own
			switch {
			case g.dur.Valid && g.dur.V > 0:
				den = &datasets.Counter{Value: datasets.Some(float64(g.dur.V) / 1e9)}
			case r.elapsed.Valid && r.elapsed.V > 0:
				den = &datasets.Counter{Value: r.elapsed}
			}
		case denominators[w.metricUnit] != nil:
			c.Unit, factor = "%", 100
			num, den = own, g.of(event, denominators[w.metricUnit]...)
		}
		if w.onlyMetric && w.percent != "" {
			p, err := r.number(w, w.percent, "how much of the time the events of "+w.metricUnit+" ran", collectors.Unit{Base: "%"})
			if err != nil {
				return nil, err
			}
			if c.Coverage = datasets.Some(p); p < 100 {
				c.Status = datasets.StatusMultiplexed
			}
		}
		tool, terr := collectors.ParseNumber(text, r.style, 0)
		switch strings.ToLower(text) {
		case "nan", "-nan", "inf", "-inf", "":
			terr = nil
			tool = math.NaN()
		}
		if terr != nil {
			e := r.in.Syntax(w.line, max(w.metricColumn, 1), "the derived metric of "+w.event+" is no number")
			e.Found = collectors.Quote(text)
			return nil, e
		}
		tool *= scale
		switch {
		case num != nil && num.Value.Valid && den != nil && den.Value.Valid && den.Value.V != 0:
			v := factor * num.Value.V / den.Value.V
			c.Value = datasets.Some(v)
			if c.Coverage = num.Coverage; den.Coverage.Valid && den.Coverage.V < c.Coverage.Or(101) {
				c.Coverage = den.Coverage
			}
			if c.Coverage.Or(100) < 100 {
				c.Status = datasets.StatusMultiplexed
			}
			if off := math.Abs(tool - v); off > 0.02*math.Abs(v)+0.011*scale {
				r.note("derived "+w.metricUnit, w.line, w.metricColumn, "perf says %s %s of %s, its counts give %.6g %s: the latter is kept", w.metric, w.metricUnit, w.event, v/scale, w.metricUnit)
			}
		case own != nil && !own.Value.Valid || math.IsNaN(tool):
			if own != nil && !own.Value.Valid {
				continue // perf prints a zero beside what it could not count
			}
			c.Status = datasets.StatusNA
		case w.metricUnit == "CPUs utilized" && !r.trusted():
			c.Status = datasets.StatusNA
			r.note("utilized", w.line, w.metricColumn, "perf says %s CPUs utilized, which cannot be checked without the elapsed time and is 1000 times too large in some versions: only its text is kept", w.metric)
		default:
			c.Value = datasets.Some(tool)
		}
		out = append(out, measured{c, w.line})
	}
	return out, nil
}

// trusted reports whether perf's own number of CPUs utilized is right in this
// form of output.
func (r *reader) trusted() bool { return r.format == "perf-stat" }

// counter is the counter of an event in a group.
func (g *group) counter(event string) *datasets.Counter {
	for i := range g.values {
		if c := &g.values[i].Counter; c.Metric == event && c.Instance == "" {
			return c
		}
	}
	return nil
}
