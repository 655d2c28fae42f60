package caliper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/rooflab/rooflab/collectors"
)

// jsonSplit is a json-split file. Its rows come before the columns' names, so
// they have to be kept: memory grows with the file, which is an aggregated
// profile and small.
type jsonSplit struct {
	*profile
	j       *collectors.JSON
	rows    [][]any
	places  []int64 // offset of each row
	columns []string
	meta    []map[string]any
	nodes   []jsonNode
	seen    map[string]bool
	role    []role
	regions []int64 // region of each node of the path column, 0 while unknown
}

type jsonNode struct {
	Label  any    `json:"label"`
	Column string `json:"column"`
	Parent *int64 `json:"parent"`
}

func (n *jsonNode) label() string {
	if s, ok := n.Label.(string); ok {
		return s
	}
	return fmt.Sprint(n.Label)
}

// role is what a column is for.
type role int

const (
	roleNumber role = iota
	rolePath
	roleNode // of another tree: an attribute
)

func parseJSON(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	s := &jsonSplit{profile: newProfile(in, out, "caliper-json-split"), j: collectors.NewLooseJSON(in), seen: map[string]bool{}}
	if err := s.j.Delim('{', "the file"); err != nil {
		return err
	}
	for s.j.More() {
		if err := s.member(ctx); err != nil {
			return err
		}
	}
	if err := s.j.Delim('}', "the end of the file"); err != nil {
		return err
	}
	if _, err := s.j.Token(); !errors.Is(err, io.EOF) {
		e := s.j.Syntax("the file goes on after its object")
		e.Hint = "two files in one have to be cut apart"
		return e
	}
	for _, key := range []string{"data", "columns", "nodes"} {
		if !s.seen[key] {
			e := s.j.Syntax("the file lacks a member")
			e.Expected, e.Hint = collectors.Quote(key), "is this json-split? Write it with cali-query --query=\"format json-split\""
			return e
		}
	}
	if err := s.roles(); err != nil {
		return err
	}
	for i, row := range s.rows {
		if i%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", in.Name, ctx.Err())
		}
		if err := s.row(row, s.places[i]); err != nil {
			return err
		}
	}
	return s.finish()
}

// member reads one member of the file's object.
func (s *jsonSplit) member(ctx context.Context) error {
	key, err := s.j.Member(s.seen, "the file")
	if err != nil {
		return err
	}
	switch key {
	case "data":
		return s.data(ctx)
	case "columns":
		return s.j.Wrap(s.j.Decode(&s.columns))
	case "column_metadata":
		return s.j.Wrap(s.j.Decode(&s.meta))
	case "nodes":
		return s.readNodes()
	}
	// Everything else is a global of the run.
	var v any
	if err := s.j.Decode(&v); err != nil {
		return s.j.Wrap(err)
	}
	switch v := v.(type) {
	case string:
		return s.global(key, v)
	case json.Number, bool:
		return s.global(key, fmt.Sprint(v))
	case nil:
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("reading %s: the member %s: %w", s.in.Name, key, err)
	}
	return s.global(key, string(text))
}

func (s *jsonSplit) data(ctx context.Context) error {
	if err := s.j.Delim('[', `"data"`); err != nil {
		return err
	}
	for s.j.More() {
		if len(s.rows)%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", s.in.Name, ctx.Err())
		}
		var row []any
		if err := s.j.Decode(&row); err != nil {
			return s.j.Wrap(err)
		}
		s.rows = append(s.rows, row)
		s.places = append(s.places, s.j.InputOffset())
	}
	return s.j.Delim(']', `"data"`)
}

func (s *jsonSplit) readNodes() error {
	if err := s.j.Delim('[', `"nodes"`); err != nil {
		return err
	}
	for s.j.More() {
		var n jsonNode
		if err := s.j.Decode(&n); err != nil {
			return s.j.Wrap(err)
		}
		// A parent comes before its children, so there can be no circle.
		if n.Parent != nil && (*n.Parent < 0 || *n.Parent >= int64(len(s.nodes))) {
			e := s.j.Syntax(fmt.Sprintf("the parent of node %d is no node before it", len(s.nodes)))
			e.Found = strconv.FormatInt(*n.Parent, 10)
			return e
		}
		if n.Label == nil {
			e := s.j.Syntax(fmt.Sprintf("node %d has no label", len(s.nodes)))
			return e
		}
		s.nodes = append(s.nodes, n)
	}
	return s.j.Delim(']', `"nodes"`)
}

// roles decides what each column is.
func (s *jsonSplit) roles() error {
	if s.meta != nil && len(s.meta) != len(s.columns) {
		e := s.j.Syntax("the numbers of columns and of their descriptions differ")
		e.Expected, e.Found = strconv.Itoa(len(s.columns))+" descriptions", strconv.Itoa(len(s.meta))
		return e
	}
	trees, deep := map[string]bool{}, map[string]bool{}
	for i := range s.nodes {
		trees[s.nodes[i].Column] = true
		if s.nodes[i].Parent != nil {
			deep[s.nodes[i].Column] = true
		}
	}
	s.role = make([]role, len(s.columns))
	path := -1
	for i, name := range s.columns {
		isNode := trees[name]
		if s.meta != nil {
			if v, ok := s.meta[i]["is_value"].(bool); ok {
				isNode = !v
			}
		}
		if !isNode {
			continue
		}
		s.role[i] = roleNode
		// The path, else the deepest hierarchy: a call path.
		better := path < 0 || name == "path" || s.columns[path] != "path" && deep[name] && (!deep[s.columns[path]] || isCallpath(name) && !isCallpath(s.columns[path]))
		if better {
			path = i
		}
	}
	if path >= 0 {
		s.role[path] = rolePath
	}
	s.regions = make([]int64, len(s.nodes))
	return nil
}

// unit returns a column's unit, as far as the file tells.
func (s *jsonSplit) unit(column int) string {
	if s.meta == nil {
		return ""
	}
	for _, key := range []string{"attribute.unit", "unit"} {
		if u, ok := s.meta[column][key].(string); ok {
			return u
		}
	}
	return ""
}

func (s *jsonSplit) row(row []any, offset int64) error {
	fail := func(msg string) *collectors.SyntaxError {
		line, column := s.j.Place(offset)
		return s.in.Syntax(line, column, msg)
	}
	if len(row) != len(s.columns) {
		e := fail("the row that ends here has not one cell per column")
		e.Expected, e.Found = strconv.Itoa(len(s.columns))+" cells", strconv.Itoa(len(row))
		return e
	}
	o := &observation{}
	for i, cell := range row {
		name := s.columns[i]
		if cell == nil {
			continue // this record does not have the attribute
		}
		if s.role[i] != roleNumber {
			num, ok := cell.(json.Number)
			id, err := strconv.ParseInt(num.String(), 10, 64)
			if !ok || err != nil || id < 0 || id >= int64(len(s.nodes)) {
				e := fail("the cell of column " + collectors.Quote(name) + " in the row that ends here is no node")
				e.Expected, e.Found = fmt.Sprintf("a number below %d", len(s.nodes)), collectors.Quote(fmt.Sprint(cell))
				return e
			}
			if s.role[i] == rolePath {
				o.region = s.nodeRegion(id)
			} else {
				o.attrs = append(o.attrs, [2]string{name, s.nodes[id].label()})
			}
			continue
		}
		if word, not := collectors.NotFinite(cell); not { // Caliper writes doubles as C does
			cell = json.Number(word)
		}
		switch v := cell.(type) {
		case json.Number:
			n, ok := number(name, v.String(), s.unit(i))
			if !ok {
				e := fail("the cell of column " + collectors.Quote(name) + " in the row that ends here fits no number of 64 bits")
				e.Found = collectors.Quote(v.String())
				return e
			}
			if !o.dimension(name, n) {
				o.values = append(o.values, n)
			}
		case string:
			o.attrs = append(o.attrs, [2]string{name, v})
		case bool:
			o.attrs = append(o.attrs, [2]string{name, strconv.FormatBool(v)})
		default:
			return fail("the cell of column " + collectors.Quote(name) + " in the row that ends here is neither number nor text")
		}
	}
	return s.add(o)
}

// nodeRegion returns the region of a node of the path.
func (s *jsonSplit) nodeRegion(id int64) int64 {
	if s.regions[id] != 0 {
		return s.regions[id]
	}
	// Walk up to the first ancestor whose region is known, then down.
	chain := []int64{id}
	for n := &s.nodes[id]; n.Parent != nil && s.regions[*n.Parent] == 0; n = &s.nodes[*n.Parent] {
		chain = append(chain, *n.Parent)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		n := &s.nodes[chain[i]]
		var parent int64
		if n.Parent != nil {
			parent = s.regions[*n.Parent]
		}
		s.regions[chain[i]] = s.region(parent, n.Column, n.label())
	}
	return s.regions[id]
}
