package llmperf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/score"
)

// FromStore reads the launches of a store whose source is known, as
// collector opencl and `rooflab generate` record them: one Example for each
// configuration of a kernel on a device, over all its repeats. A launch that
// failed or was not timed is left out. Run and Kernel of the filter count; the
// examples are sorted by group, arguments and sizes.
func FromStore(ctx context.Context, store *datasets.Store, f datasets.Filter) ([]Example, error) {
	if f.Sample > 0 || len(f.Metrics) > 0 {
		return nil, errors.New("reading kernels from a store: Filter.Sample and Filter.Metrics do not matter here: leave them empty")
	}
	type group struct {
		example Example
		times   []float64
	}
	byKey := map[string]*group{}
	var failed error
	err := store.Each(ctx, func(v []any) {
		if failed != nil {
			return
		}
		text := func(i int) string { s, _ := v[i].(string); return s }
		seconds, ok := v[1].(float64)
		if !ok || !(seconds > 0) || math.IsInf(seconds, 0) {
			return
		}
		x := Example{Kernel: text(2), Source: text(3), Device: text(5)}
		x.identify(text(4))
		key := strings.Join([]string{x.Group, x.Source, x.Kernel, text(6), text(7), text(8), x.Device}, "\x00")
		g := byKey[key]
		if g == nil {
			args, err := ParseArguments(text(6))
			var global, local []int64
			if err == nil {
				global, err = Sizes(text(7))
			}
			if err == nil {
				local, err = Sizes(text(8))
			}
			if err != nil {
				failed = fmt.Errorf("launch %v of %s: %w", v[0], x.Group, err)
				return
			}
			x.Args, x.Global, x.Local = args, global, local
			g = &group{example: x}
			byKey[key] = g
		}
		g.times = append(g.times, seconds)
	}, `
		WITH fact AS (
			SELECT launch_id, max(value) FILTER (name = 'args') AS args, max(value) FILTER (name = 'global_size') AS global_size,
				max(value) FILTER (name = 'local_size') AS local_size
			FROM attribute WHERE launch_id IS NOT NULL AND name IN ('args', 'global_size', 'local_size') GROUP BY 1),
		program AS (
			SELECT run_id, max(value) FILTER (name = 'source') AS text, max(value) FILTER (name = 'source.path') AS path,
				max(value) FILTER (name = 'device.name') AS device
			FROM attribute WHERE launch_id IS NULL AND region_id IS NULL AND name IN ('source', 'source.path', 'device.name') GROUP BY 1)
		SELECT l.id, c.value, r.short, p.text, p.path, p.device, f.args, f.global_size, f.local_size
		FROM launch l
		JOIN region r ON r.id = l.region_id
		JOIN run u ON u.id = l.run_id
		JOIN program p ON p.run_id = l.run_id
		JOIN fact f ON f.launch_id = l.id
		JOIN counter c ON c.launch_id = l.id AND c.metric = u.time_metric AND c.status = 'ok'
		WHERE p.text IS NOT NULL AND f.global_size IS NOT NULL
			AND (? = 0 OR l.run_id = ?) AND (? = '' OR r.short = ?)
		ORDER BY l.id`, f.Run, f.Run, f.Kernel, f.Kernel)
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("reading kernels from a store: %w", err)
	}
	if len(byKey) == 0 {
		return nil, errors.New("reading kernels from a store: no timed launch with a source is there: `rooflab generate` and `rooflab collect opencl` record such")
	}
	keys := make([]string, 0, len(byKey))
	for k := range byKey {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]Example, 0, len(keys))
	for _, k := range keys {
		g := byKey[k]
		x := g.example
		x.Seconds, x.Spread, x.Repeats = score.Median(g.times), spreadOf(g.times), len(g.times)
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b Example) int { return cmp.Compare(a.Group, b.Group) })
	return out, nil
}

// spreadOf estimates the standard deviation of logarithms robustly; 1.4826 is
// 1/z(3/4), for a normal distribution (Rousseeuw and Croux 1993).
func spreadOf(times []float64) float64 {
	if len(times) < 3 {
		return unknown()
	}
	logs := make([]float64, len(times))
	for i, t := range times {
		logs[i] = math.Log(t)
	}
	m := score.Median(logs)
	for i := range logs {
		logs[i] = math.Abs(logs[i] - m)
	}
	return 1.4826 * score.Median(logs)
}
