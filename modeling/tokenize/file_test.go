package tokenize_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

func TestSavedTokenizersAreTheSame(t *testing.T) {
	for _, l := range tokenize.Languages() {
		for n, k := range tokenizers(t, l) {
			path := filepath.Join(t.TempDir(), "t.json")
			if err := k.Save(path); err != nil {
				t.Fatal(err)
			}
			again, err := tokenize.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if again.Hash() != k.Hash() || again.String() != k.String() || again.Normalization() != n || again.Language() != l {
				t.Errorf("%s became %s", k, again)
			}
			for _, s := range snippets[l] {
				checkText(t, l, n, again, s)
				if !equal(again.AppendIDs(nil, s), k.AppendIDs(nil, s)) {
					t.Errorf("%s: other ids for %q", again, s)
				}
			}
			if pad, ok := again.Special(tokenize.Pad); !ok || pad != 0 {
				t.Errorf("padding is %d, %v", pad, ok)
			}
		}
	}
}

// sealed is a file whose hash is right for its content, so that the content is
// looked at.
func sealed(content string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(content)); err != nil {
		return err.Error()
	}
	return fmt.Sprintf(`{"format":"rooflab-tokenizer","version":1,"sha256":"%x","tokenizer":%s}`, sha256.Sum256(b.Bytes()), b.String())
}

func TestBrokenFilesAreRefused(t *testing.T) {
	k := trained(t, tokenize.Options{Vocab: 300}, snippets[tokenize.C])
	var b bytes.Buffer
	if err := k.Write(&b); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	var outer struct {
		Tokenizer json.RawMessage `json:"tokenizer"`
	}
	if err := json.Unmarshal(b.Bytes(), &outer); err != nil {
		t.Fatal(err)
	}
	content := string(outer.Tokenizer)
	if _, err := tokenize.Read(strings.NewReader(sealed(content))); err != nil {
		t.Fatalf("the test's own sealing: %v", err)
	}
	change := func(from, to string) string {
		if !strings.Contains(content, from) {
			t.Fatalf("%q is not in the file", from)
		}
		return sealed(strings.Replace(content, from, to, 1))
	}
	last := content[strings.LastIndex(content, "["):]
	for says, data := range map[string]string{
		"cut off or something else":      good[:len(good)/2],
		"changed or damaged":             strings.Replace(good, `"language":"c"`, `"language":"ptx"`, 1),
		`format is ""`:                   `{"a":1}`,
		"version 7":                      strings.Replace(good, `"version":1`, `"version":7`, 1),
		"no JSON":                        "int x;",
		`language "cobol"`:               change(`"language":"c"`, `"language":"cobol"`),
		"unknown field":                  change(`"language"`, `"more":1,"language"`),
		"speaks of 70000":                change(last, "[70000,3,4]]}"),
		"speaks of -1":                   change(last, "[-1,3,4]]}"),
		"merge 0 makes":                  change(`"merges":[`, `"merges":[[20,21,22],`),
		"beyond the vocabulary":          change(`"<pad>":0`, `"<pad>":9000`),
		"which is taken":                 change(`"<pad>":0`, `"<new>":1,"<pad>":0,"<x>":0,"<bad>":-4`),
		"no token for the byte":          change(`"!"`, `null`),
		"are both":                       change(`"!"`, `"#"`),
		"stands for no byte":             change(`"!"`, `"漢"`),
		"do not go together":             change(`"normalization":{}`, `"normalization":{"numbers":"scientific"}`),
		"rules of text":                  change(`"normalization":{}`, `"normalization":{},"rules":{"fold":true}`),
		"its content: json":              sealed(`{"language":3}`),
		"significant digits":             change(`"normalization":{}`, `"normalization":{"digits":99}`),
		`was expected`:                   change(`"normalization":{}`, `"numbers":30,"normalization":{"numbers":"scientific"}`),
		"read tokenizer.json of Hugging": `{"format":"x","version":1,"sha256":"","tokenizer":{}}`,
	} {
		k, err := tokenize.Read(strings.NewReader(data))
		if err == nil || k != nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said: %v", says, err)
		}
	}
	if _, err := tokenize.Load(filepath.Join(t.TempDir(), "nothing.json")); err == nil || !strings.Contains(err.Error(), "nothing.json") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// alphabet is the vocabulary of the 256 bytes as tokenizer.json spells it: the
// characters of the first 188 are their own, the others follow from U+0100 on.
func alphabet(more ...string) string {
	var b strings.Builder
	n, extra := 0, rune(256)
	add := func(r string) {
		s, _ := json.Marshal(r)
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%d", s, n)
		n++
	}
	for c := range rune(256) {
		if c > ' ' && c < 0x7f || c > 0xa0 && c != 0xad {
			add(string(c))
		} else {
			add(string(extra))
			extra++
		}
	}
	for _, m := range more {
		add(m)
	}
	return "{" + b.String() + "}"
}

const byteLevel = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`

func hfJSON(pre, extra, model string) string {
	return `{"version":"1.0","added_tokens":[{"id":300,"content":"<|endoftext|>","special":true}],"pre_tokenizer":` + pre + extra +
		`,"model":{"type":"BPE",` + model + `"vocab":` + alphabet("in", "int", "Ġint", "Ġin") + `,"merges":["i n",["in","t"],"Ġ in","Ġin t"]}}`
}

// Of " int" the merges make "in", then "int" (the earlier rule), and " int" is
// never reached but through a vocabulary that is looked at first.
func TestHuggingFaceFilesAreRead(t *testing.T) {
	words := func(k *tokenize.Tokenizer, text string) string {
		return strings.Join(tokens(k, text), "|")
	}
	read := func(s string) *tokenize.Tokenizer {
		t.Helper()
		k, err := tokenize.ReadHuggingFace(strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	gpt2 := read(hfJSON(byteLevel, "", ""))
	if got := words(gpt2, "int int 12"); got != "int| |int| |1|2" {
		t.Errorf("GPT-2: %s", got)
	}
	if got := words(read(hfJSON(byteLevel, "", `"ignore_merges":true,`)), "int int"); got != "int| int" {
		t.Errorf("the vocabulary first: %s", got)
	}
	if got := words(read(hfJSON(byteLevel, "", "")), "<|endoftext|>"); strings.Contains(got, "<|endoftext|>") {
		t.Errorf("a text became a special token: %s", got)
	}
	if id, ok := gpt2.Special(tokenize.End); !ok || id != 300 || gpt2.Size() != 301 {
		t.Errorf("the end is %d, %v, of %d", id, ok, gpt2.Size())
	}
	if b, err := gpt2.Pad([]tokenize.Encoding{gpt2.Encode("a")}, 2, 0); err != nil || b.IDs[1] != 300 {
		t.Errorf("padded with %v, %v", b.IDs, err)
	}
	var own, hf bytes.Buffer
	if err := gpt2.Write(&own); err != nil {
		t.Fatal(err)
	}
	if again, err := tokenize.Read(&own); err != nil || again.Hash() != gpt2.Hash() || words(again, "int int") != "int| |int" {
		t.Errorf("kept as our own: %v, %v", again, err)
	}
	if err := gpt2.WriteHuggingFace(&hf); err != nil {
		t.Fatal(err)
	}
	if again := read(hf.String()); words(again, "int int 12") != "int| |int| |1|2" {
		t.Errorf("written as tokenizer.json: %s", words(again, "int int 12"))
	}
}

func TestOtherHuggingFaceFilesAreRefused(t *testing.T) {
	for says, data := range map[string]string{
		`model is "Unigram"`:     `{"model":{"type":"Unigram"}}`,
		"falls back to bytes":    hfJSON(byteLevel, "", `"byte_fallback":true,`),
		"dropout 0.1":            hfJSON(byteLevel, "", `"dropout":0.1,`),
		"prefix or suffix":       hfJSON(byteLevel, "", `"end_of_word_suffix":"</w>",`),
		`normalizer "Lowercase"`: hfJSON(byteLevel, `,"normalizer":{"type":"Lowercase"}`, ""),
		"no pre_tokenizer":       hfJSON("null", "", ""),
		"add_prefix_space":       hfJSON(strings.Replace(byteLevel, "false", "true", 1), "", ""),
		`"Whitespace" at place`:  hfJSON(`{"type":"Sequence","pretokenizers":[{"type":"Whitespace"},`+byteLevel+`]}`, "", ""),
		"expression":             hfJSON(`{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"x+"},"behavior":"Isolated"},`+byteLevel+`]}`, "", ""),
		"does not end with":      hfJSON(`{"type":"Sequence","pretokenizers":[]}`, "", ""),
		"by none":                hfJSON(strings.Replace(byteLevel, `"use_regex":true`, `"use_regex":false`, 1), "", ""),
		"have the id 35":         strings.Replace(hfJSON(byteLevel, "", ""), `"#":35`, `"##":35,"#":35`, 1),
		"id 99999999":            strings.Replace(hfJSON(byteLevel, "", ""), `"#":35`, `"#":99999999`, 1),
		"no pair":                strings.Replace(hfJSON(byteLevel, "", ""), `"i n"`, `"in"`, 1),
		"is no token":            strings.Replace(hfJSON(byteLevel, "", ""), `"i n"`, `"x y"`, 1),
		"no token for the byte":  strings.Replace(hfJSON(byteLevel, "", ""), `"#":35,`, ``, 1),
		"no tokenizer":           "[]",
	} {
		if _, err := tokenize.ReadHuggingFace(strings.NewReader(data)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said: %v", says, err)
		}
	}
	k := trained(t, tokenize.Options{Vocab: 300}, snippets[tokenize.C])
	if err := k.WriteHuggingFace(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "Language Text") {
		t.Errorf("code as tokenizer.json: %v", err)
	}
}

// A file that cannot be replaced stays, and no half of another lies beside it.
func TestSaveLeavesNoHalves(t *testing.T) {
	k := trained(t, tokenize.Options{Vocab: 300}, snippets[tokenize.C])
	dir := t.TempDir()
	path := filepath.Join(dir, "t.json")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := k.Save(path); err == nil || !strings.Contains(err.Error(), "t.json") {
		t.Errorf("saved over a folder: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}
