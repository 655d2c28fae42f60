package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// Kind is what is counted. The floating-point kinds follow one another by
// precision: Float(Mul, 4) is the multiplication of floats.
type Kind uint8

// Floating-point operations of one precision, per lane of a vector.
const (
	Add            Kind = iota // additions, subtractions
	Mul                        // multiplications
	FMA                        // fma, mad: explicit ones
	Div                        // divisions, reciprocals
	Sqrt                       // square roots, their reciprocals
	Transcendental             // exp, log and what is about as dear
	Trigonometric              // sin, cos, tan and their inverses
	Power                      // pow, the gamma and the error function, Bessel's
	Simple                     // comparisons, min, max, abs, rounding, negation
	Fusable                    // of the additions those that could take in a product
	perPrecision
)

// Kinds that know no precision.
const (
	IntAdd       Kind = 3*perPrecision + iota // integer additions, logic, shifts, comparisons
	IntMul                                    // integer multiplications
	IntDiv                                    // integer divisions, remainders
	Convert                                   // conversions between integers and floats
	BranchAll                                 // branches that all work-items of a group take alike
	BranchByID                                // branches by the work-item's id
	BranchByData                              // branches by what was loaded
	Barrier                                   // barriers, per work-item
	Exchange                                  // shuffles, votes and the like between work-items of a warp
	GlobalLoad                                // loads, each whatever its width
	GlobalStore
	GlobalAtomic
	ConstantLoad
	LocalLoad
	LocalStore
	LocalAtomic
	PrivateLoad // of arrays only: variables count as registers
	PrivateStore
	GlobalReadBytes // atomics count as both
	GlobalWriteBytes
	ConstantBytes
	LocalReadBytes
	LocalWriteBytes
	PrivateBytes
	UnknownCall // calls of functions that nothing defines
	Unread      // executions of statements that were not understood
	Kinds
)

var kindNames = func() (n [Kinds]string) {
	for i, p := range []string{"f32", "f64", "f16"} {
		for k, s := range []string{"add", "mul", "fma", "div", "sqrt", "transcendental", "trigonometric", "power", "simple", "fusable"} {
			n[i*int(perPrecision)+k] = p + "_" + s
		}
	}
	for i, s := range []string{"int_add", "int_mul", "int_div", "convert", "branch_all", "branch_by_id", "branch_by_data", "barrier", "exchange",
		"global_load", "global_store", "global_atomic", "constant_load", "local_load", "local_store", "local_atomic", "private_load", "private_store",
		"global_read_bytes", "global_write_bytes", "constant_bytes", "local_read_bytes", "local_write_bytes", "private_bytes", "unknown_call", "unread"} {
		n[int(IntAdd)+i] = s
	}
	return n
}()

func (k Kind) String() string {
	if k < Kinds {
		return kindNames[k]
	}
	return "unknown"
}

// Float is a floating-point kind in the precision of a number of bytes.
func Float(k Kind, bytes int) Kind {
	switch bytes {
	case 8:
		return perPrecision + k
	case 2:
		return 2*perPrecision + k
	}
	return k
}

// Counts are numbers of executions of a whole launch, by kind.
type Counts [Kinds]float64

// Flop is the floating-point operations of a precision (bytes 2, 4 or 8): one
// for each addition, multiplication, division, root and transcendental
// function, two for a fused one; comparisons and the like are none. Counters of
// hardware count the instructions that a division or a function becomes.
func (c *Counts) Flop(bytes int) float64 {
	f := func(k Kind) float64 { return c[Float(k, bytes)] }
	return f(Add) + f(Mul) + 2*f(FMA) + f(Div) + f(Sqrt) + f(Transcendental) + f(Trigonometric) + f(Power)
}

// Flops is Flop of all precisions.
func (c *Counts) Flops() float64 { return c.Flop(2) + c.Flop(4) + c.Flop(8) }

// Ints is the integer operations.
func (c *Counts) Ints() float64 { return c[IntAdd] + c[IntMul] + c[IntDiv] }

// Branches is all branches.
func (c *Counts) Branches() float64 { return c[BranchAll] + c[BranchByID] + c[BranchByData] }

// GlobalBytes is bytes of global memory read and written, constant memory
// included, as work-items ask for them.
func (c *Counts) GlobalBytes() float64 {
	return c[GlobalReadBytes] + c[GlobalWriteBytes] + c[ConstantBytes]
}

// Accesses is loads, stores and atomics of global and constant memory.
func (c *Counts) Accesses() float64 {
	return c[GlobalLoad] + c[GlobalStore] + c[GlobalAtomic] + c[ConstantLoad]
}

func (c *Counts) plus(o *Counts) {
	for i := range c {
		c[i] += o[i]
	}
}

// lineTally is what one line executes, by how sure it is.
type lineTally [assumed + 1]Counts

// count adds n executions per work-item here.
func (r *run) count(s *state, at csource.Pos, k Kind, n int) {
	if r.quiet > 0 || s.sum == 0 {
		return
	}
	i := int(at.Line)
	if i < 0 || i >= len(r.tally) {
		i = 0
	}
	t := r.tally[i]
	if t == nil {
		t = new(lineTally)
		r.tally[i] = t
	}
	t[s.level][k] += s.sum * float64(n)
	r.places[spot{at.Offset, at.Line, k}] += s.sum * r.share
	r.moved[k] += s.sum * float64(n) * (1 - r.share)
	r.ticks += s.sum * float64(n)
}

// countFloat adds a floating-point operation on vectors of a type.
func (r *run) countFloat(s *state, at csource.Pos, k Kind, t *csource.Type) {
	if width(t) > 1 && r.quiet == 0 {
		r.vectorFlop += s.sum * r.share * float64(width(t))
	}
	r.count(s, at, Float(k, t.Bytes), width(t))
}
