package agentsrules

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/target"
)

// Again is a measurement of the patched program against the original, apart from
// the loop.
type Again struct {
	Size string `json:"size,omitempty"`
	Seed uint64 `json:"seed"` // of its input, drawn for this measurement
	// Before and After are wall times in seconds, in pairs that ran one after the
	// other, each the first in turn.
	Before []float64 `json:"before_seconds"`
	After  []float64 `json:"after_seconds"`
	Ratio  Interval  `json:"ratio"` // before over after
	// Differs is how outputs differ, "" where those of all runs are the same.
	Differs string `json:"differs,omitempty"`
}

// Faster reports whether the program is right and its gain beyond chance.
func (a Again) Faster() bool { return a.Differs == "" && a.Ratio.Low > 1 }

func (a Again) String() string {
	at := ""
	if a.Size != "" {
		at = "size " + a.Size + ": "
	}
	if a.Differs != "" {
		return at + "wrong: " + a.Differs
	}
	return fmt.Sprintf("%s%.3g times as fast (%.3g to %.3g), %d pairs", at, a.Ratio.Value, a.Ratio.Low, a.Ratio.High, len(a.Before))
}

// again builds what the loop kept, and what it accepted, from fresh copies of the
// sources, runs it on fresh inputs and says what is to be seen there.
func again(ctx context.Context, out *Outcome, p program, res *agents.Result, dir string, s Settings, say func(string)) error {
	kept := accepted(res)
	if out.Loop.Patch == "" && len(kept) == 0 {
		return nil
	}
	box, err := sandbox.Open(ctx, "")
	if err != nil {
		return err
	}
	original, err := build(ctx, box, p, filepath.Join(dir, "original"), nil)
	if err != nil {
		return err
	}
	sizes := append(append([]string{}, original.t.Inputs.Sizes...), original.t.Inputs.Other...)
	if len(sizes) == 0 {
		sizes = []string{""}
	}
	first := max(1, len(original.t.Inputs.Sizes))
	if s.Others > 0 {
		sizes = sizes[:min(len(sizes), first+s.Others)]
	}
	if out.Loop.Patch != "" {
		say("building the patched program apart from the loop")
		patched, err := build(ctx, box, p, filepath.Join(dir, "patched"), func(folder string) error { return patchFiles(folder, out.Loop.Patch) })
		if err != nil {
			return err
		}
		for _, size := range sizes {
			say("measuring it again, size " + size)
			a, err := compare(ctx, original, patched, size, s.Looks)
			if err != nil {
				return err
			}
			out.Again = append(out.Again, a)
		}
	}
	// What was accepted on the way there is compared on fewer sizes.
	few := sizes[:min(len(sizes), 2)]
	for i, c := range kept {
		if out.Loop.Patch != "" && c.Program.ID == res.Final.ID {
			continue // it is the patched program
		}
		say("comparing the outputs of " + c.Proposal.Name + " again")
		name := fmt.Sprintf("round %d, %s", c.Round, c.Proposal.Name)
		prog, err := build(ctx, box, p, filepath.Join(dir, fmt.Sprintf("candidate%d", i)), func(folder string) error {
			for _, f := range c.Program.Files {
				if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(f.Path)), []byte(f.Text), 0o644); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, size := range few {
			a, err := compare(ctx, original, prog, size, nil)
			if err != nil {
				return err
			}
			if a.Differs != "" {
				out.Wrong = append(out.Wrong, fmt.Sprintf("%s, size %s: %s", name, size, a.Differs))
				break
			}
		}
	}
	return nil
}

// built is a program of the suite in a folder of its own.
type built struct {
	box *sandbox.Box
	t   *target.Target
}

// build writes the program's sources, changes them and builds them there.
func build(ctx context.Context, box *sandbox.Box, p program, dir string, change func(dir string) error) (*built, error) {
	description, err := p.unpack(dir)
	if err != nil {
		return nil, err
	}
	if change != nil {
		if err := change(dir); err != nil {
			return nil, fmt.Errorf("changing the sources of %s: %w", p.Name, err)
		}
	}
	b := &built{box: box}
	if b.t, err = target.Load(description); err != nil {
		return nil, err
	}
	for _, command := range b.t.Build.Commands {
		argv, err := command.Expand(map[target.Placeholder]string{})
		if err != nil {
			return nil, err
		}
		c := b.command(argv, b.t.Build.Timeout)
		c.Put, c.Keep = []sandbox.Copy{{From: dir}}, dir
		o, err := box.Run(ctx, c)
		if err != nil {
			return nil, err
		}
		if !o.OK() {
			return nil, fmt.Errorf("building %s apart from the loop: %s ended with %s: %s", p.Name, command, o, o.Stderr)
		}
	}
	return b, nil
}

func (b *built) command(argv []string, timeout target.Duration) sandbox.Command {
	s := b.t.Sandbox
	c := sandbox.Command{Argv: argv, GPU: s.GPU, Limits: sandbox.Limits{Wall: timeout.Value(), CPU: s.CPUTime.Value(), Memory: int64(s.Memory),
		Processes: s.Processes, Disk: int64(s.Disk), Output: int64(s.Print)}}
	for _, dir := range s.Read {
		c.ReadOnly = append(c.ReadOnly, sandbox.Mount{From: dir, At: dir})
	}
	return c
}

// files are what a run needs besides its input.
func (b *built) files() []sandbox.Copy {
	var out []sandbox.Copy
	for _, name := range append(append([]string{}, b.t.Build.Products...), b.t.Run.Files...) {
		out = append(out, sandbox.Copy{From: filepath.Join(b.t.Dir, filepath.FromSlash(name)), To: filepath.FromSlash(name)})
	}
	return out
}

// input makes an input in a folder; "" says that the program needs none.
func (b *built) input(ctx context.Context, seed uint64, size, dir string) (string, error) {
	if len(b.t.Inputs.Generate) == 0 {
		return "", nil
	}
	argv, err := b.t.Inputs.Generate.Expand(map[target.Placeholder]string{target.Seed: fmt.Sprint(seed), target.Size: size})
	if err != nil {
		return "", err
	}
	c := b.command(argv, b.t.Run.Timeout)
	c.Put, c.Keep = []sandbox.Copy{{From: b.t.Dir}}, dir
	o, err := b.box.Run(ctx, c)
	if err != nil {
		return "", err
	}
	if !o.OK() {
		return "", fmt.Errorf("making an input of size %s: %s: %s", size, o, o.Stderr)
	}
	// What was there before is no input.
	for _, name := range b.t.Build.Products {
		if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// run runs the program once, and leaves its outputs in a folder. warm is what an
// earlier run left, with the caches that it is given; without it all that this run
// leaves is kept.
func (b *built) run(ctx context.Context, seed uint64, size, input, dir, warm string) (seconds float64, stdout []byte, err error) {
	argv, err := b.t.Run.Command.Expand(map[target.Placeholder]string{target.Seed: fmt.Sprint(seed), target.Size: size})
	if err != nil {
		return 0, nil, err
	}
	c := b.command(argv, b.t.Run.Timeout)
	for name, value := range b.t.Run.Environment {
		c.Env = append(c.Env, name+"="+value)
	}
	if input != "" {
		c.Put = append(c.Put, sandbox.Copy{From: input})
	}
	c.Put, c.Keep = append(c.Put, b.files()...), dir
	if warm != "" {
		for _, name := range b.t.Run.Cache {
			from := filepath.Join(warm, filepath.FromSlash(name))
			if _, err := os.Stat(from); err == nil {
				c.Put = append(c.Put, sandbox.Copy{From: from, To: filepath.FromSlash(name)})
			}
		}
		c.KeepOnly = []string{}
		for _, o := range b.t.Outputs {
			if o.File != "" {
				c.KeepOnly = append(c.KeepOnly, o.File)
			}
		}
	}
	o, err := b.box.Run(ctx, c)
	if err != nil {
		return 0, nil, err
	}
	if !o.OK() || o.LeftBehind > 0 {
		return 0, nil, &runError{fmt.Sprintf("%s, %d processes left behind: %s", o, o.LeftBehind, bytes.TrimSpace(o.Stderr))}
	}
	return o.Wall.Seconds(), o.Stdout, nil
}

// runError says that a program ended otherwise than it should.
type runError struct{ text string }

func (e *runError) Error() string { return e.text }

// compare runs both programs in pairs on a fresh input, until a look at the times
// tells them apart or all looks are taken, and compares the outputs of each run.
// Without looks each runs once.
func compare(ctx context.Context, original, other *built, size string, looks []int) (Again, error) {
	a := Again{Size: size, Ratio: Interval{math.NaN(), math.NaN(), math.NaN()}}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return a, err
	}
	a.Seed = uint64(binary.LittleEndian.Uint32(random[:])) // programs read seeds of 32 bits at least
	dir, err := os.MkdirTemp("", "rooflab-again-")
	if err != nil {
		return a, err
	}
	defer os.RemoveAll(dir)
	input, err := original.input(ctx, a.Seed, size, filepath.Join(dir, "input"))
	if err != nil {
		return a, err
	}
	want := filepath.Join(dir, "want")
	_, said, err := original.run(ctx, a.Seed, size, input, want, "")
	if err != nil {
		return a, fmt.Errorf("running the original, size %s: %w", size, err)
	}
	warm := filepath.Join(dir, "warm")
	check := func(b *built, got string) (float64, error) {
		if err := os.RemoveAll(got); err != nil {
			return 0, err
		}
		before := want
		if b == other {
			before = warm
		}
		if got == warm {
			before = ""
		}
		seconds, out, err := b.run(ctx, a.Seed, size, input, got, before)
		var ended *runError
		switch {
		case b == other && errors.As(err, &ended):
			a.Differs = ended.text
			return 0, nil
		case err != nil:
			return 0, err
		}
		differs, err := outputs(original.t, want, said, got, out)
		if differs != "" && b == original {
			return 0, fmt.Errorf("two runs of the original differ: %s", differs)
		}
		a.Differs = differs
		return seconds, err
	}
	if _, err := check(other, warm); err != nil || a.Differs != "" {
		return a, err
	}
	for _, n := range looks {
		for i := len(a.Before); i < n; i++ {
			sides := []*built{original, other}
			if i%2 == 1 {
				sides = []*built{other, original}
			}
			for _, b := range sides {
				seconds, err := check(b, filepath.Join(dir, "got"))
				if err != nil || a.Differs != "" {
					return a, err
				}
				if b == original {
					a.Before = append(a.Before, seconds)
				} else {
					a.After = append(a.After, seconds)
				}
			}
		}
		a.Ratio = paired(a.Before, a.After, 0.05/float64(len(looks)))
		if a.Ratio.Low > 1 || a.Ratio.High < 1 {
			break
		}
	}
	return a, nil
}
