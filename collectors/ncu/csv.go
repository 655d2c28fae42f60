package ncu

import (
	"errors"
	"io"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// field is one cell of a row.
type field struct {
	text   string
	line   int
	column int // in bytes, from 1
	quoted bool
}

// splitError is a fault within a row; line counts from the row's first.
type splitError struct {
	line, column int
	msg, found   string
	open         bool // a quote is open at the end: more lines may close it
}

func (e *splitError) Error() string { return e.msg }

// split cuts a row at its separators. Quoted cells may hold separators, line
// ends and doubled quotes. The cells are in fields, which grows where it must.
func split(row string, sep byte, fields []field) ([]field, *splitError) {
	if fields == nil {
		fields = make([]field, 0, 20)
	}
	fields = fields[:0]
	line, start := 0, 0 // start of the line within row
	i := 0
	for {
		if quote := i + len(row[i:]) - len(strings.TrimLeft(row[i:], " ")); quote < len(row) && row[quote] == '"' {
			i = quote // nor do blanks before it
		}
		f := field{line: line, column: i - start + 1}
		if i < len(row) && row[i] == '"' {
			f.quoted = true
			openedAt := line
			i++
			from, doubled := i, false
			for {
				j := strings.IndexByte(row[i:], '"')
				if j < 0 {
					return fields, &splitError{line: openedAt, column: f.column, msg: "this quote never closes", open: true}
				}
				if k := strings.LastIndexByte(row[i:i+j], '\n'); k >= 0 {
					line += strings.Count(row[i:i+j], "\n")
					start = i + k + 1
				}
				i += j + 1
				if i < len(row) && row[i] == '"' {
					doubled = true
					i++
					continue
				}
				break
			}
			f.text = row[from : i-1]
			if doubled {
				f.text = strings.ReplaceAll(f.text, `""`, `"`)
			}
			// Blanks between the quote and the separator do no harm.
			for i < len(row) && row[i] == ' ' {
				i++
			}
			if i < len(row) && row[i] != sep {
				return fields, &splitError{line: line, column: i - start + 1, msg: "text after a closing quote", found: collectors.Quote(row[i:])}
			}
		} else {
			j := strings.IndexByte(row[i:], sep)
			if j < 0 {
				j = len(row) - i
			}
			f.text = row[i : i+j]
			i += j
		}
		fields = append(fields, f)
		if i >= len(row) {
			return fields, nil
		}
		i++ // the separator
	}
}

// splitNested cuts a row without quotes at the separators outside brackets:
// what is left of "void f<int, 3>(int, int)" and "(64, 1, 1)" when the quotes
// are gone.
func splitNested(row string, sep byte, line int) []field {
	var fields []field
	depth, from := 0, 0
	for i := 0; i <= len(row); i++ {
		if i == len(row) || row[i] == sep && depth == 0 {
			fields = append(fields, field{text: row[from:i], line: line, column: from + 1})
			from = i + 1
			continue
		}
		switch row[i] {
		case '(', '<', '[', '{':
			depth++
		case ')', '>', ']', '}':
			if depth > 0 {
				depth--
			}
		}
	}
	return fields
}

// reader hands out rows.
type reader struct {
	in    *collectors.Input
	sep   byte
	line  int  // the line that the current row begins on
	ended bool // the row had a line end
	// fields are the last row's: row uses them again.
	fields []field
}

// maxRowLines is how many lines one row may take: descriptions of rules span a
// few. It keeps a stray quote from swallowing the file.
const maxRowLines = 200

// row cuts the row that begins with the given line, reading on where a quote
// is open. The cells are valid until the next call.
func (r *reader) row(text string) ([]field, error) {
	first := r.line
	for lines := 1; ; lines++ {
		fields, serr := split(text, r.sep, r.fields)
		r.fields = fields
		if serr == nil {
			for i := range fields {
				fields[i].line += first
			}
			return fields, nil
		}
		if !serr.open || lines == maxRowLines {
			e := r.in.Syntax(first+serr.line, serr.column, serr.msg)
			e.Found = serr.found
			if serr.open {
				e.Hint = "look for a quote that is missing there"
			}
			return nil, e
		}
		more, _, ended, err := r.in.Line()
		if errors.Is(err, io.EOF) {
			e := r.in.Syntax(first+serr.line, serr.column, "the file ends within a quoted cell that begins here")
			e.Expected, e.Hint = `a closing "`, "the file is cut: get it again, or remove its last row"
			return nil, e
		}
		if err != nil {
			return nil, err
		}
		r.ended = ended
		text += "\n" + string(more)
	}
}
