package insight

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/modeling/change"
	"github.com/rooflab/rooflab/modeling/observe"
)

// unsteady is the coefficient of variation from which on repeats are noisy.
const unsteady = 0.05

// noise says how steady the repeats of each kernel are.
func noise(ctx context.Context, sc *scope) (found, error) {
	var f found
	if sc.hot.Total == 0 || sc.cost != "" {
		return f, nil
	}
	obs, err := observe.Run(ctx, sc.store, sc.run.ID, observe.Options{})
	if err != nil {
		return f, err
	}
	few := 0
	for _, k := range sc.kernels {
		if !sc.repeated() {
			few++
			continue
		}
		of, shape, err := sc.sameShape(ctx, k)
		if err != nil {
			return f, err
		}
		var values []float64
		var rows []observe.Row
		ranks := map[int64]bool{}
		for _, o := range obs {
			if o.Kernel == k.Name && o.Kind == k.Kind && o.Value.Valid && o.Launch != 0 && (of == nil || of[o.Launch]) {
				values, rows = append(values, o.Value.V), append(rows, o.Row)
				if o.Rank.Valid {
					ranks[o.Rank.V] = true
				}
			}
		}
		n := change.NoiseOf(values)
		if n.N < 3 || math.IsNaN(n.Variance) || len(ranks) == n.N {
			few += b2i(n.N < 3)
			continue // one value for each rank says how they are balanced, not how steady
		}
		where := "launch_id IS NOT NULL"
		if shape != "" {
			where = "launch_id IN (" + shape + ")"
		}
		it := Item{Kind: Noise, Rule: "variation", Verdict: Fine, Kernel: k.Name, Metric: "coefficient of variation of the time", Value: n.Variance, Share: k.share(),
			Statement: fmt.Sprintf("%s of %s vary by %s (median %s).", plural(n.N, launchNoun(k)), k.short(), percent(n.Variance), quantity(n.Median, k.Unit)),
			Reference: &Reference{Value: unsteady, What: "threshold", From: "rooflab's threshold"}, Importance: 0.1 * k.share(),
			Sources: sc.evidence(ctx, rows), Query: sc.times(k) + "\nSELECT stddev_samp(v) / avg(v) FROM o WHERE " + where}
		if shape != "" {
			it.Statement = strings.Replace(it.Statement, " vary", " with the same grid and block vary", 1)
		}
		if trouble := n.Trouble(); n.Variance > unsteady || trouble != "" && n.Variance > unsteady/5 {
			it.Verdict, it.Importance = Problem, k.share()*min(0.5, 0.2+n.Variance)
			if trouble != "" {
				it.Statement = strings.TrimSuffix(it.Statement, ".") + ": " + trouble + "."
			}
			it.Meaning = "Either they do different work (sizes, iterations), or the machine is not quiet: a change smaller than this cannot be seen without many repeats."
			it.Remedies = []string{"Compare launches of the same size; fix clocks, pin threads, warm up, repeat, and take medians with intervals."}
			if sc.traced() { // a program's launches do different work
				it.Verdict, it.Importance, it.Remedies = Fact, 0.15*k.share(), nil
			}
		}
		f.items = append(f.items, it)
	}
	if few > 0 && len(f.items) == 0 && !sc.traced() {
		what := "each is measured fewer than 3 times"
		if !sc.repeated() {
			what = "it is one profile"
		}
		f.missing = append(f.missing, Missing{What: what + ": how steady the times are is not known", Command: "rooflab collect run --repeats 10 --store STORE -- CMD"})
	}
	return f, nil
}

// traced reports whether the run is a trace of a whole program. rocprof that
// counts events runs kernels one by one: what is between them is its own doing.
func (sc *scope) traced() bool {
	if sc.run.Tool == "rocprof" {
		for m := range sc.metrics {
			for _, block := range []string{"SQ_", "TCC_", "TCP_", "TA_", "TD_", "GRBM_", "SPI_", "CPC_"} {
				if strings.HasPrefix(m, block) {
					return false
				}
			}
		}
		return true
	}
	return sc.is("nsys", "pytorch", "trace-event")
}

// repeated reports whether the run's launches are repeats of the same work: not
// threads and ranks of a profile by samples, nor configurations of a tuner.
func (sc *scope) repeated() bool {
	return !sc.is("perf", "pprof", "gprof", "vtune", "hpctoolkit", "caliper", "score-p", "tau", "timemory", "callgrind", "cachegrind", "xdebug", "kernel-timing", "kernel_tuner", "kernel-tuner", "KTT", "ktt")
}

// sameShape are the launches of a kernel with its most frequent grid and
// block, and SQL for them; nil and "" where all launches have the same, or the
// run does not say.
func (sc *scope) sameShape(ctx context.Context, k *Kernel) (map[int64]bool, string, error) {
	const shape = "grid_x, grid_y, grid_z, block_x, block_y, block_z, smem"
	from := fmt.Sprintf("FROM launch WHERE run_id = %d AND region_id IN (%s)", sc.run.ID, sc.regions(k))
	kinds, err := number(ctx, sc.store, fmt.Sprintf("SELECT count(*) FROM (SELECT DISTINCT %s %s)", shape, from))
	if err != nil || kinds < 2 {
		return nil, "", err
	}
	sql := fmt.Sprintf("SELECT id %[1]s AND hash(%[2]s) = (SELECT hash(%[2]s) AS h %[1]s GROUP BY h ORDER BY count(*) DESC, min(id) LIMIT 1)", from, shape)
	of := map[int64]bool{}
	return of, sql, sc.store.Each(ctx, func(v []any) { of[v[0].(int64)] = true }, sql)
}

// changes compares the run with one before.
func changes(ctx context.Context, sc *scope) (found, error) {
	var f found
	before := sc.opt.Against
	if before == 0 {
		return f, nil
	}
	if before == sc.run.ID {
		return f, fmt.Errorf("run %d is compared against itself: name another one", before)
	}
	r, err := change.Between(ctx, sc.store, []int64{before}, []int64{sc.run.ID}, change.Options{Seed: sc.opt.Seed, Metric: sc.cost})
	if err != nil {
		return f, err
	}
	old := &scope{store: sc.store, opt: sc.opt, metrics: map[string]bool{}}
	if err := old.read(ctx, before); err != nil {
		return f, err
	}
	total := func(s *scope) string { return "(" + s.times(nil) + "\nSELECT sum(v) FROM o)" }
	both := func(rows []observe.Row, other []observe.Row) []Source {
		return append(old.evidence(ctx, rows), sc.evidence(ctx, other)...)
	}
	if r.Before > 0 {
		f.items = append(f.items, Item{Kind: Change, Rule: "total", Verdict: Fact, Metric: "time of all, after / before", Value: r.After / r.Before, Share: 1, Importance: 0.995,
			Statement: fmt.Sprintf("All kernels together take %s, %s in run %d before: %s.", quantity(r.After, r.Unit), quantity(r.Before, r.Unit), before, ratioWords(r.After/r.Before)),
			Reference: &Reference{Value: r.Before, What: "time before, " + r.Unit}, Sources: both(evidenceOfReport(r, true), evidenceOfReport(r, false)),
			Query: "SELECT " + total(sc) + " / " + total(old)})
	}
	var only [2][]string // kernels of one side, before and after
	for i, c := range r.Kernels {
		switch c.Verdict {
		case change.Vanished:
			only[0] = append(only[0], clean(c.Name, mostName))
		case change.New:
			only[1] = append(only[1], clean(c.Name, mostName))
		}
		k := &Kernel{Name: c.Name, Kind: kindIn(sc, c.Name)}
		if sc.named && c.Name != sc.kernels[0].Name || i >= 8 && !sc.named {
			continue
		}
		if math.IsNaN(c.Ratio) {
			continue // of new and vanished kernels there is a note
		}
		share := 0.0
		if r.After > 0 {
			share = c.After.Total / r.After
		}
		it := Item{Kind: Change, Rule: strings.ReplaceAll(string(c.Verdict), " ", "-"), Verdict: Fact, Kernel: c.Name, Metric: "median time, after / before", Value: c.Ratio, Share: share,
			Reference: &Reference{Value: 1, What: "no change"}, Sources: both(c.Before.Evidence, c.After.Evidence),
			Query:      "SELECT (" + sc.times(k) + "\nSELECT median(v) FROM o) / (" + old.times(k) + "\nSELECT median(v) FROM o)",
			Importance: min(0.99, 0.2+0.6*math.Abs(c.After.Total-c.Before.Total)/max(r.After, r.Before, 1e-300))}
		it.Statement = fmt.Sprintf("%s: %s, median %s after, %s before (%s)", k.short(), c.Verdict, quantity(c.After.Median, r.Unit), quantity(c.Before.Median, r.Unit), ratioWords(c.Ratio))
		if !math.IsNaN(c.Low) {
			it.Statement += fmt.Sprintf(", 95 %% interval of the ratio %.3f to %.3f", c.Low, c.High)
		}
		if c.Verdict == change.Same && (c.Low > 1 || c.High < 1) {
			it.Statement += ": a difference that is too small to count"
		}
		switch c.Verdict {
		case change.Slower:
			it.Verdict = Problem
		case change.Same:
			it.Verdict, it.Importance = Fine, 0.1
		}
		if c.Explains > 0 && (c.Verdict == change.Slower || c.Verdict == change.Faster) {
			it.Statement += fmt.Sprintf("; it explains %s of the difference", percent(c.Explains))
		}
		it.Statement += "."
		if c.Verdict != change.Same {
			it.Statement += along(r.Counters, c.Name)
		}
		f.items = append(f.items, it)
	}
	for i, run := range []int64{before, sc.run.ID} {
		if n := len(only[i]); n > 0 {
			note := fmt.Sprintf("Only in run %d: %s", run, strings.Join(only[i][:min(n, 5)], ", "))
			if n > 5 {
				note += fmt.Sprintf(" and %d more", n-5)
			}
			f.notes = append(f.notes, note+".")
		}
	}
	return f, nil
}

// along says which counters of a kernel changed with its time, the three that
// did most as change orders them.
func along(cs []change.Counter, kernel string) string {
	var out []string
	for _, c := range cs {
		if c.Kernel == kernel && len(out) < 3 && c.Ratio > 0 && !math.IsInf(c.Ratio, 0) && math.Abs(c.Ratio-1) >= 0.03 {
			out = append(out, fmt.Sprintf("%s is %.3g times what it was", clean(c.Metric, 80), c.Ratio))
		}
	}
	if out == nil {
		return ""
	}
	return " Along with it " + strings.Join(out, ", ") + "."
}

func ratioWords(ratio float64) string {
	switch {
	case ratio > 1:
		return fmt.Sprintf("%.3g times as long", ratio)
	case ratio < 1 && ratio > 0:
		return fmt.Sprintf("%.3g times faster", 1/ratio)
	}
	return "no difference"
}

func kindIn(sc *scope, name string) string {
	for _, k := range append(sc.hot.Kernels[:len(sc.hot.Kernels):len(sc.hot.Kernels)], sc.hot.Rest...) {
		if k.Name == name {
			return k.Kind
		}
	}
	return ""
}

func evidenceOfReport(r change.Report, before bool) []observe.Row {
	var out []observe.Row
	for _, k := range r.Kernels {
		e := k.After.Evidence
		if before {
			e = k.Before.Evidence
		}
		out = append(out, e[:min(len(e), 1)]...)
	}
	return out
}
