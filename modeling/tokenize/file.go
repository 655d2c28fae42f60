package tokenize

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	fileFormat  = "rooflab-tokenizer"
	fileVersion = 1
	maxFile     = 256 << 20
)

// file is a tokenizer on disk: JSON, whose member tokenizer is what sha256 is
// of, byte by byte as it stands there without blanks between its tokens.
type file struct {
	Format    string          `json:"format"`
	Version   int             `json:"version"`
	SHA256    string          `json:"sha256"`
	Tokenizer json.RawMessage `json:"tokenizer"`
}

// content is version 1. Text is spelled as in GPT-2's vocabulary, one printable
// character a byte.
type content struct {
	Language      Language         `json:"language"`
	Normalization Normalization    `json:"normalization"`
	Rules         *fileRules       `json:"rules,omitempty"` // of text
	Direct        bool             `json:"direct,omitempty"`
	Tokens        []*string        `json:"tokens"`            // null where an id has none
	Special       map[string]int32 `json:"special"`           // aliases of one id, too
	Numbers       *int32           `json:"numbers,omitempty"` // the first token of numbers
	Merges        [][3]int32       `json:"merges"`            // left, right, what they become
}

// fileRules are rules, see scan_text.go.
type fileRules struct {
	Fold     bool `json:"fold,omitempty"`
	AnyLead  bool `json:"any_lead,omitempty"`
	Digits   int  `json:"digits,omitempty"`
	Newlines bool `json:"newlines,omitempty"`
	Single   bool `json:"single,omitempty"`
}

// byteChars are GPT-2's characters for bytes, and back.
var byteChars, charBytes = func() (chars [256]rune, back map[rune]byte) {
	back = map[rune]byte{}
	extra := rune(256)
	for i, b := range byteOrder {
		chars[b] = rune(b)
		if i >= 188 { // not printable
			chars[b] = extra
			extra++
		}
		back[chars[b]] = b
	}
	return chars, back
}()

func spell(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteRune(byteChars[text[i]])
	}
	return b.String()
}

func unspell(s string) (string, error) {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		b, ok := charBytes[r]
		if !ok {
			return "", fmt.Errorf("the token %q has %q, which stands for no byte", s, r)
		}
		out = append(out, b)
	}
	return string(out), nil
}

// Write writes t as one JSON document, which Read reads. The same tokenizer
// gives the same bytes.
func (t *Tokenizer) Write(w io.Writer) error {
	c := content{Language: t.language, Normalization: t.norm, Direct: t.direct, Special: map[string]int32{}, Merges: [][3]int32{}}
	if t.language == Text {
		c.Rules = &fileRules{t.rules.fold, t.rules.anyLead, t.rules.digits, t.rules.newlines, t.rules.single}
	}
	if t.numbers >= 0 {
		c.Numbers = &t.numbers
	}
	for id, s := range t.tokens {
		switch t.kinds[id] {
		case noToken:
			c.Tokens = append(c.Tokens, nil)
			continue
		case textToken:
			s = spell(s)
		}
		c.Tokens = append(c.Tokens, &s)
	}
	for s, id := range t.specials {
		c.Special[s] = id
	}
	for _, m := range t.merges {
		c.Merges = append(c.Merges, [3]int32{m.left, m.right, m.to})
	}
	body, err := marshal(c)
	if err != nil {
		return fmt.Errorf("tokenize: writing: %w", err)
	}
	sum := sha256.Sum256(body)
	out, err := marshal(file{fileFormat, fileVersion, hex.EncodeToString(sum[:]), body})
	if err != nil {
		return fmt.Errorf("tokenize: writing: %w", err)
	}
	if _, err := w.Write(append(out, '\n')); err != nil {
		return fmt.Errorf("tokenize: writing: %w", err)
	}
	return nil
}

// marshal writes <pad> as it is, and not as JSON for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// Hash is the SHA-256 of what Write writes of t: it names the tokenizer that a
// model was trained with.
func (t *Tokenizer) Hash() string {
	var b bytes.Buffer
	var f file
	if t.Write(&b) != nil || json.Unmarshal(b.Bytes(), &f) != nil {
		return "" // a buffer takes everything
	}
	return f.SHA256
}

// Read reads what Write wrote. A document that was changed, cut off, or comes
// from a later version is refused.
func Read(r io.Reader) (*Tokenizer, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("tokenize: reading a tokenizer: %w", err)
	}
	t, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("tokenize: reading a tokenizer: %w", err)
	}
	return t, nil
}

func decode(data []byte) (*Tokenizer, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("more than %d MB: this is no tokenizer", maxFile>>20)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("no JSON document: %w: the file is cut off or something else", err)
	}
	switch {
	case f.Format != fileFormat:
		return nil, fmt.Errorf("the format is %q, not %q: read tokenizer.json of Hugging Face with ReadHuggingFace", f.Format, fileFormat)
	case f.Version != fileVersion:
		return nil, fmt.Errorf("version %d, this program knows %d: use the version of rooflab that wrote it", f.Version, fileVersion)
	}
	var body bytes.Buffer
	if err := json.Compact(&body, f.Tokenizer); err != nil {
		return nil, fmt.Errorf("no tokenizer in it: %w", err)
	}
	if sum := sha256.Sum256(body.Bytes()); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("SHA-256 of the content is %x, the file says %.64q: it was changed or damaged; get it again", sum, f.SHA256)
	}
	var c content
	d := json.NewDecoder(bytes.NewReader(f.Tokenizer))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("its content: %w", err)
	}
	return c.tokenizer()
}

func (c *content) tokenizer() (*Tokenizer, error) {
	if err := c.Language.check(); err != nil {
		return nil, err
	}
	if err := c.Normalization.check(c.Language); err != nil {
		return nil, err
	}
	if (c.Numbers != nil) != (c.Normalization.Numbers == Scientific) {
		return nil, errors.New("tokens of numbers and the encoding of numbers do not go together")
	}
	if len(c.Tokens) > maxVocab || len(c.Merges) > 4*maxVocab {
		return nil, fmt.Errorf("%d tokens and %d merges, %d tokens are the limit", len(c.Tokens), len(c.Merges), maxVocab)
	}
	t := &Tokenizer{language: c.Language, norm: c.Normalization, specials: map[string]int32{}, numbers: -1, direct: c.Direct}
	if c.Rules != nil {
		t.rules = rules{c.Rules.Fold, c.Rules.AnyLead, c.Rules.Digits, c.Rules.Newlines, c.Rules.Single}
		if t.rules.digits < 0 || c.Language != Text {
			return nil, fmt.Errorf("rules of text for the language %q, or %d digits", c.Language, t.rules.digits)
		}
	}
	for _, s := range c.Tokens {
		if s == nil {
			t.add("", noToken)
		} else {
			t.add(*s, textToken)
		}
	}
	mark := func(id int, name string, k tokenKind) error {
		if id < 0 || id >= len(t.tokens) || t.kinds[id] != textToken {
			return fmt.Errorf("the token %q has the id %d, which is taken or beyond the vocabulary of %d", name, id, len(t.tokens))
		}
		t.kinds[id] = k
		return nil
	}
	own := map[int32]bool{}
	for name, id := range c.Special {
		if own[id] {
			continue // a second name
		}
		own[id] = true
		if err := mark(int(id), name, specialToken); err != nil {
			return nil, err
		}
	}
	for name, id := range c.Special {
		t.specials[name] = id
	}
	if c.Numbers != nil {
		t.numbers = *c.Numbers
		for i, name := range numberTokens() {
			if err := mark(int(t.numbers)+i, name, numberToken); err != nil {
				return nil, err
			}
			if got := t.tokens[int(t.numbers)+i]; got != name {
				return nil, fmt.Errorf("token %d is %q, %q was expected", int(t.numbers)+i, got, name)
			}
		}
	}
	for id, s := range t.tokens {
		if t.kinds[id] != textToken {
			continue
		}
		text, err := unspell(s)
		if err != nil {
			return nil, err
		}
		t.tokens[id] = text
	}
	for _, m := range c.Merges {
		t.merges = append(t.merges, merge{m[0], m[1], m[2]})
	}
	if err := t.ready(); err != nil {
		return nil, err
	}
	return t, nil
}

// Save writes t to a file, at once: a file that was there stays whole until the
// new one is.
func (t *Tokenizer) Save(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tokenizer-*")
	if err != nil {
		return fmt.Errorf("tokenize: saving %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // gone already when all went well
	err = t.Write(f)
	if e := f.Sync(); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("tokenize: saving %s: %w", path, err)
	}
	return nil
}

// Load reads a file that Save wrote, or a tokenizer.json of Hugging Face.
func Load(path string) (*Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tokenize: loading %s: %w", path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("tokenize: loading %s: %w", path, err)
	}
	read := decode
	var kind struct {
		Model json.RawMessage `json:"model"`
	}
	if json.Unmarshal(data, &kind) == nil && kind.Model != nil {
		read = decodeHuggingFace
	}
	t, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("tokenize: loading %s: %w", path, err)
	}
	return t, nil
}
