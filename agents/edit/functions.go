package edit

import (
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// Function is the definition of a function or kernel in a text.
type Function struct {
	Name string // with its class where it stands in one: "Grid::step"
	// Signature is what callers depend on, one spelling for all that mean the
	// same: linkage, return type, name and types of parameters. Names of
	// parameters, restrict, hints to inline, attributes, launch bounds and const
	// of what is passed by value are not in it.
	Signature string
	Lines     Range // of the definition, with what stands before its name
	Body      Range // from the line of { to that of }
}

// Functions finds the definitions of functions in a text of the C family, by
// their form: a name with a parameter list before a brace, outside of other
// functions. Text of any content is taken; what macros make up is not seen.
func Functions(text string) []Function {
	f := finder{text: text, line: 1}
	pieces, err := tokenize.Scan(tokenize.C, text)
	if err != nil {
		return nil // only for a language that is not known
	}
	directive, name := false, ""
	for _, p := range pieces {
		switch p.Kind {
		case tokenize.Directive:
			directive, name = true, ""
		case tokenize.Newline:
			directive = false
		case tokenize.Space, tokenize.Comment:
		default:
			switch {
			case !directive:
				f.take(token{p.Kind, text[p.Start:p.End], f.lineOf(p.Start)})
			case name == "":
				name = text[p.Start:p.End]
				f.condition(name, f.lineOf(p.Start))
			}
		}
	}
	return f.out
}

type token struct {
	kind tokenize.Kind
	text string
	line int
}

// finder reads tokens and keeps those of the declaration that it is in.
type finder struct {
	text   string
	seen   int // bytes of text that line has counted
	line   int
	head   []token
	parens int
	scopes []string // names of classes; "" for namespaces and extern "C"
	inside int      // braces that are open within a function or an initialiser
	now    Function
	out    []Function
	ifs    []state // of the conditions that are open
}

// state is what brackets are open.
type state struct{ parens, scopes, inside int }

// condition reads the name of a directive. The branches of a condition each
// begin with the brackets that are open before it: often both open one that is
// closed behind it.
func (f *finder) condition(name string, line int) {
	n := len(f.ifs)
	switch name {
	case "if", "ifdef", "ifndef":
		f.ifs = append(f.ifs, state{f.parens, len(f.scopes), f.inside})
	case "else", "elif", "elifdef", "elifndef":
		if n == 0 {
			return
		}
		was := f.ifs[n-1]
		if f.inside > 0 && was.inside == 0 && f.now.Name != "" {
			f.end(line) // its end is behind the condition
		}
		f.parens, f.inside, f.scopes = was.parens, was.inside, f.scopes[:min(len(f.scopes), was.scopes)]
	case "endif":
		f.ifs = f.ifs[:max(0, n-1)]
	}
}

// end ends the function that is being read.
func (f *finder) end(line int) {
	f.now.Lines.End, f.now.Body.End = line, line
	f.out = append(f.out, f.now)
	f.head = nil
}

// lineOf is the line of a byte; bytes are asked for in their order.
func (f *finder) lineOf(at int) int {
	f.line += strings.Count(f.text[f.seen:at], "\n")
	f.seen = at
	return f.line
}

func (f *finder) take(t token) {
	if f.inside > 0 {
		switch t.text {
		case "{":
			f.inside++
		case "}":
			if f.inside--; f.inside == 0 && f.now.Name != "" {
				f.end(t.line)
			}
		}
		return
	}
	switch t.text {
	case "(", "[":
		f.parens++
	case ")", "]":
		f.parens = max(0, f.parens-1)
	}
	switch {
	case f.parens > 0:
		f.head = append(f.head, t)
	case t.text == ";":
		f.head = nil
	case t.text == ":" && len(f.head) == 1 && slices.Contains([]string{"public", "private", "protected"}, f.head[0].text):
		f.head = nil
	case t.text == "}":
		if n := len(f.scopes); n > 0 {
			f.scopes = f.scopes[:n-1]
		}
		f.head = nil
	case t.text == "{":
		f.brace(t)
	default:
		f.head = append(f.head, t)
	}
}

// brace tells what a brace outside of functions opens.
func (f *finder) brace(t token) {
	f.now = Function{}
	if open, ok := parameterList(f.head); ok {
		at, name := qualified(f.head, open)
		class := strings.Join(slices.DeleteFunc(slices.Clone(f.scopes), func(s string) bool { return s == "" }), "::")
		if class != "" {
			name = class + "::" + name
		}
		f.now = Function{Name: name, Signature: signature(f.head, at, open, name), Lines: Range{Start: f.head[0].line}, Body: Range{Start: t.line}}
		f.inside = 1
		return
	}
	has := func(w string) int { return slices.IndexFunc(f.head, func(t token) bool { return t.text == w }) }
	class := max(has("class"), has("struct"), has("union"))
	switch {
	case has("=") >= 0 || has("enum") >= 0:
		f.inside = 1 // an initialiser: more of the declaration follows
		return
	case class >= 0:
		name := ""
		for _, t := range f.head[class+1:] {
			if t.kind == tokenize.Word && !ignored[t.text] {
				name = t.text
			}
			if t.text == ":" {
				break
			}
		}
		f.scopes = append(f.scopes, name)
	default:
		f.scopes = append(f.scopes, "")
	}
	f.head = nil
}

// takesArguments are words before a parenthesis that is no parameter list.
var takesArguments = words(`__attribute__ __attribute __declspec __launch_bounds__ __cluster_dims__ __align__ alignas _Alignas
	noexcept decltype typeof __typeof__ throw requires explicit if for while switch sizeof defined __asm__ asm`)

// ignored are words, with an argument list where they have one, that callers do
// not depend on.
var ignored = words(`inline __inline __inline__ __forceinline __forceinline__ __noinline__ register restrict __restrict
	__restrict__ __attribute__ __attribute __declspec __launch_bounds__ __cluster_dims__ __align__ alignas _Alignas __grid_constant__`)

// spelling are words that mean the same as others.
var spelling = map[string]string{"kernel": "__kernel", "global": "__global", "local": "__local", "constant": "__constant", "private": "__private",
	"generic": "__generic", "read_only": "__read_only", "write_only": "__write_only", "read_write": "__read_write"}

func words(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// parameterList is where the parameter list of a function's head opens. Behind
// the list only qualifiers, a return type or a list of members may follow;
// where a macro follows, it is the last list.
func parameterList(head []token) (open int, ok bool) {
	open = -1
	for i := 0; i < len(head); i++ {
		switch t := head[i]; {
		case t.text == "=" && (i == 0 || head[i-1].text != "operator"):
			return -1, false // an initialiser or a lambda
		case t.text == "template" && i+1 < len(head) && head[i+1].text == "<":
			i = closing(head, i+1)
		case t.text == "[":
			i = closing(head, i)
		case t.text == "operator" && i+2 < len(head) && head[i+1].text == "(" && head[i+2].text == ")":
			i += 2 // its name
		case t.text == "(":
			end := closing(head, i)
			named := i > 0 && !takesArguments[head[i-1].text] && (head[i-1].kind == tokenize.Word || operatorName(head[:i]) || endsList(head, i))
			if named {
				open = i
				if end+1 >= len(head) || follows(head[end+1]) {
					return open, true
				}
			}
			i = end
		}
	}
	return open, open >= 0
}

// endsList says that a list of template arguments ends before a token.
func endsList(head []token, i int) bool {
	return i > 0 && (head[i-1].text == ">" || head[i-1].text == ">>")
}

func operatorName(head []token) bool {
	for i := len(head) - 1; i >= max(0, len(head)-3); i-- {
		if head[i].text == "operator" {
			return true
		}
	}
	return false
}

func follows(t token) bool {
	switch t.text {
	case "const", "volatile", "noexcept", "override", "final", "throw", "requires", "try", "->", ":", "&", "&&", "[":
		return true
	}
	return ignored[t.text]
}

// closing is the token that closes the bracket at i, or the last one.
func closing(ts []token, i int) int {
	depth := 0
	angle := ts[i].text == "<"
	for j := i; j < len(ts); j++ {
		switch ts[j].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case "<":
			if angle {
				depth++
			}
		case ">":
			if angle {
				depth--
			}
		case ">>":
			if angle {
				depth -= 2
			}
		}
		if depth <= 0 {
			return j
		}
	}
	return len(ts) - 1
}

// qualified is the name before a parameter list, with what qualifies it, and
// the token that it begins at.
func qualified(head []token, open int) (i int, name string) {
	i = open
	if endsList(head, open) { // a specialisation: f<float>
		for depth := 0; i > 1; i-- {
			switch head[i-1].text {
			case ">":
				depth++
			case ">>":
				depth += 2
			case "<":
				depth--
			}
			if depth <= 0 {
				i -= 2 // the name before it
				break
			}
		}
	}
	for i > 0 {
		t := head[i-1]
		if t.text == "::" || t.text == "~" || i == open || head[i].text == "::" && t.kind == tokenize.Word {
			i--
			continue
		}
		break
	}
	for j := max(0, open-3); j < open; j++ {
		if head[j].text == "operator" {
			i = min(i, j)
		}
	}
	for _, t := range head[i:open] {
		name += t.text
	}
	return i, name
}
