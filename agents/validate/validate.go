// Package validate says whether a candidate still computes what the original
// does. In flow how both are run, how inputs are made and which outputs count;
// out flows a verdict: for each fresh input the outputs side by side, and every
// reason for which the candidate is turned down.
//
// Inputs are made for each check from seeds that are drawn then, and recorded:
// nobody knew them when the candidate was written. The candidate runs in a
// sandbox that has its own files and the input and nothing else; the original
// runs after it, so that while the candidate runs there is no answer to find.
package validate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/sandbox"
)

// Program is how a program is run. In Argv and Env, {seed} and {name} of each
// parameter of an input are replaced by their values.
type Program struct {
	Argv     []string
	Env      []string
	Put      []sandbox.Copy // the program itself, and what it needs besides the input
	ReadOnly []sandbox.Mount
	Limits   sandbox.Limits
	GPU      bool
}

// Stdout is the path of the output that is what a program prints.
const Stdout = "-"

// Output is a result of a program.
type Output struct {
	Path   string // relative to the work folder, or Stdout
	Format Format
	Tolerance
	// Ignore are regular expressions; lines of a Text that one of them matches are
	// left out on both sides, as those that say how long it took.
	Ignore []string
}

func (o Output) check() error {
	if _, ok := sizes[o.Format]; !ok && o.Format != Text {
		return fmt.Errorf("the output %s has the format %q: it is %q (bytes), %q, %q, %q, or int8 to uint64", o.Path, o.Format, Bytes, Text, Float32, Float64)
	}
	if o.Path == "" || o.Path != Stdout && !filepath.IsLocal(o.Path) {
		return fmt.Errorf("the output %q is neither %q (what is printed) nor a path inside of the work folder", o.Path, Stdout)
	}
	if o.Format == Bytes && o.Rule != Exact {
		return fmt.Errorf("the output %s is compared as bytes, for which there is no tolerance: say which numbers they are", o.Path)
	}
	if err := o.Tolerance.check(); err != nil {
		return fmt.Errorf("the output %s: %w", o.Path, err)
	}
	_, err := o.ignored()
	return err
}

func (o Output) ignored() ([]*regexp.Regexp, error) {
	var list []*regexp.Regexp
	for _, s := range o.Ignore {
		re, err := regexp.Compile(s)
		if err != nil {
			return nil, fmt.Errorf("the lines that are ignored in the output %s: %w", o.Path, err)
		}
		list = append(list, re)
	}
	return list, nil
}

// Input is one kind of input: values of parameters, as sizes.
type Input map[string]string

// Check is what to compare.
type Check struct {
	Original, Candidate Program
	// Generator makes the input: what it leaves in its work folder is put into those
	// of the others. Nil where the programs make it themselves, from {seed}.
	Generator *Program
	Inputs    []Input // nil is one without parameters
	Runs      int     // fresh inputs of each kind, 0 is 3
	// Once are kinds of input that are checked on one fresh input each, after the
	// first of each of Inputs: sizes beside those that matter, say.
	Once    []Input
	Outputs []Output
	// Seeds are used in their order, to repeat an earlier check. Nil draws them.
	Seeds []uint64
	// Scratch are folders in the work folder, such as the caches of a driver, in
	// which a candidate may leave other files than the original.
	Scratch []string
	Secrets []string // paths of this machine that the candidate has no reason to name: reading them is reported
}

// Kind is why a candidate is turned down.
type Kind string

const (
	Failed       Kind = "failed"           // it exited with another status than 0 or by a signal
	Exceeded     Kind = "exceeded a limit" // time, memory, output, processes, files
	Differs      Kind = "wrong result"
	MissingFile  Kind = "missing output"
	ExtraFile    Kind = "extra output" // files that the original does not leave
	WroteOutside Kind = "wrote outside"
	ReadSecret   Kind = "read a secret" // or looked for outputs before it had made them
	Network      Kind = "network"
	LeftRunning  Kind = "left processes running"
)

// Reason turns a candidate down.
type Reason struct {
	Kind Kind
	Text string
}

func (r Reason) String() string { return string(r.Kind) + ": " + r.Text }

// Case is one input.
type Case struct {
	Input       Input
	Seed        uint64
	Candidate   sandbox.Outcome
	Original    sandbox.Outcome // zero where the candidate was turned down before
	Comparisons []Comparison
	Reasons     []Reason // none: the candidate is right
	made        string   // hash of what the generator made, "" where there is none
}

// Verdict is what a check found.
type Verdict struct {
	Cases []Case // up to the first that turns the candidate down
	// Unstable is how two runs of the original on one input differ; "" where they
	// do not. A candidate cannot be held to what the original does not hold.
	Unstable string
	// Fixed says that inputs of different seeds are the same, and so not fresh; ""
	// where they are not.
	Fixed string
}

// OK reports whether the candidate was right in all cases.
func (v Verdict) OK() bool {
	return len(v.Cases) > 0 && !slices.ContainsFunc(v.Cases, func(c Case) bool { return len(c.Reasons) > 0 })
}

// Reasons are those of all cases.
func (v Verdict) Reasons() []Reason {
	var all []Reason
	for _, c := range v.Cases {
		all = append(all, c.Reasons...)
	}
	return all
}

// Seeds are those of all cases.
func (v Verdict) Seeds() []uint64 {
	var all []uint64
	for _, c := range v.Cases {
		all = append(all, c.Seed)
	}
	return all
}

// String says in a line what was found.
func (v Verdict) String() string {
	if v.OK() {
		return fmt.Sprintf("right on %d fresh inputs", len(v.Cases))
	}
	var texts []string
	for _, r := range v.Reasons() {
		texts = append(texts, r.String())
	}
	if len(texts) == 0 {
		return "not checked"
	}
	return strings.Join(texts, "; ")
}

// OriginalError says that the original, or the generator of inputs, does not
// run: no candidate can be compared with it.
type OriginalError struct {
	What    string
	Seed    uint64
	Input   Input
	Outcome sandbox.Outcome
	Text    string
}

func (e *OriginalError) Error() string {
	with := fmt.Sprintf("the seed %d", e.Seed)
	for _, name := range slices.Sorted(maps.Keys(e.Input)) {
		with += fmt.Sprintf(" and the %s %s", name, e.Input[name])
	}
	s := fmt.Sprintf("the %s, with %s: %s", e.What, with, e.Text)
	if text := strings.TrimSpace(string(e.Outcome.Stderr)); text != "" {
		s += "\n" + text[:min(len(text), 1000)]
	}
	return s
}

// Run checks a candidate, up to the first input on which it is turned down.
func Run(ctx context.Context, box *sandbox.Box, c Check) (Verdict, error) {
	var v Verdict
	if len(c.Outputs) == 0 {
		return v, errors.New("checking a candidate: no output is named by which it could be told right from wrong")
	}
	for _, o := range c.Outputs {
		if err := o.check(); err != nil {
			return v, fmt.Errorf("checking a candidate: %w", err)
		}
	}
	inputs, runs := c.Inputs, c.Runs
	if len(inputs) == 0 {
		inputs = []Input{{}}
	}
	if runs == 0 {
		runs = 3
	}
	all := slices.Concat(inputs, c.Once)
	for range runs - 1 {
		all = append(all, inputs...)
	}
	if c.Seeds != nil && len(c.Seeds) < len(all) {
		return v, fmt.Errorf("checking a candidate: %d seeds are given for %d inputs", len(c.Seeds), len(all))
	}
	for at, in := range all {
		one := Case{Input: in}
		if c.Seeds != nil {
			one.Seed = c.Seeds[at]
		} else {
			seed, err := draw()
			if err != nil {
				return v, err
			}
			one.Seed = seed
		}
		unstable, err := c.one(ctx, box, &one, at == 0)
		if err != nil {
			return v, err
		}
		if unstable != "" {
			v.Unstable = unstable
		}
		v.Cases = append(v.Cases, one)
		v.Fixed = fixed(v.Cases)
		if len(one.Reasons) > 0 {
			return v, nil
		}
	}
	return v, nil
}

// draw draws a seed that an int of C holds and that is not 0.
func draw() (uint64, error) {
	var b [4]byte
	for {
		if _, err := rand.Read(b[:]); err != nil {
			return 0, fmt.Errorf("drawing a seed: %w", err)
		}
		if seed := uint64(binary.LittleEndian.Uint32(b[:]) >> 1); seed != 0 {
			return seed, nil
		}
	}
}

// one checks one input. Of the first, the original runs twice.
func (c Check) one(ctx context.Context, box *sandbox.Box, one *Case, first bool) (unstable string, err error) {
	dir, err := os.MkdirTemp("", "rooflab-validate-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	var input []sandbox.Copy
	if c.Generator != nil {
		made := filepath.Join(dir, "input")
		if _, err := c.trusted(ctx, box, "generator of inputs", *c.Generator, one, nil, made); err != nil {
			return "", err
		}
		if one.made, err = content(made); err != nil {
			return "", err
		}
		input = []sandbox.Copy{{From: made}}
	}
	got := filepath.Join(dir, "got")
	cmd := c.Candidate.command(one, input, got)
	watch := &sandbox.Watch{Secrets: append([]string{dir}, c.Secrets...)}
	cmd.KeepOnly = c.files() // of what else it leaves, the names are enough
	watch.Outputs, cmd.Watch = cmd.KeepOnly, watch
	if one.Candidate, err = box.Run(ctx, cmd); err != nil {
		var start *sandbox.StartError
		if !errors.As(err, &start) {
			return "", err
		}
		one.turnDown(Failed, err.Error())
	}
	if err := c.looked(ctx, box, one, input, watch); err != nil {
		return "", err
	}
	one.behaviour()
	if len(one.Reasons) > 0 {
		return "", nil
	}
	want := filepath.Join(dir, "want")
	if one.Original, err = c.trusted(ctx, box, "original", c.Original, one, input, want); err != nil {
		return "", err
	}
	if one.Comparisons, err = c.compare(one, want, one.Original, got, one.Candidate); err != nil {
		return "", err
	}
	one.judge(c.Scratch)
	if !first {
		return "", nil
	}
	again := filepath.Join(dir, "again")
	o, err := c.trusted(ctx, box, "original", c.Original, one, input, again)
	if err != nil {
		return "", err
	}
	pairs, err := c.compare(one, want, one.Original, again, o)
	if err != nil {
		return "", err
	}
	for _, p := range pairs {
		if !p.OK() {
			return "two runs of the original on one input: " + p.String(), nil
		}
	}
	return "", nil
}

// command is how a program is run on an input.
func (p Program) command(one *Case, input []sandbox.Copy, keep string) sandbox.Command {
	var pairs []string
	for k, v := range one.Input {
		pairs = append(pairs, "{"+k+"}", v)
	}
	r := strings.NewReplacer(append(pairs, "{seed}", strconv.FormatUint(one.Seed, 10))...)
	fill := func(list []string) []string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = r.Replace(s)
		}
		return out
	}
	return sandbox.Command{Argv: fill(p.Argv), Env: fill(p.Env), Put: slices.Concat(input, p.Put), ReadOnly: p.ReadOnly,
		Limits: p.Limits, GPU: p.GPU, Keep: keep}
}

// trusted runs what has to work.
func (c Check) trusted(ctx context.Context, box *sandbox.Box, what string, p Program, one *Case, input []sandbox.Copy, keep string) (sandbox.Outcome, error) {
	o, err := box.Run(ctx, p.command(one, input, keep))
	if err != nil {
		return o, fmt.Errorf("running the %s: %w", what, err)
	}
	if !o.OK() {
		return o, &OriginalError{What: what, Seed: one.Seed, Input: one.Input, Outcome: o, Text: o.String()}
	}
	return o, nil
}

// files are the outputs that are files.
func (c Check) files() []string {
	out := []string{}
	for _, o := range c.Outputs {
		if o.Path != Stdout {
			out = append(out, filepath.ToSlash(filepath.Clean(o.Path)))
		}
	}
	return out
}

// looked takes it off a candidate that it looked for outputs where the original
// does so as well, as a program that goes on from what it finds.
func (c Check) looked(ctx context.Context, box *sandbox.Box, one *Case, input []sandbox.Copy, watch *sandbox.Watch) error {
	look := func(a sandbox.Attempt) bool { return a.Kind == "look" }
	if !slices.ContainsFunc(one.Candidate.Attempts, look) {
		return nil
	}
	cmd := c.Original.command(one, input, "")
	cmd.Watch = watch
	o, err := box.Run(ctx, cmd)
	if err != nil {
		return fmt.Errorf("running the original: %w", err)
	}
	one.Candidate.Attempts = slices.DeleteFunc(one.Candidate.Attempts, func(a sandbox.Attempt) bool {
		return look(a) && slices.ContainsFunc(o.Attempts, func(b sandbox.Attempt) bool { return look(b) && b.Path == a.Path })
	})
	return nil
}

func (c *Case) turnDown(k Kind, text string) { c.Reasons = append(c.Reasons, Reason{k, text}) }

// behaviour turns the candidate down for how it ended and what it tried.
func (c *Case) behaviour() {
	o := c.Candidate
	for _, a := range o.Attempts {
		kind := map[string]Kind{"write": WroteOutside, "read": ReadSecret, "look": ReadSecret, "network": Network}[a.Kind]
		c.turnDown(kind, a.String())
	}
	if o.LeftBehind > 0 {
		c.turnDown(LeftRunning, fmt.Sprintf("%d processes still ran when it had ended", o.LeftBehind))
	}
	switch {
	case o.End == "" || o.OK():
		return
	case o.End == sandbox.Exited || o.End == sandbox.Signalled:
		text := o.String()
		if said := strings.TrimSpace(string(o.Stderr)); said != "" {
			text += ": " + said[:min(len(said), 500)]
		}
		c.turnDown(Failed, text)
	default:
		c.turnDown(Exceeded, o.String())
	}
}

// judge turns the candidate down for what it left, outside of folders that are
// nobody's business.
func (c *Case) judge(scratch []string) {
	for _, p := range c.Comparisons {
		switch {
		case p.Missing:
			c.turnDown(MissingFile, p.String())
		case !p.OK():
			c.turnDown(Differs, p.String())
		}
	}
	var extra []string
	for _, f := range c.Candidate.Files {
		if _, ok := c.Original.File(f.Path); !ok && !slices.ContainsFunc(scratch, func(dir string) bool { return strings.HasPrefix(f.Path, dir+"/") }) {
			extra = append(extra, f.Path)
		}
	}
	if n := len(extra); n > 0 {
		c.turnDown(ExtraFile, fmt.Sprintf("it left %d files that the original does not: %s", n, strings.Join(extra[:min(n, 10)], ", ")))
	}
}

func (c Check) compare(one *Case, wantDir string, want sandbox.Outcome, gotDir string, got sandbox.Outcome) ([]Comparison, error) {
	var all []Comparison
	for _, out := range c.Outputs {
		if out.Path == Stdout {
			p, err := Compare(out, bytes.NewReader(want.Stdout), bytes.NewReader(got.Stdout))
			if err != nil {
				return nil, err
			}
			p.Output = "what is printed"
			all = append(all, p)
			continue
		}
		w, err := os.Open(filepath.Join(wantDir, out.Path))
		if errors.Is(err, os.ErrNotExist) {
			return nil, &OriginalError{What: "original", Seed: one.Seed, Input: one.Input, Outcome: want, Text: fmt.Sprintf("it left no file %s, which is named as its output", out.Path)}
		}
		if err != nil {
			return nil, err
		}
		p, err := compareFile(out, w, filepath.Join(gotDir, out.Path))
		w.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func compareFile(out Output, want io.Reader, path string) (Comparison, error) {
	g, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return Comparison{Output: out.Path, Tolerance: out.Tolerance, Missing: true}, nil
	}
	if err != nil {
		return Comparison{}, err
	}
	defer g.Close()
	return Compare(out, want, g)
}
