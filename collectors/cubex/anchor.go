package cubex

import (
	"bufio"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// anchor is what anchor.xml says.
type anchor struct {
	version string
	attrs   [][2]string
	metrics []*metric
	regions map[string]*region
	nodes   []*node // in order of the file: depth first
	roots   []*node
	places  []*location // in order of the system tree
	host    string
}

type metric struct {
	id, kind, name, display, dtype, unit, parent, expression string
}

type region struct {
	name, mangled, module, begin, end, paradigm, role, descr string
}

type node struct {
	id       string
	region   string
	parent   *node
	children []*node
	attrs    [][2]string
	line     int
	index    int // from 0, in order of the file
}

type location struct {
	id, name, rank, kind    string
	group, groupRank, above string
}

// frame is an element that is open.
type frame struct {
	name   string
	metric *metric
	region *region
	node   *node
	loc    *location
	// of the system tree
	label, rank string
}

// maxDepth is how deep elements may nest; call trees have some hundred levels.
const maxDepth = 10000

// readAnchor reads anchor.xml, which may be packed.
func readAnchor(in *collectors.Input, r io.Reader) (*anchor, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := br.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, broken(in, getAgain, "anchor.xml within the archive begins as gzip does, and cannot be unpacked")
		}
		br = bufio.NewReaderSize(io.LimitReader(z, 1<<30), 64<<10)
	}
	d := xml.NewDecoder(br)
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	a := &anchor{regions: map[string]*region{}}
	var open []frame
	var text strings.Builder
	for {
		tok, err := d.Token()
		line, column := d.InputPos()
		if err != nil {
			if errors.Is(err, io.EOF) && len(open) == 0 && a.version != "" {
				return a, nil
			}
			e := in.Syntax(line, column, "anchor.xml within the archive: the XML is broken")
			var broken *xml.SyntaxError
			switch {
			case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &broken) && broken.Msg == "unexpected EOF":
				e.Msg = "anchor.xml within the archive ends too early"
			case errors.As(err, &broken):
				e.Msg += ": " + broken.Msg
			}
			e.Hint = getAgain
			return nil, e
		}
		switch t := tok.(type) {
		case xml.StartElement:
			text.Reset()
			f, err := a.start(in, t, open, line, column)
			if err != nil {
				return nil, err
			}
			if open = append(open, f); len(open) > maxDepth {
				return nil, in.Syntax(line, column, "anchor.xml within the archive: elements are nested deeper than "+strconv.Itoa(maxDepth))
			}
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			if len(open) == 0 {
				continue
			}
			f := open[len(open)-1]
			open = open[:len(open)-1]
			a.end(f, open, strings.TrimSpace(text.String()))
			text.Reset()
		}
	}
}

func attr(t xml.StartElement, names ...string) string {
	for _, a := range t.Attr {
		for _, n := range names {
			if a.Name.Local == n {
				return a.Value
			}
		}
	}
	return ""
}

func (a *anchor) start(in *collectors.Input, t xml.StartElement, open []frame, line, column int) (frame, error) {
	f := frame{name: t.Name.Local}
	up := frame{}
	if len(open) > 0 {
		up = open[len(open)-1]
	} else if f.name != "cube" {
		e := in.Syntax(line, column, "anchor.xml within the archive is no description of a profile")
		e.Expected, e.Found = `the element "cube"`, collectors.Quote(f.name)
		return f, e
	}
	switch f.name {
	case "cube":
		a.version = attr(t, "version")
		if a.version == "" {
			a.version = "unknown"
		}
	case "attr":
		kv := [2]string{attr(t, "key"), attr(t, "value")}
		switch {
		case kv[0] == "":
		case up.name == "cube":
			a.attrs = append(a.attrs, kv)
		case up.node != nil:
			up.node.attrs = append(up.node.attrs, kv)
		case up.name == "systemtreenode" || up.name == "locationgroup" || up.name == "location":
			a.attrs = append(a.attrs, [2]string{strings.TrimSpace(up.name+" "+up.label) + " " + kv[0], kv[1]})
		}
	case "parameter":
		if up.node != nil {
			up.node.attrs = append(up.node.attrs, [2]string{"parameter " + attr(t, "parkey"), attr(t, "parvalue")})
		}
	case "metric":
		f.metric = &metric{id: attr(t, "id"), kind: strings.ToUpper(attr(t, "type"))}
		if up.metric != nil {
			f.metric.parent = up.metric.name
		}
		a.metrics = append(a.metrics, f.metric)
	case "region":
		f.region = &region{module: attr(t, "mod"), begin: attr(t, "begin"), end: attr(t, "end")}
		a.regions[attr(t, "id")] = f.region
	case "cnode":
		f.node = &node{id: attr(t, "id"), region: attr(t, "calleeId"), line: line, index: len(a.nodes), parent: up.node}
		if up.node != nil {
			up.node.children = append(up.node.children, f.node)
		} else {
			a.roots = append(a.roots, f.node)
		}
		a.nodes = append(a.nodes, f.node)
	case "location":
		f.loc = &location{id: attr(t, "Id", "id")}
		if up.name == "locationgroup" {
			f.loc.group, f.loc.groupRank = up.label, up.rank
		}
		for _, o := range open {
			if o.name == "systemtreenode" {
				f.loc.above += o.label + "/"
			}
		}
		a.places = append(a.places, f.loc)
	}
	return f, nil
}

// end takes the text of an element that is a value of the one around it.
func (a *anchor) end(f frame, open []frame, text string) {
	if len(open) == 0 {
		return
	}
	up := &open[len(open)-1]
	var dst *string
	switch {
	case up.metric != nil:
		dst = map[string]*string{"disp_name": &up.metric.display, "uniq_name": &up.metric.name, "dtype": &up.metric.dtype, "uom": &up.metric.unit, "cubepl": &up.metric.expression}[f.name]
	case up.region != nil:
		dst = map[string]*string{"name": &up.region.name, "mangled_name": &up.region.mangled, "paradigm": &up.region.paradigm, "role": &up.region.role, "descr": &up.region.descr}[f.name]
	case up.loc != nil:
		dst = map[string]*string{"name": &up.loc.name, "rank": &up.loc.rank, "type": &up.loc.kind}[f.name]
	case up.name == "systemtreenode" || up.name == "locationgroup":
		dst = map[string]*string{"name": &up.label, "rank": &up.rank}[f.name]
		if f.name == "class" && text == "node" && a.host == "" {
			a.host = strings.TrimPrefix(up.label, "node ")
		}
	}
	if dst != nil {
		*dst = text
	}
}

// deep numbers the nodes as the rows of exclusive metrics.
func (a *anchor) deep() []*node { return a.nodes }

// wide numbers the nodes as the rows of inclusive metrics: the children of a
// node follow each other, then each child is entered.
func (a *anchor) wide() []*node {
	out := make([]*node, 0, len(a.nodes))
	for _, root := range a.roots {
		out = append(out, root)
		stack := []*node{root}
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			out = append(out, n.children...)
			for i := len(n.children) - 1; i >= 0; i-- {
				stack = append(stack, n.children[i])
			}
		}
	}
	return out
}
