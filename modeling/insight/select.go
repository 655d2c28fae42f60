package insight

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/hot"
	"github.com/rooflab/rooflab/modeling/observe"
)

// newScope chooses the run and its kernels.
func newScope(ctx context.Context, s *datasets.Store, opt Options) (*scope, []string, error) {
	if opt.Kernels <= 0 {
		opt.Kernels = 5
	}
	var notes []string
	id := opt.Run
	if id == 0 {
		latest, others, err := latestRun(ctx, s, opt)
		if err != nil {
			return nil, nil, err
		}
		if id = latest; others > 1 {
			notes = append(notes, fmt.Sprintf("The store has %d runs; this is the latest, %d. Another one is named by its id.", others, id))
		}
	}
	sc := &scope{store: s, opt: opt, metrics: map[string]bool{}}
	err := sc.read(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	sc.run.Role = "subject"
	if sc.run.Status != datasets.RunOK {
		notes = append(notes, fmt.Sprintf("Run %d is %s: %s", id, sc.run.Status, cmp.Or(sc.run.Error, "no reason is given")))
	}
	note, err := sc.readLimits(ctx)
	if err != nil {
		return nil, nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	if opt.Kernel != "" {
		err = sc.nameKernel(ctx)
	} else {
		err = sc.hotKernels(ctx)
	}
	return sc, notes, err
}

// read reads the run, what was counted in it and where its time goes.
func (sc *scope) read(ctx context.Context, id int64) (err error) {
	if sc.run, sc.machine, sc.time, err = readRun(ctx, sc.store, id); err != nil {
		return err
	}
	sc.spellings = map[string][]string{}
	if err := sc.store.Each(ctx, func(v []any) {
		m := v[0].(string)
		sc.metrics[m] = true
		bare, _, _ := strings.Cut(m, ":") // perf's modifiers: "cycles:u"
		if pmu, event, ok := strings.Cut(strings.TrimSuffix(bare, "/"), "/"); ok && strings.HasPrefix(pmu, "cpu") {
			bare = event
		}
		sc.spellings[bare] = append(sc.spellings[bare], m)
	}, "SELECT DISTINCT metric FROM counter WHERE run_id = ? AND value IS NOT NULL AND instance IS NULL ORDER BY 1", id); err != nil {
		return err
	}
	// Of the two that are called Memory Throughput the rate is meant, which is the
	// larger number; the other is a percentage.
	if sc.run.Format == "ncu-csv" {
		sc.sections = map[string]bool{}
		if err := sc.store.Each(ctx, func(v []any) {
			m := v[0].(string)
			sc.metrics[m], sc.sections[m] = true, true
		}, `SELECT metric FROM counter WHERE run_id = ? GROUP BY metric HAVING count(value) > 0 AND bool_and(instance IS NOT NULL) AND (count(DISTINCT instance) = 1 OR metric = 'Memory Throughput')`, id); err != nil {
			return err
		}
	}
	return sc.costs(ctx)
}

// latestRun is the newest run, of those with a kernel where one is named, else
// of those that measured any region: a file that describes a machine, imported
// last, is not what is asked about.
func latestRun(ctx context.Context, s *datasets.Store, opt Options) (id, runs int64, err error) {
	where, args := "status = 'ok' AND (id IN (SELECT run_id FROM counter) OR id IN (SELECT run_id FROM launch))", []any{}
	if opt.Kernel != "" {
		where = "id IN (SELECT run_id FROM region WHERE short = ? OR raw = ?)"
		args = append(args, opt.Kernel, opt.Kernel)
	}
	err = s.Each(ctx, func(v []any) {
		id, _ = v[0].(int64)
		for i := 1; id == 0 && i < 3; i++ {
			id, _ = v[i].(int64)
		}
		runs, _ = v[3].(int64)
	}, "SELECT max(id) FILTER (WHERE "+where+"), max(id) FILTER (WHERE status = 'ok'), max(id), count(*) FROM run", args...)
	if err == nil && runs == 0 {
		err = fmt.Errorf("the store has no runs: import a profile first (rooflab import --store %s FILE)", s.Path())
	}
	return id, runs, err
}

func readRun(ctx context.Context, s *datasets.Store, id int64) (r Run, machine int64, timeMetric string, err error) {
	r.Artefacts = []Artefact{}
	if err = s.Each(ctx, func(v []any) {
		r.ID = id
		text := func(i int) string { t, _ := v[i].(string); return t }
		r.Tool, r.ToolVersion, r.Format, r.Command, r.Status, r.Error, timeMetric = text(0), text(1), text(2), text(3), text(4), text(5), text(6)
		r.inclusive, _ = v[7].(bool)
		machine, _ = v[8].(int64)
	}, "SELECT tool, tool_version, format, command, status, error, time_metric, time_inclusive, machine_id FROM run WHERE id = ?", id); err != nil {
		return r, 0, "", err
	}
	if r.ID == 0 {
		return r, 0, "", fmt.Errorf(`the store has no run %d: rooflab query "SELECT id, tool, command FROM run" lists them`, id)
	}
	err = s.Each(ctx, func(v []any) {
		r.Artefacts = append(r.Artefacts, Artefact{v[0].(string), v[1].(string), v[2].(int64)})
	}, "SELECT path, sha256, bytes FROM artefact WHERE run_id = ? ORDER BY kind = 'part', path", id)
	return r, machine, timeMetric, err
}

func machine(ctx context.Context, s *datasets.Store, id int64) (*Machine, error) {
	var m *Machine
	err := s.Each(ctx, func(v []any) {
		text := func(i int) string { t, _ := v[i].(string); return t }
		m = &Machine{Host: text(0), CPU: text(1), GPU: text(2), Arch: text(3), Driver: text(7)}
		if n, ok := v[4].(int64); ok {
			m.Units = &n
		}
		if n, ok := v[5].(float64); ok {
			m.ClockHz = &n
		}
		if n, ok := v[6].(int64); ok {
			m.Memory = &n
		}
	}, "SELECT host, cpu, gpu, arch, units, clock_hz, mem_bytes, driver FROM machine WHERE id = ?", id)
	return m, err
}

// costMetrics are what stands for the time where a profile has none, the best
// first: instructions and cycles of simulators, samples, bytes of heap profiles.
var costMetrics = []string{"cycles", "Ir", "Instructions", "instructions", "samples", "inuse_space", "alloc_space", "inuse_bytes", "alloc_bytes", "inuse_objects", "alloc_objects", "space", "objects"}

// costs finds where the run's time goes, or else another cost.
func (sc *scope) costs(ctx context.Context) error {
	opt := hot.Options{Share: sc.opt.Share}
	var timed int64
	if err := sc.store.Each(ctx, func(v []any) { timed, _ = v[0].(int64) },
		`SELECT (SELECT count(*) FROM launch WHERE run_id = $1 AND dur_ns IS NOT NULL)`, sc.run.ID); err != nil {
		return err
	}
	if sc.time == "" && timed == 0 {
		i := slices.IndexFunc(costMetrics, func(m string) bool { return sc.metrics[m] })
		if i < 0 {
			return nil
		}
		sc.cost = costMetrics[i]
		opt.Metric = sc.cost
	}
	obs, err := observe.Run(ctx, sc.store, sc.run.ID, observe.Options{Metric: opt.Metric})
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		sc.cost = ""
		return nil // a run whose regions have no value: the analysis of hot kernels says so
	}
	if metric := cmp.Or(sc.cost, sc.time); metric != "" && !sc.run.inclusive && obs[0].Metric == metric {
		if sc.instance, err = observe.Instance(ctx, sc.store, sc.run.ID, metric); err != nil {
			return err
		}
		if sc.instance != "" {
			sc.cost = metric
		}
	}
	// hot takes times that are finite and not negative; a profile of differences has others.
	obs = slices.DeleteFunc(obs, func(o observe.Observation) bool {
		return o.Value.Valid && (o.Value.V < 0 || math.IsNaN(o.Value.V) || math.IsInf(o.Value.V, 0))
	})
	if sc.hot, err = hot.Of(obs, opt); err != nil {
		if opt.Share < 0 || opt.Share > 1 {
			return err
		}
		sc.hot = hot.Result{}
		return nil
	}
	sc.class = "kind <> 'kernel'"
	if slices.ContainsFunc(sc.hot.Kernels, func(k hot.Kernel) bool { return k.Kind == datasets.KindKernel }) {
		sc.class = "kind = 'kernel'"
	}
	return nil
}

const (
	// leastKernels are looked at even where fewer cover the share that is asked
	// for, as far as each has leastShare of the time.
	leastKernels = 3
	leastShare   = 0.01
)

// hotKernels takes the most expensive kernels; where no cost is known, those
// with the most launches.
func (sc *scope) hotKernels(ctx context.Context) error {
	for i, k := range append(sc.hot.Kernels[:len(sc.hot.Kernels):len(sc.hot.Kernels)], sc.hot.Rest...) {
		// Where one kernel takes nearly all, those after it are still worth a word.
		if i == sc.opt.Kernels || i >= len(sc.hot.Kernels) && (i >= leastKernels || k.Share < leastShare) {
			break
		}
		sc.kernels = append(sc.kernels, sc.fromHot(k))
	}
	if len(sc.kernels) > 0 {
		return sc.launched(ctx)
	}
	sc.class = "kind <> 'kernel'"
	err := sc.store.Each(ctx, func(v []any) {
		sc.kernels = append(sc.kernels, &Kernel{Name: v[0].(string), Kind: v[1].(string), Launches: v[2].(int64)})
	}, fmt.Sprintf(`SELECT g.short, g.kind, count(l.id) AS n FROM region g LEFT JOIN launch l ON l.region_id = g.id WHERE g.run_id = ?
		GROUP BY g.short, g.kind ORDER BY g.kind = 'kernel' DESC, n DESC, g.short LIMIT %d`, sc.opt.Kernels), sc.run.ID)
	if err != nil {
		return err
	}
	return sc.launched(ctx)
}

func (sc *scope) fromHot(k hot.Kernel) *Kernel {
	out := &Kernel{Name: k.Name, Kind: k.Kind, Launches: int64(k.Launches), Unit: sc.hot.Unit}
	if len(k.Evidence) > 0 {
		time, share := k.Time, k.Share
		out.Time, out.Share = &time, &share
	}
	return out
}

// launched finds which kernels' counters are those of launches.
func (sc *scope) launched(ctx context.Context) error {
	for _, k := range sc.kernels {
		n, err := number(ctx, sc.store, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM counter WHERE run_id = %d AND launch_id IS NOT NULL AND region_id IN (%s) LIMIT 1)", sc.run.ID, sc.regions(k)))
		if err != nil {
			return err
		}
		k.launched = n > 0
	}
	return nil
}

// nameKernel takes the kernel that the user named.
func (sc *scope) nameKernel(ctx context.Context) error {
	sc.named = true
	name := sc.opt.Kernel
	type region struct {
		short, kind string
		launches    int64
	}
	var exact []region
	if err := sc.store.Each(ctx, func(v []any) {
		exact = append(exact, region{v[0].(string), v[1].(string), v[2].(int64)})
	}, `SELECT g.short, g.kind, count(l.id) FROM region g LEFT JOIN launch l ON l.region_id = g.id WHERE g.run_id = ? AND g.short IN
		(SELECT short FROM region WHERE run_id = ? AND (short = ? OR raw = ?)) GROUP BY g.short, g.kind ORDER BY g.kind = 'kernel' DESC, 3 DESC, g.short, g.kind`,
		sc.run.ID, sc.run.ID, name, name); err != nil {
		return err
	}
	if len(exact) == 0 {
		var names []string
		if err := sc.store.Each(ctx, func(v []any) { names = append(names, v[0].(string)) },
			"SELECT DISTINCT short FROM region WHERE run_id = ? ORDER BY short LIMIT 50000", sc.run.ID); err != nil {
			return err
		}
		return fmt.Errorf("run %d (%s) has no kernel or region %q%s", sc.run.ID, sc.run.Tool, name, similar(name, names))
	}
	k := &Kernel{Name: exact[0].short, Kind: exact[0].kind, Launches: exact[0].launches}
	for _, ks := range [][]hot.Kernel{sc.hot.Kernels, sc.hot.Rest} {
		for _, h := range ks {
			if h.Name == k.Name && (h.Kind == k.Kind || k.Time == nil) {
				k = sc.fromHot(h)
			}
		}
	}
	sc.kernels = []*Kernel{k}
	return sc.launched(ctx)
}

// similar names what a user may have meant.
func similar(name string, names []string) string {
	if len(names) == 0 {
		return ": it has none at all"
	}
	lower := strings.ToLower(name)
	score := map[string]int{}
	for _, n := range names {
		l := strings.ToLower(n)
		if score[n] = distance(lower, l); strings.Contains(l, lower) || len(l) > 2 && strings.Contains(lower, l) {
			score[n] = 0
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(score[a], score[b]) })
	var near []string
	for _, n := range names[:min(3, len(names))] {
		if score[n] <= max(2, len(name)/3) {
			near = append(near, fmt.Sprintf("%q", n))
		}
	}
	if len(near) == 0 {
		return fmt.Sprintf(`: rooflab query "SELECT DISTINCT short FROM region" lists its %d`, len(names))
	}
	return ": did you mean " + strings.Join(near, " or ") + "?"
}

// distance is Levenshtein's (1966), of texts up to 100 bytes.
func distance(a, b string) int {
	a, b = a[:min(len(a), 100)], b[:min(len(b), 100)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
