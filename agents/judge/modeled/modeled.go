// Package modeled judges candidates by a model of run times: in flow the sources
// of a program and of others made of it, with the launches of its kernels; out
// flows the ratio of the run times that the model predicts.
//
// The model is one that `rooflab train llmperf` wrote, or any other predictor over
// the tables of modeling/llmperf (boosted trees, additive costs), of OpenCL
// kernels. Launches are taken to be the same for all programs: that a candidate
// has another work-group shape is not seen.
package modeled

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/judge"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/predict"
)

// New judges by a predictor of tables of llmperf.Table; name is what records call
// it.
func New(name string, p predict.Predictor) judge.Judge { return modeled{name, p} }

// Load reads a predictor: a folder of `rooflab train`, or a file of predict.Save
// whose kind the program has. backend is as in train.Options, "" for the best that
// there is.
func Load(path, backend string) (judge.Judge, error) {
	fail := func(err error) (judge.Judge, error) {
		return nil, fmt.Errorf("reading the model %s to judge by: %w; `rooflab train llmperf` makes one", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fail(err)
	}
	var f *predict.Fitted
	if info.IsDir() {
		f, err = llmperf.Load(path, backend)
	} else {
		var raw []byte
		if raw, err = os.ReadFile(path); err == nil {
			f, err = predict.Load(bytes.NewReader(raw))
		}
	}
	if err != nil {
		return fail(err)
	}
	d := f.Describe()
	if !strings.HasSuffix(d.Target, "(s)") {
		return fail(fmt.Errorf("it predicts %s, and a run time in seconds is needed", d.Target))
	}
	data := d.Data[min(len("sha256:"), len(d.Data)):]
	return New(fmt.Sprintf("%s %s (data %s)", d.Kind, filepath.Base(path), data[:min(8, len(data))]), f), nil
}

type modeled struct {
	name      string
	predictor predict.Predictor
}

func (m modeled) Name() string { return m.name }

// Judges says for which language it can judge.
func (m modeled) Judges(language string) error {
	if language != "opencl" {
		return fmt.Errorf("the model %s predicts times of OpenCL kernels, and the target is written in %s: judge by the history", m.name, language)
	}
	return nil
}

// Rank implements judge.Judge.
func (m modeled) Rank(ctx context.Context, base judge.Program, candidates []judge.Program) ([]judge.Verdict, error) {
	if err := m.Judges(base.Language); err != nil {
		return nil, err
	}
	out := make([]judge.Verdict, len(candidates))
	if len(base.Launches) == 0 {
		for i := range out {
			out[i] = judge.Unknown("the profile holds no launch of a kernel with its size, which the model needs")
		}
		return out, nil
	}
	was, err := m.seconds(ctx, base)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		for i := range out {
			out[i] = judge.Unknown("the model cannot predict the program itself: " + err.Error())
		}
		return out, nil
	}
	for i, c := range candidates {
		c.Launches = base.Launches
		is, err := m.seconds(ctx, c)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			out[i] = judge.Unknown(err.Error())
		default:
			out[i] = judge.Verdict{Speedup: was.Value / is.Value, Low: was.Low / is.High, High: was.High / is.Low, Level: judge.Level}
			if !(out[i].Low >= 0) { // 0 over +Inf is 0, +Inf over +Inf nothing
				out[i].Low = 0
			}
			if math.IsNaN(out[i].High) {
				out[i].High = math.Inf(1)
			}
		}
	}
	return out, nil
}

// seconds predicts all launches of a program together. Both ends of the ratio of
// two such sums hold with probability judge.Level where each of the 2 n intervals
// behind it fails with no more than (1 - judge.Level) / 2n, however they hang
// together (Boole's inequality). n is the number of kernels: launches of one kernel
// are taken to be off alike, which is no theorem. Calibration tells.
func (m modeled) seconds(ctx context.Context, p judge.Program) (predict.Prediction, error) {
	var examples []llmperf.Example
	kernels := map[string]bool{}
	for _, l := range p.Launches {
		kernels[l.Kernel] = true
		text, err := sourceOf(p.Sources, l.Kernel)
		if err != nil {
			return predict.Prediction{}, err
		}
		x := llmperf.Example{Source: text, Kernel: l.Kernel, Global: l.Global, Local: l.Local, Seconds: math.NaN()}
		if x.Args, err = llmperf.ParseArguments(named(text, l)); err != nil {
			return predict.Prediction{}, fmt.Errorf("the launch of %s: %w", l.Kernel, err)
		}
		examples = append(examples, x)
	}
	table, err := llmperf.Table(examples)
	if err != nil {
		return predict.Prediction{}, err
	}
	each, err := m.predictor.Predict(ctx, table, 1-(1-judge.Level)/float64(2*len(kernels)))
	if err != nil {
		return predict.Prediction{}, err
	}
	var sum predict.Prediction
	for i, e := range each {
		n := float64(max(1, p.Launches[i].Count))
		sum.Value += n * e.Value
		sum.Low += n * e.Low
		sum.High += n * e.High
	}
	if !(sum.Value > 0) || math.IsInf(sum.Value, 0) {
		return sum, fmt.Errorf("the model predicts %g s", sum.Value)
	}
	return sum, nil
}

// named are a launch's arguments with the names of the kernel's parameters, where
// they have none of their own.
func named(text string, l judge.Launch) string {
	args := strings.Fields(l.Args)
	unit := kernelcost.Parse(text, csource.Options{}).Unit
	if fn := unit.Find(l.Kernel); fn != nil && len(fn.Params) == len(args) {
		for i, a := range args {
			if name := fn.Params[i].Name; name != "" && !strings.Contains(a, "=") {
				args[i] = name + "=" + a
			}
		}
	}
	return strings.Join(args, " ")
}

// sourceOf is the source that has a kernel.
func sourceOf(sources []edit.Source, kernel string) (string, error) {
	for _, s := range sources {
		for _, f := range edit.Functions(s.Text) {
			if f.Name == kernel {
				return s.Text, nil
			}
		}
	}
	return "", errors.New("no source has the kernel " + kernel)
}
