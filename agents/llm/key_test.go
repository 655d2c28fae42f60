package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/llm"
)

func TestKeysComeFromWhereTheSettingsSay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(testKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOME_KEY", " "+testKey)
	for _, from := range []llm.KeySource{{Env: "SOME_KEY"}, {File: file}, {Command: []string{"sh", "-c", "cat " + file + "; echo unlocked >&2"}}} {
		got := ""
		c, err := llm.Open("gemini:m", llm.Options{Settings: &llm.Settings{Models: map[string]llm.Setting{"gemini:*": {Key: &from}}},
			HTTP: trip(func(r *http.Request) (*http.Response, error) {
				got = r.Header.Get("X-Goog-Api-Key") + " " + r.URL.Host
				return response(r, 200, protocols[2].stream), nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Ask(t.Context(), hi, nil); err != nil || got != testKey+" generativelanguage.googleapis.com" {
			t.Errorf("%v: %q, %v", from, got, err)
		}
	}
}

func TestAKeyThatIsAbsentIsSaidBeforeAnythingIsAsked(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(name, "")
	}
	asked := trip(func(r *http.Request) (*http.Response, error) {
		t.Errorf("%s was asked", r.URL)
		return response(r, 200, ""), nil
	})
	for model, says := range map[string]string{"openai:m": "$OPENAI_API_KEY", "anthropic:m": "$ANTHROPIC_API_KEY", "gemini:m": "$GEMINI_API_KEY"} {
		c, err := llm.Open(model, llm.Options{HTTP: asked})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Ask(t.Context(), hi, nil); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "[models.\""+model+"\"]") {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		from llm.KeySource
		says string
	}{
		{llm.KeySource{File: "/nowhere/key"}, "no such file"},
		{llm.KeySource{Command: []string{"false", "secret-argument"}}, "the command false: it failed: exit status 1"},
		{llm.KeySource{Command: []string{"sh", "-c", "echo " + testKey + "; exit 3"}}, "exit status 3"},
		{llm.KeySource{Command: []string{"echo", "Enter your password: " + testKey}}, "a character that no key has"},
		{llm.KeySource{Command: []string{"true"}}, "there is none"},
		{llm.KeySource{Command: []string{"echo", "1234"}}, "fewer than 8 characters"},
	} {
		c, err := llm.Open("openai:m", llm.Options{HTTP: asked, Settings: &llm.Settings{Models: map[string]llm.Setting{"openai:m": {Key: &tt.from}}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Ask(t.Context(), hi, nil)
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), testKey) || strings.Contains(err.Error(), "secret-argument") {
			t.Errorf("%v: %v", tt.from, err)
		}
	}
}

func TestAKeyGoesToItsServerOnly(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", testKey)
	t.Setenv("OTHER_KEY", "other-key-0123456789")
	other := &llm.KeySource{Env: "OTHER_KEY"}
	for _, tt := range []struct {
		name     string
		settings map[string]llm.Setting
		want     string // of Authorization, at the host
	}{
		{"openai:m", nil, "Bearer " + testKey + " at api.openai.com"},
		{"openai:m@http://127.0.0.1:1", nil, " at 127.0.0.1:1"},
		{"openai:m@https://evil.example/v1", map[string]llm.Setting{"openai:*": {Key: other}}, " at evil.example"},
		{"openai:m", map[string]llm.Setting{"openai:*": {Server: "https://gw.example/v1"}}, " at gw.example"},
		{"openai:m", map[string]llm.Setting{"openai:*": {Server: "https://gw.example/v1", Key: other}}, "Bearer other-key-0123456789 at gw.example"},
		{"openai:m@https://gw.example/v1/", map[string]llm.Setting{"openai:*": {Server: "https://gw.example", Key: other}}, "Bearer other-key-0123456789 at gw.example"},
		{"openai:m@https://evil.example/v1", map[string]llm.Setting{"openai:*": {Server: "https://gw.example/v1", Key: other}}, " at evil.example"},
		// A section with a server takes no key from one that names another or none.
		{"openai:m", map[string]llm.Setting{"openai:*": {Key: other}, "openai:m": {Server: "https://gw.example/v1"}}, " at gw.example"},
	} {
		got := ""
		c, err := llm.Open(tt.name, llm.Options{Settings: &llm.Settings{Models: tt.settings}, HTTP: trip(func(r *http.Request) (*http.Response, error) {
			got = r.Header.Get("Authorization") + " at " + r.URL.Host
			return response(r, 200, protocols[0].stream), nil
		})})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if _, err := c.Ask(t.Context(), hi, nil); err != nil || got != tt.want {
			t.Errorf("%s with %s: %q, expected %q; %v", tt.name, text(tt.settings), got, tt.want, err)
		}
	}
	_, err := llm.Open("openai:m@http://gw.example/v1", llm.Options{Settings: &llm.Settings{Models: map[string]llm.Setting{"openai:*": {Server: "http://gw.example/v1", Key: other}}}})
	if err == nil || !strings.Contains(err.Error(), "everyone on the way could read it") {
		t.Errorf("in the clear: %v", err)
	}
}

func TestAKeyIsNowhereButInItsHeader(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record.jsonl")
	record, err := llm.OpenRecord(file)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	note := func(what string, v any) {
		seen = append(seen, fmt.Sprintf("%s: %v %+v %#v %s %q", what, v, v, v, v, v))
		if raw, err := json.Marshal(v); err == nil {
			seen = append(seen, what+": "+string(raw))
		}
	}
	for i, p := range protocols {
		// Servers that say the key again wherever they can.
		for j, answer := range []struct {
			status int
			body   string
		}{
			{401, `{"error":{"message":"Incorrect API key provided: ` + testKey + `","type":"` + testKey + `"}}`},
			{400, `{"error":{"message":"bad header ` + testKey + `","type":"` + testKey + `","code":"` + testKey + `"}}`},
			{503, testKey},
			{302, testKey},
			{200, strings.ReplaceAll(p.stream, "m-2026", testKey)},
			{200, strings.ReplaceAll(p.stream, "Hello, ", testKey)},
			{200, events(`{"error":{"message":"` + testKey + `"},"type":"error"}`)},
			{200, `{"error":"` + testKey + `"}` + "\n"},
			{200, "data: " + testKey + "\n\n" + testKey + "\n"},
		} {
			c := at(t, p.provider, "http://127.0.0.1:1", llm.Options{Tries: 1, Record: record, HTTP: trip(func(r *http.Request) (*http.Response, error) {
				out := response(r, answer.status, answer.body)
				if answer.status == 302 {
					out.Header.Set("Location", "https://else.example/"+testKey)
				}
				return out, nil
			})})
			q := hi
			q.Sample = i*100 + j
			a, err := c.Ask(t.Context(), q, nil)
			note("client", c)
			note("answer", a)
			note("error", err)
			for e := err; e != nil; e = errors.Unwrap(e) {
				note("cause", e)
			}
		}
		broken := at(t, p.provider, "http://127.0.0.1:1", llm.Options{Tries: 1, Record: record, HTTP: trip(func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("proxy: %v", r.Header)
		})})
		q := hi
		q.Sample = i*100 + 99
		_, err := broken.Ask(t.Context(), q, nil)
		note("error", err)
		for e := err; e != nil; e = errors.Unwrap(e) {
			note("cause", e)
		}
		q.User = "const key = \"" + testKey + "\""
		if _, err = broken.Ask(t.Context(), q, nil); err == nil || !strings.Contains(err.Error(), "holds the key from $LLM_TEST_KEY") {
			t.Errorf("a prompt with the key: %v", err)
		}
		note("error", err)
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "[key]") {
		t.Error("the record does not show where a key was")
	}
	for _, s := range append(seen, string(raw)) {
		if at := strings.Index(s, testKey); at >= 0 {
			t.Errorf("the key is in ...%s", s[max(0, at-300):min(len(s), at+100)])
		}
	}
}
