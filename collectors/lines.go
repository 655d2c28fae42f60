package collectors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Line is a line of an Input.
type Line struct {
	Text   []byte // without its end, valid until the next line is read
	Number int    // from 1
	Ended  bool   // a last line without an end may have been cut
}

// linesPerLook is how many lines are read between looks at the context.
const linesPerLook = 1024

// Lines yields the lines that are left. An error, of reading or because ctx is
// done, comes last; at the end of the input there is none.
func (in *Input) Lines(ctx context.Context) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for n := 0; ; n++ {
			if n%linesPerLook == 0 && ctx.Err() != nil {
				yield(Line{}, fmt.Errorf("reading %s: %w", in.Name, ctx.Err()))
				return
			}
			text, number, ended, err := in.Line()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Line{}, err)
				return
			}
			if !yield(Line{text, number, ended}, nil) {
				return
			}
		}
	}
}

// Cut is the error for an input whose last line has no end and may be cut, at
// the end of what it has: length bytes. hint says where to get it again.
func (in *Input) Cut(line, length int, hint string) *SyntaxError {
	e := in.Syntax(line, length+1, "the file ends within a line")
	e.Expected, e.Hint = "a line end", hint
	return e
}
