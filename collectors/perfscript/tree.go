package perfscript

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// tree counts samples per path of frames and thread.
type tree struct {
	out     *collectors.Output
	texts   map[string]string // one copy of each text
	regions map[regionKey]int64
	threads map[threadKey]int
	list    []threadKey
	cells   map[cellKey]*cell
	order   []cellKey // cells in order of their first sample in the file
	events  []string  // in order of appearance
	eventAt map[string]int
	totals  []total
	split   map[string][]frame // frames that a map joined, by symbol
}

type regionKey struct {
	parent         int64
	symbol, module string
	inlined        bool
}

type threadKey struct {
	comm     string
	pid, tid datasets.Null[int64]
}

type cellKey struct {
	region int64
	thread int
}

// cell is what one thread did in one region itself.
type cell struct {
	start  datasets.Null[int64]
	counts []count // by event
}

type count struct {
	samples int64
	period  float64
	exact   int64 // the period as an integer, while it fits
	overrun bool
	without int64 // samples that had no period
}

type total struct{ samples, without int64 }

func newTree(out *collectors.Output) *tree {
	return &tree{out: out, texts: map[string]string{}, regions: map[regionKey]int64{}, threads: map[threadKey]int{},
		cells: map[cellKey]*cell{}, eventAt: map[string]int{}, split: map[string][]frame{}}
}

// intern returns one copy of a text, so that lines are not kept alive.
func (t *tree) intern(s string) string {
	if k, ok := t.texts[s]; ok {
		return k
	}
	k := strings.Clone(s)
	t.texts[k] = k
	return k
}

// add counts a sample with its stack, innermost frame first.
func (t *tree) add(s *sample, stack []frame) error {
	region := int64(0)
	var err error
	for i := len(stack) - 1; i >= 0; i-- {
		f := stack[i]
		if f.inlined { // the module is that of the function which holds the code
			for j := i + 1; j < len(stack); j++ {
				if !stack[j].inlined {
					f.module = stack[j].module
					break
				}
			}
		}
		for _, p := range t.parts(f) {
			if region, err = t.region(region, p); err != nil {
				return err
			}
		}
	}
	if region == 0 {
		if region, err = t.region(0, frame{symbol: "[unknown]"}); err != nil {
			return err
		}
	}
	thread := threadKey{comm: s.comm}
	if s.hasPID {
		thread.pid = datasets.Some(s.pid)
	}
	if s.hasTID {
		thread.tid = datasets.Some(s.tid)
	}
	at, ok := t.threads[thread]
	if !ok {
		at = len(t.list)
		t.threads[thread] = at
		t.list = append(t.list, thread)
	}
	key := cellKey{region, at}
	c := t.cells[key]
	if c == nil {
		c = &cell{}
		t.cells[key] = c
		t.order = append(t.order, key)
	}
	if s.timed && (!c.start.Valid || s.ns < c.start.V) {
		c.start = datasets.Some(s.ns)
	}
	event, ok := t.eventAt[s.event]
	if !ok {
		event = len(t.events)
		t.eventAt[s.event] = event
		t.events = append(t.events, s.event)
		t.totals = append(t.totals, total{})
	}
	for len(c.counts) <= event {
		c.counts = append(c.counts, count{})
	}
	n := &c.counts[event]
	n.samples++
	t.totals[event].samples++
	if !s.periodic {
		n.without++
		t.totals[event].without++
		return nil
	}
	n.period += float64(s.period)
	if n.exact > math.MaxInt64-s.period {
		n.overrun = true
	} else {
		n.exact += s.period
	}
	return nil
}

// parts splits a frame whose map joined inlined functions with "->", outermost
// first, as perf-map-agent writes them for Java.
func (t *tree) parts(f frame) []frame {
	if !strings.Contains(f.symbol, "->") || !strings.HasSuffix(f.module, ".map") {
		return []frame{f}
	}
	if fs, ok := t.split[f.symbol]; ok && len(fs) > 0 && fs[0].module == f.module {
		return fs
	}
	var fs []frame
	for i, s := range strings.Split(f.symbol, "->") {
		if s == "" || strings.HasSuffix(s, "operator") {
			return []frame{f}
		}
		fs = append(fs, frame{symbol: t.intern(s), module: t.intern(f.module), inlined: i > 0})
	}
	t.split[t.intern(f.symbol)] = fs
	return fs
}

// region returns the region of a frame below another, which it emits when it
// is new.
func (t *tree) region(parent int64, f frame) (int64, error) {
	key := regionKey{parent, f.symbol, f.module, f.inlined}
	if id, ok := t.regions[key]; ok {
		return id, nil
	}
	id := int64(len(t.regions) + 1)
	key.symbol, key.module = t.intern(f.symbol), t.intern(f.module)
	t.regions[key] = id
	g := datasets.Region{ID: id, Run: runID, Parent: parent, Kind: datasets.KindFunction, Raw: key.symbol, Short: short(key.symbol), Module: key.module}
	if collectors.Demangle(key.symbol) != key.symbol {
		g.Mangled = key.symbol
	}
	if err := t.out.Put(&g); err != nil {
		return 0, err
	}
	if f.inlined {
		return id, t.out.Put(&datasets.Attribute{Run: runID, Region: id, Name: "inlined", Value: "true"})
	}
	return id, nil
}

// short is the short name of a symbol. V8 names a function "LazyCompile:~f
// /path/file.js:12".
func short(symbol string) string {
	if tag, name, ok := strings.Cut(symbol, ":"); ok && name != "" && name[0] != ':' && isTag(tag) {
		switch tag {
		case "LazyCompile", "Function", "JS", "Script", "Eval":
			name = strings.TrimLeft(name, "~*^+")
			if name, _, _ = strings.Cut(name, " "); name != "" {
				return name
			}
			return symbol
		}
		return name
	}
	if i := strings.LastIndex(symbol, ";."); i > 0 && strings.HasPrefix(symbol, "L") && i+2 < len(symbol) { // Java: Lpackage/Class;.method
		return symbol[i+2:]
	}
	return collectors.ShortName(symbol)
}

// isTag knows V8's word for the kind of code before a name.
func isTag(s string) bool {
	switch s {
	case "LazyCompile", "Function", "JS", "Script", "Eval", "RegExp", "Builtin", "Stub", "Handler", "BytecodeHandler", "Callback":
		return true
	}
	return false
}

// event names and units: what clocks count is nanoseconds.
func isClock(event string) bool {
	name, _, _ := strings.Cut(event, ":")
	return name == "cpu-clock" || name == "task-clock"
}

// emit writes launches and counters, in order of the launches' first samples.
func (t *tree) emit(fixed map[string]fixedPeriod) error {
	sort.SliceStable(t.order, func(i, j int) bool {
		a, b := t.cells[t.order[i]].start, t.cells[t.order[j]].start
		return a.Valid && b.Valid && a.V < b.V
	})
	for i, key := range t.order {
		c, th := t.cells[key], t.list[key.thread]
		l := datasets.Launch{ID: int64(i + 1), Run: runID, Region: key.region, PID: th.pid, Thread: th.tid,
			Sequence: datasets.Some(int64(i)), StartNs: c.start, ToolID: th.comm}
		if err := t.out.Put(&l); err != nil {
			return err
		}
		if th.comm != "" {
			if err := t.out.Put(&datasets.Attribute{Run: runID, Region: key.region, Launch: l.ID, Name: "comm", Value: th.comm}); err != nil {
				return err
			}
		}
		for at, n := range c.counts {
			if err := t.counters(&l, t.events[at], n, fixed); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tree) counters(l *datasets.Launch, event string, n count, fixed map[string]fixedPeriod) error {
	if n.samples == 0 {
		return nil
	}
	c := datasets.Counter{Run: runID, Region: l.Region, Launch: l.ID, Metric: "samples", Instance: event,
		Value: datasets.Some(float64(n.samples)), RawValue: strconv.FormatInt(n.samples, 10), Status: datasets.StatusOK}
	if err := t.out.Put(&c); err != nil {
		return err
	}
	if n.without > 0 {
		p := fixed[event].period
		if p == 0 || n.without < n.samples || n.samples > math.MaxInt64/p {
			return nil
		}
		n.exact, n.period = n.samples*p, float64(n.samples)*float64(p)
	}
	if event == "" || event == "samples" {
		return nil
	}
	c.Metric, c.Instance, c.Value = event, "", datasets.Some(n.period)
	c.RawValue = strconv.FormatInt(n.exact, 10)
	if n.overrun {
		c.RawValue = ""
	}
	if isClock(event) {
		c.Unit, c.RawUnit, c.Value = "s", "ns", datasets.Some(n.period/1e9)
	}
	if err := t.out.Put(&c); err != nil {
		return err
	}
	t.totals[t.eventAt[event]].without -= n.without
	return nil
}

// timeMetric is what a tree of the run shows: a clock, else cycles, else the
// first event with periods, else the samples of the only event.
func (t *tree) timeMetric() string {
	best, rank := "", 0
	for i, e := range t.events {
		if t.totals[i].without > 0 || e == "" {
			continue
		}
		r := 1
		switch name, _, _ := strings.Cut(e, ":"); {
		case isClock(e):
			r = 3
		case strings.Contains(name, "cycles"):
			r = 2
		}
		if r > rank {
			best, rank = e, r
		}
	}
	if best == "" && len(t.events) == 1 {
		return "samples"
	}
	return best
}
