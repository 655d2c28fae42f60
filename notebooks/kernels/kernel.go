package kernels

import (
	"fmt"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/collectors/caliper"
)

// Count is what one call of a kernel does, as its source says.
type Count struct {
	Add, Mul, FMA, Div float64 // floating-point operations, counted per number, not per vector
	Load, Store        float64 // numbers read and written by instructions, 8 bytes each
	Gather             float64 // those of Load at addresses that no pattern predicts
	Stride             float64 // distance in numbers between neighbouring loads; 1 is contiguous
	Trips              float64 // iterations of the innermost loop
	Chain              float64 // operations that wait for the one before, in the innermost loop
	Width              float64 // numbers per instruction; 1 is scalar code
	Distinct           float64 // different numbers touched, whole cache lines where it strides
}

// Flop is add + mul + 2 fma + div.
func (c Count) Flop() float64 { return c.Add + c.Mul + 2*c.FMA + c.Div }

// each scales the counts of one element to n elements.
func (c Count) each(n int) Count {
	f := float64(n)
	for _, v := range []*float64{&c.Add, &c.Mul, &c.FMA, &c.Div, &c.Load, &c.Store, &c.Gather, &c.Trips, &c.Chain, &c.Distinct} {
		*v *= f
	}
	return c
}

// Kernel is one of the kernels.
type Kernel struct {
	Name  string
	About string // what it computes
	// Count is the work of one call at size n.
	Count func(n int) Count
	// Prepare allocates and fills the data of size n and returns the call.
	Prepare func(n int) func()
	// Square says that n is the side of matrices: work grows faster than n.
	Square bool
}

// All lists the kernels that this machine can run, by name. Those that end in
// "_simd" need AVX2 and a Go toolchain with GOEXPERIMENT=simd.
func All() []Kernel {
	ks := append(scalar(), vector()...)
	sort.Slice(ks, func(i, j int) bool { return ks[i].Name < ks[j].Name })
	return ks
}

// Find returns the kernel of a name.
func Find(name string) (Kernel, error) {
	var names []string
	for _, k := range All() {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kernel{}, fmt.Errorf("there is no kernel %q; there are %s", name, strings.Join(names, ", "))
}

// metrics are a count under the names that profiles use.
func (c Count) metrics() []caliper.Metric {
	return []caliper.Metric{
		{Name: "flop.fp64", Value: c.Flop()},
		{Name: "op.add", Value: c.Add}, {Name: "op.mul", Value: c.Mul}, {Name: "op.fma", Value: c.FMA}, {Name: "op.div", Value: c.Div},
		{Name: "op.load", Value: c.Load}, {Name: "op.store", Value: c.Store}, {Name: "op.gather", Value: c.Gather},
		{Name: "op.chain", Value: c.Chain}, {Name: "loop.trips", Value: c.Trips},
		{Name: "load.stride", Value: c.Stride}, {Name: "vector.width", Value: c.Width},
		{Name: "byte.l1", Unit: "byte", Value: 8 * (c.Load + c.Store)},
		{Name: "byte.footprint", Unit: "byte", Value: 8 * c.Distinct},
	}
}
