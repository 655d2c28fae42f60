package kernelcost

import (
	"slices"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// object is something in memory: a buffer behind a pointer argument, or an array.
type object struct {
	name   string
	space  csource.Space
	param  bool
	elem   *csource.Type
	bytes  int64 // where known, else 0
	in     interval
	top    int64    // byte that the form of an index reaches for certain
	seen   [2]int64 // least and greatest byte that sampled work-items reached
	reads  bool
	writes bool
	used   bool // by what a compiler leaves
	open   bool // some index is not known
	why    string
	line   int32
}

// operation is what an access does.
type operation uint8

const (
	load operation = iota
	store
	update // atomically
)

// Pattern is how neighbouring work-items access memory at a place.
type Pattern uint8

const (
	Unseen     Pattern = iota // no sampled neighbours got there
	Uniform                   // all the same address
	Unit                      // neighbours side by side
	Strided                   // a fixed distance apart
	Transposed                // far apart, while another id or a loop goes side by side
	Irregular                 // by no single distance
	Indirect                  // by what was loaded
	patterns
)

func (p Pattern) String() string {
	return [...]string{"unseen", "uniform", "unit", "strided", "transposed", "irregular", "indirect"}[p]
}

// site is an access in the text.
type site struct {
	line    int32
	obj     *object
	op      operation
	bytes   int
	count   [assumed + 1]float64
	done    float64 // of count, what a compiler leaves
	weight  [patterns]float64
	stride  int64   // bytes, of what was seen last
	sectors float64 // of 32 bytes that a warp's access touches, times weight
	banks   float64 // ways of bank conflicts, times weight
	of      float64 // sum of weights
}

// access counts a load or store of t at a pointer.
func (r *run) access(s *state, id int, at csource.Pos, p *value, t *csource.Type, op operation) {
	if r.quiet > 0 || s.dead {
		return
	}
	o := p.obj
	if o == nil {
		o = r.nowhere(p.t)
	}
	size := t.Size()
	o.used = o.used || r.share > 0
	r.bound(s, o, p, size, op, at)
	r.countAccess(s, at, o, size, op)
	if s.sum == 0 {
		return
	}
	if o.space == csource.Private || id < 0 || id >= len(r.sites) {
		return
	}
	// One place can both load and store (+=).
	key := id*3 + int(op)
	st := r.sites[id][op]
	if st == nil {
		st = &site{line: at.Line, obj: o, op: op, bytes: size}
		r.sites[id][op] = st
		r.order = append(r.order, key)
	}
	st.count[s.level] += s.sum
	st.done += s.sum * r.share
	r.pattern(s, st, p, size)
}

// bound widens what an object is known to be accessed at.
func (r *run) bound(s *state, o *object, p *value, size int, op operation, at csource.Pos) {
	o.reads = o.reads || op != store
	o.writes = o.writes || op != load
	in := p.in
	if p.form != nil && p.form.affine() {
		if m := in.meet(r.span(p.form)); !m.empty() {
			in = m
		}
	}
	// A range as wide as this comes from a type, not from the kernel.
	const wide = 1 << 40
	loose := p.loaded && (in.hi-in.lo) > 1<<30
	if in.lo < -wide || in.hi > wide || loose || in.hi >= int64(1)<<31*int64(size)-int64(size) && in.hi-in.lo > 1<<31 || in.lo < 0 {
		if !o.open {
			o.open, o.line = true, at.Line
			o.why = "an index has no bound that is known"
			switch {
			case p.loaded:
				o.why = "an index is loaded from memory"
			case in.lo < 0 && in.lo > -wide:
				o.why = "an index may be negative"
			}
		}
	} else {
		o.in = o.in.join(interval{in.lo, in.hi + int64(size)})
		if f := p.form; f != nil && f.affine() && s.level == exact && s.given == nil && r.independent(s, f) && r.span(f) == in {
			o.top = max(o.top, in.hi+int64(size))
		}
	}
	if p.k == unknown || s.moved || s.level != exact {
		return
	}
	for l, w := range s.w {
		if w > 0 {
			n, _ := p.lane(l)
			o.seen[0], o.seen[1] = min(o.seen[0], n), max(o.seen[1], n+int64(size))
		}
	}
}

func (r *run) countAccess(s *state, at csource.Pos, o *object, size int, op operation) {
	var k, b Kind
	switch {
	case o.space == csource.Constants:
		r.count(s, at, ConstantLoad, 1)
		r.count(s, at, ConstantBytes, size)
		return
	case o.space == csource.Private:
		k = PrivateLoad
		if op != load {
			k = PrivateStore
		}
		r.count(s, at, k, 1)
		r.count(s, at, PrivateBytes, size)
		return
	case o.space == csource.Local:
		k, b = [...]Kind{LocalLoad, LocalStore, LocalAtomic}[op], [...]Kind{LocalReadBytes, LocalWriteBytes, LocalReadBytes}[op]
	default:
		k, b = [...]Kind{GlobalLoad, GlobalStore, GlobalAtomic}[op], [...]Kind{GlobalReadBytes, GlobalWriteBytes, GlobalReadBytes}[op]
	}
	r.count(s, at, k, 1)
	r.count(s, at, b, size)
	if op == update {
		r.count(s, at, b+1, size)
	}
}

// pattern looks at what neighbours access.
func (r *run) pattern(s *state, st *site, p *value, size int) {
	st.of += s.sum
	n := r.warp
	var kind Pattern
	var sectors float64
	banks := 1.0
	switch {
	case p.k == unknown:
		kind, sectors, banks = Indirect, float64(n), 2
	case p.k == uniform:
		kind, sectors = Uniform, float64((size+31)/32)
	default:
		var touched [2 * together]int64
		var words [together]int64
		m, at, active := 0, 0, 0
		stride, regular, last := int64(0), true, -1
		for l := range n {
			if s.w[l] <= 0 {
				continue
			}
			a := p.v[l]
			active++
			row := last >= 0 && (r.g.local[0] == 1 || r.ids[l][0]-r.ids[last][0] == int64(l-last))
			if row {
				d := (a - p.v[last]) / int64(l-last)
				if (a-p.v[last])%int64(l-last) != 0 {
					regular = false
				}
				if at == 0 {
					stride, at = d, 1
				} else if d != stride {
					regular = false
				}
			}
			last = l
			words[active-1] = a >> 2
			for q := a >> 5; q <= (a+int64(size)-1)>>5 && m < len(touched) && q-a>>5 < 8; q++ {
				if !slices.Contains(touched[:m], q) {
					touched[m] = q
					m++
				}
			}
		}
		sectors = float64(m)
		if st.obj.space == csource.Local {
			banks = conflicts(words[:active])
		}
		switch {
		case active < 2:
			kind = Unseen
		case !regular:
			kind = Irregular
		case stride == 0:
			kind = Uniform
		case stride == int64(size) || stride == -int64(size):
			kind, st.stride = Unit, stride
		default:
			kind, st.stride = Strided, stride
			if r.sideBySide(p.form, size) && max(stride, -stride) >= 32*int64(size) {
				kind = Transposed
			}
		}
	}
	st.weight[kind] += s.sum
	st.sectors += sectors * s.sum
	st.banks += banks * s.sum
}

// sideBySide tells whether an address moves by one element along another
// dimension or a loop.
func (r *run) sideBySide(f *form, size int) bool {
	if f == nil || !f.affine() {
		return false
	}
	for i, k := range f.k {
		if i != 0 && i != 3 && (k == int64(size) || k == -int64(size)) {
			return true
		}
	}
	return false
}

// conflicts is the greatest number of different words in one of 32 banks.
func conflicts(words []int64) float64 {
	var n [32]int
	most := 1
	for i, w := range words {
		if slices.Contains(words[:i], w) {
			continue
		}
		b := w & 31
		n[b]++
		most = max(most, n[b])
	}
	return float64(most)
}

// nowhere is the object of pointers of which nothing is known.
func (r *run) nowhere(t *csource.Type) *object {
	space := csource.Global
	if t.Class == csource.Pointer && t.Space == csource.Local {
		space = csource.Local
	}
	if r.lost[space] == nil {
		r.lost[space] = &object{name: "?", space: space, in: interval{inf, -inf}, seen: [2]int64{inf, -inf}}
	}
	return r.lost[space]
}

func newObject(name string, space csource.Space, elem *csource.Type) *object {
	return &object{name: name, space: space, elem: elem, in: interval{inf, -inf}, seen: [2]int64{inf, -inf}}
}
