package llm_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rooflab/rooflab/agents/llm"
)

func TestAStreamThatBreaksIsTriedAgain(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.provider, func(t *testing.T) {
			// In the middle of the answer, after its first piece.
			middle := strings.Index(p.stream, "Hello, ") + 9
			calls := 0
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				calls++
				w.Header().Set("Content-Type", p.media)
				if calls > 1 {
					_, _ = io.WriteString(w, p.stream)
					return
				}
				_, _ = io.WriteString(w, p.stream[:middle])
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler) // the connection is cut
			})
			var void error
			said := ""
			a, err := at(t, p.provider, s.URL, llm.Options{}).Ask(t.Context(), hi, func(e llm.Event) {
				if said += e.Text; e.Again != nil {
					void, said = e.Again, ""
				}
			})
			if err != nil || calls != 2 || a.Tries != 2 || a.Text != "Hello, wörld" || said != a.Text {
				t.Fatalf("%d calls, %+v, %v, said %q", calls, a, err, said)
			}
			if void == nil || !strings.Contains(void.Error(), "ended before the answer did") {
				t.Errorf("the first try failed with %v", void)
			}
			// The first try may have taken all that it could: 3 + 1 tokens of text, three
			// bytes for one, 32 for the template, and 100 out; the second took 50 and 30.
			if want := (llm.Spent{Calls: 2, Tokens: 3 + 1 + 32 + 100 + 80, Estimated: 3 + 1 + 32 + 100, Unpriced: 2}); a.Spent != want {
				t.Errorf("spent %+v, expected %+v", a.Spent, want)
			}
		})
	}
}

func TestEveryPrefixOfAStreamIsAnErrorOrTheWholeAnswer(t *testing.T) {
	for _, p := range protocols {
		whole := 0
		for n := range len(p.stream) + 1 {
			c := at(t, p.provider, "http://127.0.0.1:1", llm.Options{Tries: 1, HTTP: reply(200, p.stream[:n])})
			a, err := c.Ask(t.Context(), hi, nil)
			var e *llm.Error
			switch {
			case err == nil && a.Text == "Hello, wörld":
				whole++
			case err == nil:
				t.Fatalf("%s: %d bytes gave %+v", p.provider, n, a)
			case !errors.As(err, &e) || !e.Temporary:
				t.Fatalf("%s: %d bytes: %v", p.provider, n, err)
			}
		}
		if whole == 0 {
			t.Errorf("%s: no answer even of the whole stream", p.provider)
		}
	}
}

func TestErrorsOfServersAreToldInTheirWords(t *testing.T) {
	for _, tt := range []struct {
		name, provider string
		status         int
		body           string
		says           []string
		again          bool
	}{
		{"bad request", "openai", 400, `{"error":{"message":"Unsupported value: 'temperature'","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`,
			[]string{"Unsupported value: 'temperature'", "HTTP 400", "unsupported_value"}, false},
		{"no money left", "openai", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, []string{"exceeded your current quota"}, false},
		{"rate", "openai", 429, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, []string{"Rate limit reached", "after 2 tries"}, true},
		{"overloaded", "anthropic", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, []string{"Overloaded", "HTTP 529, overloaded_error", "after 2 tries"}, true},
		{"no such model", "gemini", 404, `{"error":{"code":404,"message":"models/m is not found","status":"NOT_FOUND"}}`, []string{"models/m is not found", "NOT_FOUND"}, false},
		{"a list", "gemini", 503, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, []string{"The model is overloaded.", "UNAVAILABLE"}, true},
		{"not pulled", "ollama", 404, `{"error":"model 'm' not found"}`, []string{"model 'm' not found", "ollama pull m"}, false},
		{"a page", "openai", 502, "<html>\n<h1>Bad\x1b[31m Gateway</h1></html>", []string{"<h1>Bad[31m Gateway</h1>"}, true},
		{"nothing", "openai", 500, "", []string{"without a word", "HTTP 500"}, true},
		{"a long page", "openai", 400, strings.Repeat("no ", 1e5), []string{"no no", " ..."}, false},
		{"of FastAPI", "openai", 422, `{"detail":"Field required"}`, []string{"Field required"}, false},
		{"within the stream", "openai", 200, events(`{"choices":[{"delta":{"content":"He"}}]}`, `{"error":{"message":"The server had an error","type":"server_error","code":null}}`), []string{"within the answer", "The server had an error", "2 bytes"}, true},
		{"within the stream, lasting", "openai", 200, events(`{"error":{"message":"no more context","type":"invalid_request_error","code":400}}`), []string{"no more context"}, false},
		{"within the stream", "anthropic", 200, "event: error\n" + events(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), []string{"Overloaded"}, true},
		{"within the stream", "gemini", 200, events(`{"error":{"code":500,"message":"Internal","status":"INTERNAL"}}`), []string{"INTERNAL"}, true},
		{"within the stream", "ollama", 200, `{"error":"llama runner process has terminated"}` + "\n", []string{"runner process has terminated"}, false},
		{"no JSON", "openai", 200, events(`{"choices":[{"delta":{"content":"He"`), []string{"not the JSON that was expected"}, false},
		{"other JSON", "anthropic", 200, events(`{"type":7}`), []string{"not the JSON that was expected"}, false},
		{"an endless line", "ollama", 200, `{"message":{"content":"` + strings.Repeat("a", 5<<20), []string{"longer than"}, false},
		{"nothing at all", "gemini", 200, "", []string{"ended before the answer did"}, true},
	} {
		t.Run(tt.provider+" "+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				c := at(t, tt.provider, "http://127.0.0.1:1", llm.Options{Tries: 2, HTTP: trip(func(r *http.Request) (*http.Response, error) {
					calls++
					return response(r, tt.status, tt.body), nil
				})})
				_, err := c.Ask(t.Context(), hi, nil)
				var e *llm.Error
				if !errors.As(err, &e) || e.Temporary != tt.again || calls != map[bool]int{true: 2, false: 1}[tt.again] || e.Tries != calls {
					t.Fatalf("%d calls, %+v", calls, err)
				}
				for _, s := range append(tt.says, tt.provider+":m", "http://127.0.0.1:1") {
					if !strings.Contains(err.Error(), s) {
						t.Errorf("%q lacks %q", err, s)
					}
				}
				if len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
					t.Errorf("not fit for a terminal: %q", err)
				}
			})
		})
	}
}

func TestWaitsAreThoseOfTheServerOrGrow(t *testing.T) {
	head := func(name, value string) http.Header { return http.Header{name: {value}} }
	for _, tt := range []struct {
		name   string
		header http.Header
		body   string
		want   []time.Duration // of each wait; 0 takes the growing ones
	}{
		{"seconds", head("Retry-After", "7"), "", []time.Duration{7 * time.Second}},
		{"none", head("Retry-After", "0"), "", []time.Duration{0}},
		{"a date", head("Retry-After", "Sat, 01 Jan 2000 00:01:30 GMT"), "", []time.Duration{90 * time.Second}}, // synctest begins in 2000
		{"milliseconds", head("Retry-After-Ms", "250"), "", []time.Duration{250 * time.Millisecond}},
		{"Gemini's", nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`, []time.Duration{34500 * time.Millisecond}},
		{"not said", nil, "", nil},
		{"nonsense", head("Retry-After", "soon"), "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at0 []time.Time
				c := at(t, "openai", "http://127.0.0.1:1", llm.Options{HTTP: trip(func(r *http.Request) (*http.Response, error) {
					at0 = append(at0, time.Now())
					if len(at0) == 4 {
						return response(r, 200, protocols[0].stream), nil
					}
					out := response(r, 429, tt.body)
					for k, v := range tt.header {
						out.Header[k] = v
					}
					return out, nil
				})})
				var told []time.Duration
				a, err := c.Ask(t.Context(), hi, func(e llm.Event) {
					if e.Again != nil {
						told = append(told, e.Wait)
					}
				})
				if err != nil || a.Tries != 4 || len(at0) != 4 || a.Spent.Calls != 1 {
					t.Fatalf("%+v, %v", a, err)
				}
				for i := range 3 {
					waited := at0[i+1].Sub(at0[i])
					if waited != told[i] {
						t.Errorf("wait %d: %v, and told was %v", i, waited, told[i])
					}
					full := time.Second << i // 1, 2, 4 s, less up to a half
					switch {
					case len(tt.want) > 0 && tt.name == "a date":
						if i == 0 && waited != tt.want[0] || i > 0 && waited != 0 {
							t.Errorf("wait %d: %v", i, waited)
						}
					case len(tt.want) > 0 && waited != tt.want[0], len(tt.want) == 0 && (waited > full || waited < full/2):
						t.Errorf("wait %d: %v", i, waited)
					}
				}
			})
		})
	}
}

func TestAWaitThatIsTooLongIsNotWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		later := trip(func(r *http.Request) (*http.Response, error) {
			out := response(r, 429, `{"error":"daily limit"}`)
			out.Header.Set("Retry-After", "7200")
			return out, nil
		})
		c := at(t, "openai", "http://127.0.0.1:1", llm.Options{HTTP: later})
		if _, err := c.Ask(t.Context(), hi, nil); err == nil || !strings.Contains(err.Error(), "daily limit; it asks to wait 2h0m0s") {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c = at(t, "openai", "http://127.0.0.1:1", llm.Options{HTTP: later, MaxWait: 3 * time.Hour})
		if _, err := c.Ask(ctx, hi, nil); err == nil || !strings.Contains(err.Error(), "would be too late") {
			t.Error(err)
		}
		if time.Since(began) != 0 {
			t.Errorf("it waited %v", time.Since(began))
		}
	})
}

// hang is a body that says something and then nothing until the request ends.
type hang struct {
	ctx  context.Context
	said io.Reader
}

func (h hang) Read(p []byte) (int, error) {
	if n, _ := h.said.Read(p); n > 0 {
		return n, nil
	}
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

func (h hang) Close() error { return nil }

func TestAServerThatSaysNothingIsLeft(t *testing.T) {
	for _, head := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			idle := llm.Duration(90 * time.Second)
			c := at(t, "anthropic", "http://127.0.0.1:1", llm.Options{Tries: 1, Settings: &llm.Settings{Models: map[string]llm.Setting{"anthropic:m": {Idle: &idle}}},
				HTTP: trip(func(r *http.Request) (*http.Response, error) {
					if !head {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					out := response(r, 200, "")
					out.Body = hang{r.Context(), strings.NewReader(protocols[1].stream[:600])}
					return out, nil
				})})
			_, err := c.Ask(t.Context(), hi, nil)
			var e *llm.Error
			if !errors.As(err, &e) || !e.Temporary || !strings.Contains(err.Error(), "said nothing for 1m30s") || time.Since(began) != 90*time.Second {
				t.Errorf("with a head %v: after %v: %v", head, time.Since(began), err)
			}
		})
	}
}

// drip is a body that sends a comment each minute, for ever.
type drip struct{ ctx context.Context }

func (d drip) Read(p []byte) (int, error) {
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(time.Minute): // of the bubble's clock
		return copy(p, ": still here\n"), nil
	}
}

func (d drip) Close() error { return nil }

func TestAServerThatNeverEndsIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		idle := llm.Duration(90 * time.Second)
		c := at(t, "openai", "http://127.0.0.1:1", llm.Options{Settings: &llm.Settings{Models: map[string]llm.Setting{"openai:m": {Idle: &idle}}},
			HTTP: trip(func(r *http.Request) (*http.Response, error) {
				out := response(r, 200, "")
				out.Body = drip{r.Context()}
				return out, nil
			})})
		_, err := c.Ask(t.Context(), hi, nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Temporary || e.Tries != 1 || !strings.Contains(err.Error(), "did not end within 18m0s") || time.Since(began) != 18*time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestAnEndOfContextEndsWithinAnswersAndWaits(t *testing.T) {
	for name, answer := range map[string]func(*http.Request) *http.Response{
		"answer": func(r *http.Request) *http.Response {
			out := response(r, 200, "")
			out.Body = hang{r.Context(), strings.NewReader(protocols[0].stream[:300])}
			return out
		},
		"wait": func(r *http.Request) *http.Response { return response(r, 503, "") },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			meter := llm.NewMeter(llm.Limit{})
			c := at(t, "openai", "http://127.0.0.1:1", llm.Options{Tries: 1000, Meter: meter, HTTP: trip(func(r *http.Request) (*http.Response, error) { return answer(r), nil })})
			go func() {
				time.Sleep(500 * time.Millisecond) // of the bubble's clock
				cancel(errors.New("the user pressed a key"))
			}()
			_, err := c.Ask(ctx, hi, nil)
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the user pressed a key") {
				t.Errorf("%s: %v", name, err)
			}
			// What was cut off within an answer may be on the bill; a 503 is not.
			if calls := meter.Spent().Calls; calls != map[string]int{"answer": 1, "wait": 0}[name] {
				t.Errorf("%s: %+v", name, meter.Spent())
			}
		})
	}
}

func TestWhatIsNoStreamOrSomewhereElseIsRefused(t *testing.T) {
	elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was followed, with %v", r.URL, r.Header) })
	for says, handle := range map[string]http.HandlerFunc{
		"expected a stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<h1>Welcome to our router</h1>")
		},
		"sends elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/v1/chat/completions?k="+testKey, http.StatusTemporaryRedirect)
		},
	} {
		_, err := at(t, "openai", serve(t, handle).URL, llm.Options{}).Ask(t.Context(), hi, nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Temporary || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), testKey) {
			t.Error(err)
		}
	}
}

func TestNobodyThereIsSaid(t *testing.T) {
	s := serve(t, nil)
	s.Close()
	c := at(t, "llamacpp", s.URL, llm.Options{Tries: 1})
	_, err := c.Ask(t.Context(), hi, nil)
	if err == nil || !strings.Contains(err.Error(), "connection refused; is the server running?") {
		t.Error(err)
	}
}

func TestAServerWithoutATrustedCertificateGetsNothing(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked with %v", r.Header) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about the handshake
	s.StartTLS()
	defer s.Close()
	meter := llm.NewMeter(llm.Limit{})
	_, err := at(t, "anthropic", s.URL, llm.Options{Meter: meter}).Ask(t.Context(), hi, nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Temporary || e.Tries != 1 || !strings.Contains(err.Error(), "certificate is not trusted") || meter.Spent().Calls != 0 {
		t.Errorf("%v, %+v", err, meter.Spent())
	}
}

func TestCallsKeepToTheRate(t *testing.T) {
	for _, tt := range []struct {
		setting llm.Setting
		gap     time.Duration
	}{
		{llm.Setting{RequestsPerMinute: ptr(20.0)}, 3 * time.Second},
		// Up to 136 tokens: 4 of the texts, 32 of the template, 100 of the answer.
		{llm.Setting{TokensPerMinute: ptr(680.0)}, 12 * time.Second},
		{llm.Setting{RequestsPerMinute: ptr(20.0), TokensPerMinute: ptr(680.0)}, 12 * time.Second},
		{llm.Setting{}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			starts := make(chan time.Time, 10)
			c := at(t, "openai", "http://127.0.0.1:1", llm.Options{Settings: &llm.Settings{Models: map[string]llm.Setting{"openai:m": tt.setting}},
				HTTP: trip(func(r *http.Request) (*http.Response, error) {
					starts <- time.Now()
					return response(r, 200, protocols[0].stream), nil
				})})
			for range 5 {
				go func() {
					if _, err := c.Ask(t.Context(), hi, nil); err != nil {
						t.Error(err)
					}
				}()
			}
			last := <-starts
			for range 4 {
				next := <-starts
				if next.Sub(last) != tt.gap {
					t.Errorf("%s: a gap of %v, expected %v", text(tt.setting), next.Sub(last), tt.gap)
				}
				last = next
			}
		})
	}
}

func TestRequestsThatAskNothingAreRefused(t *testing.T) {
	c := at(t, "openai", "http://127.0.0.1:1", llm.Options{HTTP: trip(func(*http.Request) (*http.Response, error) {
		t.Error("it was asked")
		return nil, io.EOF
	})})
	for _, q := range []llm.Request{{}, {User: " \n"}, {User: "a\xff"}, {User: "a", MaxTokens: -1}, {User: "a", Temperature: ptr(-1.0)}, {User: "a", Temperature: ptr(3.0)}} {
		if _, err := c.Ask(t.Context(), q, nil); err == nil {
			t.Errorf("%+v was taken", q)
		}
	}
}
