package devices

// Precision is a number format, and whether matrix units compute it. The names
// are those of Ceiling.Level in the store.
type Precision string

// Precisions. INT32 and TensorINT8 are in operations, the others in
// floating-point operations. TensorFP32 takes whole FP32 inputs, as AMD's
// matrix units do; TensorTF32 takes their 19 highest bits.
const (
	FP64       Precision = "fp64"
	FP32       Precision = "fp32"
	FP16       Precision = "fp16"
	BF16       Precision = "bf16"
	INT32      Precision = "int32"
	TensorFP64 Precision = "fp64.tensor"
	TensorFP32 Precision = "fp32.tensor"
	TensorTF32 Precision = "tf32.tensor"
	TensorFP16 Precision = "fp16.tensor"
	TensorBF16 Precision = "bf16.tensor"
	TensorFP8  Precision = "fp8.tensor"
	TensorINT8 Precision = "int8.tensor"
)

// Precisions lists all of them, in the order in which tables show them.
var Precisions = []Precision{FP64, FP32, FP16, BF16, INT32, TensorFP64, TensorFP32, TensorTF32, TensorFP16, TensorBF16, TensorFP8, TensorINT8}

// Unit is "op/s" for integers and "flop/s" for the others.
func (p Precision) Unit() string {
	if p == INT32 || p == TensorINT8 {
		return "op/s"
	}
	return "flop/s"
}

// Tensor tells whether matrix units compute it.
func (p Precision) Tensor() bool { return len(p) > 7 && p[len(p)-7:] == ".tensor" }

// Level is a level of the memory hierarchy, named as Ceiling.Level in the store.
type Level string

// Levels. L3 is the last cache of a CPU and AMD's Infinity Cache; Shared is
// shared memory, the local data share (LDS) on AMD.
const (
	DRAM   Level = "dram"
	L3     Level = "l3"
	L2     Level = "l2"
	L1     Level = "l1"
	Shared Level = "shared"
)

// Levels lists all of them, from the memory to the units.
var Levels = []Level{DRAM, L3, L2, L1, Shared}

type (
	rates map[Precision]float64 // operations of one unit in a clock, or printed figures in 1e12 operations/s
	bytes map[Level]float64     // bytes of one unit in a clock, or printed figures in GB/s
)

// arch is a microarchitecture: what devices of one kind share.
type arch struct {
	vendor, family string
	isa            string // as the store's machine.arch
	unit           string // what units are
	kind           Kind
	warp           int   // threads of a warp or wavefront; of a CPU FP32 lanes of its widest vector
	rates          rates // per unit and clock
	ratesFrom      string
	bytes          bytes // per unit and clock
	bytesFrom      string
	// Per unit; 0 is unknown. l1 is the whole array where shared memory is cut from it.
	l1, threads, blocks, regs, shared, sharedBlock int64
	limitsFrom                                     string
}

// with is the architecture with other rates of some precisions: families sell
// the same unit with more or less of it switched on.
func (a arch) with(r rates) *arch {
	all := rates{}
	for p, v := range a.rates {
		all[p] = v
	}
	for p, v := range r {
		all[p] = v
	}
	a.rates = all
	return &a
}

const (
	kib = 1 << 10
	mib = 1 << 20
)
