package hpctoolkit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// view is a part of a file in memory. Reading outside of it is noted in bad,
// which is looked at when a structure has been read.
type view struct {
	name string
	b    []byte
	bad  *error
}

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

func (v view) fail(at uint64, what string) {
	if *v.bad == nil {
		*v.bad = fmt.Errorf("offset %d: %s is outside of the file of %d bytes", at, what, len(v.b))
	}
}

func (v view) bytes(at, n uint64, what string) []byte {
	if at > uint64(len(v.b)) || n > uint64(len(v.b))-at {
		v.fail(at, what)
		return make([]byte, min(n, 64))
	}
	return v.b[at : at+n]
}

func (v view) u8(at uint64) uint8   { return v.bytes(at, 1, "a number")[0] }
func (v view) u16(at uint64) uint16 { return le.Uint16(v.bytes(at, 2, "a number")) }
func (v view) u32(at uint64) uint32 { return le.Uint32(v.bytes(at, 4, "a number")) }
func (v view) u64(at uint64) uint64 { return le.Uint64(v.bytes(at, 8, "a number")) }

// text reads the string that a pointer at an offset points to; 0 is none.
func (v view) text(at uint64) string {
	p := v.u64(at)
	if p == 0 {
		return ""
	}
	if p >= uint64(len(v.b)) {
		v.fail(p, "a text")
		return ""
	}
	i := bytes.IndexByte(v.b[p:], 0)
	if i < 0 {
		v.fail(p, "the end of a text")
		return ""
	}
	return strings.ToValidUTF8(string(v.b[p:p+uint64(i)]), "\uFFFD")
}

// array checks that n structures of a size are within the file.
func (v view) array(at, n, size, least uint64, what string) uint64 {
	if n == 0 {
		return 0
	}
	if size < least || n > uint64(len(v.b))/size || at > uint64(len(v.b))-n*size {
		v.fail(at, fmt.Sprintf("the list of %d %s", n, what))
		return 0
	}
	return n
}

// metric is one kind of value: a metric at a scope, or a statistic over it.
type metric struct {
	name string
	unit string
	si   collectors.Unit
}

// meta is what meta.db says.
type meta struct {
	view
	title, description string
	kinds              []string
	values             map[uint16]*metric // by propMetricId
	stats              map[uint16]*metric // by statMetricId
	time               string
	contexts           map[uint32]bool
}

func parseHeader(in *collectors.Input, name string, b []byte, sections int) error {
	if len(b) < 16+16*sections {
		return broken(in, name, "its %d bytes end within the header", len(b))
	}
	if b[14] != 4 {
		return &collectors.UnsupportedError{File: in.Name, What: fmt.Sprintf("an HPCToolkit database of version %d.%d (%s)", b[14], b[15], name),
			Hint: "rooflab reads version 4: make the database again with hpcprof of 2022.10 or later"}
	}
	return nil
}

// readMeta reads what meta.db says but for the contexts.
func readMeta(in *collectors.Input, b []byte) (*meta, error) {
	if err := parseHeader(in, "meta.db", b, 8); err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(b, []byte("_meta.db")) {
		return nil, broken(in, "meta.db", "it has %d bytes and does not end with its mark, _meta.db", len(b))
	}
	var bad error
	m := &meta{view: view{"meta.db", b, &bad}, values: map[uint16]*metric{}, stats: map[uint16]*metric{}, contexts: map[uint32]bool{}}
	general := m.u64(0x18)
	m.title, m.description = m.text(general), m.text(general+8)
	names := m.u64(0x28)
	for i := range uint64(m.u8(names + 8)) {
		m.kinds = append(m.kinds, m.text(m.u64(names)+8*i))
	}
	m.metrics(m.u64(0x38))
	if bad != nil {
		return nil, broken(in, "meta.db", "%v", bad)
	}
	return m, nil
}

func (m *meta) metrics(at uint64) {
	size, instSize, statSize := uint64(m.u8(at+12)), uint64(m.u8(at+13)), uint64(m.u8(at+14))
	list := m.u64(at)
	n := m.array(list, uint64(m.u32(at+8)), size, 0x1c, "metrics")
	for i := range n {
		md := list + i*size
		name := m.text(md)
		insts, stats := m.u64(md+8), m.u64(md+0x10)
		for k := range m.array(insts, uint64(m.u16(md+0x18)), instSize, 0x0a, "scopes of a metric") {
			psi := insts + k*instSize
			scope := m.text(m.u64(psi))
			v := named(name + ":" + scope)
			v.unit, v.si = unitOf(name), collectors.ParseUnit(unitOf(name))
			m.values[m.u16(psi+8)] = v
			if typ := m.u8(m.u64(psi) + 8); typ == 2 && v.si.Base == "s" && (m.time == "" || strings.HasPrefix(name, "CPUTIME") || strings.HasPrefix(name, "REALTIME") && !strings.HasPrefix(m.time, "CPUTIME")) {
				m.time = v.name
			}
		}
		for k := range m.array(stats, uint64(m.u16(md+0x1a)), statSize, 0x14, "summaries of a metric") {
			ss := stats + k*statSize
			scope, formula := m.text(m.u64(ss)), m.text(ss+8)
			how := map[uint8]string{0: "sum", 1: "min", 2: "max"}[m.u8(ss+0x10)]
			if how == "" {
				how = fmt.Sprintf("combination %d", m.u8(ss+0x10))
			}
			v := named(name + ":" + scope + ":" + how)
			if formula == "$$" {
				v.unit, v.si = unitOf(name), collectors.ParseUnit(unitOf(name))
			} else {
				v.name += " of " + formula
			}
			m.stats[m.u16(ss+0x12)] = v
		}
	}
}

func named(name string) *metric { return &metric{name: name} }

// context4 is one entry of the context tree.
type context4 struct {
	id, parent     uint32
	kind           uint8 // 0 function, 1 loop, 2 line, 3 instruction, 4 entry point
	relation       uint8
	function       string
	file, module   string
	line           uint32
	offset         uint64
	hasOffset      bool
	kernel         bool // a function below <gpu kernel>
	inGPU          bool // the function around it is <gpu kernel>
	children, size uint64
	depth          int
}

const entryPoint = 4

// maxDepth is how deep contexts may nest.
const maxDepth = 1 << 16

// each calls f with the contexts, parents first.
func (m *meta) each(in *collectors.Input, f func(*context4) error) error {
	at := m.u64(0x48)
	list, size := m.u64(at), uint64(m.u8(at+10))
	var stack []context4
	n := m.array(list, uint64(m.u16(at+8)), size, 0x20, "entry points")
	for i := n; i > 0; i-- {
		e := list + (i-1)*size
		stack = append(stack, context4{kind: entryPoint, size: m.u64(e), children: m.u64(e + 8), id: m.u32(e + 0x10), function: m.text(e + 0x18)})
	}
	for len(stack) > 0 {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if *m.bad != nil {
			return broken(in, "meta.db", "%v", *m.bad)
		}
		if c.id == 0 || m.contexts[c.id] || c.depth > maxDepth {
			return broken(in, "meta.db", "the context %d is in the tree twice, or is 0, or is nested deeper than %d", c.id, maxDepth)
		}
		m.contexts[c.id] = true
		if err := f(&c); err != nil {
			return err
		}
		if c.size == 0 {
			continue
		}
		if c.children > uint64(len(m.b)) || c.size > uint64(len(m.b))-c.children {
			return broken(in, "meta.db", "offset %d: the children of context %d are outside of the file", c.children, c.id)
		}
		first := len(stack)
		for p, end := c.children, c.children+c.size; p < end; {
			if end-p < 0x20 {
				return broken(in, "meta.db", "offset %d: the children of context %d end within one", p, c.id)
			}
			words := uint64(m.u8(p + 0x17))
			if words*8 > end-p-0x20 {
				return broken(in, "meta.db", "offset %d: the children of context %d end within one", p, c.id)
			}
			stack = append(stack, m.context(p, &c))
			p += 0x20 + 8*words
		}
		for i, j := first, len(stack)-1; i < j; i, j = i+1, j-1 { // the first one is next
			stack[i], stack[j] = stack[j], stack[i]
		}
	}
	if *m.bad != nil {
		return broken(in, "meta.db", "%v", *m.bad)
	}
	return nil
}

func (m *meta) context(p uint64, up *context4) context4 {
	c := context4{size: m.u64(p), children: m.u64(p + 8), id: m.u32(p + 0x10), relation: m.u8(p + 0x15), kind: m.u8(p + 0x16), parent: up.id, depth: up.depth + 1}
	flags := m.u8(p + 0x14)
	flex := p + 0x20
	half := uint64(0) // where the unused half of a word is
	u64 := func() uint64 { flex += 8; return m.u64(flex - 8) }
	u32 := func() uint32 {
		if half != 0 {
			v := m.u32(half)
			half = 0
			return v
		}
		flex, half = flex+8, flex+4
		return m.u32(flex - 8)
	}
	if flags&1 != 0 {
		f := u64()
		c.function = m.text(f)
		if mod := m.u64(f + 8); mod != 0 {
			c.module = m.text(mod + 8)
		}
		if file := m.u64(f + 0x18); file != 0 {
			c.file, c.line = m.text(file+8), m.u32(f+0x20)
		}
		if off := m.u64(f + 0x10); c.module != "" {
			c.offset, c.hasOffset = off, true
		}
	}
	if flags&2 != 0 {
		file := u64()
		c.line = u32()
		if c.file = ""; file != 0 {
			c.file = m.text(file + 8)
		}
	}
	if flags&4 != 0 {
		mod := u64()
		c.offset, c.hasOffset = u64(), true
		if mod != 0 {
			c.module = m.text(mod + 8)
		}
	}
	c.kernel = c.kind == 0 && up.inGPU
	if c.inGPU = up.inGPU; c.kind == 0 {
		c.inGPU = c.function == "<gpu kernel>"
	}
	return c
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// region makes the region of a context.
func (c *context4) region() datasets.Region {
	g := datasets.Region{ID: int64(c.id), Run: runID, Parent: int64(c.parent), Module: c.module}
	place := fmt.Sprintf("%s:%d", c.file, c.line)
	if c.file == "" && c.hasOffset {
		place = fmt.Sprintf("%s@0x%x", base(c.module), c.offset)
	}
	switch c.kind {
	case 0:
		g.Kind, g.Raw = datasets.KindFunction, c.function
		if c.kernel {
			g.Kind = datasets.KindKernel
		}
		if g.Raw == "" {
			g.Raw = "<unknown function> " + place
			g.Short = g.Raw
			break
		}
		name := g.Raw
		if i := strings.LastIndex(name, " ["); i > 0 && strings.HasSuffix(name, "]") && !strings.HasPrefix(name, "<") {
			name = name[:i] // the module
		}
		if g.Short = collectors.ShortName(name); strings.HasPrefix(name, "<") {
			g.Short = name
		}
	case 1:
		g.Kind, g.Raw = datasets.KindLoop, "loop at "+place
	case 2:
		g.Kind, g.Raw = datasets.KindRange, place
	case 3:
		g.Kind, g.Raw = datasets.KindRange, fmt.Sprintf("%s@0x%x", base(c.module), c.offset)
	case entryPoint:
		g.Kind, g.Raw = datasets.KindRange, c.function
	default:
		g.Kind, g.Raw = datasets.KindRange, fmt.Sprintf("context of kind %d at %s", c.kind, place)
	}
	if g.Short == "" {
		g.Short = g.Raw
	}
	return g
}
