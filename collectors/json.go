package collectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
)

// JSON reads JSON token by token or value by value and knows where it is.
type JSON struct {
	*json.Decoder
	in    *Input
	ends  []int64 // offsets of line ends, as far as was read
	total int64
}

// NewJSON returns a JSON reader. Numbers keep their text (json.Number).
func NewJSON(in *Input) *JSON {
	j := &JSON{in: in}
	j.Decoder = json.NewDecoder(lineIndex{j})
	j.UseNumber()
	return j
}

type lineIndex struct{ j *JSON }

func (l lineIndex) Read(p []byte) (int, error) {
	n, err := l.j.in.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			l.j.ends = append(l.j.ends, l.j.total+int64(i))
		}
	}
	l.j.total += int64(n)
	return n, err
}

// Place returns line and column of an offset.
func (j *JSON) Place(offset int64) (line, column int) {
	i := sort.Search(len(j.ends), func(i int) bool { return j.ends[i] >= offset })
	start := int64(0)
	if i > 0 {
		start = j.ends[i-1] + 1
	}
	return i + 1, int(offset-start) + 1
}

// Syntax returns a *SyntaxError at the place that was read last.
func (j *JSON) Syntax(msg string) *SyntaxError {
	line, column := j.Place(j.InputOffset())
	return j.in.Syntax(line, column, msg)
}

// Wrap turns an error of Token or Decode into a *SyntaxError with its place.
func (j *JSON) Wrap(err error) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var e *SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		line, column := j.Place(j.total)
		e = j.in.Syntax(line, column, "the file ends within a JSON value")
		e.Hint = "the file is cut: get it again"
	case errors.As(err, &syntax):
		// Decode reports offsets from the start of the value, Token from the
		// start of the input; the decoder's own offset is near either way.
		line, column := j.Place(max(j.InputOffset(), 0))
		msg, expected, found := JSONFault(err)
		if at, ok := j.broken(syntax); ok {
			line, column = j.Place(at)
			e = j.in.Syntax(line, column, msg)
		} else {
			e = j.in.Syntax(line, column, "at or after this place "+msg)
		}
		e.Expected, e.Found = expected, found
		if syntax.Error() == "unexpected end of JSON input" {
			line, column = j.Place(j.total)
			e = j.in.Syntax(line, column, "the file ends within a JSON value")
			e.Hint = "the file is cut: get it again"
		}
	case errors.As(err, &typ):
		line, column := j.Place(j.InputOffset())
		e = j.in.Syntax(line, column, "")
		e.Msg, e.Expected, e.Found = JSONFault(err)
	default:
		return fmt.Errorf("reading %s: %w", j.in.Name, err)
	}
	return e
}

// mostAgain bounds what is read a second time to find a place.
const mostAgain = 256 << 20

// broken finds the byte that breaks the JSON. A decoder that read tokens before
// does not know it, so the file is read again, where it is one.
func (j *JSON) broken(known *json.SyntaxError) (offset int64, ok bool) {
	if j.InputOffset() == 0 && known.Offset > 0 { // the first value is the broken one
		return known.Offset - 1, true
	}
	if j.in.path == "" {
		return 0, false
	}
	f, err := os.Open(j.in.path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	in, err := Open(j.in.Name, f)
	if err != nil {
		return 0, false
	}
	var whole json.RawMessage
	var syntax *json.SyntaxError
	err = json.NewDecoder(io.LimitReader(in, mostAgain)).Decode(&whole)
	if !errors.As(err, &syntax) || syntax.Error() != known.Error() {
		return 0, false
	}
	return syntax.Offset - 1, syntax.Offset > 0 && syntax.Offset <= j.total
}

// Delim reads one of { } [ ].
func (j *JSON) Delim(want json.Delim, what string) error {
	t, err := j.Token()
	if err != nil {
		return j.Wrap(err)
	}
	if t != want {
		e := j.Syntax("reading " + what)
		e.Expected, e.Found = Quote(want.String()), Quote(fmt.Sprint(t))
		return e
	}
	return nil
}

// Key reads the key of an object's next member.
func (j *JSON) Key() (string, error) {
	t, err := j.Token()
	if err != nil {
		return "", j.Wrap(err)
	}
	s, ok := t.(string)
	if !ok {
		e := j.Syntax("reading the key of an object")
		e.Found = Quote(fmt.Sprint(t))
		return "", e
	}
	return s, nil
}

// Member is Key for an object whose members must differ: seen holds those that
// were read, what is the object in the error for one that is there twice.
func (j *JSON) Member(seen map[string]bool, what string) (string, error) {
	key, err := j.Key()
	if err != nil {
		return "", err
	}
	if seen[key] {
		e := j.Syntax(what + " has a member twice")
		e.Found = Quote(key)
		return "", e
	}
	seen[key] = true
	return key, nil
}

// JSONText is a value that NewJSON or NewLooseJSON read as an attribute or a
// raw value holds it: a string without quotes, everything else as JSON writes
// it, and numbers as the file writes them.
func JSONText(v any) string {
	if s, ok := NotFinite(v); ok {
		return s
	}
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
