package kernelcost_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
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

func TestDebugFlop(t *testing.T) {
	sources := flopSources(t)
	rows := flopRows(t)
	programs := map[string]*kernelcost.Program{}
	problems, functions, kernels := 0, 0, 0
	for n, s := range sources {
		p := kernelcost.Parse(s, csource.Options{})
		programs[n] = p
		problems += len(p.Unit.Problems)
		functions += len(p.Unit.Functions)
		kernels += len(p.Unit.Kernels())
		for _, x := range p.Unit.Problems {
			if os.Getenv("P") != "" {
				fmt.Println(n, x.Line, x.Text, "|", strings.Split(s, "\n")[max(x.Line-1, 0)])
			}
		}
	}
	fmt.Println("programs", len(sources), "functions", functions, "kernels", kernels, "problems", problems)
	cuda, found := 0, 0
	seen := map[string]bool{}
	byClass := map[string][]float64{}
	for _, r := range rows {
		if !strings.HasSuffix(r.target, "-cuda") {
			continue
		}
		cuda++
		p := programs[r.target]
		if p == nil {
			continue
		}
		c, err := p.Analyse(kernelcost.Launch{Kernel: r.kernel, Global: r.global, Local: r.local})
		if err != nil {
			continue
		}
		found++
		key := r.target + r.kernel
		if seen[key] {
			continue
		}
		seen[key] = true
		m := r.single + r.double
		g := c.Total.Flop(4) + c.Total.Flop(8)
		class := "assumed"
		switch a := c.AssumedShare(); {
		case a < 0.02:
			class = "known"
		case a < 0.5:
			class = "partly"
		}
		if m == 0 || g == 0 {
			if m != g {
				class += " one zero"
			} else {
				class += " both zero"
			}
		}
		byClass[class] = append(byClass[class], g/m)
		if (class == "known" || class == "known one zero") && os.Getenv("K") != "" {
			fmt.Printf("%s %s %.4g of %.4g = %.3g div %g sqrt %g trans %g %v\n", r.target, r.name, g, m, g/m, c.Total[kernelcost.Div], c.Total[kernelcost.Sqrt], c.Total[kernelcost.Transcendental], c.Notes)
		}
	}
	fmt.Println("cuda rows", cuda, "found", found, "distinct", len(seen))
	for k, v := range byClass {
		slices.Sort(v)
		fmt.Println(k, len(v), v[len(v)/4], v[len(v)/2], v[len(v)*3/4])
	}
}
