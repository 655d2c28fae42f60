// Package agentsrules is the evaluation agents-rules: what the optimizer with
// the advisor rules makes of the programs of agents/suite, and whether that is so.
//
// In flow the suite, time and seeds; out flow results of modeling/evaluation: for
// each program the speed-up over the original with its interval, at the size that
// was optimized for and at others, whether outputs are the same on fresh inputs,
// how long the loop took; and over all of them how many became faster, the
// geometric mean, the share of accepted candidates that are right, the
// evidence-aligned reasoning scores, and how many gains that the loop reports are
// not there.
//
// Nothing that the loop says is taken from it but the patch and the texts of the
// candidates that it accepted. They are put over fresh copies of the sources,
// built from nothing, run in turns with the original on inputs that are made
// then, and compared by statistics of another kind: the paired times of this
// package against the rank test of package measure.
package agentsrules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/modeling/change"
	"github.com/rooflab/rooflab/modeling/evaluation"
)

func init() {
	evaluation.Register(evaluation.Evaluation{
		Name: "agents-rules",
		Doc:  "the optimizer with the advisor rules on rooflab's suite of kernels and proxy applications: speed-ups, measured again apart from the loop (after Optimas 2025)",
		Run:  Run,
	})
}

// Settings say how much is done for a program.
type Settings struct {
	Rounds    int           `json:"rounds"`    // of the loop; 0 is the program's own
	Proposals int           `json:"proposals"` // of a round; 0 is agents.RulesProposals
	Box       time.Duration `json:"box"`       // time after which the loop begins nothing new
	Looks     []int         `json:"looks"`     // pairs of runs after which the times are looked at
	Others    int           `json:"others"`    // other sizes that are measured; 0 is all
	Repeats   int           `json:"repeats"`   // of the loop's measurements, at most; 0 is the program's own
	Inputs    int           `json:"inputs"`    // fresh ones of each size that the loop compares outputs on; 0 is the program's own
}

// Full and Quick are the settings without and with evaluation.Options.Quick.
var (
	Full  = Settings{Box: 8 * time.Minute, Looks: []int{12, 24, 48}}
	Quick = Settings{Rounds: 1, Proposals: 2, Inputs: 1, Box: 2 * time.Minute, Looks: []int{12}, Others: 1, Repeats: 8}
)

// Run evaluates the whole suite, or with Quick a few of its programs. What is
// done with a program is kept in o.Dir: the same call with the same folder, suite
// and rooflab goes on with the next.
func Run(ctx context.Context, o evaluation.Options) ([]evaluation.Result, error) {
	programs, settings := suiteOf(false), Full
	if o.Quick {
		programs, settings = suiteOf(true), Quick
	}
	dir := o.Dir
	if dir == "" {
		d, err := os.MkdirTemp("", "rooflab-agents-rules-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(d)
		dir = d
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	self, err := executable()
	if err != nil {
		return nil, err
	}
	var all []*Outcome
	for i, p := range programs {
		say := func(what string) { o.Progress(p.Name+": "+what, i, len(programs)) }
		out, err := one(ctx, p, dir, self, o.Seed, settings, say)
		if err != nil {
			return nil, fmt.Errorf("evaluating %s: %w", p.Name, err)
		}
		o.Progress(out.String(), i+1, len(programs))
		all = append(all, out)
	}
	return results(all, o.Seed), nil
}

// Outcome is what came of one program.
type Outcome struct {
	Name  string `json:"name"`
	Proxy bool   `json:"proxy"` // an application of several kernels
	// Failed is why there is no result: the machine has not what the program needs.
	Failed string `json:"failed,omitempty"`
	Loop   Loop   `json:"loop"`
	// Wrong are accepted candidates whose outputs differ, with how.
	Wrong []string `json:"wrong,omitempty"`
	// Again are the measurements of the patched program, the size that was
	// optimized for first; none where nothing was kept.
	Again []Again `json:"again,omitempty"`
}

// Loop is what the loop says of itself.
type Loop struct {
	Reported   float64  `json:"reported"` // speed-up; 1 where none is
	Faster     bool     `json:"faster"`   // it reports a gain
	Kept       []string `json:"kept"`
	Candidates int      `json:"candidates"`
	Accepted   int      `json:"accepted"` // right and faster, whether kept or outdone
	Seconds    float64  `json:"seconds"`
	Profiling  float64  `json:"profiling_seconds"` // part of Seconds
	Stopped    string   `json:"stopped"`
	Patch      string   `json:"patch,omitempty"`
	Scores     scores   `json:"scores"`
}

// String says in a line what came of it.
func (o *Outcome) String() string {
	switch {
	case o.Failed != "":
		return o.Name + ": not run: " + o.Failed
	case len(o.Again) == 0:
		return fmt.Sprintf("%s: nothing was kept after %.0f s", o.Name, o.Loop.Seconds)
	}
	return fmt.Sprintf("%s: the loop says %.3g times as fast; again: %s", o.Name, o.Loop.Reported, o.Again[0])
}

// one evaluates a program, or reads what came of it before.
func one(ctx context.Context, p program, dir, self string, seed uint64, s Settings, say func(string)) (*Outcome, error) {
	fresh, err := os.MkdirTemp("", "rooflab-suite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(fresh)
	description, err := p.unpack(filepath.Join(fresh, "loop"))
	if err != nil {
		return nil, err
	}
	key, err := digest(filepath.Join(fresh, "loop"), self, seed, s)
	if err != nil {
		return nil, err
	}
	// The name says what it is of: other sources, settings or another rooflab have
	// another folder.
	home := filepath.Join(dir, p.Name+"-"+key[:12])
	if data, err := os.ReadFile(filepath.Join(home, "outcome.json")); err == nil {
		out := &Outcome{}
		if err := json.Unmarshal(data, out); err == nil {
			say("was done before")
			return out, nil
		}
	}
	t, err := target.Load(description)
	if err != nil {
		return nil, err
	}
	if t.Budget.Time == 0 || t.Budget.Time.Value() > s.Box {
		t.Budget.Time = target.Duration(s.Box)
	}
	if s.Others > 0 {
		t.Inputs.Other = t.Inputs.Other[:min(len(t.Inputs.Other), s.Others)]
	}
	if s.Inputs > 0 {
		t.Inputs.PerRun = s.Inputs
	}
	out := &Outcome{Name: p.Name, Proxy: p.Proxy}
	res, err := agents.Optimize(ctx, t, agents.Options{
		Advisor: agents.Rules(s.Proposals, rules.Options{}), Dir: filepath.Join(home, "loop"), Rounds: s.Rounds, Seed: seed,
		Measure:  agents.MeasureOptions{Max: s.Repeats},
		Progress: func(e agents.Event) { say(e.String()) },
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		out.Failed = err.Error()
		return out, nil // it is not kept: the machine may have what is missing the next time
	}
	out.Loop = loopOf(res)
	if err := again(ctx, out, p, res, fresh, s, say); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, err
	}
	return out, os.WriteFile(filepath.Join(home, "outcome.json"), data, 0o644)
}

// accepted are the candidates that the loop takes to be right and faster.
func accepted(res *agents.Result) []*agents.Candidate {
	var out []*agents.Candidate
	for _, c := range res.Candidates() {
		if c.Program != nil && (c.Rejected == nil || c.Rejected.Reason == agents.Outdone) {
			out = append(out, c)
		}
	}
	return out
}

func loopOf(res *agents.Result) Loop {
	l := Loop{Reported: res.Speedup(), Candidates: len(res.Candidates()), Accepted: len(accepted(res)), Seconds: res.Spent, Profiling: profiling(res),
		Stopped: res.Stopped, Kept: []string{}, Scores: scoresOf(res.Scores)}
	for _, c := range res.Candidates() {
		if c.Kept {
			l.Kept = append(l.Kept, c.Proposal.Name)
		}
	}
	if res.Confirmed {
		l.Patch = res.Patch
		l.Faster = true
		for _, m := range res.Measurements {
			l.Faster = l.Faster && m.Verdict == change.Faster
		}
	}
	return l
}

// profiling is the time that the loop took to gather evidence, in seconds.
func profiling(res *agents.Result) float64 {
	of := map[string]float64{} // by program: a round begins with evidence that is known
	for _, r := range res.Rounds {
		of[r.Evidence.Program] = r.Evidence.Seconds
		for _, c := range r.Candidates {
			if c.After != nil {
				of[c.After.Program] = c.After.Seconds
			}
		}
	}
	sum := 0.0
	for _, s := range of {
		sum += s
	}
	return sum
}

// digest is of all files of a folder, and of what else decides the outcome.
func digest(dir string, more ...any) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, err2 := filepath.Rel(dir, path)
		fmt.Fprintf(h, "%s %d\n%s", filepath.ToSlash(rel), len(data), data)
		return errors.Join(err, err2)
	})
	if err == nil {
		err = json.NewEncoder(h).Encode(more)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// executable is the SHA-256 of the running program.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading the running program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
