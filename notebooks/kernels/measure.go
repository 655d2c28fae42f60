package kernels

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/collectors/caliper"
)

// Sample is what was measured of a kernel at one size.
type Sample struct {
	Kernel string
	N      int
	Count  Count
	Time   time.Duration // one call, the least disturbed of Samples
	Max    time.Duration // one call, the most disturbed
	Calls  int           // in each sample, one after the other
	Cold   bool          // the caches were emptied before every call
}

// Samples is how often a kernel is timed for one Sample. The fastest counts:
// whatever else runs on a machine makes code slower, never faster.
const Samples = 9

// least is how long a hot sample takes at least, so that the clock's
// resolution and the first call's misses do not matter.
const least = time.Millisecond

// Measure times a kernel at size n, with its data in whatever cache holds it
// (calls follow each other). It takes about 20 ms, or ten calls.
func Measure(ctx context.Context, k Kernel, n int) (Sample, error) {
	s := Sample{Kernel: k.Name, N: n, Count: k.Count(n)}
	call := k.Prepare(n)
	call()
	for s.Calls = 1; s.Calls < 1<<40; {
		took := elapsed(call, s.Calls)
		if took >= least {
			break
		}
		s.Calls = max(s.Calls+1, min(100*s.Calls, int(1.2*float64(s.Calls)*float64(least)/float64(max(took, 1)))))
		if err := ctx.Err(); err != nil {
			return s, fmt.Errorf("measuring %s at size %d: %w", k.Name, n, err)
		}
	}
	return s, s.take(ctx, func() time.Duration { return elapsed(call, s.Calls) })
}

// MeasureCold times single calls of a kernel, with all caches emptied before
// each: every array comes from memory once at least.
func MeasureCold(ctx context.Context, k Kernel, n int) (Sample, error) {
	s := Sample{Kernel: k.Name, N: n, Count: k.Count(n), Calls: 1, Cold: true}
	call := k.Prepare(n)
	call()
	evict := make([]float64, 512<<20/8) // larger than the caches of today's processors
	return s, s.take(ctx, func() time.Duration {
		for i := 0; i < len(evict); i += 8 {
			evict[i]++
		}
		return elapsed(call, 1)
	})
}

// elapsed is how long a number of calls take, one after the other.
func elapsed(call func(), calls int) time.Duration {
	start := time.Now()
	for range calls {
		call()
	}
	return time.Since(start)
}

func (s *Sample) take(ctx context.Context, sample func() time.Duration) error {
	for range Samples {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("measuring %s at size %d: %w", s.Kernel, s.N, err)
		}
		took := sample()
		if s.Time == 0 || took < s.Time {
			s.Time = took
		}
		s.Max = max(s.Max, took)
	}
	return nil
}

// Seconds is the time of one call.
func (s Sample) Seconds() float64 { return s.Time.Seconds() / float64(s.Calls) }

// metrics are the sample under the names that profiles use. What a cold call
// moves to and from memory is known: each of its numbers once, at least.
func (s Sample) metrics() []caliper.Metric {
	ms := []caliper.Metric{
		{Name: "time.duration", Unit: "sec", Value: s.Seconds()},
		{Name: "time.duration.max", Unit: "sec", Value: s.Max.Seconds() / float64(s.Calls)},
		{Name: "size", Value: float64(s.N)},
	}
	ms = append(ms, s.Count.metrics()...)
	if s.Cold {
		ms = append(ms, caliper.Metric{Name: "byte.dram", Unit: "byte", Value: 8 * s.Count.Distinct})
	}
	return ms
}

// Frame is samples as a dataframe, a row each: kernel, then a column for each
// of the names that profiles use, in seconds, bytes and plain counts. A column
// that only some samples have is NaN in the others.
func Frame(samples ...Sample) dataframe.DataFrame {
	names := []string{}
	kernels := make([]string, len(samples))
	columns := map[string][]float64{}
	for row, s := range samples {
		kernels[row] = s.Kernel
		for _, m := range s.metrics() {
			if columns[m.Name] == nil {
				names = append(names, m.Name)
				columns[m.Name] = make([]float64, len(samples))
				for i := range samples {
					columns[m.Name][i] = math.NaN()
				}
			}
			columns[m.Name][row] = m.Value
		}
	}
	cols := []series.Series{series.New(kernels, series.String, "kernel")}
	for _, n := range names {
		cols = append(cols, series.New(columns[n], series.Float, n))
	}
	return dataframe.New(cols...)
}

func (s Sample) String() string {
	cache := "hot"
	if s.Cold {
		cache = "cold"
	}
	return fmt.Sprintf("%s(%d), caches %s: %.4g s a call, %.3g Gflop/s", s.Kernel, s.N, cache, s.Seconds(), s.Count.Flop()/s.Seconds()/1e9)
}
