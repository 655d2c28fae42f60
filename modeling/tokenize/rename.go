package tokenize

import "strconv"

// rename returns the new name of each piece, "" where it keeps its own.
func rename(l Language, text string, pieces []Piece) []string {
	switch l {
	case C:
		return renameC(text, pieces)
	case LLVM:
		return renameLLVM(text, pieces)
	case PTX:
		return renamePTX(text, pieces)
	}
	return make([]string, len(pieces))
}

// entity is one thing that a text declares.
type entity struct {
	prefix string // of its new name; "" keeps the old one
	in     int    // the function that it is local to, from 1; 0 for the whole text
	name   string // the new one
}

// naming gives entities their names, in the order in which the text first
// speaks of them.
type naming struct {
	taken map[string]bool // names that the text keeps
	next  map[string]map[int]int
}

func (n *naming) name(e *entity) string {
	if e.name != "" || e.prefix == "" {
		return e.name
	}
	if n.next == nil {
		n.next = map[string]map[int]int{}
	}
	if n.next[e.prefix] == nil {
		n.next[e.prefix] = map[int]int{}
	}
	for {
		i := n.next[e.prefix][e.in]
		n.next[e.prefix][e.in]++
		e.name = e.prefix + strconv.Itoa(i)
		if !n.taken[e.name] {
			return e.name
		}
	}
}
