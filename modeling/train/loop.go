package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

func (r *run) run(ctx context.Context) error {
	for {
		// What a step is followed by comes first here, so that a run that was
		// interrupted in the middle of it makes up for it.
		if done := r.result.Steps; done > 0 {
			if err := r.look(ctx); ctx.Err() != nil {
				return r.interrupted(ctx.Err())
			} else if err != nil {
				return r.failed(err)
			}
			last := done == r.total || r.impatient()
			if r.dir != nil && r.saved != done && (last || done%r.opt.Every == 0) {
				if err := r.save(); err != nil {
					return r.failed(err)
				}
			}
			r.report(false)
			if last {
				break
			}
		}
		if err := ctx.Err(); err != nil {
			return r.interrupted(err)
		}
		if err := r.step(); err != nil {
			return r.failed(err)
		}
	}
	r.result.Stopped = "done"
	if r.result.Steps < r.total {
		r.result.Stopped = "patience"
	}
	return r.finish()
}

// look validates when it is time to and has not been done.
func (r *run) look(ctx context.Context) error {
	done, n := r.result.Steps, len(r.result.Validations)
	if r.validation == nil || (done != r.total && done%r.opt.Validate != 0) || (n > 0 && r.result.Validations[n-1].Step == done) {
		return nil
	}
	return r.validate(ctx)
}

// step takes the next step, and those that go together with it.
func (r *run) step() error {
	n := r.result.Steps
	r.plan(n / r.perEpoch)
	steps := r.together(n)
	batches, rates := make([][]Batch, steps), make([]float64, steps)
	for i := range steps {
		at := (n%r.perEpoch + i) * r.opt.Accumulate
		for _, p := range r.parts[at : at+r.opt.Accumulate] {
			b, err := assemble(r.examples, p)
			if err != nil {
				return err
			}
			batches[i] = append(batches[i], b)
		}
		rates[i] = r.opt.Rate * r.opt.Schedule.Rate(n+i, r.total, r.warmup, r.opt.Floor)
	}
	results, err := r.call(batches, rates)
	if err != nil {
		return fmt.Errorf("step %d: %w", n+1, err)
	}
	for i, res := range results {
		if !finite(res.Loss) || !finite(res.GradNorm) {
			return r.diverged(res, batches[i], rates[i])
		}
		r.result.Steps++
		r.result.Weights = r.result.Steps
		r.result.Losses = append(r.result.Losses, res.Loss)
		r.result.GradNorms = append(r.result.GradNorms, res.GradNorm)
		r.result.Rates = append(r.result.Rates, rates[i])
	}
	if len(results) < steps {
		return fmt.Errorf("step %d: %T took %d steps of the %d in its call, and does not say why", n+1, r.Stepper, len(results), steps)
	}
	return nil
}

// together is how many steps from the n-th on go into one call. It depends on n
// and the options alone, so that a run taken up again makes the same calls.
func (r *run) together(n int) int {
	k, in := r.opt.PerCall, n%r.perEpoch
	begin, end := n-in, min(r.total, n-in+r.perEpoch) // of the steps between which nothing happens
	every := func(steps int) {
		begin, end = max(begin, n-n%steps), min(end, n-n%steps+steps)
	}
	if r.validation != nil {
		every(r.opt.Validate)
	}
	if r.dir != nil {
		every(r.opt.Every)
	}
	if (n-begin)%k != 0 || n+k > end {
		return 1
	}
	for _, p := range r.parts[in : in+k] {
		if p.Length != r.parts[in].Length || len(p.IDs) != len(r.parts[in].IDs) {
			return 1
		}
	}
	return k
}

func (r *run) call(batches [][]Batch, rates []float64) ([]StepResult, error) {
	if len(batches) == 1 {
		res, err := r.Step(batches[0], rates[0])
		return []StepResult{res}, err
	}
	single := make([]Batch, len(batches))
	for i, b := range batches {
		single[i] = b[0]
	}
	return r.Stepper.(Strider).Steps(single, rates) //nolint:forcetypeassert // start has seen to it
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// diverged says at which step and because of which examples a loss is none.
func (r *run) diverged(res StepResult, batches []Batch, rate float64) error {
	var all, bad []int
	for _, b := range batches {
		all = append(all, b.IDs...)
		losses, err := r.Losses(b)
		if err != nil {
			return fmt.Errorf("step %d: the loss is %g, and asking which example it is failed: %w", r.result.Steps+1, res.Loss, err)
		}
		for i, l := range losses {
			if i < len(b.IDs) && !finite(l) {
				bad = append(bad, b.IDs[i])
			}
		}
	}
	who := fmt.Sprintf("no single example of the batch %v has such a loss, so that it is the gradient, or dropout", all)
	if len(bad) > 0 {
		who = fmt.Sprintf("it is the loss of the examples %v of the batch %v: look at their inputs and labels", bad, all)
	}
	return fmt.Errorf("step %d: the loss is %g with a gradient of norm %g, at a learning rate of %g: %s, "+
		"or try a smaller Options.Rate; the step changed no weights", r.result.Steps+1, res.Loss, res.GradNorm, rate, who)
}

// validate looks at all validation examples.
func (r *run) validate(ctx context.Context) error {
	var sum float64
	for _, p := range All(r.validation, r.opt.Buckets, r.opt.Batch) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b, err := padded(r.validation, p, r.opt.Batch)
		if err != nil {
			return err
		}
		losses, err := r.Losses(b)
		if err != nil {
			return fmt.Errorf("validating after step %d: %w", r.result.Steps, err)
		}
		if len(losses) < len(p.IDs) {
			return fmt.Errorf("validating after step %d: %d losses of %d examples: Model.Loss must give one for each", r.result.Steps, len(losses), len(p.IDs))
		}
		for i, l := range losses[:len(p.IDs)] {
			if !finite(l) {
				return fmt.Errorf("validating after step %d: the loss of example %d is %g", r.result.Steps, p.IDs[i], l)
			}
			sum += l
		}
	}
	v := Validation{r.result.Steps, sum / float64(r.validation.Len())}
	r.result.Validations = append(r.result.Validations, v)
	if r.result.Best.Step > 0 && v.Loss >= r.result.Best.Loss {
		return nil
	}
	r.result.Best = v
	state, err := r.State()
	if err != nil {
		return err
	}
	if r.dir == nil {
		r.best, r.bestAt = state, v.Step
		return nil
	}
	return r.write(r.dir.best(), state)
}

// impatient says whether the last Patience looks brought no new best.
func (r *run) impatient() bool {
	if r.opt.Patience <= 0 || r.result.Best.Step == 0 {
		return false
	}
	worse := 0
	for _, v := range r.result.Validations {
		if v.Step > r.result.Best.Step {
			worse++
		}
	}
	return worse >= r.opt.Patience
}

// finish leaves the model with the best weights.
func (r *run) finish() error {
	if r.result.Best.Step == 0 || r.result.Best.Step == r.result.Steps {
		return nil
	}
	best := r.best
	if r.dir != nil {
		var res *Result
		var err error
		if best, res, err = r.load(r.dir.best()); err == nil && res.Steps != r.result.Best.Step {
			err = fmt.Errorf("%s is of step %d", r.dir.best(), res.Steps)
		}
		if err != nil {
			return fmt.Errorf("the run is done, its best weights (step %d) cannot be had, the model has the last: %w", r.result.Best.Step, err)
		}
	}
	if err := r.SetState(best); err != nil {
		return err
	}
	r.result.Weights = r.result.Best.Step
	return nil
}

// interrupted ends a run whose context ended.
func (r *run) interrupted(cause error) error {
	r.result.Stopped = "interrupted"
	r.note = "interrupted"
	if r.dir != nil && r.saved != r.result.Steps {
		if err := r.save(); err != nil {
			return errors.Join(cause, err)
		}
	}
	where := "the model has the weights so far"
	if r.dir != nil {
		where += "; Options.Resume goes on from " + r.opt.Dir
	}
	return fmt.Errorf("interrupted after %d of %d steps, %s: %w", r.result.Steps, r.total, where, cause)
}

// failed ends a run that cannot go on. A backend that failed in the middle of
// a step has taken the weights with it: they come back from a checkpoint.
func (r *run) failed(cause error) error {
	r.result.Stopped = "failed"
	r.note = "failed"
	if _, err := r.State(); err == nil {
		return cause
	}
	if r.dir != nil {
		if steps, err := r.dir.steps(); err == nil && len(steps) > 0 {
			at := steps[len(steps)-1]
			if state, _, err := r.load(r.dir.at(at)); err == nil && r.SetState(state) == nil {
				r.result.Weights = at
				return fmt.Errorf("%w; the model has the weights of the checkpoint of step %d", cause, at)
			}
		}
	}
	if r.best != nil && r.SetState(r.best) == nil {
		r.result.Weights = r.bestAt
		return fmt.Errorf("%w; the model has the best weights so far, of step %d", cause, r.bestAt)
	}
	r.result.Weights = 0
	return fmt.Errorf("%w; the weights are lost with it: with Options.Dir there would be a checkpoint", cause)
}

func (r *run) report(done bool) {
	if r.show == nil {
		return
	}
	p := Progress{Step: r.result.Steps, Steps: r.total, Loss: math.NaN(), Validation: math.NaN(), Elapsed: time.Since(r.began), From: r.from, Done: done, Note: r.note}
	if done && r.result.Stopped == "patience" {
		p.Note = fmt.Sprintf("%s, no better since step %d", r.note, r.result.Best.Step)
	}
	if n := len(r.result.Losses); n > 0 {
		p.Loss = r.result.Losses[n-1]
	}
	if n := len(r.result.Validations); n > 0 && (done || r.result.Validations[n-1].Step == r.result.Steps) {
		p.Validation = r.result.Validations[n-1].Loss
	}
	r.show(p)
}
