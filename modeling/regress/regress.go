// Package regress trains a first model of performance: a multilayer
// perceptron from a kernel's counters to the logarithm of its run time.
//
// In flows a gota dataframe, one row per launch, with a column of times, a
// column that says which rows belong together (the kernel) and columns of
// counters. Out flow a Model, which predicts with an interval, and a Report:
// its errors on kernels that it never saw, beside a median and ridge
// regression fitted on the same rows, and all that is needed to get the same
// numbers again.
//
// The package is thin: networks are trained by an engine (GoMLX) that is
// linked by a blank import, which rooflab's session host has already:
//
//	import _ "github.com/rooflab/rooflab/modeling/regress/gomlx"
//
// A trained network is a handful of numbers, and predicts without an engine.
package regress

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/go-gota/gota/dataframe"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/score"
	"github.com/rooflab/rooflab/modeling/train"
)

// Options say what to train. Target and Group are needed; the zero value of
// each other field is a sensible choice.
type Options struct {
	Target string // column of run times, positive, in any unit
	Group  string // column whose values never stand on two sides of a split, as "kernel"
	// RandomRows splits single rows instead of groups. Rows of one kernel then
	// stand on both sides, which makes errors look smaller than they are on
	// new kernels; the report says so.
	RandomRows bool
	// Features are the columns to learn from. Empty takes every numeric column
	// that is neither target nor group nor derived from time (see Leaks).
	Features    []string
	Drop        []string // columns never to learn from
	Test        float64  // fraction of rows for the final figures, default 0.25
	Calibration float64  // fraction of rows for the intervals, default 0.15
	Hidden      []int    // units per hidden layer, default 64, 64
	Epochs      int      // passes over the training rows, default 300
	Batch       int      // rows per step, default 64
	Rate        float64  // Adam's learning rate at the start, default 0.003; it falls to 0 as a cosine
	Decay       float64  // weight decay, default 0.0001; negative for none
	Level       float64  // coverage wanted of intervals, default 0.9
	Seed        uint64   // of split, initial weights and order; equal seeds give equal models on the Go backend
	Backend     string   // in GoMLX's notation; empty is backend.Default
	// Progress hears about every epoch. Nil shows it: a live curve in a
	// notebook, lines in a terminal. Quiet shows nothing.
	Progress func(train.Progress)
	Quiet    bool
}

// Problem is what an engine trains: rows of standardised features and targets.
type Problem struct {
	Rows, Cols  int
	X           []float32 // Rows x Cols, row after row
	Y           []float32 // Rows
	Net         *Network  // holds the initial weights; the engine puts trained ones there
	Epochs      int
	Batch       int // at most Rows
	Rate, Decay float64
	Seed        uint64
	Backend     string
	// Epoch is called after each epoch, with Net up to date when sync was
	// asked for by the previous return value. An error stops the training.
	Epoch func(epoch int, loss float64) error
	// Sync says whether Net must be up to date when Epoch is called for this epoch.
	Sync func(epoch int) bool
}

// Engine trains networks. It minimises mean (Net(x) - y)^2 with Adam and
// decoupled weight decay. When ctx ends it leaves the weights so far in
// p.Net and returns ctx's error.
type Engine interface {
	Train(ctx context.Context, p *Problem) error
	// Backend says where a configuration runs, and what to tell the user.
	Backend(config string) (why, notice string, err error)
}

var engines struct {
	sync.Mutex
	engine Engine
}

// RegisterEngine installs the engine that Fit uses.
func RegisterEngine(e Engine) {
	engines.Lock()
	defer engines.Unlock()
	engines.engine = e
}

// Model predicts run times from counters.
type Model struct {
	Report Report

	inputs  inputs
	net     *Network
	mean    float64 // of log time on the training rows
	scale   float64 // its standard deviation
	halfLog float64 // half width of the interval in log time; +Inf without enough calibration rows
}

// Fit trains a model on df. When ctx ends early Fit returns the model trained
// so far, evaluated like any other, together with an error that wraps
// ctx.Err(); any other error comes with a nil model.
func Fit(ctx context.Context, df dataframe.DataFrame, opt Options) (*Model, error) {
	engines.Lock()
	engine := engines.engine
	engines.Unlock()
	if engine == nil {
		return nil, errors.New(`training a regression: no engine is linked: add the blank import _ "github.com/rooflab/rooflab/modeling/regress/gomlx"`)
	}
	opt = opt.withDefaults()
	data, err := read(df, opt)
	if err != nil {
		return nil, fmt.Errorf("training a regression: %w", err)
	}
	if !(opt.Calibration > 0) {
		return nil, fmt.Errorf("training a regression: a fraction of %g for calibration: it must be positive, intervals are made from it", opt.Calibration)
	}
	axis := split.Axis(opt.Group)
	if opt.RandomRows {
		axis = split.ByRow
	}
	parts, err := split.Groups(data.groups, split.Options{Axis: axis, Test: opt.Test, Calibration: opt.Calibration, Seed: opt.Seed})
	if err != nil {
		return nil, fmt.Errorf("training a regression: %w; with RandomRows rows of one group stand on all sides", err)
	}
	in, dropped := prepare(data, parts.Train)
	if len(in.Columns) == 0 {
		return nil, fmt.Errorf("training a regression: no column is left to learn from: %s", reasons(append(data.dropped, dropped...)))
	}
	m := &Model{inputs: in}
	logs := make([]float64, len(data.times))
	for i, t := range data.times {
		logs[i] = math.Log(t)
	}
	m.mean, m.scale = moments(logs, parts.Train)
	p := &Problem{
		Rows: len(parts.Train), Cols: in.Width(), Net: newNetwork(in.Width(), opt.Hidden, opt.Seed),
		Epochs: opt.Epochs, Batch: min(opt.Batch, len(parts.Train)), Rate: opt.Rate, Decay: math.Max(opt.Decay, 0),
		Seed: opt.Seed, Backend: opt.Backend,
	}
	m.net = p.Net
	for _, r := range parts.Train {
		p.X = append(p.X, in.row(data.value(r))...)
		p.Y = append(p.Y, float32((logs[r]-m.mean)/m.scale))
	}
	why, notice, err := engine.Backend(opt.Backend)
	if err != nil {
		return nil, fmt.Errorf("training a regression: %w", err)
	}
	m.Report = newReport(opt, data, parts, in, dropped, why, notice)
	started := time.Now()
	done := m.follow(p, opt, data, logs, parts, started)
	err = engine.Train(ctx, p)
	stopped := err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err())
	if err != nil && !stopped {
		return nil, fmt.Errorf("training a regression on %s: %w", why, err)
	}
	if !m.net.finite() {
		return nil, fmt.Errorf("training a regression on %s: the weights are no numbers any more: try a smaller learning rate than %g", why, opt.Rate)
	}
	m.Report.Took = time.Since(started)
	m.Report.Epochs = done(stopped)
	if err := m.evaluate(data, logs, parts, opt); err != nil {
		return nil, fmt.Errorf("training a regression: %w", err)
	}
	if stopped {
		return m, fmt.Errorf("training stopped after %d of %d epochs, the model holds what was learnt: %w", m.Report.Epochs, opt.Epochs, ctx.Err())
	}
	return m, nil
}

// follow connects the engine's epochs with progress reports. The function that
// it returns ends them and says how many epochs were done.
func (m *Model) follow(p *Problem, opt Options, data *table, logs []float64, parts split.Split, started time.Time) func(stopped bool) int {
	report := opt.Progress
	if report == nil && !opt.Quiet {
		report = train.Live("regression of log " + opt.Target)
	}
	if report == nil {
		report = func(train.Progress) {}
	}
	every := max(1, opt.Epochs/50) // the held-out loss costs a pass in Go
	last := train.Progress{Steps: opt.Epochs, Loss: math.NaN(), Validation: math.NaN(), Note: m.Report.Backend}
	p.Sync = func(epoch int) bool { return epoch%every == 0 || epoch == 1 }
	p.Epoch = func(epoch int, loss float64) error {
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return fmt.Errorf("the loss of epoch %d is %g: try a smaller learning rate than %g", epoch, loss, opt.Rate)
		}
		last.Step, last.Loss, last.Elapsed = epoch, loss, time.Since(started)
		if p.Sync(epoch) {
			held := 0.0
			for _, r := range parts.Calibration {
				d := m.net.Forward(m.inputs.row(data.value(r))) - (logs[r]-m.mean)/m.scale
				held += d * d / float64(len(parts.Calibration))
			}
			last.Validation = held
			report(last)
		}
		return nil
	}
	return func(stopped bool) int {
		last.Elapsed, last.Done = time.Since(started), true
		if stopped {
			last.Note += ", stopped early"
		}
		report(last)
		return last.Step
	}
}

// evaluate fits the interval on the calibration rows and scores model and
// baselines on the test rows.
func (m *Model) evaluate(data *table, logs []float64, parts split.Split, opt Options) error {
	var residuals []float64
	for _, r := range parts.Calibration {
		residuals = append(residuals, math.Abs(logs[r]-m.logTime(m.inputs.row(data.value(r)))))
	}
	// Rows of one kernel are not independent, so that the coverage on new
	// kernels can be lower: the report gives the measured one.
	m.halfLog = predict.HalfWidth(residuals, nil, opt.Level)
	if math.IsInf(m.halfLog, 1) {
		m.Report.Warnings = append(m.Report.Warnings, fmt.Sprintf("%d calibration rows are too few for intervals at %g: they are unbounded", len(residuals), opt.Level))
	}
	x, y := make([][]float64, 0, len(parts.Train)), make([]float64, 0, len(parts.Train))
	for _, r := range parts.Train {
		x, y = append(x, widen(m.inputs.row(data.value(r)))), append(y, logs[r])
	}
	median, err := baseline.FitMedian(y)
	if err != nil {
		return err
	}
	ridge, err := baseline.FitRidge(x, y, 1)
	if err != nil {
		return err
	}
	var measured, model, low, high, med, lin []float64
	for _, r := range parts.Test {
		in := m.inputs.row(data.value(r))
		t := m.logTime(in)
		measured, model = append(measured, data.times[r]), append(model, math.Exp(t))
		low, high = append(low, math.Exp(t-m.halfLog)), append(high, math.Exp(t+m.halfLog))
		med, lin = append(med, math.Exp(median.Predict(nil))), append(lin, math.Exp(ridge.Predict(widen(in))))
	}
	for _, s := range []struct {
		name      string
		predicted []float64
	}{{"mlp", model}, {"ridge", lin}, {"median", med}} {
		scores, err := score.Of(measured, s.predicted)
		if err != nil {
			return fmt.Errorf("scoring %s: %w", s.name, err)
		}
		if s.name == "mlp" {
			if err := scores.Interval(measured, low, high); err != nil {
				return err
			}
		}
		if s.name == "ridge" && scores.R2Log > suspicious {
			m.Report.Warnings = append(m.Report.Warnings, fmt.Sprintf("ridge regression alone explains %.1f %% of log %s on unseen groups: "+
				"columns may hold the time in disguise, as work and rate do together; check the units of %s",
				100*scores.R2Log, opt.Target, strings.Join(m.heaviest(ridge), ", ")))
		}
		m.Report.Scores = append(m.Report.Scores, NamedScores{s.name, scores})
	}
	return nil
}

// suspicious is a fit in logarithms that real counters hardly allow: names
// alone cannot tell that a column called "traffic" is in bytes per second.
const suspicious = 0.99

// heaviest are the columns with the largest weights.
func (m *Model) heaviest(r baseline.Ridge) []string {
	type weighted struct {
		name   string
		weight float64
	}
	var ws []weighted
	at := 0
	for _, c := range m.inputs.Columns {
		ws = append(ws, weighted{c.Name, math.Abs(r.Weights[at])})
		if at++; c.Flag {
			at++
		}
	}
	sort.SliceStable(ws, func(i, j int) bool { return ws[i].weight > ws[j].weight })
	var names []string
	for _, w := range ws[:min(3, len(ws))] {
		names = append(names, w.name)
	}
	return names
}

func (m *Model) logTime(row []float32) float64 { return m.mean + m.scale*m.net.Forward(row) }

// Prediction is a run time in the unit of the target, with an interval.
type Prediction struct {
	Time, Low, High float64
	Level           float64 // coverage that the interval aims at
}

// String shows value and interval.
func (p Prediction) String() string {
	return fmt.Sprintf("%.4g (%.4g to %.4g at %.0f %%)", p.Time, p.Low, p.High, 100*p.Level)
}

// Predict predicts every row of df, which needs the columns that the model
// learnt from (Report.Features). A missing value is taken as the training
// rows' mean.
func (m *Model) Predict(df dataframe.DataFrame) ([]Prediction, error) {
	if df.Err != nil {
		return nil, fmt.Errorf("predicting: the dataframe has an error: %w", df.Err)
	}
	cols, err := columns(df, m.inputs.Names())
	if err != nil {
		return nil, fmt.Errorf("predicting: %w", err)
	}
	out := make([]Prediction, df.Nrow())
	for r := range out {
		t := m.logTime(m.inputs.row(func(name string) float64 { return cols[name][r] }))
		out[r] = Prediction{math.Exp(t), math.Exp(t - m.halfLog), math.Exp(t + m.halfLog), m.Report.Options.Level}
	}
	return out, nil
}

func (o Options) withDefaults() Options {
	def := func(f *float64, v float64) {
		if *f == 0 {
			*f = v
		}
	}
	def(&o.Test, 0.25)
	def(&o.Calibration, 0.15)
	def(&o.Rate, 0.003)
	def(&o.Decay, 1e-4)
	def(&o.Level, 0.9)
	if o.Epochs == 0 {
		o.Epochs = 300
	}
	if o.Batch == 0 {
		o.Batch = 64
	}
	if o.Hidden == nil {
		o.Hidden = []int{64, 64}
	}
	return o
}
