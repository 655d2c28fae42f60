package datasets

import (
	"context"
	"fmt"
	"sort"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// How two launches were found to be the same one.
const (
	// PairExact: both runs have the same number of launches of this kernel with
	// this grid and block, so the first belongs to the first, and so on.
	PairExact = "exact"
	// PairStretch: the runs differ in number, and the launches of the shorter
	// one occur in the longer one as an unbroken stretch, at exactly one place.
	PairStretch = "stretch"
	// PairFromStart: the runs differ in number, and PairOptions.FromStart says
	// that both begin with the program's first launch.
	PairFromStart = "from start"
	// PairOnlyA and PairOnlyB: the other run has no such launch.
	PairOnlyA = "only a"
	PairOnlyB = "only b"
	// PairAmbiguous: the other run has such launches, in another number or in
	// no known order, and which of them this one is cannot be told.
	PairAmbiguous = "ambiguous"
)

// PairOptions say how launches are paired.
type PairOptions struct {
	// FromStart says that both runs recorded the program from its beginning,
	// and one of them ended early: where numbers differ, the first launch
	// belongs to the first.
	FromStart bool
}

// Pair is a launch of run a and the same one in run b, or one of the two.
type Pair struct {
	Kernel      string // short name
	Grid, Block [3]Null[int64]
	Rank        Null[int64] // where both runs know it
	A, B        int64       // launches, 0 where there is none
	SequenceA   Null[int64]
	SequenceB   Null[int64]
	Match       string // one of the constants above
	// Reordered says that the two runs started this launch in a different
	// place among the others.
	Reordered bool
}

// pairKey is what two launches must have in common.
type pairKey struct {
	kernel string
	dims   [6]Null[int64]
	rank   Null[int64]
	// process tells processes without ranks apart: pid or device.
	process Null[int64]
}

type pairLaunch struct {
	id       int64
	pid      Null[int64]
	device   Null[int64]
	sequence Null[int64]
	key      pairKey
}

// Pairs finds the launches of kernels of run a in run b: same short name, same
// grid and block (where both runs know them for the kernel), same rank (where
// both know it; else same process, where processes can be told apart), and the same place in the sequence of such launches. Tools'
// own ids are not looked at. Every launch of both runs is in the result, those
// without a partner too, and Match says why.
func (s *Store) Pairs(ctx context.Context, a, b int64, opt PairOptions) ([]Pair, error) {
	la, err := s.pairLaunches(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("pairing run %d with run %d: %w", a, b, err)
	}
	lb, err := s.pairLaunches(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("pairing run %d with run %d: %w", a, b, err)
	}
	level(la, lb)
	return pair(la, lb, opt), nil
}

func (s *Store) pairLaunches(ctx context.Context, run int64) (ls []pairLaunch, err error) {
	n, err := one(ctx, s.conn, `SELECT count(*) FROM run WHERE id = ?`, run)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("the store has no run %d: Query \"SELECT id, tool FROM run\" lists them", run)
	}
	err = each(ctx, s.conn, `SELECT l.id, l.pid, l.sequence, g.short, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z, l.rank, l.device
		FROM launch l JOIN region g ON g.id = l.region_id WHERE l.run_id = ? AND g.kind = '`+KindKernel+`' ORDER BY l.sequence NULLS LAST, l.id`, func(v []any) {
		l := pairLaunch{id: integer(v[0]).V, pid: integer(v[1]), device: integer(v[11]), sequence: integer(v[2]), key: pairKey{kernel: str(v[3]), rank: integer(v[10])}}
		for i := range l.key.dims {
			l.key.dims[i] = integer(v[4+i])
		}
		ls = append(ls, l)
	}, run)
	return ls, err
}

// level takes out of the keys what one of the runs does not know: the sizes,
// for a kernel, and the rank.
func level(a, b []pairLaunch) {
	unknown := map[string]bool{}
	ranks := len(a) > 0 && len(b) > 0
	for _, ls := range [][]pairLaunch{a, b} {
		for i := range ls {
			if !ls[i].key.dims[0].Valid || !ls[i].key.dims[3].Valid {
				unknown[ls[i].key.kernel] = true
			}
			ranks = ranks && ls[i].key.rank.Valid
		}
	}
	byPID, byDevice := processes(a, b)
	for _, ls := range [][]pairLaunch{a, b} {
		for i := range ls {
			k := &ls[i].key
			switch {
			case ranks:
			case byPID:
				k.process = ls[i].pid
			case byDevice:
				k.process = ls[i].device
			}
			if unknown[k.kernel] {
				k.dims = [6]Null[int64]{}
			}
			if !ranks {
				k.rank = Null[int64]{}
			}
		}
	}
}

// processes reports by what the processes of two runs can be told apart: pids
// where both recorded the same execution, devices where each process has one
// of its own.
func processes(a, b []pairLaunch) (byPID, byDevice bool) {
	var pids [2]map[Null[int64]]Null[int64] // with their devices
	byDevice = true
	for side, ls := range [][]pairLaunch{a, b} {
		pids[side] = map[Null[int64]]Null[int64]{}
		owner := map[Null[int64]]Null[int64]{}
		for i := range ls {
			pid, device := ls[i].pid, ls[i].device
			was, known := pids[side][pid]
			of, taken := owner[device]
			byDevice = byDevice && device.Valid && (!known || was == device) && (!taken || of == pid)
			pids[side][pid], owner[device] = device, pid
		}
	}
	byPID = len(pids[0]) == len(pids[1])
	for pid := range pids[0] {
		_, both := pids[1][pid]
		byPID = byPID && both
	}
	return byPID, byDevice
}

// sides are the launches of one key.
type sides struct{ a, b []int }

// ordered reports whether the order of launches is known: each has its place,
// and those of several processes are not mixed.
func ordered(ls []pairLaunch, of []int) bool {
	for _, i := range of {
		if !ls[i].sequence.Valid || ls[i].pid != ls[of[0]].pid {
			return false
		}
	}
	return true
}

func pair(a, b []pairLaunch, opt PairOptions) []Pair {
	groups := map[pairKey]*sides{}
	for side, ls := range [][]pairLaunch{a, b} {
		for i := range ls {
			g := groups[ls[i].key]
			if g == nil {
				g = &sides{}
				groups[ls[i].key] = g
			}
			if side == 0 {
				g.a = append(g.a, i)
			} else {
				g.b = append(g.b, i)
			}
		}
	}
	partner, how := make([]int, len(a)), make([]string, len(a)) // of a's launches
	howB := make([]string, len(b))                              // for those of b without a partner
	taken := make([]bool, len(b))
	for i := range partner {
		partner[i] = -1
	}
	join := func(i, j int, match string) {
		partner[i], how[i], taken[j] = j, match, true
	}
	offset, stretch := -1, false
	for _, g := range groups {
		known := ordered(a, g.a) && ordered(b, g.b) || len(g.a) == 1 && len(g.b) == 1
		switch {
		case len(g.b) == 0:
			for _, i := range g.a {
				how[i] = PairOnlyA
			}
		case len(g.a) == 0:
			for _, j := range g.b {
				howB[j] = PairOnlyB
			}
		case len(g.a) == len(g.b) && known:
			for n := range g.a {
				join(g.a[n], g.b[n], PairExact)
			}
		case known && opt.FromStart:
			for n := range min(len(g.a), len(g.b)) {
				join(g.a[n], g.b[n], PairFromStart)
			}
			for _, i := range g.a[min(len(g.a), len(g.b)):] {
				how[i] = PairOnlyA
			}
			for _, j := range g.b[min(len(g.a), len(g.b)):] {
				howB[j] = PairOnlyB
			}
		default:
			if !stretch {
				offset, stretch = place(a, b), true
			}
			settle(g, a, b, offset, known, join, how, howB)
		}
	}
	return listed(a, b, partner, how, howB, taken)
}

// settle pairs launches that differ in number: by the place where the shorter
// run lies in the longer one, if there is one.
func settle(g *sides, a, b []pairLaunch, offset int, known bool, join func(i, j int, match string), how, howB []string) {
	for _, i := range g.a {
		how[i] = PairAmbiguous
	}
	for _, j := range g.b {
		howB[j] = PairAmbiguous
	}
	if offset < 0 || !known {
		return
	}
	if len(a) <= len(b) {
		for _, j := range g.b {
			howB[j] = PairOnlyB
		}
		for _, i := range g.a {
			join(i, i+offset, PairStretch)
		}
		return
	}
	for _, i := range g.a {
		how[i] = PairOnlyA
	}
	for _, j := range g.b {
		join(j+offset, j, PairStretch)
	}
}

// place returns where the shorter run lies in the longer one as an unbroken
// stretch, -1 where that is nowhere or at several places.
func place(a, b []pairLaunch) int {
	short, long := a, b
	if len(a) > len(b) {
		short, long = b, a
	}
	if len(short) == 0 {
		return -1
	}
	// Knuth, Morris and Pratt: fail[i] is the length of the longest proper
	// prefix of short[:i+1] that also ends it.
	fail := make([]int, len(short))
	for i, k := 1, 0; i < len(short); i++ {
		for k > 0 && short[i].key != short[k].key {
			k = fail[k-1]
		}
		if short[i].key == short[k].key {
			k++
		}
		fail[i] = k
	}
	at := -1
	for i, k := 0, 0; i < len(long); i++ {
		for k > 0 && (k == len(short) || long[i].key != short[k].key) {
			k = fail[k-1]
		}
		if long[i].key == short[k].key {
			k++
		}
		if k == len(short) {
			if at >= 0 {
				return -1
			}
			at = i - k + 1
		}
	}
	return at
}

// listed makes the result: a's launches in order, then those that only b has.
func listed(a, b []pairLaunch, partner []int, how, howB []string, taken []bool) []Pair {
	fresh := func(l *pairLaunch) Pair {
		d := l.key.dims
		return Pair{Kernel: l.key.kernel, Grid: [3]Null[int64](d[:3]), Block: [3]Null[int64](d[3:]), Rank: l.key.rank}
	}
	var out []Pair
	moved := reordered(partner)
	for i := range a {
		p := fresh(&a[i])
		p.A, p.SequenceA, p.Match = a[i].id, a[i].sequence, how[i]
		if j := partner[i]; j >= 0 {
			p.B, p.SequenceB, p.Reordered = b[j].id, b[j].sequence, moved[i]
		}
		out = append(out, p)
	}
	for j := range b {
		if !taken[j] {
			p := fresh(&b[j])
			p.B, p.SequenceB, p.Match = b[j].id, b[j].sequence, howB[j]
			out = append(out, p)
		}
	}
	return out
}

// reordered marks those of a's launches whose partners are out of order: all
// but a longest increasing row of partners.
func reordered(partner []int) []bool {
	out := make([]bool, len(partner))
	before := make([]int, len(partner)) // the launch before in the longest row that ends here
	var ends []int                      // the launch that ends the best row of each length
	for i, j := range partner {
		if j < 0 {
			continue
		}
		out[i] = true
		n := sort.Search(len(ends), func(k int) bool { return partner[ends[k]] >= j })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			out[i] = false
		}
	}
	return out
}

// PairedCounters puts what two tools say about the same launches side by side,
// one row per Pair in the order of Pairs: kernel, grid_x ... block_z, rank,
// launch_a, launch_b, sequence_a, sequence_b, match, reordered, dur_a and dur_b
// (s), then "METRIC (a)" and "METRIC (b)", one Float column for each of the
// metrics that a run has, SI units. A metric with several instances has no
// column. NA where a side has no launch or no value. Without metrics, all are
// there.
func (s *Store) PairedCounters(ctx context.Context, a, b int64, opt PairOptions, metrics ...string) (dataframe.DataFrame, error) {
	pairs, err := s.Pairs(ctx, a, b, opt)
	if err != nil {
		return dataframe.DataFrame{}, err
	}
	var t table
	t.columns(series.String, "kernel")
	t.columns(series.Int, "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "rank", "launch_a", "launch_b", "sequence_a", "sequence_b")
	t.columns(series.String, "match")
	t.columns(series.Bool, "reordered")
	t.columns(series.Float, "dur_a", "dur_b")
	var sides [2]paired
	for i, run := range []int64{a, b} {
		if sides[i], err = s.paired(ctx, run, metrics); err != nil {
			return dataframe.DataFrame{}, fmt.Errorf("counters of run %d: %w", run, err)
		}
		for _, m := range sides[i].metrics {
			t.column(m+[]string{" (a)", " (b)"}[i], series.Float)
		}
	}
	if err := s.fits(len(pairs), len(t.names)); err != nil {
		return dataframe.DataFrame{}, fmt.Errorf("counters of run %d beside those of run %d: %w", a, b, err)
	}
	for i := range pairs {
		p := &pairs[i]
		row := []any{p.Kernel, p.Grid[0], p.Grid[1], p.Grid[2], p.Block[0], p.Block[1], p.Block[2], p.Rank, ref(p.A), ref(p.B),
			p.SequenceA, p.SequenceB, p.Match, p.Reordered, sides[0].seconds[p.A], sides[1].seconds[p.B]}
		for j, id := range []int64{p.A, p.B} {
			for _, m := range sides[j].metrics {
				row = append(row, sides[j].values[m][id])
			}
		}
		t.add(row...)
	}
	return t.frame()
}

// paired is what PairedCounters shows of one run, by launch.
type paired struct {
	metrics []string
	values  map[string]map[int64]Null[float64]
	seconds map[int64]Null[float64]
}

func (s *Store) paired(ctx context.Context, run int64, metrics []string) (p paired, err error) {
	p = paired{values: map[string]map[int64]Null[float64]{}, seconds: map[int64]Null[float64]{}}
	err = each(ctx, s.conn, `SELECT id, dur_ns FROM launch WHERE run_id = ?`, func(v []any) {
		if ns := integer(v[1]); ns.Valid {
			p.seconds[integer(v[0]).V] = Some(float64(ns.V) / 1e9)
		}
	}, run)
	if err != nil {
		return p, err
	}
	where, args := Filter{Run: run, Metrics: metrics}.where(true)
	err = each(ctx, s.conn, `SELECT launch_id, metric, any_value(value) FROM (SELECT c.* FROM counter c JOIN region g ON g.id = c.region_id`+where+`)
		WHERE launch_id IS NOT NULL GROUP BY launch_id, metric HAVING count(*) = 1`, func(v []any) {
		m := str(v[1])
		if p.values[m] == nil {
			p.values[m] = map[int64]Null[float64]{}
			p.metrics = append(p.metrics, m)
		}
		p.values[m][integer(v[0]).V] = number(v[2])
	}, args...)
	sort.Strings(p.metrics)
	return p, err
}
