package agents

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/agents/judge"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/datasets"
)

// Predicted is what a judge said of a candidate before it was measured.
type Predicted struct {
	Judge string `json:"judge"`
	// Speedup is the time of the base over that of the candidate; null where the
	// judge cannot tell, for Why. Low and High are meant to hold what is measured with
	// probability Level; null is no bound.
	Speedup Number  `json:"speedup"`
	Low     Number  `json:"low"`
	High    Number  `json:"high"`
	Level   float64 `json:"level,omitempty"`
	Why     string  `json:"why,omitempty"`
}

func (p *Predicted) known() bool { return p != nil && float64(p.Speedup) > 0 }

// history is the prediction as it is remembered, nil of one that could not tell.
func (p *Predicted) history() *history.Prediction {
	if !p.known() {
		return nil
	}
	out := &history.Prediction{Judge: p.Judge, Speedup: float64(p.Speedup), Level: p.Level}
	bound := func(n Number) *float64 {
		if v := float64(n); v > 0 && !math.IsInf(v, 0) {
			return &v
		}
		return nil
	}
	out.Low, out.High = bound(p.Low), bound(p.High)
	return out
}

func (r *runner) judgeName() string {
	if r.opt.Judge == nil {
		return ""
	}
	return r.opt.Judge.Name()
}

// look notes how a candidate's text differs from its base's.
func (c *Candidate) look(base []edit.Source) {
	c.features = judge.Changes(base, c.sources, c.Proposal.Transformation)
}

// judge asks the judge about the candidates of a turn that are right, and turns
// down all but the most promising.
func (r *runner) judge(ctx context.Context, round *Round, base *node) error {
	var open []*Candidate
	for _, c := range round.Candidates {
		if c.Rejected == nil {
			open = append(open, c)
		}
	}
	if r.opt.Judge == nil || len(open) == 0 {
		return nil
	}
	r.say(round.N, "", "judging %d candidates by %s", len(open), r.opt.Judge.Name())
	ids := []string{base.program.ID}
	for _, c := range open {
		ids = append(ids, c.Program.ID)
	}
	verdicts, err := once(ctx, r.journal, fmt.Sprintf("r%d/judge", round.N), []any{r.opt.Judge.Name(), ids}, func(ctx context.Context) ([]Predicted, error) {
		return r.verdicts(ctx, base, open)
	})
	if err != nil {
		return fmt.Errorf("judging candidates of %s by %s: %w", r.Target.Name, r.opt.Judge.Name(), err)
	}
	if len(verdicts) != len(open) {
		return fmt.Errorf("judging candidates of %s by %s: %d verdicts on %d candidates", r.Target.Name, r.opt.Judge.Name(), len(verdicts), len(open))
	}
	var ranked []*Candidate
	for i, c := range open {
		c.Predicted = &verdicts[i]
		if c.Predicted.known() {
			ranked = append(ranked, c)
		} else if note := "not judged: " + c.Predicted.Why; !slices.Contains(round.Notes, note) {
			round.Notes = append(round.Notes, note)
		}
	}
	slices.SortStableFunc(ranked, func(a, b *Candidate) int {
		return cmp.Compare(b.Predicted.Speedup, a.Predicted.Speedup)
	})
	for _, c := range ranked[min(len(ranked), r.opt.Keep):] {
		last := ranked[r.opt.Keep-1]
		c.Rejected = &Rejection{Choosing, JudgedSlower, fmt.Sprintf("predicted to be %.3g times as fast; of this turn %d are measured, the last of them predicted to be %.3g times",
			float64(c.Predicted.Speedup), r.opt.Keep, float64(last.Predicted.Speedup))}
		delete(r.tried, c.Program.ID) // it may be proposed again
		r.turnedDown(c)
	}
	return nil
}

func (r *runner) verdicts(ctx context.Context, base *node, open []*Candidate) ([]Predicted, error) {
	launches, err := r.launches(ctx, base.evidence)
	if err != nil {
		return nil, err
	}
	program := func(id string, sources []edit.Source, transformation string) judge.Program {
		return judge.Program{ID: id, Language: string(r.Target.Language), Sources: sources, Launches: launches, Transformation: transformation}
	}
	var all []judge.Program
	for _, c := range open {
		all = append(all, program(c.Program.ID, c.sources, c.Proposal.Transformation))
	}
	verdicts, err := r.opt.Judge.Rank(ctx, program(base.program.ID, base.sources, ""), all)
	if err != nil {
		return nil, err
	}
	var out []Predicted
	for _, v := range verdicts {
		out = append(out, Predicted{r.opt.Judge.Name(), Number(v.Speedup), Number(v.Low), Number(v.High), v.Level, v.Why})
	}
	return out, nil
}

// launches are those of kernels that the profile of a program holds, with their
// shape and, where the profiler says them, their arguments.
func (r *runner) launches(ctx context.Context, e *Evidence) ([]judge.Launch, error) {
	if r.Target.Language != target.OpenCL || e == nil {
		return nil, nil
	}
	s, err := datasets.Open(filepath.Join(r.Dir, filepath.FromSlash(e.Store)))
	if err != nil {
		return nil, fmt.Errorf("opening the profile of %s: %w", e.Program, err)
	}
	defer s.Close()
	var out []judge.Launch
	err = s.Each(ctx, func(v []any) {
		name, _ := v[0].(string)
		l := judge.Launch{Kernel: name}
		l.Args, _ = v[1].(string)
		global, _ := v[2].(string)
		local, _ := v[3].(string)
		l.Global, l.Local = numbers(global), numbers(local)
		n, _ := v[4].(int64)
		l.Count = int(max(n, 1))
		if len(l.Global) > 0 {
			out = append(out, l)
		}
	}, `WITH fact AS (SELECT launch_id, max(value) FILTER (name = 'args') AS args, max(value) FILTER (name = 'global_size') AS global_size,
			max(value) FILTER (name = 'local_size') AS local_size FROM attribute WHERE run_id = ? AND launch_id IS NOT NULL GROUP BY 1)
		SELECT r.short, f.args, f.global_size, f.local_size, count(*) FROM launch l JOIN region r ON r.id = l.region_id AND r.run_id = l.run_id
		JOIN fact f ON f.launch_id = l.id WHERE l.run_id = ? GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`, e.Run, e.Run)
	if err != nil {
		return nil, fmt.Errorf("reading the launches of %s: %w", e.Program, err)
	}
	return out, nil
}

// numbers reads sizes, "64,64"; what is no such list is none.
func numbers(s string) []int64 {
	if s == "" {
		return nil
	}
	var out []int64
	for _, f := range strings.Split(s, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 64)
		if err != nil || n < 1 {
			return nil
		}
		out = append(out, n)
	}
	return out
}
