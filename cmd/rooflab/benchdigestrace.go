package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rooflab/rooflab/internal/bench"
	"github.com/rooflab/rooflab/modeling/stalls/generated"
)

// Bounds that a digest keeps to: memory in MB, and its part of the samples.
const (
	digestMemory = 500
	digestSize   = 0.001
)

// digestRace says what to measure.
type digestRace struct {
	Ours     []string // command that digests the store whose path is added, and prints a generated.Digested as JSON
	Bytes    int64    // of each table of samples, as CSV
	Rounds   int
	Seed     uint64
	Shapes   []generated.Shape
	Within   time.Duration // no table is begun after it
	Progress func(line string)
}

// Run generates tables, digests each in processes of their own, and leaves no
// file behind. A digest that lost a line, or samples, is an error.
func (r *digestRace) Run(ctx context.Context) (*bench.Report, error) {
	dir, err := os.MkdirTemp("", "rooflab-bench-digest-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the benchmark: %w", err)
	}
	defer os.RemoveAll(dir)
	rep := &bench.Report{}
	began := time.Now()
	var left []string
	for i, shape := range r.Shapes {
		if i > 0 && time.Since(began) > r.Within {
			left = append(left, shape.Name)
			continue
		}
		shape.Bytes, shape.Seed = r.Bytes, r.Seed
		if err := r.shape(ctx, filepath.Join(dir, "store.db"), shape, rep); err != nil {
			return nil, fmt.Errorf("%s: %w", shape.Name, err)
		}
	}
	if len(left) > 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("not measured, since %v had passed: %s (--within, --shape)", r.Within, strings.Join(left, ", ")))
	}
	rep.Machine = bench.Machine()
	rep.Notes = append(rep.Notes, "each digest is a process of its own; memory is its peak resident set (VmHWM), time is from opening the store to the text",
		fmt.Sprintf("all lines with %.0f %% or more of the stalls, and all samples, were compared with what was generated; seed %d", 100*generated.Least, r.Seed))
	return rep, nil
}

func (r *digestRace) shape(ctx context.Context, store string, shape generated.Shape, rep *bench.Report) error {
	defer func() {
		os.Remove(store)
		os.Remove(store + ".wal")
	}()
	r.Progress(fmt.Sprintf("%s: generating %.0f MB of samples", shape.Name, float64(shape.Bytes)/1e6))
	truth, err := generated.Generate(ctx, store, shape)
	if err != nil {
		return err
	}
	var memory, seconds []float64
	var d generated.Digested
	for i := range r.Rounds {
		r.Progress(fmt.Sprintf("%s: digest %d of %d", shape.Name, i+1, r.Rounds))
		if d, err = r.digest(ctx, store); err != nil {
			return err
		}
		if err := truth.Check(d); err != nil {
			return err
		}
		memory, seconds = append(memory, d.PeakMB), append(seconds, d.Seconds)
	}
	raw := float64(truth.Bytes) / 1e6
	for _, c := range []struct {
		name, peer, unit string
		ours             []float64
		bound            float64
	}{
		{"peak memory", fmt.Sprintf("bound of %d MB", digestMemory), "MB", memory, digestMemory},
		{"size of the digest", "a thousandth of the samples as CSV", "MB", []float64{float64(d.Bytes) / 1e6}, raw * digestSize},
	} {
		res, err := bench.Compare(fmt.Sprintf("%s, %.0f MB: %s", shape.Name, raw, c.name), c.peer, c.unit, c.ours, []float64{c.bound})
		if err != nil {
			return err
		}
		res.Target = 1
		rep.Results = append(rep.Results, res)
	}
	rep.Notes = append(rep.Notes, fmt.Sprintf("%s: %s; %d rows of %d launches in %.1f s (%v), %d bytes of digest", shape.Name, shape, truth.Rows, truth.Launches, slices.Min(seconds), seconds, d.Bytes))
	return nil
}

func (r *digestRace) digest(ctx context.Context, store string) (d generated.Digested, err error) {
	cmd := exec.CommandContext(ctx, r.Ours[0], append(slices.Clone(r.Ours[1:]), store)...) //nolint:gosec // the program itself
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return d, fmt.Errorf("digesting: %w\n%s", err, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		return d, fmt.Errorf("digesting: reading what it found: %w", err)
	}
	return d, nil
}
