package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/collectors/process"
)

// unconfined runs a command in a folder of its own, as whoever calls.
func unconfined(ctx context.Context, c Command) (Outcome, error) {
	o := Outcome{Limits: c.Limits}
	for _, m := range c.ReadOnly {
		if filepath.Clean(m.From) != filepath.Clean(m.At) {
			return o, fmt.Errorf("without a sandbox %s cannot be shown at %s: use the same path for both", m.From, m.At)
		}
	}
	dir, err := os.MkdirTemp("", "rooflab-unconfined-")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(dir)
	work, err := os.OpenRoot(dir)
	if err != nil {
		return o, err
	}
	defer work.Close()
	if err := put(work, c.Put, owner{keep: true}); err != nil {
		return o, err
	}
	env := environment(c, os.TempDir())
	argv := append([]string{}, c.Argv...)
	if strings.Contains(argv[0], "/") {
		if !filepath.IsAbs(argv[0]) {
			argv[0] = filepath.Join(dir, c.Dir, argv[0])
		}
	} else if argv[0], err = find(argv[0], env); err != nil {
		return o, &StartError{c.Argv[0], err}
	}
	limited, stop := context.WithTimeout(ctx, c.Limits.Wall)
	defer stop()
	printed := func() { stop() }
	stdout, stderr := &capture{most: c.Limits.Output, full: printed}, &capture{most: c.Limits.Output, full: printed}
	r, err := process.Run(limited, process.Command{Argv: argv, Dir: filepath.Join(dir, c.Dir), Env: env,
		Stdin: bytes.NewReader(c.Stdin), Stdout: stdout, Stderr: stderr})
	var missing *process.NotFoundError
	switch {
	case ctx.Err() != nil:
		return o, ctx.Err()
	case errors.As(err, &missing):
		return o, &StartError{c.Argv[0], err}
	case err != nil && limited.Err() == nil:
		return o, err
	}
	u := r.Usage
	o.Wall, o.User, o.System = u.Wall, u.User, u.System
	o.MaxRSS, o.Seen, o.TreeRSS, o.Processes = u.MaxRSS, u.Seen, u.TreeRSS, u.Processes
	o.Stdout, o.Stderr = stdout.bytes(), stderr.bytes()
	if r.LeftOver {
		o.LeftBehind = 1 // at least
	}
	switch {
	case stdout.over || stderr.over:
		o.End, o.Code, o.Why = OutputLimit, -1, fmt.Sprintf("it printed more than %d bytes", c.Limits.Output)
	case limited.Err() != nil:
		o.End, o.Code, o.Why = TimedOut, -1, fmt.Sprintf("it still ran after %v", c.Limits.Wall)
	case r.Signal != 0:
		o.signalled(r.Signal)
	default:
		o.End, o.Code = Exited, r.Exit
	}
	if o.Files, err = files(work); err != nil {
		return o, err
	}
	if wanted := c.kept(o.Files); c.Keep != "" && !o.large(wanted) {
		return o, keep(work, wanted, c.Keep)
	}
	return o, nil
}
