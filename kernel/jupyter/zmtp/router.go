package zmtp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// What is kept for peers that are away: replies wait for a reconnection, but
// not without bound.
const (
	maxAway      = 16       // identities
	maxAwayBytes = 64 << 20 // bytes for one of them
)

// ErrNoPeer says that nobody with this identity is, or recently was, there.
var ErrNoPeer = errors.New("zmtp: no peer with this identity")

// Router is a ROUTER socket: the first frame of every message, in and out, is
// the identity of the peer.
type Router struct {
	socket
	in       chan [][]byte
	progress chan struct{}

	mu     sync.Mutex
	next   uint64
	routes map[string]*route
	away   []string // identities without connection, longest away first
}

// route is where messages for one identity go: to its connection, or into
// the outbox until it is back.
type route struct {
	peer *peer // the latest to have the identity
	away bool  // its connection is over
}

// ListenRouter binds a ROUTER socket. logf, when not nil, hears about peers
// that were refused.
func ListenRouter(endpoint string, logf func(format string, args ...any)) (*Router, error) {
	r := &Router{
		in:       make(chan [][]byte),
		progress: make(chan struct{}, 1),
		routes:   map[string]*route{},
	}
	r.socket = socket{kind: "ROUTER", accepts: []string{"REQ", "DEALER", "ROUTER"}, serve: r.serve, logf: logf}
	if err := r.listen(endpoint); err != nil {
		return nil, err
	}
	return r, nil
}

// Endpoint is the bound endpoint, with the real port.
func (r *Router) Endpoint() string { return r.endpoint }

// Recv waits for the next message of any peer.
func (r *Router) Recv(ctx context.Context) ([][]byte, error) {
	select {
	case m := <-r.in:
		return m, nil
	case <-r.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Send queues a message for the peer named by the first frame. It does not
// wait; the frames must not be changed afterwards.
func (r *Router) Send(frames [][]byte) error {
	if len(frames) < 2 {
		return fmt.Errorf("zmtp: a message of a ROUTER needs an identity and a body, got %d frames", len(frames))
	}
	select {
	case <-r.closed:
		return ErrClosed
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rt := r.routes[string(frames[0])]
	if rt == nil {
		return fmt.Errorf("%w (%x)", ErrNoPeer, frames[0])
	}
	rt.peer.out.put(appendMessage(nil, frames[1:]))
	if rt.away {
		rt.peer.out.trim(maxAwayBytes)
	}
	return nil
}

// serve runs one peer from handshake to hang-up.
func (r *Router) serve(p *peer) {
	named := p.identity != "" && p.identity[0] != 0
	r.join(p, named)
	go p.write(r.moved)
	id := []byte(p.identity)
	r.receive(p, func(frames [][]byte) bool {
		select {
		case r.in <- append([][]byte{id}, frames...):
			return true
		case <-p.gone:
			return false
		case <-r.closed:
			return false
		}
	})
	r.leave(p, named)
}

// join gives the peer its identity. One that comes back under its own identity
// takes over what waits for it, and its former connection is closed: clients
// reconnect before we notice that the old connection is dead.
func (r *Router) join(p *peer, named bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !named {
		// Identities that start with a zero byte are the router's to give.
		r.next++
		p.identity = fmt.Sprintf("\x00%d", r.next)
	}
	if rt := r.routes[p.identity]; rt != nil {
		rt.peer.hangUp()
		<-rt.peer.written // what it did send is off its queue now
		for _, b := range rt.peer.out.peek() {
			p.out.put(b)
		}
		r.forget(p.identity)
	}
	r.routes[p.identity] = &route{peer: p}
}

func (r *Router) leave(p *peer, named bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rt := r.routes[p.identity]
	if rt == nil || rt.peer != p {
		return
	}
	rt.away = true
	r.moved()
	if !named {
		delete(r.routes, p.identity)
		return
	}
	p.out.trim(maxAwayBytes)
	r.away = append(r.away, p.identity)
	if len(r.away) > maxAway {
		delete(r.routes, r.away[0])
		r.away = r.away[1:]
	}
}

// forget takes an identity off the list of those away.
func (r *Router) forget(identity string) {
	for i, a := range r.away {
		if a == identity {
			r.away = append(r.away[:i], r.away[i+1:]...)
			return
		}
	}
}

func (r *Router) moved() {
	select {
	case r.progress <- struct{}{}:
	default:
	}
}

// Close lets queued messages of connected peers go out for at most linger and
// closes the socket.
func (r *Router) Close(linger time.Duration) error {
	return r.close(linger, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, rt := range r.routes {
			if !rt.away && rt.peer.out.size() > 0 {
				return false
			}
		}
		return true
	}, r.progress)
}
