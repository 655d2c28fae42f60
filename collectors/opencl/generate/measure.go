package generate

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// Options say what to measure. The zero value of each field but Kernels is a
// sensible choice.
type Options struct {
	Seed     uint64
	Kernels  int     // how many of the seed's kernels, from the first on
	Launches int     // of each kernel at most, 5
	Warmup   int     // executions of a launch before those that are timed, 1; -1 for none
	Repeats  int     // timed executions of a launch, 5
	Settle   float64 // collector opencl's flag of that name, which times a launch up to 5 times as often; 0 for none
	Batch    int     // kernels that are stored at once, 20: what an interrupt loses at most
	Platform string  // as collector opencl's flag of that name
	Device   string
	Timeout  time.Duration // of one launch or build, 1 minute
	Log      io.Writer     // progress, for people; nil drops it
}

// Report is what a Measure did.
type Report struct {
	Measured int // kernels that this call measured
	There    int // kernels that the store had already
	Failed   int // of those measured, kernels whose run is not ok
}

// Measure measures the kernels of a seed that a store does not have yet, batch
// after batch, each in one transaction: what was interrupted goes on where it
// was. A kernel is a run whose attribute source.path is PATTERN-ID.cl.
func Measure(ctx context.Context, s *datasets.Store, opt Options) (Report, error) {
	opt.fill()
	var r Report
	there, err := measured(ctx, s)
	if err != nil {
		return r, err
	}
	c := New(opt.Seed, opt.Launches)
	began := time.Now()
	var batch []Kernel
	for n := range opt.Kernels {
		k := c.Next()
		if there[k.file()] {
			r.There++
		} else {
			batch = append(batch, k)
		}
		if len(batch) < opt.Batch && n+1 < opt.Kernels || len(batch) == 0 {
			continue
		}
		sum, err := opt.measure(ctx, s, batch)
		if err != nil {
			return r, fmt.Errorf("measuring generated kernels %d to %d of seed %d (%d are stored; the same call goes on from there): %w", n+2-len(batch), n+1, opt.Seed, r.There+r.Measured, err)
		}
		for _, state := range sum.States {
			if state.Status == datasets.RunUnavailable {
				return r, fmt.Errorf("measuring generated kernels: %s", state.Error)
			}
			if state.Status != datasets.RunOK {
				r.Failed++
			}
		}
		r.Measured += len(batch)
		batch = batch[:0]
		if opt.Log != nil {
			left := time.Duration(float64(time.Since(began)) / float64(r.Measured) * float64(opt.Kernels-n-1))
			fmt.Fprintf(opt.Log, "%d of %d kernels, %d failed, about %v left\n", n+1, opt.Kernels, r.Failed, left.Round(time.Second))
		}
	}
	return r, nil
}

func (o *Options) fill() {
	for _, f := range []struct {
		v  *int
		to int
	}{{&o.Launches, 5}, {&o.Warmup, 1}, {&o.Repeats, 5}, {&o.Batch, 20}} {
		if *f.v == 0 {
			*f.v = f.to
		}
	}
	o.Warmup = max(o.Warmup, 0)
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
}

// measured are the files of kernels in a store.
func measured(ctx context.Context, s *datasets.Store) (map[string]bool, error) {
	df, err := s.Query(ctx, "SELECT DISTINCT value FROM attribute WHERE name = 'source.path'")
	if err != nil {
		return nil, fmt.Errorf("looking which generated kernels are in %s: %w", s.Path(), err)
	}
	there := map[string]bool{}
	for i := range df.Nrow() {
		there[df.Elem(i, 0).String()] = true
	}
	return there, nil
}

func (o Options) measure(ctx context.Context, s *datasets.Store, ks []Kernel) (collectors.Summary, error) {
	dir, err := os.MkdirTemp("", "rooflab-generated-")
	if err != nil {
		return collectors.Summary{}, err
	}
	defer os.RemoveAll(dir)
	job, err := WriteJob(dir, ks, o.Warmup, o.Repeats)
	if err != nil {
		return collectors.Summary{}, err
	}
	flags := []string{"-job", job, "-timeout", o.Timeout.String(), "-together", "50", "-repeats", strconv.Itoa(o.Repeats), "-settle", strconv.FormatFloat(o.Settle, 'g', -1, 64)}
	for name, v := range map[string]string{"-platform": o.Platform, "-device": o.Device} {
		if v != "" {
			flags = append(flags, name, v)
		}
	}
	return collectors.Collect(ctx, s, "opencl", flags, collectors.Job{})
}
