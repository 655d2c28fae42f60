package calltree

import (
	"container/heap"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rooflab/rooflab/modeling/tabular"
)

// TextOptions say how a tree becomes text.
type TextOptions struct {
	Nodes int // at most so many, those with the largest inclusive values; 0: 60
	// Colour marks heat for terminals with 256 colours, from grey over yellow and
	// orange to vermilion, which common kinds of colour blindness keep apart. The
	// length of the bar says the same.
	Colour bool
}

const (
	textNodes = 60
	htmlNodes = 400
)

// String is the tree as text, sixty nodes of it.
func (t *Tree) String() string { return t.Text(TextOptions{}) }

// Text is the tree as text, a node a line: the inclusive value with its share
// of the total, the exclusive value with a bar for it, and the name below its
// caller's.
func (t *Tree) Text(opt TextOptions) string {
	if opt.Nodes <= 0 {
		opt.Nodes = textNodes
	}
	var b strings.Builder
	b.WriteString(t.title() + "\n")
	shown := t.largestNodes(opt.Nodes)
	share, hottest := t.shares(), 0.0
	for n := range shown {
		hottest = math.Max(hottest, t.Exclusive(n).V)
	}
	wide, narrow := len("inclusive"), len("exclusive")
	for n := range shown {
		wide, narrow = max(wide, utf8.RuneCountInString(t.quantity(t.Inclusive(n)))), max(narrow, utf8.RuneCountInString(t.quantity(t.Exclusive(n))))
	}
	if len(shown) > 0 {
		fmt.Fprintf(&b, "%*s %8s %*s\n", wide, "inclusive", "", narrow, "exclusive")
	}
	t.walk(shown, func(n *Node, left int, indent string) {
		if n == nil {
			fmt.Fprintf(&b, "%s%s(%s not shown)\n", strings.Repeat(" ", wide+narrow+barWidth+14), indent, count(left, "more node"))
			return
		}
		in, ex := t.Inclusive(n), t.Exclusive(n)
		bar, heat := bar(ex.V, hottest), ""
		if opt.Colour {
			heat = ansi(ex.V, hottest)
			bar = heat + bar + reset
		}
		fmt.Fprintf(&b, "%*s %8s %*s  %s  %s", wide, t.quantity(in), tabular.Percent(share(in)), narrow, t.quantity(ex), bar, indent)
		if heat != "" {
			b.WriteString(heat + n.label(100) + reset)
		} else {
			b.WriteString(n.label(100))
		}
		if where := n.where(); where != "" {
			b.WriteString("  " + clean(where, 60))
		}
		b.WriteString("\n")
	})
	for _, n := range t.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (t *Tree) title() string {
	m := t.Metric()
	name := m.Name
	if len(t.Runs) == 1 {
		name += fmt.Sprintf(" of run %d", t.Runs[0])
	}
	out := fmt.Sprintf("%s: %s in %s", name, t.quantity(t.Total()), count(t.Len(), "node"))
	if t.Over != "" && t.Over != "as given" {
		out += " (" + t.Over + ")"
	}
	return out
}

const (
	barWidth = 8
	reset    = "\x1b[0m"
)

func bar(v, most float64) string {
	if most <= 0 || v <= 0 {
		return strings.Repeat(" ", barWidth)
	}
	eighths := int(math.Ceil(v / most * barWidth * 8))
	full := eighths / 8
	s := strings.Repeat("█", full)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
		full++
	}
	return s + strings.Repeat(" ", barWidth-full)
}

// ansi is the colour of a value: Okabe and Ito's yellow, orange and vermilion
// as the nearest of the 256 colours, and no colour below a hundredth.
func ansi(v, most float64) string {
	switch part := v / most; {
	case !(most > 0) || part < 0.01:
		return "\x1b[39m"
	case part < 0.2:
		return "\x1b[38;5;185m"
	case part < 0.6:
		return "\x1b[38;5;178m"
	}
	return "\x1b[1;38;5;166m"
}

// byInclusive is a heap of nodes, the largest first; of equals the one that
// was met first.
type byInclusive struct {
	t  *Tree
	ns []*Node
	at []int
}

func (h *byInclusive) Len() int { return len(h.ns) }
func (h *byInclusive) Less(i, j int) bool {
	if c := later(h.t.Inclusive(h.ns[j]), h.t.Inclusive(h.ns[i])); c != 0 {
		return c < 0
	}
	return h.at[i] < h.at[j]
}
func (h *byInclusive) Swap(i, j int) {
	h.ns[i], h.ns[j] = h.ns[j], h.ns[i]
	h.at[i], h.at[j] = h.at[j], h.at[i]
}
func (h *byInclusive) Push(x any) { h.ns = append(h.ns, x.(*Node)) }
func (h *byInclusive) Pop() any {
	n := h.ns[len(h.ns)-1]
	h.ns, h.at = h.ns[:len(h.ns)-1], h.at[:len(h.at)-1]
	return n
}

// largestNodes are at most limit nodes with the largest inclusive values, each
// with all above it.
func (t *Tree) largestNodes(limit int) map[*Node]bool {
	h := &byInclusive{t: t}
	met := 0
	push := func(ns []*Node) {
		for _, n := range ns {
			h.at = append(h.at, met)
			heap.Push(h, n)
			met++
		}
	}
	push(t.Roots)
	out := map[*Node]bool{}
	for len(out) < limit && h.Len() > 0 {
		n := heap.Pop(h).(*Node)
		out[n] = true
		push(n.Children)
	}
	return out
}

// walk calls line for the nodes that are shown, with the lines that lead to
// them, and, with a nil node, where nodes are left out: left of them.
func (t *Tree) walk(shown map[*Node]bool, line func(n *Node, left int, indent string)) {
	var visit func(ns []*Node, prefix string, root bool)
	visit = func(ns []*Node, prefix string, root bool) {
		kept, rest := split(ns, func(n *Node) bool { return shown[n] })
		left := (&Tree{Roots: rest}).Len()
		for i, n := range kept {
			branch, below := "├─ ", "│  "
			if i == len(kept)-1 && left == 0 {
				branch, below = "└─ ", "   "
			}
			if root {
				branch, below = "", ""
			}
			line(n, 0, prefix+branch)
			visit(n.Children, prefix+below, false)
		}
		if left > 0 {
			branch := "└─ "
			if root {
				branch = ""
			}
			line(nil, left, prefix+branch)
		}
	}
	visit(t.Roots, "", true)
}

// clean makes a name from a profile printable anywhere: what is no UTF-8, no
// character, or would turn the direction of the text around it becomes
// U+FFFD, and the middle of a name longer than limit is left out.
func clean(name string, limit int) string {
	if !utf8.ValidString(name) {
		name = strings.ToValidUTF8(name, "\uFFFD")
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co), r&0xfffe == 0xfffe, r >= 0xfdd0 && r <= 0xfdef:
			return '\uFFFD'
		}
		return r
	}, name)
	if utf8.RuneCountInString(name) <= limit {
		return name
	}
	r := []rune(name)
	tail := limit / 3
	return string(r[:max(limit-tail-1, 0)]) + "…" + string(r[len(r)-tail:])
}

func joinPath(names []string) string { return strings.Join(names, " > ") }

// label is the name to show, printable: a path in it is cut to its end.
func (n *Node) label(limit int) string {
	name := n.Name
	if short := base(n.File); short != n.File {
		name = strings.ReplaceAll(name, n.File, short)
	}
	if name == "" {
		return "(no name)"
	}
	return clean(name, limit)
}

// where is a node's place in the source, "" where it is not known.
func (n *Node) where() string {
	switch {
	case known(n.File) == "":
		return ""
	case n.Line > 0:
		return fmt.Sprintf("%s:%d", clean(n.File, 200), n.Line)
	}
	return clean(n.File, 200)
}
