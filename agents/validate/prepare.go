package validate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rooflab/rooflab/agents/sandbox"
)

// Prepared is one input on which both sides can be run again and again, as to
// measure them, with what the original made of it.
type Prepared struct {
	Input     Input
	Seed      uint64
	Original  sandbox.Command
	Candidate sandbox.Command
	Want      sandbox.Outcome // the original's
	check     Check
	want      string
}

// PreparedRun is the folder, in that of Prepare, with all that the original left.
const PreparedRun = "want"

// Prepare makes an input, with a seed that is drawn where it is 0, and runs the
// original on it. dir, a folder of this machine, holds both as long as they are
// needed; no sandbox sees it.
func Prepare(ctx context.Context, box *sandbox.Box, c Check, in Input, seed uint64, dir string) (Prepared, error) {
	p := Prepared{Input: in, Seed: seed, check: c, want: filepath.Join(dir, PreparedRun)}
	for _, o := range c.Outputs {
		if err := o.check(); err != nil {
			return p, fmt.Errorf("preparing an input: %w", err)
		}
	}
	var err error
	if p.Seed == 0 {
		if p.Seed, err = draw(); err != nil {
			return p, err
		}
	}
	one := &Case{Input: in, Seed: p.Seed}
	var input []sandbox.Copy
	if c.Generator != nil {
		made := filepath.Join(dir, "input")
		if _, err := c.trusted(ctx, box, "generator of inputs", *c.Generator, one, nil, made); err != nil {
			return p, err
		}
		input = []sandbox.Copy{{From: made}}
	}
	p.Original, p.Candidate = c.Original.command(one, input, ""), c.Candidate.command(one, input, "")
	p.Candidate.KeepOnly = c.files()
	p.Want, err = c.trusted(ctx, box, "original", c.Original, one, input, p.want)
	return p, err
}

// Check says how a run differs from the original's on this input: what it
// printed and what it left, of which dir has a copy.
func (p Prepared) Check(o sandbox.Outcome, dir string) error {
	pairs, err := p.check.compare(&Case{Input: p.Input, Seed: p.Seed}, p.want, p.Want, dir, o)
	if err != nil {
		return err
	}
	for _, c := range pairs {
		if !c.OK() {
			return errors.New(c.String())
		}
	}
	return nil
}
