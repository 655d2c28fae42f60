package insight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// How much of a kernel is read for its roofline. Of larger tables launches are
// sampled, which the item says.
const (
	fewValues    = 100_000 // with all its counters
	fewLaunches  = 20      // that tell which counters matter
	mostLaunches = 2000
)

// rooflines says what bounds each kernel.
func rooflines(ctx context.Context, sc *scope) (found, error) {
	var f found
	var drawn []roofline.Result
	var whys, notes grouped
	counted := map[string]bool{} // whys of kernels whose time and traffic are known
	known := sc.hasRoofline()
	for _, k := range sc.kernels {
		filter := datasets.Filter{Run: sc.run.ID, Kernel: k.Name}
		n, err := number(ctx, sc.store, fmt.Sprintf("SELECT count(*) FROM counter WHERE run_id = %d AND region_id IN (%s)", sc.run.ID, sc.regions(k)))
		if err != nil {
			return f, err
		}
		if n == 0 || !known {
			continue
		}
		sampled := ""
		if n > fewValues && k.Launches > fewLaunches {
			// Of many launches only the counters that a few of them show to matter.
			filter.Sample = fewLaunches
			few, err := roofline.FromStore(ctx, sc.store, filter)
			if err != nil {
				return f, err
			}
			filter.Sample, filter.Metrics = 0, sc.rooflineCounters(few)
			if k.Launches > mostLaunches {
				filter.Sample = mostLaunches
				sampled = fmt.Sprintf("the numbers in words are from %d of %d launches, picked at random", filter.Sample, k.Launches)
			}
		}
		ls, err := roofline.FromStore(ctx, sc.store, filter)
		if err != nil {
			return f, err
		}
		for _, r := range roofline.ByKernel(roofline.AnalyseAll(ls, sc.limits)) {
			w := rooflineWriter{sc: sc, k: k, r: r, sampled: sampled, facts: facts(ls)}
			items, err := w.items(ctx)
			if err != nil {
				return f, err
			}
			if len(items) == 0 {
				continue
			}
			f.items = append(f.items, items...)
			if r.Bound == roofline.Unknown {
				why := r.Why + sc.nameLimits(r)
				whys.add(why, k.short())
				counted[why] = r.Time.OK && r.Traffic[roofline.DRAM].Bytes.OK
			} else {
				k.Bound = string(r.Bound)
			}
			if p, ok := r.Dominant(); ok && r.Side(roofline.DRAM, p) != roofline.NoSide {
				k.Side = string(r.Side(roofline.DRAM, p))
			}
			devices, err := number(ctx, sc.store, fmt.Sprintf("SELECT count(DISTINCT device) FROM launch WHERE run_id = %d AND region_id IN (%s)", sc.run.ID, sc.regions(k)))
			if err != nil {
				return f, err
			}
			if devices > 1 {
				notes.add(fmt.Sprintf("launches on %.0f devices; rates and ceilings are means over them", devices), k.short())
			}
			for _, n := range r.Notes {
				notes.add(n, k.short())
			}
			drawn = append(drawn, r)
		}
	}
	for _, why := range whys.texts {
		command := sc.collectRoofline()
		if counted[why] && !sc.is("ncu", "nsys", "nvidia", "pytorch", "kernel-timing", "rocprof") {
			command = "rooflab collect machine --store STORE, and its run as --ceilings" // only the limits are lacking
		}
		f.missing = append(f.missing, Missing{What: whys.of[why] + ": " + why, Command: command})
	}
	for _, n := range notes.texts {
		f.notes = append(f.notes, "Roofline of "+notes.of[n]+": "+n+".")
	}
	if len(f.items) == 0 {
		if !sc.measured() {
			return found{}, nil
		}
		return found{}, &missingError{what: "no counters of work and bytes", command: sc.collectRoofline()}
	}
	if svg, ok := rooflineSVG(drawn); ok {
		f.pictures = append(f.pictures, picture{title: "Roofline", svg: svg})
	}
	return f, nil
}

// grouped is texts, each with what it is said of.
type grouped struct {
	texts []string
	of    map[string]string
}

func (g *grouped) add(text, of string) {
	if g.of == nil {
		g.of = map[string]string{}
	}
	if old, ok := g.of[text]; ok {
		g.of[text] = old + ", " + of
		return
	}
	g.texts = append(g.texts, text)
	g.of[text] = of
}

// hasRoofline reports whether any counter of the run is one that rooflines are
// made of: asking one launch with all of them is the shortest way to know.
func (sc *scope) hasRoofline() bool {
	l := roofline.Launch{Metrics: map[string]float64{}}
	for m := range sc.metrics {
		l.Metrics[m] = 1
	}
	r := roofline.Analyse(l, roofline.Options{})
	for _, t := range r.Traffic {
		if t.Bytes.OK {
			return true
		}
	}
	for _, w := range r.Work {
		if w.Flop.OK {
			return true
		}
	}
	return r.SM.OK
}

func (sc *scope) collectRoofline() string {
	switch {
	case sc.is("ncu", "nsys", "nvidia", "pytorch", "kernel-timing"):
		return "ncu --section SpeedOfLight --section SpeedOfLight_RooflineChart --section SpeedOfLight_HierarchicalDoubleRooflineChart --section MemoryWorkloadAnalysis -o FILE CMD"
	case sc.is("rocprof"):
		return "rocprof-compute profile -n NAME -- CMD"
	}
	return "likwid-perfctr -g MEM_DP -O CMD > FILE.csv"
}

// rooflineCounters are the run's counters that rooflines of launches are made of.
func (sc *scope) rooflineCounters(ls []roofline.Launch) []string {
	seen := map[string]bool{}
	for _, r := range roofline.AnalyseAll(ls, sc.limits) {
		w := rooflineWriter{sc: sc, r: r, facts: facts(ls)}
		for _, q := range w.quantities() {
			if f, err := w.formula(q); err == nil && q.OK {
				for _, n := range f.names {
					seen[n] = seen[n] || sc.metrics[n]
				}
			}
		}
	}
	var out []string
	for n, counted := range seen {
		if counted {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// facts are what roofline adds to the counters of launches under names that no
// tool has (the machine's units and clock), as far as it is the same for all.
func facts(ls []roofline.Launch) map[string]float64 {
	out := map[string]float64{}
	for i, l := range ls {
		for name, v := range l.Metrics {
			if old, ok := out[name]; i == 0 || ok && old == v {
				out[name] = v
			} else {
				delete(out, name)
			}
		}
	}
	return out
}

// rooflineWriter makes items of one kernel's roofline.
type rooflineWriter struct {
	sc      *scope
	k       *Kernel
	r       roofline.Result
	sampled string
	facts   map[string]float64
}

// limit is a ceiling and its use.
type limit struct {
	name, rule string
	rate       roofline.Quantity
	amount     roofline.Quantity
	ceiling    roofline.Quantity
	used       roofline.Quantity
	unit       string
}

func (w rooflineWriter) limits() []limit {
	var out []limit
	for _, t := range w.r.Traffic {
		out = append(out, limit{t.Level.String() + " bandwidth", strings.ToLower(strings.ReplaceAll(t.Level.String(), " ", "-")), t.Rate, t.Bytes, t.Ceiling, t.Used, "byte/s"})
	}
	for _, p := range w.r.Work {
		unit := "flop/s"
		if p.Precision.Integer() {
			unit = "op/s"
		}
		out = append(out, limit{p.Precision.String() + " arithmetic", strings.ToLower(strings.ReplaceAll(p.Precision.String(), " ", "-")), p.Rate, p.Flop, p.Ceiling, p.Used, unit})
	}
	if w.r.SM.OK {
		out = append(out, limit{name: "busiest unit of the SMs", rule: "sm", used: w.r.SM, unit: "%"})
	}
	slices.SortStableFunc(out, func(a, b limit) int {
		return -compareQuantities(a.used, b.used)
	})
	return out
}

func compareQuantities(a, b roofline.Quantity) int {
	switch {
	case a.OK != b.OK:
		return b2i(a.OK) - b2i(b.OK)
	case !a.OK || a.Value == b.Value:
		return 0
	case a.Value < b.Value:
		return -1
	}
	return 1
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

const rooflinePaper = "Williams, Waterman and Patterson 2009, Roofline, CACM 52(4)"

func (w rooflineWriter) items(ctx context.Context) ([]Item, error) {
	var out []Item
	add := func(v roofline.Quantity, expression func(aggregate) string, it Item) error {
		it, ok, err := w.item(ctx, v, expression, it)
		if ok {
			out = append(out, it)
		}
		return err
	}
	ls := w.limits()
	top := ls[0]
	// The unit of the SMs includes the pipes: it is named only where nothing finer is.
	if i := slices.IndexFunc(ls, func(l limit) bool { return l.rule != "sm" }); i >= 0 && ls[i].used.OK && ls[i].used.Value >= roofline.BusyEnough {
		top = ls[i]
	}
	share := w.k.share()
	if top.used.OK && w.r.Bound != roofline.Unknown {
		if err := w.bound(top, add); err != nil {
			return nil, err
		}
	}
	headline := len(out) > 0
	for _, l := range ls {
		var err error
		switch {
		case l.rule == "sm" || headline && l.name == top.name:
		case l.used.OK && l.used.Value >= 0.05:
			err = add(l.used, used(l), Item{Rule: l.rule + "-use", Verdict: Fact, Metric: l.name + " used",
				Statement:  fmt.Sprintf("%s uses %s of the %s: %s of %s.", w.k.short(), percent(l.used.Value), l.name, quantity(l.rate.Value, l.unit), quantity(l.ceiling.Value, l.unit)),
				Reference:  enough(),
				Importance: 0.15 * share * min(1, l.used.Value)})
		case !l.used.OK && l.rate.OK && l.rate.Value > 0:
			err = add(l.rate, rate(l), Item{Rule: l.rule + "-rate", Verdict: Fact, Metric: l.name, Unit: l.unit,
				Statement:  fmt.Sprintf("%s attains %s of %s; there is no ceiling to compare it with.", w.k.short(), quantity(l.rate.Value, l.unit), l.name),
				Importance: 0.3 * share})
		}
		if err != nil {
			return nil, err
		}
	}
	return out, w.intensity(add)
}

// enough is the use from which a ceiling bounds.
func enough() *Reference {
	return &Reference{Value: roofline.BusyEnough, What: "part from which a ceiling counts as the bound", From: ncuGuide + ", Speed of Light"}
}

// adder takes an item whose value comes from an expression over launches.
type adder func(v roofline.Quantity, expression func(aggregate) string, it Item) error

// bound is the headline: what limits the kernel, and what is left to gain.
func (w rooflineWriter) bound(top limit, add adder) error {
	share := w.k.share()
	it := Item{Rule: top.rule + "-bound", Verdict: Problem, Metric: top.name + " used", Importance: 0.5 + 0.48*share, Reference: enough()}
	rates := ""
	if top.rate.OK && top.ceiling.OK {
		rates = fmt.Sprintf(", %s of %s", quantity(top.rate.Value, top.unit), quantity(top.ceiling.Value, top.unit))
	}
	level, memory := w.r.Bound.Level()
	precision, arithmetic := w.r.Bound.Precision()
	switch {
	case memory:
		it.Statement = fmt.Sprintf("%s is bound by %s: it uses %s of it%s.", w.k.short(), top.name, percent(top.used.Value), rates)
		it.Meaning = fmt.Sprintf("The kernel moves data through %s about as fast as the machine can. Only fewer bytes through this level make it much faster.", level)
		it.Remedies = []string{"Move fewer bytes: fuse kernels that pass data through memory, keep data in registers, shared memory or cache (tiling, blocking), use a narrower type, do not read what is not used.",
			"Raise the work per byte: compute instead of loading, handle several steps or right-hand sides in one pass."}
		it.Moves = w.moves(w.r.Traffic[level].Bytes, Down)
	case arithmetic:
		it.Statement = fmt.Sprintf("%s is bound by %s: it uses %s of the peak%s.", w.k.short(), top.name, percent(top.used.Value), rates)
		it.Meaning = fmt.Sprintf("The %s units are nearly always busy. Only less or cheaper arithmetic makes the kernel much faster.", precision)
		it.Remedies = []string{"Do less arithmetic: hoist what does not change, use a better algorithm, fused multiply-add, cheaper functions.",
			"Use faster units: a lower precision where accuracy allows it, or matrix (tensor) units for products of matrices."}
		it.Moves = w.moves(w.r.Work[precision].Flop, Down)
	case w.r.Bound == roofline.SM:
		it.Statement = fmt.Sprintf("%s keeps the busiest unit of its SMs %s busy, which bounds it; the profile does not say which unit that is.", w.k.short(), percent(top.used.Value))
		it.Meaning = "A pipe, the issue of instructions, or the load/store path inside the SMs is the limit, not DRAM or L2."
		it.Remedies = []string{"See which unit it is (ncu --section ComputeWorkloadAnalysis and MemoryWorkloadAnalysis), then execute fewer instructions of its kind: wider loads, data kept in registers, unrolling, cheaper operations."}
	default: // latency
		it.Rule = "latency-bound"
		it.Statement = fmt.Sprintf("%s is bound by latency: no ceiling is used to 60 %%, the most is the %s with %s%s.", w.k.short(), top.name, percent(top.used.Value), rates)
		it.Meaning = "Neither memory nor arithmetic is busy: threads wait for results, for each other, or there are too few of them."
		it.Remedies = []string{"More work in flight: more threads (larger grid, higher occupancy) or more independent work per thread (unrolling, several accumulators, loads issued early).",
			"Shorter waits: data closer (shared memory, registers), fewer barriers and dependent loads."}
		it.Gain = max(0, 1-top.used.Value/roofline.BusyEnough)
	}
	it.Moves = append(it.Moves, Move{w.sc.timeMetric(), Down})
	if err := add(top.used, used(top), it); err != nil || !memory && !arithmetic || !top.amount.OK || !top.ceiling.OK || !w.r.Time.OK {
		return err
	}
	// What would be if the ceiling were reached.
	best := top.amount.Value / top.ceiling.Value
	gain := max(0, 1-best/w.r.Time.Value)
	return add(roofline.Quantity{Value: best, OK: true}, func(a aggregate) string {
		return a.total(top.amount) + " / nullif(" + a.mean(top.ceiling) + ", 0)"
	}, Item{Rule: top.rule + "-roof", Verdict: Fact, Metric: "time at the " + top.name + " roof", Unit: "s",
		Statement: fmt.Sprintf("At the %s roof %s would take %s instead of %s: with the same %s, at most %s can be gained.", top.name, w.k.short(),
			quantity(best, "s"), quantity(w.r.Time.Value, "s"), amountWord(memory), percent(gain)),
		Reference: &Reference{Value: w.r.Time.Value, What: "measured time, s"}, Gain: gain,
		Estimate: "a bound of the model, with perfect overlap", Importance: 0.35 * share})
}

func amountWord(memory bool) string {
	if memory {
		return "traffic"
	}
	return "arithmetic"
}

// moves are the counters of a quantity.
func (w rooflineWriter) moves(q roofline.Quantity, d Direction) []Move {
	f, err := w.formula(q)
	if err != nil || !q.OK {
		return nil
	}
	var out []Move
	for _, n := range f.names {
		if strings.HasSuffix(n, ".per_second") { // an amount by its rate: only both together tell
			return []Move{{q.From, d}}
		}
		if w.sc.metrics[n] {
			out = append(out, Move{n, d})
		}
	}
	return out
}

// intensity compares flop per byte with the machine's balance.
func (w rooflineWriter) intensity(add adder) error {
	p, ok := w.r.Dominant()
	ai := w.r.Intensity(roofline.DRAM, p)
	if !ok || !ai.OK || ai.Value <= 0 {
		return nil
	}
	work, traffic := w.r.Work[p], w.r.Traffic[roofline.DRAM]
	unit := "flop/byte"
	if p.Integer() {
		unit = "op/byte"
	}
	it := Item{Rule: "intensity", Verdict: Fact, Metric: p.String() + " intensity at DRAM", Unit: unit, Importance: 0.3 * w.k.share(),
		Statement: fmt.Sprintf("%s does %.3g %s in %s at DRAM.", w.k.short(), ai.Value, unit, p)}
	if work.Ceiling.OK && traffic.Ceiling.OK && traffic.Ceiling.Value > 0 {
		balance := work.Ceiling.Value / traffic.Ceiling.Value
		side, roof := "left of", "memory"
		if ai.Value >= balance {
			side, roof = "right of", "arithmetic"
		}
		d := w.r.Distance(roofline.DRAM, p)
		attains := ""
		if d.OK {
			attains = ", and it attains " + percent(d.Value) + " of that roof"
		}
		it.Statement = fmt.Sprintf("%s does %.3g %s in %s at DRAM, %s the machine balance of %.3g: its roof is %s%s.",
			w.k.short(), ai.Value, unit, p, side, balance, roof, attains)
		it.Reference = &Reference{Value: balance, What: "machine balance, " + unit, From: rooflinePaper}
	}
	return add(ai, func(a aggregate) string { return a.total(work.Flop) + " / nullif(" + a.total(traffic.Bytes) + ", 0)" }, it)
}
