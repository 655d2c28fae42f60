package roofline

import (
	"fmt"
	"strings"
)

// An issuer is a source that also counts instructions and the transactions
// that they make, for the instruction roofline. A source that is none leaves
// Result.Instr unknown.
type issuer interface {
	warps() Quantity                  // instructions executed, a warp's (or wavefront's) counting once
	threads() Quantity                // the same work in full warps: thread instructions that were not predicated off / warp size
	issuePeak() Quantity              // instructions/s at the profiled clock: schedulers x 1 instruction per cycle x clock
	transactions(l Level) Quantity    // transactions at a level: sectors of 32 byte, wavefronts of shared memory
	transactionBytes(l Level) float64 // the most that a transaction moves, byte
	// accesses are load and store instructions, and the transactions that they
	// alone made: at L1 (of global memory) and Shared.
	accesses(l Level) (instructions, transactions Quantity)
}

// issuerOf is the issuer behind a source, nil where there is none.
func issuerOf(s source) issuer {
	if w, ok := s.(withPlain); ok {
		s = w.source
	}
	i, _ := s.(issuer)
	return i
}

// Instructions is the instruction roofline of a kernel (Ding and Williams, "An
// Instruction Roofline Model for GPUs", PMBS 2019): warp instructions per
// second against warp instructions per transaction at each level of memory. It
// says what the roofline of flop cannot: of kernels that compute integers or
// nothing, how near they come to the issue slots, and whether their accesses
// are coalesced.
type Instructions struct {
	Warps   Quantity // warp instructions executed
	Threads Quantity // the same work in full warps; below Warps where threads diverge or are predicated off
	Rate    Quantity // Warps / time
	Ceiling Quantity // warp instructions/s that the schedulers can issue at the profiled clock
	Used    Quantity // Rate / Ceiling
	Levels  [levels]Transactions
}

// Transactions are a level's in the instruction roofline: sectors of 32 byte,
// for shared memory wavefronts.
type Transactions struct {
	Level    Level
	Count    Quantity
	Rate     Quantity // transactions/s attained
	Ceiling  Quantity // transactions/s: the bandwidth in transactions
	Used     Quantity // Rate / Ceiling
	Accesses Quantity // load and store instructions: of global memory at L1, of Shared; other levels have none
	Moved    Quantity // the transactions that Accesses made
}

// Intensity is warp instructions per transaction at a level.
func (i Instructions) Intensity(l Level) Quantity { return ratio(i.Warps, i.Levels[l].Count) }

// Roof is the rate that the instruction roofline allows at a level, min(issue
// ceiling, intensity x transactions/s), warp instructions/s.
func (i Instructions) Roof(l Level) Quantity {
	return lower(i.Ceiling, product(i.Intensity(l), i.Levels[l].Ceiling))
}

// Full is the part of a warp's threads that did the work, 0 to 1: what
// divergence and predication leave of the issue slots.
func (i Instructions) Full() Quantity { return ratio(i.Threads, i.Warps) }

// PerAccess is the transactions of one load or store instruction at L1 (global
// memory) or Shared. Walls gives what to compare it with.
func (i Instructions) PerAccess(l Level) Quantity {
	return ratio(i.Levels[l].Moved, i.Levels[l].Accesses)
}

// Wall is a number of transactions per access that a pattern makes.
type Wall struct {
	Name      string
	PerAccess float64
}

// Walls are Ding and Williams's walls for L1 (global memory, 32 threads,
// sectors of 32 byte) and for Shared (32 banks of 4 byte), fewest transactions
// first. Other levels have none.
func Walls(l Level) []Wall {
	switch l {
	case L1:
		return []Wall{{"all threads one address", 1}, {"unit stride, 4 byte", 32 * 4 / sector}, {"unit stride, 8 byte", 32 * 8 / sector}, {"a sector per thread", 32}}
	case Shared:
		return []Wall{{"no bank conflict", 1}, {"32-way bank conflict", 32}}
	}
	return nil
}

// Pattern says in words how a level's accesses spread, "" where it is not known.
func (i Instructions) Pattern(l Level) string {
	q := i.PerAccess(l)
	if !q.OK {
		return ""
	}
	if l == Shared {
		if q.Value <= 1.05 {
			return "shared memory without bank conflicts"
		}
		return fmt.Sprintf("shared memory takes %.3g wavefronts per access: bank conflicts or accesses wider than 4 byte", q.Value)
	}
	walls := Walls(l)
	nearest := walls[0]
	for _, w := range walls {
		if q.Value >= 0.95*w.PerAccess {
			nearest = w
		}
	}
	return fmt.Sprintf("global memory takes %.3g sectors per access (%s takes %g)", q.Value, nearest.Name, nearest.PerAccess)
}

// instructions reads what a source counts of instructions.
func instructions(s source, traffic [levels]Traffic, machine Ceilings) Instructions {
	none := missing("the profile's tool counts no instructions")
	out := Instructions{Warps: none, Threads: none, Ceiling: none}
	for l := range out.Levels {
		out.Levels[l] = Transactions{Level: Level(l), Count: none, Ceiling: none, Accesses: none, Moved: none}
	}
	c := issuerOf(s)
	if c == nil {
		return out
	}
	out.Warps, out.Threads, out.Ceiling = c.warps(), c.threads(), best(c.issuePeak(), machine.Issue)
	for l := range out.Levels {
		t := &out.Levels[l]
		size := c.transactionBytes(t.Level)
		t.Count, t.Ceiling = c.transactions(t.Level), ratio(traffic[l].Ceiling, known(size, fmt.Sprint(size)))
		t.Accesses, t.Moved = c.accesses(t.Level)
	}
	return out
}

// finish computes rates and use.
func (i *Instructions) finish(time Quantity) {
	i.Rate = ratio(i.Warps, time)
	i.Used = ratio(i.Rate, i.Ceiling)
	for l := range i.Levels {
		t := &i.Levels[l]
		t.Rate = ratio(t.Count, time)
		t.Used = ratio(t.Rate, t.Ceiling)
	}
}

// String is the instruction roofline as a few lines, "" where nothing is known.
func (i Instructions) String() string {
	if !i.Warps.OK {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%.6g warp instructions", i.Warps.Value)
	if i.Rate.OK {
		fmt.Fprintf(&b, ", %.4g/s", i.Rate.Value)
	}
	if i.Used.OK {
		fmt.Fprintf(&b, ", %.1f %% of the issue slots", 100*i.Used.Value)
	}
	if q := i.Full(); q.OK {
		fmt.Fprintf(&b, ", %.3g of 32 threads at work", 32*q.Value)
	}
	for _, t := range i.Levels {
		if q := i.Intensity(t.Level); q.OK {
			fmt.Fprintf(&b, "\n%s: %.4g instructions per transaction", t.Level, q.Value)
			if t.Used.OK {
				fmt.Fprintf(&b, ", %.1f %% of its transactions/s", 100*t.Used.Value)
			}
		}
	}
	for _, l := range []Level{L1, Shared} {
		if p := i.Pattern(l); p != "" {
			b.WriteString("\n" + p)
		}
	}
	return b.String()
}
