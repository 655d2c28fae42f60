package agentsrules

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/suite"
	"github.com/rooflab/rooflab/modeling/evaluation"
)

// program is a program of the suite.
type program struct {
	Name  string
	Proxy bool
}

// unpack writes its files into a folder that is not there, and returns the path
// of the description.
func (p program) unpack(dir string) (string, error) { return suite.Write(p.Name, dir) }

// quickNames are small programs that differ: few of what -Quick leaves.
var quickNames = []string{"dot", "stencil", "transpose"}

// suiteOf are the programs of the suite, kernels first.
func suiteOf(quick bool) []program {
	var out []program
	for _, name := range suite.Kernels() {
		if !quick || slices.Contains(quickNames, name) {
			out = append(out, program{Name: name})
		}
	}
	for _, name := range suite.Proxies() {
		if !quick {
			out = append(out, program{Name: name, Proxy: true})
		}
	}
	return out
}

// scores are the sums behind the means of package align, which can be added up
// over programs.
type scores struct {
	Edits        int        `json:"edits"`
	Coverage     [2]float64 `json:"coverage"` // sum and number of the edits that know it
	Location     [2]float64 `json:"location"`
	Direction    [2]float64 `json:"direction"`
	Hallucinated int        `json:"hallucinated"`
}

func scoresOf(ss align.Scores) scores {
	out := scores{Edits: len(ss)}
	add := func(to *[2]float64, p align.Part) {
		if p.Known() {
			to[0] += p.Value()
			to[1]++
		}
	}
	for _, s := range ss {
		add(&out.Coverage, s.Coverage)
		add(&out.Location, s.Location)
		add(&out.Direction, s.Direction)
		out.Hallucinated += s.Hallucinated
	}
	return out
}

func (s *scores) add(o scores) {
	s.Edits += o.Edits
	s.Hallucinated += o.Hallucinated
	for i := range 2 {
		s.Coverage[i] += o.Coverage[i]
		s.Location[i] += o.Location[i]
		s.Direction[i] += o.Direction[i]
	}
}

const (
	original = "the original"
	fresh    = "fresh inputs and builds, apart from the loop"
)

// none is a result without interval and baseline.
func none(name, metric string, value float64, split string, n int, note string) evaluation.Result {
	return evaluation.Result{Name: name, Metric: metric, Value: value, Low: math.NaN(), High: math.NaN(), BaselineValue: math.NaN(), Split: split, N: n, Note: note}
}

// results are the rows: those of each program, then those over all.
func results(all []*Outcome, seed uint64) []evaluation.Result {
	var out []evaluation.Result
	for _, o := range all {
		out = append(out, o.results()...)
	}
	return append(out, summary(all, seed)...)
}

func (o *Outcome) results() []evaluation.Result {
	if o.Failed != "" {
		return []evaluation.Result{none(o.Name, "speed-up", math.NaN(), fresh, 0, "not run: "+o.Failed)}
	}
	var out []evaluation.Result
	ratio := func(metric, size string, a Again) {
		r := evaluation.Result{Name: o.Name, Metric: metric, Value: a.Ratio.Value, Low: a.Ratio.Low, High: a.Ratio.High, Baseline: original, BaselineValue: 1,
			Split: fresh, N: len(a.Before), Note: strings.TrimSpace("size " + size + " " + a.Differs)}
		if size == "" {
			r.Note = a.Differs
		}
		out = append(out, r)
	}
	if len(o.Again) == 0 {
		r := none(o.Name, "speed-up", 1, fresh, 0, fmt.Sprintf("nothing was kept of %d candidates: %s", o.Loop.Candidates, o.Loop.Stopped))
		r.Baseline, r.BaselineValue = original, 1
		out = append(out, r)
	} else {
		ratio("speed-up", o.Again[0].Size, o.Again[0])
		for _, a := range o.Again[1:] {
			ratio("speed-up, other size", a.Size, a)
		}
		hold := 0
		for _, a := range o.Again[1:] {
			if a.Faster() {
				hold++
			}
		}
		out = append(out, none(o.Name, "other sizes with a gain", float64(hold), fresh, len(o.Again)-1, "kept: "+strings.Join(o.Loop.Kept, "; ")))
	}
	correct := 1.0
	why := append([]string{}, o.Wrong...)
	for _, a := range o.Again {
		if a.Differs != "" {
			why = append(why, a.Differs)
		}
	}
	if len(why) > 0 {
		correct = 0
	}
	out = append(out, none(o.Name, "accepted candidates all correct", correct, fresh, o.Loop.Accepted, strings.Join(why, "; ")))
	r := none(o.Name, "speed-up that the loop reports", o.Loop.Reported, "the loop's own inputs", o.Loop.Candidates, o.verdict())
	r.Baseline, r.BaselineValue = original, 1
	return append(out, r, none(o.Name, "loop without profiling in s", o.Loop.Seconds-o.Loop.Profiling, "", o.Loop.Candidates, fmt.Sprintf("profiling %.3g s", o.Loop.Profiling)))
}

// faster reports whether the program is right and shown to be faster, by the
// measurements apart from the loop.
func (o *Outcome) faster() bool { return len(o.Again) > 0 && o.Again[0].Faster() }

// verdict says of a gain that the loop reports, whether it was seen again.
func (o *Outcome) verdict() string {
	switch {
	case !o.Loop.Faster:
		return "no gain is reported"
	case o.faster():
		return "confirmed"
	}
	return "not confirmed"
}

func summary(all []*Outcome, seed uint64) []evaluation.Result {
	var run []*Outcome
	failed := []string{}
	for _, o := range all {
		if o.Failed != "" {
			failed = append(failed, o.Name)
			continue
		}
		run = append(run, o)
	}
	note := ""
	if len(failed) > 0 {
		note = "without what was not run: " + strings.Join(failed, ", ")
	}
	var out []evaluation.Result
	count := func(metric string, note string, of func(*Outcome) (bool, bool)) {
		k, n := 0, 0
		for _, o := range all {
			if ok, counts := of(o); counts {
				n++
				if ok {
					k++
				}
			}
		}
		out = append(out, none("suite", metric, float64(k), fresh, n, note))
	}
	count("kernels faster with significance", note, func(o *Outcome) (bool, bool) { return o.faster(), !o.Proxy })
	count("proxies faster with significance", note, func(o *Outcome) (bool, bool) { return o.faster(), o.Proxy })
	count("reported faster but is not", note, func(o *Outcome) (bool, bool) { return !o.faster(), o.Failed == "" && o.Loop.Faster })
	count("programs with a gain at all other sizes", note, func(o *Outcome) (bool, bool) {
		return o.faster() && !slices.ContainsFunc(o.Again, func(a Again) bool { return !a.Faster() }), o.Failed == ""
	})
	var logs []float64
	total, kept, wrong := scores{}, 0, 0
	most := 0.0
	for _, o := range run {
		gain := 0.0
		if len(o.Again) > 0 && o.Again[0].Differs == "" {
			gain = math.Log(o.Again[0].Ratio.Value)
		}
		logs = append(logs, gain)
		total.add(o.Loop.Scores)
		kept += o.Loop.Accepted
		wrong += len(o.Wrong)
		if slices.ContainsFunc(o.Again, func(a Again) bool { return a.Differs != "" }) {
			wrong++ // what was kept in the end
		}
		most = max(most, o.Loop.Seconds-o.Loop.Profiling)
	}
	mean := geometric(logs, seed)
	out = append(out, evaluation.Result{Name: "suite", Metric: "speed-up, geometric mean", Value: mean.Value, Low: mean.Low, High: mean.High, Baseline: original, BaselineValue: 1,
		Split: fresh, N: len(logs), Note: strings.TrimSpace("programs with nothing kept count as 1; interval by bootstrap over programs. " + note)})
	share := math.NaN()
	if kept > 0 {
		share = float64(kept-wrong) / float64(kept)
	}
	out = append(out, none("suite", "share of accepted candidates that are correct", share, fresh, kept, ""))
	for _, s := range []struct {
		name string
		of   [2]float64
	}{{"evidence coverage", total.Coverage}, {"location agreement", total.Location}, {"directional consistency", total.Direction}} {
		out = append(out, none("suite", s.name, s.of[0]/s.of[1], "edits of all candidates that know it", int(s.of[1]), ""))
	}
	return append(out, none("suite", "hallucinated evidence", float64(total.Hallucinated), "edits of all candidates", total.Edits, ""),
		none("suite", "longest loop without profiling in s", most, "", len(run), note))
}

// geometric is the geometric mean of factors, given as logarithms, with an
// interval of 95 % by bootstrap over them.
func geometric(logs []float64, seed uint64) Interval {
	if len(logs) == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	sum := func(vs []float64) float64 {
		s := 0.0
		for _, v := range vs {
			s += v
		}
		return s / float64(len(vs))
	}
	rng := rand.New(rand.NewPCG(seed, 0x5eed))
	const draws = 10_000
	means := make([]float64, draws)
	again := make([]float64, len(logs))
	for i := range means {
		for k := range again {
			again[k] = logs[rng.IntN(len(logs))]
		}
		means[i] = sum(again)
	}
	slices.Sort(means)
	return Interval{math.Exp(sum(logs)), math.Exp(means[draws*25/1000]), math.Exp(means[draws*975/1000])}
}
