package generated

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/rooflab/rooflab/datasets"
)

// Shape is what a generated table of samples looks like. Launches are added
// until the samples have Bytes.
type Shape struct {
	Name         string
	Bytes        int64 // of the samples as CSV: code_id,reason,samples,not_issued
	Kernels      int
	Instructions int // of each kernel
	Depth        int // a third of the instructions comes from a function so many calls deep, and is counted for each of them
	Files        int // over which the lines of a kernel are spread; 0 is 1
	Sampled      int // instructions that one launch has samples of; 0 is all
	Instances    int // rows that the samples of an instruction with a reason come in, as one for each multiprocessor; 0 is 1
	Seed         uint64
}

// String says what the profile is like.
func (s Shape) String() string {
	text := fmt.Sprintf("%d kernels of %d instructions", s.Kernels, s.Instructions)
	for _, is := range []struct {
		n    int
		text string
	}{{s.Depth, "a third inlined %d deep"}, {s.Files, "%d files each"}, {s.Sampled, "%d of them sampled in a launch"}, {s.Instances, "samples by %d multiprocessors"}} {
		if is.n > 0 {
			text += ", " + fmt.Sprintf(is.text, is.n)
		}
	}
	return text
}

// Shapes are those of profiles that people have, the most common first.
func Shapes() []Shape {
	return []Shape{
		{Name: "plain", Kernels: 8, Instructions: 3000},
		{Name: "kernels", Kernels: 1000, Instructions: 1900},
		{Name: "inlined", Kernels: 8, Instructions: 3000, Depth: 2},
		{Name: "fused", Kernels: 1, Instructions: 200_000},
		{Name: "launches", Kernels: 4, Instructions: 3000, Sampled: 20},
		{Name: "deep", Kernels: 2, Instructions: 30_000, Depth: 12},
		{Name: "files", Kernels: 200, Instructions: 3000, Files: 60},
		{Name: "instances", Kernels: 8, Instructions: 3000, Instances: 132},
	}
}

// Place is a line of source of a kernel.
type Place struct {
	Kernel string `json:"kernel"`
	File   string `json:"file"`
	Line   int64  `json:"line"`
}

// Truth is what a generated store holds.
type Truth struct {
	Rows     int64
	Bytes    int64 // as Shape has them
	Launches int
	Stalled  int64           // samples, each counted once
	Lines    map[Place]int64 // stalled samples by line of the instruction itself
}

// Hot are the lines with at least a part of all stalled samples.
func (t *Truth) Hot(least float64) []Place {
	var out []Place
	for p, n := range t.Lines {
		if float64(n) >= least*float64(t.Stalled) {
			out = append(out, p)
		}
	}
	return out
}

var (
	reasons = []string{"selected", "long_scoreboard", "wait", "not_selected", "barrier", "math_pipe_throttle", "short_scoreboard", "mio_throttle"}
	opcodes = []string{"LDG.E.128", "STG.E", "FFMA", "BAR.SYNC", "IMAD.WIDE", "MUFU.RCP", "BRA", "LDS.64", "ISETP"}
)

// instruction is one of a kernel, with the rows of the table code that it has.
type instruction struct {
	codes  []int64 // the innermost last
	line   Place
	weight int64
}

// hot are the lines that are made to stall: a kernel and the number of a line
// there, and the samples of its instructions as a part of those of all others.
// Divided by 1.58, the sum of all, these are shares of 19, 7.6, 6.3 and 3.8 %.
var hot = []struct {
	kernel, line int
	weight       float64
}{{0, 3, 0.30}, {0, 50, 0.12}, {1, 77, 0.10}, {2, 100, 0.06}}

// perLine is how many instructions a line has.
const perLine = 6

// Generate makes a store at path. The same shape gives the same store.
func Generate(ctx context.Context, path string, shape Shape) (truth *Truth, err error) {
	s, err := datasets.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	im, err := s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	g := &generator{shape: shape, put: im.Put, rng: rand.New(rand.NewPCG(shape.Seed, 0x646967)), truth: &Truth{Lines: map[Place]int64{}}}
	if err := g.all(); err != nil {
		return nil, errors.Join(fmt.Errorf("generating PC samples: %w", err), im.Rollback())
	}
	if err := im.Commit(datasets.Artefact{Path: "generated", SHA256: fmt.Sprint(shape.Name, shape, shape.Bytes, shape.Seed), Kind: "generated", ParserVersion: 1}); err != nil {
		return nil, err
	}
	return g.truth, nil
}

// Least is the part of all stalls from which on a digest must keep a line.
const Least = 0.05

// Check says what a digest lacks, or tells wrongly.
func (t *Truth) Check(d Digested) error {
	if d.RawRows != t.Rows || d.RawBytes != t.Bytes || d.Stalled != t.Stalled {
		return fmt.Errorf("the digest is of %d rows, %d bytes and %d stalled samples; generated were %d, %d and %d", d.RawRows, d.RawBytes, d.Stalled, t.Rows, t.Bytes, t.Stalled)
	}
	var lost []error
	for _, p := range t.Hot(Least) {
		if !slices.Contains(d.Lines, p) {
			lost = append(lost, fmt.Errorf("the digest lacks %s:%d of %s, which holds %d of %d stalled samples", p.File, p.Line, p.Kernel, t.Lines[p], t.Stalled))
		}
	}
	return errors.Join(lost...)
}

type generator struct {
	shape   Shape
	put     func(datasets.Record) error
	rng     *rand.Rand
	truth   *Truth
	kernels [][]instruction
	codes   int64
}

func (g *generator) all() error {
	if err := g.put(&datasets.Run{ID: 1, Tool: "ncu", Format: "ncu-rep", Status: datasets.RunOK}); err != nil {
		return err
	}
	for k := range g.shape.Kernels {
		if err := g.kernel(k); err != nil {
			return err
		}
	}
	for g.truth.Bytes < g.shape.Bytes {
		k := g.truth.Launches % len(g.kernels)
		g.truth.Launches++
		if err := g.launch(int64(g.truth.Launches), k); err != nil {
			return err
		}
	}
	return nil
}

func (g *generator) kernel(k int) error {
	name := fmt.Sprintf("stencil_%d", k)
	region := int64(k + 1)
	if err := g.put(&datasets.Region{ID: region, Run: 1, Kind: datasets.KindKernel, Raw: "void " + name + "(float const*, float*, int)", Short: name}); err != nil {
		return err
	}
	of := make([]instruction, g.shape.Instructions)
	for i := range of {
		in := &of[i]
		in.weight = 1
		for _, h := range hot {
			if k == h.kernel%g.shape.Kernels && i/perLine == h.line {
				in.weight = max(1, int64(h.weight*float64(g.shape.Instructions*g.shape.Kernels)/perLine))
			}
		}
		in.line = Place{name, fmt.Sprintf("/src/app/%s.cu", name), int64(10 + i/perLine)}
		chain := []Place{in.line}
		if g.shape.Files > 1 {
			in.line.File = fmt.Sprintf("/src/app/%s/part_%d.cu", name, i/perLine%g.shape.Files)
			chain[0] = in.line
		}
		if g.shape.Depth > 0 && i/perLine%3 == 0 {
			for d := range g.shape.Depth - 1 {
				chain = append(chain, Place{name, fmt.Sprintf("/src/include/load_%d.cuh", d), int64(40 + i/perLine%20)})
			}
			in.line = Place{name, "/src/include/tile.cuh", int64(100 + i/perLine)}
			chain = append(chain, in.line)
		}
		for depth, p := range chain {
			g.codes++
			c := &datasets.Code{ID: g.codes, Run: 1, Region: region, ISA: "sass", Offset: datasets.Some(int64(16 * i)), Opcode: opcodes[i%len(opcodes)],
				Text: opcodes[i%len(opcodes)] + " R4, R2, R" + strconv.Itoa(i%200), File: p.File, Line: datasets.Some(p.Line)}
			if g.shape.Depth > 0 {
				c.InlineDepth = datasets.Some(int64(depth))
			}
			if err := g.put(c); err != nil {
				return err
			}
			in.codes = append(in.codes, g.codes)
		}
	}
	g.kernels = append(g.kernels, of)
	return nil
}

func (g *generator) launch(id int64, k int) error {
	if err := g.put(&datasets.Launch{ID: id, Run: 1, Region: int64(k + 1), Sequence: datasets.Some(id - 1)}); err != nil {
		return err
	}
	of := g.kernels[k]
	for i := range of {
		if g.shape.Sampled > 0 {
			if i == g.shape.Sampled {
				break
			}
			i = g.rng.IntN(len(of))
		}
		if err := g.samples(id, &of[i]); err != nil {
			return err
		}
	}
	return nil
}

// samples puts those of one instruction in a launch.
func (g *generator) samples(launch int64, in *instruction) error {
	draw := g.rng.Uint64()
	instances := int64(max(g.shape.Instances, 1))
	for _, reason := range reasons {
		n := int64(draw%61) * in.weight
		draw /= 61
		if n == 0 {
			continue
		}
		if reason == "selected" {
			n = 1 + n/8/in.weight
		} else {
			g.truth.Stalled += n * instances
			g.truth.Lines[in.line] += n * instances
		}
		idle := n / 3
		for _, code := range in.codes {
			for range instances {
				if err := g.put(&datasets.PCSample{Run: 1, Launch: launch, Code: code, Reason: reason, Samples: datasets.Some(n), NotIssued: datasets.Some(idle)}); err != nil {
					return err
				}
			}
			g.truth.Rows += instances
			g.truth.Bytes += instances * (digits(code) + int64(len(reason)) + digits(n) + digits(idle) + 4)
		}
	}
	return nil
}

// digits is how long a number that is not negative is as text.
func digits(n int64) int64 {
	d := int64(1)
	for n >= 10 {
		n /= 10
		d++
	}
	return d
}
