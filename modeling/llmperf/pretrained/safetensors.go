package pretrained

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// The format: the length of the header in eight bytes, the header, which is
// JSON, and the tensors' data, which it has the offsets of. All is
// little-endian.
const maxHeader = 100 << 20 // the format's own limit

type stTensor struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
	f       *os.File
	data    int64 // where the file's data begin
}

// stFiles are the tensors of one file or of several.
type stFiles struct {
	open    []*os.File
	tensors map[string]stTensor
}

var stTypes = map[string]block{"F32": blocks[typeF32], "F16": blocks[typeF16], "BF16": blocks[typeBF16]}

func (s *stFiles) add(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	s.open = append(s.open, f)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var n uint64
	if err := binary.Read(f, binary.LittleEndian, &n); err != nil || n > uint64(max(info.Size()-8, 0)) || n > maxHeader {
		return fmt.Errorf("%s is no safetensors file, or cut off: its %d bytes have no room for a header of %d", filepath.Base(path), info.Size(), n)
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(f, head); err != nil {
		return fmt.Errorf("the header of %s: %w", filepath.Base(path), err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(head, &raw); err != nil {
		return fmt.Errorf("the header of %s is no JSON: it is damaged: %w", filepath.Base(path), err)
	}
	delete(raw, "__metadata__")
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		t := stTensor{f: f, data: 8 + int64(n)}
		if err := json.Unmarshal(raw[name], &t); err != nil {
			return fmt.Errorf("the tensor %q in the header of %s: %w", name, filepath.Base(path), err)
		}
		if from, to := t.Offsets[0], t.Offsets[1]; from < 0 || to < from || to > info.Size()-t.data {
			return fmt.Errorf("the tensor %q has its data in bytes %d to %d of %d in %s: it is cut off or damaged: get it again", name, from, to, info.Size()-t.data, filepath.Base(path))
		}
		if _, twice := s.tensors[name]; twice {
			return fmt.Errorf("the tensor %q is in two files", name)
		}
		s.tensors[name] = t
	}
	return nil
}

func (s *stFiles) Close() error {
	var all []error
	for _, f := range s.open {
		all = append(all, f.Close())
	}
	return errors.Join(all...)
}

func (s *stFiles) has(name string) bool { _, ok := s.tensors[name]; return ok }

// halves implements source.
func (s *stFiles) halves() bool { return true }

func (s *stFiles) names() map[string]string {
	const layer = "model.layers.%d."
	return map[string]string{
		"tokens/embeddings": "model.embed_tokens.weight", "norm/gain": "model.norm.weight",
		"norm1/gain": layer + "input_layernorm.weight", "norm2/gain": layer + "post_attention_layernorm.weight",
		"query/weights": layer + "self_attn.q_proj.weight", "key/weights": layer + "self_attn.k_proj.weight", "value/weights": layer + "self_attn.v_proj.weight",
		"query/biases": layer + "self_attn.q_proj.bias", "key/biases": layer + "self_attn.k_proj.bias", "value/biases": layer + "self_attn.v_proj.bias",
		"output/weights": layer + "self_attn.o_proj.weight",
		"gate/weights":   layer + "mlp.gate_proj.weight", "up/weights": layer + "mlp.up_proj.weight", "down/weights": layer + "mlp.down_proj.weight",
	}
}

// tensor implements source.
func (s *stFiles) tensor(name string, dims ...int) ([]float32, error) {
	t, ok := s.tensors[name]
	if !ok {
		return nil, fmt.Errorf("there is no tensor %q", name)
	}
	if !slices.Equal(t.Shape, dims) {
		return nil, fmt.Errorf("the tensor %q has dimensions %v, want %v", name, t.Shape, dims)
	}
	block, ok := stTypes[t.DType]
	if !ok {
		return nil, fmt.Errorf("the tensor %q is stored as %s: %s can be read", name, t.DType, "BF16, F16, F32")
	}
	n := int64(1)
	for _, d := range dims {
		if n > math.MaxInt64/16/int64(max(d, 1)) {
			return nil, fmt.Errorf("the tensor %q: %w", name, errHuge)
		}
		n *= int64(d)
	}
	if have := t.Offsets[1] - t.Offsets[0]; have != n*int64(block.bytes) {
		return nil, fmt.Errorf("the tensor %q, %s of dimensions %v, takes %d bytes, the file has %d: it is damaged", name, t.DType, dims, n*int64(block.bytes), have)
	}
	raw := make([]byte, n*int64(block.bytes))
	if _, err := t.f.ReadAt(raw, t.data+t.Offsets[0]); err != nil {
		return nil, fmt.Errorf("the tensor %q: %w", name, err)
	}
	out := make([]float32, n)
	for i := range out {
		block.decode(raw[i*block.bytes:], out[i:i+1])
	}
	return out, finite(name, out)
}

// hfConfig is the part of a config.json that decides what is computed. In
// transformers 5 the rotary settings are in rope_parameters.
type hfConfig struct {
	ModelType string   `json:"model_type"`
	Vocab     int      `json:"vocab_size"`
	Context   int      `json:"max_position_embeddings"`
	Width     int      `json:"hidden_size"`
	Layers    int      `json:"num_hidden_layers"`
	Heads     int      `json:"num_attention_heads"`
	KVHeads   int      `json:"num_key_value_heads"`
	HeadWidth int      `json:"head_dim"`
	Inner     int      `json:"intermediate_size"`
	Epsilon   float64  `json:"rms_norm_eps"`
	Theta     float64  `json:"rope_theta"`
	Scaling   *hfRope  `json:"rope_scaling"`
	Rope      *hfRope  `json:"rope_parameters"`
	Act       string   `json:"hidden_act"`
	Bias      bool     `json:"attention_bias"`
	MLPBias   bool     `json:"mlp_bias"`
	Window    *int     `json:"sliding_window"`
	UseWindow *bool    `json:"use_sliding_window"`
	Partial   *float64 `json:"partial_rotary_factor"`
}

type hfRope struct {
	Type    string  `json:"rope_type"`
	OldType string  `json:"type"`
	Theta   float64 `json:"rope_theta"`
}

func (m *Model) openSafetensors(path string) error {
	dir := filepath.Dir(path)
	s := &stFiles{tensors: map[string]stTensor{}}
	m.source = s
	files := []string{path}
	if filepath.Base(path) == indexFile {
		var err error
		if files, err = shards(path); err != nil {
			return err
		}
	}
	all := sha256.New()
	for _, f := range files {
		if err := s.add(f); err != nil {
			return err
		}
		sum, err := hashFile(f)
		if err != nil {
			return err
		}
		m.SHA256 = sum
		_, _ = io.WriteString(all, sum)
	}
	if len(files) > 1 {
		m.SHA256 = hex.EncodeToString(all.Sum(nil))
	}
	raw, err := os.ReadFile(filepath.Join(dir, configFile))
	if err != nil {
		return fmt.Errorf("the shape of the model is in %s, which should be beside the weights: %w", configFile, err)
	}
	var c hfConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("%s: %w", configFile, err)
	}
	if m.Config, err = c.config(); err != nil {
		return fmt.Errorf("%s: %w", configFile, err)
	}
	f, err := os.Open(filepath.Join(dir, tokenizerFile))
	if err != nil {
		return fmt.Errorf("the tokenizer is in %s, which should be beside the weights: %w", tokenizerFile, err)
	}
	defer f.Close()
	raw, err = io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("%s: %w", tokenizerFile, err)
	}
	if m.tokenizer, m.bytes, err = readTokenizer(raw, m.Config.Vocab); err != nil {
		return err
	}
	m.Config.Begin, err = begin(raw, m.tokenizer)
	return err
}

// shards are the files that an index speaks of.
func shards(path string) ([]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	if len(index.Map) == 0 {
		return nil, fmt.Errorf("%s has no weight_map with the files of the weights", indexFile)
	}
	set := map[string]bool{}
	for _, f := range index.Map {
		if f != filepath.Base(f) {
			return nil, fmt.Errorf("%s speaks of the file %q: names within its folder are expected", indexFile, f)
		}
		set[filepath.Join(filepath.Dir(path), f)] = true
	}
	return slices.Sorted(maps.Keys(set)), nil
}

func (c hfConfig) config() (Config, error) {
	out := Config{Architecture: c.ModelType, Vocab: c.Vocab, Context: c.Context, Width: c.Width, Layers: c.Layers, Heads: c.Heads, KVHeads: c.KVHeads,
		HeadWidth: c.HeadWidth, Inner: c.Inner, Epsilon: c.Epsilon, Theta: c.Theta, Bias: c.ModelType == "qwen2"}
	switch c.ModelType {
	case "llama", "mistral", "qwen2":
	default:
		return out, unknownArchitecture(c.ModelType)
	}
	if out.KVHeads == 0 {
		out.KVHeads = c.Heads
	}
	if out.HeadWidth == 0 {
		out.HeadWidth = c.Width / max(c.Heads, 1)
	}
	for _, r := range []*hfRope{c.Rope, c.Scaling} {
		if r == nil {
			continue
		}
		if out.Theta == 0 {
			out.Theta = r.Theta
		}
		for _, kind := range []string{r.Type, r.OldType} {
			if kind != "" && kind != "default" {
				return out, fmt.Errorf("its rotary embeddings are scaled (%s), which is not known here", kind)
			}
		}
	}
	if out.Theta == 0 {
		out.Theta = 10000
	}
	if c.Window != nil && *c.Window > 0 && (c.UseWindow == nil || *c.UseWindow) {
		out.Context = min(out.Context, *c.Window) // within the window all of it is seen
	}
	switch {
	case c.Act != "" && c.Act != "silu":
		return out, fmt.Errorf("its activation is %q: silu is known", c.Act)
	case c.Bias, c.MLPBias:
		return out, errors.New("its layers have biases that are not known here (attention_bias, mlp_bias)")
	case c.Partial != nil && *c.Partial != 1:
		return out, fmt.Errorf("of its heads only the part %g is rotated: heads that are rotated as a whole can be read", *c.Partial)
	}
	return out, nil
}
