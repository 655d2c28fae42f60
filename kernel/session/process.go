package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rooflab/rooflab/kernel/host"
	"github.com/rooflab/rooflab/kernel/hugepages"
	"github.com/rooflab/rooflab/kernel/toolchain"
)

// process is the host process as the session sees it.
type process struct {
	e      *engine
	cmd    *exec.Cmd
	in     *os.File // commands
	stdin  *os.File // what cells read from standard input
	pipes  string   // directory of the named pipes of gonbui
	gonb   *gonbPipe
	asking atomic.Pointer[InputRequest] // gonbui's question without an answer yet
	exited chan struct{}
	err    error // of Wait, once exited is closed

	sendMu sync.Mutex

	mu     sync.Mutex
	cond   *sync.Cond
	seen   map[string]int64 // stream -> last marker read
	open   map[string]bool  // streams not yet at their end
	done   chan host.Event  // ends the command in progress
	tail   []byte           // end of standard error, for the report of a crash
	fatal  string           // what the Go runtime said at the end
	emit   func(Event)
	emitMu sync.Mutex
}

// startHost starts the host and waits until it answers.
func startHost(e *engine, pipes string) (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(pipes, 0o700); err != nil {
		return nil, err
	}
	p := &process{e: e, pipes: pipes, exited: make(chan struct{}), seen: map[string]int64{}, open: map[string]bool{"stdout": true, "stderr": true}}
	p.cond = sync.NewCond(&p.mu)
	if p.gonb, err = newGonbPipe(p, pipes); err != nil {
		return nil, err
	}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	pipe := func(readEnd bool) (ours *os.File, err error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if readEnd {
			theirs = append(theirs, w)
			return r, nil
		}
		theirs = append(theirs, r)
		return w, nil
	}
	if p.in, err = pipe(false); err != nil {
		return nil, err
	}
	events, err := pipe(true)
	if err != nil {
		return nil, err
	}
	stdout, err := pipe(true)
	if err != nil {
		return nil, err
	}
	stderr, err := pipe(true)
	if err != nil {
		return nil, err
	}
	if p.stdin, err = pipe(false); err != nil {
		return nil, err
	}
	p.cmd = exec.Command(exe, "host")
	p.cmd.Dir = e.opts.Dir
	p.cmd.Env = hugepages.Environment(append(os.Environ(), e.opts.Env...)) // for training in cells
	p.cmd.Env = append(p.cmd.Env, "GOEXPERIMENT="+toolchain.Experiment(), "GOMLX_NO_AUTO_INSTALL=1",
		"GONB_PIPE="+filepath.Join(pipes, "gonb"), "GONB_PIPE_BACK="+filepath.Join(pipes, "back"),
		"GONB_TMP_DIR="+filepath.Join(e.dir, "work"), "GONB_VERSION=v0.11.3")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[4], theirs[2], theirs[3]
	p.cmd.ExtraFiles = []*os.File{theirs[0], theirs[1]}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := startOnOwnThread(p.cmd); err != nil {
		return nil, fmt.Errorf("starting the session host: %w", err)
	}
	go p.stream("stdout", stdout)
	go p.stream("stderr", stderr)
	ready := make(chan error, 1)
	go p.events(events, ready)
	go func() {
		p.err = p.cmd.Wait()
		p.mu.Lock()
		close(p.exited)
		p.cond.Broadcast()
		p.mu.Unlock()
	}()
	select {
	case err := <-ready:
		if err != nil {
			p.kill()
			return nil, err
		}
	case <-p.exited:
		return nil, fmt.Errorf("starting the session host: it ended at once (%w): %s", p.err, p.lastWords())
	}
	return p, nil
}

// startOnOwnThread starts the process from a thread that never ends:
// Pdeathsig fires when the thread that started the child goes, not the process.
func startOnOwnThread(cmd *exec.Cmd) error {
	errs := make(chan error)
	starter.Do(func() {
		go func() {
			lockThread()
			for f := range starts {
				f()
			}
		}()
	})
	starts <- func() { errs <- cmd.Start() }
	return <-errs
}

var (
	starter sync.Once
	starts  = make(chan func())
)

// stream forwards what the host prints, taking the markers out.
func (p *process) stream(name string, r *os.File) {
	defer r.Close()
	prefix := []byte("\x00rooflab:")
	buf := make([]byte, 64<<10)
	var pending []byte
	flush := func(text []byte) {
		if len(text) > 0 {
			if name == "stderr" {
				p.mu.Lock()
				p.tail = append(p.tail, text...)
				if m := fatalLine.Find(p.tail); m != nil && p.fatal == "" {
					p.fatal = string(m)
				}
				if n := len(p.tail); n > 8<<10 {
					p.tail = append([]byte{}, p.tail[n-8<<10:]...)
				}
				p.mu.Unlock()
			}
			p.send(Stream{Name: name, Text: string(text)})
		}
	}
	for {
		n, err := r.Read(buf)
		pending = append(pending, buf[:n]...)
		for {
			i := bytes.IndexByte(pending, 0)
			if i < 0 {
				flush(pending)
				pending = pending[:0]
				break
			}
			rest := pending[i:]
			if !bytes.HasPrefix(rest, prefix[:min(len(prefix), len(rest))]) {
				flush(pending[:i+1]) // a NUL that the user printed
				pending = pending[i+1:]
				continue
			}
			j := bytes.IndexByte(rest[1:], 0)
			if j < 0 && len(rest) < 40 {
				flush(pending[:i])
				pending = append([]byte{}, rest...)
				break
			}
			mark, convErr := int64(0), errors.New("no end")
			if j >= 0 {
				mark, convErr = strconv.ParseInt(string(rest[len(prefix):j+1]), 10, 64)
			}
			if convErr != nil {
				flush(pending[:i+1])
				pending = pending[i+1:]
				continue
			}
			flush(pending[:i])
			pending = rest[j+2:]
			p.mu.Lock()
			p.seen[name] = mark
			p.cond.Broadcast()
			p.mu.Unlock()
		}
		if err != nil {
			flush(pending)
			p.mu.Lock()
			delete(p.open, name)
			p.cond.Broadcast()
			p.mu.Unlock()
			return
		}
	}
}

// fatalLine is how the Go runtime begins to say why it ends the process.
var fatalLine = regexp.MustCompile(`(?m)^(?:fatal error: |panic: |SIG[A-Z]+: ).+`)

// markTimeout bounds the wait for a marker: a cell may have closed descriptors
// in ways nobody foresees.
const markTimeout = 5 * time.Second

// await waits until both streams have been read up to the marker.
func (p *process) await(mark int64) {
	late := false
	t := time.AfterFunc(markTimeout, func() {
		p.mu.Lock()
		late = true
		p.cond.Broadcast()
		p.mu.Unlock()
	})
	defer t.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range map[string]bool{"stdout": true, "stderr": true} {
		for p.seen[name] < mark && p.open[name] && !late {
			p.cond.Wait()
		}
	}
}

// events reads what the host reports.
func (p *process) events(r *os.File, ready chan<- error) {
	defer r.Close()
	dec := json.NewDecoder(bufio.NewReader(r))
	for {
		var ev host.Event
		if err := dec.Decode(&ev); err != nil {
			if !errors.Is(err, io.EOF) {
				p.kill()
			}
			select {
			case ready <- fmt.Errorf("starting the session host: %w: %s", err, p.lastWords()):
			default:
			}
			return
		}
		if ev.Mark > 0 {
			p.await(ev.Mark)
		}
		switch ev.Op {
		case "ready":
			ready <- nil
		case "display":
			p.send(Display{Bundle: *ev.Bundle, ID: ev.ID, Update: ev.Update})
		case "clear":
			p.send(Clear{Wait: ev.Wait})
		case "result":
			p.gonb.drain()
			p.send(Result{Bundle: *ev.Bundle})
		case "late":
			p.send(Stream{Name: "stderr", Text: p.e.lateText(ev.Failure)})
		case "done":
			p.gonb.drain()
			p.mu.Lock()
			done := p.done
			p.done = nil
			p.mu.Unlock()
			if done != nil {
				done <- ev
			}
		}
	}
}

func once(f func(string)) func(string) {
	var o sync.Once
	return func(s string) { o.Do(func() { f(s) }) }
}

// send hands an event to the cell in progress, else to the background.
func (p *process) send(ev Event) {
	p.emitMu.Lock()
	defer p.emitMu.Unlock()
	p.mu.Lock()
	emit := p.emit
	p.mu.Unlock()
	if emit == nil {
		p.e.mu.Lock()
		emit = p.e.background
		p.e.mu.Unlock()
	}
	if emit != nil {
		emit(clean(ev))
	}
}

// attach directs events to emit (nil: to the background) and returns when no
// call of the former one is in progress.
func (p *process) attach(emit func(Event)) {
	p.emitMu.Lock()
	defer p.emitMu.Unlock()
	p.mu.Lock()
	p.emit = emit
	p.mu.Unlock()
}

func (p *process) command(c host.Command) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	_, err = p.in.Write(append(data, '\n'))
	return err
}

// errLost is returned by do when the host ended.
var errLost = errors.New("the session host ended")

// do sends a command and waits for its end.
func (p *process) do(c host.Command) (host.Event, error) {
	done := make(chan host.Event, 1)
	p.mu.Lock()
	p.done = done
	p.tail, p.fatal = nil, ""
	p.mu.Unlock()
	if err := p.command(c); err != nil {
		<-p.exited
	}
	select {
	case ev := <-done:
		return ev, nil
	case <-p.exited:
		// What it printed last comes first.
		p.mu.Lock()
		late := false
		t := time.AfterFunc(time.Second, func() {
			p.mu.Lock()
			late = true
			p.cond.Broadcast()
			p.mu.Unlock()
		})
		for len(p.open) > 0 && !late {
			p.cond.Wait()
		}
		p.mu.Unlock()
		t.Stop()
		select {
		case ev := <-done:
			return ev, nil
		default:
		}
		return host.Event{}, errLost
	}
}

func (p *process) interrupt() { _ = p.command(host.Command{Op: "interrupt"}) }

// alive reports whether the host still runs.
func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// kill ends the host and everything in its process group.
func (p *process) kill() {
	if p.cmd.Process != nil {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.exited
	}
	p.gonb.close()
	p.in.Close()
	p.stdin.Close()
}

// close lets the host end by itself and kills it when it does not.
func (p *process) close() {
	p.in.Close()
	select {
	case <-p.exited:
	case <-time.After(500 * time.Millisecond):
	}
	p.kill()
}

// lastWords is the end of what the host wrote to standard error.
func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.TrimSpace(string(p.tail))
}
