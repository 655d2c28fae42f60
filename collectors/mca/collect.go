package mca

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/llvm"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.RegisterCollector(collectors.Collector{
		Name:    "llvm-mca",
		About:   "simulates innermost loops on any processor that LLVM has a model of",
		Version: 1,
		Check: func(context.Context) error {
			_, err := llvm.Tool("llvm-mca", "")
			return err
		},
		New: flags,
	})
}

type settings struct {
	source, opt, std, options, clang, tool string
	cpus, triple, function                 string
	iterations                             int
	timeline, bottleneck                   bool
}

func flags(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	var s settings
	fs.StringVar(&s.source, "source", "", "`file` in C or C++, or assembly (.s, .S, .asm)")
	fs.StringVar(&s.cpus, "mcpu", "native", "`processors` with commas between them, or all that LLVM has a model of")
	fs.StringVar(&s.triple, "target", "", "`triple` of the target, aarch64-linux-gnu; without it this machine's")
	fs.StringVar(&s.opt, "opt", "2", "optimisation `level` of clang")
	fs.StringVar(&s.std, "std", "", "language `standard`")
	fs.StringVar(&s.options, "options", "", "more `flags` for clang, \"-march=skylake -DN=1000\"")
	fs.StringVar(&s.function, "function", "", "only loops of functions whose name contains this `text`")
	fs.IntVar(&s.iterations, "iterations", 100, "how many iterations of each loop are simulated")
	fs.BoolVar(&s.timeline, "timeline", false, "keep when each instruction is dispatched, executed and retired")
	fs.BoolVar(&s.bottleneck, "bottleneck", true, "have the simulation say what holds it up")
	fs.StringVar(&s.clang, "clang", "", "`program` to use as clang")
	fs.StringVar(&s.tool, "llvm-mca", "", "`program` to use as llvm-mca")
	return s.collect
}

func (s *settings) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	err := s.measure(ctx, job, out)
	if err != nil {
		return err
	}
	return nil
}

func (s *settings) measure(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	switch {
	case len(job.Command) > 0:
		return fmt.Errorf("it runs no command, found %q: name a source with --source", collectors.CommandLine(job.Command))
	case s.source == "":
		return errors.New("--source is needed")
	case s.iterations < 1 || s.iterations > 1_000_000:
		return fmt.Errorf("--iterations %d: between 1 and 1000000 are possible", s.iterations)
	case !slices.Contains([]string{"0", "1", "2", "3", "s", "z", "fast"}, s.opt):
		return fmt.Errorf("--opt %q: there are 0, 1, 2, 3, s, z and fast", s.opt)
	}
	format, err := collectors.Lookup("llvm-mca")
	if err != nil {
		return fmt.Errorf("reading what llvm-mca reports: %w", err)
	}
	subject, err := process.Describe(ctx, collectors.Job{Dir: job.Dir}, s.source)
	if err != nil {
		return err
	}
	subject.Command = s.again()
	tool, err := llvm.Tool("llvm-mca", s.tool)
	clang := ""
	if err == nil && !isAssembly(s.source) {
		clang, err = llvm.Tool("clang", s.clang)
	}
	run := subject.Run("llvm-mca", "", "llvm-mca")
	var missing *collectors.MissingError
	if errors.As(err, &missing) {
		missing.Mark(&run)
		return subject.Put(out, run)
	}
	if err != nil {
		return err
	}
	if run.ToolVersion, err = llvm.Version(ctx, tool); err != nil {
		return err
	}
	asm, argv, err := s.assembly(ctx, job.Dir, clang)
	var failed *llvm.FailedError
	if errors.As(err, &failed) {
		run.Status, run.Error = datasets.RunFailed, s.source+" was not translated: "+failed.Error()
		if err := subject.Put(out, run); err != nil {
			return err
		}
		return out.Put(&datasets.Attribute{Run: run.ID, Name: "build.log", Value: failed.Log})
	}
	if err != nil {
		return err
	}
	loops, text := s.regions(asm)
	if len(loops) == 0 && !Marked(asm) {
		run.Status, run.Error = datasets.RunEmpty, s.source+" has no loop to simulate: mark what is wanted with LLVM-MCA-BEGIN and LLVM-MCA-END"
		return subject.Put(out, run)
	}
	cpus, err := s.processors(ctx, tool)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rooflab-mca-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "marked.s")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	c := &simulation{settings: s, out: out, subject: subject, tool: tool, version: run.ToolVersion, format: format, file: file, loops: loops, build: argv,
		merged: &collectors.Merge{To: out}}
	return c.all(ctx, job, cpus)
}

func isAssembly(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".s", ".asm":
		return true
	}
	return false
}

func (s *settings) again() string {
	words := []string{"rooflab", "collect", "llvm-mca", "--mcpu", s.cpus, "--opt", s.opt, "--iterations", strconv.Itoa(s.iterations)}
	for _, f := range [][2]string{{"--target", s.triple}, {"--std", s.std}, {"--options", s.options}, {"--function", s.function}, {"--clang", s.clang}, {"--llvm-mca", s.tool}} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	if s.timeline {
		words = append(words, "--timeline")
	}
	return collectors.CommandLine(append(words, "--source", s.source))
}

// assembly reads or makes the assembly; argv is the command that made it.
func (s *settings) assembly(ctx context.Context, dir, clang string) (asm string, argv []string, err error) {
	path := s.source
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if isAssembly(s.source) {
		const most = 64 << 20
		if st, err := os.Stat(path); err == nil && st.Size() > most {
			return "", nil, fmt.Errorf("%s has more than 64 MiB: cut out what is to be simulated", s.source)
		}
		b, err := os.ReadFile(path)
		return string(b), nil, err
	}
	lang := llvm.Language(s.source)
	if lang != "c" && lang != "c++" && lang != "ir" {
		return "", nil, fmt.Errorf("%s is neither C, C++, LLVM IR nor assembly by its name", s.source)
	}
	argv = append([]string{clang, "-S", "-o", "-", "-O" + s.opt, "-gline-tables-only", "-fno-asynchronous-unwind-tables"}, llvm.Flags(lang, s.std)...)
	if s.triple != "" {
		argv = append(argv, "-target", s.triple)
	}
	argv = append(append(argv, strings.Fields(s.options)...), "--", s.source)
	b, _, err := llvm.Output(ctx, dir, argv...)
	return string(b), argv, err
}

// regions finds what is simulated, and the assembly with marks around it.
func (s *settings) regions(asm string) ([]Region, string) {
	if Marked(asm) {
		return nil, asm
	}
	loops := slices.DeleteFunc(Loops(asm), func(r Region) bool { return !strings.Contains(r.Function, s.function) })
	return loops, Mark(asm, loops)
}

func (s *settings) target() string {
	if s.triple != "" {
		return s.triple
	}
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
}

var cpuLine = regexp.MustCompile(`(?m)^  (\S+)\s+- Select the .* processor\.`)

// processors are those that the user names, checked, or all.
func (s *settings) processors(ctx context.Context, tool string) ([]string, error) {
	_, log, err := llvm.Output(ctx, "", append(s.mca(tool, "help"), os.DevNull)...)
	var failed *llvm.FailedError
	if errors.As(err, &failed) { // it finds nothing to simulate
		log, err = failed.Log, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking llvm-mca for its processors: %w", err)
	}
	var known []string
	for _, m := range cpuLine.FindAllStringSubmatch(log, -1) {
		known = append(known, m[1])
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("llvm-mca names no processors for %s: %s", s.target(), strings.TrimSpace(log))
	}
	if s.cpus == "all" {
		return known, nil
	}
	var cpus []string
	for _, c := range strings.Split(s.cpus, ",") {
		c = strings.TrimSpace(c)
		// llvm-mca takes an unknown name for the generic processor.
		if c != "native" && !slices.Contains(known, c) {
			return nil, fmt.Errorf("llvm-mca knows no processor %q for %s: there are %s", c, s.target(), strings.Join(known, ", "))
		}
		cpus = append(cpus, c)
	}
	return cpus, nil
}

func (s *settings) mca(tool, cpu string) []string {
	argv := []string{tool, "-mcpu=" + cpu}
	if s.triple != "" {
		argv = append(argv, "-mtriple="+s.triple)
	}
	return argv
}

// simulation runs llvm-mca for several processors.
type simulation struct {
	*settings
	out     *collectors.Output
	subject *process.Subject
	tool    string
	version string
	format  collectors.Format
	file    string
	loops   []Region
	build   []string
	merged  *collectors.Merge
}

func (c *simulation) all(ctx context.Context, job collectors.Job, cpus []string) error {
	simulated := 0
	for _, cpu := range cpus {
		fmt.Fprintf(job.Log, "%s\n", cpu)
		ok, err := c.one(ctx, cpu, c.cpus == "all")
		if err != nil {
			return err
		}
		if ok {
			simulated++
		}
	}
	if simulated == 0 {
		return fmt.Errorf("llvm-mca has a model of none of these processors for %s", c.target())
	}
	return nil
}

// one simulates one processor; skip leaves out one that LLVM has no model of.
func (c *simulation) one(ctx context.Context, cpu string, skip bool) (bool, error) {
	argv := append(c.mca(c.tool, cpu), "--json", "-iterations="+strconv.Itoa(c.iterations))
	if c.timeline {
		argv = append(argv, "-timeline")
	}
	if c.bottleneck {
		argv = append(argv, "-bottleneck-analysis")
	}
	started := time.Now()
	report, log, err := llvm.Output(ctx, "", append(argv, c.file)...)
	var failed *llvm.FailedError
	if errors.As(err, &failed) {
		if skip && strings.Contains(failed.Log, "scheduling information") {
			return false, nil
		}
		c.merged.Next()
		run := c.subject.Run("llvm-mca", c.version, "llvm-mca")
		run.Machine = 0 // it would be the processor that was simulated
		run.Status, run.Error = datasets.RunFailed, cpu+": "+failed.Error()
		return true, c.put(run, cpu, failed.Log)
	}
	if err != nil {
		return false, err
	}
	if strings.TrimSpace(string(report)) == "" {
		return false, fmt.Errorf("llvm-mca -mcpu=%s reports nothing: %s", cpu, log)
	}
	in, err := collectors.Open("llvm-mca -mcpu="+cpu, bytes.NewReader(report))
	if err != nil {
		return false, err
	}
	c.merged.Next()
	id := int64(0)
	c.merged.Run = func(run *datasets.Run) {
		c.subject.Complete(run, started)
		if run.ToolVersion == "" {
			run.ToolVersion = c.version
		}
		id = run.ID
	}
	nested := collectors.NewOutput("llvm-mca -mcpu="+cpu, c.merged)
	err = c.format.Parse(ctx, in, nested)
	c.merged.Run = nil
	c.out.Warnings, c.out.More = append(c.out.Warnings, nested.Warnings...), c.out.More+nested.More
	if err != nil {
		return false, err
	}
	return true, c.facts(id, cpu, log)
}

// put writes a run that no report speaks of.
func (c *simulation) put(run datasets.Run, cpu, log string) error {
	id := int64(0)
	c.merged.Run = func(r *datasets.Run) { id = r.ID }
	err := c.merged.Put(&run)
	c.merged.Run = nil
	if err != nil {
		return err
	}
	return c.facts(id, cpu, log)
}

// facts says what was simulated. The run's id is the final one.
func (c *simulation) facts(run int64, cpu, log string) error {
	if err := c.subject.PutAttributes(c.out, run); err != nil {
		return err
	}
	facts := [][2]string{{"target.cpu", cpu}, {"target.triple", c.target()}, {"iterations", strconv.Itoa(c.iterations)},
		{"source.path", c.source}, {"llvm-mca.log", strings.TrimSpace(log)}}
	if len(c.build) > 0 {
		facts = append(facts, [2]string{"build.command", collectors.CommandLine(c.build)})
	}
	for _, l := range c.loops {
		facts = append(facts, [2]string{"loop." + l.Name, strings.TrimPrefix(fmt.Sprintf("%s:%d label %s of %s", l.File, l.Line, l.Label, l.Function), ":0 ")})
	}
	for _, f := range facts {
		if f[1] == "" {
			continue
		}
		if err := c.out.Put(&datasets.Attribute{Run: run, Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	return nil
}
