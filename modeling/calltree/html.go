package calltree

import (
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// treeStyle has no colours of text or page: both are the front end's. Heat is
// a bar of Okabe and Ito's vermilion, and a number says the same.
const treeStyle = `<style>
.rl-tree{color:inherit;font-size:.95em;line-height:1.4;overflow-x:auto}
.rl-tree summary,.rl-tree .leaf{display:flex;white-space:nowrap;cursor:default;list-style:none}
.rl-tree summary::-webkit-details-marker{display:none}
.rl-tree summary{cursor:pointer}
.rl-tree .n{flex:none;width:6.2em;text-align:right;font-variant-numeric:tabular-nums}
.rl-tree .p{width:4.6em}
.rl-tree .bar{flex:none;width:5em;margin:0 .8em;align-self:center;height:.7em}
.rl-tree .bar i{display:block;height:100%;background:#d55e00}
.rl-tree .name::before{content:"";display:inline-block;width:1.1em}
.rl-tree details>summary .name::before{content:"\25B8";opacity:.7}
.rl-tree details[open]>summary>.name::before{content:"\25BE"}
.rl-tree .where,.rl-tree .faint{opacity:.7}
.rl-tree .where{margin-left:1em;font-size:.92em}
.rl-tree .head{font-weight:600;border-bottom:1px solid rgba(128,128,128,.6)}
.rl-tree summary:hover,.rl-tree .leaf:hover{background:rgba(128,128,128,.15)}
</style>`

// opened is the share of the total from which on a node is open at first.
const opened = 0.05

// HTML is the tree as nested lists that open and close, 400 nodes of it, as a part
// of a page that needs nothing else. It says what it leaves out.
func (t *Tree) HTML() string {
	e := display.Escape
	shown := t.largestNodes(htmlNodes)
	share, hottest := t.shares(), 0.0
	for n := range shown {
		hottest = math.Max(hottest, t.Exclusive(n).V)
	}
	var b strings.Builder
	b.WriteString(treeStyle + `<div class="rl-tree"><div>` + e(t.title()) + `</div>`)
	if len(shown) > 0 {
		b.WriteString(`<div class="leaf head"><span class="n">inclusive</span><span class="n p">share</span><span class="n">exclusive</span><span class="bar"></span><span class="name">name</span></div>`)
	}
	values := func(n *Node, depth int) {
		in, ex := t.Inclusive(n), t.Exclusive(n)
		fmt.Fprintf(&b, `<span class="n">%s</span><span class="n p">%s</span><span class="n">%s</span><span class="bar">`, e(t.quantity(in)), tabular.Percent(share(in)), e(t.quantity(ex)))
		if ex.V > 0 && hottest > 0 {
			fmt.Fprintf(&b, `<i style="width:%.1f%%"></i>`, 100*ex.V/hottest)
		}
		title := clean(n.Raw, 300)
		if known(n.Module) != "" {
			title += "\nmodule " + clean(n.Module, 100)
		}
		fmt.Fprintf(&b, `</span><span class="name" style="margin-left:%.1fem" title="%s"><bdi>%s</bdi></span>`, 0.9*float64(min(depth, 60)), e(title), e(n.label(100)))
		if where := n.where(); where != "" {
			fmt.Fprintf(&b, `<bdi class="where">%s</bdi>`, e(clean(where, 80)))
		}
	}
	var visit func(ns []*Node, depth int)
	visit = func(ns []*Node, depth int) {
		kept, rest := split(ns, func(n *Node) bool { return shown[n] })
		for _, n := range kept {
			if len(n.Children) == 0 {
				b.WriteString(`<div class="leaf">`)
				values(n, depth)
				b.WriteString(`</div>`)
				continue
			}
			open := ""
			if share(t.Inclusive(n)) >= opened || depth == 0 && len(ns) == 1 {
				open = " open"
			}
			b.WriteString(`<details` + open + `><summary>`)
			values(n, depth)
			b.WriteString(`</summary>`)
			visit(n.Children, depth+1)
			b.WriteString(`</details>`)
		}
		if len(rest) > 0 {
			below := Tree{Roots: rest, Metrics: t.Metrics, main: t.main}
			fmt.Fprintf(&b, `<div class="leaf faint"><span class="n">%s</span><span class="n p">%s</span><span class="n"></span><span class="bar"></span><span class="name" style="margin-left:%.1fem">%s not shown</span></div>`,
				e(t.quantity(below.Total())), tabular.Percent(share(below.Total())), 0.9*float64(min(depth, 60)), count(below.Len(), "more node"))
		}
	}
	visit(t.Roots, 0)
	for _, n := range t.Notes {
		b.WriteString(`<div class="faint">` + e("note: "+n) + `</div>`)
	}
	b.WriteString(`</div>`)
	return b.String()
}

// Page is HTML as a page of its own, in the reader's dark or light.
func (t *Tree) Page() string { return page(t.title(), t.HTML()) }

// Display shows the tree.
func (t *Tree) Display() display.Bundle {
	return display.Bundle{Data: map[string]any{"text/plain": t.String(), "text/html": t.HTML()}}
}
