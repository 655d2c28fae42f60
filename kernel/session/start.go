package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/rooflab/rooflab/kernel/cell"
	"github.com/rooflab/rooflab/kernel/toolchain"
)

// engine is the Session that compiles cells and runs them in a host process.
type engine struct {
	opts Options
	dir  string // workspace, removed by Close
	tc   *toolchain.Toolchain
	pkgs *toolchain.Packages

	run sync.Mutex // one cell at a time

	mu         sync.Mutex // guards what follows
	state      *cell.State
	host       *process
	count      int
	nextID     int
	loaded     map[string]int // plan key -> cell id in the host
	labels     map[string]string
	based      bool
	closed     bool
	running    bool
	interrupts int
	shell      bool               // a shell command runs, not Go code
	cancel     context.CancelFunc // of the build in progress
	background func(Event)
}

// Start begins a session: its workspace, its toolchain and its host process.
func Start(opts Options) (Session, error) {
	cache, err := toolchain.CacheDir()
	if err != nil {
		return nil, err
	}
	root := filepath.Join(cache, "sessions")
	sweep(root)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("making the session's workspace: %w", err)
	}
	dir, err := os.MkdirTemp(root, strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, fmt.Errorf("making the session's workspace: %w", err)
	}
	e := &engine{opts: opts, dir: dir}
	if err := e.begin(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return e, nil
}

// sweep removes workspaces whose process is gone.
func sweep(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, d := range entries {
		pid, _, ok := strings.Cut(d.Name(), "-")
		n, err := strconv.Atoi(pid)
		if !ok || err != nil || n == os.Getpid() {
			continue
		}
		if syscall.Kill(n, 0) == syscall.ESRCH {
			os.RemoveAll(filepath.Join(root, d.Name()))
		}
	}
}

// begin makes toolchain, state and host.
func (e *engine) begin() error {
	work := filepath.Join(e.dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	// The host starts while the toolchain is made ready.
	started := make(chan error, 1)
	var host *process
	go func() {
		var err error
		host, err = startHost(e, filepath.Join(e.dir, "pipes"))
		started <- err
	}()
	tc, err := toolchain.New(work, e.opts.Env)
	if err == nil {
		tc.Progress = e.progress
		err = tc.Ensure("fmt", cell.LivePath, "runtime/cgo", "unsafe")
	}
	if hostErr := <-started; err == nil {
		err = hostErr
	}
	if err != nil {
		if host != nil {
			host.kill()
		}
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tc, e.pkgs, e.host = tc, tc.Packages(), host
	e.forget()
	return nil
}

// progress tells the user about a slow step: the front end's own way if it has
// one, else as text of the running cell.
func (e *engine) progress(line string) {
	if e.opts.Output != nil {
		e.opts.Output(line)
		return
	}
	e.mu.Lock()
	p := e.host
	e.mu.Unlock()
	if p != nil {
		p.send(Stream{Name: "stderr", Text: line + "\n"})
	}
}

// forget starts the session's state afresh. e.mu is held.
func (e *engine) forget() {
	e.state = cell.New(e.pkgs)
	e.loaded = map[string]int{}
	e.labels = map[string]string{}
	e.based = false
}

// Restart implements Session.
func (e *engine) Restart() error {
	e.Interrupt()
	e.mu.Lock()
	host := e.host
	e.mu.Unlock()
	if host != nil {
		host.kill()
	}
	e.run.Lock()
	defer e.run.Unlock()
	if err := os.RemoveAll(filepath.Join(e.dir, "work")); err != nil {
		return err
	}
	e.mu.Lock()
	e.count = 0
	e.mu.Unlock()
	return e.begin()
}

// Close implements Session.
func (e *engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	if e.cancel != nil {
		e.cancel()
		e.tc.Cancel()
	}
	host := e.host
	e.mu.Unlock()
	if host != nil {
		host.close()
	}
	e.run.Lock() // the running cell has noticed by now
	defer e.run.Unlock()
	return os.RemoveAll(e.dir)
}

// Background implements Session.
func (e *engine) Background(emit func(Event)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.background = emit
}

// Interrupt implements Session.
func (e *engine) Interrupt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.running {
		return
	}
	e.interrupts++
	if e.cancel != nil {
		e.cancel()
		e.tc.Cancel()
		return
	}
	if e.host == nil {
		return
	}
	// A second interrupt kills a shell command, and no values.
	if e.interrupts > 2 || e.interrupts > 1 && !e.shell {
		e.host.kill()
		return
	}
	e.host.interrupt()
}
