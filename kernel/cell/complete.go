package cell

import (
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"strings"
)

// Candidate is one way to complete an identifier.
type Candidate struct {
	Text string
	Kind string // "function", "method", "type", "var", "const", "field", "package", "keyword"
	Doc  string // signature or type, one line
	rank int    // lower is nearer
}

// Complete returns what can stand at the cursor, a byte offset of a cell's Go
// text, and the range of the text that a candidate replaces: the identifier
// there, or the path within an import's quotes. Candidates that begin with what
// is typed come before those that do so in another case. It never changes the
// state and may run beside everything else.
func (st *State) Complete(text string, cursor int) (found []Candidate, start, end int) {
	cursor = min(max(cursor, 0), len(text))
	defer func() {
		if v := recover(); v != nil { // half a cell may surprise anything; no answer is an answer
			st.lang.fault(v, text, cursor)
			found, start, end = nil, cursor, cursor
		}
	}()
	view, done := st.begin()
	defer done()
	for _, l := range lex(text) {
		if l.start >= cursor {
			break
		}
		switch l.tok {
		case token.COMMENT:
			if cursor < l.end || cursor == l.end && (strings.HasPrefix(l.lit, "//") || !closedComment(l.lit)) {
				return nil, cursor, cursor
			}
		case token.STRING:
			if cursor < l.end || cursor == l.end && !closedString(l.lit) {
				if !inImport(text, l.start) {
					return nil, cursor, cursor
				}
				return view.importPaths(text, l, cursor)
			}
		case token.CHAR, token.INT, token.FLOAT, token.IMAG:
			if cursor <= l.end {
				return nil, cursor, cursor
			}
		}
	}
	start, end, ok := identAt(text, cursor)
	if !ok {
		return nil, cursor, cursor
	}
	prefix := text[start:cursor]
	p := repair("In", text, start, end, here)
	var all []Candidate
	if p != nil {
		if pl := view.survey(p); pl != nil {
			all = pl.candidates(prefix)
		}
	}
	if all == nil && !strings.HasSuffix(strings.TrimRight(text[:start], " \t"), ".") && p == nil {
		all = view.globals(prefix)
	}
	return choose(all, prefix), start, end
}

func closedString(lit string) bool { return len(lit) > 1 && lit[len(lit)-1] == lit[0] }

func closedComment(lit string) bool {
	return !strings.HasPrefix(lit, "/*") || len(lit) >= 4 && strings.HasSuffix(lit, "*/")
}

// inImport reports whether a string at an offset is the path of an import.
func inImport(text string, off int) bool {
	ls := lex(text[:off])
	group := false
	for i := len(ls) - 1; i >= 0; i-- {
		switch ls[i].tok {
		case token.IMPORT:
			return true
		case token.LPAREN:
			group = true
		case token.IDENT, token.PERIOD, token.COMMENT:
		case token.STRING, token.SEMICOLON:
			if group {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// importPaths completes the path in an import's quotes.
func (st *State) importPaths(text string, l lexeme, cursor int) ([]Candidate, int, int) {
	start, end := l.start+1, l.end
	if closedString(l.lit) {
		end--
	}
	prefix := text[start:cursor]
	seen := map[string]bool{}
	var all []Candidate
	add := func(path string) {
		if !seen[path] && strings.HasPrefix(path, prefix) {
			seen[path] = true
			all = append(all, Candidate{Text: path, Kind: "package"})
		}
	}
	for _, p := range st.imports {
		add(p)
	}
	for _, p := range wellKnown {
		add(p)
	}
	if c, ok := st.pkgs.(*soon).Packages.(Catalog); ok {
		for _, p := range c.Paths() {
			add(p)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Text < all[j].Text })
	return all, start, end
}

// choose keeps what matches the prefix, best first.
func choose(all []Candidate, prefix string) []Candidate {
	lower := strings.ToLower(prefix)
	seen := map[string]bool{}
	var out []Candidate
	exact := map[string]bool{}
	sort.SliceStable(all, func(i, j int) bool { return all[i].rank < all[j].rank })
	for _, c := range all {
		switch {
		case seen[c.Text] || c.Text == "_" || strings.Contains(c.Text, Mark):
			continue
		case strings.HasPrefix(c.Text, prefix):
			exact[c.Text] = true
		case !strings.HasPrefix(strings.ToLower(c.Text), lower):
			continue
		}
		seen[c.Text] = true
		out = append(out, c)
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if exact[a.Text] != exact[b.Text] {
			return exact[a.Text]
		}
		if a.rank != b.rank {
			return a.rank < b.rank
		}
		return a.Text < b.Text
	})
	return out
}

// Ranks of candidates: what is nearer comes first.
const (
	rankField = iota
	rankLocal
	rankSession
	rankLanguage
	rankImport
)

// candidates lists what can stand in the place of the identifier here.
func (pl *planner) candidates(prefix string) []Candidate {
	path := pl.find(func(id *ast.Ident) bool { return id.Name == here })
	if path == nil {
		return nil
	}
	id := path[len(path)-1].(*ast.Ident)
	var parent ast.Node
	if len(path) > 1 {
		parent = path[len(path)-2]
	}
	if sel, ok := parent.(*ast.SelectorExpr); ok && sel.Sel == id {
		return pl.members(sel.X)
	}
	switch d := parent.(type) {
	case *ast.FuncDecl:
		return nil // a new name
	case *ast.TypeSpec:
		if d.Name == id {
			return nil
		}
	case *ast.Field:
		if d.Type != id {
			return nil
		}
	}
	all, only := pl.literalFields(path)
	if only {
		return all
	}
	all = append(all, pl.locals(id.Pos())...)
	return append(all, pl.st.globals(prefix)...)
}

// literalFields lists the fields that a struct literal around the identifier
// may name here; only is set where nothing else can stand.
func (pl *planner) literalFields(path []ast.Node) (all []Candidate, only bool) {
	n := len(path)
	if n < 2 {
		return nil, false
	}
	lit, ok := path[n-2].(*ast.CompositeLit)
	if kv, isKey := path[n-2].(*ast.KeyValueExpr); isKey && n > 2 && kv.Key == path[n-1] {
		lit, ok = path[n-3].(*ast.CompositeLit)
		only = true
	}
	if !ok || path[n-1] == lit.Type {
		return nil, false
	}
	t := pl.info.Types[lit].Type
	if t == nil {
		return nil, false
	}
	if p, ok := t.Underlying().(*types.Pointer); ok { // &T elided in a []*T
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil, false
	}
	set := map[string]bool{}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if k, ok := kv.Key.(*ast.Ident); ok && k != path[n-1] {
				set[k.Name] = true
				only = true
			}
		}
	}
	for i := 0; i < s.NumFields(); i++ {
		if f := s.Field(i); !set[f.Name()] && pl.visible(f) {
			all = append(all, Candidate{f.Name(), "field", pl.signature(f), rankField})
		}
	}
	return all, only
}

func (pl *planner) visible(obj types.Object) bool { return obj.Exported() || obj.Pkg() == pl.pkg }

// members lists what can follow x and a dot.
func (pl *planner) members(x ast.Expr) []Candidate {
	if id, ok := x.(*ast.Ident); ok {
		var pkg *types.Package
		if pn, ok := pl.info.Uses[id].(*types.PkgName); ok {
			pkg = pn.Imported()
		}
		if pkg != nil {
			var all []Candidate
			for _, n := range pkg.Scope().Names() {
				if obj := pkg.Scope().Lookup(n); obj.Exported() {
					all = append(all, Candidate{n, kindOf(obj), pl.signature(obj), rankField})
				}
			}
			return all
		}
	}
	tv, ok := pl.info.Types[x]
	if !ok || tv.Type == nil {
		return nil
	}
	if t, ok := tv.Type.(*types.Tuple); ok {
		if t.Len() != 1 {
			return nil
		}
		tv.Type = t.At(0).Type()
	}
	var all []Candidate
	if !tv.IsType() {
		for _, f := range fields(tv.Type) {
			if pl.visible(f) {
				all = append(all, Candidate{f.Name(), "field", pl.signature(f), rankField})
			}
		}
	}
	t := tv.Type
	if _, isPointer := types.Unalias(t).(*types.Pointer); !isPointer && !types.IsInterface(t) && !tv.IsType() {
		t = types.NewPointer(t) // a variable has the methods of its pointer too
	}
	ms := types.NewMethodSet(t)
	for i := 0; i < ms.Len(); i++ {
		if m := ms.At(i).Obj(); pl.visible(m) {
			all = append(all, Candidate{m.Name(), "method", pl.signature(m), rankField})
		}
	}
	return all
}

// fields returns the fields that a value of the type has, those of embedded
// structs included and shadowed ones left out.
func fields(t types.Type) []*types.Var {
	seen := map[string]bool{}
	visited := map[types.Type]bool{}
	var out []*types.Var
	level := []types.Type{t}
	for len(level) > 0 {
		var next []types.Type
		names := map[string]int{}
		var here []*types.Var
		for _, t := range level {
			if p, ok := t.Underlying().(*types.Pointer); ok {
				t = p.Elem()
			}
			if visited[t] {
				continue
			}
			visited[t] = true
			s, ok := t.Underlying().(*types.Struct)
			if !ok {
				continue
			}
			for i := 0; i < s.NumFields(); i++ {
				f := s.Field(i)
				names[f.Name()]++
				here = append(here, f)
				if f.Embedded() {
					next = append(next, f.Type())
				}
			}
		}
		for _, f := range here {
			if !seen[f.Name()] && names[f.Name()] == 1 {
				out = append(out, f)
			}
		}
		for n := range names {
			seen[n] = true
		}
		level = next
	}
	return out
}

// locals lists the names of the scopes around a position, the cell's own
// declarations included.
func (pl *planner) locals(pos token.Pos) []Candidate {
	var all []Candidate
	for s := pl.pkg.Scope().Innermost(pos); s != nil && s != types.Universe; s = s.Parent() {
		top := s == pl.pkg.Scope()
		for _, n := range s.Names() {
			obj := s.Lookup(n)
			_, imported := obj.(*types.PkgName)
			if !top && !imported && obj.Pos() >= pos {
				continue // declared further down
			}
			rank := rankLocal
			if top || imported {
				rank = rankSession
			}
			all = append(all, Candidate{n, kindOf(obj), pl.signature(obj), rank})
		}
	}
	return all
}

// globals lists what every cell of the session can name. Without a prefix it
// is what the session declared and imported.
func (st *State) globals(prefix string) []Candidate {
	var all []Candidate
	for n, d := range st.decls {
		kind, doc := st.summary(n, d)
		all = append(all, Candidate{n, kind, doc, rankSession})
	}
	for n, p := range st.imports {
		all = append(all, Candidate{n, "package", `package "` + p + `"`, rankSession})
	}
	pl := &planner{}
	for n, p := range st.opened {
		c := Candidate{n, "var", "", rankSession}
		if pkg, err := st.pkgs.Import(p); err == nil {
			if obj := pkg.Scope().Lookup(n); obj != nil {
				c.Kind, c.Doc = kindOf(obj), pl.signature(obj)
			}
		}
		all = append(all, c)
	}
	if prefix == "" {
		return all
	}
	all = append(all, Candidate{"ctx", "var", "context.Context", rankLanguage}, Candidate{"Out", "var", "map[int]any", rankLanguage})
	for _, n := range types.Universe.Names() {
		obj := types.Universe.Lookup(n)
		doc := builtins[n]
		if doc == "" {
			doc = pl.signature(obj)
		}
		all = append(all, Candidate{n, kindOf(obj), doc, rankLanguage})
	}
	for t := token.BREAK; t <= token.VAR; t++ {
		if t != token.PACKAGE {
			all = append(all, Candidate{t.String(), "keyword", "", rankLanguage})
		}
	}
	for n, p := range wellKnown {
		all = append(all, Candidate{n, "package", `package "` + p + `"`, rankImport})
	}
	return all
}

// builtins are the signatures of the built-in functions, as the language
// specification and package builtin give them.
var builtins = map[string]string{
	"append":  "func append(slice []Type, elems ...Type) []Type",
	"cap":     "func cap(v Type) int",
	"clear":   "func clear(t map or slice)",
	"close":   "func close(c chan<- Type)",
	"complex": "func complex(r, i FloatType) ComplexType",
	"copy":    "func copy(dst, src []Type) int",
	"delete":  "func delete(m map[Type]Type1, key Type)",
	"imag":    "func imag(c ComplexType) FloatType",
	"len":     "func len(v Type) int",
	"make":    "func make(t Type, size ...IntegerType) Type",
	"max":     "func max(x T, y ...T) T",
	"min":     "func min(x T, y ...T) T",
	"new":     "func new(Type) *Type",
	"panic":   "func panic(v any)",
	"print":   "func print(args ...Type)",
	"println": "func println(args ...Type)",
	"real":    "func real(c ComplexType) FloatType",
	"recover": "func recover() any",
}
