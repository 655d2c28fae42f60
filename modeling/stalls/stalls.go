// Package stalls says where the warps of GPU kernels wait, and why.
//
// In flow the PC samples of a store (FromStore). Out flows an Analysis: per
// kernel, or per launch of a kernel, the samples by stall reason, by line of
// source, by instruction and by type of instruction. An Analysis shows itself
// as tables, as an annotated listing of the source (Kernel.Listing,
// Kernel.Page) and as a bounded text for prompts (Digest), whose statements
// carry Evidence that can be looked up in the store again.
//
// A sample is issued (reason "selected": the warp issued an instruction) or
// stalled (all other reasons, "not_selected" among them). Shares of reasons
// are parts of the stalled samples of their row; shares of lines, instructions
// and types are parts of the stalled samples of their kernel. Not-issued
// samples are those taken in cycles in which the scheduler issued nothing;
// they are part of the samples and never added to them.
//
// A stall is counted at the instruction that waits: what it waits for is an
// earlier one, often on another line. For a long_scoreboard at a
// multiplication look for the load of its operands.
package stalls

import (
	"fmt"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// DefaultDominant is the part of the stalled samples from which on a reason
// is dominant, the value that Optimas (2025) uses.
const DefaultDominant = 0.30

// View says which line a sample of inlined code belongs to: one of them, so
// that no sample counts twice.
type View int

// Views.
const (
	// Innermost is the line of the instruction itself, in the function that
	// was inlined.
	Innermost View = iota
	// Outermost is the line of the kernel that the code was inlined into,
	// where the profile has the chain of calls, else the instruction's own.
	Outermost
)

func (v View) String() string { return [...]string{"innermost", "outermost"}[v] }

// Options choose what is analysed. The zero value is all kernels of the store.
type Options struct {
	Run      int64   // one run
	Kernel   string  // kernels of this name, short or raw
	Launch   int64   // one launch
	ByLaunch bool    // every launch is a Kernel of its own
	Dominant float64 // part of a row's stalled samples, 0 to 1; 0 is DefaultDominant
	View     View
	// Lines, Instructions and Launches are how many of each are kept per
	// kernel, the most stalled first (launches: in their order). The others are
	// added up in Rest. 0 is 10,000, 2,000 and 10,000 shared by all kernels, but
	// at least 100, 20 and 20 each. Fewer than 100 lines are 100.
	Lines, Instructions, Launches int
	// Kernels is how many kernels, the most stalled ones, are read with their
	// lines, instructions, types and launches; of the others there are the sums,
	// until Kernel.Load reads the rest. 0 is 100.
	Kernels int
}

// filled are the options with their defaults for so many kernels.
func (o Options) filled(kernels int) Options {
	set := func(v *int, all, least int) {
		if *v <= 0 {
			*v = max(all/max(kernels, 1), least)
		}
	}
	if o.Kernels <= 0 {
		o.Kernels = mostKernels
	}
	kernels = min(kernels, o.Kernels)
	set(&o.Lines, 10_000, 100)
	o.Lines = max(o.Lines, 100) // what a Digest must not lose
	set(&o.Instructions, 2000, 20)
	set(&o.Launches, 10_000, 20)
	if o.Dominant <= 0 {
		o.Dominant = DefaultDominant
	}
	return o
}

// Count is how many samples have one stall reason.
type Count struct {
	Reason    string // as Canonical spells it
	Samples   int64
	NotIssued datasets.Null[int64]
}

// Tally is the samples of a row: of a kernel, a line, an instruction, a type.
type Tally struct {
	Samples   int64                // all
	Selected  int64                // those in which the warp issued
	NotIssued datasets.Null[int64] // those of cycles without an issue
	Reasons   []Count              // of the stalled ones, the most frequent first
}

// Stalled is the samples in which the warp did not issue.
func (t Tally) Stalled() int64 { return t.Samples - t.Selected }

// Of is the number of samples with a stall reason, in any spelling.
func (t Tally) Of(reason string) int64 {
	reason = Canonical(reason)
	for _, c := range t.Reasons {
		if c.Reason == reason {
			return c.Samples
		}
	}
	return 0
}

// Share is a reason's part of the row's stalled samples, 0 to 1; 0 where
// nothing stalled.
func (t Tally) Share(reason string) float64 { return part(t.Of(reason), t.Stalled()) }

// Dominant returns the reasons that hold at least a part of the row's stalled
// samples, 0 to 1, the most frequent first.
func (t Tally) Dominant(least float64) []Count {
	var out []Count
	for _, c := range t.Reasons {
		if c.Samples > 0 && part(c.Samples, t.Stalled()) >= least {
			out = append(out, c)
		}
	}
	return out
}

func (t *Tally) add(reason string, n int64, idle datasets.Null[int64]) {
	t.Samples += n
	if idle.Valid {
		t.NotIssued = datasets.Some(t.NotIssued.V + idle.V)
	}
	if datasets.Selected(reason) {
		t.Selected += n
		return
	}
	reason = Canonical(reason)
	for i := range t.Reasons {
		if c := &t.Reasons[i]; c.Reason == reason {
			c.Samples += n
			if idle.Valid {
				c.NotIssued = datasets.Some(c.NotIssued.V + idle.V)
			}
			return
		}
	}
	t.Reasons = append(t.Reasons, Count{reason, n, idle})
}

// plus adds the sums of another row.
func (t *Tally) plus(o Tally) {
	t.Samples += o.Samples
	t.Selected += o.Selected
	if o.NotIssued.Valid {
		t.NotIssued = datasets.Some(t.NotIssued.V + o.NotIssued.V)
	}
}

func (t *Tally) sort() {
	sort.Slice(t.Reasons, func(i, j int) bool {
		a, b := t.Reasons[i], t.Reasons[j]
		return a.Samples > b.Samples || a.Samples == b.Samples && a.Reason < b.Reason
	})
}

func part(n, all int64) float64 {
	if all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}

// Line is the samples of one line of source.
type Line struct {
	File string // "" where the profile does not say
	Line datasets.Null[int64]
	Text string // the source, where the profile has it
	Tally
	Share        float64 // of the kernel's stalled samples, 0 to 1
	Instructions int     // with samples
	Codes        []int64 // rows of the table code, the most stalled first, up to maxCodes
}

// Known reports whether the profile says which line it is.
func (l Line) Known() bool { return l.Line.Valid }

// Name is "file:line", or says that the line is not known.
func (l Line) Name() string {
	switch {
	case l.Line.Valid && l.File != "":
		return fmt.Sprintf("%s:%d", l.File, l.Line.V)
	case l.Line.Valid:
		return fmt.Sprintf("line %d (no file information)", l.Line.V)
	case l.File != "":
		return l.File + " (no line information)"
	}
	return "(no line information)"
}

// Instruction is the samples of one instruction.
type Instruction struct {
	Code     int64 // the row of the table code, 0 where there is none
	ISA      string
	Offset   datasets.Null[int64] // bytes from the begin of its function
	Opcode   string
	Text     string
	File     string
	Line     datasets.Null[int64]
	Function string // a called function that it belongs to, "" for the kernel's own
	Class    Class
	Tally
	Share float64 // of the kernel's stalled samples, 0 to 1
}

// Type is the samples of all instructions of one type.
type Type struct {
	Class   Class
	Opcodes []string // sorted
	Tally
	Share float64 // of the kernel's stalled samples, 0 to 1
}

// Launch is the samples of one launch.
type Launch struct {
	ID       int64
	Sequence datasets.Null[int64]
	Tally
}

// Kernel is the samples of a kernel over its launches, or of one launch.
type Kernel struct {
	Run    int64
	Name   string // short
	Raw    string
	Launch int64 // with Options.ByLaunch, else 0
	Tally
	Launches     []Launch // in order, up to Options.Launches; with what follows but for the counts, see Load
	LaunchCount  int
	Lines        []Line // the most stalled first; lines that are not known, too
	Rest         Rest   // of lines
	Instructions []Instruction
	RestOfCode   Rest // of instructions
	Types        []Type
	// Repeated is samples that the store has again, for lines of source beside
	// instructions or for each function that code is inlined into. They are not
	// in Samples.
	Repeated int64
	// Uncounted is rows of which the profile gives only the not-issued samples.
	Uncounted int64
	RawRows   int64 // of the table pc_sample
	RawBytes  int64 // of these rows as CSV: code_id,reason,samples,not_issued

	sources  map[string][]string // by file, from line 1
	dominant float64
	spelled  map[string][]string // a reason's names in the store
	loaded   bool

	// The rows of the store that it is.
	from        *origin
	unit        int64
	first, last int64    // rows of the table code that its samples lie between
	launches    []Launch // the first, without their samples
	mixed       bool     // its launches count inlined code in different ways
	raw         []Count  // sums of all rows, until those that count are known
}

// Rest is what is added up since there is too much of it. That of instructions
// has no Reasons.
type Rest struct {
	Count int
	Tally
	Share float64
}

// Dominant returns the kernel's dominant reasons by the threshold of Options.
func (k *Kernel) Dominant() []Count { return k.Tally.Dominant(k.dominant) }

// Source gives the text of a file, for profiles that do not hold it. file is
// as Line.File spells it.
func (k *Kernel) Source(file, text string) {
	if k.sources == nil {
		k.sources = map[string][]string{}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	k.sources[file] = lines
	for i := range k.Lines {
		if l := &k.Lines[i]; l.File == file {
			l.Text = k.text(file, l.Line)
		}
	}
}

// text is a line of a source that is known.
func (k *Kernel) text(file string, line datasets.Null[int64]) string {
	if s := k.sources[file]; line.Valid && line.V >= 1 && line.V <= int64(len(s)) {
		return s[line.V-1]
	}
	return ""
}

// Analysis is the stalls of kernels, the most stalled kernel first.
type Analysis struct {
	Kernels []*Kernel
	Options Options
	Notes   []string // what a reader must know to trust the numbers
}

// Kernel returns the most stalled kernel of a name, short or raw.
func (a *Analysis) Kernel(name string) (*Kernel, error) {
	var have []string
	for _, k := range a.Kernels {
		if k.Name == name || k.Raw == name {
			return k, nil
		}
		have = append(have, k.Name)
	}
	return nil, fmt.Errorf("no kernel %q has PC samples: those that have are %s", name, shortList(have, 8))
}

func shortList(names []string, most int) string {
	if len(names) == 0 {
		return "none"
	}
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}
