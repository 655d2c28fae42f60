package train

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// directory holds the checkpoints of a run: step-N.safetensors, the last two,
// and best.safetensors.
type directory struct{ path string }

const kept = 2

func (d *directory) at(step int) string {
	return filepath.Join(d.path, fmt.Sprintf("step-%09d.safetensors", step))
}
func (d *directory) best() string { return filepath.Join(d.path, "best.safetensors") }

// steps lists the steps that there are checkpoints of, in order.
func (d *directory) steps() ([]int, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("looking for checkpoints: %w", err)
	}
	var steps []int
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "step-%d.safetensors", &n); err == nil && e.Name() == filepath.Base(d.at(n)) {
			steps = append(steps, n)
		}
	}
	slices.Sort(steps)
	return steps, nil
}

// progress is the loop's own part of a checkpoint, beside the curves, which
// are tensors so that every bit of them comes back.
type progress struct {
	Step        int          `json:"step"`
	Validations []Validation `json:"validations"`
	Best        Validation   `json:"best"`
	Record      Record       `json:"record"`
}

const curves = "history/" // names of tensors that are the loop's, not the model's

// save writes the checkpoint of this step and drops those before the last two.
func (r *run) save() error {
	state, err := r.State()
	if err != nil {
		return err
	}
	if err := r.write(r.dir.at(r.result.Steps), state); err != nil {
		return err
	}
	r.saved = r.result.Steps
	steps, err := r.dir.steps()
	if err != nil {
		return err
	}
	for _, s := range steps[:max(len(steps)-kept, 0)] {
		if err := os.Remove(r.dir.at(s)); err != nil {
			return fmt.Errorf("dropping an old checkpoint: %w", err)
		}
	}
	return nil
}

func (r *run) write(path string, state State) error {
	text, err := json.Marshal(progress{r.result.Steps, r.result.Validations, r.result.Best, r.result.Record})
	if err != nil {
		return fmt.Errorf("writing the checkpoint %s: %w", path, err)
	}
	state = append(slices.Clip(state), floats(curves+"losses", r.result.Losses),
		floats(curves+"gradient_norms", r.result.GradNorms), floats(curves+"rates", r.result.Rates))
	return WriteFile(path, state, string(text))
}

// load reads a checkpoint: the model's state, and the loop's.
func (r *run) load(path string) (State, *Result, error) {
	tensors, text, err := ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var p progress
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, nil, fmt.Errorf("reading the checkpoint %s: it is no checkpoint of a training run: %w", path, err)
	}
	res := &Result{Steps: p.Step, Weights: p.Step, Validations: p.Validations, Best: p.Best, Record: p.Record}
	var state State
	for _, t := range tensors {
		switch t.Name {
		case curves + "losses":
			res.Losses = t.floats()
		case curves + "gradient_norms":
			res.GradNorms = t.floats()
		case curves + "rates":
			res.Rates = t.floats()
		default:
			state = append(state, t)
		}
	}
	if len(res.Losses) != p.Step {
		return nil, nil, fmt.Errorf("reading the checkpoint %s: it is of step %d and has %d losses", path, p.Step, len(res.Losses))
	}
	return state, res, nil
}

// ReadState reads the model's part of a checkpoint, for SetState.
func ReadState(path string) (State, Record, error) {
	state, res, err := (&run{}).load(path)
	if err != nil {
		return nil, Record{}, err
	}
	return state, res.Record, nil
}

// BestFile and LastFile are the checkpoints of a run's directory to read.
func BestFile(dir string) string { return (&directory{dir}).best() }

// LastFile is the checkpoint of the latest step in dir.
func LastFile(dir string) (string, error) {
	d := &directory{dir}
	steps, err := d.steps()
	if err != nil {
		return "", err
	}
	if len(steps) == 0 {
		return "", fmt.Errorf("there is no checkpoint in %s", dir)
	}
	return d.at(steps[len(steps)-1]), nil
}

func (r *run) resume(steps []int) error {
	last := r.dir.at(steps[len(steps)-1])
	state, res, err := r.load(last)
	if err != nil {
		hint := ""
		for _, s := range slices.Backward(steps[:len(steps)-1]) {
			if _, _, err := r.load(r.dir.at(s)); err == nil {
				hint = fmt.Sprintf("; the one of step %d is good: to go on from it, remove the damaged file", s)
				break
			}
		}
		return fmt.Errorf("resuming: %w%s", err, hint)
	}
	if d := res.Record.differences(r.result.Record); len(d) > 0 {
		return fmt.Errorf("resuming from %s: it is of a run with other settings, its curve would not go on: %s", last, strings.Join(d, "; "))
	}
	if err := r.SetState(state); err != nil {
		return fmt.Errorf("resuming from %s: %w", last, err)
	}
	record := r.result.Record
	record.Resumed = append(slices.Clone(res.Record.Resumed), res.Steps)
	record.Started, record.Took = res.Record.Started, res.Record.Took
	if res.Record.Backend != record.Backend {
		record.Notices = append(record.Notices, fmt.Sprintf("begun on %s: from step %d on, the curve agrees with one of a single backend only up to rounding",
			res.Record.Backend, res.Steps))
	}
	res.Record = record
	r.result, r.saved, r.from = res, res.Steps, res.Steps
	return nil
}
