package pretrained

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// readTokenizer reads a tokenizer.json for embeddings of so many rows, and says
// how many tokens it added, from rows on: those of bytes that have none. (SmolLM2
// lacks a few of control characters, which the library that it is made for drops.)
func readTokenizer(raw []byte, rows int) (*tokenize.Tokenizer, int, error) {
	var f map[string]json.RawMessage
	var model map[string]json.RawMessage
	var vocab map[string]int64
	err := json.Unmarshal(raw, &f)
	if err == nil {
		err = json.Unmarshal(f["model"], &model)
	}
	if err == nil {
		err = json.Unmarshal(model["vocab"], &vocab)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("its tokenizer, as a tokenizer.json with a vocabulary for BPE: %w", err)
	}
	added := 0
	for b := range 256 {
		if _, ok := vocab[spelling(b)]; !ok {
			vocab[spelling(b)] = int64(rows + added)
			added++
		}
	}
	if added > 0 && added < 256 { // else there are no bytes in it, which is an error below
		text, err := json.Marshal(vocab)
		if err == nil {
			model["vocab"] = text
			f["model"], err = json.Marshal(model)
		}
		if err == nil {
			raw, err = json.Marshal(f)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("its tokenizer: %w", err)
		}
	}
	t, err := tokenize.ReadHuggingFace(bytes.NewReader(raw))
	if err != nil {
		return nil, 0, fmt.Errorf("its tokenizer, as a tokenizer.json: %w", err)
	}
	return t, added, nil
}

// spelling is how vocabularies on bytes spell one: printable characters of
// Latin-1 as they are, the others from 256 on (GPT-2).
func spelling(b int) string {
	printable := func(b int) bool { return b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae }
	if printable(b) {
		return string(rune(b))
	}
	extra := 0
	for i := range b {
		if !printable(i) {
			extra++
		}
	}
	return string(rune(256 + extra))
}

// processor is a post_processor of a tokenizer.json, as far as it says what
// texts begin with.
type processor struct {
	Type       string      `json:"type"`
	Processors []processor `json:"processors"`
	Single     []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"`
}

// begin is the special token that a tokenizer.json puts before texts.
func begin(raw []byte, t *tokenize.Tokenizer) (string, error) {
	var f struct {
		Post *processor `json:"post_processor"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return "", fmt.Errorf("its tokenizer's post_processor: %w", err)
	}
	if f.Post == nil {
		return "", nil
	}
	for _, p := range append([]processor{*f.Post}, f.Post.Processors...) {
		if p.Type != "TemplateProcessing" || len(p.Single) == 0 || p.Single[0].SpecialToken == nil {
			continue
		}
		name := p.Single[0].SpecialToken.ID
		if _, ok := t.Special(name); !ok {
			return "", fmt.Errorf("its tokenizer begins texts with %q, which is no special token of it", name)
		}
		return name, nil
	}
	return "", nil
}
