package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/rooflab/rooflab/kernel/display/rich"
	"github.com/rooflab/rooflab/kernel/host"
	"github.com/rooflab/rooflab/kernel/session"
	"github.com/rooflab/rooflab/kernel/toolchain"
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
	os.Exit(prepared(m.Run))
}

// prepared runs the tests with the linker that an installed rooflab uses.
func prepared(run func() int) int {
	dir, err := os.MkdirTemp("", "rooflab-session-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	t, err := toolchain.New(dir, nil)
	if err == nil {
		err = t.Prepare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

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

// ctx is that of the running cell, also where an earlier cell was interrupted,
// and in functions that an earlier cell declared.
func TestEachCellHasItsOwnContext(t *testing.T) {
	n := start(t)
	n.run(`func state() error { return ctx.Err() }
func wait() { <-ctx.Done() }`)
	for _, src := range []string{`<-ctx.Done(); for { }`, `wait(); for { }`} {
		if r := n.interrupt(src); r.Error == nil || r.Error.Name != "Interrupted" {
			t.Fatalf("%q: %v", src, r.Error)
		}
		n.want(`ctx.Err() == nil`, "true")
		n.want(`state() == nil`, "true")
	}
	// Whoever declares the name has it.
	n.run(`ctx := 7`)
	n.want(`ctx`, "7")
	n.want(`ctx + 1`, "8")
}

// Loops look at one flag, whichever cell they belong to; what else an interrupt
// stops is at least said.
func TestAnInterruptThatStopsEarlierGoroutinesSaysSo(t *testing.T) {
	n := start(t)
	said := make(chan string, 100)
	hear := func(ev session.Event) {
		if s, ok := ev.(session.Stream); ok && s.Name == "stderr" {
			said <- s.Text
		}
	}
	n.Background(hear)
	n.run("for range 3 { go func() { for { } }() }")
	done := make(chan session.Reply)
	go func() {
		var once sync.Once
		done <- n.Execute(session.Request{Source: `fmt.Println("started"); for { }`}, func(ev session.Event) {
			once.Do(n.Interrupt)
			hear(ev)
		})
	}()
	if r := <-done; r.Error == nil || r.Error.Name != "Interrupted" {
		t.Errorf("got %v", r.Error)
	}
	select {
	case text := <-said:
		if !strings.Contains(text, "has also stopped goroutines") {
			t.Errorf("said %q", text)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing is said of the goroutines")
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

func TestASecondInterruptOfAShellCommandLosesNothing(t *testing.T) {
	n := start(t)
	n.run("precious := 42")
	started := make(chan bool)
	done := make(chan session.Reply)
	go func() {
		var once sync.Once
		done <- n.Execute(session.Request{Source: "!trap '' INT; echo started; sleep 3600"}, func(session.Event) {
			once.Do(func() { close(started) })
		})
	}()
	<-started
	n.Interrupt()
	n.Interrupt()
	if r := <-done; r.Error == nil || r.Error.Name != "Interrupted" {
		t.Errorf("got %v", r.Error)
	}
	n.want("precious", "42")
}

func TestHostDeathIsReportedAndTheNextCellRuns(t *testing.T) {
	n := start(t)
	n.run("a := 1; b := 2")
	o := n.exec(`fmt.Println("last words"); syscall.Kill(os.Getpid(), syscall.SIGSEGV); time.Sleep(time.Minute)`)
	if o.reply.Error == nil || o.reply.Error.Name != "HostLost" || !strings.Contains(o.reply.Error.Value, "SIGSEGV: segmentation violation") || !strings.HasSuffix(o.reply.Error.Value, "lost: a, b") {
		t.Fatalf("got %+v", o.reply.Error)
	}
	if !strings.Contains(o.stdout, "last words") {
		t.Errorf("what the host printed before its end is missing: %q", o.stdout)
	}
	n.want("3*3", "9")
}

type (
	sessionEvent = session.Event
	inputRequest = session.InputRequest
	resultEvent  = session.Result
)

func sessionRequest(src string, exprs map[string]string) session.Request {
	return session.Request{Source: src, StoreHistory: true, UserExpressions: exprs}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s, err := session.Start(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	n := &notebook{t, s}
	n.run("x := 1\nimport \"github.com/janpfeifer/gonb/gonbui\"\ngonbui.DisplayHtml(\"a\")\n!sleep 1000 &\n")
	pid := n.run("os.Getpid()")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + pid); err == nil {
		t.Errorf("the host %s still runs", pid)
	}
	left, err := os.ReadDir(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "rooflab", "sessions"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestThreeHundredCells is the long session of a working day: cells that use
// fmt, gota and GoMLX in turn, each edited. The first values are still right at
// the end and the host's memory stays bounded.
func TestThreeHundredCells(t *testing.T) {
	n := start(t)
	n.run("first := map[string]int{\"a\": 1}\nframe := dataframe.New(series.New([]int{1, 2, 3}, series.Int, \"n\"))")
	n.run("import (\n\t\"github.com/gomlx/gomlx/core/graph\"\n\t\"github.com/gomlx/gomlx/core/tensors\"\n\t_ \"github.com/gomlx/compute/gobackend\"\n\t\"github.com/gomlx/compute\"\n)\nbackend := compute.MustNew()\ntotal := 0.0")
	for i := range 100 {
		n.want(fmt.Sprintf("first[\"a\"] += %d\nfmt.Sprint(\"edit \", %d)", i%2, i), fmt.Sprint("edit ", i))
		n.want(fmt.Sprintf("frame = frame.Mutate(series.New([]int{%d, 2, 3}, series.Int, \"m\"))\nframe.Elem(0, 1).String()", i), fmt.Sprint(i))
		n.want(fmt.Sprintf("y := graph.MustExecOnce(backend, func(x *graph.Node) *graph.Node { return graph.AddScalar(x, %d) }, tensors.FromValue(float32(1)))\ntotal += float64(tensors.ToScalar[float32](y))\ny.Shape().Rank()", i), "0")
	}
	n.want("first[\"a\"]", "51")
	n.want("frame.Ncol(), frame.Nrow()"[:12], "2")
	n.want("total", "5050") // sum of 1+i for i in 0..99
	rss := n.run("b, _ := os.ReadFile(\"/proc/self/status\")\nfunc() string { for _, l := range strings.Split(string(b), \"\\n\") { if strings.HasPrefix(l, \"VmRSS:\") { return strings.Fields(l)[1] } }; return \"\" }()")
	var kb int
	if _, err := fmt.Sscan(rss, &kb); err != nil || kb > 3<<20 {
		t.Errorf("resident memory of the host after 300 cells: %s kB (%v), want under 3 GB", rss, err)
	}
	t.Logf("resident memory of the host after 300 cells: %s kB", rss)
}
