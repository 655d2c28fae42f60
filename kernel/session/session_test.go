package session_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/rooflab/rooflab/kernel/display/rich"
	"github.com/rooflab/rooflab/kernel/host"
	"github.com/rooflab/rooflab/kernel/session"
)

// TestMain lets the test binary be the session host that its sessions start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "host" {
		if err := host.Main(os.NewFile(3, "commands"), os.NewFile(4, "events")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var _ = exec.Command
var _ = filepath.Join

// notebook is a session that remembers what its cells sent.
type notebook struct {
	t *testing.T
	session.Session
}

func start(t *testing.T) *notebook {
	t.Helper()
	s, err := session.Start(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &notebook{t, s}
}

// outcome is what one cell did.
type outcome struct {
	stdout, stderr, result string
	displays               []session.Display
	reply                  session.Reply
}

func (n *notebook) exec(src string) outcome {
	n.t.Helper()
	var o outcome
	o.reply = n.Execute(session.Request{Source: src, StoreHistory: true}, func(ev session.Event) {
		switch ev := ev.(type) {
		case session.Stream:
			if ev.Name == "stdout" {
				o.stdout += ev.Text
			} else {
				o.stderr += ev.Text
			}
		case session.Result:
			o.result = fmt.Sprint(ev.Bundle.Data["text/plain"])
		case session.Display:
			o.displays = append(o.displays, ev)
		}
	})
	return o
}

// run executes a cell that must succeed and returns its result text.
func (n *notebook) run(src string) string {
	n.t.Helper()
	o := n.exec(src)
	if o.reply.Status != "ok" {
		n.t.Fatalf("cell %q failed: %v\n%s", src, o.reply.Error, strings.Join(o.reply.Error.Traceback, "\n"))
	}
	return o.result
}

func (n *notebook) want(src, result string) {
	n.t.Helper()
	if got := n.run(src); got != result {
		n.t.Errorf("cell %q shows %q, want %q", src, got, result)
	}
}

// fail executes a cell that must fail with the named kind and returns the
// traceback.
func (n *notebook) fail(src, name string) string {
	n.t.Helper()
	o := n.exec(src)
	if o.reply.Status != "error" || o.reply.Error == nil || o.reply.Error.Name != name {
		n.t.Fatalf("cell %q: status %s, error %v, want %s", src, o.reply.Status, o.reply.Error, name)
	}
	return strings.Join(o.reply.Error.Traceback, "\n")
}

// interrupt runs a cell that announces itself and interrupts it then.
func (n *notebook) interrupt(src string) session.Reply {
	n.t.Helper()
	started := make(chan bool)
	done := make(chan session.Reply)
	go func() {
		once := false
		done <- n.Execute(session.Request{Source: `fmt.Println("started"); ` + src, StoreHistory: true}, func(ev session.Event) {
			if s, ok := ev.(session.Stream); ok && strings.Contains(s.Text, "started") && !once {
				once = true
				close(started)
			}
		})
	}()
	<-started
	n.Interrupt()
	select {
	case r := <-done:
		return r
	case <-time.After(20 * time.Second):
		n.t.Fatalf("interrupted cell %q did not end", src)
	}
	return session.Reply{}
}

func TestInterruptKeepsState(t *testing.T) {
	n := start(t)
	n.run(`precious := 42; ch := make(chan int); var wg sync.WaitGroup; wg.Add(1)
func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }`)
	for _, src := range []string{
		`for { }`,
		`for i := 0; ; i++ { _ = i * i }`,
		`time.Sleep(time.Hour)`,
		`<-ch`,
		`ch <- 1`,
		`select { case <-ch: }`,
		`select {}`,
		`for range ch { }`,
		`wg.Wait()`,
		`fib(60)`,
		`v, ok := <-ch; _, _ = v, ok`,
		`<-ctx.Done(); for { }`,
		"func() { go func() { for { } }(); <-ch }()",
	} {
		r := n.interrupt(src)
		if r.Error == nil || r.Error.Name != "Interrupted" {
			t.Errorf("%q: %v", src, r.Error)
		}
		n.want("precious", "42")
	}
}

func TestSecondInterruptKillsTheHostAndSaysWhatWasLost(t *testing.T) {
	n := start(t)
	n.run(`precious := 42; var mu sync.Mutex; mu.Lock()`)
	started := make(chan bool)
	done := make(chan session.Reply)
	go func() {
		once := false
		done <- n.Execute(session.Request{Source: `fmt.Println("started"); mu.Lock()`, StoreHistory: true}, func(ev session.Event) {
			if _, ok := ev.(session.Stream); ok && !once {
				once = true
				close(started)
			}
		})
	}()
	<-started
	n.Interrupt()
	n.Interrupt()
	r := <-done
	if r.Error == nil || r.Error.Name != "HostLost" || !strings.Contains(r.Error.Value, "precious") {
		t.Fatalf("got %v", r.Error)
	}
	n.want(`1 + 1`, "2")
	n.fail("precious", "CompileError")
}

func TestHostDeathIsReportedAndTheNextCellRuns(t *testing.T) {
	n := start(t)
	n.run("a := 1; b := 2")
	o := n.exec(`fmt.Println("last words"); syscall.Kill(os.Getpid(), syscall.SIGSEGV); time.Sleep(time.Minute)`)
	if o.reply.Error == nil || o.reply.Error.Name != "HostLost" || !strings.Contains(o.reply.Error.Value, "lost: a, b") {
		t.Fatalf("got %+v", o.reply.Error)
	}
	if !strings.Contains(o.stdout, "last words") {
		t.Errorf("what the host printed before its end is missing: %q", o.stdout)
	}
	n.want("3*3", "9")
}
