package kernelcost

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Launch is a launch of a kernel.
type Launch struct {
	Kernel string // empty if the source has one kernel
	// Scalars are the values of arguments that are no pointers, by parameter.
	// What is missing is unknown.
	Scalars map[string]float64
	// Bytes are the sizes of buffers and of local arguments where known, by
	// parameter. They bound loops whose ends are loaded.
	Bytes map[string]int64
	// Fill is what buffers hold, where known, by parameter: it tells how often a
	// comparison of what is loaded with a number holds.
	Fill map[string]Fill
	// Global counts work-items, a multiple of Local; up to three dimensions.
	// For CUDA that is grid times block.
	Global, Local []int64
	Seed          uint64 // of the sample of work-items
	Assume        Assumptions
}

// Assumptions stand in for what only data could tell. Zero fields have the
// values of Usual.
type Assumptions struct {
	Trips float64 // of a loop without a known end
	Taken float64 // share of the work-items that take a branch by data
	Leave float64 // share of its bound that a loop runs which data can end
}

// Usual are the defaults: 16 iterations, half of the work-items, half of the
// bound.
var Usual = Assumptions{Trips: 16, Taken: 0.5, Leave: 0.5}

// geometry is a launch's shape.
type geometry struct {
	global, local, groups [3]int64
	items                 int64
}

func (l *Launch) geometry() (*geometry, error) {
	g := &geometry{items: 1}
	if len(l.Global) < 1 || len(l.Global) > 3 || len(l.Local) > len(l.Global) {
		return nil, fmt.Errorf("the launch of %s has global size %v and local size %v; 1 to 3 dimensions are expected, the same for both", l.Kernel, l.Global, l.Local)
	}
	for d := range 3 {
		g.global[d], g.local[d] = 1, 1
		if d < len(l.Global) {
			g.global[d] = l.Global[d]
		}
		if d < len(l.Local) {
			g.local[d] = l.Local[d]
		}
		if g.global[d] < 1 || g.local[d] < 1 || g.global[d]%g.local[d] != 0 {
			return nil, fmt.Errorf("the launch of %s has global size %v and local size %v; in each dimension the global one must be a positive multiple of the local one", l.Kernel, l.Global, l.Local)
		}
		g.groups[d] = g.global[d] / g.local[d]
		if g.items > math.MaxInt64/4/g.global[d] || g.items*g.global[d] > 1<<48 {
			return nil, fmt.Errorf("the launch of %s has %v work-items: too many", l.Kernel, l.Global)
		}
		g.items *= g.global[d]
	}
	if g.local[0] > 1<<20 || g.local[1] > 1<<20 || g.local[2] > 1<<20 {
		return nil, fmt.Errorf("the launch of %s has local size %v: too large", l.Kernel, l.Local)
	}
	return g, nil
}

func (g *geometry) ranges() (r ranges) {
	for d := range 3 {
		r.axis[globalAxis+d] = interval{0, g.global[d] - 1}
		r.axis[localAxis+d] = interval{0, g.local[d] - 1}
		r.axis[groupAxis+d] = interval{0, g.groups[d] - 1}
	}
	return r
}

// Sampled work-items: neighbours that a GPU would run together, then others
// from all over the launch, each mirrored so that means of what is affine in
// the id are exact.
const (
	together = 32
	apart    = 16
)

// sample chooses lanes: ids by lane and the number of work-items each stands for.
func (g *geometry) sample(seed uint64) (ids [][symbols]int64, w []float64, warp int) {
	group := g.local[0] * g.local[1] * g.local[2]
	// at is the linear number of a work-item, group by group.
	id := func(n int64) (s [symbols]int64) {
		in, of := n%group, n/group
		s[0], s[1], s[2] = in%g.local[0], in/g.local[0]%g.local[1], in/g.local[0]/g.local[1]
		s[3], s[4], s[5] = of%g.groups[0], of/g.groups[0]%g.groups[1], of/g.groups[0]/g.groups[1]
		return s
	}
	warp = int(min(group, together))
	if g.items <= together+apart {
		for n := range g.items {
			ids = append(ids, id(n))
			w = append(w, 1)
		}
		return ids, w, warp
	}
	first := (g.items/group/2)*group + group/2/together*together
	if first+int64(warp) > (first/group+1)*group {
		first = first / group * group
	}
	strata := float64(apart + 1)
	for n := range warp {
		ids = append(ids, id(first+int64(n)))
		w = append(w, float64(g.items)/strata/float64(warp))
	}
	r := rand.New(rand.NewPCG(seed, 0x6b65726e))
	for s := range apart / 2 {
		n := int64(0)
		if s > 0 {
			n = int64((float64(s) + r.Float64()) / apart * float64(g.items))
		}
		for _, n := range [2]int64{n, g.items - 1 - n} {
			ids = append(ids, id(n))
			w = append(w, float64(g.items)/strata)
		}
	}
	return ids, w, warp
}

func (a Assumptions) filled() Assumptions {
	if a.Trips <= 0 {
		a.Trips = Usual.Trips
	}
	if a.Taken <= 0 || a.Taken > 1 {
		a.Taken = Usual.Taken
	}
	if a.Leave <= 0 || a.Leave > 1 {
		a.Leave = Usual.Leave
	}
	return a
}
