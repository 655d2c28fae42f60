package llmperfgpuflopbench

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/tokenize"
)

// table is what is known of each launch, as features in named groups. What is
// of the source is unknown, NaN, for launches without one.
type table struct {
	launches []llmperf.FLOPBenchLaunch
	programs []string // of each launch; CUDA and OpenMP are one program
	names    []string
	rows     [][]float64
	group    map[string][]string // names by group
	source   []int               // launches whose source was found and analysed
	assumed  []float64           // share of the work by the source's estimate that rests on assumptions about data
}

// The groups of features.
const (
	shape    = "launch"       // grid and block
	command  = "command line" // the numbers in it
	tokens   = "tokens"       // of the source and of the kernel's full name
	work     = "work"         // amounts by kernelcost, for the roofline
	estimate = "estimate"     // kernelcost's other features
	counted  = "counted"      // by the profiler
)

// newTable reads sources and computes features. Launches whose source does not
// tell its cost are as those without.
func newTable(ctx context.Context, launches []llmperf.FLOPBenchLaunch, progress func(string, int, int)) (*table, error) {
	t := &table{launches: launches, group: map[string][]string{}}
	costs := kernelcost.FeatureNames()
	parsed := map[string]*kernelcost.Program{}
	for i := range launches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i%100 == 0 {
			progress("reading sources", i, len(launches))
		}
		l := &launches[i]
		t.programs = append(t.programs, strings.TrimSuffix(strings.TrimSuffix(l.Program, "-cuda"), "-omp"))
		var row []float64
		add := func(group string, names []string, values []float64) {
			if i == 0 {
				t.group[group] = append(t.group[group], names...)
				t.names = append(t.names, names...)
			}
			row = append(row, values...)
		}
		names, values := shapeOf(l)
		add(shape, names, values)
		names, values = numbersOf(l.CommandLine)
		add(command, names, values)
		names, values = signatureOf(l.Name)
		add(tokens, names, values)
		var cost *kernelcost.Cost
		if l.Source != "" {
			if parsed[l.Source] == nil {
				parsed[l.Source] = kernelcost.Parse(l.Source, csource.Options{})
			}
			cost, _ = parsed[l.Source].Analyse(kernelcost.Launch{Kernel: l.Kernel, Global: l.Global, Local: l.Local})
		}
		if cost != nil {
			t.source = append(t.source, i)
			t.assumed = append(t.assumed, cost.AssumedShare())
			names, values, err := tokensOf(l.Source)
			if err != nil {
				return nil, err
			}
			add(tokens, names, values)
			add(estimate, costs, cost.Features())
			add(work, analytical.SourceWork, analytical.Work(cost))
		} else {
			names, _, err := tokensOf("")
			if err != nil {
				return nil, err
			}
			add(tokens, names, unknown(len(names)))
			add(estimate, costs, unknown(len(costs)))
			add(work, analytical.SourceWork, unknown(len(analytical.SourceWork)))
			t.assumed = append(t.assumed, math.NaN())
		}
		add(counted, []string{"counted integer operations", "counted flop fp32", "counted flop fp64", "counted dram bytes", "counted flop per byte", "counted integer operations per byte"},
			[]float64{l.Int, l.FP32, l.FP64, l.Bytes, (l.FP32 + l.FP64) / l.Bytes, l.Int / l.Bytes})
		t.rows = append(t.rows, row)
	}
	if len(t.source) == 0 {
		return nil, fmt.Errorf("reading data set %s: no launch has a source that could be read", set)
	}
	return t, nil
}

func unknown(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

// examples are all launches that have counted work (everything), or those with
// a source; use are their numbers, asked are the rows of them that are scored: with a source, always.
// Groups are what the split keeps together. A kernel weighs 1, however many
// launches it has.
func (t *table) examples(axis split.Axis, everything bool) (e *predict.Examples, use, asked []int) {
	use = t.source
	if everything {
		use = nil
		for i, l := range t.launches {
			if !math.IsNaN(l.Bytes) || slices.Contains(t.source, i) {
				use = append(use, i)
			}
		}
	}
	e = &predict.Examples{Features: t.names, Target: "time", Unit: "s"}
	launches := map[string]float64{}
	for _, i := range use {
		launches[t.launches[i].Group]++
	}
	for k, i := range use {
		l := &t.launches[i]
		group := l.Group
		if axis == split.ByProgram {
			group = t.programs[i]
		}
		e.X, e.Y, e.Groups = append(e.X, t.rows[i]), append(e.Y, l.Seconds), append(e.Groups, group)
		e.Weights = append(e.Weights, 1/launches[l.Group])
		if _, ok := slices.BinarySearch(t.source, i); ok {
			asked = append(asked, k)
		}
	}
	return e, use, asked
}

// features are the names of groups.
func (t *table) features(groups ...string) []string {
	var out []string
	for _, g := range groups {
		out = append(out, t.group[g]...)
	}
	return out
}

func shapeOf(l *llmperf.FLOPBenchLaunch) (names []string, values []float64) {
	threads, blocks := 1.0, 1.0
	for d, axis := range []string{"x", "y", "z"} {
		block, grid := float64(l.Local[d]), float64(l.Global[d]/l.Local[d])
		names = append(names, "block "+axis, "grid "+axis)
		values = append(values, block, grid)
		threads *= block
		blocks *= grid
	}
	openMP := 0.0
	if strings.HasSuffix(l.Program, "-omp") {
		openMP = 1
	}
	return append(names, "threads per block", "blocks", "threads", "OpenMP"), append(values, threads, blocks, threads*blocks, openMP)
}

// number is a number of a command line that is a word of its own.
var number = regexp.MustCompile(`(?:^|[\s=,])(\d+(?:\.\d+)?)(?:$|[\s,])`)

// numbersOf are the numbers of a command line: sizes, repeats, dimensions, which
// it does not tell apart.
func numbersOf(line string) (names []string, values []float64) {
	var in []float64
	for _, word := range strings.Fields(line) {
		if m := number.FindStringSubmatch(word); m != nil {
			if v, err := strconv.ParseFloat(m[1], 64); err == nil {
				in = append(in, v)
			}
		}
	}
	sorted := slices.Clone(in)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	product := 1.0
	for _, v := range in {
		product *= max(v, 1)
	}
	at := func(from []float64, i int) float64 {
		if i < 0 || i >= len(from) {
			return math.NaN()
		}
		return from[i]
	}
	if len(in) == 0 {
		product = math.NaN()
	}
	names = []string{"numbers", "product of numbers", "last number"}
	values = []float64{float64(len(in)), min(product, 1e30), at(in, len(in)-1)}
	for i := range 3 {
		names = append(names, fmt.Sprintf("number %d", i+1), fmt.Sprintf("number %d by size", i+1))
		values = append(values, at(in, i), at(sorted, i))
	}
	return names, values
}

// signatureOf counts the parts of a kernel's full name, as Nsight Compute
// writes it: what it was instantiated for, and the types of its parameters.
func signatureOf(name string) (names []string, values []float64) {
	for _, part := range []string{",", "*", "<", "const", "double", "float", "int", "half", "char", "long"} {
		names = append(names, "signature "+part)
		values = append(values, float64(strings.Count(name, part)))
	}
	return names, values
}

// counting are the words and operators whose number is a feature: of C and
// CUDA, and words that tell in many kernels what they are for.
var counting = strings.Fields(`if for while return float double half int unsigned char short long bool const struct template do switch case break continue
	blockIdx threadIdx blockDim gridDim __restrict__ __shared__ __syncthreads __ldg __device__ __forceinline__ __launch_bounds__ pragma unroll define
	atomicAdd atomicMax atomicMin atomicCAS __shfl_down_sync __shfl_sync __shfl_xor_sync size_t float2 float4 double2 int4 uint
	sqrt sqrtf exp expf pow powf log logf sin sinf cos cosf fabs fabsf min max fmin fmax fma rsqrtf
	[ ] + - * / % << >> & | ^ ~ == != < > <= >= && || ! ? : ; { } ( ) , = += -= *= /= ++ -- . -> ::`)

// tokensOf counts the tokens of a source.
func tokensOf(source string) (names []string, values []float64, err error) {
	pieces, err := tokenize.Scan(tokenize.C, source)
	if err != nil {
		return nil, nil, err
	}
	count := map[string]float64{}
	kinds := map[tokenize.Kind]float64{}
	words := map[string]bool{}
	for _, p := range pieces {
		text := source[p.Start:p.End]
		count[text]++
		kinds[p.Kind]++
		if p.Kind == tokenize.Word {
			words[text] = true
		}
	}
	names = []string{"tokens", "words", "different words", "literals"}
	values = []float64{kinds[tokenize.Word] + kinds[tokenize.Number] + kinds[tokenize.Operator], kinds[tokenize.Word], float64(len(words)), kinds[tokenize.Number]}
	for _, c := range counting {
		names = append(names, "token "+c)
		values = append(values, count[c])
	}
	return names, values, nil
}
