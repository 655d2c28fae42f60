package tokenize

import "slices"

// renameC renames what C, C++, CUDA or OpenCL text declares: functions to f0,
// f1, ..., variables of the file to g0, ..., parameters and variables of a
// function to v0, ..., each declaration its own, counted again in each
// function. Kept are keywords, types, members, enumerators, labels, template
// parameters, qualified names, whatever the text does not declare (built-in
// and external functions), functions that overload a built-in one, and every
// name that a preprocessor directive mentions, since a macro's body means
// whatever has the name where it is used.
//
// Declarations are found by their form, without knowing the types: a name is
// declared where a type and a declarator stand at the start of a statement or
// in a parameter list ("a * b;" is read as one, as C++ does where a is a
// type). What is not recognised keeps its name.
func renameC(text string, pieces []Piece) []string {
	p := cNames{src: text, blocked: map[string]bool{}, members: map[string]bool{}, bound: map[string][]*entity{}, names: make([]string, len(pieces))}
	p.tokens(pieces)
	p.walk()
	p.give()
	return p.names
}

type cToken struct {
	text  string
	kind  Kind
	piece int
	match int     // of a bracket: the other one; len(tokens) if there is none
	mark  byte    // what a declaration before has found out about it, see the constants
	end   int     // of markScope and markParams: where the scope ends
	of    *entity // what a name stands for
}

// Marks of tokens.
const (
	markVariable = 'v' // a name that is declared here
	markFunction = 'f'
	markMember   = 'm'
	markParams   = '(' // a parenthesis with parameters; their scope ends at end
	markScope    = 's' // a parenthesis of for, if, ...; the scope ends at end
	markClass    = 'c' // a brace of a class
	markEnum     = 'e'
	markList     = 'l' // a brace of an initialiser
	markBlock    = 'b' // a brace of a function
)

type cScope struct {
	kind  byte // markClass, markEnum, markList, markBlock, markParams, markScope; 0 for the file
	end   int
	names []string
	fn    int // the function around it
}

type cNames struct {
	src     string
	toks    []cToken
	blocked map[string]bool // names in directives
	members map[string]bool
	bound   map[string][]*entity
	scopes  []cScope
	pending []int       // names not declared where they are used
	fn, fns int         // the function that this is in, and how many there are
	ends    map[int]int // of statements
	names   []string
}

// tokens takes blanks, comments and directives out, and matches brackets.
func (p *cNames) tokens(pieces []Piece) {
	p.toks = make([]cToken, 0, len(pieces))
	for i := 0; i < len(pieces); i++ {
		switch k := pieces[i].Kind; k {
		case Space, Newline, Comment:
		case Directive:
			end := i
			for end < len(pieces) && pieces[end].Kind != Newline {
				end++
			}
			p.directive(pieces[i:end])
			i = end
		default:
			p.toks = append(p.toks, cToken{text: p.src[pieces[i].Start:pieces[i].End], kind: k, piece: i})
		}
	}
	var open []int
	for i := range p.toks {
		p.toks[i].match = len(p.toks)
		if p.toks[i].kind != Operator {
			continue
		}
		switch t := p.toks[i].text; t {
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			// A brace closes what was left open within.
			for t == "}" && len(open) > 0 && p.toks[open[len(open)-1]].text != "{" && slices.ContainsFunc(open[max(0, len(open)-64):], func(j int) bool { return p.toks[j].text == "{" }) {
				open = open[:len(open)-1]
			}
			if n := len(open); n > 0 && p.toks[open[n-1]].text == opening[t] {
				p.toks[i].match, p.toks[open[n-1]].match = open[n-1], i
				open = open[:n-1]
			}
		}
	}
}

var opening = map[string]string{")": "(", "]": "[", "}": "{"}

// directive blocks the names in a directive, except a macro's own parameters.
func (p *cNames) directive(pieces []Piece) {
	var words []string
	params := map[string]bool{}
	list := -1 // where the parameters end
	for i, x := range pieces {
		t := p.src[x.Start:x.End]
		if x.Kind == Operator && t == "(" && len(words) == 2 && words[0] == "define" && pieces[i-1].Kind == Word {
			for j := i + 1; j < len(pieces) && p.src[pieces[j].Start:pieces[j].End] != ")"; j++ {
				list = j
				params[p.src[pieces[j].Start:pieces[j].End]] = true
			}
		}
		if x.Kind == Word {
			words = append(words, t)
			if i > list && !params[t] {
				p.blocked[t] = true
			}
		}
	}
}

func (p *cNames) at(i int) string {
	if i < 0 || i >= len(p.toks) {
		return ""
	}
	return p.toks[i].text
}

// isName says that token i is an identifier.
func (p *cNames) isName(i int) bool {
	return i >= 0 && i < len(p.toks) && p.toks[i].kind == Word && !cKeywords[p.toks[i].text]
}

func (p *cNames) scope() *cScope { return &p.scopes[len(p.scopes)-1] }

func (p *cNames) open(kind byte, end int) {
	p.scopes = append(p.scopes, cScope{kind: kind, end: end, fn: p.fn})
}

func (p *cNames) close() {
	for _, n := range p.scope().names {
		p.bound[n] = p.bound[n][:len(p.bound[n])-1]
	}
	p.fn = p.scope().fn
	p.scopes = p.scopes[:len(p.scopes)-1]
}

// inFile says that what is declared here belongs to the file or a class.
func (p *cNames) inFile() bool { k := p.scope().kind; return k == 0 || k == markClass }

// walk goes through the tokens once, opens and closes scopes, declares and
// looks up.
func (p *cNames) walk() {
	p.open(0, len(p.toks)+1)
	p.ends = map[int]int{}
	start, first := true, 0 // of a statement; the token it began with
	starts := map[int]bool{}
	for i := 0; i < len(p.toks); i++ {
		for len(p.scopes) > 1 && p.scope().end <= i {
			p.close()
		}
		t := &p.toks[i]
		if start || starts[i] {
			first = i
			p.declaration(i, "")
		}
		start = false
		if t.kind == Word {
			p.word(i, first)
			switch t.text {
			case "else", "do", "try":
				start = true
			case "if", "for", "while", "switch", "catch":
				open := i + 1
				if p.at(open) == "constexpr" {
					open++
				}
				if p.at(open) == "(" && p.toks[open].match < len(p.toks) {
					after := p.toks[open].match + 1
					starts[after] = true
					switch t.text {
					case "catch":
						p.toks[open].mark, p.toks[open].end = markParams, p.statement(after)
						p.parameter(open + 1)
					default:
						if p.declaration(open+1, t.text) || t.text == "for" {
							p.toks[open].mark, p.toks[open].end = markScope, p.statement(after)
						}
					}
				}
			}
			continue
		}
		if t.kind != Operator {
			continue
		}
		switch t.text {
		case ";":
			start = p.scope().kind != markEnum
		case ":":
			w := p.at(first)
			start = w == "case" || w == "default" || w == "public" || w == "private" || w == "protected" || first == i-1
		case "{":
			kind := p.brace(i)
			p.open(kind, t.match)
			start = kind != markList && kind != markEnum
		case "}":
			start = t.match >= len(p.toks) || p.toks[t.match].mark != markList
		case "[":
			p.lambda(i)
		case "(":
			if t.mark == markParams {
				inFile := p.inFile()
				p.open(markParams, t.end)
				if inFile {
					p.fns++
					p.fn = p.fns
				}
			} else if t.mark == markScope {
				p.open(markScope, t.end)
			}
		case ",":
			if t.mark == markParams { // between two of them
				p.parameter(i + 1)
			}
		}
	}
}

// brace tells what a brace opens.
func (p *cNames) brace(i int) byte {
	t := &p.toks[i]
	if t.mark == 0 {
		switch prev := p.at(i - 1); {
		case prev == ")" || prev == "else" || prev == "do" || prev == ";" || prev == "{" || prev == "}" || prev == ":" || prev == "try":
			t.mark = markBlock
			if p.inFile() && prev != ")" {
				return p.scope().kind // linkage, or stray
			}
		case p.inFile() && (i == 0 || p.toks[i-1].kind == String || prev == "namespace" || p.at(i-2) == "namespace" || prev == "inline"):
			return p.scope().kind
		default:
			t.mark = markList
		}
	}
	return t.mark
}

// word declares or looks up the identifier at i.
func (p *cNames) word(i, first int) {
	t := &p.toks[i]
	switch t.mark {
	case markVariable, markFunction, markMember:
		p.declare(i)
		return
	}
	if !p.isName(i) {
		return
	}
	switch p.at(i - 1) {
	case ".", "->", "->*", ".*", "::", "goto", "struct", "class", "union", "enum", "namespace":
		return
	}
	if p.at(i+1) == "::" || i == first && p.at(i+1) == ":" || p.scope().kind == markEnum && (p.at(i-1) == "{" || p.at(i-1) == ",") {
		return
	}
	if b := p.bound[t.text]; len(b) > 0 {
		t.of = b[len(b)-1]
		return
	}
	p.pending = append(p.pending, i)
}

func (p *cNames) declare(i int) {
	t := &p.toks[i]
	e := &entity{}
	s := p.scope()
	switch {
	case t.mark == markMember:
		p.members[t.text] = true
	case p.blocked[t.text], t.mark == markFunction && builtinC(t.text):
	case t.mark == markFunction:
		e.prefix = "f"
	case s.kind == 0:
		e.prefix = "g"
	default:
		e.prefix, e.in = "v", p.fn
	}
	if s.kind == 0 {
		s = &p.scopes[0] // out of extern "C" and namespaces, too
		// Declared again, as a function that is defined later: still the same.
		if b := p.bound[t.text]; len(b) > 0 {
			t.of = b[0]
			return
		}
	}
	t.of = e
	p.bound[t.text] = append(p.bound[t.text], e)
	s.names = append(s.names, t.text)
}

// give resolves what was used before its declaration, and names everything.
func (p *cNames) give() {
	for _, i := range p.pending {
		if b := p.bound[p.toks[i].text]; len(b) > 0 {
			p.toks[i].of = b[0]
		}
	}
	n := naming{taken: p.blocked}
	for i := range p.toks {
		t := &p.toks[i]
		if e := t.of; e != nil && e.in == 0 && p.members[t.text] {
			e.prefix = "" // a member may be meant where it is used
		}
	}
	for i := range p.toks {
		if t := &p.toks[i]; t.kind == Word && (t.of == nil || t.of.prefix == "") {
			n.taken[t.text] = true
		}
	}
	for i := range p.toks {
		if t := &p.toks[i]; t.of != nil {
			p.names[t.piece] = n.name(t.of)
		}
	}
}
