package caliper

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

type caliReader struct {
	*profile
	nodes   map[int64]node
	attrs   map[int64]*attribute
	chains  map[int64]*resolved
	pending []pendingRecord // records that refer to nodes which come later
	globals int
	last    int
}

type pendingRecord struct {
	rec  record
	line int
}

func parseCali(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	c := &caliReader{profile: newProfile(in, out, "caliper-cali"), nodes: map[int64]node{}, attrs: map[int64]*attribute{}, chains: map[int64]*resolved{}}
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		text, line, ended := l.Text, l.Number, l.Ended
		c.last = line
		if len(strings.TrimSpace(string(text))) == 0 {
			continue
		}
		rec, err := c.split(string(text), line)
		if err != nil {
			return err
		}
		if !ended {
			e := in.Syntax(line, len(text)+1, "the file ends within a record")
			e.Expected, e.Hint = "a line end", "if the file is whole, end it with a newline; else get it again"
			return e
		}
		if err := c.record(rec, line); err != nil {
			return err
		}
	}
	return c.end()
}

// record is a line, cut into its entries.
type record struct {
	kind    string
	entries map[string]entry
}

type entry struct {
	values []string
	column int
}

// split cuts a line at its commas and equals signs; a backslash takes the next
// character as it is.
func (c *caliReader) split(text string, line int) (record, error) {
	rec := record{entries: map[string]entry{}}
	var parts []string
	var b strings.Builder
	start := 0
	flush := func() { parts = append(parts, b.String()); b.Reset() }
	end := func(at int) error {
		flush()
		key := parts[0]
		if _, twice := rec.entries[key]; twice {
			e := c.in.Syntax(line, start+1, "the record has an entry twice")
			e.Found = collectors.Quote(key)
			return e
		}
		rec.entries[key] = entry{append([]string(nil), parts[1:]...), start + 1}
		parts = parts[:0]
		start = at + 1
		return nil
	}
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; ch {
		case '\\':
			if i++; i < len(text) {
				if text[i] == 'n' { // Caliper writes a line end so
					b.WriteByte('\n')
				} else {
					b.WriteByte(text[i])
				}
			}
		case ',':
			if err := end(i); err != nil {
				return rec, err
			}
		case '=':
			flush()
		default:
			b.WriteByte(ch)
		}
	}
	if err := end(len(text)); err != nil {
		return rec, err
	}
	kind := rec.entries["__rec"]
	if len(kind.values) != 1 {
		e := c.in.Syntax(line, 1, "the line is no record")
		e.Expected, e.Found, e.Hint = `"__rec="`, collectors.Quote(text), "this is not a .cali file, or a line of it is damaged"
		return rec, e
	}
	rec.kind = kind.values[0]
	return rec, nil
}

func (c *caliReader) record(rec record, line int) error {
	switch rec.kind {
	case "node":
		return c.node(rec, line)
	case "ctx", "globals":
		err := c.emit(rec, line)
		var unknown *unknownNode
		if errors.As(err, &unknown) {
			c.pending = append(c.pending, pendingRecord{rec, line})
			return nil
		}
		return err
	}
	if !c.warned[rec.kind] {
		c.warned[rec.kind] = true
		c.out.Warn(line, 7, "records of the unknown kind %s are left out", collectors.Quote(rec.kind))
	}
	return nil
}

// ids reads an entry as ids; it may be absent.
func (c *caliReader) ids(rec record, key string, line int) ([]int64, error) {
	e := rec.entries[key]
	ids := make([]int64, 0, len(e.values))
	for _, v := range e.values {
		id, err := strconv.ParseUint(v, 10, 62)
		if err != nil {
			s := c.in.Syntax(line, e.column, "the entry "+key+" is no node's number")
			s.Expected, s.Found, s.Hint = "a number", collectors.Quote(v), "the line is damaged: get the file again"
			return nil, s
		}
		ids = append(ids, int64(id))
	}
	return ids, nil
}

// emit reads a record of measurements, or of globals.
func (c *caliReader) emit(rec record, line int) error {
	refs, err := c.ids(rec, "ref", line)
	if err != nil {
		return err
	}
	attrs, err := c.ids(rec, "attr", line)
	if err != nil {
		return err
	}
	data := rec.entries["data"]
	if len(attrs) != len(data.values) {
		e := c.in.Syntax(line, max(data.column, 1), "the record has not one value per attribute")
		e.Expected, e.Found, e.Hint = strconv.Itoa(len(attrs))+" values", strconv.Itoa(len(data.values)), "the line is damaged: get the file again"
		return e
	}
	chains := make([]*resolved, len(refs))
	for i, id := range refs {
		if chains[i], err = c.resolve(id, line); err != nil {
			return err
		}
	}
	defs := make([]*attribute, len(attrs))
	for i, id := range attrs {
		if defs[i], err = c.attribute(id, line); err != nil {
			return err
		}
	}
	if rec.kind == "globals" {
		return c.globalRecord(chains, defs, data.values)
	}
	o := &observation{}
	for _, r := range chains {
		for _, kv := range r.globals {
			if err := c.global(kv[0], kv[1]); err != nil {
				return err
			}
		}
		for _, v := range r.numbers {
			if !o.dimension(v.metric, v) {
				o.values = append(o.values, v)
			}
		}
		o.attrs = append(o.attrs, r.other...)
	}
	o.region = c.pathRegion(chains)
	for i, a := range defs {
		text := data.values[i]
		if !a.numeric() {
			if isKernel(a.name) {
				o.region = c.region(o.region, a.name, text)
			} else {
				o.attrs = append(o.attrs, [2]string{a.name, text})
			}
			continue
		}
		v, ok := number(a.name, text, a.unit)
		if !ok {
			e := c.in.Syntax(line, data.column, "the value of "+a.name+" is no number")
			e.Expected, e.Found, e.Hint = "a value of type "+a.typ, collectors.Quote(text), "the line is damaged: get the file again"
			return e
		}
		if a.alias != "" && !c.warned["alias "+a.name] {
			c.warned["alias "+a.name] = true
			if err := c.global("alias "+a.name, a.alias); err != nil {
				return err
			}
		}
		if !o.dimension(a.name, v) {
			o.values = append(o.values, v)
		}
	}
	return c.add(o)
}

// pathRegion returns the region of a record: its nested attributes, else its
// call path; a GPU kernel is a leaf below.
func (c *caliReader) pathRegion(chains []*resolved) int64 {
	var region int64
	for _, r := range chains {
		for _, kv := range r.path {
			region = c.region(region, kv[0], kv[1])
		}
	}
	for _, r := range chains {
		if region == 0 {
			for _, kv := range r.calls {
				region = c.region(region, kv[0], kv[1])
			}
		}
	}
	for _, r := range chains {
		if r.kernel[0] != "" {
			region = c.region(region, r.kernel[0], r.kernel[1])
		}
	}
	return region
}

// globalRecord reads what the file says about the run.
func (c *caliReader) globalRecord(chains []*resolved, defs []*attribute, values []string) error {
	c.globals++
	for _, r := range chains {
		for _, kvs := range [][][2]string{r.globals, r.path, r.other} {
			for _, kv := range kvs {
				if err := c.global(kv[0], kv[1]); err != nil {
					return err
				}
			}
		}
		for _, v := range r.numbers {
			if err := c.global(v.metric, v.text); err != nil {
				return err
			}
		}
	}
	for i, a := range defs {
		if err := c.global(a.name, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// end emits the records that waited for nodes, and closes the run.
func (c *caliReader) end() error {
	if c.last == 0 {
		e := c.in.Syntax(1, 1, "the file is empty")
		e.Expected = `records that begin with "__rec="`
		return e
	}
	for _, pend := range c.pending {
		err := c.emit(pend.rec, pend.line)
		var unknown *unknownNode
		if errors.As(err, &unknown) {
			e := c.in.Syntax(pend.line, max(pend.rec.entries["ref"].column, 1), "the record refers to a node that the file does not have")
			e.Found, e.Hint = unknown.Error(), "a line is missing: get the file again"
			return e
		}
		if err != nil {
			return err
		}
	}
	if c.globals == 0 && !strings.HasPrefix(c.run.ToolVersion, "1.") { // version 1 wrote none
		c.out.Warn(c.last, 1, "the file has no record of globals, which comes last: it may have been cut after this line")
	}
	return c.finish()
}
