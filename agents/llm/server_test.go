package llm_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/llm/llamatest"
)

// llama.cpp's server speaks OpenAI's and Anthropic's protocols, written by others.
func TestARealServerAnswersInBothOfItsProtocolsAndIsReplayed(t *testing.T) {
	const key = "local-server-key-1"
	url := llamatest.Start(t, "--api-key", key)
	file := filepath.Join(t.TempDir(), "record.jsonl")
	t.Setenv("LOCAL_LLAMA_KEY", key)
	zero, seed := 0.0, int64(1)
	ask := llm.Request{System: "You are brief.", User: "Say hello.", MaxTokens: 6, Temperature: &zero, Seed: &seed}
	free := 0.0
	setting := func(server string) llm.Setting {
		return llm.Setting{Server: server, Key: &llm.KeySource{Env: "LOCAL_LLAMA_KEY"}, Input: &free, Output: &free}
	}
	settings := &llm.Settings{Models: map[string]llm.Setting{"llamacpp:smollm2": setting(url + "/v1"), "anthropic:smollm2": setting(url)}}
	answers := map[string]*llm.Answer{}
	record, err := llm.OpenRecord(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"llamacpp:smollm2", "anthropic:smollm2"} {
		c, err := llm.Open(name, llm.Options{Settings: settings, Record: record})
		if err != nil {
			t.Fatal(err)
		}
		var pieces strings.Builder
		a, err := c.Ask(t.Context(), ask, func(e llm.Event) { pieces.WriteString(e.Text) })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%s: %q, %s, input %d, output %d", name, a.Text, a.Stop, *a.Usage.Input, *a.Usage.Output)
		if a.Text == "" || pieces.String() != a.Text {
			t.Errorf("%s: the answer is %q, and its pieces are %q", name, a.Text, pieces.String())
		}
		// Six tokens are not enough to end a sentence of a polite model.
		if a.Stop != llm.StopLength || *a.Usage.Output != 6 || *a.Usage.Input < 10 || a.Cost == nil || *a.Cost != 0 {
			t.Errorf("%s: %+v", name, a)
		}
		answers[name] = a
	}
	// The same weights, template and greedy choice: the two protocols must agree.
	if a, b := answers["llamacpp:smollm2"], answers["anthropic:smollm2"]; a.Text != b.Text || *a.Usage.Input != *b.Usage.Input {
		t.Errorf("the protocols differ: %q of %d tokens, %q of %d", a.Text, *a.Usage.Input, b.Text, *b.Usage.Input)
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}

	c, err := llm.Open("replay:"+file+"#llamacpp:smollm2", llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := c.Ask(t.Context(), ask, nil); err != nil || a.Text != answers["llamacpp:smollm2"].Text {
		t.Errorf("replayed: %v, %v", a, err)
	}

	// Without the key the server refuses, and nothing else is tried.
	bare, err := llm.Open("llamacpp:smollm2@"+url, llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = bare.Ask(t.Context(), ask, nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != 401 || e.Tries != 1 || !strings.Contains(err.Error(), "wants a key") {
		t.Errorf("without a key: %v", err)
	}
	// A prompt that does not fit is the server's error, in its words.
	long, err := llm.Open("llamacpp:smollm2", llm.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	ask.User = strings.Repeat("one two three four ", 1500)
	if _, err = long.Ask(t.Context(), ask, nil); !errors.As(err, &e) || e.Status != 400 || e.Tries != 1 || !strings.Contains(err.Error(), "context") {
		t.Errorf("a prompt beyond the context: %v", err)
	}
}
