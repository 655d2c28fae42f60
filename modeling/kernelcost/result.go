package kernelcost

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// Cost is what a launch executes, by estimate.
type Cost struct {
	Kernel  string
	Items   float64 // work-items
	Groups  float64
	Group   [3]int64
	Total   Counts             // of all work-items
	Sampled Counts             // of Total: means over sampled work-items or iterations
	Assumed Counts             // of Total: what rests on an assumption about data
	Hoisted Counts             // of Total: what a compiler need not execute: again, for no iteration of a loop changes it, or at all, for nothing comes of it
	Lines   []Line             // lines that execute something, in the order of the text
	Places  []Place            // what executes something, in the order of the text
	Calls   map[string]float64 // functions of numbers that are executed, per lane, by name without native_, half_ or the suffix of a precision
	// Iterations are those of loops with bounds that are literals where unrolling is asked for, of others with such bounds, and of the rest.
	Iterations              [3]float64
	Sites                   []Site // places that access memory, private arrays aside
	Buffers                 []Buffer
	Local                   int64   // bytes of local memory per work-group
	Private                 int64   // bytes of arrays per work-item
	Depth                   float64 // operations on the longest chain of dependent ones in a work-item, loads counting as one
	Loads                   float64 // loads on the longest chain of loads that lead to addresses or values
	Notes                   []string
	source                  string
	executed                Counts // Executed, for Features
	vectorCalls, vectorFlop float64
	Unseen                  int  // branches whose other side no sampled work-item took, though others might
	Cut                     bool // the analysis ran into its limit of steps
}

// Line is what one line of the source executes.
type Line struct {
	Number                  int
	Total, Sampled, Assumed Counts
}

// Place is a spot of the source that executes something.
type Place struct {
	Offset int // bytes from the beginning of the source
	Line   int
	Count  float64 // executions by all work-items, without those that Hoisted counts
}

// spot is where a kind of operation is counted.
type spot struct {
	offset, line int32
	kind         Kind
}

// Certainty is how sure a number is.
type Certainty string

const (
	Exact      Certainty = "exact"
	BySample   Certainty = "sampled"
	ByAssuming Certainty = "assumed"
)

// Site is a place that accesses memory.
type Site struct {
	Line      int
	Buffer    string
	Space     csource.Space
	Operation string // load, store, update
	Bytes     int    // of one access
	Count     float64
	Executed  float64 // of Count, without what a compiler need not execute, as in Cost.Hoisted
	Certainty Certainty
	Pattern   Pattern // of neighbouring work-items
	Stride    int64   // bytes between neighbours where the pattern has one
	Sectors   float64 // of 32 bytes, touched at once by up to 32 neighbours, mean
	Conflicts float64 // ways of bank conflicts in local memory, mean, 1 for none
}

// Buffer is an array that a launch accesses.
type Buffer struct {
	Name      string
	Space     csource.Space
	Argument  bool
	Element   string
	Size      int // bytes of an element
	Reads     bool
	Writes    bool
	Known     bool  // Bytes is enough for all accesses
	Bytes     int64 // least size without an access out of bounds, where known
	Tight     bool  // some work-item is known to reach the last byte
	Idle      bool  // nothing of what accesses it comes to anything: a compiler leaves that out
	Footprint int64 // bytes between the least and the greatest access
	Why       string
}

// Elements is Bytes in elements, rounded up.
func (b Buffer) Elements() int64 {
	n := int64(max(b.Size, 1))
	return (b.Bytes + n - 1) / n
}

// Intensity is floating-point operations per byte that work-items ask of
// global memory; NaN where nothing is asked.
func (c *Cost) Intensity() float64 {
	b := c.Total.GlobalBytes()
	if b == 0 {
		return math.NaN()
	}
	return c.Total.Flops() / b
}

// Footprint is the bytes of all buffers that are accessed (not those that are
// Idle), known ones, and whether all are known.
func (c *Cost) Footprint() (bytes float64, known bool) {
	known = true
	for _, b := range c.Buffers {
		if !b.Argument || b.Space == csource.Local || !b.Reads && !b.Writes || b.Idle {
			continue
		}
		known = known && b.Known
		bytes += float64(b.Footprint)
	}
	return bytes, known
}

// Executed is Total without Hoisted.
func (c *Cost) Executed() Counts {
	n := c.Total
	for k, h := range c.Hoisted {
		n[k] -= h
	}
	return n
}

// AssumedShare is the part of the operations and accesses that rests on
// assumptions, 0 to 1.
func (c *Cost) AssumedShare() float64 { return share(&c.Assumed, &c.Total) }

// SampledShare is the part that is a mean over sampled work-items or iterations.
func (c *Cost) SampledShare() float64 { return share(&c.Sampled, &c.Total) }

func share(a, all *Counts) float64 {
	x, y := work(a), work(all)
	if y == 0 {
		return 0
	}
	return x / y
}

// work is all operations and accesses alike.
func work(c *Counts) float64 {
	n := 0.0
	for k := range IntAdd {
		if k%perPrecision != Fusable {
			n += c[k]
		}
	}
	return n + c.Ints() + c[Convert] + c.Branches() + c.Accesses() + c[LocalLoad] + c[LocalStore] + c[LocalAtomic] + c[PrivateLoad] + c[PrivateStore] + c[Barrier] + c[UnknownCall]
}

func (r *run) result(fn *csource.Function) *Cost {
	g := r.g
	c := &Cost{source: r.p.source, Kernel: fn.Name, Items: float64(g.items), Group: g.local, Local: r.locals, Private: r.private, Depth: r.depth, Loads: r.chain, Notes: r.notes, Cut: r.over, Unseen: r.unseen}
	c.Groups = float64(g.groups[0]) * float64(g.groups[1]) * float64(g.groups[2])
	for i, t := range r.tally {
		if t == nil {
			continue
		}
		l := Line{Number: i}
		for k := range Kinds {
			l.Sampled[k], l.Assumed[k] = whole(t[sampled][k]), whole(t[assumed][k])
			l.Total[k] = whole(t[exact][k] + t[sampled][k] + t[assumed][k])
		}
		c.Total.plus(&l.Total)
		c.Sampled.plus(&l.Sampled)
		c.Assumed.plus(&l.Assumed)
		c.Lines = append(c.Lines, l)
	}
	for k := range Kinds {
		c.Hoisted[k] = min(whole(r.moved[k]), c.Total[k])
	}
	c.executed = c.Executed()
	c.vectorCalls, c.vectorFlop = r.vectorCalls, r.vectorFlop
	c.Places, c.Calls = r.executed(), r.called
	for name, n := range c.Calls {
		c.Calls[name] = whole(n)
	}
	for i, n := range r.turns {
		c.Iterations[i] = whole(n)
	}
	for _, key := range r.order {
		c.Sites = append(c.Sites, r.sites[key/3][key%3].result())
	}
	slices.SortStableFunc(c.Sites, func(a, b Site) int { return a.Line - b.Line })
	for _, o := range r.objects {
		c.Buffers = append(c.Buffers, o.result())
	}
	return c
}

// executed are the places: of several kinds in one place the one that is executed
// most often counts, as the condition of a loop does.
func (r *run) executed() []Place {
	most := map[int32]Place{}
	for s, n := range r.places {
		if p, ok := most[s.offset]; !ok || n > p.Count {
			most[s.offset] = Place{int(s.offset), int(s.line), whole(n)}
		}
	}
	return slices.SortedFunc(maps.Values(most), func(a, b Place) int { return a.Offset - b.Offset })
}

func (s *site) result() Site {
	out := Site{Line: int(s.line), Buffer: s.obj.name, Space: s.obj.space, Operation: [...]string{"load", "store", "update"}[s.op], Bytes: s.bytes, Certainty: Exact}
	for lv, n := range s.count {
		out.Count += n
		if n > 0 {
			out.Certainty = [...]Certainty{Exact, BySample, ByAssuming}[lv]
		}
	}
	out.Count, out.Executed = whole(out.Count), whole(s.done)
	most := 0.0
	for p, w := range s.weight {
		if w > most {
			most, out.Pattern = w, Pattern(p)
		}
	}
	if out.Pattern == Unit || out.Pattern == Strided || out.Pattern == Transposed {
		out.Stride = s.stride
	}
	if s.of > 0 {
		out.Sectors, out.Conflicts = s.sectors/s.of, s.banks/s.of
	}
	return out
}

func (o *object) result() Buffer {
	b := Buffer{Name: o.name, Space: o.space, Argument: o.param, Reads: o.reads, Writes: o.writes, Idle: (o.reads || o.writes) && !o.used}
	if o.elem != nil {
		b.Element, b.Size = o.elem.Name, o.elem.Size()
	}
	switch {
	case !o.reads && !o.writes:
		b.Known = true
	case o.open:
		b.Why = o.why + ", line " + strconv.Itoa(int(o.line))
	case !o.in.empty():
		b.Known, b.Bytes = true, o.in.hi
		b.Tight = max(o.seen[1], o.top) == o.in.hi
	}
	lo, hi := o.in.lo, o.in.hi
	if o.bytes > 0 && o.open { // what is there at most
		lo, hi = 0, o.bytes
	}
	if hi > lo {
		b.Footprint = hi - lo
	}
	return b
}

// whole takes away what rounding added to a whole number.
func whole(x float64) float64 {
	if n := math.Round(x); math.Abs(x-n) <= 1e-9*n {
		return n
	}
	return x
}

// Buffer is a buffer by name.
func (c *Cost) Buffer(name string) (Buffer, bool) {
	for _, b := range c.Buffers {
		if b.Name == name {
			return b, true
		}
	}
	return Buffer{}, false
}

// String is a short account.
func (c *Cost) String() string {
	return strings.TrimSpace(c.summary())
}
