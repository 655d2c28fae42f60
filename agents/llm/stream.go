package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	maxLine   = 4 << 20  // bytes of a line of a stream
	maxStream = 64 << 20 // bytes of an answer as it is sent
)

// errBroken says that a stream ended before the answer did.
var errBroken = errors.New("the stream ended before the answer did")

// stream reads an answer: server-sent events, or JSON by line.
type stream struct {
	lines *bufio.Scanner
	begun bool
}

func newStream(r io.Reader) *stream {
	s := &stream{lines: bufio.NewScanner(&capped{r: r, left: maxStream})}
	s.lines.Buffer(make([]byte, 0, 4096), maxLine)
	s.lines.Split(splitLine)
	return s
}

// splitLine is bufio's split function for lines that end with LF, CR LF or CR.
// A last line without an end is broken off and is not returned.
func splitLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	at := bytes.IndexAny(data, "\r\n")
	switch {
	case at < 0 && atEOF && len(data) > 0:
		return 0, nil, errBroken
	case at < 0:
		return 0, nil, nil
	case data[at] == '\n':
		return at + 1, data[:at], nil
	case at+1 < len(data) && data[at+1] == '\n':
		return at + 2, data[:at], nil
	case at+1 < len(data) || atEOF:
		return at + 1, data[:at], nil
	}
	return 0, nil, nil // an LF may follow
}

// line is the next one that is not empty, without its end; io.EOF after the last.
func (s *stream) line() ([]byte, error) {
	for s.lines.Scan() {
		if b := s.lines.Bytes(); len(bytes.TrimSpace(b)) > 0 {
			return b, nil
		}
	}
	return nil, s.end()
}

func (s *stream) end() error {
	switch err := s.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return &malformedError{fmt.Sprintf("a line of the stream is longer than %d bytes", maxLine)}
	case err != nil:
		return err
	}
	return io.EOF
}

// event is the data of the next server-sent event that has any (WHATWG HTML,
// section 9.2.6); io.EOF after the last. An event whose last line came whole is
// taken without the empty line that is to follow it.
func (s *stream) event() ([]byte, error) {
	var data []byte
	has := false
	for s.lines.Scan() {
		b := s.lines.Bytes()
		if !s.begun {
			b = bytes.TrimPrefix(b, []byte("\ufeff"))
			s.begun = true
		}
		if len(b) == 0 {
			if len(data) > 0 {
				return data, nil
			}
			has = false // an event without data is none
			continue
		}
		field, value, _ := bytes.Cut(b, []byte(":"))
		if string(field) != "data" {
			continue // comments, names of events, which the data repeat, and what is to come
		}
		if has {
			data = append(data, '\n')
		}
		if data = append(data, bytes.TrimPrefix(value, []byte(" "))...); len(data) > maxLine {
			return nil, &malformedError{fmt.Sprintf("an event of the stream is longer than %d bytes", maxLine)}
		}
		has = true
	}
	if err := s.end(); !errors.Is(err, io.EOF) || len(data) == 0 {
		return nil, err
	}
	return data, nil
}

// malformedError says that a server sent what its protocol does not have. It
// would do so again.
type malformedError struct{ text string }

func (e *malformedError) Error() string { return e.text }

// decode reads the JSON of an event.
func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return &malformedError{fmt.Sprintf("an event of the stream is not the JSON that was expected (%v): %s", err, clip(string(data), 200))}
	}
	return nil
}

// capped is a reader that fails where there is more than it allows.
type capped struct {
	r    io.Reader
	left int
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, &malformedError{fmt.Sprintf("the answer is longer than %d bytes", maxStream)}
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
