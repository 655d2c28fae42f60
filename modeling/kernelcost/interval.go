package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// inf stands for no limit; arithmetic saturates there.
const inf = int64(1) << 62

// interval is a closed range of integers, empty if hi < lo.
type interval struct{ lo, hi int64 }

var all = interval{-inf, inf}

func point(n int64) interval { return interval{n, n} }

func limit(n int64) int64 { return min(max(n, -inf), inf) }

func addSat(a, b int64) int64 { return limit(limit(a) + limit(b)) }

func mulSat(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	if p/b != a || p > inf || p < -inf {
		if (a < 0) != (b < 0) {
			return -inf
		}
		return inf
	}
	return p
}

func (a interval) add(b interval) interval { return interval{addSat(a.lo, b.lo), addSat(a.hi, b.hi)} }
func (a interval) neg() interval           { return interval{-a.hi, -a.lo} }
func (a interval) sub(b interval) interval { return a.add(b.neg()) }
func (a interval) join(b interval) interval {
	return interval{min(a.lo, b.lo), max(a.hi, b.hi)}
}
func (a interval) meet(b interval) interval {
	return interval{max(a.lo, b.lo), min(a.hi, b.hi)}
}
func (a interval) empty() bool  { return a.hi < a.lo }
func (a interval) single() bool { return a.lo == a.hi }

func (a interval) mul(b interval) interval {
	p, q, r, s := mulSat(a.lo, b.lo), mulSat(a.lo, b.hi), mulSat(a.hi, b.lo), mulSat(a.hi, b.hi)
	return interval{min(p, q, r, s), max(p, q, r, s)}
}

// div and rem are C's, which round to zero.
func (a interval) div(b interval) interval {
	if b.lo <= 0 && b.hi >= 0 {
		if b.lo == 0 && b.hi > 0 {
			b.lo = 1
		} else {
			m := max(a.hi, -a.lo, 0)
			return interval{-m, m}
		}
	}
	p, q, r, s := a.lo/b.lo, a.lo/b.hi, a.hi/b.lo, a.hi/b.hi
	return interval{min(p, q, r, s), max(p, q, r, s)}
}

func (a interval) rem(b interval) interval {
	m := max(b.hi, -b.lo) - 1
	if m < 0 {
		return all
	}
	if b.lo > 0 && a.lo >= 0 && a.hi < b.lo {
		return a
	}
	if b.single() && a.lo >= 0 && a.lo/b.lo == a.hi/b.lo {
		return interval{a.lo % b.lo, a.hi % b.lo}
	}
	r := interval{-m, m}
	if a.lo >= 0 {
		r.lo = 0
		r.hi = min(r.hi, a.hi)
	}
	if a.hi <= 0 {
		r.hi = 0
		r.lo = max(r.lo, a.lo)
	}
	return r
}

// ones is the least 2^k-1 that is not below n.
func ones(n int64) int64 {
	m := int64(1)
	for m-1 < n && m < inf {
		m <<= 1
	}
	return m - 1
}

// bits is a op b for op one of & | ^.
func (a interval) bits(op string, b interval) interval {
	if op == "&" {
		switch {
		case a.lo >= 0 && b.lo >= 0:
			return interval{0, min(a.hi, b.hi)}
		case a.lo >= 0:
			return interval{0, a.hi}
		case b.lo >= 0:
			return interval{0, b.hi}
		}
		return all
	}
	if a.lo < 0 || b.lo < 0 {
		return all
	}
	r := interval{0, ones(max(a.hi, b.hi))}
	if op == "|" {
		r.lo = max(a.lo, b.lo)
	}
	return r
}

func (a interval) shift(op string, b interval) interval {
	if b.lo < 0 || b.hi > 62 {
		if op == ">>" && a.lo >= 0 {
			return interval{0, a.hi}
		}
		return all
	}
	if op == "<<" {
		return a.mul(interval{1 << b.lo, 1 << b.hi})
	}
	p, q, r, s := a.lo>>b.lo, a.lo>>b.hi, a.hi>>b.lo, a.hi>>b.hi
	return interval{min(p, q, r, s), max(p, q, r, s)}
}

// fold is a op b on intervals.
func fold(op string, a, b interval) interval {
	if a.single() && b.single() {
		if v, ok := csource.Fold(op, a.lo, b.lo); ok && a.lo > -inf && a.lo < inf && b.lo > -inf && b.lo < inf {
			if op == "+" || op == "-" || op == "*" || op == "<<" {
				return point(limit(v)).meetOr(foldWide(op, a, b))
			}
			return point(v)
		}
	}
	return foldWide(op, a, b)
}

func (a interval) meetOr(b interval) interval {
	if m := a.meet(b); !m.empty() {
		return m
	}
	return b
}

func foldWide(op string, a, b interval) interval {
	switch op {
	case "+":
		return a.add(b)
	case "-":
		return a.sub(b)
	case "*":
		return a.mul(b)
	case "/":
		return a.div(b)
	case "%":
		return a.rem(b)
	case "&", "|", "^":
		return a.bits(op, b)
	case "<<", ">>":
		return a.shift(op, b)
	case "<":
		return decided(a.hi < b.lo, a.lo >= b.hi)
	case ">":
		return decided(a.lo > b.hi, a.hi <= b.lo)
	case "<=":
		return decided(a.hi <= b.lo, a.lo > b.hi)
	case ">=":
		return decided(a.lo >= b.hi, a.hi < b.lo)
	case "==":
		return decided(a.single() && a == b, a.meet(b).empty())
	case "!=":
		return decided(a.meet(b).empty(), a.single() && a == b)
	}
	return all
}

// decided is the range of a truth value.
func decided(yes, no bool) interval {
	switch {
	case yes:
		return point(1)
	case no:
		return point(0)
	}
	return interval{0, 1}
}

// rangeOf is the range of an integer type.
func rangeOf(t *csource.Type) interval {
	b := t.Bytes
	if t.Class == csource.Pointer || b >= 8 || b <= 0 {
		return all
	}
	if t.Unsigned {
		return interval{0, 1<<(8*b) - 1}
	}
	return interval{-1 << (8*b - 1), 1<<(8*b-1) - 1}
}

// wrap is n as a type holds it.
func wrap(n int64, t *csource.Type) int64 {
	switch {
	case t.Class != csource.Integer || t.Bytes >= 8 || t.Bytes <= 0:
		return n
	case t.Unsigned:
		return n & (1<<(8*t.Bytes) - 1)
	}
	s := 64 - 8*t.Bytes
	return n << s >> s
}
