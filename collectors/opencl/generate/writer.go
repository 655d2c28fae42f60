package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// parameter is an argument of a kernel.
type parameter struct {
	name, typ string // typ is the element's for buffers
	kind      kind
	access    string // r, w or rw
	init      func(size func(index) int64) string
	holds     [2]index // least and greatest of the content, for buffers of indices
	value     string   // of a float
	bytes     index    // of local memory
}

type kind int

const (
	sizeParam   kind = iota // an int that a launch chooses
	floatParam              // a number of fixed value
	bufferParam             // __global
	constParam              // __constant
	localParam              // __local, given as an argument
)

// access is one place where a buffer is read or written.
type access struct {
	buffer *parameter
	at     index
	scope  []binding
	trips  []trip
}

// trip is a loop around an access.
type trip struct {
	count index
	scope []binding
}

// writer writes the text of one kernel and keeps what is needed to know its
// bounds.
type writer struct {
	r      *rand.Rand
	text   strings.Builder
	depth  int
	params []*parameter
	used   map[string]bool
	scope  []binding
	trips  []trip
	seen   []access
	locals []index // bytes of local arrays inside the kernel
	style  style
	checks bool // write accesses so that they report what is out of bounds
}

// style is how a kernel is written, apart from what it does.
type style struct {
	long      bool // names are words, not letters
	qualifier string
	restrict  bool
	comments  bool
}

func (w *writer) pick(ss ...string) string { return ss[w.r.IntN(len(ss))] }
func (w *writer) num(ns ...int64) int64    { return ns[w.r.IntN(len(ns))] }
func (w *writer) chance(p float64) bool    { return w.r.Float64() < p }

// name is a fresh name out of suggestions: a letter's or a word's style.
func (w *writer) name(short, long string) string {
	base := short
	if w.style.long {
		base = long
	}
	n := base
	for i := 2; w.used[n]; i++ {
		n = fmt.Sprintf("%s%d", base, i)
	}
	w.used[n] = true
	return n
}

func (w *writer) line(format string, args ...any) {
	w.text.WriteString(strings.Repeat("  ", w.depth+1))
	fmt.Fprintf(&w.text, format, args...)
	w.text.WriteByte('\n')
}

// size is a new int argument that launches choose.
func (w *writer) size(short, long string) index {
	p := &parameter{name: w.name(short, long), typ: "int", kind: sizeParam}
	w.params = append(w.params, p)
	return variable(p.name)
}

// number is a new argument of type typ with a value.
func (w *writer) number(short, long, typ, value string) string {
	p := &parameter{name: w.name(short, long), typ: typ, kind: floatParam, value: value}
	w.params = append(w.params, p)
	return p.name
}

// buffer is a new buffer of numbers, random in [0, 1) (integers in [0, 100))
// where it is read.
func (w *writer) buffer(short, long, typ, access string) *parameter {
	p := &parameter{name: w.name(short, long), typ: typ, kind: bufferParam, access: access}
	init := fmt.Sprintf("random(%d)", w.seed())
	if access == "w" {
		init = "zero"
	}
	p.init = func(func(index) int64) string { return init }
	w.params = append(w.params, p)
	return p
}

func (w *writer) seed() int { return 1 + w.r.IntN(1000) }

// coefficients is a new buffer in constant or global memory.
func (w *writer) coefficients(short, long, typ string) *parameter {
	p := w.buffer(short, long, typ, "r")
	if w.chance(0.6) {
		p.kind = constParam
	}
	return p
}

// indices is a new buffer of ints in [lo, hi], random.
func (w *writer) indices(short, long string, lo, hi index) *parameter {
	p := w.buffer(short, long, "int", "r")
	p.holds = [2]index{lo, hi}
	seed := w.seed()
	p.init = func(size func(index) int64) string {
		return fmt.Sprintf("random(%d,%d,%d)", seed, size(lo), size(hi)+1)
	}
	return p
}

// offsets is a new buffer of ints 0, step, 2 step ... up to hi.
func (w *writer) offsets(short, long string, step, hi index) *parameter {
	p := w.buffer(short, long, "int", "r")
	p.holds = [2]index{lit(0), hi}
	p.init = func(size func(index) int64) string { return fmt.Sprintf("iota(0,%d)", size(step)) }
	return p
}

// local is a new array in local memory: an argument or, where its length is
// constant, declared in the kernel.
func (w *writer) local(short, long, typ string, n index) *parameter {
	p := &parameter{name: w.name(short, long), typ: typ, kind: localParam, bytes: times(n, lit(sizeOf(typ)))}
	if c, ok := n.(constant); ok && w.chance(0.7) {
		w.line("__local %s %s[%d];", typ, p.name, int64(c))
		w.locals = append(w.locals, p.bytes)
		return p
	}
	w.params = append(w.params, p)
	return p
}

func sizeOf(typ string) int64 {
	base := strings.TrimRight(typ, "0123456789")
	width := int64(1)
	if n, err := strconv.ParseInt(typ[len(base):], 10, 64); err == nil {
		width = n
	}
	switch base {
	case "double", "long":
		return 8 * width
	}
	return 4 * width
}

// at is the text of an access.
func (w *writer) at(p *parameter, at index) string {
	if p.kind == bufferParam || p.kind == constParam {
		w.seen = append(w.seen, access{p, at, slices.Clone(w.scope), slices.Clone(w.trips)})
		if w.checks {
			return fmt.Sprintf("%s[in_bounds(%s, %s_length, rooflab_faults)]", p.name, at, p.name)
		}
	}
	return p.name + "[" + at.String() + "]"
}

// loaded is an index that was loaded from a buffer of them.
func (w *writer) loaded(p *parameter, at index) index {
	return within{w.at(p, at), p.holds[0], p.holds[1]}
}

// bind gives a variable that the pattern declared itself a range.
func (w *writer) bind(name string, lo, hi index) index {
	w.scope = append(w.scope, binding{name, lo, hi})
	return variable(name)
}

// let declares an int with the value of an index.
func (w *writer) let(short, long string, v index) index {
	n := w.name(short, long)
	w.line("int %s = %s;", n, v)
	return w.bind(n, v, v)
}

// geometry of a launch, as values of env.
const (
	globalSize = "global size "
	localSize  = "local size "
	groupCount = "groups "
)

func dim(what string, d int) index {
	return within{"?", variable(fmt.Sprint(what, d)), variable(fmt.Sprint(what, d))}
}

func (w *writer) geometry(short, long, call string, d int, lo, hi index) index {
	n := w.name(short, long)
	w.line("int %s = %s(%d);", n, call, d)
	return w.bind(n, lo, hi)
}

func (w *writer) globalID(short, long string, d int) index {
	return w.geometry(short, long, "get_global_id", d, lit(0), minus(dim(globalSize, d), lit(1)))
}

func (w *writer) localID(short, long string, d int) index {
	return w.geometry(short, long, "get_local_id", d, lit(0), minus(dim(localSize, d), lit(1)))
}

func (w *writer) groupID(short, long string, d int) index {
	return w.geometry(short, long, "get_group_id", d, lit(0), minus(dim(groupCount, d), lit(1)))
}

func (w *writer) globalSize(short, long string, d int) index {
	return w.geometry(short, long, "get_global_size", d, dim(globalSize, d), dim(globalSize, d))
}

func (w *writer) localSize(short, long string, d int) index {
	return w.geometry(short, long, "get_local_size", d, dim(localSize, d), dim(localSize, d))
}

// block writes head { body } and leaves the scope as it was.
func (w *writer) block(head string, body func()) {
	scope, trips := len(w.scope), len(w.trips)
	w.line("%s {", head)
	w.depth++
	body()
	w.depth--
	w.line("}")
	w.scope, w.trips = w.scope[:scope], w.trips[:trips]
}

// guard writes body under v < hi.
func (w *writer) guard(v variable, hi index, body func()) {
	w.block(fmt.Sprintf("if (%s < %s)", v, hi), func() {
		w.bind(string(v), v, least(v, minus(hi, lit(1))))
		body()
	})
}

// inner writes body under lo <= v < hi.
func (w *writer) inner(v variable, lo, hi index, body func()) {
	w.block(fmt.Sprintf("if (%s >= %s && %s < %s)", v, lo, v, hi), func() {
		w.bind(string(v), lo, minus(hi, lit(1)))
		body()
	})
}

// loop writes for (v = lo; v < hi; v += step); the range of v ends at hi - 1.
func (w *writer) loop(short, long string, lo, hi, step index, body func(v index)) {
	n := w.name(short, long)
	advance := n + "++"
	if step != lit(1) {
		advance = fmt.Sprintf("%s += %s", n, step)
	}
	if w.r.IntN(8) == 0 {
		if c, ok := hi.(constant); ok && c <= 64 {
			w.line("#pragma unroll")
		}
	}
	w.block(fmt.Sprintf("for (int %s = %s; %s < %s; %s)", n, lo, n, hi, advance), func() {
		w.trips = append(w.trips, trip{over(most(minus(plus(hi, minus(step, lit(1))), lo), lit(0)), step), slices.Clone(w.scope)})
		w.bind(n, lo, minus(hi, lit(1)))
		body(variable(n))
	})
}

// chunk writes a loop over the part of [0, end) that is the i-th of count.
func (w *writer) chunk(short, long string, i, count, end index, body func(v index)) {
	n := w.name(short, long)
	from := times(i, count)
	w.block(fmt.Sprintf("for (int %s = %s; %s < %s; %s++)", n, from, n, least(plus(from, count), end), n), func() {
		w.trips = append(w.trips, trip{count, slices.Clone(w.scope)})
		w.bind(n, from, minus(least(plus(from, count), end), lit(1)))
		body(variable(n))
	})
}

// repeated tells that what body writes is executed n times per work-item at most.
func (w *writer) repeated(n index, head string, body func()) {
	w.block(head, func() {
		w.trips = append(w.trips, trip{n, slices.Clone(w.scope)})
		body()
	})
}

// work tells of n operations per execution of this place that no access shows.
func (w *writer) work(n int64) {
	w.seen = append(w.seen, access{nil, lit(n), slices.Clone(w.scope), slices.Clone(w.trips)})
}

func (w *writer) barrier() {
	if w.chance(0.9) {
		w.line("barrier(CLK_LOCAL_MEM_FENCE);")
	} else {
		w.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
	}
}
