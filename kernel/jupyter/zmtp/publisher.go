package zmtp

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// maxEarly bounds what is kept before the first subscriber comes.
const maxEarly = 16 << 20

// Publisher is an XPUB socket: what is sent goes to every peer whose
// subscription is a prefix of the message's first frame.
type Publisher struct {
	socket
	welcome  func(topic []byte) [][]byte
	progress chan struct{}

	mu     sync.Mutex
	subs   map[*peer]map[string]int // topics and how often each was asked for
	early  [][][]byte               // messages before anyone subscribed
	bytes  int
	opened bool          // somebody has subscribed
	change chan struct{} // closed and renewed when a queue got shorter
}

// ListenPublisher binds an XPUB socket. welcome, when not nil, gives the
// message that a peer receives first after each new subscription (nil: none).
func ListenPublisher(endpoint string, welcome func(topic []byte) [][]byte, logf func(format string, args ...any)) (*Publisher, error) {
	p := &Publisher{
		welcome:  welcome,
		progress: make(chan struct{}, 1),
		subs:     map[*peer]map[string]int{},
		change:   make(chan struct{}),
	}
	p.socket = socket{kind: "XPUB", accepts: []string{"SUB", "XSUB"}, serve: p.serve, logf: logf}
	if err := p.listen(endpoint); err != nil {
		return nil, err
	}
	return p, nil
}

// Endpoint is the bound endpoint, with the real port.
func (p *Publisher) Endpoint() string { return p.endpoint }

// Send queues a message for every subscriber. It does not wait; the frames
// must not be changed afterwards.
func (p *Publisher) Send(frames [][]byte) {
	if len(frames) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.opened {
		for _, f := range frames {
			p.bytes += len(f)
		}
		p.early = append(p.early, frames)
		for p.bytes > maxEarly {
			for _, f := range p.early[0] {
				p.bytes -= len(f)
			}
			p.early = p.early[1:]
		}
		return
	}
	var encoded []byte
	for peer, topics := range p.subs {
		if !matches(topics, frames[0]) {
			continue
		}
		if encoded == nil { // one copy serves all: queues do not write to it
			encoded = appendMessage(nil, frames)
		}
		peer.out.put(encoded)
	}
}

func matches(topics map[string]int, topic []byte) bool {
	for t := range topics {
		if bytes.HasPrefix(topic, []byte(t)) {
			return true
		}
	}
	return false
}

// Throttle waits until no subscriber has more than limit bytes queued, ctx is
// done or the socket is closed. A subscriber that takes nothing at all stops
// counting after StallTimeout, when it is disconnected.
func (p *Publisher) Throttle(ctx context.Context, limit int) {
	for {
		p.mu.Lock()
		full := false
		for peer := range p.subs {
			full = full || peer.out.size() > limit
		}
		change := p.change
		p.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-change:
		case <-ctx.Done():
			return
		case <-p.closed:
			return
		}
	}
}

func (p *Publisher) serve(peer *peer) {
	go peer.write(p.moved)
	p.receive(peer, func(frames [][]byte) bool {
		if len(frames) == 1 && len(frames[0]) > 0 && frames[0][0] <= 1 {
			p.subscribe(peer, string(frames[0][1:]), frames[0][0] == 1)
		}
		return true
	})
	p.mu.Lock()
	delete(p.subs, peer)
	p.mu.Unlock()
	p.moved()
}

func (p *Publisher) subscribe(peer *peer, topic string, add bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	topics := p.subs[peer]
	if !add {
		if topics[topic] > 1 {
			topics[topic]--
		} else {
			delete(topics, topic)
		}
		return
	}
	if topics == nil {
		topics = map[string]int{}
		p.subs[peer] = topics
	}
	topics[topic]++
	if p.welcome != nil {
		if m := p.welcome([]byte(topic)); m != nil {
			peer.out.put(appendMessage(nil, m))
		}
	}
	if p.opened {
		return
	}
	p.opened = true
	for _, m := range p.early {
		if matches(topics, m[0]) {
			peer.out.put(appendMessage(nil, m))
		}
	}
	p.early, p.bytes = nil, 0
}

// moved tells those who wait that a queue got shorter.
func (p *Publisher) moved() {
	p.mu.Lock()
	close(p.change)
	p.change = make(chan struct{})
	p.mu.Unlock()
	select {
	case p.progress <- struct{}{}:
	default:
	}
}

// Close lets queued messages go out for at most linger and closes the socket.
func (p *Publisher) Close(linger time.Duration) error {
	return p.close(linger, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for peer := range p.subs {
			if peer.out.size() > 0 {
				return false
			}
		}
		return true
	}, p.progress)
}
