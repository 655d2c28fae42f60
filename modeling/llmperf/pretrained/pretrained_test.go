package pretrained_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/llmperf/pretrained"
	"github.com/rooflab/rooflab/modeling/llmperf/pretrained/pretrainedtest"
	"github.com/rooflab/rooflab/modeling/train"
)

func read(t *testing.T, path string, layers int) (*pretrained.Model, train.State) {
	t.Helper()
	m, err := pretrained.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	w, err := m.Weights(layers)
	if err != nil {
		t.Fatal(err)
	}
	return m, w
}

// The same model has the same weights, shape and tokens in every format. In GGUF
// the rows of queries and keys of llama are sorted otherwise, those of qwen2 are
// not.
func TestFormatsAgree(t *testing.T) {
	for _, arch := range []string{"llama", "qwen2"} {
		m := pretrainedtest.Tiny()
		m.Architecture, m.Bias = arch, arch == "qwen2"
		file, one, three := filepath.Join(t.TempDir(), "m.gguf"), t.TempDir(), t.TempDir()
		m.GGUF(t, file)
		m.HuggingFace(t, one, 1)
		m.HuggingFace(t, three, 3)
		want, weights := read(t, file, 0)
		if n := len(weights); n != 1+2*9+1 && !m.Bias || n != 1+2*12+1 && m.Bias {
			t.Errorf("%s: %d tensors", arch, n)
		}
		for _, path := range []string{filepath.Dir(file), one, filepath.Join(one, "model.safetensors"), three} {
			got, w := read(t, path, 0)
			if e := want.Config.Epsilon; math.Abs(got.Config.Epsilon-e) < 1e-6*e { // a float32 in GGUF
				got.Config.Epsilon = e
			}
			if !reflect.DeepEqual(w, weights) || got.Config != want.Config {
				t.Errorf("%s: %s gives another model: %+v, want %+v", arch, filepath.Base(path), got.Config, want.Config)
			}
			const text = "float x = 12; // hint\n"
			if a, b := got.Tokenizer().AppendIDs(nil, text), want.Tokenizer().AppendIDs(nil, text); !slices.Equal(a, b) {
				t.Errorf("%s: %s reads %v, want %v", arch, filepath.Base(path), a, b)
			}
		}
		if _, less := read(t, file, 1); len(less) >= len(weights) {
			t.Errorf("%s: one layer has %d tensors, two %d", arch, len(less), len(weights))
		}
	}
}

// Of 267 tokens the embeddings have 272 rows, of which those beyond are left out;
// of a byte without a token a row of zeros is made.
func TestEmbeddingsAreTheTokenizers(t *testing.T) {
	m := pretrainedtest.Tiny()
	path := filepath.Join(t.TempDir(), "m.gguf")
	m.GGUF(t, path)
	if got, w := read(t, path, 1); got.Tokenizer().Size() != 267 || w[0].Dims[0] != 267 || got.Config.Vocab != 272 {
		t.Errorf("%d tokens, %v embeddings of %d", got.Tokenizer().Size(), w[0].Dims, got.Config.Vocab)
	}
	m.Edit = func(keys map[string]any, _ map[string]pretrainedtest.Tensor) {
		tokens, ok := keys["tokenizer.ggml.tokens"].([]string)
		if !ok {
			t.Fatal("no tokens")
		}
		tokens[1+7] = "alarm" // in the place of the byte 7
	}
	m.GGUF(t, path)
	got, w := read(t, path, 1)
	ids := got.Tokenizer().AppendIDs(nil, "\x07")
	if len(ids) != 1 || ids[0] != 272 || w[0].Dims[0] != 273 || !bytes.Equal(w[0].Data[len(w[0].Data)-4*8:], make([]byte, 4*8)) {
		t.Errorf("the byte 7 is %v, embeddings of %v", ids, w[0].Dims)
	}
}

// Blocks and what gguf-py 0.17.1 (gguf.quants.dequantize) makes of them; the
// bytes are (37 i + 11) mod 251, but for the scales, which are binary16 numbers:
// see testdata/quantisation.py.
func TestQuantisationsAreReadAsGGMLMeansThem(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "quantisation.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name   string
		Kind   uint32
		Block  []byte
		Values []float32
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 10 {
		t.Fatalf("%d kinds", len(cases))
	}
	for _, c := range cases {
		m := pretrainedtest.Tiny()
		m.Width, m.HeadWidth, m.Layers = 256, 128, 1
		m.Edit = func(_ map[string]any, tensors map[string]pretrainedtest.Tensor) {
			data := bytes.Repeat(c.Block, m.Vocab*m.Width/len(c.Values))
			tensors["token_embd.weight"] = pretrainedtest.Tensor{Dims: []int{m.Vocab, m.Width}, Kind: c.Kind, Data: data}
		}
		path := filepath.Join(t.TempDir(), "m.gguf")
		m.GGUF(t, path)
		_, w := read(t, path, 1)
		got := make([]float32, len(c.Values))
		if err := binary.Read(bytes.NewReader(w[0].Data), binary.LittleEndian, got); err != nil {
			t.Fatal(err)
		}
		for i, v := range c.Values {
			if d := got[i] - v; d > 1e-6 || d < -1e-6 || d != d {
				t.Errorf("%s: value %d is %g, want %g", c.Name, i, got[i], v)
				break
			}
		}
	}
}

type (
	keys    = map[string]any
	tensors = map[string]pretrainedtest.Tensor
)

func TestWhatIsWrongWithAGGUFFileIsSaid(t *testing.T) {
	for want, edit := range map[string]func(keys, tensors){
		`architecture is "mamba"`:         func(k keys, _ tensors) { k["general.architecture"] = "mamba" },
		`no tensor "blk.1.attn_k.weight"`: func(_ keys, w tensors) { delete(w, "blk.1.attn_k.weight") },
		`no tensor "token_embd.weight"`:   func(_ keys, w tensors) { delete(w, "token_embd.weight") },
		"dimensions [8 8], want [4 8]":    func(k keys, w tensors) { w["blk.0.attn_k.weight"] = w["blk.0.attn_q.weight"] },
		"number of layers is 0":           func(k keys, _ tensors) { delete(k, "llama.block_count") },
		"cannot share":                    func(k keys, _ tensors) { k["llama.attention.head_count_kv"] = uint32(3) },
		"want one integer":                func(k keys, _ tensors) { k["llama.attention.head_count_kv"] = []int32{1, 1} },
		"there is no tokenizer":           func(k keys, _ tensors) { delete(k, "tokenizer.ggml.tokens") },
		`of the kind "llama"`:             func(k keys, _ tensors) { k["tokenizer.ggml.model"] = "llama" },
		`in the manner "new"`:             func(k keys, _ tensors) { k["tokenizer.ggml.pre"] = "new" },
		"the kinds of 1":                  func(k keys, _ tensors) { k["tokenizer.ggml.token_type"] = []int32{1} },
		"is no token":                     func(k keys, _ tensors) { k["tokenizer.ggml.merges"] = []string{"x y"} },
		"no token to fill batches": func(k keys, _ tensors) {
			k["tokenizer.ggml.token_type"] = make([]int32, 267)
			k["tokenizer.ggml.add_bos_token"] = false
		},
		"begins texts with the token 999":     func(k keys, _ tensors) { k["tokenizer.ggml.bos_token_id"] = uint32(999) },
		"mixture of 8 experts":                func(k keys, _ tensors) { k["llama.expert_count"] = uint32(8) },
		"are scaled":                          func(k keys, _ tensors) { k["llama.rope.scaling.type"] = "yarn" },
		"of which 2 are rotated":              func(k keys, _ tensors) { k["llama.rope.dimension_count"] = uint32(2) },
		"is stored as Q2_K":                   func(_ keys, w tensors) { x := w["output_norm.weight"]; x.Kind = 10; w["output_norm.weight"] = x },
		"is stored as ggml's type 99":         func(_ keys, w tensors) { x := w["output_norm.weight"]; x.Kind = 99; w["output_norm.weight"] = x },
		"do not fit its rows":                 func(_ keys, w tensors) { x := w["output_norm.weight"]; x.Kind = 8; w["output_norm.weight"] = x },
		"NaN at place 1: the file is damaged": func(_ keys, w tensors) { copy(w["output_norm.weight"].Data[4:], []byte{0, 0, 0xc0, 0x7f}) },
		"its tokenizer has 267 ids": func(k keys, w tensors) {
			x := w["token_embd.weight"]
			x.Dims, x.Data = []int{200, 8}, x.Data[:200*32]
			w["token_embd.weight"] = x
		},
	} {
		m := pretrainedtest.Tiny()
		m.Edit = edit
		path := filepath.Join(t.TempDir(), "m.gguf")
		m.GGUF(t, path)
		if err := whole(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "m.gguf") {
			t.Errorf("the error is %v, want one with %q and the file's name", err, want)
		}
	}
}

// whole reads all that there is.
func whole(path string) error {
	m, err := pretrained.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	_, err = m.Weights(0)
	return err
}

func TestWhatIsWrongWithAFolderIsSaid(t *testing.T) {
	set := func(key string, v any) func(*pretrainedtest.Model) {
		return func(m *pretrainedtest.Model) { m.EditConfig = func(c map[string]any) { c[key] = v } }
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for want, change := range map[string]struct {
		edit   func(*pretrainedtest.Model)
		damage func(*testing.T, string)
	}{
		`architecture is "gemma3"`:      {edit: set("model_type", "gemma3")},
		"want [16 8]":                   {edit: set("num_attention_heads", 4)},
		"want [272 16]":                 {edit: set("hidden_size", 16)},
		`no tensor "model.layers.2.`:    {edit: set("num_hidden_layers", 3)},
		"are scaled (llama3)":           {edit: set("rope_scaling", map[string]any{"rope_type": "llama3"})},
		`activation is "gelu"`:          {edit: set("hidden_act", "gelu")},
		"biases that are not known":     {edit: set("attention_bias", true)},
		"cannot unmarshal":              {edit: set("hidden_size", "wide")},
		"config.json, which should be":  {damage: remove("config.json")},
		"tokenizer.json, which should":  {damage: remove("tokenizer.json")},
		"neither model.safetensors nor": {damage: remove("model.safetensors")},
		"its tokenizer":                 {edit: func(m *pretrainedtest.Model) { m.EditTokenizer = func(f map[string]any) { f["model"] = 7 } }},
		"the normalizer": {edit: func(m *pretrainedtest.Model) {
			m.EditTokenizer = func(f map[string]any) { f["normalizer"] = map[string]any{"type": "NFKC"} }
		}},
		"begins texts with": {edit: func(m *pretrainedtest.Model) {
			m.EditTokenizer = func(f map[string]any) {
				f["post_processor"] = map[string]any{"type": "TemplateProcessing", "single": []map[string]any{{"SpecialToken": map[string]any{"id": "<s>"}}}}
			}
		}},
	} {
		m, dir := pretrainedtest.Tiny(), t.TempDir()
		if change.edit != nil {
			change.edit(&m)
		}
		m.HuggingFace(t, dir, 1)
		if change.damage != nil {
			change.damage(t, dir)
		}
		if err := whole(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
	if err := whole(os.Args[0]); err == nil || !strings.Contains(err.Error(), ".gguf or .safetensors") {
		t.Errorf("a program as a model: the error is %v", err)
	}
	m, dir := pretrainedtest.Tiny(), t.TempDir()
	m.HuggingFace(t, dir, 2)
	index := `{"weight_map": {"model.norm.weight": "../model.safetensors"}}`
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(index), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := whole(dir); err == nil || !strings.Contains(err.Error(), "names within its folder") {
		t.Errorf("an index that leads out of its folder: the error is %v", err)
	}
}

// A file that was cut off anywhere is refused.
func TestFilesThatWereCutOffAreRefused(t *testing.T) {
	m, dir := pretrainedtest.Tiny(), t.TempDir()
	m.HuggingFace(t, dir, 1)
	m.GGUF(t, filepath.Join(dir, "m.gguf"))
	for _, name := range []string{"m.gguf", "model.safetensors"} {
		path := filepath.Join(dir, name)
		all, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(all)-32; n += 97 { // the last may be filling
			if err := os.WriteFile(path, all[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			if err := whole(path); err == nil {
				t.Fatalf("%s was read with %d of %d bytes", name, n, len(all))
			}
		}
	}
}

// Files with bytes changed at random, most of them in their headers, give a model
// or an error. (The fuzz tests below look further.)
func TestDamagedFilesGiveAModelOrAnError(t *testing.T) {
	m, dir := pretrainedtest.Tiny(), t.TempDir()
	m.HuggingFace(t, dir, 1)
	m.GGUF(t, filepath.Join(dir, "m.gguf"))
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"m.gguf", "model.safetensors", "config.json", "tokenizer.json"} {
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for range damaged {
			bad := slices.Clone(good)
			within := min(len(bad), 1<<rng.IntN(17))
			for range 1 + rng.IntN(4) {
				bad[rng.IntN(within)] = byte(rng.IntN(256))
			}
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if whole(path) != nil && !strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".json") && whole(dir) != nil {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("%s: all were read", name)
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const damaged = 200 // files of each kind

// Any bytes give a model or an error, in memory that the file's size bounds.
func FuzzGGUF(f *testing.F) {
	path := filepath.Join(f.TempDir(), "m.gguf")
	pretrainedtest.Tiny().GGUF(f, path)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("GGUF\x03\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_ = whole(path)
	})
}

func FuzzSafetensors(f *testing.F) {
	dir := f.TempDir()
	pretrainedtest.Tiny().HuggingFace(f, dir, 1)
	var files [3][]byte
	for i, name := range []string{"model.safetensors", "config.json", "tokenizer.json"} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(files[0], files[1])
	f.Fuzz(func(t *testing.T, weights, config []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"model.safetensors": weights, "config.json": config, "tokenizer.json": files[2]} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_ = whole(dir)
	})
}
