package baselines

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/devices"
	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/predict/compare"
	"github.com/rooflab/rooflab/modeling/roofline"
)

var (
	geometry = []string{"block x", "block y", "block z", "grid x", "grid y", "grid z", "threads per block", "blocks", "threads"}
	counted  = []string{"flop fp32", "flop fp64", "integer operations", "dram bytes", "flop fp32 per byte", "flop fp64 per byte", "integer operations per byte"}
)

// flopbench holds the predictors against each other on gpuFLOPBench's table.
func flopbench(ctx context.Context, o evaluation.Options) ([]evaluation.Result, error) {
	dir, err := o.Data("gpuflopbench")
	if err != nil {
		return nil, err
	}
	var e *predict.Examples
	var left int
	err = datasets.Temporary(func(store *datasets.Store) error {
		if _, err := o.Import(ctx, store, filepath.Join(dir, "profiling-data.csv")); err != nil {
			return err
		}
		e, left, err = flopbenchExamples(ctx, store)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading data set gpuflopbench: %w", err)
	}
	gpu, err := devices.Find("NVIDIA GeForce RTX 3080")
	if err != nil {
		return nil, err
	}
	limits, err := analytical.FromCeilings(roofline.Of(gpu),
		map[roofline.Precision]string{roofline.FP32: "flop fp32", roofline.FP64: "flop fp64", roofline.Int: "integer operations"},
		map[roofline.Level]string{roofline.DRAM: "dram bytes"})
	if err != nil {
		return nil, err
	}
	interval := func(l predict.Learner) predict.Fitter { return predict.Conformal{Learner: l} }
	median := compare.Entry{Name: "median", Fitter: interval(baseline.MedianLearner{})}
	var out []evaluation.Result
	for _, study := range []struct {
		what     string
		entries  []compare.Entry
		baseline string
	}{
		{"launch geometry", append([]compare.Entry{median}, statistical(interval, ", launch geometry", geometry)...), "median"},
		{"counted work", append(rooflines(interval, limits, e.Features), statistical(interval, ", geometry and counted work", e.Features)...), rooflineFitted},
	} {
		c, err := compare.Run(ctx, e, study.entries, compare.Options{Axis: split.ByProgram, Seed: o.Seed, Baseline: study.baseline, Resamples: resamples,
			Progress: func(what string, done, total int) { o.Progress(what, done, total) }})
		if err != nil {
			return nil, err
		}
		rs, err := c.Results()
		if err != nil {
			return nil, err
		}
		out = append(out, rs...)
	}
	if left > 0 {
		for i := range out {
			out[i].Split += fmt.Sprintf("; %d launches without integer operations are left out, since their bytes are not known without their time", left)
		}
	}
	return out, nil
}

// flopbenchExamples reads the table. The work is counted: amounts are taken
// from the number of integer operations and from intensities, of which neither
// holds a time; the table's rates and its traffic, which is bytes per second,
// are left out. Programs are one group in CUDA and in OpenMP.
func flopbenchExamples(ctx context.Context, store *datasets.Store) (e *predict.Examples, left int, err error) {
	ms, err := store.Measurements(ctx, datasets.Filter{})
	if err != nil {
		return nil, 0, err
	}
	programs, err := split.Keys(ctx, store, ms, split.ByProgram)
	if err != nil {
		return nil, 0, err
	}
	e = &predict.Examples{Target: "time", Unit: "s", Features: append(append([]string{}, geometry...), counted...)}
	value := func(m *datasets.Measurement, metric string) float64 {
		if v := m.Value(metric); v.Valid {
			return v.V
		}
		return math.NaN()
	}
	for i := range ms {
		m := &ms[i]
		ops, intensity := value(m, "intops"), value(m, "intAI")
		if !(ops > 0) || !(intensity > 0) || !m.DurNs.Valid {
			left++
			continue
		}
		var row []float64
		threads, blocks := 1.0, 1.0
		for k := range 3 {
			row = append(row, float(nullable(m.Block[k])))
			threads *= row[k]
		}
		for k := range 3 {
			row = append(row, float(nullable(m.Grid[k])))
			blocks *= row[3+k]
		}
		bytes := ops / intensity
		sp, dp := value(m, "spAI"), value(m, "dpAI")
		row = append(row, threads, blocks, threads*blocks, sp*bytes, dp*bytes, ops, bytes, sp, dp, intensity)
		program := strings.TrimSuffix(strings.TrimSuffix(programs[i], "-cuda"), "-omp")
		e.X, e.Y, e.Groups = append(e.X, row), append(e.Y, float64(m.DurNs.V)*1e-9), append(e.Groups, program)
	}
	return e, left, nil
}

func nullable(v datasets.Null[int64]) any {
	if !v.Valid {
		return nil
	}
	return v.V
}
