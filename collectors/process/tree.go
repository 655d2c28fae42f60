package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// member is a process; its start tells it from a later one with the same id.
type member struct {
	pid, parent    int
	group, session int
	start          uint64
	dead           bool // a zombie that nobody has waited for
}

// readStat reads /proc/PID/stat.
func readStat(pid int) (member, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return member{}, false
	}
	// The name is in parentheses and may hold any character.
	i := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[i+1:]))
	if i < 0 || len(f) < 20 {
		return member{}, false
	}
	m := member{pid: pid, dead: f[0] == "Z"}
	for i, n := range []*int{&m.parent, &m.group, &m.session} {
		if *n, err = strconv.Atoi(f[1+i]); err != nil {
			return member{}, false
		}
	}
	m.start, err = strconv.ParseUint(f[19], 10, 64)
	return m, err == nil
}

// processes lists all that run.
func processes() []member {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []member
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if m, ok := readStat(pid); ok {
				all = append(all, m)
			}
		}
	}
	return all
}

// orphans lists the processes in the groups and sessions that known ones lead:
// what they started in their last moment, and what has no living parent that
// leads to it.
func orphans(known map[int]bool) []member {
	var found []member
	for _, m := range processes() {
		if !m.dead && (known[m.group] || known[m.session]) {
			found = append(found, m)
		}
	}
	return found
}

// descendants lists the processes below one, without itself.
func descendants(root int) []member {
	children := map[int][]member{}
	for _, m := range processes() {
		children[m.parent] = append(children[m.parent], m)
	}
	var all []member
	seen := map[int]bool{root: true}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, m := range children[next[0]] {
			if !seen[m.pid] {
				seen[m.pid] = true
				all, next = append(all, m), append(next, m.pid)
			}
		}
	}
	return all
}

// tree is what was seen of a process tree, in bytes.
type tree struct {
	peak  int64 // of the largest process, which the kernel keeps for each
	sum   int64 // of all at one time
	count int
	looks int // how often it was looked at
}

// fewLooks is how often a command must be looked at for the highest mark to
// mean anything: it sees the first millisecond, when the program is loaded.
const fewLooks = 4

type treeWatch struct {
	quit chan struct{}
	seen chan tree
}

// watchTree looks at a command's process tree from now on: often at first, for
// most commands are short, then each interval.
func watchTree(root int, interval time.Duration) *treeWatch {
	w := &treeWatch{quit: make(chan struct{}), seen: make(chan tree, 1)}
	if interval <= 0 {
		w.seen <- tree{}
		return w
	}
	go func() {
		var t tree
		for pause := min(500*time.Microsecond, interval); ; pause = min(pause*5/4, interval) {
			t.look(root)
			select {
			case <-w.quit:
				w.seen <- t
				return
			case <-time.After(pause):
			}
		}
	}()
	return w
}

// stop ends the watch and returns what was seen.
func (w *treeWatch) stop() tree {
	close(w.quit)
	return <-w.seen
}

func (t *tree) look(root int) {
	var sum int64
	count := 0
	next := []int{root}
	for ; len(next) > 0 && count < 10000; next = next[1:] {
		now, peak, ok := memory(next[0])
		if !ok {
			continue
		}
		count++
		sum += now
		t.peak = max(t.peak, peak)
		next = append(next, childrenOf(next[0])...)
	}
	if count > 0 {
		t.looks++
	}
	t.sum, t.count = max(t.sum, sum), max(t.count, count)
}

// memory reads what a process has now, and had at most, in bytes.
func memory(pid int) (now, peak int64, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, 0, false
	}
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		for _, f := range []struct {
			name string
			to   *int64
		}{{"VmHWM:", &peak}, {"VmRSS:", &now}} {
			if v, found := bytes.CutPrefix(line, []byte(f.name)); found {
				v = bytes.TrimSuffix(bytes.TrimSpace(v), []byte(" kB"))
				if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
					*f.to, ok = n*1024, true
				}
			}
		}
	}
	return now, peak, ok // not ok: it has ended, and its memory is gone
}

func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []int
	for _, t := range threads {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}
