package opencl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// mostStart is how long a child may take until it says hello: one that is no
// rooflab never does.
const mostStart = 30 * time.Second

// crash is how a child ended that did not finish.
type crash struct {
	launch int // the launch that was under way, -1 where there was none
	how    string
}

// child is a process that runs requests, one after the other.
type child struct {
	self      string
	cmd       *exec.Cmd
	input     io.WriteCloser
	answers   *os.File
	messages  chan message
	malformed error // set when messages is closed
	last      tail
	hello     bool
	served    int
}

// start starts a process. The caller's goroutine is bound to its thread until
// end: the process dies with the thread.
func start(stdout, stderr io.Writer) (*child, error) {
	if os.Getenv(childMark) != "" {
		return nil, errors.New("this program was started to run OpenCL kernels and collects itself: call opencl.ServeIfAsked at the beginning of its main")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to run OpenCL in a process of its own: %w", err)
	}
	answers, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &child{self: self, cmd: exec.Command(self, childCommand), answers: answers, messages: make(chan message)}
	c.cmd.Env = append(os.Environ(), childMark+"=1")
	c.cmd.Stdout, c.cmd.Stderr = stdout, io.MultiWriter(stderr, &c.last)
	c.cmd.ExtraFiles = []*os.File{pipe}
	c.cmd.WaitDelay = time.Second
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		answers.Close()
		pipe.Close()
		return nil, err
	}
	runtime.LockOSThread() // Pdeathsig is about the thread
	err = c.cmd.Start()
	pipe.Close()
	if err != nil {
		answers.Close()
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("starting a process for OpenCL: %w", err)
	}
	go func() {
		defer close(c.messages)
		d := json.NewDecoder(answers)
		for {
			var m message
			if err := d.Decode(&m); err != nil {
				if !errors.Is(err, io.EOF) {
					c.malformed = err
				}
				return
			}
			c.messages <- m
		}
	}()
	return c, nil
}

func (c *child) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) } // gone already is what we want

// end ends the process, if it has not ended, and waits for it.
func (c *child) end() error {
	c.input.Close()
	go func() {
		for range c.messages { // nobody listens any more
		}
	}()
	err := c.cmd.Wait()
	c.kill() // what it left behind
	c.answers.Close()
	runtime.UnlockOSThread()
	return err
}

// ask hands a request to the process and its messages to got, in order. What
// the process does wrong is a *crash; the error is what keeps it from running
// at all, or the end of ctx. After either the process has ended: alive says
// that it waits for another request.
func (c *child) ask(ctx context.Context, req request, limit time.Duration, got func(message) error) (alive bool, _ *crash, _ error) {
	input, err := json.Marshal(req)
	if err != nil {
		return false, nil, errors.Join(err, c.end())
	}
	go func() { _, _ = c.input.Write(append(input, '\n')) }() // a process that does not read ends, or is ended
	result := &crash{launch: -1}
	var fault error
	done, late := false, false
	stopped := ctx.Done()
	timer := time.NewTimer(limit)
	if !c.hello {
		timer.Reset(min(limit, mostStart))
	}
	defer timer.Stop()
	for open := true; open; {
		select {
		case m, ok := <-c.messages:
			switch {
			case !ok:
				open = false
			case fault != nil || late:
			case m.Done:
				done, open = true, false
			case !c.hello && m.Hello != protocol:
				fault = fmt.Errorf("%s does not answer as rooflab does: a program that collects with OpenCL calls opencl.ServeIfAsked at the beginning of its main", c.self)
				c.kill()
			case m.Hello != 0:
				c.hello = true
			default:
				if m.Begin != nil {
					result.launch = *m.Begin
				}
				if fault = got(m); fault != nil {
					c.kill()
				}
			}
			timer.Reset(limit)
		case <-timer.C:
			late = true
			c.kill()
		case <-stopped:
			fault, stopped = ctx.Err(), nil
			c.kill()
		}
	}
	if done && fault == nil {
		c.served++
		return true, nil, nil
	}
	err = c.end()
	switch {
	case fault != nil:
		return false, nil, fault
	case late && c.hello:
		result.how = fmt.Sprintf("it was stopped after %v without a sign of life (--timeout)", limit)
	case !c.hello:
		return false, nil, fmt.Errorf("%s did not answer as rooflab does (%s): a program that collects with OpenCL calls opencl.ServeIfAsked at the beginning of its main", c.self, c.cmd.ProcessState)
	case err == nil && c.malformed == nil:
		result.how = "the process that ran it ended before its work was done"
	default:
		result.how = fmt.Sprintf("the process that ran it ended with %v", err)
		if c.malformed != nil && err == nil {
			result.how = fmt.Sprintf("the process that ran it answered with what is no JSON (%v)", c.malformed)
		}
		if text := c.last.String(); text != "" {
			result.how += ": " + text
		}
	}
	return false, result, nil
}

// tail keeps the end of what is written.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 1000
	t.b = append(t.b, p...)
	if len(t.b) > most {
		t.b = t.b[len(t.b)-most:]
	}
	return len(p), nil
}

func (t *tail) String() string { return string(bytes.TrimSpace(bytes.ToValidUTF8(t.b, nil))) }
