package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// inputPoll is how often a running cell is looked at for a read of standard
// input. Nothing tells the reader of a pipe's other end that somebody waits,
// so the system is asked.
const inputPoll = 100 * time.Millisecond

// watchInput serves reads of standard input (fmt.Scanln, bufio on os.Stdin, C
// code) while a cell runs: the front end is asked for a line. Where it cannot
// be asked, the read ends with end of file rather than never. reads tells
// whether somebody waits for a line. The returned function ends the watch.
func (x *execution) watchInput(reads func() bool, password bool) (stop func()) {
	x.p.asking.Store(nil)
	quit := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(inputPoll)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-x.p.exited:
				return
			case <-tick.C:
			}
			if !reads() || x.p.asking.Load() != nil && !x.interrupted() {
				continue // nobody reads, or the cell has asked by itself
			}
			if !x.req.AllowStdin {
				x.p.send(Stream{Name: "stderr", Text: "the cell reads standard input, which this front end cannot give: end of file\n"})
				x.p.stdin.Close()
				return
			}
			answer := make(chan string, 1)
			if !x.interrupted() {
				x.p.send(InputRequest{Password: password, Answer: once(func(s string) { answer <- s })})
			}
			for waiting := true; waiting; {
				select {
				case s := <-answer:
					fmt.Fprintln(x.p.stdin, s)
					waiting = false
				case <-tick.C:
					if x.interrupted() { // an empty line lets the cell notice
						fmt.Fprintln(x.p.stdin)
						waiting = false
					}
				case <-quit:
					return
				case <-x.p.exited:
					return
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-finished
	}
}

func (x *execution) interrupted() bool {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	return x.e.interrupts > 0
}

// readsInput reports whether a thread of the host waits in read(0, ...).
func (p *process) readsInput() bool {
	tasks := fmt.Sprintf("/proc/%d/task", p.cmd.Process.Pid)
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return false
	}
	for _, t := range entries {
		if waitsForInput(filepath.Join(tasks, t.Name())) {
			return true
		}
	}
	return false
}

// waitsForInput reports whether the thread with that folder in /proc waits in
// read(0, ...).
func waitsForInput(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "syscall"))
	if err != nil {
		return false
	}
	f := strings.Fields(string(data))
	return len(f) > 1 && f[0] == fmt.Sprint(syscall.SYS_READ) && f[1] == "0x0"
}

// childReadsInput reports whether a program that has the host's standard input
// waits for it.
func (p *process) childReadsInput() bool {
	ours, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", p.cmd.Process.Pid))
	if err != nil {
		return false
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return false
	}
	for _, dir := range all {
		if theirs, err := os.Readlink(filepath.Join(dir, "fd", "0")); err == nil && theirs == ours && waitsForInput(dir) {
			return true
		}
	}
	return false
}
