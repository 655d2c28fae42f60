package cell

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"sort"
	"strings"
)

// resultKind is what becomes of the trailing expression.
type resultKind struct {
	expr ast.Expr
	item *item
	call string // the call that takes the expression; empty for a plain statement
}

// findResult locates the trailing expression in the syntax tree.
func (pl *planner) findResult() {
	n := len(pl.parsed.items)
	if n == 0 || !pl.parsed.items[n-1].result {
		return
	}
	it := &pl.parsed.items[n-1]
	e := pl.emitted[len(pl.emitted)-1]
	for _, d := range pl.files[len(pl.files)-1].Decls {
		fd, ok := d.(*ast.FuncDecl)
		if !ok || fd.Name.Name != pl.plan.Func {
			continue
		}
		for _, s := range fd.Body.List {
			if x, ok := s.(*ast.ExprStmt); ok {
				if p, off := e.at(e.tf.Offset(x.Pos())); p == it.stmt && off == 0 {
					pl.result = &resultKind{expr: x.X, item: it}
					pl.plan.ResultLine = it.stmt.line
				}
			}
		}
	}
}

// settle decides, after the check, under which symbols variables and types
// live, and what becomes of the trailing expression. It asks for another check
// when it had to pin variables.
func (pl *planner) settle() (again bool, ps Problems) {
	pl.rename = map[types.Object]string{}
	pl.plan.versions, pl.plan.symbols = map[string]version{}, map[string]bool{}
	scope := pl.pkg.Scope()
	pl.findUsed()
	for _, d := range pl.include {
		if d.kind != token.VAR {
			continue
		}
		obj := scope.Lookup(d.names[0])
		if obj == nil {
			continue
		}
		if sig := structure(pl.pkg, obj.Type()); d.typeSig != "" && sig != d.typeSig && !pl.pinned[d] {
			if !pl.pin(d) {
				return false, pl.outdated(d)
			}
			again = true
		}
		if d.symbol != d.names[0] {
			pl.rename[obj] = d.symbol
		}
	}
	if again {
		return true, nil
	}
	for symbol := range pl.old {
		if obj := scope.Lookup(oldName(symbol)); obj != nil {
			pl.rename[obj] = symbol
		}
	}
	for _, n := range pl.sortedScope() {
		d := pl.scope.decls[n]
		obj := scope.Lookup(n)
		if d.kind != token.VAR || obj == nil || n == "_" {
			continue
		}
		switch {
		case strings.HasSuffix(n, Mark+"was"), pl.special[n] && d.piece.text == "" && d.exprNames == nil && d.typ != "":
		default:
			d.typ, d.typFree = pl.spell(obj.Type())
			d.typeSig = structure(pl.pkg, obj.Type())
			old := pl.st.decls[n]
			if old != nil && old.kind == token.VAR && old.typ == d.typ && old.typeSig == d.typeSig && old.symbol != "" {
				d.symbol = old.symbol
			} else {
				d.symbol = pl.st.freeSymbol(n, pl.plan.symbols)
			}
			if d.typ == "" {
				pl.plan.NeedsBase = true
			}
		}
		pl.plan.symbols[d.symbol] = true
		if d.symbol != n {
			pl.rename[obj] = d.symbol
		}
	}
	for _, d := range pl.allDecls() {
		switch d.kind {
		case token.FUNC:
			if d.recv == "" {
				pl.plan.symbols[d.names[0]] = true
			}
		case token.TYPE:
			name := d.names[0]
			s := pl.currentSymbol(name)
			pl.plan.snapshots[name] = pl.scope.snap(name, pl.versionsOf([]string{name}))
			if obj := scope.Lookup(name); obj != nil && s != name {
				pl.rename[obj] = s
			}
		}
	}
	for _, d := range pl.vars {
		d.versions = pl.versionsOf(d.typFree)
	}
	if pl.result != nil {
		pl.result.call = pl.resultCall()
	}
	return false, nil
}

// allDecls returns the functions, methods, types and constants that the plan
// emits, in a fixed order.
func (pl *planner) allDecls() []*decl {
	return append(append([]*decl{}, pl.include...), pl.parsed.decls...)
}

func (pl *planner) outdated(d *decl) Problems {
	msg := fmt.Sprintf("%s (declared in %s) holds a value of a type that was redeclared since with another layout; declare %s again", d.names[0], d.piece.file, d.names[0])
	for id, obj := range pl.info.Uses {
		if obj.Name() == d.names[0] && obj.Parent() == pl.pkg.Scope() {
			pos := pl.fset.Position(id.Pos())
			if pos.Filename == pl.src.file {
				return Problems{{pos.Filename, pos.Line, pos.Column, msg}}
			}
		}
	}
	return Problems{{File: pl.src.file, Msg: msg}}
}

// resultCall chooses the call that takes the trailing expression.
func (pl *planner) resultCall() string {
	tv, ok := pl.info.Types[pl.result.expr]
	if !ok || tv.IsVoid() || tv.IsType() {
		return ""
	}
	call, isCall := ast.Unparen(pl.result.expr).(*ast.CallExpr)
	if isCall && pl.info.Types[call.Fun].IsType() {
		isCall = false // a conversion
	}
	if !isCall {
		if pl.result.item.quiet {
			return liveName + ".Discard("
		}
		return liveName + ".Result("
	}
	if fn := callee(pl.info, call); fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "fmt" && strings.Contains(fn.Name(), "rint") && !strings.HasPrefix(fn.Name(), "S") {
		return "" // nobody wants to see (12, <nil>) under what was printed
	}
	last := tv.Type
	if t, ok := tv.Type.(*types.Tuple); ok && t.Len() > 0 {
		last = t.At(t.Len() - 1).Type()
	}
	fails := types.Identical(last, types.Universe.Lookup("error").Type()) && !speaksOfErrors(pl.info, call)
	switch {
	case fails && pl.result.item.quiet:
		return liveName + ".DiscardOrError("
	case fails:
		return liveName + ".ResultOrError("
	case pl.result.item.quiet:
		return ""
	}
	return liveName + ".Result("
}

// speaksOfErrors reports whether the error that a call returns is what was
// asked for, as of errors.New and ctx.Err, rather than the call's failure.
func speaksOfErrors(info *types.Info, call *ast.CallExpr) bool {
	fn := callee(info, call)
	if fn == nil || fn.Pkg() == nil || fn.Signature().Results().Len() != 1 {
		return false
	}
	switch path := fn.Pkg().Path(); {
	case path == "errors", path == "fmt" && fn.Name() == "Errorf", path == "context" && fn.Name() == "Cause":
		return true
	}
	return fn.Signature().Recv() != nil && fn.Signature().Params().Len() == 0 &&
		(fn.Name() == "Err" || fn.Name() == "Unwrap" || fn.Name() == "Cause")
}

// callee returns the function or method that a call names statically.
func callee(info *types.Info, call *ast.CallExpr) *types.Func {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		fn, _ := info.Uses[f].(*types.Func)
		return fn
	case *ast.SelectorExpr:
		fn, _ := info.Uses[f.Sel].(*types.Func)
		return fn
	}
	return nil
}

// findUsed notes which imports each emitted file uses.
func (pl *planner) findUsed() {
	pl.used, pl.keep = map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, e := range pl.emitted {
		pl.used[e.name], pl.keep[e.name] = map[string]bool{}, map[string]bool{}
	}
	dot := map[string]bool{}
	for _, p := range pl.dots {
		dot[p] = true
	}
	for id, obj := range pl.info.Uses {
		e := pl.fileOf(id.Pos())
		if e == nil {
			continue
		}
		if pn, ok := obj.(*types.PkgName); ok {
			pl.used[e.name][pn.Name()] = true
		} else if obj.Pkg() != nil && dot[obj.Pkg().Path()] {
			pl.used[e.name]["."+obj.Pkg().Path()] = true
		}
	}
}

func (pl *planner) fileOf(pos token.Pos) *emitter {
	for _, e := range pl.emitted {
		if e.tf.Base() <= int(pos) && int(pos) <= e.tf.Base()+e.tf.Size() {
			return e
		}
	}
	return nil
}

// spell writes a type down as Go source that is valid in any cell: packages by
// their alias, our own types by name. It returns "" when that cannot be done
// (unexported types of other packages, types local to a function), and the
// names of ours that the text uses.
func (pl *planner) spell(t types.Type) (string, []string) {
	free := map[string]bool{}
	ok := true
	seen := map[types.Type]bool{}
	var walk func(types.Type)
	named := func(obj *types.TypeName, args *types.TypeList) {
		switch {
		case obj.Pkg() == nil: // error, any, comparable
		case obj.Pkg() == pl.pkg:
			if obj.Parent() != pl.pkg.Scope() {
				ok = false
			}
			free[obj.Name()] = true
		default:
			if !obj.Exported() || obj.Parent() != obj.Pkg().Scope() {
				ok = false
			} else {
				pl.st.alias(obj.Pkg().Path())
			}
		}
		for i := 0; i < args.Len(); i++ {
			walk(args.At(i))
		}
	}
	tuple := func(t *types.Tuple) {
		for i := 0; i < t.Len(); i++ {
			walk(t.At(i).Type())
		}
	}
	walk = func(t types.Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Basic:
			if t.Kind() == types.Invalid || t.Info()&types.IsUntyped != 0 {
				ok = false
			}
		case *types.Alias:
			named(t.Obj(), t.TypeArgs())
		case *types.Named:
			named(t.Obj(), t.TypeArgs())
		case *types.Pointer:
			walk(t.Elem())
		case *types.Slice:
			walk(t.Elem())
		case *types.Array:
			walk(t.Elem())
		case *types.Chan:
			walk(t.Elem())
		case *types.Map:
			walk(t.Key())
			walk(t.Elem())
		case *types.Struct:
			for i := 0; i < t.NumFields(); i++ {
				f := t.Field(i)
				if !f.Exported() && f.Pkg() != pl.pkg {
					ok = false
				}
				walk(f.Type())
			}
		case *types.Signature:
			tuple(t.Params())
			tuple(t.Results())
		case *types.Interface:
			for i := 0; i < t.NumMethods(); i++ {
				if m := t.Method(i); !m.Exported() && m.Pkg() != pl.pkg {
					ok = false
				} else {
					walk(m.Type())
				}
			}
			for i := 0; i < t.NumEmbeddeds(); i++ {
				walk(t.EmbeddedType(i))
			}
		default:
			ok = false
		}
	}
	walk(t)
	if !ok {
		return "", nil
	}
	text := types.TypeString(t, func(p *types.Package) string {
		if p == pl.pkg {
			return ""
		}
		return pl.st.alias(p.Path())
	})
	return text, sortedKeys(free)
}

// renameTypes writes a spelled type with the symbols of its types.
func (pl *planner) renameTypes(typ string) string {
	if len(pl.rename) == 0 {
		return typ
	}
	const prefix = "package p;var _ "
	f, err := parser.ParseFile(token.NewFileSet(), "", prefix+typ, 0)
	if err != nil {
		return typ
	}
	p := piece{text: typ}
	for _, id := range f.Unresolved {
		obj, ok := pl.pkg.Scope().Lookup(id.Name).(*types.TypeName)
		if !ok {
			continue
		}
		if s, ok := pl.rename[obj]; ok {
			at := int(id.Pos()) - 1 - len(prefix)
			p.edits = append(p.edits, edit{start: at, end: at + len(id.Name), text: s})
		}
	}
	return p.edited()
}

// structure writes down all of a type that decides how its memory reads: our
// own types expanded, those of other packages by name. Two types of equal
// structure can share a variable.
func structure(own *types.Package, t types.Type) string {
	var b strings.Builder
	seen := map[string]int{}
	var walk func(types.Type)
	walk = func(t types.Type) {
		switch t := types.Unalias(t).(type) {
		case *types.Named:
			obj := t.Obj()
			if obj.Pkg() != own {
				b.WriteString(types.TypeString(types.NewPointer(t.Origin()), func(p *types.Package) string { return p.Path() }))
				for i := 0; i < t.TypeArgs().Len(); i++ {
					b.WriteString("[")
					walk(t.TypeArgs().At(i))
					b.WriteString("]")
				}
				return
			}
			key := types.TypeString(t, nil)
			if obj.Parent() != own.Scope() {
				key += fmt.Sprint(obj.Pos())
			}
			if n, ok := seen[key]; ok {
				fmt.Fprintf(&b, "#%d", n)
				return
			}
			seen[key] = len(seen)
			b.WriteString(obj.Name() + "=")
			walk(t.Underlying())
		case *types.Pointer:
			b.WriteString("*")
			walk(t.Elem())
		case *types.Slice:
			b.WriteString("[]")
			walk(t.Elem())
		case *types.Array:
			fmt.Fprintf(&b, "[%d]", t.Len())
			walk(t.Elem())
		case *types.Chan:
			fmt.Fprintf(&b, "chan%d ", t.Dir())
			walk(t.Elem())
		case *types.Map:
			b.WriteString("map[")
			walk(t.Key())
			b.WriteString("]")
			walk(t.Elem())
		case *types.Struct:
			b.WriteString("struct{")
			for i := 0; i < t.NumFields(); i++ {
				b.WriteString(t.Field(i).Name() + " ")
				walk(t.Field(i).Type())
				b.WriteString(";")
			}
			b.WriteString("}")
		case *types.Signature:
			b.WriteString("func(")
			for _, tu := range []*types.Tuple{t.Params(), t.Results()} {
				for i := 0; i < tu.Len(); i++ {
					walk(tu.At(i).Type())
					b.WriteString(",")
				}
				b.WriteString(")")
			}
			fmt.Fprintf(&b, "%v", t.Variadic())
		case *types.Interface:
			b.WriteString("interface{")
			ms := make([]string, t.NumMethods())
			for i := range ms {
				ms[i] = t.Method(i).Name()
			}
			sort.Strings(ms)
			for _, n := range ms {
				for i := 0; i < t.NumMethods(); i++ {
					if t.Method(i).Name() == n {
						b.WriteString(n)
						walk(t.Method(i).Type())
						b.WriteString(";")
					}
				}
			}
			b.WriteString("}")
		default:
			b.WriteString(types.TypeString(t, nil))
		}
	}
	walk(t)
	return b.String()
}
