package agents

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/prompt"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/target"
)

// Options say how to optimize.
type Options struct {
	Advisor Advisor // nil is Rules
	// Dir is the folder of the run: journal, programs, profiles, report. "" is
	// NAME.optimize in the current folder. A run that was ended goes on there.
	Dir     string
	Rounds  int // at most; 0 is the target's, or else DefaultRounds
	Repairs int // of a candidate that does not build, at most; 0 is DefaultRepairs, below 0 none
	Seed    uint64
	Measure MeasureOptions
	// Progress hears what is done. nil shows it: in a notebook as one display
	// that is replaced, elsewhere as lines (see Watch).
	Progress func(Event)
}

// What is taken where nothing is said.
const (
	DefaultRounds  = 3
	DefaultRepairs = 3
)

// Event is a step that begins or has ended.
type Event struct {
	Round     int
	Candidate string // "" for a step of the round or the run
	Text      string
	Done      bool // Text is no step that begins, but what came of the candidate
}

func (e Event) String() string {
	s := e.Text
	if e.Candidate != "" {
		s = e.Candidate + ": " + s
	}
	if e.Round > 0 {
		s = fmt.Sprintf("round %d: %s", e.Round, s)
	}
	return s
}

// Round is one turn of the loop.
type Round struct {
	N          int          `json:"round"`
	Base       string       `json:"base"` // the program that it began with
	Hot        []HotKernel  `json:"hot"`
	Evidence   *Evidence    `json:"evidence"`
	Supplied   []string     `json:"supplied"` // ids that the advisor was shown
	Usage      llm.Spent    `json:"usage"`
	Notes      []string     `json:"notes,omitempty"` // of the advisor
	Candidates []*Candidate `json:"candidates"`
	Kept       string       `json:"kept,omitempty"` // the program that the next round begins with
}

// Candidate is a proposal with all that came of it.
type Candidate struct {
	Round        int            `json:"round"`
	Proposal     Proposal       `json:"proposal"`
	Outcomes     []edit.Outcome `json:"outcomes"`
	Repairs      []Repair       `json:"repairs,omitempty"` // tries before it that did not build
	Program      *Program       `json:"program,omitempty"`
	Diff         string         `json:"diff,omitempty"` // against the round's base
	Validation   *Validation    `json:"validation,omitempty"`
	Measurements []Measurement  `json:"measurements,omitempty"` // against the round's base
	After        *Evidence      `json:"after,omitempty"`        // of one that is faster
	Rejected     *Rejection     `json:"rejected,omitempty"`
	Kept         bool           `json:"kept"`
	sources      []edit.Source
}

// Repair is a try that did not build.
type Repair struct {
	Proposal Proposal `json:"proposal"`
	Failed   string   `json:"failed"`
	Log      string   `json:"log"`
}

// Speedup is the geometric mean over the sizes that are optimized for, NaN
// where nothing was measured.
func (c *Candidate) Speedup() float64 { return meanSpeedup(c.Measurements) }

func meanSpeedup(ms []Measurement) float64 {
	sum := 0.0
	for _, m := range ms {
		sum += math.Log(float64(m.Speedup))
	}
	if len(ms) == 0 {
		return math.NaN()
	}
	return math.Exp(sum / float64(len(ms)))
}

// Optimize is the whole loop: evidence, advice, edits, build, comparison of
// outputs, measurement, profile again; what is fastest of a round is kept and the
// next round begins with it. A candidate that is turned down is no error. The
// target's files are not changed: Result.Apply does that.
//
// Each step is written down when it is done, in the folder of the run. The same
// call with the same folder takes what is done from there, so that a run that was
// ended at any step goes on with the next, and no advice is paid twice.
func Optimize(ctx context.Context, t *target.Target, options ...Options) (res *Result, err error) {
	var opt Options
	if len(options) > 0 {
		opt = options[0]
	}
	if opt.Progress == nil && t != nil {
		w := Watch(t.Name)
		opt.Progress = w.Hear
		defer func() { w.End(res, err) }()
	}
	r, err := open(ctx, t, opt)
	if err != nil {
		return nil, err
	}
	res, err = r.run(ctx)
	if err = errors.Join(err, r.journal.close()); err != nil {
		return nil, err
	}
	return res, nil
}

// runner is a run of the loop.
type runner struct {
	*Workbench
	opt     Options
	journal *journal
	res     *Result
	tried   map[string]string // programs by id, with the candidate's name
	past    []prompt.Example  // the latest first
}

func open(ctx context.Context, t *target.Target, opt Options) (*runner, error) {
	if t == nil {
		return nil, errors.New("optimizing: there is no target: load one with target.Load")
	}
	if opt.Advisor == nil {
		opt.Advisor = Rules(0, rules.Options{})
	}
	if opt.Dir == "" {
		opt.Dir = t.Name + ".optimize"
	}
	if opt.Rounds == 0 {
		opt.Rounds = t.Budget.Rounds
	}
	if opt.Rounds == 0 {
		opt.Rounds = DefaultRounds
	}
	if opt.Repairs == 0 {
		opt.Repairs = DefaultRepairs
	}
	w, err := NewWorkbench(ctx, t, opt.Dir)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(w.Dir)
	if err != nil {
		return nil, err
	}
	r := &runner{Workbench: w, opt: opt, journal: j, tried: map[string]string{}}
	r.res = &Result{Target: t.Name, Advisor: opt.Advisor.Name(), Dir: w.Dir, target: t}
	if err := r.head(ctx); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return r, nil
}

// head is the first step: what the run is of. Another run in the same folder
// finds out here.
func (r *runner) head(ctx context.Context) error {
	rec, err := newRecord(r.Target, r.opt)
	if err != nil {
		return err
	}
	input := []any{rec.Target, rec.Sources, rec.Advisor, rec.Seed, r.opt.Repairs, r.opt.Measure}
	rec, err = once(ctx, r.journal, "run", input, func(context.Context) (Record, error) { return rec, nil })
	if err != nil {
		return fmt.Errorf("%s holds a run of something else (other sources, target, backend or seed): take another folder: %w", r.Dir, err)
	}
	r.res.Record = rec
	return nil
}

func (r *runner) say(round int, candidate, format string, args ...any) {
	if r.opt.Progress != nil {
		r.opt.Progress(Event{Round: round, Candidate: candidate, Text: fmt.Sprintf(format, args...)})
	}
}

// came says what came of a candidate.
func (r *runner) came(round int, candidate, format string, args ...any) {
	if r.opt.Progress != nil {
		r.opt.Progress(Event{Round: round, Candidate: candidate, Text: fmt.Sprintf(format, args...), Done: true})
	}
}

func (r *runner) run(ctx context.Context) (*Result, error) {
	original, err := r.baseline(ctx)
	if err != nil {
		return nil, err
	}
	base, sources := original, r.Target.Sources()
	var known *Evidence
	for n := 1; ; n++ {
		if n > r.opt.Rounds {
			r.res.Stopped = fmt.Sprintf("all %d rounds were made", r.opt.Rounds)
			break
		}
		if why := r.over(); why != "" {
			r.res.Stopped = why
			break
		}
		round := &Round{N: n, Base: base.ID, Evidence: known, Candidates: []*Candidate{}}
		if round.Evidence == nil {
			r.say(n, "", "gathering evidence on %s", base.ID)
			if round.Evidence, err = r.evidence(ctx, base); err != nil {
				return nil, err
			}
		}
		r.res.Rounds = append(r.res.Rounds, round)
		best, err := r.round(ctx, round, original, base, sources)
		var spent *llm.BudgetError
		if errors.As(err, &spent) {
			r.res.Stopped = "the budget does not allow another call: " + spent.Error()
			break
		}
		if err != nil {
			return nil, err
		}
		if len(round.Candidates) == 0 {
			r.res.Stopped = r.opt.Advisor.Name() + " proposes nothing more"
			break
		}
		known = round.Evidence
		if best != nil {
			round.Kept, best.Kept = best.Program.ID, true
			base, sources, known = best.Program, best.sources, best.After
			r.came(n, best.Proposal.Name, "kept: %.3g times as fast", best.Speedup())
			continue
		}
		if !fresh(round) {
			r.res.Stopped = "all that was proposed had been tried before"
			break
		}
	}
	if err := r.finish(ctx, original, base); err != nil {
		return nil, err
	}
	return r.res, nil
}

// fresh says that a round has tried something new.
func fresh(round *Round) bool {
	for _, c := range round.Candidates {
		if c.Rejected == nil || c.Rejected.Reason != Repeated {
			return true
		}
	}
	return false
}

// baseline builds the original and makes sure that it is right and steady.
func (r *runner) baseline(ctx context.Context) (*Program, error) {
	r.say(0, "", "building the original")
	original, err := r.build(ctx, nil)
	if err != nil {
		return nil, err
	}
	if !original.OK() {
		return nil, fmt.Errorf("the original of %s does not build: %s\n%s", r.Target.Name, original.Failed, original.Log)
	}
	r.tried[original.ID] = "the original"
	v, err := once(ctx, r.journal, "validate/original", nil, func(ctx context.Context) (Validation, error) { return r.Validate(ctx, original, original) })
	if err != nil {
		return nil, err
	}
	if v.Unstable != "" {
		return nil, fmt.Errorf("%s puts out something else each time, so that no candidate can be compared with it: %s; give its outputs a tolerance, or lines to ignore", r.Target.Name, v.Unstable)
	}
	if !v.OK {
		return nil, fmt.Errorf("the original of %s is itself not as it should be: %v", r.Target.Name, ofValidation(v))
	}
	return original, nil
}

func (r *runner) build(ctx context.Context, files []edit.File) (*Program, error) {
	p, err := once(ctx, r.journal, "build/"+programID(files), files, func(ctx context.Context) (*Program, error) { return r.Build(ctx, files) })
	if err != nil {
		return nil, err
	}
	return p, r.there(ctx, p)
}

func (r *runner) evidence(ctx context.Context, p *Program) (*Evidence, error) {
	return once(ctx, r.journal, "profile/"+p.ID, p.ID, func(ctx context.Context) (*Evidence, error) { return r.Profile(ctx, p) })
}

// over says which part of the budget is used up, "" if none is.
func (r *runner) over() string {
	b := r.Target.Budget
	u := r.res.Usage
	switch {
	case b.Time > 0 && r.journal.spent >= b.Time.Value():
		return fmt.Sprintf("the budget of %v is used up", b.Time)
	case b.Tokens != nil && u.Calls > 0 && u.Tokens >= *b.Tokens:
		return fmt.Sprintf("the budget of %d tokens is used up", *b.Tokens)
	case b.Money != nil && u.Money > 0 && u.Money >= *b.Money:
		return fmt.Sprintf("the budget of %.2f US dollars is used up", *b.Money)
	}
	return ""
}

func (r *runner) left() Spending {
	var s Spending
	if b := r.Target.Budget.Tokens; b != nil {
		left := max(0, *b-r.res.Usage.Tokens)
		s.Tokens = &left
	}
	if b := r.Target.Budget.Money; b != nil {
		left := max(0, *b-r.res.Usage.Money)
		s.Money = &left
	}
	return s
}

// advise asks the advisor; what it said before is not asked again.
func (r *runner) advise(ctx context.Context, step string, c Case) (Advice, error) {
	var texts []string
	for _, s := range c.Sources {
		texts = append(texts, s.Text)
	}
	input := []any{c.Round, c.Repair, c.Of, c.Report, c.Sources, texts, c.Tried}
	a, lost, err := paid(ctx, r.journal, step, input, func(ctx context.Context) (Advice, error) { return r.opt.Advisor.Advise(ctx, c) })
	if lost {
		r.res.Lost++
	}
	if err != nil {
		return a, fmt.Errorf("asking %s: %w", r.opt.Advisor.Name(), err)
	}
	add(&r.res.Usage, a.Usage)
	return a, nil
}

// round makes one turn and returns the candidate to go on with, nil for none.
func (r *runner) round(ctx context.Context, round *Round, original, base *Program, sources []edit.Source) (*Candidate, error) {
	var shown []edit.Source
	round.Hot, shown = SelectHot(round.Evidence.Report, sources, 0)
	c := Case{Target: r.Target, Report: round.Evidence.Report, Sources: shown, Round: round.N, Tried: r.past, Left: r.left()}
	r.say(round.N, "", "asking %s", r.opt.Advisor.Name())
	advice, err := r.advise(ctx, fmt.Sprintf("r%d/advice", round.N), c)
	if err != nil {
		return nil, err
	}
	round.Supplied, round.Usage, round.Notes = advice.Supplied, advice.Usage, advice.Notes
	if round.Supplied == nil {
		round.Supplied = []string{}
	}
	var best *Candidate
	var past []prompt.Example
	for _, p := range advice.Proposals {
		cand := &Candidate{Round: round.N, Proposal: p, sources: sources}
		round.Candidates = append(round.Candidates, cand)
		if why := r.over(); why != "" {
			cand.Rejected = &Rejection{Choosing, OutOfBudget, why}
			continue
		}
		if err := r.candidate(ctx, cand, c, advice.Supplied, original, base); err != nil {
			return nil, err
		}
		if cand.Rejected == nil && (best == nil || cand.Speedup() > best.Speedup()) {
			best = cand
		}
		if cand.Rejected != nil {
			r.came(round.N, p.Name, "turned down (%s): %s", cand.Rejected.Reason, cand.Rejected.Detail)
		}
	}
	for _, cand := range round.Candidates {
		if cand.Rejected == nil && cand != best {
			cand.Rejected = &Rejection{Choosing, Outdone, fmt.Sprintf("it is %.3g times as fast, and %s %.3g times", cand.Speedup(), best.Proposal.Name, best.Speedup())}
		}
		past = append(past, cand.example())
	}
	r.past = append(past, r.past...)
	return best, nil
}

// finish measures what was kept against the original again, on inputs and at
// times that had no part in choosing it, and writes the report.
func (r *runner) finish(ctx context.Context, original, last *Program) error {
	res := r.res
	res.Final = last
	if last.ID != original.ID {
		for _, size := range r.sizes() {
			r.say(0, "", "measuring the result against the original %s", size)
			m, err := r.measure(ctx, fmt.Sprintf("final/%s/%s", last.ID, size), original, last, size)
			if err != nil {
				return err
			}
			res.Measurements = append(res.Measurements, m)
		}
		for _, size := range r.Target.Inputs.Other {
			r.say(0, "", "measuring the result against the original %s", size)
			m, err := r.measure(ctx, fmt.Sprintf("final/%s/%s", last.ID, size), original, last, size)
			if err != nil {
				return err
			}
			res.Others = append(res.Others, m)
		}
		res.Confirmed = ofMeasurement(res.Measurements) == nil
		for _, f := range last.Files {
			for _, s := range r.Target.Sources() {
				if s.Path == f.Path {
					res.Patch += Diff(f.Path, s.Text, f.Text)
				}
			}
		}
	}
	res.Spent = r.journal.spent.Seconds()
	res.Resumed = r.journal.resumed
	res.Scores = res.scores()
	return res.save()
}

// seconds is a time as it is written.
func seconds(s float64) time.Duration { return time.Duration(s * 1e9).Round(time.Millisecond) }
