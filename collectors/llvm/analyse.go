package llvm

import (
	"maps"
	"slices"
)

// Report is what is known of a function without running it.
type Report struct {
	Function *Function
	Total    Counts
	Edges    int
	Loops    []LoopReport // outer ones before those within
	Accesses []Access     // in the order of the text
}

// LoopReport is what is known of one iteration of a loop: of its blocks without
// those of the loops within it, whose iterations are their own.
type LoopReport struct {
	Loop
	Own       Counts
	Innermost bool
}

// Analyse looks at every function that a module defines.
func Analyse(m *Module) []Report {
	rs := make([]Report, 0, len(m.Functions))
	for _, f := range m.Functions {
		rs = append(rs, f.report())
	}
	return rs
}

func (f *Function) report() Report {
	loops := f.Loops()
	a := f.analyse(loops)
	r := Report{Function: f, Total: newCounts()}
	for _, l := range loops {
		r.Loops = append(r.Loops, LoopReport{Loop: l, Own: newCounts(), Innermost: true})
	}
	for _, l := range loops {
		if l.Parent >= 0 {
			r.Loops[l.Parent].Innermost = false
		}
	}
	in := inner(len(f.Blocks), loops)
	for i, b := range f.Blocks {
		r.Edges += len(b.Succs)
		counts := []*Counts{&r.Total}
		if in[i] >= 0 {
			counts = append(counts, &r.Loops[in[i]].Own)
		}
		for _, c := range counts {
			c.Blocks++
		}
		for _, ins := range b.Instrs {
			x, is := a.access(ins, i, in[i])
			if is {
				r.Accesses = append(r.Accesses, x)
			}
			for _, c := range counts {
				c.count(a, ins, x, is)
			}
		}
	}
	return r
}

// Feature is a static feature; it has no value where there is none, such as
// the intensity of what moves no byte.
type Feature struct {
	Name  string
	Value float64
	None  bool
}

// Features lists what is known of a function.
func (r Report) Features() []Feature {
	depth, innermost := 0, 0
	for _, l := range r.Loops {
		depth = max(depth, l.Depth)
		if l.Innermost {
			innermost++
		}
	}
	fs := []Feature{{Name: "args", Value: float64(len(r.Function.Params))},
		{Name: "edges", Value: float64(r.Edges)},
		{Name: "cyclomatic", Value: float64(r.Edges - r.Total.Blocks + 2)},
		{Name: "loops", Value: float64(len(r.Loops))},
		{Name: "loops_innermost", Value: float64(innermost)},
		{Name: "loop_depth_max", Value: float64(depth)}}
	return append(fs, r.Total.features()...)
}

// Features lists what is known of an iteration of a loop.
func (l LoopReport) Features() []Feature {
	is := 0.0
	if l.Innermost {
		is = 1
	}
	fs := []Feature{{Name: "loop_depth", Value: float64(l.Depth)}, {Name: "innermost", Value: is}, {Name: "latches", Value: float64(len(l.Latch))}}
	return append(fs, l.Own.features()...)
}

func (c Counts) features() []Feature {
	var fs []Feature
	add := func(name string, v int) { fs = append(fs, Feature{Name: name, Value: float64(v)}) }
	add("instructions", c.Instrs)
	add("blocks", c.Blocks)
	add("branches_conditional", c.CondBranches)
	add("branches_item_dependent", c.ItemBranches)
	add("calls", c.Calls)
	add("calls_indirect", c.IndirectCalls)
	add("calls_math", c.MathCalls)
	add("intrinsics", c.Intrinsics)
	add("barriers", c.Barrier)
	add("loads", c.Loads)
	add("stores", c.Stores)
	add("atomics", c.Atomics)
	add("load_bytes", int(c.LoadBytes))
	add("store_bytes", int(c.StoreBytes))
	add("global_bytes", int(c.Global))
	add("local_bytes", int(c.Local))
	flops := 0
	for _, t := range slices.Sorted(maps.Keys(c.Flops)) {
		add("flop."+t, c.Flops[t])
		flops += c.Flops[t]
	}
	add("flop", flops) // a count: names that end in "flops" are rates
	bytes := c.LoadBytes + c.StoreBytes
	intensity := Feature{Name: "arithmetic_intensity", None: bytes == 0}
	if bytes > 0 {
		intensity.Value = float64(flops) / float64(bytes)
	}
	fs = append(fs, intensity)
	for _, p := range patterns {
		add("access.loop."+p, c.Loop[p])
	}
	if len(c.Item) > 0 {
		for _, p := range patterns {
			add("access.item."+p, c.Item[p])
		}
	}
	for _, g := range slices.Sorted(maps.Keys(c.Groups)) {
		add("group."+g, c.Groups[g])
	}
	for _, op := range slices.Sorted(maps.Keys(c.Ops)) {
		add("op."+op, c.Ops[op])
	}
	return fs
}
