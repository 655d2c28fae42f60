package llm_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rooflab/rooflab/agents/llm"
)

// FuzzStream reads any bytes as an answer of each protocol: an answer is whole
// and valid, and anything else an error.
func FuzzStream(f *testing.F) {
	for i, p := range protocols {
		f.Add(uint8(i), 200, []byte(p.stream))
		f.Add(uint8(i), 200, []byte(p.stream[:len(p.stream)/2]))
	}
	f.Add(uint8(0), 200, []byte("\ufeffdata:{}\r\rdata\n\ndata: \"\n\n: c\ndata: {\"error\":null}\ndata: \n\n"))
	f.Add(uint8(1), 529, []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
	f.Add(uint8(2), 429, []byte(`[{"error":{"code":429,"details":[{"retryDelay":"-1s"},{"retryDelay":"9e9h"}]}}]`))
	f.Add(uint8(3), 500, []byte("\xff\x00{"))
	f.Add(uint8(1), 200, []byte(events(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807,"output_tokens":-1}}`)))
	f.Fuzz(func(t *testing.T, protocol uint8, status int, stream []byte) {
		p := protocols[int(protocol)%len(protocols)]
		var pieces strings.Builder
		c := at(t, p.provider, "http://127.0.0.1:1", llm.Options{Tries: 1, Settings: &llm.Settings{Models: map[string]llm.Setting{p.provider + ":m": {Input: ptr(1.0), Output: ptr(1.0)}}}, HTTP: reply(status, string(stream))})
		a, err := c.Ask(t.Context(), hi, func(e llm.Event) { pieces.WriteString(e.Text) })
		var e *llm.Error
		switch {
		case err == nil && (a.Stop == "" || !utf8.ValidString(a.Text) || strings.ToValidUTF8(pieces.String(), "\ufffd") != a.Text):
			t.Errorf("%+v from pieces %q", a, pieces.String())
		case err == nil && (a.Cost != nil && !(*a.Cost >= 0) || a.Spent.Tokens < 0 || status != 200):
			t.Errorf("status %d: cost %s, %+v", status, text(a.Cost), a.Spent)
		case err != nil && (!errors.As(err, &e) || e.Text == "" || strings.ContainsAny(err.Error(), "\n\x1b")):
			t.Errorf("%q", err)
		}
	})
}

// FuzzRecord opens any bytes as a record: refused, or read and appended to.
func FuzzRecord(f *testing.F) {
	file := filepath.Join(f.TempDir(), "r.jsonl")
	record := open(f, file)
	c, _ := counted(f, llm.Options{Record: record})
	if _, err := c.Ask(f.Context(), hi, nil); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"version":1,"key":"a","model":"x","error":{},"request":{"user":""}}` + "\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := llm.OpenRecord(path)
		if err != nil {
			return
		}
		c, _ := counted(t, llm.Options{Record: r})
		if _, err := c.Ask(t.Context(), hi, nil); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := llm.ReadRecord(path); err != nil {
			t.Error(err)
		}
	})
}
