package generate

import "fmt"

// writeComposition puts random statements together: loads by several rules,
// loops, conditions, arithmetic, local exchange.
func writeComposition(w *writer) draw {
	typ := w.element()
	n := w.size("n", "count")
	groups := w.groupSizes(16, 32, 64, 128, 256)
	var ins []*parameter
	for range 1 + w.r.IntN(3) {
		ins = append(ins, w.buffer("a", "input", typ, "r"))
	}
	out := w.buffer("o", "output", typ, "w")
	var span index // a length that a launch chooses, for inner loops
	if w.chance(0.5) {
		span = w.size("k", "window")
	}
	exchange := w.chance(0.3)
	var tile *parameter
	if exchange {
		tile = w.local("tile", "shared_vals", typ, dim(localSize, 0))
	}
	i := w.globalID("i", "gid", 0)
	// Outside of the guard all work-items pass the same barriers.
	safe := within{fmt.Sprintf("min(%s, %s - 1)", i, n), lit(0), minus(n, lit(1))}
	values := []string{w.declare("v", "value", typ, w.at(ins[0], safe))}
	if exchange {
		l, size := w.localID("l", "lid", 0), w.localSize("ls", "lsize", 0)
		w.line("%s = %s;", w.at(tile, l), values[0])
		w.barrier()
		values = append(values, w.declare("v", "swapped", typ, fmt.Sprintf("%s[(%s + %d) %% %s]", tile.name, l, 1+w.r.IntN(15), size)))
	}
	w.guard(i.(variable), n, func() {
		for range 1 + w.r.IntN(5) {
			values = w.statement(typ, i, n, span, ins, values, 2)
		}
		w.line("%s = %s;", w.at(out, i), w.mix(typ, values))
	})
	d := w.linear(n, 1<<9, 1<<21, 1, false, groups)
	if span == nil {
		return d
	}
	return withSpan(d, span)
}

// load is the text of a read of one of the inputs by some rule.
func (w *writer) load(i, n index, ins []*parameter) string {
	p := ins[w.r.IntN(len(ins))]
	switch w.r.IntN(5) {
	case 0:
		return w.at(p, plus(i, lit(w.num(1, 2, 3, 16, 1024))))
	case 1:
		return w.at(p, mod(times(within{"(" + i.String() + " & 32767)", lit(0), lit(32767)}, lit(w.num(2, 7, 33, 129, 1025))), n))
	case 2:
		return w.at(p, minus(minus(n, lit(1)), i))
	}
	return w.at(p, i)
}

// statement writes one statement and returns the names of values that hold
// after it.
func (w *writer) statement(typ string, i, n, span index, ins []*parameter, values []string, depth int) []string {
	inner := func() {
		mine := values
		for range 1 + w.r.IntN(3) {
			mine = w.statement(typ, i, n, span, ins, mine, depth-1)
		}
		// What was made inside ends there.
		w.line("%s = %s;", values[0], w.mix(typ, mine))
	}
	choice := w.r.IntN(10)
	if depth == 0 {
		choice %= 4
	}
	switch choice {
	case 0, 1:
		return append(values[:len(values):len(values)], w.declare("v", "value", typ, w.load(i, n, ins)))
	case 2:
		return append(values[:len(values):len(values)], w.declare("t", "temp", typ, w.expression(typ, values, 1+w.r.IntN(10))))
	case 3:
		w.accumulate(typ, values[w.r.IntN(len(values))], w.expression(typ, values, 1+w.r.IntN(6)), w.pick("+", "max", "min"))
		return values
	case 4, 5:
		w.block(fmt.Sprintf("if (%s)", w.condition(typ, i, n, ins)), inner)
		return values
	case 6:
		w.block(fmt.Sprintf("if (%s)", w.condition(typ, i, n, ins)), inner)
		w.block("else", inner)
		return values
	}
	end := lit(w.num(2, 4, 8, 16, 32, 64, 128))
	if span != nil && w.chance(0.6) {
		end = span
	}
	w.loop("k", "iter", lit(0), end, lit(1), func(k index) {
		mine := values
		if w.chance(0.6) {
			p := ins[w.r.IntN(len(ins))]
			at := plus(i, k)
			switch w.r.IntN(3) {
			case 0:
				at = plus(times(within{"(" + i.String() + " & 1023)", lit(0), lit(1023)}, end), k)
			case 1:
				at = plus(times(k, lit(w.num(1, 16, 256))), within{"(" + i.String() + " & 4095)", lit(0), lit(4095)})
			}
			mine = append([]string{w.declare("v", "item", typ, w.at(p, at))}, values...)
		}
		if depth > 1 && w.chance(0.3) {
			mine = w.statement(typ, i, n, span, ins, mine, depth-1)
		}
		if len(mine) > len(values) {
			w.next(typ, values[0], w.mix(typ, append([]string{w.expression(typ, mine, 1+w.r.IntN(5))}, mine...)))
		} else {
			w.next(typ, values[0], w.expression(typ, mine, 1+w.r.IntN(5)))
		}
	})
	return values
}

// condition is true for some regular or some random work-items.
func (w *writer) condition(typ string, i, n index, ins []*parameter) string {
	switch w.r.IntN(5) {
	case 0, 1:
		return fmt.Sprintf("%s %% %d == 0", i, w.num(2, 3, 4, 32, 64))
	case 2, 3:
		return fmt.Sprintf("(%s & %d) != 0", i, w.num(1, 7, 16, 32, 256))
	}
	return fmt.Sprintf("%s > %s", w.load(i, n, ins), w.threshold(typ))
}
