package agents

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/agents/judge"
	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/search"
	"github.com/rooflab/rooflab/agents/target"
)

// Options say how to optimize.
type Options struct {
	Advisor Advisor // nil is Rules
	// Dir is the folder of the run: journal, programs, profiles, report. "" is
	// NAME.optimize in the current folder. A run that was ended goes on there.
	Dir     string
	Rounds  int // at most; 0 is the target's, or else DefaultRounds. A wide search has a turn for each of its programs in a round
	Repairs int // of a candidate that does not build, at most; 0 is DefaultRepairs, below 0 none
	Seed    uint64
	// Sizes is the seed of the sizes that are drawn beside the target's
	// (target.Drawn); 0 draws it, and the Record holds it.
	Sizes   uint64
	Measure MeasureOptions
	// Search says which programs of a round the next begins with; nil is the
	// target's, or else search.Best. Prefer chooses from a Pareto front; "" is the
	// target's, or else its metric.
	Search search.Strategy
	Prefer search.Preference
	// Judge, where there is one, says which candidates are worth measuring: the
	// Keep most promising of a turn, 0 is DefaultKeep. The others are turned down as
	// JudgedSlower; what it cannot judge is measured.
	Judge judge.Judge
	Keep  int
	// History, where there is one, remembers all candidates. Learn is how many
	// similar attempts of other runs the advisor is told from it, 0 none; rules then
	// put first what has gained most in situations like this one.
	History *history.Store
	Learn   int
	// Sensors of energy; nil are those that are found.
	Sensors *measure.Sensors
	// Progress hears what is done. nil shows it: in a notebook as one display
	// that is replaced, elsewhere as lines (see Watch).
	Progress func(Event)
}

// What is taken where nothing is said.
const (
	DefaultRounds  = 3
	DefaultRepairs = 3
	DefaultKeep    = 3
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

// Round is one turn of the loop: a program, advice on it, and what came of that.
type Round struct {
	N int `json:"round"` // in the order in which turns were made, from 1
	// Depth counts the rounds of the search from 1: those of a beam or a front have a
	// turn for each program.
	Depth      int          `json:"depth"`
	Base       string       `json:"base"` // the program that it began with
	Hot        []HotKernel  `json:"hot"`
	Evidence   *Evidence    `json:"evidence"`
	Supplied   []string     `json:"supplied"`                // ids that the advisor was shown
	Prompt     string       `json:"prompt_sha256,omitempty"` // of a model's question, which is in the journal
	Usage      llm.Spent    `json:"usage"`
	Notes      []string     `json:"notes,omitempty"` // of the advisor, the history and the judge
	Candidates []*Candidate `json:"candidates"`
	// Kept is the first of the programs made here that the next round begins with.
	Kept string       `json:"kept,omitempty"`
	Past *Recollected `json:"past,omitempty"` // what the advisor was told of other runs
}

// Candidate is a proposal with all that came of it.
type Candidate struct {
	Round        int            `json:"round"`
	Base         string         `json:"base"` // the program that it changes
	Proposal     Proposal       `json:"proposal"`
	Outcomes     []edit.Outcome `json:"outcomes"`
	Repairs      []Repair       `json:"repairs,omitempty"` // tries before it that did not build
	Program      *Program       `json:"program,omitempty"`
	Diff         string         `json:"diff,omitempty"` // against the round's base
	Validation   *Validation    `json:"validation,omitempty"`
	Measurements []Measurement  `json:"measurements,omitempty"` // against the round's base
	After        *Evidence      `json:"after,omitempty"`        // of one that is faster
	Predicted    *Predicted     `json:"predicted,omitempty"`    // before it was measured
	Rejected     *Rejection     `json:"rejected,omitempty"`
	Kept         bool           `json:"kept"`
	sources      []edit.Source
	features     map[string]float64 // static changes
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
	past    []attempt         // the latest first
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
	if err := opt.searching(t); err != nil {
		return nil, err
	}
	w, err := NewWorkbench(ctx, t, opt.Dir)
	if err != nil {
		return nil, err
	}
	if opt.Sensors != nil {
		w.Sensors = *opt.Sensors
	}
	if _, front := opt.Search.(search.Pareto); front && len(w.Sensors.Meters) == 0 {
		return nil, fmt.Errorf("optimizing %s: a Pareto search over time and energy needs a sensor of energy, and none can be read: %s; or search by time: --search best or beam:K", t.Name, w.Sensors.Note)
	}
	j, err := openJournal(w.Dir)
	if err != nil {
		return nil, err
	}
	r := &runner{Workbench: w, opt: opt, journal: j, tried: map[string]string{}}
	r.res = &Result{Target: t.Name, Advisor: opt.Advisor.Name(), Dir: w.Dir, Search: opt.Search.String(), Prefer: opt.Prefer, Aim: aimOf(t, opt.Search), target: t}
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
	input := []any{rec.Target, rec.Sources, rec.Advisor, rec.Seed, r.opt.Repairs, r.opt.Measure, r.opt.Search.String(), r.opt.Prefer, r.opt.Learn, r.judgeName(), r.opt.Keep}
	if r.opt.Sizes != 0 {
		input = append(input, r.opt.Sizes)
		r.Drawn = drawSizes(r.Target, r.opt.Sizes)
	}
	rec, err = once(ctx, r.journal, "run", input, func(ctx context.Context) (Record, error) { return rec.with(ctx, r.Workbench) })
	if err != nil {
		return fmt.Errorf("%s holds a run of something else (other sources, target, backend, search, judge or seed): take another folder: %w", r.Dir, err)
	}
	r.res.Record = rec
	r.Drawn = DrawnSizes{}
	if rec.Drawn != nil { // of the process that began the run
		r.Drawn = *rec.Drawn
	}
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
		return nil, fmt.Errorf("the original of %s is itself not as it should be: %v%s", r.Target.Name, ofValidation(v), r.Drawn.bounds(v))
	}
	if v.Fixed != "" {
		r.res.Notes = append(r.res.Notes, v.Fixed)
		r.say(0, "", "%s", v.Fixed)
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
	input := []any{c.Round, c.Repair, c.Of, c.Report, c.Sources, texts, c.Tried, c.Past}
	a, lost, err := paid(ctx, r.journal, step, input, func(ctx context.Context) (Advice, error) {
		a, err := r.opt.Advisor.Advise(ctx, c)
		a.Round, a.Base = c.Round, c.Base
		return a, err
	})
	if lost {
		r.res.Lost++
	}
	if err != nil {
		return a, fmt.Errorf("asking %s: %w", r.opt.Advisor.Name(), err)
	}
	add(&r.res.Usage, a.Usage)
	return a, nil
}

// seconds is a time as it is written.
func seconds(s float64) time.Duration { return time.Duration(s * 1e9).Round(time.Millisecond) }
