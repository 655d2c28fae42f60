package kernels

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rooflab/rooflab/kernel/jupyter"
)

// Kernel is how to start a kernel.
type Kernel struct {
	Name string
	// Command starts it; the connection file's path is appended.
	Command []string
	// Env is added to the environment.
	Env []string
}

// startTimeout is how long a kernel may take to answer, cellTimeout how long
// one cell may take: cold build caches are filled in it.
const (
	startTimeout = time.Minute
	cellTimeout  = 5 * time.Minute
	stopTimeout  = 5 * time.Second
)

// process is a running kernel with its client.
type process struct {
	*client
	name   string
	cmd    *exec.Cmd
	log    *tail
	done   chan struct{} // closed at its end
	cancel context.CancelFunc
}

// start starts a kernel with its files in dir and waits until it answers.
func (k Kernel) start(ctx context.Context, dir string) (*process, error) {
	p, err := k.launch(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("starting the kernel %s (%s): %w", k.Name, k.Command[0], err)
	}
	ready, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.await(ready); err != nil {
		p.stop()
		return nil, fmt.Errorf("starting the kernel %s (%s): %w\n%s", k.Name, k.Command[0], err, p.log)
	}
	return p, nil
}

func (k Kernel) launch(ctx context.Context, dir string) (*process, error) {
	conn, err := freeConnection()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(conn)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "kernel-"+rand.Text()+".json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	p := &process{name: k.Name, log: &tail{}, done: make(chan struct{})}
	p.cmd = exec.Command(k.Command[0], append(k.Command[1:len(k.Command):len(k.Command)], file)...)
	p.cmd.Dir = dir
	// A kernel whose client is gone ends: Jupyter passes its own number.
	p.cmd.Env = append(append(os.Environ(), "JPY_PARENT_PID="+strconv.Itoa(os.Getpid()), "TMPDIR="+dir), k.Env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is of interest only with its log
		close(p.done)
	}()
	// The client outlives ctx: a race that was cancelled still asks its kernels
	// to shut down, so that they remove their files.
	alive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	go func() {
		<-p.done
		cancel()
	}()
	connected := context.AfterFunc(ctx, cancel)
	p.client, err = connect(alive, conn)
	connected()
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%w\n%s", err, p.log)
	}
	return p, nil
}

// await asks for the kernel's information until the idle status arrives too:
// a subscription takes a moment to reach the kernel.
func (p *process) await(ctx context.Context) error {
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, _, err := p.ask(try, "kernel_info_request", map[string]any{})
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-p.done:
			return errors.New("the kernel ended")
		default:
		}
	}
}

// cell runs a cell and checks it.
func (p *process) cell(ctx context.Context, c cell) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, cellTimeout)
	defer cancel()
	took, err := p.run(ctx, c)
	if err != nil {
		return 0, fmt.Errorf("kernel %s, cell\n%s\n: %w\nlog of the kernel:\n%s", p.name, c.code, err, p.log)
	}
	return took.Seconds(), nil
}

// stop ends the kernel and all it started.
func (p *process) stop() {
	if p.client != nil {
		if _, _, err := p.send(p.control, "shutdown_request", map[string]any{"restart": false}); err == nil {
			select {
			case <-p.done:
			case <-time.After(stopTimeout):
			}
		}
		p.client.close()
	}
	p.cancel()
	// Whatever is left in its process group, gopls for example.
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		_ = p.cmd.Process.Kill()
	}
	<-p.done
}

// freeConnection makes a connection file with ports that are free now.
func freeConnection() (jupyter.Connection, error) {
	c := jupyter.Connection{Transport: "tcp", IP: "127.0.0.1", Key: rand.Text(), SignatureScheme: "hmac-sha256"}
	for _, port := range []*int{&c.ShellPort, &c.ControlPort, &c.IOPubPort, &c.StdinPort, &c.HBPort} {
		l, err := net.Listen("tcp", c.IP+":0")
		if err != nil {
			return c, fmt.Errorf("looking for a free port: %w", err)
		}
		defer l.Close() // all are held until the last is found
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return c, nil
}

// tail keeps the end of what a kernel logs, for error messages.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text); n > 4<<10 {
		t.text = append([]byte(nil), t.text[n-4<<10:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
