package machine

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rounds is how often a probe is timed. The fastest counts: whatever else runs
// on a machine makes code slower, never faster. Many short rounds find a moment
// in which nothing else ran, where long ones do not.
const rounds = 60

// timing is a probe's rounds: how long each took, all threads together.
type timing struct {
	times []time.Duration
	calls float64 // of the kernel in each round, in each thread
}

func (t timing) best() time.Duration {
	best := t.times[0]
	for _, d := range t.times {
		best = min(best, d)
	}
	return best
}

// worker is one thread of a probe: what it calls, n times in one go.
type worker struct {
	cpu     int
	prepare func() (call func(n int), release func(), err error)
}

// measure times what the workers call, each in a thread that keeps to its
// processor, all at once. A round takes about least.
func measure(ctx context.Context, workers []worker, least time.Duration) (timing, error) {
	var t timing
	type order struct {
		n     int
		begin chan struct{}
	}
	type span struct{ start, end time.Time }
	orders, spans, ready := make([]chan order, len(workers)), make([]chan span, len(workers)), make(chan error, len(workers))
	var wg sync.WaitGroup
	for i, w := range workers {
		orders[i], spans[i] = make(chan order), make(chan span, 1)
		wg.Go(func() {
			// The thread ends with the goroutine, so that nobody else gets one
			// that is bound to a processor.
			runtime.LockOSThread()
			var set unix.CPUSet
			set.Set(w.cpu)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				ready <- fmt.Errorf("binding a thread to processor %d: %w", w.cpu, err)
				return
			}
			call, release, err := w.prepare()
			if err != nil {
				ready <- err
				return
			}
			defer release()
			call(1)
			ready <- nil
			for o := range orders[i] {
				<-o.begin
				start := time.Now()
				call(o.n)
				spans[i] <- span{start, time.Now()}
			}
		})
	}
	var err error
	for range workers {
		if e := <-ready; err == nil {
			err = e
		}
	}
	defer wg.Wait()
	defer func() {
		for _, o := range orders {
			close(o)
		}
	}()
	if err != nil {
		return t, err
	}
	round := func(n int) time.Duration {
		begin := make(chan struct{})
		for _, o := range orders {
			o <- order{n, begin}
		}
		close(begin)
		all := <-spans[0]
		for _, s := range spans[1:] {
			one := <-s
			if one.start.Before(all.start) {
				all.start = one.start
			}
			if one.end.After(all.end) {
				all.end = one.end
			}
		}
		return all.end.Sub(all.start)
	}
	n := 1
	for n < 1<<40 {
		took := max(round(n), 1)
		if took >= least*3/4 {
			break
		}
		n = max(n+1, int(float64(n)*min(100, 1.1*float64(least)/float64(took))))
		if err := ctx.Err(); err != nil {
			return t, err
		}
	}
	t.calls = float64(n)
	for range rounds {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		t.times = append(t.times, round(n))
	}
	return t, nil
}

// sinks keep results alive, so that no compiler leaves a probe out.
var sinks sync.Map

// compute is a worker that runs a kernel in registers; one call is n rounds.
func compute(cpu int, kernel func(n int) float64) worker {
	return worker{cpu, func() (func(int), func(), error) {
		return func(n int) { sinks.Store(cpu, kernel(1000*n)) }, func() {}, nil
	}}
}

// chunk is how many numbers of each array a triad takes in one go at most, so
// that a round over large arrays is not longer than others.
const chunk = 1 << 14

// stream is a worker that runs a triad over arrays of its own of n numbers
// each, part by part and from the beginning again: what a cache keeps of large
// arrays is gone when their turn comes. One call is n rounds of part numbers.
func stream(cpu, n, part int, kernel func(a, b, c []float64)) worker {
	return worker{cpu, func() (func(int), func(), error) {
		a, b, c, release, err := arrays(n)
		if err != nil {
			return nil, nil, err
		}
		at := 0
		return func(times int) {
			for range times {
				kernel(a[at:at+part], b[at:at+part], c[at:at+part])
				if at += part; at+part > n {
					at = 0
				}
			}
		}, release, nil
	}}
}

// hugePage is what the kernel may use where an array is that large: with small
// pages a stream from memory waits for page tables.
const hugePage = 2 << 20

// arrays maps three arrays of n numbers, written by the calling thread, so
// that they lie in its memory. They begin in different sets of the caches.
func arrays(n int) (a, b, c []float64, release func(), err error) {
	const apart = 5 * 64 / 8 // five lines, and less than a page
	each := n + apart
	bytes := 3*each*8 + hugePage
	m, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, nil, nil, fmt.Errorf("mapping %d bytes for arrays: %w", bytes, err)
	}
	_ = unix.Madvise(m, unix.MADV_HUGEPAGE) // a kernel without them has small pages
	skip := (hugePage - int(uintptr(unsafe.Pointer(&m[0])))%hugePage) % hugePage
	all := unsafe.Slice((*float64)(unsafe.Pointer(&m[skip])), 3*each)
	for i := range all {
		all[i] = 1
	}
	a, b, c = all[:n:n], all[each:each+n:each+n], all[2*each:2*each+n:2*each+n]
	return a, b, c, func() { _ = unix.Munmap(m) }, nil
}

// clock measures how fast a processor ticks while it computes, in Hz: a chain
// of operations of one cycle each.
func clock(ctx context.Context, cpu int, least time.Duration) (float64, error) {
	t, err := measure(ctx, []worker{compute(cpu, chain)}, least)
	if err != nil {
		return 0, err
	}
	return math.Round(t.calls * 1000 * chainCycles / t.best().Seconds()), nil
}
