package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// timedKernels is a store with twelve kernels that differ in a loop's bound.
func timedKernels(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kernels.db")
	s, err := datasets.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	im, err := s.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	put := func(rs ...datasets.Record) {
		t.Helper()
		for _, r := range rs {
			if err := im.Put(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(&datasets.Machine{ID: 1, CPU: "cpu"})
	for id := range int64(12) {
		id++
		put(&datasets.Run{ID: id, Machine: 1, Tool: "opencl", Format: "opencl", Status: datasets.RunOK, TimeMetric: "kernel_time"},
			&datasets.Region{ID: id, Run: id, Kind: datasets.KindKernel, Raw: "f", Short: "f"},
			&datasets.Attribute{Run: id, Name: "source", Value: fmt.Sprintf("kernel void f(global float *x) { for (int i = 0; i < %d; i++) x[i] += 1; }", id)},
			&datasets.Launch{ID: id, Run: id, Region: id},
			&datasets.Attribute{Run: id, Launch: id, Name: "args", Value: "x=buf:float:16"},
			&datasets.Attribute{Run: id, Launch: id, Name: "global_size", Value: "64"},
			&datasets.Attribute{Run: id, Launch: id, Name: "local_size", Value: "16"},
			&datasets.Counter{Run: id, Region: id, Launch: id, Metric: "kernel_time", Value: datasets.Some(float64(id) * 1e-6), Unit: "s", Status: datasets.StatusOK})
	}
	if err := im.Commit(datasets.Artefact{Path: "x", SHA256: "y", Kind: "opencl"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAModelIsTrainedAndPredicts(t *testing.T) {
	store, dir := timedKernels(t), filepath.Join(t.TempDir(), "model")
	stdout, stderr, status := run(t, "", "train", "llmperf", "--data", store, "--out", dir, "--alone", "--size", "tiny", "--context", "64", "--steps", "2", "--batch", "4")
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if !strings.Contains(stdout, "MAPE") || !strings.Contains(stdout, "that nothing was fitted to") {
		t.Errorf("no figures of the test: %s", stdout)
	}
	source := filepath.Join(t.TempDir(), "f.cl")
	if err := os.WriteFile(source, []byte("kernel void f(global float *x) {\n  x[get_global_id(0)] = 2;\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	predict := func(more ...string) (string, string, int) {
		return run(t, "", append([]string{"predict", dir, "--source", source, "--global", "64", "--local", "16", "--arg", "x=buf:float:64"}, more...)...)
	}
	stdout, stderr, status = predict("--json", "--level", "0.5")
	var got struct{ Seconds, Low, High, Level float64 }
	if err := json.Unmarshal([]byte(stdout), &got); status != 0 || err != nil {
		t.Fatalf("status %d, %v: %s%s", status, err, stdout, stderr)
	}
	if !(got.Seconds > 0) || got.Level != 0.5 {
		t.Errorf("%s", stdout)
	}
	if !strings.Contains(stdout, `"notes":[]`) {
		t.Errorf("%s", stdout)
	}
	// One kernel was held out for intervals.
	if stdout, _, status = predict("--level", "0.9"); status != 0 || !strings.Contains(stdout, "s, without an interval: in training too few kernels") {
		t.Errorf("status %d: %s", status, stdout)
	}
	if stdout, _, status = predict("--lines"); status != 0 || !strings.Contains(stdout, "x[get_global_id(0)] = 2;") {
		t.Errorf("status %d, no listing: %s", status, stdout)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"predict", dir, "--source", source, "--global", "none"}, "--global"},
		{[]string{"predict", dir, "--source", source, "--global", "64", "--arg", "x=quark:3"}, "no type"},
		{[]string{"predict", dir + "2", "--source", source, "--global", "64", "--arg", "buf:float:64"}, "predictor.json"},
		{[]string{"predict", dir, "--source", source, "--global", "64"}, "kernel f takes, in this order: x=buf:float:COUNT"},
		{[]string{"train", "llmperf", "--data", store, "--out", dir, "--size", "7B"}, "only tiny"},
		{[]string{"train", "llmperf", "--data", store, "--out", dir, "--size", "tiny", "--context", "64", "--steps", "2"}, "checkpoints of an earlier run"},
	} {
		if _, stderr, status := run(t, "", c.args...); status != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d, %q, want 1 and %q", c.args, status, stderr, c.want)
		}
	}
}

// The same with what is trained unless --alone says otherwise: a network that
// corrects trees. What is loaded predicts what was trained, also of a kernel
// that has no loop, and has no lines to show.
func TestAModelOnTreesIsTrainedAndPredicts(t *testing.T) {
	store, dir := timedKernels(t), filepath.Join(t.TempDir(), "model")
	stdout, stderr, status := run(t, "", "train", "llmperf", "--data", store, "--out", dir, "--steps", "2", "--batch", "4", "--context", "64")
	if status != 0 || !strings.Contains(stdout, "MAPE") || !strings.Contains(stdout, "geometric mean of 2") {
		t.Fatalf("status %d: %s%s", status, stdout, stderr)
	}
	source := filepath.Join(t.TempDir(), "f.cl")
	if err := os.WriteFile(source, []byte("kernel void f(global float *x) {\n  x[get_global_id(0)] = 2;\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := []string{"predict", dir, "--source", source, "--global", "64", "--local", "16", "--arg", "x=buf:float:64"}
	stdout, stderr, status = run(t, "", append(ask, "--json", "--level", "0.4")...)
	var got struct{ Seconds, Low, High float64 }
	if err := json.Unmarshal([]byte(stdout), &got); status != 0 || err != nil || !(got.Low <= got.Seconds && got.Seconds <= got.High) {
		t.Fatalf("status %d, %v: %s%s", status, err, stdout, stderr)
	}
	// The times of the store are 1 to 12 us.
	if got.Seconds < 3e-7 || got.Seconds > 4e-5 {
		t.Errorf("%s", stdout)
	}
	if _, stderr, status = run(t, "", append(ask, "--lines")...); status != 1 || !strings.Contains(stderr, "--alone") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if _, stderr, status = run(t, "", "train", "llmperf", "--data", store, "--out", dir); status != 1 || !strings.Contains(stderr, "holds checkpoints of an earlier run") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
