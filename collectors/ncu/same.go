package ncu

import (
	"bytes"
	"unsafe"
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
	names    map[string]string // metrics and units, so that each is allocated once
	texts    []byte            // room for the texts of values
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

// again reads a line that differs from the row before in metric, unit and value
// alone. It reports whether it did.
func (p *parser) again(line []byte, number int) (bool, error) {
	s := &p.same
	if len(s.head) == 0 || s.launch != p.current || !bytes.HasPrefix(line, s.head) {
		return false, nil
	}
	metric, rest, ok := p.cell(line[len(s.head):])
	if !ok || len(metric) == 0 || len(rest) == 0 {
		return false, nil
	}
	unit, rest, ok := p.cell(rest)
	if !ok || len(rest) == 0 {
		return false, nil
	}
	column := len(line) - len(rest)
	value, rest, ok := p.cell(rest)
	if !ok || len(rest) > 0 || len(value) == 0 || value[0] < '0' || value[0] > '9' {
		return false, nil
	}
	name := s.name(unit)
	if p.numbers.unit(name).isNumber {
		return false, nil
	}
	p.rows++
	return true, p.numbers.counter(s.launch, s.name(metric), s.instance, name, field{text: s.text(value), line: number, column: column, quoted: true})
}

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

// maxNames bounds the memory for names.
const maxNames = 100_000

func (s *same) name(b []byte) string {
	if n, ok := s.names[string(b)]; ok {
		return n
	}
	n := string(b)
	if len(s.names) < maxNames {
		if s.names == nil {
			s.names = map[string]string{}
		}
		s.names[n] = n
	}
	return n
}

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
