package rules

import (
	"fmt"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// selection writes a conditional assignment as the assignment of a choice, which
// needs no branch. Nothing is computed that was not computed before.
func selection(f *finder) {
	syntax.Walk(f.fn.Body, func(n *syntax.Node) bool {
		if n.Kind == syntax.If && (f.inLoop(n) || f.device()) {
			f.choose(n)
		}
		return true
	})
}

func (f *finder) choose(n *syntax.Node) {
	then, other := only(n.Kids[1]), only(n.Kids[2])
	if then == nil || then.Kind != syntax.Evaluate || n.Kids[2] != nil && (other == nil || other.Kind != syntax.Evaluate) {
		return
	}
	if e := f.effects(n.Kids[0]); e.why() != "" || len(e.writes) > 0 {
		f.refuse(n, "the condition has effects or is not understood")
		return
	}
	target, value, t := f.assigned(then)
	if target == nil || f.macro(n) {
		return
	}
	for _, l := range splitLines(f.text(n)) {
		if commented(l) {
			f.refuse(n, "comments stand in it, which cannot be moved")
			return
		}
	}
	instead, t2 := f.text(target), f.typeOf(target)
	if other != nil {
		var second *syntax.Node
		if second, instead, t2 = f.assigned(other); second == nil || oneLine(f.text(second)) != oneLine(f.text(target)) {
			return
		}
	} else if target.Kind != syntax.Name || target.Var.Global {
		f.refuse(n, "%s would be stored to where it is not now", f.text(target))
		return
	}
	if e := f.effects(then); e.why() != "" {
		f.refuse(n, "%s", e.why())
		return
	}
	if t == "" || t != t2 {
		f.refuse(n, "the two values are of different types, or of ones that are not known")
		return
	}
	f.offer(n, 1, fmt.Sprintf("a choice in place of a branch for %s", oneLine(f.text(target))),
		change{n.Start, n.End, fmt.Sprintf("%s = (%s) ? %s : %s;", f.text(target), f.text(n.Kids[0]), value, instead)})
}

func commented(line string) bool {
	for i := 0; i+1 < len(line); i++ {
		if line[i] == '/' && (line[i+1] == '/' || line[i+1] == '*') {
			return true
		}
	}
	return false
}

// assigned is what a statement assigns to, and the value with its type.
func (f *finder) assigned(s *syntax.Node) (target *syntax.Node, value, typ string) {
	x := s.Kids[0].Bare()
	switch x.Kind {
	case syntax.Assign:
		target = x.Kids[0].Bare()
		value, typ = "("+f.text(x.Kids[1])+")", f.typeOf(x.Kids[1])
		if k := x.Kids[1].Bare(); k.Kind == syntax.Number && typ == "int" && len(k.Op) < 7 && floating(f.typeOf(target)) {
			typ = f.typeOf(target) // which has the number exactly
		}
		if x.Op != "=" {
			op := x.Op[:len(x.Op)-1]
			value = "(" + f.text(target) + " " + op + " " + value + ")"
			if typ = wider(f.typeOf(target), typ); typ != f.typeOf(target) || op == "<<" || op == ">>" {
				typ = ""
			}
		}
	case syntax.Postfix, syntax.Unary:
		if x.Op != "++" && x.Op != "--" {
			return nil, "", ""
		}
		target = x.Kids[0].Bare()
		value, typ = "("+f.text(target)+" "+x.Op[:1]+" 1)", f.typeOf(target)
		if typ != promote(typ) {
			typ = ""
		}
	default:
		return nil, "", ""
	}
	if target.Kind != syntax.Name && target.Kind != syntax.Index || target.Kind == syntax.Name && (target.Var == nil || target.Var.Type.Indirect()) {
		return nil, "", ""
	}
	if v := f.typeOf(target); v != typ && typ != "" && x.Kind == syntax.Assign && x.Op == "=" && target.Kind == syntax.Name {
		// x = c ? a : x converts x to the type of both and back.
		typ = ""
	}
	return target, value, typ
}
