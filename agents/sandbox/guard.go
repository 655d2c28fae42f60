package sandbox

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// mostPause is the longest time between two looks at the processes: memory
// grows by some hundred megabytes in it at most.
const mostPause = 100 * time.Millisecond

// guard ends all processes of a sandbox when together they go over a limit that
// the kernel does not hold for them.
type guard struct {
	limits Limits
	enough <-chan struct{}
	done   chan struct{}
	gone   sync.WaitGroup
	// Written by watch, and read once it has stopped.
	end   End
	why   string
	guess bool
	most  sight
}

func newGuard(l Limits, enough <-chan struct{}) *guard {
	g := &guard{limits: l, enough: enough, done: make(chan struct{})}
	g.gone.Add(1)
	return g
}

func (g *guard) stop() {
	close(g.done)
	g.gone.Wait()
}

// watch looks often at first, when little has happened yet, and then seldom.
func (g *guard) watch(start time.Time) {
	defer g.gone.Done()
	late := time.NewTimer(g.limits.Wall - time.Since(start))
	defer late.Stop()
	pause := time.Millisecond
	next := time.NewTimer(pause)
	defer next.Stop()
	for g.end == "" {
		select {
		case <-g.done:
			return
		case <-late.C:
			g.end, g.why = TimedOut, fmt.Sprintf("it still ran after %v", g.limits.Wall)
		case <-g.enough:
			g.end, g.why = OutputLimit, fmt.Sprintf("it printed more than %d bytes", g.limits.Output)
		case <-next.C:
			s := look()
			g.most.raise(s)
			switch {
			case s.memory > g.limits.Memory:
				g.end, g.why = MemoryLimit, fmt.Sprintf("its processes had %d bytes resident, of %d allowed", s.memory, g.limits.Memory)
			case short():
				g.end, g.guess = MemoryLimit, true
				g.why = "the machine has hardly any memory left, and this may be why: memory that belongs to no process (memfd_create, shmget, buffers of sockets) is not counted"
			case s.tasks > g.limits.Processes:
				g.end, g.why = ProcessLimit, fmt.Sprintf("there were %d processes and threads of %d allowed", s.tasks, g.limits.Processes)
			}
			pause = min(2*pause, mostPause)
			next.Reset(pause)
		}
	}
	// Whoever forks meanwhile is among the others at the next turn, and the first
	// process cannot be forked away: when it is gone, stop is called.
	for {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		select {
		case <-g.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// leastMemory is the part of the machine's memory that has to stay available.
const leastMemory = 1.0 / 32

// short reports whether less is available; not where that is unknown.
func short() bool {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return false
	}
	kib := func(name string) float64 {
		_, rest, ok := bytes.Cut(data, []byte("\n"+name+":"))
		if fields := bytes.Fields(rest); ok && len(fields) > 0 {
			if v, err := strconv.ParseFloat(string(fields[0]), 64); err == nil {
				return v
			}
		}
		return math.Inf(1)
	}
	data = append([]byte("\n"), data...)
	return kib("MemAvailable") < leastMemory*kib("MemTotal") && !math.IsInf(kib("MemTotal"), 1)
}

// sight is what a look at the processes of this namespace sees, the stage left
// out.
type sight struct {
	processes int
	tasks     int   // threads count
	memory    int64 // resident bytes of all
	largest   int64 // resident bytes of one
}

func (s *sight) raise(o sight) {
	s.tasks, s.memory, s.largest = max(s.tasks, o.tasks), max(s.memory, o.memory), max(s.largest, o.largest)
}

func look() sight {
	var s sight
	dir, err := os.Open("/proc")
	if err != nil {
		return s
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // some are better than none: processes come and go
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		data, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // gone
		}
		// pid (name) state ...: a name may hold anything, a parenthesis too.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(fields) < 22 || string(fields[0]) == "Z" {
			continue
		}
		threads, err1 := strconv.Atoi(string(fields[17]))
		pages, err2 := strconv.ParseInt(string(fields[21]), 10, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		rss := pages * int64(os.Getpagesize())
		s.processes++
		s.tasks += threads
		s.memory += rss
		s.largest = max(s.largest, rss)
	}
	return s
}
