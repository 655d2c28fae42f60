package cell

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/token"
	"go/types"
	"strings"
)

// Note is what is known of a name.
type Note struct {
	Decl   string // its declaration: signature or type
	Doc    string // its documentation comment, without comment marks
	Where  string // where it comes from
	Source string // the source of a function, if asked for
}

// Text lays the note out for a terminal.
func (n Note) Text() string {
	parts := []string{n.Decl}
	if n.Doc != "" {
		var p comment.Parser
		pr := comment.Printer{TextWidth: 80}
		parts = append(parts, strings.TrimRight(string(pr.Text(p.Parse(n.Doc))), "\n"))
	}
	if n.Source != "" {
		parts = append(parts, n.Source)
	}
	if n.Where != "" {
		parts = append(parts, n.Where)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// Markdown lays the note out for a notebook.
func (n Note) Markdown() string {
	fence := func(s string) string { return "```go\n" + s + "\n```" }
	parts := []string{fence(n.Decl)}
	if n.Doc != "" {
		var p comment.Parser
		pr := comment.Printer{HeadingID: func(*comment.Heading) string { return "" }}
		parts = append(parts, strings.TrimRight(string(pr.Markdown(p.Parse(n.Doc))), "\n"))
	}
	if n.Source != "" {
		parts = append(parts, fence(n.Source))
	}
	if n.Where != "" {
		parts = append(parts, "*"+strings.ReplaceAll(n.Where, "*", "\\*")+"*")
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// Inspect tells what is known of the name at the cursor, a byte offset of a
// cell's Go text: the identifier there or just before it, or else the function
// in whose arguments the cursor stands. With source set the note holds the
// source of functions too. It never changes the state and may run beside
// everything else.
func (st *State) Inspect(text string, cursor int, source bool) (note Note, found bool) {
	defer func() {
		if v := recover(); v != nil { // half a cell may surprise anything; no answer is an answer
			st.lang.fault(v, text, cursor)
			note, found = Note{}, false
		}
	}()
	cursor = min(max(cursor, 0), len(text))
	start, end, ok := target(text, cursor)
	if !ok {
		return Note{}, false
	}
	view, done := st.begin()
	defer done()
	name := text[start:end]
	q := question{lang: &st.lang, view: view, pkgs: st.pkgs, source: source}
	if p := repair("In", text, start, end, name); p != nil {
		if q.pl = view.survey(p); q.pl != nil {
			if id, obj := q.pl.object(name, start); obj != nil {
				if note, found := q.describe(id, obj); found {
					return note, true
				}
			}
		}
	}
	if before := strings.TrimRight(text[:start], " \t"); strings.HasSuffix(before, ".") {
		return Note{}, false
	}
	return q.global(name)
}

// target finds the identifier that a cursor asks about.
func target(text string, cursor int) (start, end int, ok bool) {
	ls := lex(text)
	n := 0 // tokens before the cursor
	for ; n < len(ls) && ls[n].start < cursor; n++ {
		if l := ls[n]; l.tok == token.COMMENT && cursor < l.end {
			return 0, 0, false
		}
	}
	for _, i := range []int{n, n - 1} {
		if i >= 0 && i < len(ls) && ls[i].tok == token.IDENT && ls[i].start <= cursor && cursor <= ls[i].end {
			return ls[i].start, ls[i].end, true
		}
	}
	if n == 0 {
		return 0, 0, false
	}
	// Behind a call, or in its arguments: the bracket that is open here.
	depth := 0
	i := n - 1
	closed := ls[i].tok == token.RPAREN && !strings.Contains(text[ls[i].end:cursor], "\n")
	for ; i >= 0; i-- {
		switch ls[i].tok {
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth++
			continue
		case token.LBRACK, token.LBRACE:
			depth--
			continue
		case token.LPAREN:
			depth--
		default:
			continue
		}
		if depth < 0 || closed && depth == 0 {
			if j := calleeToken(ls, i); j >= 0 {
				return ls[j].start, ls[j].end, true
			}
			closed, depth = false, max(depth, 0)
		}
	}
	if l := ls[n-1]; l.tok == token.IDENT && !strings.Contains(text[l.end:cursor], "\n") {
		return l.start, l.end, true
	}
	return 0, 0, false
}

// calleeToken returns the token that names what the parenthesis at i calls, or -1.
func calleeToken(ls []lexeme, i int) int {
	j := i - 1
	if j >= 0 && ls[j].tok == token.RBRACK { // type arguments
		for depth := 0; j >= 0; j-- {
			if ls[j].tok == token.RBRACK {
				depth++
			} else if ls[j].tok == token.LBRACK {
				if depth--; depth == 0 {
					j--
					break
				}
			}
		}
	}
	if j >= 0 && ls[j].tok == token.IDENT {
		return j
	}
	return -1
}

// object finds what the name at an offset of the cell's source means.
func (pl *planner) object(name string, at int) (*ast.Ident, types.Object) {
	e := pl.emitted[len(pl.emitted)-1]
	var best *ast.Ident
	distance := 0
	ast.Inspect(pl.files[len(pl.files)-1], func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || strings.TrimSuffix(id.Name, Mark+"was") != name {
			return true
		}
		p, off := e.at(e.tf.Offset(id.Pos()))
		if p == nil || p.file != pl.src.file || p.line < 1 || p.line > len(pl.src.lines) {
			return true
		}
		d := pl.src.lines[p.line-1] + p.col - 1 + off - at
		if d = max(d, -d); best == nil || d < distance {
			best, distance = id, d
		}
		return true
	})
	if best != nil {
		if obj := pl.info.Uses[best]; obj != nil && (distance == 0 || pl.pkg.Scope().Lookup(name) == nil) {
			return best, obj
		}
		if obj := pl.info.Defs[best]; obj != nil && distance == 0 {
			return best, obj
		}
	}
	// The left side of := at the top level.
	if obj := pl.pkg.Scope().Lookup(name); obj != nil {
		return nil, obj
	}
	return nil, nil
}

// question is one request for a note.
type question struct {
	lang   *language
	view   *State
	pkgs   Packages
	pl     *planner
	source bool
}

func (q *question) describe(id *ast.Ident, obj types.Object) (Note, bool) {
	name := strings.TrimSuffix(obj.Name(), Mark+"was")
	if pn, ok := obj.(*types.PkgName); ok {
		return q.packageNote(pn.Imported().Path(), pn.Imported().Name()), true
	}
	if _, ok := predeclared[name]; ok && q.pl.special[name] {
		return q.global(name)
	}
	own := obj.Pkg() == q.pl.pkg
	if own && obj.Parent() == q.pl.pkg.Scope() {
		d := q.pl.scope.lookup(name)
		if d == nil {
			return Note{}, false
		}
		return q.session(name, d, obj), true
	}
	typ := q.owner(id, obj)
	note := Note{Decl: q.declared(obj)}
	switch {
	case obj.Pkg() == nil:
		d := q.lang.documentation(q.pkgs, "builtin")
		if typ == "" && builtins[name] != "" {
			note.Decl = builtins[name]
		}
		note.Doc, note.Where = d.comment(typ, name), "predeclared"
	case own:
		q.member(&note, typ, name)
	default:
		d := q.lang.documentation(q.pkgs, obj.Pkg().Path())
		note.Doc = d.comment(typ, name)
		note.Where = fmt.Sprintf("package %s", obj.Pkg().Path())
		if _, ok := obj.(*types.TypeName); ok {
			if s := d.declaration(name); s != "" {
				note.Decl = s
			}
		}
		if q.source {
			key := name
			if typ != "" {
				key = typ + "." + name
			}
			note.Source = d.source(key)
		}
	}
	return note, note.Decl != ""
}

// declared is an object's declaration in one line.
func (q *question) declared(obj types.Object) string {
	s := q.pl.signature(obj)
	switch o := obj.(type) {
	case *types.Var:
		if o.IsField() {
			return "field " + o.Name() + " " + s
		}
		return "var " + o.Name() + " " + s
	case *types.Const:
		return "const " + o.Name() + " " + s
	case *types.Nil:
		return "nil"
	case *types.Label:
		return ""
	}
	return s
}

// owner returns the name of the type that a field or method belongs to.
func (q *question) owner(id *ast.Ident, obj types.Object) string {
	named := func(t types.Type) string {
		if p, ok := types.Unalias(t).(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := types.Unalias(t).(*types.Named); ok {
			return n.Obj().Name()
		}
		return ""
	}
	switch o := obj.(type) {
	case *types.Func:
		if r := o.Signature().Recv(); r != nil {
			return named(r.Type())
		}
	case *types.Var:
		if !o.IsField() || id == nil {
			return ""
		}
		for x, sel := range q.pl.info.Selections {
			if x.Sel != id {
				continue
			}
			t := sel.Recv()
			for _, i := range sel.Index()[:len(sel.Index())-1] {
				if p, ok := t.Underlying().(*types.Pointer); ok {
					t = p.Elem()
				}
				s, ok := t.Underlying().(*types.Struct)
				if !ok {
					return ""
				}
				t = s.Field(i).Type()
			}
			return named(t)
		}
		// A key of a composite literal.
		for x, tv := range q.pl.info.Types {
			if lit, ok := x.(*ast.CompositeLit); ok && lit.Pos() <= id.Pos() && id.End() <= lit.End() && tv.Type != nil {
				if s, ok := tv.Type.Underlying().(*types.Struct); ok {
					for i := 0; i < s.NumFields(); i++ {
						if s.Field(i) == o {
							return named(tv.Type)
						}
					}
				}
			}
		}
	}
	return ""
}

// session describes a declaration of the session or of the cell itself.
func (q *question) session(name string, d *decl, obj types.Object) Note {
	note := Note{Where: "declared in " + d.piece.file}
	if d.piece.file == q.pl.src.file {
		note.Where = "declared in this cell"
	}
	switch d.kind {
	case token.FUNC:
		note.Decl = d.header()
		if q.source {
			note.Source = d.piece.text
		}
	case token.TYPE:
		note.Decl = "type " + d.piece.text
		for _, m := range q.pl.scope.methodsOf(name) {
			note.Decl += "\n" + m.header()
		}
	case token.CONST:
		note.Decl = q.declared(obj)
		if len(d.names) > 1 {
			note.Decl += "\n\n" + d.piece.text
		}
	case token.VAR:
		note.Decl = strings.TrimSpace("var " + name + " " + q.pl.typeString(obj.Type()))
		if len(d.exprNames) == 1 && d.piece.text != "" {
			note.Where += " as " + oneLine(name+" = "+d.piece.text)
		}
	}
	return note
}

// member completes the note on a field or method of a type of the session, or
// on a local name.
func (q *question) member(note *Note, typ, name string) {
	if typ == "" {
		note.Where = "declared in this cell"
		return
	}
	d := q.pl.scope.lookup(typ)
	for _, m := range q.pl.scope.methodsOf(typ) {
		if m.names[0] == name {
			note.Decl, d = m.header(), m
			if q.source {
				note.Source = m.piece.text
			}
		}
	}
	if d == nil {
		return
	}
	if d.kind == token.TYPE {
		if ts := d.typeSpec(); ts != nil {
			comments := map[string]string{}
			fieldComments(ts, comments)
			note.Doc = comments[typ+"."+name]
		}
	}
	note.Where = "declared in " + d.piece.file
	if d.piece.file == q.pl.src.file {
		note.Where = "declared in this cell"
	}
}

// packageNote describes a package.
func (q *question) packageNote(path, name string) Note {
	note := Note{Decl: fmt.Sprintf("package %s // import %q", name, path)}
	if d := q.lang.documentation(q.pkgs, path); d != nil {
		note.Doc = d.pkg.Doc
	}
	return note
}

// global describes a name by itself, where the cell around it says nothing.
func (q *question) global(name string) (Note, bool) {
	switch name {
	case "ctx":
		return Note{Decl: "var ctx context.Context", Doc: "ctx is the context of the running cell: an interrupt cancels it.", Where: "predeclared"}, true
	case "Out":
		return Note{Decl: "var Out map[int]any", Doc: "Out holds the results of earlier cells by their number: Out[3] is what In[3] showed.", Where: "predeclared"}, true
	}
	if d := q.view.decls[name]; d != nil {
		_, doc := q.view.summary(name, d)
		note := Note{Decl: doc, Where: "declared in " + d.piece.file}
		if d.kind == token.VAR {
			note.Decl = "var " + name + " " + doc
		}
		if q.source && d.kind == token.FUNC {
			note.Source = d.piece.text
		}
		return note, true
	}
	path, ok := q.view.imports[name]
	if !ok {
		path, ok = wellKnown[name]
	}
	if ok {
		return q.packageNote(path, name), true
	}
	return Note{}, false
}
