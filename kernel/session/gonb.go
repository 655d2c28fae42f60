package session

import (
	"bufio"
	"encoding/base64"
	"encoding/gob"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/rooflab/rooflab/kernel/display"
)

// gonbPipe is the kernel's end of the named pipes through which
// github.com/janpfeifer/gonb/gonbui talks to its kernel: gob-encoded
// DisplayData flows in, CommValue flows back.
type gonbPipe struct {
	p       *process
	in, out *os.File
	mu      sync.Mutex
	enc     *gob.Encoder
	busy    atomic.Bool // a message is being read or handled
	shown   map[string]bool
}

func newGonbPipe(p *process, dir string) (*gonbPipe, error) {
	g := &gonbPipe{p: p, shown: map[string]bool{}}
	open := func(name string) (*os.File, error) {
		path := filepath.Join(dir, name)
		os.Remove(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			return nil, fmt.Errorf("making the pipe %s for gonbui: %w", path, err)
		}
		// Read and write at once: neither end waits for the other, and no end
		// of file comes between two writers.
		return os.OpenFile(path, os.O_RDWR, 0)
	}
	var err error
	if g.in, err = open("gonb"); err != nil {
		return nil, err
	}
	if g.out, err = open("back"); err != nil {
		g.in.Close()
		return nil, err
	}
	g.enc = gob.NewEncoder(g.out)
	go g.read()
	return g, nil
}

func (g *gonbPipe) read() {
	r := bufio.NewReader(&watched{g})
	dec := gob.NewDecoder(r)
	for {
		var d protocol.DisplayData
		if err := dec.Decode(&d); err != nil {
			return
		}
		g.handle(&d)
		if r.Buffered() == 0 {
			g.busy.Store(false)
		}
	}
}

// watched marks the pipe busy as soon as bytes of a message arrive.
type watched struct{ g *gonbPipe }

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.g.in.Read(b)
	if n > 0 {
		w.g.busy.Store(true)
	}
	return n, err
}

// drain waits until what gonbui wrote so far has been handled.
func (g *gonbPipe) drain() {
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
		if g.pending() == 0 && !g.busy.Load() && g.pending() == 0 {
			return
		}
	}
}

// pending is the number of bytes in the pipe.
func (g *gonbPipe) pending() int {
	conn, err := g.in.SyscallConn()
	if err != nil {
		return 0
	}
	var n int32
	if conn.Control(func(fd uintptr) {
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, fionread, uintptr(unsafe.Pointer(&n)))
	}) != nil {
		return 0 // closed
	}
	return int(n)
}

// fionread is FIONREAD of <asm-generic/ioctls.h>.
const fionread = 0x541B

func (g *gonbPipe) close() {
	g.in.Close()
	g.out.Close()
}

func (g *gonbPipe) reply(v protocol.CommValue) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.enc.Encode(v) // a host that is gone needs no reply
}

func (g *gonbPipe) handle(d *protocol.DisplayData) {
	b := display.Bundle{Data: map[string]any{}, Metadata: d.Metadata}
	for mime, data := range d.Data {
		switch mime {
		case protocol.MIMEJupyterInput:
			if req, ok := data.(*protocol.InputRequest); ok {
				g.input(*req)
			} else if req, ok := data.(protocol.InputRequest); ok {
				g.input(req)
			}
			return
		case protocol.MIMECommValue:
			v, ok := data.(protocol.CommValue)
			if !ok {
				if p, isPtr := data.(*protocol.CommValue); isPtr {
					v, ok = *p, true
				}
			}
			if ok && v.Address == protocol.GonbuiSyncAddress {
				g.reply(protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: v.Value})
			}
			return
		case protocol.MIMECommSubscribe:
			return // widgets need a front end that talks back
		}
		switch v := data.(type) {
		case []byte:
			b.Data[string(mime)] = base64.StdEncoding.EncodeToString(v)
		default:
			b.Data[string(mime)] = v
		}
	}
	if len(b.Data) == 0 {
		return
	}
	if _, ok := b.Data["text/plain"]; !ok {
		b.Data["text/plain"] = placeholder(b)
	}
	update := d.DisplayID != "" && g.shown[d.DisplayID]
	if d.DisplayID != "" {
		g.shown[d.DisplayID] = true
	}
	g.p.send(Display{Bundle: b, ID: d.DisplayID, Update: update})
}

// input serves gonbui.RequestInput: the answer goes to standard input.
func (g *gonbPipe) input(req protocol.InputRequest) {
	question := &InputRequest{Prompt: req.Prompt, Password: req.Password}
	question.Answer = once(func(s string) {
		_, _ = g.p.stdin.WriteString(s + "\n")
		g.p.asking.CompareAndSwap(question, nil)
	})
	g.p.asking.Store(question)
	g.p.send(*question)
}
