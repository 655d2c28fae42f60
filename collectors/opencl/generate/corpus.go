package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// patterns are all families; the weight is how often one is taken.
var patterns = []struct {
	pattern
	weight int
}{
	{pattern{"map", writeMap}, 12},
	{pattern{"stencil", writeStencil}, 10},
	{pattern{"reduction", writeReduction}, 8},
	{pattern{"scan", writeScan}, 5},
	{pattern{"gemv", writeGemv}, 7},
	{pattern{"gemm", writeGemm}, 8},
	{pattern{"spmv", writeSpmv}, 7},
	{pattern{"histogram", writeHistogram}, 4},
	{pattern{"transpose", writeTranspose}, 4},
	{pattern{"sort", writeSort}, 5},
	{pattern{"nbody", writeNBody}, 4},
	{pattern{"bfs", writeBFS}, 4},
	{pattern{"gather", writeGather}, 5},
	{pattern{"iterate", writeIterate}, 6},
	{pattern{"distance", writeDistance}, 4},
	{pattern{"convolution", writeConvolution}, 3},
	{pattern{"paths", writePaths}, 2},
	{pattern{"butterfly", writeButterfly}, 2},
	{pattern{"composition", writeComposition}, 30},
}

// Patterns lists the names of the families.
func Patterns() []string {
	var names []string
	for _, p := range patterns {
		names = append(names, p.name)
	}
	return names
}

func withSpan(d draw, span index) draw {
	return func(r *rand.Rand) (map[string]int64, []int64, []int64) {
		v, g, l := d(r)
		v[span.String()] = logUniform(r, 2, 512)
		return v, g, l
	}
}

// Corpus makes kernels one after the other, no two of which are the same but
// for names. Equal seeds give equal kernels.
type Corpus struct {
	seed     uint64
	next     uint64
	launches int
	seen     map[string]bool
}

// New is a corpus of kernels with up to launches launches each.
func New(seed uint64, launches int) *Corpus {
	return &Corpus{seed: seed, launches: launches, seen: map[string]bool{}}
}

// Next is the next kernel.
func (c *Corpus) Next() Kernel {
	for {
		seed := [2]uint64{c.seed, c.next}
		c.next++
		p := choose(rand.New(rand.NewPCG(seed[0], seed[1]^0x5eed)))
		k, ok := p.kernel(seed, c.launches, false)
		if key := anonymous(k.Source); ok && !c.seen[key] {
			c.seen[key] = true
			return k
		}
	}
}

func choose(r *rand.Rand) pattern {
	total := 0
	for _, p := range patterns {
		total += p.weight
	}
	n := r.IntN(total)
	for _, p := range patterns {
		if n -= p.weight; n < 0 {
			return p.pattern
		}
	}
	panic("generate: no pattern")
}

var identifier = regexp.MustCompile(`\b[A-Za-z_]\w*`)

// anonymous is a source with its names replaced by numbers in their order, and
// without comments and spaces: what differs is another kernel.
func anonymous(source string) string {
	var b strings.Builder
	for _, line := range strings.Split(source, "\n") {
		code, _, _ := strings.Cut(line, "//")
		b.WriteString(strings.TrimSpace(code))
	}
	numbers := map[string]int{}
	return identifier.ReplaceAllStringFunc(b.String(), func(s string) string {
		n, ok := numbers[s]
		if !ok {
			n = len(numbers)
			numbers[s] = n
		}
		return fmt.Sprint("_", n)
	})
}

// buildOptions keep the time of random arithmetic from depending on whether it
// ends in denormal numbers, which some processors handle a hundred times slower.
const buildOptions = "-cl-denorms-are-zero"

// WriteJob writes kernels as .cl files and a job file for package opencl into
// a folder and returns the job file's path.
func WriteJob(dir string, ks []Kernel, warmup, repeats int) (string, error) {
	type launch struct {
		Kernel string            `json:"kernel"`
		Global string            `json:"global"`
		Local  string            `json:"local"`
		Args   []string          `json:"args"`
		Work   map[string]string `json:"work"`
	}
	type program struct {
		Source   string   `json:"source"`
		Options  string   `json:"options"`
		Launches []launch `json:"launches"`
	}
	job := struct {
		Warmup   int       `json:"warmup"`
		Repeats  int       `json:"repeats"`
		Programs []program `json:"programs"`
	}{Warmup: warmup, Repeats: repeats}
	for _, k := range ks {
		name := k.file()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(k.Source), 0o644); err != nil {
			return "", fmt.Errorf("writing a generated kernel: %w", err)
		}
		p := program{Source: name, Options: buildOptions}
		for _, l := range k.Launches {
			p.Launches = append(p.Launches, launch{k.Name, join(l.Global), join(l.Local), l.Args, map[string]string{"byte": fmt.Sprint(l.Bytes)}})
		}
		job.Programs = append(job.Programs, p)
	}
	data, err := json.MarshalIndent(job, "", " ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "job.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return "", fmt.Errorf("writing the job of generated kernels: %w", err)
	}
	return path, nil
}

// file is the name of a kernel's file, and what a store knows it by.
func (k Kernel) file() string { return fmt.Sprintf("%s-%s.cl", k.Pattern, k.ID()) }

func join(ns []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ns), " ", ","), "[]")
}
