package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// hfFile is the part of a tokenizer.json that decides about ids (Hugging Face
// tokenizers 0.23, crate tokenizers, the serialised forms of its components).
type hfFile struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []hfAdded       `json:"added_tokens"`
	Normalizer    *hfPart         `json:"normalizer"`
	PreTokenizer  *hfPart         `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         hfModel         `json:"model"`
}

type hfAdded struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

type hfPart struct {
	Type             string    `json:"type"`
	Pretokenizers    []*hfPart `json:"pretokenizers,omitempty"`
	Normalizers      []*hfPart `json:"normalizers,omitempty"`
	AddPrefixSpace   *bool     `json:"add_prefix_space,omitempty"`
	TrimOffsets      *bool     `json:"trim_offsets,omitempty"`
	UseRegex         *bool     `json:"use_regex,omitempty"`
	IndividualDigits *bool     `json:"individual_digits,omitempty"`
	Pattern          *struct {
		Regex  string `json:"Regex,omitempty"`
		String string `json:"String,omitempty"`
	} `json:"pattern,omitempty"`
	Behavior string `json:"behavior,omitempty"`
	Invert   bool   `json:"invert,omitempty"`
}

type hfModel struct {
	Type                    string           `json:"type"`
	Dropout                 *float64         `json:"dropout"`
	UnkToken                *string          `json:"unk_token"`
	ContinuingSubwordPrefix *string          `json:"continuing_subword_prefix"`
	EndOfWordSuffix         *string          `json:"end_of_word_suffix"`
	FuseUnk                 bool             `json:"fuse_unk"`
	ByteFallback            bool             `json:"byte_fallback"`
	IgnoreMerges            bool             `json:"ignore_merges"`
	Vocab                   map[string]int32 `json:"vocab"`
	Merges                  []hfMerge        `json:"merges"`
}

// hfMerge is a pair, either as two strings or, before 0.20, as one with a blank
// between.
type hfMerge [2]string

func (m *hfMerge) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err == nil {
		var ok bool
		if m[0], m[1], ok = strings.Cut(s, " "); !ok {
			return fmt.Errorf("the merge %q is no pair", s)
		}
		return nil
	}
	var pair []string
	if err := json.Unmarshal(data, &pair); err != nil || len(pair) != 2 {
		return fmt.Errorf("the merge %.80s is no pair of strings", data)
	}
	m[0], m[1] = pair[0], pair[1]
	return nil
}

// The expressions of language models' tokenizers that are known here, with the
// rules that do the same. Each is a description of a format, as it stands in
// those models' tokenizer.json.
var hfExpressions = map[string]rules{
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`:                                                                  gpt2,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:                         {fold: true, anyLead: true, digits: 3, newlines: true},
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:                              {fold: true, anyLead: true, digits: 1, newlines: true},
	`(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {fold: true, anyLead: true, digits: 1, newlines: true},
}

// ReadHuggingFace reads a tokenizer.json of a byte-level BPE model (GPT-2 and
// RoBERTa, StarCoder, SmolLM, Llama 3 and others with the expressions of
// GPT-2 and GPT-4). The Language is Text, and the ids of a text are those that
// Hugging Face gives, but for these: nothing is put around the text (a
// post-processor's <s> and </s>: add them with Sequence.Special), and added
// tokens are never found in a text, whatever it spells. What would give other
// ids is refused: another model, another expression, normalizers, dropout.
//
// The added tokens are special tokens under their own names. Those that are
// called as in many models are known under ours, too: Pad, Begin, End, Mask,
// Sep (<|endoftext|> is Begin and End, and Pad where there is no other).
func ReadHuggingFace(r io.Reader) (*Tokenizer, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("tokenize: reading tokenizer.json: %w", err)
	}
	t, err := decodeHuggingFace(data)
	if err != nil {
		return nil, fmt.Errorf("tokenize: reading tokenizer.json: %w", err)
	}
	return t, nil
}

func decodeHuggingFace(data []byte) (*Tokenizer, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("more than %d MB: this is no tokenizer", maxFile>>20)
	}
	var f hfFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("no tokenizer of Hugging Face: %w", err)
	}
	m := &f.Model
	full := func(s *string) bool { return s != nil && *s != "" }
	switch {
	case m.Type != "BPE" && (m.Type != "" || len(m.Merges) == 0):
		return nil, fmt.Errorf("the model is %q: only BPE on bytes can be read", m.Type)
	case m.ByteFallback:
		return nil, errors.New("the model falls back to bytes (SentencePiece): only BPE on bytes can be read")
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, fmt.Errorf("the model drops merges by chance (dropout %g): set it to null", *m.Dropout)
	case full(m.ContinuingSubwordPrefix), full(m.EndOfWordSuffix):
		return nil, errors.New("the model marks parts of words by a prefix or suffix: only BPE on bytes can be read")
	}
	if n := f.Normalizer; n != nil && (n.Type != "Sequence" || len(n.Normalizers) > 0) {
		return nil, fmt.Errorf("the normalizer %q would change texts: it is not known here; where texts are ASCII, NFC changes nothing and can be set to null", n.Type)
	}
	rules, err := f.PreTokenizer.rules()
	if err != nil {
		return nil, err
	}
	size := int32(0)
	for s, id := range m.Vocab {
		if id < 0 || id >= maxVocab {
			return nil, fmt.Errorf("the token %q has the id %d: 0 to %d are possible", s, id, maxVocab-1)
		}
		size = max(size, id+1)
	}
	for _, a := range f.AddedTokens {
		if a.ID < 0 || a.ID >= maxVocab {
			return nil, fmt.Errorf("the added token %q has the id %d: 0 to %d are possible", a.Content, a.ID, maxVocab-1)
		}
		size = max(size, a.ID+1)
	}
	t := &Tokenizer{language: Text, rules: rules, numbers: -1, direct: m.IgnoreMerges, specials: map[string]int32{},
		tokens: make([]string, size), kinds: make([]tokenKind, size)}
	for _, a := range f.AddedTokens {
		if t.kinds[a.ID] != noToken {
			return nil, fmt.Errorf("the added tokens %q and %q have the same id %d", t.tokens[a.ID], a.Content, a.ID)
		}
		t.tokens[a.ID], t.kinds[a.ID] = a.Content, specialToken
		t.specials[a.Content] = a.ID
	}
	for s, id := range m.Vocab {
		switch {
		case t.kinds[id] == specialToken && t.tokens[id] == s:
			continue
		case t.kinds[id] != noToken:
			return nil, fmt.Errorf("two tokens have the id %d, one is %q", id, s)
		}
		text, err := unspell(s)
		if err != nil {
			return nil, fmt.Errorf("%w: the model is not on bytes", err)
		}
		t.tokens[id], t.kinds[id] = text, textToken
	}
	for i, pair := range m.Merges {
		left, ok1 := m.Vocab[pair[0]]
		right, ok2 := m.Vocab[pair[1]]
		to, ok3 := m.Vocab[pair[0]+pair[1]]
		if !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("merge %d, of %q and %q: one of the two, or both together, is no token", i, pair[0], pair[1])
		}
		t.merges = append(t.merges, merge{left, right, to})
	}
	t.alias()
	if err := t.ready(); err != nil {
		return nil, err
	}
	return t, nil
}

// rules are those of a pre-tokeniser that is known.
func (p *hfPart) rules() (rules, error) {
	if p == nil {
		return rules{}, errors.New("no pre_tokenizer: only BPE with ByteLevel can be read")
	}
	parts := []*hfPart{p}
	if p.Type == "Sequence" {
		parts = p.Pretokenizers
	}
	var r rules
	var split, level, single bool
	for i, q := range parts {
		if q == nil {
			return r, errors.New("an empty pre_tokenizer")
		}
		switch {
		case q.Type == "ByteLevel" && i == len(parts)-1:
			level = true
			if q.AddPrefixSpace == nil || *q.AddPrefixSpace { // its default
				return r, errors.New("the pre_tokenizer puts a blank before each text (add_prefix_space): set it to false")
			}
			if uses := q.UseRegex == nil || *q.UseRegex; uses == split {
				return r, errors.New("the pre_tokenizer splits by two expressions, or by none: that is not known here")
			}
		case q.Type == "Digits" && i == 0 && q.IndividualDigits != nil && *q.IndividualDigits:
			single = true
		case q.Type == "Split" && !split && !single && q.Pattern != nil && q.Behavior == "Isolated" && !q.Invert:
			known, ok := hfExpressions[q.Pattern.Regex]
			if !ok {
				return r, fmt.Errorf("the pre_tokenizer splits by the expression %q, which is not known here", q.Pattern.Regex)
			}
			r, split = known, true
		default:
			return r, fmt.Errorf("the pre_tokenizer has %q at place %d, which is not known here", q.Type, i+1)
		}
	}
	if !level {
		return r, errors.New("the pre_tokenizer does not end with ByteLevel: only BPE on bytes can be read")
	}
	r.single = single
	return r, nil
}

// alias makes special tokens of other models known under our names.
func (t *Tokenizer) alias() {
	names := []struct {
		ours   string
		theirs []string
	}{
		{Begin, []string{"<s>", "<|begin_of_text|>", "<|startoftext|>", "<|endoftext|>"}},
		{End, []string{"</s>", "<|end_of_text|>", "<|endoftext|>"}},
		{Pad, []string{"[PAD]", "<|pad|>", "<|finetune_right_pad_id|>", "<|endoftext|>", "<|end_of_text|>", "</s>"}},
		{Sep, []string{"[SEP]", "<|sep|>", "</s>"}},
		{Mask, []string{"[MASK]", "<|mask|>"}},
	}
	for _, n := range names {
		for _, s := range n.theirs {
			if _, have := t.specials[n.ours]; have {
				break
			}
			if id, ok := t.specials[s]; ok {
				t.specials[n.ours] = id
			}
		}
	}
}

// WriteHuggingFace writes t as a tokenizer.json, which gives the same ids
// there. Only a tokenizer of Language Text can be written: the pieces of the
// other languages, names and numbers have no expression in that format.
func (t *Tokenizer) WriteHuggingFace(w io.Writer) error {
	if t.language != Text {
		return fmt.Errorf("tokenize: writing tokenizer.json: Hugging Face has no pre-tokeniser for %q, other ids would come out: train with Language Text, or keep the tokenizer with Save", t.language)
	}
	no, yes := false, true
	level := &hfPart{Type: "ByteLevel", AddPrefixSpace: &no, TrimOffsets: &yes, UseRegex: &yes}
	f := hfFile{Version: "1.0", PreTokenizer: level, AddedTokens: []hfAdded{}}
	plain := t.rules
	plain.single = false
	switch {
	case plain != gpt2:
		var at []string
		for expression, r := range hfExpressions {
			if r == plain {
				at = append(at, expression)
			}
		}
		slices.Sort(at)
		if len(at) == 0 {
			return fmt.Errorf("tokenize: writing tokenizer.json: no expression is known for the rules %+v", plain)
		}
		split := &hfPart{Type: "Split", Behavior: "Isolated"}
		split.Pattern = &struct {
			Regex  string `json:"Regex,omitempty"`
			String string `json:"String,omitempty"`
		}{Regex: at[0]}
		level.UseRegex = &no
		f.PreTokenizer = &hfPart{Type: "Sequence", Pretokenizers: []*hfPart{split, level}}
	case t.rules.single:
		f.PreTokenizer = &hfPart{Type: "Sequence", Pretokenizers: []*hfPart{{Type: "Digits", IndividualDigits: &yes}, level}}
	}
	f.Decoder = json.RawMessage(`{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`)
	f.Model = hfModel{Type: "BPE", IgnoreMerges: t.direct, Vocab: map[string]int32{}, Merges: []hfMerge{}}
	for id, s := range t.tokens {
		switch t.kinds[id] {
		case textToken:
			f.Model.Vocab[spell(s)] = int32(id)
		case specialToken:
			f.Model.Vocab[s] = int32(id)
			f.AddedTokens = append(f.AddedTokens, hfAdded{ID: int32(id), Content: s, Special: true})
		}
	}
	for _, m := range t.merges {
		f.Model.Merges = append(f.Model.Merges, hfMerge{spell(t.tokens[m.left]), spell(t.tokens[m.right])})
	}
	out, err := marshal(f)
	if err != nil {
		return fmt.Errorf("tokenize: writing tokenizer.json: %w", err)
	}
	if _, err := w.Write(append(out, '\n')); err != nil {
		return fmt.Errorf("tokenize: writing tokenizer.json: %w", err)
	}
	return nil
}
