package scaling

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-gota/gota/dataframe"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/observe"
)

// Series is one kernel over its parameters: what Fit takes.
type Series struct {
	Kernel string
	Unit   string
	Points []Point
}

// String is the series as a line of text: how much was measured, and where.
func (s Series) String() string {
	places := make([][]float64, len(s.Points))
	values := 0
	for i, p := range s.Points {
		places[i] = p.At
		values += len(p.Values)
	}
	slices.SortFunc(places, slices.Compare[[]float64])
	places = slices.CompactFunc(places, slices.Equal[[]float64])
	if len(places) == 0 {
		return s.Kernel + ": no values"
	}
	return fmt.Sprintf("%s: values %d, at %d places from %v to %v", s.Kernel, values, len(places), places[0], places[len(places)-1])
}

// Source says what to read from a store.
type Source struct {
	// Parameters name attributes of runs (Caliper's "jobsize", "problem_size")
	// or of launches ("param.n"); "$1" is the first argument of the run's command.
	Parameters []string
	Runs       []int64 // none: all of the store
	Tool       string  // "" is any; else only runs of this tool
	Metric     string  // as observe.Options has it
	Kinds      []string
	// PerLaunch takes each launch as a repeat. Else a run's value is the sum over
	// the kernel's launches, ranks and places of call in it; where a parameter is
	// an attribute of launches, it is always each launch.
	PerLaunch bool
	// Where keeps rows by attributes of the run or the launch: name to value.
	Where map[string]string
}

// FromStore reads kernels with their points, by name. Runs (and launches) that
// lack a parameter, or where it is no number, or that have no value, are left
// out; it is an error when nothing remains.
func FromStore(ctx context.Context, s *datasets.Store, src Source) ([]Series, error) {
	fail := func(err error) ([]Series, error) { return nil, fmt.Errorf("reading points from %s: %w", s.Path(), err) }
	if len(src.Parameters) == 0 {
		return fail(fmt.Errorf(`no parameter is named: Query "SELECT DISTINCT name FROM attribute" lists attributes`))
	}
	facts, runs, err := attributes(ctx, s, src)
	if err != nil {
		return fail(err)
	}
	type key struct {
		kernel, unit string
	}
	points := map[key][]Point{}
	var trouble error
	for _, run := range runs {
		obs, err := observe.Run(ctx, s, run, observe.Options{Metric: src.Metric, Kinds: src.Kinds})
		if err != nil {
			trouble = cmp.Or(trouble, err)
			continue
		}
		sums := map[key]*Point{}
		for _, o := range obs {
			at, launch, ok := facts.at(src, run, o.Launch)
			if !ok || !o.Value.Valid {
				continue
			}
			k := key{o.Kernel, o.Unit}
			if src.PerLaunch || launch {
				points[k] = append(points[k], Point{At: at, Values: []float64{o.Value.V}, Evidence: []observe.Row{o.Row}})
				continue
			}
			if sums[k] == nil {
				sums[k] = &Point{At: at, Values: []float64{0}}
			}
			sums[k].Values[0] += o.Value.V
			sums[k].Evidence = append(sums[k].Evidence, o.Row)
		}
		for k, p := range sums {
			points[k] = append(points[k], *p)
		}
	}
	if len(points) == 0 {
		if trouble != nil {
			return fail(trouble)
		}
		return fail(fmt.Errorf(`no run has the parameters %v as numbers: Query "SELECT DISTINCT name FROM attribute" lists attributes`, src.Parameters))
	}
	var out []Series
	for k, ps := range points {
		out = append(out, Series{Kernel: k.kernel, Unit: k.unit, Points: ps})
	}
	slices.SortFunc(out, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Unit, b.Unit))
	})
	return out, nil
}

// owner is a run, or a launch of it.
type owner struct{ run, launch int64 }

type factsOf map[owner]map[string]string

// get looks at the launch first.
func (f factsOf) get(run, launch int64, name string) (v string, ofLaunch, ok bool) {
	if launch != 0 {
		if v, ok := f[owner{run, launch}][name]; ok {
			return v, true, true
		}
	}
	v, ok = f[owner{run, 0}][name]
	return v, false, ok
}

func (f factsOf) at(src Source, run, launch int64) (at []float64, ofLaunch, ok bool) {
	for name, want := range src.Where {
		if v, _, ok := f.get(run, launch, name); !ok || v != want {
			return nil, false, false
		}
	}
	for _, name := range src.Parameters {
		text, l, ok := f.get(run, launch, name)
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if !ok || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false, false
		}
		at, ofLaunch = append(at, v), ofLaunch || l
	}
	return at, ofLaunch, true
}

// attributes reads the parameters and conditions of runs and launches, and the
// runs in order.
func attributes(ctx context.Context, s *datasets.Store, src Source) (factsOf, []int64, error) {
	facts := factsOf{}
	put := func(o owner, name, value string) {
		if facts[o] == nil {
			facts[o] = map[string]string{}
		}
		facts[o][name] = value
	}
	var runs []int64
	rows, err := s.Rows(ctx, `SELECT id, tool, command FROM run ORDER BY id`)
	if err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		v := rows.Values()
		id, _ := v[0].(int64)
		tool, _ := v[1].(string)
		command, _ := v[2].(string)
		if src.Tool != "" && tool != src.Tool || len(src.Runs) > 0 && !slices.Contains(src.Runs, id) {
			continue
		}
		runs = append(runs, id)
		for i, word := range strings.Fields(command) {
			put(owner{id, 0}, fmt.Sprintf("$%d", i), word)
		}
	}
	err = rows.Err()
	rows.Close()
	if err != nil {
		return nil, nil, err
	}
	names := slices.Clone(src.Parameters)
	for n := range src.Where {
		names = append(names, n)
	}
	args := make([]any, len(names))
	for i, n := range names {
		args[i] = n
	}
	rows, err = s.Rows(ctx, `SELECT run_id, launch_id, name, value FROM attribute WHERE (region_id IS NULL OR launch_id IS NOT NULL)
		AND name IN (?`+strings.Repeat(", ?", len(names)-1)+`)`, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v := rows.Values()
		run, _ := v[0].(int64)
		launch, _ := v[1].(int64)
		name, _ := v[2].(string)
		value, _ := v[3].(string)
		put(owner{run, launch}, name, value)
	}
	return facts, runs, rows.Err()
}

// FromFrame takes points out of a dataframe, one row a measurement: the column
// of kernels ("" where there is one only), that of values, and those of
// parameters. Rows with NA are left out.
func FromFrame(df dataframe.DataFrame, kernel, value string, parameters ...string) ([]Series, error) {
	if df.Err != nil {
		return nil, fmt.Errorf("taking points from a dataframe: %w", df.Err)
	}
	have := df.Names()
	for _, n := range append([]string{kernel, value}, parameters...) {
		if n != "" && !slices.Contains(have, n) || n == "" && kernel != "" {
			return nil, fmt.Errorf("taking points from a dataframe: it has no column %q, but %v", n, have)
		}
	}
	columns := make([][]float64, len(parameters))
	for i, p := range parameters {
		columns[i] = df.Col(p).Float()
	}
	values := df.Col(value).Float()
	names := make([]string, df.Nrow())
	if kernel != "" {
		names = df.Col(kernel).Records()
	}
	points := map[string][]Point{}
	for i, v := range values {
		at := make([]float64, len(columns))
		known := !math.IsNaN(v)
		for j, c := range columns {
			at[j] = c[i]
			known = known && !math.IsNaN(c[i])
		}
		if known {
			points[names[i]] = append(points[names[i]], Point{At: at, Values: []float64{v}})
		}
	}
	var out []Series
	for n, ps := range points {
		out = append(out, Series{Kernel: n, Points: ps})
	}
	slices.SortFunc(out, func(a, b Series) int { return cmp.Compare(a.Kernel, b.Kernel) })
	return out, nil
}

// FitAll fits each kernel. Those that are refused come back as errors, by
// kernel; Name and Unit of the options are the kernels' own.
func FitAll(ss []Series, opt Options) ([]*Model, []error) {
	var models []*Model
	var refused []error
	for _, s := range ss {
		o := opt
		o.Name, o.Unit = s.Kernel, cmp.Or(s.Unit, opt.Unit)
		m, err := Fit(s.Points, o)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		models = append(models, m)
	}
	return models, refused
}
