package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/review"
	"github.com/rooflab/rooflab/agents/search"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/modeling/insight"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Result is a run with all that was tried.
type Result struct {
	Target  string `json:"target"`
	Advisor string `json:"advisor"`
	Dir     string `json:"dir"`
	Record  Record `json:"record"`
	// Search is the strategy, Aim what candidates were held against, Prefer what
	// chose from a front.
	Search  string            `json:"search"`
	Aim     Aim               `json:"aim"`
	Prefer  search.Preference `json:"prefer"`
	Rounds  []*Round          `json:"rounds"`
	Stopped string            `json:"stopped"`
	// Final is the program that was kept, the original where nothing was.
	// Measurements are of it against the original, on the sizes that are optimized
	// for, and Others on the other sizes: on inputs of their own, after all choices.
	Final        *Program      `json:"final"`
	Measurements []Measurement `json:"measurements,omitempty"`
	Others       []Measurement `json:"other_sizes,omitempty"`
	// Confirmed says that these show the gain again.
	Confirmed bool      `json:"confirmed"`
	Patch     string    `json:"patch,omitempty"` // of the sources, as git apply reads it
	Usage     llm.Spent `json:"usage"`
	// Lost is how many calls had begun when a process ended, so that their answer
	// and cost are not known.
	Lost    int          `json:"lost_calls"`
	Spent   float64      `json:"spent_seconds"` // by all steps, in all processes
	Resumed int          `json:"resumed_steps"` // that an earlier process had done
	Scores  align.Scores `json:"scores"`
	// Front is what a Pareto search found.
	Front []FrontRow `json:"front,omitempty"`
	// Judged is how predictions of speed-ups came true.
	Judged history.Calibrations `json:"judged,omitempty"`
	Notes  []string             `json:"notes,omitempty"` // of the run
	// Decisions are what a person made of it, in their order.
	Decisions []review.Decision `json:"decisions,omitempty"`
	target    *target.Target
	drawing   sync.Once
	drawn     string // pictures
}

// Speedup is the confirmed gain over the original: the geometric mean over the
// sizes that are optimized for. 1 where nothing was kept or confirmed.
func (r *Result) Speedup() float64 {
	if !r.Confirmed {
		return 1
	}
	return meanSpeedup(r.Measurements)
}

// Candidates are those of all rounds.
func (r *Result) Candidates() []*Candidate {
	var out []*Candidate
	for _, round := range r.Rounds {
		out = append(out, round.Candidates...)
	}
	return out
}

// JSON is the result as indented JSON.
func (r *Result) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("writing the result: %w", err)
	}
	return b.Bytes(), nil
}

// scores are those of all edits.
func (r *Result) scores() align.Scores {
	out := align.Scores{}
	n := 0
	for _, round := range r.Rounds {
		supplied := r.supplied(round)
		for _, c := range round.Candidates {
			for _, o := range c.Outcomes {
				n++
				out = append(out, align.Of(c.case_(n, o, supplied, round, r.Advisor), align.Options{Near: 1}))
			}
		}
	}
	return out
}

// supplied are the items of evidence that the advisor was shown.
func (r *Result) supplied(round *Round) (out []insight.Item) {
	for _, id := range round.Supplied {
		if item, ok := round.Evidence.Report.Find(id); ok {
			out = append(out, item)
		}
	}
	return out
}

// case_ is an edit of the candidate as package align has it. "time" is the time
// that was measured; counters are known of candidates that were profiled again.
func (c *Candidate) case_(n int, o edit.Outcome, supplied []insight.Item, round *Round, advisor string) align.Case {
	out := align.Case{Run: fmt.Sprint(c.Round), Backend: advisor, Edit: n, Supplied: supplied, Outcome: o}
	if len(c.Measurements) == 0 {
		return out
	}
	out.Before, out.After = align.Values{}, align.Values{}
	if c.After != nil {
		out.Before, out.After = round.Evidence.Values(), c.After.Values()
	}
	m := c.Measurements[0]
	if b, a := float64(m.BeforeMed), float64(m.AfterMed); b > 0 && a > 0 {
		out.Before["time"], out.After["time"] = b, a
	}
	return out
}

// Table is a row for each candidate.
func (r *Result) Table() tabular.Table {
	t := tabular.Table{Title: "Candidates", Columns: tabular.Columns("round", "<candidate", "<outcome", "<reason", "times as fast", "p", "<cites", "<why")}
	for _, c := range r.Candidates() {
		outcome, reason := "kept", ""
		if c.Rejected != nil {
			outcome, reason = "turned down", string(c.Rejected.Reason)
		}
		fast, p := "", ""
		if len(c.Measurements) > 0 && c.Measurements[0].Failed == "" {
			fast, p = fmt.Sprintf("%.3g", c.Speedup()), fmt.Sprintf("%.2g", float64(c.Measurements[0].P))
		}
		var cites, why []string
		for _, e := range c.Proposal.Edits {
			cites = append(cites, e.Evidence...)
			if e.Why != "" {
				why = append(why, e.Why)
			}
		}
		slices.Sort(cites)
		t.Add(fmt.Sprint(c.Round), c.Proposal.Name, outcome, reason, fast, p, strings.Join(slices.Compact(cites), " "), strings.Join(why, "; "))
	}
	return t
}

// Metrics is the table of what changed in the profile from the original to what
// was kept; without rows where nothing was.
func (r *Result) Metrics() tabular.Table {
	t := tabular.Table{Title: "Profile before and after", Columns: tabular.Columns("<metric", "before", "after", "after / before")}
	var last *Evidence
	if c := r.final(); c != nil {
		last = c.After
	}
	if last == nil {
		return t
	}
	before := r.Rounds[0].Evidence
	var names []string
	for name := range before.Metrics {
		if _, ok := last.Metrics[name]; ok && !strings.HasSuffix(name, ".inclusive") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	// The time of all kernels has a row where it is not that of the hot ones.
	if at := slices.Index(names, "time"); at >= 0 && slices.ContainsFunc(names, func(o string) bool {
		return o != "time" && near(before.Metrics[o], before.Metrics["time"]) && near(last.Metrics[o], last.Metrics["time"])
	}) {
		names = slices.Delete(names, at, at+1)
	}
	for _, name := range names {
		b, a := float64(before.Metrics[name]), float64(last.Metrics[name])
		ratio := "unknown"
		if v := a / b; !math.IsNaN(v) && !math.IsInf(v, 0) {
			ratio = fmt.Sprintf("%.3g", v)
		}
		t.Add(name, fmt.Sprintf("%.4g", b), fmt.Sprintf("%.4g", a), ratio)
	}
	return t
}

// near says that two sums of the same numbers are one, in whatever order they were
// added.
func near(a, b Number) bool {
	return math.Abs(float64(a-b)) <= 1e-9*math.Abs(float64(b))
}

// Verdict says in a line what came of it.
func (r *Result) Verdict() string {
	switch {
	case r.Final == nil || len(r.Final.Files) == 0:
		return fmt.Sprintf("%s: nothing was kept: no candidate was right and shown to be faster", r.Target)
	case !r.Confirmed:
		return fmt.Sprintf("%s: what was kept was not confirmed when it was measured again: %v", r.Target, r.Aim.unmet(r.Measurements))
	}
	if r.Aim != LessTime && r.Aim != "" {
		return fmt.Sprintf("%s takes %.3g times the energy and is %.3g times as fast, with the same outputs: %s", r.Target, 1/meanEnergy(r.Measurements), r.Speedup(), r.Measurements[0])
	}
	return fmt.Sprintf("%s is %.3g times as fast, with the same outputs: %s", r.Target, r.Speedup(), r.Measurements[0])
}

// String is the report as text.
func (r *Result) String() string {
	parts := []string{r.Verdict() + "\n" + r.remarks()}
	parts = append(parts, r.Table().String())
	if t := r.FrontTable(); len(t.Rows) > 0 {
		parts = append(parts, t.String())
	}
	if len(r.Judged) > 0 {
		parts = append(parts, r.Judged.String())
	}
	var details []string
	for _, c := range r.Candidates() {
		if c.Rejected != nil {
			details = append(details, fmt.Sprintf("round %d, %s: %v", c.Round, c.Proposal.Name, c.Rejected))
		}
	}
	if len(details) > 0 {
		parts = append(parts, "Why candidates were turned down\n"+strings.Join(details, "\n"))
	}
	if len(r.Decisions) > 0 {
		parts = append(parts, r.Review().String())
	}
	if notes := r.notes(); len(notes) > 0 {
		parts = append(parts, "Notes\n"+strings.Join(notes, "\n"))
	}
	if len(r.Others) > 0 {
		lines := []string{"Other sizes"}
		for _, m := range r.Others {
			lines = append(lines, m.String())
		}
		parts = append(parts, strings.Join(lines, "\n"))
	}
	if t := r.Metrics(); len(t.Rows) > 0 {
		parts = append(parts, t.String())
	}
	if len(r.Scores) > 0 {
		parts = append(parts, "Evidence-aligned reasoning\n"+r.Scores.ByBackend().String())
	}
	if r.Patch != "" {
		parts = append(parts, strings.TrimRight(r.Patch, "\n"))
	}
	return review.Visible(strings.Join(parts, "\n\n"))
}

// notes are those of the advisor and of the evidence, each once.
func (r *Result) notes() []string {
	var out []string
	note := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, n := range r.Notes {
		note(n)
	}
	for _, round := range r.Rounds {
		for _, n := range round.Evidence.Report.Notes {
			note(n)
		}
		for _, n := range round.Notes {
			note(n)
		}
		for _, c := range round.Candidates {
			for _, n := range c.Proposal.Notes {
				note(c.Proposal.Name + ": " + n)
			}
		}
	}
	return out
}

// remarks say how the run was and what it has cost.
func (r *Result) remarks() string {
	s := fmt.Sprintf("backend %s, %d rounds, %d candidates, %v; stopped because %s", r.Advisor, len(r.Rounds), len(r.Candidates()), seconds(r.Spent), r.Stopped)
	if u := r.Usage; u.Calls > 0 {
		s += fmt.Sprintf("\n%d calls, %d tokens (%d of them estimated), %.4f US dollars", u.Calls, u.Tokens, u.Estimated, u.Money)
		if u.Unpriced > 0 {
			s += fmt.Sprintf(", without %d calls whose price is not known", u.Unpriced)
		}
	}
	if r.Lost > 0 {
		s += fmt.Sprintf("\n%d calls had begun when a process ended: what they cost is not known", r.Lost)
	}
	if r.Resumed > 1 {
		s += fmt.Sprintf("\n%d steps were done by an earlier call", r.Resumed)
	}
	if d := r.Record.Drawn; d != nil {
		s += "\noutputs were compared at the listed sizes and at " + d.String()
	}
	if len(r.Rounds) > 0 {
		s += "\nevidence: " + r.Rounds[0].Evidence.How
	}
	return s
}
