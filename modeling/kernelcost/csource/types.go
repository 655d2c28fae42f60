package csource

import "strconv"

// specifiers are what stands before a declarator.
type specifiers struct {
	t        *Type
	space    Space
	kernel   bool
	constant bool
	extern   bool
}

// scalars are the named types: bytes, unsigned, floating.
var scalars = map[string]Type{
	"bool": {Class: Integer, Bytes: 1, Unsigned: true}, "_Bool": {Class: Integer, Bytes: 1, Unsigned: true},
	"char": {Class: Integer, Bytes: 1}, "uchar": {Class: Integer, Bytes: 1, Unsigned: true},
	"short": {Class: Integer, Bytes: 2}, "ushort": {Class: Integer, Bytes: 2, Unsigned: true},
	"int": {Class: Integer, Bytes: 4}, "uint": {Class: Integer, Bytes: 4, Unsigned: true},
	"long": {Class: Integer, Bytes: 8}, "ulong": {Class: Integer, Bytes: 8, Unsigned: true},
	"longlong": {Class: Integer, Bytes: 8}, "ulonglong": {Class: Integer, Bytes: 8, Unsigned: true},
	"half": {Class: Floating, Bytes: 2}, "float": {Class: Floating, Bytes: 4}, "double": {Class: Floating, Bytes: 8},
	"__half": {Class: Floating, Bytes: 2}, "__nv_bfloat16": {Class: Floating, Bytes: 2},
	"size_t": {Class: Integer, Bytes: 8, Unsigned: true}, "ptrdiff_t": {Class: Integer, Bytes: 8},
	"intptr_t": {Class: Integer, Bytes: 8}, "uintptr_t": {Class: Integer, Bytes: 8, Unsigned: true},
	"int8_t": {Class: Integer, Bytes: 1}, "uint8_t": {Class: Integer, Bytes: 1, Unsigned: true},
	"int16_t": {Class: Integer, Bytes: 2}, "uint16_t": {Class: Integer, Bytes: 2, Unsigned: true},
	"int32_t": {Class: Integer, Bytes: 4}, "uint32_t": {Class: Integer, Bytes: 4, Unsigned: true},
	"int64_t": {Class: Integer, Bytes: 8}, "uint64_t": {Class: Integer, Bytes: 8, Unsigned: true},
	"void": {Class: Void, Bytes: 1},
	"dim3": {Class: Integer, Bytes: 4, Unsigned: true, Width: 3},
}

// named is a built-in type by name, vectors too; nil where there is none.
func named(name string) *Type {
	if t, ok := scalars[name]; ok {
		t.Name = name
		t.Width = max(t.Width, 1)
		return &t
	}
	n := len(name)
	for n > 0 && isDigit(name[n-1]) {
		n--
	}
	if n == len(name) || n == 0 {
		return nil
	}
	w, err := strconv.Atoi(name[n:])
	t, ok := scalars[name[:n]]
	if err != nil || !ok || t.Class == Void || !(w >= 1 && w <= 4 || w == 8 || w == 16) || name[n-1] == '_' {
		return nil
	}
	t.Name, t.Width = name, w
	return &t
}

// qualifiers that change nothing here.
var ignored = map[string]bool{"const": true, "volatile": true, "restrict": true, "__restrict": true, "__restrict__": true, "register": true, "static": true,
	"inline": true, "__inline": true, "__inline__": true, "__forceinline__": true, "__noinline__": true, "__device__": true, "__host__": true,
	"typename": true, "constexpr": true, "read_only": true, "write_only": true, "__read_only": true, "__write_only": true, "private": true, "__private": true,
	"__managed__": true, "signed": true, "mutable": true, "generic": true, "__generic": true, "read_write": true}

// startsType tells whether a declaration can start here.
func (p *parser) startsType() bool {
	t := p.peek()
	if t.kind != identifier {
		return false
	}
	s := t.s
	if p.lookUp(s) >= 0 {
		return false
	}
	switch s {
	case "unsigned", "struct", "union", "enum", "class", "extern", "auto", "__global", "global", "__local", "local", "__constant", "constant",
		"__shared__", "__constant__", "__attribute__", "__align__", "__launch_bounds__", "alignas":
		return true
	case "sizeof", "return", "if", "for", "while", "do", "switch", "case", "default", "break", "continue", "goto", "else":
		return false
	}
	if ignored[s] || named(s) != nil || p.types[s] != nil {
		return true
	}
	if p.unit.Globals[s] != nil {
		return false
	}
	// A name that nothing declares: a type where another name follows.
	next := p.ahead(1)
	if next.s == "::" {
		i := 1
		for p.ahead(i).s == "::" && p.ahead(i+1).kind == identifier {
			i += 2
		}
		return p.ahead(i).kind == identifier || p.ahead(i).s == "*" && p.ahead(i+1).kind == identifier && p.ahead(i+2).s == "="
	}
	if next.kind == identifier {
		return true
	}
	if next.s == "*" || next.s == "&" {
		i := 2
		for ignored[p.ahead(i).s] || p.ahead(i).s == "*" {
			i++
		}
		after := p.ahead(i + 1).s
		return p.ahead(i).kind == identifier && (after == "=" || after == "," || after == ")" || after == ";" || after == "[")
	}
	return false
}

// specifiers reads qualifiers and a type.
func (p *parser) specifiers() (s specifiers, ok bool) {
	unsigned, longs := false, 0
	sign := false
	for !p.done() {
		t := p.peek()
		if t.kind != identifier {
			if t.s == "::" && s.t == nil {
				p.i++
				continue
			}
			break
		}
		switch {
		case t.s == "__kernel" || t.s == "kernel" || t.s == "__global__":
			s.kernel = true
			p.i++
			continue
		case t.s == "__global" || t.s == "global":
			s.space = Global
		case t.s == "__local" || t.s == "local" || t.s == "__shared__":
			s.space = Local
		case t.s == "__constant" || t.s == "constant" || t.s == "__constant__":
			s.space = Constants
		case t.s == "extern":
			s.extern = true
		case t.s == "const" || t.s == "constexpr":
			s.constant = true
		case t.s == "unsigned":
			unsigned = true
			sign = true
		case t.s == "signed":
			sign = true
		case ignored[t.s]:
		case t.s == "__attribute__" || t.s == "__align__" || t.s == "__launch_bounds__" || t.s == "alignas":
			p.i++
			if p.accept("(") {
				p.skip(")")
				p.accept(")")
			}
			continue
		case t.s == "struct" || t.s == "union" || t.s == "class":
			if s.t != nil {
				return s, true
			}
			s.t = p.structure()
			continue
		case t.s == "enum":
			s.t = p.enumeration()
			continue
		case t.s == "auto":
			s.t = &Type{Class: Unknown, Name: "auto", Bytes: 4, Width: 1}
		case t.s == "long" && (s.t == nil || s.t.Name == "int"):
			longs++
		case t.s == "int" && (longs > 0 || s.t != nil && s.t.Name == "short"):
		case t.s == "double" && longs > 0:
			longs = 0
			s.t = named("double")
		default:
			if s.t != nil || sign || longs > 0 {
				if s.t == nil && longs == 0 && named(t.s) != nil {
					s.t = named(t.s)
					p.i++
					continue
				}
				goto end
			}
			s.t = p.reference()
			if s.t == nil {
				return s, false
			}
			continue
		}
		p.i++
	}
end:
	if longs > 0 && s.t == nil || longs > 0 && s.t.Name == "int" {
		s.t = named("long")
	}
	if s.t == nil {
		if !sign {
			return s, false
		}
		s.t = named("int")
	}
	if unsigned && s.t.Class == Integer {
		t := *s.t
		t.Unsigned = true
		s.t = &t
	}
	if s.space != Private {
		t := *s.t
		t.Space = s.space
		s.t = &t
	}
	return s, true
}

// reference reads the name of a type, with the arguments of a template.
func (p *parser) reference() *Type {
	name := p.peek().s
	p.i++
	for p.is("::") && p.ahead(1).kind == identifier {
		name = p.ahead(1).s
		p.i += 2
	}
	if p.is("<") {
		if n := p.templateArguments(); n > 0 {
			p.i += n
		}
	}
	if t := p.types[name]; t != nil {
		c := *t
		return &c
	}
	if t := named(name); t != nil {
		return t
	}
	if p.peek().kind != identifier && !p.is("*") && !p.is("&") && !p.is(")") && !p.is(",") && !p.is(">") && !p.done() {
		return nil
	}
	return &Type{Class: Unknown, Name: name, Bytes: 4, Width: 1}
}

// templateArguments is the number of tokens of <...>, 0 where it is none.
func (p *parser) templateArguments() int {
	depth := 0
	for n := range 60 {
		t := p.ahead(n)
		switch {
		case t.s == "<":
			depth++
		case t.s == ">":
			if depth--; depth == 0 {
				return n + 1
			}
		case t.s == ">>":
			if depth -= 2; depth == 0 {
				return n + 1
			} else if depth < 0 {
				return 0
			}
		case t.kind == identifier || t.kind == number || t.s == "," || t.s == "*" || t.s == "::" || t.s == "&":
		default:
			return 0
		}
	}
	return 0
}

// structure reads struct NAME { fields }; methods are left out.
func (p *parser) structure() *Type {
	union := p.is("union")
	p.i++
	for p.is("__attribute__") || p.is("__align__") || p.is("alignas") {
		p.i++
		if p.accept("(") {
			p.skip(")")
			p.accept(")")
		}
	}
	t := &Type{Class: Struct, Width: 1}
	if p.peek().kind == identifier {
		t.Name = p.peek().s
		p.i++
	}
	if !p.is("{") {
		if k := p.types[t.Name]; k != nil {
			c := *k
			return &c
		}
		return &Type{Class: Unknown, Name: t.Name, Bytes: 4, Width: 1}
	}
	p.i++
	if p.depth++; p.depth > deepest {
		p.skip("}")
		p.depth--
		return t
	}
	align := 1
	for !p.done() && !p.is("}") {
		from := p.i
		if p.is("public") || p.is("private") || p.is("protected") {
			if p.ahead(1).s == ":" {
				p.i += 2
				continue
			}
		}
		spec, ok := p.specifiers()
		for ok {
			ft, name := p.declarator(spec.t)
			if name == "" || p.is("(") {
				break
			}
			if p.accept(":") {
				p.conditional()
			}
			a := ft
			for a.Class == Array {
				a = a.Elem
			}
			size, by := ft.Size(), min(max(a.Size(), 1), 16)
			if a.Class == Struct {
				by = min(by, 8)
			}
			at := (t.Bytes + by - 1) / by * by
			if union {
				at = 0
			}
			t.Fields = append(t.Fields, Field{name, ft, at})
			t.Bytes = min(max(t.Bytes, at+size), 1<<30)
			align = max(align, by)
			if !p.accept(",") {
				break
			}
		}
		if !p.accept(";") {
			p.skip(";")
		}
		if p.i == from {
			p.i++
		}
	}
	p.depth--
	p.accept("}")
	t.Bytes = (t.Bytes + align - 1) / align * align
	if t.Name != "" {
		p.types[t.Name] = t
	}
	c := *t
	return &c
}

func (p *parser) enumeration() *Type {
	p.i++
	p.accept("class")
	if p.peek().kind == identifier {
		p.types[p.peek().s] = named("int")
		p.i++
	}
	if p.accept("{") {
		next := int64(0)
		for !p.done() && !p.is("}") {
			name := p.peek().s
			p.i++
			if p.accept("=") {
				if v, ok := p.fixed(p.conditional()); ok {
					next = v
				}
			}
			p.unit.Enums[name] = next
			next++
			if !p.accept(",") && !p.is("}") {
				p.skip("}")
				return named("int")
			}
		}
		p.accept("}")
	}
	return named("int")
}

// fixed is a constant, names of enumerations included.
func (p *parser) fixed(e Expr) (int64, bool) {
	if id, ok := e.(*Ident); ok {
		v, ok := p.unit.Enums[id.Name]
		return v, ok
	}
	return Constant(e)
}

// declarator reads pointers, a name and arrays around a base type.
func (p *parser) declarator(base *Type) (*Type, string) {
	c := *base
	t := &c
	space := t.Space
	for !p.done() {
		switch {
		case p.accept("*"):
			t = &Type{Class: Pointer, Elem: t, Bytes: 8, Width: 1, Space: space}
		case p.accept("&") || p.accept("&&"):
			t.Ref = true
		case ignored[p.peek().s]:
			p.i++
		case p.is("__global") || p.is("__local") || p.is("__constant"):
			p.i++
		case p.is("__attribute__"):
			p.i++
			if p.accept("(") {
				p.skip(")")
				p.accept(")")
			}
		default:
			goto name
		}
	}
name:
	name := ""
	if p.accept("(") { // (*name)[n], or a function pointer
		inner := 0
		for p.accept("*") || p.accept("&") {
			inner++
		}
		if p.peek().kind == identifier {
			name = p.peek().s
			p.i++
		}
		if !p.accept(")") {
			p.skip(")")
			p.accept(")")
		}
		t = p.dimensions(t)
		for range min(inner, 4) {
			t = &Type{Class: Pointer, Elem: t, Bytes: 8, Width: 1, Space: space}
		}
		return t, name
	}
	if p.peek().kind == identifier {
		name = p.peek().s
		p.i++
		for p.is("::") && p.ahead(1).kind == identifier {
			name = p.ahead(1).s
			p.i += 2
		}
	}
	return p.dimensions(t), name
}

// dimensions reads [n][m] around a type.
func (p *parser) dimensions(t *Type) *Type {
	var lens []Expr
	for p.is("[") && len(lens) < 16 {
		p.i++
		var n Expr
		if !p.is("]") {
			n = p.assignment()
		}
		lens = append(lens, n)
		if !p.accept("]") {
			p.skip("]")
			p.accept("]")
			break
		}
	}
	for i := len(lens) - 1; i >= 0; i-- {
		t = &Type{Class: Array, Elem: t, Len: lens[i], Width: 1, Space: t.Space}
	}
	return t
}

// typeName reads a type without a name, as in a cast; nil where it is none.
func (p *parser) typeName() *Type {
	s, ok := p.specifiers()
	if !ok {
		return nil
	}
	t, _ := p.declarator(s.t)
	return t
}

// Named is a built-in type by its name, vectors too; nil where there is none.
func Named(name string) *Type { return named(name) }
