package cell

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// instrument notes the edits that make the cell's code interruptible, keep
// panics of goroutines and os.Exit within the cell, and rename symbols.
func (pl *planner) instrument() {
	for i, f := range pl.files {
		in := &instrumenter{pl: pl, e: pl.emitted[i]}
		for _, d := range f.Decls {
			in.walk(d)
		}
	}
}

type instrumenter struct {
	pl    *planner
	e     *emitter
	stack []ast.Node
	n     int
}

const (
	check = " if " + liveName + ".Stop.Load() != 0 { " + liveName + ".Interrupted() };"
	stop  = " case <-" + liveName + ".Done(): " + liveName + ".Interrupted(); "
)

// replace edits the text between two positions of one piece; outside of user
// text it does nothing.
func (in *instrumenter) replace(start, end token.Pos, text string) bool {
	p, off := in.e.at(in.e.tf.Offset(start))
	if p == nil {
		return false
	}
	n := int(end - start)
	if off+n > len(p.text) {
		return false
	}
	in.n++
	p.edits = append(p.edits, edit{start: off, end: off + n, text: text, order: in.n})
	return true
}

func (in *instrumenter) insert(at token.Pos, text string) bool { return in.replace(at, at, text) }

func (in *instrumenter) parent() ast.Node {
	if len(in.stack) < 2 {
		return nil
	}
	return in.stack[len(in.stack)-2]
}

func (in *instrumenter) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			in.stack = in.stack[:len(in.stack)-1]
			return true
		}
		in.stack = append(in.stack, n)
		in.node(n)
		return true
	})
}

func (in *instrumenter) node(n ast.Node) {
	info := in.pl.info
	switch n := n.(type) {
	case *ast.Ident:
		in.ident(n)
	case *ast.ForStmt:
		in.insert(n.Body.Lbrace+1, check)
	case *ast.RangeStmt:
		in.insert(n.Body.Lbrace+1, check)
		if t := info.TypeOf(n.X); t != nil {
			if _, ok := t.Underlying().(*types.Chan); ok {
				in.insert(n.X.Pos(), liveName+".Chan(")
				in.insert(n.X.End(), ")")
			}
		}
	case *ast.FuncDecl:
		if n.Body != nil {
			in.test(n.Type, n.Body)
		}
		if n.Body != nil && n.Name.Name != in.pl.plan.Func && calls(info, n.Body) {
			in.insert(n.Body.Lbrace+1, check)
		}
	case *ast.FuncLit:
		in.test(n.Type, n.Body)
		if calls(info, n.Body) {
			in.insert(n.Body.Lbrace+1, check)
		}
	case *ast.SelectStmt:
		for _, c := range n.Body.List {
			if c.(*ast.CommClause).Comm == nil {
				return // has a default: it does not block
			}
		}
		text := stop
		if len(n.Body.List) > 0 {
			text = ";" + stop // the last statement may stand on this line
		}
		in.insert(n.Body.Rbrace, text)
	case *ast.SendStmt:
		if in.inBlock() {
			in.insert(n.Pos(), "select { case ")
			in.insert(n.End(), ": "+strings.TrimSpace(stop)+" }")
		}
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && !in.inComm() {
			name := ".Recv("
			if _, ok := info.TypeOf(n).(*types.Tuple); ok {
				name = ".Recv2("
			}
			if in.replace(n.OpPos, n.OpPos+2, liveName+name) {
				in.insert(n.X.End(), ")")
			}
		}
	case *ast.CallExpr:
		in.call(n)
	case *ast.SelectorExpr:
		in.selector(n)
	case *ast.GoStmt:
		in.goStmt(n)
	}
}

// ident renames variables and types that live under another symbol.
func (in *instrumenter) ident(id *ast.Ident) {
	obj := in.pl.info.Uses[id]
	if obj == nil {
		obj = in.pl.info.Defs[id]
	}
	if obj == nil {
		return
	}
	s, ok := in.pl.rename[obj]
	if !ok {
		// The name of an embedded field is that of its type.
		v, isVar := obj.(*types.Var)
		if !isVar || !v.Embedded() {
			return
		}
		t := v.Type()
		if p, isPtr := t.(*types.Pointer); isPtr {
			t = p.Elem()
		}
		named, isNamed := types.Unalias(t).(*types.Named)
		if !isNamed {
			return
		}
		if s, ok = in.pl.rename[named.Obj()]; !ok {
			return
		}
	}
	in.replace(id.Pos(), id.End(), s)
}

// inBlock reports whether the current statement stands in a list of statements.
func (in *instrumenter) inBlock() bool {
	switch p := in.parent().(type) {
	case *ast.BlockStmt, *ast.CaseClause:
		return true
	case *ast.CommClause:
		return p.Comm != in.stack[len(in.stack)-1]
	}
	return false
}

// inComm reports whether the current expression is the receive of a select
// case, which must stay as it is.
func (in *instrumenter) inComm() bool {
	for i := len(in.stack) - 2; i >= 0; i-- {
		switch p := in.stack[i].(type) {
		case *ast.ParenExpr, *ast.ExprStmt, *ast.AssignStmt:
			continue
		case *ast.CommClause:
			return p.Comm != nil && p.Comm.Pos() <= in.stack[i+1].Pos() && in.stack[i+1].End() <= p.Comm.End()
		default:
			return false
		}
	}
	return false
}

// standIns are functions of other packages that end the program or block, and
// the functions of package live that take their place in cells.
var standIns = map[string]string{
	"os.Exit":     "Exit",
	"time.Sleep":  "Sleep",
	"log.Fatal":   "Fatal",
	"log.Fatalf":  "Fatalf",
	"log.Fatalln": "Fatalln",
}

// flagUses are the functions of package flag, and methods of its CommandLine,
// for which flags that earlier cells defined must be there. Definitions are not
// among them: a cell that runs again defines its flags again.
var flagUses = map[string]bool{
	"Parse": true, "Set": true, "Lookup": true, "Visit": true, "VisitAll": true, "PrintDefaults": true,
}

// flags brings the flags of earlier cells back where a cell uses them.
func (in *instrumenter) flags(n *ast.SelectorExpr) {
	obj := in.pl.info.Uses[n.Sel]
	if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != "flag" || obj.Parent() != obj.Pkg().Scope() {
		return
	}
	uses := flagUses[obj.Name()]
	if obj.Name() == "CommandLine" {
		switch p := in.parent().(type) {
		case *ast.SelectorExpr:
			uses = flagUses[p.Sel.Name]
		case *ast.CallExpr: // handed to a library
			uses = true
		}
	}
	if uses && in.insert(n.Pos(), liveName+".Flags(") {
		in.insert(n.End(), ")")
	}
}

func (in *instrumenter) selector(n *ast.SelectorExpr) {
	in.flags(n)
	fn, ok := in.pl.info.Uses[n.Sel].(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Signature().Recv() != nil {
		return
	}
	name, ok := standIns[fn.Pkg().Path()+"."+fn.Name()]
	if !ok {
		return
	}
	x, ok := n.X.(*ast.Ident)
	if !ok {
		return
	}
	if in.replace(n.Pos(), n.End(), liveName+"."+name) {
		in.pl.keep[in.e.name][x.Name+"."+n.Sel.Name] = true
	}
}

// call makes sync.WaitGroup.Wait interruptible, and keeps panics in clean-ups
// of tests within the cell.
func (in *instrumenter) call(n *ast.CallExpr) {
	sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}
	fn, ok := in.pl.info.Uses[sel.Sel].(*types.Func)
	if !ok {
		return
	}
	if name := fn.FullName(); name == "(*testing.common).Cleanup" || name == "(testing.TB).Cleanup" {
		in.insert(n.Args[0].Pos(), liveName+".Cleaned(")
		in.insert(n.Args[0].End(), ")")
		return
	} else if name != "(*sync.WaitGroup).Wait" {
		return
	}
	switch in.parent().(type) {
	case *ast.GoStmt, *ast.DeferStmt:
		return
	}
	if in.insert(n.Pos(), liveName+".Wait(") {
		in.replace(n.Lparen, n.Rparen+1, ")")
	}
}

// test keeps a panic in a test, which runs on a goroutine of package testing,
// from ending the session.
func (in *instrumenter) test(typ *ast.FuncType, body *ast.BlockStmt) {
	for _, f := range typ.Params.List {
		if len(f.Names) == 0 || f.Names[0].Name == "_" {
			continue
		}
		switch types.TypeString(in.pl.info.TypeOf(f.Type), nil) {
		case "*testing.T", "*testing.B":
			in.insert(body.Lbrace+1, " defer "+liveName+".GuardTest("+f.Names[0].Name+".FailNow);")
		case "*testing.PB":
			in.insert(body.Lbrace+1, " defer "+liveName+".Spawn().Guard();")
		}
	}
}

// calls reports whether a body calls anything but builtins and conversions:
// only such a function can recurse, and checking in leaves would keep the
// compiler from inlining them.
func calls(info *types.Info, body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if tv := info.Types[n.Fun]; !tv.IsType() && !tv.IsBuiltin() {
				found = true
			}
		}
		return !found
	})
	return found
}

// goStmt lets a goroutine end the cell, not the session, when it panics. The
// function value and the arguments are evaluated where the go statement
// stands, as the language demands.
func (in *instrumenter) goStmt(n *ast.GoStmt) {
	tok := fmt.Sprintf("rl%sg%d", Mark, int(n.Pos()))
	if lit, ok := ast.Unparen(n.Call.Fun).(*ast.FuncLit); ok {
		if in.insert(n.Pos(), "{ "+tok+" := "+liveName+".Spawn(); ") {
			in.insert(lit.Body.Lbrace+1, " defer "+tok+".Guard();")
			in.insert(n.End(), " }")
		}
		return
	}
	info := in.pl.info
	start := "{ " + tok + " := " + liveName + ".Spawn(); "
	guard := "; go func() { defer " + tok + ".Guard(); "
	tv := info.Types[n.Call.Fun]
	if tv.IsBuiltin() || tv.IsType() || spreadsTuple(info, n.Call) {
		// Evaluated a moment later than the language says; only close, panic,
		// print and the like come here.
		if in.replace(n.Go, n.Go+2, start+"go func() { defer "+tok+".Guard(); ") {
			in.insert(n.End(), " }() }")
		}
		return
	}
	var lhs, args []string
	static := callee(info, n.Call) != nil && callee(info, n.Call).Signature().Recv() == nil || isInstance(info, n.Call.Fun)
	fun := tok + "f"
	if !static {
		lhs = append(lhs, fun)
	}
	for i, a := range n.Call.Args {
		atv := info.Types[a]
		text := in.text(a)
		if atv.Value != nil || atv.IsNil() || atv.IsType() {
			args = append(args, text)
			continue
		}
		v := fmt.Sprintf("%sa%d", tok, i)
		lhs = append(lhs, v)
		args = append(args, v)
	}
	last := strings.Join(args, ", ")
	if n.Call.Ellipsis.IsValid() {
		last += "..."
	}
	if static {
		fun = in.text(n.Call.Fun)
	}
	if len(lhs) == 0 {
		if in.replace(n.Go, n.Go+2, start+"go func() { defer "+tok+".Guard(); ") {
			in.insert(n.End(), " }() }")
		}
		return
	}
	// The texts of function and arguments stay where they are, since they may
	// hold edits of their own, as the right side of one assignment.
	if !in.replace(n.Go, n.Go+2, start+strings.Join(lhs, ", ")+" := ") {
		return
	}
	first := true
	if static {
		in.replace(n.Call.Fun.Pos(), n.Call.Lparen+1, "")
	} else {
		in.replace(n.Call.Lparen, n.Call.Lparen+1, "")
		first = false
	}
	prev := n.Call.Lparen + 1
	for _, a := range n.Call.Args {
		atv := info.Types[a]
		if atv.Value != nil || atv.IsNil() || atv.IsType() {
			in.replace(prev, a.End(), "")
		} else if first {
			in.replace(prev, a.Pos(), "")
			first = false
		} else {
			in.replace(prev, a.Pos(), ", ")
		}
		prev = a.End()
	}
	in.replace(prev, n.Call.Rparen+1, guard+fun+"("+last+") }() }")
}

func isInstance(info *types.Info, e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		return info.Types[x.Index].IsType()
	case *ast.IndexListExpr:
		return true
	}
	return false
}

func spreadsTuple(info *types.Info, call *ast.CallExpr) bool {
	if len(call.Args) != 1 {
		return false
	}
	_, ok := info.TypeOf(call.Args[0]).(*types.Tuple)
	return ok
}

// text is the user's text of an expression, renamed symbols applied.
func (in *instrumenter) text(e ast.Expr) string {
	p, off := in.e.at(in.e.tf.Offset(e.Pos()))
	if p == nil {
		return ""
	}
	q := piece{text: p.text[off : off+int(e.End()-e.Pos())]}
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if obj := in.pl.info.Uses[id]; obj != nil {
				if s, ok := in.pl.rename[obj]; ok {
					at := int(id.Pos() - e.Pos())
					q.edits = append(q.edits, edit{start: at, end: at + len(id.Name), text: s})
				}
			}
		}
		return true
	})
	return q.edited()
}
