package gomlx_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

const (
	childDir     = "ROOFLAB_TEST_TRAIN_DIR" // set in a child that is to be killed
	childBackend = "ROOFLAB_TEST_TRAIN_BACKEND"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir, os.Getenv(childBackend))
		return
	}
	os.Exit(m.Run())
}

// long is a run to interrupt: it has dropout and validation, and two lengths or
// two steps in a call.
func long(b string) train.Options {
	opt := options
	opt.Epochs, opt.Buckets, opt.Backend, opt.Every = 3, []int{16}, b, 4
	if b == "go" {
		opt.Buckets = []int{8, 16}
	} else {
		opt.PerCall = 2
	}
	return opt
}

// child trains until it is killed, and says every step.
func child(dir, b string) {
	opt := long(b)
	opt.Dir = dir
	opt.Progress = func(p train.Progress) { fmt.Println("step", p.Step) }
	n, err := gomlx.New(small, opt)
	if err == nil {
		_, err = train.Run(context.Background(), n, makeSentences(64, 1), makeSentences(16, 2), opt)
	}
	fmt.Println("end", err)
}

func sameCurve(t *testing.T, got, want *train.Result) {
	t.Helper()
	if got.Steps != want.Steps || len(got.Losses) != len(want.Losses) {
		t.Fatalf("%d steps with %d losses, want %d with %d", got.Steps, len(got.Losses), want.Steps, len(want.Losses))
	}
	for i := range want.Losses {
		if math.Float64bits(got.Losses[i]) != math.Float64bits(want.Losses[i]) || got.GradNorms[i] != want.GradNorms[i] || got.Rates[i] != want.Rates[i] {
			t.Fatalf("step %d: loss %v, gradient %v, rate %v; uninterrupted %v, %v, %v", i+1,
				got.Losses[i], got.GradNorms[i], got.Rates[i], want.Losses[i], want.GradNorms[i], want.Rates[i])
		}
	}
	if fmt.Sprint(got.Validations) != fmt.Sprint(want.Validations) || got.Best != want.Best || got.Weights != want.Weights {
		t.Errorf("validations %v, best %v, weights of step %d; uninterrupted %v, %v, %d", got.Validations, got.Best, got.Weights, want.Validations, want.Best, want.Weights)
	}
}

// Killed in the middle of a step, wherever that is, a run goes on with the
// curve of one that was left alone, bit for bit, on both backends.
func TestAKilledRunGoesOnWithTheSameCurve(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range backends(t) {
		dir := t.TempDir()
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childDir+"="+dir, childBackend+"="+b)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		var seen []string
		for lines.Scan() {
			seen = append(seen, lines.Text())
			if lines.Text() == "step 10" { // after an epoch of 8 steps, between two checkpoints
				break
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if len(seen) == 0 || seen[len(seen)-1] != "step 10" {
			t.Fatalf("%s: the child said %q", b, seen)
		}
		opt := long(b)
		whole, err := train.Run(context.Background(), network(t, small, opt), makeSentences(64, 1), makeSentences(16, 2), opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.Dir, opt.Resume = dir, true
		n := network(t, small, opt)
		resumed, err := train.Run(context.Background(), n, makeSentences(64, 1), makeSentences(16, 2), opt)
		if err != nil {
			t.Fatal(err)
		}
		if len(resumed.Record.Resumed) != 1 || resumed.Record.Resumed[0] < 8 {
			t.Errorf("%s: resumed at %v", b, resumed.Record.Resumed)
		}
		sameCurve(t, resumed, whole)
	}
}

// Cancelled in a cell, the weights are there in the next one, and the run can
// go on there, too.
func TestAnInterruptedRunKeepsItsWeights(t *testing.T) {
	opt := long("go")
	whole, err := train.Run(context.Background(), network(t, small, opt), makeSentences(64, 1), makeSentences(16, 2), opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	opt.Dir = t.TempDir()
	opt.Progress = func(p train.Progress) {
		if p.Step == 11 {
			cancel()
		}
	}
	n := network(t, small, opt)
	res, err := train.Run(ctx, n, makeSentences(64, 1), makeSentences(16, 2), opt)
	if !errors.Is(err, context.Canceled) || res == nil || res.Steps != 11 || res.Weights != 11 || res.Stopped != "interrupted" || !strings.Contains(err.Error(), "11 of 24 steps") {
		t.Fatalf("%+v, %v", res, err)
	}
	b, _ := makeSentences(3, 9).Batch([]int{0, 1, 2}, 16)
	b.IDs = []int{0, 1, 2}
	p, err := n.Predict(b)
	if err != nil || len(p) != 1 || len(p[0].Float32) != 3 || math.IsNaN(float64(p[0].Float32[0])) {
		t.Fatalf("predictions %v, %v", p, err)
	}
	opt.Resume, opt.Progress = true, nil
	again, err := train.Run(context.Background(), n, makeSentences(64, 1), makeSentences(16, 2), opt) // the same network
	if err != nil {
		t.Fatal(err)
	}
	sameCurve(t, again, whole)

	// The best weights of the file predict what the network predicts.
	state, record, err := train.ReadState(train.BestFile(opt.Dir))
	if err != nil || record.Settings.Seed != 5 {
		t.Fatalf("%+v, %v", record.Settings, err)
	}
	fresh := network(t, small, opt)
	if err := fresh.Prepare(b); err != nil {
		t.Fatal(err)
	}
	if err := fresh.SetState(state); err != nil {
		t.Fatal(err)
	}
	p1, err1 := n.Predict(b)
	p2, err2 := fresh.Predict(b)
	if err1 != nil || err2 != nil || fmt.Sprint(p1) != fmt.Sprint(p2) {
		t.Errorf("%v and %v (%v, %v)", p1, p2, err1, err2)
	}
}

func TestAStateOfAnotherModelIsRefused(t *testing.T) {
	opt := long("go")
	opt.Steps, opt.Dir = 2, t.TempDir()
	n := network(t, small, opt)
	if _, err := train.Run(context.Background(), n, makeSentences(64, 1), nil, opt); err != nil {
		t.Fatal(err)
	}
	opt.Resume = true
	wider := network(t, encoder(32, 2, 1, vocabulary, 0.1), opt)
	_, err := train.Run(context.Background(), wider, makeSentences(64, 1), nil, opt)
	if err == nil || !strings.Contains(err.Error(), "another model") || !strings.Contains(err.Error(), "F32 [12 16], the model has F32 [12 32]") {
		t.Errorf("a wider model: %v", err)
	}
	opt.Seed++
	if _, err := train.Run(context.Background(), n, makeSentences(64, 1), nil, opt); err == nil || !strings.Contains(err.Error(), "Seed 5, now 6") {
		t.Errorf("another seed: %v", err)
	}
	if _, err := train.Run(context.Background(), n, makeSentences(65, 1), nil, long("go")); err != nil {
		t.Errorf("other data without a directory: %v", err)
	}
}
