package generate

import (
	"fmt"
	"math/rand/v2"
)

// writeNBody sums a force over all pairs, direct or through tiles.
func writeNBody(w *writer) draw {
	typ := w.real()
	dims := int(w.num(2, 3, 3))
	soa := w.chance(0.6)
	n := w.size("n", "bodies")
	groups := w.groupSizes(32, 64, 128)
	var pos []*parameter
	axes := []string{"x", "y", "z"}[:dims]
	if soa {
		for _, a := range axes {
			pos = append(pos, w.buffer(a, "pos_"+a, typ, "r"))
		}
	} else {
		pos = append(pos, w.buffer("p", "positions", typ, "r"))
	}
	mass := w.buffer("m", "mass", typ, "r")
	out := w.buffer("f", "force", typ, "w")
	at := func(d int, i index) string {
		if soa {
			return w.at(pos[d], i)
		}
		return w.at(pos[0], plus(times(i, lit(int64(dims))), lit(int64(d))))
	}
	soft := w.constantOf(typ)
	tiled := w.chance(0.35)
	var tiles []*parameter
	if tiled {
		for _, a := range append(axes, "m") {
			tiles = append(tiles, w.local("t"+a, "tile_"+a, typ, dim(localSize, 0)))
		}
	}
	i := w.globalID("i", "gid", 0)
	var own, sums []string
	own0 := within{fmt.Sprintf("min(%s, %s - 1)", i, n), lit(0), minus(n, lit(1))}
	for d := range dims {
		own = append(own, w.declare("q", "own_"+axes[d], typ, at(d, own0)))
		sums = append(sums, w.declare("s", "sum_"+axes[d], typ, literal(typ, 0)))
	}
	pair := func(other func(d int) string, m string) {
		w.work(24)
		r2 := soft
		var diff []string
		for d := range dims {
			diff = append(diff, w.declare("d", "delta", typ, other(d)+" - "+own[d]))
			r2 += fmt.Sprintf(" + %s * %s", diff[d], diff[d])
		}
		inv := w.declare("r", "inv", typ, w.pick("rsqrt(", "native_rsqrt(", "1 / sqrt(")+"(float)("+r2+"))")
		force := w.declare("g", "scale", typ, fmt.Sprintf("%s * %s * %s * %s", m, inv, inv, inv))
		for d := range dims {
			w.line("%s += %s * %s;", sums[d], force, diff[d])
		}
	}
	if tiled {
		l, size := w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
		w.loop("t", "tile0", lit(0), n, size, func(t index) {
			// n is a multiple of the group's size.
			from := within{fmt.Sprintf("%s + %s", t, l), lit(0), minus(n, lit(1))}
			for d := range dims {
				w.line("%s = %s;", w.at(tiles[d], l), at(d, within{"(" + from.text + ")", from.lo, from.hi}))
			}
			w.line("%s = %s;", w.at(tiles[dims], l), w.at(mass, from))
			w.barrier()
			w.loop("j", "other", lit(0), size, lit(1), func(j index) {
				pair(func(d int) string { return w.at(tiles[d], j) }, w.at(tiles[dims], j))
			})
			w.barrier()
		})
	} else {
		w.loop("j", "other", lit(0), n, lit(1), func(j index) {
			pair(func(d int) string { return at(d, j) }, w.at(mass, j))
		})
	}
	w.guard(i.(variable), n, func() {
		for d := range dims {
			w.line("%s = %s;", w.at(out, plus(times(i, lit(int64(dims))), lit(int64(d)))), sums[d])
		}
	})
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		v, l := logUniform(r, 1<<7, 1<<12), oneOf(r, groups)
		if tiled {
			v = roundUp(v, l)
		}
		return map[string]int64{n.String(): v}, []int64{roundUp(v, l)}, []int64{l}
	}
}

// writeIterate runs a loop without memory in each work-item: of fixed length,
// of a length that a launch chooses, or until a condition holds.
func writeIterate(w *writer) draw {
	typ := w.real()
	out := w.buffer("o", "output", typ, "w")
	n := w.size("n", "count")
	groups := w.groupSizes()
	limit := lit(w.num(8, 16, 32, 64, 128, 256))
	chosen := w.chance(0.5)
	if chosen {
		limit = w.size("k", "iterations")
	}
	i := w.globalID("i", "gid", 0)
	w.guard(i.(variable), n, func() {
		switch w.r.IntN(3) {
		case 0: // points that escape: lanes leave at different times
			x := w.declare("x", "cx", typ, fmt.Sprintf("(%s)(%s %% 1024) * %s - %s", typ, i, literal(typ, 0.003), literal(typ, 2)))
			y := w.declare("y", "cy", typ, fmt.Sprintf("(%s)(%s / 1024) * %s - %s", typ, i, literal(typ, 0.003), literal(typ, 1)))
			a, b := w.declare("a", "zx", typ, literal(typ, 0)), w.declare("b", "zy", typ, literal(typ, 0))
			it := w.name("it", "iter")
			w.line("int %s = 0;", it)
			w.repeated(limit, fmt.Sprintf("while (%s < %s && %s * %s + %s * %s < %s)", it, limit, a, a, b, b, literal(typ, 4)), func() {
				w.work(4)
				t := w.declare("t", "tmp", typ, fmt.Sprintf("%s * %s - %s * %s + %s", a, a, b, b, x))
				w.line("%s = 2 * %s * %s + %s;", b, a, b, y)
				w.line("%s = %s;", a, t)
				w.line("%s++;", it)
			})
			w.line("%s = (%s)%s;", w.at(out, i), typ, it)
		case 1: // a generator of random numbers
			w.line("uint s = (uint)%s * 2654435761u + 12345u;", i)
			acc := w.declare("acc", "acc", typ, literal(typ, 0))
			w.loop("k", "draw_i", lit(0), limit, lit(1), func(index) {
				w.work(8)
				w.line("s ^= s << 13; s ^= s >> 17; s ^= s << 5;")
				v := w.declare("u", "uniform", typ, fmt.Sprintf("(%s)(s >> 8) * %s", typ, literal(typ, 5.96e-8)))
				w.next(typ, acc, fmt.Sprintf("%s * %s", v, w.expression(typ, []string{v, acc}, 1+w.r.IntN(6))))
			})
			w.line("%s = %s;", w.at(out, i), acc)
		default:
			v := w.declare("x", "start", typ, fmt.Sprintf("(%s)%s * %s", typ, i, literal(typ, 0.001)))
			acc := w.declare("acc", "acc", typ, v)
			w.loop("k", "iter", lit(0), limit, lit(1), func(index) {
				w.next(typ, acc, w.expression(typ, []string{v, acc}, 2+w.r.IntN(8)))
			})
			w.line("%s = %s;", w.at(out, i), acc)
		}
	})
	name := n.String()
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		v, l := logUniform(r, 1<<8, 1<<20), oneOf(r, groups)
		values := map[string]int64{name: v}
		if chosen {
			values[limit.String()] = logUniform(r, 4, 2048)
		}
		return values, []int64{roundUp(v, l)}, []int64{l}
	}
}

// writeDistance compares each point with a set of others: the nearest, or a
// sum of weights.
func writeDistance(w *writer) draw {
	typ := w.real()
	n, m := w.size("n", "points"), w.size("k", "centres")
	dims := w.num(1, 2, 3, 4, 8, 16)
	points, centres := w.buffer("p", "points_in", typ, "r"), w.coefficients("c", "centres_in", typ)
	out := w.buffer("o", "assignment", "int", "w")
	transposed := w.chance(0.4)
	groups := w.groupSizes()
	i := w.globalID("i", "gid", 0)
	w.guard(i.(variable), n, func() {
		best := w.declare("b", "best", typ, literal(typ, 1e6))
		w.line("int which = 0;")
		w.loop("j", "centre", lit(0), m, lit(1), func(j index) {
			sum := w.declare("s", "dist", typ, literal(typ, 0))
			w.loop("d", "axis", lit(0), lit(dims), lit(1), func(d index) {
				at := plus(times(i, lit(dims)), d)
				if transposed {
					at = plus(times(d, n), i)
				}
				delta := w.declare("e", "delta", typ, fmt.Sprintf("%s - %s", w.at(points, at), w.at(centres, plus(times(j, lit(dims)), d))))
				w.line("%s += %s * %s;", sum, delta, delta)
			})
			w.line("if (%s < %s) { %s = %s; which = %s; }", sum, best, best, sum, j)
		})
		w.line("%s = which;", w.at(out, i))
	})
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		v, l := logUniform(r, 1<<8, 1<<19), oneOf(r, groups)
		return map[string]int64{n.String(): v, m.String(): logUniform(r, 2, 256)}, []int64{roundUp(v, l)}, []int64{l}
	}
}

// writeConvolution is a one-dimensional filter whose length a launch chooses.
func writeConvolution(w *writer) draw {
	typ := w.element()
	n, k := w.size("n", "count"), w.size("k", "taps")
	in, filter, out := w.buffer("a", "signal", typ, "r"), w.coefficients("f", "filter", typ), w.buffer("b", "filtered", typ, "w")
	groups := w.groupSizes()
	i := w.globalID("i", "gid", 0)
	w.guard(i.(variable), n, func() {
		sum := w.declare("s", "acc", typ, literal(typ, 0))
		w.loop("t", "tap", lit(0), k, lit(1), func(t index) {
			w.line("%s += %s * %s;", sum, w.at(in, plus(i, t)), w.at(filter, t))
		})
		w.line("%s = %s;", w.at(out, i), sum)
	})
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		v, l := logUniform(r, 1<<9, 1<<21), oneOf(r, groups)
		return map[string]int64{n.String(): v, k.String(): logUniform(r, 2, 1024)}, []int64{roundUp(v, l)}, []int64{l}
	}
}

// writePaths is a step of all shortest paths, or a row of a dynamic program.
func writePaths(w *writer) draw {
	typ := w.element()
	n, k := w.size("n", "nodes"), w.size("k", "via")
	d := w.buffer("d", "dist", typ, "rw")
	swap := w.chance(0.3)
	x, y := w.globalID("j", "col", 0), w.globalID("i", "row", 1)
	if swap {
		x, y = y, x
	}
	// k is a node: below n.
	via := within{k.String(), lit(0), minus(n, lit(1))}
	w.guard(x.(variable), n, func() {
		w.guard(y.(variable), n, func() {
			v := w.declare("t", "through", typ, fmt.Sprintf("%s + %s", w.at(d, plus(times(y, n), via)), w.at(d, plus(times(via, n), x))))
			at := plus(times(y, n), x)
			if w.chance(0.5) {
				w.line("if (%s < %s) %s = %s;", v, w.at(d, at), w.at(d, at), v)
			} else {
				w.line("%s = %s;", w.at(d, at), combine(typ, "min", w.at(d, at), v))
			}
		})
	})
	shape := [][]int64{{8, 8}, {16, 16}, {64, 1}, {32, 4}}[w.r.IntN(4)]
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		v := logUniform(r, 32, 2048)
		return map[string]int64{n.String(): v, k.String(): r.Int64N(v)}, []int64{roundUp(v, shape[0]), roundUp(v, shape[1])}, shape
	}
}

// writeButterfly is a pass of a fast Fourier transform.
func writeButterfly(w *writer) draw {
	typ := w.real()
	half := w.size("h", "half_size")
	var re, im *parameter
	interleaved := w.chance(0.4)
	if interleaved {
		re = w.buffer("z", "signal", typ, "rw")
		im = re
	} else {
		re, im = w.buffer("re", "real_part", typ, "rw"), w.buffer("im", "imag_part", typ, "rw")
	}
	// 2 h divides the number of points, which is twice that of the work-items.
	end := minus(times(dim(globalSize, 0), lit(2)), lit(1))
	i := w.globalID("i", "gid", 0)
	w.line("int k = %s %% %s;", i, half)
	w.line("int p = (%s / %s) * %s * 2 + k;", i, half, half)
	w.line("int q = p + %s;", half)
	at := func(b *parameter, name string, imaginary int64) string {
		x := w.bind(name, lit(0), end)
		if interleaved {
			x = shift(times(x, lit(2)), imaginary)
		}
		return w.at(b, x)
	}
	w.work(40)
	a := w.declare("a", "angle", typ, fmt.Sprintf("%s * (%s)k / (%s)%s", literal(typ, -3.14159265), typ, typ, half))
	c, s := w.declare("c", "cosine", typ, fmt.Sprintf("%s(%s)", w.pick("cos", "native_cos"), "(float)"+a)), w.declare("s", "sine", typ, fmt.Sprintf("sin(%s)", a))
	x := w.declare("x", "tre", typ, fmt.Sprintf("%s * %s - %s * %s", c, at(re, "q", 0), s, at(im, "q", 1)))
	y := w.declare("y", "tim", typ, fmt.Sprintf("%s * %s + %s * %s", s, at(re, "q", 0), c, at(im, "q", 1)))
	w.line("%s = %s - %s;", at(re, "q", 0), at(re, "p", 0), x)
	w.line("%s = %s - %s;", at(im, "q", 1), at(im, "p", 1), y)
	w.line("%s += %s;", at(re, "p", 0), x)
	w.line("%s += %s;", at(im, "p", 1), y)
	groups := w.groupSizes(32, 64, 128, 256)
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		bits := 9 + r.IntN(11)
		return map[string]int64{half.String(): 1 << r.IntN(bits+1)}, []int64{1 << bits}, []int64{oneOf(r, groups)}
	}
}
