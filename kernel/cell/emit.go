package cell

import (
	"bytes"
	"fmt"
	"go/token"
	"sort"
	"strconv"
	"strings"
)

// emitter writes one generated file and remembers where pieces went.
type emitter struct {
	name   string
	buf    bytes.Buffer
	final  bool
	places []place
	tf     *token.File
}

type place struct {
	start, end int
	piece      *piece
}

// piece writes a stretch of user text under a line directive.
func (e *emitter) piece(p *piece) {
	fmt.Fprintf(&e.buf, "/*line %s:%d:%d*/", p.file, p.line, p.col)
	start := e.buf.Len()
	if e.final {
		e.buf.WriteString(p.edited())
	} else {
		e.buf.WriteString(p.text)
	}
	e.places = append(e.places, place{start, e.buf.Len(), p})
}

// at returns the piece that a position of the emitted file lies in, and the
// offset within it.
func (e *emitter) at(off int) (*piece, int) {
	i := sort.Search(len(e.places), func(i int) bool { return e.places[i].end >= off })
	if i < len(e.places) && e.places[i].start <= off {
		return e.places[i].piece, off - e.places[i].start
	}
	return nil, 0
}

// edited returns the text with its edits applied. At one offset, insertions
// are applied in the order in which they were made.
func (p *piece) edited() string {
	if len(p.edits) == 0 {
		return p.text
	}
	edits := append([]edit{}, p.edits...)
	sort.SliceStable(edits, func(i, j int) bool {
		if edits[i].start != edits[j].start {
			return edits[i].start < edits[j].start
		}
		return edits[i].order < edits[j].order
	})
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.start < at { // inside of what was replaced
			continue
		}
		b.WriteString(p.text[at:e.start])
		b.WriteString(e.text)
		at = max(at, e.end)
	}
	b.WriteString(p.text[at:])
	return b.String()
}

// emit writes all files: for the first check, or final for the compiler.
func (pl *planner) emit(final bool) {
	pl.emitted = nil
	groups := map[string][]*decl{}
	var order []string
	for _, d := range pl.include {
		// One file for each cell and set of imports: two cells may use one
		// name for different packages.
		key := d.piece.file + "\x00" + importKey(d.imports)
		if d.kind == token.VAR && d.typ != "" {
			key = d.piece.file + "\x00"
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], d)
	}
	for i, key := range order {
		e := &emitter{name: fmt.Sprintf("session%d.go", i), final: final}
		imports := map[string]string{}
		for _, d := range groups[key] {
			for n, p := range d.imports {
				if d.kind != token.VAR || d.typ == "" {
					imports[n] = p
				}
			}
		}
		pl.header(e, imports, pl.dots)
		done := map[*decl]bool{}
		for _, d := range groups[key] {
			if !done[d] {
				done[d] = true
				pl.emitDecl(e, d)
			}
		}
		pl.emitted = append(pl.emitted, e)
	}
	pl.emitOld(final)
	e := &emitter{name: "cell.go", final: final}
	imports := map[string]string{}
	for n, p := range pl.scope.imports {
		imports[n] = p
	}
	for _, d := range pl.parsed.decls {
		for n, p := range d.imports {
			imports[n] = p
		}
	}
	for n, p := range pl.bodyImports {
		imports[n] = p
	}
	pl.header(e, imports, pl.dots)
	for _, d := range pl.parsed.decls {
		pl.emitDecl(e, d)
	}
	for _, n := range pl.sortedScope() {
		d := pl.scope.decls[n]
		if now, was := strings.CutSuffix(n, Mark+"was"); final && was && pl.scope.decls[now].symbol == d.symbol {
			continue // x := x + 1, in one place
		}
		if _, ok := predeclared[n]; ok && d.piece.text == "" && d.typ != "" && pl.special[n] || strings.HasSuffix(n, Mark+"was") {
			pl.emitDecl(e, d)
		}
	}
	if final {
		for _, d := range pl.vars {
			pl.emitDecl(e, d)
		}
	} else {
		for _, it := range pl.parsed.items {
			if it.assign != nil {
				pl.emitFirst(e, it.assign)
			}
		}
	}
	fmt.Fprintf(&e.buf, "func %s() {\n", pl.plan.Func)
	for _, n := range sortedKeys(pl.special) {
		fmt.Fprintf(&e.buf, "%s = %s\n", pl.symbolOf(n), predeclared[n].value)
	}
	// As in a package, they find its variables initialised.
	leading := pl.parsed.leading()
	inits := func(done int) {
		for _, f := range pl.parsed.inits {
			if done == leading && !strings.HasPrefix(f, "main") {
				fmt.Fprintf(&e.buf, "%s()\n", f)
			}
		}
	}
	for i := range pl.parsed.items {
		inits(i)
		it := &pl.parsed.items[i]
		switch {
		case it.stmt != nil && it.result && final && pl.result != nil && pl.result.call != "":
			e.buf.WriteString(pl.result.call)
			e.piece(it.stmt)
			e.buf.WriteString(")\n")
		case it.stmt != nil:
			e.piece(it.stmt)
			e.buf.WriteString("\n")
		case final:
			pl.emitAssign(e, it.assign)
		}
	}
	inits(len(pl.parsed.items))
	for _, f := range pl.parsed.inits {
		if strings.HasPrefix(f, "main") {
			fmt.Fprintf(&e.buf, "%s()\n", f)
		}
	}
	e.buf.WriteString("}\n")
	pl.emitted = append(pl.emitted, e)
}

func importKey(m map[string]string) string {
	var b strings.Builder
	for _, n := range sortedKeys(m) {
		fmt.Fprintf(&b, "%s=%s;", n, m[n])
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func (pl *planner) sortedScope() []string { return sortedKeys(pl.scope.decls) }

// aliasLine stands in the final header for the imports of spelled types until
// the text that may use them is there.
const aliasLine = "//aliases\n"

// header writes package clause and imports. The final header holds only those
// imports that the check saw in use, since the compiler insists.
func (pl *planner) header(e *emitter, imports map[string]string, dots []string) {
	fmt.Fprintf(&e.buf, "package main\nimport %s %q\n", liveName, LivePath)
	for _, n := range sortedKeys(imports) {
		if !e.final || pl.used[e.name][n] {
			fmt.Fprintf(&e.buf, "import %s %q\n", n, imports[n])
		}
	}
	for _, p := range dots {
		if !e.final || pl.used[e.name]["."+p] {
			fmt.Fprintf(&e.buf, "import . %q\n", p)
		}
	}
	if e.name == "cell.go" {
		for _, p := range pl.blank {
			fmt.Fprintf(&e.buf, "import _ %q\n", p)
		}
	}
	if e.final {
		e.buf.WriteString(aliasLine)
		fmt.Fprintf(&e.buf, "var _ = %s.Check\n", liveName)
		for _, use := range sortedKeys(pl.keep[e.name]) {
			fmt.Fprintf(&e.buf, "var _ = %s\n", use)
		}
		return
	}
	for _, p := range sortedKeys(pl.st.aliases) {
		fmt.Fprintf(&e.buf, "import %s %q\n", pl.st.aliases[p], p)
	}
	fmt.Fprintf(&e.buf, "var _ = %s.Check\n", liveName)
}

// withAliases puts the imports that spelled types need into a final file.
func (pl *planner) withAliases(text []byte) []byte {
	var b strings.Builder
	for _, p := range sortedKeys(pl.st.aliases) {
		if a := pl.st.aliases[p]; bytes.Contains(text, []byte(a+".")) {
			fmt.Fprintf(&b, "import %s %q\n", a, p)
		}
	}
	return bytes.Replace(text, []byte(aliasLine), []byte(b.String()), 1)
}

// symbolOf returns the memory name of a variable by its user name.
func (pl *planner) symbolOf(name string) string {
	if d := pl.scope.lookup(name); d != nil && d.symbol != "" {
		return d.symbol
	}
	return name
}

// emitDecl writes a declaration other than this cell's variables in the first
// emission.
func (pl *planner) emitDecl(e *emitter, d *decl) {
	switch d.kind {
	case token.FUNC, token.CONST:
		e.piece(&d.piece)
	case token.TYPE:
		e.buf.WriteString("type ")
		e.piece(&d.piece)
	case token.VAR:
		name := d.names[0]
		if e.final && d.symbol != "" {
			name = d.symbol
		}
		if d.typ != "" {
			fmt.Fprintf(&e.buf, "var %s %s", name, pl.typText(e, d))
			break
		}
		names := append([]string{}, d.exprNames...)
		for i, n := range names {
			if n == d.names[0] {
				names[i] = name
			}
		}
		fmt.Fprintf(&e.buf, "var %s = ", strings.Join(names, ", "))
		e.piece(&d.piece)
	}
	e.buf.WriteString("\n")
}

// typText is the type of a variable as the emission needs it: the final one
// uses the symbols of types.
func (pl *planner) typText(e *emitter, d *decl) string {
	typ := d.typ
	if pl.pinned[d] {
		typ = renamed("package p;var _ ", typ, pl.oldNames(d.versions))
	}
	if !e.final {
		return typ
	}
	return pl.renameTypes(typ)
}

// emitFirst writes an assignment as a package variable, so that the checker
// finds its type whatever the order.
func (pl *planner) emitFirst(e *emitter, a *assign) {
	fmt.Fprintf(&e.buf, "var %s", strings.Join(a.names, ", "))
	if a.typ != nil {
		e.buf.WriteString(" ")
		e.piece(a.typ)
	}
	if a.values != nil {
		e.buf.WriteString(" = ")
		e.piece(a.values)
	}
	e.buf.WriteString("\n")
}

// emitAssign writes an assignment as the statement that runs.
func (pl *planner) emitAssign(e *emitter, a *assign) {
	line, col := pl.src.position(a.at)
	lhs := make([]string, len(a.all))
	blank := true
	for i, n := range a.all {
		lhs[i] = n
		if n != "_" {
			lhs[i] = pl.symbolOf(n)
			blank = false
		}
	}
	fmt.Fprintf(&e.buf, "/*line %s:%d:%d*/", pl.src.file, line, col)
	switch {
	case blank && a.typ != nil:
		e.buf.WriteString("var _ ")
		e.piece(a.typ)
		if a.values != nil {
			e.buf.WriteString(" = ")
			e.piece(a.values)
		}
	case a.values == nil:
		for i, n := range lhs {
			if i > 0 {
				e.buf.WriteString("; ")
			}
			e.buf.WriteString(n + " = *new(")
			e.piece(a.typ)
			e.buf.WriteString(")")
		}
	default:
		e.buf.WriteString(strings.Join(lhs, ", ") + " = ")
		e.piece(a.values)
	}
	e.buf.WriteString("\n")
}

// emitFinal writes the files for the compiler.
func (pl *planner) emitFinal() {
	pl.emit(true)
	imports := map[string]bool{LivePath: true}
	var key strings.Builder
	for _, e := range pl.emitted {
		text := pl.withAliases(e.buf.Bytes())
		pl.plan.Files = append(pl.plan.Files, File{e.name, text})
		key.WriteString(strings.ReplaceAll(strings.ReplaceAll(string(text), "line "+pl.src.file+":", "line :"), pl.plan.Func, ""))
		key.WriteByte(0)
	}
	pl.plan.Key = key.String()
	for _, f := range pl.files {
		for _, im := range f.Imports {
			if p, err := strconv.Unquote(im.Path.Value); err == nil {
				imports[p] = true
			}
		}
	}
	for p := range pl.st.aliases {
		imports[p] = true
	}
	pl.plan.Imports = sortedKeys(imports)
}
