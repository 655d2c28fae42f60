package tokenize

import "strings"

// renameLLVM renames the values and labels of a function to %v0, %v1, ... (a
// label's definition to v0:), functions that the module defines to @f0, ...,
// and its other globals to @g0, .... Kept are types (%name = type), functions
// that are only declared (get_global_id, llvm.*), metadata, attributes and
// comdats. Where parameters are numbered without being written, as before LLVM
// 11, the result reads alike but is no longer valid IR.
func renameLLVM(text string, pieces []Piece) []string {
	names := make([]string, len(pieces))
	toks := significant(pieces)
	at := func(i int) string {
		if i < 0 || i >= len(toks) {
			return ""
		}
		return text[pieces[toks[i]].Start:pieces[toks[i]].End]
	}
	global, types := map[string]*entity{}, map[string]bool{}
	for i := range toks {
		t := at(i)
		switch {
		case strings.HasPrefix(t, "%") && len(t) > 1 && at(i+1) == "=" && at(i+2) == "type":
			types[t] = true
		case strings.HasPrefix(t, "@") && len(t) > 1 && at(i+1) == "=":
			global[t] = &entity{prefix: "@g"}
		case t == "define":
			for j := i + 1; j < len(toks) && at(j) != "{" && at(j) != "define"; j++ {
				if f := at(j); strings.HasPrefix(f, "@") && len(f) > 1 {
					global[f] = &entity{prefix: "@f"}
					break
				}
			}
		}
	}
	n := naming{taken: map[string]bool{}}
	for i := range toks {
		if t := at(i); strings.HasPrefix(t, "@") && global[t] == nil || types[t] {
			n.taken[t] = true
		}
	}
	fn, depth, inside := 0, 0, false
	local := map[string]*entity{}
	name := func(t string) string { // t with its %
		if local[t] == nil {
			local[t] = &entity{prefix: "%v", in: fn}
		}
		return n.name(local[t])
	}
	for i, piece := range toks {
		t := at(i)
		switch {
		case t == "define":
			fn++
			depth, inside = 0, true
			clear(local)
		case t == "{" && inside:
			depth++
		case t == "}" && inside:
			if depth--; depth <= 0 {
				// Braces of literal structures close before the body opens.
				inside = depth == 0 && !lineStart(text, pieces[piece].Start)
			}
		case len(t) > 1 && t[0] == '@' && global[t] != nil:
			names[piece] = n.name(global[t])
		case len(t) > 1 && t[0] == '%' && inside && !types[t]:
			names[piece] = name(t)
		case inside && depth > 0 && at(i+1) == ":" && lineStart(text, pieces[piece].Start) && (pieces[piece].Kind == Word || pieces[piece].Kind == Number):
			names[piece] = strings.TrimPrefix(name("%"+t), "%")
		}
	}
	return names
}

// significant are the indices of pieces that may be or surround names.
func significant(pieces []Piece) []int {
	var out []int
	for i, p := range pieces {
		if p.Kind == Word || p.Kind == Number || p.Kind == Operator {
			out = append(out, i)
		}
	}
	return out
}

// lineStart says that only blanks stand before i on its line.
func lineStart(text string, i int) bool {
	for i > 0 && (text[i-1] == ' ' || text[i-1] == '\t') {
		i--
	}
	return i == 0 || text[i-1] == '\n'
}
