package kernels

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-zeromq/zmq4"

	"github.com/rooflab/rooflab/kernel/jupyter"
)

// client is a Jupyter client of one kernel. It has one request on its way at a
// time.
type client struct {
	key, session        string
	shell, control, sub zmq4.Socket
	arrived             chan arrival
}

// dialRetry is the pause between two attempts to connect.
const dialRetry = 5 * time.Millisecond

// arrival is a message and when it came.
type arrival struct {
	at      time.Time
	err     error // of reading the socket
	msgType string
	parent  string
	content json.RawMessage
}

// output is what a cell showed.
type output struct {
	text  strings.Builder // streams and text/plain
	mimes map[string]bool
	fault string // what the kernel reported as an error
}

func connect(ctx context.Context, conn jupyter.Connection) (*client, error) {
	c := &client{key: conn.Key, session: rand.Text(), arrived: make(chan arrival, 1000)}
	options := []zmq4.Option{
		zmq4.WithID(zmq4.SocketIdentity(c.session)),
		// The kernel may not listen yet.
		zmq4.WithDialerRetry(dialRetry), zmq4.WithDialerMaxRetries(int(startTimeout / dialRetry)),
	}
	c.shell, c.control, c.sub = zmq4.NewDealer(ctx, options...), zmq4.NewDealer(ctx, options...), zmq4.NewSub(ctx, options...)
	if err := c.sub.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		return nil, fmt.Errorf("subscribing to the kernel's outputs: %w", err)
	}
	for _, s := range []struct {
		socket zmq4.Socket
		port   int
	}{{c.sub, conn.IOPubPort}, {c.shell, conn.ShellPort}, {c.control, conn.ControlPort}} {
		if err := s.socket.Dial(fmt.Sprintf("tcp://%s:%d", conn.IP, s.port)); err != nil {
			c.close()
			return nil, fmt.Errorf("connecting to the kernel's port %d: %w", s.port, err)
		}
	}
	for _, s := range []zmq4.Socket{c.shell, c.sub} {
		go c.read(ctx, s)
	}
	return c, nil
}

func (c *client) close() {
	for _, s := range []zmq4.Socket{c.shell, c.control, c.sub} {
		s.Close()
	}
}

// read passes on what a socket receives, until it is closed.
func (c *client) read(ctx context.Context, s zmq4.Socket) {
	for {
		m, err := s.Recv()
		a := arrival{at: time.Now(), err: err}
		if err == nil {
			a.err = c.parse(m.Frames, &a)
		}
		select {
		case c.arrived <- a:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (c *client) parse(frames [][]byte, a *arrival) error {
	for len(frames) > 0 && string(frames[0]) != "<IDS|MSG>" {
		frames = frames[1:]
	}
	if len(frames) < 6 {
		return fmt.Errorf("a message of %d frames after its delimiter, want 6", len(frames))
	}
	if sum := c.sign(frames[2:6]); string(frames[1]) != sum {
		return fmt.Errorf("a message is signed %q, want %q", frames[1], sum)
	}
	var header, parent struct {
		MsgType string `json:"msg_type"`
		MsgID   string `json:"msg_id"`
	}
	if err := json.Unmarshal(frames[2], &header); err != nil {
		return fmt.Errorf("a message's header: %w", err)
	}
	if err := json.Unmarshal(frames[3], &parent); err != nil {
		return fmt.Errorf("a message's parent header: %w", err)
	}
	a.msgType, a.parent, a.content = header.MsgType, parent.MsgID, frames[5]
	return nil
}

// sign is the hex digest of HMAC-SHA256 over header, parent header, metadata
// and content.
func (c *client) sign(parts [][]byte) string {
	mac := hmac.New(sha256.New, []byte(c.key))
	for _, p := range parts {
		mac.Write(p)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// send sends a request and returns its id and when it was sent.
func (c *client) send(s zmq4.Socket, msgType string, content map[string]any) (string, time.Time, error) {
	id := rand.Text()
	header, err := json.Marshal(map[string]string{
		"msg_id": id, "session": c.session, "username": "bench", "msg_type": msgType, "version": "5.3",
		"date": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
	})
	if err != nil {
		return "", time.Time{}, err
	}
	body, err := json.Marshal(content)
	if err != nil {
		return "", time.Time{}, err
	}
	parts := [][]byte{header, []byte("{}"), []byte("{}"), body}
	m := zmq4.NewMsgFrom(append([][]byte{[]byte("<IDS|MSG>"), []byte(c.sign(parts))}, parts...)...)
	sent := time.Now()
	if err := s.SendMulti(m); err != nil {
		return "", sent, fmt.Errorf("sending %s: %w", msgType, err)
	}
	return id, sent, nil
}

// ask sends a request on shell and waits until its reply and the idle status
// are there, whichever comes last; the time is counted from the sending.
func (c *client) ask(ctx context.Context, msgType string, content map[string]any) (time.Duration, *output, error) {
	id, sent, err := c.send(c.shell, msgType, content)
	if err != nil {
		return 0, nil, err
	}
	out := &output{mimes: map[string]bool{}}
	var replied, idle bool
	for {
		var a arrival
		select {
		case a = <-c.arrived:
		case <-ctx.Done():
			return 0, nil, fmt.Errorf("waiting for the reply to %s (replied %v, idle %v): %w", msgType, replied, idle, context.Cause(ctx))
		}
		if a.err != nil {
			return 0, nil, fmt.Errorf("reading from the kernel: %w", a.err)
		}
		if a.parent != id {
			continue
		}
		switch {
		case strings.HasSuffix(a.msgType, "_reply"):
			replied = true
			err = out.reply(a.content)
		case a.msgType == "status":
			var s struct {
				State string `json:"execution_state"`
			}
			err = json.Unmarshal(a.content, &s)
			idle = idle || s.State == "idle"
		default:
			err = out.add(a.msgType, a.content)
		}
		if err != nil {
			return 0, nil, fmt.Errorf("reading the kernel's %s: %w", a.msgType, err)
		}
		if replied && idle {
			return a.at.Sub(sent), out, nil
		}
	}
}

func (o *output) reply(content []byte) error {
	var r struct{ Status, EName, EValue string }
	if err := json.Unmarshal(content, &r); err != nil {
		return err
	}
	if r.Status != "ok" && r.Status != "" && o.fault == "" { // the error message, with its traceback, tells more
		o.fault = fmt.Sprintf("%s: %s: %s", r.Status, r.EName, r.EValue)
	}
	return nil
}

func (o *output) add(msgType string, content []byte) error {
	switch msgType {
	case "stream":
		var s struct{ Text string }
		err := json.Unmarshal(content, &s)
		o.text.WriteString(s.Text)
		return err
	case "display_data", "execute_result":
		var d struct{ Data map[string]json.RawMessage }
		if err := json.Unmarshal(content, &d); err != nil {
			return err
		}
		for mime, data := range d.Data {
			o.mimes[mime] = true
			var text string
			if mime == "text/plain" && json.Unmarshal(data, &text) == nil {
				o.text.WriteString(text)
			}
		}
	case "error":
		var e struct {
			EName, EValue string
			Traceback     []string
		}
		if err := json.Unmarshal(content, &e); err != nil {
			return err
		}
		o.fault = strings.Join(append([]string{e.EName + ": " + e.EValue}, e.Traceback...), "\n")
	}
	return nil
}

// run executes a cell and checks that it did what it should.
func (c *client) run(ctx context.Context, cell cell) (time.Duration, error) {
	took, out, err := c.ask(ctx, "execute_request", map[string]any{
		"code": cell.code, "silent": false, "store_history": true, "user_expressions": map[string]string{}, "allow_stdin": false, "stop_on_error": true,
	})
	if err != nil {
		return 0, err
	}
	switch {
	case out.fault != "":
		return 0, fmt.Errorf("the cell failed: %s\n%s", out.fault, out.text.String())
	case cell.prints != "" && !strings.Contains(out.text.String(), cell.prints):
		return 0, fmt.Errorf("the cell should print %q, it printed %q", cell.prints, out.text.String())
	case cell.shows != "" && !out.mimes[cell.shows]:
		return 0, fmt.Errorf("the cell should show %s, it showed %v and printed %q", cell.shows, out.mimes, out.text.String())
	}
	return took, nil
}
