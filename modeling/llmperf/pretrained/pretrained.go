// Package pretrained reads language models that others trained, for fine-tuning:
// decoders of Llama's kind, from GGUF files (versions 2 and 3, as llama.cpp
// writes them) and from safetensors files with the config.json and
// tokenizer.json of Hugging Face beside them.
//
//	file or folder -> Open -> Model: Config, Tokenizer, Weights
//
// In flows a path. Out flow the shape of the network, the tokenizer, and weights
// in float32 whose names and layout are the same whatever they were stored as.
// Nothing is read that would be computed differently from what the file means:
// other architectures, scaled rotary embeddings and unknown quantisations are
// errors, as is a file that was cut off.
package pretrained

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/tokenize"
	"github.com/rooflab/rooflab/modeling/train"
)

// Config is the shape of a decoder of Llama's kind (Touvron et al. 2023): RMS
// norms before attention and feed-forward layer, rotary positions (Su et al.
// 2021) whose pairs are an index and that half a head further, keys and values
// shared by groups of heads (Ainslie et al. 2023), SwiGLU (Shazeer 2020).
type Config struct {
	Architecture string  `json:"architecture"` // llama, mistral, qwen2
	Vocab        int     `json:"vocab"`        // rows of the embeddings
	Context      int     `json:"context"`      // tokens at most
	Width        int     `json:"width"`
	Layers       int     `json:"layers"`
	Heads        int     `json:"heads"`      // of queries
	KVHeads      int     `json:"kv_heads"`   // of keys and values
	HeadWidth    int     `json:"head_width"` // of one head
	Inner        int     `json:"inner"`      // width within a feed-forward layer
	Epsilon      float64 `json:"epsilon"`    // of the norms
	Theta        float64 `json:"theta"`      // base of the rotary frequencies
	Bias         bool    `json:"bias,omitempty"`
	// Begin is the special token that sequences begin with, "" for none.
	Begin string `json:"begin,omitempty"`
}

// A Model is an open file, or several.
type Model struct {
	Name   string // of the file, or of the folder
	SHA256 string // of the file; of several, of their hashes
	Config Config

	tokenizer *tokenize.Tokenizer
	bytes     int // tokens that were added for bytes without one
	source    source
}

// source is where weights come from: a format.
type source interface {
	// tensor reads one as float32, rows of outputs; dims is what it must be.
	tensor(name string, dims ...int) ([]float32, error)
	has(name string) bool
	// names are the format's for ours.
	names() map[string]string
	// halves says whether rotary pairs are an index and that half a head
	// further; else they are neighbours.
	halves() bool
	io.Closer
}

// Open reads what a model is: a .gguf file, a .safetensors file with config.json
// and tokenizer.json beside it, or a folder with either. Weights are read later.
func Open(path string) (m *Model, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("opening the pre-trained model %s: %w", path, err)
		}
	}()
	file, err := find(path)
	if err != nil {
		return nil, err
	}
	m = &Model{Name: filepath.Base(path)}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".gguf":
		err = m.openGGUF(file)
	default:
		err = m.openSafetensors(file)
	}
	if err == nil {
		err = m.check()
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// The names of files in folders of Hugging Face.
const (
	configFile    = "config.json"
	tokenizerFile = "tokenizer.json"
	weightsFile   = "model.safetensors"
	indexFile     = "model.safetensors.index.json"
)

// find is the file that a path leads to.
func find(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		switch ext := strings.ToLower(filepath.Ext(path)); {
		case ext == ".gguf", ext == ".safetensors", filepath.Base(path) == indexFile:
			return path, nil
		default:
			return "", fmt.Errorf("the name ends with %q: a .gguf or .safetensors file, or a folder with one, is expected", ext)
		}
	}
	for _, name := range []string{indexFile, weightsFile} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return filepath.Join(path, name), nil
		}
	}
	found, err := filepath.Glob(filepath.Join(path, "*.gguf"))
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("the folder has neither %s nor %s nor a .gguf file", weightsFile, indexFile)
	}
	return "", fmt.Errorf("the folder has %d .gguf files: name one of them", len(found))
}

// Tokenizer is the model's own.
func (m *Model) Tokenizer() *tokenize.Tokenizer { return m.tokenizer }

// Close closes the files.
func (m *Model) Close() {
	if m.source != nil {
		_ = m.source.Close() // nothing was written
		m.source = nil
	}
}

// check looks at what has to fit.
func (m *Model) check() error {
	c := m.Config
	for _, s := range []struct {
		what     string
		n, limit int
	}{
		{"vocabulary", c.Vocab, 1 << 20}, {"context", c.Context, 1 << 24}, {"width", c.Width, 1 << 16}, {"number of layers", c.Layers, 1 << 10},
		{"number of heads", c.Heads, 1 << 10}, {"number of heads of keys", c.KVHeads, 1 << 10}, {"width of a head", c.HeadWidth, 1 << 12}, {"inner width", c.Inner, 1 << 20},
	} {
		if s.n < 1 || s.n > s.limit {
			return fmt.Errorf("its %s is %d, which is missing or out of reason (1 to %d)", s.what, s.n, s.limit)
		}
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("%d heads cannot share %d heads of keys evenly", c.Heads, c.KVHeads)
	case c.HeadWidth%2 != 0:
		return fmt.Errorf("a head of width %d has no rotary pairs: an even one is expected", c.HeadWidth)
	case !(c.Epsilon > 0 && c.Epsilon < 1):
		return fmt.Errorf("the epsilon of its norms is %g, which is missing or out of reason", c.Epsilon)
	case !(c.Theta > 1 && c.Theta < 1e12):
		return fmt.Errorf("the base of its rotary embeddings is %g, which is out of reason", c.Theta)
	case m.tokenizer.Size() > c.Vocab+m.bytes:
		return fmt.Errorf("its tokenizer has %d ids and its embeddings %d rows: they are of different models", m.tokenizer.Size(), c.Vocab)
	}
	if _, ok := m.tokenizer.Special(tokenize.Pad); !ok {
		return fmt.Errorf("its tokenizer has no token to fill batches with (such as <|endoftext|>, </s> or <|pad|>)")
	}
	return nil
}

// Weights reads the embeddings, the first layers (0: all of them) and the last
// norm, float32 each, rows of outputs first:
//
//	/tokens/embeddings                              [vocab, width]
//	/layer_I/norm1/gain, /layer_I/norm2/gain        [width]
//	/layer_I/query/weights                          [heads * head width, width]
//	/layer_I/key/weights, /layer_I/value/weights    [kv heads * head width, width]
//	/layer_I/query/biases ...                       of queries, keys and values, with Config.Bias
//	/layer_I/output/weights                         [width, heads * head width]
//	/layer_I/gate/weights, /layer_I/up/weights      [inner, width]
//	/layer_I/down/weights                           [width, inner]
//	/norm/gain                                      [width]
//
// The vocabulary is the tokenizer's: rows of embeddings beyond it are left out,
// and those of bytes that the model has no token for are zero.
func (m *Model) Weights(layers int) (train.State, error) {
	if layers == 0 {
		layers = m.Config.Layers
	}
	if layers < 1 || layers > m.Config.Layers {
		return nil, fmt.Errorf("reading the weights of %s: %d layers are asked for, there are %d", m.Name, layers, m.Config.Layers)
	}
	if m.source == nil {
		return nil, fmt.Errorf("reading the weights of %s: it was closed", m.Name)
	}
	c := m.Config
	var out train.State
	read := func(ours string, layer, heads int, dims ...int) error {
		theirs := m.source.names()[ours]
		name, path := theirs, "/"+ours
		if layer >= 0 {
			name, path = fmt.Sprintf(theirs, layer), fmt.Sprintf("/layer_%d/%s", layer, ours)
		}
		data, err := m.source.tensor(name, dims...)
		if err != nil {
			return fmt.Errorf("reading the weights of %s: %w", m.Name, err)
		}
		if heads > 0 && !m.source.halves() {
			data = neighboursToHalves(data, heads, dims)
		}
		if ours == "tokens/embeddings" {
			dims[0] = m.tokenizer.Size()
			data = append(data, make([]float32, m.bytes*c.Width)...)[:dims[0]*dims[1]]
		}
		out = append(out, train.Tensor{Name: path, DType: "F32", Dims: dims, Data: littleEndian(data)})
		return nil
	}
	q, kv := c.Heads*c.HeadWidth, c.KVHeads*c.HeadWidth
	err := read("tokens/embeddings", -1, 0, c.Vocab, c.Width)
	for i := 0; i < layers && err == nil; i++ {
		all := []error{
			read("norm1/gain", i, 0, c.Width), read("query/weights", i, c.Heads, q, c.Width), read("key/weights", i, c.KVHeads, kv, c.Width),
			read("value/weights", i, 0, kv, c.Width), read("output/weights", i, 0, c.Width, q), read("norm2/gain", i, 0, c.Width),
			read("gate/weights", i, 0, c.Inner, c.Width), read("up/weights", i, 0, c.Inner, c.Width), read("down/weights", i, 0, c.Width, c.Inner),
		}
		if c.Bias {
			all = append(all, read("query/biases", i, c.Heads, q), read("key/biases", i, c.KVHeads, kv), read("value/biases", i, 0, kv))
		}
		if at := slices.IndexFunc(all, func(e error) bool { return e != nil }); at >= 0 {
			err = all[at]
		}
	}
	if err == nil {
		err = read("norm/gain", -1, 0, c.Width)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// neighboursToHalves sorts the rows of each head so that rotary pairs, which are
// rows 2i and 2i+1, become rows i and i + half a head.
func neighboursToHalves(x []float32, heads int, dims []int) []float32 {
	out := make([]float32, len(x))
	columns := 1
	if len(dims) > 1 {
		columns = dims[1]
	}
	each := dims[0] / heads
	for h := range heads {
		for i := range each {
			to, from := h*each+i%2*(each/2)+i/2, h*each+i
			copy(out[to*columns:(to+1)*columns], x[from*columns:(from+1)*columns])
		}
	}
	return out
}

// hashFile is the SHA-256 of a file.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

var errHuge = errors.New("it is larger than any model's")
