// Package pretrainedtest writes small models of the kind that package pretrained
// reads, for tests: as a GGUF file, and as a folder of Hugging Face.
package pretrainedtest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Model is the shape of a decoder, and what is wrong with it on purpose.
type Model struct {
	Vocab, Context, Width, Layers, Heads, KVHeads, HeadWidth, Inner int

	Architecture string
	Bias         bool
	// Edit changes a GGUF file's keys and tensors before they are written.
	Edit func(keys map[string]any, tensors map[string]Tensor)
	// EditConfig changes a config.json, EditTokenizer a tokenizer.json.
	EditConfig, EditTokenizer func(map[string]any)
}

// Tensor is what is stored under a name.
type Tensor struct {
	Dims []int // rows first
	Kind uint32
	Data []byte
}

// Tiny is a model of two layers whose tokens are the 256 bytes, merges of some,
// and special ones. Its weights are sines: of value i of tensor t, in the order
// of package pretrained, sin(0.7 i + t) / 4, of a gain 1 + sin(0.7 i + t) / 10.
func Tiny() Model {
	return Model{Vocab: 272, Context: 256, Width: 8, Layers: 2, Heads: 2, KVHeads: 1, HeadWidth: 4, Inner: 12, Architecture: "llama"}
}

type weights struct {
	name string // of Hugging Face
	gguf string
	dims []int
	data []float32
	turn int // heads whose rows llama.cpp's converter sorts
}

// tensors are all weights.
func (m Model) tensors() []weights {
	var out []weights
	add := func(name, gguf string, turn int, dims ...int) {
		n := 1
		for _, d := range dims {
			n *= d
		}
		w := weights{name: name, gguf: gguf, dims: dims, turn: turn}
		for i := range n {
			v := math.Sin(0.7*float64(i)+float64(len(out))) / 4
			if len(dims) == 1 {
				v = 1 + v*4/10
			}
			w.data = append(w.data, float32(v))
		}
		out = append(out, w)
	}
	q, kv := m.Heads*m.HeadWidth, m.KVHeads*m.HeadWidth
	add("model.embed_tokens.weight", "token_embd.weight", 0, m.Vocab, m.Width)
	for i := range m.Layers {
		l, b := fmt.Sprintf("model.layers.%d.", i), fmt.Sprintf("blk.%d.", i)
		add(l+"input_layernorm.weight", b+"attn_norm.weight", 0, m.Width)
		add(l+"self_attn.q_proj.weight", b+"attn_q.weight", m.Heads, q, m.Width)
		add(l+"self_attn.k_proj.weight", b+"attn_k.weight", m.KVHeads, kv, m.Width)
		add(l+"self_attn.v_proj.weight", b+"attn_v.weight", 0, kv, m.Width)
		add(l+"self_attn.o_proj.weight", b+"attn_output.weight", 0, m.Width, q)
		add(l+"post_attention_layernorm.weight", b+"ffn_norm.weight", 0, m.Width)
		add(l+"mlp.gate_proj.weight", b+"ffn_gate.weight", 0, m.Inner, m.Width)
		add(l+"mlp.up_proj.weight", b+"ffn_up.weight", 0, m.Inner, m.Width)
		add(l+"mlp.down_proj.weight", b+"ffn_down.weight", 0, m.Width, m.Inner)
		if m.Bias {
			add(l+"self_attn.q_proj.bias", b+"attn_q.bias", m.Heads, q)
			add(l+"self_attn.k_proj.bias", b+"attn_k.bias", m.KVHeads, kv)
			add(l+"self_attn.v_proj.bias", b+"attn_v.bias", 0, kv)
		}
	}
	add("model.norm.weight", "output_norm.weight", 0, m.Width)
	return out
}

// vocabulary is <|endoftext|>, the bytes, and merges.
func (m Model) vocabulary() (tokens, merges []string) {
	tokens = []string{"<|endoftext|>"}
	for b := range 256 {
		tokens = append(tokens, byteSpelling(byte(b)))
	}
	for _, pair := range [][2]string{{"i", "n"}, {"in", "t"}, {"f", "l"}, {"o", "a"}, {"fl", "oa"}, {"floa", "t"}, {"r", "e"}, {"re", "t"}, {"/", "/"}, {"Ġ", "="}} {
		tokens, merges = append(tokens, pair[0]+pair[1]), append(merges, pair[0]+" "+pair[1])
	}
	return tokens, merges
}

// byteSpelling is GPT-2's character for a byte.
func byteSpelling(b byte) string {
	printable := func(b int) bool { return b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae }
	if printable(int(b)) {
		return string(rune(b))
	}
	extra := 0
	for i := range int(b) {
		if !printable(i) {
			extra++
		}
	}
	return string(rune(256 + extra))
}

// GGUF writes the model to a file.
func (m Model) GGUF(t testing.TB, path string) {
	t.Helper()
	tokens, merges := m.vocabulary()
	kinds := make([]int32, len(tokens))
	for i := range kinds {
		kinds[i] = 1
	}
	kinds[0] = 3
	a := m.Architecture + "."
	keys := map[string]any{"general.architecture": m.Architecture, a + "block_count": uint32(m.Layers), a + "context_length": uint32(m.Context), a + "embedding_length": uint32(m.Width),
		a + "feed_forward_length": uint32(m.Inner), a + "attention.head_count": uint32(m.Heads), a + "attention.head_count_kv": uint32(m.KVHeads), a + "attention.key_length": uint32(m.HeadWidth),
		a + "attention.value_length": uint32(m.HeadWidth), a + "rope.dimension_count": uint32(m.HeadWidth), a + "rope.freq_base": float32(10000), a + "attention.layer_norm_rms_epsilon": float32(1e-5),
		"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": merges, "tokenizer.ggml.token_type": kinds,
		"tokenizer.ggml.bos_token_id": uint32(0), "tokenizer.ggml.add_bos_token": true}
	tensors := map[string]Tensor{}
	for _, w := range m.tensors() {
		data := w.data
		if w.turn > 0 && m.Architecture == "llama" {
			data = turned(w)
		}
		tensors[w.gguf] = Tensor{Dims: w.dims, Data: floats(data)}
	}
	if m.Edit != nil {
		m.Edit(keys, tensors)
	}
	if err := os.WriteFile(path, gguf(keys, tensors), 0o644); err != nil {
		t.Fatal(err)
	}
}

// turned sorts the rows of each head as llama.cpp's converter does: of rows i and i +
// half a head, which are a rotary pair, neighbours are made.
func turned(w weights) []float32 {
	out := make([]float32, 0, len(w.data))
	columns := len(w.data) / w.dims[0]
	each := w.dims[0] / w.turn
	for h := range w.turn {
		for i := range each / 2 {
			for _, row := range []int{h*each + i, h*each + i + each/2} {
				out = append(out, w.data[row*columns:(row+1)*columns]...)
			}
		}
	}
	return out
}

func floats(x []float32) []byte {
	var out []byte
	for _, v := range x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

func gguf(keys map[string]any, tensors map[string]Tensor) []byte {
	var b bytes.Buffer
	put := func(vs ...any) {
		for _, v := range vs {
			_ = binary.Write(&b, binary.LittleEndian, v) // into memory
		}
	}
	text := func(s string) { put(uint64(len(s)), []byte(s)) }
	b.WriteString("GGUF")
	put(uint32(3), uint64(len(tensors)), uint64(len(keys)))
	for _, k := range sorted(keys) {
		text(k)
		switch v := keys[k].(type) {
		case string:
			put(uint32(8))
			text(v)
		case uint32:
			put(uint32(4), v)
		case float32:
			put(uint32(6), v)
		case bool:
			put(uint32(7), v)
		case []int32:
			put(uint32(9), uint32(5), uint64(len(v)), v)
		case []string:
			put(uint32(9), uint32(8), uint64(len(v)))
			for _, s := range v {
				text(s)
			}
		default:
			panic(fmt.Sprintf("a key of type %T", v))
		}
	}
	at := 0
	for _, name := range sorted(tensors) {
		t := tensors[name]
		text(name)
		put(uint32(len(t.Dims)))
		for _, d := range slices.Backward(t.Dims) {
			put(uint64(d))
		}
		put(t.Kind, uint64(at))
		at += (len(t.Data) + 31) / 32 * 32
	}
	pad := func() { b.Write(make([]byte, (32-b.Len()%32)%32)) }
	pad()
	for _, name := range sorted(tensors) {
		b.Write(tensors[name].Data)
		pad()
	}
	return b.Bytes()
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// HuggingFace writes the model to a folder, which is there, in as many files of
// weights as said.
func (m Model) HuggingFace(t testing.TB, dir string, files int) {
	t.Helper()
	write := func(name string, v any) {
		raw, ok := v.([]byte)
		if !ok {
			var err error
			if raw, err = json.Marshal(v); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := map[string]any{"model_type": m.Architecture, "vocab_size": m.Vocab, "max_position_embeddings": m.Context, "hidden_size": m.Width, "num_hidden_layers": m.Layers,
		"num_attention_heads": m.Heads, "num_key_value_heads": m.KVHeads, "head_dim": m.HeadWidth, "intermediate_size": m.Inner, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
		"rope_scaling": nil, "hidden_act": "silu"}
	if m.EditConfig != nil {
		m.EditConfig(config)
	}
	write("config.json", config)
	tokens, merges := m.vocabulary()
	vocab := map[string]any{}
	for i, s := range tokens {
		vocab[s] = i
	}
	type object = map[string]any
	tokenizer := object{"version": "1.0", "added_tokens": []object{{"id": 0, "content": "<|endoftext|>", "special": true}},
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{{"type": "Digits", "individual_digits": true},
			{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}}},
		"post_processor": object{"type": "TemplateProcessing", "single": []object{{"SpecialToken": object{"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": object{"id": "A", "type_id": 0}}}},
		"model":          object{"type": "BPE", "vocab": vocab, "merges": merges}}
	if m.EditTokenizer != nil {
		m.EditTokenizer(tokenizer)
	}
	write("tokenizer.json", tokenizer)
	all := m.tensors()
	index := map[string]string{}
	for i := range files {
		name := "model.safetensors"
		if files > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, files)
		}
		header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
		var data []byte
		for j, w := range all {
			if j%files != i {
				continue
			}
			header[w.name] = object{"dtype": "F32", "shape": w.dims, "data_offsets": []int{len(data), len(data) + 4*len(w.data)}}
			data = append(data, floats(w.data)...)
			index[w.name] = name
		}
		head, err := json.Marshal(header)
		if err != nil {
			t.Fatal(err)
		}
		write(name, slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head, data))
	}
	if files > 1 {
		write("model.safetensors.index.json", map[string]any{"weight_map": index})
	}
}
