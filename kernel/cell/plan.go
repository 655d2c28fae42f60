package cell

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
)

// Plan is a cell ready to be compiled.
type Plan struct {
	// Files are the generated sources of the cell package.
	Files []File
	// Func is the function that runs the cell.
	Func string
	// Imports are the packages that Files import.
	Imports []string
	// Key is equal for two plans that would compile to the same plugin, the
	// cell's number apart.
	Key string
	// Empty is set when there is nothing to compile or run.
	Empty bool
	// ResultLine is where the trailing expression begins, 0 if there is none.
	ResultLine int
	// NeedsBase is set when package initialisation must not run (variables of
	// types that cannot be written down).
	NeedsBase bool

	st        *State
	scope     *scope
	versions  map[string]version
	symbols   map[string]bool
	snapshots map[string]*snapshot
	opened    []string // dot imports of this cell
}

// File is one generated source file.
type File struct {
	Name string
	Text []byte
}

type version struct{ symbol, hash string }

// Commit makes the plan's declarations part of the session.
func (p *Plan) Commit() { p.st.commit(p) }

// planner carries the steps of one Plan call.
type planner struct {
	st      *State
	src     *source
	parsed  *parsed
	scope   *scope
	id      int
	vars    []*decl // new variables
	include []*decl // earlier declarations that are emitted
	special map[string]bool
	// bodyImports binds the package names that the cell's statements use.
	bodyImports map[string]string

	blank   []string // blank and dot imports of this cell
	dots    []string
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	files   []*ast.File
	emitted []*emitter
	rename  map[types.Object]string
	result  *resultKind
	used    map[string]map[string]bool // file -> import names in use
	keep    map[string]map[string]bool // file -> expressions that keep an import in use
	plan    *Plan

	pinned    map[*decl]bool
	old       map[string]*snapshot // symbol -> old version of a type
	oldPieces map[*decl]*piece
	dropped   map[*decl]bool
}

// Plan compiles a cell's Go text to files, or says what is wrong with it. The
// state is unchanged until the plan is committed. id numbers the cell's
// function, file is what positions call the cell.
func (st *State) Plan(id int, file, text string) (plan *Plan, err error) {
	defer func() {
		// A fault of ours in one cell must not take the session along.
		if v := recover(); v != nil {
			plan, err = nil, fmt.Errorf("rooflab failed to translate the cell (%v); please report it with this cell:\n%s", v, debug.Stack())
		}
	}()
	src := newSource(file, text)
	parsed, ps := parse(src)
	if ps != nil {
		return nil, ps
	}
	pl := &planner{st: st, src: src, parsed: parsed, id: id, special: map[string]bool{},
		scope: &scope{st: st, decls: map[string]*decl{}, methods: map[string]map[string]*decl{}, imports: map[string]string{}}}
	pl.plan = &Plan{st: st, scope: pl.scope, Func: fmt.Sprintf("rl%scell%d", Mark, id), versions: map[string]version{}, symbols: map[string]bool{}, snapshots: map[string]*snapshot{}}
	if len(parsed.decls) == 0 && len(parsed.items) == 0 && len(parsed.imports) == 0 {
		pl.plan.Empty = true
		return pl.plan, nil
	}
	if ps := pl.resolveImports(); ps != nil {
		return nil, ps
	}
	if ps := pl.declare(); ps != nil {
		return nil, ps
	}
	if ps := pl.close(); ps != nil {
		return nil, ps
	}
	for {
		if ps := pl.check(); ps != nil {
			return nil, ps
		}
		if again, ps := pl.settle(); ps != nil {
			return nil, ps
		} else if !again {
			break
		}
	}
	pl.arrange()
	if ps := pl.early(); ps != nil {
		return nil, ps
	}
	pl.instrument()
	pl.emitFinal()
	return pl.plan, nil
}

func (pl *planner) problem(off int, format string, args ...any) Problems {
	line, col := pl.src.position(off)
	return Problems{{pl.src.file, line, col, fmt.Sprintf(format, args...)}}
}

// resolveImports binds the names of the cell's imports.
func (pl *planner) resolveImports() Problems {
	for _, im := range pl.parsed.imports {
		if err := pl.st.pkgs.Ensure(im.path); err != nil {
			return pl.problem(im.off, "%v", err)
		}
		switch im.name {
		case "_":
			pl.blank = append(pl.blank, im.path)
		case ".":
			pl.open(im.path)
			pl.plan.opened = append(pl.plan.opened, im.path)
		case "":
			name := pl.st.pkgs.Name(im.path)
			if im.path == "unsafe" {
				name = "unsafe"
			}
			if im.path == "C" {
				return pl.problem(im.off, `import "C" must stand alone on its line`)
			}
			pl.scope.imports[name] = im.path
		default:
			pl.scope.imports[im.name] = im.path
		}
	}
	return nil
}

// declare lays the cell's declarations over the session's.
func (pl *planner) declare() Problems {
	for _, d := range pl.parsed.decls {
		if d.recv != "" {
			ms := pl.scope.methods[d.recv]
			if ms == nil {
				ms = map[string]*decl{}
				pl.scope.methods[d.recv] = ms
			}
			if ms[d.names[0]] != nil {
				return Problems{{d.piece.file, d.piece.line, d.piece.col, fmt.Sprintf("method %s.%s is declared twice in this cell", d.recv, d.names[0])}}
			}
			ms[d.names[0]] = d
			continue
		}
		for _, n := range d.names {
			if n == "_" {
				continue
			}
			if pl.scope.decls[n] != nil {
				return Problems{{d.piece.file, d.piece.line, d.piece.col, fmt.Sprintf("%s is declared twice in this cell", n)}}
			}
			pl.scope.decls[n] = d
			delete(pl.scope.imports, n)
		}
	}
	pl.single()
	for _, it := range pl.parsed.items {
		if it.assign == nil {
			continue
		}
		a := it.assign
		for _, n := range a.names {
			if n == "_" {
				continue
			}
			if pl.scope.decls[n] != nil {
				return pl.problem(a.at, "%s is declared twice in this cell", n)
			}
		}
		pl.selfReference(a)
		for i, n := range a.names {
			if n == "_" {
				continue
			}
			line, col := pl.src.position(a.at)
			d := &decl{kind: token.VAR, names: []string{n}, piece: piece{file: pl.src.file, line: line, col: col}, free: it.free()}
			if a.values != nil {
				d.exprNames = make([]string, len(a.names))
				for j := range d.exprNames {
					d.exprNames[j] = "_"
				}
				d.exprNames[i] = n
				d.piece = *a.values
			}
			pl.scope.decls[n] = d
			pl.vars = append(pl.vars, d)
		}
	}
	// A type that a cell declares anew starts with the methods of that cell
	// and, where the cell declares none of that name, keeps the earlier ones:
	// methods may be spread over cells.
	return nil
}

// selfReference lets the right side of x := f(x) mean the x of earlier cells.
func (pl *planner) selfReference(a *assign) {
	if a.values == nil {
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p;var _ = "+a.values.text, 0)
	if err != nil {
		return
	}
	const prefix = len("package p;var _ = ")
	for i := len(f.Unresolved) - 1; i >= 0; i-- {
		id := f.Unresolved[i]
		for _, n := range a.names {
			old := pl.st.decls[n]
			if n != id.Name || old == nil || old.kind != token.VAR || pl.scope.decls[n] != nil || inFuncLit(f, id) {
				continue
			}
			at := int(id.Pos()) - 1 - prefix
			prev := n + Mark + "was"
			a.values.text = a.values.text[:at] + prev + a.values.text[at+len(n):]
			was := *old
			was.names = []string{prev}
			pl.scope.decls[prev] = &was
			if old.typ == "" {
				was.exprNames = append([]string{}, old.exprNames...)
				for k, e := range was.exprNames {
					if e == n {
						was.exprNames[k] = prev
					}
				}
			}
		}
	}
}

// inFuncLit reports whether the identifier stands in a function literal: there
// a name means the variable being declared, as for a recursive closure.
func inFuncLit(f *ast.File, id *ast.Ident) bool {
	in := false
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.FuncLit); ok && l.Pos() <= id.Pos() && id.Pos() < l.End() {
			in = true
		}
		return !in
	})
	return in
}

// close finds which earlier declarations and which packages the cell needs.
func (pl *planner) close() Problems {
	var missing []string
	bind := func(names []string) map[string]string {
		m := map[string]string{}
		for _, n := range names {
			if path, ok := pl.scope.imports[n]; ok {
				m[n] = path
				continue
			}
			if d := pl.scope.lookup(n); d != nil && !d.predeclared {
				continue
			}
			if path, ok := pl.st.imports[n]; ok {
				m[n] = path
				continue
			}
			if _, ok := predeclared[n]; ok {
				pl.special[n] = true
				continue
			}
			if types.Universe.Lookup(n) != nil {
				continue
			}
			if path, ok := pl.st.opened[n]; ok {
				pl.open(path)
				continue
			}
			path, ok := wellKnown[n]
			if n == TestsName {
				path, ok = TestsPath, true
			}
			if ok {
				m[n] = path
				missing = append(missing, path)
			}
		}
		return m
	}
	var roots []string
	for _, d := range pl.parsed.decls {
		d.imports = bind(d.free)
		roots = append(roots, d.free...)
		roots = append(roots, d.names...)
		if d.recv != "" {
			roots = append(roots, d.recv)
		}
	}
	pl.bodyImports = map[string]string{}
	for _, it := range pl.parsed.items {
		names := it.free()
		for n, p := range bind(names) {
			pl.bodyImports[n] = p
		}
		roots = append(roots, names...)
	}
	for _, d := range pl.vars {
		d.imports = bind(d.free)
	}
	for n := range pl.special {
		pl.predeclare(n)
	}
	if err := pl.st.pkgs.Ensure(missing...); err != nil {
		return Problems{{File: pl.src.file, Msg: err.Error()}}
	}
	mine := map[*decl]bool{}
	for _, d := range pl.scope.decls {
		mine[d] = true
	}
	for _, ms := range pl.scope.methods {
		for _, d := range ms {
			mine[d] = true
		}
	}
	seen := map[*decl]bool{}
	pl.scope.reach(roots, func(d *decl) {
		if d.predeclared && !mine[d] { // a function of an earlier cell uses it
			pl.predeclare(d.names[0])
			return
		}
		if !mine[d] && !seen[d] {
			seen[d] = true
			d.piece.edits = nil // of the plan before
			pl.include = append(pl.include, d)
			for _, n := range d.free {
				if path, ok := pl.st.opened[n]; ok && pl.scope.lookup(n) == nil {
					pl.open(path)
				}
			}
		}
	})
	sort.SliceStable(pl.include, func(i, j int) bool {
		a, b := pl.include[i].piece, pl.include[j].piece
		if a.file != b.file {
			return a.file < b.file
		}
		if a.line != b.line {
			return a.line < b.line
		}
		return pl.include[i].names[0] < pl.include[j].names[0]
	})
	return nil
}

// predeclare declares a variable that every session has in this cell, which sets
// it anew: its memory is the same in all cells.
func (pl *planner) predeclare(n string) {
	pl.special[n] = true
	if d := pl.scope.decls[n]; d == nil || !d.predeclared {
		pl.scope.decls[n] = &decl{kind: token.VAR, names: []string{n}, typ: predeclared[n].typ, symbol: n, piece: piece{file: pl.src.file}, predeclared: true}
	}
}

// check emits the cell for the first time and type-checks it.
func (pl *planner) check() Problems {
	pl.emit(false)
	pl.fset = token.NewFileSet()
	pl.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Instances: map[*ast.Ident]types.Instance{},
	}
	pl.files = nil
	for _, e := range pl.emitted {
		f, err := parser.ParseFile(pl.fset, e.name, e.buf.Bytes(), parser.SkipObjectResolution)
		if err != nil {
			return Problems{{File: pl.src.file, Msg: err.Error()}}
		}
		e.tf = pl.fset.File(f.Pos())
		pl.files = append(pl.files, f)
	}
	pl.findResult()
	var ps Problems
	var places []token.Pos
	seen := map[string]bool{}
	conf := types.Config{
		Importer:  pl.st.pkgs,
		GoVersion: goVersion(),
		Sizes:     types.SizesFor("gc", runtime.GOARCH),
		Error: func(err error) {
			var te types.Error
			if !errors.As(err, &te) {
				ps = append(ps, Problem{File: pl.src.file, Msg: err.Error()})
				return
			}
			if pl.tolerated(te) {
				return
			}
			places = append(places, te.Pos)
			pos := pl.fset.Position(te.Pos)
			p := Problem{pos.Filename, pos.Line, pos.Column, strings.ReplaceAll(te.Msg, Mark+"was", "")}
			pl.takenBack(&p)
			if strings.HasPrefix(p.Msg, "\t") { // goes on with the one before
				if n := len(ps); n > 0 {
					ps[n-1].Msg += "\n" + p.Msg
				}
				return
			}
			if key := p.String(); !seen[key] {
				seen[key] = true
				ps = append(ps, p)
			}
		},
	}
	pl.pkg, _ = conf.Check("main", pl.fset, pl.files, pl.info)
	if ps != nil && pl.dropOldMethods(places) {
		return pl.check()
	}
	if ps != nil {
		sort.SliceStable(ps, func(i, j int) bool {
			if (ps[i].File == pl.src.file) != (ps[j].File == pl.src.file) {
				return ps[i].File == pl.src.file
			}
			if ps[i].Line != ps[j].Line {
				return ps[i].Line < ps[j].Line
			}
			return ps[i].Col < ps[j].Col
		})
	}
	return ps
}

func goVersion() string {
	v, _, _ := strings.Cut(runtime.Version(), "-X:")
	parts := strings.SplitN(v, ".", 3)
	if len(parts) < 2 || !strings.HasPrefix(v, "go") {
		return ""
	}
	return parts[0] + "." + parts[1]
}

// tolerated reports errors that are none in a notebook.
func (pl *planner) tolerated(err types.Error) bool {
	switch {
	case strings.HasPrefix(err.Msg, "initialization cycle"), strings.Contains(err.Msg, " refers to ") && strings.HasPrefix(err.Msg, "\t"):
		// A closure may call itself; what would read a zero is found by early.
		return true
	case strings.HasSuffix(err.Msg, "imported and not used"), strings.Contains(err.Msg, "imported as ") && strings.HasSuffix(err.Msg, "and not used"):
		return true
	case strings.HasSuffix(err.Msg, "is not used") && pl.result != nil && pl.result.expr.Pos() <= err.Pos && err.Pos < pl.result.expr.End():
		return err.Pos == pl.result.expr.Pos() || !strings.HasPrefix(err.Msg, "declared")
	}
	return false
}
