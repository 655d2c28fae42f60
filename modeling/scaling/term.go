package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Factor is p^(Num/Den) * log2(p)^Log of one parameter.
type Factor struct {
	Parameter int // which one, from 0
	Num, Den  int
	Log       int
}

func (f Factor) power() float64 { return float64(f.Num) / float64(f.Den) }

func (f Factor) at(p float64) float64 {
	v := 1.0
	switch {
	case f.Den == 1 && f.Num >= 0:
		for range f.Num {
			v *= p
		}
	default:
		v = math.Pow(p, f.power())
	}
	for range f.Log {
		v *= math.Log2(p)
	}
	return v
}

func (f Factor) text(name string) string {
	var parts []string
	switch {
	case f.Num == 0:
	case f.Num == 1 && f.Den == 1:
		parts = append(parts, name)
	case f.Den == 1:
		parts = append(parts, fmt.Sprintf("%s^%d", name, f.Num))
	default:
		parts = append(parts, fmt.Sprintf("%s^(%d/%d)", name, f.Num, f.Den))
	}
	switch {
	case f.Log == 1:
		parts = append(parts, "log2("+name+")")
	case f.Log > 1:
		parts = append(parts, fmt.Sprintf("log2(%s)^%d", name, f.Log))
	}
	return strings.Join(parts, " * ")
}

// Term is a product of factors, one for each parameter that it depends on, in
// the order of parameters. The constant term has none.
type Term []Factor

func (t Term) at(p []float64) float64 {
	v := 1.0
	for _, f := range t {
		v *= f.at(p[f.Parameter])
	}
	return v
}

// Text is the term with the names of parameters, "1" for the constant.
func (t Term) Text(names []string) string {
	if len(t) == 0 {
		return "1"
	}
	parts := make([]string, len(t))
	for i, f := range t {
		parts[i] = f.text(names[f.Parameter])
	}
	return strings.Join(parts, " * ")
}

// Growth compares how fast two terms grow in one parameter as it goes to
// infinity, the others held: by the power, then by the logarithm.
func growth(a, b Term, parameter int) int {
	of := func(t Term) Factor {
		for _, f := range t {
			if f.Parameter == parameter {
				return f
			}
		}
		return Factor{Den: 1}
	}
	fa, fb := of(a), of(b)
	return cmp.Or(cmp.Compare(fa.Num*fb.Den, fb.Num*fa.Den), cmp.Compare(fa.Log, fb.Log))
}

// dominated reports that b grows at least as fast as a in every parameter, and
// faster in one.
func dominated(a, b Term, parameters int) bool {
	faster := false
	for p := range parameters {
		switch growth(a, b, p) {
		case 1:
			return false
		case -1:
			faster = true
		}
	}
	return faster
}

// Exponents are the sets I and J of the performance model normal form.
type Exponents struct {
	Powers [][2]int // as fractions, {3, 2} is 3/2
	Logs   []int
}

// Growing are the exponents of Calotoiu et al. (SC13): i in {0, 1/2, 1, 3/2,
// 2, 5/2, 3} and j in {0, 1, 2}. Finer sets exist (Extra-P's own has quarters
// and thirds); noise of some percent over a few points cannot tell them apart.
func Growing() Exponents {
	return Exponents{Powers: [][2]int{{0, 1}, {1, 2}, {1, 1}, {3, 2}, {2, 1}, {5, 2}, {3, 1}}, Logs: []int{0, 1, 2}}
}

// Shrinking adds 1/p and its root to Growing: time under strong scaling.
func Shrinking() Exponents {
	e := Growing()
	e.Powers = append(e.Powers, [2]int{-1, 1}, [2]int{-1, 2})
	return e
}

// terms are all that the exponents allow for one parameter but the constant,
// the slowest first. Falling powers have no logarithms.
func (e Exponents) terms(parameter int) []Term {
	var out []Term
	for _, p := range e.Powers {
		for _, j := range e.Logs {
			if p[0] == 0 && j == 0 || p[0] < 0 && j > 0 {
				continue
			}
			out = append(out, Term{{Parameter: parameter, Num: p[0], Den: p[1], Log: j}})
		}
	}
	slices.SortStableFunc(out, func(a, b Term) int { return growth(a, b, parameter) })
	return out
}

func (e Exponents) check() error {
	for _, p := range e.Powers {
		if p[1] < 1 || p[1] > 12 || p[0] > 8*p[1] || p[0] < -8*p[1] {
			return fmt.Errorf("the exponent %d/%d: powers are between -8 and 8 with a denominator from 1 to 12", p[0], p[1])
		}
	}
	for _, j := range e.Logs {
		if j < 0 || j > 8 {
			return fmt.Errorf("the exponent %d of a logarithm: it is from 0 to 8", j)
		}
	}
	if n := len(e.Powers) * len(e.Logs); n < 2 || n > 200 {
		return fmt.Errorf("%d powers and %d exponents of logarithms give %d terms: give 2 to 200", len(e.Powers), len(e.Logs), n)
	}
	return nil
}
