package kernelcost_test

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

const benchmark = "../../../shared/data/gpuflopbench/"

// row is one measured launch of gpuFLOPBench.
type row struct {
	target, kernel, name string
	global, local        []int64
	single, double       float64 // flop
}

var triple = regexp.MustCompile(`\d+`)

func flopRows(t *testing.T) []row {
	t.Helper()
	f, err := os.Open(benchmark + "profiling-data.csv")
	if err != nil {
		t.Fatalf("the table is missing: %v: the folder shared/ must lie beside the repository", err)
	}
	defer func() { _ = f.Close() }()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, n := range all[0] {
		column[n] = i
	}
	var rows []row
	for _, r := range all[1:] {
		number := func(name string) float64 {
			x, err := strconv.ParseFloat(r[column[name]], 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		x := row{target: r[column["targetName"]], kernel: r[column["kernelName"]], name: r[column["Kernel Name"]]}
		block, grid := triple.FindAllString(r[column["Block Size"]], 3), triple.FindAllString(r[column["Grid Size"]], 3)
		for d := range 3 {
			b, _ := strconv.ParseInt(block[d], 10, 64)
			g, _ := strconv.ParseInt(grid[d], 10, 64)
			x.local, x.global = append(x.local, b), append(x.global, b*g)
		}
		seconds := number("xtime") * 1e-9
		x.single, x.double = number("spPerf")*seconds, number("dpPerf")*seconds
		rows = append(rows, x)
	}
	return rows
}

// flopSources are the texts of each program's functions, file after file.
func flopSources(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(benchmark + "extracted_CUDA_kernels.json")
	if err != nil {
		t.Fatalf("the sources are missing: %v: the folder shared/ must lie beside the repository", err)
	}
	var programs map[string]map[string][]string
	if err := json.Unmarshal(b, &programs); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, files := range programs {
		var texts []string
		for _, fs := range files {
			texts = append(texts, fs...)
		}
		slices.Sort(texts)
		out[name] = strings.Join(slices.Compact(texts), "\n\n")
	}
	return out
}

// Without any argument's value, what a launch computes is known where only the
// geometry and constants of the text decide, and assumed where arguments bound
// the ids alone. Measured flop are counters of instructions, with fused ones as
// two; kernels with divisions, roots or functions of a library are left out, for
// these become several.
func TestFlopOfGPUFLOPBench(t *testing.T) {
	sources := flopSources(t)
	programs := map[string]*kernelcost.Program{}
	functions, problems := 0, 0
	for n, s := range sources {
		p := kernelcost.Parse(s, csource.Options{})
		programs[n] = p
		functions += len(p.Unit.Functions)
		problems += len(p.Unit.Problems)
	}
	launches, found := 0, 0
	seen := map[string]bool{}
	ratios := map[string][]float64{}
	for _, r := range flopRows(t) {
		p := programs[r.target]
		if !strings.HasSuffix(r.target, "-cuda") || p == nil {
			continue
		}
		launches++
		c, err := p.Analyse(kernelcost.Launch{Kernel: r.kernel, Global: r.global, Local: r.local})
		if err != nil {
			continue
		}
		found++
		if key := r.target + r.kernel; seen[key] {
			continue
		} else {
			seen[key] = true
		}
		class := "exact"
		if c.AssumedShare() > 0 {
			class = "ids bounded by arguments"
		}
		for _, n := range c.Notes {
			if !strings.Contains(n, "has no value") && !strings.Contains(n, "a bound of ids") {
				class = "more is assumed"
			}
		}
		flop := func(k kernelcost.Kind) float64 { return c.Total[k] + c.Total[kernelcost.Float(k, 8)] }
		switch {
		case c.Total[kernelcost.Unread]+c.Total[kernelcost.UnknownCall] > 0:
			class = "not all is understood"
		case c.Total[kernelcost.BranchByData] > 0 && class == "ids bounded by arguments":
			class += ", and data"
		}
		if flop(kernelcost.Div)+flop(kernelcost.Sqrt)+flop(kernelcost.Transcendental)+flop(kernelcost.Trigonometric)+flop(kernelcost.Power) > 0 {
			class += ", special functions"
		}
		measured, ours := r.single+r.double, c.Total.Flop(4)+c.Total.Flop(8)
		if measured == 0 && ours == 0 {
			class += ", none and none"
			ours, measured = 1, 1
		}
		ratios[class] = append(ratios[class], ours/measured)
		if class == "exact" || class == "ids bounded by arguments" {
			t.Logf("%-20s %-40.40s %.4g of %.4g: %.3f  %v", class, r.target+" "+r.kernel, ours, measured, ours/measured, c.Notes)
		}
	}
	t.Logf("%d programs, %d functions, %d problems; %d launches with a source, %d analysed, %d different kernels", len(sources), functions, problems, launches, found, len(seen))
	within := map[string][2]int{}
	for _, class := range slices.Sorted(maps.Keys(ratios)) {
		v := ratios[class]
		slices.Sort(v)
		near := 0
		for _, x := range v {
			if math.Abs(x-1) < 0.02 {
				near++
			}
		}
		t.Logf("%-50s %4d kernels, ours by measured: quartiles %.3g %.3g %.3g, %d within 2 %%", class, len(v), v[len(v)/4], v[len(v)/2], v[len(v)*3/4], near)
		within[class] = [2]int{near, len(v)}
	}
	// What the notes found when this was written; better is fine.
	for class, least := range map[string][2]int{"exact": {9, 9}, "exact, none and none": {18, 18}, "ids bounded by arguments": {6, 9}} {
		if got := within[class]; got[1] < least[1] || float64(got[0]) < 0.6*float64(got[1]) || class == "exact" && got[0] < least[0] {
			t.Errorf("%s: %d of %d within 2 %%, want at least %d of %d", class, got[0], got[1], least[0], least[1])
		}
	}
	if found < 1600 {
		t.Errorf("%d launches analysed, want 1600 of 1727", found)
	}
}
