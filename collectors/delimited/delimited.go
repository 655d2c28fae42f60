// Package delimited cuts text into rows of cells, as tools write tables with
// commas or tabs between them, and remembers where each cell stood. In flows
// an Input, out flow rows; what the cells mean is for the formats to say.
//
// Quoted cells may hold separators, line ends and doubled quotes. Unlike
// encoding/csv it lets lines that are no table stand between the rows, and
// tells whether the last row had a line end: a row without one may be cut.
package delimited

import (
	"errors"
	"io"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// Cell is one cell of a row.
type Cell struct {
	Text   string // without quotes and the blanks around it
	Line   int    // where it begins
	Column int    // in bytes, from 1
	Quoted bool
}

// Reader hands out the lines of an input, and cuts those that are rows.
type Reader struct {
	In    *collectors.Input
	Sep   byte
	Line  int  // the number of the line that was read last
	Ended bool // that line had a line end
}

// maxRowLines is how many lines one row may take. It keeps a stray quote from
// swallowing the file.
const maxRowLines = 200

// New returns a reader of rows with commas.
func New(in *collectors.Input) *Reader { return &Reader{In: in, Sep: ','} }

// Text returns the next line. The error after the last is io.EOF.
func (r *Reader) Text() (string, error) {
	text, line, ended, err := r.In.Line()
	r.Line, r.Ended = line, ended
	if err != nil {
		return "", err
	}
	// Tables that were put together have byte order marks in the middle.
	return strings.TrimPrefix(string(text), "\ufeff"), nil
}

// Row returns the next row that is not blank.
func (r *Reader) Row() ([]Cell, error) {
	for {
		text, err := r.Text()
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) != "" {
			return r.Cells(text)
		}
	}
}

// Cells cuts the line that Text returned last, and reads on where a quote is
// open at its end.
func (r *Reader) Cells(text string) ([]Cell, error) {
	first := r.Line
	for lines := 1; ; lines++ {
		cells, fault := Split(text, r.Sep)
		if fault == nil {
			for i := range cells {
				cells[i].Line += first
			}
			return cells, nil
		}
		e := r.In.Syntax(first+fault.Line, fault.Column, fault.Msg)
		e.Found = fault.Found
		if !fault.Open || lines == maxRowLines {
			if fault.Open {
				e.Hint = "look for a quote that is missing there"
			}
			return nil, e
		}
		more, _, ended, err := r.In.Line()
		if errors.Is(err, io.EOF) {
			e.Msg, e.Expected, e.Hint = "the file ends within a quoted cell that begins here", `a closing "`, "the file is cut: get it again, or remove its last row"
			return nil, e
		}
		if err != nil {
			return nil, err
		}
		r.Line++
		r.Ended = ended
		text += "\n" + string(more)
	}
}

// Fault is the error for a cell.
func (r *Reader) Fault(c Cell, msg, expected string) *collectors.SyntaxError {
	e := r.In.Syntax(c.Line, c.Column, msg)
	e.Expected, e.Found = expected, collectors.Quote(c.Text)
	return e
}

// Short is the error for a row of the wrong length.
func (r *Reader) Short(row []Cell, msg, expected, found string) *collectors.SyntaxError {
	last := row[len(row)-1]
	e := r.In.Syntax(last.Line, last.Column, msg)
	e.Expected, e.Found = expected, found
	if !r.Ended {
		e.Hint = "the file is cut within this row: get it again, or remove the row"
	}
	return e
}

// Broken is a fault within a row; Line counts from the row's first, from 0.
type Broken struct {
	Line, Column int
	Msg, Found   string
	Open         bool // a quote is open at the end: more lines may close it
}

// Split cuts a row at its separators.
func Split(row string, sep byte) ([]Cell, *Broken) {
	cells := make([]Cell, 0, 1+strings.Count(row, string(sep)))
	line, start := 0, 0 // start of the line within row
	for i := 0; ; {
		for i < len(row) && row[i] == ' ' {
			i++
		}
		c := Cell{Line: line, Column: i - start + 1}
		if i < len(row) && row[i] == '"' {
			c.Quoted = true
			open := &Broken{Line: line, Column: c.Column, Msg: "this quote never closes", Open: true}
			i++
			from, doubled := i, false
			for {
				j := strings.IndexByte(row[i:], '"')
				if j < 0 {
					return cells, open
				}
				if k := strings.LastIndexByte(row[i:i+j], '\n'); k >= 0 {
					line += strings.Count(row[i:i+j], "\n")
					start = i + k + 1
				}
				i += j + 1
				if i == len(row) || row[i] != '"' {
					break
				}
				doubled = true
				i++
			}
			c.Text = row[from : i-1]
			if doubled {
				c.Text = strings.ReplaceAll(c.Text, `""`, `"`)
			}
			for i < len(row) && row[i] == ' ' {
				i++
			}
			if i < len(row) && row[i] != sep {
				return cells, &Broken{Line: line, Column: i - start + 1, Msg: "text after a closing quote", Found: collectors.Quote(row[i:])}
			}
		} else {
			j := strings.IndexByte(row[i:], sep)
			if j < 0 {
				j = len(row) - i
			}
			c.Text = strings.TrimRight(row[i:i+j], " ")
			i += j
		}
		cells = append(cells, c)
		if i >= len(row) {
			return cells, nil
		}
		i++ // the separator
	}
}
