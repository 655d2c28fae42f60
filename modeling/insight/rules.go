package insight

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/modeling/counters"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// rule is what an expert reads from a few counters of a kernel: a number by a
// formula, and what it means beyond a threshold.
type rule struct {
	name string
	// value is the number; the first formula whose counters the run has counts.
	// "A // B" is the sum of A over launches by the sum of B; a formula without
	// it is the mean over launches, weighted with their time.
	value []string
	what  string // the number in words, "sectors per request of global loads"
	unit  string // "" for ratios and counts; "part" writes a fraction as percent
	// limit is from where on the number is a problem: above it, or below it
	// where under is set.
	limit float64
	under bool
	from  string // the threshold's source: the section of a guide
	// when asks other formulas before the rule applies: each must be above 0.
	when []string
	// gain is an upper estimate of the part of the kernel's time at stake, from
	// the value; nil where nothing can be said.
	gain     func(v float64) float64
	bad      string // what to say beyond the threshold; %[1]s kernel, %[2]s the number
	fine     string // what to say else; "" says nothing
	fact     bool   // it is something to know, never a problem
	unless   string // a rule that says the same better, where it has a value
	latency  bool   // it matters where the kernel waits, less where a ceiling bounds it
	meaning  string
	remedies []string
	moves    []Move
	// where finds the place in the source: a counter with a value for each
	// instruction, the largest of which is named.
	where string
}

// family is rules for the counters of some tools.
type family struct {
	name  string
	rules []rule
}

// counterRules applies all rules whose counters are there.
func counterRules(ctx context.Context, sc *scope) (found, error) {
	var f found
	for _, k := range sc.kernels {
		for _, fam := range []family{nvidiaRules, amdRules, cpuRules} {
			items, err := sc.apply(ctx, k, Counter, fam.rules)
			if err != nil {
				return f, err
			}
			f.items = append(f.items, items...)
		}
	}
	if len(f.items) == 0 && sc.measured() {
		return f, &missingError{what: "no counters that say why it takes so long (cycles, caches, branches, occupancy)", command: sc.collectCounters()}
	}
	return f, nil
}

// measured reports whether the run is one of code whose counters could be
// measured: not of memory, of a model, or of calls of a library.
func (sc *scope) measured() bool {
	if sc.hot.Total == 0 {
		return strings.Contains(sc.class, "= 'kernel'") || len(sc.kernels) > 0 && sc.kernels[0].Kind == "kernel"
	}
	return !sc.is("llvm-mca", "xdebug") && !strings.Contains(sc.cost, "space") && !strings.Contains(sc.cost, "bytes") && !strings.Contains(sc.cost, "objects") &&
		(!sc.is("rocprof", "nsys") || sc.kernels[0].Kind == "kernel")
}

func (sc *scope) collectCounters() string {
	switch {
	case sc.is("ncu", "nsys", "nvidia", "nvml", "pytorch", "kernel-timing", "gpu", "roofline-peaks", "NeuSight"):
		return "ncu --set full -o FILE CMD"
	case sc.is("rocprof"):
		return "rocprof-compute profile -n NAME -- CMD"
	}
	return "rooflab collect perf --store STORE -- CMD"
}

// applied is a rule with the formulas that the run has counters for.
type applied struct {
	rule
	text     string // of the value
	top, by  formula
	ratio    bool
	when     []formula
	position int // its column in the result
}

// resolve finds the formulas of a rule that the run can give.
func (sc *scope) resolve(r rule) (applied, bool) {
	for _, text := range r.value {
		a := applied{rule: r, text: text}
		top, by, ratio := strings.Cut(text, " // ")
		a.ratio = ratio
		parts := []string{top}
		if ratio {
			parts = append(parts, by)
		}
		ok := true
		for i, p := range append(parts, r.when...) {
			f, err := sc.parse(sc.spell(p))
			// A name with spaces that the run does not have is no formula, either.
			if ok = err == nil && sc.has(f.names...); !ok {
				break
			}
			switch {
			case i == 0:
				a.top = f
			case i == 1 && ratio:
				a.by = f
			default:
				a.when = append(a.when, f)
			}
		}
		if ok {
			a.text = strings.ReplaceAll(sc.spell(text), " // ", " / ")
			return a, true
		}
	}
	return applied{}, false
}

// spell writes names as the run has them: perf adds modifiers to events
// ("cycles:u"), Linux the core's kind ("cpu_core/cycles/").
func (sc *scope) spell(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		bare := strings.Trim(w, "()")
		if bare == "" || sc.metrics[bare] {
			continue
		}
		for _, m := range sc.spellings[bare] {
			words[i] = strings.Replace(w, bare, m, 1)
			break
		}
	}
	return strings.Join(words, " ")
}

// apply evaluates rules for a kernel, all in one query.
func (sc *scope) apply(ctx context.Context, k *Kernel, kind Kind, rules []rule) ([]Item, error) {
	var as []applied
	var names []string
	seen := map[string]bool{}
	for _, r := range rules {
		a, ok := sc.resolve(r)
		if !ok {
			continue
		}
		for _, f := range append([]formula{a.top, a.by}, a.when...) {
			for _, n := range f.names {
				if !seen[n] {
					seen[n] = true
					names = append(names, n)
				}
			}
		}
		as = append(as, a)
	}
	if len(as) == 0 {
		return nil, nil
	}
	with, column := sc.launches(k, names)
	var columns []string
	for i := range as {
		as[i].position = len(columns)
		columns = append(columns, sc.expression(as[i], column))
		for _, f := range as[i].when {
			columns = append(columns, "sum("+f.sql(column)+")")
		}
	}
	var values []float64
	if err := sc.store.Each(ctx, func(v []any) {
		for _, x := range v {
			values = append(values, asFloat(x))
		}
	}, with+"\nSELECT "+strings.Join(columns, ",\n ")+" FROM l"); err != nil {
		return nil, err
	}
	var out []Item
	has := map[string]bool{}
	for _, a := range as {
		v := values[a.position]
		holds := !math.IsNaN(v) && !has[a.unless]
		for i := range a.when {
			holds = holds && values[a.position+1+i] > 0
		}
		if !holds {
			continue
		}
		has[a.name] = true
		it, ok, err := sc.item(ctx, k, kind, a, v)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, it)
		}
	}
	return out, nil
}

func asFloat(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	}
	return math.NaN()
}

// expression is a rule's value over the kernel's launches.
func (sc *scope) expression(a applied, column func(string) string) string {
	if a.ratio {
		top, by := a.top.sql(column), a.by.sql(column)
		return fmt.Sprintf("sum(%s) FILTER (WHERE %s IS NOT NULL) / nullif(sum(%s) FILTER (WHERE %s IS NOT NULL), 0)", top, by, by, top)
	}
	f := a.top.sql(column)
	return fmt.Sprintf("coalesce(sum(%s * d) / nullif(sum(d) FILTER (WHERE %s IS NOT NULL), 0), avg(%s))", f, f, f)
}

func (sc *scope) item(ctx context.Context, k *Kernel, kind Kind, a applied, v float64) (Item, bool, error) {
	beyond := v > a.limit
	if a.under {
		beyond = v < a.limit
	}
	text := a.fine
	if beyond {
		text = a.bad
	}
	if text == "" {
		return Item{}, false, nil
	}
	share := k.share()
	shown := quantity(v, a.unit)
	if a.unit == "part" {
		shown = percent(v)
	}
	it := Item{Kind: kind, Rule: a.name, Verdict: Fine, Kernel: k.Name, Metric: a.what, Formula: a.text, Value: v, Share: share,
		Statement: fmt.Sprintf(text, k.short(), shown), Reference: &Reference{Value: a.limit, What: "threshold", From: a.from}, Importance: 0.08 * share}
	if a.unit != "part" {
		it.Unit = a.unit
	}
	if a.fact && beyond {
		it.Verdict, it.Importance = Fact, 0.12*share
	}
	if beyond && !a.fact {
		it.Verdict, it.Importance, it.Meaning, it.Remedies = Problem, 0.35*share, a.meaning, a.remedies
		it.Moves = append(append([]Move{}, a.moves...), Move{sc.timeMetric(), Down})
		if a.gain != nil {
			it.Gain = min(1, max(0, a.gain(v)))
			it.Importance = share * (0.25 + 0.5*it.Gain)
		}
		if bound := roofline.Bound(k.Bound); a.latency && bound != "" && bound != roofline.Latency {
			it.Importance /= 2
		}
	} else if a.fact {
		it.Meaning = a.meaning
	}
	names := append([]string{}, a.top.names...)
	names = append(names, a.by.names...)
	with, column := sc.launches(k, names)
	it.Query = with + "\nSELECT " + sc.expression(a, column) + " FROM l"
	var err error
	if it.Sources, err = sc.counterRows(ctx, k, names); err != nil {
		return it, false, err
	}
	if a.where != "" && it.Verdict == Problem {
		it.Location, err = sc.place(ctx, k, a.where)
	}
	if it.Meaning == "" && len(a.top.names) == 1 {
		if d := counters.Describe(a.top.names[0]); d.Text != "" {
			it.Meaning = strings.ToUpper(d.Text[:1]) + d.Text[1:] + "."
		}
	}
	return it, err == nil, err
}

// place is the instruction with the largest value of a counter that has one
// for each; instances are offsets in the code, in hexadecimal.
func (sc *scope) place(ctx context.Context, k *Kernel, metric string) (*Location, error) {
	var at *Location
	err := sc.store.Each(ctx, func(v []any) {
		at = &Location{}
		at.File, _ = v[0].(string)
		at.Line, _ = v[1].(int64)
		text, _ := v[2].(string)
		at.Instruction = instruction(text)
	}, fmt.Sprintf(`WITH c AS (SELECT region_id, lower(instance) AS instance, sum(value) AS v FROM counter WHERE run_id = %d AND metric = %s AND instance IS NOT NULL AND region_id IN (%s) GROUP BY 1, 2)
		SELECT k.file, k.line, k.text FROM c JOIN code k ON k.region_id = c.region_id AND c.instance = printf('0x%%04x', k."offset")
		WHERE c.v > 0 AND k.isa <> 'source' ORDER BY c.v DESC, k."offset" LIMIT 1`, sc.run.ID, literal(metric), sc.regions(k)))
	return at, err
}
