// Package target describes what is to become faster and how to know that it
// still does the same: sources, how to build and run them, inputs, outputs with
// their tolerance, how to profile, where the time goes, what may be spent, and
// the limits of the sandbox.
//
// In flows a TOML file, out flows a Target, checked: unknown keys, files that
// are not there and fields that contradict each other are errors with the line
// of the file and what to do, all of them at once. Nothing is built or run.
//
// The file, with every key that there is (a Target needs name, language,
// sources, build, run and an output; paths are relative to the file's folder
// and stay below it):
//
//	name = "heat"
//	language = "c"                       # c, c++, cuda, hip, opencl
//
//	[sources]
//	editable = ["heat.c"]                # what may be changed, within [[hot]] where there is one; a Makefile, too
//	read_only = ["main.c", "heat.h"]     # shown, and copied beside it
//
//	[build]
//	commands = [["cc", "-O2", "-fopenmp", "-o", "heat", "main.c", "heat.c", "-lm"]]
//	products = ["heat"]                  # files that it makes and a run needs
//	timeout = "2m"
//
//	[inputs]
//	generate = ["./heat", "--make", "{size}", "--seed", "{seed}", "--to", "input.bin"]
//	per_run = 3                          # fresh inputs, each time that outputs are compared
//	sizes = ["512"]                      # what is optimized for
//	other_sizes = ["64", "100", "2000"]  # where a gain is to hold as well
//
//	[inputs.drawn]                       # sizes that are free: outputs are compared at some that are not listed, too
//	from = "16"                          # the bounds, written as the sizes are; each number that differs is a size
//	to = "2000"
//	multiple = 1                         # each size is one of this
//	count = 3                            # drawn from a seed, once for all candidates of a run
//
//	[run]
//	command = ["./heat", "input.bin", "out.bin"]
//	files = ["weights.txt"]              # what it needs besides products and input
//	environment = { OMP_NUM_THREADS = "2" }
//	cache = ["cache"]                    # folders that one run leaves for the next, as drivers do that compile when it runs
//	timeout = "1m"
//
//	[reference]                          # without it: what the unchanged program puts out
//	command = ["python3", "reference.py", "input.bin", "out.bin"]
//	files = ["reference.py"]
//
//	[[output]]                           # what is compared, bit for bit
//	stdout = true
//	format = "text"
//	ignore = ["^took "]                  # lines that are not compared, as regular expressions
//
//	[[output]]                           # or numbers, within a tolerance
//	file = "out.bin"
//	format = "float64"                   # bytes, text, float32, float64, int8 to uint64 (little-endian)
//	tolerance = { relative = 1e-9, absolute = 1e-12 }  # one of them or both; or { ulp = 4 }
//
//	[profile]                            # without it: the collector "run", time alone
//	command = ["ncu", "--set", "full", "-o", "{profile}", "./heat", "input.bin", "out.bin"]
//	import = "ncu-rep"                   # a format of rooflab import; without it the content tells
//	# collector = "valgrind"             # in place of command: valgrind, perf, ncu, nsys, rocprof, opencl (watches launches), run
//	size = "128"                         # in place of the first of inputs.sizes, where profiling slows down much
//	timeout = "10m"
//
//	[[hot]]                              # none: the whole of the editable files
//	file = "heat.c"
//	function = "step"                    # or lines = [12, 40]
//	kernel = "step"                      # its name in profiles; without it the function's
//
//	[measure]                            # what is not said is as package measure has it
//	metric = "time"                      # or "energy"
//	repeats = 24                         # of original and of candidate, at most; they take turns
//	alpha = 0.05                         # chance of a difference where there is none
//	min_effect = 0.03                    # smallest change of the median that counts
//
//	[search]                             # which programs of a round the next begins with
//	strategy = "beam:3"                  # the 3 best; "best" without it; "pareto" over time and energy
//	prefer = "edp"                       # of a Pareto front: "time", "energy" or their product
//
//	[budget]                             # what is not said is not limited
//	time = "10m"
//	rounds = 8
//	tokens = 200000
//	money = 1.50                         # US dollars
//
//	[sandbox]                            # what is not said is as package sandbox has it
//	memory = "2GiB"
//	cpu_time = "2m"                      # of each process
//	processes = 64                       # and threads
//	disk = "256MiB"                      # in the folder that a command runs in
//	print = "16MiB"                      # on standard output and error
//	read = ["/opt/rocm"]                 # folders beyond the system's that commands may read
//	gpu = true                           # commands see the machine's GPUs
//
// A command is a list of arguments and no line of a shell. Each runs in a folder
// of its own: the build in a copy of the sources; the generator with products,
// files and sources, and all that it leaves there is the input; a run with the
// products, its files (those that are sources as the candidate has them) and
// the input. {seed} in a command stands for a number that is new each time,
// {size} for one of the sizes, {profile} for the file of the profile; "{{" and
// "}}" are braces.
package target

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rooflab/rooflab/agents/edit"
)

// Language is that of the sources.
type Language string

// Languages.
const (
	C         Language = "c"
	CPlusPlus Language = "c++"
	CUDA      Language = "cuda"
	HIP       Language = "hip"
	OpenCL    Language = "opencl"
)

// Languages lists them all.
func Languages() []Language { return []Language{C, CPlusPlus, CUDA, HIP, OpenCL} }

// Target is the description of what to optimize.
type Target struct {
	Name      string     `toml:"name"`
	Language  Language   `toml:"language"`
	Files     Files      `toml:"sources"`
	Build     Build      `toml:"build"`
	Inputs    Inputs     `toml:"inputs"`
	Run       Run        `toml:"run"`
	Reference *Reference `toml:"reference"` // nil: the unchanged program is
	Outputs   []Output   `toml:"output"`
	Profile   *Profile   `toml:"profile"` // nil: time alone
	Hot       []Region   `toml:"hot"`     // none: all lines of the editable files
	Measure   Measure    `toml:"measure"`
	Search    Search     `toml:"search"`
	Budget    Budget     `toml:"budget"`
	Sandbox   Sandbox    `toml:"sandbox"`

	Path    string        `toml:"-"` // of the description
	Dir     string        `toml:"-"` // its folder, absolute
	sources []edit.Source // the editable files first
}

// Files are the sources, with slashes, below Target.Dir.
type Files struct {
	Editable []string `toml:"editable"`
	ReadOnly []string `toml:"read_only"`
}

// Build makes the program: all commands, in their order.
type Build struct {
	Commands []Command `toml:"commands"`
	Products []string  `toml:"products"` // below the folder of the sources
	Timeout  Duration  `toml:"timeout"`  // of all together; DefaultBuildTimeout where it is not said
}

// Inputs say how inputs come about.
type Inputs struct {
	// Generate makes the input from a {seed}: the files that it leaves. None: the
	// run has a {seed} itself.
	Generate Command `toml:"generate"`
	// Fixed says that there is one input only. Outputs are then compared on it
	// alone, and a program that remembers its output is not found out.
	Fixed  bool     `toml:"fixed"`
	PerRun int      `toml:"per_run"` // fresh inputs for each comparison; DefaultInputs where it is not said, 1 with Fixed
	Sizes  []string `toml:"sizes"`   // what {size} stands for
	Other  []string `toml:"other_sizes"`
	Drawn  *Drawn   `toml:"drawn"` // nil: no size but the listed ones
}

// Run runs the program once.
type Run struct {
	Command     Command           `toml:"command"`
	Files       []string          `toml:"files"` // below Target.Dir
	Environment map[string]string `toml:"environment"`
	// Cache are folders, below that which the program runs in, that a run before,
	// on another input, has filled: timed runs begin with them.
	Cache   []string `toml:"cache"`
	Timeout Duration `toml:"timeout"`
}

// Reference makes the outputs to compare with.
type Reference struct {
	Command Command  `toml:"command"`
	Files   []string `toml:"files"`
	Timeout Duration `toml:"timeout"` // that of the run where it is not said
}

// Profile measures the evidence.
type Profile struct {
	Command Command `toml:"command"`
	// Import is the format of the profile, "" where its content tells.
	Import string `toml:"import"`
	// File is what the command writes, where it does not speak of {profile}.
	File string `toml:"file"`
	// Collector is one that works in the sandbox, in place of all of these.
	Collector string `toml:"collector"`
	// Size is what {size} stands for, "" where it is the first of Inputs.Sizes.
	Size    string   `toml:"size"`
	Timeout Duration `toml:"timeout"`
}

// Region is where the time goes, and what may be changed.
type Region struct {
	File     string `toml:"file"`
	Function string `toml:"function"`
	Lines    []int  `toml:"lines"`  // the first and the last, from 1
	Kernel   string `toml:"kernel"` // its name in profiles
}

// Metric is what is to become less.
type Metric string

// Metrics.
const (
	Time   Metric = "time"
	Energy Metric = "energy"
)

// Measure says how candidates are compared; what is 0 is not said, and as
// package measure has it.
type Measure struct {
	Metric    Metric  `toml:"metric"`  // Time where it is not said
	Repeats   int     `toml:"repeats"` // of each side at the last look, even
	Alpha     float64 `toml:"alpha"`
	MinEffect float64 `toml:"min_effect"`
}

// Search says how to go on from round to round, as package search reads it; what
// is "" is not said.
type Search struct {
	Strategy string `toml:"strategy"`
	Prefer   string `toml:"prefer"`
}

// Budget is what may be spent; nil and 0 are no limit.
type Budget struct {
	Time   Duration `toml:"time"`
	Rounds int      `toml:"rounds"`
	Tokens *int64   `toml:"tokens"` // in and out, of all calls
	Money  *float64 `toml:"money"`  // US dollars; 0 allows only what is free
}

// Sandbox is the limits of everything that is built and run; what is 0 is not
// said, and as package sandbox has it. There never is a network.
type Sandbox struct {
	Memory    Bytes    `toml:"memory"`
	CPUTime   Duration `toml:"cpu_time"`
	Processes int      `toml:"processes"`
	Disk      Bytes    `toml:"disk"`
	Print     Bytes    `toml:"print"`
	Read      []string `toml:"read"`
	GPU       bool     `toml:"gpu"`
}

// What is taken where a description says nothing.
const (
	DefaultBuildTimeout   = Duration(2 * time.Minute)
	DefaultRunTimeout     = Duration(time.Minute)
	DefaultProfileTimeout = Duration(10 * time.Minute)
	DefaultInputs         = 3
)

// defaults fills what the file does not say.
func (t *Target) defaults() {
	t.Build.Timeout = cmp.Or(t.Build.Timeout, DefaultBuildTimeout)
	t.Run.Timeout = cmp.Or(t.Run.Timeout, DefaultRunTimeout)
	if t.Reference != nil {
		t.Reference.Timeout = cmp.Or(t.Reference.Timeout, t.Run.Timeout)
	}
	if t.Profile != nil {
		t.Profile.Timeout = cmp.Or(t.Profile.Timeout, DefaultProfileTimeout)
	}
	if t.Inputs.Fixed {
		t.Inputs.PerRun = 1
	}
	t.Inputs.PerRun = cmp.Or(t.Inputs.PerRun, DefaultInputs)
	if d := t.Inputs.Drawn; d != nil {
		d.Multiple, d.Count = cmp.Or(d.Multiple, 1), cmp.Or(d.Count, DefaultDrawn)
	}
	t.Measure.Metric = cmp.Or(t.Measure.Metric, Time)
	for i := range t.Outputs {
		t.Outputs[i].Format = cmp.Or(t.Outputs[i].Format, FormatBytes)
	}
	for i := range t.Hot {
		t.Hot[i].Kernel = cmp.Or(t.Hot[i].Kernel, t.Hot[i].Function)
	}
}

// Sources are the files with their texts as Load read them, and the lines of
// them that may be changed: those of Hot, or all lines of the editable files.
// The editable files come first.
func (t *Target) Sources() []edit.Source {
	out := slices.Clone(t.sources)
	for i := range out {
		out[i].Editable = slices.Clone(out[i].Editable)
	}
	return out
}

// Kernels are the names in profiles of what is hot, each once.
func (t *Target) Kernels() []string {
	var out []string
	for _, r := range t.Hot {
		if r.Kernel != "" && !slices.Contains(out, r.Kernel) {
			out = append(out, r.Kernel)
		}
	}
	return out
}

// Error is one fault of a description.
type Error struct {
	File string // of the description
	Line int    // from 1; 0 where the fault is that something is not there
	Key  string // "output[1].file"
	What string // was found, what was expected and what to do
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at += fmt.Sprintf(":%d", e.Line)
	}
	if e.Key != "" {
		at += ": " + e.Key
	}
	return at + ": " + e.What
}
