package syntax

import (
	"strings"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

var (
	scalarWords = words("void char short int long float double signed unsigned _Bool bool __int128 auto")
	typeWords   = vectors("half uchar ushort uint ulong size_t ssize_t ptrdiff_t intptr_t uintptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t FILE dim3")
	qualifiers  = words("const static extern register volatile inline __inline __inline__ __forceinline__ restrict __restrict __restrict__ " +
		"__global global __local local __constant constant __private private __kernel kernel __global__ __device__ __host__ __shared__ __constant__ " +
		"__read_only __write_only read_only write_only constexpr thread_local _Thread_local __extension__ _Noreturn")
	keywords = words("if else for while do switch case default return break continue goto sizeof struct union enum typedef class template namespace using new delete try catch throw operator this")
)

// vectors are words, and the names of OpenCL's vectors.
func vectors(list string) map[string]bool {
	out := words(list)
	for _, base := range []string{"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half"} {
		for _, n := range []string{"2", "3", "4", "8", "16"} {
			out[base+n] = true
		}
	}
	return out
}

// typeName reports whether a word is a type's.
func (p *parser) typeName(w string) bool {
	if p.lookup(w) != nil {
		return false
	}
	if scalarWords[w] || typeWords[w] || p.types[w] {
		return true
	}
	if m := p.macros[w]; m != nil && !m.function && len(m.body) > 0 {
		for _, t := range m.body {
			if !scalarWords[t.text] && !typeWords[t.text] && !p.types[t.text] && !qualifiers[t.text] {
				return false
			}
		}
		return true
	}
	return false
}

// std reports whether a name of C++'s standard library, std::NAME, begins at a
// token.
func (p *parser) std(i int) bool {
	name := p.peek(i + 2)
	return p.peek(i).text == "std" && p.peek(i+1).text == "::" && name.kind == tokenize.Word && !keywords[name.text] && p.peek(i+3).text != "::"
}

// stdType reports whether one of its types that C has as well does: std::size_t.
func (p *parser) stdType(i int) bool { return p.std(i) && typeWords[p.peek(i+2).text] }

// declares reports whether a declaration begins at the current token.
func (p *parser) declares() bool {
	t := p.peek(0)
	if t.kind != tokenize.Word {
		return false
	}
	if p.qualifier(0) || p.typeName(t.text) || p.stdType(0) || t.text == "struct" || t.text == "union" || t.text == "enum" {
		return true
	}
	if keywords[t.text] || p.lookup(t.text) != nil {
		return false
	}
	i := 1
	for p.peek(i).text == "*" || i > 1 && p.qualifier(i) {
		i++
	}
	next := p.peek(i)
	if next.kind != tokenize.Word || keywords[next.text] {
		return false
	}
	switch p.peek(i + 1).text {
	case "=", ";", ",", "[":
		return true
	}
	return false
}

// qualifier reports whether a token is a qualifier. In C, global, local and the
// like are names as others are: those that something else than a type follows.
func (p *parser) qualifier(i int) bool {
	t := p.peek(i)
	if t.kind != tokenize.Word || !qualifiers[t.text] {
		return false
	}
	switch t.text {
	case "global", "local", "constant", "private", "kernel", "read_only", "write_only":
		next := p.peek(i + 1)
		return next.kind == tokenize.Word || next.text == "*"
	}
	return true
}

// specifiers reads what stands before a declarator; nil where there is no type.
func (p *parser) specifiers() *Type {
	t := &Type{}
	var base []string
	add := func(w string) { base = append(base, w) }
	for !p.done() {
		w := p.peek(0).text
		switch {
		case !p.word():
			goto out
		case attributes[w]:
			p.at++
			if p.is("(") {
				p.skip()
			}
			continue
		case p.qualifier(0):
			qualify(t, w)
		case scalarWords[w]:
			add(w)
		case len(base) == 0 && p.stdType(0):
			p.at += 2
			add(p.peek(0).text)
		case w == "struct" || w == "union" || w == "enum":
			p.at++
			if !p.word() || len(base) > 0 {
				return nil
			}
			add(w + " " + p.peek(0).text)
			if p.peek(1).text == "{" {
				p.at++
				p.skip()
				continue
			}
		case len(base) == 0 && p.typeName(w):
			if m := p.macros[w]; m != nil {
				for _, b := range m.body {
					if qualifiers[b.text] {
						qualify(t, b.text)
					} else {
						add(b.text)
					}
				}
			} else {
				add(w)
			}
		case len(base) == 0 && p.macros[w] != nil && p.peek(1).kind == tokenize.Word:
			// A macro before a type: an attribute, or nothing.
		case len(base) == 0 && !keywords[w] && p.lookup(w) == nil:
			add(w)
		default:
			goto out
		}
		p.at++
	}
out:
	if len(base) == 0 {
		return nil
	}
	t.Base = normal(base)
	return t
}

func qualify(t *Type, w string) {
	switch w {
	case "const", "constexpr":
		t.Const = true
	case "static":
		t.Static = true
	case "volatile":
		t.Volatile = true
	case "restrict", "__restrict", "__restrict__":
		t.Restrict = true
	case "__global", "global":
		t.Space = "global"
	case "__local", "local", "__shared__":
		t.Space = "local"
	case "__constant", "constant", "__constant__":
		t.Space, t.Const = "constant", true
	}
}

// normal is one spelling for a type: "unsigned long" for "long unsigned int".
func normal(base []string) string {
	short := map[string]string{"uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long"}
	if len(base) == 1 && short[base[0]] != "" {
		return short[base[0]]
	}
	count := map[string]int{}
	for _, w := range base {
		count[w]++
		if !scalarWords[w] {
			return strings.Join(base, " ")
		}
	}
	size := "int"
	switch {
	case count["char"] > 0:
		size = "char"
	case count["short"] > 0:
		size = "short"
	case count["long"] == 1 && count["double"] == 0:
		size = "long"
	case count["long"] > 1:
		size = "long long"
	case count["double"] > 0:
		size = "double"
		if count["long"] > 0 {
			size = "long double"
		}
	case count["int"]+count["unsigned"]+count["signed"] == 0:
		size = base[0]
	}
	if count["unsigned"] > 0 {
		return "unsigned " + size
	}
	if count["signed"] > 0 && size == "char" {
		return "signed char"
	}
	return size
}

// declarator reads a name with what makes its type of the base.
func (p *parser) declarator(base Type) *Variable {
	v := &Variable{Start: p.peek(0).start}
	for {
		w := p.peek(0).text
		switch {
		case w == "*" || w == "&":
			base.Pointers++
			base.Restrict = false
		case p.qualifier(0) || attributes[w]:
			if attributes[w] && p.peek(1).text == "(" {
				p.at++
				p.skip()
				continue
			}
			switch w {
			case "restrict", "__restrict", "__restrict__":
				base.Restrict = true
			}
		default:
			goto name
		}
		p.at++
	}
name:
	if !p.word() || keywords[p.peek(0).text] {
		return nil
	}
	v.Name = p.peek(0).text
	p.at++
	for p.is("[") {
		p.at++
		for p.word() && qualifiers[p.peek(0).text] {
			qualify(&base, p.peek(0).text)
			p.at++
		}
		var n *Node
		if !p.is("]") {
			n = p.expression()
		}
		base.Dims = append(base.Dims, n)
		if !p.take("]") {
			return nil
		}
	}
	for attributes[p.peek(0).text] && p.peek(1).text == "(" {
		p.at++
		p.skip()
	}
	v.Type, v.End = &base, p.end()
	return v
}

// declaration reads one up to and with its semicolon; nil where it is none that
// is understood.
func (p *parser) declaration() *Node {
	n := &Node{Kind: Declare, Start: p.peek(0).start}
	t := p.specifiers()
	if t == nil {
		return nil
	}
	for {
		v := p.declarator(*t)
		if v == nil {
			return nil
		}
		d := &Node{Kind: Declared, Start: v.Start, Op: v.Name, Var: v, Kids: []*Node{nil}}
		v.Decl = d
		p.declare(v)
		if p.take("=") {
			d.Kids[0] = p.assignment()
		}
		d.End = p.end()
		n.Kids = append(n.Kids, d)
		if p.take(";") {
			n.End = p.end()
			return n
		}
		if !p.take(",") {
			return nil
		}
	}
}
