package kernelcost

import (
	"strings"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// id is the value of a geometry query along an axis.
func (r *run) id(s *state, x axis, t *csource.Type) *value {
	in := s.in.axis[x]
	n := r.g.extent(x)
	if n == 1 {
		return constant(0, t)
	}
	var f form
	switch d := int(x) % 3; {
	case x < localAxis:
		f.k[d], f.k[3+d] = 1, r.g.local[d]
		if r.g.local[d] == 1 {
			f.k[d] = 1
		}
	case x < groupAxis:
		f.k[d] = 1
	default:
		f.k[3+d] = 1
	}
	v := &value{t: t, k: varying, in: in, form: &f, v: r.alloc()}
	for l := range v.v {
		v.v[l], _ = f.eval(&r.ids[l])
	}
	return v
}

// extent is the number of values of an axis of ids.
func (g *geometry) extent(x axis) int64 {
	switch d := int(x) % 3; {
	case x < localAxis:
		return g.global[d]
	case x < groupAxis:
		return g.local[d]
	default:
		return g.groups[d]
	}
}

// builtinID is threadIdx.x and the like; nil for other members.
func (r *run) builtinID(e *csource.Member) *value {
	id, ok := e.X.(*csource.Ident)
	if !ok || id.Slot >= 0 || len(e.Name) != 1 || e.Name[0] < 'x' || e.Name[0] > 'z' {
		return nil
	}
	d := int(e.Name[0] - 'x')
	switch id.Name {
	case "threadIdx":
		return r.id(r.now, axis(localAxis+d), tUint)
	case "blockIdx":
		return r.id(r.now, axis(groupAxis+d), tUint)
	case "blockDim":
		return constant(r.g.local[d], tUint)
	case "gridDim":
		return constant(r.g.groups[d], tUint)
	}
	return nil
}

// query answers get_global_id and its like.
func (r *run) query(s *state, name string, args []*value) *value {
	if !strings.HasPrefix(name, "get_") {
		return nil
	}
	d := 0
	if len(args) > 0 && args[0].k == uniform && args[0].u >= 0 && args[0].u < 3 {
		d = int(args[0].u)
	} else if len(args) > 0 {
		return anything(tSize, false)
	}
	switch name {
	case "get_global_id":
		return r.id(s, axis(globalAxis+d), tSize)
	case "get_local_id":
		return r.id(s, axis(localAxis+d), tSize)
	case "get_group_id":
		return r.id(s, axis(groupAxis+d), tSize)
	case "get_global_size":
		return constant(r.g.global[d], tSize)
	case "get_local_size", "get_enqueued_local_size":
		return constant(r.g.local[d], tSize)
	case "get_num_groups":
		return constant(r.g.groups[d], tSize)
	case "get_global_offset":
		return constant(0, tSize)
	case "get_work_dim":
		n := int64(1)
		for d := range 3 {
			if r.g.global[d] > 1 {
				n = int64(d + 1)
			}
		}
		return constant(n, tUint)
	}
	return nil
}

// mathKinds are functions of numbers by what they cost, without the prefixes
// and suffixes that name a precision.
var mathKinds = func() map[string]Kind {
	m := map[string]Kind{}
	for k, names := range map[Kind]string{
		FMA:            "fma mad",
		Div:            "recip divide fdividef fdiv_rn rcp fmod remainder drcp_rn frcp_rn",
		Sqrt:           "sqrt rsqrt cbrt hypot length distance normalize fsqrt_rn rnorm3d norm3d",
		Transcendental: "exp exp2 exp10 expm1 log log2 log10 log1p logb asinh acosh atanh sinh cosh tanh",
		Trigonometric:  "sin cos tan sinpi cospi tanpi sincos sincospi asin acos atan atan2",
		Power:          "pow powr pown rootn erf erfc erfinv erfcinv normcdf normcdfinv tgamma lgamma j0 j1 y0 y1",
		Simple:         "fabs fmin fmax floor ceil round rint trunc sign copysign step smoothstep clamp mix isnan isinf isfinite signbit fdim frac fract modf frexp ldexp nextafter degrees radians saturate nearbyint scalbn maxmag minmag",
	} {
		for n := range strings.FieldsSeq(names) {
			m[n] = k
		}
	}
	return m
}()

// mathName strips native_, half_, __ and the suffix f.
func mathName(name string) (base string, k Kind, ok bool) {
	base = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "native_"), "half_"), "__")
	if k, ok = mathKinds[base]; ok {
		return base, k, true
	}
	if strings.HasSuffix(base, "f") {
		if k, ok = mathKinds[base[:len(base)-1]]; ok {
			return base[:len(base)-1], k, true
		}
	}
	if i := strings.LastIndexByte(base, '_'); i > 0 { // __fmaf_rn
		b := strings.TrimSuffix(base[:i], "f")
		if k, ok = mathKinds[b]; ok {
			return b, k, true
		}
	}
	return "", 0, false
}

func (r *run) call(s *state, e *csource.Call) *value {
	if e.Name == "" {
		for _, a := range e.Args {
			r.eval(s, a)
		}
		r.count(s, e.Pos, UnknownCall, 1)
		return anything(tFloat, true)
	}
	args := make([]*value, len(e.Args))
	fn := r.p.functions[e.Name]
	for i, a := range e.Args {
		if fn != nil && i < len(fn.Params) && fn.Params[i].Type.Ref {
			if p, t := r.place(s, a); p != nil {
				c := *p
				c.t = t
				args[i] = &c
				continue
			}
		}
		args[i] = r.eval(s, a)
	}
	r.now = s
	if s.dead {
		return anything(tInt, true)
	}
	defer r.forget(s, e)
	if fn != nil && fn.Body != nil && !(fn.Kernel && len(r.calls) == 0) {
		if r.quiet > 0 && len(r.calls) > 4 {
			return anything(resultOf(fn), true)
		}
		return r.follow(s, fn, args)
	}
	if v := r.query(s, e.Name, args); v != nil {
		return v
	}
	if v := r.memoryCall(s, e, args); v != nil {
		return v
	}
	return r.mathCall(s, e, args)
}

// forget makes unknown what a call may have changed through a reference.
func (r *run) forget(s *state, e *csource.Call) {
	lose := func(slot int) {
		if v := r.get(s, slot); v.obj == nil {
			r.set(s, slot, anything(v.t, true))
		}
	}
	for _, slot := range givenAway(e, r.p.functions) {
		lose(slot)
	}
	for _, a := range e.Args {
		for _, slot := range givenAway(a, r.p.functions) {
			lose(slot)
		}
	}
}

func resultOf(f *csource.Function) *csource.Type {
	if f.Result == nil {
		return tInt
	}
	return f.Result
}

// mathCall is a function of numbers, or unknown.
func (r *run) mathCall(s *state, e *csource.Call, args []*value) *value {
	name := e.Name
	out := anything(tFloat, false)
	t := tInt
	for i, a := range args {
		out.loaded = out.loaded || a.loaded
		out.depth, out.chain = max(out.depth, a.depth), max(out.chain, a.chain)
		if a.t.Class == csource.Integer || a.t.Class == csource.Floating || a.t.Class == csource.Unknown {
			if i == 0 {
				t = a.t
			} else {
				t = usual(t, a.t)
			}
		}
	}
	out.t = t
	floating := t.Class != csource.Integer
	integer := func(k Kind, n int) { r.count(s, e.Pos, k, n*width(t)) }
	switch {
	case (name == "min" || name == "max") && len(args) == 2 && !floating && width(t) == 1:
		integer(IntAdd, 1)
		return r.integers(name, args[0], args[1], usual(args[0].t, args[1].t))
	case name == "clamp" && len(args) == 3 && !floating && width(t) == 1:
		integer(IntAdd, 2)
		return r.integers("min", r.integers("max", args[0], args[1], t), args[2], t)
	case (name == "mul24" || name == "__mul24" || name == "__umul24") && len(args) == 2:
		integer(IntMul, 1)
		return r.integers("*", args[0], args[1], t)
	case (name == "mad24") && len(args) == 3:
		integer(IntMul, 1)
		integer(IntAdd, 1)
		return r.integers("+", r.integers("*", args[0], args[1], t), args[2], t)
	case name == "abs" && len(args) == 1 && !floating:
		integer(IntAdd, 1)
		return r.integers("max", args[0], r.integers("-", constant(0, t), args[0], t), t)
	case name == "min" || name == "max" || name == "abs" || name == "fabs" || name == "clamp" || name == "select" || name == "bitselect":
		if floating {
			r.countFloat(s, e.Pos, Simple, t)
		} else {
			integer(IntAdd, 1)
		}
	case name == "dot":
		w := width(t)
		r.count(s, e.Pos, Float(Mul, t.Bytes), w)
		r.count(s, e.Pos, Float(Add, t.Bytes), w-1)
		r.count(s, e.Pos, Float(Fusable, t.Bytes), w-1)
		out.t = scalar(t)
	case name == "cross":
		r.count(s, e.Pos, Float(Mul, t.Bytes), 6)
		r.count(s, e.Pos, Float(Add, t.Bytes), 3)
	case strings.HasPrefix(name, "convert_") || strings.HasPrefix(name, "as_") || isReinterpret(name):
		return r.conversionCall(s, e, args, out)
	case intFunctions[name]:
		integer(IntAdd, 1)
		if floating {
			out.t = tInt
		}
		out.in = rangeOf(out.t)
		if strings.Contains(name, "hi") {
			integer(IntMul, 1)
		}
	default:
		base, k, ok := mathName(name)
		if !ok {
			r.count(s, e.Pos, UnknownCall, 1)
			r.note("%s is not defined in the source: its calls are counted, what they do is not", name)
			out.loaded = true
			return out
		}
		if !floating {
			t = lanesOf(tDouble, width(t))
			if r.p.Unit.Dialect == csource.OpenCL || strings.HasSuffix(name, "f") {
				t = lanesOf(tFloat, width(t))
			}
			out.t = t
		}
		if strings.HasSuffix(name, "f") && t.Bytes == 8 {
			t = lanesOf(tFloat, width(t))
			out.t = t
		}
		r.mathFunction(s, e.Pos, base, k, t)
		out.in = all
		switch base {
		case "length", "distance":
			out.t = scalar(t)
		case "isnan", "isinf", "isfinite", "signbit":
			out.t = tInt
			out.in = interval{-1, 1}
		}
	}
	if out.t.Class == csource.Integer && out.in == all {
		out.in = rangeOf(out.t)
	}
	out.depth++
	return out
}

func (r *run) mathFunction(s *state, at csource.Pos, base string, k Kind, t *csource.Type) {
	if r.quiet == 0 {
		n := s.sum * r.share * float64(width(t))
		r.called[base] += n
		if width(t) > 1 {
			switch k {
			case Transcendental, Trigonometric, Power, Sqrt:
				r.vectorCalls += n
			}
		}
	}
	switch base {
	case "length", "distance", "normalize", "hypot":
		w := max(width(t), 1)
		r.count(s, at, Float(Mul, t.Bytes), w)
		r.count(s, at, Float(Add, t.Bytes), max(w-1, 1))
		r.count(s, at, Float(Sqrt, t.Bytes), 1)
		return
	case "mix":
		r.countFloat(s, at, Mul, t)
		r.count(s, at, Float(Add, t.Bytes), 2*width(t))
		return
	case "sincos", "sincospi":
		r.countFloat(s, at, k, t)
	}
	r.countFloat(s, at, k, t)
}

var intFunctions = func() map[string]bool {
	m := map[string]bool{}
	for n := range strings.FieldsSeq("popcount clz ctz rotate hadd rhadd add_sat sub_sat mul_hi mad_hi mad_sat upsample __clz __popc __popcll __ffs __ffsll __brev __clzll __mulhi __umulhi __byte_perm __funnelshift_l any all isless isgreater isequal isnotequal islessequal isgreaterequal") {
		m[n] = true
	}
	return m
}()

func isReinterpret(name string) bool {
	return strings.HasPrefix(name, "__") && (strings.Contains(name, "_as_") || strings.Contains(name, "2")) &&
		(strings.HasPrefix(name, "__int") || strings.HasPrefix(name, "__float") || strings.HasPrefix(name, "__double") || strings.HasPrefix(name, "__half") || strings.HasPrefix(name, "__uint") || strings.HasPrefix(name, "__ll"))
}

// conversionCall is convert_float4, as_int, __int2float_rn.
func (r *run) conversionCall(s *state, e *csource.Call, args []*value, out *value) *value {
	name := e.Name
	var to string
	switch {
	case strings.HasPrefix(name, "convert_"):
		to, _, _ = strings.Cut(name[len("convert_"):], "_")
	case strings.HasPrefix(name, "as_"):
		to = name[len("as_"):]
	default:
		_, to, _ = strings.Cut(strings.ReplaceAll(name, "_as_", "2"), "2")
		to, _, _ = strings.Cut(to, "_")
	}
	t := csource.Named(to)
	if t == nil {
		t = tFloat
	}
	if len(args) == 1 && strings.HasPrefix(name, "convert_") {
		r.countConvert(s, e.Pos, args[0], t)
		if width(t) == 1 {
			return r.convert(args[0], t)
		}
	} else if !strings.Contains(name, "as_") {
		r.count(s, e.Pos, Convert, 1)
	}
	v := anything(t, out.loaded)
	v.depth, v.chain = out.depth+1, out.chain
	return v
}
