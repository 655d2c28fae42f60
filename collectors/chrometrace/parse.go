package chrometrace

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

// parser reads the file's text and puts the events in order.
type parser struct {
	*scanner
	ctx     context.Context
	out     *collectors.Output
	sorter  sorter
	names   intern
	cats    intern
	tracks  map[[2]string]uint32
	tracked []track
	run     datasets.Run
	machine datasets.Machine
	rank    datasets.Null[int64]
	count   int64 // events
	whole   bool  // the end of the trace was read
	phases  map[phase]int64
	torch   bool
	base    datasets.Null[int64] // baseTimeNanoseconds
	first   datasets.Null[int64] // the earliest start
	sensors map[string]string    // sensor to the process it was first seen in
	pairs   map[uint32]begin     // the last B of a track
	once    map[string]bool
	key     []byte
}

// phase is what events are counted by.
type phase struct {
	ph  byte
	cat uint32
}

// begin is what of a B decides whether an E at the same time is its own.
type begin struct {
	ts   int64
	open int
}

// track is one process and thread.
type track struct {
	pid, tid       string
	pidNum, tidNum datasets.Null[int64]
}

// intern numbers texts.
type intern struct {
	ids  map[string]uint32
	list []string
}

func (n *intern) id(v []byte) uint32 {
	if id, ok := n.ids[string(v)]; ok {
		return id
	}
	if n.ids == nil {
		n.ids = map[string]uint32{}
	}
	id := uint32(len(n.list))
	s := text(v)
	n.ids[string(v)] = id
	n.list = append(n.list, s)
	return id
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	return parseWith(ctx, in, out, sortMemory)
}

func parseWith(ctx context.Context, in *collectors.Input, out *collectors.Output, memory int) error {
	p := &parser{scanner: newScanner(in), ctx: ctx, out: out, sorter: sorter{limit: memory},
		tracks: map[[2]string]uint32{}, phases: map[phase]int64{}, sensors: map[string]string{}, pairs: map[uint32]begin{}, once: map[string]bool{},
		run: datasets.Run{ID: runID, Tool: "trace-event", Format: "chrome-trace", Status: datasets.RunOK}, machine: datasets.Machine{ID: machineID}}
	defer p.sorter.close()
	c, err := p.peek()
	if err != nil {
		return err
	}
	switch c {
	case '[':
		p.run.FormatVersion = "array"
		p.whole, err = p.array()
	case '{':
		p.run.FormatVersion = "object"
		err = p.object()
	case 0:
		e := p.syntax(0, "the file is empty")
		e.Expected = "a list of trace events, [ or {"
		return e
	default:
		e := p.syntax(0, "the file is no trace in JSON")
		e.Expected, e.Found = `"[" or "{"`, collectors.Quote(string(rune(c)))
		return e
	}
	if err != nil {
		return err
	}
	if p.whole {
		if err := p.behind(); err != nil {
			return err
		}
	}
	return p.finish()
}

// behind looks at what follows the trace: another one would be lost.
func (p *parser) behind() error {
	c, err := p.peek()
	switch {
	case err != nil || c == 0:
		return err
	case c == '[' || c == '{':
		e := p.syntax(0, "another trace begins behind the end of the first")
		e.Hint = "two files in one have to be cut apart"
		return e
	}
	line, column := p.place(p.r)
	p.out.Warn(line, column, "what follows the end of the trace is left out, from %s on", collectors.Quote(string(p.buf[p.r:min(len(p.buf), p.r+20)])))
	return nil
}

// array reads the events. whole is false where the file ends before the array.
func (p *parser) array() (whole bool, err error) {
	p.take(1)
	for {
		c, err := p.peek()
		if err != nil {
			return false, err
		}
		switch c {
		case ']':
			p.take(1)
			return true, nil
		case ',':
			p.take(1) // also one too many
			continue
		case 0:
			if p.run.FormatVersion != "array" { // writers of bare arrays need not close them
				p.cut("the file ends before the list of events does")
			}
			return false, nil
		}
		line, column := p.place(p.r)
		v, err := p.value(inArray)
		if errors.Is(err, errCut) {
			if rest := p.buf[p.r:]; bytes.Count(rest, []byte(`"ph"`)) > 1 {
				e := p.in.Syntax(line, column, "the event that begins here does not end, and others follow")
				e.Found, e.Hint = collectors.Quote(string(rest)), "the file is damaged here: get it again"
				return false, e
			}
			p.cut("the file ends within an event, which is left out")
			return false, nil
		}
		if err != nil {
			return false, err
		}
		switch v[0] {
		case '{':
			if err := p.event(v, line, column); err != nil {
				return false, err
			}
		case 'n': // null
		default:
			e := p.in.Syntax(line, column, "an element of the list of events is no event")
			e.Expected, e.Found = "an object, {", collectors.Quote(string(v))
			return false, e
		}
		p.take(len(v))
		if p.count++; p.count%4096 == 0 && p.ctx.Err() != nil {
			return false, fmt.Errorf("reading %s: %w", p.in.Name, p.ctx.Err())
		}
	}
}

// cut warns that the file is not whole.
func (p *parser) cut(msg string) {
	line, column := p.place(len(p.buf))
	p.out.Warn(line, column, "%s: it was cut, and what came after this place is missing", msg)
}

// warn warns once of a kind.
func (p *parser) warn(kind string, line, column int, format string, args ...any) {
	if !p.once[kind] {
		p.once[kind] = true
		p.out.Warn(line, column, format, args...)
	}
}

// object reads the form with keys beside the events.
func (p *parser) object() error {
	p.take(1)
	events := false
	for {
		c, err := p.peek()
		if err != nil {
			return err
		}
		if c == ',' {
			p.take(1)
			continue
		}
		if c == '}' || c == 0 {
			if !events {
				e := p.syntax(0, "the trace has no events")
				e.Expected, e.Hint = `the key "traceEvents"`, "the file is cut, or it is another kind of JSON"
				return e
			}
			if c == 0 {
				p.cut("the file ends before its closing brace")
			} else {
				p.take(1)
				p.whole = true
			}
			return nil
		}
		if c != '"' {
			e := p.syntax(0, "reading the keys beside the events")
			e.Expected, e.Found = "a key in quotes", collectors.Quote(string(rune(c)))
			return e
		}
		v, err := p.value(asKey)
		if errors.Is(err, errCut) {
			return p.ends(events)
		}
		if err != nil {
			return err
		}
		key := text(v)
		p.take(len(v))
		if c, err = p.peek(); err != nil {
			return err
		}
		if c == 0 {
			return p.ends(events)
		}
		if c != ':' {
			e := p.syntax(0, "after the key "+collectors.Quote(key))
			e.Expected, e.Found = `":"`, collectors.Quote(string(rune(c)))
			return e
		}
		p.take(1)
		if c, err = p.peek(); err != nil {
			return err
		}
		if key == "traceEvents" && c == '[' {
			events = true
			whole, err := p.array()
			if err != nil || !whole {
				return err
			}
			continue
		}
		v, err = p.value(inObject)
		if errors.Is(err, errCut) {
			return p.ends(events)
		}
		if err != nil {
			return err
		}
		if err := p.beside(key, v); err != nil {
			return err
		}
		p.take(len(v))
	}
}

// ends is for a file that ends beside the events.
func (p *parser) ends(events bool) error {
	if events {
		p.cut("the file ends after the events, within what stands beside them")
		return nil
	}
	line, column := p.place(len(p.buf))
	e := p.in.Syntax(line, column, "the file ends before the list of events")
	e.Hint = "the file is cut: get it again"
	return e
}

// event reads one event.
func (p *parser) event(v []byte, line, column int) error {
	e := event{dur: noTime, seq: p.count}
	var ts, dur, tdur, cat, name, pid, tid, id, id2, scope, args []byte
	at, err := members(v, func(key, value []byte) error {
		switch string(key) {
		case "ph":
			if t := text(value); len(t) > 0 {
				e.ph = t[0]
			}
		case "ts":
			ts = value
		case "dur":
			dur = value
		case "tdur":
			tdur = value
		case "cat":
			cat = value
		case "name":
			name = value
		case "pid":
			pid = value
		case "tid":
			tid = value
		case "id":
			id = value
		case "id2":
			id2 = value
		case "scope":
			scope = value
		case "args":
			args = value
		}
		return nil
	})
	if err != nil {
		line, column = p.place(p.r + at)
		s := p.in.Syntax(line, column, "the event is no object of JSON")
		s.Expected, s.Found = `"key": value`, collectors.Quote(string(v[at:min(at+40, len(v))]))
		s.Hint = "a quote within a text is not escaped here, or the file is damaged"
		return s
	}
	if len(v) < 3 || skip(v, 1) == len(v)-1 {
		return nil // some writers begin with an empty event
	}
	if e.ph == 0 {
		s := p.in.Syntax(line, column, "the event has no phase")
		s.Expected, s.Hint = `"ph"`, "this is no Trace Event Format, or the file is damaged"
		return s
	}
	e.name, e.cat = p.names.id(name), p.cats.id(cat)
	p.phases[phase{e.ph, e.cat}]++
	e.track = p.track(pid, tid)
	if len(args) > 0 && args[0] != '{' {
		p.key = append(append(append(p.key[:0], `{"args":`...), args...), '}')
		args = p.key
	}
	var ok bool
	if e.ts, ok = nanos(ts); !ok {
		if e.ts = noTime; e.ph != 'M' {
			p.warn("ts", line, column, "an event has no usable time of start (ts %s): it is kept without one", collectors.Quote(string(ts)))
		}
	}
	switch e.ph {
	case 'M':
		return p.metadata(&e, args)
	case 'C':
		return p.counter(&e, id, args, line, column)
	case 'X':
		e.rank = rankX
		if dur != nil {
			if e.dur, ok = nanos(dur); !ok || e.dur < 0 {
				e.dur = noTime
				p.warn("dur", line, column, "an event has no usable duration (%s): it is kept without one", collectors.Quote(string(dur)))
			}
		}
		if tdur != nil {
			args = withMember(args, "tdur", tdur)
		}
	case 'B':
		e.rank = rankBegin
		if b := p.pairs[e.track]; b.ts == e.ts && b.open > 0 {
			p.pairs[e.track] = begin{e.ts, b.open + 1}
		} else {
			p.pairs[e.track] = begin{e.ts, 1}
		}
	case 'E':
		e.rank = rankEnd
		if b := p.pairs[e.track]; b.ts == e.ts && b.open > 0 {
			e.rank = rankZeroEnd
			p.pairs[e.track] = begin{b.ts, b.open - 1}
		}
	case 'b', 'e', 'n', 'S', 'F', 'T', 'p':
		e.rank = map[byte]byte{'b': rankBegin, 'S': rankBegin, 'e': rankEnd, 'F': rankEnd}[e.ph]
		if e.rank == 0 && e.ph != 'e' && e.ph != 'F' {
			e.rank = rankPoint
		}
		e.id = p.asyncID(cat, id, id2, scope, pid)
	case 's', 't', 'f':
		e.rank = rankPoint
		if id == nil {
			id = id2
		}
		e.id = []byte(text(id))
	case 'i', 'I', 'R':
		e.rank = rankPoint
	default:
		p.warn("ph"+string(rune(e.ph)), line, column, "events of phase %q are counted and not read", e.ph)
		return nil
	}
	if e.ts != noTime && e.ph != 'E' && (!p.first.Valid || e.ts < p.first.V) {
		p.first = datasets.Some(e.ts)
	}
	e.args = args
	return p.sorter.add(e)
}

// withMember adds a member to an object.
func withMember(obj []byte, key string, value []byte) []byte {
	b := append([]byte(`{"`+key+`":`), value...)
	if i := skip(obj, min(1, len(obj))); i < len(obj) && obj[i] != '}' {
		return append(append(b, ','), obj[1:]...)
	}
	return append(b, '}')
}

// asyncID is what asynchronous events that belong together have in common.
func (p *parser) asyncID(cat, id, id2, scope, pid []byte) []byte {
	b := append(append([]byte(nil), cat...), 0)
	b = append(append(b, scope...), 0)
	if id != nil {
		return append(b, text(id)...)
	}
	if bytes.Contains(id2, []byte(`"local"`)) {
		b = append(append(b, pid...), 0)
	}
	_, _ = members(id2, func(_, v []byte) error {
		b = append(b, text(v)...)
		return nil
	})
	return b
}

// track numbers processes and threads.
func (p *parser) track(pid, tid []byte) uint32 {
	// The key is made of the bytes as they stand, so that most events cost no
	// allocation.
	if id, ok := p.tracks[[2]string{string(pid), string(tid)}]; ok {
		return id
	}
	id := uint32(len(p.tracked))
	p.tracks[[2]string{string(pid), string(tid)}] = id
	t := track{pid: text(pid), tid: text(tid)}
	if n, ok := integer(pid); ok {
		t.pidNum = datasets.Some(n)
	}
	if n, ok := integer(tid); ok {
		t.tidNum = datasets.Some(n)
	}
	p.tracked = append(p.tracked, t)
	return id
}
