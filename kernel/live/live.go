// Package live is the runtime that generated cell code calls: it hands the
// cell's function to the session host, notices interrupts in loops and
// blocking operations, and keeps a panic of one goroutine from ending the
// session.
//
// It is linked into every cell, so it imports next to nothing.
package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Stop is non-zero while an interrupt is pending. Generated code polls it in
// loops and calls.
var Stop atomic.Int32

// Outs is the type of Out.
type Outs = map[int]any

// Ctx is the type of the predeclared variable ctx.
type Ctx = context.Context

// Out holds the values of trailing expressions by execution count.
var Out = Outs{}

// stopped is what an interrupted cell panics with.
type stopped struct{}

func (stopped) Error() string { return "interrupted" }

// exited is what os.Exit in a cell panics with.
type exited struct{ code int }

func (exited) Error() string { return "exit" }

// Cell is one run of a cell: its goroutines, its outcome.
type Cell struct {
	ctx     context.Context
	cancel  context.CancelFunc
	live    atomic.Int32 // goroutines that this run started and that still run
	mu      sync.Mutex
	failure *Failure
	result  []any
	has     bool
}

// Failure is how a cell failed.
type Failure struct {
	Kind  string // "panic", "exit", "interrupted", "error"
	Value any    // the panic's value, or the error
	Code  int    // exit status
	Stack []byte // the stack of the goroutine that failed
	Other bool   // it was a goroutine that the cell started
}

var (
	current   atomic.Pointer[Cell]
	functions sync.Map // cell id -> func()
	idle      = newCell()

	// Stack captures the panicking goroutine's stack; the host sets it, which
	// keeps runtime/debug out of every cell.
	Stack = func() []byte { return nil }
	// Late is told about panics of goroutines whose cell has ended, and once for
	// each interrupt if that stopped any of them.
	Late = func(*Failure) {}
	told atomic.Bool // of this interrupt
)

func newCell() *Cell {
	c := &Cell{}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Register hands over the function of a cell that was just loaded.
func Register(id int, run func()) { functions.Store(id, run) }

// Lookup returns the function that cell id registered.
func Lookup(id int) (func(), bool) {
	f, ok := functions.Load(id)
	if !ok {
		return nil, false
	}
	return f.(func()), true
}

// now returns the running cell.
func now() *Cell {
	if c := current.Load(); c != nil {
		return c
	}
	return idle
}

// Interrupted ends the calling goroutine's work because the user interrupted
// the cell.
func Interrupted() { panic(stopped{}) }

// Check is Stop and Interrupted in one call, for code of ours that loops.
func Check() {
	if Stop.Load() != 0 {
		Interrupted()
	}
}

// Context is cancelled when the running cell is interrupted.
func Context() context.Context { return now().ctx }

// Done is closed when the running cell is interrupted.
func Done() <-chan struct{} { return now().ctx.Done() }

// Exit stands in for os.Exit: it ends the cell, not the session.
func Exit(code int) { panic(exited{code}) }

// Log is where Fatal and its kin write; the host sets it to log.Output.
var Log = func(string) {}

// Recall brings the flags of earlier cells back; the host sets it.
var Recall = func() {}

// Flags returns v, a function or variable of package flag, after Recall.
func Flags[T any](v T) T {
	Recall()
	return v
}

// Print formats as fmt.Sprint, Sprintf and Sprintln do; the host sets them.
var (
	Sprint   func(...any) string
	Sprintf  func(string, ...any) string
	Sprintln func(...any) string
)

// Fatal stands in for log.Fatal.
func Fatal(v ...any) { Log(Sprint(v...)); Exit(1) }

// Fatalf stands in for log.Fatalf.
func Fatalf(format string, v ...any) { Log(Sprintf(format, v...)); Exit(1) }

// Fatalln stands in for log.Fatalln.
func Fatalln(v ...any) { Log(Sprintln(v...)); Exit(1) }

// Result records the values of the cell's trailing expression.
func Result(values ...any) {
	c := now()
	c.mu.Lock()
	c.result, c.has = values, true
	c.mu.Unlock()
}

// ResultOrError is Result for a call whose last value is an error: a nil error
// is not shown, any other fails the cell.
func ResultOrError(values ...any) {
	if values = withoutError(values); len(values) > 0 {
		Result(values...)
	}
}

// DiscardOrError is ResultOrError for an expression that ends in a semicolon:
// that hides the values, but no error.
func DiscardOrError(values ...any) { withoutError(values) }

// withoutError returns the values but the last, which is an error, or none
// after it has failed the cell.
func withoutError(values []any) []any {
	n := len(values) - 1
	if values[n] == nil {
		return values[:n]
	}
	c := now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		kind := "error"
		if Stop.Load() != 0 { // it says that it was interrupted, in its own words
			kind = "interrupted"
		}
		c.failure = &Failure{Kind: kind, Value: values[n]}
		c.result = values[:n] // perhaps they tell why, as a program's output does
	}
	return nil
}

// Discard takes the value of a trailing expression that ends in a semicolon.
func Discard(...any) {}

// Recv is an interruptible <-ch.
func Recv[T any](ch <-chan T) T {
	v, _ := Recv2(ch)
	return v
}

// Recv2 is an interruptible v, ok := <-ch.
func Recv2[T any](ch <-chan T) (T, bool) {
	select {
	case v, ok := <-ch:
		return v, ok
	default:
	}
	select {
	case v, ok := <-ch:
		return v, ok
	case <-Done():
		panic(stopped{})
	}
}

// Chan is an interruptible range over ch.
func Chan[T any](ch <-chan T) func(func(T) bool) {
	return func(yield func(T) bool) {
		for {
			v, ok := Recv2(ch)
			if !ok || !yield(v) {
				return
			}
		}
	}
}

// Sleep is an interruptible time.Sleep.
func Sleep(d time.Duration) {
	if d <= 0 {
		Check()
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-Done():
		panic(stopped{})
	}
}

// Wait is an interruptible call of a method that blocks, such as
// sync.WaitGroup.Wait. What it waits for goes on after an interrupt.
func Wait(wait func()) {
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	select {
	case <-done:
	case <-Done():
		panic(stopped{})
	}
}

// Spawn announces a goroutine of the running cell. Its Guard must be deferred
// in that goroutine.
func Spawn() *Cell {
	c := now()
	c.live.Add(1)
	return c
}

// Guard ends a goroutine of a cell: a panic in it becomes that cell's failure.
func (c *Cell) Guard() {
	defer c.live.Add(-1)
	v := recover()
	if v == nil {
		return
	}
	f := failure(v)
	f.Other = true
	if f.Kind == "interrupted" && (current.Load() == c || c.ctx.Err() != nil || told.Swap(true)) {
		return // of the cell that was interrupted, or told already
	}
	if current.Load() != c {
		Late(f)
		return
	}
	// As in a Go program, the others do not go on as if nothing had happened;
	// they might wait for this one for ever.
	c.fail(f)
}

// GuardTest ends a test or benchmark of a cell, or a part of one: a panic in it
// fails it and the cell, and the tests behind it do not run. failNow is the
// test's own; it is no method of an interface, since a linker that saw no cell
// may have left that out.
func GuardTest(failNow func()) {
	v := recover()
	if v == nil {
		return
	}
	now().fail(failure(v))
	failNow()
}

// Cleaned makes of a test's clean-up one whose panic fails the cell.
func Cleaned(cleanup func()) func() {
	return func() {
		defer func() {
			if v := recover(); v != nil {
				now().fail(failure(v))
			}
		}()
		cleanup()
	}
}

// fail notes how the running cell failed, unless that is known, and stops it.
func (c *Cell) fail(f *Failure) {
	c.mu.Lock()
	if c.failure == nil {
		c.failure = f
	}
	c.mu.Unlock()
	Stop.Store(1)
	c.cancel()
}

func failure(v any) *Failure {
	switch v := v.(type) {
	case stopped:
		return &Failure{Kind: "interrupted"}
	case exited:
		return &Failure{Kind: "exit", Code: v.code}
	}
	return &Failure{Kind: "panic", Value: v, Stack: Stack()}
}

// Run runs one cell's function on the calling goroutine and reports its
// trailing values, those beside an error included, and its failure. has says
// that the values are the cell's result. It does not return if the cell calls
// runtime.Goexit.
func Run(f func()) (result []any, has bool, fail *Failure) {
	c := newCell()
	Stop.Store(0)
	current.Store(c)
	func() {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			fl := failure(v)
			c.mu.Lock()
			// A goroutine's failure stopped the cell: that one is the cause.
			if c.failure == nil {
				c.failure = fl
			}
			c.mu.Unlock()
		}()
		f()
	}()
	// Goroutines that the cell started a moment ago get the chance to fail in
	// it rather than behind its back.
	for deadline := time.Now().Add(grace); c.live.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(200 * time.Microsecond)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	current.CompareAndSwap(c, nil)
	return c.result, c.has, c.failure
}

// grace is how long a finished cell waits for goroutines that it started.
const grace = 20 * time.Millisecond

// Interrupt asks the running cell to stop.
func Interrupt() {
	told.Store(false)
	if c := current.Load(); c != nil {
		c.cancel()
	}
	Stop.Store(1)
}
