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
// be asked, the read ends with end of file rather than never. The returned
// function ends the watch.
func (x *execution) watchInput() (stop func()) {
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
			if !x.p.readsInput() || x.p.asking.Load() != nil && !x.interrupted() {
				continue // nobody reads, or the cell has asked by itself
			}
			if !x.req.AllowStdin {
				x.p.send(Stream{Name: "stderr", Text: "the cell reads standard input, which this front end cannot give: end of file\n"})
				x.p.stdin.Close()
				return
			}
			answer := make(chan string, 1)
			if !x.interrupted() {
				x.p.send(InputRequest{Answer: once(func(s string) { answer <- s })})
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
		data, err := os.ReadFile(filepath.Join(tasks, t.Name(), "syscall"))
		if err != nil {
			continue
		}
		f := strings.Fields(string(data))
		if len(f) > 1 && f[0] == fmt.Sprint(syscall.SYS_READ) && f[1] == "0x0" {
			return true
		}
	}
	return false
}
