package agents

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/agents/prompt"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/modeling/insight"
)

// Recollected is what the history holds of situations like one.
type Recollected struct {
	Examples []prompt.Example        `json:"examples,omitempty"` // the most similar attempts
	Gains    map[string]history.Gain `json:"gains,omitempty"`    // by transformation of the rules
}

// situation is that of an advisor.
func situation(t *target.Target, report *insight.Report, shown []edit.Source) history.Situation {
	var code []string
	for _, s := range shown {
		lines := strings.Split(s.Text, "\n")
		for _, r := range s.Editable {
			code = append(code, strings.Join(lines[min(r.Start-1, len(lines)):min(r.End, len(lines))], "\n"))
		}
	}
	return history.Of(string(t.Language), report.Items, code)
}

// recollect asks the history, once for each turn: a run that is resumed is told
// what it was told before, whatever the history holds by then.
func (r *runner) recollect(ctx context.Context, round *Round, s history.Situation) (*Recollected, error) {
	if r.opt.Learn == 0 {
		return nil, nil
	}
	type recalled struct {
		Recollected
		Notes []string
	}
	past, err := once(ctx, r.journal, fmt.Sprintf("r%d/past", round.N), []any{s, r.opt.Learn}, func(ctx context.Context) (recalled, error) {
		log, err := r.opt.History.Read(ctx)
		if err != nil {
			return recalled{}, err
		}
		out := recalled{Notes: log.Notes}
		run, err := r.id()
		if err != nil {
			return out, err
		}
		for _, m := range log.Similar(s, r.opt.Learn, run) {
			out.Examples = append(out.Examples, prompt.Example{Title: m.Title(), Edits: elsewhere(m.Attempt.Edits), Outcome: m.Result()})
		}
		out.Gains = log.Gains(s, run)
		return out, nil
	})
	if err != nil {
		return nil, err
	}
	round.Notes = append(round.Notes, past.Notes...)
	if len(past.Examples)+len(past.Gains) == 0 {
		round.Notes = append(round.Notes, "the history holds nothing like this situation: nothing was learnt from it")
	}
	return &past.Recollected, nil
}

// elsewhere are edits of another program without what would be mistaken for this
// one's: ids of evidence, names and lines of files.
func elsewhere(edits []edit.Edit) []edit.Edit {
	var out []edit.Edit
	for _, e := range edits {
		bare := edit.Edit{Predictions: e.Predictions, Why: e.Why}
		for _, h := range e.Hunks {
			bare.Hunks = append(bare.Hunks, edit.Hunk{File: "another program", Search: h.Search, Replace: h.Replace})
		}
		out = append(out, bare)
	}
	return out
}

// id names the run in the history: it is the same however often it is resumed.
func (r *runner) id() (string, error) {
	sum, err := digest([]any{r.res.Record, r.Target.Name})
	return sum[:min(len(sum), 32)], err
}

// remember writes the candidates of a level into the history. A history that
// cannot be written is noted, and no reason to give up a run.
func (r *runner) remember(ctx context.Context, rounds []*Round) error {
	if r.opt.History == nil {
		return nil
	}
	run, err := r.id()
	if err != nil {
		return err
	}
	var all []history.Attempt
	for _, round := range rounds {
		supplied := r.res.supplied(round)
		_, shown := SelectHot(round.Evidence.Report, r.sourcesOf(round.Base), 0)
		s := situation(r.Target, round.Evidence.Report, shown)
		for _, c := range round.Candidates {
			a := c.remembered(r.res.Record, round, s)
			a.ID, a.Run, a.Target, a.Backend = history.Identify(run, round.N, round.Base, c.Proposal.Name), run, r.Target.Name, r.res.Advisor
			for i, o := range c.Outcomes {
				score := align.Of(c.case_(i+1, o, supplied, round, r.res.Advisor), align.Options{Near: 1})
				score.Run = run
				a.Scores = append(a.Scores, score)
			}
			all = append(all, a)
		}
	}
	_, err = r.opt.History.Add(ctx, all, nil)
	return r.forgiven(ctx, err)
}

// forgiven notes that the history could not be written.
func (r *runner) forgiven(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		r.res.Notes = append(r.res.Notes, err.Error())
		return nil
	}
	return err
}

// sourcesOf are the sources of a program that a round began with.
func (r *runner) sourcesOf(id string) []edit.Source {
	if c := r.res.byProgram(id); c != nil {
		return c.sources
	}
	return r.Target.Sources()
}

// remembered is the candidate as the history has it.
func (c *Candidate) remembered(rec Record, round *Round, s history.Situation) history.Attempt {
	a := history.Attempt{At: rec.Began, Rooflab: rec.Rooflab, Machine: strings.TrimSpace(strings.Join([]string{rec.Machine.CPU, rec.Machine.GPU}, " ")),
		Round: round.N, Name: c.Proposal.Name, Base: round.Base, Situation: s, Transformation: c.Proposal.Transformation, Edits: c.Proposal.Edits,
		Features: c.features, Predicted: c.Predicted.history()}
	if c.Program != nil {
		a.Program = c.Program.ID
	}
	switch {
	case c.Rejected == nil:
		a.Outcome = history.Kept
	case c.Rejected.Reason == Outdone:
		a.Outcome = history.Faster
	case c.Rejected.Step == Choosing || c.Rejected.Reason == Repeated:
		a.Outcome = history.Untried
	default:
		a.Outcome = history.Rejected
	}
	if c.Rejected != nil {
		a.Step, a.Reason = string(c.Rejected.Step), string(c.Rejected.Reason)
	}
	if n := len(c.Measurements); n > 0 {
		m := c.Measurements[0]
		a.Speedup, a.Low, a.High = positive(c.Speedup()), positive(float64(m.Low)), positive(float64(m.High))
		if n > 1 { // an interval is of one size
			a.Low, a.High = nil, nil
		}
		a.Energy = positive(c.EnergyRatio())
	}
	return a
}

// positive is a number above 0 that is finite, else nil.
func positive(v float64) *float64 {
	if v > 0 && !math.IsInf(v, 0) {
		return &v
	}
	return nil
}

// ended writes the end of the run into the history, and how the judge did into the
// result.
func (r *runner) ended(ctx context.Context) error {
	var judged []history.Attempt
	for _, round := range r.res.Rounds {
		for _, c := range round.Candidates {
			if c.Predicted.known() {
				judged = append(judged, c.remembered(r.res.Record, round, history.Situation{}))
			}
		}
	}
	r.res.Judged = history.Calibrate(judged)
	if r.opt.History == nil {
		return nil
	}
	run, err := r.id()
	if err != nil {
		return err
	}
	rec, u := r.res.Record, r.res.Usage
	e := history.End{ID: "end of " + run, Run: run, At: rec.Began, Machine: strings.TrimSpace(rec.Machine.CPU + " " + rec.Machine.GPU), Target: r.Target.Name,
		Language: string(r.Target.Language), Backend: r.res.Advisor, Confirmed: r.res.Confirmed, Speedup: r.res.Speedup(), Seconds: r.res.Spent,
		Calls: u.Calls, Tokens: u.Tokens, Money: u.Money}
	if !(e.Speedup > 0) {
		e.Speedup = 1
	}
	_, err = r.opt.History.Add(ctx, nil, []history.End{e})
	return r.forgiven(ctx, err)
}
