package nvml

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/nvml/sensors"
	"github.com/rooflab/rooflab/datasets"
)

// How long the program may take. Without a persistence daemon the driver wakes
// its GPUs first, which takes seconds.
const (
	patience = 60 * time.Second // until it has said what there is
	parting  = 10 * time.Second // for a reading and the end
)

const lookFix = "look at nvidia-smi and the kernel's log (dmesg | grep -i nvrm)"

// sampler is rooflab-nvml at work.
type sampler struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	hello  sensors.Hello
	first  chan struct{} // closed when all GPUs were read once, or never will be
	done   chan struct{} // closed when the program has ended
	stderr head          // as the next ones the reader's until done is closed

	readings [][]sensors.Reading // by GPU
	whole    bool                // it ended as it should
	broken   error
}

// start starts the program in a mode and reads what there is. Where nothing
// can be read it returns a *collectors.MissingError.
func start(ctx context.Context, log io.Writer, mode string, args ...string) (*sampler, error) {
	path, err := program(ctx, log)
	if err != nil {
		return nil, err
	}
	s := &sampler{first: make(chan struct{}), done: make(chan struct{})}
	s.cmd = exec.Command(path, append([]string{mode}, args...)...)
	s.cmd.Env = environment(os.Environ())
	s.cmd.Stderr = &s.stderr
	// Ctrl-C is for this process, which lets the program end in its own way.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.input, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, unavailable("the program that reads the sensors does not start: "+err.Error(), "remove "+path+" and run `rooflab prepare`")
	}
	lines := json.NewDecoder(bufio.NewReaderSize(output, 1<<16))
	greeted := make(chan error, 1)
	go s.follow(lines, greeted)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err = <-greeted:
	case <-ctx.Done():
		s.close()
		return nil, ctx.Err()
	case <-late.C:
		err = fmt.Errorf("it said nothing for %v", patience)
	}
	if err != nil {
		s.close()
		if errors.Is(err, io.EOF) {
			err = s.why()
		}
		return nil, unavailable("the program that reads the sensors failed, in the driver's library most likely: "+err.Error(), lookFix)
	}
	if m := s.hello.Missing; m != nil {
		s.close()
		status := datasets.RunUnavailable
		if m.Denied {
			status = datasets.RunDenied
		}
		return nil, &collectors.MissingError{Status: status, What: m.What, Fix: m.Fix}
	}
	if s.hello.Wrong != "" {
		s.close()
		return nil, errors.New(s.hello.Wrong)
	}
	return s, nil
}

func unavailable(what, fix string) error {
	return &collectors.MissingError{Status: datasets.RunUnavailable, What: what, Fix: fix}
}

// environment is this process's without what keeps a program from looking up
// symbols at the first call.
func environment(all []string) []string {
	var kept []string
	for _, kv := range all {
		if !strings.HasPrefix(kv, "LD_BIND_NOW=") {
			kept = append(kept, kv)
		}
	}
	return kept
}

// follow reads what the program says, to its end.
func (s *sampler) follow(lines *json.Decoder, greeted chan<- error) {
	defer close(s.done)
	err := lines.Decode(&s.hello)
	s.readings = make([][]sensors.Reading, len(s.hello.GPUs))
	greeted <- err
	waiting := true
	for err == nil {
		var r sensors.Reading
		if err = lines.Decode(&r); err != nil {
			break
		}
		if r.GPU < 0 || r.GPU >= len(s.readings) || len(r.Values) != len(s.hello.GPUs[r.GPU].Sensors) {
			err = fmt.Errorf("a reading that does not belong to GPU number %d of %d", r.GPU, len(s.readings))
			break
		}
		s.readings[r.GPU] = append(s.readings[r.GPU], r)
		if waiting && r.GPU == len(s.readings)-1 {
			waiting = false
			close(s.first)
		}
		s.whole = r.End
	}
	if waiting {
		close(s.first)
	}
	if !errors.Is(err, io.EOF) {
		_ = s.cmd.Process.Kill() // it would wait for a reader
	}
	werr := s.cmd.Wait()
	if errors.Is(err, io.EOF) {
		err = werr // nil where the program ended by itself
	}
	s.broken = err
}

// why says how the program ended that should not have.
func (s *sampler) why() error {
	if !s.ended() {
		return errors.New("it cannot be killed")
	}
	err := s.broken
	if err == nil {
		err = errors.New("it ended early")
	}
	if text := s.stderr.String(); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

func (s *sampler) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// begin has the sampling begin and returns once each GPU was read, or the
// program has ended.
func (s *sampler) begin() {
	if _, err := io.WriteString(s.input, sensors.Start+"\n"); err != nil {
		return // it has ended: end says why
	}
	select {
	case <-s.first:
	case <-time.After(parting):
	}
}

// end has each GPU read once more and returns the readings. The error says why
// they are not whole; what was read until then is returned, too.
func (s *sampler) end() ([][]sensors.Reading, error) {
	_ = s.input.Close() // it may have ended already
	select {
	case <-s.done:
	case <-time.After(parting):
		s.close()
		if !s.ended() {
			return make([][]sensors.Reading, len(s.hello.GPUs)), s.why()
		}
		return s.readings, fmt.Errorf("it did not end within %v", parting)
	}
	if s.whole && s.broken == nil {
		return s.readings, nil
	}
	return s.readings, s.why()
}

// close ends the program at once, if it still runs.
func (s *sampler) close() {
	_ = s.input.Close()
	if s.ended() {
		return
	}
	_ = s.cmd.Process.Kill()
	select {
	case <-s.done:
	case <-time.After(parting): // a driver that hangs does not let go of it
	}
}

// hear asks the program what there is, without readings.
func hear(ctx context.Context, args ...string) (sensors.Hello, error) {
	s, err := start(ctx, io.Discard, "describe", args...)
	if err != nil {
		return sensors.Hello{}, err
	}
	s.close()
	return s.hello, nil
}

// monotonic is the clock of the readings' times.
func monotonic() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("reading the clock: %w", err)
	}
	return t.Nano(), nil
}

// head keeps the beginning of what is written to it: of a crash the reason.
type head struct{ text []byte }

const headBytes = 2000

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), headBytes-len(h.text))]...)
	return len(p), nil
}

// String is the first line.
func (h *head) String() string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(h.text), []byte("\n"))
	return strings.TrimSpace(string(line))
}
