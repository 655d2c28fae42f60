package llm

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Options of a Client; the zero value is for a model without settings, budget
// and record.
type Options struct {
	Settings *Settings
	Meter    *Meter            // nil: one without a limit
	Record   *Record           // nil: nothing is recorded
	Tries    int               // of a request, at most; 0 is DefaultTries
	MaxWait  time.Duration     // longest that a server may ask to wait; 0 is DefaultMaxWait
	HTTP     http.RoundTripper // nil is net/http's own
}

// Defaults of Options.
const (
	DefaultTries   = 5
	DefaultMaxWait = 5 * time.Minute
)

// Client asks one model. It may be used by several goroutines.
type Client struct {
	at      address
	setting Setting
	keyFrom KeySource
	secret  secret // nil: none is sent
	meter   *Meter
	record  *Record
	replay  bool
	pace    pace
	tries   int
	maxWait time.Duration
	http    *http.Client
}

var _ Model = (*Client)(nil)

// Open makes a client for a model by its name, as the package comment lists
// them. Nothing is asked yet, and no key is read.
func Open(name string, opt Options) (*Client, error) {
	at, err := parseName(name)
	if err != nil {
		return nil, err
	}
	c := &Client{at: at, meter: opt.Meter, record: opt.Record, tries: opt.Tries, maxWait: opt.MaxWait}
	if c.meter == nil {
		c.meter = NewMeter(Limit{})
	}
	if c.tries <= 0 {
		c.tries = DefaultTries
	}
	if c.maxWait <= 0 {
		c.maxWait = DefaultMaxWait
	}
	if at.provider == "replay" {
		return c, c.openReplay(opt.Settings)
	}
	c.setting = opt.Settings.For(at.name())
	if err := c.place(); err != nil {
		return nil, err
	}
	for _, limit := range []struct {
		from *float64
		to   *float64
	}{{c.setting.RequestsPerMinute, &c.pace.requests}, {c.setting.TokensPerMinute, &c.pace.tokens}} {
		if limit.from != nil {
			*limit.to = *limit.from
		}
	}
	// A redirect would take the headers of keys along.
	c.http = &http.Client{Transport: opt.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// openReplay finds the model of a record.
func (c *Client) openReplay(settings *Settings) error {
	if c.record != nil {
		return fmt.Errorf("model replay:%s: what is replayed is not recorded again; leave the record out", c.at.file)
	}
	record, err := ReadRecord(c.at.file)
	if err != nil {
		return err
	}
	c.record, c.replay = record, true
	name := c.at.model
	if models := record.Models(); name == "" && len(models) == 1 {
		name = models[0]
	} else if name == "" {
		return fmt.Errorf("model replay:%s: the record holds %d models (%s); say which, as in replay:FILE#PROVIDER:MODEL", c.at.file, len(models), strings.Join(models, ", "))
	}
	provider, model, found := strings.Cut(name, ":")
	if !found {
		return fmt.Errorf("model replay:%s: %q is no PROVIDER:MODEL", c.at.file, name)
	}
	c.at.provider, c.at.model = provider, model
	c.setting = settings.For(name)
	return nil
}

// place decides which server is asked and which key goes there.
func (c *Client) place() error {
	p := protocols[c.at.provider]
	own := c.at.own
	if s := c.setting.Server; s != "" {
		named, err := parseName(c.at.name() + "@" + s)
		if err != nil {
			return err
		}
		if c.at.own {
			c.at = named
		}
		own = c.at.base.String() == named.base.String()
	}
	switch {
	case own && c.setting.Key != nil:
		c.keyFrom = *c.setting.Key
	case c.at.own && len(p.keys) > 0:
		c.keyFrom.Env = p.keys[0]
		for _, name := range p.keys {
			if os.Getenv(name) != "" {
				c.keyFrom.Env = name
				break
			}
		}
	default:
		return nil
	}
	if c.at.base.Scheme == "http" && !loopback(c.at.base) {
		return fmt.Errorf("model %s: a key is not sent to %s, where everyone on the way could read it; use https, or leave the key out of the settings", c.at.name(), c.at.base)
	}
	c.secret = newSecret(c.keyFrom)
	return nil
}

func loopback(u *url.URL) bool {
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// howToKey says how a key is given.
func (c *Client) howToKey() string {
	if c.at.own && len(protocols[c.at.provider].keys) > 0 {
		return fmt.Sprintf("set $%s, or give key = { file = ... } or { command = [...] } in the settings, under [models.%q]",
			protocols[c.at.provider].keys[0], c.Name())
	}
	return fmt.Sprintf("give server = %q and key = { env = ... }, { file = ... } or { command = [...] } in the settings, under [models.%q]", c.at.base, c.Name())
}

// Name is the model, such as "openai:gpt-5".
func (c *Client) Name() string { return c.at.name() }

func (c *Client) String() string { return c.Name() }

// Ask asks the model, or the record. Its errors are *Error, *BudgetError,
// *MissError, those of ctx within an *Error, and those of keys and records. An
// answer comes with an error where it could not be recorded.
func (c *Client) Ask(ctx context.Context, q Request, progress func(Event)) (*Answer, error) {
	q, err := q.filled()
	if err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(Event) {}
	}
	id := q.Key(c.Name())
	if c.record != nil {
		kept, done, err := c.record.take(ctx, id)
		if err != nil {
			return nil, err
		}
		defer done()
		c.meter.count(kept.before)
		if kept.answer != nil {
			if kept.answer.Text != "" {
				progress(Event{Text: kept.answer.Text})
			}
			return kept.answer, nil
		}
		if c.replay && kept.failure != nil {
			return nil, kept.failure
		}
	}
	worst := c.setting.estimate(q.Estimate(), int64(q.MaxTokens))
	if c.replay {
		if err := c.refusedInReplay(worst); err != nil {
			return nil, err
		}
		return nil, c.record.miss(c.Name(), id, q)
	}
	key := ""
	if c.secret != nil {
		if key, err = c.secret(ctx); err != nil {
			return nil, fmt.Errorf("asking %s: %w; %s", c.Name(), err, c.howToKey())
		}
		if strings.Contains(q.System, key) || strings.Contains(q.User, key) {
			return nil, fmt.Errorf("asking %s: the text of the request holds the key from %s, and is not sent; take it out of the sources", c.Name(), c.keyFrom)
		}
	}
	return c.ask(ctx, id, q, key, worst, progress)
}

// refusedInReplay is the refusal that stood where a record ends because the
// budget did.
func (c *Client) refusedInReplay(worst Spent) error {
	if c.meter.limit.Money != nil && worst.Unpriced > 0 {
		return nil // nothing is paid, so no price is needed
	}
	if err := c.meter.hold(c.Name(), worst); err != nil {
		return err
	}
	c.meter.settle(worst, Spent{})
	return nil
}

// ask tries until an answer is there, or there is no use in trying.
func (c *Client) ask(ctx context.Context, id string, q Request, key string, worst Spent, progress func(Event)) (*Answer, error) {
	var total Spent
	entry := entry{Key: id, Model: c.Name(), Server: c.at.base.String(), Request: &q}
	// fail records a failure after the first try began.
	fail := func(err error, e *Error) (*Answer, error) {
		entry.Error, entry.Spent = e, &total
		if failed := c.record.append(entry, key); failed != nil {
			err = errors.Join(err, failed)
		}
		return nil, err
	}
	for try := 1; ; try++ {
		if err := c.meter.hold(c.Name(), worst); err != nil {
			if try == 1 {
				return nil, err
			}
			return fail(err, &Error{Model: c.Name(), Server: entry.Server, Kind: overBudget, Text: err.Error(), Tries: try - 1})
		}
		if err := c.pace.wait(ctx, worst.Tokens); err != nil {
			c.meter.settle(worst, Spent{})
			e := c.failure(ctx, err, key)
			if try == 1 {
				return nil, e
			}
			return fail(e, e)
		}
		if try == 1 {
			if err := c.record.append(c.begun(id, worst), key); err != nil {
				c.meter.settle(worst, Spent{})
				return nil, err
			}
		}
		a, e := c.exchange(ctx, q, key, func(s string) { progress(Event{Text: s}) })
		if e == nil {
			took := c.took(q, a)
			c.meter.settle(worst, took)
			total.add(took)
			a.Spent, a.Tries = total, try
			entry.Answer = a
			return a, c.record.append(entry, key)
		}
		var took Spent
		if e.paid {
			took = worst
		}
		c.meter.settle(worst, took)
		total.add(took)
		e.Tries = try
		if !e.Temporary || try == c.tries {
			return fail(e, e)
		}
		wait := backoff(id, try)
		if e.after != nil {
			if wait = *e.after; wait > c.maxWait {
				e.Text += fmt.Sprintf("; it asks to wait %v, which is longer than %v", wait.Round(time.Second), c.maxWait)
				return fail(e, e)
			}
			c.pace.hold(wait)
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
			e.Text += fmt.Sprintf("; the next try in %v would be too late", wait.Round(time.Millisecond))
			return fail(e, e)
		}
		progress(Event{Again: e, Wait: wait})
		if err := sleep(ctx, wait); err != nil {
			e := c.failure(ctx, err, key)
			return fail(e, e)
		}
	}
}

// begun is the line of a record that stands before an exchange: a process that
// is killed within it leaves this alone.
func (c *Client) begun(id string, worst Spent) entry {
	return entry{Key: id, Model: c.Name(), Begun: &worst}
}

// took is what an answer cost, and sets its cost.
func (c *Client) took(q Request, a *Answer) Spent {
	u := a.Usage
	if u.Input == nil || u.Output == nil {
		a.Notes = append(a.Notes, "the server did not count the tokens; budgets go by an estimate")
		in, out := q.Estimate(), tokensOf(a.Text)
		if u.Input != nil {
			in = *u.Input
		}
		if u.Output != nil {
			out = *u.Output
		}
		return c.setting.estimate(in, out)
	}
	a.Cost = c.setting.cost(u)
	took := Spent{Calls: 1, Tokens: *u.Input + *u.Output}
	if a.Cost == nil {
		took.Unpriced = 1
	} else {
		took.Money = *a.Cost
	}
	return took
}

// backoff is how long to wait before the next try where the server does not
// say: 1 s, doubled each time up to a minute, less a part of up to a half that
// the request decides, so that many do not come back together.
func backoff(id string, try int) time.Duration {
	full := min(time.Second<<min(try-1, 10), time.Minute)
	raw, _ := hex.DecodeString(id) // of 32 bytes
	part := float64(binary.BigEndian.Uint16(raw[2*(try%16):])) / (1 << 16)
	return time.Duration(float64(full) * (1 - part/2))
}
