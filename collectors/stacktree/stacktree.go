// Package stacktree turns call stacks into the regions of a run, for formats
// whose files hold whole stacks with a weight each.
//
// In flow stacks, frame by frame from the outermost, and weights; out flow one
// region per path of frames as soon as it is met, so that the regions are the
// call tree, and at the end one launch per region and group (a thread, a
// profile of several) in which something was counted, with its sums as
// counters. The sums are exclusive: what was counted in the region itself.
// Memory grows with the number of distinct paths, not with the file.
package stacktree

import (
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// Frame is one function of a stack.
type Frame struct {
	Raw    string // as the file writes it
	Name   string // the function's name within it; "" is a frame without one
	Module string
	File   string
	Line   string
	Code   string // what kind of code it is, where the file says so: "kernel", "jit", "inlined"
}

// Metric is what weights of one kind are called.
type Metric struct {
	Name string
	Unit string // of the weights, as the file names it: "milliseconds"
}

// Tree is the call tree of one run.
type Tree struct {
	out     *collectors.Output
	run     int64
	metrics []Metric
	regions map[place]int64
	texts   map[string]string // one copy of each text
	cells   map[cellKey]*cell
	order   []*cell
}

type place struct {
	parent int64
	frame  Frame
}

type cellKey struct{ region, group int64 }

type cell struct {
	cellKey
	sums    []Sum // by metric
	counted []bool
}

// Sum adds up weights without the rounding of each step (Neumaier's summation):
// a hundred times 0.01 is 1. The zero value is an empty sum.
type Sum struct{ total, lost float64 }

// Add adds a weight.
func (s *Sum) Add(weight float64) {
	total := s.total + weight
	if math.Abs(s.total) >= math.Abs(weight) {
		s.lost += s.total - total + weight
	} else {
		s.lost += weight - total + s.total
	}
	s.total = total
}

// Value is the sum; it is infinite where it is too large for a number.
func (s *Sum) Value() float64 {
	if math.IsInf(s.total, 0) {
		return s.total
	}
	return s.total + s.lost
}

// New returns an empty tree whose weights are of the metrics.
func New(out *collectors.Output, run int64, metrics ...Metric) *Tree {
	return &Tree{out: out, run: run, metrics: metrics, regions: map[place]int64{}, texts: map[string]string{}, cells: map[cellKey]*cell{}}
}

// Region returns the region of a frame below another region (0: the frame is
// the outermost), which it emits when it is new. The texts of f may be of a
// line that is read over afterwards.
func (t *Tree) Region(parent int64, f Frame) (int64, error) {
	if id, ok := t.regions[place{parent, f}]; ok {
		return id, nil
	}
	for _, s := range []*string{&f.Raw, &f.Name, &f.Module, &f.File, &f.Line, &f.Code} {
		*s = t.intern(*s)
	}
	id := int64(len(t.regions) + 1)
	t.regions[place{parent, f}] = id
	g := datasets.Region{ID: id, Run: t.run, Parent: parent, Kind: datasets.KindFunction, Raw: f.Raw, Short: "[unknown]", Module: f.Module}
	if f.Name != "" {
		g.Short = collectors.ShortName(f.Name)
	}
	if collectors.Demangle(f.Name) != f.Name {
		g.Mangled = f.Name
	}
	if err := t.out.Put(&g); err != nil {
		return 0, err
	}
	for _, a := range [...]struct{ name, value string }{{"file", f.File}, {"line", f.Line}, {"code", f.Code}} {
		if a.value == "" {
			continue
		}
		if err := t.out.Put(&datasets.Attribute{Run: t.run, Region: id, Name: a.name, Value: a.value}); err != nil {
			return 0, err
		}
	}
	return id, nil
}

func (t *Tree) intern(s string) string {
	if k, ok := t.texts[s]; ok {
		return k
	}
	k := strings.Clone(s)
	t.texts[k] = k
	return k
}

// Add counts a weight, in the unit of the metric of that index, in a region
// itself for a group. Groups are numbered from 0.
func (t *Tree) Add(region, group int64, metric int, weight float64) {
	key := cellKey{region, group}
	c := t.cells[key]
	if c == nil {
		c = &cell{cellKey: key, sums: make([]Sum, len(t.metrics)), counted: make([]bool, len(t.metrics))}
		t.cells[key] = c
		t.order = append(t.order, c)
	}
	c.counted[metric] = true
	c.sums[metric].Add(weight)
}

// Emit writes launches and counters, in the order in which they were first
// counted. groups are the names of the groups, "" for one without: they are the
// launches' tool ids and attributes "profile".
func (t *Tree) Emit(groups []string) error {
	for i, c := range t.order {
		l := datasets.Launch{ID: int64(i + 1), Run: t.run, Region: c.region, Sequence: datasets.Some(int64(i)), ToolID: groups[c.group]}
		if err := t.out.Put(&l); err != nil {
			return err
		}
		if l.ToolID != "" {
			if err := t.out.Put(&datasets.Attribute{Run: t.run, Region: c.region, Launch: l.ID, Name: "profile", Value: l.ToolID}); err != nil {
				return err
			}
		}
		for m := range c.sums {
			if !c.counted[m] {
				continue
			}
			if err := t.counter(&l, t.metrics[m], c.sums[m].Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

// exact is how large a sum of whole numbers can be without being rounded.
const exact = 1 << 53

func (t *Tree) counter(l *datasets.Launch, m Metric, sum float64) error {
	c := datasets.Counter{Run: t.run, Region: l.Region, Launch: l.ID, Metric: m.Name, Value: datasets.Some(sum), RawUnit: m.Unit, Status: datasets.StatusOK}
	text := strconv.FormatFloat(sum, 'f', -1, 64)
	if math.Abs(sum) <= exact {
		c.RawValue = text
	}
	if m.Unit != "" && !math.IsInf(sum, 0) {
		unit := collectors.ParseUnit(m.Unit)
		v, err := unit.Scale(text, collectors.Dot)
		if err != nil {
			v = math.Inf(1) // which the output refuses by name
		}
		c.Value, c.Unit = datasets.Some(v), unit.Base
	}
	return t.out.Put(&c)
}
