package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Box runs commands in a way that was found to work.
type Box struct {
	mechanism   Mechanism
	self, bwrap string
}

// Mechanism is the way.
func (b *Box) Mechanism() Mechanism { return b.mechanism }

// UnavailableError says that no way to keep commands apart works on this
// machine, and why.
type UnavailableError struct {
	Reasons map[Mechanism]error
}

func (e *UnavailableError) Error() string {
	var b strings.Builder
	b.WriteString("there is no sandbox on this machine, so nothing is run:")
	for _, m := range []Mechanism{Namespaces, Bubblewrap} {
		if r := e.Reasons[m]; r != nil {
			fmt.Fprintf(&b, "\n  %s: %v", m, r)
		}
	}
	b.WriteString("\nIn a container, allow user namespaces (docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined, " +
		"or --privileged); on Ubuntu set kernel.apparmor_restrict_unprivileged_userns=0 or give bwrap its AppArmor profile. " +
		"Code that you trust may run without a sandbox, if you ask for it.")
	return b.String()
}

// Open finds a way to run commands and tries it out: Namespaces, or where they
// do not work Bubblewrap; or only the one that is asked for, where want is not
// "". The error is an *UnavailableError where none works.
func Open(ctx context.Context, want Mechanism) (*Box, error) {
	switch want {
	case "", Namespaces, Bubblewrap:
	case Unconfined:
		return &Box{mechanism: Unconfined}, nil
	default:
		return nil, fmt.Errorf("there is no way %q to run commands apart: it is %s, %s or %s", want, Namespaces, Bubblewrap, Unconfined)
	}
	if os.Getenv(stageMark) != "" {
		return nil, errors.New("this program was started as the first process of a sandbox and opens one itself: call sandbox.ServeIfAsked at the beginning of its main")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to start it in a sandbox: %w", err)
	}
	unavailable := &UnavailableError{Reasons: map[Mechanism]error{}}
	for _, m := range []Mechanism{Namespaces, Bubblewrap} {
		if want != "" && want != m {
			continue
		}
		b := &Box{mechanism: m, self: self}
		err := b.try(ctx)
		if err == nil {
			return b, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		unavailable.Reasons[m] = err
	}
	return nil, unavailable
}

func (b *Box) try(ctx context.Context) error {
	if b.mechanism == Bubblewrap {
		if os.Geteuid() == 0 {
			return errors.New("run by root it cannot bound the number of processes, since no such limit binds root; run as an ordinary user")
		}
		bwrap, err := exec.LookPath("bwrap")
		if err != nil {
			return errors.New("there is no bwrap in the PATH; it comes with the package bubblewrap")
		}
		b.bwrap = bwrap
	}
	o, err := b.Run(ctx, Command{Argv: []string{"true"}, Limits: Limits{Wall: 10 * time.Second, Disk: 1 << 20}})
	if err != nil {
		return err
	}
	if !o.OK() {
		return fmt.Errorf("in it the command true ends with %v", o)
	}
	return nil
}

// cannot adds to an error of the kernel what it is about.
func (b *Box) cannot(err error) error {
	if start := (*StartError)(nil); errors.As(err, &start) {
		return err
	}
	return fmt.Errorf("running in a sandbox (%s): %w", b.mechanism, err)
}
