package devices

import (
	"fmt"
	"math"
	"sync"

	"github.com/rooflab/rooflab/datasets"
)

// Kind is what a device is.
type Kind int

// Kinds of devices.
const (
	GPU Kind = iota
	CPU
)

func (k Kind) String() string { return [...]string{"GPU", "CPU"}[k] }

// unstated is the clock of matrix units where the vendor prints peaks that no
// clock that it tells explains.
const unstated = -1

// row is a line of the tables: a device as its vendor describes it. Zero is
// "not known here".
type row struct {
	name   string
	also   []string // other names of it
	series string   // what tools call it and others alike
	arch   *arch
	units  int
	// base and boost clock; tensor is that of matrix units where it differs. MHz.
	base, boost, tensor float64
	bus, gbps           float64 // of the memory: bits, Gbit/s per pin
	gib, gb             float64 // memory in GiB or, where vendors count in thousands, GB
	l2, l3              int64   // bytes
	l2clk               float64 // bytes of the whole L2 in a clock
	l2From              string
	watt                float64
	from                string
	rates               rates // of a unit where they differ from the architecture's
	printed             rates // 1e12 operations/s
	gbs                 bytes // GB/s
	note                string
}

// Device is a device of the table. Facts that no document tells are absent.
type Device struct {
	Name   string   // as drivers spell it
	Also   []string // other names of it
	Same   []string // after Match: devices that fit as well and whose limits and memory are the same
	Kind   Kind
	Vendor string
	Family string // of the architecture: "Ampere", "CDNA 2", "Zen 3"
	ISA    string // as the store's machine.arch: "cc8.0", "gfx90a", "x86_64"
	Unit   string // what units are: "SM", "CU", "Xe core", "core"
	Units  int
	// Warp is the threads of a warp or wavefront; of a CPU the FP32 lanes of its
	// widest vector.
	Warp int

	BaseHz  datasets.Null[float64]
	BoostHz datasets.Null[float64] // of a CPU that of one core
	// MemBytes is the memory of the device; not of CPUs, where it is the machine's.
	MemBytes datasets.Null[int64]
	// L1Bytes is the cache of one unit, L2Bytes and L3Bytes those of the device.
	// Where shared memory is cut from L1 it is the whole of both.
	L1Bytes, L2Bytes, L3Bytes datasets.Null[int64]
	Watt                      datasets.Null[float64] // thermal design power

	// What occupancy depends on, of one unit: resident threads, resident blocks,
	// 32-bit registers, shared memory and how much of it one block may have.
	MaxThreads, MaxBlocks, Registers, SharedBytes, SharedBlockBytes datasets.Null[int64]

	Source       string // of the figures of the device
	LimitsSource string // of what occupancy depends on
	Note         string

	clock float64 // of At; 0 is the vendor's
	row   *row
}

// MaxWarps is how many warps or wavefronts can be resident on a unit.
func (d Device) MaxWarps() datasets.Null[int64] {
	if !d.MaxThreads.Valid || d.Warp == 0 {
		return datasets.Null[int64]{}
	}
	return datasets.Some(d.MaxThreads.V / int64(d.Warp))
}

// Value is one limit of a device.
type Value struct {
	Value   float64
	Unit    string  // "flop/s", "op/s" or "byte/s"
	ClockHz float64 // the clock at which it holds; 0 where it depends on none, or on one that is not told
	Printed float64 // the vendor's own figure, at the vendor's clock; 0 where it prints none
	How     string  // the arithmetic
	Source  string  // the documents behind it
}

func (v Value) String() string {
	return fmt.Sprintf("%.4g %s (%s; %s)", v.Value, v.Unit, v.How, v.Source)
}

var table = sync.OnceValue(func() []Device {
	var ds []Device
	for _, rows := range [][]row{nvidia, amd, intelGPUs, cpus} {
		for i := range rows {
			ds = append(ds, rows[i].device())
		}
	}
	return ds
})

// All lists the table: GPUs by vendor and generation, then CPUs.
func All() List { return append(List(nil), table()...) }

func (r *row) device() Device {
	count := func(n int64) datasets.Null[int64] { return datasets.Null[int64]{V: n, Valid: n > 0} }
	number := func(x float64) datasets.Null[float64] { return datasets.Null[float64]{V: x, Valid: x > 0} }
	a := r.arch
	d := Device{Name: r.name, Also: r.also, Kind: a.kind, Vendor: a.vendor, Family: a.family, ISA: a.isa, Unit: a.unit, Units: r.units, Warp: a.warp,
		BaseHz: number(r.base * 1e6), BoostHz: number(r.boost * 1e6), MemBytes: count(int64(r.gib*(1<<30) + r.gb*1e9)),
		L1Bytes: count(a.l1), L2Bytes: count(r.l2), L3Bytes: count(r.l3), Watt: number(r.watt),
		MaxThreads: count(a.threads), MaxBlocks: count(a.blocks), Registers: count(a.regs), SharedBytes: count(a.shared), SharedBlockBytes: count(a.sharedBlock),
		Source: r.from, LimitsSource: a.limitsFrom, Note: r.note, row: r}
	return d
}

// At is the device at a core clock, Hz: what depends on the clock is scaled to
// it, matrix units included. The clock must be above 0: else nothing that
// depends on it is known.
func (d Device) At(hz float64) Device {
	if !(hz > 0) || math.IsInf(hz, 0) {
		hz = math.NaN()
	}
	d.clock = hz
	return d
}

// ClockHz is the core clock that the peaks are at: that of At, or the boost
// clock of a GPU and the base clock of a CPU. It is NaN where none is known.
func (d Device) ClockHz() float64 {
	c := d.BoostHz
	if d.Kind == CPU {
		c = d.BaseHz
	}
	if d.clock != 0 {
		return d.clock
	}
	return c.Or(math.NaN())
}

// Peak is the highest rate of a precision, false where it is not known or the
// device does not compute it.
func (d Device) Peak(p Precision) (Value, bool) {
	if d.row == nil {
		return Value{}, false
	}
	r, a := d.row, d.row.arch
	v := Value{Unit: p.Unit(), Printed: r.printed[p] * 1e12, Source: r.from}
	rate, own := r.rates[p]
	if !own {
		rate = a.rates[p]
	}
	hz := d.ClockHz()
	if d.clock == 0 && p.Tensor() && p != TensorFP64 && r.tensor != 0 {
		hz = r.tensor * 1e6
	}
	switch {
	case rate > 0 && hz > 0:
		v.Value, v.ClockHz = float64(r.units)*rate*hz, hz
		v.How = fmt.Sprintf("%d %s x %g per clock x %g MHz", r.units, a.unit, rate, hz/1e6)
		v.Source = both(v.Source, a.ratesFrom)
	case v.Printed > 0 && d.clock == 0:
		v.Value, v.How = v.Printed, "as printed, at a clock that is not told"
	default:
		return Value{}, false
	}
	return v, true
}

// Bandwidth is the highest rate of a level of the memory, false where it is not
// known or the device has no such level.
func (d Device) Bandwidth(l Level) (Value, bool) {
	if d.row == nil {
		return Value{}, false
	}
	r, a := d.row, d.row.arch
	v := Value{Unit: "byte/s", Printed: r.gbs[l] * 1e9, Source: r.from}
	hz := d.ClockHz()
	switch {
	case l == DRAM && r.bus > 0 && r.gbps > 0:
		v.Value, v.How = r.bus/8*r.gbps*1e9, fmt.Sprintf("%g bit x %g Gbit/s", r.bus, r.gbps)
	case l == L2 && r.l2clk > 0 && hz > 0:
		v.Value, v.ClockHz, v.How = r.l2clk*hz, hz, fmt.Sprintf("%g byte per clock x %g MHz", r.l2clk, hz/1e6)
		v.Source = both(v.Source, r.l2Source())
	case l != DRAM && l != L3 && a.bytes[l] > 0 && hz > 0:
		v.Value, v.ClockHz = float64(r.units)*a.bytes[l]*hz, hz
		v.How = fmt.Sprintf("%d %s x %g byte per clock x %g MHz", r.units, a.unit, a.bytes[l], hz/1e6)
		v.Source = both(v.Source, a.bytesFrom)
	case v.Printed > 0 && (d.clock == 0 || l == DRAM || l == L3):
		v.Value, v.How = v.Printed, "as printed"
	default:
		return Value{}, false
	}
	return v, true
}

func (r *row) l2Source() string {
	if r.l2From == "" && r.arch.vendor == "NVIDIA" && r.arch.kind == GPU {
		return a100L2
	}
	return r.l2From
}

func both(a, b string) string {
	if b == "" || a == b {
		return a
	}
	return a + "; " + b
}

// Limit is a Value with its name, a Precision or a Level.
type Limit struct {
	Name string
	Value
}

// Limits lists what is known: peaks by precision, then bandwidths by level.
func (d Device) Limits() []Limit {
	var ls []Limit
	for _, p := range Precisions {
		if v, ok := d.Peak(p); ok {
			ls = append(ls, Limit{string(p), v})
		}
	}
	for _, l := range Levels {
		if v, ok := d.Bandwidth(l); ok {
			ls = append(ls, Limit{string(l), v})
		}
	}
	return ls
}
