package llm_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rooflab/rooflab/agents/llm"
)

func open(t testing.TB, path string) *llm.Record {
	t.Helper()
	r, err := llm.OpenRecord(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestAStudyRunsAgainWithoutTheModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "study.jsonl")
	record := open(t, file)
	limit := int64(3*tookTokens + worstTokens - 1) // of which three calls fit
	study := func(c *llm.Client) (said []string) {
		for sample := range 5 {
			q := hi
			q.Sample = sample % 4 // the last is the first again
			if sample == 1 {
				q.User = "fail"
			}
			a, err := c.Ask(t.Context(), q, nil)
			if err != nil {
				said = append(said, err.Error())
				continue
			}
			said = append(said, a.Text, text(a))
		}
		return said
	}
	meter := llm.NewMeter(llm.Limit{Tokens: &limit})
	calls := 0
	first := study(at(t, "openai", "http://127.0.0.1:1", llm.Options{Record: record, Meter: meter, Settings: priced(1, 1), HTTP: trip(func(r *http.Request) (*http.Response, error) {
		if calls++; calls == 2 {
			return response(r, 400, `{"error":{"message":"no"}}`), nil
		}
		return response(r, 200, strings.ReplaceAll(protocols[0].stream, "Hello", "Hello "+strings.Repeat("!", calls))), nil
	})}))
	if calls != 4 || !strings.Contains(strings.Join(first, "\n"), "HTTP 400") {
		t.Fatalf("%d calls: %q", calls, first)
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	again := llm.NewMeter(llm.Limit{Tokens: &limit})
	c, err := llm.Open("replay:"+file, llm.Options{Meter: again})
	if err != nil {
		t.Fatal(err)
	}
	if c.Name() != "openai:m" {
		t.Error(c.Name())
	}
	if second := study(c); !reflect.DeepEqual(first, second) {
		t.Errorf("replayed\n%q\nand recorded was\n%q", second, first)
	}
	if a, b := meter.Spent(), again.Spent(); a != b || a.Tokens != 3*tookTokens {
		t.Errorf("spent %+v, and replayed %+v", a, b)
	}
	// Where the budget ended the first time it ends again, and is no miss.
	q := hi
	q.Sample = 9
	var over *llm.BudgetError
	if _, err := c.Ask(t.Context(), q, nil); !errors.As(err, &over) {
		t.Error(err)
	}
}

func TestARunThatWasKilledDoesNotPayTwice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	c, calls := counted(t, llm.Options{Record: open(t, file)})
	q := hi
	for q.Sample = range 3 {
		if _, err := c.Ask(t.Context(), q, nil); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n")) // begun and answer of each, and nothing
	if len(lines) != 7 || *calls != 3 {
		t.Fatalf("%d lines, %d calls", len(lines), *calls)
	}
	// Killed at any byte: what is whole is not asked again.
	kept := 0
	for cut := range len(whole) + 1 {
		if cut%211 != 0 && cut < len(whole)-3 && whole[max(0, cut-1)] != '\n' { // all ends of lines, and some between
			continue
		}
		torn := filepath.Join(t.TempDir(), "torn.jsonl")
		if err := os.WriteFile(torn, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(whole[:cut], []byte("\n"))
		record := open(t, torn)
		if broken := len(record.Notes()) == 1; broken != (cut > 0 && whole[cut-1] != '\n') {
			t.Errorf("cut at %d: notes %q", cut, record.Notes())
		}
		meter := llm.NewMeter(llm.Limit{})
		c, calls := counted(t, llm.Options{Record: record, Meter: meter})
		for q.Sample = range 3 {
			if a, err := c.Ask(t.Context(), q, nil); err != nil || a.Text != "Hello, wörld" || a.Recorded != (q.Sample < n/2) {
				t.Fatalf("cut at %d: %+v, %v", cut, a, err)
			}
		}
		if *calls != 3-n/2 {
			t.Fatalf("cut at %d, %d lines: %d calls", cut, n, *calls)
		}
		// A call of which only the beginning is there may be on the bill.
		want := int64(3*tookTokens + n%2*worstTokens)
		if got := meter.Spent(); got.Tokens != want || got.Estimated != int64(n%2*worstTokens) {
			t.Fatalf("cut at %d: spent %+v, expected %d", cut, got, want)
		}
		kept += n / 2
		if err := record.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := llm.ReadRecord(torn); err != nil || len(r.Notes()) != 0 {
			t.Fatalf("cut at %d: afterwards %v, %v", cut, r, err)
		}
	}
	if kept == 0 {
		t.Error("nothing was kept ever")
	}
}

func TestAProcessKilledWithinAnAnswerIsResumed(t *testing.T) {
	three := func(url, file string, meter *llm.Meter) error {
		c := at(t, "openai", url, llm.Options{Record: open(t, file), Meter: meter})
		q := hi
		for q.Sample = range 3 {
			if _, err := c.Ask(t.Context(), q, nil); err != nil {
				return err
			}
		}
		return nil
	}
	if url := os.Getenv("LLM_TEST_SERVER"); url != "" { // the process that is killed
		t.Fatal(three(url, os.Getenv("LLM_TEST_RECORD"), nil))
	}
	file := filepath.Join(t.TempDir(), "r.jsonl")
	calls := 0
	second := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if calls++; calls != 2 {
			_, _ = io.WriteString(w, protocols[0].stream)
			return
		}
		_, _ = io.WriteString(w, protocols[0].stream[:400])
		w.(http.Flusher).Flush()
		close(second)
		<-r.Context().Done() // until the process is gone
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "LLM_TEST_SERVER="+s.URL, "LLM_TEST_RECORD="+file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-second
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	meter := llm.NewMeter(llm.Limit{})
	if err := three(s.URL, file, meter); err != nil {
		t.Fatal(err)
	}
	// The first answer was there; the second is asked again, and the third for the
	// first time. All count, and what was cut off by what it could have taken.
	if want := (llm.Spent{Calls: 4, Tokens: 3*tookTokens + worstTokens, Estimated: worstTokens, Unpriced: 4}); calls != 4 || meter.Spent() != want {
		t.Errorf("%d calls, %+v, expected %+v", calls, meter.Spent(), want)
	}
}

func TestTheSameRequestAtOneTimeIsAskedOnce(t *testing.T) {
	var calls atomic.Int32
	release := make(chan struct{})
	meter := llm.NewMeter(llm.Limit{})
	c := at(t, "openai", "http://127.0.0.1:1", llm.Options{Meter: meter, Record: open(t, filepath.Join(t.TempDir(), "r.jsonl")), HTTP: trip(func(r *http.Request) (*http.Response, error) {
		calls.Add(1)
		<-release
		return response(r, 200, protocols[0].stream), nil
	})})
	results := make(chan *llm.Answer, 8)
	for range 8 {
		go func() {
			a, err := c.Ask(t.Context(), hi, nil)
			if err != nil {
				t.Error(err)
			}
			results <- a
		}()
	}
	close(release)
	live := 0
	for range 8 {
		if a := <-results; a != nil && !a.Recorded {
			live++
		}
	}
	if calls.Load() != 1 || live != 1 || meter.Spent().Calls != 1 {
		t.Errorf("%d calls, %d live answers, %+v", calls.Load(), live, meter.Spent())
	}
}

func TestAMissSaysWhichRequestAndWhatIsDifferent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	record := open(t, file)
	c, _ := counted(t, llm.Options{Record: record})
	q := llm.Request{System: "Be brief.", User: "Make it faster.\nfor (i = 0; i < n; i++)\n  a[i] = 0;\n", MaxTokens: 100}
	for _, user := range []string{"Something else.", q.User} {
		r := q
		r.User = user
		if _, err := c.Ask(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	replay, err := llm.Open("replay:"+file, llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func(*llm.Request)
		says   string
	}{
		{func(q *llm.Request) { q.User = strings.Replace(q.User, "i < n", "i < m", 1) },
			`at line 4 and differs in the user text from line 2 on ("for (i = 0; i < n; i++)" was recorded, "for (i = 0; i < m; i++)" is asked)`},
		{func(q *llm.Request) { q.User += "more" }, `line 4 on ("" was recorded, "more" is asked)`},
		{func(q *llm.Request) { q.Sample, q.Temperature = 3, ptr(0.5) }, "differs in temperature (none was recorded, 0.5 is asked), sample (0 was recorded, 3 is asked)"},
		{func(q *llm.Request) { q.MaxTokens, q.Seed = 0, ptr(int64(4)) }, "differs in max tokens (100 was recorded, 8192 is asked), seed (none was recorded, 4 is asked)"},
		{func(q *llm.Request) { q.System = "" }, `the system text from line 1 on ("Be brief." was recorded, "" is asked)`},
	} {
		r := q
		tt.change(&r)
		_, err := replay.Ask(t.Context(), r, nil)
		var miss *llm.MissError
		if !errors.As(err, &miss) || miss.Key != r.Key("openai:m") || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), miss.Key[:12]) || !strings.Contains(err.Error(), "Make it faster.") {
			t.Errorf("%v\nexpected %s", err, tt.says)
		}
	}
	if a, err := replay.Ask(t.Context(), q, nil); err != nil || !a.Recorded {
		t.Errorf("%+v, %v", a, err)
	}
	other, err := llm.Open("replay:"+file+"#anthropic:m", llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Ask(t.Context(), q, nil); err == nil || !strings.Contains(err.Error(), "it holds answers of openai:m") {
		t.Error(err)
	}
}

func TestARecordOfSeveralModelsIsReplayedByName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	record := open(t, file)
	for i, p := range protocols {
		c := at(t, p.provider, "http://127.0.0.1:1", llm.Options{Record: record, HTTP: reply(200, strings.ReplaceAll(p.stream, "Hello", p.provider))})
		if _, err := c.Ask(t.Context(), hi, nil); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := llm.Open("replay:"+file, llm.Options{}); err == nil || !strings.Contains(err.Error(), "the record holds 4 models (openai:m, anthropic:m, gemini:m, ollama:m)") {
		t.Error(err)
	}
	for _, p := range protocols {
		c, err := llm.Open("replay:"+file+"#"+p.provider+":m", llm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := c.Ask(t.Context(), hi, nil); err != nil || a.Text != p.provider+", wörld" {
			t.Errorf("%+v, %v", a, err)
		}
	}
}

func TestFailuresAreAskedAgainButInAReplay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	record := open(t, file)
	c := at(t, "openai", "http://127.0.0.1:1", llm.Options{Record: record, Tries: 1, HTTP: reply(503, `{"error":"down"}`)})
	_, first := c.Ask(t.Context(), hi, nil)
	replay, err := llm.Open("replay:"+file, llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replay.Ask(t.Context(), hi, nil); err == nil || err.Error() != first.Error() || !strings.Contains(err.Error(), "down") {
		t.Errorf("%v, and replayed %v", first, err)
	}
	c, calls := counted(t, llm.Options{Record: record})
	if _, err := c.Ask(t.Context(), hi, nil); err != nil || *calls != 1 {
		t.Errorf("%d calls, %v", *calls, err)
	}
	// What a user broke off says nothing about the model.
	ctx, cancel := context.WithCancel(t.Context())
	q := hi
	q.Sample = 1
	c = at(t, "openai", "http://127.0.0.1:1", llm.Options{Record: record, HTTP: trip(func(r *http.Request) (*http.Response, error) {
		cancel()
		return nil, r.Context().Err()
	})})
	if _, err := c.Ask(ctx, q, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if replay, err = llm.Open("replay:"+file, llm.Options{}); err != nil {
		t.Fatal(err)
	}
	var miss *llm.MissError
	if _, err := replay.Ask(t.Context(), q, nil); !errors.As(err, &miss) {
		t.Error(err)
	}
}

func TestARecordIsOneProcesssAlone(t *testing.T) {
	if file := os.Getenv("LLM_TEST_RECORD"); file != "" { // the other process
		if _, err := llm.OpenRecord(file); err != nil {
			t.Fatal(err)
		}
		return
	}
	file := filepath.Join(t.TempDir(), "r.jsonl")
	record := open(t, file)
	other := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "LLM_TEST_RECORD="+file)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := other(); err == nil || !strings.Contains(out, "another process is writing it") {
		t.Errorf("%v: %s", err, out)
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := other(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestADiskThatFailsIsToldAndTheAnswerIsThere(t *testing.T) {
	record := open(t, filepath.Join(t.TempDir(), "r.jsonl"))
	c := at(t, "openai", "http://127.0.0.1:1", llm.Options{Record: record, HTTP: trip(func(r *http.Request) (*http.Response, error) {
		if err := record.Close(); err != nil {
			t.Error(err)
		}
		return response(r, 200, protocols[0].stream), nil
	})})
	a, err := c.Ask(t.Context(), hi, nil)
	if a == nil || a.Text != "Hello, wörld" || err == nil || !strings.Contains(err.Error(), "recording into") {
		t.Errorf("%+v, %v", a, err)
	}
	// Where nothing can be recorded nothing is asked.
	c = at(t, "openai", "http://127.0.0.1:1", llm.Options{Record: record, HTTP: trip(func(r *http.Request) (*http.Response, error) {
		t.Error("it was asked")
		return response(r, 200, ""), nil
	})})
	if _, err := c.Ask(t.Context(), hi, nil); err == nil {
		t.Error("no error")
	}
}

func TestWhatIsNoRecordIsRefusedAndLeftAsItIs(t *testing.T) {
	for content, says := range map[string]string{
		"hello\n":                        "r.jsonl:1: not a line of a record",
		`{"version":1,"key":"a"}` + "\n": "r.jsonl:1: expected a key with begun",
		`{"version":2,"key":"a"}` + "\n": "version 2",
		"\n[1]\n":                        "r.jsonl:2",
		`{"version":1,"key":"a","answer":{}}` + "\n":               "expected a key",
		`{"version":1,"key":"a","error":{"tries":"x"}}` + "\nrest": "r.jsonl:1",
	} {
		file := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func(string) (*llm.Record, error){llm.OpenRecord, llm.ReadRecord} {
			if _, err := open(file); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v", content, err)
			}
		}
		if left, err := os.ReadFile(file); err != nil || string(left) != content {
			t.Errorf("%q became %q", content, left)
		}
	}
}
