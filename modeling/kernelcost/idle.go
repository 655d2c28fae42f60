package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// idler finds what of a function a compiler leaves out: what is computed for
// variables that nothing reads any more, by the analysis of strongly live variables
// (Nielson, Nielson and Hankin 1999, exercise 2.4: a variable is not live for what
// only computes a dead one), and what loops and branches do nothing else.
type idler struct {
	functions map[string]*csource.Function
	kept      map[int]bool // slots of what is more than a number in a register
	slots     int
	idle      map[csource.Expr]bool // expressions and statements
	left      int                   // nodes that may still be visited
	lost      bool                  // something was not understood, or there was too much of it
	breaks    []live
	nexts     []live
}

// mostVisits bounds the analysis of a function: loops in loops are visited again
// and again.
const mostVisits = 200_000

// live are slots that are read later.
type live []bool

func (l live) clone() live { return append(live(nil), l...) }

func (l live) with(o live) live {
	out := l.clone()
	for i, v := range o {
		out[i] = out[i] || v
	}
	return out
}

func (l live) equal(o live) bool {
	for i := range l {
		if l[i] != o[i] {
			return false
		}
	}
	return true
}

// idleOf adds what is idle in a function.
func idleOf(f *csource.Function, functions map[string]*csource.Function, idle map[csource.Expr]bool) {
	if f.Body == nil || f.Slots > 4096 {
		return
	}
	x := &idler{functions: functions, kept: map[int]bool{}, slots: f.Slots, idle: map[csource.Expr]bool{}, left: mostVisits}
	for _, p := range f.Params {
		x.declare(p)
	}
	csource.Walk(f.Body, func(n any) bool {
		switch n := n.(type) {
		case *csource.Declare:
			for _, v := range n.Vars {
				x.declare(v)
			}
		case *csource.Bad, *csource.BadExpr:
			x.lost = true
		}
		if e, ok := n.(csource.Expr); ok {
			for _, slot := range givenAway(e, functions) {
				x.kept[slot] = true
			}
		}
		return !x.lost
	})
	if x.lost {
		return
	}
	x.statement(f.Body, make(live, f.Slots))
	if x.lost {
		return
	}
	for n := range x.idle {
		if x.idle[n] {
			idle[n] = true
		}
	}
	csource.Walk(f.Body, func(n any) bool {
		if c, ok := n.(*csource.Call); ok && folded(c) {
			idle[c] = true
		}
		return true
	})
}

func (x *idler) declare(v *csource.Variable) {
	t := v.Type
	number := t.Class == csource.Integer || t.Class == csource.Floating
	if v.Slot >= 0 && (!number || t.Ref || t.Space != csource.Private) {
		x.kept[v.Slot] = true
	}
}

// dead tells that a slot is a number that nothing reads.
func (x *idler) dead(slot int, l live) bool {
	return slot >= 0 && slot < len(l) && !x.kept[slot] && !l[slot]
}

func (x *idler) visit() bool {
	x.left--
	x.lost = x.lost || x.left < 0
	return !x.lost
}

// reads adds what is read in an expression.
func (x *idler) reads(e csource.Expr, l live) live {
	if e == nil {
		return l
	}
	out := l.clone()
	csource.Walk(e, func(n any) bool {
		if id, ok := n.(*csource.Ident); ok && id.Slot >= 0 && id.Slot < len(out) {
			out[id.Slot] = true
		}
		return x.visit()
	})
	return out
}

// quiet tells that an expression does nothing but give a value.
func (x *idler) quiet(e csource.Expr) bool {
	ok := true
	csource.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *csource.Assign:
			ok = false
		case *csource.Unary:
			ok = ok && n.Op != "++" && n.Op != "--" && n.Op != "p++" && n.Op != "p--"
		case *csource.Call:
			ok = ok && n.Name != "" && pure(n, x.functions)
		}
		return ok && x.visit()
	})
	return ok
}

// effect is what is live before an expression whose value is not asked for.
func (x *idler) effect(e csource.Expr, after live) live {
	if e == nil || !x.visit() {
		return after
	}
	mark := func(idle bool) bool {
		x.idle[e] = idle
		return idle
	}
	switch n := e.(type) {
	case *csource.Binary:
		if n.Op == "," {
			out := x.effect(n.X, x.effect(n.Y, after))
			mark(x.idle[n.X] && x.idle[n.Y])
			return out
		}
	case *csource.Assign:
		slot, whole := target(n.L)
		if mark(x.dead(slot, after) && x.quiet(n.R)) {
			return after
		}
		if whole && slot >= 0 && slot < len(after) && n.Op == "" {
			after = after.clone()
			after[slot] = false
			return x.reads(n.R, after)
		}
		return x.reads(e, after)
	case *csource.Unary:
		switch n.Op {
		case "++", "--", "p++", "p--":
			slot, _ := target(n.X)
			if mark(x.dead(slot, after)) {
				return after
			}
			return x.reads(e, after)
		}
	}
	if mark(x.quiet(e)) {
		return after
	}
	return x.reads(e, after)
}

// target is the slot of a variable, or of a vector's component, that is written;
// -1 for others.
func target(e csource.Expr) (slot int, whole bool) {
	whole = true
	for {
		m, ok := e.(*csource.Member)
		if !ok || m.Arrow {
			break
		}
		e, whole = m.X, false
	}
	if id, ok := e.(*csource.Ident); ok {
		return id.Slot, whole
	}
	return -1, false
}

// statement is what is live before a statement.
func (x *idler) statement(st csource.Stmt, after live) live {
	if st == nil || !x.visit() {
		return after
	}
	switch st := st.(type) {
	case *csource.Block:
		return x.block(st.List, after)
	case *csource.Declare:
		for i := len(st.Vars) - 1; i >= 0; i-- {
			v := st.Vars[i]
			if v.Init == nil {
				continue
			}
			x.idle[v.Init] = x.dead(v.Slot, after) && x.quiet(v.Init)
			if x.idle[v.Init] {
				continue
			}
			if v.Slot >= 0 && v.Slot < len(after) {
				after = after.clone()
				after[v.Slot] = false
			}
			after = x.reads(v.Init, after)
		}
		return after
	case *csource.Evaluate:
		return x.effect(st.X, after)
	case *csource.If:
		before := x.statement(st.Then, after).with(x.statement(st.Else, after))
		x.idle[st] = x.empty(st.Then) && x.empty(st.Else) && x.quiet(st.Cond)
		if x.idle[st] {
			return after
		}
		return x.reads(st.Cond, before)
	case *csource.Loop:
		return x.loop(st, after)
	case *csource.Switch:
		x.breaks = append(x.breaks, after)
		before, next := after, after
		for i := len(st.Cases) - 1; i >= 0; i-- {
			next = x.block(st.Cases[i].Body, next).with(after)
			before = before.with(next)
		}
		x.breaks = x.breaks[:len(x.breaks)-1]
		return x.reads(st.X, before)
	case *csource.Return:
		return x.reads(st.X, make(live, x.slots))
	case *csource.Break:
		if n := len(x.breaks); n > 0 {
			return x.breaks[n-1]
		}
	case *csource.Continue:
		if n := len(x.nexts); n > 0 {
			return x.nexts[n-1]
		}
	}
	x.lost = true
	return after
}

func (x *idler) block(list []csource.Stmt, after live) live {
	for i := len(list) - 1; i >= 0; i-- {
		after = x.statement(list[i], after)
	}
	return after
}

// loop is what is live before a loop: the least that is the same whether it goes
// on or ends. One that computes nothing that is read is left out as a whole.
func (x *idler) loop(l *csource.Loop, after live) live {
	head := x.reads(l.Cond, after)
	for x.visit() {
		next := x.effect(l.Step, head)
		x.breaks, x.nexts = append(x.breaks, after), append(x.nexts, next)
		before := head.with(x.statement(l.Body, next))
		x.breaks, x.nexts = x.breaks[:len(x.breaks)-1], x.nexts[:len(x.nexts)-1]
		if before.equal(head) {
			break
		}
		head = before
	}
	x.idle[l] = l.Cond != nil && x.empty(l.Body) && x.quiet(l.Cond) && x.onlyFor(l.Step, after) && x.begins(l.Init, after)
	if x.idle[l] {
		return after
	}
	return x.statement(l.Init, head)
}

// onlyFor tells that an expression changes nothing but numbers that are not read
// afterwards.
func (x *idler) onlyFor(e csource.Expr, after live) bool {
	if e == nil {
		return true
	}
	switch n := e.(type) {
	case *csource.Binary:
		if n.Op == "," {
			return x.onlyFor(n.X, after) && x.onlyFor(n.Y, after)
		}
	case *csource.Assign:
		slot, _ := target(n.L)
		return x.dead(slot, after) && x.quiet(n.R)
	case *csource.Unary:
		switch n.Op {
		case "++", "--", "p++", "p--":
			slot, _ := target(n.X)
			return x.dead(slot, after)
		}
	}
	return x.quiet(e)
}

// begins is onlyFor for the first part of a loop.
func (x *idler) begins(st csource.Stmt, after live) bool {
	switch st := st.(type) {
	case nil:
		return true
	case *csource.Declare:
		for _, v := range st.Vars {
			if !x.dead(v.Slot, after) || v.Init != nil && !x.quiet(v.Init) {
				return false
			}
		}
		return true
	case *csource.Evaluate:
		return x.onlyFor(st.X, after)
	}
	return false
}

// empty tells that nothing is left of a statement.
func (x *idler) empty(st csource.Stmt) bool {
	switch st := st.(type) {
	case nil:
		return true
	case *csource.Block:
		for _, s := range st.List {
			if !x.empty(s) {
				return false
			}
		}
		return true
	case *csource.Declare:
		for _, v := range st.Vars {
			if v.Init != nil && !x.idle[v.Init] {
				return false
			}
		}
		return true
	case *csource.Evaluate:
		return st.X == nil || x.idle[st.X]
	case *csource.If, *csource.Loop:
		return x.idle[st]
	}
	return false
}
