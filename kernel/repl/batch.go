package repl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rooflab/rooflab/kernel/session"
)

// Separator is the line that parts two cells of a batch.
const Separator = "%%%"

// ErrStopped is what Batch returns when it stopped before the last cell.
var ErrStopped = errors.New("later cells were not run")

// Batch runs the cells read from in, one after the other, and returns how many
// failed. A failing cell does not keep later ones from running unless
// stopOnError is set; then, and when ctx ends, the error is ErrStopped.
// Cells run while later ones are still being written to in.
func Batch(ctx context.Context, s session.Session, in io.Reader, p *Printer, stopOnError bool) (failed int, err error) {
	s.Background(p.Event)
	defer s.Background(nil)
	stop := context.AfterFunc(ctx, s.Interrupt)
	defer stop()
	r := bufio.NewReader(in)
	for {
		src, err := readCell(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return failed, fmt.Errorf("reading cells: %w", err)
		}
		last := err != nil
		if ctx.Err() != nil {
			return failed, ErrStopped
		}
		if strings.TrimSpace(src) != "" {
			reply := s.Execute(session.Request{Source: src, StoreHistory: true}, p.Event)
			p.EndCell()
			if e := failure(reply); e != nil {
				failed++
				p.Failure(e)
				if (stopOnError || ctx.Err() != nil) && !last {
					return failed, ErrStopped
				}
			}
		}
		if last {
			return failed, nil
		}
	}
}

// readCell reads up to the next separator; io.EOF comes with the last cell.
func readCell(r *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if strings.TrimRight(line, " \t\r\n") == Separator {
			return b.String(), err
		}
		b.WriteString(line)
		if err != nil {
			return b.String(), err
		}
	}
}

// failure is why a cell did not end well, or nil.
func failure(r session.Reply) *session.Error {
	switch {
	case r.Status == "ok":
		return nil
	case r.Error != nil:
		return r.Error
	}
	return &session.Error{Name: "Aborted", Value: "the session ended the cell with status " + r.Status}
}
