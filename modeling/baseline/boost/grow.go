package boost

import (
	"container/heap"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rooflab/rooflab/modeling/predict"
)

// sums are gradient and weight of the rows of a bin. Losses are scaled so that
// the second derivative of each row is its weight, or at most that.
type sums struct{ g, h float64 }

// grower grows one ensemble.
type grower struct {
	Learner
	data     *predict.Examples
	monotone []int8
	bound    bool // some feature is monotone
	quantile float64
	rng      *rand.Rand

	bins   *binned
	y      []float64
	weight []float64 // of mean 1
	groups [][]int32 // rows by group
	f      []float64 // prediction of each row so far
	grad   []float64
	used   []int // features that this tree may split on
	free   [][]sums
	offset []int // of each feature in a histogram
	width  int
}

func newGrower(l Learner, e *predict.Examples, monotone []int8, quantile float64, rng *rand.Rand) *grower {
	g := &grower{Learner: l, data: e, monotone: monotone, quantile: quantile, rng: rng, y: e.LogY()}
	n, d := e.Len(), len(e.Features)
	g.bound = slices.ContainsFunc(monotone, func(m int8) bool { return m != 0 })
	g.bins = binUp(e.X, d, l.Bins)
	g.offset = make([]int, d)
	for j := range d {
		g.offset[j] = g.width
		g.width += g.bins.bins(j) + 1
	}
	g.weight, g.f, g.grad = make([]float64, n), make([]float64, n), make([]float64, n)
	total := 0.0
	for r := range n {
		total += e.Weight(r)
	}
	for r := range n {
		g.weight[r] = e.Weight(r) * float64(n) / total
	}
	for r := range n { // rows are sorted by group
		if r == 0 || e.Groups[r] != e.Groups[r-1] {
			g.groups = append(g.groups, nil)
		}
		last := len(g.groups) - 1
		g.groups[last] = append(g.groups[last], int32(r))
	}
	return g
}

// boost adds trees, and cuts the ensemble where held was predicted best.
func (g *grower) boost(ctx context.Context, held *predict.Examples, trees int) (ensemble, error) {
	all := make([]int32, len(g.y))
	for r := range all {
		all[r] = int32(r)
	}
	en := ensemble{Start: g.start(all)}
	for r := range g.f {
		g.f[r] = en.Start
	}
	var heldF, heldY []float64
	best, bestAt := math.Inf(1), 0
	if held != nil {
		heldY = held.LogY()
		heldF = slices.Repeat([]float64{en.Start}, len(heldY))
		best = g.loss(held, heldY, heldF)
	}
	for t := 1; t <= trees; t++ {
		if err := ctx.Err(); err != nil {
			return ensemble{}, err
		}
		tr := g.tree(g.sample(all))
		en.Trees = append(en.Trees, tr)
		now := math.NaN()
		if held != nil {
			for r, row := range held.X {
				heldF[r] += tr.value(row)
			}
			now = g.loss(held, heldY, heldF)
			if now < best {
				best, bestAt = now, t
			}
		}
		if g.Progress != nil {
			g.Progress(t, now)
		}
		if held != nil && t-bestAt >= g.Patience {
			break
		}
	}
	if held != nil {
		en.Trees = en.Trees[:bestAt]
	}
	return en, nil
}

// sample draws the rows that a tree sees: whole groups.
func (g *grower) sample(all []int32) []int32 {
	d := len(g.data.Features)
	g.used = g.used[:0]
	if n := int(math.Ceil(g.Features * float64(d))); n < d {
		g.used = append(g.used, g.rng.Perm(d)[:n]...)
		slices.Sort(g.used)
	} else {
		for j := range d {
			g.used = append(g.used, j)
		}
	}
	n := int(math.Ceil(g.Groups * float64(len(g.groups))))
	if n >= len(g.groups) {
		return all
	}
	chosen := g.rng.Perm(len(g.groups))[:n]
	slices.Sort(chosen)
	var rows []int32
	for _, k := range chosen {
		rows = append(rows, g.groups[k]...)
	}
	return rows
}

// constant is the best single value for rows' targets less what is predicted:
// the weighted mean, or quantile, or log odds.
func (g *grower) constant(rows []int32) float64 {
	if g.logistic() { // asked for at the beginning only, leaves take a step
		return g.odds(rows)
	}
	if g.relative() {
		return g.quantileOf(rows, 0.5, func(r int32) float64 { return g.weight[r] * overshoot(g.f[r]-g.y[r]) })
	}
	if g.quantile == 0 {
		sum, total := 0.0, 0.0
		for _, r := range rows {
			sum += g.weight[r] * (g.y[r] - g.f[r])
			total += g.weight[r]
		}
		return sum / total
	}
	return g.quantileOf(rows, g.quantile, func(r int32) float64 { return g.weight[r] })
}

// quantileOf is the weighted quantile q of rows' targets less what is predicted.
func (g *grower) quantileOf(rows []int32, q float64, weight func(r int32) float64) float64 {
	type pair struct{ v, w float64 }
	ps, total := make([]pair, len(rows)), 0.0
	for i, r := range rows {
		ps[i] = pair{g.y[r] - g.f[r], weight(r)}
		total += ps[i].w
	}
	slices.SortFunc(ps, func(a, b pair) int {
		switch {
		case a.v < b.v:
			return -1
		case a.v > b.v:
			return 1
		}
		return 0
	})
	mass := 0.0
	for _, p := range ps {
		if mass += p.w; mass >= q*total*(1-1e-9) { // halves are halves in spite of rounding
			return p.v
		}
	}
	return ps[len(ps)-1].v
}

// loss is the mean squared, pinball, relative or logistic loss.
func (g *grower) loss(e *predict.Examples, y, f []float64) float64 {
	sum, total := 0.0, 0.0
	for r := range y {
		d, w := y[r]-f[r], e.Weight(r)
		switch {
		case g.logistic():
			sum += w * crossEntropy(y[r], f[r])
		case g.relative():
			sum += w * math.Abs(math.Expm1(-d))
		case g.quantile == 0:
			sum += w * d * d
		case d > 0:
			sum += w * g.quantile * d
		default:
			sum += w * (g.quantile - 1) * d
		}
		total += w
	}
	return sum / total
}

// candidate is a split of a leaf.
type candidate struct {
	gain    float64
	feature int
	bin     int  // values up to this bin go left
	left    bool // unknown values go left
	leftSum sums
	mid     float64 // of the children's values
}

// tree grows one tree on rows and adds it to the predictions.
func (g *grower) tree(rows []int32) tree {
	switch {
	case g.logistic():
		g.logisticGradient(rows)
	case g.relative():
		g.relativeGradient(rows)
	case g.quantile == 0:
		for _, r := range rows {
			g.grad[r] = g.weight[r] * (g.f[r] - g.y[r])
		}
	default:
		for _, r := range rows {
			if g.y[r] > g.f[r] {
				g.grad[r] = -g.weight[r] * g.quantile
			} else {
				g.grad[r] = g.weight[r] * (1 - g.quantile)
			}
		}
	}
	t := tree{Nodes: make([]node, 1, 2*g.Leaves-1)}
	root := &leaf{rows: slices.Clone(rows), lo: math.Inf(-1), hi: math.Inf(1)}
	for _, r := range rows {
		root.total.g += g.grad[r]
		root.total.h += g.weight[r]
	}
	root.hist = g.histogram(root.rows)
	open, done := leaves{}, []*leaf{}
	consider := func(l *leaf) {
		if g.Depth == 0 || l.depth < g.Depth {
			l.split = g.best(l)
		}
		if l.split.gain > 0 {
			heap.Push(&open, l)
			return
		}
		g.release(l)
		done = append(done, l)
	}
	consider(root)
	for made := 1; len(open) > 0; made++ {
		if made >= g.Leaves {
			break
		}
		l := heap.Pop(&open).(*leaf)
		a, b := g.divide(&t, l)
		a.position, b.position = 2*made, 2*made+1
		consider(a)
		consider(b)
	}
	for _, l := range open {
		g.release(l)
		done = append(done, l)
	}
	for _, l := range done {
		v := g.leafValue(l)
		t.Nodes[l.node] = node{Feature: -1, Value: g.Rate * v}
		if len(rows) == len(g.y) {
			for _, r := range l.rows {
				g.f[r] += g.Rate * v
			}
		}
	}
	if len(rows) < len(g.y) {
		for r, row := range g.data.X {
			g.f[r] += t.value(row)
		}
	}
	return t
}

// leafValue is what minimises the loss in a leaf, within its bounds.
func (g *grower) leafValue(l *leaf) float64 {
	v := g.newton(l.total)
	switch {
	case g.logistic():
		v = g.logisticLeaf(l)
	case g.quantile > 0 || g.relative():
		v = g.constant(l.rows) * l.total.h / (l.total.h + g.L2)
	}
	return math.Max(l.lo, math.Min(l.hi, v))
}

func (g *grower) newton(s sums) float64 { return -s.g / (s.h + g.L2) }

func (g *grower) release(l *leaf) {
	if l.hist != nil {
		g.free = append(g.free, l.hist)
		l.hist = nil
	}
}

func (g *grower) blank() []sums {
	if n := len(g.free); n > 0 {
		h := g.free[n-1]
		g.free = g.free[:n-1]
		for _, j := range g.used { // others are never read
			clear(g.binsOf(h, j))
		}
		return h
	}
	return make([]sums, g.width, g.width+256)
}

// binsOf is the part of a histogram that is of feature j, unknown values last.
func (g *grower) binsOf(h []sums, j int) []sums {
	return h[g.offset[j] : g.offset[j]+g.bins.bins(j)+1]
}

// histogram sums gradients by bin of each feature.
func (g *grower) histogram(rows []int32) []sums {
	h := g.blank()
	gw := make([]sums, len(rows))
	for i, r := range rows {
		gw[i] = sums{g.grad[r], g.weight[r]}
	}
	whole := len(rows) == len(g.y)
	for _, j := range g.used {
		hj := (*[256]sums)(h[g.offset[j] : g.offset[j]+256]) // as long as a byte counts: no bounds to check
		bin := g.bins.bin[j]
		if whole {
			for i, b := range bin {
				hj[b].g += gw[i].g
				hj[b].h += gw[i].h
			}
			continue
		}
		for i, r := range rows {
			s := &hj[bin[r]]
			s.g += gw[i].g
			s.h += gw[i].h
		}
	}
	return h
}

// divide splits a leaf. The smaller child's histogram is summed, the other's
// is the difference.
func (g *grower) divide(t *tree, l *leaf) (a, b *leaf) {
	s := l.split
	bin, unknown := g.bins.bin[s.feature], g.bins.unknown(s.feature)
	toLeft := func(r int32) bool {
		if bin[r] == unknown {
			return s.left
		}
		return int(bin[r]) <= s.bin
	}
	at := 0
	right := make([]int32, 0, len(l.rows)/2)
	for _, r := range l.rows { // keeps the order, so that sums do not depend on the past
		if toLeft(r) {
			l.rows[at] = r
			at++
		} else {
			right = append(right, r)
		}
	}
	threshold := math.MaxFloat64 // all that is known goes left
	if edges := g.bins.edges[s.feature]; s.bin < len(edges) {
		threshold = edges[s.bin]
	}
	first := int32(len(t.Nodes))
	t.Nodes = append(t.Nodes, node{Feature: -1}, node{Feature: -1})
	t.Nodes[l.node] = node{Feature: int32(s.feature), Threshold: threshold, UnknownLeft: s.left, Left: first, Gain: s.gain}
	a = &leaf{node: first, depth: l.depth + 1, rows: l.rows[:at], total: s.leftSum, lo: l.lo, hi: l.hi}
	b = &leaf{node: first + 1, depth: l.depth + 1, rows: right, total: sums{l.total.g - s.leftSum.g, l.total.h - s.leftSum.h}, lo: l.lo, hi: l.hi}
	switch g.monotone[s.feature] {
	case 1:
		a.hi, b.lo = s.mid, s.mid
	case -1:
		a.lo, b.hi = s.mid, s.mid
	}
	small, large := a, b
	if len(b.rows) < len(a.rows) {
		small, large = b, a
	}
	small.hist = g.histogram(small.rows)
	large.hist = l.hist
	l.hist = nil
	for _, j := range g.used {
		from := g.binsOf(large.hist, j)
		for i, v := range g.binsOf(small.hist, j) {
			from[i].g -= v.g
			from[i].h -= v.h
		}
	}
	return a, b
}

// best is the split of a leaf with the largest gain in loss; gain is 0 where
// there is none.
func (g *grower) best(l *leaf) candidate {
	var c candidate
	if l.total.h < 2*g.MinRows {
		return c
	}
	for _, j := range g.used {
		known := g.bins.bins(j)
		h := g.binsOf(l.hist, j)
		lost := h[known]
		// A difference of sums leaves rounding where no row is.
		someUnknown := lost.h > 1e-9*l.total.h
		if !someUnknown {
			lost = sums{}
		}
		var left sums
		for b := range known {
			left.g += h[b].g
			left.h += h[b].h
			if b == known-1 && !someUnknown {
				break
			}
			if left.h < g.MinRows && left.h+lost.h < g.MinRows {
				continue
			}
			if l.total.h-left.h < g.MinRows {
				break
			}
			if h[b].h <= 1e-9 && b < known-1 {
				continue // no row here: the same split as before
			}
			if !g.bound { // most splits are no better than the best so far, whichever side the unknown go
				if most := g.gain(l, left); most <= c.gain && (!someUnknown || g.gain(l, sums{left.g + lost.g, left.h + lost.h}) <= c.gain) {
					continue
				}
			}
			if someUnknown {
				g.try(&c, l, j, b, left, false)
				if b < known-1 {
					g.try(&c, l, j, b, sums{left.g + lost.g, left.h + lost.h}, true)
				}
				continue
			}
			// Unknown later though never here: with the larger side.
			g.try(&c, l, j, b, left, 2*left.h > l.total.h)
		}
	}
	return c
}

// gain is by how much the loss falls, times two, if the rows of left leave l.
func (g *grower) gain(l *leaf, left sums) float64 {
	rg, rh := l.total.g-left.g, l.total.h-left.h
	return left.g*left.g/(left.h+g.L2) + rg*rg/(rh+g.L2) - l.total.g*l.total.g/(l.total.h+g.L2)
}

// try keeps a split if it is better than the best so far.
func (g *grower) try(c *candidate, l *leaf, feature, bin int, left sums, unknownLeft bool) {
	right := sums{l.total.g - left.g, l.total.h - left.h}
	if left.h < g.MinRows || right.h < g.MinRows {
		return
	}
	var gain, mid float64
	if !g.bound {
		gain = g.gain(l, left)
	} else {
		clip := func(s sums) float64 { return math.Max(l.lo, math.Min(l.hi, g.newton(s))) }
		// The loss falls by -(2 G v + (H + L2) v^2) / 2 at the value v.
		fall := func(s sums, v float64) float64 { return -(2*s.g*v + (s.h+g.L2)*v*v) }
		vl, vr := clip(left), clip(right)
		if m := g.monotone[feature]; float64(m)*(vr-vl) < 0 {
			return
		}
		gain = fall(left, vl) + fall(right, vr) - fall(l.total, clip(l.total))
		mid = (vl + vr) / 2
	}
	// What rounding alone could make is no gain.
	if gain > c.gain && gain > 1e-12*l.total.h {
		*c = candidate{gain: gain, feature: feature, bin: bin, left: unknownLeft, leftSum: left, mid: mid}
	}
}
