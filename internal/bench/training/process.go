package training

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

	"github.com/rooflab/rooflab/kernel/hugepages"
)

// player is a side's process.
type player struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	errs  bytes.Buffer
	ready turn // what it said before the first turn

	seconds []float64 // median of each round
	cpu     []float64 // processor seconds of a step, of each round
	losses  []float64 // of all steps
	memory  float64
}

// play starts a side and waits until it is ready.
func play(ctx context.Context, name string, command, env []string) (*player, error) {
	p := &player{name: name, cmd: exec.CommandContext(ctx, command[0], command[1:]...)} //nolint:gosec // the program itself, or the peer's Python
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	p.cmd.Env = hugepages.Environment(append(os.Environ(), env...)) // both sides gain from it
	p.cmd.Stderr = &p.errs
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if p.ready, err = p.answer(); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// take lets the side take some steps.
func (p *player) take(steps int) (turn, error) {
	if _, err := fmt.Fprintln(p.in, steps); err != nil {
		return turn{}, p.failed(err)
	}
	t, err := p.answer()
	if err == nil && (len(t.Seconds) != steps || len(t.Losses) != steps) {
		err = fmt.Errorf("%s: %d times and %d losses of %d steps", p.name, len(t.Seconds), len(t.Losses), steps)
	}
	p.memory = t.Memory
	return t, err
}

func (p *player) answer() (t turn, err error) {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return t, p.failed(err)
	}
	if err := json.Unmarshal(line, &t); err != nil {
		return t, fmt.Errorf("%s says %q: %w", p.name, line, err)
	}
	return t, nil
}

// failed says what the side's last words were, once its output has ended.
func (p *player) failed(err error) error {
	_ = p.in.Close()
	ended := p.cmd.Wait()
	text := strings.TrimSpace(p.errs.String())
	return fmt.Errorf("%s ended (%w, %w):\n%s", p.name, err, errors.Join(ended), text[max(0, len(text)-4000):])
}

// stop ends the side by closing its input.
func (p *player) stop() error {
	_ = p.in.Close()
	if p.cmd.ProcessState != nil {
		return nil // ended before
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("ending %s: %w\n%s", p.name, err, p.errs.String())
	}
	return nil
}
