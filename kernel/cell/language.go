package cell

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// language is the side of a State that answers questions about unfinished
// cells. It works on a copy of what was committed last, so that it may run
// beside a cell that is being planned, and its requests run one at a time.
type language struct {
	mu   sync.Mutex
	view atomic.Pointer[State]
	soon *soon
	docs map[string]*packageDoc

	faultsMu sync.Mutex
	faults   []string
}

// Catalog is what Packages may offer beyond itself: packages that could be
// imported, and where their sources are. Without it import paths complete from
// the well-known packages only and documentation is missing.
type Catalog interface {
	// Paths lists import paths, sorted.
	Paths() []string
	// SourceDir returns the directory of a package's source, or "".
	SourceDir(path string) string
}

// patience is how long a request waits for packages that must be compiled
// first. The compilation goes on behind it, for the next request.
const patience = 1200 * time.Millisecond

// maxFaults bounds what Faults remembers.
const maxFaults = 20

// fault remembers a panic that a question ended in.
func (l *language) fault(v any, text string, cursor int) {
	l.faultsMu.Lock()
	defer l.faultsMu.Unlock()
	if len(l.faults) < maxFaults {
		l.faults = append(l.faults, fmt.Sprintf("%v, asked about %q at %d\n%s", v, text, cursor, debug.Stack()))
	}
}

// Faults returns the panics that Complete and Inspect answered with nothing:
// faults of ours, for reports and tests.
func (st *State) Faults() []string {
	st.lang.faultsMu.Lock()
	defer st.lang.faultsMu.Unlock()
	return append([]string(nil), st.lang.faults...)
}

// publish makes what was committed visible to the language services.
func (st *State) publish() { st.lang.view.Store(st.copy()) }

// copy returns a state that shares nothing that planning a cell writes to.
func (st *State) copy() *State {
	copies := map[*decl]*decl{}
	dup := func(d *decl) *decl {
		c := copies[d]
		if c == nil {
			v := *d
			c = &v
			c.piece.edits = nil
			copies[d] = c
		}
		return c
	}
	v := New(st.pkgs)
	for n, p := range st.imports {
		v.imports[n] = p
	}
	for n, d := range st.decls {
		v.decls[n] = dup(d)
	}
	for t, ms := range st.methods {
		v.methods[t] = map[string]*decl{}
		for n, d := range ms {
			v.methods[t][n] = dup(d)
		}
	}
	for p, a := range st.aliases {
		v.aliases[p] = a
	}
	for n, p := range st.opened {
		v.opened[n] = p
	}
	for n := range st.symbols {
		v.symbols[n] = true
	}
	for n, h := range st.types {
		c := &history{symbols: map[string]string{}, snapshots: map[string]*snapshot{}}
		for hash, s := range h.symbols {
			c.symbols[hash] = s
		}
		for s, snap := range h.snapshots {
			c.snapshots[s] = snap
		}
		v.types[n] = c
	}
	return v
}

// begin locks the language services and returns the copy to work on.
func (st *State) begin() (view *State, done func()) {
	l := &st.lang
	l.mu.Lock()
	if l.soon == nil {
		l.soon = &soon{Packages: st.pkgs, calls: map[string]*call{}}
		l.docs = map[string]*packageDoc{}
	}
	view = l.view.Load()
	if view == nil {
		view = New(st.pkgs)
		l.view.CompareAndSwap(nil, view)
	}
	l.soon.begin(view)
	view.pkgs = l.soon
	return view, l.mu.Unlock
}

// soon is Packages that do not keep a request waiting for long.
type soon struct {
	Packages
	mu       sync.Mutex
	deadline time.Time
	view     *State
	calls    map[string]*call
}

// call is one attempt to make a package importable.
type call struct {
	done chan struct{}
	err  error
}

// begin starts the clock of a request. What failed is tried again once the
// session has moved on.
func (s *soon) begin(view *State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = time.Now().Add(patience)
	if s.view != view {
		s.view = view
		for p, c := range s.calls {
			select {
			case <-c.done:
				delete(s.calls, p)
			default:
			}
		}
	}
}

// known reports whether a package can be had without asking the network: an
// unfinished import path must not start a search for modules.
func (s *soon) known(path string) bool {
	for _, p := range wellKnown {
		if p == path {
			return true
		}
	}
	if c, ok := s.Packages.(Catalog); ok {
		return c.SourceDir(path) != ""
	}
	return false
}

// Ensure implements Packages.
func (s *soon) Ensure(paths ...string) error {
	var wait []*call
	var start []string
	var mine *call
	s.mu.Lock()
	for _, p := range paths {
		if p == "unsafe" || p == "C" || s.Packages.Name(p) != "" {
			continue
		}
		c := s.calls[p]
		if c == nil {
			if !s.known(p) {
				s.mu.Unlock()
				return fmt.Errorf("import %q: not found in this session's modules", p)
			}
			if mine == nil {
				mine = &call{done: make(chan struct{})}
			}
			c = mine
			s.calls[p] = c
			start = append(start, p)
		}
		wait = append(wait, c)
	}
	left := time.Until(s.deadline)
	s.mu.Unlock()
	if mine != nil {
		go func() {
			mine.err = s.Packages.Ensure(start...)
			close(mine.done)
		}()
	}
	if len(wait) == 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	for _, c := range wait {
		select {
		case <-c.done:
			if c.err != nil {
				return c.err
			}
		case <-timer.C:
			return errors.New("still compiling packages")
		}
	}
	return nil
}

// Import implements types.Importer.
func (s *soon) Import(path string) (*types.Package, error) {
	if err := s.Ensure(path); err != nil {
		return nil, err
	}
	return s.Packages.Import(path)
}

// survey plans a parsed cell as far as its types, whatever is wrong with it.
func (st *State) survey(p *parsed) *planner {
	pl := &planner{st: st, src: p.src, parsed: p, special: map[string]bool{},
		scope: &scope{st: st, decls: map[string]*decl{}, methods: map[string]map[string]*decl{}, imports: map[string]string{}}}
	pl.plan = &Plan{st: st, scope: pl.scope, Func: "rl" + Mark + "cell", versions: map[string]version{}, symbols: map[string]bool{}}
	all := p.imports
	for i := range all { // each on its own: one that cannot be had hides no others
		p.imports = all[i : i+1]
		_ = pl.resolveImports() // what is wrong with half a cell is not asked
	}
	p.imports = all
	_ = pl.declare()
	pl.close()
	for range 2 { // again where variables hold values of types that were redeclared
		if !pl.look() {
			return nil
		}
		if !pl.pinAll() {
			break
		}
	}
	return pl
}

// look emits and checks what there is, errors or not.
func (pl *planner) look() bool {
	pl.emit(false)
	pl.fset, pl.files = token.NewFileSet(), nil
	pl.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	for _, e := range pl.emitted {
		f, err := parser.ParseFile(pl.fset, e.name, e.buf.Bytes(), parser.SkipObjectResolution)
		if f == nil || err != nil {
			return false
		}
		e.tf = pl.fset.File(f.Pos())
		pl.files = append(pl.files, f)
	}
	conf := types.Config{
		Importer:  pl.st.pkgs,
		GoVersion: goVersion(),
		Sizes:     types.SizesFor("gc", runtime.GOARCH),
		Error:     func(error) {},
	}
	pl.pkg, _ = conf.Check("main", pl.fset, pl.files, pl.info)
	return true
}

// pinAll finds the variables whose type was redeclared since, as settle does.
func (pl *planner) pinAll() (again bool) {
	for _, d := range pl.include {
		if d.kind != token.VAR || d.typeSig == "" || pl.pinned[d] {
			continue
		}
		if obj := pl.pkg.Scope().Lookup(d.names[0]); obj != nil && structure(pl.pkg, obj.Type()) != d.typeSig && pl.pin(d) {
			again = true
		}
	}
	return again
}

// find returns the way from a file down to the first identifier that matches,
// innermost node last.
func (pl *planner) find(match func(*ast.Ident) bool) []ast.Node {
	var found, stack []ast.Node
	for i := len(pl.files) - 1; i >= 0 && found == nil; i-- { // the cell is the last
		ast.Inspect(pl.files[i], func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			if id, ok := n.(*ast.Ident); ok && found == nil && match(id) {
				found = append([]ast.Node{}, stack...)
			}
			return true
		})
	}
	return found
}

// qualify names packages as people do.
func (pl *planner) qualify(p *types.Package) string {
	if p == pl.pkg {
		return ""
	}
	return p.Name()
}

// oldMark finds what oldName adds to the name of a type.
var oldMark = regexp.MustCompile(`(` + Mark + `\d+)?` + Mark + `old`)

func (pl *planner) typeString(t types.Type) string {
	if a, ok := t.(*types.Alias); ok && a.Obj().Pkg() != nil && a.Obj().Pkg().Path() == LivePath {
		t = types.Unalias(t)
	}
	s := oldMark.ReplaceAllString(types.TypeString(t, pl.qualify), "")
	if strings.Contains(s, "invalid type") {
		return ""
	}
	return s
}

// signature is one line that says what an object is.
func (pl *planner) signature(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func:
		s := pl.typeString(obj.Type())
		if sig, ok := obj.Type().(*types.Signature); ok && sig.Recv() != nil {
			recv := pl.typeString(sig.Recv().Type())
			return oneLine("func (" + recv + ") " + obj.Name() + strings.TrimPrefix(s, "func"))
		}
		return oneLine("func " + obj.Name() + strings.TrimPrefix(s, "func"))
	case *types.TypeName:
		u := obj.Type().Underlying()
		switch u.(type) {
		case *types.Struct:
			return "type " + obj.Name() + " struct"
		case *types.Interface:
			if obj.Pkg() != nil {
				return "type " + obj.Name() + " interface"
			}
		}
		if obj.Pkg() == nil {
			return "type " + obj.Name()
		}
		return oneLine("type " + obj.Name() + " " + pl.typeString(u))
	case *types.Const:
		t := pl.typeString(obj.Type())
		if obj.Val() != nil {
			t += " = " + obj.Val().String()
		}
		return oneLine(strings.TrimPrefix(t, "untyped "))
	case *types.PkgName:
		return fmt.Sprintf("package %q", obj.Imported().Path())
	case *types.Var:
		return oneLine(pl.typeString(obj.Type()))
	case *types.Builtin:
		return "built-in function"
	}
	return ""
}

// oneLine folds white space and bounds the length.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 200 {
		s = string(r[:199]) + "…"
	}
	return s
}

func kindOf(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func, *types.Builtin:
		if f, ok := obj.(*types.Func); ok && f.Signature().Recv() != nil {
			return "method"
		}
		return "function"
	case *types.TypeName:
		return "type"
	case *types.Const, *types.Nil:
		return "const"
	case *types.PkgName:
		return "package"
	case *types.Var:
		if obj.IsField() {
			return "field"
		}
	}
	return "var"
}

// summary is one line on a declaration of the session.
func (st *State) summary(name string, d *decl) (kind, doc string) {
	switch d.kind {
	case token.FUNC:
		return "function", oneLine(d.header())
	case token.TYPE:
		if ts := d.typeSpec(); ts != nil {
			switch ts.Type.(type) {
			case *ast.StructType:
				return "type", "type " + name + " struct"
			case *ast.InterfaceType:
				return "type", "type " + name + " interface"
			}
		}
		return "type", oneLine("type " + d.piece.text)
	case token.CONST:
		return "const", "const " + name
	}
	return "var", oneLine(st.readable(d.typ))
}

// typeSpec parses a type declaration, comments included.
func (d *decl) typeSpec() *ast.TypeSpec {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p;type "+d.piece.text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || len(f.Decls) != 1 {
		return nil
	}
	gd, ok := f.Decls[0].(*ast.GenDecl)
	if !ok || len(gd.Specs) != 1 {
		return nil
	}
	return gd.Specs[0].(*ast.TypeSpec)
}

// header is a function's declaration without its body.
func (d *decl) header() string {
	f, err := parser.ParseFile(token.NewFileSet(), "", filePrefix+d.piece.text, parser.SkipObjectResolution)
	if err != nil || len(f.Decls) == 0 {
		return d.piece.text
	}
	fd, ok := f.Decls[0].(*ast.FuncDecl)
	if !ok || fd.Body == nil {
		return d.piece.text
	}
	return strings.TrimSpace(d.piece.text[:int(fd.Body.Pos())-1-len(filePrefix)])
}
