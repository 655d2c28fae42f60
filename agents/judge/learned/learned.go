// Package learned judges candidates by what came of others before: in flow the
// measured attempts of a history, each with the static changes of its text (package
// judge); out flows the speed-up that a linear model of its logarithm expects, with
// an interval made of targets that the model did not see.
//
// It is fitted anew for each turn, on what the history holds by then. Where that is
// too little it says so and judges nothing. How good it is is in the calibration
// that the history keeps, and LeaveOneOut says what it would have been so far.
package learned

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/agents/judge"
	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/score"
)

// What a history must hold to be learnt from: a model of a dozen changes cannot be
// had of fewer, nor be tried on a target that it has not seen.
const (
	LeastAttempts = 16
	LeastTargets  = 4
)

// New judges by a history.
func New(s history.Store) judge.Judge { return learned{s} }

type learned struct{ store history.Store }

func (learned) Name() string { return "history (ridge regression over static changes)" }

// Rank implements judge.Judge.
func (l learned) Rank(ctx context.Context, base judge.Program, candidates []judge.Program) ([]judge.Verdict, error) {
	log, err := l.store.Read(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]judge.Verdict, len(candidates))
	m, err := Fit(ctx, log.Attempts)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		for i := range out {
			out[i] = judge.Unknown(err.Error())
		}
		return out, nil
	}
	for i, c := range candidates {
		v, err := m.Judge(ctx, judge.Changes(base.Sources, c.Sources, c.Transformation))
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// Model expects speed-ups.
type Model struct {
	features  []string
	predictor predict.Predictor
}

// usable are the attempts that can be learnt from.
func usable(all []history.Attempt) []history.Attempt {
	var out []history.Attempt
	for _, a := range all {
		if a.Measured() && len(a.Features) > 0 {
			out = append(out, a)
		}
	}
	return out
}

func targets(as []history.Attempt) int {
	seen := map[string]bool{}
	for _, a := range as {
		seen[a.Target] = true
	}
	return len(seen)
}

// Fit fits a model to the measured attempts among some, its groups the targets.
func Fit(ctx context.Context, all []history.Attempt) (*Model, error) {
	as := usable(all)
	n := targets(as)
	if len(as) < LeastAttempts || n < LeastTargets {
		return nil, fmt.Errorf("the history holds %d measured attempts at %d targets, and %d at %d are needed to learn from", len(as), n, LeastAttempts, LeastTargets)
	}
	e := &predict.Examples{Target: "speed-up"}
	seen := map[string]bool{}
	for _, a := range as {
		for f := range a.Features {
			if !seen[f] {
				seen[f] = true
				e.Features = append(e.Features, f)
			}
		}
	}
	slices.Sort(e.Features)
	for _, a := range as {
		e.X = append(e.X, row(e.Features, a.Features))
		e.Y = append(e.Y, *a.Speedup)
		e.Groups = append(e.Groups, a.Target)
	}
	p, err := predict.Conformal{Learner: baseline.RidgeLearner{}, Folds: min(n, 8)}.Fit(ctx, e, 1)
	if err != nil {
		return nil, fmt.Errorf("learning from %d attempts: %w", len(as), err)
	}
	return &Model{e.Features, p}, nil
}

// row is changes in the order of features. One that is not there did not happen.
func row(features []string, changes map[string]float64) []float64 {
	out := make([]float64, len(features))
	for i, f := range features {
		out[i] = changes[f]
	}
	return out
}

// Judge says what is expected of changes, by the names of judge.Changes. Those that
// no attempt had are not known to the model.
func (m *Model) Judge(ctx context.Context, changes map[string]float64) (judge.Verdict, error) {
	ps, err := m.predictor.Predict(ctx, &predict.Examples{Features: m.features, X: [][]float64{row(m.features, changes)}}, judge.Level)
	if err != nil {
		return judge.Verdict{}, err
	}
	return judge.Verdict{Speedup: ps[0].Value, Low: ps[0].Low, High: ps[0].High, Level: judge.Level}, nil
}

// String describes the model.
func (m *Model) String() string { return m.predictor.Describe().String() }

// Skill is how well attempts at a target are told from those at all others.
type Skill struct {
	Attempts, Targets int
	// LogError is the root mean square of the logarithm of predicted over measured;
	// Median is the same of the median of the other targets' speed-ups, for all.
	LogError, Median float64
	// Rank is Spearman's correlation over all attempts; Regret, within targets, how
	// many times slower the best of the Keep that are predicted to be fastest is than
	// the best of all: the geometric mean over targets with more attempts than Keep.
	// Chance is the regret of Keep that are drawn blindly.
	Rank, Regret, Chance float64
	Keep                 int
	Compared             int // targets with more attempts than Keep
	Level                float64
	Covered              float64 // part of the intervals that held what was measured
}

// String is the skill in a line.
func (s Skill) String() string {
	out := fmt.Sprintf("of %d attempts at %d targets, each by the others: off by a factor of %.3g (the median of the others: %.3g), rank correlation %.2f, %.0f %% in intervals for %.0f %%",
		s.Attempts, s.Targets, math.Exp(s.LogError), math.Exp(s.Median), s.Rank, 100*s.Covered, 100*s.Level)
	if s.Compared > 0 {
		out += fmt.Sprintf("; the best of %d takes %.3g times as long as the best of all, that of %d drawn blindly %.3g times (%d targets)", s.Keep, s.Regret, s.Keep, s.Chance, s.Compared)
	}
	return out
}

// blind is the mean of the logarithm of how much longer the best of k takes that
// are drawn without looking than the best of all: of n in their order the i-th is
// the best of those drawn in C(n-1-i, k-1) of C(n, k) ways, i from 0.
func blind(times []float64, k int) float64 {
	ts := slices.Sorted(slices.Values(times))
	n := len(ts)
	sum, p := 0.0, float64(k)/float64(n) // of the first
	for i := range n - k + 1 {
		sum += p * math.Log(ts[i]/ts[0])
		if i < n-k {
			p *= float64(n-k-i) / float64(n-1-i)
		}
	}
	return sum
}

// LeaveOneOut fits a model without each target in turn and judges its attempts.
func LeaveOneOut(ctx context.Context, all []history.Attempt, keep int) (Skill, error) {
	as := usable(all)
	s := Skill{Attempts: len(as), Targets: targets(as), Keep: max(1, keep), Level: judge.Level, Regret: math.NaN(), Chance: math.NaN(), Rank: math.NaN()}
	if s.Attempts < LeastAttempts || s.Targets <= LeastTargets {
		return s, fmt.Errorf("the history holds %d measured attempts at %d targets: to judge each by %d others takes %d attempts and one target more", s.Attempts, s.Targets, LeastTargets, LeastAttempts)
	}
	by := map[string][]history.Attempt{}
	var names []string
	for _, a := range as {
		if by[a.Target] == nil {
			names = append(names, a.Target)
		}
		by[a.Target] = append(by[a.Target], a)
	}
	slices.Sort(names)
	var predicted, measured []float64
	regret, chance := 0.0, 0.0
	for _, name := range names {
		others := slices.DeleteFunc(slices.Clone(as), func(a history.Attempt) bool { return a.Target == name })
		m, err := Fit(ctx, others)
		if err != nil {
			return s, fmt.Errorf("without %s: %w", name, err)
		}
		var ys []float64
		for _, a := range others {
			ys = append(ys, math.Log(*a.Speedup))
		}
		middle := score.Median(ys)
		var times, guesses []float64
		for _, a := range by[name] {
			v, err := m.Judge(ctx, a.Features)
			if err != nil {
				return s, err
			}
			y := *a.Speedup
			predicted, measured = append(predicted, v.Speedup), append(measured, y)
			times, guesses = append(times, 1/y), append(guesses, 1/v.Speedup)
			d := math.Log(v.Speedup / y)
			s.LogError += d * d
			d = middle - math.Log(y)
			s.Median += d * d
			if v.Low <= y && y <= v.High {
				s.Covered++
			}
		}
		if len(times) > s.Keep {
			worse, err := score.TopK(times, guesses, s.Keep)
			if err != nil {
				return s, err
			}
			s.Compared++
			regret += math.Log1p(worse)
			chance += blind(times, s.Keep)
		}
	}
	n := float64(len(as))
	s.LogError, s.Median, s.Covered = math.Sqrt(s.LogError/n), math.Sqrt(s.Median/n), s.Covered/n
	s.Rank = score.Spearman(predicted, measured)
	if s.Compared > 0 {
		s.Regret, s.Chance = math.Exp(regret/float64(s.Compared)), math.Exp(chance/float64(s.Compared))
	}
	return s, nil
}
