package llvm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// irType is a type of the IR.
type irType struct {
	kind   byte // 'v' void, 'i' integer, 'f' floating point, 'p' pointer, 'V' vector, 'A' array, 'S' struct, 'F' function, 'o' other
	bits   int
	space  int // address space of a pointer
	count  uint64
	elem   *irType // of vector, array, typed pointer; what a function returns
	fields []*irType
	packed bool
	named  string // a struct that is defined elsewhere
	text   string
}

const maxDepth = 64

var floatBits = map[string]int{"half": 16, "bfloat": 16, "float": 32, "double": 64, "x86_fp80": 80, "fp128": 128, "ppc_fp128": 128}

// parseType reads a type with all that is behind it: pointers, parameters.
func (c *cursor) parseType(depth int) (*irType, error) {
	if depth > maxDepth {
		return nil, errors.New("types nested too deep")
	}
	t := &irType{kind: 'o'}
	word := c.next()
	switch {
	case word == "void":
		t.kind = 'v'
	case word == "ptr":
		t.kind = 'p'
		t.space = c.addrspace()
	case floatBits[word] > 0:
		t.kind, t.bits = 'f', floatBits[word]
	case len(word) > 1 && word[0] == 'i' && word[1] >= '0' && word[1] <= '9':
		n, err := strconv.Atoi(word[1:])
		if err != nil || n > 1<<23 {
			return nil, fmt.Errorf("%q is no integer type", word)
		}
		t.kind, t.bits = 'i', n
	case word == "label" || word == "metadata" || word == "token" || word == "x86_mmx" || word == "x86_amx" || word == "opaque":
	case word == "target": // target("spirv.Image", ...)
		c.skipParens()
	case strings.HasPrefix(word, "%"):
		t.kind, t.named = 'S', word
	case word == "[" || word == "<" && c.peek() != "{":
		if err := c.sequence(t, word, depth); err != nil {
			return nil, err
		}
	case word == "{" || word == "<":
		if t.packed = word == "<"; t.packed {
			c.next()
		}
		t.kind = 'S'
		for !c.accept("}") {
			f, err := c.parseType(depth + 1)
			if err != nil {
				return nil, err
			}
			t.fields = append(t.fields, f)
			if !c.accept(",") && c.peek() != "}" {
				return nil, fmt.Errorf("found %q in a structure's type", c.peek())
			}
		}
		if t.packed && !c.accept(">") {
			return nil, errors.New("a packed structure without its >")
		}
	default:
		return nil, fmt.Errorf("%q is no type", word)
	}
	t.text = word
	for n := 0; ; n++ {
		if n > maxDepth {
			return nil, errors.New("pointers nested too deep")
		}
		switch {
		case c.accept("*"):
			t = &irType{kind: 'p', elem: t, text: t.text + "*"}
		case c.peek() == "addrspace" && t.kind != 'p':
			space := c.addrspace()
			if !c.accept("*") {
				return nil, errors.New("addrspace without *")
			}
			t = &irType{kind: 'p', elem: t, space: space, text: t.text + "*"}
		case c.peek() == "(" && depth == 0 || c.peek() == "(" && c.functionPointer():
			c.skipParens()
			t = &irType{kind: 'F', elem: t, text: t.text + "()"}
		default:
			return t, nil
		}
	}
}

// functionPointer says whether what comes is the parameters of a function type:
// within another type only a pointer can be.
func (c *cursor) functionPointer() bool {
	at := *c
	at.skipParens()
	return at.peek() == "*" || at.peek() == "addrspace"
}

func (c *cursor) addrspace() int {
	if !c.accept("addrspace") {
		return 0
	}
	space := 0
	if c.accept("(") {
		space, _ = strconv.Atoi(c.next()) // a name of an address space counts as the default one
		c.accept(")")
	}
	return space
}

// sequence reads "4 x float>" or "10 x i32]".
func (c *cursor) sequence(t *irType, open string, depth int) error {
	if c.accept("vscale") {
		c.accept("x")
	}
	n, err := strconv.ParseUint(c.next(), 10, 40)
	if err != nil || !c.accept("x") {
		return errors.New("expected a number and x in the type of a vector or array")
	}
	if t.elem, err = c.parseType(depth + 1); err != nil {
		return err
	}
	t.kind, t.count = 'A', n
	closing := "]"
	if open == "<" {
		t.kind, closing = 'V', ">"
	}
	if !c.accept(closing) {
		return fmt.Errorf("expected %s after the type of a vector or array, found %q", closing, c.peek())
	}
	return nil
}

// size is how many bytes a type takes in memory, padding at its end included.
func (m *Module) size(t *irType) uint64 {
	s, _ := m.layout(t, 0)
	return s
}

func (m *Module) layout(t *irType, depth int) (size, align uint64) {
	if t == nil || depth > maxDepth {
		return 0, 1
	}
	switch t.kind {
	case 'i', 'f':
		size = 1
		for size*8 < uint64(t.bits) {
			size *= 2
		}
		return size, min(size, 16)
	case 'p':
		n := uint64(8)
		if m.pointerBits[t.space] > 0 {
			n = uint64(m.pointerBits[t.space] / 8)
		} else if m.pointerBits[0] > 0 {
			n = uint64(m.pointerBits[0] / 8)
		}
		return n, n
	case 'V':
		s := (t.count*bitsOf(t.elem) + 7) / 8
		if t.elem.kind == 'p' {
			one, _ := m.layout(t.elem, depth+1)
			s = t.count * one
		}
		align = 1
		for align < s && align < 1<<20 {
			align *= 2
		}
		return (s + align - 1) / align * align, align
	case 'A':
		one, a := m.layout(t.elem, depth+1)
		if one != 0 && t.count > 1<<50/one {
			return 0, a
		}
		return t.count * one, a
	case 'S':
		if t.named != "" {
			// Once each: a structure that holds itself twice would take for ever.
			if l, ok := m.layouts[t.named]; ok {
				return l[0], l[1]
			}
			m.layouts[t.named] = [2]uint64{0, 1}
			size, align = m.layout(m.structs[t.named], depth+1)
			m.layouts[t.named] = [2]uint64{size, align}
			return size, align
		}
		_, size, align = m.offsets(t, -1, depth)
		return size, align
	}
	return 0, 1
}

func bitsOf(t *irType) uint64 { return uint64(t.bits) }

// offsets places a structure's fields: the offset of one, the size, the
// alignment.
func (m *Module) offsets(t *irType, field, depth int) (offset, size, align uint64) {
	align = 1
	for i, f := range t.fields {
		s, a := m.layout(f, depth+1)
		if t.packed {
			a = 1
		}
		size = (size + a - 1) / a * a
		if i == field {
			offset = size
		}
		size += s
		align = max(align, a)
	}
	return offset, (size + align - 1) / align * align, align
}

// lanes is how many numbers an instruction of this type handles.
func (t *irType) lanes() (int, *irType) {
	if t.kind == 'V' {
		return int(min(t.count, 1<<20)), t.elem
	}
	return 1, t
}
