package insight

import (
	"context"
	"fmt"
	"math"

	"github.com/rooflab/rooflab/modeling/devices"
)

// computed is the theoretical occupancy of NVIDIA's GPUs from block size,
// registers and shared memory of launches and the limits of the device table,
// for profiles without Nsight Compute's own. Registers are given to warps in
// units of 256, shared memory to blocks in units of 128 bytes with 1 KiB more
// for the system from compute capability 8 on (CUDA C++ Programming Guide,
// technical specifications per compute capability; occupancy calculator).
func computed(ctx context.Context, sc *scope, k *Kernel) (Item, bool, error) {
	if sc.has("sm__maximum_warps_per_active_cycle_pct") {
		return Item{}, false, nil
	}
	m, err := devices.FromStore(ctx, sc.store, sc.run.ID)
	if err != nil || m.Unknown != nil {
		return Item{}, false, err
	}
	d := m.Device
	warps := d.MaxWarps()
	if d.Vendor != "NVIDIA" || d.Kind != devices.GPU || !warps.Valid || !d.MaxBlocks.Valid || !d.Registers.Valid || !d.SharedBytes.Valid {
		return Item{}, false, nil
	}
	system := 1024
	if len(d.ISA) > 2 && d.ISA[2] < '8' && len(d.ISA) == len("cc7.0") {
		system = 0
	}
	from := fmt.Sprintf(`WITH b AS (SELECT id, ceil(block_x * block_y * block_z / %d.0) AS w, regs, smem, dur_ns FROM launch
 WHERE run_id = %d AND region_id IN (%s) AND block_x * block_y * block_z > 0 AND regs IS NOT NULL),
o AS (SELECT id, w, dur_ns, floor(%d / w) AS by_warps, %d AS by_blocks,
 floor(%d / (w * ceil(greatest(regs, 1) * 32 / 256.0) * 256)) AS by_regs,
 floor(%d / (ceil(greatest(coalesce(smem, 0) + %d, 1) / 128.0) * 128)) AS by_smem FROM b)`, d.Warp, sc.run.ID, sc.regions(k), warps.V, d.MaxBlocks.V, d.Registers.V, d.SharedBytes.V, system)
	query := fmt.Sprintf("%s\nSELECT sum(100 * w * least(by_warps, by_blocks, by_regs, by_smem) / %d * coalesce(dur_ns, 1)) / sum(coalesce(dur_ns, 1)) FROM o", from, warps.V)
	v, err := number(ctx, sc.store, query)
	if err != nil || math.IsNaN(v) {
		return Item{}, false, err
	}
	limiter := "the size of the blocks"
	var remedies []string
	if err := sc.store.Each(ctx, func(r []any) {
		least := math.Inf(1)
		for i, what := range []string{"the size of the blocks", "the number of blocks that an SM holds", "registers", "shared memory"} {
			if n := asFloat(r[i]); n < least {
				least, limiter = n, what
			}
		}
	}, from+"\nSELECT avg(by_warps), avg(by_blocks), avg(by_regs), avg(by_smem) FROM o"); err != nil {
		return Item{}, false, err
	}
	var rows []Row
	var count int64
	if err := sc.store.Each(ctx, func(r []any) {
		rows = append(rows, Row{Table: "launch", Launch: r[0].(int64), Metric: "regs"})
		count = r[1].(int64)
	}, fmt.Sprintf("%s SELECT id, count(*) OVER () FROM o ORDER BY id LIMIT %d", from, mostRows)); err != nil {
		return Item{}, false, err
	}
	it := Item{Kind: LaunchUse, Rule: "theoretical-occupancy", Verdict: Fine, Kernel: k.Name, Metric: "theoretical occupancy", Value: v, Unit: "%", Share: k.share(),
		Statement: fmt.Sprintf("The theoretical occupancy of %s on %s is %s; %s sets it.", k.short(), d.Name, quantity(v, "%"), limiter),
		Reference: &Reference{Value: 50, What: "threshold", From: ours + bestPractices + ", Occupancy"}, Importance: 0.08 * k.share(),
		Sources: sc.source(rows, count), Query: query, Estimate: "computed from the launch and the device table: " + d.LimitsSource}
	if v < 50 {
		for _, l := range limiters {
			if l.what == limiter {
				remedies = []string{l.remedy}
			}
		}
		it.Verdict, it.Importance, it.Remedies = Problem, 0.3*k.share(), remedies
		it.Meaning = "Fewer warps than an SM could hold: matters where the kernel waits (latency), little where memory or arithmetic is busy."
		it.Moves = []Move{{"theoretical occupancy", Up}}
	}
	return it, true, nil
}
