package ncu

import (
	"bytes"
	"unsafe"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// same is what a row of metrics has in common with the row before it: in the
// long form the cells before the metric's name are those of the launch, again
// and again. A line that begins as the last one did needs neither cutting nor
// comparing there, which is most of the work in large files. Whatever is odd
// about a line is left to the general way.
type same struct {
	head     []byte  // the line up to the metric's name, with the quote that opens it; empty: nothing is known
	launch   *launch // of that line
	instance string
	known    map[string]*series // by their tails
	last     *series            // of the row before
	likely   *series            // of the next row
	texts    []byte             // room for the texts of values
}

// remember notes the head of a row that became a counter of launch l.
func (p *parser) remember(row []field, text string, l *launch, instance string) {
	p.same.head = p.same.head[:0]
	name := p.table.at[colMetricName]
	if !p.table.quoted || p.table.at[colID] < 0 || name < 1 || p.table.at[colMetricUnit] != name+1 || p.table.at[colMetricValue] != name+2 || !row[name].quoted {
		return
	}
	// A row of several lines, or one that was mended, has cells elsewhere.
	if at := row[name].column; row[name].line == p.r.line && at <= len(text) && text[at-1] == '"' {
		p.same.head = append(p.same.head, text[:at]...)
		p.same.launch, p.same.instance = l, instance
	}
}

// series is a metric with its unit, as the lines write them.
type series struct {
	tail         []byte // what a line has between the head and the value: m","u","
	metric, unit string
	u            unit
	watched      bool    // the launch or the machine is described by it
	next         *series // the one that followed the last time: launches repeat their metrics in the same order
}

// again reads a line that differs from the row before in metric, unit and value
// alone. It reports whether it did.
func (p *parser) again(line []byte, number int) (bool, error) {
	s := &p.same
	if len(s.head) == 0 || s.launch != p.current || !bytes.HasPrefix(line, s.head) {
		return false, nil
	}
	rest := line[len(s.head):]
	m := s.likely
	if m == nil || !bytes.HasPrefix(rest, m.tail) {
		if m = p.series(rest); m == nil {
			return false, nil
		}
		if s.last != nil {
			s.last.next = m
		}
	}
	value := rest[len(m.tail):]
	last := len(value) - 1
	if last < 1 || value[last] != '"' || value[0] < '0' || value[0] > '9' || bytes.IndexByte(value[:last], '"') >= 0 || value[last-1] <= ' ' {
		return false, nil
	}
	value = value[:last]
	s.last, s.likely = m, m.next
	p.rows++
	n := &p.numbers
	if v, ok := m.u.plain(value, n.style); ok {
		c := &n.rec // the sink copies it
		*c = datasets.Counter{Run: runID, Region: s.launch.rec.Region, Launch: s.launch.rec.ID, Metric: m.metric, Instance: s.instance,
			Value: datasets.Some(v), Unit: m.u.Base, RawValue: s.text(value), RawUnit: m.unit, Status: datasets.StatusOK}
		if m.watched {
			p.observe(s.launch, m.metric, m.u.Base, v)
		}
		return true, p.out.Put(c)
	}
	return true, n.counter(s.launch, m.metric, s.instance, m.unit, field{text: s.text(value), line: number, column: len(line) - len(value) - 1, quoted: true})
}

// series finds the metric and the unit that a line goes on with; nil where it
// has another form.
func (p *parser) series(rest []byte) *series {
	metric, after, ok := p.cell(rest)
	if !ok || len(metric) == 0 || len(after) == 0 {
		return nil
	}
	name, after, ok := p.cell(after)
	if !ok || len(after) == 0 {
		return nil
	}
	s := &p.same
	tail := rest[:len(rest)-len(after)]
	if m := s.known[string(tail)]; m != nil {
		return m
	}
	m := &series{tail: bytes.Clone(tail), metric: string(metric), unit: string(name)}
	m.u = p.numbers.unit(m.unit)
	if m.u.isNumber {
		return nil
	}
	m.watched = describes(m.metric)
	if len(s.known) < maxSeries {
		if s.known == nil {
			s.known = map[string]*series{}
		}
		s.known[string(m.tail)] = m
	}
	return m
}

// plain reads a number in a known style: digits, in groups of thousands or not,
// with decimals or not. ok is false for what is written in another way, and for
// what could be read in two.
func (u *unit) plain(s []byte, style collectors.Style) (v float64, ok bool) {
	group, point := byte(','), byte('.')
	switch style {
	case collectors.Dot:
	case collectors.Comma:
		group, point = point, group
	default:
		return 0, false
	}
	n, digits, run, groups, decimals := int64(0), 0, 0, 0, -1
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
			digits++
			run++
			if decimals >= 0 {
				decimals++
			}
		case c == group && decimals < 0 && run > 0 && (run == 3 || groups == 0 && run < 3):
			groups++
			run = 0
		case c == point && decimals < 0 && run > 0 && (groups == 0 || run == 3):
			decimals, run = 0, 0
		default:
			return 0, false
		}
	}
	// 15 digits are exact in a float64, and so are powers of ten up to 22: one
	// multiplication or division then rounds as reading the text would.
	if digits > 15 || run == 0 || u.Exp2 != 0 || groups > 0 && decimals < 0 && run != 3 {
		return 0, false
	}
	if decimals == 3 && groups == 0 && digits <= 6 {
		return 0, false // 117.344 where points are decimal: counter weighs what else is known
	}
	e := u.Exp10 - max(decimals, 0)
	switch {
	case e == 0:
		return float64(n), true
	case e < 0 && e >= -22:
		return float64(n) / powers[-e], true
	case e > 0 && e <= 22:
		return float64(n) * powers[e], true
	}
	return 0, false
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// cell cuts off a quoted cell whose opening quote is gone already, and with it
// the separator and the next one's quote. A cell with blanks at its ends or
// with quotes in it is none.
func (p *parser) cell(line []byte) (text, rest []byte, ok bool) {
	i := bytes.IndexByte(line, '"')
	if i < 0 {
		return nil, nil, false
	}
	text, rest = line[:i], line[i+1:]
	if len(text) > 0 && (text[0] <= ' ' || text[len(text)-1] <= ' ') {
		return nil, nil, false
	}
	switch {
	case len(rest) == 0:
		return text, nil, true
	case len(rest) > 2 && rest[0] == p.table.sep && rest[1] == '"':
		return text, rest[2:], true
	}
	return nil, nil, false
}

// maxSeries bounds the memory for metrics.
const maxSeries = 100_000

// text keeps the text of a value: many share one piece of memory, which is
// never written again.
func (s *same) text(b []byte) string {
	const room = 64 << 10
	if len(b) > cap(s.texts)-len(s.texts) {
		s.texts = make([]byte, 0, max(room, len(b)))
	}
	at := len(s.texts)
	s.texts = append(s.texts, b...)
	return unsafe.String(&s.texts[at], len(b))
}

// line reads the next line of the file.
func (p *parser) line() error {
	text, number, ended, err := p.in.Line()
	if err != nil {
		return err
	}
	p.r.line, p.r.ended = number, ended
	if ended {
		if done, err := p.again(text, number); done || err != nil {
			return err
		}
	}
	// Concatenated outputs have byte order marks in the middle.
	return p.lineOf(string(bytes.TrimPrefix(text, []byte("\ufeff"))))
}
