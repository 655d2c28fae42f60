package target

import (
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/search"
)

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)

// target checks all that was read.
func (c *checker) target() {
	t := c.t
	if !plainName.MatchString(t.Name) {
		c.fault("name", "%q: give the target a name of letters, digits, . _ + -, which names its files", t.Name)
	}
	if !slices.Contains(Languages(), t.Language) {
		c.fault("language", "%q is none: take one of %q", t.Language, Languages())
	}
	c.sources()
	c.commands()
	c.inputs()
	c.outputs()
	c.profile()
	c.limits()
}

// sources reads the files and finds the regions in them.
func (c *checker) sources() {
	t := c.t
	if len(t.Files.Editable) == 0 {
		c.fault("sources.editable", "no file may be changed: name at least one source")
	}
	seen := map[string]bool{}
	read := func(key string, files []string, editable bool) {
		for _, f := range files {
			if seen[f] {
				c.fault(key, "%s is named twice: a file is editable or read-only", f)
				continue
			}
			seen[f] = true
			text, err := edit.Read(t.Dir, f)
			if err == nil && path.Clean(f) != f {
				err = fmt.Errorf("%q: write it as %q", f, path.Clean(f))
			}
			if err != nil {
				c.fault(key, "%s", sourceFault(f, err))
				continue
			}
			s := edit.Source{Path: f, Text: text}
			if editable && len(t.Hot) == 0 {
				s.Editable = edit.All(text)
			}
			t.sources = append(t.sources, s)
		}
	}
	read("sources.editable", t.Files.Editable, true)
	read("sources.read_only", t.Files.ReadOnly, false)
	for i, r := range t.Hot {
		c.region(fmt.Sprintf("hot[%d]", i), r)
	}
}

// sourceFault says what is wrong with a source.
func sourceFault(file string, err error) string {
	if r := (*edit.Rejection)(nil); errors.As(err, &r) {
		return fmt.Sprintf("%s: %s", file, r.Detail)
	}
	return err.Error() + ": paths are relative to the folder of this file"
}

// region finds the lines of a hot region.
func (c *checker) region(key string, r Region) {
	if !slices.Contains(c.t.Files.Editable, r.File) {
		c.fault(key+".file", "%q is not among sources.editable: a hot region is what may be changed", r.File)
		return
	}
	i := slices.IndexFunc(c.t.sources, func(s edit.Source) bool { return s.Path == r.File })
	if i < 0 {
		return // it could not be read, which is said
	}
	s := &c.t.sources[i]
	last := edit.All(s.Text)[0].End
	var at edit.Range
	switch {
	case (r.Function == "") == (len(r.Lines) == 0):
		c.fault(key, "give either function or lines")
		return
	case r.Function != "":
		var names []string
		var found []edit.Function
		for _, f := range edit.Functions(s.Text) {
			names = append(names, f.Name)
			if f.Name == r.Function || strings.HasSuffix(f.Name, "::"+r.Function) {
				found = append(found, f)
			}
		}
		switch {
		case len(found) == 0 && len(names) == 0:
			c.fault(key+".function", "no function is found in %s: give lines", r.File)
			return
		case len(found) == 0:
			c.fault(key+".function", "%s has no function %q: it has %s", r.File, r.Function, strings.Join(names, ", "))
			return
		case len(found) > 1:
			c.fault(key+".function", "%s has %d functions %q, the first at lines %s: give lines", r.File, len(found), r.Function, found[0].Lines)
			return
		}
		at = found[0].Lines
	case len(r.Lines) != 2 || r.Lines[0] < 1 || r.Lines[1] < r.Lines[0] || r.Lines[1] > last:
		c.fault(key+".lines", "%v: give the first and the last line, within 1 to %d of %s", r.Lines, last, r.File)
		return
	default:
		at = edit.Range{Start: r.Lines[0], End: r.Lines[1]}
	}
	for _, o := range s.Editable {
		if at.Start <= o.End && o.Start <= at.End {
			c.fault(key, "lines %s and %s of %s overlap: make one region of them", o, at, r.File)
			return
		}
	}
	s.Editable = append(s.Editable, at)
}

// commands checks that what is needed is there and which placeholders it has.
func (c *checker) commands() {
	t := c.t
	if len(t.Build.Commands) == 0 {
		c.fault("build.commands", `there is none: give at least one, such as [["cc", "-O2", "-o", "heat", "heat.c"]]`)
	}
	for _, b := range t.Build.Commands {
		c.command("build.commands", b)
	}
	if len(t.Build.Products) == 0 {
		c.fault("build.products", `there is none: name the files that the build makes and a run needs, such as ["heat"]`)
	}
	for _, f := range t.Build.Products {
		if !local(f) {
			c.fault("build.products", "%q must be a path below the folder of the sources, written as short as it can be", f)
		} else if c.source(f) {
			c.fault("build.products", "%s is a source: a product is made by the build", f)
		}
	}
	c.command("run.command", t.Run.Command, Seed, Size)
	c.files("run.files", t.Run.Files)
	for _, dir := range t.Run.Cache {
		if !local(dir) || dir == "." {
			c.fault("run.cache", "%q must be a folder below that which the program runs in, written as short as it can be", dir)
		}
		for _, o := range t.Outputs {
			if o.File == dir || strings.HasPrefix(o.File, dir+"/") {
				c.fault("run.cache", "the output %s is in %s, which runs are given: keep outputs and caches apart", o.File, dir)
			}
		}
	}
	for name := range t.Run.Environment {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			c.fault("run.environment", "%q is no name of a variable", name)
		}
	}
	if t.Reference != nil {
		c.command("reference.command", t.Reference.Command, Seed, Size)
		c.files("reference.files", t.Reference.Files)
	}
	if t.Inputs.Generate != nil {
		c.command("inputs.generate", t.Inputs.Generate, Seed, Size)
	}
}

// files checks that files are there; they may be of any size and content.
func (c *checker) files(key string, files []string) {
	for _, f := range files {
		if !local(f) {
			c.fault(key, "%q must be a path below the folder of this file, written as short as it can be", f)
		} else if err := edit.Regular(c.t.Dir, f); err != nil {
			c.fault(key, "%s", sourceFault(f, err))
		}
	}
}

// local says that a path is below where it is, in its shortest form.
func local(p string) bool {
	return filepath.IsLocal(p) && path.Clean(p) == p && !strings.Contains(p, `\`)
}

// source says that a file is among the sources.
func (c *checker) source(f string) bool {
	return slices.Contains(c.t.Files.Editable, f) || slices.Contains(c.t.Files.ReadOnly, f)
}

func (c *checker) command(key string, cmd Command, allowed ...Placeholder) {
	if len(cmd) == 0 || cmd[0] == "" {
		c.fault(key, `there is no program: give a list of arguments, the program first`)
		return
	}
	var names []string
	for _, p := range allowed {
		names = append(names, "{"+string(p)+"}")
	}
	have := "none is allowed here"
	if len(names) > 0 {
		have = "here may stand " + strings.Join(names, ", ")
	}
	for _, a := range cmd {
		if strings.ContainsRune(a, 0) {
			c.fault(key, "the argument %q has a NUL", a)
		}
		for _, s := range braces.FindAllString(a, -1) {
			if p := strings.Trim(s, "{}"); p != "" && !slices.Contains(allowed, Placeholder(p)) {
				c.fault(key, `%s is no placeholder: %s; braces are written "{{" and "}}"`, s, have)
			}
		}
	}
}

// inputs checks that inputs are fresh.
func (c *checker) inputs() {
	in, run := c.t.Inputs, c.t.Run.Command.placeholders()
	gen := in.Generate.placeholders()
	fresh := in.Generate != nil && gen[Seed] || run[Seed]
	switch {
	case in.Fixed && (in.Generate != nil || run[Seed]):
		c.fault("inputs.fixed", "it contradicts inputs.generate or {seed} in run.command, which make inputs: leave one of them out")
	case in.Fixed && c.has("inputs.per_run"):
		c.fault("inputs.per_run", "it contradicts inputs.fixed: there is one input")
	case !in.Fixed && in.Generate != nil && !gen[Seed]:
		c.fault("inputs.generate", "it has no {seed}, so that all inputs would be the same: pass the seed to it")
	case !in.Fixed && !fresh && len(c.t.Run.Command) > 0:
		c.fault("run.command", "no input varies: give inputs.generate with {seed}, pass {seed} here, or say inputs.fixed = true")
	}
	if c.has("inputs.per_run") && (in.PerRun < 1 || in.PerRun > 1000) {
		c.fault("inputs.per_run", "%d: give 1 to 1000", in.PerRun)
	}
	sized := gen[Size] || run[Size]
	switch {
	case sized && len(in.Sizes) == 0:
		c.fault("inputs.sizes", "a command has {size}, and there are no sizes: give at least one")
	case !sized && len(in.Sizes)+len(in.Other) > 0:
		c.fault("inputs", "there are sizes, and no command has {size}: pass it to inputs.generate or run.command")
	}
	seen := map[string]bool{}
	for _, s := range append(slices.Clone(in.Sizes), in.Other...) {
		if seen[s] || s == "" {
			c.fault("inputs", "the size %q is empty or there twice: give each once, in sizes or in other_sizes", s)
		}
		seen[s] = true
	}
	c.drawn()
}

// outputs checks what is compared.
func (c *checker) outputs() {
	if len(c.t.Outputs) == 0 {
		c.fault("output", `nothing is compared, so that any program would be right: give an [[output]] with stdout = true or file = "..."`)
	}
	seen := map[string]bool{}
	for i, o := range c.t.Outputs {
		key := fmt.Sprintf("output[%d]", i)
		switch {
		case o.Stdout == (o.File != ""):
			c.fault(key, `give either stdout = true or file = "..."`)
			continue
		case seen[o.Name()]:
			c.fault(key, "%s is compared twice: keep one", o.Name())
		case !o.Stdout && !local(o.File):
			c.fault(key+".file", "%q must be a path below the folder that the program runs in, written as short as it can be", o.File)
		case c.source(o.File):
			c.fault(key+".file", "%s is a source: an output is written by the program", o.File)
		}
		seen[o.Name()] = true
		if o.Format != "" && !slices.Contains(Formats(), o.Format) {
			c.fault(key+".format", "%q is none: take one of %q", o.Format, Formats())
		}
		if o.Tolerance != nil {
			c.tolerance(key+".tolerance", o)
		}
		if len(o.Ignore) > 0 && o.Format != FormatText {
			c.fault(key+".ignore", `lines are those of a text: say format = "text"`)
		}
		for _, re := range o.Ignore {
			if _, err := regexp.Compile(re); err != nil {
				c.fault(key+".ignore", "%q is no regular expression: %v", re, err)
			}
		}
	}
}

func (c *checker) tolerance(key string, o Output) {
	t := *o.Tolerance
	if o.Format == "" || o.Format == FormatBytes {
		c.fault(key, `bytes have no tolerance: say format = "text", "float32" or "float64"`)
	}
	if near := t.Relative != nil || t.Absolute != nil; near == (t.ULP != nil) {
		c.fault(key, "give relative, absolute or both, or ulp alone")
	}
	for _, n := range []struct {
		name  string
		value *float64
	}{{"relative", t.Relative}, {"absolute", t.Absolute}} {
		if v := n.value; v != nil && (!(*v > 0) || math.IsInf(*v, 0) || n.name == "relative" && *v >= 1) {
			c.fault(key, "%s = %g: give a number above 0 (and below 1, if it is relative); without a tolerance outputs are compared bit for bit", n.name, *v)
		}
	}
	if t.ULP != nil && (*t.ULP < 1 || *t.ULP > 1<<20) {
		c.fault(key, "ulp = %d: give 1 to %d", *t.ULP, 1<<20)
	}
	if t.ULP != nil && o.Format != "" && o.Format != FormatBytes && o.Format != FormatFloat32 && o.Format != FormatFloat64 {
		c.fault(key, "ulp is of float32 and float64, not of %s: take relative or absolute", o.Format)
	}
}

func (c *checker) profile() {
	p := c.t.Profile
	if p == nil {
		return
	}
	if p.Size != "" && len(c.t.Inputs.Sizes) == 0 {
		c.fault("profile.size", "the inputs have no sizes: give inputs.sizes, and {size} in inputs.generate or run.command")
	}
	if p.Collector != "" {
		if p.Command != nil || p.Import != "" || p.File != "" {
			c.fault("profile.collector", "it contradicts command, import and file: give a collector or a command")
		}
		return
	}
	c.command("profile.command", p.Command, Seed, Size, Profiled)
	given := p.Command.placeholders()[Profiled]
	switch {
	case len(p.Command) == 0:
	case given && p.File != "":
		c.fault("profile.file", "it contradicts {profile} in profile.command: the profile is written there")
	case !given && p.File == "":
		c.fault("profile.command", "where it writes the profile is not said: pass {profile} to it, or give profile.file")
	case p.File != "" && !filepath.IsLocal(p.File):
		c.fault("profile.file", "%q must be below the folder that the program runs in", p.File)
	}
}

// limits checks measurement, budget and sandbox.
func (c *checker) limits() {
	m, b, s := c.t.Measure, c.t.Budget, c.t.Sandbox
	if m.Metric != "" && m.Metric != Time && m.Metric != Energy {
		c.fault("measure.metric", "%q is none: take %q or %q", m.Metric, Time, Energy)
	}
	if c.has("measure.repeats") && (m.Repeats < 6 || m.Repeats > 10000 || m.Repeats%2 != 0) {
		c.fault("measure.repeats", "%d: give an even number, 6 to 10000", m.Repeats)
	}
	if c.has("measure.min_effect") && !(m.MinEffect > 0 && m.MinEffect < 1) {
		c.fault("measure.min_effect", "%g: give a part above 0 and below 1, such as 0.03 for 3 %%", m.MinEffect)
	}
	if c.has("measure.alpha") && !(m.Alpha > 0 && m.Alpha < 0.5) {
		c.fault("measure.alpha", "%g: give a probability above 0 and below 0.5", m.Alpha)
	}
	if _, err := search.Parse(c.t.Search.Strategy); err != nil {
		c.fault("search.strategy", "%v", err)
	}
	if _, err := search.Preferred(c.t.Search.Prefer); err != nil {
		c.fault("search.prefer", "%v", err)
	}
	if c.has("budget.rounds") && b.Rounds < 1 {
		c.fault("budget.rounds", "%d: give at least 1, or leave it out for no limit", b.Rounds)
	}
	if b.Tokens != nil && *b.Tokens < 1 {
		c.fault("budget.tokens", "%d: give at least 1, or leave it out for no limit", *b.Tokens)
	}
	if b.Money != nil && !(*b.Money >= 0 && !math.IsInf(*b.Money, 0)) {
		c.fault("budget.money", "%g: give 0 or more US dollars, or leave it out for no limit", *b.Money)
	}
	if c.has("sandbox.processes") && s.Processes < 1 {
		c.fault("sandbox.processes", "%d: give at least 1", s.Processes)
	}
	for _, p := range s.Read {
		if filepath.Clean(p) != p || !filepath.IsAbs(p) || p == "/" {
			c.fault("sandbox.read", "%q: give an absolute path below /, written as short as it can be", p)
		}
	}
}
