package rules

import (
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// hunks are changes of bytes as changes of whole lines: one for all that are near.
func (f *finder) hunks(changes []change) ([]edit.Hunk, string) {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b change) int { return a.start - b.start })
	for i := 1; i < len(changes); i++ {
		if changes[i].start < changes[i-1].end {
			return nil, "its changes overlap"
		}
	}
	var out []edit.Hunk
	for i := 0; i < len(changes); {
		first, last := f.file.Line(changes[i].start), f.file.Line(changes[i].end)
		j := i + 1
		for j < len(changes) && f.file.Line(changes[j].start) <= last+3 {
			last = max(last, f.file.Line(changes[j].end))
			j++
		}
		begin := f.lineStart(first)
		end := len(f.file.Text)
		if last < len(f.lines) {
			end = f.lineStart(last+1) - 1
		}
		var b strings.Builder
		at := begin
		for _, c := range changes[i:j] {
			b.WriteString(f.file.Text[at:c.start])
			b.WriteString(c.text)
			at = c.end
		}
		b.WriteString(f.file.Text[at:end])
		old, now := splitLines(f.file.Text[begin:end]), splitLines(b.String())
		// What both begin and end with is not part of the change.
		for len(old) > 1 && len(now) > 1 && old[0] == now[0] {
			old, now, first = old[1:], now[1:], first+1
		}
		for len(old) > 1 && len(now) > 1 && old[len(old)-1] == now[len(now)-1] {
			old, now, last = old[:len(old)-1], now[:len(now)-1], last-1
		}
		if !slices.ContainsFunc(f.source.Editable, func(r edit.Range) bool { return r.Start <= first && r.End >= last }) {
			return nil, "its lines may not be changed"
		}
		out = append(out, edit.Hunk{File: f.path, Search: old, Replace: now, At: first})
		i = j
	}
	if len(out) == 0 {
		return nil, "it changes nothing"
	}
	return out, ""
}

func splitLines(s string) []string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// lineStart is the offset of a line's first byte.
func (f *finder) lineStart(line int) int {
	at := 0
	for _, l := range f.lines[:line-1] {
		at += len(l) + 1
	}
	return at
}

// indent is the white space that the line of an offset begins with.
func (f *finder) indent(offset int) string {
	l := f.lines[f.file.Line(offset)-1]
	return l[:len(l)-len(strings.TrimLeft(l, " \t"))]
}

// alone reports whether a statement stands in a block, where others can be put
// beside it.
func (f *finder) alone(n *syntax.Node) bool {
	p := f.parent[n]
	return p != nil && p.Kind == syntax.Block
}

// replaced is the text of a node with changes within.
func (f *finder) replaced(n *syntax.Node, changes []change) string {
	slices.SortStableFunc(changes, func(a, b change) int { return a.start - b.start })
	var b strings.Builder
	at := n.Start
	for _, c := range changes {
		if c.start < at {
			continue
		}
		b.WriteString(f.file.Text[at:c.start])
		b.WriteString(c.text)
		at = c.end
	}
	b.WriteString(f.file.Text[at:n.End])
	return b.String()
}

// macro reports whether any of a node's text comes out of a macro, or a comment or
// directive stands in it, so that its pieces cannot be moved.
func (f *finder) macro(n *syntax.Node) bool {
	for p := n; p != nil; p = f.parent[p] {
		if p.Kind == syntax.Macro {
			return true
		}
	}
	return false
}

// fresh is a name that the file does not use.
func (f *finder) fresh(name string) string {
	for strings.Contains(f.file.Text, name) {
		name += "_"
	}
	return name
}

// head is the text of a loop up to its body: "for (...)".
func (f *finder) head(n *syntax.Node) (start, end int) {
	end = n.Kids[3].Start
	t := f.file.Text[n.Start:end]
	return n.Start, n.Start + strings.LastIndexByte(t, ')') + 1
}

// only is the one statement of a loop's body, nil where there are more.
func only(body *syntax.Node) *syntax.Node {
	for body != nil && body.Kind == syntax.Block {
		if len(body.Kids) != 1 {
			return nil
		}
		body = body.Kids[0]
	}
	return body
}

// statements are those of a loop's body.
func statements(body *syntax.Node) []*syntax.Node {
	if body == nil {
		return nil
	}
	if body.Kind == syntax.Block {
		return body.Kids
	}
	return []*syntax.Node{body}
}

// innermost reports whether a loop has none in it.
func (f *finder) innermost(l *loop) bool {
	found := false
	syntax.Walk(l.body, func(n *syntax.Node) bool {
		found = found || n.Kind == syntax.For || n.Kind == syntax.While || n.Kind == syntax.Do
		return !found
	})
	return !found
}

// stride is the distance in elements between what an access touches in one
// iteration of a loop and in the next: 0, 1, or far (1 << 20) for one that is not
// known to be small. Counters are split out of each dimension.
func (f *finder) stride(a access, l *loop) int64 {
	const far = 1 << 20
	for i, d := range a.dims {
		c, _, ok := d.split(l.key)
		if !ok {
			return far
		}
		if len(c) == 0 {
			continue
		}
		k, known := c.value()
		if !known || i < len(a.dims)-1 {
			return far
		}
		if k < 0 {
			k = -k
		}
		return k * l.step
	}
	return 0
}

// cost is what an innermost loop over l costs in cache lines of 8 elements per
// iteration: what is far costs 1, the neighbour 1/8, the same place nothing.
func (f *finder) cost(as []access, l *loop) float64 {
	sum := 0.0
	for _, a := range as {
		sum += min(1, float64(f.stride(a, l))/8)
	}
	return sum
}
