package llm

import (
	"context"
	"sync"
	"time"
)

// pace spaces calls evenly, so that no minute holds more requests or tokens
// than allowed, and holds all of them back while a server asks for it.
type pace struct {
	requests, tokens float64 // per minute; 0 is no limit

	mu   sync.Mutex
	next time.Time // no call begins before
}

// wait returns when a call of so many tokens may begin, or with ctx's error.
func (p *pace) wait(ctx context.Context, tokens int64) error {
	p.mu.Lock()
	start := time.Now()
	if p.next.After(start) {
		start = p.next
	}
	var gap float64 // minutes
	if p.requests > 0 {
		gap = 1 / p.requests
	}
	if p.tokens > 0 {
		gap = max(gap, float64(tokens)/p.tokens)
	}
	p.next = start.Add(time.Duration(min(gap, 24*60) * float64(time.Minute)))
	p.mu.Unlock()
	return sleep(ctx, time.Until(start))
}

// hold lets no call begin within d.
func (p *pace) hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := time.Now().Add(d); at.After(p.next) {
		p.next = at
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
