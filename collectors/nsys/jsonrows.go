package nsys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
)

// The tables of nsys stats --format json: a list per report, and in it an
// object per row, whose members are the cells by the titles of the CSV.

var (
	rowsBegin = regexp.MustCompile(`^\[\s*\{\s*"[^"]*"\s*:`)
	measured  = regexp.MustCompile(`"(Total Time|Start|Duration|Avg|Total|Kernel Start) \((ns|us|ms|s|MB)\)"\s*:`)
)

func detectJSON(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	if !bytes.HasPrefix(b, []byte("[")) || !h.Has(`"Name"`, `"Operation"`, `"Range"`, `"Kernel Name"`, `"API Function"`) || !rowsBegin.Match(b) || !measured.Match(b) {
		return collectors.No
	}
	return collectors.Certain
}

func parseJSON(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	return parseSheet(ctx, in, out, "nsys-json", (*sheet).passJSON)
}

// passJSON is pass for JSON: rows come out as those of CSV would.
func (s *sheet) passJSON(ctx context.Context, name, path string) error {
	return s.from(name, path, func() error { return s.tablesJSON(ctx, name) })
}

func (s *sheet) tablesJSON(ctx context.Context, name string) error {
	j := collectors.NewLooseJSON(s.in)
	for lists := 0; ; lists++ {
		t, err := j.Token()
		if errors.Is(err, io.EOF) && lists > 0 {
			return nil
		}
		if err != nil {
			return j.Wrap(err)
		}
		if t != json.Delim('[') {
			e := j.Syntax("reading a table of nsys stats")
			e.Expected, e.Found, e.Hint = `a list of rows, "["`, collectors.Quote(fmt.Sprint(t)), "write it with nsys stats --format json --report cuda_gpu_kern_sum --output NAME REPORT"
			return e
		}
		s.table = nil
		for n := 0; j.More(); n++ {
			if n%1024 == 0 && ctx.Err() != nil {
				return fmt.Errorf("reading %s: %w", name, ctx.Err())
			}
			if err := s.object(j); err != nil {
				return err
			}
		}
		if err := j.Delim(']', "the end of a table"); err != nil {
			return err
		}
	}
}

// object reads one row.
func (s *sheet) object(j *collectors.JSON) error {
	if err := j.Delim('{', "a row"); err != nil {
		return err
	}
	var names []string
	var row []delimited.Cell
	for j.More() {
		key, err := j.Key()
		if err != nil {
			return err
		}
		var v any
		if err := j.Decode(&v); err != nil {
			return j.Wrap(err)
		}
		c := delimited.Cell{Quoted: true}
		c.Line, c.Column = j.Place(j.InputOffset())
		switch v.(type) {
		case nil:
		case map[string]any, []any:
			return s.r.Fault(c, "the value of "+collectors.Quote(key)+" that ends here is no cell of a table", "a text or a number")
		default:
			c.Text = collectors.JSONText(v)
		}
		names, row = append(names, key), append(row, c)
	}
	if err := j.Delim('}', "the end of a row"); err != nil {
		return err
	}
	s.r.Line, _ = j.Place(j.InputOffset())
	if s.table == nil {
		titles := strings.Join(names, ",")
		t := asTable(titles, "")
		if t == nil || len(t.titles) != len(row) {
			e := j.Syntax("the row that ends here is of no report of nsys stats that is known")
			e.Expected, e.Found, e.Hint = `members as "Time (%)", "Total Time (ns)", "Instances", "Name"`, collectors.Quote(titles), "take another report out of the file, or the database: nsys export --type sqlite"
			return e
		}
		s.begin(t)
	}
	same := len(names) == len(s.table.titles)
	for i := 0; same && i < len(names); i++ {
		same = asTitle(names[i]).label == s.table.titles[i].label
	}
	if !same {
		e := j.Syntax("the row that ends here has other members than the first of its table")
		e.Found, e.Hint = collectors.Quote(strings.Join(names, ",")), "the file is damaged: write it again"
		return e
	}
	s.rows++
	return s.row(row)
}
