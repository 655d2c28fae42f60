package generate

import (
	"fmt"
	"math/rand/v2"
)

// writeSpmv is y = A x for a sparse A: compressed rows of equal or random
// length, a row per work-item or per work-group, or ELLPACK.
func writeSpmv(w *writer) draw {
	typ := w.real()
	rows, cols, per := w.size("m", "rows"), w.size("n", "cols"), w.size("k", "per_row")
	groups := w.groupSizes(32, 64, 128)
	values, x, y := w.buffer("v", "vals", typ, "r"), w.buffer("x", "vec", typ, "r"), w.buffer("y", "res", typ, "w")
	last := minus(cols, lit(1))
	columns := w.indices("c", "colidx", lit(0), last)
	narrow := w.chance(0.3) // columns near each other: the vector stays in cache
	if narrow {
		seed := w.seed()
		columns.init = func(size func(index) int64) string { return fmt.Sprintf("random(%d,0,%d)", seed, min(size(cols), 512)) }
	}
	perGroup := false
	end := minus(times(rows, per), lit(1))
	term := func(j index) string { return fmt.Sprintf("%s * %s", w.at(values, j), w.at(x, w.loaded(columns, j))) }
	// element j of a row starts at a loaded offset; it stays below the number of all.
	entry := func(name string) index { return w.bind(name, lit(0), end) }
	ell := w.chance(0.3)
	if ell {
		i := w.globalID("i", "row", 0)
		major := w.chance(0.5)
		w.guard(i.(variable), rows, func() {
			sum := w.declare("s", "acc", typ, literal(typ, 0))
			w.loop("j", "slot", lit(0), per, lit(1), func(j index) {
				at := plus(times(i, per), j)
				if major {
					at = plus(times(j, rows), i)
				}
				w.line("%s += %s;", sum, term(at))
			})
			w.line("%s = %s;", w.at(y, i), sum)
		})
	} else {
		first := w.offsets("p", "rowptr", per, times(rows, per))
		var lengths *parameter
		if w.chance(0.4) {
			lengths = w.indices("q", "rowlen", lit(0), per)
		}
		bounds := func(i index) (string, string) {
			if lengths == nil {
				return w.at(first, i), w.at(first, plus(i, lit(1)))
			}
			return w.at(first, i), fmt.Sprintf("%s + %s", w.at(first, i), w.at(lengths, i))
		}
		perGroup = w.chance(0.35)
		if perGroup {
			part := w.local("part", "scratch", typ, dim(localSize, 0))
			row, l, size := w.groupID("row", "row", 0), w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
			from, to := bounds(row)
			sum := w.declare("s", "acc", typ, literal(typ, 0))
			w.line("int stop = %s;", to)
			j := w.name("j", "nz")
			w.repeated(over(plus(per, size), size), fmt.Sprintf("for (int %s = %s + %s; %s < stop; %s += %s)", j, from, l, j, j, size), func() {
				w.line("%s += %s;", sum, term(entry(j)))
			})
			w.line("%s = %s;", w.at(part, l), sum)
			w.barrier()
			w.tree(typ, part, l, size, "+")
			w.line("if (%s == 0) %s = %s;", l, w.at(y, row), w.at(part, lit(0)))
		} else {
			i := w.globalID("i", "row", 0)
			w.guard(i.(variable), rows, func() {
				from, to := bounds(i)
				sum := w.declare("s", "acc", typ, literal(typ, 0))
				w.line("int stop = %s;", to)
				j := w.name("j", "nz")
				w.repeated(per, fmt.Sprintf("for (int %s = %s; %s < stop; %s++)", j, from, j, j), func() {
					w.line("%s += %s;", sum, term(entry(j)))
				})
				w.line("%s = %s;", w.at(y, i), sum)
			})
		}
	}
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		m, n, k := logUniform(r, 1<<8, 1<<17), logUniform(r, 1<<8, 1<<20), logUniform(r, 2, 256)
		l := oneOf(r, groups)
		g := roundUp(m, l)
		if perGroup {
			g = m * l
		}
		return map[string]int64{rows.String(): m, cols.String(): n, per.String(): k}, []int64{g}, []int64{l}
	}
}

// writeBFS is one level of a breadth-first search: of each vertex on the
// frontier the neighbours are marked.
func writeBFS(w *writer) draw {
	vertices, degree := w.size("n", "vertices"), w.size("k", "degree")
	groups := w.groupSizes(32, 64, 128, 256)
	first := w.offsets("p", "row_offsets", degree, times(vertices, degree))
	edges := w.indices("e", "edges", lit(0), minus(vertices, lit(1)))
	levels := w.buffer("d", "levels", "int", "rw")
	spread := w.num(2, 4, 16, 64) // one vertex of so many is on the frontier
	seed := w.seed()
	levels.init = func(func(index) int64) string { return fmt.Sprintf("random(%d,0,%d)", seed, spread) }
	changed := w.buffer("f", "changed", "int", "rw")
	changed.init = func(func(index) int64) string { return "zero" }
	level := "1"
	if w.chance(0.5) {
		level = w.number("l", "level", "int", "1")
	}
	pull := w.chance(0.3)
	i := w.globalID("i", "v", 0)
	visit := func(i index) {
		j := w.name("j", "edge")
		from, to := w.at(first, i), w.at(first, plus(i, lit(1)))
		w.repeated(degree, fmt.Sprintf("for (int %s = %s; %s < %s; %s++)", j, from, j, to, j), func() {
			at := w.bind(j, lit(0), minus(times(vertices, degree), lit(1)))
			u := w.name("u", "neighbour")
			w.line("int %s = %s;", u, w.at(edges, at))
			n := w.bind(u, lit(0), minus(vertices, lit(1)))
			if pull {
				w.block(fmt.Sprintf("if (%s == %s)", w.at(levels, n), level), func() {
					w.line("%s = %s + 1;", w.at(levels, i), level)
					w.line("break;")
				})
				return
			}
			w.block(fmt.Sprintf("if (%s == 0)", w.at(levels, n)), func() {
				w.line("%s = %s + 1;", w.at(levels, n), level)
				w.line("%s = 1;", w.at(changed, lit(0)))
			})
		})
	}
	on := level
	if pull {
		on = "0"
	}
	w.guard(i.(variable), vertices, func() {
		w.block(fmt.Sprintf("if (%s == %s)", w.at(levels, i), on), func() { visit(i) })
	})
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		n, k, l := logUniform(r, 1<<10, 1<<19), logUniform(r, 2, 64), oneOf(r, groups)
		return map[string]int64{vertices.String(): n, degree.String(): k}, []int64{roundUp(n, l)}, []int64{l}
	}
}

// writeGather reads or writes through indices, several times where it chases.
func writeGather(w *writer) draw {
	typ := w.element()
	n, m := w.size("n", "count"), w.size("m", "table_size")
	table, out := w.buffer("t", "table", typ, "r"), w.buffer("o", "output", typ, "w")
	idx := w.indices("p", "index", lit(0), minus(m, lit(1)))
	chase := w.chance(0.35)
	scatter := !chase && w.chance(0.3)
	hops := w.num(2, 4, 8, 16, 64)
	i := w.globalID("i", "gid", 0)
	w.guard(i.(variable), n, func() {
		if chase {
			// The chain runs through the table of indices itself.
			h := w.name("h", "hop")
			w.line("int %s = %s %% %s;", h, i, m)
			at := w.bind(h, lit(0), minus(m, lit(1)))
			w.loop("k", "step_i", lit(0), lit(hops), lit(1), func(index) { w.line("%s = %s;", h, w.at(idx, at)) })
			w.line("%s = %s;", w.at(out, i), w.at(table, at))
			return
		}
		if scatter {
			w.line("%s = %s;", w.at(out, w.loaded(idx, i)), w.at(table, mod(i, m)))
			return
		}
		v := w.declare("v", "value", typ, w.at(table, w.loaded(idx, i)))
		w.line("%s = %s;", w.at(out, i), w.expression(typ, []string{v}, w.r.IntN(8)))
	})
	groups := w.groupSizes()
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		v, l := logUniform(r, 1<<10, 1<<21), oneOf(r, groups)
		return map[string]int64{n.String(): v, m.String(): logUniform(r, 1<<6, 1<<22)}, []int64{roundUp(v, l)}, []int64{l}
	}
}
