package roofline

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// prepared makes measurements of the kernel as a whole out of what tools
// measure in parts: it sums the channels of AMD's caches, joins LIKWID's
// threads and groups of a region, and adds facts about the machine, estimates
// from the IR of a simulated function, and the time of the same function in
// another run.
func prepared(ctx context.Context, s *datasets.Store, ms []datasets.Measurement) ([]datasets.Measurement, error) {
	if len(ms) == 0 {
		return ms, nil
	}
	runs := map[int64]bool{}
	for _, m := range ms {
		runs[m.Run] = true
	}
	f, err := factsOf(ctx, s, runs)
	if err != nil {
		return nil, fmt.Errorf("reading what %s knows of its machines: %w", s.Path(), err)
	}
	if ms, err = joinThreads(ctx, s, ms); err != nil {
		return nil, fmt.Errorf("joining the threads of regions in %s: %w", s.Path(), err)
	}
	if err := addEstimates(ctx, s, ms); err != nil {
		return nil, fmt.Errorf("estimating work from the IR of functions in %s: %w", s.Path(), err)
	}
	for i := range ms {
		m := &ms[i]
		amd := sumChannels(m)
		cpu := m.Tool == "likwid" || isSimulation(m) || strings.HasPrefix(m.Tool, "perf") || m.Tool == "papi"
		if c := m.Counter("samples"); c != nil && strings.HasPrefix(m.Tool, "perf") { // what one thread did; each event has its instance
			add(m, "samples", c.Value.V)
			add(m, threadsFact, 1)
		}
		if v := m.Value("CPUs utilized"); v.Valid && strings.HasPrefix(m.Tool, "perf") {
			add(m, threadsFact, v.V)
		}
		for _, name := range slices.Sorted(maps.Keys(f[m.Run])) {
			if core := strings.HasPrefix(name, ceilingFact); core && cpu || !core && amd {
				add(m, name, f[m.Run][name])
			}
		}
		for j := range m.Counters { // perf scales the lines that a memory controller moved to bytes
			if c := &m.Counters[j]; c.Unit == "byte" && strings.Contains(c.Metric, "cas_count") {
				c.Metric = strings.TrimSuffix(c.Metric, "/") + " [byte]"
			}
		}
	}
	return ms, nil
}

func isSimulation(m *datasets.Measurement) bool {
	return m.Tool == "callgrind" || m.Tool == "cachegrind"
}

func add(m *datasets.Measurement, metric string, v float64) {
	m.Counters = append(m.Counters, datasets.Counter{Run: m.Run, Region: m.Region, Launch: m.Launch, Metric: metric, Value: datasets.Some(v), Status: datasets.StatusOK})
}

// sumChannels adds the sum over its channels to each counter of AMD that has
// them, and says whether the measurement is one of AMD's. A channel without a
// value makes the sum unknown.
func sumChannels(m *datasets.Measurement) bool {
	sums, amd := map[string]float64{}, false
	for _, c := range m.Counters {
		if !isAMDCounter(c.Metric) {
			continue
		}
		amd = true
		if c.Instance == "" {
			continue
		}
		v := math.NaN()
		if c.Value.Valid {
			v = c.Value.V
		}
		sums[c.Metric] += v
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if m.Value(name).Valid && !math.IsNaN(sums[name]) && !hasWhole(m, name) {
			add(m, name, sums[name])
		}
	}
	return amd
}

func hasWhole(m *datasets.Measurement, metric string) bool {
	return slices.ContainsFunc(m.Counters, func(c datasets.Counter) bool { return c.Metric == metric && c.Instance == "" && c.Value.Valid })
}

// part is a thread's measurement of a group of events in a region.
type part struct {
	m     datasets.Measurement
	group string
}

// joinThreads makes one measurement of the threads and groups of a LIKWID
// region, and of the threads of a visit of a PAPI region: events and volumes
// are summed over threads, rates are weighted with each thread's time, and the
// time is that of the slowest thread. A group that was measured at another time
// counts what it would have in the first group's, in proportion. What is
// neither (CPI, ratios) is left out, but for one thread.
func joinThreads(ctx context.Context, s *datasets.Store, ms []datasets.Measurement) ([]datasets.Measurement, error) {
	if !slices.ContainsFunc(ms, threaded) {
		return ms, nil
	}
	runs := map[int64]bool{}
	for _, m := range ms {
		if threaded(m) {
			runs[m.Run] = true
		}
	}
	where, args := among("r.id", runs)
	attrs := map[int64]map[string]string{}
	err := each(ctx, s, `SELECT a.launch_id, a.name, a.value FROM attribute a JOIN run r ON r.id = a.run_id WHERE r.tool = 'likwid' AND a.launch_id IS NOT NULL
		AND a.name IN ('hwthread', 'host', 'group', 'group number', 'repetition') AND `+where, args, func(v []any) {
		id := v[0].(int64)
		if attrs[id] == nil {
			attrs[id] = map[string]string{}
		}
		attrs[id][v[1].(string)] = v[2].(string)
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, s, `SELECT l.id, coalesce(l.rank, -1), coalesce(l.thread, -1) FROM launch l JOIN run r ON r.id = l.run_id WHERE r.tool = 'papi' AND `+where, args, func(v []any) {
		attrs[v[0].(int64)] = map[string]string{"hwthread": fmt.Sprint(v[1], " ", v[2])}
	})
	if err != nil {
		return nil, err
	}
	type key struct {
		region, visit int64
		repetition    string
	}
	var out []datasets.Measurement
	at := map[key]int{} // place in out
	parts := map[key][]part{}
	seen := map[string]int64{} // intervals of a timeline, and visits, come one after the other
	for _, m := range ms {
		if !threaded(m) {
			out = append(out, m)
			continue
		}
		if m.Launch == 0 {
			continue // LIKWID's statistics over threads
		}
		a := attrs[m.Launch]
		group := a["group"] + " " + a["group number"]
		thread := fmt.Sprint(m.Region, " ", group, " ", a["repetition"], " ", a["host"], " ", a["hwthread"])
		k := key{m.Region, seen[thread], a["repetition"]}
		seen[thread]++
		if _, ok := at[k]; !ok {
			at[k] = len(out)
			out = append(out, m)
		}
		parts[k] = append(parts[k], part{m, group})
	}
	for k, i := range at {
		out[i] = joined(parts[k])
	}
	return out, nil
}

func threaded(m datasets.Measurement) bool { return m.Tool == "likwid" || m.Tool == "papi" }

func joined(ps []part) datasets.Measurement {
	out := ps[0].m
	out.Counters = nil
	var groups []string
	for _, p := range ps {
		if !slices.Contains(groups, p.group) {
			groups = append(groups, p.group)
		}
	}
	have := map[string]bool{}
	first := 0.0
	for _, g := range groups {
		var threads []datasets.Measurement
		for _, p := range ps {
			if p.group == g {
				threads = append(threads, p.m)
			}
		}
		cs, time := overThreads(threads)
		scale := 1.0
		if first == 0 {
			first = time
			add(&out, threadsFact, float64(len(threads)))
		} else if time > 0 {
			scale = first / time
		}
		for _, c := range cs {
			if have[c.Metric] {
				continue
			}
			have[c.Metric] = true
			if c.Unit != "s" && !perSecond(c.Unit) {
				c.Value.V *= scale
			}
			out.Counters = append(out.Counters, c)
		}
	}
	return out
}

func perSecond(unit string) bool { return strings.HasSuffix(unit, "/s") }

// overThreads joins a group's threads, and gives the time of the slowest.
func overThreads(threads []datasets.Measurement) (out []datasets.Counter, slowest float64) {
	times := make([]float64, len(threads))
	for i, m := range threads {
		for _, name := range []string{"RDTSC Runtime [s]", "Runtime (RDTSC) [s]", "real_time_nsec"} {
			if v := m.Value(name); v.Valid {
				times[i] = v.V
			}
		}
		slowest = max(slowest, times[i])
	}
	type sum struct {
		datasets.Counter
		threads map[int]bool
		broken  bool
	}
	sums := map[string]*sum{}
	var order []string
	for i, m := range threads {
		for _, c := range m.Counters {
			event := c.Instance != "" // LIKWID's register
			if m.Tool == "papi" {
				if event {
					continue // read within the region
				}
				event = true
			}
			s := sums[c.Metric]
			if s == nil {
				s = &sum{Counter: c, threads: map[int]bool{}}
				s.Value.V, s.Instance = 0, ""
				sums[c.Metric] = s
				order = append(order, c.Metric)
			}
			s.threads[i] = true
			v := c.Value.V
			switch {
			case !c.Value.Valid:
				s.broken = true
			case c.Unit == "s":
				s.Value.V = max(s.Value.V, v)
			case perSecond(c.Unit):
				if slowest > 0 {
					s.Value.V += v * times[i] / slowest
				} else {
					s.broken = true
				}
			case event || c.Unit == "byte" || c.Unit == "J":
				s.Value.V += v
			case len(threads) == 1:
				s.Value.V = v
			default:
				s.broken = true
			}
		}
	}
	for _, name := range order {
		if s := sums[name]; !s.broken && len(s.threads) == len(threads) {
			s.Value.Valid = true
			out = append(out, s.Counter)
		}
	}
	return out, slowest
}
