package insight

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// mostValues is how many counter values of a kernel are read for its roofline;
// of larger tables launches are sampled, which the item says.
const mostValues = 2_000_000

// rooflines says what bounds each kernel.
func rooflines(ctx context.Context, sc *scope) (found, error) {
	var f found
	opt, err := sc.ceilings(ctx)
	if err != nil {
		return f, err
	}
	var drawn []roofline.Result
	for _, k := range sc.kernels {
		filter := datasets.Filter{Run: sc.run.ID, Kernel: k.Name}
		n, err := number(ctx, sc.store, fmt.Sprintf("SELECT count(*) FROM counter WHERE run_id = %d AND region_id IN (%s)", sc.run.ID, sc.regions(k)))
		if err != nil {
			return f, err
		}
		if n == 0 || !sc.hasRoofline() {
			continue
		}
		sampled := ""
		if n > mostValues && k.Launches > 0 {
			filter.Sample = max(1, int(mostValues/(n/float64(k.Launches))))
			sampled = fmt.Sprintf("from %d of %d launches, picked at random", filter.Sample, k.Launches)
		}
		ms, err := sc.store.Measurements(ctx, filter)
		if err != nil {
			return f, err
		}
		ms = slices.DeleteFunc(ms, func(m datasets.Measurement) bool { return k.launched && m.Launch == 0 })
		for _, r := range roofline.ByKernel(roofline.AnalyseAll(roofline.FromMeasurements(ms), opt)) {
			w := rooflineWriter{sc: sc, k: k, r: r, sampled: sampled}
			items, err := w.items(ctx)
			if err != nil {
				return f, err
			}
			f.items = append(f.items, items...)
			if r.Bound == roofline.Unknown && len(items) > 0 {
				f.missing = append(f.missing, Missing{What: k.short() + ": " + r.Why, Command: sc.collectRoofline()})
			} else if r.Bound != roofline.Unknown {
				k.Bound = string(r.Bound)
			}
			drawn = append(drawn, r)
		}
	}
	if len(f.items) == 0 {
		return found{}, &missingError{what: "no counters of work and bytes", command: sc.collectRoofline()}
	}
	if svg, ok := rooflineSVG(drawn); ok {
		f.pictures = append(f.pictures, picture{title: "Roofline", svg: svg})
	}
	return f, nil
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

// levelNames are the levels of the table ceiling.
var levelNames = map[string]roofline.Level{"dram": roofline.DRAM, "l3": roofline.L3, "l2": roofline.L2, "l1": roofline.L1, "lds": roofline.Shared, "shared": roofline.Shared}

var precisionNames = map[string]roofline.Precision{"fp64": roofline.FP64, "fp32": roofline.FP32, "fp16": roofline.FP16, "fp64.tensor": roofline.TensorFP64,
	"fp32.tensor": roofline.TensorFP32, "fp16.tensor": roofline.TensorFP16, "bf16.tensor": roofline.TensorBF16, "fp8.tensor": roofline.TensorFP8, "int8.tensor": roofline.TensorInt8}

// ceilings are those of the run's machine that the store knows, measured ones
// before theoretical ones, for profiles that have none of their own.
func (sc *scope) ceilings(ctx context.Context) (roofline.Options, error) {
	opt := roofline.Options{Bandwidth: map[roofline.Level]float64{}, Peak: map[roofline.Precision]float64{}}
	err := each(ctx, sc.store, func(v []any) {
		level, value := v[0].(string), v[1].(float64)
		if l, ok := levelNames[level]; ok && opt.Bandwidth[l] == 0 {
			opt.Bandwidth[l] = value
		}
		if p, ok := precisionNames[level]; ok && opt.Peak[p] == 0 {
			opt.Peak[p] = value
		}
	}, "SELECT level, max(value) FROM ceiling WHERE machine_id = ? GROUP BY level, measured ORDER BY measured DESC, level", sc.machine)
	return opt, err
}

// rooflineWriter makes items of one kernel's roofline.
type rooflineWriter struct {
	sc      *scope
	k       *Kernel
	r       roofline.Result
	sampled string
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
	ls := w.limits()
	top := ls[0]
	if i := slices.IndexFunc(ls, func(l limit) bool { return l.rule != "sm" }); i >= 0 && ls[i].used.OK && (ls[i].used.Value >= roofline.BusyEnough || !top.used.OK) {
		top = ls[i]
	}
	share := w.k.share()
	if top.used.OK && w.r.Bound != roofline.Unknown {
		it, err := w.bound(ctx, top)
		if err != nil {
			return nil, err
		}
		out = append(out, it...)
	}
	for _, l := range ls {
		switch {
		case l.rule == "sm" || l.name == top.name && len(out) > 0:
			continue
		case l.used.OK && l.used.Value > 0.005:
			it, err := w.item(ctx, l.used, used(l), Item{Rule: l.rule + "-use", Verdict: Fact, Metric: l.name + " used", Unit: "",
				Statement:  fmt.Sprintf("%s uses %s of the %s: %s of %s.", w.k.short(), percent(l.used.Value), l.name, quantity(l.rate.Value, l.unit), quantity(l.ceiling.Value, l.unit)),
				Reference:  &Reference{Value: roofline.BusyEnough, What: "part from which a ceiling counts as the bound", From: "Nsight Compute Profiling Guide, Speed of Light"},
				Importance: 0.15 * share * min(1, l.used.Value)})
			if err != nil {
				return nil, err
			}
			out = append(out, it)
		case !l.used.OK && l.rate.OK && l.rate.Value > 0:
			it, err := w.item(ctx, l.rate, rate(l), Item{Rule: l.rule + "-rate", Verdict: Fact, Metric: l.name, Unit: l.unit,
				Statement:  fmt.Sprintf("%s attains %s of %s; the profile has no ceiling to compare it with.", w.k.short(), quantity(l.rate.Value, l.unit), l.name),
				Importance: 0.3 * share})
			if err != nil {
				return nil, err
			}
			out = append(out, it)
		}
	}
	it, ok, err := w.intensity(ctx)
	if ok {
		out = append(out, it)
	}
	return out, err
}

// bound is the headline: what limits the kernel, and what is left to gain.
func (w rooflineWriter) bound(ctx context.Context, top limit) ([]Item, error) {
	share := w.k.share()
	it := Item{Rule: top.rule + "-bound", Verdict: Problem, Metric: top.name + " used", Importance: 0.5 + 0.48*share,
		Reference: &Reference{Value: roofline.BusyEnough, What: "part from which a ceiling counts as the bound", From: "Nsight Compute Profiling Guide, Speed of Light"}}
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
	headline, err := w.item(ctx, top.used, used(top), it)
	if err != nil || !memory && !arithmetic || !top.amount.OK || !top.ceiling.OK || !w.r.Time.OK {
		return []Item{headline}, err
	}
	// What would be if the ceiling were reached.
	best := top.amount.Value / top.ceiling.Value
	at, err := w.item(ctx, roofline.Quantity{Value: best, OK: true}, func(a aggregate) string {
		return a.total(top.amount) + " / nullif(" + a.mean(top.ceiling) + ", 0)"
	}, Item{Rule: top.rule + "-roof", Verdict: Fact, Metric: "time at the " + top.name + " roof", Unit: "s",
		Statement: fmt.Sprintf("At the %s roof %s would take %s instead of %s: with the same %s, at most %s can be gained.", top.name, w.k.short(),
			quantity(best, "s"), quantity(w.r.Time.Value, "s"), amountWord(memory), percent(max(0, 1-best/w.r.Time.Value))),
		Reference: &Reference{Value: w.r.Time.Value, What: "measured time, s"}, Gain: max(0, 1-best/w.r.Time.Value),
		Estimate: "a bound of the model: ceilings at the profiled clock, perfect overlap", Importance: 0.35 * share})
	return []Item{headline, at}, err
}

func amountWord(memory bool) string {
	if memory {
		return "traffic"
	}
	return "arithmetic"
}

// moves are the counters of a quantity.
func (w rooflineWriter) moves(q roofline.Quantity, d Direction) []Move {
	f, err := w.sc.parse(q.From)
	if err != nil || !q.OK {
		return nil
	}
	var out []Move
	for _, n := range f.names {
		if w.sc.metrics[n] && !strings.HasSuffix(n, ".per_second") && n != w.sc.time {
			out = append(out, Move{n, d})
		}
	}
	return out
}

// intensity compares flop per byte with the machine's balance.
func (w rooflineWriter) intensity(ctx context.Context) (Item, bool, error) {
	p, ok := w.r.Dominant()
	ai := w.r.Intensity(roofline.DRAM, p)
	if !ok || !ai.OK || ai.Value <= 0 {
		return Item{}, false, nil
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
		it.Statement = fmt.Sprintf("%s does %.3g %s in %s at DRAM, %s the machine balance of %.3g: its roof is %s, and it attains %s of that roof.",
			w.k.short(), ai.Value, unit, p, side, balance, roof, percent(d.Value))
		it.Reference = &Reference{Value: balance, What: "machine balance, " + unit, From: rooflinePaper}
	}
	out, err := w.item(ctx, ai, func(a aggregate) string { return a.total(work.Flop) + " / nullif(" + a.total(traffic.Bytes) + ", 0)" }, it)
	return out, true, err
}

// aggregate writes quantities of launches as SQL over the kernel's launches.
type aggregate struct {
	of   func(roofline.Quantity) string // of one launch
	time roofline.Quantity
}

// total is the sum over launches.
func (a aggregate) total(q roofline.Quantity) string { return "sum(" + a.of(q) + ")" }

// mean is weighted with time, as roofline.ByKernel does it.
func (a aggregate) mean(q roofline.Quantity) string {
	if !a.time.OK {
		return "avg(" + a.of(q) + ")"
	}
	return fmt.Sprintf("(sum(%s * %s) / nullif(sum(%s), 0))", a.of(q), a.of(a.time), a.of(a.time))
}

func used(l limit) func(aggregate) string {
	return func(a aggregate) string {
		if l.rule == "sm" {
			return a.mean(l.used)
		}
		return rate(l)(a) + " / nullif(" + a.mean(l.ceiling) + ", 0)"
	}
}

func rate(l limit) func(aggregate) string {
	return func(a aggregate) string { return a.total(l.amount) + " / nullif(" + a.total(a.time) + ", 0)" }
}

// item completes an item of a value with the query that finds it again.
func (w rooflineWriter) item(ctx context.Context, v roofline.Quantity, expression func(aggregate) string, it Item) (Item, error) {
	it.Kind, it.Kernel, it.Value, it.Share, it.Formula = Roofline, w.k.Name, v.Value, w.k.share(), v.From
	if math.IsNaN(it.Value) {
		return it, nil
	}
	if w.sampled != "" {
		it.Estimate = strings.TrimPrefix(it.Estimate+"; "+w.sampled, "; ")
	}
	var names []string
	given := false
	var failed error
	quantitySQL := func(column func(string) string) func(roofline.Quantity) string {
		return func(q roofline.Quantity) string {
			if q.From == roofline.Given {
				given = true
				return fmt.Sprintf("%.17g", q.Value)
			}
			f, err := w.sc.parse(q.From)
			if err != nil {
				failed = err
				return "NULL"
			}
			for _, n := range f.names {
				if !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
			return f.sql(column)
		}
	}
	// Once for the names, which the table of launches needs as columns.
	expression(aggregate{quantitySQL(func(string) string { return "" }), w.r.Time})
	with, column := w.sc.launches(w.k, names)
	it.Query = with + "\nSELECT " + expression(aggregate{quantitySQL(column), w.r.Time}) + " FROM l"
	if failed != nil {
		return it, failed
	}
	var err error
	it.Sources, err = w.sc.counterRows(ctx, w.k, names)
	if given {
		it.Sources[0].Rows = append(it.Sources[0].Rows, w.ceilingRows(ctx)...)
		it.Estimate = strings.TrimPrefix(it.Estimate+"; ceilings are those that the store has of the machine, not of this run's clock", "; ")
	}
	return it, err
}

// ceilingRows are the machine's rows of ceilings.
func (w rooflineWriter) ceilingRows(ctx context.Context) []Row {
	var out []Row
	// An error here would have been one of ceilings before.
	_ = each(ctx, w.sc.store, func(v []any) { out = append(out, Row{Table: "ceiling", Metric: v[0].(string)}) },
		"SELECT DISTINCT level FROM ceiling WHERE machine_id = ? ORDER BY level", w.sc.machine)
	return out
}
