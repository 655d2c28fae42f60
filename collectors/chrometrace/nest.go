package chrometrace

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// span is an event that is open.
type span struct {
	region, launch int64
	name           uint32
	start, end     int64            // end is forever for a B
	rec            *datasets.Launch // of a B: it goes out when its E is found
	leaf           bool             // work on a device, which holds no other
}

const forever = 1<<63 - 1

// maxSearch is how many open spans are looked at for the one around an event,
// or the one that ends: nesting is not deeper, and a file whose events all
// overlap must not take forever.
const maxSearch = 4096

type regionKey struct {
	parent    int64
	name, cat uint32
}

// region is what is known of a region so far.
type region struct {
	id    int64
	total int64 // nanoseconds
	timed bool
}

// count adds a duration. A sum past int64, which is 292 years, is none.
func (r *region) count(dur int64) {
	if s := r.total + dur; s >= r.total && r.total >= 0 {
		r.total, r.timed = s, true
		return
	}
	r.total, r.timed = -1, false
}

// nester turns events in order of time into records.
type nester struct {
	*parser
	regions map[regionKey]*region
	byID    []*region // index is id-1
	stacks  map[uint32][]span
	async   map[string][]span
	lone    map[uint32]event // the last E of a track that ended nothing
	// the same of asynchronous events
	loneAsync map[string]event
	launches  int64
	overlaps  int64
	unended   int64
	unbegun   int64
}

// finish emits what the events say, and the run.
func (p *parser) finish() error {
	n := &nester{parser: p, regions: map[regionKey]*region{}, stacks: map[uint32][]span{}, async: map[string][]span{}, lone: map[uint32]event{}, loneAsync: map[string]event{}}
	p.decide()
	if err := p.sorter.each(n.put); err != nil {
		return err
	}
	if err := n.end(); err != nil {
		return err
	}
	if n.overlaps > 0 {
		p.out.Warn(0, 0, "%d events overlap others of their thread without nesting: they are taken for siblings", n.overlaps)
	}
	if n.unbegun > 0 {
		p.out.Warn(0, 0, "%d events end what did not begin on their thread under their name: they are left out", n.unbegun)
	}
	if n.unended > 0 {
		p.out.Warn(0, 0, "%d events begin and never end: they have no duration", n.unended)
	}
	return p.close()
}

// put takes the next event.
func (n *nester) put(e *event) error {
	if n.launches%4096 == 0 && n.ctx.Err() != nil {
		return fmt.Errorf("reading %s: %w", n.in.Name, n.ctx.Err())
	}
	switch e.ph {
	case 'X', 'B', 'i', 'I', 'R':
		st := n.around(e)
		top := span{}
		if i := len(st) - 1; i >= 0 {
			top = st[i]
		}
		if e.ph == 'X' && len(st) > 0 {
			top = n.enclosing(st, e)
		}
		return n.begin(e, top, st)
	case 'E':
		return n.endSpan(e)
	case 's', 't', 'f':
		st := n.around(e)
		a := datasets.Attribute{Run: runID, Name: "flow " + string(rune(e.ph)) + " " + n.cats.list[e.cat], Value: string(e.id)}
		if a.Name = strings.TrimSpace(a.Name); len(st) > 0 {
			a.Region, a.Launch = st[len(st)-1].region, st[len(st)-1].launch
		}
		return n.out.Put(&a)
	}
	return n.asynchronous(e)
}

// around pops what has ended by the time of an event, and returns what is open.
func (n *nester) around(e *event) []span {
	st := n.stacks[e.track]
	k := len(st)
	for k > 0 && st[k-1].end <= e.ts && !(st[k-1].end == e.ts && st[k-1].start == e.ts && e.rank == rankPoint) {
		k--
	}
	if k < len(st) {
		st = st[:k]
		n.stacks[e.track] = st
	}
	return st
}

// enclosing is the innermost open span that a complete event does not outlast.
func (n *nester) enclosing(st []span, e *event) span {
	end := e.ts
	if e.dur > 0 {
		end = add(e.ts, e.dur)
	}
	var slack int64
	if e.ts%1000 == 0 && e.dur%1000 == 0 { // whole microseconds, truncated
		slack = 1000
	}
	overlaps := false
	for i := len(st) - 1; i >= max(0, len(st)-maxSearch); i-- {
		switch {
		case st[i].leaf: // copies and waits of a stream overlap with its kernels
		case st[i].end < end-slack:
			overlaps = true
		default:
			if overlaps {
				n.overlaps++
			}
			return st[i]
		}
	}
	if overlaps {
		n.overlaps++
	}
	return span{}
}

func add(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return forever
}

// regionOf returns the region of an event below another.
func (n *nester) regionOf(parent int64, e *event) (*region, error) {
	key := regionKey{parent, e.name, e.cat}
	if r := n.regions[key]; r != nil {
		return r, nil
	}
	r := &region{id: int64(len(n.byID) + 1)}
	n.regions[key] = r
	n.byID = append(n.byID, r)
	raw, cat := n.names.list[e.name], n.cats.list[e.cat]
	kind, short := classify(cat, raw)
	if bytes.Contains(e.args, []byte(`"kernel_details"`)) { // TensorFlow and JAX name no category
		kind, short = datasets.KindKernel, collectors.ShortName(raw)
	}
	g := datasets.Region{ID: r.id, Run: runID, Parent: parent, Kind: kind, Raw: raw, Short: short, Order: datasets.Some(r.id - 1)}
	if strings.HasPrefix(raw, "_Z") {
		g.Mangled = raw
	}
	if err := n.out.Put(&g); err != nil {
		return nil, err
	}
	if cat == "" {
		return r, nil
	}
	return r, n.out.Put(&datasets.Attribute{Run: runID, Region: r.id, Name: "cat", Value: cat})
}

// begin emits the launch of an event, and opens it.
func (n *nester) begin(e *event, parent span, st []span) error {
	r, err := n.regionOf(parent.region, e)
	if err != nil {
		return err
	}
	l := n.launch(e, r)
	if err := n.args(e, l, ""); err != nil {
		return err
	}
	if e.ph == 'i' && n.names.list[e.name] == "[memory]" {
		if err := n.memory(e); err != nil {
			return err
		}
	}
	s := span{region: r.id, launch: l.ID, name: e.name, start: e.ts, end: e.ts, leaf: isWork(n.cats.list[e.cat])}
	switch {
	case e.ph == 'X':
		if e.dur > 0 {
			s.end = add(e.ts, e.dur)
		}
		n.stacks[e.track] = append(st, s)
	case e.ph == 'B':
		lone, ok := n.lone[e.track]
		if ok && lone.ts == e.ts && lone.name == e.name {
			delete(n.lone, e.track)
			n.unbegun--
			l.DurNs = datasets.Some[int64](0)
			r.count(0)
			break
		}
		s.end, s.rec = forever, l
		n.stacks[e.track] = append(st, s)
		return nil
	}
	return n.out.Put(l)
}

// launch makes the launch of an event.
func (n *nester) launch(e *event, r *region) *datasets.Launch {
	n.launches++
	l := &datasets.Launch{ID: n.launches, Run: runID, Region: r.id, Rank: n.rank, Sequence: datasets.Some(n.launches - 1)}
	if e.ts != noTime {
		l.StartNs = datasets.Some(e.ts)
	}
	cat := n.cats.list[e.cat]
	if e.dur != noTime && !isProfilerRange(cat) {
		l.DurNs = datasets.Some(e.dur)
		r.count(e.dur)
	}
	t := n.tracked[e.track]
	if onGPU(cat) {
		l.Device, l.Stream = t.pidNum, t.tidNum // args say it again, or better
	} else {
		l.PID, l.Thread = t.pidNum, t.tidNum
	}
	return l
}

// endSpan ends the B that an E belongs to.
func (n *nester) endSpan(e *event) error {
	st := n.around(e)
	named := n.names.list[e.name] != ""
	for i := len(st) - 1; i >= max(0, len(st)-maxSearch); i-- {
		s := st[i]
		if s.rec == nil || named && s.name != e.name {
			continue
		}
		copy(st[i:], st[i+1:])
		st[len(st)-1] = span{}
		n.stacks[e.track] = st[:len(st)-1]
		return n.endPair(s, e)
	}
	n.unbegun++
	n.lone[e.track] = event{ts: e.ts, name: e.name}
	return nil
}

// endPair emits the launch of a pair.
func (n *nester) endPair(s span, e *event) error {
	if dur := e.ts - s.start; s.rec.StartNs.Valid && e.ts != noTime && dur >= 0 {
		s.rec.DurNs = datasets.Some(dur)
		n.byID[s.region-1].count(dur)
	}
	if err := n.args(e, s.rec, "end"); err != nil {
		return err
	}
	return n.out.Put(s.rec)
}

// asynchronous nests events by their id.
func (n *nester) asynchronous(e *event) error {
	key := string(e.id)
	st := n.async[key]
	top := span{}
	if len(st) > 0 {
		top = st[len(st)-1]
	}
	if e.ph == 'e' || e.ph == 'F' {
		for i := len(st) - 1; i >= max(0, len(st)-maxSearch); i-- {
			if s := st[i]; s.name == e.name || n.names.list[e.name] == "" {
				st = append(st[:i], st[i+1:]...)
				if n.async[key] = st; len(st) == 0 {
					delete(n.async, key)
				}
				return n.endPair(s, e)
			}
		}
		n.unbegun++
		n.loneAsync[key] = event{ts: e.ts, name: e.name}
		return nil
	}
	r, err := n.regionOf(top.region, e)
	if err != nil {
		return err
	}
	l := n.launch(e, r)
	if i := strings.LastIndexByte(key, 0); i >= 0 {
		l.ToolID = key[i+1:]
	}
	if err := n.args(e, l, ""); err != nil {
		return err
	}
	if e.ph == 'b' || e.ph == 'S' {
		if lone, ok := n.loneAsync[key]; ok && lone.ts == e.ts && lone.name == e.name {
			delete(n.loneAsync, key)
			n.unbegun--
			l.DurNs = datasets.Some[int64](0)
			r.count(0)
			return n.out.Put(l)
		}
		n.async[key] = append(st, span{region: r.id, launch: l.ID, name: e.name, start: e.ts, end: forever, rec: l})
		return nil
	}
	return n.out.Put(l)
}

// end emits what never ended, and the regions' times.
func (n *nester) end() error {
	var open []span
	for _, st := range n.stacks {
		open = append(open, st...)
	}
	for _, st := range n.async {
		open = append(open, st...)
	}
	sort.Slice(open, func(i, j int) bool { return open[i].launch < open[j].launch })
	for _, s := range open {
		if s.rec == nil {
			continue
		}
		n.unended++
		if err := n.out.Put(s.rec); err != nil {
			return err
		}
	}
	for _, r := range n.byID {
		if !r.timed {
			continue
		}
		n.run.TimeMetric, n.run.TimeInclusive = "dur", true
		seconds, err := collectors.ParseUnit("ns").Scale(strconv.FormatInt(r.total, 10), collectors.Dot)
		if err != nil {
			return fmt.Errorf("reading %s: the time of a region: %w", n.in.Name, err)
		}
		c := datasets.Counter{Run: runID, Region: r.id, Metric: "dur", Value: datasets.Some(seconds), Unit: "s",
			RawValue: micros(r.total), RawUnit: "us", Status: datasets.StatusOK}
		if err := n.out.Put(&c); err != nil {
			return err
		}
	}
	return nil
}

// micros writes nanoseconds as microseconds.
func micros(ns int64) string {
	s := fmt.Sprintf("%d.%03d", ns/1000, ns%1000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
