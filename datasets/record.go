package datasets

import "time"

// Null is a value that may be absent. The zero Null is absent.
type Null[T any] struct {
	V     T
	Valid bool
}

// Some returns a present value.
func Some[T any](v T) Null[T] { return Null[T]{V: v, Valid: true} }

// Or returns the value, or other where it is absent.
func (n Null[T]) Or(other T) T {
	if n.Valid {
		return n.V
	}
	return other
}

// any returns the value, or nil where it is absent: what drivers take.
func (n Null[T]) any() any {
	if n.Valid {
		return n.V
	}
	return nil
}

// Record is a row on its way into the store: a pointer to one of this
// package's record types. A Sink copies what it needs during Put, so that an
// emitter may reuse the value afterwards.
//
// Ids are chosen by the emitter and are local to one import: any number from
// 1 up, unique within its table, 0 meaning "none". The store moves them to
// free places. A record may refer to one that is emitted later.
type Record interface {
	// Table is the name of the table that the record is a row of.
	Table() string
	// check reports what the record lacks to be a row.
	check() error
}

// Sink takes records, in any order.
type Sink interface {
	Put(Record) error
}

// Machine is a host with its processor and, where there is one, one GPU model.
// Machines of which the same facts are known are one machine of the store,
// whatever runs describe them.
type Machine struct {
	ID       int64
	Host     string
	CPU      string
	GPU      string
	Arch     string        // "cc12.0" for CUDA, "gfx90a" for AMD, "x86_64" for a CPU
	Units    Null[int64]   // streaming multiprocessors, compute units or cores
	ClockHz  Null[float64] // core clock
	MemHz    Null[float64] // memory clock
	MemBytes Null[int64]
	Driver   string

	run int64 // the store's id of the run that described it first
}

// Ceiling is one limit of a machine: the rate of an operation ("fp32", "fp64",
// "fp16.tensor") or the bandwidth of a level ("dram", "l2", "l1").
type Ceiling struct {
	Machine  int64
	Run      int64  // the run that measured it; 0 when from a datasheet
	Level    string // a level or an operation, as above
	Value    float64
	Unit     string // "byte/s", "flop/s" or "op/s"
	Measured bool   // false: theoretical
	ClockHz  Null[float64]
	Source   string
}

// Status of a run.
const (
	RunOK     = "ok"
	RunFailed = "failed" // the tool or the program under it failed: Run.Error says how
	RunDenied = "denied" // the system refused performance counters (ERR_NVGPUCTRPERM)
	RunEmpty  = "empty"  // the tool finished and measured nothing
	// RunUnavailable: the machine has not what was to be measured (no GPU, no
	// energy counters, no such tool): Run.Error names it and how to get it.
	RunUnavailable = "unavailable"
)

// Run is one execution of one tool over one program: usually one file.
type Run struct {
	ID            int64
	Machine       int64
	Tool          string // "ncu", "caliper", ...
	ToolVersion   string
	Format        string // the parser's name for the format, "ncu-csv-long"
	FormatVersion string
	Command       string
	EnvHash       string
	InputHash     string
	Started       Null[time.Time]
	ClockPolicy   string // "base", "boost", "none": how the tool held the clocks
	CachePolicy   string // "flush-all", "none"
	ReplayPolicy  string // "kernel", "application", "range"
	Status        string // one of the above
	Error         string
	// TimeMetric names the counter that holds the time of a region, and
	// TimeInclusive says whether it contains the time of the region's children.
	TimeMetric    string
	TimeInclusive bool
}

// Kinds of regions.
const (
	KindKernel   = "kernel"
	KindFunction = "function"
	KindRange    = "range"
	KindLoop     = "loop"
)

// Region is a named part of a program: a kernel, a function, an annotated
// range or a loop. Regions of one run form a forest through Parent, so that
// the same function called from two places is two regions.
type Region struct {
	ID      int64
	Run     int64
	Parent  int64
	Kind    string
	Raw     string // the name exactly as the tool wrote it
	Short   string // without return type, arguments, template arguments and namespaces: tools are joined on it
	Mangled string
	Module  string
	Order   Null[int64] // the place among its siblings, where the tool says so
}

// Launch is one observation of a region: a launch of a kernel, or, for tools
// of the CPU, a visit of a region or its aggregate for one rank, thread or
// interval of time.
type Launch struct {
	ID       int64
	Run      int64
	Region   int64
	Device   Null[int64]
	Context  Null[int64]
	Stream   Null[int64]
	PID      Null[int64]
	Rank     Null[int64]
	Thread   Null[int64]
	Grid     [3]Null[int64]
	Block    [3]Null[int64]
	Regs     Null[int64] // registers per thread
	Smem     Null[int64] // shared memory per block, bytes
	Sequence Null[int64] // 0, 1, 2 ... in order of start, over the run
	ToolID   string      // the tool's own id: to find it again, never to join on
	StartNs  Null[int64]
	DurNs    Null[int64]
}

// Status of a counter.
const (
	StatusOK          = "ok"          // the value is there (or, for a metric that is a text, RawValue is)
	StatusNA          = "na"          // the tool says that there is no value ("n/a", "nan", "-")
	StatusUnsupported = "unsupported" // the machine cannot count it
	StatusMissing     = "missing"     // asked for and left out
	StatusMultiplexed = "multiplexed" // the value is scaled up from Coverage percent of the time
)

// Counter is one value of one metric, of a launch or (Launch 0) of a region as
// a whole. Value is in SI base units ("s", "byte", "Hz", "byte/s", "%"); the
// text and the unit that the tool wrote are kept beside it.
type Counter struct {
	Run      int64
	Region   int64
	Launch   int64
	Metric   string
	Instance string // which of several: a channel, a section of the report
	Value    Null[float64]
	Unit     string
	RawValue string
	RawUnit  string
	Coverage Null[float64] // percent of the time that the counter ran
	Status   string
}

// Code is one instruction or one line of a region.
type Code struct {
	ID          int64
	Run         int64
	Region      int64
	ISA         string // "sass", "ptx", "x86_64", ..., or "source" for a line of source
	Offset      Null[int64]
	Opcode      string
	Text        string
	File        string
	Line        Null[int64]
	InlineDepth Null[int64]
}

// StaticFeature is a property of a region that is known without running it.
type StaticFeature struct {
	Run    int64
	Region int64
	Name   string
	Value  Null[float64]
}

// PCSample is how often a sampler found one instruction in one state.
type PCSample struct {
	Run       int64
	Launch    int64
	Code      int64
	Reason    string // the stall reason, "selected" when issuing
	Samples   Null[int64]
	NotIssued Null[int64]
}

// Telemetry is one reading of a sensor while a run went on.
type Telemetry struct {
	Run    int64
	Sensor string
	TNs    int64
	Value  Null[float64]
	Unit   string
	Kind   string // "instant", "average" or "cumulative"
}

// Attribute is a named fact about a run, a region or a launch that is no
// measurement: a Caliper global, a compiler version, the name of a channel.
type Attribute struct {
	Run    int64
	Region int64 // 0: about the run as a whole
	Launch int64
	Name   string
	Value  string
}

// Artefact says which file a run came from. The store writes it itself when an
// import is committed.
type Artefact struct {
	Run           int64
	Path          string
	SHA256        string // hexadecimal, of the content after decompression
	Bytes         int64  // size of that content
	Kind          string // name of the parser
	ParserVersion int
}
