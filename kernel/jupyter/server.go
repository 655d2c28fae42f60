package jupyter

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/user"
	"sync"
	"time"

	"github.com/rooflab/rooflab/kernel/jupyter/zmtp"
	"github.com/rooflab/rooflab/kernel/session"
)

const (
	// closeTimeout is how long a cell may take to end when the session closes
	// under it. Jupyter kills a kernel five seconds after asking it to go.
	closeTimeout = 3 * time.Second
	// linger is how long clients may take to fetch what is still queued.
	linger = time.Second
)

// Config says what a Server serves and where.
type Config struct {
	Connection Connection
	// Start begins the session. It is called once at start and, if it fails,
	// again for the next cell, whose reply carries the error.
	Start func() (session.Session, error)
	// History is the file that remembers cells across sessions; empty keeps
	// them in memory.
	History string
	// Version is the version of the kernel that kernel_info reports.
	Version string
	// Log receives what went wrong and has no reply to be told in.
	Log io.Writer
}

// Server is a Jupyter kernel's front.
type Server struct {
	cfg     Config
	codec   codec
	id      string // session id in the headers of our messages
	user    string
	history *History
	engine  engine

	shell, control, stdin, heartbeat *zmtp.Router
	iopub                            *zmtp.Publisher

	cells, queries, controls *lane

	ctx    context.Context
	cancel context.CancelFunc
	stop   chan struct{} // closed when the kernel has been asked to end
	once   sync.Once
	logMu  sync.Mutex

	runMu   sync.Mutex
	running *cell           // the cell being run, nil between cells
	latest  json.RawMessage // header of the last cell, for what comes after it
	count   int             // execution count of the last cell
	inputMu sync.Mutex
	input   *question // what the running cell waits for
}

// Listen binds the sockets of cfg.Connection. A port 0 is replaced by the one
// that was bound; Connection tells it.
func Listen(cfg Config) (*Server, error) {
	if err := cfg.Connection.check(); err != nil {
		return nil, fmt.Errorf("jupyter: %w", err)
	}
	if cfg.Log == nil {
		cfg.Log = io.Discard
	}
	history, err := OpenHistory(cfg.History)
	if err != nil {
		// A full or read-only home must not keep anyone from working.
		fmt.Fprintf(cfg.Log, "%v; this session's history is kept in memory only\n", err)
		if history, err = OpenHistory(""); err != nil {
			return nil, err
		}
	}
	s := &Server{
		cfg: cfg, codec: codec{key: []byte(cfg.Connection.Key)}, id: rand.Text(), user: "rooflab",
		history: history, stop: make(chan struct{}),
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		s.user = u.Username
	}
	s.engine.start = s.startSession
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.bind(); err != nil {
		return nil, errors.Join(err, s.closeSockets(0))
	}
	return s, nil
}

func (s *Server) bind() error {
	c := &s.cfg.Connection
	for _, b := range []struct {
		name string
		sock **zmtp.Router
		port *int
	}{
		{"shell", &s.shell, &c.ShellPort},
		{"control", &s.control, &c.ControlPort},
		{"stdin", &s.stdin, &c.StdinPort},
		{"heartbeat", &s.heartbeat, &c.HBPort},
	} {
		r, err := zmtp.ListenRouter(c.endpoint(*b.port), s.logf)
		if err != nil {
			return fmt.Errorf("jupyter: the %s channel: %w", b.name, err)
		}
		*b.sock = r
		if err := c.bound(r.Endpoint(), b.port); err != nil {
			return err
		}
	}
	p, err := zmtp.ListenPublisher(c.endpoint(c.IOPubPort), s.welcome, s.logf)
	if err != nil {
		return fmt.Errorf("jupyter: the iopub channel: %w", err)
	}
	s.iopub = p
	return c.bound(p.Endpoint(), &c.IOPubPort)
}

// Connection is where the server listens, with the ports that were bound.
func (s *Server) Connection() Connection { return s.cfg.Connection }

// Run serves until a shutdown_request or the end of ctx, then closes the
// session. Every request that was read has been answered when it returns.
func (s *Server) Run(ctx context.Context) error {
	s.cells = newLane(s.runCell)
	s.queries = newLane(s.answer)
	s.controls = newLane(s.answer)
	s.publish("status", nil, map[string]any{"execution_state": "starting"})

	var wg sync.WaitGroup
	for _, loop := range []func(){
		func() { s.read(s.shell, s.fromShell) },
		func() { s.read(s.control, s.fromControl) },
		func() { s.read(s.stdin, s.fromStdin) },
		s.beat,
		func() { // warm: the first cell need not wait for the host
			if _, err := s.engine.get(); err != nil {
				s.logf("starting the session: %v", err)
			}
		},
	} {
		wg.Go(loop)
	}
	select {
	case <-ctx.Done():
	case <-s.stop:
	}
	err := s.end()
	s.cancel()
	err = errors.Join(err, s.closeSockets(linger))
	wg.Wait()
	return err
}

// end closes the session, which ends a running cell, and answers what waits.
func (s *Server) end() error {
	for _, l := range []*lane{s.cells, s.queries, s.controls} {
		l.close()
	}
	s.abort(s.cells.take("execute_request"))
	closed := make(chan error, 1)
	go func() { closed <- s.engine.close() }()
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	var err error
	for _, wait := range []<-chan struct{}{s.cells.done, s.queries.done, s.controls.done} {
		select {
		case <-wait:
		case <-timeout.C:
			timeout.Reset(0) // no time left for the others either
		}
	}
	if c := s.current(); c != nil {
		s.giveUp(c)
	}
	timeout.Reset(closeTimeout)
	select {
	case err = <-closed:
		if err != nil {
			err = fmt.Errorf("closing the session: %w", err)
		}
	case <-timeout.C:
		err = fmt.Errorf("closing the session: not done after %v", 2*closeTimeout)
	}
	return err
}

func (s *Server) closeSockets(linger time.Duration) error {
	var errs []error
	for _, r := range []*zmtp.Router{s.shell, s.control, s.stdin, s.heartbeat} {
		if r != nil {
			errs = append(errs, r.Close(linger))
		}
	}
	if s.iopub != nil {
		errs = append(errs, s.iopub.Close(linger))
	}
	return errors.Join(errs...)
}

// Interrupt asks the running cell to stop, as interrupt_request does.
func (s *Server) Interrupt() {
	if s.current() == nil {
		return
	}
	if sess := s.engine.running(); sess != nil {
		sess.Interrupt()
	}
}

// read gives the messages of one socket to f until the socket closes.
func (s *Server) read(sock *zmtp.Router, f func(request)) {
	for {
		frames, err := sock.Recv(context.Background())
		if err != nil {
			return
		}
		m, err := s.codec.decode(frames)
		if err != nil {
			// Dropped without an answer: it may not be for us at all.
			s.logf("%s: a message was dropped: %v", sock.Endpoint(), err)
			continue
		}
		f(request{m, sock})
	}
}

// beat echoes what comes on the heartbeat socket.
func (s *Server) beat() {
	for {
		frames, err := s.heartbeat.Recv(context.Background())
		if err != nil {
			return
		}
		if err := s.heartbeat.Send(frames); err != nil && !errors.Is(err, zmtp.ErrNoPeer) {
			s.logf("heartbeat: %v", err)
		}
	}
}

// reply answers a request on the socket it came from.
func (s *Server) reply(r request, msgType string, content any) {
	m, err := s.compose(msgType, r.RawHeader, content)
	if err != nil { // what a session put into a bundle or payload is no JSON
		m, _ = s.compose(msgType, r.RawHeader, failure("InternalError", err.Error()))
	}
	if err := r.sock.Send(s.codec.encode(r.Identities, m)); err != nil {
		s.logf("%s for %s: %v", msgType, r.Header.MsgID, err)
	}
}

// publish sends a message on iopub.
func (s *Server) publish(msgType string, parent json.RawMessage, content any) {
	m, err := s.compose(msgType, parent, content)
	if err != nil {
		text := fmt.Sprintf("this output could not be sent: %v\n", err)
		m, _ = s.compose("stream", parent, map[string]any{"name": "stderr", "text": text})
	}
	topic := []byte("kernel." + s.id + "." + m.Header.MsgType)
	s.iopub.Send(s.codec.encode([][]byte{topic}, m))
}

// welcome is what a client receives when its subscription has arrived: from
// here on it misses nothing.
func (s *Server) welcome(topic []byte) [][]byte {
	m, err := s.compose("iopub_welcome", nil, map[string]any{"subscription": string(topic)})
	if err != nil {
		return nil
	}
	return s.codec.encode([][]byte{append([]byte(nil), topic...)}, m)
}

func (s *Server) logf(format string, args ...any) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	fmt.Fprintf(s.cfg.Log, format+"\n", args...)
}

func (s *Server) startSession() (session.Session, error) {
	sess, err := s.cfg.Start()
	if err != nil {
		return nil, err
	}
	sess.Background(s.background())
	return sess, nil
}

// background publishes what goroutines send after their cell has ended, as
// outputs of the cell that ran last.
func (s *Server) background() func(session.Event) {
	var mu sync.Mutex
	var out *outlet
	return func(e session.Event) {
		mu.Lock()
		defer mu.Unlock()
		s.runMu.Lock()
		parent := s.latest
		s.runMu.Unlock()
		if out == nil || string(out.parent) != string(parent) {
			if out != nil {
				out.finish()
			}
			out = s.newOutlet(parent, false)
		}
		out.emit(e)
	}
}
