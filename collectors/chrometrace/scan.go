package chrometrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rooflab/rooflab/collectors"
)

// maxValue is how long one event, or one value beside the events, may be.
const maxValue = 64 << 20

// scanner reads a file value by value through a window. It counts lines as it
// leaves them behind, so that a place costs no memory.
type scanner struct {
	in   *collectors.Input
	buf  []byte // the window; buf[r:] is unread
	r    int
	eof  bool
	off  int64 // of buf[0] in the content
	line int   // of buf[r], from 1
	bol  int64 // offset of the beginning of that line
}

func newScanner(in *collectors.Input) *scanner {
	return &scanner{in: in, buf: make([]byte, 0, 256<<10), line: 1}
}

// fill reads more; at the end of the content it sets eof.
func (s *scanner) fill() error {
	if s.eof {
		return nil
	}
	if s.r > 0 {
		n := copy(s.buf, s.buf[s.r:])
		s.buf, s.off, s.r = s.buf[:n], s.off+int64(s.r), 0
	}
	if len(s.buf) == cap(s.buf) {
		if len(s.buf) >= maxValue {
			e := s.syntax(0, fmt.Sprintf("an event or value is longer than %d bytes", maxValue))
			e.Hint = "a quote or a bracket is missing at its end: the file is damaged"
			return e
		}
		grown := make([]byte, len(s.buf), 2*cap(s.buf))
		copy(grown, s.buf)
		s.buf = grown
	}
	// The whole window is filled: a value that does not fit is looked at again
	// from its beginning, as often as the window doubles and no more.
	for len(s.buf) < cap(s.buf) {
		n, err := s.in.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if errors.Is(err, io.EOF) {
			s.eof = true
			return nil
		}
		if err != nil {
			var se *collectors.SyntaxError
			if errors.As(err, &se) { // the input does not know our lines
				se.Line, se.Column = s.place(len(s.buf))
			}
			return err
		}
	}
	return nil
}

// take moves on by n bytes.
func (s *scanner) take(n int) {
	b := s.buf[s.r : s.r+n]
	if k := bytes.LastIndexByte(b, '\n'); k >= 0 {
		s.line += bytes.Count(b, []byte("\n"))
		s.bol = s.off + int64(s.r+k+1)
	}
	s.r += n
}

// place is the line and column of a byte of the window at or behind buf[r].
func (s *scanner) place(i int) (line, column int) {
	b := s.buf[s.r:i]
	line, bol := s.line, s.bol
	if k := bytes.LastIndexByte(b, '\n'); k >= 0 {
		line += bytes.Count(b, []byte("\n"))
		bol = s.off + int64(s.r+k+1)
	}
	return line, int(s.off+int64(i)-bol) + 1
}

// syntax is an error about the byte at distance d from the place that was
// reached.
func (s *scanner) syntax(d int, msg string) *collectors.SyntaxError {
	line, column := s.place(min(s.r+d, len(s.buf)))
	return s.in.Syntax(line, column, msg)
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() (byte, error) {
	for {
		i := skip(s.buf, s.r)
		s.take(i - s.r)
		if i < len(s.buf) {
			return s.buf[i], nil
		}
		if s.eof {
			return 0, nil
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// errCut says that the content ends within a value.
var errCut = errors.New("the file ends within a value")

// value returns the next value. It is valid until the next call; the scanner
// stays before it until the caller takes it.
func (s *scanner) value(at where) ([]byte, error) {
	if _, err := s.peek(); err != nil {
		return nil, err
	}
	for {
		end, err := valueEnd(s.buf, s.r, at, s.eof)
		switch {
		case err == nil:
			return s.buf[s.r:end], nil
		case errors.Is(err, errMore) && s.eof:
			return nil, errCut
		case errors.Is(err, errMore):
			if err := s.fill(); err != nil {
				return nil, err
			}
		case errors.Is(err, errDepth):
			return nil, s.syntax(0, fmt.Sprintf("values are nested deeper than %d", maxDepth))
		default:
			e := s.syntax(0, "the text is no JSON")
			e.Expected, e.Hint = "a value", "the file is damaged here: get it again"
			e.Found = collectors.Quote(string(s.buf[s.r:min(s.r+40, len(s.buf))]))
			return nil, e
		}
	}
}
