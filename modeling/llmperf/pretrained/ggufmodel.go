package pretrained

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

func (m *Model) openGGUF(path string) error {
	g, err := openGGUF(path)
	if err != nil {
		return err
	}
	m.source = g
	if m.SHA256, err = hashFile(path); err != nil {
		return err
	}
	if m.Config, err = g.config(); err != nil {
		return err
	}
	m.tokenizer, m.bytes, m.Config.Begin, err = g.tokenizer(m.Config.Vocab)
	return err
}

// config reads the keys that llama.cpp's converter writes for an architecture.
func (g *ggufFile) config() (Config, error) {
	arch, _ := g.keys["general.architecture"].(string)
	if arch != "llama" && arch != "qwen2" {
		return Config{}, unknownArchitecture(arch)
	}
	var failed error
	whole := func(key string, otherwise int) int {
		switch v := g.keys[arch+"."+key].(type) {
		case int64:
			return int(v)
		case nil:
			return otherwise
		default:
			failed = fmt.Errorf("the key %s.%s is %v, want one integer", arch, key, v)
			return 0
		}
	}
	number := func(key string, otherwise float64) float64 {
		switch v := g.keys[arch+"."+key].(type) {
		case float64:
			return v
		case nil:
			return otherwise
		default:
			failed = fmt.Errorf("the key %s.%s is %v, want a number", arch, key, v)
			return 0
		}
	}
	c := Config{Architecture: arch, Context: whole("context_length", 0), Width: whole("embedding_length", 0), Layers: whole("block_count", 0),
		Heads: whole("attention.head_count", 0), Inner: whole("feed_forward_length", 0),
		Epsilon: number("attention.layer_norm_rms_epsilon", 0), Theta: number("rope.freq_base", 10000), Bias: arch == "qwen2"}
	c.KVHeads = whole("attention.head_count_kv", c.Heads)
	c.HeadWidth = whole("attention.key_length", c.Width/max(c.Heads, 1))
	if w := whole("attention.sliding_window", 0); w > 0 {
		c.Context = min(c.Context, w) // within the window all of it is seen
	}
	if e, ok := g.tensors["token_embd.weight"]; ok && len(e.dims) == 2 {
		c.Vocab = e.dims[0]
	}
	values, rotated, experts := whole("attention.value_length", c.HeadWidth), whole("rope.dimension_count", c.HeadWidth), whole("expert_count", 0)
	scaling, _ := g.keys[arch+".rope.scaling.type"].(string)
	switch {
	case failed != nil:
		return c, failed
	case c.Vocab == 0:
		return c, errors.New("there is no tensor \"token_embd.weight\" of two dimensions")
	case values != c.HeadWidth, rotated != c.HeadWidth:
		return c, fmt.Errorf("its heads have %d values for %d keys, of which %d are rotated: heads of one width, rotated as a whole, can be read", values, c.HeadWidth, rotated)
	case experts > 0:
		return c, fmt.Errorf("it is a mixture of %d experts: dense models can be read", experts)
	case scaling != "" && scaling != "none", g.has("rope_freqs.weight"):
		return c, errors.New("its rotary embeddings are scaled for longer contexts, which is not known here")
	}
	return c, nil
}

func unknownArchitecture(name string) error {
	return fmt.Errorf("its architecture is %q: decoders of Llama's kind can be read (llama, mistral, qwen2; SmolLM2 is one)", name)
}

// preTokenizers are Hugging Face's for llama.cpp's names of them.
var preTokenizers = map[string]any{
	"gpt-2":     level(true),
	"smollm":    digitsApart,
	"starcoder": digitsApart,
	"llama-bpe": split(`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`),
	"qwen2":     split(`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`),
}

type object = map[string]any

func level(expression bool) object {
	return object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": expression}
}

func sequence(parts ...object) object { return object{"type": "Sequence", "pretokenizers": parts} }

var digitsApart = sequence(object{"type": "Digits", "individual_digits": true}, level(true))

func split(expression string) object {
	return sequence(object{"type": "Split", "pattern": object{"Regex": expression}, "behavior": "Isolated", "invert": false}, level(false))
}

// Kinds of tokens (llama.cpp's enum llama_token_type).
const (
	tokenNormal, tokenControl, tokenUser, tokenUnused = 1, 3, 4, 5
)

// tokenizer is the file's, by way of a tokenizer.json, how many tokens were added
// to it, and the special token that sequences begin with.
func (g *ggufFile) tokenizer(rows int) (*tokenize.Tokenizer, int, string, error) {
	const prefix = "tokenizer.ggml."
	name, _ := g.keys[prefix+"model"].(string)
	pre, _ := g.keys[prefix+"pre"].(string)
	tokens, _ := g.keys[prefix+"tokens"].([]string)
	merges, _ := g.keys[prefix+"merges"].([]string)
	kinds, _ := g.keys[prefix+"token_type"].([]int64)
	switch {
	case name == "" || len(tokens) == 0:
		return nil, 0, "", fmt.Errorf("there is no tokenizer in it (%smodel and %stokens)", prefix, prefix)
	case name != "gpt2":
		return nil, 0, "", fmt.Errorf("its tokenizer is of the kind %q: BPE on bytes (gpt2) can be read", name)
	case preTokenizers[pre] == nil:
		return nil, 0, "", fmt.Errorf("its tokenizer cuts texts in the manner %q: %s are known", pre, strings.Join(slices.Sorted(maps.Keys(preTokenizers)), ", "))
	case kinds != nil && len(kinds) != len(tokens):
		return nil, 0, "", fmt.Errorf("its tokenizer has %d tokens and the kinds of %d", len(tokens), len(kinds))
	}
	vocab := make(map[string]int, len(tokens))
	special := []object{}
	for id, token := range tokens {
		kind := int64(tokenNormal)
		if kinds != nil {
			kind = kinds[id]
		}
		if _, twice := vocab[token]; twice {
			return nil, 0, "", fmt.Errorf("its tokenizer has the token %q twice", token)
		}
		vocab[token] = id
		if kind == tokenControl || kind == tokenUser || kind == tokenUnused {
			special = append(special, object{"id": id, "content": token, "special": kind == tokenControl, "normalized": false, "single_word": false, "lstrip": false, "rstrip": false})
		}
	}
	text, err := json.Marshal(object{"version": "1.0", "added_tokens": special, "pre_tokenizer": preTokenizers[pre],
		"model": object{"type": "BPE", "vocab": vocab, "merges": merges, "ignore_merges": pre == "llama-bpe"}})
	if err != nil {
		return nil, 0, "", fmt.Errorf("its tokenizer: %w", err)
	}
	t, added, err := readTokenizer(text, rows)
	if err != nil {
		return nil, 0, "", err
	}
	begin := ""
	if add, _ := g.keys[prefix+"add_bos_token"].(bool); add {
		id, ok := g.keys[prefix+"bos_token_id"].(int64)
		if !ok || id < 0 || id >= int64(len(tokens)) {
			return nil, 0, "", fmt.Errorf("its tokenizer begins texts with the token %v, which is none", g.keys[prefix+"bos_token_id"])
		}
		begin = tokens[id]
		if _, ok := t.Special(begin); !ok {
			return nil, 0, "", fmt.Errorf("its tokenizer begins texts with the token %q, which is no special one", begin)
		}
	}
	return t, added, begin, nil
}
