package zmtp

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// HandshakeTimeout is how long a new connection may take to say who it is.
	HandshakeTimeout = 10 * time.Second
	// StallTimeout is how long a peer may take no byte of what is sent to it
	// before it is disconnected.
	StallTimeout = 60 * time.Second
)

// ErrClosed is what a socket's methods return after Close.
var ErrClosed = errors.New("zmtp: socket is closed")

// peer is one live connection.
type peer struct {
	conn     net.Conn
	r        *bufio.Reader
	identity string
	out      *outbox
	gone     chan struct{} // closed when the connection is over
	written  chan struct{} // closed when write has returned
	once     sync.Once
}

func (p *peer) hangUp() {
	p.once.Do(func() {
		close(p.gone)
		p.conn.Close()
	})
}

// write sends the outbox to the connection until either ends.
func (p *peer) write(progress func()) {
	defer close(p.written)
	defer p.hangUp()
	for {
		select {
		case <-p.gone:
			return
		case <-p.out.wake:
		}
		for {
			batch := p.out.peek()
			if len(batch) == 0 {
				break
			}
			for _, b := range batch {
				if err := p.writeAll(b); err != nil {
					return
				}
				p.out.sent(b)
				progress()
			}
		}
	}
}

// writeAll writes b in pieces, each under the stall deadline, so that a slow
// peer is fine as long as it moves.
func (p *peer) writeAll(b []byte) error {
	const piece = 1 << 20
	for len(b) > 0 {
		if err := p.conn.SetWriteDeadline(time.Now().Add(StallTimeout)); err != nil {
			return err
		}
		n, err := p.conn.Write(b[:min(piece, len(b))])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// socket accepts connections and shakes hands; Router and Publisher differ in
// what they do with a peer.
type socket struct {
	kind     string   // our Socket-Type
	accepts  []string // Socket-Types of peers that may talk to it
	listener net.Listener
	endpoint string
	serve    func(*peer) // runs until the peer is gone
	logf     func(format string, args ...any)

	mu     sync.Mutex
	open   map[*peer]bool
	closed chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
}

// listen binds endpoint ("tcp://127.0.0.1:0", "ipc:///path").
func (s *socket) listen(endpoint string) error {
	scheme, addr, ok := strings.Cut(endpoint, "://")
	network := map[string]string{"tcp": "tcp", "ipc": "unix"}[scheme]
	if !ok || network == "" {
		return fmt.Errorf("zmtp: endpoint %q: want tcp://HOST:PORT or ipc://PATH", endpoint)
	}
	if network == "tcp" && strings.HasPrefix(addr, "*:") {
		addr = addr[1:]
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		return fmt.Errorf("zmtp: binding %s: %w", endpoint, err)
	}
	s.listener = l
	s.endpoint = scheme + "://" + l.Addr().String()
	s.open = map[*peer]bool{}
	s.closed = make(chan struct{})
	s.wg.Add(1)
	go s.accept()
	return nil
}

func (s *socket) accept() {
	defer s.wg.Done()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			select {
			case <-s.closed:
				return
			case <-time.After(50 * time.Millisecond): // out of files, say: do not spin
			}
			s.log("zmtp: accepting on %s: %v", s.endpoint, err)
			continue
		}
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			p, err := s.handshake(conn)
			if err != nil {
				conn.Close()
				s.log("%s: connection from %s: %v", s.endpoint, conn.RemoteAddr(), err)
				return
			}
			if !s.track(p, true) {
				p.hangUp()
				return
			}
			s.serve(p)
			s.track(p, false)
		}()
	}
}

// track notes a live peer, or forgets it; false means that the socket closed.
func (s *socket) track(p *peer, live bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !live {
		delete(s.open, p)
		return true
	}
	select {
	case <-s.closed:
		return false
	default:
	}
	s.open[p] = true
	return true
}

func (s *socket) log(format string, args ...any) {
	if s.logf != nil {
		s.logf(format, args...)
	}
}

func (s *socket) handshake(conn net.Conn) (*peer, error) {
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a closing socket does not wait for a silent peer
		select {
		case <-s.closed:
			conn.Close()
		case <-stop:
		}
	}()
	if err := conn.SetDeadline(time.Now().Add(HandshakeTimeout)); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	if _, err := conn.Write(greeting()); err != nil {
		return nil, fmt.Errorf("zmtp: sending the greeting: %w", err)
	}
	if err := readGreeting(r); err != nil {
		return nil, err
	}
	if _, err := conn.Write(ready(s.kind)); err != nil {
		return nil, fmt.Errorf("zmtp: sending READY: %w", err)
	}
	kind, identity, err := readReady(r)
	if err != nil {
		return nil, err
	}
	fits := false
	for _, a := range s.accepts {
		fits = fits || a == kind
	}
	if !fits {
		return nil, fmt.Errorf("zmtp: a %s socket cannot talk to %s", kind, s.kind)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return &peer{conn: conn, r: r, identity: identity, out: newOutbox(), gone: make(chan struct{}), written: make(chan struct{})}, nil
}

// receive reads messages of p until its connection ends. Commands are answered
// here: PING, and the subscriptions of ZMTP 3.1 as their 3.0 messages.
func (s *socket) receive(p *peer, got func(frames [][]byte) bool) {
	defer p.hangUp()
	for {
		m, err := readMessage(p.r)
		if err != nil {
			return
		}
		switch m.command {
		case "":
		case "PING": // body: TTL (2 bytes), context that PONG echoes
			context := m.body[min(2, len(m.body)):]
			p.out.put(appendCommand(nil, "PONG", context))
			continue
		case "SUBSCRIBE":
			m.frames = [][]byte{append([]byte{1}, m.body...)}
		case "CANCEL":
			m.frames = [][]byte{append([]byte{0}, m.body...)}
		default:
			continue
		}
		if !got(m.frames) {
			return
		}
	}
}

// close stops accepting, lets the outboxes drain for at most linger, and hangs
// up on everyone.
func (s *socket) close(linger time.Duration, drained func() bool, progress <-chan struct{}) error {
	var err error
	s.once.Do(func() {
		deadline := time.NewTimer(linger)
		defer deadline.Stop()
	drain:
		for !drained() {
			select {
			case <-progress:
			case <-deadline.C:
				break drain
			}
		}
		close(s.closed)
		err = s.listener.Close()
		if path, ok := strings.CutPrefix(s.endpoint, "ipc://"); ok {
			os.Remove(path)
		}
		s.mu.Lock()
		for p := range s.open {
			p.hangUp()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return err
}
