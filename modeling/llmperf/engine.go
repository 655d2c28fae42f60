package llmperf

import (
	"errors"
	"sync"

	"github.com/rooflab/rooflab/modeling/train"
)

// A Network is what an engine makes of a Config. A batch has these inputs, of n
// launches padded to a length of l tokens:
//
//	ids      int32   [n, l]
//	log2     float32 [n, l]      of the number a token belongs to, else 0
//	kinds    int32   [n, l]      0 no number, 1 a number, 2 zero
//	lengths  int32   [n]         tokens that are there, at least 1
//	side     float32 [n, Side]   only where Config.Side is not 0
//	counts   float32 [n, l]      only with Config.Counts: log2 of 1 and the
//	                             executions of what the token stands for
//
// and these labels: the standardised target and the weight, float32 [n] each.
type Network interface {
	train.Stepper
	// Predict gives location and scale of the standardised target, [n] each.
	Predict(b train.Batch) ([]train.Array, error)
	// Attribute is the gradient of the location by what each token says (its
	// embedding and that of its number, without its place), times that:
	// [n, l], 0 for padding.
	Attribute(b train.Batch) (train.Array, error)
	Close()
}

// An Engine makes networks.
type Engine func(c Config, opt train.Options) (Network, error)

var registered struct {
	sync.Mutex
	engine Engine
}

// RegisterEngine installs the engine that Fit and Load use.
func RegisterEngine(e Engine) {
	registered.Lock()
	defer registered.Unlock()
	registered.engine = e
}

func newNetwork(c Config, opt train.Options) (Network, error) {
	registered.Lock()
	engine := registered.engine
	registered.Unlock()
	if engine == nil {
		return nil, errors.New(`no engine is linked: add the blank import _ "github.com/rooflab/rooflab/modeling/llmperf/gomlx"`)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return engine(c, opt)
}
