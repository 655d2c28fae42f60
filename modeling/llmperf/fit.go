package llmperf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/tokenize"
	"github.com/rooflab/rooflab/modeling/train"
)

// Options say what to train. The zero value is a model of 5M parameters.
type Options struct {
	Size string // one of SizeNames, "5M" by default
	// Config is used instead of Size where its Width is set. Vocab and Side
	// follow from the data.
	Config  Config
	Context int // tokens at most, 512
	// Tokenizer reads the sources; nil trains one on the sources that are
	// trained on, of Vocab ids (4096 at most).
	Tokenizer *tokenize.Tokenizer
	Vocab     int
	// Text leaves the model to the text alone, without kernelcost's features and counts.
	Text bool
	// Init is a pre-trained language model to begin with: a GGUF or safetensors
	// file, or a folder (see package pretrained). It brings Size, Config and
	// Tokenizer. Layers are how many of its lowest layers are used (0: all), Freeze
	// how many of these stay as they are, and the embeddings with them (0: all
	// learns; negative: only the regression head does), and LoRA the rank of what is
	// learnt beside the weights of the other layers (0: the weights themselves
	// learn). What frozen layers make of a launch is kept in a file without a name
	// in the folder for temporary files, 4 bytes for each of a token's Width numbers.
	Init                 string
	Layers, Freeze, LoRA int
	// Gaussian takes the normal distribution's loss (see Config).
	Gaussian bool
	// Relative trains the prediction to the relative error instead of to the
	// likelihood: what is unsure is then predicted low (see Config).
	Relative bool
	// Dropout is 0.1 by default, negative for none.
	Dropout float64
	// Validation is the fraction of the rows, in whole groups, on which training
	// is stopped early and the best weights are chosen: 0.1 by default, negative
	// for none.
	Validation float64
	Seed       uint64
	// Train is the training loop's. Here Epochs is 30 by default where Steps is
	// not set, Patience 8, Rate 0.256/Width but 0.003 at most, and Seed is ours. Buckets are the lengths that sequences are padded to,
	// the longest of which takes the place of Context.
	Train train.Options

	initial train.State // the weights of Init
}

// Fit trains a model on measured launches. When ctx ends in training, the model
// as it is by then comes with the error.
func Fit(ctx context.Context, xs []Example, opt Options) (*Model, error) {
	e, err := Table(xs)
	if err != nil {
		return nil, err
	}
	return fit(ctx, e, opt)
}

// Learner is Fit for package predict: predict.Conformal{Learner: Learner{...}}
// makes predictors with intervals, of tables that Table made.
type Learner struct{ Options }

// Fit implements predict.Learner. The seed takes the place of Options.Seed.
func (l Learner) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	opt := l.Options
	opt.Seed = seed
	m, err := fit(ctx, e, opt)
	if m == nil {
		return nil, err
	}
	return m, err
}

func fit(ctx context.Context, e *predict.Examples, opt Options) (m *Model, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("training %s: %w", kindName, err)
		}
	}()
	if err := e.Check(true); err != nil {
		return nil, err
	}
	if opt, err = opt.begin(); err != nil {
		return nil, err
	}
	shape, err := opt.shape()
	if err != nil {
		return nil, err
	}
	e = e.Canonical()
	if e.Texts[textSource] == nil {
		return nil, errors.New(`the table of examples has no text "source": make it with llmperf.Table`)
	}
	learnt, held, err := opt.deal(e)
	if err != nil {
		return nil, err
	}
	m = &Model{shape: shape, tokenizer: opt.Tokenizer, lengths: opt.Train.Buckets}
	if m.tokenizer == nil {
		vocab := opt.Vocab
		if vocab == 0 {
			vocab = 4096
		}
		m.tokenizer, err = tokenize.Train(ctx, tokenize.Texts(distinct(learnt.Texts[textSource])...), tokenize.Options{Vocab: vocab, Normalization: Normalization, Specials: Specials()})
		if err != nil {
			return nil, err
		}
	}
	if len(m.lengths) == 0 {
		m.lengths = buckets(shape.Context)
	} else {
		m.lengths = slices.Sorted(slices.Values(m.lengths))
		m.shape.Context = m.lengths[len(m.lengths)-1]
	}
	m.shape.Vocab = m.tokenizer.Size()
	m.description = predict.About(kindName, e, opt.Seed)
	if !opt.Text {
		var dropped []predict.Dropped
		m.scale, dropped = predict.FitScale(learnt.Features, learnt.Len(), func(row, feature int) float64 { return learnt.X[row][feature] })
		m.description.Features, m.description.Dropped = m.scale.Names(), dropped
	} else {
		m.description.Features = nil
	}
	m.shape.Side = m.scale.Width()
	m.mean, m.sd = predict.Moments(learnt.LogY())
	if m.sd == 0 {
		m.sd = 1
	}
	if opt.Relative {
		m.shape.Relative = m.sd
	}
	if !opt.Text {
		m.shape.Counts = true
		if e.Unit == "s" { // what corrects another model's time is no sum
			m.shape.Mean, m.shape.SD = m.mean, m.sd
		}
	}
	if err = m.train(ctx, learnt, held, opt); m.Result == nil {
		return nil, err
	}
	return m, err
}

func (m *Model) train(ctx context.Context, learnt, held *predict.Examples, opt Options) error {
	examples, err := m.targets(ctx, learnt)
	if err != nil {
		return err
	}
	var validation train.Examples
	if held != nil {
		v, err := m.targets(ctx, held)
		if err != nil {
			return err
		}
		validation = v
	}
	t := opt.Train
	t.Seed, t.Buckets = opt.Seed, m.lengths
	if t.Epochs == 0 && t.Steps == 0 {
		t.Epochs = 30
	}
	if t.Patience == 0 && held != nil {
		t.Patience = 8
	}
	if t.Rate == 0 {
		t.Rate = min(0.003, 0.256/float64(m.shape.Width))
	}
	if t.Title == "" {
		t.Title = fmt.Sprintf("%s with %.3g M parameters", kindName, float64(m.shape.Parameters())/1e6)
	}
	if m.network, err = newNetwork(m.shape, t); err != nil {
		return err
	}
	if err := start(m.network, opt.initial); err != nil {
		m.Close()
		return err
	}
	m.Result, err = train.Run(ctx, m.network, examples, validation, t)
	if m.Result == nil {
		m.Close()
		return err
	}
	detail := fmt.Sprintf("%d parameters: %d layers of width %d with %d heads, vocabulary %d, up to %d tokens, %d side inputs; %d steps (%s), weights of step %d",
		m.shape.Parameters(), m.shape.Layers, m.shape.Width, m.shape.Heads, m.shape.Vocab, m.shape.Context, m.shape.Side, m.Result.Steps, m.Result.Stopped, m.Result.Weights)
	if held != nil {
		detail += fmt.Sprintf(", chosen on %d rows of %d groups that were not learnt from", held.Len(), len(distinct(held.Groups)))
	}
	if b := m.shape.Base; b != nil {
		detail += ", " + b.describe(m.shape, m.Result.Record.Parameters)
	}
	m.description.Detail = detail
	return err
}

// targets is a table with standardised targets.
func (m *Model) targets(ctx context.Context, e *predict.Examples) (*encoded, error) {
	d, err := m.encode(ctx, e)
	if err != nil {
		return nil, err
	}
	if b := m.shape.Base; b != nil {
		d.base = b.id(m.shape)
	}
	total := 0.0
	for r := range e.Len() {
		total += e.Weight(r)
	}
	for r, y := range e.LogY() {
		d.y = append(d.y, float32((y-m.mean)/m.sd))
		d.weight = append(d.weight, float32(e.Weight(r)*float64(e.Len())/total))
	}
	return d, nil
}

// shape is the network's, but for what follows from the data.
func (o Options) shape() (Config, error) {
	c := o.Config
	if c.Width == 0 {
		size := o.Size
		if size == "" {
			size = "5M"
		}
		var err error
		if c, err = Size(size); err != nil {
			return c, err
		}
		c.Context = 512
	}
	if o.Context > 0 {
		c.Context = o.Context
	}
	if o.Dropout != 0 {
		c.Dropout = max(o.Dropout, 0)
	}
	if o.Gaussian {
		c.Gaussian = true
	}
	if c.Floor == 0 {
		c.Floor = 0.01
	}
	c.Vocab, c.Side = max(c.Vocab, 1), 0
	return c, c.check()
}

// deal holds out whole groups to stop by.
func (o Options) deal(e *predict.Examples) (learnt, held *predict.Examples, err error) {
	fraction := o.Validation
	if fraction == 0 {
		fraction = 0.1
	}
	if fraction < 0 {
		return e, nil, nil
	}
	s, err := split.Groups(e.Groups, split.Options{Test: fraction, Seed: o.Seed})
	if err != nil {
		return nil, nil, fmt.Errorf("holding out groups to stop by (a negative Options.Validation holds out none): %w", err)
	}
	return e.Rows(s.Train), e.Rows(s.Test), nil
}

func distinct(texts []string) []string {
	set := map[string]bool{}
	for _, t := range texts {
		set[t] = true
	}
	return slices.Sorted(maps.Keys(set))
}
