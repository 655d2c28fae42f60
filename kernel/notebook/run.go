package notebook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rooflab/rooflab/kernel/session"
)

// RunOptions configure Run; the zero value runs all cells and says nothing.
type RunOptions struct {
	// Started hears of each code cell before it runs, Finished afterwards.
	Started  func(Progress)
	Finished func(Progress)
	// Event sees each event of the running cell after it was recorded.
	Event func(session.Event)
	// CellTimeout interrupts a cell that runs longer; 0 means no limit.
	CellTimeout time.Duration
}

// Progress is the state of a run at one code cell.
type Progress struct {
	Cell     *Cell
	Number   int // place of the cell in the notebook, 1-based, all kinds counted
	Index    int // place among the code cells to run, 1-based
	Total    int // number of code cells to run
	Elapsed  time.Duration
	Error    *session.Error // why the cell failed, nil if it did not
	Expected bool           // the cell is tagged "raises-exception", so the run goes on
}

// Summary says how a run ended.
type Summary struct {
	Ran, Total int       // code cells run (failed ones included) and to run
	Failed     *Progress // the cell that ended the run, nil if all went well
}

// Run executes the code cells of nb in order and puts their outputs into nb in
// place. The first failing cell ends the run, unless it is tagged
// "raises-exception"; its error is its last output, and the outputs of later
// cells are removed, since they do not belong to this run. Cells tagged
// "skip-execution" and empty cells do not run. When ctx ends the running cell
// is interrupted and counts as failed.
func Run(ctx context.Context, nb *Notebook, s session.Session, opts RunOptions) Summary {
	rec := newRecorder()
	s.Background(rec.record)
	defer s.Background(nil)
	var todo []*Progress
	for i, c := range nb.Cells {
		if c.Type != Code {
			continue
		}
		if !c.HasTag(TagSkipExecution) {
			c.Outputs, c.Count = nil, 0
			if strings.TrimSpace(c.Source) != "" {
				todo = append(todo, &Progress{Cell: c, Number: i + 1})
			}
		}
	}
	sum := Summary{Total: len(todo)}
	for i, p := range todo {
		p.Index, p.Total = i+1, len(todo)
		if err := ctx.Err(); err != nil {
			p.Error = &session.Error{Name: "Interrupted", Value: "the run was stopped before this cell: " + context.Cause(ctx).Error()}
			sum.Failed = p
			return sum
		}
		if opts.Started != nil {
			opts.Started(*p)
		}
		begin := time.Now()
		p.Error = runCell(ctx, p.Cell, s, rec, opts)
		p.Elapsed = time.Since(begin)
		p.Expected = p.Cell.HasTag(TagRaisesException)
		sum.Ran++
		if opts.Finished != nil {
			opts.Finished(*p)
		}
		if p.Error != nil && !p.Expected {
			sum.Failed = p
			return sum
		}
	}
	return sum
}

// runCell runs one cell and returns why it failed, or nil.
func runCell(ctx context.Context, c *Cell, s session.Session, rec *recorder, opts RunOptions) *session.Error {
	rec.begin(c)
	if opts.CellTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.CellTimeout,
			fmt.Errorf("the cell ran longer than %v", opts.CellTimeout))
		defer cancel()
	}
	stop := context.AfterFunc(ctx, s.Interrupt)
	reply := s.Execute(session.Request{Source: c.Source, StoreHistory: true}, func(ev session.Event) {
		rec.record(ev)
		if opts.Event != nil {
			opts.Event(ev)
		}
	})
	rec.end()
	interrupted := !stop()
	c.Count = reply.Count
	if reply.Status == "ok" {
		return nil
	}
	e := reply.Error
	if e == nil {
		e = &session.Error{Name: "Aborted", Value: "the session ended the cell with status " + reply.Status}
	}
	if interrupted && ctx.Err() != nil {
		err := *e // why it was interrupted is worth more than that it was
		err.Value += " (" + context.Cause(ctx).Error() + ")"
		e = &err
	}
	rec.fail(e)
	return e
}
