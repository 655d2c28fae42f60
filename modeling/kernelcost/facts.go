package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// change is the only change of a variable in a loop: v = v op by.
type change struct {
	op    string
	by    csource.Expr
	every bool // in each iteration once
}

// exit is a comparison that ends a loop when it no longer holds.
type exit struct {
	slot  int
	op    string
	bound csource.Expr
	shift csource.Expr // v + shift is compared, or v - shift
	minus bool
}

// loopFacts are what the text of a loop tells.
type loopFacts struct {
	conjuncts []csource.Expr
	exits     []exit
	open      bool                  // can be left by what is no exit
	assigned  []int                 // slots declared outside
	times     map[int]int           // assignments by slot
	changes   map[int]change        // of slots that are assigned once
	control   bool                  // branches or loops inside
	inner     bool                  // loops inside
	walkedBy  map[int]string        // arrays that are indexed by a slot alone
	constant  bool                  // literals bound it
	fixed     map[csource.Expr]bool // what is the same in all iterations, the largest such expressions
}

func isComparison(op string) bool {
	switch op {
	case "<", ">", "<=", ">=", "!=", "==":
		return true
	}
	return false
}

var opposite = map[string]string{"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
var mirrored = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}

// factsOf reads a loop; functions are those of the source, by name.
func factsOf(l *csource.Loop, functions map[string]*csource.Function) *loopFacts {
	f := &loopFacts{times: map[int]int{}, changes: map[int]change{}, walkedBy: map[int]string{}}
	declared := map[int]bool{}
	visit := func(n any) bool {
		switch n := n.(type) {
		case *csource.Declare:
			for _, v := range n.Vars {
				declared[v.Slot] = true
			}
		case *csource.Loop:
			if n != l {
				f.inner, f.control = true, true
			}
		case *csource.If, *csource.Conditional, *csource.Switch:
			f.control = true
		case *csource.Binary:
			if n.Op == "&&" || n.Op == "||" {
				f.control = true
			}
		case *csource.Index:
			if id, ok := n.I.(*csource.Ident); ok && id.Slot >= 0 {
				if base, ok := n.X.(*csource.Ident); ok {
					f.walkedBy[id.Slot] = base.Name
				}
			}
		}
		if slot, _, ok := changed(n); ok {
			f.assign(slot, 1)
		}
		if e, ok := n.(csource.Expr); ok {
			for _, slot := range givenAway(e, functions) {
				f.assign(slot, 2) // no longer by one known change
			}
		}
		return true
	}
	csource.Walk(l.Cond, visit)
	csource.Walk(l.Body, visit)
	csource.Walk(l.Step, visit)
	keep := f.assigned[:0]
	for _, s := range f.assigned {
		if !declared[s] {
			keep = append(keep, s)
		}
	}
	f.assigned = keep
	// Changes anywhere but in inner loops; those that happen in each iteration.
	f.find(l.Body, true)
	f.find(l.Step, true)
	f.find(l.Cond, true)
	f.conjuncts = conjuncts(l.Cond, nil)
	for _, c := range f.conjuncts {
		if !f.exit(c, false) {
			f.open = true
		}
	}
	if l.Cond == nil {
		f.conjuncts = nil
	}
	f.leaves(l.Body, true)
	f.constant = len(f.exits) > 0 && !f.open
	for _, e := range f.exits {
		_, literal := csource.Constant(e.bound)
		_, step := csource.Constant(f.changes[e.slot].by)
		f.constant = f.constant && literal && step
	}
	f.fix(l, functions)
	return f
}

func (f *loopFacts) assign(slot, times int) {
	if f.times[slot] == 0 {
		f.assigned = append(f.assigned, slot)
	}
	f.times[slot] += times
}

// givenAway are variables whose address or reference an expression hands on.
func givenAway(e csource.Expr, functions map[string]*csource.Function) (slots []int) {
	add := func(e csource.Expr) {
		id, ok := e.(*csource.Ident)
		if slot, ok := slotOf(id, ok); ok {
			slots = append(slots, slot)
		}
	}
	switch e := e.(type) {
	case *csource.Unary:
		if e.Op == "&" {
			add(e.X)
		}
	case *csource.Call:
		if fn := functions[e.Name]; fn != nil {
			for i, a := range e.Args {
				if i < len(fn.Params) && fn.Params[i].Type.Ref {
					add(a)
				}
			}
		}
	}
	return slots
}

// changed is the slot that a node assigns to, and how.
func changed(n any) (slot int, c change, ok bool) {
	target := func(e csource.Expr) (int, bool) {
		id, ok := e.(*csource.Ident)
		return slotOf(id, ok)
	}
	switch n := n.(type) {
	case *csource.Unary:
		switch n.Op {
		case "++", "p++", "--", "p--":
			slot, ok = target(n.X)
			return slot, change{op: n.Op[len(n.Op)-1:], by: &csource.IntLit{Value: 1}}, ok
		}
	case *csource.Assign:
		if slot, ok = target(n.L); !ok {
			// a.x = ..: the whole changes
			e := n.L
			for {
				m, isMember := e.(*csource.Member)
				if !isMember || m.Arrow {
					break
				}
				e = m.X
			}
			if _, isMember := n.L.(*csource.Member); isMember {
				slot, ok = target(e)
			}
			return slot, change{}, ok
		}
		if n.Op != "" {
			return slot, change{op: n.Op, by: n.R}, true
		}
		if b, isBinary := n.R.(*csource.Binary); isBinary {
			if s, same := target(b.X); same && s == slot {
				return slot, change{op: b.Op, by: b.Y}, true
			}
			if s, same := target(b.Y); same && s == slot && (b.Op == "+" || b.Op == "*") {
				return slot, change{op: b.Op, by: b.X}, true
			}
		}
		return slot, change{}, true
	}
	return 0, change{}, false
}

func slotOf(id *csource.Ident, ok bool) (int, bool) {
	if !ok || id.Slot < 0 {
		return 0, false
	}
	return id.Slot, true
}

// find notes changes; every tells that what is visited runs once an iteration.
func (f *loopFacts) find(n any, every bool) {
	switch n := n.(type) {
	case nil:
	case *csource.Block:
		for _, s := range n.List {
			f.find(s, every)
			if leavesEarly(s) {
				every = false
			}
		}
	case *csource.If:
		f.find(n.Cond, every)
		f.find(n.Then, false)
		f.find(n.Else, false)
	case *csource.Loop, *csource.Switch:
	case *csource.Evaluate:
		f.find(n.X, every)
	case *csource.Declare:
		for _, v := range n.Vars {
			f.find(v.Init, every)
		}
	case csource.Expr:
		csource.Walk(n, func(m any) bool {
			if slot, c, ok := changed(m); ok && f.times[slot] == 1 && c.op != "" {
				c.every = every
				f.changes[slot] = c
			}
			switch m := m.(type) {
			case *csource.Conditional:
				every = false
			case *csource.Binary:
				if m.Op == "&&" || m.Op == "||" {
					every = false
				}
			}
			return true
		})
	}
}

// leavesEarly tells whether continue stands in a statement.
func leavesEarly(s csource.Stmt) bool {
	found := false
	csource.Walk(s, func(n any) bool {
		if _, ok := n.(*csource.Continue); ok {
			found = true
		}
		_, isLoop := n.(*csource.Loop)
		return !isLoop
	})
	return found
}

func conjuncts(e csource.Expr, out []csource.Expr) []csource.Expr {
	if b, ok := e.(*csource.Binary); ok && b.Op == "&&" {
		return conjuncts(b.Y, conjuncts(b.X, out))
	}
	if e == nil {
		return out
	}
	return append(out, e)
}

// exit reads a comparison of a changing variable with what stays.
func (f *loopFacts) exit(c csource.Expr, negated bool) bool {
	e := exit{op: "!=", bound: &csource.IntLit{}}
	b, ok := c.(*csource.Binary)
	switch {
	case ok && isComparison(b.Op):
		e.op = b.Op
		if !f.left(b.X, &e) {
			if !f.left(b.Y, &e) || !f.stays(b.X) {
				return false
			}
			e.op, e.bound = mirrored[b.Op], b.X
		} else if e.bound = b.Y; !f.stays(b.Y) {
			return false
		}
	case !f.left(c, &e):
		return false
	}
	if e.shift != nil && !f.stays(e.shift) {
		return false
	}
	if negated {
		e.op = opposite[e.op]
	}
	f.exits = append(f.exits, e)
	return true
}

// left reads the side of a comparison that changes: v, v + e, v - e.
func (f *loopFacts) left(x csource.Expr, e *exit) bool {
	switch x := x.(type) {
	case *csource.Ident:
		c, ok := f.changes[x.Slot]
		if x.Slot < 0 || !ok || !c.every || !f.stays(c.by) {
			return false
		}
		e.slot = x.Slot
		return true
	case *csource.Cast:
		return f.left(x.X, e)
	case *csource.Binary:
		if (x.Op == "+" || x.Op == "-") && e.shift == nil {
			if id, ok := x.X.(*csource.Ident); ok && f.left(id, e) {
				e.shift, e.minus = x.Y, x.Op == "-"
				return true
			}
		}
	}
	return false
}

// stays tells whether an expression has the same value in all iterations as far
// as variables go.
func (f *loopFacts) stays(e csource.Expr) bool {
	same := true
	csource.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *csource.Ident:
			if n.Slot >= 0 && f.times[n.Slot] > 0 {
				same = false
			}
		case *csource.BadExpr:
			same = false
		}
		return same
	})
	return same
}

// leaves looks for break and return; top tells that a statement runs in each
// iteration.
func (f *loopFacts) leaves(n csource.Stmt, top bool) {
	switch n := n.(type) {
	case *csource.Block:
		for _, s := range n.List {
			f.leaves(s, top)
		}
	case *csource.If:
		if top && n.Else == nil && ends(n.Then) && f.exit(n.Cond, true) {
			return
		}
		f.leaves(n.Then, false)
		f.leaves(n.Else, false)
	case *csource.Switch:
		for _, c := range n.Cases {
			for _, s := range c.Body {
				if _, isBreak := s.(*csource.Break); !isBreak {
					f.leaves(s, false)
				}
			}
		}
	case *csource.Loop:
		csource.Walk(n.Body, func(m any) bool {
			if _, ok := m.(*csource.Return); ok {
				f.open = true
			}
			return true
		})
	case *csource.Break, *csource.Return:
		f.open = true
	}
}

// ends tells whether a statement is a break or return, alone or in braces.
func ends(s csource.Stmt) bool {
	switch s := s.(type) {
	case *csource.Break:
		return true
	case *csource.Return:
		return true
	case *csource.Block:
		return len(s.List) == 1 && ends(s.List[0])
	}
	return false
}
