package papi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rooflab/rooflab/collectors"
)

// node is a JSON value. Objects keep the order of their members, and members
// of the same key: a region has one for each visit.
type node struct {
	text    string // of a text or a number
	members []member
	items   []*node
	offset  int64
}

type member struct {
	key   string
	value *node
}

// get returns the first member of a key.
func (n *node) get(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// elements are the items of a list, without keys, or the members of an object.
func (n *node) elements() []member {
	if n.items == nil {
		return n.members
	}
	ms := make([]member, len(n.items))
	for i, item := range n.items {
		ms[i].value = item
	}
	return ms
}

// maxDepth is far beyond what PAPI nests.
const maxDepth = 20

func (r *reader) read(ctx context.Context) (*node, error) {
	root, err := r.value(ctx, 0)
	if err != nil {
		return nil, err
	}
	if _, err := r.json.Token(); err == nil {
		return nil, r.json.Syntax("something follows the measurement")
	}
	return root, nil
}

func (r *reader) bad(n *node, msg, expected string) error {
	line, column := r.json.Place(n.offset)
	e := r.in.Syntax(line, column, msg)
	e.Expected, e.Hint = expected, "the file is damaged, or a version of PAPI that is not known here wrote it"
	if n.text != "" {
		e.Found = collectors.Quote(n.text)
	}
	return e
}

func (r *reader) value(ctx context.Context, depth int) (*node, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.in.Name, err)
	}
	t, err := r.json.Token()
	if err != nil {
		return nil, r.json.Wrap(err)
	}
	n := &node{offset: max(r.json.InputOffset()-1, 0)}
	if n.offset > fileLimit || depth > maxDepth {
		return nil, r.bad(n, "the file is too large or nested too deeply for a measurement of PAPI", "")
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			n.members = []member{}
			for r.json.More() {
				key, err := r.json.Key()
				if err != nil {
					return nil, err
				}
				v, err := r.value(ctx, depth+1)
				if err != nil {
					return nil, err
				}
				n.members = append(n.members, member{key, v})
			}
			return n, r.json.Delim('}', "the end of an object")
		}
		n.items = []*node{}
		for r.json.More() {
			v, err := r.value(ctx, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, v)
		}
		return n, r.json.Delim(']', "the end of a list")
	case string:
		n.text = t
		n.offset = max(n.offset-int64(len(t))-1, 0) // where its quotes begin
	case json.Number:
		n.text = t.String()
		n.offset = max(n.offset-int64(len(t))+1, 0)
	default:
		n.text = fmt.Sprint(t)
	}
	return n, nil
}
