package tokenize

// declaration marks what the statement that begins at i declares; of is the
// word before the parenthesis it stands in (for, if, while, switch), or "".
func (p *cNames) declaration(i int, of string) bool {
	j, ok := p.specifiers(i)
	if !ok {
		return false
	}
	found := false
	for {
		name, after, ok := p.declarator(j)
		follow := p.at(after)
		switch {
		case !ok:
		case p.at(name-1) == "::" || p.at(name) == "operator":
			if follow == "(" {
				p.function(name, after)
			}
			return found
		case follow == "(" && p.at(name-1) != ")" && after == name+1 && of == "":
			if p.inFile() {
				p.function(name, after)
				return true
			}
			p.toks[name].mark = markVariable // with arguments of its constructor
			found = true
		case follow == "=" || of == "" && (follow == ";" || follow == "," || follow == "[" || follow == "{" || follow == ":") ||
			of == "" && follow == "(" || of == "for" && (follow == ";" || follow == "," || follow == ":" || follow == "["):
			if p.scope().kind == markClass {
				p.toks[name].mark = markMember
			} else {
				p.toks[name].mark = markVariable
			}
			found = true
			if follow == "{" {
				p.toks[after].mark = markList
			}
		}
		if !ok && !found {
			return false
		}
		// The next declarator follows the next comma outside of brackets.
		for j = after; j < len(p.toks) && p.at(j) != ","; j++ {
			switch t := p.toks[j]; t.text {
			case "(", "[", "{":
				if t.match >= len(p.toks) {
					return found
				}
				if t.text == "{" && p.toks[j].mark == 0 {
					p.toks[j].mark = markList
				}
				j = t.match
			case ";", ")", "]", "}":
				return found
			}
		}
		if j >= len(p.toks) || !found {
			return found
		}
		j++
	}
}

// specifiers is the end of the type that a declaration begins with.
func (p *cNames) specifiers(j int) (end int, ok bool) {
	typed := false
	for j < len(p.toks) {
		t := p.toks[j]
		next := j + 1
		more := next < len(p.toks) && (p.toks[next].kind == Word || p.at(next) == "*")
		switch {
		case t.text == "template" && p.at(next) == "<":
			if next = p.angle(next); next == 0 {
				return 0, false
			}
		case t.text == "[" && p.at(next) == "[" && t.match < len(p.toks):
			next = t.match + 1
		case t.kind == String && !typed:
			// extern "C"
		case t.kind != Word && t.text != "::":
			return j, typed
		case cQualifiers[t.text] || cSoftQualifiers[t.text] && more:
			if p.at(next) == "(" && p.toks[next].match < len(p.toks) {
				next = p.toks[next].match + 1
			}
		case t.text == "struct" || t.text == "class" || t.text == "union" || t.text == "enum":
			if typed {
				return j, true
			}
			kind := byte(markClass)
			if t.text == "enum" {
				kind = markEnum
				if w := p.at(next); w == "class" || w == "struct" {
					next++
				}
			}
			for p.isName(next) || p.at(next) == "::" || cQualifiers[p.at(next)] {
				if cQualifiers[p.at(next)] && p.at(next+1) == "(" {
					next = min(p.toks[next+1].match, len(p.toks)-1)
				}
				next++
				if p.isName(next) && p.isName(next-1) {
					return next, true // struct S x
				}
			}
			for k := next; k < min(next+64, len(p.toks)); k++ {
				if p.at(k) == "{" {
					p.toks[k].mark = kind
					return 0, false
				}
				if k == next && p.at(k) != ":" && p.at(k) != "<" {
					break
				}
				if p.at(k) == ";" || p.at(k) == "(" {
					break
				}
			}
			typed = true
		case t.text == "typedef":
			if w := p.at(next); w == "struct" || w == "union" || w == "enum" {
				p.specifiers(next) // marks the brace
			}
			return 0, false
		case t.text == "auto":
			typed = true
		case (t.text == "decltype" || t.text == "typeof" || t.text == "__typeof__") && p.at(next) == "(" && p.toks[next].match < len(p.toks):
			typed, next = true, p.toks[next].match+1
		case cTypes[t.text]:
			typed = true
		case cKeywords[t.text]:
			return j, typed
		case typed:
			return j, true
		default: // an identifier that is taken for a type
			if t.text == "::" && !p.isName(next) {
				return j, false
			}
			for p.at(next) == "::" || p.at(next-1) == "::" && p.isName(next) || p.at(next) == "<" {
				if p.at(next) == "<" {
					after := p.angle(next)
					if after == 0 {
						return j, false
					}
					next = after
					continue
				}
				next++
			}
			typed = true
		}
		j = next
	}
	return j, typed
}

// angle is the token after the > that closes the < at i, or 0.
func (p *cNames) angle(i int) int {
	depth := 0
	for j := i; j < min(i+256, len(p.toks)); j++ {
		switch t := p.toks[j]; t.text {
		case "<":
			depth++
		case ">":
			depth--
		case ">>":
			depth -= 2
		case ">>>":
			depth -= 3
		case "(", "[":
			if t.match >= len(p.toks) {
				return 0
			}
			j = t.match
		case ";", "{", "}", ")", "]", "&&", "||", "=":
			if t.text != "=" || p.at(i-1) != "template" {
				return 0
			}
		}
		if depth <= 0 {
			return j + 1
		}
	}
	return 0
}

// declarator finds the name that is declared from j on, and what follows it.
func (p *cNames) declarator(j int) (name, after int, ok bool) {
	start := j
	for j < len(p.toks) {
		t := p.toks[j]
		switch {
		case t.text == "*" || t.text == "&" || t.text == "&&" || t.text == "...":
			j++
		case cQualifiers[t.text] || cSoftQualifiers[t.text] && (p.isName(j+1) || p.at(j+1) == "*"):
			j++
			if p.at(j) == "(" && p.toks[j].match < len(p.toks) {
				j = p.toks[j].match + 1
			}
		case t.text == "(" && (p.at(j+1) == "*" || p.at(j+1) == "&") && t.match < len(p.toks):
			k := j + 1
			for k < t.match && (p.toks[k].kind != Word || cQualifiers[p.at(k)]) {
				k++
			}
			// f(&x); is a call: a function or an array must follow.
			follow := p.at(t.match + 1)
			if !p.isName(k) || k+1 != t.match && p.at(k+1) != "[" || follow != "(" && follow != "[" {
				return 0, t.match + 1, false
			}
			return k, t.match + 1, true
		case t.text == "operator":
			for k := j + 1; k < min(j+8, len(p.toks)); k++ {
				if p.at(k) == "(" && (k > j+1 || p.at(k+1) != ")") {
					return j, k, true
				}
			}
			return 0, j + 1, false
		case p.isName(j) && (p.isName(j+1) || cQualifiers[p.at(j+1)]):
			j++ // an unknown qualifier, such as a macro
		case p.isName(j) && p.at(j+1) == "(" && p.isName(p.toks[j+1].match+1) && p.at(p.toks[j+1].match+2) == "(":
			j = p.toks[j+1].match + 1 // the same with arguments
		case p.isName(j) && p.at(j+1) == "::":
			j += 2
		case p.isName(j) && p.at(j+1) == "<" && p.angle(j+1) > 0 && p.at(p.angle(j+1)) == "::":
			j = p.angle(j+1) + 1
		case p.isName(j):
			return j, j + 1, true
		default:
			return 0, max(j, start), false
		}
	}
	return 0, len(p.toks), false
}

// function marks the name of a function, its parameters and its body.
func (p *cNames) function(name, open int) {
	switch {
	case p.at(name-1) == "::" || p.at(name) == "operator":
	case p.scope().kind == markClass:
		p.toks[name].mark = markMember
	default:
		p.toks[name].mark = markFunction
	}
	p.parameters(open)
}

// parameters marks the parameters in the parenthesis at open, whose scope is
// the function's body where there is one.
func (p *cNames) parameters(open int) {
	t := &p.toks[open]
	if t.match >= len(p.toks) {
		return
	}
	t.mark, t.end = markParams, t.match
	constructor := false // with a list of members before its body
	for j := t.match + 1; j < min(t.match+256, len(p.toks)); j++ {
		w := p.at(j)
		constructor = constructor || w == ":"
		if constructor && w == "," {
			continue
		}
		switch w {
		case "{":
			p.toks[j].mark = markBlock
			t.end = p.toks[j].match
		case "(", "[":
			if p.toks[j].match < len(p.toks) {
				j = p.toks[j].match
				continue
			}
		case ";", "=", ",", "}", ")":
		default:
			continue
		}
		break
	}
	p.parameter(open + 1)
	for j := open + 1; j < t.match; j++ {
		switch x := &p.toks[j]; x.text {
		case "(", "[", "{":
			if x.match < len(p.toks) {
				j = x.match
			}
		case ",":
			x.mark = markParams
		}
	}
}

// parameter marks the name of the parameter that begins at i, if it has one.
func (p *cNames) parameter(i int) {
	j, ok := p.specifiers(i)
	if !ok {
		return
	}
	name, after, ok := p.declarator(j)
	if !ok {
		return
	}
	switch p.at(after) {
	case ",", ")", "=", "[", "(":
		p.toks[name].mark = markVariable
	}
}

// lambda marks the parameters of the lambda whose captures begin at i, if it
// is one.
func (p *cNames) lambda(i int) {
	switch prev := p.at(i - 1); {
	case i > 0 && (p.toks[i-1].kind == Word && prev != "return" || p.toks[i-1].kind == String || prev == ")" || prev == "]" || prev == "["):
		return
	}
	if end := p.toks[i].match; end < len(p.toks) {
		switch p.at(end + 1) {
		case "(":
			p.parameters(end + 1)
		case "{":
			p.toks[end+1].mark = markBlock
		}
	}
}

// statement is the end of the statement that begins at i.
func (p *cNames) statement(i int) int {
	var on []int // statements on the way, which end there too
	end := i
	for {
		if e, ok := p.ends[end]; ok {
			end = e
			break
		}
		on = append(on, end)
		switch w := p.at(end); w {
		case "if", "for", "while", "switch":
			if p.at(end+1) == "constexpr" {
				end++
			}
			if p.at(end+1) == "(" && p.toks[end+1].match < len(p.toks) {
				end = p.toks[end+1].match + 1
				continue
			}
		case "else", "do":
			end++
			continue
		case "{":
			end = min(p.toks[end].match, len(p.toks)-1) + 1
		}
		if len(on) == 0 || end == on[len(on)-1] { // no block: up to the semicolon
		scan:
			for ; end < len(p.toks); end++ {
				switch t := p.toks[end]; t.text {
				case "(", "[", "{":
					if t.match >= len(p.toks) {
						break scan
					}
					end = t.match
				case ";":
					end++
					break scan
				case "}":
					break scan
				}
			}
		}
		if p.at(end) == "else" && len(on) > 1 {
			continue
		}
		break
	}
	for _, i := range on {
		p.ends[i] = end
	}
	return end
}

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// Words of C, C++, CUDA and OpenCL that a declaration may begin with.
var cQualifiers = set("const", "constexpr", "consteval", "constinit", "volatile", "static", "extern", "inline", "register",
	"restrict", "__restrict", "__restrict__", "__inline", "__inline__", "__forceinline", "__forceinline__", "__noinline__",
	"__global__", "__device__", "__host__", "__shared__", "__constant__", "__managed__", "__grid_constant__",
	"__launch_bounds__", "__cluster_dims__", "__attribute__", "__attribute", "__declspec", "__align__", "alignas", "_Alignas",
	"__global", "__local", "__constant", "__private", "__generic", "__kernel", "__read_only", "__write_only", "__read_write",
	"thread_local", "_Thread_local", "mutable", "virtual", "explicit", "friend", "typename", "noexcept")

// cSoftQualifiers are OpenCL's short ones, which are names elsewhere: they
// qualify where more of a declaration follows.
var cSoftQualifiers = set("kernel", "global", "local", "constant", "private", "generic", "read_only", "write_only", "read_write")

// cTypes are the words of built-in types, of which several make one type.
var cTypes = set("void", "bool", "_Bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "wchar_t",
	"char8_t", "char16_t", "char32_t", "__int128", "_Complex")

// cKeywords are the words that are no identifiers.
var cKeywords = func() map[string]bool {
	m := set("if", "else", "for", "while", "do", "switch", "case", "default", "return", "break", "continue", "goto", "sizeof",
		"alignof", "_Alignof", "typedef", "struct", "class", "union", "enum", "template", "using", "namespace", "new", "delete",
		"throw", "try", "catch", "operator", "public", "protected", "this", "true", "false", "nullptr", "static_cast",
		"dynamic_cast", "const_cast", "reinterpret_cast", "static_assert", "_Static_assert", "decltype", "typeof", "__typeof__",
		"auto", "asm", "__asm__", "__asm", "typeid", "requires", "concept", "co_await", "co_return", "co_yield")
	for w := range cQualifiers {
		m[w] = true
	}
	for w := range cTypes {
		m[w] = true
	}
	return m
}()
