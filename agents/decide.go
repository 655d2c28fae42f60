package agents

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/review"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Name is how a person names a candidate: its round and its place there, "1.2".
func (r *Result) Name(c *Candidate) string {
	for _, round := range r.Rounds {
		if i := slices.Index(round.Candidates, c); i >= 0 {
			return fmt.Sprintf("%d.%d", round.N, i+1)
		}
	}
	return ""
}

// Candidate finds a candidate by its name ("1.2"), by the id of its program, or
// by the name of its proposal where only one has it.
func (r *Result) Candidate(name string) (*Candidate, error) {
	var named []*Candidate
	var names []string
	for _, c := range r.Candidates() {
		id := r.Name(c)
		if id == name || c.Program != nil && c.Program.ID == name {
			return c, nil
		}
		if c.Proposal.Name == name {
			named = append(named, c)
		}
		names = append(names, id)
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return nil, fmt.Errorf("there is no candidate %q: there are %s", name, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%d candidates are called %q: name one by its number, as in %s", len(named), name, r.Name(named[0]))
}

// Review shows the candidates that may be applied, with what was decided of
// them, and how to decide.
func (r *Result) Review() *Review { return &Review{r} }

// Review is a run before the person who decides.
type Review struct{ result *Result }

// Accept writes a candidate's files over those of the target and records the
// decision; without a name it is what was kept. It refuses where the candidate
// was not shown to be right and faster, was rejected by a person (or builds on
// one that was, unless it is named itself), or a source is no longer as it was.
func (r *Result) Accept(name ...string) (*Review, error) {
	if err := r.accept("", name...); err != nil {
		return nil, fmt.Errorf("accepting for %s: %w", r.Target, err)
	}
	return r.Review(), nil
}

// ErrNoGain is the error of Accept and Apply where nothing was kept, or what was kept
// was not confirmed: there is nothing to apply, and nothing has failed.
var ErrNoGain = errors.New("there is no confirmed gain")

// Apply is Accept of what was kept, for programs. Its error is ErrNoGain (errors.Is)
// where there is nothing to apply.
func (r *Result) Apply() error {
	if err := r.accept(""); err != nil {
		return fmt.Errorf("applying the result for %s: %w", r.Target, err)
	}
	return nil
}

// Reject records that a candidate is not to be applied, and why. Nothing that
// builds on it is applied from then on.
func (r *Result) Reject(name, why string) (*Review, error) {
	c, err := r.Candidate(name)
	if err == nil && c.Program == nil {
		err = fmt.Errorf("%s was turned down before it was a program (%v): there is nothing to reject", name, c.Rejected)
	}
	if err == nil {
		err = r.decide(c, review.Decision{Verdict: review.Rejected, Why: why})
	}
	if err != nil {
		return nil, fmt.Errorf("rejecting a candidate of %s: %w", r.Target, err)
	}
	return r.Review(), nil
}

func (r *Result) accept(why string, name ...string) error {
	if err := r.readDecisions(); err != nil {
		return err
	}
	c := r.final()
	switch {
	case len(name) > 1:
		return errors.New("name one candidate, or none for what was kept")
	case len(name) == 1:
		var err error
		if c, err = r.Candidate(name[0]); err != nil {
			return err
		}
	case c == nil:
		return fmt.Errorf("%w: nothing was kept", ErrNoGain)
	default:
		for _, a := range r.lineage(c) {
			if d, ok := review.Latest(r.Decisions, a.Program.ID); ok && d.Verdict == review.Rejected {
				return fmt.Errorf("%s (%s) was rejected: %s; what may be applied all the same can be accepted by name", r.Name(a), a.Proposal.Name, d.Why)
			}
		}
	}
	confirmed := c == r.final() && r.Confirmed
	switch {
	case c.Program == nil || c.Validation == nil || !c.Validation.OK || r.Aim.unmet(c.Measurements) != nil:
		why := "it was not profiled to its end"
		if c.Rejected != nil {
			why = c.Rejected.String()
		}
		return fmt.Errorf("%s was not shown to be right and faster: %s", r.Name(c), why)
	case c == r.final() && !confirmed:
		return fmt.Errorf("%w: %v", ErrNoGain, r.Aim.unmet(r.Measurements))
	}
	files, err := r.replace(c.Program.Files)
	if err != nil {
		return err
	}
	return r.decide(c, review.Decision{Verdict: review.Accepted, Why: why, Confirmed: confirmed, Files: files})
}

// replace writes files over the target's, all of whose sources are as they were
// when the run began, or are so already.
func (r *Result) replace(files []edit.File) (names []string, err error) {
	if r.target == nil {
		return nil, errors.New("the target is not known: run Optimize again with the same folder")
	}
	there := true
	for _, s := range r.target.Sources() {
		now, err := edit.Read(r.target.Dir, s.Path)
		if err != nil {
			return nil, err
		}
		text := s.Text
		for _, f := range files {
			if f.Path == s.Path {
				text = f.Text
				names = append(names, f.Path)
			}
		}
		there = there && now == text
		if now != s.Text && now != text {
			return nil, fmt.Errorf("%s has changed since the run began: apply result.patch by hand", s.Path)
		}
	}
	if there {
		return names, nil
	}
	return names, (&edit.Patch{Files: files}).Write(r.target.Dir)
}

// decide records a decision and writes the report anew.
func (r *Result) decide(c *Candidate, d review.Decision) error {
	d.At, d.Candidate, d.Name, d.Program = time.Now().UTC(), r.Name(c), c.Proposal.Name, c.Program.ID
	if err := review.Append(r.Dir, d); err != nil {
		return err
	}
	return r.save()
}

func (r *Result) readDecisions() (err error) {
	r.Decisions, err = review.Read(r.Dir)
	return err
}

// final is the candidate that was kept last, nil where none was.
func (r *Result) final() *Candidate {
	if r.Final == nil || len(r.Final.Files) == 0 {
		return nil
	}
	return r.byProgram(r.Final.ID)
}

func (r *Result) byProgram(id string) *Candidate {
	for _, c := range r.Candidates() {
		// One that repeats another has no program of its own.
		if c.Program != nil && c.Program.ID == id {
			return c
		}
	}
	return nil
}

// lineage is a candidate with those that it builds on, the first ones first.
func (r *Result) lineage(c *Candidate) []*Candidate {
	var out []*Candidate
	for c != nil && !slices.Contains(out, c) {
		out = append([]*Candidate{c}, out...)
		c = r.byProgram(c.Base)
	}
	return out
}

// choices are the candidates that were shown to be right and faster.
func (r *Result) choices() []*Candidate {
	var out []*Candidate
	for _, c := range r.Candidates() {
		if c.Program != nil && c.Validation != nil && c.Validation.OK && r.Aim.unmet(c.Measurements) == nil {
			out = append(out, c)
		}
	}
	return out
}

// decided says what a person decided of a candidate, "" for nothing yet.
func (r *Result) decided(c *Candidate) string {
	if c.Program == nil {
		return ""
	}
	d, ok := review.Latest(r.Decisions, c.Program.ID)
	if !ok {
		return ""
	}
	s := fmt.Sprintf("%s on %s", d.Verdict, d.At.Format("2006-01-02 15:04"))
	if d.Why != "" {
		s += ": " + d.Why
	}
	return s
}

// Table is a row for each candidate that may be applied.
func (v *Review) Table() tabular.Table {
	r := v.result
	t := tabular.Table{Title: "To decide", Columns: tabular.Columns("<candidate", "<name", "times as fast", "<", "<decision")}
	for _, c := range r.choices() {
		what := "kept"
		switch {
		case c == r.final() && r.Confirmed:
			what = "the result, confirmed against the original"
		case c == r.final():
			what = "the result, not confirmed"
		case !c.Kept && c.Rejected != nil:
			what = string(c.Rejected.Reason)
		}
		decision := r.decided(c)
		if decision == "" {
			decision = "none yet"
		}
		t.Add(r.Name(c), c.Proposal.Name, fmt.Sprintf("%.3g", c.Speedup()), what, decision)
	}
	if len(t.Rows) == 0 {
		t.Note("no candidate was shown to be right and faster: there is nothing to decide")
		return t
	}
	name := t.Rows[0][0]
	t.Note("result.Accept() writes the result over the target's files, result.Accept(%q) a candidate; result.Reject(%q, \"why\") records that it is not to be applied", name, name)
	return t
}

// String is the table as text.
func (v *Review) String() string { return v.Table().String() }

// Display shows the table.
func (v *Review) Display() display.Bundle { return v.Table().Display() }
