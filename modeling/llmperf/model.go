package llmperf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/tokenize"
	"github.com/rooflab/rooflab/modeling/train"
)

const kindName = "LLMPerf"

// Model is a trained network with all that it needs to read a launch. It is a
// predict.Model and a predict.Spread, and may be used by several goroutines,
// one after the other of which it serves.
type Model struct {
	// Result is the training run; of a model that was loaded only its Record.
	Result *train.Result

	mu          sync.Mutex
	network     Network
	tokenizer   *tokenize.Tokenizer
	shape       Config
	scale       predict.Scale // of the side inputs
	mean, sd    float64       // of the logarithm of the target, in training
	lengths     []int         // buckets
	description predict.Description
	weights     *weightsRef // where the weights are, of a model that Load is to complete
}

var errUnread = errors.New("the weights of this LLMPerf model are in a file of their own: read it with llmperf.Load")

// Config is the shape of the network.
func (m *Model) Config() Config { return m.shape }

// Tokenizer is what sources are read with.
func (m *Model) Tokenizer() *tokenize.Tokenizer { return m.tokenizer }

// Backend says where the network runs.
func (m *Model) Backend() string {
	if m.network == nil {
		return ""
	}
	return m.network.About().Backend
}

// Close frees the network. Nothing works afterwards.
func (m *Model) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.network != nil {
		m.network.Close()
		m.network = nil
	}
}

// Describe implements predict.Model.
func (m *Model) Describe() predict.Description { return m.description }

// encoder reads launches for the network.
func (m *Model) encoder() Encoder {
	c := Encoder{Tokenizer: m.tokenizer, Limit: m.lengths[len(m.lengths)-1]}
	if b := m.shape.Base; b != nil {
		c.Begin = b.Begin
	}
	return c
}

// encode is a table for the network, without targets.
func (m *Model) encode(ctx context.Context, e *predict.Examples) (*encoded, error) {
	d, err := encodeTable(ctx, m.encoder(), m.scale, e)
	if err == nil && m.shape.Counts {
		d.counts, err = m.executions(ctx, e, d.rows)
	}
	return d, err
}

func encodeTable(ctx context.Context, c Encoder, scale predict.Scale, e *predict.Examples) (*encoded, error) {
	d := &encoded{tokenizer: c.Tokenizer, width: scale.Width()}
	for r := range e.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := row(e, r)
		if err != nil {
			return nil, err
		}
		t, err := c.Encode(x)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", r, err)
		}
		d.rows = append(d.rows, t)
	}
	if d.width > 0 {
		side, err := scale.Table(e)
		if err != nil {
			return nil, err
		}
		for _, s := range side {
			f := make([]float32, len(s))
			for i, v := range s {
				f[i] = float32(v)
			}
			d.side = append(d.side, f)
		}
	}
	return d, nil
}

// together is how many launches are predicted at once. One alone is computed
// alone; other batches are filled up, so that few programs are compiled.
const together = 32

// locate gives location and scale of log time for each row.
func (m *Model) locate(ctx context.Context, d *encoded) (location, scale []float64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.network == nil {
		return nil, nil, errUnread
	}
	location, scale = make([]float64, d.Len()), make([]float64, d.Len())
	batch := together
	if d.Len() == 1 {
		batch = 1
	}
	for _, p := range train.All(d, m.lengths, batch) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		ids := append([]int{}, p.IDs...)
		for len(ids) < batch {
			ids = append(ids, p.IDs[0])
		}
		b, err := d.Batch(ids, p.Length)
		if err != nil {
			return nil, nil, err
		}
		out, err := m.network.Predict(b)
		if err != nil {
			return nil, nil, err
		}
		for i, id := range p.IDs {
			location[id] = m.mean + m.sd*float64(out[0].Float32[i])
			scale[id] = m.sd * float64(out[1].Float32[i])
			if math.IsNaN(location[id]) || math.IsInf(location[id], 0) || !(scale[id] > 0) || math.IsInf(scale[id], 0) {
				return nil, nil, fmt.Errorf("row %d: the network gives %g with a scale of %g, which are no numbers to use: the weights are damaged", id, location[id], scale[id])
			}
		}
	}
	return location, scale, nil
}

// Log implements predict.Model: it gives the logarithm of seconds for each row
// of a table that Table made.
func (m *Model) Log(ctx context.Context, e *predict.Examples) ([]float64, error) {
	location, _, err := m.both(ctx, e)
	return location, err
}

// Spread implements predict.Spread: the scale of the distribution that the
// network gives, which is the same below and above.
func (m *Model) Spread(ctx context.Context, e *predict.Examples) (below, above []float64, err error) {
	_, scale, err := m.both(ctx, e)
	return scale, scale, err
}

func (m *Model) both(ctx context.Context, e *predict.Examples) (location, scale []float64, err error) {
	if m.weights != nil {
		return nil, nil, fmt.Errorf("predicting by %s: %w", kindName, errUnread)
	}
	d, err := m.encode(ctx, e)
	if err == nil {
		location, scale, err = m.locate(ctx, d)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("predicting by %s: %w", kindName, err)
	}
	return location, scale, nil
}

// Predict predicts one launch with an interval of a level between 0 and 1, by a
// Model in a predict.Fitted, or by any other predictor of tables.
func Predict(ctx context.Context, p predict.Predictor, x Example, level float64) (predict.Prediction, error) {
	x.Seconds = unknown()
	e, err := Table([]Example{x})
	if err != nil {
		return predict.Prediction{}, err
	}
	out, err := p.Predict(ctx, e, level)
	if err != nil {
		return predict.Prediction{}, err
	}
	return out[0], nil
}
