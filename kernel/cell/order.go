package cell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// early finds variables that a cell uses above the line that declares them.
// Values are set in the order of the lines, so such a use would read a zero
// without a word, unless the variable holds a value from an earlier cell.
// Function literals and functions run later and may use what they like.
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
				const was = Mark + "was" // which selfReference has put in
				at := pl.src.lines[pc.line-1] + pc.col - 1 + use.off - len(was)*strings.Count(pc.text[:use.off], was)
				return pl.problem(at, "%s is used before line %d, which declares it; move the declaration up", use.name, line)
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
