// Package observe reads what was measured of kernels and regions out of a
// store, one number with the row that it came from: what analyses over
// repeats, runs and sizes work on and cite as evidence.
//
// In flow runs of a store, out flow Observations: the time (or another metric)
// of each launch, or of each region where the tool has no launches. Time is
// exclusive: where a tool's times contain those of the regions below, the
// difference is taken (see datasets.Store.Tree), region by region.
package observe

import (
	"context"
	"fmt"
	"slices"

	"github.com/rooflab/rooflab/datasets"
)

// Row names a row of a store: the evidence for a number. It is a counter's,
// or, with the metric "dur_ns", a launch's own duration.
type Row struct {
	Run, Region int64
	Launch      int64 // 0: the region as a whole
	Metric      string
}

// String is the row as text to cite.
func (r Row) String() string {
	if r.Launch == 0 {
		return fmt.Sprintf("run %d region %d %s", r.Run, r.Region, r.Metric)
	}
	return fmt.Sprintf("run %d region %d launch %d %s", r.Run, r.Region, r.Launch, r.Metric)
}

// Duration is the metric of a Row whose value is the launch's duration.
const Duration = "dur_ns"

// Observation is one number of one kernel.
type Observation struct {
	Row
	Kernel   string // short name
	Kind     string
	Sequence datasets.Null[int64]
	Rank     datasets.Null[int64]
	Value    datasets.Null[float64] // SI; for a time exclusive
	Unit     string
	Launches int // how many launches the value stands for; 1 for a launch, 0 where the tool does not count them
}

// Options say what to read.
type Options struct {
	// Metric is a counter; "" is the time: the run's own time metric, or the
	// durations of launches where it has none.
	Metric string
	// Kinds are the kinds of regions. None: kernels where the run has any with a
	// value, else everything else. Times of kernels (on a device) and of functions
	// (on the host) pass side by side and are not to be added.
	Kinds []string
}

// Run reads one run. It is an error where the run has no such number.
func Run(ctx context.Context, s *datasets.Store, run int64, opt Options) ([]Observation, error) {
	obs, err := read(ctx, s, run, opt)
	if err != nil {
		return nil, fmt.Errorf("reading the measurements of run %d: %w", run, err)
	}
	return obs, nil
}

// Runs reads several runs, in their order.
func Runs(ctx context.Context, s *datasets.Store, runs []int64, opt Options) ([]Observation, error) {
	var out []Observation
	for _, r := range runs {
		obs, err := Run(ctx, s, r, opt)
		if err != nil {
			return nil, err
		}
		out = append(out, obs...)
	}
	return out, nil
}

func read(ctx context.Context, s *datasets.Store, run int64, opt Options) ([]Observation, error) {
	metric, inclusive, found := opt.Metric, false, false
	err := s.Each(ctx, func(v []any) {
		found = true
		if named, _ := v[0].(string); metric == "" || metric == named {
			metric = named
			inclusive, _ = v[1].(bool)
		}
	}, `SELECT time_metric, time_inclusive FROM run WHERE id = ?`, run)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf(`the store has no such run: Query "SELECT id, tool FROM run" lists them`)
	}
	var obs []Observation
	switch {
	case metric == "" || metric == Duration:
		obs, err = durations(ctx, s, run)
		if err == nil {
			obs, err = exclusive(ctx, s, run, obs)
		}
	case inclusive:
		obs, err = tree(ctx, s, run, metric)
	default:
		obs, err = counters(ctx, s, run, metric, "")
		if err == nil && opt.Metric == "" && !slices.ContainsFunc(obs, has) {
			obs, err = durations(ctx, s, run)
		}
		if err == nil && !slices.ContainsFunc(obs, has) {
			obs, err = ofInstance(ctx, s, run, metric)
		}
	}
	if err != nil {
		return nil, err
	}
	obs = ofKinds(obs, opt.Kinds)
	if !slices.ContainsFunc(obs, has) {
		what := "time"
		if metric != "" {
			what = fmt.Sprintf("value of %q", metric)
		}
		return nil, fmt.Errorf(`no region has a %s: Query "SELECT DISTINCT metric FROM counter WHERE run_id = %d" lists what there is`, what, run)
	}
	return obs, nil
}

func has(o Observation) bool { return o.Value.Valid }

func ofKinds(obs []Observation, kinds []string) []Observation {
	keep := func(o Observation) bool { return slices.Contains(kinds, o.Kind) }
	if len(kinds) == 0 {
		kernels := slices.ContainsFunc(obs, func(o Observation) bool { return o.Kind == datasets.KindKernel && o.Value.Valid })
		keep = func(o Observation) bool { return (o.Kind == datasets.KindKernel) == kernels }
	}
	return slices.DeleteFunc(obs, func(o Observation) bool { return !keep(o) })
}

// Instance is the instance of a metric that stands for the whole: "" where the
// tool writes values of the whole (or several instances, of which none does),
// else the only one that there is. perf script counts the samples of an event so.
func Instance(ctx context.Context, s *datasets.Store, run int64, metric string) (string, error) {
	whole, instances := false, []string{}
	err := s.Each(ctx, func(v []any) {
		name, ok := v[0].(string)
		if whole = whole || !ok; ok {
			instances = append(instances, name)
		}
	}, `SELECT DISTINCT instance FROM counter WHERE run_id = ? AND metric = ? AND value IS NOT NULL ORDER BY 1 NULLS FIRST LIMIT 2`, run, metric)
	if err != nil || whole || len(instances) != 1 {
		return "", err
	}
	return instances[0], nil
}

// ofInstance reads the values of the instance that stands for the whole.
func ofInstance(ctx context.Context, s *datasets.Store, run int64, metric string) ([]Observation, error) {
	instance, err := Instance(ctx, s, run, metric)
	if err != nil || instance == "" {
		return nil, err
	}
	return counters(ctx, s, run, metric, instance)
}

// counters reads values of launches, or those of a region as a whole, which
// come first where a tool writes both.
func counters(ctx context.Context, s *datasets.Store, run int64, metric, instance string) ([]Observation, error) {
	of, args := "IS NULL", []any{run, run, metric}
	if instance != "" {
		of, args = "= ?", append(args, instance)
	}
	var obs []Observation
	whole, launched := map[int64]bool{}, map[int64]bool{}
	err := s.Each(ctx, func(v []any) {
		o := Observation{Row: Row{run, integer(v[0]).V, integer(v[1]).V, metric}, Kind: text(v[2]), Kernel: text(v[3]),
			Sequence: integer(v[4]), Rank: integer(v[5]), Unit: text(v[7]), Launches: 1}
		o.Value.V, o.Value.Valid = v[6].(float64)
		if o.Launch == 0 {
			o.Launches = int(integer(v[8]).V)
			whole[o.Region] = whole[o.Region] || o.Value.Valid
		} else {
			launched[o.Region] = true
		}
		obs = append(obs, o)
	}, `WITH n AS (SELECT region_id, count(*) AS n FROM launch WHERE run_id = ? GROUP BY region_id)
		SELECT c.region_id, c.launch_id, g.kind, g.short, l.sequence, l.rank, c.value, c.unit, n.n
		FROM counter c JOIN region g ON g.id = c.region_id LEFT JOIN launch l ON l.id = c.launch_id LEFT JOIN n ON n.region_id = g.id
		WHERE c.run_id = ? AND c.metric = ? AND c.instance `+of+` ORDER BY l.sequence NULLS LAST, c.region_id, c.launch_id NULLS FIRST`, args...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(obs, func(o Observation) bool {
		return o.Launch != 0 && whole[o.Region] || o.Launch == 0 && !o.Value.Valid && launched[o.Region]
	}), nil
}

func durations(ctx context.Context, s *datasets.Store, run int64) ([]Observation, error) {
	var obs []Observation
	err := s.Each(ctx, func(v []any) {
		o := Observation{Row: Row{run, integer(v[0]).V, integer(v[1]).V, Duration}, Kind: text(v[2]), Kernel: text(v[3]),
			Sequence: integer(v[4]), Rank: integer(v[5]), Unit: "s", Launches: 1}
		if d := integer(v[6]); d.Valid {
			o.Value = datasets.Some(float64(d.V) / 1e9)
		}
		obs = append(obs, o)
	}, `SELECT g.id, l.id, g.kind, g.short, l.sequence, l.rank, l.dur_ns FROM launch l JOIN region g ON g.id = l.region_id
		WHERE l.run_id = ? ORDER BY l.sequence NULLS LAST, l.id`, run)
	return obs, err
}

// exclusive takes the durations of what ran below out of those of ranges and
// functions that contain others, which then are numbers of regions. Kernels
// are no part of the host's time.
func exclusive(ctx context.Context, s *datasets.Store, run int64, obs []Observation) ([]Observation, error) {
	sum, below := map[int64]float64{}, map[int64]float64{}
	nested := map[int64]bool{}
	for _, o := range obs {
		if o.Kind != datasets.KindKernel {
			sum[o.Region] += o.Value.V
		}
	}
	err := s.Each(ctx, func(v []any) {
		id, parent := integer(v[0]).V, integer(v[1]).V
		if _, ok := sum[parent]; ok {
			if t, ok := sum[id]; ok {
				below[parent] += t
				nested[parent] = true
			}
		}
	}, `SELECT id, parent_id FROM region WHERE run_id = ? AND parent_id IS NOT NULL`, run)
	if err != nil || len(nested) == 0 {
		return obs, err
	}
	var out []Observation
	at := map[int64]int{}
	for _, o := range obs {
		if !nested[o.Region] {
			out = append(out, o)
			continue
		}
		i, ok := at[o.Region]
		if !ok {
			i = len(out)
			at[o.Region] = i
			o.Launch, o.Launches, o.Sequence, o.Rank = 0, 0, datasets.Null[int64]{}, datasets.Null[int64]{}
			o.Value = datasets.Some(max(0, sum[o.Region]-below[o.Region]))
			out = append(out, o)
		}
		out[i].Launches++
	}
	return out, nil
}

// tree reads exclusive times of a tool whose times are inclusive. Regions with
// others below get one number; those without keep that of each launch.
func tree(ctx context.Context, s *datasets.Store, run int64, metric string) ([]Observation, error) {
	df, err := s.Tree(ctx, run, metric)
	if err != nil {
		return nil, err
	}
	single, err := counters(ctx, s, run, metric, "")
	if err != nil {
		return nil, err
	}
	parents := map[int64]bool{}
	parent := df.Col("parent_id")
	for i := range df.Nrow() {
		if p, err := parent.Elem(i).Int(); err == nil {
			parents[int64(p)] = true
		}
	}
	launches := map[int64][]Observation{}
	for _, o := range single {
		if o.Launch != 0 && !parents[o.Region] {
			launches[o.Region] = append(launches[o.Region], o)
		}
	}
	id, kernel, kind := df.Col("region_id"), df.Col("kernel"), df.Col("kind")
	count, value, unit := df.Col("count"), df.Col("exclusive"), df.Col("unit")
	var obs []Observation
	for i := range df.Nrow() {
		if value.Elem(i).IsNA() {
			continue
		}
		region, err := id.Elem(i).Int()
		if err != nil {
			return nil, err
		}
		n, err := count.Elem(i).Int()
		if err != nil {
			return nil, err
		}
		if of := launches[int64(region)]; of != nil {
			obs = append(obs, of...)
			continue
		}
		// What ran below on other threads may take longer than the region itself.
		v := max(0, value.Elem(i).Float())
		of := ""
		if !unit.Elem(i).IsNA() {
			of = unit.Elem(i).String()
		}
		obs = append(obs, Observation{Row: Row{run, int64(region), 0, metric}, Kernel: kernel.Elem(i).String(), Kind: kind.Elem(i).String(),
			Value: datasets.Some(v), Unit: of, Launches: n})
	}
	return obs, nil
}

func integer(v any) datasets.Null[int64] {
	n, ok := v.(int64)
	return datasets.Null[int64]{V: n, Valid: ok}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
