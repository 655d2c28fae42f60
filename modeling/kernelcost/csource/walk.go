package csource

// Walk visits a statement or expression and, where visit says true, what is in
// it, in the order of the text. Nil is not visited.
func Walk(n any, visit func(n any) bool) {
	switch x := n.(type) {
	case nil:
		return
	case Expr: // statements satisfy it too
		if x == nil || !visit(x) {
			return
		}
	default:
		return
	}
	each := func(es []Expr) {
		for _, e := range es {
			Walk(e, visit)
		}
	}
	switch n := n.(type) {
	case *Unary:
		Walk(n.X, visit)
	case *Binary:
		Walk(n.X, visit)
		Walk(n.Y, visit)
	case *Assign:
		Walk(n.L, visit)
		Walk(n.R, visit)
	case *Conditional:
		Walk(n.Cond, visit)
		Walk(n.Then, visit)
		Walk(n.Else, visit)
	case *Call:
		if _, isName := n.Fun.(*Ident); !isName {
			Walk(n.Fun, visit)
		}
		each(n.Args)
	case *Index:
		Walk(n.X, visit)
		Walk(n.I, visit)
	case *Member:
		Walk(n.X, visit)
	case *Cast:
		Walk(n.X, visit)
	case *Vector:
		each(n.Args)
	case *List:
		each(n.Items)
	case *Declare:
		for _, v := range n.Vars {
			Walk(v.Init, visit)
		}
	case *Evaluate:
		Walk(n.X, visit)
	case *If:
		Walk(n.Cond, visit)
		Walk(n.Then, visit)
		Walk(n.Else, visit)
	case *Loop:
		Walk(n.Init, visit)
		Walk(n.Cond, visit)
		Walk(n.Body, visit)
		Walk(n.Step, visit)
	case *Switch:
		Walk(n.X, visit)
		for _, c := range n.Cases {
			for _, s := range c.Body {
				Walk(s, visit)
			}
		}
	case *Block:
		for _, s := range n.List {
			Walk(s, visit)
		}
	case *Return:
		Walk(n.X, visit)
	}
}
