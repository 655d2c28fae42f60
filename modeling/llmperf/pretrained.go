package llmperf

import (
	"errors"
	"fmt"

	"github.com/rooflab/rooflab/modeling/llmperf/pretrained"
	"github.com/rooflab/rooflab/modeling/train"
)

// Base is the pre-trained language model that a network begins with, and what of
// it learns. Its source is read as the model's own tokenizer has it, arguments
// and sizes as a comment behind the source, and each token sees those before it;
// of the layers' result the mean over the tokens that are there and the last of
// them go to the regression head, beside the side inputs.
type Base struct {
	Name   string `json:"name"`   // of the file or folder
	SHA256 string `json:"sha256"` // of the file
	pretrained.Config
	// Freeze is how many of the lowest layers stay as they are, and with them
	// the embeddings. What they make of a launch is computed once.
	Freeze int `json:"freeze,omitempty"`
	// LoRA is the rank of what is learnt beside the projections of queries and
	// values in the layers that are not frozen, whose own weights stay (Hu et al.
	// 2022); with 0 the weights themselves learn.
	LoRA int `json:"lora,omitempty"`
}

// A Tuner is a Network with a Base.
type Tuner interface {
	Network
	// Start gives it weights by name, before Prepare draws the others.
	Start(weights train.State) error
	// Weights are the network's, those that do not learn included, which State
	// leaves out.
	Weights() (train.State, error)
}

// Learns says whether the weights of a layer learn, from 0; the embeddings are
// layer -1, the last norm is Config.Layers.
func (c Config) Learns(layer int) bool {
	b := c.Base
	switch {
	case b == nil:
		return true
	case b.LoRA > 0:
		return false
	case layer == -1:
		return b.Freeze == 0
	}
	return layer >= b.Freeze && b.Freeze < c.Layers
}

// check looks at what a Base adds to a shape.
func (b *Base) check(c Config) error {
	switch {
	case b.Freeze < 0 || b.Freeze > c.Layers:
		return fmt.Errorf("%d of %d layers cannot be frozen", b.Freeze, c.Layers)
	case b.LoRA < 0 || b.LoRA > c.Width:
		return fmt.Errorf("a rank of %d is none for layers of width %d", b.LoRA, c.Width)
	case b.LoRA > 0 && b.Freeze == c.Layers:
		return fmt.Errorf("LoRA of rank %d has no layer to work in: all %d are frozen", b.LoRA, c.Layers)
	case c.Layers > b.Layers:
		return fmt.Errorf("%d layers are asked for, %s has %d", c.Layers, b.Name, b.Layers)
	case c.Context > b.Context:
		return fmt.Errorf("a context of %d tokens is asked for, %s takes %d", c.Context, b.Name, b.Context)
	case b.Width != c.Width, b.Heads != c.Heads, b.Inner != c.Inner, b.KVHeads < 1, b.Heads%max(b.KVHeads, 1) != 0, b.HeadWidth < 2, b.HeadWidth%2 != 0, b.HeadWidth > 1<<12,
		!(b.Epsilon > 0), !(b.Theta > 1):
		return fmt.Errorf("its shape %+v is none, or another than the network's", b.Config)
	}
	return nil
}

// parameters are the numbers of a network with this base, learnt or not.
func (b *Base) parameters(c Config) int64 {
	w, q, kv := int64(c.Width), int64(b.Heads*b.HeadWidth), int64(b.KVHeads*b.HeadWidth)
	layer := w*(2*q+2*kv+3*int64(c.Inner)) + 2*w
	if b.Bias {
		layer += q + 2*kv
	}
	n := int64(c.Vocab)*w + int64(c.Layers)*layer + w
	if r := int64(b.LoRA); r > 0 {
		n += int64(c.Layers-b.Freeze) * r * (w + q + w + kv)
	}
	pooled := 2 * w
	if side := int64(c.SideWidth()); side > 0 {
		n += (int64(c.Side) + 1) * side
		pooled += side
	}
	if c.Sums() {
		n, pooled = n+w+1, pooled+1
	}
	return n + (pooled+1)*w + 2*(w+1)
}

// describe says what a network began with, and how many numbers of it learnt.
func (b *Base) describe(c Config, learnt int64) string {
	s := fmt.Sprintf("%d learnt, begun with %s (%s, SHA-256 %.12s...)", learnt, b.Name, b.Architecture, b.SHA256)
	if c.Layers < b.Layers {
		s += fmt.Sprintf(", the lowest %d of its %d layers", c.Layers, b.Layers)
	}
	switch {
	case b.Freeze == c.Layers:
		s += ", which stay as they are"
	case b.Freeze > 0:
		s += fmt.Sprintf(", %d of them and the embeddings stay as they are", b.Freeze)
	}
	if b.LoRA > 0 {
		s += fmt.Sprintf(", LoRA of rank %d", b.LoRA)
	}
	return s
}

// id names what decides the numbers that a network with this base learns from.
func (b *Base) id(c Config) string {
	return fmt.Sprintf("%s %d %d %d", b.SHA256, c.Layers, b.Freeze, b.LoRA)
}

// begin reads Options.Init, and makes of the options those of a network that
// begins with it.
func (o Options) begin() (Options, error) {
	if o.Init == "" {
		if o.Layers != 0 || o.Freeze != 0 || o.LoRA != 0 {
			return o, errors.New("Options.Layers, Freeze and LoRA are of a pre-trained model: name it in Options.Init")
		}
		return o, nil
	}
	if o.Size != "" || o.Config.Width != 0 || o.Tokenizer != nil || o.Vocab != 0 {
		return o, errors.New("Options.Init brings its own shape and tokenizer: leave Size, Config, Tokenizer and Vocab empty")
	}
	m, err := pretrained.Open(o.Init)
	if err != nil {
		return o, err
	}
	defer m.Close()
	b := &Base{Name: m.Name, SHA256: m.SHA256, Config: m.Config, Freeze: o.Freeze, LoRA: o.LoRA}
	c := Config{Width: b.Width, Layers: o.Layers, Heads: b.Heads, Inner: b.Inner, Context: min(512, b.Context), Dropout: 0.1, Base: b}
	if c.Layers == 0 {
		c.Layers = b.Layers
	}
	if b.Freeze < 0 {
		b.Freeze = c.Layers
	}
	if o.Context > 0 {
		c.Context = o.Context
	}
	o.Config, o.Tokenizer = c, m.Tokenizer()
	if err := b.check(c); err != nil {
		return o, fmt.Errorf("beginning with %s: %w", o.Init, err)
	}
	if o.Train.Rate == 0 {
		// Weights that are good already move little; a head alone, or LoRA, begins
		// from nothing.
		o.Train.Rate = 1e-4
		if b.Freeze == c.Layers || b.LoRA > 0 {
			o.Train.Rate = 1e-3
		}
	}
	o.initial, err = m.Weights(c.Layers)
	return o, err
}

// start gives a network its first weights, if it is to have any.
func start(n Network, weights train.State) error {
	if weights == nil {
		return nil
	}
	t, ok := n.(Tuner)
	if !ok {
		return fmt.Errorf("the engine's network, a %T, cannot begin with a pre-trained model", n)
	}
	return t.Start(weights)
}

// weightsOf are all weights that predictions need.
func weightsOf(n Network) (train.State, error) {
	s, err := n.State()
	if t, ok := n.(Tuner); ok {
		s, err = t.Weights()
	}
	return learnt(s), err
}
