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

// FLOPBenchLaunch is a launch of gpuFLOPBench with what its table tells beside
// the Example. Source is "" where the data has none, or several, under the
// kernel's name; programs in OpenMP (NAME-omp) have none at all.
type FLOPBenchLaunch struct {
	Example
	Program     string    // its folder: NAME-cuda or NAME-omp
	Name        string    // the kernel's full name, template arguments and parameter types in it
	CommandLine string    // the program's arguments
	Times       []float64 // seconds of each repeat, of which Seconds is the median
	// What the profiler counted, the median over the repeats, which may have had
	// other data and other work: operations, and bytes between DRAM and the chip;
	// NaN where the table does not tell. It has numbers of integer operations and
	// intensities, of which neither holds a time: bytes are operations by
	// intensity. Its rates, which hold the time, are not read.
	Int, FP32, FP64, Bytes float64
}

// FromFLOPBench reads the CUDA kernels of gpuFLOPBench from a store that has
// both of its files imported, the table of times and the sources: the launches
// of FLOPBench that have a source. LeftOut names kernels that have no source
// under their name, or several different ones.
func FromFLOPBench(ctx context.Context, store *datasets.Store) (xs []Example, leftOut []string, err error) {
	launches, leftOut, err := FLOPBench(ctx, store)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range launches {
		if l.Source != "" {
			xs = append(xs, l.Example)
		}
	}
	if len(xs) == 0 {
		return nil, nil, fmt.Errorf("reading gpuFLOPBench: no timed launch is of a kernel with a source (%d kernels are left out): are both files of one version?", len(leftOut))
	}
	return xs, leftOut, nil
}

// FLOPBench reads all launches of gpuFLOPBench from a store that has both of its
// files imported. The source of a kernel is the functions of its file, then the
// kernel; Global is grid times block. What the arguments of a launch were is not
// known, beside the program's command line.
//
// Launches of one kernel, device, shape and command line are one. LeftOut tells
// why kernels have no source.
func FLOPBench(ctx context.Context, store *datasets.Store) (xs []FLOPBenchLaunch, leftOut []string, err error) {
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
	number := func(v any) float64 {
		if f, ok := v.(float64); ok {
			return f
		}
		return math.NaN()
	}
	times, counts := map[string][]float64{}, map[string][][4]float64{}
	first := map[string]FLOPBenchLaunch{}
	var order []string
	err = store.Each(ctx, func(v []any) {
		p := place{text(v[0]), text(v[1])}
		seconds, ok := v[3].(float64)
		if !ok || !(seconds > 0) || math.IsInf(seconds, 0) {
			return
		}
		who := p.program + "/" + p.kernel
		x := FLOPBenchLaunch{Example: Example{Kernel: p.kernel, Group: who, Device: text(v[2])}, Program: p.program, Name: text(v[10]), CommandLine: text(v[11])}
		if n := len(kernels[p]); n == 1 {
			x.Source = kernels[p][0]
		} else {
			leftOut = append(leftOut, fmt.Sprintf("%s: %d sources", who, n))
		}
		for d := range 3 {
			grid, ok1 := v[4+d].(int64)
			block, ok2 := v[7+d].(int64)
			if !ok1 || !ok2 || grid < 1 || block < 1 {
				leftOut = append(leftOut, who+": no grid and block")
				return
			}
			x.Global, x.Local = append(x.Global, grid*block), append(x.Local, block)
		}
		ops, intensity := number(v[12]), number(v[13])
		x.Int, x.FP32, x.FP64, x.Bytes = ops, math.NaN(), math.NaN(), math.NaN()
		if ops > 0 && intensity > 0 {
			x.Bytes = ops / intensity
			x.FP32, x.FP64 = number(v[14])*x.Bytes, number(v[15])*x.Bytes
		}
		key := fmt.Sprint(who, "\x00", x.Name, "\x00", x.Device, x.Global, x.Local, x.CommandLine)
		if _, there := first[key]; !there {
			first[key] = x
			order = append(order, key)
		}
		times[key] = append(times[key], seconds)
		counts[key] = append(counts[key], [4]float64{x.Int, x.FP32, x.FP64, x.Bytes})
	}, `
		WITH counted AS (
			SELECT launch_id AS id, max(value) FILTER (metric = 'intops') AS ops, max(value) FILTER (metric = 'intAI') AS ints,
				max(value) FILTER (metric = 'spAI') AS single, max(value) FILTER (metric = 'dpAI') AS double
			FROM counter WHERE metric IN ('intops', 'intAI', 'spAI', 'dpAI') GROUP BY launch_id)
		SELECT a.value, r.short, m.gpu, c.value, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z,
			r.raw, x.value, n.ops, n.ints, n.single, n.double
		FROM launch l JOIN run u ON u.id = l.run_id AND u.format = 'gpuflopbench' JOIN region r ON r.id = l.region_id
		JOIN attribute a ON a.region_id = r.id AND a.launch_id IS NULL AND a.name = 'program'
		JOIN counter c ON c.launch_id = l.id AND c.metric = u.time_metric AND c.status = 'ok'
		LEFT JOIN machine m ON m.id = u.machine_id
		LEFT JOIN attribute x ON x.launch_id = l.id AND x.name = 'exeArgs'
		LEFT JOIN counted n ON n.id = l.id
		ORDER BY l.id`)
	if err == nil && len(order) == 0 {
		err = errors.New("there are no timed launches: import profiling-data.csv of gpuFLOPBench")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading gpuFLOPBench: %w", err)
	}
	for _, key := range order {
		x := first[key]
		for k, to := range []*float64{&x.Int, &x.FP32, &x.FP64, &x.Bytes} {
			var known []float64
			for _, c := range counts[key] {
				if !math.IsNaN(c[k]) {
					known = append(known, c[k])
				}
			}
			if *to = math.NaN(); len(known) > 0 {
				*to = score.Median(known)
			}
		}
		x.Seconds, x.Spread, x.Repeats, x.Times = score.Median(times[key]), spreadOf(times[key]), len(times[key]), times[key]
		xs = append(xs, x)
	}
	slices.Sort(leftOut)
	return xs, slices.Compact(leftOut), nil
}
