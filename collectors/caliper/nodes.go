package caliper

import (
	"fmt"
	"strconv"

	"github.com/rooflab/rooflab/collectors"
)

// Nodes that every stream has without saying so. The first eight, and 11, are
// the types; the others are the attributes by which attributes are described.
const (
	nodeName = 8
	nodeType = 9
	nodeProp = 10
)

var typeNodes = map[int64]string{0: "usr", 1: "int", 2: "uint", 3: "string", 4: "addr", 5: "double", 6: "bool", 7: "type", 11: "ptr"}

// Properties of attributes.
const (
	propNested = 256
	propGlobal = 512
)

// node is one entry of the tree of values: attribute, value, parent.
type node struct {
	attr   int64
	data   string
	parent int64 // -1: none
	line   int
}

// attribute is a node that describes an attribute.
type attribute struct {
	name, typ, unit, alias string
	prop                   int64
}

func (a *attribute) numeric() bool { return a.typ == "int" || a.typ == "uint" || a.typ == "double" }

// resolved is what the chain from one node to its root says.
type resolved struct {
	path    [][2]string // attribute and label of nested attributes, outermost first
	calls   [][2]string // the same of call paths
	kernel  [2]string
	other   [][2]string
	numbers []value // numbers that are stored in nodes
	globals [][2]string
}

// unknownNode says that a record refers to a node that was not seen yet.
type unknownNode struct{ id int64 }

func (e *unknownNode) Error() string { return fmt.Sprintf("node %d", e.id) }

// node reads a node record.
func (c *caliReader) node(rec record, line int) error {
	n := node{parent: -1, line: line}
	var id int64
	for _, f := range []struct {
		key  string
		dst  *int64
		must bool
	}{{"id", &id, true}, {"attr", &n.attr, true}, {"parent", &n.parent, false}} {
		ids, err := c.ids(rec, f.key, line)
		if err != nil {
			return err
		}
		switch {
		case len(ids) == 1:
			*f.dst = ids[0]
		case len(ids) > 1 || f.must:
			e := c.in.Syntax(line, max(rec.entries[f.key].column, 1), "the node has no single entry "+f.key)
			e.Expected, e.Found, e.Hint = f.key+"=NUMBER", strconv.Itoa(len(ids))+" numbers", "the line is damaged: get the file again"
			return e
		}
	}
	data, ok := rec.entries["data"]
	if !ok || len(data.values) != 1 {
		e := c.in.Syntax(line, max(data.column, 1), "the node has no single value")
		e.Expected, e.Hint = "data=VALUE", "the line is damaged: get the file again"
		return e
	}
	n.data = data.values[0]
	if _, builtin := typeNodes[id]; builtin || id == nodeName || id == nodeType || id == nodeProp {
		return nil // some writers repeat what every stream has
	}
	if old, ok := c.nodes[id]; ok {
		if old.attr == n.attr && old.data == n.data && old.parent == n.parent {
			return nil
		}
		e := c.in.Syntax(line, rec.entries["id"].column, fmt.Sprintf("node %d is another one than in line %d", id, old.line))
		e.Hint = "two streams in one file have to be cut apart"
		return e
	}
	c.nodes[id] = n
	return nil
}

// maxDepth is how long a chain of nodes may be; real ones have some hundred.
const maxDepth = 1 << 16

// chain calls visit for a node and those above it.
func (c *caliReader) chain(id int64, line int, visit func(id int64, n node) error) error {
	for depth := 0; id >= 0; depth++ {
		if _, builtin := typeNodes[id]; builtin {
			return visit(id, node{attr: nodeType, data: typeNodes[id], parent: -1})
		}
		n, ok := c.nodes[id]
		if !ok {
			return &unknownNode{id}
		}
		if depth == maxDepth {
			e := c.in.Syntax(n.line, 1, fmt.Sprintf("the parents of node %d never end", id))
			e.Hint = "the file is damaged: get it again"
			return e
		}
		if err := visit(id, n); err != nil {
			return err
		}
		id = n.parent
	}
	return nil
}

// attribute returns the attribute that a node describes.
func (c *caliReader) attribute(id int64, line int) (*attribute, error) {
	if a := c.attrs[id]; a != nil {
		return a, nil
	}
	a := &attribute{}
	switch id {
	case nodeName:
		a.name = "cali.attribute.name"
	case nodeType:
		a.name = "cali.attribute.type"
	case nodeProp:
		a.name = "cali.attribute.prop"
	default:
		first := true
		err := c.chain(id, line, func(_ int64, n node) error {
			if first && n.attr != nodeName {
				e := c.in.Syntax(line, 1, fmt.Sprintf("the record takes node %d for an attribute, which it is not", id))
				e.Hint = "the file is damaged: get it again"
				return e
			}
			switch {
			case first:
				a.name = n.data
			case n.attr == nodeType:
				a.typ = n.data
			case n.attr == nodeProp:
				prop, err := strconv.ParseInt(n.data, 10, 64)
				if err != nil {
					e := c.in.Syntax(n.line, 1, "the properties of an attribute are no number")
					e.Found = collectors.Quote(n.data)
					return e
				}
				a.prop = prop
			default:
				if m := c.nodes[n.attr]; (m.data == "attribute.unit" || m.data == "time.unit") && a.unit == "" { // the latter in version 1
					a.unit = n.data
				} else if m.data == "attribute.alias" && a.alias == "" {
					a.alias = n.data
				}
			}
			first = false
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	c.attrs[id] = a
	return a, nil
}

// resolve reads the chain of a node.
func (c *caliReader) resolve(id int64, line int) (*resolved, error) {
	if r := c.chains[id]; r != nil {
		return r, nil
	}
	var up []node
	err := c.chain(id, line, func(_ int64, n node) error {
		up = append(up, n)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &resolved{}
	for i := len(up) - 1; i >= 0; i-- {
		n := up[i]
		if n.attr == nodeType || n.attr == nodeProp || n.attr == nodeName {
			continue
		}
		a, err := c.attribute(n.attr, n.line)
		if err != nil {
			return nil, err
		}
		kv := [2]string{a.name, n.data}
		switch {
		case a.prop&propGlobal != 0:
			r.globals = append(r.globals, kv)
		case a.prop&propNested != 0:
			r.path = append(r.path, kv)
		case isCallpath(a.name):
			r.calls = append(r.calls, kv)
		case isKernel(a.name):
			r.kernel = kv
		case a.numeric():
			if v, ok := number(a.name, n.data, a.unit); ok {
				r.numbers = append(r.numbers, v)
				break
			}
			fallthrough
		default:
			r.other = append(r.other, kv)
		}
	}
	c.chains[id] = r
	return r, nil
}
