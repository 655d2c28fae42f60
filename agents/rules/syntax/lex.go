package syntax

import (
	"strings"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

type token struct {
	kind       tokenize.Kind
	text       string
	start, end int
}

// macro is one that the text defines.
type macro struct {
	params   []string
	function bool
	body     []token
}

const (
	maxTokens   = 400_000 // of a text
	maxExpanded = 50_000  // that macros of a text become
)

// lex splits a text into tokens without comments. A directive is one token; those
// that define macros are in the second result.
func lex(text string) ([]token, map[string]*macro) {
	pieces, err := tokenize.Scan(tokenize.C, text)
	if err != nil {
		return nil, nil
	}
	var out []token
	macros := map[string]*macro{}
	twice := map[string]bool{}
	var line []token // of the directive that is read
	inside := false
	finish := func(end int) {
		inside = false
		d := out[len(out)-1]
		d.end = end
		d.text = strings.TrimRight(text[d.start:end], " \t\r\n")
		d.end = d.start + len(d.text)
		out[len(out)-1] = d
		if len(line) < 2 {
			return
		}
		name := line[1].text
		switch line[0].text {
		case "define":
			// Two definitions depend on what is seen first: neither is known.
			if m := define(line[2:], line[1].end); macros[name] == nil && !twice[name] && m != nil {
				macros[name] = m
			} else {
				twice[name] = true
				macros[name] = &macro{}
			}
		case "undef":
			twice[name] = true
			macros[name] = &macro{}
		}
	}
	for _, p := range pieces {
		if len(out) > maxTokens {
			break
		}
		t := token{p.Kind, text[p.Start:p.End], p.Start, p.End}
		switch p.Kind {
		case tokenize.Newline:
			if inside {
				finish(p.Start)
			}
		case tokenize.Space, tokenize.Comment:
		case tokenize.Directive:
			if inside {
				line = append(line, t)
				continue
			}
			inside, line = true, nil
			out = append(out, t)
		default:
			into := &out
			if inside {
				into = &line
			}
			if n := len(*into); p.Kind == tokenize.String && n > 0 && (*into)[n-1].kind == tokenize.String && (*into)[n-1].end == p.Start {
				(*into)[n-1].end = p.End
				(*into)[n-1].text = text[(*into)[n-1].start:p.End]
				continue
			}
			*into = append(*into, t)
		}
	}
	if inside {
		finish(len(text))
	}
	return out, macros
}

// define reads a definition behind the name, which ends at end.
func define(line []token, end int) *macro {
	m := &macro{}
	if len(line) > 0 && line[0].text == "(" && line[0].start == end {
		m.function = true
		i := 1
		for ; i < len(line) && line[i].text != ")"; i++ {
			switch {
			case line[i].kind == tokenize.Word:
				m.params = append(m.params, line[i].text)
			case line[i].text != ",":
				return nil
			}
		}
		if i == len(line) {
			return nil
		}
		line = line[i+1:]
	}
	for _, t := range line {
		if strings.HasPrefix(t.text, "#") {
			return nil
		}
	}
	m.body = line
	return m
}
