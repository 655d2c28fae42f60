package target

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Drawn says which sizes {size} may stand for beside those that are listed.
// Outputs are compared at some of them, so that what is right at the listed ones
// alone is found out.
type Drawn struct {
	// From and To are the bounds, written as the sizes are, such as "16" or "16x8":
	// each number in which they differ is a size, and what else they say stays.
	From string `toml:"from"`
	To   string `toml:"to"`
	// Multiple is that of which each size is one; 1 where it is not said.
	Multiple int64 `toml:"multiple"`
	Count    int   `toml:"count"` // how many are drawn; DefaultDrawn where it is not said
}

// DefaultDrawn is how many sizes are drawn where a description gives bounds and
// no number.
const DefaultDrawn = 3

// mostDrawn bounds what a comparison may cost by drawn sizes.
const mostDrawn = 100

// largest is the largest number of a size.
const largest = int64(1) << 53

// reach is how many multiples from a listed size one is drawn that lies beside it.
const reach = 16

var number = regexp.MustCompile(`[0-9]+`)

// shaped are the numbers of a size and what stands between them.
func shaped(size string) (numbers []int64, shape string, err error) {
	for _, s := range number.FindAllString(size, -1) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n > largest {
			return nil, "", fmt.Errorf("the number %s is larger than %d", s, largest)
		}
		numbers = append(numbers, n)
	}
	return numbers, number.ReplaceAllString(size, "0"), nil
}

// written is a size of the numbers, in the shape of another.
func written(shape string, numbers []int64) string {
	i := -1
	return number.ReplaceAllStringFunc(shape, func(string) string {
		i++
		return strconv.FormatInt(numbers[i], 10)
	})
}

// Draw draws sizes that are not listed, each once: the same for the same seed.
// They lie, in turn, beside a listed size, between two of them or a bound and the
// next, and beside the lower bound. An odd multiple is preferred beside a size: it
// has a remainder whatever it is divided by in steps of two and more. There are
// fewer than Count where the bounds leave no more, and none without bounds.
func (in Inputs) Draw(seed uint64) []string {
	d := in.Drawn
	if d == nil {
		return nil
	}
	count := d.Count
	if count == 0 {
		count = DefaultDrawn
	}
	from, shape, err := shaped(d.From)
	to, other, toErr := shaped(d.To)
	if err != nil || toErr != nil || shape != other {
		return nil // Load refuses it
	}
	s := sizes{from: from, to: to, multiple: min(max(1, d.Multiple), largest), rng: rand.New(rand.NewPCG(seed, 0x73697a6573))}
	taken := map[string]bool{}
	for _, size := range slices.Concat(in.Sizes, in.Other) {
		taken[size] = true
		if n, its, err := shaped(size); err == nil && its == shape {
			s.listed = append(s.listed, n)
		}
	}
	var out []string
	for len(out) < count {
		size := s.size(d.From, len(out), taken)
		if size == "" {
			break
		}
		taken[size] = true
		out = append(out, size)
	}
	return out
}

// sizes are what numbers are drawn from.
type sizes struct {
	from, to []int64
	multiple int64
	listed   [][]int64 // those to optimize for first
	rng      *rand.Rand
}

// size draws the nth size, none of those that are taken; "" where all seem to be.
func (s sizes) size(shape string, nth int, taken map[string]bool) string {
	numbers := make([]int64, len(s.from))
	for try := range 200 {
		for i := range numbers {
			if try < 100 {
				numbers[i] = s.draw(i, nth)
			} else { // there is no more of its kind
				numbers[i] = s.within(i, s.from[i], s.to[i])
			}
		}
		if size := written(shape, numbers); !taken[size] {
			return size
		}
	}
	return ""
}

// draw draws the i-th number of the nth size.
func (s sizes) draw(i, nth int) int64 {
	if s.from[i] == s.to[i] {
		return s.from[i]
	}
	ends := []int64{s.from[i], s.to[i]}
	for _, l := range s.listed {
		if l[i] > s.from[i] && l[i] < s.to[i] {
			ends = append(ends, l[i])
		}
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	switch nth % 3 {
	case 0:
		at := s.from[i]
		if len(s.listed) > 0 {
			at = s.listed[nth/3%len(s.listed)][i]
		}
		return s.beside(i, min(max(at, s.from[i]), s.to[i]))
	case 1:
		gap := s.rng.IntN(len(ends) - 1)
		return s.within(i, ends[gap], ends[gap+1])
	}
	return s.beside(i, s.from[i])
}

// beside draws a number not far from another, an odd multiple where there is one.
func (s sizes) beside(i int, at int64) int64 {
	low, high := max(s.from[i], at-reach*s.multiple), min(s.to[i], at+reach*s.multiple)
	for range 20 {
		if v := s.within(i, low, high); v != at && v/s.multiple%2 == 1 {
			return v
		}
	}
	return s.within(i, low, high)
}

// within draws a multiple from low to high, or from all that there are where none
// lies there.
func (s sizes) within(i int, low, high int64) int64 {
	first, last := (low+s.multiple-1)/s.multiple, high/s.multiple
	if first > last {
		first, last = (s.from[i]+s.multiple-1)/s.multiple, s.to[i]/s.multiple
	}
	if first > last {
		return s.from[i] // Load refuses it
	}
	return s.multiple * (first + s.rng.Int64N(last-first+1))
}

// drawn checks the bounds of sizes that are drawn.
func (c *checker) drawn() {
	in, d := c.t.Inputs, c.t.Inputs.Drawn
	if d == nil {
		return
	}
	if len(in.Sizes) == 0 {
		c.fault("inputs.drawn", "the inputs have no sizes: give inputs.sizes, and {size} in inputs.generate or run.command")
		return
	}
	before := len(c.faults)
	if c.has("inputs.drawn.multiple") && (d.Multiple < 1 || d.Multiple > largest) {
		c.fault("inputs.drawn.multiple", "%d: give 1 to %d, or leave it out", d.Multiple, largest)
		return
	}
	if c.has("inputs.drawn.count") && (d.Count < 1 || d.Count > mostDrawn) {
		c.fault("inputs.drawn.count", "%d: give 1 to %d, or leave inputs.drawn out", d.Count, mostDrawn)
	}
	from, shape, err := shaped(d.From)
	if err != nil || len(from) == 0 {
		c.fault("inputs.drawn.from", "%q: give the least size, a number that is written as the sizes are, such as \"16\"%s", d.From, because(err))
		return
	}
	to, other, err := shaped(d.To)
	if err != nil || other != shape {
		c.fault("inputs.drawn.to", "%q: give the largest size, written as inputs.drawn.from (%q) is%s", d.To, d.From, because(err))
		return
	}
	for _, size := range slices.Concat(in.Sizes, in.Other) {
		if _, its, err := shaped(size); err != nil || its != shape {
			c.fault("inputs.drawn.from", "%q is not written as the size %q is: sizes are drawn near and between the listed ones, and all need the same numbers%s", d.From, size, because(err))
			return
		}
	}
	m := max(1, d.Multiple)
	for i := range from {
		switch {
		case to[i] < from[i]:
			c.fault("inputs.drawn.to", "%q lies below inputs.drawn.from (%q)", d.To, d.From)
		case from[i] != to[i] && (from[i]+m-1)/m > to[i]/m:
			c.fault("inputs.drawn.multiple", "%d has no multiple from %d to %d", m, from[i], to[i])
		}
	}
	if len(c.faults) == before && len(in.Draw(1)) == 0 {
		c.fault("inputs.drawn", "there is no size from %s to %s that is not listed: give wider bounds, or leave it out", d.From, d.To)
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return " (" + strings.TrimSpace(err.Error()) + ")"
}
