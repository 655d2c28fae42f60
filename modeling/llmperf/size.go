package llmperf

import (
	"fmt"
	"math"
	"strings"
)

// Config is the shape of a network.
type Config struct {
	Vocab   int     `json:"vocab"`   // ids
	Context int     `json:"context"` // tokens at most
	Width   int     `json:"width"`   // of a token's vector
	Layers  int     `json:"layers"`
	Heads   int     `json:"heads"`
	Inner   int     `json:"inner"` // width within a feed-forward layer
	Side    int     `json:"side"`  // numbers beside the sequence
	Dropout float64 `json:"dropout"`
	// Gaussian takes the likelihood of a normal distribution for the loss
	// instead of that of Laplace's, whose location is the median.
	Gaussian bool `json:"gaussian,omitempty"`
	// Relative, if not 0, is the standard deviation of the logarithm of the target,
	// and the location is trained to the error as a part of what was measured, whose
	// mean is MAPE, instead of to the likelihood, which is left to the scale.
	Relative float64 `json:"relative,omitempty"`
	// Counts gives the network how often each token is executed. With Mean and SD,
	// those of a target that is a time, the prediction is a sum over the tokens of
	// what one execution takes times that, with a factor from the whole (Sums).
	Counts bool    `json:"counts,omitempty"`
	Mean   float64 `json:"mean,omitempty"`
	SD     float64 `json:"sd,omitempty"`
	// Floor is the least scale, in units of the target's standard deviation.
	Floor float64 `json:"floor"`
	// Base is the pre-trained model that the network begins with, if any.
	Base *Base `json:"base,omitempty"`
}

// Channel is the width of the numeric channel's hidden layer, and Numbers its
// inputs: whether there is a number, whether it is zero, and its log2/16.
const (
	Channel = 32
	Numbers = 3
)

// sideWidth is the width that the side inputs are projected to.
func (c Config) sideWidth() int { return min(c.Width, 128) }

// SideWidth is the width that the side inputs are projected to; 0 without any.
func (c Config) SideWidth() int {
	if c.Side == 0 {
		return 0
	}
	return c.sideWidth()
}

// Sums tells that the predicted time is a sum over the tokens.
func (c Config) Sums() bool { return c.Counts && c.SD > 0 }

// Parameters is how many numbers such a network learns.
func (c Config) Parameters() int64 {
	if c.Base != nil {
		return c.Base.parameters(c)
	}
	w := int64(c.Width)
	dense := func(in, out int64) int64 { return in*out + out }
	n := int64(c.Vocab)*w + int64(c.Context)*w       // tokens, positions
	n += dense(Numbers, Channel) + dense(Channel, w) // numeric channel
	if c.Counts {
		n += dense(2, Channel) + dense(Channel, w) // executions
	}
	if c.Sums() {
		n += dense(w, 1)
	}
	layer := dense(w, 3*w) + dense(w, w)                         // attention
	layer += dense(w, int64(c.Inner)) + dense(int64(c.Inner), w) // feed-forward
	layer += 2 * 2 * w                                           // norms
	n += int64(c.Layers)*layer + 2*w
	pooled := 2 * w
	if s := int64(c.SideWidth()); s > 0 {
		n += dense(int64(c.Side), s)
		pooled += s
		if c.Counts {
			n += dense(int64(c.Side), w)
		}
	}
	if c.Sums() {
		pooled++
	}
	return n + dense(pooled, w) + dense(w, 2)
}

// sized are the networks by name: of each number of parameters the wider and
// shallower one, which computes faster; the largest has the width and depth of
// models of its size in the literature.
var sized = []struct {
	name string
	c    Config
}{
	{"tiny", Config{Width: 64, Layers: 2, Heads: 4, Inner: 256}},
	{"5M", Config{Width: 256, Layers: 4, Heads: 4, Inner: 768}},
	{"20M", Config{Width: 512, Layers: 5, Heads: 8, Inner: 1792}},
	{"80M", Config{Width: 768, Layers: 10, Heads: 12, Inner: 3072}},
	{"350M", Config{Width: 1024, Layers: 27, Heads: 16, Inner: 4096}},
}

// SizeNames are the names that Size knows, the smallest first. The numbers are
// of parameters with a vocabulary of 8192, a context of 1024 and side inputs.
func SizeNames() []string {
	var out []string
	for _, s := range sized {
		out = append(out, s.name)
	}
	return out
}

// Size is the network of a name, with a vocabulary of 8192, a context of 1024
// tokens and a dropout of 0.1.
func Size(name string) (Config, error) {
	for _, s := range sized {
		if s.name == name {
			c := s.c
			c.Vocab, c.Context, c.Dropout, c.Floor = 8192, 1024, 0.1, 0.01
			return c, nil
		}
	}
	return Config{}, fmt.Errorf("there is no size %q, only %s", name, strings.Join(SizeNames(), ", "))
}

func (c Config) check() error {
	if c.Vocab < 1 || c.Context < 1 || c.Width < 1 || c.Layers < 1 || c.Heads < 1 || c.Inner < 1 || c.Side < 0 || c.Width%max(c.Heads, 1) != 0 ||
		!(c.Dropout >= 0 && c.Dropout < 1) || !(c.Relative >= 0) || math.IsInf(c.Relative, 0) || !(c.Floor > 0) || c.Vocab > 1<<20 || c.Context > 1<<20 || c.Width > 1<<16 || c.Layers > 1<<10 || c.Inner > 1<<20 || c.Side > 1<<16 {
		return fmt.Errorf("the shape of the network %+v is none: sizes are positive and in reason, Width is a multiple of Heads, Floor is positive", c)
	}
	if c.Base != nil {
		return c.Base.check(c)
	}
	return nil
}
