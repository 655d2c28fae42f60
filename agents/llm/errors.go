package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Error is a request that got no answer.
type Error struct {
	Model     string `json:"model"`
	Server    string `json:"server"`           // the URL that was asked
	Status    int    `json:"status,omitempty"` // of HTTP; 0: nothing was answered
	Kind      string `json:"kind,omitempty"`   // the server's word for it, such as "rate_limit_error", or "interrupted", "budget"
	Text      string `json:"text"`             // what was wrong, in words of ours or the server's
	Temporary bool   `json:"temporary"`        // asking again may help
	Tries     int    `json:"tries"`

	cause error          // for errors.Is
	after *time.Duration // what the server asks to wait
	paid  bool           // the try may have cost tokens
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "asking %s at %s: %s", e.Model, e.Server, e.Text)
	var marks []string
	if e.Status != 0 {
		marks = append(marks, fmt.Sprintf("HTTP %d", e.Status))
	}
	if e.Kind != "" {
		marks = append(marks, e.Kind)
	}
	if len(marks) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(marks, ", "))
	}
	if e.Tries > 1 {
		fmt.Fprintf(&b, ", after %d tries", e.Tries)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.cause }

// problem is an error that a server told, as a body or within a stream.
type problem struct {
	text string
	kind string
	code int // of HTTP, where the server gives one; 0 otherwise
	wait *time.Duration
}

func (p *problem) Error() string { return p.text }

// passing are the kinds of errors within a stream after which asking again may
// help: of Anthropic (API reference, "Errors"), OpenAI and google.rpc.Code.
var passing = map[string]bool{
	"overloaded_error": true, "api_error": true, "rate_limit_error": true, "timeout_error": true,
	"server_error": true, "rate_limit_exceeded": true, "unavailable_error": true,
	"UNAVAILABLE": true, "RESOURCE_EXHAUSTED": true, "INTERNAL": true, "DEADLINE_EXCEEDED": true,
}

// lasting are kinds that come with a status that usually passes, and do not.
var lasting = map[string]bool{"insufficient_quota": true, "billing_hard_limit_reached": true}

func (p *problem) temporary() bool {
	return !lasting[p.kind] && (passing[p.kind] || temporaryStatus(p.code))
}

// temporaryStatus holds for HTTP statuses after which asking again may help.
func temporaryStatus(code int) bool {
	return code == http.StatusRequestTimeout || code == http.StatusConflict || code == http.StatusTooEarly ||
		code == http.StatusTooManyRequests || code >= 500
}

// problemOf reads {"error": ...} with a text or an object, or a list of such.
func problemOf(body []byte) *problem {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct{ Error, Message, Detail json.RawMessage }
	_ = json.Unmarshal(body, &outer) // what is not JSON is shown as it is
	var inner struct {
		Message string
		Type    string
		Status  string
		Code    json.RawMessage
		Details []struct{ RetryDelay string }
	}
	p := &problem{}
	if json.Unmarshal(outer.Error, &p.text) != nil {
		_ = json.Unmarshal(outer.Error, &inner)
		p.text = inner.Message
	}
	p.kind = inner.Type
	if inner.Status != "" {
		p.kind = inner.Status
	}
	if json.Unmarshal(inner.Code, &p.code) != nil {
		var word string
		if json.Unmarshal(inner.Code, &word) == nil && word != "" {
			p.kind = word
		}
	}
	if p.code < 100 || p.code > 599 {
		p.code = 0
	}
	for _, d := range inner.Details { // google.rpc.RetryInfo
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait >= 0 {
			p.wait = &wait
		}
	}
	for _, raw := range []json.RawMessage{outer.Message, outer.Detail} {
		if p.text == "" {
			_ = json.Unmarshal(raw, &p.text)
		}
	}
	if p.text == "" {
		p.text = string(body)
	}
	if p.text = clip(p.text, 600); p.text == "" {
		p.text = "without a word"
	}
	p.kind = clip(p.kind, 60)
	return p
}

// retryAfter is what a server asks to wait: Retry-After in seconds or as a date
// (RFC 9110, section 10.2.3), or in milliseconds as OpenAI and Azure have it.
func retryAfter(h http.Header, now time.Time) *time.Duration {
	wait := func(d time.Duration) *time.Duration { d = max(d, 0); return &d }
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e12 {
		return wait(time.Duration(ms * float64(time.Millisecond)))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 && s < 1e9 {
		return wait(time.Duration(s * float64(time.Second)))
	}
	if at, err := http.ParseTime(v); err == nil {
		return wait(at.Sub(now))
	}
	return nil
}

// clip makes a text of a server fit for a message: one line, no characters that
// steer a terminal, not longer than n bytes.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " ..."
}
