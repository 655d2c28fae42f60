package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/prompt"
	"github.com/rooflab/rooflab/modeling/change"
)

// attempt is a candidate as the next prompts are told of it.
type attempt struct {
	example prompt.Example
	base    string
	// again says that nothing speaks against it on another program, or on the same
	// one where open is true: it was not the best, or was not measured.
	again, open bool
}

// attempt is the candidate for the next prompts.
func (c *Candidate) attempt() attempt {
	outcome := "accepted: " + c.gain()
	a := attempt{base: c.Base, again: c.Rejected == nil}
	if c.Rejected != nil {
		outcome = fmt.Sprintf("rejected (%s): %s", c.Rejected.Reason, c.Rejected.Detail)
		if v := c.Validation; v != nil && v.Drawn != nil && slices.Contains(v.Drawn.Sizes, v.At) {
			// Who was told the sizes could make a case of each.
			outcome = fmt.Sprintf("rejected (%s): at a size that is not listed, where the original is right", c.Rejected.Reason)
		}
		a.again = c.Rejected.Step == Choosing
		a.open = c.Rejected.Reason == JudgedSlower || c.Rejected.Reason == OutOfBudget
	}
	a.example = prompt.Example{Title: fmt.Sprintf("round %d, %s", c.Round, c.Proposal.Name), Edits: c.Proposal.Edits, Outcome: outcome}
	return a
}

// told are the attempts that an advisor on a program is told of, the latest first,
// and the edits that it need not propose again.
func (r *runner) told(base *node) (tried []prompt.Example, done [][]edit.Edit) {
	line := map[string]bool{}
	for n := base; n != nil; n = n.parent {
		line[n.program.ID] = true
	}
	done = [][]edit.Edit{}
	for _, a := range r.past {
		e := a.example
		if !line[a.base] {
			e.Title += ", on another version of the program"
		}
		tried = append(tried, e)
		if a.base == base.program.ID && !a.open || !a.again {
			done = append(done, e.Edits)
		}
	}
	return tried, done
}

// prepare takes a proposal through all steps before it is measured, up to the
// first that turns it down.
func (r *runner) prepare(ctx context.Context, c *Candidate, ask Case, supplied []string, original, base *Program) error {
	began := c.sources
	for try := 1; ; try++ {
		if err := r.make(ctx, c, ask.Sources, supplied, original, base); err != nil {
			return err
		}
		if c.Rejected == nil || c.Rejected.Reason != InvalidCode || try > r.opt.Repairs || r.over() != "" {
			break
		}
		failed := Repair{Proposal: c.Proposal, Failed: c.Program.Failed, Log: c.Program.Log}
		again := ask
		again.Failure = &prompt.Failure{Edits: c.Proposal.Edits, Step: "the build", Log: c.Program.Log}
		again.Of, again.Repair, again.Left = c.Proposal.Name, try, r.left()
		r.say(c.Round, c.Proposal.Name, "it does not build: asking for repair %d of %d", try, r.opt.Repairs)
		advice, err := r.advise(ctx, fmt.Sprintf("r%d/%s/repair%d", c.Round, c.Proposal.Name, try), again)
		var spent *llm.BudgetError
		if errors.As(err, &spent) {
			c.Rejected.Detail += " (the budget does not allow to have it repaired)"
			break
		}
		if err != nil {
			return err
		}
		if len(advice.Proposals) == 0 {
			break
		}
		name := c.Proposal.Name
		c.Repairs = append(c.Repairs, failed)
		c.Proposal, c.Rejected, c.Program, c.Outcomes = advice.Proposals[0], nil, nil, nil
		c.sources, c.Diff = began, "" // a repair is of the base, not of what it repairs
		c.Proposal.Name = name
		supplied = advice.Supplied
	}
	if c.Rejected != nil {
		return nil
	}
	r.say(c.Round, c.Proposal.Name, "comparing outputs")
	v, err := once(ctx, r.journal, "validate/"+c.Program.ID, c.Program.Files, func(ctx context.Context) (Validation, error) { return r.Validate(ctx, original, c.Program) })
	if err != nil {
		return err
	}
	c.Validation = &v
	c.Rejected = ofValidation(v)
	return nil
}

// compare measures a candidate against its base, and profiles it where it is
// shown to be better.
func (r *runner) compare(ctx context.Context, c *Candidate, base *Program) error {
	for _, size := range r.sizes() {
		r.say(c.Round, c.Proposal.Name, "measuring %s", size)
		m, err := r.measure(ctx, fmt.Sprintf("measure/%s/%s/%s", base.ID, c.Program.ID, size), base, c.Program, size)
		if err != nil {
			return err
		}
		c.Measurements = append(c.Measurements, m)
		if m.Failed != "" || m.Verdict == change.Slower && r.res.Aim == LessTime {
			break
		}
	}
	if c.Rejected = r.res.Aim.unmet(c.Measurements); c.Rejected != nil {
		return nil
	}
	r.say(c.Round, c.Proposal.Name, "%s; profiling it", c.Measurements[0])
	var err error
	if c.After, err = r.evidence(ctx, c.Program); err != nil && ctx.Err() == nil {
		// Its profiler may not know its instructions, or it fails where one looks.
		c.Rejected = turnedDown(Profiling, NotProfiled, err.Error())
		return nil
	}
	return err
}

// sizes are those that are optimized for; "" where the target has none.
func (r *runner) sizes() []string {
	if s := r.Target.Inputs.Sizes; len(s) > 0 {
		return s
	}
	return []string{""}
}

func (r *runner) measure(ctx context.Context, step string, before, after *Program, size string) (Measurement, error) {
	opt := r.opt.Measure
	opt.Seed = r.opt.Seed
	return once(ctx, r.journal, step, []any{before.Files, after.Files, size}, func(ctx context.Context) (Measurement, error) {
		return r.Measure(ctx, before, after, size, opt)
	})
}

// make applies the edits and builds the program.
func (r *runner) make(ctx context.Context, c *Candidate, shown []edit.Source, supplied []string, original, base *Program) error {
	patch := edit.Apply(c.Proposal.Edits, shown, edit.Rules{Evidence: supplied})
	c.Outcomes = patch.Outcomes
	if c.Outcomes == nil {
		c.Outcomes = []edit.Outcome{}
	}
	if c.Rejected = ofEdits(patch, c.Proposal.Problems); c.Rejected != nil {
		return nil
	}
	c.sources = after(c.sources, patch)
	files := r.changed(c.sources)
	for _, f := range patch.Files {
		for _, s := range shown {
			if s.Path == f.Path {
				c.Diff += Diff(f.Path, s.Text, f.Text)
			}
		}
	}
	id := programID(files)
	if who, ok := r.tried[id]; ok {
		c.Rejected = &Rejection{Editing, Repeated, "the same program as " + who}
		return nil
	}
	r.tried[id] = fmt.Sprintf("%s of round %d", c.Proposal.Name, c.Round)
	r.say(c.Round, c.Proposal.Name, "building")
	var err error
	if c.Program, err = r.build(ctx, files); err != nil {
		return err
	}
	c.Rejected = ofBuild(original, c.Program)
	return nil
}

// changed are the sources that differ from the target's.
func (r *runner) changed(sources []edit.Source) []edit.File {
	var out []edit.File
	for _, was := range r.Target.Sources() {
		for _, s := range sources {
			if s.Path == was.Path && s.Text != was.Text {
				out = append(out, edit.File{Path: s.Path, Text: s.Text})
			}
		}
	}
	return out
}
