package llvm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// Module is textual IR, parsed as far as the analyses need it.
type Module struct {
	Source    string // source_filename
	Triple    string
	Layout    string // target datalayout
	Functions []*Function

	structs     map[string]*irType
	layouts     map[string][2]uint64 // size and alignment of those that were asked for
	pointerBits map[int]int
	meta        map[int]string // the text of numbered metadata
	lines       []string
}

// Function is a function that is defined in the module.
type Function struct {
	Name   string // as in the IR, often mangled
	Kernel bool   // an OpenCL, CUDA or HIP kernel
	Params []string
	Blocks []*Block
	Line   int // of its definition in the source, 0 where unknown
	File   string

	module *Module
	defs   map[string]*Instr
	blocks map[string]int
}

// Block is a basic block.
type Block struct {
	Label  string
	Instrs []*Instr
	Succs  []int
	Preds  []int
}

// Instr is one instruction.
type Instr struct {
	Result string // %name, or ""
	Op     string
	Text   string // without debug metadata
	Line   int    // of the IR's text, from 1
	Block  int
	Debug  int // number of the DILocation, -1 where there is none

	typ    *irType  // of the result; of the value for a store
	args   []string // operands: %name, @name or a constant
	types  []*irType
	labels []string // successors; for a phi the blocks its operands come from
	callee string   // of a call: @name, %name or "asm"
}

var kernelCC = regexp.MustCompile(`\b(spir_kernel|amdgpu_kernel|ptx_kernel)\b`)

// Parse reads the text that clang -S -emit-llvm or llvm-dis writes, of LLVM 9
// and later, with typed or opaque pointers. file names it in errors, which are
// *collectors.SyntaxError.
func Parse(file, text string) (*Module, error) {
	m := &Module{structs: map[string]*irType{}, layouts: map[string][2]uint64{}, pointerBits: map[int]int{}, meta: map[int]string{}, lines: strings.Split(text, "\n")}
	bad := func(line int, format string, args ...any) error {
		return &collectors.SyntaxError{File: file, Line: line + 1, Column: 1, Msg: fmt.Sprintf(format, args...), Found: collectors.Quote(m.lines[min(line, len(m.lines)-1)]),
			Hint: "it is read as LLVM's textual IR; write it with clang -S -emit-llvm, or llvm-dis for bitcode"}
	}
	for i := 0; i < len(m.lines); i++ {
		line := m.lines[i]
		switch {
		case strings.HasPrefix(line, "define "):
			end, err := m.function(i)
			if err != nil {
				return nil, bad(end, "reading a function: %v", err)
			}
			i = end
		case strings.HasPrefix(line, "source_filename = "):
			m.Source = unquote(strings.TrimPrefix(line, "source_filename = "))
		case strings.HasPrefix(line, "target triple = "):
			m.Triple = unquote(strings.TrimPrefix(line, "target triple = "))
		case strings.HasPrefix(line, "target datalayout = "):
			m.Layout = unquote(strings.TrimPrefix(line, "target datalayout = "))
			m.pointers()
		case strings.HasPrefix(line, "%"):
			name, def, ok := strings.Cut(line, " = type ")
			if !ok {
				continue
			}
			ts, err := lex(name + " " + def)
			if err != nil || len(ts) < 2 {
				return nil, bad(i, "reading a type: %v", err)
			}
			t, err := (&cursor{ts: ts, i: 1}).parseType(1)
			if err != nil {
				return nil, bad(i, "reading a type: %v", err)
			}
			m.structs[ts[0].text] = t
		case strings.HasPrefix(line, "!"):
			id, def, ok := strings.Cut(line[1:], " = ")
			if n, err := strconv.Atoi(id); ok && err == nil {
				m.meta[n] = def
			}
		}
	}
	if len(m.Functions) == 0 && m.Triple == "" && m.Source == "" {
		return nil, bad(0, "there is neither a function nor a module's head")
	}
	m.markKernels()
	for _, f := range m.Functions {
		f.connect()
	}
	return m, nil
}

// markKernels finds the kernels that NVPTX names in metadata rather than by
// their calling convention.
func (m *Module) markKernels() {
	names := map[string]bool{}
	for _, text := range m.meta {
		if strings.Contains(text, `!"kernel"`) {
			for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,{}", r) }) {
				if strings.HasPrefix(w, "@") {
					names[w[1:]] = true
				}
			}
		}
	}
	for _, f := range m.Functions {
		f.Kernel = f.Kernel || names[f.Name]
	}
}

func unquote(s string) string { return strings.Trim(strings.TrimSpace(s), `"`) }

// pointers finds the sizes of pointers in the data layout: "p3:32:32".
func (m *Module) pointers() {
	for _, part := range strings.Split(m.Layout, "-") {
		rest, ok := strings.CutPrefix(part, "p")
		if !ok {
			continue
		}
		f := strings.Split(rest, ":")
		space, _ := strconv.Atoi(f[0]) // none is 0
		if len(f) > 1 {
			if bits, err := strconv.Atoi(f[1]); err == nil && bits >= 8 && bits <= 1024 {
				m.pointerBits[space] = bits
			}
		}
	}
}

var debugRef = regexp.MustCompile(`, !dbg !(\d+)`)

// function reads a definition that begins at a line, up to its closing brace.
// It returns the number of the last line that it read.
func (m *Module) function(at int) (int, error) {
	head := m.lines[at]
	ts, err := lex(head)
	if err != nil {
		return at, err
	}
	f := &Function{module: m, defs: map[string]*Instr{}, blocks: map[string]int{}, Kernel: kernelCC.MatchString(head)}
	c := &cursor{ts: ts}
	for c.i < len(ts) && !strings.HasPrefix(c.peek(), "@") {
		c.i++
	}
	if c.i >= len(ts) {
		return at, fmt.Errorf("it has no name")
	}
	f.Name = c.next()[1:]
	unnamed := f.params(c)
	for _, d := range regexp.MustCompile(`!dbg !(\d+)`).FindAllStringSubmatch(head, 1) {
		f.Line, _ = strconv.Atoi(d[1]) // the number of its DISubprogram until connect
	}
	b := &Block{Label: strconv.Itoa(unnamed)}
	for i := at + 1; i < len(m.lines); i++ {
		line := m.lines[i]
		trimmed := strings.TrimSpace(line)
		if old, ok := strings.CutPrefix(trimmed, "; <label>:"); ok { // before LLVM 9
			trimmed = old
		}
		switch {
		case trimmed == "}" && !strings.HasPrefix(line, " "):
			f.add(b)
			m.Functions = append(m.Functions, f)
			return i, nil
		case trimmed == "" || trimmed[0] == ';' || trimmed[0] == '#':
			continue
		case strings.HasPrefix(line, "define ") || strings.HasPrefix(line, "declare "):
			return i, fmt.Errorf("function %s has no end", f.Name)
		}
		if label, ok := blockLabel(trimmed); ok {
			f.add(b)
			b = &Block{Label: label}
			continue
		}
		first := i
		for open(trimmed) && i+1 < len(m.lines) {
			i++
			trimmed += " " + strings.TrimSpace(m.lines[i])
		}
		for i+1 < len(m.lines) && continues(trimmed, m.lines[i+1]) {
			i++
			trimmed += " " + strings.TrimSpace(m.lines[i])
		}
		in, err := parseInstr(trimmed)
		if err != nil {
			return first, err
		}
		in.Line, in.Block = first+1, len(f.Blocks)
		b.Instrs = append(b.Instrs, in)
		if in.Result != "" {
			f.defs[in.Result] = in
		}
	}
	return len(m.lines) - 1, fmt.Errorf("function %s has no end: the text is cut", f.Name)
}

// add ends a block; the first may be one that only has a label.
func (f *Function) add(b *Block) {
	if len(b.Instrs) == 0 && len(f.Blocks) == 0 {
		return // what would be the entry has a label of its own
	}
	for _, in := range b.Instrs {
		in.Block = len(f.Blocks)
	}
	f.blocks[b.Label] = len(f.Blocks)
	f.Blocks = append(f.Blocks, b)
}

// params reads the parameters' names and says how many have none but a number.
func (f *Function) params(c *cursor) (unnamed int) {
	depth := 0
	for c.i < len(c.ts) {
		switch t := c.next(); {
		case t == "(" || t == "[" || t == "{" || t == "<":
			depth++
		case t == ")" || t == "]" || t == "}" || t == ">":
			if depth--; depth == 0 {
				return unnamed
			}
		case strings.HasPrefix(t, "%") && depth == 1 && (c.peek() == "," || c.peek() == ")"):
			f.Params = append(f.Params, t)
			if _, err := strconv.Atoi(t[1:]); err == nil {
				unnamed++
			}
		}
	}
	return unnamed
}

// open says that a line goes on: the cases of a switch.
func open(s string) bool {
	if !strings.Contains(s, "switch ") && !strings.Contains(s, "indirectbr ") {
		return false
	}
	return strings.Count(s, "[") > strings.Count(s, "]")
}

// continues says that the next line belongs to an instruction: where an invoke
// goes, the clauses of a landingpad.
func continues(s, next string) bool {
	next = strings.TrimSpace(next)
	word, _, _ := strings.Cut(next, " ")
	word = strings.TrimSuffix(word, ",")
	switch word {
	case "to":
		return strings.Contains(s, "invoke ") || strings.Contains(s, "callbr ")
	case "cleanup", "catch", "filter":
		return strings.Contains(s, "landingpad ")
	}
	return false
}

// blockLabel reads "name:", "12:" or "\"a b\":".
func blockLabel(s string) (string, bool) {
	if s[0] == '"' {
		end := strings.IndexByte(s[1:], '"')
		if end >= 0 && strings.HasPrefix(s[end+2:], ":") {
			return s[1 : end+1], true
		}
		return "", false
	}
	for i := range len(s) {
		if s[i] == ':' {
			return s[:i], i > 0
		}
		if !isWord(s[i]) && s[i] != '$' {
			return "", false
		}
	}
	return "", false
}
