package cell

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"sort"
	"strings"
)

// A variable whose type was redeclared with another layout keeps the old type:
// its memory holds that. Such a variable is pinned. The plan then emits the old
// version of the type, under a name of its own in the check and under its old
// symbol for the compiler.

// snapshot is one version of a type with its methods, as they were.
type snapshot struct {
	decl     *decl
	methods  []*decl
	versions map[string]string // types of ours that it reaches -> symbol
}

// oldName is what the check calls the version of a type with that symbol.
func oldName(symbol string) string { return symbol + Mark + "old" }

// versionsOf returns the symbols of the types that the names reach.
func (pl *planner) versionsOf(names []string) map[string]string {
	m := map[string]string{}
	pl.scope.reach(names, func(d *decl) {
		if d.kind == token.TYPE {
			m[d.names[0]] = pl.currentSymbol(d.names[0])
		}
	})
	return m
}

// currentSymbol is the symbol of a type in the version that this plan sees.
func (pl *planner) currentSymbol(name string) string {
	if v, ok := pl.plan.versions[name]; ok {
		return v.symbol
	}
	s, hash := pl.scope.typeSymbol(name, pl.plan.symbols)
	pl.plan.versions[name] = version{s, hash}
	pl.plan.symbols[s] = true
	return s
}

// pin makes d refer to the types that it was declared with. It reports whether
// those are known.
func (pl *planner) pin(d *decl) bool {
	if len(d.versions) == 0 {
		return false
	}
	if pl.pinned == nil {
		pl.pinned, pl.old = map[*decl]bool{}, map[string]*snapshot{}
	}
	pl.pinned[d] = true
	for name, symbol := range d.versions {
		if pl.currentSymbol(name) == symbol {
			continue
		}
		h := pl.st.types[name]
		if h == nil || h.snapshots[symbol] == nil {
			return false
		}
		pl.old[symbol] = h.snapshots[symbol]
	}
	// What the old methods call must be there.
	have := map[*decl]bool{}
	for _, i := range pl.include {
		have[i] = true
	}
	for _, i := range pl.scope.decls {
		have[i] = true
	}
	for _, ms := range pl.scope.methods {
		for _, i := range ms {
			have[i] = true
		}
	}
	for _, s := range pl.old {
		names := append([]string{}, s.decl.free...)
		for _, m := range s.methods {
			names = append(names, m.free...)
		}
		pl.scope.reach(names, func(d *decl) {
			if !have[d] {
				have[d] = true
				d.piece.edits = nil
				pl.include = append(pl.include, d)
			}
		})
	}
	return true
}

// renamed rewrites the identifiers of a text that mean old types. The text
// stands behind prefix in a file.
func renamed(prefix, text string, names map[string]string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", prefix+text, 0)
	if err != nil {
		return text
	}
	p := piece{text: text}
	done := map[int]bool{}
	rename := func(id *ast.Ident) {
		to, ok := names[id.Name]
		at := int(id.Pos()) - 1 - len(prefix)
		if !ok || at < 0 || done[at] {
			return
		}
		done[at] = true
		p.edits = append(p.edits, edit{start: at, end: at + len(id.Name), text: to})
	}
	for _, id := range f.Unresolved {
		rename(id)
	}
	// A type's own name, in its definition and where it refers to itself.
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Obj != nil && id.Obj.Kind == ast.Typ {
			if spec, ok := id.Obj.Decl.(*ast.TypeSpec); ok && spec.Name.Name == id.Name {
				rename(id)
			}
		}
		return true
	})
	return p.edited()
}

// oldNames maps the type names of a set of versions to what the check calls
// them; those that are still current keep their names.
func (pl *planner) oldNames(versions map[string]string) map[string]string {
	m := map[string]string{}
	for name, symbol := range versions {
		if pl.old[symbol] != nil {
			m[name] = oldName(symbol)
		}
	}
	return m
}

// emitOld writes the old types that pinned variables need.
func (pl *planner) emitOld(final bool) {
	symbols := sortedKeys(pl.old)
	for _, symbol := range symbols {
		s := pl.old[symbol]
		e := &emitter{name: "old" + strings.ReplaceAll(symbol, Mark, "_") + ".go", final: final}
		imports := map[string]string{}
		for _, d := range append([]*decl{s.decl}, s.methods...) {
			for n, p := range d.imports {
				imports[n] = p
			}
		}
		pl.header(e, imports, pl.dots)
		names := pl.oldNames(s.versions)
		names[s.decl.names[0]] = oldName(symbol)
		e.buf.WriteString("type ")
		pl.emitOldPiece(e, s.decl, "package p;type ", names)
		for _, m := range s.methods {
			if !pl.dropped[m] {
				pl.emitOldPiece(e, m, "package p;", names)
			}
		}
		pl.emitted = append(pl.emitted, e)
	}
}

func (pl *planner) emitOldPiece(e *emitter, d *decl, prefix string, names map[string]string) {
	if pl.oldPieces == nil {
		pl.oldPieces = map[*decl]*piece{}
	}
	p := pl.oldPieces[d]
	if p == nil {
		p = &piece{file: d.piece.file, line: d.piece.line, col: d.piece.col, text: renamed(prefix, d.piece.text, names)}
		pl.oldPieces[d] = p
	}
	e.piece(p)
	e.buf.WriteString("\n")
}

// dropOldMethods leaves out methods of old types that no longer compile. It
// reports whether it found some among the places of the problems.
func (pl *planner) dropOldMethods(at []token.Pos) bool {
	found := false
	for _, pos := range at {
		e := pl.fileOf(pos)
		if e == nil || !strings.HasPrefix(e.name, "old") {
			continue
		}
		p, _ := e.at(e.tf.Offset(pos))
		for _, s := range pl.old {
			for _, m := range s.methods {
				if p != nil && pl.oldPieces[m] == p {
					if pl.dropped == nil {
						pl.dropped = map[*decl]bool{}
					}
					pl.dropped[m] = true
					found = true
				}
			}
		}
	}
	return found
}

// snap keeps the version of a type for variables that will hold it.
func (sc *scope) snap(name string, versions map[string]string) *snapshot {
	d := sc.lookup(name)
	if d == nil {
		return nil
	}
	s := &snapshot{decl: frozen(d), versions: versions}
	for _, m := range sc.methodsOf(name) {
		s.methods = append(s.methods, frozen(m))
	}
	sort.Slice(s.methods, func(i, j int) bool { return s.methods[i].names[0] < s.methods[j].names[0] })
	return s
}

func frozen(d *decl) *decl {
	c := *d
	c.piece.edits = nil
	return &c
}

// takenBack says of a variable of an earlier cell that its type is no more,
// where the check finds that in the text that declares it again.
func (pl *planner) takenBack(p *Problem) {
	name, ok := strings.CutPrefix(p.Msg, "undefined: ")
	if !ok || !strings.HasPrefix(p.File, "session") {
		return
	}
	for _, d := range pl.include {
		if d.kind == token.VAR && slices.Contains(d.typFree, name) {
			*p = Problem{d.piece.file, d.piece.line, d.piece.col, fmt.Sprintf("%s has a type that uses %s, which is declared no more; declare one of them again", d.names[0], name)}
			return
		}
	}
}
