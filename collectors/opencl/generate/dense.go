package generate

import (
	"fmt"
	"math/rand/v2"
)

// linear chooses launches over one size n: one work-item for each of per
// elements, or a fixed number of work-items where the kernel strides.
func (w *writer) linear(n index, lo, hi, per int64, fixed bool, groups []int64) draw {
	name := n.String()
	grid := int64(1) << (6 + w.r.IntN(9))
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		v := logUniform(r, lo, hi)
		l := oneOf(r, groups)
		g := roundUp((v+per-1)/per, l)
		if fixed {
			g = roundUp(grid, l)
		}
		return map[string]int64{name: v}, []int64{g}, []int64{l}
	}
}

// writeMap is y[i] = f(x1[i], x2[i], ...).
func writeMap(w *writer) draw {
	typ := w.element()
	if w.chance(0.2) && typ != "int" {
		typ += w.pick("2", "4")
	}
	var ins []*parameter
	for range 1 + w.r.IntN(4) {
		ins = append(ins, w.buffer("a", "input", typ, "r"))
	}
	out := w.buffer("c", "output", typ, "w")
	n := w.size("n", "count")
	i := w.globalID("i", "idx", 0)
	per, fixed := int64(1), w.chance(0.3)
	depth := 1 + w.r.IntN(14)
	body := func(i index) {
		var leaves []string
		for _, p := range ins {
			leaves = append(leaves, w.declare("v", "value", typ, w.at(p, i)))
		}
		acc := w.declare("t", "result", typ, w.mix(typ, append([]string{w.expression(typ, leaves, depth)}, leaves...)))
		if w.chance(0.35) {
			w.loop("k", "iter", lit(0), lit(w.num(2, 4, 8, 16, 32, 64)), lit(1), func(index) {
				w.next(typ, acc, w.expression(typ, append([]string{acc}, leaves...), 1+w.r.IntN(6)))
			})
		}
		w.line("%s = %s;", w.at(out, i), acc)
	}
	switch {
	case fixed:
		step := w.globalSize("stride", "stride", 0)
		w.loop("j", "pos", i, n, step, body)
	case w.chance(0.3):
		per = w.num(2, 4, 8)
		if w.chance(0.5) {
			w.chunk("j", "pos", i, lit(per), n, body)
		} else {
			step := w.globalSize("stride", "stride", 0)
			w.loop("j", "pos", i, n, step, body)
		}
	default:
		w.guard(i.(variable), n, func() { body(i) })
	}
	return w.linear(n, 1<<10, 1<<22, per, fixed, w.groupSizes())
}

// writeStencil is a weighted sum of neighbours in one or two dimensions.
func writeStencil(w *writer) draw {
	typ := w.real()
	in, out := w.buffer("a", "grid_in", typ, "r"), w.buffer("b", "grid_out", typ, "w")
	radius := 1 + w.r.Int64N(4)
	if w.chance(0.4) {
		return w.stencil1D(typ, in, out, radius)
	}
	width, height := w.size("w", "width"), w.size("h", "height")
	var weights *parameter
	if w.chance(0.3) {
		weights = w.coefficients("c", "weights", typ)
	}
	swap := w.chance(0.2) // lanes along columns: strided access
	x, y := w.globalID("x", "col", 0), w.globalID("y", "row", 1)
	if swap {
		x, y = y, x
	}
	radius = min(radius, 3)
	box := w.chance(0.4)
	cell := func(dx, dy int64) string {
		return w.at(in, plus(times(shift(y, dy), width), shift(x, dx)))
	}
	interior := func() {
		sum := w.declare("s", "sum", typ, literal(typ, 0))
		if weights != nil {
			side := 2*radius + 1
			w.loop("dy", "ky", lit(0), lit(side), lit(1), func(dy index) {
				w.loop("dx", "kx", lit(0), lit(side), lit(1), func(dx index) {
					at := plus(times(minus(plus(y, dy), lit(radius)), width), minus(plus(x, dx), lit(radius)))
					w.line("%s += %s * %s;", sum, w.at(weights, plus(times(dy, lit(side)), dx)), w.at(in, at))
				})
			})
		} else {
			for dy := -radius; dy <= radius; dy++ {
				for dx := -radius; dx <= radius; dx++ {
					if box || dx == 0 || dy == 0 {
						w.line("%s += %s * %s;", sum, w.constantOf(typ), cell(dx, dy))
					}
				}
			}
		}
		if w.chance(0.3) {
			w.line("%s = %s;", sum, w.expression(typ, []string{sum}, 1+w.r.IntN(4)))
		}
		w.line("%s = %s;", w.at(out, plus(times(y, width), x)), sum)
	}
	w.inner(x.(variable), lit(radius), minus(width, lit(radius)), func() {
		w.inner(y.(variable), lit(radius), minus(height, lit(radius)), interior)
	})
	return w.plane(width, height, 32, 1600, swap)
}

func shift(x index, d int64) index {
	switch {
	case d > 0:
		return plus(x, lit(d))
	case d < 0:
		return minus(x, lit(-d))
	}
	return x
}

// plane chooses launches over a width and a height, a work-item for each cell.
func (w *writer) plane(width, height index, lo, hi int64, swap bool) draw {
	shapes := [][]int64{{8, 8}, {16, 16}, {32, 4}, {16, 4}, {64, 1}, {32, 8}, {4, 16}, {128, 1}}
	w.r.Shuffle(len(shapes), func(i, j int) { shapes[i], shapes[j] = shapes[j], shapes[i] })
	shapes = shapes[:2]
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		a, b := logUniform(r, lo, hi), logUniform(r, lo, hi)
		l := shapes[r.IntN(len(shapes))]
		gx, gy := a, b
		if swap {
			gx, gy = b, a
		}
		return map[string]int64{width.String(): a, height.String(): b}, []int64{roundUp(gx, l[0]), roundUp(gy, l[1])}, l
	}
}

func (w *writer) stencil1D(typ string, in, out *parameter, radius int64) draw {
	n := w.size("n", "length_x")
	groups := w.groupSizes(32, 64, 128, 256)
	if w.chance(0.5) {
		i := w.globalID("i", "idx", 0)
		w.inner(i.(variable), lit(radius), minus(n, lit(radius)), func() {
			sum := w.declare("s", "sum", typ, literal(typ, 0))
			if w.chance(0.5) {
				w.loop("d", "offset", lit(0), lit(2*radius+1), lit(1), func(d index) {
					w.line("%s += %s * %s;", sum, w.constantOf(typ), w.at(in, minus(plus(i, d), lit(radius))))
				})
			} else {
				for d := -radius; d <= radius; d++ {
					w.line("%s += %s * %s;", sum, w.constantOf(typ), w.at(in, shift(i, d)))
				}
			}
			w.line("%s = %s;", w.at(out, i), sum)
		})
		return w.linear(n, 1<<10, 1<<22, 1, false, groups)
	}
	// The tile in local memory, with its halo.
	tile := w.local("tile", "tile", typ, plus(dim(localSize, 0), lit(2*radius)))
	i, l, size := w.globalID("i", "idx", 0), w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
	clamp := func(x index) index { return most(least(x, minus(n, lit(1))), lit(0)) }
	w.line("%s = %s;", w.at(tile, plus(l, lit(radius))), w.at(in, clamp(i)))
	w.block(fmt.Sprintf("if (%s < %d)", l, radius), func() {
		w.line("%s = %s;", w.at(tile, l), w.at(in, clamp(minus(i, lit(radius)))))
		w.line("%s = %s;", w.at(tile, plus(plus(l, size), lit(radius))), w.at(in, clamp(plus(i, size))))
	})
	w.barrier()
	w.guard(i.(variable), n, func() {
		sum := w.declare("s", "sum", typ, literal(typ, 0))
		w.loop("d", "offset", lit(0), lit(2*radius+1), lit(1), func(d index) {
			w.work(1)
			w.line("%s += %s * %s;", sum, w.at(tile, plus(l, d)), w.constantOf(typ))
		})
		w.line("%s = %s;", w.at(out, i), sum)
	})
	return w.linear(n, 1<<10, 1<<22, 1, false, groups)
}

// writeGemv is y = A x, a row per work-item or per work-group, or A transposed.
func writeGemv(w *writer) draw {
	typ := w.real()
	a, x, y := w.buffer("A", "matrix", typ, "r"), w.buffer("x", "vec", typ, "r"), w.buffer("y", "res", typ, "w")
	m, n := w.size("m", "rows"), w.size("n", "cols")
	groups := w.groupSizes(32, 64, 128)
	transposed := w.chance(0.35)
	at := func(i, j index) index {
		if transposed {
			return plus(times(j, m), i)
		}
		return plus(times(i, n), j)
	}
	perGroup := w.chance(0.35)
	if perGroup {
		part := w.local("part", "partial", typ, dim(localSize, 0))
		row, l, size := w.groupID("row", "row", 0), w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
		sum := w.declare("s", "acc", typ, literal(typ, 0))
		w.loop("j", "col", l, n, size, func(j index) {
			w.line("%s += %s * %s;", sum, w.at(a, at(row, j)), w.at(x, j))
		})
		w.line("%s = %s;", w.at(part, l), sum)
		w.barrier()
		w.tree(typ, part, l, size, "+")
		w.line("if (%s == 0) %s = %s;", l, w.at(y, row), w.at(part, lit(0)))
	} else {
		i := w.globalID("i", "row", 0)
		w.guard(i.(variable), m, func() {
			sum := w.declare("s", "acc", typ, literal(typ, 0))
			step := w.num(1, 1, 2, 4)
			w.loop("j", "col", lit(0), n, lit(step), func(j index) {
				for k := range step {
					w.line("%s += %s * %s;", sum, w.at(a, at(i, shift(j, k))), w.at(x, shift(j, k)))
				}
			})
			w.line("%s = %s;", w.at(y, i), sum)
		})
	}
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		rows, cols := logUniform(r, 32, 8192), roundUp(logUniform(r, 32, 8192), 4)
		l := oneOf(r, groups)
		g := roundUp(rows, l)
		if perGroup {
			g = rows * l
		}
		return map[string]int64{m.String(): rows, n.String(): cols}, []int64{g}, []int64{l}
	}
}

// tree reduces part[0 .. size) in local memory.
func (w *writer) tree(typ string, part *parameter, l, size index, op string) {
	s := w.name("s", "stride")
	body := func(cond string, at index) {
		w.block(cond, func() {
			w.line("%s = %s;", w.at(part, l), combine(typ, op, w.at(part, l), w.at(part, at)))
		})
		w.barrier()
	}
	// The number of steps is the logarithm of a group's size, at most 8.
	if w.chance(0.65) {
		w.repeated(lit(8), fmt.Sprintf("for (int %s = %s / 2; %s > 0; %s >>= 1)", s, size, s, s), func() {
			w.work(2)
			body(fmt.Sprintf("if (%s < %s)", l, s), within{l.String() + " + " + s, lit(0), lit(0)})
		})
		return
	}
	w.repeated(lit(8), fmt.Sprintf("for (int %s = 1; %s < %s; %s *= 2)", s, s, size, s), func() {
		w.work(2)
		body(fmt.Sprintf("if (%s %% (2 * %s) == 0)", l, s), within{l.String() + " + " + s, lit(0), lit(0)})
	})
}

// writeGemm is C = A B: naive, tiled in local memory, or several results per
// work-item.
func writeGemm(w *writer) draw {
	typ := w.real()
	a, b, c := w.buffer("A", "mat_a", typ, "r"), w.buffer("B", "mat_b", typ, "r"), w.buffer("C", "mat_c", typ, "rw")
	m, n, k := w.size("m", "rows"), w.size("n", "cols"), w.size("k", "inner")
	alpha := ""
	if w.chance(0.4) {
		alpha = w.number("alpha", "alpha", typ, w.pick("0.5", "1", "1.5"))
	}
	store := func(at index, v string) {
		if alpha != "" {
			v = fmt.Sprintf("%s * %s + %s", alpha, v, w.at(c, at))
		}
		w.line("%s = %s;", w.at(c, at), v)
	}
	ta := w.chance(0.25)
	atA := func(i, p index) index {
		if ta {
			return plus(times(p, m), i)
		}
		return plus(times(i, k), p)
	}
	sizes := func(r *rand.Rand, multiple int64) map[string]int64 {
		one := func() int64 { return roundUp(logUniform(r, 16, 768), multiple) }
		v := map[string]int64{m.String(): one(), n.String(): one(), k.String(): one()}
		if r.IntN(3) == 0 {
			v[n.String()], v[k.String()] = v[m.String()], v[m.String()]
		}
		return v
	}
	if w.chance(0.4) {
		t := w.num(4, 8, 16)
		ta, tb := w.local("As", "tile_a", typ, lit(t*t)), w.local("Bs", "tile_b", typ, lit(t*t))
		x, y, lx, ly := w.globalID("j", "col", 0), w.globalID("i", "row", 1), w.localID("lx", "lcol", 0), w.localID("ly", "lrow", 1)
		sum := w.declare("s", "acc", typ, literal(typ, 0))
		w.loop("t", "tile0", lit(0), k, lit(t), func(p index) {
			// k is a multiple of the tile, so p + lx stays below k.
			ka := within{fmt.Sprintf("%s + %s", p, lx), lit(0), minus(k, lit(1))}
			kb := within{fmt.Sprintf("(%s + %s)", p, ly), lit(0), minus(k, lit(1))}
			w.line("%s = %s;", w.at(ta, plus(times(ly, lit(t)), lx)), w.at(a, plus(times(y, k), ka)))
			w.line("%s = %s;", w.at(tb, plus(times(ly, lit(t)), lx)), w.at(b, plus(times(kb, n), x)))
			w.barrier()
			w.loop("p", "q", lit(0), lit(t), lit(1), func(q index) {
				w.work(2)
				w.line("%s += %s * %s;", sum, w.at(ta, plus(times(ly, lit(t)), q)), w.at(tb, plus(times(q, lit(t)), lx)))
			})
			w.barrier()
		})
		store(plus(times(y, n), x), sum)
		return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
			v := sizes(r, t)
			return v, []int64{v[n.String()], v[m.String()]}, []int64{t, t}
		}
	}
	per := w.num(1, 1, 2, 4) // results per work-item, along rows
	swap := w.chance(0.3)
	x, y := w.globalID("j", "col", 0), w.globalID("i", "row", 1)
	if swap {
		x, y = y, x
	}
	shapes := [][]int64{{8, 8}, {16, 16}, {32, 2}, {64, 1}, {16, 4}}
	shape := shapes[w.r.IntN(len(shapes))]
	multiple := int64(1)
	w.guard(x.(variable), n, func() {
		if per == 1 {
			w.guard(y.(variable), m, func() {
				sum := w.declare("s", "acc", typ, literal(typ, 0))
				w.loop("p", "inner_i", lit(0), k, lit(1), func(p index) {
					w.line("%s += %s * %s;", sum, w.at(a, atA(y, p)), w.at(b, plus(times(p, n), x)))
				})
				store(plus(times(y, n), x), sum)
			})
			return
		}
		multiple = per
		rows := over(m, lit(per))
		w.block(fmt.Sprintf("if (%s < %s)", y, rows), func() {
			w.bind(y.String(), y, least(y, minus(rows, lit(1))))
			var sums []string
			for range per {
				sums = append(sums, w.declare("s", "acc", typ, literal(typ, 0)))
			}
			w.loop("p", "inner_i", lit(0), k, lit(1), func(p index) {
				v := w.declare("b", "bv", typ, w.at(b, plus(times(p, n), x)))
				for i, s := range sums {
					w.line("%s += %s * %s;", s, w.at(a, atA(shift(times(y, lit(per)), int64(i)), p)), v)
				}
			})
			for i, s := range sums {
				store(plus(times(shift(times(y, lit(per)), int64(i)), n), x), s)
			}
		})
	})
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		v := sizes(r, multiple)
		gx, gy := v[n.String()], v[m.String()]/per
		if swap {
			gx, gy = gy, gx
		}
		return v, []int64{roundUp(gx, shape[0]), roundUp(gy, shape[1])}, shape
	}
}

// writeTranspose is b = a^T, direct or through a tile.
func writeTranspose(w *writer) draw {
	typ := w.element()
	in, out := w.buffer("a", "src", typ, "r"), w.buffer("b", "dst", typ, "w")
	width, height := w.size("w", "width"), w.size("h", "height")
	if w.chance(0.5) {
		swap := w.chance(0.5)
		x, y := w.globalID("x", "col", 0), w.globalID("y", "row", 1)
		if swap {
			x, y = y, x
		}
		w.guard(x.(variable), width, func() {
			w.guard(y.(variable), height, func() {
				v := w.at(in, plus(times(y, width), x))
				if w.chance(0.3) {
					v = w.expression(typ, []string{w.declare("v", "value", typ, v)}, 1+w.r.IntN(5))
				}
				w.line("%s = %s;", w.at(out, plus(times(x, height), y)), v)
			})
		})
		return w.plane(width, height, 32, 2048, swap)
	}
	t := w.num(4, 8, 16)
	pad := w.num(0, 1)
	tile := w.local("tile", "tile", typ, lit(t*(t+pad)))
	gx, gy, lx, ly := w.groupID("gx", "group_x", 0), w.groupID("gy", "group_y", 1), w.localID("lx", "lcol", 0), w.localID("ly", "lrow", 1)
	// Both sizes are multiples of the tile.
	wide := func(g, l index, n index) index {
		return within{fmt.Sprintf("(%s * %d + %s)", g, t, l), lit(0), minus(n, lit(1))}
	}
	w.line("%s = %s;", w.at(tile, plus(times(ly, lit(t+pad)), lx)), w.at(in, plus(times(wide(gy, ly, height), width), wide(gx, lx, width))))
	w.barrier()
	w.line("%s = %s;", w.at(out, plus(times(wide(gx, ly, width), height), wide(gy, lx, height))), w.at(tile, plus(times(lx, lit(t+pad)), ly)))
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		a, b := roundUp(logUniform(r, 32, 2048), t), roundUp(logUniform(r, 32, 2048), t)
		return map[string]int64{width.String(): a, height.String(): b}, []int64{a, b}, []int64{t, t}
	}
}
