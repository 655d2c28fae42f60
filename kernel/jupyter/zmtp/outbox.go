package zmtp

import (
	"slices"
	"sync"
)

// outbox is the queue of encoded messages for one peer. It outlives the
// connection of a ROUTER peer with an identity of its own, so that replies
// reach it after a reconnection.
type outbox struct {
	mu    sync.Mutex
	queue [][]byte
	bytes int
	wake  chan struct{} // has room for one token: something was queued
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put queues one encoded message; it never blocks.
func (o *outbox) put(b []byte) {
	o.mu.Lock()
	o.queue = append(o.queue, b)
	o.bytes += len(b)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// peek returns the messages waiting. They stay queued until sent names them:
// what a broken connection did not take is sent again on the next one.
func (o *outbox) peek() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.queue)
}

// sent removes b from the head of the queue, unless it is no longer there.
func (o *outbox) sent(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) > 0 && &o.queue[0][0] == &b[0] {
		o.bytes -= len(b)
		o.queue[0] = nil
		o.queue = o.queue[1:]
	}
}

// trim drops the oldest messages until at most limit bytes are left.
func (o *outbox) trim(limit int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes > limit && len(o.queue) > 0 {
		o.bytes -= len(o.queue[0])
		o.queue[0] = nil
		o.queue = o.queue[1:]
	}
}

func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}
