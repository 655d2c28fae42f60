// Package valgrind is the collector "valgrind": it runs a command under
// Callgrind or Cachegrind, which count instructions, and on demand cache
// misses and mispredicted branches of a simulated processor. The counts are
// exact and nearly the same in every run, on any machine; the command takes 20
// to 100 times as long. In flows a command, out flow the runs that the formats
// "callgrind" and "cachegrind" make of what the tool writes: one for each
// process.
package valgrind

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

const fix = "install it: apt install valgrind, dnf install valgrind"

func init() {
	collectors.RegisterCollector(collectors.Collector{
		Name:    "valgrind",
		About:   "instructions, simulated cache misses and branches of a command, exactly, by Callgrind or Cachegrind",
		Version: 1,
		New:     newValgrind,
		Check: func(context.Context) error {
			if _, missing := process.Tool("valgrind", fix); missing != nil {
				return missing
			}
			return nil
		},
	})
}

type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

type options struct {
	tool                           string
	cache, branch, instr, children bool
	extra, inputs                  list
	toggle                         string
}

func newValgrind(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	o := &options{}
	fs.StringVar(&o.tool, "tool", "callgrind", "callgrind (a call graph with inclusive costs) or cachegrind (lines)")
	fs.BoolVar(&o.cache, "cache", true, "simulate caches: misses of the first and the last level")
	fs.BoolVar(&o.branch, "branch", true, "simulate branch prediction")
	fs.BoolVar(&o.instr, "instructions", false, "costs of each instruction, not only of lines (callgrind)")
	fs.BoolVar(&o.children, "children", false, "also measure the programs that the command starts, each a run of its own")
	fs.StringVar(&o.toggle, "function", "", "count only while this function runs (callgrind)")
	fs.Var(&o.extra, "option", "another option for valgrind, such as --LL=33554432,16,64 (may be given several times)")
	fs.Var(&o.inputs, "input", "a file that the command reads: its content goes into the input hash (may be given several times)")
	return o.collect
}

func (o *options) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	if len(job.Command) == 0 {
		return errors.New("no command to run: name it after --")
	}
	if o.tool != "callgrind" && o.tool != "cachegrind" {
		return fmt.Errorf("--tool %s: it is callgrind or cachegrind", o.tool)
	}
	if o.tool == "cachegrind" && (o.instr || o.toggle != "") {
		return errors.New("--instructions and --function are for --tool callgrind")
	}
	subject, err := process.Describe(ctx, job, o.inputs...)
	if err != nil {
		return err
	}
	run := subject.Run(o.tool, "", o.tool)
	valgrind, missing := process.Tool("valgrind", fix)
	if missing != nil {
		return subject.PutMissing(out, run, missing)
	}
	run.ToolVersion = strings.TrimPrefix(process.Ask(ctx, valgrind, "--version"), "valgrind-")
	dir, remove, err := process.Scratch("valgrind")
	if err != nil {
		return err
	}
	defer remove()
	r, err := process.Run(ctx, process.Command{Argv: append(o.command(valgrind, dir), job.Command...), Dir: job.Dir,
		Stdin: job.Stdin, Stdout: job.Stdout, Stderr: job.Stderr})
	if err != nil {
		return err
	}
	files := o.written(dir)
	if len(files) == 0 {
		run.Status, run.Error = datasets.RunFailed, fmt.Sprintf("valgrind ended with %s and wrote no profile: %s", r, failure(dir))
		return subject.Put(out, run)
	}
	p, err := subject.Read(ctx, o.tool, files...)
	if err != nil {
		return err
	}
	for _, run := range p.Runs {
		if run.ToolVersion == "" {
			run.ToolVersion = strings.TrimPrefix(process.Ask(ctx, valgrind, "--version"), "valgrind-")
		}
	}
	p.Failed(r)
	for _, run := range p.Runs {
		if why := failure(dir); run.Status == datasets.RunFailed && why != "" {
			run.Error += ": " + why
		}
	}
	return p.Write(out, r.Start)
}

// command is valgrind with its options; %p is the process's id.
func (o *options) command(valgrind, dir string) []string {
	yes := func(on bool) string {
		if on {
			return "yes"
		}
		return "no"
	}
	argv := []string{valgrind, "--tool=" + o.tool, "--log-file=" + filepath.Join(dir, "log.%p"),
		"--" + o.tool + "-out-file=" + filepath.Join(dir, "profile.%p"),
		"--cache-sim=" + yes(o.cache), "--branch-sim=" + yes(o.branch), "--trace-children=" + yes(o.children)}
	if o.tool == "callgrind" {
		argv = append(argv, "--compress-strings=yes", "--dump-line=yes", "--dump-instr="+yes(o.instr))
		if o.toggle != "" {
			argv = append(argv, "--toggle-collect="+o.toggle)
		}
	}
	return append(append(argv, o.extra...), "--")
}

// written lists the profiles that there are, without empty ones of programs
// that replaced themselves.
func (o *options) written(dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "profile.*"))
	if err != nil {
		return nil
	}
	sort.Strings(files)
	return files
}

var trouble = regexp.MustCompile(`(?m)^(?:==\d+== |valgrind: |vex )?(.*(?:unrecognised|unhandled instruction|Process terminating|cannot|can't|failed|No such|Illegal).*)$`)

// failure finds in valgrind's logs why it failed.
func failure(dir string) string {
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		return ""
	}
	for _, l := range logs {
		text := process.Tail(l, 1000)
		if strings.Contains(text, "unhandled instruction") || strings.Contains(text, "unrecognised instruction") || strings.Contains(text, "Unrecognised instruction") {
			return "this valgrind does not know an instruction of the program: build it without AVX-512 (-march=x86-64-v3), or use a newer valgrind"
		}
		if m := trouble.FindString(strings.ReplaceAll(text, " | ", "\n")); m != "" {
			return strings.TrimSpace(m)
		}
	}
	return ""
}
