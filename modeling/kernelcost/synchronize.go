package kernelcost

import (
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// memoryCall is a barrier, an atomic, a vector load or an exchange between
// work-items; nil where a call is none of these.
func (r *run) memoryCall(s *state, e *csource.Call, args []*value) *value {
	name := e.Name
	void := func() *value { return anything(tInt, true) }
	switch {
	case name == "barrier" || name == "work_group_barrier" || name == "__syncthreads" || name == "sync" ||
		strings.HasPrefix(name, "__syncthreads_"):
		r.count(s, e.Pos, Barrier, 1)
		return void()
	case name == "mem_fence" || name == "read_mem_fence" || name == "write_mem_fence" || strings.HasPrefix(name, "__threadfence") ||
		name == "__syncwarp" || name == "prefetch" || name == "printf" || name == "assert" || name == "sub_group_barrier" || name == "wait_group_events":
		return void()
	case strings.HasPrefix(name, "__shfl") || strings.HasPrefix(name, "sub_group_") || strings.HasPrefix(name, "work_group_") ||
		name == "__ballot_sync" || name == "__ballot" || name == "__any_sync" || name == "__all_sync" || name == "__activemask" || strings.HasPrefix(name, "__reduce_"):
		r.count(s, e.Pos, Exchange, 1)
		t := tInt
		for _, a := range args {
			if a.isFloat() {
				t = a.t
			}
		}
		out := anything(t, true)
		for _, a := range args {
			out.depth = max(out.depth, a.depth+1)
		}
		return out
	case name == "__ldg" || name == "__ldcs" || name == "__ldca" || name == "__ldcg":
		if len(args) > 0 && pointer(args[0]) {
			return r.read(s, args[0], pointee(args[0].t), e.ID, e.Pos)
		}
	case strings.HasPrefix(name, "vload") && len(args) >= 2 && pointer(args[1]):
		t, p := r.vector(name[len("vload"):], args[1], args[0])
		return r.read(s, p, t, e.ID, e.Pos)
	case strings.HasPrefix(name, "vstore") && len(args) >= 3 && pointer(args[2]):
		t, p := r.vector(name[len("vstore"):], args[2], args[1])
		r.write(s, p, t, e.ID, e.Pos, args[0])
		return void()
	case isAtomic(name) && len(args) >= 1 && pointer(args[0]):
		t := pointee(args[0].t)
		op := update
		if strings.HasPrefix(name, "atomic_load") {
			op = load
		}
		r.access(s, e.ID, e.Pos, args[0], t, op)
		if t.Class == csource.Floating && (strings.Contains(strings.ToLower(name), "add") || strings.Contains(strings.ToLower(name), "sub")) {
			r.countFloat(s, e.Pos, Add, t)
		}
		out := anything(t, true)
		out.depth, out.chain = args[0].depth+1, args[0].chain+1
		return out
	case name == "async_work_group_copy" && len(args) >= 3 && pointer(args[0]) && pointer(args[1]):
		r.copyTogether(s, e, args)
		return void()
	}
	return nil
}

func pointer(v *value) bool { return v.t.Class == csource.Pointer || v.t.Class == csource.Array }

// vector is what vloadN reads: N elements at n * N behind p.
func (r *run) vector(suffix string, p, n *value) (*csource.Type, *value) {
	suffix = strings.TrimLeft(suffix, "_half")
	w, err := strconv.Atoi(suffix)
	if err != nil || w < 1 || w > 16 {
		w = 1
	}
	el := scalar(pointee(p.t))
	t := lanesOf(el, w)
	n = r.integers("*", r.convert(n, tLong), constant(int64(w), tLong), tLong)
	return t, r.offset(p, n, el, "+")
}

func isAtomic(name string) bool {
	if strings.HasPrefix(name, "atomic_") || strings.HasPrefix(name, "atom_") {
		return true
	}
	return strings.HasPrefix(name, "atomic") && len(name) > 6 && name[6] >= 'A' && name[6] <= 'Z'
}

// copyTogether is async_work_group_copy(to, from, n): the work-items of a group
// share n loads and stores.
func (r *run) copyTogether(s *state, e *csource.Call, args []*value) {
	n, ok := args[2].lane(0)
	if !ok || n < 0 {
		r.count(s, e.Pos, Unread, 1)
		return
	}
	share := float64(n) / float64(r.g.local[0]*r.g.local[1]*r.g.local[2])
	c := s.clone()
	c.scale(share)
	last := constant(max(n-1, 0), tLong)
	for i, op := range []operation{store, load} {
		t := pointee(args[i].t)
		p := r.offset(args[i], &value{t: tLong, in: interval{0, last.u}}, t, "+")
		r.access(c, e.ID, e.Pos, p, t, op)
	}
}
