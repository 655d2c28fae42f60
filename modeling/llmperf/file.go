package llmperf

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/tokenize"
	"github.com/rooflab/rooflab/modeling/train"
)

func init() { predict.Register(kindName, decode) }

// The files of a folder.
const (
	predictorFile = "predictor.json"
	weightsFile   = "weights.safetensors"
)

// weightsRef says where the weights are: in a file beside, of this hash over
// names, types, dimensions and data, or here, as float32 by name.
type weightsRef struct {
	File   string            `json:"file,omitempty"`
	SHA256 string            `json:"sha256"`
	Here   map[string]tensor `json:"here,omitempty"`
}

type tensor struct {
	DType string `json:"dtype"`
	Dims  []int  `json:"dims"`
	Data  string `json:"data"` // base64
}

type written struct {
	Config      Config              `json:"config"`
	Scale       predict.Scale       `json:"scale"`
	Mean        float64             `json:"mean"`
	SD          float64             `json:"sd"`
	Lengths     []int               `json:"lengths"`
	Description predict.Description `json:"description"`
	Precision   string              `json:"precision,omitempty"`
	Record      *train.Record       `json:"record,omitempty"`
	Tokenizer   string              `json:"tokenizer"` // the text of its file, whose every byte counts
	Weights     weightsRef          `json:"weights"`
}

// learnt is the part of a network's state that predictions need: the
// weights, without the optimiser's moments and the random generator.
func learnt(s train.State) train.State {
	var out train.State
	for _, t := range s {
		if !slices.ContainsFunc([]string{"/optim", "/adamw", "/rng", "/trainer", "optim", "/#"}, func(p string) bool { return strings.HasPrefix(strings.ToLower(t.Name), p) }) {
			out = append(out, t)
		}
	}
	return out
}

func hash(s train.State) string {
	h := sha256.New()
	for _, t := range s {
		fmt.Fprintf(h, "%q %s %v\n", t.Name, t.DType, t.Dims)
		h.Write(t.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// MarshalJSON writes the model as one document, weights included. Save writes
// them beside it.
func (m *Model) MarshalJSON() ([]byte, error) {
	s, err := m.state()
	if err != nil {
		return nil, err
	}
	w := weightsRef{SHA256: hash(s), Here: map[string]tensor{}}
	for _, t := range s {
		w.Here[t.Name] = tensor{t.DType, t.Dims, base64.StdEncoding.EncodeToString(t.Data)}
	}
	return m.marshal(w)
}

func (m *Model) state() (train.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.network == nil {
		return nil, errUnread
	}
	return weightsOf(m.network)
}

func (m *Model) marshal(w weightsRef) ([]byte, error) {
	var t bytes.Buffer
	if err := m.tokenizer.Write(&t); err != nil {
		return nil, err
	}
	out := written{m.shape, m.scale, m.mean, m.sd, m.lengths, m.description, "", nil, t.String(), w}
	if m.Result != nil {
		out.Record, out.Precision = &m.Result.Record, m.Result.Record.Settings.Precision
	}
	return json.Marshal(out)
}

// beside is a model whose weights are in a file.
type beside struct {
	*Model
	ref weightsRef
}

func (b beside) MarshalJSON() ([]byte, error) { return b.marshal(b.ref) }

// only is the one network that a model is, or that is among its parts.
func only(m predict.Model) (*Model, error) {
	var found []*Model
	predict.Each(m, func(part predict.Model) {
		if n, ok := part.(*Model); ok && !slices.Contains(found, n) {
			found = append(found, n)
		}
	})
	if len(found) != 1 {
		return nil, fmt.Errorf("the model is of the kind %q with %d networks, want one %q, alone or as a part", m.Describe().Kind, len(found), kindName)
	}
	return found[0], nil
}

// Save writes a predictor whose Model is one of this package, or has one among its
// parts (predict.Compound), into a folder, which is made: predictor.json, and
// weights.safetensors, which Python's safetensors reads. A model without intervals
// is &predict.Fitted{Model: m}. A model that is in the folder stays as it is where
// there is no space for the new one.
func Save(dir string, f *predict.Fitted) error {
	m, err := only(f.Model)
	if err != nil {
		return fmt.Errorf("saving to %s: %w", dir, err)
	}
	if err := m.save(dir, f); err != nil {
		return fmt.Errorf("saving %s to %s: %w", kindName, dir, err)
	}
	return nil
}

// save writes both files before either takes the place of an earlier model's.
func (m *Model) save(dir string, f *predict.Fitted) (err error) {
	s, err := m.state()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	g := *f
	g.Model = predict.Replace(f.Model, func(part predict.Model) predict.Model {
		if part == predict.Model(m) {
			return beside{m, weightsRef{File: weightsFile, SHA256: hash(s)}}
		}
		return part
	})
	file, err := os.Create(filepath.Join(dir, predictorFile+".new"))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if err := predict.Save(file, &g); err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := train.WriteFile(filepath.Join(dir, weightsFile), s, kindName); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(dir, predictorFile))
}

// Load reads what Save wrote. On the backend it was trained on it predicts the
// same, bit by bit; backend is as in train.Options, empty for the best there is.
func Load(dir, backend string) (f *predict.Fitted, err error) {
	defer func() {
		if err != nil {
			f, err = nil, fmt.Errorf("reading the model in %s: %w", dir, err)
		}
	}()
	raw, err := os.ReadFile(filepath.Join(dir, predictorFile))
	if err != nil {
		return nil, err
	}
	if f, err = predict.Load(bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	m, err := only(f.Model)
	if err != nil {
		return nil, err
	}
	if m.weights == nil {
		return f, nil
	}
	s, _, err := train.ReadFile(filepath.Join(dir, filepath.Base(m.weights.File)))
	if err != nil {
		return nil, err
	}
	return f, m.open(s, backend)
}

// decode is the predict.Codec.
func decode(raw json.RawMessage) (predict.Model, error) {
	var w written
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, err
	}
	m := &Model{shape: w.Config, scale: w.Scale, mean: w.Mean, sd: w.SD, lengths: w.Lengths, description: w.Description, weights: &w.Weights}
	if err := w.Config.check(); err != nil {
		return nil, err
	}
	if err := w.Scale.Check(); err != nil {
		return nil, err
	}
	if w.Scale.Width() != w.Config.Side || !(w.SD > 0) || math.IsInf(w.SD, 0) || math.IsNaN(w.Mean) || math.IsInf(w.Mean, 0) {
		return nil, errors.New("the scales of inputs and target do not fit the network")
	}
	if len(w.Lengths) == 0 || !slices.IsSorted(w.Lengths) || w.Lengths[0] < 1 || w.Lengths[len(w.Lengths)-1] > w.Config.Context {
		return nil, fmt.Errorf("the lengths %v do not fit a context of %d tokens", w.Lengths, w.Config.Context)
	}
	var err error
	if m.tokenizer, err = tokenize.Read(strings.NewReader(w.Tokenizer)); err != nil {
		return nil, err
	}
	if m.tokenizer.Size() != w.Config.Vocab {
		return nil, fmt.Errorf("the tokenizer has %d ids, the network %d", m.tokenizer.Size(), w.Config.Vocab)
	}
	m.Result = &train.Result{}
	if w.Record != nil {
		m.Result.Record = *w.Record
	}
	m.Result.Record.Settings.Precision = w.Precision
	if w.Weights.Here == nil {
		return m, nil
	}
	var s train.State
	for name, t := range w.Weights.Here {
		data, err := base64.StdEncoding.DecodeString(t.Data)
		if err != nil {
			return nil, fmt.Errorf("the weights %s: %w", name, err)
		}
		s = append(s, train.Tensor{Name: name, DType: t.DType, Dims: t.Dims, Data: data})
	}
	return m, m.open(s, "")
}

// open builds the network and gives it its weights.
func (m *Model) open(s train.State, backend string) error {
	slices.SortFunc(s, func(a, b train.Tensor) int { return strings.Compare(a.Name, b.Name) })
	if got := hash(s); got != m.weights.SHA256 {
		return fmt.Errorf("the weights are of another model, or changed: their hash begins with %.12s, the model names %.12s", got, m.weights.SHA256)
	}
	n, err := newNetwork(m.shape, train.Options{Backend: backend, Precision: m.Result.Record.Settings.Precision, Steps: 1, Quiet: true})
	if err != nil {
		return err
	}
	if err := fill(n, m, s); err != nil {
		n.Close()
		return err
	}
	m.network, m.weights = n, nil
	return nil
}

func fill(n Network, m *Model, s train.State) error {
	d := &encoded{tokenizer: m.tokenizer, rows: []tokenize.Encoding{{IDs: []int32{0}, Log2: []float32{float32(math.NaN())}, Spans: []tokenize.Span{{Start: -1, End: -1}}}},
		side: [][]float32{make([]float32, m.shape.Side)}, width: m.shape.Side}
	if m.shape.Counts {
		d.counts = [][]float32{{0}}
	}
	b, err := d.Batch([]int{0}, m.lengths[0])
	t, tuned := n.(Tuner)
	if err == nil && tuned {
		err = t.Start(s)
	}
	if err == nil {
		err = n.Prepare(b)
	}
	if err == nil && tuned {
		w, err := weightsOf(n)
		if err != nil {
			return err
		}
		return s.Fit(w)
	}
	if err != nil {
		return err
	}
	state, err := n.State()
	if err != nil {
		return err
	}
	if err := s.Fit(learnt(state)); err != nil {
		return err
	}
	byName := map[string]train.Tensor{}
	for _, t := range s {
		byName[t.Name] = t
	}
	for i, t := range state {
		if w, ok := byName[t.Name]; ok {
			state[i] = w
		}
	}
	return n.SetState(state)
}
