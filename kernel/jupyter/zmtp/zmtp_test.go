package zmtp_test

// The peers of these tests are the sockets of github.com/go-zeromq/zmq4, an
// implementation that shares no code with this package, and bare TCP
// connections where a peer must misbehave.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"github.com/rooflab/rooflab/kernel/jupyter/zmtp"
)

// deadline is when a test that hangs is called failed; nothing waits for it
// otherwise.
const deadline = 30 * time.Second

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	return ctx
}

func listenRouter(t *testing.T, endpoint string) *zmtp.Router {
	t.Helper()
	r, err := zmtp.ListenRouter(endpoint, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(0) })
	return r
}

func listenPublisher(t *testing.T, welcome func([]byte) [][]byte) *zmtp.Publisher {
	t.Helper()
	p, err := zmtp.ListenPublisher("tcp://127.0.0.1:0", welcome, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(0) })
	return p
}

func dial(t *testing.T, s zmq4.Socket, endpoint string) zmq4.Socket {
	t.Helper()
	if err := s.Dial(endpoint); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func receive(t *testing.T, s zmq4.Socket) []string {
	t.Helper()
	m, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return text(m.Frames)
}

func text(frames [][]byte) []string {
	out := make([]string, len(frames))
	for i, f := range frames {
		out[i] = string(f)
	}
	return out
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func send(t *testing.T, s zmq4.Socket, frames ...string) {
	t.Helper()
	if err := s.SendMulti(zmq4.NewMsgFromString(frames)); err != nil {
		t.Fatal(err)
	}
}

func TestRouterAnswersTheDealerThatAsked(t *testing.T) {
	for _, transport := range []string{"tcp", "ipc"} {
		t.Run(transport, func(t *testing.T) {
			ctx := testContext(t)
			endpoint := "tcp://127.0.0.1:0"
			if transport == "ipc" {
				endpoint = "ipc://" + filepath.Join(t.TempDir(), "sock-1")
			}
			r := listenRouter(t, endpoint)
			a := dial(t, zmq4.NewDealer(ctx, zmq4.WithID(zmq4.SocketIdentity("ann"))), r.Endpoint())
			b := dial(t, zmq4.NewDealer(ctx, zmq4.WithID(zmq4.SocketIdentity("bob"))), r.Endpoint())
			send(t, a, "from a", "", strings.Repeat("x", 300))
			got, err := r.Recv(ctx)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "request of a", text(got), "ann", "from a", "", strings.Repeat("x", 300))
			send(t, b, "from b")
			if got, err = r.Recv(ctx); err != nil {
				t.Fatal(err)
			}
			same(t, "request of b", text(got), "bob", "from b")
			for _, id := range []string{"ann", "bob"} {
				if err := r.Send([][]byte{[]byte(id), []byte("to " + id)}); err != nil {
					t.Fatal(err)
				}
			}
			same(t, "reply to b", receive(t, b), "to bob")
			same(t, "reply to a", receive(t, a), "to ann")
		})
	}
}

func TestPeersWithoutAnIdentityGetOne(t *testing.T) {
	ctx := testContext(t)
	r := listenRouter(t, "tcp://127.0.0.1:0")
	// A REQ peer puts an empty frame before its request.
	raw := shakeHands(t, r.Endpoint(), "REQ", "")
	raw.write(t, "\x01\x00\x00\x04ping")
	got, err := r.Recv(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || len(got[0]) < 2 || got[0][0] != 0 {
		t.Fatalf("got %q, want an identity that starts with a zero byte, an empty frame and ping", got)
	}
	if err := r.Send(got); err != nil {
		t.Fatal(err)
	}
	raw.expect(t, "\x01\x00\x00\x04ping")
	raw.Close()
}

func TestSendingToNobodySaysSo(t *testing.T) {
	r := listenRouter(t, "tcp://127.0.0.1:0")
	if err := r.Send([][]byte{[]byte("nobody"), []byte("hello")}); !errors.Is(err, zmtp.ErrNoPeer) {
		t.Errorf("got %v, want ErrNoPeer", err)
	}
	if err := r.Send([][]byte{[]byte("nobody")}); err == nil {
		t.Error("a message without a body was taken")
	}
	r.Close(0)
	if err := r.Send([][]byte{[]byte("nobody"), []byte("hello")}); !errors.Is(err, zmtp.ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
	if _, err := r.Recv(context.Background()); !errors.Is(err, zmtp.ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
}

// A peer that connects and says nothing holds up nobody, before or after it.
func TestSilentPeersHoldUpNobody(t *testing.T) {
	ctx := testContext(t)
	r := listenRouter(t, "tcp://127.0.0.1:0")
	for range 3 {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.Endpoint(), "tcp://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	a := dial(t, zmq4.NewDealer(ctx, zmq4.WithID(zmq4.SocketIdentity("ann"))), r.Endpoint())
	send(t, a, "hello")
	got, err := r.Recv(ctx)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "message", text(got), "ann", "hello")
}

// What the ready-made library panics on.
func TestMalformedPeersAreRefused(t *testing.T) {
	ctx := testContext(t)
	r := listenRouter(t, "tcp://127.0.0.1:0")
	greeting := "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL" + strings.Repeat("\x00", 48)
	for name, bytes := range map[string]string{
		"http":               "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + strings.Repeat(" ", 64),
		"zmtp 2":             "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x01" + strings.Repeat("\x00", 53),
		"curve":              "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00CURVE" + strings.Repeat("\x00", 47),
		"no ready":           greeting + "\x00\x05hello",
		"property cut short": greeting + "\x04\x08\x05READY\xffx",
		"huge frame":         greeting + "\x06\xff\xff\xff\xff\xff\xff\xff\xff",
		"large frame":        greeting + "\x02\x7f\xff\xff\xff\xff\xff\xff\xff",
		"reserved flags":     greeting + "\xf0\x00",
		"wrong socket type":  greeting + "\x04\x1a\x05READY\x0bSocket-Type\x00\x00\x00\x04PUSH",
		"error command":      greeting + "\x04\x0a\x05ERROR\x03why",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", strings.TrimPrefix(r.Endpoint(), "tcp://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(deadline)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, bytes); err != nil {
				t.Fatal(err)
			}
			// Refused means that the connection ends, in order or by a reset
			// (when bytes of ours were left unread).
			if _, err := io.Copy(io.Discard, c); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
				t.Fatalf("the connection was kept: %v", err)
			}
		})
	}
	a := dial(t, zmq4.NewDealer(ctx, zmq4.WithID(zmq4.SocketIdentity("ann"))), r.Endpoint())
	send(t, a, "still there?")
	if _, err := r.Recv(ctx); err != nil {
		t.Fatal(err)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func TestRepliesWaitForAPeerThatReconnects(t *testing.T) {
	ctx := testContext(t)
	r := listenRouter(t, "tcp://127.0.0.1:0")
	first := shakeHands(t, r.Endpoint(), "DEALER", "ann")
	first.write(t, "\x00\x03ask")
	if _, err := r.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	first.Close()
	// A second connection of the same name takes over, even if the router has
	// not noticed the end of the first.
	second := shakeHands(t, r.Endpoint(), "DEALER", "ann")
	second.write(t, "\x00\x05again")
	if _, err := r.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.Send([][]byte{[]byte("ann"), []byte("reply")}); err != nil {
		t.Fatal(err)
	}
	second.expect(t, "\x00\x05reply")
	second.closeAndWait(t)
	// Nobody is there now.
	if err := r.Send([][]byte{[]byte("ann"), []byte("kept")}); err != nil {
		t.Fatal(err)
	}
	third := shakeHands(t, r.Endpoint(), "DEALER", "ann")
	third.expect(t, "\x00\x04kept")
}

func TestSubscribersAreWelcomedAndMissNothing(t *testing.T) {
	ctx := testContext(t)
	p := listenPublisher(t, func(topic []byte) [][]byte {
		return [][]byte{[]byte("welcome"), append([]byte("to "), topic...)}
	})
	for i := range 3 {
		p.Send([][]byte{[]byte("early"), fmt.Append(nil, i)})
	}
	sub := zmq4.NewSub(ctx)
	if err := sub.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		t.Fatal(err)
	}
	dial(t, sub, p.Endpoint())
	same(t, "first", receive(t, sub), "welcome", "to ")
	for i := range 3 {
		same(t, "early message", receive(t, sub), "early", fmt.Sprint(i))
	}
	p.Send([][]byte{[]byte("late")})
	same(t, "late message", receive(t, sub), "late")
}

// Peers of ZMTP 3.1 subscribe with commands, and may ask whether we live.
func TestCommandsOfNewerPeers(t *testing.T) {
	p := listenPublisher(t, func(topic []byte) [][]byte { return [][]byte{[]byte("hi"), topic} })
	raw := shakeHands(t, p.Endpoint(), "SUB", "")
	raw.write(t, "\x04\x0c\x09SUBSCRIBEab")
	raw.expect(t, "\x01\x02hi\x00\x02ab")
	p.Send([][]byte{[]byte("xyz")}) // not subscribed to
	p.Send([][]byte{[]byte("abc")})
	raw.expect(t, "\x00\x03abc")
	raw.write(t, "\x04\x0a\x04PING\x00\x00ctx")
	raw.expect(t, "\x04\x08\x04PONGctx")
	raw.write(t, "\x04\x09\x06CANCELab")
	raw.write(t, "\x04\x0a\x09SUBSCRIBE") // everything
	raw.expect(t, "\x01\x02hi\x00\x00")
	p.Send([][]byte{[]byte("abd")})
	raw.expect(t, "\x00\x03abd")
	// Taking back what was never asked for changes nothing.
	raw.write(t, "\x00\x04\x00zzz")
	raw.write(t, "\x04\x07\x04PING\x00\x00")
	raw.expect(t, "\x04\x05\x04PONG")
	raw.Close()
}

// One subscriber reads nothing; the other gets every byte of far more than the
// network buffers, and a control message to the first does not block either.
func TestOneStalledSubscriberStopsNobody(t *testing.T) {
	ctx := testContext(t)
	p := listenPublisher(t, nil)
	stalled := shakeHands(t, p.Endpoint(), "SUB", "")
	stalled.write(t, "\x00\x01\x01")
	defer stalled.Close()
	stalled.write(t, "\x04\x07\x04PING\x00\x00")
	stalled.expect(t, "\x04\x05\x04PONG") // its subscription has been seen
	sub := zmq4.NewSub(ctx)
	if err := sub.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		t.Fatal(err)
	}
	dial(t, sub, p.Endpoint())
	waitForSubscriber(t, p, sub)
	block := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	const n = 40
	for i := range n {
		p.Send([][]byte{fmt.Append(nil, i), block})
	}
	for i := range n {
		got, err := sub.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Frames[0]) != fmt.Sprint(i) || !bytes.Equal(got.Frames[1], block) {
			t.Fatalf("message %d is %q with %d bytes", i, got.Frames[0], len(got.Frames[1]))
		}
	}
	// The stalled one is what Throttle waits for, until it is gone.
	done := make(chan bool)
	go func() { p.Throttle(ctx, n<<20/2); close(done) }()
	stalled.Close()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("Throttle waits for a subscriber that has left")
	}
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
}

func waitForSubscriber(t *testing.T, p *zmtp.Publisher, sub zmq4.Socket) {
	t.Helper()
	// Somebody else has subscribed already, so nothing is kept for this one:
	// publish until it hears.
	heard := make(chan error, 1)
	go func() {
		_, err := sub.Recv()
		heard <- err
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	sent := 0
	for {
		select {
		case err := <-heard:
			if err != nil {
				t.Fatal(err)
			}
			p.Send([][]byte{[]byte("sync"), []byte("end")})
			for {
				if got := receive(t, sub); len(got) == 2 {
					return
				}
			}
		case <-tick.C:
			sent++
			p.Send([][]byte{[]byte("sync")})
		}
	}
}

func TestCloseLetsQueuedMessagesOut(t *testing.T) {
	ctx := testContext(t)
	r := listenRouter(t, "tcp://127.0.0.1:0")
	a := dial(t, zmq4.NewDealer(ctx, zmq4.WithID(zmq4.SocketIdentity("ann"))), r.Endpoint())
	send(t, a, "hello")
	if _, err := r.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	const n, size = 200, 100_000
	for range n {
		if err := r.Send([][]byte{[]byte("ann"), make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- r.Close(deadline) }()
	for i := range n {
		m, err := a.Recv()
		if err != nil || len(m.Frames) != 1 || len(m.Frames[0]) != size {
			t.Fatalf("message %d of %d: %d frames, %v", i, n, len(m.Frames), err)
		}
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}

func TestBadEndpointsAreErrors(t *testing.T) {
	for _, e := range []string{"", "127.0.0.1:0", "inproc://x", "tcp://256.1.1.1:0", "ipc:///no/such/folder/sock"} {
		if r, err := zmtp.ListenRouter(e, nil); err == nil {
			r.Close(0)
			t.Errorf("%q was bound", e)
		}
	}
}

// rawPeer speaks ZMTP byte by byte.
type rawPeer struct{ net.Conn }

func shakeHands(t *testing.T, endpoint, kind, identity string) rawPeer {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	p := rawPeer{c}
	p.write(t, "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x01NULL"+strings.Repeat("\x00", 48))
	body := "\x05READY" +
		"\x0bsocket-type\x00\x00\x00" + string(rune(len(kind))) + kind +
		"\x08IDENTITY\x00\x00\x00" + string(rune(len(identity))) + identity
	p.write(t, "\x04"+string(rune(len(body)))+body)
	p.expect(t, "\xff\x00\x00\x00\x00\x00\x00\x00\x00\x7f\x03\x00NULL"+strings.Repeat("\x00", 48))
	head := make([]byte, 2)
	if _, err := io.ReadFull(c, head); err != nil || head[0] != 4 {
		t.Fatalf("reading READY: % x, %v", head, err)
	}
	ready := make([]byte, head[1])
	if _, err := io.ReadFull(c, ready); err != nil || !bytes.HasPrefix(ready, []byte("\x05READY")) {
		t.Fatalf("reading READY: %q, %v", ready, err)
	}
	return p
}

func (p rawPeer) write(t *testing.T, s string) {
	t.Helper()
	if _, err := io.WriteString(p, s); err != nil {
		t.Fatal(err)
	}
}

func (p rawPeer) expect(t *testing.T, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(p, got); err != nil {
		t.Fatalf("got %q, want %q: %v", got[:n], want, err)
	}
	if string(got) != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// closeAndWait ends the connection and waits until the other side has too.
func (p rawPeer) closeAndWait(t *testing.T) {
	t.Helper()
	if err := p.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, p); err != nil {
		t.Fatal(err)
	}
	p.Close()
}
