package generate

import (
	"fmt"
	"math/rand/v2"
)

// writeReduction reduces an array, or the product of two, to one number per
// work-group or work-item.
func writeReduction(w *writer) draw {
	typ := w.element()
	in := w.buffer("a", "data", typ, "r")
	var second *parameter
	if w.chance(0.3) {
		second = w.buffer("b", "other", typ, "r")
	}
	out := w.buffer("r", "partial", typ, "w")
	n := w.size("n", "count")
	op := w.pick("+", "+", "+", "max", "min")
	groups := w.groupSizes(16, 32, 64, 128, 256)
	value := func(i index) string {
		v := w.at(in, i)
		if second != nil {
			v += " * " + w.at(second, i)
		}
		return v
	}
	i := w.globalID("i", "gid", 0)
	acc := w.declare("s", "acc", typ, neutral(typ, op))
	fixed := w.chance(0.6)
	if fixed {
		step := w.globalSize("stride", "gsize", 0)
		w.loop("j", "pos", i, n, step, func(j index) { w.accumulate(typ, acc, value(j), op) })
	} else {
		w.block(fmt.Sprintf("if (%s < %s)", i, n), func() {
			w.bind(i.String(), i, least(i, minus(n, lit(1))))
			w.line("%s = %s;", acc, value(i))
		})
	}
	switch {
	case w.chance(0.15): // no local memory: the rest is for a second kernel
		w.line("%s = %s;", w.at(out, i), acc)
	case w.chance(0.2): // one work-item of a group adds the others' up
		part := w.local("part", "scratch", typ, dim(localSize, 0))
		g, l, size := w.groupID("g", "group", 0), w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
		w.line("%s = %s;", w.at(part, l), acc)
		w.barrier()
		w.block(fmt.Sprintf("if (%s == 0)", l), func() {
			w.loop("k", "other_i", lit(1), size, lit(1), func(k index) { w.work(1); w.accumulate(typ, acc, w.at(part, k), op) })
			w.line("%s = %s;", w.at(out, g), acc)
		})
	default:
		part := w.local("part", "scratch", typ, dim(localSize, 0))
		g, l, size := w.groupID("g", "group", 0), w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
		w.line("%s = %s;", w.at(part, l), acc)
		w.barrier()
		w.tree(typ, part, l, size, op)
		w.line("if (%s == 0) %s = %s;", l, w.at(out, g), w.at(part, lit(0)))
	}
	return w.linear(n, 1<<10, 1<<23, 1, fixed, groups)
}

// writeScan is a prefix sum within work-groups, or over chunks.
func writeScan(w *writer) draw {
	typ := w.element()
	in, out := w.buffer("a", "src", typ, "r"), w.buffer("b", "dst", typ, "rw")
	n := w.size("n", "count")
	groups := w.groupSizes(16, 32, 64, 128, 256)
	if w.chance(0.25) {
		chunk := w.num(8, 16, 32, 64, 256)
		i := w.globalID("i", "gid", 0)
		acc := w.declare("s", "run", typ, literal(typ, 0))
		exclusive := w.chance(0.5)
		w.chunk("j", "pos", i, lit(chunk), n, func(j index) {
			if exclusive {
				w.line("%s = %s;", w.at(out, j), acc)
			}
			w.line("%s += %s;", acc, w.at(in, j))
			if !exclusive {
				w.line("%s = %s;", w.at(out, j), acc)
			}
		})
		return w.linear(n, 1<<10, 1<<22, chunk, false, groups)
	}
	i, l, size := w.globalID("i", "gid", 0), w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
	load := func() string {
		// n is no multiple of the group: what is past the end is 0.
		at := within{fmt.Sprintf("min(%s, %s - 1)", i, n), lit(0), minus(n, lit(1))}
		return fmt.Sprintf("%s < %s ? %s : %s", i, n, w.at(in, at), literal(typ, 0))
	}
	d := w.name("d", "offset")
	if w.chance(0.55) { // Hillis and Steele
		a := w.local("part", "scratch", typ, dim(localSize, 0))
		w.line("%s = %s;", w.at(a, l), load())
		w.barrier()
		w.repeated(lit(8), fmt.Sprintf("for (int %s = 1; %s < %s; %s <<= 1)", d, d, size, d), func() {
			w.work(4)
			v := w.declare("t", "left", typ, literal(typ, 0))
			w.line("if (%s >= %s) %s = %s[%s - %s];", l, d, v, a.name, l, d)
			w.barrier()
			w.line("%s[%s] += %s;", a.name, l, v)
			w.barrier()
		})
		w.guard(i.(variable), n, func() { w.line("%s = %s;", w.at(out, i), w.at(a, l)) })
		return w.linear(n, 1<<10, 1<<22, 1, false, groups)
	}
	// Blelloch: up and down again; a group's size is a power of two.
	a := w.local("part", "scratch", typ, dim(localSize, 0))
	w.line("%s = %s;", w.at(a, l), load())
	w.barrier()
	w.repeated(lit(8), fmt.Sprintf("for (int %s = 1; %s < %s; %s <<= 1)", d, d, size, d), func() {
		w.work(2)
		w.line("int right = (%s + 1) * %s * 2 - 1;", l, d)
		w.line("if (right < %s) %s[right] += %s[right - %s];", size, a.name, a.name, d)
		w.barrier()
	})
	w.line("if (%s == 0) %s[%s - 1] = 0;", l, a.name, size)
	w.barrier()
	w.repeated(lit(8), fmt.Sprintf("for (int %s = %s >> 1; %s > 0; %s >>= 1)", d, size, d, d), func() {
		w.work(3)
		w.line("int right = (%s + 1) * %s * 2 - 1;", l, d)
		w.block(fmt.Sprintf("if (right < %s)", size), func() {
			v := w.declare("t", "left", typ, fmt.Sprintf("%s[right - %s]", a.name, d))
			w.line("%s[right - %s] = %s[right];", a.name, d, a.name)
			w.line("%s[right] += %s;", a.name, v)
		})
		w.barrier()
	})
	w.guard(i.(variable), n, func() { w.line("%s = %s;", w.at(out, i), w.at(a, l)) })
	return w.linear(n, 1<<10, 1<<22, 1, false, groups)
}

// writeHistogram counts values in global or local memory, with atomics or in
// private bins.
func writeHistogram(w *writer) draw {
	bins := w.num(8, 16, 32, 64, 256)
	in := w.indices("a", "keys", lit(0), lit(bins-1))
	out := w.buffer("h", "hist", "int", "rw")
	out.init = func(func(index) int64) string { return "zero" }
	n := w.size("n", "count")
	groups := w.groupSizes(32, 64, 128, 256)
	fixed := true
	switch w.r.IntN(3) {
	case 0: // atomics in global memory
		i := w.globalID("i", "gid", 0)
		fixed = w.chance(0.5)
		if fixed {
			step := w.globalSize("stride", "gsize", 0)
			w.loop("j", "pos", i, n, step, func(j index) { w.work(4); w.line("atomic_inc(&%s);", w.at(out, w.loaded(in, j))) })
		} else {
			w.guard(i.(variable), n, func() { w.work(4); w.line("atomic_inc(&%s);", w.at(out, w.loaded(in, i))) })
		}
	case 1: // atomics in local memory, then added up
		h := w.local("bins", "local_bins", "int", lit(bins))
		i, l, size := w.globalID("i", "gid", 0), w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
		w.loop("b", "bin", l, lit(bins), size, func(b index) { w.work(1); w.line("%s = 0;", w.at(h, b)) })
		w.barrier()
		step := w.globalSize("stride", "gsize", 0)
		w.loop("j", "pos", i, n, step, func(j index) { w.work(4); w.line("atomic_inc(&%s);", w.at(h, w.loaded(in, j))) })
		w.barrier()
		w.loop("b", "bin", l, lit(bins), size, func(b index) { w.work(4); w.line("atomic_add(&%s, %s);", w.at(out, b), w.at(h, b)) })
	default: // bins of a work-item's own
		bins := min(bins, 64)
		in.holds[1] = lit(bins - 1)
		seed := w.seed()
		in.init = func(func(index) int64) string { return fmt.Sprintf("random(%d,0,%d)", seed, bins) }
		i := w.globalID("i", "gid", 0)
		w.line("int own[%d];", bins)
		w.loop("b", "bin", lit(0), lit(bins), lit(1), func(b index) { w.work(1); w.line("own[%s] = 0;", b) })
		step := w.globalSize("stride", "gsize", 0)
		w.loop("j", "pos", i, n, step, func(j index) { w.work(1); w.line("own[%s]++;", w.loaded(in, j)) })
		w.loop("b", "bin", lit(0), lit(bins), lit(1), func(b index) {
			w.line("%s = own[%s];", w.at(out, plus(times(i, lit(bins)), b)), b)
		})
	}
	return w.linear(n, 1<<12, 1<<23, 1, fixed, groups)
}

// writeSort is a step of a sort, or the sort of a work-group's part.
func writeSort(w *writer) draw {
	typ := w.element()
	groups := w.groupSizes(32, 64, 128, 256)
	data := w.buffer("a", "keys", typ, "rw")
	switch w.r.IntN(4) {
	case 0: // one step of a bitonic sort over all
		j, k := w.size("j", "pass"), w.size("k", "stage")
		i := w.globalID("i", "gid", 0)
		w.line("int p = %s ^ %s;", i, j)
		// j is a power of two below the number of work-items, itself one: so is p.
		w.bind("p", lit(0), minus(dim(globalSize, 0), lit(1)))
		w.block(fmt.Sprintf("if (p > %s)", i), func() {
			x, y := w.declare("x", "lo", typ, w.at(data, i)), w.declare("y", "hi", typ, w.at(data, variable("p")))
			w.block(fmt.Sprintf("if ((%s > %s) == ((%s & %s) == 0))", x, y, i, k), func() {
				w.line("%s = %s;", w.at(data, i), y)
				w.line("%s = %s;", w.at(data, variable("p")), x)
			})
		})
		return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
			bits := 10 + r.IntN(12)
			stage := 1 + r.IntN(bits)
			return map[string]int64{k.String(): 1 << stage, j.String(): 1 << r.IntN(stage)}, []int64{1 << bits}, []int64{oneOf(r, groups)}
		}
	case 1: // odd-even transposition
		n, phase := w.size("n", "count"), w.size("p", "phase")
		i := w.globalID("i", "gid", 0)
		at := w.let("k", "first", plus(times(i, lit(2)), phase))
		w.block(fmt.Sprintf("if (%s + 1 < %s)", at, n), func() {
			w.bind(at.String(), at, minus(n, lit(2)))
			x, y := w.declare("x", "lo", typ, w.at(data, at)), w.declare("y", "hi", typ, w.at(data, plus(at, lit(1))))
			w.block(fmt.Sprintf("if (%s > %s)", x, y), func() {
				w.line("%s = %s;", w.at(data, at), y)
				w.line("%s = %s;", w.at(data, plus(at, lit(1))), x)
			})
		})
		return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
			v, l := logUniform(r, 1<<10, 1<<22), oneOf(r, groups)
			return map[string]int64{n.String(): v, phase.String(): int64(r.IntN(2))}, []int64{roundUp((v+1)/2, l)}, []int64{l}
		}
	case 2: // a work-group sorts its part
		a := w.local("part", "tile", typ, dim(localSize, 0))
		i, l, size := w.globalID("i", "gid", 0), w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
		w.line("%s = %s;", w.at(a, l), w.at(data, i))
		w.barrier()
		k, j := w.name("k", "stage"), w.name("j", "pass")
		w.repeated(lit(8), fmt.Sprintf("for (int %s = 2; %s <= %s; %s <<= 1)", k, k, size, k), func() {
			w.repeated(lit(4), fmt.Sprintf("for (int %s = %s >> 1; %s > 0; %s >>= 1)", j, k, j, j), func() {
				w.work(6)
				w.line("int p = %s ^ %s;", l, j)
				w.block(fmt.Sprintf("if (p > %s)", l), func() {
					x, y := w.declare("x", "lo", typ, fmt.Sprintf("%s[%s]", a.name, l)), w.declare("y", "hi", typ, a.name+"[p]")
					w.line("if ((%s > %s) == ((%s & %s) == 0)) { %s[%s] = %s; %s[p] = %s; }", x, y, l, k, a.name, l, y, a.name, x)
				})
				w.barrier()
			})
		})
		w.line("%s = %s;", w.at(data, i), w.at(a, l))
		return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
			l := oneOf(r, groups)
			return nil, []int64{roundUp(logUniform(r, 1<<10, 1<<19), l)}, []int64{l}
		}
	}
	// By rank: how many are smaller.
	data.access = "r"
	out := w.buffer("b", "sorted", typ, "w")
	n := w.size("n", "count")
	i := w.globalID("i", "gid", 0)
	w.guard(i.(variable), n, func() {
		x := w.declare("x", "key", typ, w.at(data, i))
		w.line("int rank = 0;")
		w.loop("j", "other", lit(0), n, lit(1), func(j index) {
			y := w.at(data, j)
			w.line("rank += %s < %s || (%s == %s && %s < %s);", y, x, y, x, j, i)
		})
		w.line("%s = %s;", w.at(out, within{"rank", lit(0), minus(n, lit(1))}), x)
	})
	return w.linear(n, 1<<8, 1<<13, 1, false, groups)
}
