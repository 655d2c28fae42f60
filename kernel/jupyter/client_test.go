package jupyter_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"github.com/rooflab/rooflab/kernel/jupyter"
	"github.com/rooflab/rooflab/kernel/session"
)

// deadline is when a test that hangs is called failed.
const deadline = 30 * time.Second

// client is a Jupyter client written for these tests: signing and framing are
// its own, from the protocol's text, and its sockets are go-zeromq's.
type client struct {
	t                              *testing.T
	id                             string
	key                            string
	shell, control, stdin, hb, sub zmq4.Socket
	iopub                          chan message
	replies                        map[string]chan message // by channel
}

// message is a received message.
type message struct {
	Type, MsgID, ParentID string
	Header, Parent        map[string]any
	Content               map[string]any
	Version               string
}

// kernel is a server under test.
type kernel struct {
	*jupyter.Server
	log    *testLog
	cancel context.CancelFunc
	done   chan error
}

// testLog keeps what the server logs; t.Log may not be called after the test.
type testLog struct{ lines chan string }

func (l *testLog) Write(p []byte) (int, error) {
	select {
	case l.lines <- string(p):
	default:
	}
	return len(p), nil
}

func startKernel(t *testing.T, cfg jupyter.Config) *kernel {
	t.Helper()
	k := &kernel{log: &testLog{lines: make(chan string, 100)}, done: make(chan error, 1)}
	if cfg.Connection.IP == "" {
		cfg.Connection = jupyter.Connection{Transport: "tcp", IP: "127.0.0.1", Key: "secret", SignatureScheme: "hmac-sha256"}
	}
	cfg.Log, cfg.Version = k.log, "v0.0.0-test"
	s, err := jupyter.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	k.Server = s
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	go func() { k.done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-k.done:
			if err != nil {
				t.Errorf("the server ended with: %v", err)
			}
		case <-time.After(deadline):
			t.Error("the server did not end")
		}
	})
	return k
}

// wait waits for the server to end by itself.
func (k *kernel) wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-k.done:
		k.done <- nil
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(deadline):
		t.Fatal("the server did not end")
	}
}

func serve(t *testing.T, f *fake) (*kernel, *client) {
	t.Helper()
	k := startKernel(t, jupyter.Config{Start: func() (session.Session, error) { return f, nil }})
	return k, connect(t, k, "client-a")
}

// connect connects a client and waits until its subscription is in place.
func connect(t *testing.T, k *kernel, id string) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	conn := k.Connection()
	at := func(port int) string { return fmt.Sprintf("tcp://%s:%d", conn.IP, port) }
	if conn.Transport == "ipc" {
		at = func(port int) string { return fmt.Sprintf("ipc://%s-%d", conn.IP, port) }
	}
	name := zmq4.WithID(zmq4.SocketIdentity(id))
	c := &client{
		t: t, id: id, key: conn.Key,
		shell: zmq4.NewDealer(ctx, name), control: zmq4.NewDealer(ctx, name), stdin: zmq4.NewDealer(ctx, name),
		hb: zmq4.NewReq(ctx), sub: zmq4.NewSub(ctx),
		iopub: make(chan message, 10000),
		replies: map[string]chan message{
			"shell": make(chan message, 1000), "control": make(chan message, 1000), "stdin": make(chan message, 1000),
		},
	}
	if err := c.sub.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		sock zmq4.Socket
		port int
	}{
		{c.stdin, conn.StdinPort}, {c.shell, conn.ShellPort}, {c.control, conn.ControlPort},
		{c.hb, conn.HBPort}, {c.sub, conn.IOPubPort},
	} {
		if err := s.sock.Dial(at(s.port)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.sock.Close() })
	}
	go c.pump(c.shell, c.replies["shell"])
	go c.pump(c.control, c.replies["control"])
	go c.pump(c.stdin, c.replies["stdin"])
	go c.pump(c.sub, c.iopub)
	if m := c.next(); m.Type != "iopub_welcome" || m.Content["subscription"] != "" {
		t.Fatalf("first on iopub is %s %v, want iopub_welcome", m.Type, m.Content)
	}
	return c
}

// pump checks and passes on what a socket receives.
func (c *client) pump(s zmq4.Socket, to chan<- message) {
	for {
		m, err := s.Recv()
		if err != nil {
			return
		}
		to <- c.parse(m.Frames)
	}
}

func (c *client) parse(frames [][]byte) message {
	for len(frames) > 0 && string(frames[0]) != "<IDS|MSG>" {
		frames = frames[1:]
	}
	if len(frames) < 6 {
		return message{Type: fmt.Sprintf("MALFORMED %q", frames)}
	}
	if got, want := string(frames[1]), sign(c.key, frames[2:6]); got != want {
		return message{Type: fmt.Sprintf("BAD SIGNATURE %s, want %s", got, want)}
	}
	var m message
	for i, v := range []*map[string]any{&m.Header, &m.Parent, nil, &m.Content} {
		if v == nil {
			continue
		}
		if err := json.Unmarshal(frames[2+i], v); err != nil {
			return message{Type: fmt.Sprintf("BAD JSON %q: %v", frames[2+i], err)}
		}
	}
	m.Type, _ = m.Header["msg_type"].(string)
	m.MsgID, _ = m.Header["msg_id"].(string)
	m.Version, _ = m.Header["version"].(string)
	m.ParentID, _ = m.Parent["msg_id"].(string)
	return m
}

// sign is the protocol's signature: the hex digest of HMAC-SHA256 over header,
// parent header, metadata and content.
func sign(key string, parts [][]byte) string {
	if key == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(key))
	for _, p := range parts {
		mac.Write(p)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// frames makes a request and returns its id.
func (c *client) frames(msgType string, content any) (id string, frames [][]byte) {
	c.t.Helper()
	id = rand.Text()
	header, err := json.Marshal(map[string]any{
		"msg_id": id, "session": c.id, "username": "tester", "date": "2026-01-02T03:04:05.000000Z",
		"msg_type": msgType, "version": "5.5", "x-unknown": "<kept>",
	})
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := json.Marshal(content)
	if err != nil {
		c.t.Fatal(err)
	}
	parts := [][]byte{header, []byte("{}"), []byte("{}"), body}
	return id, append([][]byte{[]byte("<IDS|MSG>"), []byte(sign(c.key, parts))}, parts...)
}

func (c *client) send(s zmq4.Socket, msgType string, content any) (id string) {
	c.t.Helper()
	id, frames := c.frames(msgType, content)
	if err := s.SendMulti(zmq4.NewMsgFrom(frames...)); err != nil {
		c.t.Fatal(err)
	}
	return id
}

func wait(t *testing.T, what string, from <-chan message) message {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(deadline):
		t.Fatalf("no message on %s", what)
		return message{}
	}
}

// next is the next message on iopub.
func (c *client) next() message { c.t.Helper(); return wait(c.t, "iopub", c.iopub) }

// reply waits for the reply to a request, which must be the next on its channel.
func (c *client) reply(channel, id string) message {
	c.t.Helper()
	m := wait(c.t, channel, c.replies[channel])
	if m.ParentID != id {
		c.t.Fatalf("on %s came %s for %q, want the reply to %q", channel, m.Type, m.ParentID, id)
	}
	if m.Version != "5.5" {
		c.t.Fatalf("%s has version %q", m.Type, m.Version)
	}
	return m
}

// outputs reads iopub up to the idle status of a request and returns what came
// between, which must all belong to the request.
func (c *client) outputs(id string) []message {
	c.t.Helper()
	if m := c.next(); m.Type != "status" || m.Content["execution_state"] != "busy" || m.ParentID != id {
		c.t.Fatalf("got %s %v for %q, want busy for %q", m.Type, m.Content, m.ParentID, id)
	}
	var out []message
	for {
		m := c.next()
		if m.ParentID != id {
			c.t.Fatalf("got %s %v for %q, want outputs of %q", m.Type, m.Content, m.ParentID, id)
		}
		if m.Type == "status" && m.Content["execution_state"] == "idle" {
			return out
		}
		out = append(out, m)
	}
}

// skipStart reads the starting status that is first on iopub.
func (c *client) skipStart() *client {
	c.t.Helper()
	if m := c.next(); m.Type != "status" || m.Content["execution_state"] != "starting" {
		c.t.Fatalf("got %s %v, want status starting", m.Type, m.Content)
	}
	return c
}

// execute runs a cell and returns its reply and outputs.
func (c *client) execute(code string, more ...map[string]any) (message, []message) {
	c.t.Helper()
	content := map[string]any{"code": code}
	for _, m := range more {
		for k, v := range m {
			content[k] = v
		}
	}
	id := c.send(c.shell, "execute_request", content)
	return c.reply("shell", id), c.outputs(id)
}

// ask sends a request on shell and returns its reply.
func (c *client) ask(msgType string, content any) message {
	c.t.Helper()
	id := c.send(c.shell, msgType, content)
	m := c.reply("shell", id)
	c.outputs(id)
	return m
}

// show is the JSON of a value, for comparisons.
func show(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func expect(t *testing.T, what string, got any, want string) {
	t.Helper()
	if s := show(t, got); s != want {
		t.Errorf("%s:\n got %s\nwant %s", what, s, want)
	}
}

// brief lists messages as "type content".
func brief(t *testing.T, ms []message) string {
	t.Helper()
	s := ""
	for _, m := range ms {
		s += m.Type + " " + show(t, m.Content) + "\n"
	}
	return s
}
