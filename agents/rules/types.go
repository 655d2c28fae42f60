package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// typeOf is the type of an arithmetic expression by C's usual conversions; "" where
// it is not known.
func (v *view) typeOf(n *syntax.Node) string {
	n = n.Bare()
	if n == nil {
		return ""
	}
	switch n.Kind {
	case syntax.Number:
		s := strings.ToLower(n.Op)
		hex := strings.HasPrefix(s, "0x")
		if strings.ContainsAny(s, ".") || !hex && strings.Contains(s, "e") || hex && strings.Contains(s, "p") {
			switch {
			case strings.HasSuffix(s, "f"):
				return "float"
			case strings.HasSuffix(s, "l"):
				return ""
			}
			return "double"
		}
		if strings.ContainsAny(s, "ul") || len(s) > 9 {
			return ""
		}
		return "int"
	case syntax.Name:
		if n.Var == nil || n.Var.Type.Indirect() {
			return ""
		}
		return plain(n.Var.Type.Base)
	case syntax.Index:
		x, index := peel(n)
		if x == nil || len(index) != x.Type.Pointers+len(x.Type.Dims) {
			return ""
		}
		return plain(x.Type.Base)
	case syntax.Binary:
		switch n.Op {
		case "<", ">", "<=", ">=", "==", "!=", "&&", "||":
			return "int"
		case "<<", ">>":
			return promote(v.typeOf(n.Kids[0]))
		case ",":
			return v.typeOf(n.Kids[1])
		}
		return wider(v.typeOf(n.Kids[0]), v.typeOf(n.Kids[1]))
	case syntax.Unary:
		if n.Op == "!" {
			return "int"
		}
		if n.Op == "-" || n.Op == "+" || n.Op == "~" {
			return promote(v.typeOf(n.Kids[0]))
		}
	case syntax.Cast:
		if n.Type.Pointers == 0 {
			return plain(n.Type.Base)
		}
	case syntax.Conditional:
		return wider(v.typeOf(n.Kids[1]), v.typeOf(n.Kids[2]))
	case syntax.Call:
		f := n.Kids[0].Bare()
		if f.Kind != syntax.Name {
			return ""
		}
		if v.fn.Kernel {
			return v.generic(n, f.Op)
		}
		for _, file := range v.unit.files {
			if fn := file.Find(f.Op); fn != nil && !f.Std {
				if fn.Result.Indirect() {
					return ""
				}
				return plain(fn.Result.Base)
			}
		}
		if f.Std || v.plusplus() && doubles[f.Op] {
			return v.overloaded(n, f)
		}
		if doubles[f.Op] {
			return "double"
		}
		if strings.HasSuffix(f.Op, "f") && doubles[strings.TrimSuffix(f.Op, "f")] {
			return "float"
		}
	}
	return ""
}

// plusplus reports whether the function is C++.
func (v *view) plusplus() bool {
	for _, p := range v.unit.paths {
		// A header is of the language of the sources around it.
		if p == v.path || strings.HasSuffix(v.path, ".h") {
			switch path.Ext(p) {
			case ".cpp", ".cc", ".cxx", ".c++", ".C", ".hpp", ".hh", ".hxx", ".cu", ".cuh":
				return true
			}
		}
	}
	return false
}

// overloaded is the type of a call in C++, whose functions of mathematics are of
// the type of their arguments: float for floats, and double where one is a double
// or an integer (C++17 29.9.1). Without std:: it depends on headers whether those
// of float are seen.
func (v *view) overloaded(n, f *syntax.Node) string {
	var args []string
	for _, a := range n.Kids[1:] {
		args = append(args, promote(v.typeOf(a)))
	}
	if len(args) == 0 || slices.ContainsFunc(args, func(t string) bool { return !slices.Contains(ranks, t) }) {
		return ""
	}
	others := func(t string) bool { return slices.ContainsFunc(args, func(a string) bool { return a != t }) }
	switch {
	case f.Op == "abs" && len(args) == 1 && f.Std:
		return args[0]
	case (f.Op == "min" || f.Op == "max") && f.Std && !others(args[0]):
		return args[0]
	case strings.HasSuffix(f.Op, "f") && doubles[strings.TrimSuffix(f.Op, "f")]:
		return "float"
	case !doubles[f.Op]:
		return ""
	case others("float"):
		return "double"
	case f.Std:
		return "float"
	}
	return ""
}

// generic is the type of a call in a kernel, where functions are of the type of
// their arguments.
func (v *view) generic(n *syntax.Node, name string) string {
	switch {
	case strings.HasPrefix(name, "get_") && ids[name]:
		return "unsigned long"
	case !pure[name] || len(n.Kids) < 2 || strings.Contains(v.file.Text[v.fn.Start:v.fn.End], "threadIdx"):
		return ""
	case doubles[name] || strings.HasPrefix(name, "native_") || name == "rsqrt" || name == "mad" || name == "mix":
		if t := v.typeOf(n.Kids[1]); floating(t) {
			return t
		}
	case name == "clamp" || name == "min" || name == "max":
		t := v.typeOf(n.Kids[1])
		for _, a := range n.Kids[2:] {
			if v.typeOf(a) != t {
				return ""
			}
		}
		return t
	}
	return ""
}

// doubles are functions of math.h that return a double.
var doubles = set("sqrt cbrt fabs exp exp2 log log2 log10 log1p expm1 sin cos tan asin acos atan atan2 sinh cosh tanh pow hypot floor ceil trunc round rint fmin fmax fma fmod copysign erf erfc")

var ranks = []string{"int", "unsigned int", "long", "unsigned long", "float", "double"}

// plain is a type by the name that ranks has for it; other arithmetic types keep
// theirs and are not converted.
func plain(base string) string {
	switch base {
	case "size_t", "uint64_t":
		return "unsigned long"
	case "ssize_t", "ptrdiff_t", "int64_t":
		return "long"
	case "int32_t":
		return "int"
	case "uint32_t":
		return "unsigned int"
	}
	return base
}

func promote(t string) string {
	switch t {
	case "char", "signed char", "unsigned char", "short", "unsigned short", "int8_t", "uint8_t", "int16_t", "uint16_t", "_Bool", "bool":
		return "int"
	}
	return t
}

func wider(a, b string) string {
	a, b = promote(a), promote(b)
	i, j := -1, -1
	for k, r := range ranks {
		if r == a {
			i = k
		}
		if r == b {
			j = k
		}
	}
	if i < 0 || j < 0 {
		return ""
	}
	return ranks[max(i, j)]
}

func floating(t string) bool { return t == "float" || t == "double" }
