package llvm

import (
	"regexp"
	"strings"
)

// How the addresses of a load or store change from one iteration of the
// innermost loop, or from one work-item, to the next.
const (
	Constant = "constant" // not at all
	Unit     = "unit"     // by the size of the access, up or down
	Strided  = "strided"  // by another amount, always the same
	Indirect = "indirect" // as a loaded value says
	Unknown  = "unknown"  // in another way
)

// patterns in the order in which features list them.
var patterns = []string{Constant, Unit, Strided, Indirect, Unknown}

// Access is one load, store or atomic operation.
type Access struct {
	Instr   *Instr
	Store   bool
	Bytes   uint64
	Space   string // "global", "local", "constant", "private" or "generic"
	Loop    string // pattern within the innermost loop, "" outside of loops
	Item    string // pattern over neighbouring work-items, "" where there are none
	Stride  int64  // bytes per iteration, where it is a constant
	inBlock int
}

// Counts are static counts over some blocks; a vector instruction counts once
// as an instruction, and once per lane as operations.
type Counts struct {
	Instrs, Blocks                        int
	Ops                                   map[string]int // by opcode
	Groups                                map[string]int // "int", "float", "memory", ...
	Flops                                 map[string]int // by type, "half", "float", "double"
	MathCalls, Calls, Intrinsics, Barrier int
	IndirectCalls, CondBranches           int
	ItemBranches                          int // conditional branches that differ between work-items
	LoadBytes, StoreBytes                 uint64
	Global, Local                         uint64 // bytes by address space
	Loop, Item                            map[string]int
	Loads, Stores, Atomics                int
}

// groups of opcodes, as LLVM's language reference has them.
var groups = map[string]string{
	"add": "int", "sub": "int", "mul": "int", "udiv": "int", "sdiv": "int", "urem": "int", "srem": "int",
	"shl": "bit", "lshr": "bit", "ashr": "bit", "and": "bit", "or": "bit", "xor": "bit",
	"fadd": "float", "fsub": "float", "fmul": "float", "fdiv": "float", "frem": "float", "fneg": "float",
	"load": "memory", "store": "memory", "atomicrmw": "memory", "cmpxchg": "memory", "fence": "memory", "alloca": "memory",
	"getelementptr": "address",
	"icmp":          "compare", "fcmp": "compare", "select": "compare",
	"br": "control", "switch": "control", "ret": "control", "indirectbr": "control", "unreachable": "control", "resume": "control", "invoke": "call",
	"call": "call", "callbr": "call", "phi": "phi",
	"extractelement": "vector", "insertelement": "vector", "shufflevector": "vector", "extractvalue": "vector", "insertvalue": "vector",
}

func group(op string) string {
	if g, ok := groups[op]; ok {
		return g
	}
	if strings.HasSuffix(op, "ext") || strings.HasSuffix(op, "trunc") || strings.Contains(op, "to") || strings.HasSuffix(op, "cast") || op == "freeze" {
		return "convert"
	}
	return "other"
}

// ignored are intrinsics that are no code.
var ignored = regexp.MustCompile(`^@llvm\.(dbg|lifetime|assume|experimental\.noalias|invariant|annotation|var\.annotation|donothing|pseudoprobe|stack(save|restore))`)

const mathNames = `(?:a?(?:sin|cos|tan)h?(?:pi)?|sincos|atan2(?:pi)?|exp(?:2|10|m1)?|log(?:2|10|1p)?|pow[nri]?|rootn|r?sqrt|cbrt|hypot|erfc?|[lt]gamma|fmod|remainder)`

// mathCall matches calls of functions of mathematics: C's, LLVM's intrinsics,
// the device libraries' and OpenCL's mangled ones.
var mathCall = regexp.MustCompile(`^@(?:` + mathNames + `[fl]?|llvm\.` + mathNames + `\..*|(?:__nv_(?:fast_)?|__ocml_)` + mathNames + `(?:f|_f\d+)?|_Z\d+(?:native_|half_)?` + mathNames + `(?:Dv\d+_)?(?:[fd]|Dh).*)$`)

// flopIntrinsic matches the intrinsics that compute as an instruction does.
var flopIntrinsic = regexp.MustCompile(`^@llvm\.(?:experimental\.constrained\.)?(fma|fmuladd|fadd|fsub|fmul|fdiv|fabs|minnum|maxnum|minimum|maximum|sqrt|floor|ceil|rint|round|trunc|nearbyint|copysign|vector\.reduce\.f(?:add|mul|max|min))\.`)

// clFlop matches the built-in functions of OpenCL that do the same.
var clFlop = regexp.MustCompile(`^@_Z\d+(fma|mad|fmin|fmax|fabs|dot)D?[vfdh]`)

// workItemQuery matches OpenCL's work-item functions.
var workItemQuery = regexp.MustCompile(`^@_Z\d+get_(work_dim|global_size|global_id|local_size|enqueued_local_size|local_id|num_groups|group_id|global_offset|global_linear_id|local_linear_id)[jv]`)

// flops is how many operations on numbers of floating point an instruction is.
// fma is two; comparisons, conversions and absolute values are none.
func (in *Instr) flops() (int, string) {
	if in.typ == nil {
		return 0, ""
	}
	lanes, t := in.typ.lanes()
	if t.kind != 'f' {
		return 0, ""
	}
	switch in.Op {
	case "fadd", "fsub", "fmul", "fdiv", "frem":
		return lanes, t.text
	case "call", "invoke":
		m := flopIntrinsic.FindStringSubmatch(in.callee)
		if m == nil {
			m = clFlop.FindStringSubmatch(in.callee)
		}
		if m == nil {
			return 0, ""
		}
		switch name := m[1]; {
		case name == "fma" || name == "fmuladd" || name == "mad":
			return 2 * lanes, t.text
		case name == "fadd" || name == "fsub" || name == "fmul" || name == "fdiv" || name == "sqrt":
			return lanes, t.text
		case strings.HasPrefix(name, "vector.reduce.fadd") || strings.HasPrefix(name, "vector.reduce.fmul"):
			if n := len(in.types); n > 0 {
				lanes, _ = in.types[n-1].lanes()
			}
			return lanes, t.text
		case name == "dot" && len(in.types) > 0:
			lanes, _ = in.types[0].lanes()
			return 2*lanes - 1, t.text
		}
	}
	return 0, ""
}

// spaces are the address spaces of SPIR, which NVPTX and AMDGPU share but for
// the constant one's number.
func (a *analysis) space(pointer string, t *irType) string {
	if in := a.root(pointer, 0); in != nil && in.Op == "alloca" {
		return "private"
	}
	if t == nil {
		return "generic"
	}
	gpu := strings.HasPrefix(a.f.module.Triple, "nvptx") || strings.HasPrefix(a.f.module.Triple, "amdgcn")
	switch t.space {
	case 1:
		return "global"
	case 3:
		return "local"
	case 2:
		return "constant"
	case 4:
		if gpu {
			return "constant"
		}
	case 5:
		return "private"
	}
	return "generic"
}

// root follows a pointer to where it begins.
func (a *analysis) root(v string, depth int) *Instr {
	in := a.f.defs[v]
	if in == nil || depth > 50 || len(in.args) == 0 {
		return in
	}
	switch in.Op {
	case "getelementptr", "bitcast", "addrspacecast":
		return a.root(in.args[0], depth+1)
	}
	return in
}

// access describes a load, store or atomic operation.
func (a *analysis) access(in *Instr, block, loop int) (Access, bool) {
	x := Access{Instr: in, inBlock: block}
	at := 0
	switch in.Op {
	case "load", "atomicrmw", "cmpxchg":
	case "store":
		at, x.Store = 1, true
	default:
		return x, false
	}
	if len(in.args) <= at || in.typ == nil {
		return x, false
	}
	x.Bytes = a.f.module.size(in.typ)
	if in.typ.kind == 'i' && in.typ.bits%8 == 0 {
		x.Bytes = uint64(in.typ.bits / 8)
	}
	var pt *irType
	if len(in.types) > at {
		pt = in.types[at]
	}
	x.Space = a.space(in.args[at], pt)
	addr := a.value(in.args[at])
	if loop >= 0 {
		x.Loop, x.Stride = pattern(addr.by[loopSymbol(loop)], x.Bytes)
	}
	if a.f.Kernel {
		// The neighbour's id is larger by one, within its group and over all.
		c, l := addr.by["global 0"], addr.by["local 0"]
		x.Item, _ = pattern(coefficient{max(c.kind, l.kind), c.n + l.n}, x.Bytes)
	}
	return x, true
}

func pattern(c coefficient, bytes uint64) (string, int64) {
	switch {
	case c.kind == known && c.n == 0:
		return Constant, 0
	case c.kind == known && (c.n == int64(bytes) || c.n == -int64(bytes)):
		return Unit, c.n
	case c.kind == known:
		return Strided, c.n
	case c.kind == invariant:
		return Strided, 0
	case c.kind == indirect:
		return Indirect, 0
	}
	return Unknown, 0
}

func newCounts() Counts {
	return Counts{Ops: map[string]int{}, Groups: map[string]int{}, Flops: map[string]int{}, Loop: map[string]int{}, Item: map[string]int{}}
}

// count adds an instruction.
func (c *Counts) count(a *analysis, in *Instr, x Access, isAccess bool) {
	if ignored.MatchString(in.callee) {
		return
	}
	c.Instrs++
	c.Ops[in.Op]++
	c.Groups[group(in.Op)]++
	if n, t := in.flops(); n > 0 {
		c.Flops[t] += n
	}
	switch in.Op {
	case "br", "switch":
		if len(in.labels) > 1 {
			c.CondBranches++
			if len(in.args) > 0 && a.differs(in.args[0]) {
				c.ItemBranches++
			}
		}
	case "call", "invoke", "callbr":
		c.call(a, in)
	case "atomicrmw", "cmpxchg":
		c.Atomics++
	}
	if !isAccess {
		return
	}
	if x.Store {
		c.Stores++
		c.StoreBytes += x.Bytes
	} else {
		c.Loads++
		c.LoadBytes += x.Bytes
		if in.Op != "load" { // an atomic operation writes, too
			c.StoreBytes += x.Bytes
		}
	}
	switch x.Space {
	case "global", "constant":
		c.Global += x.Bytes
	case "local":
		c.Local += x.Bytes
	}
	if x.Loop != "" {
		c.Loop[x.Loop]++
	}
	if x.Item != "" && x.Space != "private" {
		c.Item[x.Item]++
	}
}

func (c *Counts) call(a *analysis, in *Instr) {
	switch {
	case mathCall.MatchString(in.callee) && !flopIntrinsic.MatchString(in.callee):
		c.MathCalls++
	case strings.Contains(in.callee, "barrier") || strings.HasPrefix(in.callee, "@llvm.nvvm.bar"):
		c.Barrier++
	case strings.HasPrefix(in.callee, "@llvm."):
		c.Intrinsics++
		if strings.HasPrefix(in.callee, "@llvm.mem") && len(in.args) > 2 { // memcpy, memmove, memset of a known size
			if n := a.value(in.args[2]); n.constant && n.n > 0 {
				c.StoreBytes += uint64(n.n)
				if !strings.HasPrefix(in.callee, "@llvm.memset") {
					c.LoadBytes += uint64(n.n)
				}
			}
		}
	case strings.HasPrefix(in.callee, "@"):
		// OpenCL's questions for ids and sizes, and its arithmetic, are calls in
		// name only.
		if !workItemQuery.MatchString(in.callee) && !clFlop.MatchString(in.callee) {
			c.Calls++
		}
	case strings.HasPrefix(in.callee, "%"):
		c.IndirectCalls++
	}
}

// differs says whether a condition differs between work-items.
func (a *analysis) differs(v string) bool {
	for s := range a.value(v).by {
		if strings.HasPrefix(s, "global ") || strings.HasPrefix(s, "local ") {
			return true
		}
	}
	return false
}
