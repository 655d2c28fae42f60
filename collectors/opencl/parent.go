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

// ask runs one request in a process of its own and hands its messages to got,
// in order. What the child does wrong is a *crash; the error is what keeps a
// child from running at all, or the end of ctx.
func ask(ctx context.Context, req request, limit time.Duration, stdout, stderr io.Writer, got func(message) error) (*crash, error) {
	if os.Getenv(childMark) != "" {
		return nil, errors.New("this program was started to run OpenCL kernels and collects itself: call opencl.ServeIfAsked at the beginning of its main")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to run OpenCL in a process of its own: %w", err)
	}
	input, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	answers, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer answers.Close()
	var last tail
	cmd := exec.Command(self, childCommand)
	cmd.Env = append(os.Environ(), childMark+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, io.MultiWriter(stderr, &last)
	cmd.ExtraFiles = []*os.File{pipe}
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // Pdeathsig is about the thread
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	pipe.Close()
	if err != nil {
		return nil, fmt.Errorf("starting a process for OpenCL: %w", err)
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // gone already is what we want

	messages := make(chan message)
	var malformed error
	go func() {
		defer close(messages)
		d := json.NewDecoder(answers)
		for {
			var m message
			if err := d.Decode(&m); err != nil {
				if !errors.Is(err, io.EOF) {
					malformed = err
				}
				return
			}
			messages <- m
		}
	}()
	c := &crash{launch: -1}
	var fault error
	hello, done, late := false, false, false
	stopped := ctx.Done()
	timer := time.NewTimer(min(limit, mostStart))
	defer timer.Stop()
	for open := true; open; {
		select {
		case m, ok := <-messages:
			switch {
			case !ok:
				open = false
			case fault != nil || late:
			case m.Done:
				done = true
			case !hello && m.Hello != protocol:
				fault = fmt.Errorf("%s does not answer as rooflab does: a program that collects with OpenCL calls opencl.ServeIfAsked at the beginning of its main", self)
				kill()
			case m.Hello != 0:
				hello = true
			default:
				if m.Begin != nil {
					c.launch = *m.Begin
				}
				if fault = got(m); fault != nil {
					kill()
				}
			}
			timer.Reset(limit)
		case <-timer.C:
			late = true
			kill()
		case <-stopped:
			fault, stopped = ctx.Err(), nil
			kill()
		}
	}
	err = cmd.Wait()
	kill() // what it left behind
	switch {
	case fault != nil:
		return nil, fault
	case done:
		return nil, nil
	case late && hello:
		c.how = fmt.Sprintf("it was stopped after %v without a sign of life (--timeout)", limit)
	case !hello:
		return nil, fmt.Errorf("%s did not answer as rooflab does (%s): a program that collects with OpenCL calls opencl.ServeIfAsked at the beginning of its main", self, cmd.ProcessState)
	case err == nil && malformed == nil:
		return nil, nil // a build that failed ends so
	default:
		c.how = fmt.Sprintf("the process that ran it ended with %v", err)
		if malformed != nil && err == nil {
			c.how = fmt.Sprintf("the process that ran it answered with what is no JSON (%v)", malformed)
		}
		if text := last.String(); text != "" {
			c.how += ": " + text
		}
	}
	return c, nil
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
