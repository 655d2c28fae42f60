package csource

import (
	"fmt"
	"strings"
)

// macro is one #define.
type macro struct {
	function bool
	params   []string
	variadic bool
	body     []token
}

// preprocessor expands macros and drops what #if leaves out.
type preprocessor struct {
	macros  map[string]*macro
	out     []token
	steps   int
	limit   int
	depth   int
	never   map[string]bool // names that are not defined
	unrolls map[int32]bool  // lines with a pragma that asks for unrolling
	report  func(line int32, format string, args ...any)
}

// condition is an #if that is open.
type condition struct{ live, taken, outer bool }

// run reads all tokens. Included files are not there: what they define is not.
func (p *preprocessor) run(in []token) {
	var open []condition
	// A macro with the name of a template's parameter is of another file that was
	// put together with this one.
	for i := range in {
		if (in[i].s == "typename" || in[i].s == "class") && i+1 < len(in) && in[i+1].kind == identifier && i > 0 && (in[i-1].s == "<" || in[i-1].s == ",") {
			if p.never == nil {
				p.never = map[string]bool{}
			}
			p.never[in[i+1].s] = true
		}
	}
	live := true
	for i := 0; i < len(in); {
		if in[i].first && in[i].s == "#" && in[i].kind == punctuation {
			end := i + 1
			for end < len(in) && !in[end].first {
				end++
			}
			live = p.directive(in[i+1:end], &open, live, in[i].line)
			i = end
			continue
		}
		// The stretch up to the next directive.
		end := i + 1
		for end < len(in) && !(in[end].first && in[end].s == "#") {
			end++
		}
		if live {
			p.out = p.expand(in[i:end], nil, p.out)
		}
		i = end
	}
}

func (p *preprocessor) directive(d []token, open *[]condition, live bool, line int32) bool {
	if len(d) == 0 {
		return live
	}
	rest := d[1:]
	defined := func() bool {
		return len(rest) > 0 && p.macros[rest[0].s] != nil
	}
	push := func(yes bool) bool {
		*open = append(*open, condition{live && yes, yes, live})
		return live && yes
	}
	switch d[0].s {
	case "define":
		if live && len(rest) > 0 {
			p.define(rest)
		}
	case "undef":
		if live && len(rest) > 0 {
			delete(p.macros, rest[0].s)
		}
	case "ifdef":
		return push(defined())
	case "ifndef":
		return push(!defined())
	case "if":
		return push(live && p.constant(rest, line))
	case "elif", "else":
		if len(*open) == 0 {
			p.report(line, "#%s without #if", d[0].s)
			return live
		}
		c := &(*open)[len(*open)-1]
		yes := !c.taken && c.outer && (d[0].s == "else" || p.constant(rest, line))
		c.taken = c.taken || yes
		c.live = yes
		return yes
	case "endif":
		if len(*open) == 0 {
			p.report(line, "#endif without #if")
			return live
		}
		c := (*open)[len(*open)-1]
		*open = (*open)[:len(*open)-1]
		return c.outer
	case "pragma":
		if live && len(rest) > 0 && (rest[0].s == "unroll" && !(len(rest) > 1 && rest[len(rest)-1].s == "1") || rest[0].s == "GCC" && len(rest) > 1 && rest[1].s == "unroll") {
			p.unrolls[d[0].line] = true
		}
	case "include", "line", "error", "warning":
	}
	return live
}

func (p *preprocessor) define(d []token) {
	if p.never[d[0].s] {
		return
	}
	m := &macro{}
	body := d[1:]
	if len(body) > 0 && body[0].s == "(" && !body[0].space {
		m.function = true
		i := 1
		for i < len(body) && body[i].s != ")" {
			switch {
			case body[i].s == "...":
				m.variadic = true
				m.params = append(m.params, "__VA_ARGS__")
			case body[i].kind == identifier:
				m.params = append(m.params, body[i].s)
			}
			i++
		}
		body = body[min(i+1, len(body)):]
	}
	m.body = body
	p.macros[d[0].s] = m
}

// deepestMacro is how deep macros may nest.
const deepestMacro = 40

// expand appends in with macros expanded; hidden are macros under expansion.
func (p *preprocessor) expand(in []token, hidden []string, out []token) []token {
	if len(hidden) > deepestMacro || p.depth > deepestMacro {
		return append(out, in...)
	}
	p.depth++
	defer func() { p.depth-- }()
next:
	for i := 0; i < len(in); i++ {
		t := in[i]
		if p.steps++; p.steps > p.limit || len(out) > p.limit {
			if p.steps < 1<<40 {
				p.report(t.line, "more than %d tokens after expansion of macros; the rest is left out", p.limit)
				p.steps = 1 << 41
			}
			return out
		}
		m := p.macros[t.s]
		if t.kind != identifier || m == nil {
			out = append(out, t)
			continue
		}
		for _, h := range hidden {
			if h == t.s {
				out = append(out, t)
				continue next
			}
		}
		var body []token
		if !m.function {
			body = m.body
		} else {
			if i+1 >= len(in) || in[i+1].s != "(" {
				out = append(out, t)
				continue
			}
			args, end := arguments(in[i+1:], m)
			if end < 0 {
				out = append(out, t)
				continue
			}
			body = p.substitute(m, args, hidden)
			i += 1 + end
		}
		here := make([]token, len(body))
		for k, b := range body {
			b.line, b.at, b.first = t.line, t.at, false
			here[k] = b
		}
		out = p.expand(here, append(hidden[:len(hidden):len(hidden)], t.s), out)
	}
	return out
}

// arguments splits (a, b, ...) into arguments; end is the offset of the closing
// parenthesis, negative where there is none.
func arguments(in []token, m *macro) (args [][]token, end int) {
	depth, from := 0, 1
	for i, t := range in {
		switch t.s {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return append(args, in[from:i]), i
			}
		case ",":
			if depth == 1 && !(m.variadic && len(args) == len(m.params)-1) {
				args = append(args, in[from:i])
				from = i + 1
			}
		}
	}
	return nil, -1
}

// substitute is a macro's body with its arguments put in; # and ## are done.
func (p *preprocessor) substitute(m *macro, args [][]token, hidden []string) []token {
	of := func(t token) ([]token, bool) {
		for k, n := range m.params {
			if t.kind == identifier && n == t.s {
				if k < len(args) {
					return args[k], true
				}
				return nil, true
			}
		}
		return nil, false
	}
	var out []token
	for i := 0; i < len(m.body); i++ {
		if p.steps++; p.steps > p.limit || len(out) > p.limit {
			return out
		}
		t := m.body[i]
		if t.s == "#" && i+1 < len(m.body) {
			if a, ok := of(m.body[i+1]); ok {
				var s strings.Builder
				for _, x := range a {
					s.WriteString(x.s)
				}
				out = append(out, token{kind: text, s: `"` + s.String() + `"`})
				i++
				continue
			}
		}
		if t.s == "##" && len(out) > 0 && i+1 < len(m.body) {
			right, ok := of(m.body[i+1])
			if !ok {
				right = m.body[i+1 : i+2]
			}
			if len(right) > 0 {
				last := &out[len(out)-1]
				if len(last.s)+len(right[0].s) < 256 {
					last.s += right[0].s
				}
				out = append(out, right[1:]...)
			}
			i++
			continue
		}
		a, ok := of(t)
		if !ok {
			out = append(out, t)
			continue
		}
		if i+1 < len(m.body) && m.body[i+1].s == "##" {
			out = append(out, a...)
		} else {
			out = p.expand(a, hidden, out)
		}
	}
	return out
}

// constant is the truth of an #if's expression; unknown names are 0.
func (p *preprocessor) constant(d []token, line int32) bool {
	var ts []token
	for i := 0; i < len(d); i++ {
		if d[i].s != "defined" {
			ts = append(ts, d[i])
			continue
		}
		j := i + 1
		if j < len(d) && d[j].s == "(" {
			j++
		}
		v := "0"
		if j < len(d) && p.macros[d[j].s] != nil {
			v = "1"
		}
		if j < len(d) && j > i+1 && j+1 < len(d) && d[j+1].s == ")" {
			j++
		}
		ts = append(ts, token{kind: number, s: v, line: line})
		i = j
	}
	ts = p.expand(ts, nil, nil)
	for i := range ts {
		if ts[i].kind == identifier {
			ts[i].kind, ts[i].s = number, "0"
		}
	}
	q := newParser(ts, OpenCL, func(int32, string, ...any) {})
	v, ok := Constant(q.conditional())
	if !ok {
		p.report(line, "the condition of #if is not constant; taken for false")
	}
	return ok && v != 0
}

// defines reads options as compilers take them: -D NAME, -DNAME=VALUE.
func (p *preprocessor) defines(options string) {
	fields := strings.Fields(options)
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		if f == "-D" && i+1 < len(fields) {
			i++
			f = fields[i]
		} else if strings.HasPrefix(f, "-D") {
			f = f[2:]
		} else {
			continue
		}
		name, value, found := strings.Cut(f, "=")
		if !found {
			value = "1"
		}
		ts, _ := scan(fmt.Sprintf("%s %s", name, strings.Trim(value, `"'`)), 1000)
		if len(ts) > 0 && ts[0].kind == identifier {
			p.define(ts)
		}
	}
}
