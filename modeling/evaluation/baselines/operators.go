package baselines

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/devices"
	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/predict/compare"
)

var operatorFiles = []string{"bmm.csv", "linear.csv", "ln.csv", "softmax.csv"}

// operators holds the predictors against each other on NeuSight's table, each
// GPU being new once.
func operators(ctx context.Context, o evaluation.Options) ([]evaluation.Result, error) {
	dir, err := o.Data("neusight")
	if err != nil {
		return nil, err
	}
	var e *predict.Examples
	err = datasets.Temporary(func(store *datasets.Store) error {
		for _, f := range operatorFiles {
			if _, err := o.Import(ctx, store, filepath.Join(dir, f)); err != nil {
				return err
			}
		}
		e, err = operatorExamples(ctx, store)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading data set neusight: %w", err)
	}
	// One GPU is asked about and seven are learnt from: too few for intervals.
	interval := func(l predict.Learner) predict.Fitter { return predict.Conformal{Learner: l, Fraction: -1} }
	limits := []analytical.Limit{
		{Name: "FP32", Work: "flop", Peak: "peak fp32", From: "the device's data sheet"},
		{Name: "DRAM", Work: "bytes", Peak: "peak dram", From: "the device's data sheet"},
	}
	entries := append(rooflines(interval, limits, e.Features), statistical(interval, "", e.Features)...)
	entries = append(entries, compare.Entry{Name: "median", Fitter: interval(baseline.MedianLearner{})})
	c, err := compare.Run(ctx, e, entries, compare.Options{Axis: split.ByMachine, Folds: -1, Seed: o.Seed, Baseline: rooflineFitted, Resamples: resamples,
		Progress: func(what string, done, total int) { o.Progress(what, done, total) }})
	if err != nil {
		return nil, err
	}
	return c.Results()
}

// operatorExamples reads operators with their sizes and their device. A
// product of matrices, M x K by K x N and B of them, takes 2 B M N K flop, and
// moves each matrix once, 4 bytes a number; layer norm and softmax read and
// write B x H numbers. How many flop these two take is not told, so it is
// unknown. The kernels and grids of the table are not used: on a new GPU nobody
// knows which the library will choose.
func operatorExamples(ctx context.Context, store *datasets.Store) (*predict.Examples, error) {
	e := &predict.Examples{Target: "time", Unit: "s", Features: []string{
		"bmm", "linear", "layer norm", "softmax", "B", "M", "N", "K", "H", "flop", "bytes",
		"peak fp32", "peak dram", "multiprocessors", "L2 bytes", "flop per peak", "bytes per peak"}}
	known := map[string][]float64{}
	err := rows(ctx, store, `SELECT m.gpu, op.short, l.dur_ns, s.b, s.m, s.n, s.k, s.h
		FROM launch l JOIN run u ON u.id = l.run_id JOIN machine m ON m.id = u.machine_id
		JOIN region r ON r.id = l.region_id JOIN region op ON op.id = r.parent_id
		JOIN (SELECT launch_id,
			max(CASE WHEN name = 'B' THEN CAST(value AS DOUBLE) END) AS b, max(CASE WHEN name = 'M' THEN CAST(value AS DOUBLE) END) AS m,
			max(CASE WHEN name = 'N' THEN CAST(value AS DOUBLE) END) AS n, max(CASE WHEN name = 'K' THEN CAST(value AS DOUBLE) END) AS k,
			max(CASE WHEN name = 'H' THEN CAST(value AS DOUBLE) END) AS h
			FROM attribute WHERE launch_id IS NOT NULL AND name IN ('B', 'M', 'N', 'K', 'H') GROUP BY launch_id) s ON s.launch_id = l.id
		WHERE l.dur_ns > 0 ORDER BY l.id`, func(v []any) error {
		name, _ := v[0].(string)
		op, _ := v[1].(string)
		if known[name] == nil {
			facts, err := sheet(name)
			if err != nil {
				return err
			}
			known[name] = facts
		}
		b, m, n, k, h := float(v[3]), float(v[4]), float(v[5]), float(v[6]), float(v[7])
		flop, bytes := 2*b*m*n*k, 4*b*(m*k+k*n+m*n)
		row := []float64{0, 0, 0, 0, b, m, n, k, h}
		at := slices.Index([]string{"bmm", "linear", "ln", "softmax"}, op)
		switch at {
		case -1:
			return fmt.Errorf("the operator %q is none of bmm, linear, ln and softmax", op)
		case 2, 3:
			flop, bytes = math.NaN(), 8*b*h
		}
		row[at] = 1
		d := known[name]
		row = append(row, flop, bytes, d[0], d[1], d[2], d[3], flop/d[0], bytes/d[1])
		e.X, e.Y, e.Groups = append(e.X, row), append(e.Y, float(v[2])*1e-9), append(e.Groups, name)
		return nil
	})
	return e, err
}

// sheet is what the table of devices says of a GPU: peaks in flop/s and byte/s,
// multiprocessors, bytes of L2, NaN where it does not.
func sheet(name string) ([]float64, error) {
	d, err := devices.Find(name)
	if err != nil {
		return nil, err
	}
	flop, okFlop := d.Peak(devices.FP32)
	bytes, okBytes := d.Bandwidth(devices.DRAM)
	if !okFlop || !okBytes {
		return nil, fmt.Errorf("the table of devices does not know the peaks of %s", name)
	}
	l2 := math.NaN()
	if d.L2Bytes.Valid {
		l2 = float64(d.L2Bytes.V)
	}
	return []float64{flop.Value, bytes.Value, float64(d.Units), l2}, nil
}
