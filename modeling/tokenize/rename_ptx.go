package tokenize

import (
	"strconv"
	"strings"
)

// renamePTX renames functions to f0, ..., their parameters and variables to v0,
// ..., variables of the module to g0, ..., labels to L0, ..., and counts
// registers again within their prefix (%r17 becomes %r0 where it is the first
// of %r). Prefixes stay, since they tell the type by custom; a declaration
// (.reg .b32 %r<18>) gets the number of registers that are used. Kept are
// special registers (%tid.x), opcodes and functions that are only declared
// (.extern, vprintf). A name means one thing within a function here: blocks
// within it that declare the same name again share the new one.
func renamePTX(text string, pieces []Piece) []string {
	toks := significant(pieces)
	p := ptxNames{n: naming{taken: map[string]bool{}}, global: map[string]*entity{}}
	for _, i := range toks {
		p.toks = append(p.toks, text[pieces[i].Start:pieces[i].End])
	}
	p.of = make([]*entity, len(toks))
	p.globals()
	for i := 0; i < len(toks); {
		if t := p.toks[i]; t == ".entry" || t == ".func" {
			i = p.function(i)
			continue
		}
		p.of[i] = p.global[p.toks[i]]
		i++
	}
	for i, t := range p.toks {
		if p.of[i] == nil {
			p.n.taken[t] = true
		}
	}
	names := make([]string, len(pieces))
	for i, piece := range toks {
		if e := p.of[i]; e != nil {
			names[piece] = p.n.name(e)
		}
	}
	for _, c := range p.counts { // all registers have their numbers now
		names[toks[c.at]] = strconv.Itoa(max(1, p.n.next[c.prefix][c.in]))
	}
	return names
}

type ptxNames struct {
	toks   []string
	of     []*entity // what each token stands for
	global map[string]*entity
	fn     int
	n      naming
	counts []ptxCount
}

// ptxCount is the number of registers in a declaration.
type ptxCount struct {
	at, in int
	prefix string
}

func (p *ptxNames) at(i int) string {
	if i < 0 || i >= len(p.toks) {
		return ""
	}
	return p.toks[i]
}

func isPTXName(t string) bool {
	return t != "" && t != "_" && classes[t[0]]&isWord != 0 && classes[t[0]]&isDigit == 0
}

// parts is the end of a function from its .entry or .func on, and where its
// name and its body are.
func (p *ptxNames) parts(i int) (name, body, end int) {
	i++
	if p.at(i) == "(" { // what it returns
		for i < len(p.toks) && p.toks[i] != ")" {
			i++
		}
		i++
	}
	name, depth := i, 0
	for ; i < len(p.toks); i++ {
		switch p.toks[i] {
		case "{":
			if depth == 0 {
				body = i
			}
			depth++
		case "}":
			if depth--; depth <= 0 {
				return name, body, i + 1
			}
		case ";":
			if depth == 0 {
				return name, i, i + 1
			}
		}
	}
	if body == 0 {
		body = len(p.toks)
	}
	return name, body, len(p.toks)
}

// globals finds what the module declares.
func (p *ptxNames) globals() {
	external, begin := false, true
	for i := 0; i < len(p.toks); {
		switch t := p.toks[i]; t {
		case ".extern", ".visible", ".weak", ".common":
			external = t == ".extern"
			i++
			continue
		case ".entry", ".func":
			name, _, end := p.parts(i)
			if f := p.at(name); isPTXName(f) && !external && p.global[f] == nil {
				p.global[f] = &entity{prefix: "f"}
			}
			i = end
			begin, external = true, false
			continue
		case ".global", ".const", ".shared", ".tex":
			if begin {
				for _, v := range p.declared(i, ";=") {
					if p.global[v] == nil {
						p.global[v] = &entity{prefix: "g"}
					}
				}
			}
		}
		begin = p.toks[i] == ";"
		external = external && !begin
		i++
	}
}

// declared lists the names from i up to one of the ending tokens.
func (p *ptxNames) declared(i int, ends string) []string {
	var names []string
	for ; i < len(p.toks) && !strings.Contains(ends, p.toks[i]); i++ {
		if isPTXName(p.toks[i]) {
			names = append(names, p.toks[i])
		}
	}
	return names
}

// function names what is local to the function at i, and returns its end.
func (p *ptxNames) function(i int) int {
	p.fn++
	name, body, end := p.parts(i)
	local, registers := map[string]*entity{}, map[string]bool{}
	bind := func(v, prefix string) {
		if local[v] == nil {
			local[v] = &entity{prefix: prefix, in: p.fn}
		}
	}
	for j := i + 1; j < body; j++ {
		if j != name && isPTXName(p.toks[j]) {
			bind(p.toks[j], "v")
		}
	}
	for j := body; j < end; j++ {
		prev := p.at(j - 1)
		if prev != ";" && prev != "{" && prev != "}" && prev != ":" {
			continue
		}
		switch t := p.toks[j]; {
		case isPTXName(t) && p.at(j+1) == ":":
			bind(t, "L")
		case t == ".reg", t == ".param", t == ".shared", t == ".local", t == ".global", t == ".const":
			for _, v := range p.declared(j, ";=") {
				bind(v, "v")
			}
			for k := j + 1; k < end && p.toks[k] != ";"; k++ {
				if t := p.toks[k]; t[0] == '%' && p.at(k+1) == "<" && p.at(k+3) == ">" && t == strings.TrimRight(t, "0123456789") {
					registers[t] = true
					p.counts = append(p.counts, ptxCount{k + 2, p.fn, t})
				}
			}
		}
	}
	for j := i; j < end; j++ {
		t := p.toks[j]
		switch {
		case j != name && local[t] != nil:
			p.of[j] = local[t]
		case t[0] == '%':
			if r := strings.TrimRight(t, "0123456789"); r != t && registers[r] {
				bind(t, r)
				p.of[j] = local[t]
			}
		default:
			p.of[j] = p.global[t]
		}
	}
	return end
}
