package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/search"
	"github.com/rooflab/rooflab/agents/target"
)

// searching fills in how to search from the target.
func (o *Options) searching(t *target.Target) error {
	var err error
	if o.Search == nil {
		if o.Search, err = search.Parse(t.Search.Strategy); err != nil {
			return fmt.Errorf("optimizing %s: %w", t.Name, err)
		}
	}
	if o.Prefer == "" && t.Search.Prefer != "" {
		o.Prefer = search.Preference(t.Search.Prefer)
	}
	by := search.Time
	if t.Measure.Metric == target.Energy {
		by = search.Energy
	}
	if o.Prefer, err = search.Preferred(cmp.Or(string(o.Prefer), string(by))); err != nil {
		return fmt.Errorf("optimizing %s: %w", t.Name, err)
	}
	switch s := o.Search.(type) {
	case search.Best:
		o.Search = search.Best{By: by}
	case search.Beam:
		if s.Width < 1 || s.Width > search.MaxWidth {
			return fmt.Errorf("optimizing %s: the beam is %d programs wide: 1 to %d are possible", t.Name, s.Width, search.MaxWidth)
		}
		o.Search = search.Beam{Width: s.Width, By: by}
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Keep < 0 || o.Learn < 0 {
		return fmt.Errorf("optimizing %s: %d candidates of a turn are to be measured, and %d attempts told: neither can be below 0", t.Name, o.Keep, o.Learn)
	}
	if o.Learn > 0 && o.History == nil {
		return fmt.Errorf("optimizing %s: there is no history to learn from: name its file, or do not ask to learn", t.Name)
	}
	if j, ok := o.Judge.(interface{ Judges(language string) error }); ok {
		if err := j.Judges(string(t.Language)); err != nil {
			return fmt.Errorf("optimizing %s: %w", t.Name, err)
		}
	}
	return nil
}

// node is a program that the search may go on with.
type node struct {
	program  *Program
	sources  []edit.Source
	evidence *Evidence // nil: not gathered yet
	made     *Candidate
	parent   *node // nil of the original
	point    search.Point
	turns    int
	spent    string // why it is not worth another turn, "" where it is
}

// tree is the search: the programs that were shown to be better, and those of
// them that a round begins with.
type tree struct {
	strategy search.Strategy
	all      []*node // the original first
	frontier []*node
}

// add notes a candidate that was shown to be better than its base.
func (t *tree) add(base *node, c *Candidate) {
	n := &node{program: c.Program, sources: c.sources, evidence: c.After, made: c, parent: base, point: base.point}
	n.point.ID = c.Program.ID
	n.point.Time /= c.Speedup()
	n.point.Energy /= c.EnergyRatio()
	t.all = append(t.all, n)
}

// settle chooses what the next round begins with. A program with a child gives
// its place to it, unless the search is for a front.
func (t *tree) settle() {
	var pool []*node
	_, front := t.strategy.(search.Pareto)
	for _, n := range t.all {
		if front || !slices.ContainsFunc(t.all, func(o *node) bool { return o.parent == n }) {
			pool = append(pool, n)
		}
	}
	t.frontier = choose(pool, t.strategy.Keep)
}

func choose(pool []*node, keep func([]search.Point) []int) []*node {
	var points []search.Point
	for _, n := range pool {
		points = append(points, n.point)
	}
	var out []*node
	for _, i := range keep(points) {
		out = append(out, pool[i])
	}
	return out
}

// next are the programs of the frontier that have a turn: those that had none yet,
// or else all that are worth another. why is for none.
func (t *tree) next() (out []*node, why string) {
	for _, n := range t.frontier {
		if n.spent == "" {
			out = append(out, n)
		} else {
			why = n.spent
		}
	}
	if fresh := slices.DeleteFunc(slices.Clone(out), func(n *node) bool { return n.turns > 0 }); len(fresh) > 0 {
		return fresh, ""
	}
	return out, why
}

func (r *runner) run(ctx context.Context) (*Result, error) {
	original, err := r.baseline(ctx)
	if err != nil {
		return nil, err
	}
	root := &node{program: original, sources: r.Target.Sources(), point: search.Point{ID: original.ID, Time: 1, Energy: 1}}
	if len(r.Sensors.Meters) == 0 {
		root.point.Energy = math.NaN()
	}
	t := &tree{strategy: r.opt.Search, all: []*node{root}, frontier: []*node{root}}
	for depth := 1; r.res.Stopped == ""; depth++ {
		if depth > r.opt.Rounds {
			r.res.Stopped = fmt.Sprintf("all %d rounds were made", r.opt.Rounds)
			break
		}
		bases, why := t.next()
		if len(bases) == 0 {
			r.res.Stopped = why
			break
		}
		if err := r.level(ctx, depth, t, bases, original); err != nil {
			return nil, err
		}
	}
	if err := r.finish(ctx, original, t); err != nil {
		return nil, err
	}
	return r.res, nil
}

// level gives each program its turn, and settles what is kept.
func (r *runner) level(ctx context.Context, depth int, t *tree, bases []*node, original *Program) error {
	begin := len(r.res.Rounds)
	for _, base := range bases {
		if why := r.over(); why != "" {
			r.res.Stopped = why
			break
		}
		round := &Round{N: len(r.res.Rounds) + 1, Depth: depth, Base: base.program.ID, Candidates: []*Candidate{}}
		if base.evidence == nil {
			r.say(round.N, "", "gathering evidence on %s", base.program.ID)
			var err error
			if base.evidence, err = r.evidence(ctx, base.program); err != nil {
				return err
			}
		}
		round.Evidence = base.evidence
		r.res.Rounds = append(r.res.Rounds, round)
		base.turns++
		err := r.turn(ctx, round, base, original)
		var spent *llm.BudgetError
		if errors.As(err, &spent) {
			r.res.Stopped = "the budget does not allow another call: " + spent.Error()
			break
		}
		if err != nil {
			return err
		}
		switch {
		case len(round.Candidates) == 0:
			base.spent = r.opt.Advisor.Name() + " proposes nothing more"
		case !fresh(round):
			base.spent = "all that was proposed had been tried before"
		}
		for _, c := range round.Candidates {
			if c.Rejected == nil {
				t.add(base, c)
			}
		}
	}
	t.settle()
	r.settled(t, r.res.Rounds[begin:])
	return r.remember(ctx, r.res.Rounds[begin:])
}

// settled says of each candidate of a level whether it was kept.
func (r *runner) settled(t *tree, rounds []*Round) {
	var past []attempt
	for _, round := range rounds {
		for _, c := range round.Candidates {
			if c.Rejected == nil {
				at := slices.IndexFunc(t.frontier, func(n *node) bool { return n.made == c })
				if at >= 0 {
					c.Kept = true
					r.came(round.N, c.Proposal.Name, "kept: %s", c.gain())
				} else {
					best := t.frontier[0]
					c.Rejected = &Rejection{Choosing, Outdone, fmt.Sprintf("it is %s, and the search goes on with %s", c.gain(), named(best))}
					r.came(round.N, c.Proposal.Name, "turned down (%s): %s", Outdone, c.Rejected.Detail)
				}
			}
			past = append(past, c.attempt())
		}
		if best := slices.IndexFunc(t.frontier, func(n *node) bool { return n.made != nil && n.made.Round == round.N }); best >= 0 {
			round.Kept = t.frontier[best].program.ID
		}
	}
	r.past = append(past, r.past...)
}

// named is a program of the search in words.
func named(n *node) string {
	if n.made == nil {
		return "the original"
	}
	return fmt.Sprintf("%s of round %d (%s)", n.made.Proposal.Name, n.made.Round, n.made.gain())
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

// turn asks for advice on a program and takes each proposal through all steps.
func (r *runner) turn(ctx context.Context, round *Round, base *node, original *Program) error {
	var shown []edit.Source
	round.Hot, shown = SelectHot(round.Evidence.Report, base.sources, 0)
	c := Case{Target: r.Target, Report: round.Evidence.Report, Sources: shown, Launches: round.Evidence.Launches, Build: round.Evidence.Build, Round: round.Depth, Base: base.program.ID, Left: r.left()}
	c.Tried, c.Done = r.told(base)
	s := situation(r.Target, round.Evidence.Report, shown)
	var err error
	if c.Past, err = r.recollect(ctx, round, s); err != nil {
		return err
	}
	round.Past = c.Past
	r.say(round.N, "", "asking %s", r.opt.Advisor.Name())
	advice, err := r.advise(ctx, fmt.Sprintf("r%d/advice", round.N), c)
	if err != nil {
		return err
	}
	round.Supplied, round.Usage = advice.Supplied, advice.Usage
	if p := advice.Prompt; p != nil {
		round.Prompt = hash([]byte(p.System + "\x00" + p.User))
	}
	round.Notes = append(round.Notes, advice.Notes...)
	if round.Supplied == nil {
		round.Supplied = []string{}
	}
	for _, p := range advice.Proposals {
		cand := &Candidate{Round: round.N, Base: base.program.ID, Proposal: p, sources: base.sources}
		round.Candidates = append(round.Candidates, cand)
	}
	each := func(do func(*Candidate) error) error {
		for _, cand := range round.Candidates {
			if cand.Rejected != nil {
				continue
			}
			if why := r.over(); why != "" {
				cand.Rejected = &Rejection{Choosing, OutOfBudget, why}
			} else if err := do(cand); err != nil {
				return err
			}
			r.turnedDown(cand)
		}
		return nil
	}
	if err := each(func(cand *Candidate) error { return r.prepare(ctx, cand, c, advice.Supplied, original, base.program) }); err != nil {
		return err
	}
	for _, cand := range round.Candidates {
		if cand.Program != nil && cand.Program.OK() {
			cand.look(base.sources)
		}
	}
	if err := r.judge(ctx, round, base); err != nil {
		return err
	}
	return each(func(cand *Candidate) error { return r.compare(ctx, cand, base.program) })
}

func (r *runner) turnedDown(c *Candidate) {
	if c.Rejected != nil {
		r.came(c.Round, c.Proposal.Name, "turned down (%s): %s", c.Rejected.Reason, c.Rejected.Detail)
	}
}

// finish measures what was found against the original again, on inputs and at
// times that had no part in choosing it, and writes the report.
func (r *runner) finish(ctx context.Context, original *Program, t *tree) error {
	res := r.res
	last := t.all[0]
	if best := choose(t.frontier, func(ps []search.Point) []int { return []int{max(0, search.Choose(ps, r.opt.Prefer))} }); len(best) > 0 {
		last = best[0]
	}
	res.Final = last.program
	if last.program.ID != original.ID {
		var err error
		if res.Measurements, err = r.final(ctx, original, last.program, r.sizes()); err != nil {
			return err
		}
		if res.Others, err = r.final(ctx, original, last.program, r.Target.Inputs.Other); err != nil {
			return err
		}
		res.Confirmed = res.Aim.unmet(res.Measurements) == nil
		for _, f := range last.program.Files {
			for _, s := range r.Target.Sources() {
				if s.Path == f.Path {
					res.Patch += Diff(f.Path, s.Text, f.Text)
				}
			}
		}
	}
	if err := r.front(ctx, original, t, last); err != nil {
		return err
	}
	res.Spent = r.journal.spent.Seconds()
	res.Resumed = r.journal.resumed
	res.Scores = res.scores()
	if err := r.ended(ctx); err != nil {
		return err
	}
	return res.save()
}

// final measures a program against the original.
func (r *runner) final(ctx context.Context, original, p *Program, sizes []string) (out []Measurement, err error) {
	for _, size := range sizes {
		r.say(0, "", "measuring the result against the original %s", size)
		m, err := r.measure(ctx, fmt.Sprintf("final/%s/%s", p.ID, size), original, p, size)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}
