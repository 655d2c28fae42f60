package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Kernel is a generated kernel with the launches to measure.
type Kernel struct {
	Name     string
	Pattern  string
	Source   string
	Launches []Launch
}

// Launch is one launch of a Kernel.
type Launch struct {
	Values        map[string]int64 // of int arguments
	Args          []string         // as package opencl takes them, NAME=SPEC
	Global, Local []int64
	Accesses      float64 // an upper bound of memory accesses and operations
	Bytes         int64   // of all buffers
}

// ID is a hash of the source with its names and numbers of lines left as they are.
func (k Kernel) ID() string {
	h := sha256.Sum256([]byte(k.Source))
	return hex.EncodeToString(h[:8])
}

// draw chooses a launch: values of the int arguments, and geometry.
type draw func(r *rand.Rand) (values map[string]int64, global, local []int64)

// pattern is a family of kernels.
type pattern struct {
	name  string
	write func(w *writer) draw
}

// Limits of a launch. Accesses bound its time: about a nanosecond each on one
// core, give or take ten times.
const (
	fewestAccesses = 3e3
	mostAccesses   = 1.5e8
	mostBytes      = 192 << 20
	mostLocal      = 32 << 10
)

// kernel writes one kernel of a pattern with n launches, ok if it found any.
func (p pattern) kernel(seed [2]uint64, n int, checks bool) (k Kernel, ok bool) {
	r := rand.New(rand.NewPCG(seed[0], seed[1]))
	w := &writer{r: r, used: map[string]bool{}, checks: checks}
	w.style = style{long: w.chance(0.5), restrict: w.chance(0.4), comments: w.chance(0.25), qualifier: w.pick("__kernel", "kernel")}
	for _, reserved := range []string{"half", "char", "int", "float", "double", "kernel", "global", "local", "constant", "private", "image", "event", "sampler", "dot", "cross", "distance", "length", "min", "max", "exp", "log", "step", "select", "mix", "sign", "floor", "round"} {
		w.used[reserved] = true
	}
	name := w.name(p.name, p.name+"_"+w.pick("kernel", "main", "step", "v1", "gpu", "compute"))
	choose := p.write(w)
	k = Kernel{Name: name, Pattern: p.name, Source: w.source(name)}
	seen := map[string]bool{}
	for range 60 * n {
		if len(k.Launches) == n {
			break
		}
		values, global, local := choose(r)
		l, fits := w.launch(values, global, local)
		key := fmt.Sprint(l.Args, l.Global, l.Local)
		if fits && !seen[key] {
			seen[key] = true
			k.Launches = append(k.Launches, l)
		}
	}
	return k, len(k.Launches) > 0
}

// source is the text of the kernel.
func (w *writer) source(name string) string {
	var ps []string
	for _, p := range w.params {
		switch p.kind {
		case bufferParam, constParam:
			space, qualifier := "__global ", ""
			if p.kind == constParam {
				space = "__constant "
			} else if p.access == "r" {
				space = "__global const "
			}
			if w.style.restrict && p.kind == bufferParam {
				qualifier = "restrict "
			}
			ps = append(ps, fmt.Sprintf("%s%s *%s%s", space, p.typ, qualifier, p.name))
			if w.checks {
				ps = append(ps, fmt.Sprintf("const int %s_length", p.name))
			}
		case localParam:
			ps = append(ps, fmt.Sprintf("__local %s *%s", p.typ, p.name))
		default:
			ps = append(ps, fmt.Sprintf("const %s %s", p.typ, p.name))
		}
	}
	head := ""
	if w.style.comments {
		head = "// " + strings.ReplaceAll(name, "_", " ") + "\n"
	}
	body := w.text.String()
	if strings.Contains(body+strings.Join(ps, ""), "double") {
		head += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
	}
	if w.checks {
		head += "int in_bounds(int i, int n, __global int *faults) {\n  if (i < 0 || i >= n) { atomic_inc(faults); return 0; }\n  return i;\n}\n"
		ps = append(ps, "__global int *rooflab_faults")
	}
	sep := ", "
	if len(ps) > 4 {
		sep = ",\n    "
	}
	return fmt.Sprintf("%s%s void %s(%s) {\n%s}\n", head, w.style.qualifier, name, strings.Join(ps, sep), body)
}

// launch solves what a launch needs: sizes of buffers and the work.
func (w *writer) launch(values map[string]int64, global, local []int64) (Launch, bool) {
	l := Launch{Values: values, Global: global, Local: local}
	env := &env{values: map[string]int64{}}
	for n, v := range values {
		env.values[n] = v
	}
	items := int64(1)
	group := int64(1)
	for d := range global {
		if local[d] <= 0 || global[d] <= 0 || global[d]%local[d] != 0 {
			return l, false
		}
		env.values[fmt.Sprint(globalSize, d)] = global[d]
		env.values[fmt.Sprint(localSize, d)] = local[d]
		env.values[fmt.Sprint(groupCount, d)] = global[d] / local[d]
		items *= global[d]
		group *= local[d]
	}
	if group > 1024 {
		return l, false
	}
	lengths := map[*parameter]int64{}
	for _, a := range w.seen {
		executed := float64(items)
		possible := true
		for _, t := range a.trips {
			n := t.count.span(env.with(t.scope)).hi
			executed *= float64(n)
			possible = possible && n > 0
		}
		if a.buffer == nil {
			l.Accesses += executed * float64(a.at.(constant))
			continue
		}
		l.Accesses += executed
		if !possible {
			continue
		}
		s := a.at.span(env.with(a.scope))
		if s.lo < 0 {
			panic(fmt.Sprintf("generate: %s[%s] can be below 0 (%d) in\n%s", a.buffer.name, a.at, s.lo, w.text.String()))
		}
		lengths[a.buffer] = max(lengths[a.buffer], s.hi+1)
	}
	inLocal := int64(0)
	for _, b := range w.locals {
		inLocal += b.span(env).hi
	}
	value := func(x index) int64 { return x.span(env).hi }
	for _, p := range w.params {
		switch p.kind {
		case sizeParam:
			l.Args = append(l.Args, fmt.Sprintf("%s=int:%d", p.name, values[p.name]))
		case floatParam:
			l.Args = append(l.Args, fmt.Sprintf("%s=%s:%s", p.name, p.typ, p.value))
		case localParam:
			n := value(p.bytes)
			inLocal += n
			l.Args = append(l.Args, fmt.Sprintf("%s=local:%d", p.name, n))
		default:
			n := max(lengths[p], 1)
			if n > math.MaxInt32 {
				return l, false
			}
			l.Bytes += n * sizeOf(p.typ)
			if p.kind == constParam && n*sizeOf(p.typ) > 48<<10 {
				return l, false
			}
			l.Args = append(l.Args, fmt.Sprintf("%s=buf:%s:%d:%s:%s", p.name, p.typ, n, p.init(value), p.access))
			if w.checks {
				l.Args = append(l.Args, fmt.Sprintf("%s_length=int:%d", p.name, n))
			}
		}
	}
	if w.checks {
		l.Args = append(l.Args, "rooflab_faults=buf:int:1:zero:rw")
	}
	return l, l.Accesses >= fewestAccesses && l.Accesses <= mostAccesses && l.Bytes <= mostBytes && inLocal <= mostLocal
}

func (e *env) with(scope []binding) *env { return &env{e.values, scope} }

// logUniform draws a number in [lo, hi], each octave alike; half of the time a
// round one.
func logUniform(r *rand.Rand, lo, hi int64) int64 {
	v := math.Exp(math.Log(float64(lo)) + r.Float64()*(math.Log(float64(hi))-math.Log(float64(lo))))
	n := int64(v)
	if r.IntN(2) == 0 {
		n = 1 << int(math.Round(math.Log2(v)))
	}
	return min(max(n, lo), hi)
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// groupSizes are two work-group sizes for a kernel: a driver may compile it
// again for each.
func (w *writer) groupSizes(among ...int64) []int64 {
	if len(among) == 0 {
		among = []int64{16, 32, 64, 128, 256}
	}
	a := among[w.r.IntN(len(among))]
	b := among[w.r.IntN(len(among))]
	return slices.Compact([]int64{a, b})
}

func oneOf(r *rand.Rand, ns []int64) int64 { return ns[r.IntN(len(ns))] }
