package llmperfgpuflopbench

import (
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/devices"
	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/predict/compare"
	"github.com/rooflab/rooflab/modeling/roofline"
	"github.com/rooflab/rooflab/modeling/score"
)

// study is predictors that are shown the same.
type study struct {
	name string
	// everything fits on launches without a source as well.
	everything bool
	entries    []compare.Entry
	ours       string // the entry that is held against each of baselines
	baselines  []string
}

// limits are the device's, on work by the source and on counted work.
type limits struct{ source, counted []analytical.Limit }

func rooflines() (l limits, err error) {
	gpu, err := devices.Find("NVIDIA GeForce RTX 3080")
	if err != nil {
		return l, err
	}
	c := roofline.Of(gpu)
	if l.source, err = analytical.FromCeilings(c,
		map[roofline.Precision]string{roofline.FP32: "flop fp32", roofline.FP64: "flop fp64", roofline.Int: "integer operations"},
		map[roofline.Level]string{roofline.DRAM: "bytes asked"}); err != nil {
		return l, err
	}
	l.counted, err = analytical.FromCeilings(c,
		map[roofline.Precision]string{roofline.FP32: "counted flop fp32", roofline.FP64: "counted flop fp64", roofline.Int: "counted integer operations"},
		map[roofline.Level]string{roofline.DRAM: "counted dram bytes"})
	return l, err
}

// trees are small and many, each on a part of kernels and features: there are
// hundreds of kernels only.
func trees(features float64) boost.Learner {
	return boost.Learner{Trees: 200, Rate: 0.08, Leaves: 12, MinRows: 8, Bins: 64, Groups: 0.8, Features: features, Held: -1}
}

// relative corrects what trees leave, in the metric that counts.
func relative(features float64, leaves int) boost.Learner {
	return boost.Learner{Loss: boost.Relative, Trees: 150, Rate: 0.1, Leaves: leaves, MinRows: 40, Bins: 64, Groups: 0.8, Features: features, Held: -1}
}

// stacked is base, and trees with the relative loss of what it leaves on kernels
// that it did not see.
func stacked(base predict.Learner, rest boost.Learner) predict.Learner {
	return baseline.Correction{Base: base, Learner: rest, Folds: 5, Shown: "logarithm of the base's time"}
}

// studies are what is asked on each split; ablations on kernels that are new.
func (t *table) studies(ls limits, axis split.Axis) []study {
	plain := func(l predict.Learner) predict.Fitter { return predict.Conformal{Learner: l, Fraction: -1} }
	known := []string{shape, command, tokens, work, estimate}
	// Of the source there are hundreds of features, and the time can be off by
	// decades: few of them are shown to a tree, and corrections are coarse. A
	// roofline below the trees does not help there.
	bySource := func() predict.Learner { return stacked(trees(0.3), relative(0.3, 3)) }
	byWork := func(features float64) predict.Learner {
		return stacked(baseline.Correction{Base: analytical.Learner{Limits: ls.counted, Mode: analytical.Fitted}, Learner: trees(features)}, relative(features, 6))
	}
	of := func(what string, everything bool, ls []analytical.Limit, part float64, features []string, ours predict.Learner, oursName string) study {
		s := study{name: what, everything: everything, ours: oursName + ", " + what}
		roof := analytical.Learner{Limits: ls, Mode: analytical.Fitted}
		for _, b := range []struct {
			name    string
			learner predict.Learner
		}{
			{"median", baseline.MedianLearner{}},
			{"ridge", baseline.RidgeLearner{}},
			{"neighbours", baseline.NeighboursLearner{}},
			{"roofline, efficiencies fitted", roof},
			{"boosted trees", trees(part)},
			{"roofline, then boosted trees", baseline.Correction{Base: roof, Learner: trees(part)}},
		} {
			name := b.name + ", " + what
			s.entries = append(s.entries, compare.Entry{Name: name, Fitter: plain(b.learner), Features: features})
			s.baselines = append(s.baselines, name)
		}
		s.entries = append(s.entries, compare.Entry{Name: s.ours, Fitter: plain(ours), Features: features})
		return s
	}
	source := of("source", false, ls.source, 0.3, t.features(known...), bySource(), "boosted trees, relative loss")
	count := of("counted work", true, ls.counted, 0.6, t.features(shape, counted), byWork(0.6), "roofline, boosted trees, relative loss")
	count.entries = append(count.entries, compare.Entry{Name: "ablation: counted work and source", Fitter: plain(byWork(0.3)), Features: t.features(append(known, counted)...)})
	if axis == split.ByKernel {
		for _, a := range []struct {
			name string
			left []string
		}{
			{"source without its tokens", []string{tokens}},
			{"source without kernelcost", []string{work, estimate}},
			{"source without the launch's shape", []string{shape}},
			{"source without the command line", []string{command}},
			{"shape and command line, no source", []string{tokens, work, estimate}},
		} {
			groups := slices.DeleteFunc(slices.Clone(known), func(g string) bool { return slices.Contains(a.left, g) })
			source.entries = append(source.entries, compare.Entry{Name: "ablation: " + a.name, Fitter: plain(bySource()), Features: t.features(groups...)})
		}
	}
	return []study{source, count}
}

// scored are the rows of a comparison that count.
type scored struct {
	t     *table
	use   []int    // the launch of each row
	asked []int    // rows
	keys  []string // of all rows: what the split keeps together
}

// results are the figures on the rows that are asked.
func (s study) results(c *compare.Comparison, on scored, seed uint64) ([]evaluation.Result, error) {
	var out []evaluation.Result
	asked := on.asked
	told := fmt.Sprintf("%s; scored: %d launches of kernels with a source", c.Split, len(asked))
	measured, keys := pick(c.Measured, asked), pick(on.keys, asked)
	var kernels []string
	for _, r := range asked {
		kernels = append(kernels, on.t.launches[on.use[r]].Group)
	}
	predicted := map[string][]float64{}
	for _, entry := range c.Entries {
		for _, r := range asked {
			predicted[entry.Name] = append(predicted[entry.Name], entry.Predictions[r].Value)
		}
	}
	figure := func(m metric, names ...string) (score.Interval, error) {
		return score.Bootstrap(keys, func(rows []int) float64 {
			v := m.of(pick(measured, rows), pick(predicted[names[0]], rows), pick(kernels, rows))
			if len(names) > 1 {
				v -= m.of(pick(measured, rows), pick(predicted[names[1]], rows), pick(kernels, rows))
			}
			return v
		}, score.Resampling{Resamples: resamples, Seed: seed})
	}
	part := map[string][]int{} // rows of asked
	for i, r := range asked {
		p := dataDecides
		if on.t.assumed[on.use[r]] <= sure {
			p = sourceDecides
		}
		part[p] = append(part[p], i)
	}
	for _, entry := range c.Entries {
		note := fmt.Sprintf("%s: %s (first fold)", entry.Name, entry.Described[0].Detail)
		against := []string{""}
		switch {
		case entry.Name == s.ours:
			against = s.baselines
		case !slices.Contains(s.baselines, entry.Name):
			against = []string{s.ours}
		}
		for _, m := range metrics {
			v, err := figure(m, entry.Name)
			if err != nil {
				return nil, err
			}
			for _, b := range against {
				r := evaluation.Result{Name: entry.Name, Metric: m.name, Value: v.Value, Low: v.Low, High: v.High, Baseline: b, BaselineValue: math.NaN(), Split: told, N: len(asked), Note: note}
				if b != "" {
					r.BaselineValue = m.of(measured, predicted[b], kernels)
				}
				out = append(out, r)
			}
		}
		for _, b := range against {
			if b == "" {
				continue
			}
			d, err := figure(metrics[0], entry.Name, b)
			if err != nil {
				return nil, err
			}
			out = append(out, evaluation.Result{Name: entry.Name, Metric: "MAPE less the baseline's (paired difference)", Value: d.Value, Low: d.Low, High: d.High, Baseline: b, BaselineValue: 0, Split: told, N: len(asked), Note: note})
		}
		if entry.Name != s.ours {
			continue
		}
		for _, p := range []string{sourceDecides, dataDecides} {
			if len(part[p]) == 0 {
				continue
			}
			y, x, k, g := pick(measured, part[p]), pick(predicted[entry.Name], part[p]), pick(kernels, part[p]), pick(keys, part[p])
			rs, err := figures(entry.Name+": "+p, y, x, k, g, seed)
			if err != nil {
				return nil, err
			}
			for i := range rs {
				rs[i].Split, rs[i].Note = c.Split+"; of these", fmt.Sprintf("by kernelcost's estimate at most %g of the launch's operations and accesses rest on what only arguments and data could tell, or more", sure)
			}
			out = append(out, rs...)
		}
	}
	return out, nil
}

// sure is the share of a launch's work up to which assumptions are said not to
// decide it.
const sure = 0.01

const (
	sourceDecides = "launches whose work the source and the shape decide"
	dataDecides   = "launches whose work arguments and data decide"
)
