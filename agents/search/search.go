// Package search says which programs an optimizer goes on with. In flow Points,
// a program each with what it takes; out flow the places of those that the next
// round begins with, the best first. Nothing is run here.
//
// Three strategies, all deterministic:
//
//	best      the fastest, or what takes least energy: best of n, where a round has n
//	          candidates
//	beam:K    the K that take least (Lowerre 1976): a second best may lead further
//	pareto    all that no other dominates in time and energy
//
// A point dominates another that takes no less of both and more of one. Equal
// points are one: the first stays.
package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Point is a program with its costs, as parts of the original's: 0.5 takes half.
// NaN is not known.
type Point struct {
	ID           string // of the program
	Time, Energy float64
}

// EDP is the product of energy and time (delay), by which Horowitz, Indermaur and
// Gonzalez (1994) weigh them.
func (p Point) EDP() float64 { return p.Time * p.Energy }

// Strategy chooses programs.
type Strategy interface {
	// Keep are the places of those to go on with, the best first.
	Keep(pool []Point) []int
	// String is the strategy as Parse reads it.
	String() string
}

// Best goes on with the one that takes least.
type Best struct{ By Preference }

// Keep implements Strategy.
func (b Best) Keep(pool []Point) []int { return Beam{1, b.By}.Keep(pool) }

func (Best) String() string { return "best" }

// MaxWidth is that of the widest beam.
const MaxWidth = 64

// Beam goes on with the Width programs that take least.
type Beam struct {
	Width int
	By    Preference
}

// Keep implements Strategy.
func (b Beam) Keep(pool []Point) []int {
	order := distinct(pool)
	slices.SortStableFunc(order, func(i, j int) int { return less(pool[i].cost(b.By), pool[j].cost(b.By)) })
	return order[:min(len(order), b.Width)]
}

func (b Beam) String() string { return fmt.Sprintf("beam:%d", b.Width) }

// Pareto goes on with all that none dominates.
type Pareto struct{}

// Keep implements Strategy.
func (Pareto) Keep(pool []Point) []int { return Front(pool) }

func (Pareto) String() string { return "pareto" }

// Front are the places of the points that no other dominates, by time. Points of
// which time or energy is not known are on no front.
func Front(pool []Point) []int {
	var order []int
	for _, i := range distinct(pool) {
		if !math.IsNaN(pool[i].Time) && !math.IsNaN(pool[i].Energy) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(pool[i].Time, pool[j].Time), cmp.Compare(pool[i].Energy, pool[j].Energy))
	})
	var front []int
	least := math.Inf(1)
	for _, i := range order {
		if pool[i].Energy < least {
			front, least = append(front, i), pool[i].Energy
		}
	}
	return front
}

// distinct are the places of the first point of each program.
func distinct(pool []Point) []int {
	var out []int
	seen := map[string]bool{}
	for i, p := range pool {
		if !seen[p.ID] {
			seen[p.ID] = true
			out = append(out, i)
		}
	}
	return out
}

// less puts what is not known last.
func less(a, b float64) int {
	if na, nb := math.IsNaN(a), math.IsNaN(b); na || nb {
		switch {
		case na && nb:
			return 0
		case na:
			return 1
		}
		return -1
	}
	return cmp.Compare(a, b)
}

// Parse reads a strategy: best, beam:K or pareto. "" is best.
func Parse(s string) (Strategy, error) {
	kind, width, counted := strings.Cut(s, ":")
	switch {
	case s == "" || s == "best":
		return Best{}, nil
	case s == "pareto":
		return Pareto{}, nil
	case kind == "beam" && counted:
		if k, err := strconv.Atoi(width); err == nil && k >= 1 && k <= MaxWidth {
			return Beam{Width: k}, nil
		}
		return nil, fmt.Errorf("the search %q: a beam has a width of 1 to %d programs, as in beam:3", s, MaxWidth)
	}
	return nil, fmt.Errorf("there is no search %q: take best, beam:K (such as beam:3) or pareto", s)
}

// Preference says which program of a front is wanted.
type Preference string

// Preferences.
const (
	Time   Preference = "time"
	Energy Preference = "energy"
	EDP    Preference = "edp" // energy times delay
)

// Preferred reads a preference; "" is Time.
func Preferred(s string) (Preference, error) {
	switch p := Preference(s); p {
	case "":
		return Time, nil
	case Time, Energy, EDP:
		return p, nil
	}
	return "", fmt.Errorf("there is no preference %q: take time, energy or edp (energy times delay)", s)
}

// cost is what is to be least.
func (p Point) cost(by Preference) float64 {
	switch by {
	case Energy:
		return p.Energy
	case EDP:
		return p.EDP()
	case Time, "":
	}
	return p.Time
}

// Choose is the place of the point that is least by a preference, -1 where it is
// known of none.
func Choose(pool []Point, p Preference) int {
	best, least := -1, math.Inf(1)
	for i, q := range pool {
		if v := q.cost(p); v < least {
			best, least = i, v
		}
	}
	return best
}
