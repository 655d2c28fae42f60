package llm

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
)

// DefaultIdle is how long a server may say nothing where Settings do not say.
// A local server reads a long prompt for minutes before its first word.
const DefaultIdle = 10 * time.Minute

var errIdle = errors.New("the server said nothing")

// mostIdles is how many times as long as a server may say nothing an answer may
// take in all: one that sends a little again and again would never end.
const mostIdles = 12

var errSlow = errors.New("the answer did not end")

// exchange is one try.
func (c *Client) exchange(ctx context.Context, q Request, key string, emit func(string)) (*Answer, *Error) {
	p := protocols[c.at.provider]
	began := time.Now()
	fail := func(err error) *Error { return c.failure(ctx, err, key) }
	content, notes := p.body(call{q, c.at.model, c.at.own && len(p.keys) > 0})
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fail(err)
	}
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := DefaultIdle
	if c.setting.Idle != nil {
		idle = time.Duration(*c.setting.Idle)
	}
	timer := time.AfterFunc(idle, func() { cancel(fmt.Errorf("%w for %v", errIdle, idle)) })
	defer timer.Stop()
	whole := time.AfterFunc(mostIdles*idle, func() {
		cancel(fmt.Errorf("%w within %v; idle in the settings, of which that is %d times as much, makes it longer", errSlow, mostIdles*idle, mostIdles))
	})
	defer whole.Stop()

	req, err := http.NewRequestWithContext(watched, http.MethodPost, c.url(), bytes.NewReader(body))
	if err != nil {
		return nil, fail(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", p.stream[0])
	req.Header.Set("User-Agent", "rooflab")
	for name, value := range p.headers {
		req.Header.Set(name, value)
	}
	if key != "" {
		req.Header.Set(p.keyHeader, p.keyPrefix+key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if cause := context.Cause(watched); cause != nil {
			err = cause
		}
		return nil, fail(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	timer.Reset(idle)
	if resp.StatusCode != http.StatusOK {
		return nil, c.refusal(resp, key)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); !slices.Contains(p.stream, kind) {
		head, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return nil, fail(&malformedError{fmt.Sprintf("expected a stream (%s), and the server sent %q: %s; is the URL that of a server which speaks %s's protocol?",
			p.stream[0], clip(kind, 60), clip(string(head), 200), c.at.provider)})
	}
	said, err := p.read(newStream(&alive{resp.Body, timer, idle}), emit)
	if err != nil {
		if cause := context.Cause(watched); cause != nil {
			err = cause
		}
		e := fail(err)
		e.Text += fmt.Sprintf(" (after %d bytes of the answer)", len(said.text))
		return nil, e
	}
	a := &Answer{Text: scrub(string(said.text), key), Stop: said.stop, Served: clip(scrub(said.served, key), 200), Usage: said.usage,
		Seconds: time.Since(began).Seconds(), Notes: notes}
	if a.Stop == StopOther {
		a.Notes = append(a.Notes, fmt.Sprintf("the server says that it stopped for %q", clip(said.word, 60)))
	}
	a.Text = strings.ToValidUTF8(a.Text, "\ufffd")
	if a.Usage.clean() {
		a.Notes = append(a.Notes, "the server sent counts of tokens that cannot be; they are left out")
	}
	return a, nil
}

// clean takes out counts that cannot be.
func (u *Usage) clean() (some bool) {
	for _, f := range []**int64{&u.Input, &u.Cached, &u.Written, &u.Output, &u.Reasoning} {
		if *f != nil && (**f < 0 || **f > 1e12) {
			*f, some = nil, true
		}
	}
	return some
}

// alive is a reader that puts a timer off whenever something comes.
type alive struct {
	r     io.Reader
	timer *time.Timer
	idle  time.Duration
}

func (a *alive) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if n > 0 {
		a.timer.Reset(a.idle)
	}
	return n, err
}

func (c *Client) url() string {
	return c.at.base.String() + protocols[c.at.provider].path(c.at.model)
}

// Kinds of Error that say nothing about the model: a replay does not give them.
const (
	interrupted = "interrupted" // ctx ended
	overBudget  = "budget"      // another try would have gone beyond the budget
)

// failure makes an Error of what went wrong before or within a stream.
func (c *Client) failure(ctx context.Context, err error, key string) *Error {
	e := &Error{Model: c.Name(), Server: c.at.base.String(), Text: err.Error(), cause: err, Temporary: true, paid: true}
	var told *problem
	var dial *net.OpError
	var cert *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil:
		e.Text, e.cause, e.Temporary = "given up: "+context.Cause(ctx).Error(), ctx.Err(), false
		e.Kind = interrupted
	case errors.As(err, &told):
		e.Text, e.Kind, e.Status, e.Temporary, e.after = "within the answer the server said: "+told.text, told.kind, told.code, told.temporary(), told.wait
		e.cause = nil
	case isMalformed(err), errors.Is(err, errSlow):
		e.Temporary = false
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errBroken):
		e.Text = errBroken.Error()
	case errors.As(err, &cert):
		e.Text, e.Temporary, e.paid = "the server's certificate is not trusted: "+cert.Err.Error(), false, false
	case errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect"):
		e.paid = false
		e.Text = "no connection: " + dial.Err.Error()
		if errors.Is(err, syscall.ECONNREFUSED) {
			e.Text += "; is the server running?"
		}
	}
	e.Text = scrub(e.Text, key)
	if e.cause != nil && key != "" && strings.Contains(e.cause.Error(), key) {
		e.cause = nil
	}
	return e
}

// refusal makes an Error of an answer whose status is not 200.
func (c *Client) refusal(resp *http.Response, key string) *Error {
	head, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what came is enough
	told := problemOf(head)
	e := &Error{Model: c.Name(), Server: c.at.base.String(), Status: resp.StatusCode, Kind: told.kind,
		Text: told.text, Temporary: temporaryStatus(resp.StatusCode) && !lasting[told.kind]}
	if e.after = retryAfter(resp.Header, time.Now()); e.after == nil {
		e.after = told.wait
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		// the body often shows a part of the key
		e.Text = "the server refuses the key"
		if key == "" {
			e.Text = "the server wants a key; " + c.howToKey()
		} else {
			e.Text += " from " + c.keyFrom.String()
		}
	case code >= 300 && code < 400:
		e.Text = "the server sends elsewhere, where keys and prompts do not follow it"
		if to, err := resp.Location(); err == nil {
			e.Text += fmt.Sprintf(" (to %s://%s)", to.Scheme, to.Host)
		}
	case code == http.StatusNotFound && c.at.provider == "ollama":
		e.Text += fmt.Sprintf("; ollama pull %s gets a model", c.at.model)
	}
	e.Text, e.Kind = scrub(e.Text, key), scrub(e.Kind, key)
	return e
}
