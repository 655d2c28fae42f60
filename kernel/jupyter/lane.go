package jupyter

import (
	"sync"

	"github.com/rooflab/rooflab/kernel/jupyter/zmtp"
)

// request is a message and the socket that its reply goes out on.
type request struct {
	*Message
	sock *zmtp.Router
}

// lane is a queue of requests that are worked on one at a time, in order.
type lane struct {
	mu     sync.Mutex
	cond   *sync.Cond
	queue  []request
	closed bool
	done   chan struct{}
}

// newLane starts a lane whose requests are given to work.
func newLane(work func(request)) *lane {
	l := &lane{done: make(chan struct{})}
	l.cond = sync.NewCond(&l.mu)
	go func() {
		defer close(l.done)
		for {
			r, ok := l.next()
			if !ok {
				return
			}
			work(r)
		}
	}()
	return l
}

// add queues a request; false means that the lane is closed.
func (l *lane) add(r request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.queue = append(l.queue, r)
	l.cond.Signal()
	return true
}

func (l *lane) next() (request, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 {
		if l.closed {
			return request{}, false
		}
		l.cond.Wait()
	}
	r := l.queue[0]
	l.queue = l.queue[1:]
	return r, true
}

// take removes and returns the waiting requests of one type.
func (l *lane) take(msgType string) []request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var taken, kept []request
	for _, r := range l.queue {
		if r.Header.MsgType == msgType {
			taken = append(taken, r)
		} else {
			kept = append(kept, r)
		}
	}
	l.queue = kept
	return taken
}

// close lets the lane end after what is queued; done is closed then.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.cond.Signal()
}
