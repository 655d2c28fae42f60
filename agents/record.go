package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rooflab/rooflab/agents/build"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
)

// Record says what a run was made of.
type Record struct {
	Rooflab string            `json:"rooflab"`
	Go      string            `json:"go"`
	Began   time.Time         `json:"began"`
	Machine datasets.Machine  `json:"machine"`
	Target  string            `json:"target_sha256"` // of the description
	Sources map[string]string `json:"sources_sha256"`
	Advisor string            `json:"advisor"`
	Seed    uint64            `json:"seed"` // of bootstraps; inputs have seeds of their own, drawn when they are made
	// Drawn are the sizes beside those of the target at which outputs were compared;
	// nil where there are none.
	Drawn *DrawnSizes `json:"drawn,omitempty"`
	// Model says how a language model is asked; nil where none is.
	Model *Parameters `json:"model,omitempty"`
	// Sandbox is the way in which commands are kept apart, Tools what the commands of
	// the target say of their versions, there.
	Sandbox sandbox.Mechanism `json:"sandbox"`
	Tools   map[string]string `json:"tools"`
}

// Parameters say how a language model is asked. What is asked is in the journal,
// word by word, and by its SHA-256 in each round.
type Parameters struct {
	Answers      int      `json:"answers"` // of a round
	PromptTokens int      `json:"prompt_tokens"`
	AnswerTokens int      `json:"answer_tokens"`
	Temperature  *float64 `json:"temperature"` // nil: the model's own
}

func newRecord(t *target.Target, opt Options) (Record, error) {
	description, err := os.ReadFile(t.Path)
	if err != nil {
		return Record{}, fmt.Errorf("reading the target again: %w", err)
	}
	r := Record{Rooflab: version(), Go: runtime.Version(), Began: time.Now().UTC(), Machine: host.Machine(), Target: hash(description),
		Sources: map[string]string{}, Advisor: opt.Advisor.Name(), Seed: opt.Seed}
	for _, s := range t.Sources() {
		r.Sources[s.Path] = hash([]byte(s.Text))
	}
	if a, ok := opt.Advisor.(interface{ Parameters() Parameters }); ok {
		p := a.Parameters()
		r.Model = &p
	}
	return r, nil
}

// with adds what is known of the sandbox and of the tools in it.
func (r Record) with(ctx context.Context, w *Workbench) (Record, error) {
	r.Sandbox, r.Tools = w.box.Mechanism(), map[string]string{}
	if len(w.Drawn.Sizes) > 0 {
		drawn := w.Drawn
		r.Drawn = &drawn
	}
	for _, name := range tools(w.Target) {
		o, err := w.box.Run(ctx, sandbox.Command{Argv: []string{name, "--version"}, ReadOnly: w.mounts(),
			Limits: sandbox.Limits{Wall: 30 * time.Second, Disk: 1 << 20, Output: 64 << 10}})
		var start *sandbox.StartError
		switch {
		case errors.As(err, &start):
			r.Tools[name] = "not there"
		case err != nil:
			return r, fmt.Errorf("asking %s for its version: %w", name, err)
		default:
			r.Tools[name] = versionLine(o)
		}
	}
	return r, nil
}

// versionLine is what a program says of its version: the first line and, of
// those of NVIDIA, the one with the release.
func versionLine(o sandbox.Outcome) string {
	if !o.OK() {
		return "unknown: --version ended with " + o.String()
	}
	var out []string
	for line := range strings.Lines(string(o.Stdout) + string(o.Stderr)) {
		if line = strings.TrimSpace(line); line != "" && (len(out) == 0 || strings.Contains(line, ", release ")) {
			out = append(out, line)
		}
	}
	return turnedDown("", "", strings.Join(out, "; ")).Detail
}

// compilers are looked for in scripts.
var compilers = append(build.Compilers(), "make", "cmake", "ninja")

// tools are the programs that a target's commands name, in their order. Behind
// make and cmake is the machine's own compiler.
func tools(t *target.Target) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	commands := slices.Clone(t.Build.Commands)
	if p := t.Profile; p != nil {
		commands = append(commands, p.Command)
		if p.Collector == "valgrind" {
			add("valgrind")
		}
	}
	for _, c := range append(commands, t.Inputs.Generate, t.Run.Command) {
		for i, word := range c {
			for _, w := range strings.Fields(word) {
				if slices.Contains(compilers, w) {
					add(w)
				}
			}
			if i == 0 && !strings.Contains(word, "/") && !strings.Contains(word, "{") && !slices.Contains(t.Build.Products, word) && !slices.Contains(shells, word) {
				add(word)
			}
		}
	}
	if slices.Contains(out, "make") || slices.Contains(out, "cmake") {
		add("cc")
		add("c++")
	}
	slices.Sort(out)
	return out
}

// shells run what is asked of others, and some have no version to tell.
var shells = []string{"sh", "bash", "dash", "env", "nice", "taskset", "timeout", "true", "cp", "cat"}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// version is the version of the program, with the revision that it was built
// from where the build knows.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value
		}
	}
	return strings.TrimSpace(v)
}
