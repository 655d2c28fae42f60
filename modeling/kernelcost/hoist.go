package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// fix finds what of a loop a compiler moves out of it (loop-invariant code
// motion: Muchnick 1997, section 13.2): arithmetic, functions of numbers, and
// loads where the loop neither stores nor waits, of what no iteration changes.
func (f *loopFacts) fix(l *csource.Loop, functions map[string]*csource.Function) {
	f.fixed = map[csource.Expr]bool{}
	moving := map[int]bool{}
	for slot, n := range f.times {
		moving[slot] = n > 0
	}
	loads := true
	var inits []*csource.Variable
	parts := []any{l.Cond, l.Body, l.Step}
	walk := func(visit func(n any) bool) {
		for _, p := range parts {
			csource.Walk(p, visit)
		}
	}
	walk(func(n any) bool {
		switch n := n.(type) {
		case *csource.Declare:
			for _, v := range n.Vars {
				moving[v.Slot] = true
				if f.times[v.Slot] == 0 && v.Init != nil {
					inits = append(inits, v)
				}
			}
		case *csource.Assign:
			if _, ok := n.L.(*csource.Ident); !ok {
				loads = false
			}
		case *csource.Unary:
			if _, ok := n.X.(*csource.Ident); !ok && (n.Op == "++" || n.Op == "--" || n.Op == "p++" || n.Op == "p--") {
				loads = false
			}
		case *csource.Call:
			if !pure(n, functions) {
				loads = false
			}
		}
		return true
	})
	var fixed func(e csource.Expr) bool
	fixed = func(e csource.Expr) bool {
		ok := true
		csource.Walk(e, func(n any) bool {
			switch n := n.(type) {
			case *csource.Ident:
				ok = ok && (n.Slot < 0 || !moving[n.Slot])
			case *csource.Assign, *csource.BadExpr, *csource.List:
				ok = false
			case *csource.Unary:
				ok = ok && n.Op != "++" && n.Op != "--" && n.Op != "p++" && n.Op != "p--" && n.Op != "&" && (n.Op != "*" || loads)
			case *csource.Conditional:
				if v, known := settled(n.Cond); known { // only one of them is ever computed
					if v != 0 {
						ok = ok && fixed(n.Then)
					} else {
						ok = ok && fixed(n.Else)
					}
					return false
				}
			case *csource.Index:
				ok = ok && loads
			case *csource.Member:
				ok = ok && (!n.Arrow || loads)
			case *csource.Call:
				ok = ok && pure(n, functions)
			}
			return ok
		})
		return ok
	}
	for _, v := range inits { // in the order of the text: one may rest on another
		if fixed(v.Init) {
			delete(moving, v.Slot)
		}
	}
	walk(func(n any) bool {
		switch e := n.(type) {
		case *csource.Ident, *csource.IntLit, *csource.FloatLit:
			return false
		case csource.Expr:
			if fixed(e) {
				f.fixed[e] = true
				return false
			}
		}
		return true
	})
}

// pure tells that a call is one of a function of numbers, or asks for an id.
func pure(c *csource.Call, functions map[string]*csource.Function) bool {
	if functions[c.Name] != nil {
		return false
	}
	switch c.Name {
	case "min", "max", "abs", "clamp", "select", "bitselect", "dot", "cross", "mul24", "mad24", "mad_hi", "mul_hi",
		"get_global_id", "get_local_id", "get_group_id", "get_global_size", "get_local_size", "get_num_groups", "get_global_offset", "get_work_dim":
		return true
	}
	_, _, ok := mathName(c.Name)
	return ok
}

// enter notes that e is about to be evaluated, or a statement followed, and gives
// back what puts the notes back: outside how many loops it is executed by now, and
// what part of the executions that its text says remains.
func (r *run) enter(e csource.Expr) (leave func()) {
	out, share := r.out, r.share
	if share > 0 && r.p.idle[e] {
		r.share = 0
		return func() { r.share = share }
	}
	skipped := 0
	for i := len(r.loops) - 1; i >= 0; i-- {
		f := r.loops[i]
		if f.facts == nil { // a switch
			continue
		}
		if skipped < r.out {
			skipped++
			continue
		}
		if !f.facts.fixed[e] {
			break
		}
		r.out++
		skipped++
		r.share /= max(f.trips, 1)
	}
	if r.out == out {
		return nil
	}
	return func() { r.out, r.share = out, share }
}

// iterate counts the iterations of a loop: of one that a compiler is asked to
// unroll and can, for literals bound it; of another whose bounds are literals; of
// one whose bounds are not. A loop that is gone leaves the work-items of a group
// as the innermost loop on a CPU, which is then computed in vectors.
func (r *run) iterate(s *state, l *csource.Loop, f *loopFacts, t trips) {
	if r.quiet > 0 || s.sum == 0 {
		return
	}
	kind := 2
	switch {
	case f.constant && l.Unroll:
		kind = 0
	case f.constant:
		kind = 1
	}
	if r.share == 0 {
		return
	}
	for i, w := range s.w {
		r.turns[kind] += w * t.lanes[i] * t.factor
	}
}
