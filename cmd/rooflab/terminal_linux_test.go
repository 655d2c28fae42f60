package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is a pseudo-terminal with the program under test at its other end.
type screen struct {
	t      *testing.T
	master *os.File
	seen   strings.Builder
	chunks chan string
}

func openScreen(t *testing.T, args ...string) (*screen, *exec.Cmd) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: 100}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM=xterm", "XDG_STATE_HOME="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, master: master, chunks: make(chan string, 1000)}
	go func() {
		defer close(s.chunks)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if n > 0 {
				s.chunks <- string(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	return s, cmd
}

func (s *screen) type_(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.master, text); err != nil {
		s.t.Fatal(err)
	}
}

// wait reads until text is on the screen and forgets what came before its end.
// The time limit only turns a hang into a message.
func (s *screen) wait(text string) {
	s.t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		all := s.seen.String()
		if _, rest, ok := strings.Cut(all, text); ok {
			s.seen.Reset()
			s.seen.WriteString(rest)
			return
		}
		select {
		case c, open := <-s.chunks:
			if !open {
				s.t.Fatalf("the program ended before it showed %q; it showed %q", text, all)
			}
			s.seen.WriteString(c)
		case <-limit:
			s.t.Fatalf("waited for %q, saw %q", text, all)
		}
	}
}

func TestAtATerminalCellsCompleteInterruptAndLeave(t *testing.T) {
	s, cmd := openScreen(t, "repl")
	s.wait("In [1]: ")
	s.type_("func twice(n int) int {\r")
	s.wait("...: ")
	s.type_("return 2*n }\r")
	s.wait("In [2]: ")
	s.type_("twice(21)\r")
	s.wait("Out[2]: 42")
	s.wait("In [3]: ")
	s.type_("fmt.Println(\"go\"+\"ing\"); for { }\r") // what it prints is not what is typed
	s.wait("going")
	s.type_("\x03") // Ctrl-C
	s.wait("Interrupted")
	s.wait("In [4]: ")
	s.type_("nonsense(\x03") // gives the line up
	s.wait("In [4]: ")
	s.type_("twi\t(4)\r") // Tab completes the name
	s.wait("Out[4]: 8")
	s.wait("In [5]: ")
	s.type_("\x04") // Ctrl-D
	for range s.chunks {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("leaving with Ctrl-D: %v", err)
	}
	var history string
	for _, e := range cmd.Env {
		if dir, ok := strings.CutPrefix(e, "XDG_STATE_HOME="); ok {
			data, err := os.ReadFile(filepath.Join(dir, "rooflab", "history"))
			if err != nil {
				t.Fatal(err)
			}
			history = string(data)
		}
	}
	if !strings.Contains(history, "twice(21)\n") {
		t.Errorf("history %q", history)
	}
}
