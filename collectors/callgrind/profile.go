package callgrind

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID = 1

// profile adds up the costs of one part after the other and emits them.
type profile struct {
	out       *collectors.Output
	run       datasets.Run
	pid       datasets.Null[int64]
	thread    datasets.Null[int64]
	events    []*event
	defined   []definition
	longNames map[string]string
	functions map[functionKey]*function
	files     map[int64]string     // of each function
	sameName  map[string]int       // how many functions have a name
	firstOf   map[string]*function // the first of a name
	codes     map[place]int64
	attrs     map[[2]string]bool // emitted
	shown     map[int64]bool     // regions that were emitted
	regions   int64              // emitted ids, cycles included
	launches  int64
	cycles    int
	levels    bool // recursive calls have names of their own
	single    bool // the part is the file's only one
	costs     bool // something had costs
	part      part
}

type event struct {
	name, unit string // the unit as it is written
	base       collectors.Unit
	factor     float64
}

type functionKey struct{ ob, file, name string }

type function struct {
	id   int64
	key  functionKey
	own  bool // the file has an entry of its own for it
	self []int64
	to   map[int64]*arc
	from map[int64]*arc
}

type arc struct {
	from, to *function
	calls    int64
	costs    []int64
}

type place struct {
	fn         int64
	file       string
	addr, line int64
}

type part struct {
	number int64
	descs  [][2]string
	total  []int64
	places map[place][]int64 // costs; then jumps, branches, branches taken
	order  []place
	used   []*function
}

func newProfile(out *collectors.Output) *profile {
	p := &profile{out: out, run: datasets.Run{ID: runID, Tool: "callgrind", Format: formatName, FormatVersion: "1", Status: datasets.RunOK},
		functions: map[functionKey]*function{}, files: map[int64]string{}, shown: map[int64]bool{}, sameName: map[string]int{}, firstOf: map[string]*function{}, codes: map[place]int64{}, attrs: map[[2]string]bool{}, longNames: map[string]string{}}
	p.part.places = map[place][]int64{}
	return p
}

// creator reads "callgrind-3.19.0", "xdebug 3.0.2 (PHP 7.4.14)".
func (p *profile) creator(s string) {
	i := strings.IndexAny(s, " -")
	if i < 0 {
		p.run.Tool = s
		return
	}
	p.run.Tool, p.run.ToolVersion = s[:i], strings.TrimSpace(s[i+1:])
}

// describe keeps what the header says besides. What is about a part becomes
// attributes of its launches where the file has several, everything else, and
// all of a file of one part, those of the run.
func (p *profile) describe(name, value string) error {
	switch name {
	case "Timerange", "Trigger":
		p.part.descs = append(p.part.descs, [2]string{strings.ToLower(name), value})
		return nil
	}
	if value == "" {
		return nil
	}
	return p.attribute(name, value)
}

func (p *profile) attribute(name, value string) error {
	if p.attrs[[2]string{name, value}] {
		return nil
	}
	p.attrs[[2]string{name, value}] = true
	return p.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: value})
}

// units of the events that Valgrind counts.
var units = map[string]string{"Ir": "inst", "Dr": "access", "Dw": "access", "Bc": "branch", "Bi": "branch", "Bcm": "miss", "Bim": "miss",
	"I1mr": "miss", "D1mr": "miss", "D1mw": "miss", "ILmr": "miss", "DLmr": "miss", "DLmw": "miss", "I2mr": "miss", "D2mr": "miss", "D2mw": "miss", "sysCount": "call"}

// writtenUnit finds "(10ns)" and "(elapsed ms)" at the end of a name.
var writtenUnit = regexp.MustCompile(`\((?:elapsed )?([0-9]*)\s*([A-Za-z%µ]+)\)$`)

func (p *profile) newEvent(name string) *event {
	e := &event{name: name, factor: 1, unit: units[name]}
	e.base = collectors.Unit{Base: e.unit}
	if u := collectors.ParseUnit(name); u.Base == "s" { // pyprof2calltree: "events: Nanoseconds"
		e.unit, e.base = name, u
	}
	for _, s := range []string{name, p.longNames[name]} {
		if m := writtenUnit.FindStringSubmatch(s); m != nil {
			e.unit, e.base = m[1]+m[2], collectors.ParseUnit(m[2])
			if f, err := strconv.ParseFloat(m[1], 64); err == nil {
				e.factor = f
			}
			break
		}
	}
	return e
}

func (e *event) value(n int64) float64 {
	text := strconv.FormatInt(n, 10)
	if e.factor != 1 {
		// The product of two integers, so that a power of ten costs no accuracy.
		text = strconv.FormatFloat(float64(n)*e.factor, 'f', -1, 64)
	}
	v, err := e.base.Scale(text, collectors.Dot)
	if err != nil {
		return math.NaN()
	}
	return v
}

// function returns the function of a name.
func (p *profile) function(ob, file, name string) *function {
	key := functionKey{ob, file, name}
	f := p.functions[key]
	if f == nil {
		p.regions++
		f = &function{id: p.regions, key: key}
		p.functions[key] = f
		p.files[f.id] = file
		if p.sameName[name]++; p.sameName[name] == 1 {
			p.firstOf[name] = f
		}
		if p.run.Tool == "callgrind" && deeper.MatchString(name) {
			p.levels = true
		}
	}
	if f.self == nil {
		f.self, f.to, f.from = make([]int64, len(p.events)), map[int64]*arc{}, map[int64]*arc{}
		p.part.used = append(p.part.used, f)
	}
	return f
}

// label names a function so that no other one has it.
func (p *profile) label(f *function) string {
	if p.sameName[f.key.name] == 1 {
		return f.key.name
	}
	return f.key.name + " (" + strings.TrimSpace(f.key.file+" "+f.key.ob) + ")"
}

var errRange = errors.New("the sum of an event does not fit 63 bits")

func add(dst, src []int64) error {
	for i, n := range src {
		sum := dst[i] + n
		if n > 0 && sum < dst[i] || n < 0 && sum > dst[i] {
			return errRange
		}
		dst[i] = sum
	}
	return nil
}

func (p *profile) addCall(from, to *function, calls int64, costs []int64) error {
	a := from.to[to.id]
	if a == nil {
		a = &arc{from: from, to: to, costs: make([]int64, len(p.events))}
		from.to[to.id], to.from[from.id] = a, a
	}
	a.calls += calls
	return add(a.costs, costs)
}

// at returns the costs of a place, with room for three kinds of jumps.
func (p *profile) at(at place) []int64 {
	c := p.part.places[at]
	if c == nil {
		c = make([]int64, len(p.events)+3)
		p.part.places[at] = c
		p.part.order = append(p.part.order, at)
	}
	return c
}

func (p *profile) addCost(f *function, at place, costs []int64) error {
	p.costs = true
	if err := add(p.at(at), costs); err != nil {
		return err
	}
	return errors.Join(add(f.self, costs), add(p.part.total, costs))
}

func (p *profile) addJump(at place, kind byte, n [2]int64) error {
	j := p.at(at)[len(p.events):]
	if kind == 'j' {
		j[0] += n[0]
		return nil
	}
	j[1] += n[1]
	j[2] += n[0]
	return nil
}

// setEvents reads the names of the events, which are the same in all parts.
func (r *reader) setEvents(names []string, column int) error {
	if r.events != nil {
		old := make([]string, len(r.events))
		for i, e := range r.events {
			old[i] = e.name
		}
		if strings.Join(old, " ") != strings.Join(names, " ") {
			return r.fail(column, "the parts of the file have different events", collectors.Quote(strings.Join(old, " ")), strings.Join(names, " "))
		}
		return nil
	}
	if len(names) == 0 {
		return r.fail(column, "the file names no event", "names of events", "")
	}
	for i, n := range names {
		for _, m := range names[:i] {
			if m == n {
				return r.fail(column, "an event is named twice", "", n)
			}
		}
		r.events = append(r.events, r.newEvent(n))
	}
	r.part.total = make([]int64, len(names))
	for _, e := range r.events {
		if e.base.Base == "s" && e.name != "sysTime" && r.run.TimeMetric == "" { // time within system calls is not that of a function
			r.run.TimeMetric = e.name
		}
	}
	return nil
}

// event reads "sysTime : sysTime (elapsed ms)" and "Cyc = Ir + 10 Bim : Cycles".
func (r *reader) event(s string, column int) error {
	short, long, _ := strings.Cut(s, ":")
	name, formula, derived := strings.Cut(short, "=")
	name, long = strings.TrimSpace(name), strings.TrimSpace(long)
	if name == "" {
		return r.fail(column, "the event has no name", "NAME : LONG NAME", s)
	}
	if long != "" {
		r.longNames[name] = long
	}
	if derived {
		d, ok := parseFormula(formula)
		if !ok {
			r.out.Warn(r.line, column, "the definition of the event %s is not understood, so its values are left out", collectors.Quote(name))
		} else {
			d.name = name
			r.defined = append(r.defined, d)
		}
	}
	return r.attribute("event "+name, strings.TrimSpace(s))
}

// definition is an event that is a sum of others.
type definition struct {
	name  string
	terms []term
}

type term struct {
	factor float64
	event  string
}

// parseFormula reads "Ir + 10 Bim + 20 * L1m - 0.5 Ge".
func parseFormula(s string) (definition, bool) {
	var d definition
	s = strings.NewReplacer("+", " + ", "-", " - ", "*", " ").Replace(s)
	sign, factor := 1.0, 1.0
	for _, f := range strings.Fields(s) {
		switch f {
		case "+":
			sign, factor = 1, 1
			continue
		case "-":
			sign, factor = -1, 1
			continue
		}
		if n, err := strconv.ParseFloat(f, 64); err == nil {
			factor = n
			continue
		}
		d.terms = append(d.terms, term{sign * factor, f})
		sign, factor = 1, 1
	}
	return d, len(d.terms) > 0
}

// sum returns a definition's value for costs; ok is false where it needs an
// event that the file does not have.
func (p *profile) sum(d definition, costs []int64) (v float64, ok bool) {
	for _, t := range d.terms {
		found := false
		for i, e := range p.events {
			if e.name == t.event {
				v, found = v+t.factor*float64(costs[i]), true
			}
		}
		if !found {
			return 0, false
		}
	}
	return v, true
}

func (p *profile) finish() error {
	if !p.costs {
		p.run.Status, p.run.Error = datasets.RunEmpty, "the file holds no costs"
		p.out.Warn(0, 0, "%s", p.run.Error)
	}
	if p.pid.Valid {
		if err := p.attribute("pid", fmt.Sprint(p.pid.V)); err != nil {
			return err
		}
	}
	return p.out.Put(&p.run)
}
