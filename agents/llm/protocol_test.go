package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/llm"
)

func ptr[T any](v T) *T { return &v }

// spoken is what a model server says to {system: "Be brief.", user: "Hi"}: the
// stream, in the protocol's documented form, of an answer "Hello, wörld".
type spoken struct {
	provider, path, media string
	stream                string
	request               string // what it must be asked, as JSON
	header, value         string
	usage                 llm.Usage
	served                string
}

func events(datas ...string) string {
	var b strings.Builder
	for _, d := range datas {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

const testKey = "test-key-0123456789"

var protocols = []spoken{
	{
		provider: "openai", path: "/v1/chat/completions", media: "text/event-stream; charset=utf-8",
		stream: ": keep-alive\r\n\r\ndata:\r\n\r\n" + strings.ReplaceAll(events(
			`{"id":"c1","object":"chat.completion.chunk","model":"m-2026","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`,
			`{"id":"c1","model":"m-2026","choices":[{"index":1,"delta":{"content":"of another choice"}},{"index":0,"delta":{"content":"Hello, "}}]}`,
			`{"id":"c1","model":"m-2026","choices":[{"index":0,"delta":{"content":"wörld"},"finish_reason":null}]}`,
			`{"id":"c1","model":"m-2026","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`{"id":"c1","model":"m-2026","choices":[],"usage":{"prompt_tokens":50,"completion_tokens":30,"total_tokens":80,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":20}}}`,
			`[DONE]`), "\n", "\r\n"),
		request: `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"max_tokens":100,"temperature":0.5,"seed":7,"stream":true,"stream_options":{"include_usage":true}}`,
		header:  "Authorization", value: "Bearer " + testKey,
		usage: llm.Usage{Input: ptr(int64(50)), Cached: ptr(int64(40)), Output: ptr(int64(30)), Reasoning: ptr(int64(20))}, served: "m-2026",
	},
	{
		provider: "anthropic", path: "/v1/messages", media: "text/event-stream",
		stream: "event: message_start\n" + events(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m-2026","stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":35,"output_tokens":1}}}`,
			`{"type":"ping"}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello, "}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"wörld"}}`,
			`{"type":"something_new","delta":{}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":30}}`) +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		request: `{"model":"m","max_tokens":100,"system":"Be brief.","messages":[{"role":"user","content":"Hi"}],"temperature":0.5,"stream":true}`,
		header:  "X-Api-Key", value: testKey,
		// 10 + 5 + 35: input_tokens are those that no cache had a part in.
		usage: llm.Usage{Input: ptr(int64(50)), Cached: ptr(int64(35)), Written: ptr(int64(5)), Output: ptr(int64(30))}, served: "m-2026",
	},
	{
		provider: "gemini", path: "/v1beta/models/m:streamGenerateContent?alt=sse", media: "text/event-stream",
		stream: events(`{"candidates":[{"content":{"parts":[{"text":"let me think","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":50,"totalTokenCount":50},"modelVersion":"m-2026"}`,
			`{"candidates":[{"content":{"parts":[{"text":"Hello, "},{"text":"wör"}],"role":"model"},"index":0}],"modelVersion":"m-2026"}`,
			`{"candidates":[{"content":{"parts":[{"text":"ld"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":50,"cachedContentTokenCount":40,"candidatesTokenCount":10,"thoughtsTokenCount":20,"totalTokenCount":80},"modelVersion":"m-2026"}`),
		request: `{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":100,"temperature":0.5,"seed":7}}`,
		header:  "X-Goog-Api-Key", value: testKey,
		// 10 + 20: candidatesTokenCount is without thoughts.
		usage: llm.Usage{Input: ptr(int64(50)), Cached: ptr(int64(40)), Output: ptr(int64(30)), Reasoning: ptr(int64(20))}, served: "m-2026",
	},
	{
		provider: "ollama", path: "/api/chat", media: "application/x-ndjson",
		stream: `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}` + "\n" +
			`{"model":"m","message":{"role":"assistant","content":"Hello, "},"done":false}` + "\n" +
			`{"model":"m","message":{"role":"assistant","content":"wörld"},"done":false}` + "\n" +
			`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":5,"prompt_eval_count":50,"eval_count":30}` + "\n",
		request: `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"stream":true,"options":{"num_ctx":4096,"num_predict":100,"temperature":0.5,"seed":7}}`,
		header:  "Authorization", value: "Bearer " + testKey,
		usage: llm.Usage{Input: ptr(int64(50)), Output: ptr(int64(30))}, served: "m",
	},
}

var hi = llm.Request{System: "Be brief.", User: "Hi", MaxTokens: 100, Temperature: ptr(0.5), Seed: ptr(int64(7))}

// serve runs a server of a protocol.
func serve(t testing.TB, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s
}

// at opens PROVIDER:m at a server which the settings give testKey.
func at(t testing.TB, provider, url string, opt llm.Options) *llm.Client {
	t.Helper()
	t.Setenv("LLM_TEST_KEY", testKey)
	name := provider + ":m"
	set := llm.Setting{}
	if opt.Settings != nil {
		set = opt.Settings.Models[name]
	}
	set.Server, set.Key = url, &llm.KeySource{Env: "LLM_TEST_KEY"}
	opt.Settings = &llm.Settings{Models: map[string]llm.Setting{name: set}}
	c, err := llm.Open(name, opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEachProtocolIsSpokenAsDocumented(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.provider, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.RequestURI() != p.path || r.Method != http.MethodPost {
					t.Errorf("asked %s %s", r.Method, r.URL.RequestURI())
				}
				if got := r.Header.Get(p.header); got != p.value {
					t.Errorf("%s: %q", p.header, got)
				}
				if p.provider == "anthropic" && r.Header.Get("Anthropic-Version") != "2023-06-01" {
					t.Error("no version")
				}
				var got, want any
				if err := json.Unmarshal(body, &got); err != nil {
					t.Error(err)
				}
				if err := json.Unmarshal([]byte(p.request), &want); err != nil {
					t.Error(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("asked %s\nexpected %s", body, p.request)
				}
				w.Header().Set("Content-Type", p.media)
				for i := range len(p.stream) { // byte by byte: no piece of the wire is a piece of the protocol
					_, _ = io.WriteString(w, p.stream[i:i+1])
					w.(http.Flusher).Flush()
				}
			})
			prices := &llm.Settings{Models: map[string]llm.Setting{p.provider + ":m": {Input: ptr(2.0), Cached: ptr(0.5), Written: ptr(4.0), Output: ptr(10.0)}}}
			var pieces strings.Builder
			a, err := at(t, p.provider, s.URL, llm.Options{Settings: prices}).Ask(t.Context(), hi, func(e llm.Event) {
				if e.Again != nil {
					t.Error(e.Again)
				}
				pieces.WriteString(e.Text)
			})
			if err != nil {
				t.Fatal(err)
			}
			if a.Text != "Hello, wörld" || pieces.String() != a.Text || a.Stop != llm.StopEnd || a.Served != p.served || a.Tries != 1 || a.Recorded {
				t.Errorf("%+v, in pieces %q", a, pieces.String())
			}
			if !reflect.DeepEqual(a.Usage, p.usage) {
				t.Errorf("usage %s, expected %s", text(a.Usage), text(p.usage))
			}
			// Dollars per million tokens: what no cache had a part in 2, read 0.5, written 4, output 10.
			want := map[string]float64{
				"openai":    (10*2 + 40*0.5 + 30*10) / 1e6,
				"anthropic": (10*2 + 35*0.5 + 5*4 + 30*10) / 1e6,
				"gemini":    (10*2 + 40*0.5 + 30*10) / 1e6,
				"ollama":    (50*2 + 30*10) / 1e6,
			}[p.provider]
			if a.Cost == nil || *a.Cost < want*(1-1e-12) || *a.Cost > want*(1+1e-12) {
				t.Errorf("cost %s, expected %g", text(a.Cost), want)
			}
			if seedless := len(a.Notes) == 1 && strings.Contains(a.Notes[0], "no seed"); seedless != (p.provider == "anthropic") {
				t.Errorf("notes %q", a.Notes)
			}
		})
	}
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func TestReasonsToStopAreToldApart(t *testing.T) {
	finish := func(word string) string {
		return events(`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"`+word+`"}]}`, "[DONE]")
	}
	claude := func(word string) string {
		return events(`{"type":"message_delta","delta":{"stop_reason":"`+word+`"}}`, `{"type":"message_stop"}`)
	}
	google := func(word string) string { return events(`{"candidates":[{"finishReason":"` + word + `"}]}`) }
	for _, tt := range []struct {
		provider, stream string
		want             llm.Stop
	}{
		{"openai", finish("length"), llm.StopLength},
		{"openai", finish("content_filter"), llm.StopRefused},
		{"openai", finish("tool_calls"), llm.StopOther},
		{"openai", events(`{"choices":[{"index":0,"delta":{"refusal":"No."},"finish_reason":"stop"}]}`, "[DONE]"), llm.StopRefused},
		{"anthropic", claude("max_tokens"), llm.StopLength},
		{"anthropic", claude("refusal"), llm.StopRefused},
		{"anthropic", claude("pause_turn"), llm.StopOther},
		{"gemini", google("MAX_TOKENS"), llm.StopLength},
		{"gemini", google("SAFETY"), llm.StopRefused},
		{"gemini", events(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":4}}`), llm.StopRefused},
		{"gemini", google("MALFORMED_FUNCTION_CALL"), llm.StopOther},
		{"ollama", `{"done":true,"done_reason":"length"}` + "\n", llm.StopLength},
		{"ollama", `{"done":true}` + "\n", llm.StopEnd},
	} {
		c := at(t, tt.provider, "http://127.0.0.1:1", llm.Options{HTTP: reply(200, tt.stream)})
		a, err := c.Ask(t.Context(), hi, nil)
		if err != nil || a.Stop != tt.want {
			t.Errorf("%s: %s: %+v, %v", tt.provider, tt.stream, a, err)
			continue
		}
		// No server counted, so nothing is known, and a budget estimates.
		if tt.provider != "gemini" && (a.Usage.Output != nil || a.Cost != nil || a.Spent.Estimated == 0 || a.Spent.Unpriced != 1) {
			t.Errorf("%s: counts from nowhere: %+v", tt.provider, a)
		}
		if other := strings.Contains(strings.Join(a.Notes, " "), "stopped for"); other != (tt.want == llm.StopOther) {
			t.Errorf("%s: notes %q", tt.provider, a.Notes)
		}
	}
}

// trip answers requests without a network.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(r *http.Request, status int, body string) *http.Response {
	media := "text/event-stream"
	if strings.Contains(r.URL.Path, "/api/chat") {
		media = "application/x-ndjson"
	}
	if status != 200 {
		media = "application/json"
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// reply always answers the same.
func reply(status int, body string) http.RoundTripper {
	return trip(func(r *http.Request) (*http.Response, error) { return response(r, status, body), nil })
}

func TestOpenAIsOwnServiceIsAskedWithItsNewNames(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", testKey)
	var url, key, body string
	c, err := llm.Open("openai:gpt-5", llm.Options{HTTP: trip(func(r *http.Request) (*http.Response, error) {
		raw, _ := io.ReadAll(r.Body)
		url, key, body = r.URL.String(), r.Header.Get("Authorization"), string(raw)
		return response(r, 200, protocols[0].stream), nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), llm.Request{User: "Hi"}, nil); err != nil {
		t.Fatal(err)
	}
	if url != "https://api.openai.com/v1/chat/completions" || key != "Bearer "+testKey || !strings.Contains(body, fmt.Sprintf(`"max_completion_tokens":%d`, llm.DefaultMaxTokens)) {
		t.Errorf("%s\n%s\n%s", url, key, body)
	}
	for _, left := range []string{`"max_tokens"`, "temperature", "seed", "system"} {
		if strings.Contains(body, left) {
			t.Errorf("%s was not asked for: %s", left, body)
		}
	}
}

func TestOllamaGetsAContextThatHoldsPromptAndAnswer(t *testing.T) {
	var body struct {
		Options struct {
			Context int `json:"num_ctx"`
		}
	}
	c, err := llm.Open("ollama:qwen2.5-coder:7b", llm.Options{HTTP: trip(func(r *http.Request) (*http.Response, error) {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		return response(r, 200, protocols[3].stream), nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	// 8000 counted, 32 for the template and 8192 for the answer are 16224.
	if _, err := c.Ask(t.Context(), llm.Request{User: "Hi", InputTokens: 8000}, nil); err != nil || body.Options.Context != 16384 {
		t.Errorf("context %d, %v", body.Options.Context, err)
	}
}

func TestNamesSayWhatIsWrongWithThem(t *testing.T) {
	for name, says := range map[string]string{
		"gpt-5":                              "expected PROVIDER:MODEL",
		"opanai:gpt-5":                       `no provider "opanai"`,
		"openai:":                            "no name of a model",
		"llamacpp:@http://127.0.0.1:8080":    "no name of a model",
		"openai:m@http://":                   "no host",
		"openai:m@https://me:secret-1@h/v1":  "a user or a password",
		"openai:m@https://h/v1?key=secret-1": "a query",
		"openai:m@http://h:port/":            "no URL",
		"replay:":                            "no file",
		"replay:/nowhere/at/all.jsonl":       "no such file",
	} {
		_, err := llm.Open(name, llm.Options{})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret-1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"openai:org/model:free@https://gateway.example/v1": "openai:org/model:free",
		"ollama:qwen2.5-coder:7b@http://[::1]:11434":       "ollama:qwen2.5-coder:7b",
		"anthropic:model@20260101":                         "anthropic:model@20260101",
	} {
		c, err := llm.Open(name, llm.Options{})
		if err != nil || c.Name() != want {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}
