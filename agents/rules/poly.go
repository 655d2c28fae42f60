package rules

import (
	"maps"
	"slices"
	"strings"
)

// poly is a polynomial with integer coefficients: from products of atoms, such as
// "i*n" ("" for 1), to the coefficient. Atoms are variables and expressions that
// do not change while a loop runs. A nil poly is not known; no coefficient is 0.
type poly map[string]int64

func constant(c int64) poly {
	p := poly{}
	if c != 0 {
		p[""] = c
	}
	return p
}

func atom(key string) poly { return poly{key: 1} }

const (
	maxTerms = 40
	maxCoef  = 1 << 40
)

func (p poly) add(q poly, times int64) poly {
	if p == nil || q == nil {
		return nil
	}
	out := maps.Clone(p)
	for k, c := range q {
		switch v := out[k] + c*times; {
		case v == 0:
			delete(out, k)
		case v > maxCoef || v < -maxCoef:
			return nil
		default:
			out[k] = v
		}
	}
	if len(out) > maxTerms {
		return nil
	}
	return out
}

func (p poly) mul(q poly) poly {
	if p == nil || q == nil {
		return nil
	}
	out := poly{}
	for a, x := range p {
		for b, y := range q {
			if x > 1<<20 || x < -(1<<20) || y > 1<<20 || y < -(1<<20) {
				return nil
			}
			if out = out.add(poly{product(a, b): x * y}, 1); out == nil {
				return nil
			}
		}
	}
	return out
}

func product(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	parts := append(strings.Split(a, "*"), strings.Split(b, "*")...)
	slices.Sort(parts)
	return strings.Join(parts, "*")
}

// value is the value of a constant.
func (p poly) value() (int64, bool) {
	switch {
	case p == nil:
		return 0, false
	case len(p) == 0:
		return 0, true
	case len(p) == 1:
		c, ok := p[""]
		return c, ok
	}
	return 0, false
}

// has reports whether an atom occurs.
func (p poly) has(key string) bool {
	for k := range p {
		if slices.Contains(strings.Split(k, "*"), key) {
			return true
		}
	}
	return false
}

// split is p as coefficient*key + rest; not ok where it is not linear in key.
func (p poly) split(key string) (coefficient, rest poly, ok bool) {
	if p == nil {
		return nil, nil, false
	}
	coefficient, rest = poly{}, poly{}
	for k, c := range p {
		parts := strings.Split(k, "*")
		i := slices.Index(parts, key)
		if k == "" || i < 0 {
			rest[k] = c
			continue
		}
		parts = slices.Delete(parts, i, i+1)
		if slices.Contains(parts, key) {
			return nil, nil, false
		}
		coefficient[strings.Join(parts, "*")] = c
	}
	return coefficient, rest, true
}

func (p poly) equal(q poly) bool { return p != nil && q != nil && maps.Equal(p, q) }

// atLeast reports whether p >= c for certain, where the atoms in least are at
// least so much each: they are written as least plus what is above it.
func (p poly) atLeast(c int64, least map[string]int64) bool {
	q := p.add(constant(c), -1)
	for key, l := range least {
		if q == nil {
			return false
		}
		if l == 0 || !q.has(key) {
			continue
		}
		q = q.substitute(key, constant(l).add(atom(key+"'"), 1))
	}
	if q == nil {
		return false
	}
	for k, v := range q {
		if v < 0 {
			return false
		}
		if k == "" {
			continue
		}
		for _, a := range strings.Split(k, "*") {
			if _, ok := least[strings.TrimSuffix(a, "'")]; !ok {
				return false
			}
		}
	}
	return true
}

// substitute puts a polynomial in the place of an atom.
func (p poly) substitute(key string, with poly) poly {
	if p == nil || with == nil {
		return nil
	}
	out := poly{}
	for k, c := range p {
		term := constant(c)
		if k != "" {
			for _, a := range strings.Split(k, "*") {
				if a == key {
					term = term.mul(with)
				} else {
					term = term.mul(atom(a))
				}
			}
		}
		if out = out.add(term, 1); out == nil {
			return nil
		}
	}
	return out
}

// lowest is a bound below p where the atoms in least are at least so much; not ok
// where there is none that is seen.
func (p poly) lowest(least map[string]int64) (int64, bool) {
	if p == nil {
		return 0, false
	}
	sum := int64(0)
	for k, c := range p {
		if k == "" {
			sum += c
			continue
		}
		if c < 0 {
			return 0, false
		}
		for _, a := range strings.Split(k, "*") {
			l, ok := least[a]
			if !ok || l < 0 && strings.Contains(k, "*") || l > 1<<20 || l < -(1<<20) {
				return 0, false
			}
			c *= l
			if c > maxCoef || c < -maxCoef {
				return 0, false
			}
		}
		sum += c
	}
	return sum, true
}
