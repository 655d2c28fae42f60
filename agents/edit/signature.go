package edit

import (
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// signature is the one spelling of a function's head, whose name begins at a
// token and whose parameters open at another: see Function.
func signature(head []token, at, open int, name string) string {
	end := closing(head, open)
	out := append(visible(head[:at]), name, "(")
	for i, p := range parameters(head[open+1 : max(open+1, end)]) {
		if i > 0 {
			out = append(out, ",")
		}
		out = append(out, p)
	}
	out = append(out, ")")
	for _, t := range visible(head[min(end+1, len(head)):]) {
		if t == ":" || t == "try" {
			break // members that a constructor sets
		}
		out = append(out, t)
	}
	return strings.Join(out, " ")
}

// visible is the words of tokens that callers depend on.
func visible(ts []token) []string {
	var out []string
	for i := 0; i < len(ts); i++ {
		t := ts[i]
		if t.text == "[" && i+1 < len(ts) && ts[i+1].text == "[" { // [[attributes]]
			i = closing(ts, i)
			continue
		}
		if ignored[t.text] {
			if i+1 < len(ts) && ts[i+1].text == "(" {
				i = closing(ts, i+1)
			}
			continue
		}
		if s, ok := spelling[t.text]; ok {
			t.text = s
		}
		out = append(out, t.text)
	}
	return out
}

// parameters are the types in a parameter list.
func parameters(ts []token) []string {
	var out []string
	start, angle := 0, 0
	for i := 0; i <= len(ts); i++ {
		if i < len(ts) {
			switch ts[i].text {
			case "(", "[", "{":
				i = closing(ts, i)
				continue
			case "<":
				angle++
			case ">":
				angle = max(0, angle-1)
			case ">>":
				angle = max(0, angle-2)
			}
		}
		if i == len(ts) || ts[i].text == "," && angle == 0 {
			if i > start {
				out = append(out, parameter(ts[start:min(i, len(ts))]))
			}
			start = i + 1
		}
	}
	if len(out) == 1 && out[0] == "void" {
		return nil
	}
	return out
}

// typeWords begin or make a type and are no names of parameters.
var typeWords = words(`void bool _Bool char short int long float double signed unsigned wchar_t char8_t char16_t char32_t auto
	const volatile struct class union enum typename __global __local __constant __private __generic
	__read_only __write_only __read_write`)

// parameter is the type of a parameter: without its name, its default, and the
// qualifiers of the parameter itself.
func parameter(ts []token) string {
	if i := slices.IndexFunc(ts, func(t token) bool { return t.text == "=" }); i >= 0 {
		ts = ts[:i]
	}
	type word struct {
		text string
		name bool // an identifier
	}
	var ws []word
	kinds := map[string]bool{}
	for _, t := range ts {
		kinds[t.text] = t.kind == tokenize.Word
	}
	for _, w := range visible(ts) {
		ws = append(ws, word{w, kinds[w] && !typeWords[w]})
	}
	// The name: the last identifier outside of brackets that a type stands before,
	// or that of a pointer to a function or an array.
	depth, typed, at := 0, false, -1
	for i, w := range ws {
		switch w.text {
		case "(", "[", "<", "{":
			depth++
		case ")", "]", ">", "}":
			depth--
		}
		pointed := i > 1 && (ws[i-1].text == "*" || ws[i-1].text == "&") && ws[i-2].text == "("
		switch {
		case w.name && pointed:
			at = i
		case w.name && depth == 0 && typed && (i == 0 || ws[i-1].text != "::" && !isTag(ws[i-1].text)):
			at = i
		}
		if depth == 0 && (w.name || typeWords[w.text] && w.text != "const" && w.text != "volatile" && !strings.HasPrefix(w.text, "__") && !isTag(w.text)) {
			typed = true
		}
	}
	var out []string
	last := -1 // the last * or & outside of brackets
	for i, w := range ws {
		if i == at {
			continue
		}
		out = append(out, w.text)
		if w.text == "*" || w.text == "&" || w.text == "&&" || w.text == "]" {
			last = len(out) - 1
		}
	}
	kept := out[:0]
	for i, w := range out {
		if i > last && (w == "const" || w == "volatile") {
			continue
		}
		kept = append(kept, w)
	}
	return strings.Join(kept, " ")
}

func isTag(w string) bool {
	return w == "struct" || w == "class" || w == "union" || w == "enum" || w == "typename"
}

// signatureFault says which of the functions has another signature in a text, or
// is gone, or "".
func signatureFault(before []Function, after string) string {
	now := map[string][]string{} // signatures by name
	for _, f := range Functions(after) {
		now[f.Name] = append(now[f.Name], f.Signature)
	}
	for _, f := range before {
		if slices.Contains(now[f.Name], f.Signature) {
			continue
		}
		if len(now[f.Name]) == 0 {
			return "the function " + f.Name + " would be gone: keep its name and signature"
		}
		return "the signature of " + f.Name + " would change from \"" + f.Signature + "\" to \"" + now[f.Name][0] + "\": keep return type and types of parameters"
	}
	return ""
}
