package callgrind

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// reader reads the lines of a file.
type reader struct {
	*profile
	in   *collectors.Input
	line int

	instr, lines bool     // which positions there are
	prev         [2]int64 // positions of the last cost line: instruction, line
	prevCosts    []int64
	relative     int // line of the first cost that is relative to the one before, 0: none
	negative     int // line of the first negative cost

	names      map[string]map[string]string // compressed names by what they are of
	ob, fl, fi string
	fn         *function
	cob, cfi   string
	cfn        string
	calls      int64 // of the calls line before, whose costs come next
	callsLine  int   // its line, 0: none
	jump       [2]int64
	jumpKind   byte // 'j', 'c', 0: none
	totals     []int64
	totalsLine int
	summary    []int64
	inBody     bool
	parts      int // that were emitted
	lastEnded  bool
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{profile: newProfile(out), in: in, lines: true, lastEnded: true,
		names: map[string]map[string]string{"ob": {}, "fl": {}, "fn": {}}}
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		r.line, r.lastEnded = l.Number, l.Ended
		s := strings.TrimSpace(string(l.Text))
		if s == "" || s[0] == '#' {
			continue
		}
		if err := r.read(s); err != nil {
			return err
		}
		if !l.Ended && strings.IndexByte("0123456789+-*", s[0]) < 0 { // writers of the format's subset end with costs and no line end
			return r.cut("the last line has no end: it may be cut")
		}
	}
	return r.end()
}

func (r *reader) fail(column int, msg, expected, found string) error {
	e := r.in.Syntax(r.line, column, msg)
	e.Expected, e.Hint = expected, "the line is damaged: record or get the file again"
	if found != "" {
		e.Found = collectors.Quote(found)
	}
	return e
}

func (r *reader) read(s string) error {
	if c := s[0]; c >= '0' && c <= '9' || c == '+' || c == '-' || c == '*' {
		return r.costLine(s)
	}
	if r.callsLine != 0 {
		return r.fail(1, fmt.Sprintf("the costs of the calls in line %d are missing", r.callsLine), "a line of positions and costs", s)
	}
	eq, colon := strings.IndexByte(s, '='), strings.IndexByte(s, ':')
	if eq > 0 && (colon < 0 || eq < colon) {
		value := strings.TrimSpace(s[eq+1:])
		return r.assignment(s[:eq], value, len(s)-len(value)+1)
	}
	if colon > 0 {
		value := strings.TrimSpace(s[colon+1:])
		return r.header(s[:colon], value, len(s)-len(value)+1)
	}
	return r.fail(1, "the line is none of Callgrind's format", `costs, "name=..." or "key: value"`, s)
}

func (r *reader) header(key, value string, column int) error {
	switch key {
	case "version":
		switch {
		case value == "1":
		case strings.HasPrefix(value, "0.9."): // Xdebug until 2.2
			r.run.FormatVersion = value
			r.out.Warn(r.line, column, "the version %s of the format is not described, and is read as version 1", value)
		default:
			return &collectors.UnsupportedError{File: r.in.Name, What: "Callgrind's format in version " + collectors.Quote(value), Hint: "rooflab reads version 1"}
		}
	case "creator":
		r.creator(value)
	case "cmd":
		r.run.Command = value
	case "pid":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return r.fail(column, "the process is no number", "a number", value)
		}
		r.pid.V, r.pid.Valid = n, true
	case "part", "thread":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return r.fail(column, "the "+key+" is no number", "a number", value)
		}
		if r.inBody {
			if err := r.endPart(false); err != nil {
				return err
			}
		}
		if key == "part" {
			r.part.number, r.thread.Valid = n, false
		} else {
			r.thread.V, r.thread.Valid = n, true
		}
	case "desc":
		name, text, ok := strings.Cut(value, ":")
		if !ok {
			name, text = "desc", value
		}
		return r.describe(strings.TrimSpace(name), strings.TrimSpace(text))
	case "event":
		return r.event(value, column)
	case "events":
		return r.setEvents(strings.Fields(value), column)
	case "positions":
		r.instr, r.lines = false, false
		for _, p := range strings.Fields(value) {
			switch p {
			case "instr":
				r.instr = true
			case "line":
				r.lines = true
			default:
				return r.fail(column, "an unknown kind of position", `"instr" or "line"`, p)
			}
		}
	case "totals", "summary":
		var sums []int64
		for _, f := range strings.Fields(value) {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return r.fail(column, "the "+key+" has no number for an event", "a number", f)
			}
			sums = append(sums, n)
		}
		if key == "totals" {
			r.totals, r.totalsLine = sums, r.line
			if !r.lastEnded {
				return r.cut("the totals may be cut")
			}
		} else {
			r.summary = sums
		}
	default:
		return r.describe(key, value)
	}
	return nil
}

func (r *reader) assignment(key, value string, column int) error {
	switch key {
	case "ob", "fl", "fi", "fe", "fn", "cob", "cfl", "cfi", "cfn", "jfi", "jfn":
		r.inBody = true
		if r.events == nil {
			return r.fail(1, "costs begin before the header names their events", `a line "events: ..."`, key+"="+value)
		}
		name, err := r.name(key, value, column)
		if err != nil {
			return err
		}
		switch key {
		case "ob":
			r.ob = name
		case "fl":
			r.fl, r.fi = name, name
		case "fi", "fe":
			r.fi = name
		case "fn":
			// The object and the file may follow only where they change, and
			// always come before fn.
			r.fn, r.fi = r.function(r.ob, r.fl, name), r.fl
			r.fn.own = true
		case "cob":
			r.cob = name
		case "cfl", "cfi":
			r.cfi = name
		case "cfn":
			r.cfn = name
		}
		return nil
	case "calls":
		count, _, _ := strings.Cut(value, " ")
		n, err := strconv.ParseInt(count, 0, 64)
		if err != nil || n < 0 {
			return r.fail(column, "the number of calls is none", "a number", count)
		}
		if r.fn == nil || r.cfn == "" {
			return r.fail(1, "calls without caller or callee", `"fn=" and "cfn=" before`, "calls="+value)
		}
		r.calls, r.callsLine = n, r.line
		return nil
	case "jump", "jcnd":
		count, _, _ := strings.Cut(value, " ")
		taken, all, two := strings.Cut(count, "/")
		a, err := strconv.ParseInt(taken, 0, 64)
		b := a
		if err == nil && two {
			b, err = strconv.ParseInt(all, 0, 64)
		}
		if err != nil || two != (key == "jcnd") || a < 0 || b < 0 {
			return r.fail(column, "the number of jumps is none", "a number, or for jcnd two with a slash between", count)
		}
		r.jump, r.jumpKind = [2]int64{a, b}, key[1]
		if key == "jump" {
			r.jumpKind = 'j'
		}
		return nil
	}
	return r.fail(1, "an unknown kind of line", "fl=, fn=, calls= and so on", key+"="+value)
}

// name reads a name that may be compressed: "(3) main" defines it, "(3)" uses
// it.
func (r *reader) name(key, value string, column int) (string, error) {
	table := r.names["fl"]
	if strings.HasSuffix(key, "ob") {
		table = r.names["ob"]
	} else if strings.HasSuffix(key, "fn") {
		table = r.names["fn"]
	}
	if !strings.HasPrefix(value, "(") {
		return value, nil
	}
	id, name, _ := strings.Cut(value[1:], ")")
	if strings.Trim(id, "0123456789") != "" || id == "" {
		return value, nil // "(below main)"
	}
	if name = strings.TrimSpace(name); name != "" {
		table[id] = name
		return name, nil
	}
	name, ok := table[id]
	if !ok {
		return "", r.fail(column, "the name of this number was not given before", `"(`+id+`) NAME"`, value)
	}
	return name, nil
}

// position reads one position: a number, or a step from the one before.
func (r *reader) position(f string, prev int64) (int64, bool) {
	if f == "*" {
		return prev, true
	}
	n, ok := number(strings.TrimLeft(f, "+-"))
	switch f[0] {
	case '+':
		n = prev + n
	case '-':
		n = prev - n
	}
	return n, ok
}

// number reads a decimal number or one that begins with 0x.
func number(s string) (int64, bool) {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 64)
		return int64(n), err == nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func (r *reader) costLine(s string) error {
	if r.events == nil {
		return r.fail(1, "costs come before the header names their events", `a line "events: ..."`, s)
	}
	r.inBody = true
	fields := strings.Fields(s)
	at := 0
	for i, on := range [2]bool{r.instr, r.lines} {
		if !on {
			continue
		}
		if at == len(fields) {
			return r.fail(len(s)+1, "the line has too few positions", "a position", "")
		}
		n, ok := r.position(fields[at], r.prev[i])
		if !ok {
			return r.fail(strings.Index(s, fields[at])+1, "a position is no number", "a number, +N, -N or *", fields[at])
		}
		r.prev[i] = n
		at++
	}
	fields = fields[at:]
	if len(fields) > len(r.events) {
		return r.fail(1, "the line has more costs than there are events", strconv.Itoa(len(r.events))+" costs", s)
	}
	costs := make([]int64, len(r.events))
	for i, f := range fields {
		n, err := r.cost(f, i)
		if err != nil {
			return err
		}
		costs[i] = n
	}
	if r.jumpKind == 0 { // the place of a jump has no costs
		r.prevCosts = costs
	}
	if err := r.book(costs); err != nil {
		return r.ranged(err)
	}
	return nil
}

// ranged gives a sum that is too large the place where it became so.
func (r *reader) ranged(err error) error {
	if errors.Is(err, errRange) {
		return r.fail(1, err.Error(), "", "")
	}
	return err
}

// cost reads one cost. Valgrind writes plain numbers. Other writers step from
// the cost before as with positions, or have negative costs (memory that was
// freed): "-3" is a step once the file has had a "*" or "+3", and no file may
// have both.
func (r *reader) cost(f string, i int) (int64, error) {
	var prev int64
	if i < len(r.prevCosts) {
		prev = r.prevCosts[i]
	}
	if f == "*" || f[0] == '+' || f[0] == '-' && r.relative > 0 {
		if r.negative > 0 {
			return 0, r.fail(1, fmt.Sprintf("a cost that is a step from the one before, and a negative one in line %d: what -N means is not known", r.negative), "one of both", f)
		}
		if r.relative == 0 {
			r.relative = r.line
			r.out.Warn(r.line, 1, "costs are written as steps from the costs before, which Callgrind's format does not know: they are read so")
		}
		n, ok := r.position(f, prev)
		if !ok {
			return 0, r.fail(1, "a cost is no number", "a number", f)
		}
		return n, nil
	}
	if f[0] == '-' && r.negative == 0 {
		r.negative = r.line
	}
	n, ok := number(f)
	if !ok {
		return 0, r.fail(1, "a cost is no number", "a number", f)
	}
	return n, nil
}

// book adds costs to what they are of: a call, a jump or a line.
func (r *reader) book(costs []int64) error {
	if r.callsLine != 0 {
		ob, file := r.cob, r.cfi
		if ob == "" {
			ob = r.ob
		}
		if file == "" {
			file = r.fi
			// Old files of Xdebug do not name the file of what is called.
			if f := r.firstOf[r.cfn]; f != nil && strings.HasPrefix(strings.ToLower(r.run.Tool), "xdebug") && r.sameName[r.cfn] == 1 {
				ob, file = f.key.ob, f.key.file
			}
		}
		callee := r.function(ob, file, r.cfn)
		r.callsLine, r.cob, r.cfi = 0, "", "" // they are said again for every call
		return r.addCall(r.fn, callee, r.calls, costs)
	}
	if r.fn == nil {
		return r.fail(1, "costs without a function", `a line "fn=" before`, "")
	}
	at := place{fn: r.fn.id, file: r.fi}
	if r.instr {
		at.addr = r.prev[0]
	}
	if r.lines {
		at.line = r.prev[1]
	}
	if kind := r.jumpKind; kind != 0 {
		r.jumpKind = 0
		return r.addJump(at, kind, r.jump)
	}
	return r.addCost(r.fn, at, costs)
}

func (r *reader) cut(msg string) error {
	e := r.in.Syntax(r.line, 1, msg)
	e.Hint = "the file is cut: get it again, or record it again"
	return e
}

// endPart checks and emits the part that was read; last says that no other
// follows.
func (r *reader) endPart(last bool) error {
	r.single = last && r.parts == 0
	r.parts++
	if r.callsLine != 0 {
		return r.cut(fmt.Sprintf("the costs of the calls in line %d are missing", r.callsLine))
	}
	if r.totals == nil && r.run.Tool == "callgrind" && r.run.ToolVersion != "" {
		return r.cut("the file ends before its totals, which callgrind writes last")
	}
	r.checkSums("totals", r.totals, r.totalsLine)
	for i, n := range r.summary {
		if i < len(r.events) {
			if err := r.attribute("summary."+r.events[i].name, strconv.FormatInt(n, 10)); err != nil {
				return err
			}
		}
	}
	if r.totals == nil { // callgrind's summary counts what no function did, its totals do not
		r.checkSums("summary", r.summary, 0)
	}
	r.totals, r.summary, r.inBody, r.fn = nil, nil, false, nil
	r.prev, r.prevCosts, r.cob, r.cfi, r.cfn = [2]int64{}, nil, "", "", ""
	r.ob, r.fl, r.fi = "", "", ""
	return r.ranged(r.emitPart())
}

func (r *reader) checkSums(what string, sums []int64, line int) {
	for i, want := range sums {
		if i < len(r.events) && want != r.part.total[i] {
			r.out.Warn(line, 0, "the %s of %s are %d and the functions' costs are %d together", what, r.events[i].name, want, r.part.total[i])
		}
	}
}

func (r *reader) end() error {
	if r.events == nil {
		e := r.in.Syntax(r.line+1, 1, "the file ends before it names its events")
		e.Expected, e.Hint = `a line "events: ..."`, "the file is cut, or is not one of Callgrind's"
		return e
	}
	if !r.lastEnded && r.totals == nil {
		r.out.Warn(r.line, 1, "the last line has no end and no totals follow: if the file was cut, its costs are incomplete")
	}
	if err := r.endPart(true); err != nil {
		return err
	}
	return r.finish()
}
