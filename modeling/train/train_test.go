package train_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/train"
)

// list is examples of given lengths.
type list []int

func (l list) Len() int         { return len(l) }
func (l list) Length(i int) int { return l[i] }
func (l list) Hash() string     { return fmt.Sprint([]int(l)) }
func (l list) Batch(ids []int, length int) (train.Batch, error) {
	a := train.Array{Dims: []int{len(ids), length}, Float32: make([]float32, len(ids)*length)}
	return train.Batch{Inputs: []train.Array{a}}, nil
}

func lengths(n int) list {
	var l list
	for i := range n {
		l = append(l, 1+(i*7)%40)
	}
	return l
}

func TestAPlanHoldsEveryExampleOnceInABucketThatHoldsIt(t *testing.T) {
	l := lengths(103)
	buckets := []int{32, 8, 16}
	var first, left int
	orders := map[string]bool{}
	for epoch := range 4 {
		parts := train.Plan(l, buckets, 8, 1, epoch)
		if epoch == 0 {
			first = len(parts)
		}
		if len(parts) != first || first != 103/8 {
			t.Errorf("epoch %d has %d batches, the first has %d", epoch, len(parts), first)
		}
		seen := map[int]bool{}
		for _, p := range parts {
			if len(p.IDs) != 8 || !slices.Contains(buckets, p.Length) {
				t.Fatalf("%+v", p)
			}
			for _, id := range p.IDs {
				if seen[id] || (l[id] > p.Length && p.Length != 32) {
					t.Errorf("example %d of length %d in a batch of length %d, again: %v", id, l[id], p.Length, seen[id])
				}
				seen[id] = true
			}
		}
		left = 103 - len(seen)
		orders[fmt.Sprint(parts)] = true
		if fmt.Sprint(train.Plan(l, buckets, 8, 1, epoch)) != fmt.Sprint(parts) {
			t.Error("the same epoch twice gives two plans")
		}
	}
	if left != 103%8 || len(orders) != 4 {
		t.Errorf("%d examples left out, %d different orders", left, len(orders))
	}
	if fmt.Sprint(train.Plan(l, buckets, 8, 2, 0)) == fmt.Sprint(train.Plan(l, buckets, 8, 1, 0)) {
		t.Error("the seed does not matter")
	}
	all := 0
	for _, p := range train.All(l, buckets, 8) {
		all += len(p.IDs)
	}
	if all != 103 {
		t.Errorf("evaluation sees %d of 103 examples", all)
	}
	if p := train.Plan(l, nil, 8, 1, 0); p[0].Length != 40 {
		t.Errorf("without buckets the length is %d, want the longest", p[0].Length)
	}
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		s    train.Schedule
		step int
		want float64
	}{
		{train.Cosine, 0, 0.1}, {train.Cosine, 9, 1}, {train.Cosine, 10, 1}, // warm-up of 10
		{train.Cosine, 60, 0.2 + 0.8*0.5},                // half way from 10 to 110
		{train.Cosine, 35, 0.2 + 0.8*(1+math.Sqrt2/2)/2}, // a quarter: cos(pi/4)
		{train.Cosine, 110, 0.2}, {train.Linear, 60, 0.6}, {train.Linear, 35, 0.8}, {train.Constant, 60, 1}, {train.Constant, 4, 0.5},
	} {
		if got := c.s.Rate(c.step, 110, 10, 0.2); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s at %d: %v, want %v", c.s, c.step, got, c.want)
		}
	}
}

// toy is a model of one number, its count of steps, with losses by a formula.
type toy struct {
	count    float64
	loss     func(step int) float64 // of the batch
	held     func(step int) float64 // of each validation example
	prepared bool
	fail     int // step that fails
}

func (m *toy) Prepare(train.Batch) error { m.prepared = true; return nil }
func (m *toy) About() train.About        { return train.About{Backend: "paper", Parameters: 1} }
func (m *toy) Step(_ []train.Batch, _ float64) (train.StepResult, error) {
	if m.fail > 0 && int(m.count)+1 == m.fail {
		return train.StepResult{}, errors.New("the power went out")
	}
	m.count++
	return train.StepResult{Loss: m.loss(int(m.count)), GradNorm: 1}, nil
}
func (m *toy) Losses(b train.Batch) ([]float64, error) {
	return slices.Repeat([]float64{m.held(int(m.count))}, len(b.IDs)), nil
}
func (m *toy) State() (train.State, error) {
	return train.State{{Name: "count", DType: "F64", Dims: []int{1}, Data: binary.LittleEndian.AppendUint64(nil, math.Float64bits(m.count))}}, nil
}
func (m *toy) SetState(s train.State) error {
	want, _ := m.State()
	if err := s.Fit(want); err != nil {
		return err
	}
	m.count = math.Float64frombits(binary.LittleEndian.Uint64(s[0].Data))
	return nil
}

// valley has its best validation after step 40.
func valley() *toy {
	return &toy{loss: func(s int) float64 { return 1 / float64(s) }, held: func(s int) float64 { return 1 + math.Abs(float64(s-40)) }}
}

// strider takes several steps in a call, and remembers how many.
type strider struct {
	*toy
	calls []int
}

func (m *strider) Step(b []train.Batch, rate float64) (train.StepResult, error) {
	m.calls = append(m.calls, 1)
	return m.toy.Step(b, rate)
}

func (m *strider) Steps(batches []train.Batch, rates []float64) (all []train.StepResult, _ error) {
	m.calls = append(m.calls, len(batches))
	for range rates {
		res, err := m.toy.Step(nil, 0)
		if all = append(all, res); err != nil || math.IsNaN(res.Loss) {
			return all, err
		}
	}
	return all, nil
}

// Steps go together, but not over the end of an epoch (10 steps), a
// validation, a checkpoint, the end of the run, or with batches of other lengths.
func TestStepsOfACall(t *testing.T) {
	same := make(list, 100)
	for name, c := range map[string]struct {
		change func(o *train.Options)
		x      list
		want   string
	}{
		"epoch":      {func(*train.Options) {}, same, "[4 4 1 1 4 4 1 1 4 1]"},
		"validation": {func(o *train.Options) { o.Validate = 6 }, same, "[4 1 1 4 1 1 4 1 1 1 1 4 1]"},
		"checkpoint": {func(o *train.Options) { o.Dir, o.Every = t.TempDir(), 8 }, same, "[4 4 1 1 4 1 1 4 4 1]"},
		"buckets":    {func(o *train.Options) { o.Buckets, o.Steps, o.PerCall = []int{8, 40}, 10, 2 }, lengths(100), ""},
		"end":        {func(o *train.Options) { o.Steps = 7 }, same, "[4 1 1 1]"},
	} {
		opt := quiet
		opt.PerCall, opt.Steps = 4, 25
		c.change(&opt)
		m := &strider{toy: valley()}
		res, err := train.Run(context.Background(), m, c.x, list{1}, opt)
		if err != nil || res.Steps != opt.Steps || len(res.Losses) != opt.Steps || res.Losses[opt.Steps-1] != 1/float64(opt.Steps) {
			t.Fatalf("%s: %+v, %v", name, res, err)
		}
		if got := fmt.Sprint(m.calls); got != c.want && c.want != "" {
			t.Errorf("%s: calls of %s steps, want %s", name, got, c.want)
		}
		if c.want == "" {
			parts, at := train.Plan(c.x, opt.Buckets, opt.Batch, opt.Seed, 0), 0
			for _, k := range m.calls {
				if parts[at].Length != parts[at+k-1].Length {
					t.Errorf("%s: a call of %d steps at %d, where the lengths are %d and %d", name, k, at, parts[at].Length, parts[at+k-1].Length)
				}
				at += k
			}
			if !slices.Contains(m.calls, 1) || !slices.Contains(m.calls, 2) {
				t.Errorf("%s: calls of %v steps: want both kinds", name, m.calls)
			}
		}
	}
	m := &strider{toy: valley()}
	m.loss = func(s int) float64 {
		if s == 7 {
			return math.NaN()
		}
		return 1
	}
	opt := quiet
	opt.PerCall = 4
	if res, err := train.Run(context.Background(), m, same, nil, opt); err == nil || !strings.Contains(err.Error(), "step 7: the loss is NaN") || res.Steps != 6 {
		t.Errorf("a loss that is no number in the middle of a call: %+v, %v", res, err)
	}
}

var quiet = train.Options{Quiet: true, Epochs: 20, Batch: 10, Buckets: []int{40}} // 10 steps an epoch

func TestEarlyStoppingLeavesTheBestWeights(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		opt := quiet
		opt.Patience, opt.Dir = 3, dir
		m := valley()
		res, err := train.Run(context.Background(), m, lengths(100), lengths(25), opt)
		if err != nil {
			t.Fatal(err)
		}
		if res.Stopped != "patience" || res.Steps != 70 || res.Best != (train.Validation{Step: 40, Loss: 1}) || res.Weights != 40 || m.count != 40 || len(res.Validations) != 7 {
			t.Errorf("%+v, the model is at step %v", res, m.count)
		}
		if dir == "" {
			continue
		}
		if state, _, err := train.ReadState(train.BestFile(dir)); err != nil || (&toy{}).SetState(state) != nil {
			t.Errorf("%v", err)
		}
		// There is nothing to go on with.
		opt.Resume = true
		again, err := train.Run(context.Background(), valley(), lengths(100), lengths(25), opt)
		if err != nil || again.Steps != 70 || again.Weights != 40 {
			t.Errorf("resumed after the end: %+v, %v", again, err)
		}
	}
}

func TestADirectoryWithCheckpointsIsNotOverwritten(t *testing.T) {
	opt := quiet
	opt.Epochs, opt.Dir = 1, t.TempDir()
	if _, err := train.Run(context.Background(), valley(), lengths(100), nil, opt); err != nil {
		t.Fatal(err)
	}
	if _, err := train.Run(context.Background(), valley(), lengths(100), nil, opt); err == nil || !strings.Contains(err.Error(), "Options.Resume") {
		t.Errorf("%v", err)
	}
}

func TestOnlyTheLastTwoCheckpointsStay(t *testing.T) {
	opt := quiet
	opt.Dir, opt.Every, opt.Epochs = t.TempDir(), 7, 3
	m := valley()
	m.fail = 30
	res, err := train.Run(context.Background(), m, lengths(100), nil, opt)
	if err == nil || !strings.Contains(err.Error(), "step 30: the power went out") || res.Steps != 29 || res.Weights != 29 {
		t.Fatalf("%+v, %v", res, err)
	}
	entries, err := os.ReadDir(opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "step-000000021.safetensors step-000000028.safetensors" {
		t.Errorf("the directory holds %s", got)
	}
}

func TestACheckpointThatCannotBeWrittenLosesNothing(t *testing.T) {
	opt := quiet
	opt.Dir, opt.Every, opt.Epochs = t.TempDir(), 7, 3
	m := valley()
	opt.Progress = func(p train.Progress) {
		if p.Step == 13 { // before the second: the disk is gone
			if err := os.Chmod(opt.Dir, 0o500); err != nil {
				t.Error(err)
			}
			// root writes nevertheless: put a directory where the file should go
			if err := os.MkdirAll(filepath.Join(opt.Dir, "step-000000014.safetensors", "x"), 0o755); err != nil && os.Geteuid() == 0 {
				t.Error(err)
			}
		}
	}
	res, err := train.Run(context.Background(), m, lengths(100), nil, opt)
	if chmod := os.Chmod(opt.Dir, 0o700); chmod != nil {
		t.Fatal(chmod)
	}
	if err == nil || !strings.Contains(err.Error(), "earlier checkpoints are as they were") || res == nil || res.Steps != 14 || m.count != 14 {
		t.Fatalf("%+v, %v", res, err)
	}
	if state, _, err := train.ReadState(filepath.Join(opt.Dir, "step-000000007.safetensors")); err != nil || (&toy{}).SetState(state) != nil {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(opt.Dir, ".step*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *train.Options)
		want   string
	}{
		"no end":     {func(o *train.Options) { o.Epochs = 0 }, "neither Options.Epochs nor Options.Steps"},
		"schedule":   {func(o *train.Options) { o.Schedule = "zigzag" }, `no schedule "zigzag"`},
		"rate":       {func(o *train.Options) { o.Rate = math.NaN() }, "Options.Rate is NaN"},
		"precision":  {func(o *train.Options) { o.Precision = "int4" }, `Options.Precision is "int4"`},
		"accumulate": {func(o *train.Options) { o.Accumulate = 11 }, "10 batches is no step of Options.Accumulate = 11"},
		"devices":    {func(o *train.Options) { o.Devices = 3 }, "shared evenly by 3 devices"},
		"bucket":     {func(o *train.Options) { o.Buckets = []int{0} }, "the length 0"},
		"resume":     {func(o *train.Options) { o.Resume = true }, "Options.Resume needs Options.Dir"},
		"patience":   {func(o *train.Options) { o.Patience = 1 }, "Options.Patience needs validation"},
		"per call":   {func(o *train.Options) { o.PerCall = 2 }, "takes one step in a call"},
		"both":       {func(o *train.Options) { o.PerCall, o.Accumulate = 2, 2 }, "Options.PerCall is 2 and Options.Accumulate 2"},
		"floor":      {func(o *train.Options) { o.Floor = 2 }, "Options.Floor is 2"},
	} {
		opt := quiet
		c.change(&opt)
		if _, err := train.Run(context.Background(), valley(), lengths(100), nil, opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := train.Run(context.Background(), valley(), list{}, nil, quiet); err == nil || !strings.Contains(err.Error(), "no examples") {
		t.Errorf("no examples: %v", err)
	}
}

func TestTheRecordSaysWhatIsNeededToDoItAgain(t *testing.T) {
	opt := quiet
	opt.Epochs, opt.Seed, opt.Batch, opt.Buckets = 1, 9, 1000, []int{30}
	res, err := train.Run(context.Background(), valley(), lengths(100), lengths(25), opt)
	if err != nil {
		t.Fatal(err)
	}
	r := res.Record
	if r.Settings.Seed != 9 || r.DataHash != lengths(100).Hash() || r.ValidationHash != lengths(25).Hash() || r.Parameters != 1 || r.Backend != "paper" ||
		len(r.Versions) == 0 || !strings.Contains(r.Machine, " x ") || r.Started.IsZero() || r.Took <= 0 {
		t.Errorf("%+v", r)
	}
	notices := strings.Join(r.Notices, "\n")
	if !strings.Contains(notices, "100 examples instead of 1000") || !strings.Contains(notices, "longer than the longest bucket (30) and are cut") {
		t.Errorf("notices %q", notices)
	}
}

func FuzzReadFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "x")
	state, _ := valley().State()
	if err := train.WriteFile(path, state, `{"a":"<&>"}`); err != nil {
		f.Fatal(err)
	}
	if got, text, err := train.ReadFile(path); err != nil || text != `{"a":"<&>"}` || got.Fit(state) != nil {
		f.Fatalf("%v, %q, %v", got, text, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte{})
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, text, err := train.ReadFile(p)
		if err != nil {
			return
		}
		if err := train.WriteFile(p, got, text); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if again, _, err := train.ReadFile(p); err != nil || again.Fit(got) != nil {
			t.Errorf("what was written reads otherwise: %v", err)
		}
	})
}
