package insight

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// launchFormulas are rules over how launches fill the GPU.
var launchFormulas = []rule{
	{
		name: "achieved-occupancy", latency: true, what: "achieved occupancy, part of the theoretical", unit: "part", limit: 0.9, under: true,
		value:    []string{"sm__warps_active.avg.pct_of_peak_sustained_active / sm__maximum_warps_per_active_cycle_pct", "Achieved Occupancy / Theoretical Occupancy"},
		from:     ours + ncuGuide + ", Occupancy",
		bad:      "%s reaches only %s of its theoretical occupancy.",
		fine:     "%s reaches %s of its theoretical occupancy.",
		gain:     func(v float64) float64 { return 0.5 * (1 - v) },
		meaning:  "Warps are missing though there is room for them: blocks end at different times, the last wave is not full, or blocks are so short that starting them counts.",
		remedies: []string{"Equal work per block and warp, more blocks than fit at once, or blocks that live longer (a grid-stride loop)."},
		moves:    []Move{{"sm__warps_active.avg.pct_of_peak_sustained_active", Up}},
	},
	{
		name: "occupancy", latency: true, what: "achieved occupancy", unit: "%", limit: 25, under: true,
		value:    []string{"sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved Occupancy", "est. achieved occupancy %", "100 x achieved_occupancy"},
		from:     ours + bestPractices + ", Occupancy: more hides more latency up to a point, and full occupancy is seldom needed",
		bad:      "On average only %[2]s of the warps that an SM can hold are there in %[1]s.",
		fine:     "On average %[2]s of the warps that an SM can hold are there in %[1]s.",
		gain:     func(v float64) float64 { return 0.4 * (1 - v/25) },
		meaning:  "So few warps hide little latency, unless each has much independent work.",
		remedies: []string{"More or larger blocks; fewer registers or less shared memory per block where they limit; or more independent work per thread instead."},
		moves:    []Move{{"sm__warps_active.avg.pct_of_peak_sustained_active", Up}},
	},
	{
		name: "blocks-per-sm", what: "blocks per SM", unit: "", limit: 1, under: true,
		value:    []string{"launch__grid_size // launch__sm_count", "blocks per SM"},
		from:     bestPractices + ", Thread and Block Heuristics: more blocks than SMs",
		bad:      "%s launches only %s blocks per SM: some SMs have nothing to do.",
		gain:     func(v float64) float64 { return 0.8 * (1 - v) },
		meaning:  "The grid is smaller than the GPU.",
		remedies: []string{"Smaller blocks or less work per thread so that the grid covers all SMs, several independent kernels at once (streams), or batches of small problems."},
	},
	{
		name: "local-memory", what: "local memory per thread", unit: "byte", limit: 0,
		value: []string{"localMemoryPerThread"}, from: bestPractices + ", Local Memory",
		bad:      "%s has %s of local memory per thread: registers are spilled, or arrays of a thread are indexed.",
		gain:     func(float64) float64 { return 0.05 },
		meaning:  "Local memory lies in DRAM and passes through the caches.",
		remedies: []string{"Fewer live values, __launch_bounds__ or a larger -maxrregcount, indices of arrays that the compiler can know."},
		moves:    []Move{{"localMemoryPerThread", Down}},
	},
}

// shortLaunch is how short a launch is whose overhead counts, in ns: some
// microseconds pass between two launches of a stream.
const shortLaunch = 10_000

// launchRules says how launches fill the GPU.
func launchRules(ctx context.Context, sc *scope) (found, error) {
	var f found
	for _, k := range sc.kernels {
		if k.Kind != "kernel" {
			continue
		}
		items, err := sc.apply(ctx, k, LaunchUse, launchFormulas)
		if err != nil {
			return f, err
		}
		f.items = append(f.items, items...)
		for _, of := range []func(context.Context, *scope, *Kernel) (Item, bool, error){theoretical, computed, tail, shortLaunches} {
			it, ok, err := of(ctx, sc, k)
			if err != nil {
				return f, err
			}
			if ok {
				f.items = append(f.items, it)
			}
		}
	}
	return f, nil
}

// limiters are what may limit the blocks of an SM, with the counters of ncu.
var limiters = []struct{ metric, what, remedy string }{
	{"launch__occupancy_limit_registers", "registers", "Fewer registers per thread: less unrolling, smaller tiles, __launch_bounds__ or -maxrregcount (beware of spills)."},
	{"launch__occupancy_limit_shared_mem", "shared memory", "Less shared memory per block: smaller tiles, narrower types, one buffer instead of two; or a larger carve-out of shared memory."},
	{"launch__occupancy_limit_blocks", "the number of blocks that an SM holds", "Larger blocks."},
	{"launch__occupancy_limit_warps", "the size of the blocks", "A size of block that divides the warps of an SM."},
}

// theoretical says what limits the theoretical occupancy.
func theoretical(ctx context.Context, sc *scope, k *Kernel) (Item, bool, error) {
	const pct = "sm__maximum_warps_per_active_cycle_pct"
	names := []string{pct}
	for _, l := range limiters {
		names = append(names, l.metric)
	}
	if !sc.has(names...) {
		return Item{}, false, nil
	}
	with, column := sc.launches(k, names)
	var blocks []float64
	var expressions []string
	for _, n := range names {
		expressions = append(expressions, "avg("+column(n)+")")
	}
	if err := sc.store.Each(ctx, func(v []any) {
		for _, x := range v {
			blocks = append(blocks, asFloat(x))
		}
	}, with+"\nSELECT "+strings.Join(expressions, ", ")+" FROM l"); err != nil {
		return Item{}, false, err
	}
	value, least := blocks[0], math.Inf(1)
	blocks = blocks[1:]
	for _, b := range blocks {
		least = math.Min(least, b)
	}
	if math.IsNaN(value) || math.IsInf(least, 0) {
		return Item{}, false, nil
	}
	var what, remedies []string
	for i, l := range limiters {
		if blocks[i] == least {
			what = append(what, l.what)
			remedies = append(remedies, l.remedy)
		}
	}
	it := Item{Kind: LaunchUse, Rule: "theoretical-occupancy", Verdict: Fine, Kernel: k.Name, Metric: pct, Value: value, Unit: "%", Share: k.share(),
		Statement: fmt.Sprintf("The theoretical occupancy of %s is %s; %s sets it: %s per SM.", k.short(), quantity(value, "%"), strings.Join(what, " and "), plural(int64(least), "block")),
		Reference: &Reference{Value: 50, What: "threshold", From: ours + bestPractices + ", Occupancy"}, Importance: 0.08 * k.share(),
		Query: with + "\nSELECT " + expressions[0] + " FROM l"}
	if value < 50 {
		it.Verdict, it.Importance, it.Remedies = Problem, 0.35*k.share(), remedies
		it.Meaning = "Fewer warps than an SM could hold: matters where the kernel waits (latency), little where memory or arithmetic is busy."
		it.Moves = []Move{{pct, Up}, {"sm__warps_active.avg.pct_of_peak_sustained_active", Up}}
		if k.Bound == "latency" {
			it.Importance = 0.55 * k.share()
		}
	}
	var err error
	it.Sources, err = sc.counterRows(ctx, k, names)
	return it, true, err
}

// tail is what the last, partial wave of blocks costs.
func tail(ctx context.Context, sc *scope, k *Kernel) (Item, bool, error) {
	const waves = "launch__waves_per_multiprocessor"
	if !sc.has(waves) {
		return Item{}, false, nil
	}
	with, column := sc.launches(k, []string{waves})
	c := column(waves)
	query := fmt.Sprintf("%s\nSELECT avg(1 - %s / nullif(ceil(%s), 0)) FROM l", with, c, c)
	v, err := number(ctx, sc.store, query)
	if err != nil || math.IsNaN(v) {
		return Item{}, false, err
	}
	n, err := number(ctx, sc.store, fmt.Sprintf("%s\nSELECT avg(%s) FROM l", with, c))
	if err != nil {
		return Item{}, false, err
	}
	it := Item{Kind: LaunchUse, Rule: "tail", Verdict: Fine, Kernel: k.Name, Metric: "part of the block slots that the last wave leaves empty", Formula: waves, Value: v, Share: k.share(),
		Statement: fmt.Sprintf("The blocks of %s are %.4g waves: the last one leaves %s of all slots empty.", k.short(), n, percent(v)),
		Reference: &Reference{Value: 0.1, What: "threshold", From: ours + ncuGuide + ", Launch Statistics"}, Importance: 0.08 * k.share(),
		Query: query, Estimate: "as if all blocks took equally long"}
	if v > 0.1 {
		it.Verdict, it.Gain, it.Importance = Problem, v, k.share()*(0.25+0.5*v)
		it.Meaning = "Blocks run in waves that fill the GPU; in the last one SMs stand idle (tail effect)."
		it.Remedies = []string{"A grid that is a multiple of a full wave, smaller blocks, or a persistent kernel with a grid-stride loop."}
		it.Moves = []Move{{sc.timeMetric(), Down}}
	}
	it.Sources, err = sc.counterRows(ctx, k, []string{waves})
	return it, true, err
}

// shortLaunches says how many launches are so short that starting them counts.
func shortLaunches(ctx context.Context, sc *scope, k *Kernel) (Item, bool, error) {
	query := fmt.Sprintf("SELECT count(*) FILTER (WHERE dur_ns < %d)::DOUBLE / nullif(count(dur_ns), 0) FROM launch WHERE run_id = %d AND region_id IN (%s)", shortLaunch, sc.run.ID, sc.regions(k))
	v, err := number(ctx, sc.store, query)
	if err != nil || math.IsNaN(v) || v < 0.5 || k.Launches < 10 {
		return Item{}, false, err
	}
	var rows []Row
	if err := sc.store.Each(ctx, func(v []any) {
		rows = append(rows, Row{Table: "launch", Region: v[0].(int64), Launch: v[1].(int64), Metric: "dur_ns"})
	}, fmt.Sprintf("SELECT region_id, id FROM launch WHERE run_id = %d AND dur_ns < %d AND region_id IN (%s) ORDER BY id LIMIT %d", sc.run.ID, shortLaunch, sc.regions(k), mostRows)); err != nil {
		return Item{}, false, err
	}
	return Item{Kind: LaunchUse, Rule: "short-launches", Verdict: Problem, Kernel: k.Name, Metric: "part of the launches below 10 µs", Value: v, Share: k.share(),
		Statement: fmt.Sprintf("%s of the %d launches of %s take less than 10 µs, about what it takes to start them.", percent(v), k.Launches, k.short()),
		Reference: &Reference{Value: 0.5, What: "threshold", From: "rooflab's threshold"}, Importance: k.share() * (0.25 + 0.2*v),
		Sources: sc.source(rows, int64(math.Round(v*float64(k.Launches)))), Query: query,
		Meaning:  "The host needs some microseconds to start a kernel: the GPU waits between launches unless they queue up.",
		Remedies: []string{"Fuse small kernels, give each more work (batches), record the sequence as a CUDA or HIP graph."},
		Moves:    []Move{{"dur_ns", Up}}}, true, nil
}
