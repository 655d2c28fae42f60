package cell

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/token"
	"go/types"
	"sort"
	"strings"
)

// Mark separates a user's name from what the generator appends to it, as in
// the symbol of a redeclared type. It is a letter to Go and a dot to the eye.
const Mark = "ᐧ"

// LivePath is the import path of the runtime that generated code calls.
const LivePath = "github.com/rooflab/rooflab/kernel/live"

const liveName = "rl" + Mark + "live"

// Packages is what the state needs to know of importable packages.
type Packages interface {
	types.Importer
	// Ensure makes packages importable; the error names the package that is not.
	Ensure(paths ...string) error
	// Name returns the package name behind an import path that Ensure saw.
	Name(path string) string
}

// State is what earlier cells declared. The zero value is not usable; see New.
type State struct {
	pkgs    Packages
	imports map[string]string // package name -> path
	decls   map[string]*decl
	methods map[string]map[string]*decl
	types   map[string]*history
	// symbols holds every symbol name that a variable or type ever took.
	symbols map[string]bool
	aliases map[string]string // import path -> name in spelled types
	opened  map[string]string // exported name -> package whose names are open

	lang language // completion and inspection: a copy of the above, with its own locks
}

// history is the versions of a type name: hash of all that it reaches -> symbol.
type history struct {
	symbols   map[string]string
	snapshots map[string]*snapshot // by symbol
}

// New returns the state of a session in which nothing was declared.
func New(pkgs Packages) *State {
	st := &State{
		pkgs:    pkgs,
		imports: map[string]string{},
		decls:   map[string]*decl{},
		methods: map[string]map[string]*decl{},
		types:   map[string]*history{},
		symbols: map[string]bool{},
		aliases: map[string]string{},
		opened:  map[string]string{},
	}
	return st
}

// predeclared are variables that every session has: they are set anew by each
// cell that uses them.
var predeclared = map[string]struct{ typ, value string }{
	"ctx": {liveName + ".Ctx", liveName + ".Context()"},
	"Out": {liveName + ".Outs", liveName + ".Out"},
}

// alias returns the name under which spelled types refer to a package.
func (st *State) alias(path string) string {
	if a, ok := st.aliases[path]; ok {
		return a
	}
	a := fmt.Sprintf("rl%s%d", Mark, len(st.aliases)+1)
	st.aliases[path] = a
	return a
}

// scope is the state with one cell's declarations laid over it.
type scope struct {
	st      *State
	decls   map[string]*decl
	methods map[string]map[string]*decl
	imports map[string]string
}

func (sc *scope) lookup(name string) *decl {
	if d, ok := sc.decls[name]; ok {
		return d
	}
	if _, ok := sc.imports[name]; ok {
		return nil // this cell imports the name anew
	}
	return sc.st.decls[name]
}

// methodsOf returns the methods of a type, those of this cell over earlier
// ones, sorted by name.
func (sc *scope) methodsOf(name string) []*decl {
	all := map[string]*decl{}
	for n, d := range sc.st.methods[name] {
		all[n] = d
	}
	for n, d := range sc.methods[name] {
		all[n] = d
	}
	names := make([]string, 0, len(all))
	for n := range all {
		names = append(names, n)
	}
	sort.Strings(names)
	ds := make([]*decl, len(names))
	for i, n := range names {
		ds[i] = all[n]
	}
	return ds
}

// reach visits every declaration that the names lead to, each once.
func (sc *scope) reach(names []string, visit func(*decl)) {
	seen := map[*decl]bool{}
	var walk func(d *decl)
	follow := func(names []string, imports map[string]string) {
		for _, n := range names {
			if _, ok := imports[n]; ok {
				continue
			}
			if d := sc.lookup(n); d != nil {
				walk(d)
			}
		}
	}
	walk = func(d *decl) {
		if seen[d] {
			return
		}
		seen[d] = true
		visit(d)
		if d.kind == token.VAR {
			follow(d.typFree, nil)
			if d.typ == "" {
				follow(d.free, d.imports)
			}
			return
		}
		follow(d.free, d.imports)
		if d.kind == token.TYPE {
			for _, m := range sc.methodsOf(d.names[0]) {
				walk(m)
			}
		}
	}
	follow(names, nil)
}

// identity is the hash of everything that decides what a type is and does.
func (sc *scope) identity(name string) string {
	var parts []string
	sc.reach([]string{name}, func(d *decl) {
		switch d.kind {
		case token.VAR:
			parts = append(parts, "var "+d.symbol)
		case token.TYPE:
			parts = append(parts, "type "+d.piece.text)
		default:
			parts = append(parts, d.piece.text)
		}
		for n, p := range d.imports {
			parts = append(parts, "import "+n+" "+p)
		}
	})
	sort.Strings(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// typeSymbol returns the symbol of a type in its present version, and the hash
// of that version.
func (sc *scope) typeSymbol(name string, taken map[string]bool) (symbol, hash string) {
	hash = sc.identity(name)
	h := sc.st.types[name]
	if h != nil {
		if s, ok := h.symbols[hash]; ok {
			return s, hash
		}
	}
	return sc.st.freeSymbol(name, taken), hash
}

// freeSymbol returns name itself if it was never a symbol, or name with a mark
// and a number.
func (st *State) freeSymbol(name string, taken map[string]bool) string {
	s := name
	for n := 2; st.symbols[s] || taken[s]; n++ {
		s = fmt.Sprintf("%s%s%d", name, Mark, n)
	}
	return s
}

// Open makes the exported names of a package usable without its name, as a dot
// import in every cell that uses one of them would. It returns the names.
func (st *State) Open(path string) ([]string, error) {
	names, err := st.exported(path)
	if err == nil {
		st.publish()
	}
	return names, err
}

// exported makes the exported names of a package mean what it declares.
func (st *State) exported(path string) ([]string, error) {
	pkg, err := st.pkgs.Import(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range pkg.Scope().Names() {
		if token.IsExported(n) {
			names = append(names, n)
			st.opened[n] = path
			st.drop(n)
			delete(st.imports, n)
		}
	}
	return names, nil
}

// drop takes a declaration back.
func (st *State) drop(name string) {
	if d := st.decls[name]; d != nil && d.kind == token.CONST && len(d.names) > 1 {
		st.dropConst(d, name)
	}
	delete(st.decls, name)
	delete(st.methods, name)
}

// open adds a dot import to the plan.
func (pl *planner) open(path string) {
	for _, p := range pl.dots {
		if p == path {
			return
		}
	}
	pl.dots = append(pl.dots, path)
}

// commit takes over what the plan declares.
func (st *State) commit(p *Plan) {
	for n, path := range p.scope.imports {
		st.imports[n] = path
		delete(st.decls, n)
	}
	for n, d := range p.scope.decls {
		if old := st.decls[n]; old != nil && old.kind == token.CONST && len(old.names) > 1 {
			st.dropConst(old, n)
		}
		if d.kind == token.TYPE && st.decls[n] != nil && st.decls[n].kind != token.TYPE {
			delete(st.methods, n)
		}
		st.decls[n] = d
		delete(st.imports, n)
		delete(st.opened, n)
	}
	for t, ms := range p.scope.methods {
		if st.methods[t] == nil {
			st.methods[t] = map[string]*decl{}
		}
		for n, d := range ms {
			st.methods[t][n] = d
		}
	}
	for name, v := range p.versions {
		h := st.types[name]
		if h == nil {
			h = &history{symbols: map[string]string{}, snapshots: map[string]*snapshot{}}
			st.types[name] = h
		}
		h.symbols[v.hash] = v.symbol
		if h.snapshots[v.symbol] == nil {
			h.snapshots[v.symbol] = p.snapshots[name]
		}
	}
	for s := range p.symbols {
		st.symbols[s] = true
	}
	for _, path := range p.opened {
		_, _ = st.exported(path) // the cell was compiled with it
	}
	st.publish()
}

// dropConst takes one name out of a group of constants: iota of the others
// must not move, so the name becomes blank.
func (st *State) dropConst(d *decl, name string) {
	toks := scan(d.piece.text)
	for i, t := range toks {
		first := i == 0 || toks[i-1].tok == token.SEMICOLON || toks[i-1].tok == token.LPAREN || toks[i-1].tok == token.COMMA || toks[i-1].tok == token.CONST
		if t.tok == token.IDENT && t.lit == name && first {
			d.piece.text = d.piece.text[:t.off] + "_" + d.piece.text[t.end:]
			break
		}
	}
	for i, n := range d.names {
		if n == name {
			d.names = append(d.names[:i:i], d.names[i+1:]...)
			break
		}
	}
}

// Names returns the names that cells have declared, sorted.
func (st *State) Names() []string {
	names := make([]string, 0, len(st.decls))
	for n, d := range st.decls {
		if !d.predeclared && !strings.Contains(n, Mark) {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}

// Describe lists what the session has declared, one line each.
func (st *State) Describe() []string {
	var lines []string
	for _, n := range st.Names() {
		d := st.decls[n]
		kind := d.kind.String()
		typ := ""
		if d.kind == token.VAR {
			typ = " " + st.readable(d.typ)
		}
		lines = append(lines, fmt.Sprintf("%-5s %s%s  (%s)", kind, n, typ, d.piece.file))
	}
	return lines
}

// readable writes a spelled type with the package names that people know.
func (st *State) readable(typ string) string {
	for path, a := range st.aliases {
		name := st.pkgs.Name(path)
		if path == "unsafe" { // which has no archive to tell
			name = path
		}
		typ = strings.ReplaceAll(typ, a+".", name+".")
	}
	return typ
}
