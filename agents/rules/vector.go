package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// device reports whether the function runs for each work-item of a launch.
func (f *finder) device() bool {
	return f.fn.Kernel || strings.HasSuffix(f.path, ".cl") || strings.HasSuffix(f.path, ".cu")
}

// pragmas reports whether a loop has a pragma already, or stands in a loop or
// region of OpenMP.
func (f *finder) pragmas(n *syntax.Node, what string) bool {
	for c, p := n, f.parent[n]; p != nil; c, p = p, f.parent[p] {
		for i, k := range p.Kids {
			if k == c && i > 0 && p.Kids[i-1] != nil && p.Kids[i-1].Kind == syntax.Directive && (c == n || strings.Contains(p.Kids[i-1].Op, what)) {
				return true
			}
		}
	}
	return false
}

// before puts a line before a statement.
func (f *finder) before(n *syntax.Node, line string) change {
	return change{n.Start, n.Start, line + "\n" + f.indent(n.Start)}
}

// starts reports whether a statement begins its line, so that a pragma can stand
// before it.
func (f *finder) starts(n *syntax.Node) bool {
	line := f.file.Line(n.Start)
	return strings.TrimSpace(f.file.Text[f.lineStart(line):n.Start]) == ""
}

// vectorisation says of inner loops without dependences that they have none.
func vectorisation(f *finder) {
	if f.device() {
		return
	}
	for _, l := range f.loops {
		if !f.innermost(l) {
			continue
		}
		r := f.region(l.node)
		why, reductions, private := r.independent(l)
		switch {
		case why != "":
			f.refuse(l.node, "%s", why)
			continue
		case f.pragmas(l.node, "simd"):
			f.refuse(l.node, "it has a pragma already")
			continue
		case !f.starts(l.node) || f.macro(l.node):
			continue
		}
		far := 0
		for _, a := range r.e.accesses {
			if f.stride(a, l) > 4 {
				far++
			}
		}
		if far > 0 {
			f.refuse(l.node, "%d of its accesses walk in steps that vector loads do not make", far)
			continue
		}
		if f.flag("-fopenmp", "-fopenmp-simd", "-qopenmp") {
			f.takes(reordered, r.reorders(l))
			f.offer(l.node, 1, fmt.Sprintf("the iterations over %s do not depend on each other", l.v.Name),
				f.before(l.node, "#pragma omp simd"+f.clauses(l, reductions, private)))
		} else if len(reductions) == 0 && len(private) == 0 {
			f.offer(l.node, 0.5, fmt.Sprintf("the iterations over %s do not depend on each other", l.v.Name), f.before(l.node, "#pragma GCC ivdep"))
		}
	}
}

func (f *finder) clauses(l *loop, reductions []string, private []*syntax.Variable) string {
	out := ""
	for _, s := range reductions {
		out += fmt.Sprintf(" reduction(%s)", s)
	}
	var names []string
	for _, x := range private {
		names = append(names, x.Name)
	}
	if len(names) > 0 {
		out += fmt.Sprintf(" private(%s)", strings.Join(names, ", "))
	}
	return out
}

// threads shares the iterations of an outer loop among processors.
func threads(f *finder) {
	if f.device() {
		return
	}
	for _, l := range f.loops {
		if l.outer != nil && f.offered(l.outer) {
			continue
		}
		r := f.region(l.node)
		why, reductions, private := r.independent(l)
		nested := !f.innermost(l)
		switch {
		case why != "":
			f.refuse(l.node, "%s", why)
			continue
		case !f.flag("-fopenmp", "-qopenmp"):
			unseen := ""
			if len(f.flagged()) == 0 {
				unseen = " (what make or a script adds is not seen)"
			}
			f.refuse(l.node, "its iterations do not depend on each other, but the commands of the build show no -fopenmp%s", unseen)
			continue
		case f.pragmas(l.node, "omp"):
			f.refuse(l.node, "it has a pragma already, or is in a parallel region")
			continue
		case !f.starts(l.node) || f.macro(l.node):
			continue
		case l.outer != nil && !nested:
			f.refuse(l.node, "it is the inner loop: starting threads would cost more than it does")
			continue
		}
		part := 1.0
		if !nested {
			part = 0.3 // starting threads may cost more than it does
		}
		schedule := ""
		for _, o := range f.loops {
			if o.node.Start > l.node.Start && o.node.End <= l.node.End && (uses(o.loN, l.v) || uses(o.hiN, l.v)) {
				schedule = " schedule(dynamic, 16)"
			}
		}
		f.takes(reordered, r.reorders(l))
		f.offer(l.node, part, fmt.Sprintf("the iterations over %s do not depend on each other", l.v.Name),
			f.before(l.node, "#pragma omp parallel for"+schedule+f.clauses(l, reductions, private)))
	}
}

// offered reports whether the transformation is offered for a loop already, or for
// one around it.
func (f *finder) offered(l *loop) bool {
	for ; l != nil; l = l.outer {
		for _, p := range f.out.Proposals {
			if p.Transformation == f.t.Name && p.File == f.path && p.Line == f.file.Line(l.node.Start) {
				return true
			}
		}
	}
	return false
}

// restrict tells the compiler what callers show: that parameters do not overlap.
func restrict(f *finder) {
	word := "restrict"
	if strings.HasSuffix(f.path, ".cu") || strings.HasSuffix(f.path, ".cpp") || strings.HasSuffix(f.path, ".cc") || strings.HasSuffix(f.path, ".cxx") {
		word = "__restrict__"
	}
	var ps []*syntax.Variable
	for _, p := range f.fn.Params {
		if p.Type.Indirect() {
			ps = append(ps, p)
		}
	}
	if len(ps) < 2 {
		return
	}
	writes := false
	for _, a := range f.effects(f.fn.Body).accesses {
		writes = writes || a.write
	}
	if !writes {
		return
	}
	body := f.fn.Body
	all := true
	for i, a := range ps {
		all = all && a.Type.Restrict
		for _, b := range ps[i+1:] {
			x, y := a, b
			if x.Start > y.Start {
				x, y = y, x
			}
			if !a.Type.Restrict && !b.Type.Restrict && f.distinct[[2]*syntax.Variable{x, y}] == "" && !f.opt.Distinct {
				f.refuse(body, "%s and %s may overlap, as far as the callers show", a.Name, b.Name)
				return
			}
		}
	}
	if all {
		return
	}
	// A global that the function uses might be what a parameter points to.
	e := f.effects(body)
	if len(e.calls) > 0 {
		f.refuse(body, "it calls %s, which might reach what a parameter points to by another way", e.calls[0])
		return
	}
	for _, a := range e.accesses {
		if a.v.Global {
			f.refuse(body, "it uses %s, which is global and might be what a caller passes", a.v.Name)
			return
		}
	}
	var cs []change
	for _, p := range ps {
		if p.Type.Restrict || p.Type.Pointers != 1 || len(p.Type.Dims) > 0 {
			continue
		}
		text := f.file.Text[p.Start:p.End]
		at := strings.LastIndexByte(text, '*')
		if at < 0 || !strings.HasSuffix(text, p.Name) {
			continue
		}
		cs = append(cs, change{p.Start + at + 1, p.Start + at + 1, word + spaceAfter(text[at+1:])})
	}
	if len(cs) > 0 {
		f.offer(&syntax.Node{Start: f.fn.Start, End: f.fn.Body.Start + 1}, 1, "no caller passes memory that overlaps: loads need not wait for stores, and loops can be vectorised without a check", cs...)
	}
}

func spaceAfter(s string) string {
	if strings.HasPrefix(s, " ") {
		return ""
	}
	return " "
}

// unrolling repeats the body of a short inner loop, with the end looked at less
// often.
func unrolling(f *finder) {
	for _, l := range f.loops {
		if !f.innermost(l) || !f.starts(l.node) || f.macro(l.node) {
			continue
		}
		e := f.effects(l.node)
		switch {
		case f.pragmas(l.node, "unroll"):
			f.refuse(l.node, "it has a pragma already")
		case e.why() != "":
			f.refuse(l.node, "%s", e.why())
		case f.file.Line(l.node.End)-f.file.Line(l.node.Start) > 8:
			f.refuse(l.node, "its body is long enough to hide what the loop itself costs")
		case f.device():
			f.offer(l.node, 0.6, fmt.Sprintf("the end of the loop over %s is looked at once for several iterations", l.v.Name), f.before(l.node, "#pragma unroll"))
		default:
			f.offer(l.node, 1, fmt.Sprintf("the end of the loop over %s is looked at once for four iterations", l.v.Name), f.before(l.node, "#pragma GCC unroll 4"))
		}
	}
}

// flags asks for more of the compiler: for vectors wider than the oldest processor
// of the family has, without contraction, which would round otherwise.
func flags(f *finder) {
	head := &syntax.Node{Start: f.fn.Start, End: f.fn.NameStart}
	if f.device() || len(f.loops) == 0 {
		return
	}
	how, known := f.compilation()
	gcc, fast, native := false, how.Optimised() == 3 && len(how.Hinders) == 0, how.Native
	for _, command := range f.flagged() {
		base := command[0][strings.LastIndexByte(command[0], '/')+1:]
		gcc = gcc || base == "cc" || strings.Contains(base, "gcc") || strings.Contains(base, "g++")
	}
	switch {
	case !known:
		f.refuse(head, "that the compiler is GCC is not known: no command of the build names it")
		return
	case !gcc:
		f.refuse(head, "the compiler is %s, and the attribute is GCC's", how.Command[0])
		return
	case native && fast:
		f.refuse(head, "the build asks for -O3 and for this processor already")
		return
	case strings.Contains(f.file.Text[f.fn.Start:f.fn.Body.Start], "optimize"):
		f.refuse(head, "it has the attribute already")
		return
	case !f.starts(head) || !slices.ContainsFunc(f.source.Editable, func(r edit.Range) bool {
		return r.Start <= f.file.Line(f.fn.Start) && r.End >= f.file.Line(f.fn.Start)
	}):
		f.refuse(head, "the line where the function begins may not be changed")
		return
	}
	options := `"O3"`
	if len(how.Hinders) > 0 {
		options += `, "tree-vectorize"`
	}
	if f.opt.Reassociate {
		options += `, "fast-math"`
	} else {
		options += `, "fp-contract=off"`
	}
	attribute := "__attribute__((optimize(" + options + ")"
	if !native {
		attribute += `, target("avx2")`
	}
	why := "the compiler vectorises with all it has, for processors with AVX2; products and sums are not fused, so that results stay the same"
	if f.opt.Reassociate {
		why = "the compiler vectorises with all it has, for processors with AVX2, and adds in any order"
	}
	f.takes(reordered, f.opt.Reassociate)
	f.takes(rounded, f.opt.Reassociate)
	f.offer(head, 1, why, f.before(head, attribute+"))"))
}
