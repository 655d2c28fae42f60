package chart

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"gonum.org/v1/plot"

	"github.com/rooflab/rooflab/modeling/roofline"
)

// Instructions draws the instruction roofline of results (of one machine): a
// point per kernel and memory level at the rate of warp instructions and the
// warp instructions per transaction; the issue slots and the transactions/s of
// the levels as ceilings. Where accesses are counted, hollow points are a
// kernel's load and store instructions alone, global ones at L1 and those of
// shared memory, against the walls of access patterns. It is an error when no
// result has instructions and transactions.
func Instructions(results []roofline.Result) (*plot.Plot, error) {
	var kernels []roofline.Result
	for _, r := range results {
		for _, t := range r.Instr.Levels {
			if q := r.Instr.Intensity(t.Level); q.OK && q.Value > 0 && r.Instr.Rate.OK {
				kernels = append(kernels, r)
				break
			}
		}
	}
	if len(kernels) == 0 {
		why := "there are none"
		if len(results) > 0 {
			i := results[0].Instr
			why = fmt.Sprintf("%s has %v warp instructions and %v transactions of DRAM", results[0].Kernel, i.Warps, i.Levels[roofline.DRAM].Count)
		}
		return nil, errors.New("drawing an instruction roofline: no result has instructions, time and transactions of a level: " + why)
	}
	sort.SliceStable(kernels, func(i, j int) bool { return kernels[i].Time.Value > kernels[j].Time.Value })
	shares := Shares(kernels)
	hidden := len(kernels) - min(len(kernels), maxKernels)
	kernels = kernels[:len(kernels)-hidden]

	var pts []point
	levels := map[roofline.Level]bool{}
	accesses := map[roofline.Level]bool{}
	leg := legend{hidden: hidden}
	for i, r := range kernels {
		in := r.Instr
		for _, t := range in.Levels {
			if q := in.Intensity(t.Level); q.OK && q.Value > 0 && in.Rate.OK {
				pts = append(pts, point{i, t.Level, q.Value, in.Rate.Value, radius(shares[i]), false})
				levels[t.Level] = true
			}
			if q := in.PerAccess(t.Level); q.OK && q.Value > 0 && r.Time.OK && t.Accesses.Value > 0 {
				pts = append(pts, point{i, t.Level, 1 / q.Value, t.Accesses.Value / r.Time.Value, radius(shares[i]), true})
				accesses[t.Level], levels[t.Level] = true, true
			}
		}
		leg.entries = append(leg.entries, entry{r.Kernel, issueNote(r, shares[i])})
	}
	c := roofs{points: pts}
	for l := roofline.DRAM; l <= roofline.Shared; l++ {
		if v, from, ok := mean(kernels, func(r *roofline.Result) roofline.Quantity { return r.Instr.Levels[l].Ceiling }); ok && levels[l] {
			c.slopes = append(c.slopes, slope{fmt.Sprintf("%s %stxn/s%s", l, si(v), from), v, dashes[l]})
		}
		if accesses[l] {
			c.addWalls(roofline.Walls(l))
		}
	}
	if v, from, ok := mean(kernels, func(r *roofline.Result) roofline.Quantity { return r.Instr.Ceiling }); ok {
		c.flats = append(c.flats, flat{fmt.Sprintf("issue slots %sinst/s%s", si(v), from), v})
	}
	leg.levels, leg.accesses, leg.walls = levels, len(accesses) > 0, c.walls
	p := frame("Instruction roofline", "Intensity (warp instructions/transaction)", "Performance (warp instructions/s)")
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = extent(pts, c)
	p.Add(grid{}, c, points{pts}, leg)
	return p, nil
}

// addWalls adds patterns, of global and of shared memory at the same place
// where they make as many transactions.
func (rs *roofs) addWalls(walls []roofline.Wall) {
	for _, w := range walls {
		x := 1 / w.PerAccess
		i := slices.IndexFunc(rs.walls, func(o wall) bool { return o.x == x })
		if i < 0 {
			i = len(rs.walls)
			rs.walls = append(rs.walls, wall{label: fmt.Sprint(w.PerAccess), x: x})
		}
		rs.walls[i].names = append(rs.walls[i].names, w.Name)
	}
}

func issueNote(r roofline.Result, share float64) string {
	out := "issue slots unknown"
	if u := r.Instr.Used; u.OK {
		out = fmt.Sprintf("%.0f %% of issue slots", 100*u.Value)
	}
	if q := r.Instr.Full(); q.OK {
		out += fmt.Sprintf(", %.0f of 32 threads", 32*q.Value)
	}
	if share > 0 {
		out += fmt.Sprintf(", %s of time", percent(share))
	}
	return out
}

// SaveInstructions writes an instruction roofline to a file, as Save does.
func SaveInstructions(results []roofline.Result, path string) error {
	p, err := Instructions(results)
	if err != nil {
		return err
	}
	return save(p, path)
}
