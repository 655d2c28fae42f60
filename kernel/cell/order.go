package cell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// single takes var a, b = x, y apart, since each of them is initialised by
// itself, unless a right side means variables of those names that earlier cells
// declared, as in var a, b = b, a.
func (pl *planner) single() {
	var items []item
	for _, it := range pl.parsed.items {
		if it.assign == nil || it.assign.singles == nil || pl.usesFormer(it) {
			items = append(items, it)
			continue
		}
		for _, a := range it.assign.singles {
			items = append(items, item{assign: a})
		}
	}
	pl.parsed.items = items
}

// usesFormer reports whether an assignment uses what it declares anew.
func (pl *planner) usesFormer(it item) bool {
	for _, n := range it.free() {
		if old := pl.st.decls[n]; old != nil && old.kind == token.VAR && slices.Contains(it.assign.names, n) {
			return true
		}
	}
	return false
}

// arrange puts var declarations between which no statement stands into the
// order in which Go initialises the variables of a package: those without a
// value are zero from the start, the others follow the variables that their
// values depend on, also by way of functions.
func (pl *planner) arrange() {
	rank := map[*piece]int{}
	for i, in := range pl.info.InitOrder {
		if e := pl.fileOf(in.Rhs.Pos()); e != nil {
			if p, off := e.at(e.tf.Offset(in.Rhs.Pos())); p != nil && off == 0 {
				rank[p] = i + 1
			}
		}
	}
	items := pl.parsed.items
	for start := 0; start < len(items); start++ {
		end := start
		for end < len(items) && items[end].assign != nil && items[end].assign.declared {
			items[end].assign.run = start + 1
			end++
		}
		slices.SortStableFunc(items[start:end], func(a, b item) int {
			return rank[a.assign.values] - rank[b.assign.values]
		})
		start = end
	}
}

// leading is the number of declarations that the cell begins with.
func (p *parsed) leading() int {
	for i, it := range p.items {
		if it.assign == nil || !it.assign.declared {
			return i
		}
	}
	return len(p.items)
}

// early finds variables that a cell uses before it sets them. Values are set in
// the order of the lines, declarations that arrange has moved apart, so such a
// use would read a zero without a word, unless the variable holds a value from
// an earlier cell. Function literals and functions run later and may use what
// they like.
func (pl *planner) early() Problems {
	later := map[string]*assign{}
	for i := len(pl.parsed.items) - 1; i >= 0; i-- {
		it := &pl.parsed.items[i]
		for _, pc := range it.texts() {
			for _, use := range uses(pc.text) {
				a := later[use.name]
				if a == nil || pl.keepsValue(use.name) {
					continue
				}
				line, _ := pl.src.position(a.at)
				advice := "move the declaration up"
				if it.assign != nil && it.assign.run != 0 && it.assign.run == a.run {
					advice = "the two need each other (an initialization cycle): give one of them its value in a statement"
				}
				const was = Mark + "was" // which selfReference has put in
				at := pl.src.lines[pc.line-1] + pc.col - 1 + use.off - len(was)*strings.Count(pc.text[:use.off], was)
				return pl.problem(at, "%s is used before line %d, which declares it; %s", use.name, line, advice)
			}
		}
		if it.assign != nil {
			for _, n := range it.assign.names {
				if n != "_" {
					later[n] = it.assign
				}
			}
		}
	}
	return nil
}

// texts are the stretches of an item that are evaluated when it runs.
func (it item) texts() []*piece {
	switch {
	case it.stmt != nil:
		return []*piece{it.stmt}
	case it.assign.values != nil:
		return []*piece{it.assign.values}
	}
	return nil
}

// keepsValue reports whether the variable is one of an earlier cell that this
// cell only sets anew.
func (pl *planner) keepsValue(name string) bool {
	d, old := pl.scope.decls[name], pl.st.decls[name]
	return d == nil || old != nil && old.kind == token.VAR && old.symbol == d.symbol
}

type use struct {
	name string
	off  int
}

// uses are the names that a statement or a list of expressions reads when it
// runs and does not declare itself; keys of composite literals, which may be
// names of fields, are left out.
func uses(text string) []use {
	prefix := bodyPrefix
	f, err := parser.ParseFile(token.NewFileSet(), "", prefix+text+"\n}", 0)
	if err != nil {
		prefix = "package p;var _ = "
		if f, err = parser.ParseFile(token.NewFileSet(), "", prefix+text, 0); err != nil {
			return nil
		}
	}
	free := map[*ast.Ident]bool{}
	for _, id := range f.Unresolved {
		free[id] = true
	}
	var all []use
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.Ident:
			if free[n] {
				all = append(all, use{n.Name, int(n.Pos()) - 1 - len(prefix)})
			}
		}
		return true
	})
	return all
}
