package rules

import (
	"fmt"
	"strings"
)

// tileSize is the side of a tile in iterations: 32 by 32 doubles of two arrays are
// 16 KiB, which an L1 data cache of 32 KiB holds.
const tileSize = 32

// tiling does two loops in blocks, where one order of them walks one array in large
// steps and the other order another array.
func tiling(f *finder) {
	if f.device() {
		return
	}
	for _, outer := range f.loops {
		inner := f.loopOf[only(outer.body)]
		if inner == nil || !f.innermost(inner) {
			continue
		}
		r := f.region(outer.node)
		farIn, farOut := false, false
		line := int64(0) // of what is stored next to each other along the outer loop, in elements
		for _, a := range r.e.accesses {
			in, out := f.stride(a, inner), f.stride(a, outer)
			farIn = farIn || in > 8 && out <= 8
			farOut = farOut || out > 8 && in <= 8
			if a.write && in > 8 && out == 1 {
				line = max(line, cacheLine/max(1, size(a.v.Type.Base)))
			}
		}
		if !farIn {
			continue
		}
		if !farOut {
			f.refuse(outer.node, "one order of the loops serves all arrays: they are better interchanged")
			continue
		}
		if why := f.rectangular(r, outer, inner); why != "" {
			f.refuse(outer.node, "%s", why)
			continue
		}
		if outer.step != 1 || inner.step != 1 {
			f.refuse(outer.node, "a loop counts in other steps than 1")
			continue
		}
		if why := r.swap(outer, inner, true); why != "" {
			f.refuse(outer.node, "%s", why)
			continue
		}
		in := f.indent(outer.node.Start)
		step := "    "
		if strings.HasPrefix(in, "\t") {
			step = "\t"
		}
		tiles := map[*loop]int64{outer: tileSize, inner: tileSize}
		if line > 0 {
			tiles[outer] = line
		}
		var b strings.Builder
		depth := in
		open := func(l *loop) string {
			name := f.fresh(l.v.Name + "_tile")
			fmt.Fprintf(&b, "for (%s %s = %s; %s %s %s; %s += %d) {\n", l.v.Type.Base, name, f.text(l.loN), name, f.relation(l), f.text(l.hiN), name, tiles[l])
			depth += step
			b.WriteString(depth)
			return name
		}
		loop := func(l *loop, tile string) {
			last, t := tiles[l], l.v.Type.Base
			if l.inclusive {
				last--
			}
			end := f.fresh(l.v.Name + "_end")
			fmt.Fprintf(&b, "const %s %s = (%s)(%s) - %s < %d ? (%s)(%s) : %s + %d;\n%s", t, end, t, f.text(l.hiN), tile, last, t, f.text(l.hiN), tile, last, depth)
			declare := ""
			if l.declared {
				declare = t + " "
			}
			fmt.Fprintf(&b, "for (%s%s = %s; %s %s %s; %s++)", declare, l.v.Name, tile, l.v.Name, f.relation(l), end, l.v.Name)
		}
		ti := open(outer)
		tj := open(inner)
		// Stores that fill a cache line one after the other are worth more than loads
		// that do, as a line is read to be written to as well.
		l1, t1, l2, t2 := outer, ti, inner, tj
		if line > 0 {
			l1, t1, l2, t2 = inner, tj, outer, ti
		}
		loop(l1, t1)
		b.WriteString(" {\n")
		depth += step
		b.WriteString(depth)
		loop(l2, t2)
		b.WriteString(" " + strings.ReplaceAll(f.text(inner.body), "\n", "\n"+step+step))
		for range 3 {
			depth = depth[:len(depth)-len(step)]
			b.WriteString("\n" + depth + "}")
		}
		f.takes(reordered, r.reorders(outer))
		f.offer(outer.node, 1, fmt.Sprintf("blocks of %d by %d over %s and %s: what one array needs in large steps stays in the cache until it is used up", tiles[outer], tiles[inner], outer.v.Name, inner.v.Name),
			change{outer.node.Start, outer.node.End, b.String()})
	}
}

// cacheLine is its length in bytes.
const cacheLine = 64

// size is that of a type in bytes, of 8 where it is not known.
func size(base string) int64 {
	switch plain(base) {
	case "char", "signed char", "unsigned char", "int8_t", "uint8_t", "bool", "_Bool":
		return 1
	case "short", "unsigned short", "int16_t", "uint16_t":
		return 2
	case "int", "unsigned int", "float":
		return 4
	}
	return 8
}

func (f *finder) relation(l *loop) string {
	if l.inclusive {
		return "<="
	}
	return "<"
}
