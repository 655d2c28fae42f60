package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/build"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/agents/validate"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/ocllaunch"
)

// Workbench is where the programs of a target are built, checked, measured and
// profiled: each method is a step, of use by itself in a cell. What a step makes
// lies below the workbench's folder; the target's own files are only read.
type Workbench struct {
	Target *target.Target
	Dir    string // absolute
	// Sensors are those that measurements take joules from: NewWorkbench finds
	// them.
	Sensors measure.Sensors
	// Drawn are the sizes beside those that the target lists at which Validate
	// compares outputs as well, the same for all candidates: NewWorkbench draws them
	// where the target gives bounds.
	Drawn  DrawnSizes
	box    *sandbox.Box
	shapes map[string][][]ocllaunch.Launch // by size, of the host programs that were looked at
}

// NewWorkbench opens a workbench in a folder, which is made where there is none.
func NewWorkbench(ctx context.Context, t *target.Target, dir string) (*Workbench, error) {
	sensors := measure.FindSensors(ctx, host.Here, t.Sandbox.GPU)
	if t.Measure.Metric == target.Energy && len(sensors.Meters) == 0 {
		return nil, fmt.Errorf("optimizing %s: its metric is energy, and no sensor can be read: %s; or say metric = \"time\"", t.Name, sensors.Note)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the run: %w", err)
	}
	box, err := sandbox.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	return &Workbench{Target: t, Dir: dir, Sensors: sensors, Drawn: drawSizes(t, 0), box: box}, nil
}

// Program is a version of the target that was built, or not.
type Program struct {
	ID       string          `json:"id"`    // of its sources: the first digits of their SHA-256, or "original"
	Files    []edit.File     `json:"files"` // that differ from the target's
	Products []build.Product `json:"products"`
	// Failed is why there are no products, "" where there are; Log is what the
	// compiler said.
	Failed string `json:"failed,omitempty"`
	Log    string `json:"log,omitempty"`
	// End is how the build ended, Tried what it tried and may not: to write outside
	// of its folder, to look into the folders of the target and of the run.
	End   sandbox.End       `json:"end,omitempty"`
	Tried []sandbox.Attempt `json:"tried,omitempty"`
	dir   string
}

// OK reports whether the program was built.
func (p *Program) OK() bool { return p.Failed == "" }

// programID names a version by what it changes.
func programID(files []edit.File) string {
	if len(files) == 0 {
		return "original"
	}
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %d\n%s", f.Path, len(f.Text), f.Text)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// Build builds the target with other texts for some of its files; none builds
// the original. A build that fails is a Program that is not OK, and no error.
func (w *Workbench) Build(ctx context.Context, files []edit.File) (*Program, error) {
	p := &Program{ID: programID(files), Files: files}
	p.dir = w.programDir(p.ID)
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, err
	}
	if err := w.writeSources(p); err != nil {
		return nil, err
	}
	res, err := build.Build(ctx, w.box, w.recipe(p))
	if err != nil {
		return nil, fmt.Errorf("building %s of %s: %w", p.ID, w.Target.Name, err)
	}
	p.Products, p.Failed, p.Log, p.End, p.Tried = res.Products, res.Reason, res.Log, res.Outcome.End, res.Outcome.Attempts
	return p, nil
}

// recipe is how a program is built.
func (w *Workbench) recipe(p *Program) build.Recipe {
	replace := map[string][]byte{}
	for _, f := range p.Files {
		replace[f.Path] = []byte(f.Text)
	}
	limits := w.limits(w.Target.Build.Timeout)
	limits.Output = 0
	return build.Recipe{
		Sources: w.sourceDir(p.ID), Replace: replace, Command: script(w.Target.Build.Commands), Products: w.Target.Build.Products,
		Out: w.programDir(p.ID), ReadOnly: w.mounts(), Limits: limits, Watch: &sandbox.Watch{Secrets: []string{w.Dir, w.Target.Dir}},
	}
}

// programDir is where the products of a program are.
func (w *Workbench) programDir(id string) string { return filepath.Join(w.Dir, "programs", id) }

// sourceDir is where its sources are.
func (w *Workbench) sourceDir(id string) string { return filepath.Join(w.Dir, "sources", id) }

// writeSources writes the sources of a program and the other files of the
// target that a build may need: what is not named in the description is not
// there.
func (w *Workbench) writeSources(p *Program) error {
	dir := w.sourceDir(p.ID)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	texts := map[string]string{}
	for _, s := range w.Target.Sources() {
		texts[s.Path] = s.Text
	}
	for _, f := range p.Files {
		texts[f.Path] = f.Text
	}
	for name, text := range texts {
		if err := writeBelow(dir, name, []byte(text), w.mode(name)); err != nil {
			return fmt.Errorf("writing the sources of %s: %w", p.ID, err)
		}
	}
	for _, name := range w.Target.Run.Files {
		if _, ok := texts[name]; ok {
			continue
		}
		from := filepath.Join(w.Target.Dir, filepath.FromSlash(name))
		info, err := os.Stat(from)
		if err != nil || !info.Mode().IsRegular() {
			continue // a folder, or something that the build makes
		}
		data, err := os.ReadFile(from)
		if err == nil {
			err = writeBelow(dir, name, data, w.mode(name))
		}
		if err != nil {
			return fmt.Errorf("copying %s: %w", name, err)
		}
	}
	return nil
}

// mode is that of a copy of a target's file: scripts stay programs.
func (w *Workbench) mode(name string) os.FileMode {
	if info, err := os.Stat(filepath.Join(w.Target.Dir, filepath.FromSlash(name))); err == nil && info.Mode()&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

func writeBelow(dir, name string, data []byte, mode os.FileMode) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, mode)
}

// there makes sure that the products of a program which an earlier process built
// are on disk as they were, and builds them again where they are not.
func (w *Workbench) there(ctx context.Context, p *Program) error {
	p.dir = w.programDir(p.ID)
	if !p.OK() {
		return nil
	}
	for _, product := range p.Products {
		data, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(product.Path)))
		sum := sha256.Sum256(data)
		if err == nil && hex.EncodeToString(sum[:]) == product.SHA256 {
			continue
		}
		again, err := w.Build(ctx, p.Files)
		switch {
		case err != nil:
			return err
		case !again.OK():
			return fmt.Errorf("building %s again, whose products are gone: %s", p.ID, again.Failed)
		}
		p.Products = again.Products
		return nil
	}
	return nil
}

// script is several commands as one.
func script(commands []target.Command) []string {
	if len(commands) == 1 {
		return literal(commands[0])
	}
	var lines []string
	for _, c := range commands {
		lines = append(lines, target.Command(literal(c)).String())
	}
	return []string{"sh", "-c", "set -e\n" + strings.Join(lines, "\n")}
}

// literal is a command that has no placeholders, without doubled braces.
func literal(c target.Command) []string {
	if out, err := c.Expand(map[target.Placeholder]string{}); err == nil {
		return out
	}
	return c
}

func (w *Workbench) limits(timeout target.Duration) sandbox.Limits {
	s := w.Target.Sandbox
	return sandbox.Limits{Wall: timeout.Value(), CPU: s.CPUTime.Value(), Memory: int64(s.Memory), Processes: s.Processes,
		Disk: int64(s.Disk), Output: int64(s.Print)}
}

func (w *Workbench) mounts() []sandbox.Mount {
	var out []sandbox.Mount
	for _, dir := range w.Target.Sandbox.Read {
		out = append(out, sandbox.Mount{From: dir, At: dir})
	}
	return out
}

// program is how a version is run, by a command.
func (w *Workbench) program(p *Program, command target.Command, files []string, timeout target.Duration) validate.Program {
	out := validate.Program{Argv: braces(command), ReadOnly: w.mounts(), Limits: w.limits(timeout), GPU: w.Target.Sandbox.GPU}
	for name, value := range w.Target.Run.Environment {
		out.Env = append(out.Env, name+"="+value)
	}
	slices.Sort(out.Env)
	for _, product := range w.Target.Build.Products {
		out.Put = append(out.Put, sandbox.Copy{From: filepath.Join(p.dir, filepath.FromSlash(product)), To: filepath.FromSlash(product)})
	}
	for _, name := range files {
		if slices.Contains(w.Target.Build.Products, name) {
			continue
		}
		from := filepath.Join(w.sourceDir(p.ID), filepath.FromSlash(name))
		if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
			from = filepath.Join(w.Target.Dir, filepath.FromSlash(name))
		}
		out.Put = append(out.Put, sandbox.Copy{From: from, To: filepath.FromSlash(name)})
	}
	return out
}

// braces leaves {seed} and {size} to package validate, which replaces them, and
// undoes doubled braces.
func braces(c target.Command) []string {
	out, err := c.Expand(map[target.Placeholder]string{target.Seed: "{seed}", target.Size: "{size}", target.Profiled: "{profile}"})
	if err != nil {
		return c
	}
	return out
}

// check is the comparison of two programs on inputs of some sizes; none are
// the inputs of a target without sizes.
func (w *Workbench) check(original, candidate *Program, sizes []string) validate.Check {
	t := w.Target
	c := validate.Check{Original: w.program(original, t.Run.Command, t.Run.Files, t.Run.Timeout),
		Candidate: w.program(candidate, t.Run.Command, t.Run.Files, t.Run.Timeout),
		Runs:      t.Inputs.PerRun, Scratch: t.Run.Cache, Secrets: []string{w.Dir, t.Dir}}
	if t.Inputs.Fixed {
		c.Runs = 1
	}
	if len(t.Inputs.Generate) > 0 {
		var names []string
		for _, s := range t.Sources() {
			names = append(names, s.Path)
		}
		g := w.program(original, t.Inputs.Generate, append(names, t.Run.Files...), t.Run.Timeout)
		c.Generator = &g
	}
	for _, size := range sizes {
		c.Inputs = append(c.Inputs, validate.Input{string(target.Size): size})
	}
	for _, o := range t.Outputs {
		c.Outputs = append(c.Outputs, output(o))
	}
	return c
}

// output is an output of a target as package validate has it.
func output(o target.Output) validate.Output {
	out := validate.Output{Path: o.File, Format: validate.Format(o.Format), Ignore: o.Ignore}
	if o.Format == target.FormatBytes {
		out.Format = validate.Bytes
	}
	if o.Stdout {
		out.Path = validate.Stdout
	}
	if t := o.Tolerance; t != nil {
		switch {
		case t.ULP != nil:
			out.Tolerance = validate.Tolerance{Rule: validate.ULP, ULP: uint64(*t.ULP)}
		case t.Relative != nil && t.Absolute != nil:
			out.Tolerance = validate.Tolerance{Rule: validate.Scaled, Rel: *t.Relative, Abs: *t.Absolute}
		case t.Relative != nil:
			out.Tolerance = validate.Tolerance{Rule: validate.Relative, Rel: *t.Relative}
		case t.Absolute != nil:
			out.Tolerance = validate.Tolerance{Rule: validate.Absolute, Abs: *t.Absolute}
		}
	}
	return out
}
