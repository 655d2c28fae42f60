package llmperf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/score"
)

// FromFLOPBench reads the CUDA kernels of gpuFLOPBench from a store that has
// both of its files imported, the table of times and the sources. The source of
// an example is the functions of the kernel's file, then the kernel; Global is
// grid times block. What the arguments were is not known there, beside the
// program's command line, which is not read.
//
// Launches of one kernel, device and shape are one Example. LeftOut names
// kernels that have no source under their name, or several different ones.
func FromFLOPBench(ctx context.Context, store *datasets.Store) (xs []Example, leftOut []string, err error) {
	type place struct{ program, kernel string }
	kernels := map[place][]string{} // distinct texts
	text := func(v any) string { s, _ := v.(string); return s }
	err = store.Each(ctx, func(v []any) {
		p := place{text(v[0]), text(v[1])}
		source := strings.TrimLeft(text(v[3])+"\n"+text(v[2]), "\n")
		if !slices.Contains(kernels[p], source) {
			kernels[p] = append(kernels[p], source)
		}
	}, `
		WITH part AS (
			SELECT a.value AS program, r.short, r.module, r.kind, c.text AS source, r.id
			FROM region r JOIN run u ON u.id = r.run_id AND u.format = 'gpuflopbench-sources'
			JOIN attribute a ON a.region_id = r.id AND a.name = 'program' JOIN code c ON c.region_id = r.id)
		SELECT k.program, k.short, k.source,
			(SELECT string_agg(f.source, chr(10) ORDER BY f.id) FROM part f WHERE f.program = k.program AND f.module = k.module AND f.kind = 'function')
		FROM part k WHERE k.kind = 'kernel' ORDER BY k.id`)
	if err == nil && len(kernels) == 0 {
		err = errors.New("there are no sources: import extracted_CUDA_kernels.json of gpuFLOPBench")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading gpuFLOPBench: %w", err)
	}
	times := map[string][]float64{}
	first := map[string]Example{}
	var order []string
	err = store.Each(ctx, func(v []any) {
		p := place{text(v[0]), text(v[1])}
		seconds, ok := v[3].(float64)
		if !ok || !(seconds > 0) || math.IsInf(seconds, 0) {
			return
		}
		who := p.program + "/" + p.kernel
		if n := len(kernels[p]); n != 1 {
			leftOut = append(leftOut, fmt.Sprintf("%s: %d sources", who, n))
			return
		}
		x := Example{Source: kernels[p][0], Kernel: p.kernel, Group: who, Device: text(v[2])}
		for d := range 3 {
			grid, ok1 := v[4+d].(int64)
			block, ok2 := v[7+d].(int64)
			if !ok1 || !ok2 || grid < 1 || block < 1 {
				leftOut = append(leftOut, who+": no grid and block")
				return
			}
			x.Global, x.Local = append(x.Global, grid*block), append(x.Local, block)
		}
		key := fmt.Sprint(who, "\x00", x.Device, x.Global, x.Local)
		if _, there := first[key]; !there {
			first[key] = x
			order = append(order, key)
		}
		times[key] = append(times[key], seconds)
	}, `
		SELECT a.value, r.short, m.gpu, c.value, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z
		FROM launch l JOIN run u ON u.id = l.run_id AND u.format = 'gpuflopbench' JOIN region r ON r.id = l.region_id
		JOIN attribute a ON a.region_id = r.id AND a.launch_id IS NULL AND a.name = 'program'
		JOIN counter c ON c.launch_id = l.id AND c.metric = u.time_metric AND c.status = 'ok'
		LEFT JOIN machine m ON m.id = u.machine_id
		ORDER BY l.id`)
	if err == nil && len(order) == 0 {
		err = fmt.Errorf("there are no timed launches of kernels with a source (%d left out): import profiling-data.csv of gpuFLOPBench", len(leftOut))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading gpuFLOPBench: %w", err)
	}
	for _, key := range order {
		x := first[key]
		x.Seconds, x.Spread, x.Repeats = score.Median(times[key]), spreadOf(times[key]), len(times[key])
		xs = append(xs, x)
	}
	slices.Sort(leftOut)
	return xs, slices.Compact(leftOut), nil
}
