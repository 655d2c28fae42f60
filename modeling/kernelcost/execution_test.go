package kernelcost_test

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors/opencl/generate"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

//go:embed testdata/counting.h
var counting string

// executed is what an execution counted: by kind in the order of counting.h's
// enumeration, and the extent of each buffer.
type executed struct {
	n       [9]float64
	extents map[string][2]int64
}

// trial is a launch of a generated kernel.
type trial struct {
	k generate.Kernel
	l generate.Launch
	p *kernelcost.Program
	c *kernelcost.Cost
	executed
}

var (
	signature = regexp.MustCompile(`(?s)(?:__)?kernel void (\w+)\((.*?)\) \{\n`)
	vectors   = regexp.MustCompile(`\b(float|double|int)\d`)
)

// program is C++ that executes trials one after the other and prints counts.
func program(ts []*trial) string {
	var b strings.Builder
	b.WriteString(counting)
	b.WriteString("#define float F4\n#define double F8\n#define __local static\n#define __global\n#define __constant\n#define restrict\n")
	var calls strings.Builder
	for i, t := range ts {
		m := signature.FindStringSubmatchIndex(t.k.Source)
		source := t.k.Source
		args := map[string][]string{}
		for _, a := range t.l.Args {
			name, spec, _ := strings.Cut(a, "=")
			args[name] = strings.Split(spec, ":")
		}
		var params, pass []string
		setup, report := "", ""
		for _, p := range strings.Split(source[m[4]:m[5]], ",") {
			f := strings.Fields(strings.NewReplacer("*", " ", "restrict", " ", "const", " ").Replace(p))
			name, typ := f[len(f)-1], f[len(f)-2]
			spec := args[name]
			switch spec[0] {
			case "buf":
				params = append(params, fmt.Sprintf("Buf<%s> &%s", typ, name))
				how := regexp.MustCompile(`(\w+)(?:\((.*)\))?`).FindStringSubmatch(spec[3])
				nums := append(strings.Split(how[2], ","), "0", "0", "0")
				kind, lo, hi := "z", "0", "0"
				switch {
				case how[1] == "iota":
					kind, lo, hi = "i", nums[0], nums[1]
				case how[1] == "random" && strings.Count(how[2], ",") == 2:
					kind, lo, hi = "r", nums[1], nums[2]
				case how[1] == "random" && strings.HasPrefix(typ, "int"):
					kind, lo, hi = "r", "0", "100"
				case how[1] == "random":
					kind = "u"
				}
				if spec[3] == "nothing" {
					setup += fmt.Sprintf("static Buf<%s> %s; %s.p = 0;\n", typ, name, name)
				} else {
					setup += fmt.Sprintf("static Buf<%s> %s; ", typ, name)
				}
				setup += fmt.Sprintf("if (%v) %s.p = fill<%s>(%s, %q, %s, %s);\n", spec[3] != "nothing", name, typ, spec[2], kind, lo, hi)
				pass = append(pass, name)
				report += fmt.Sprintf("printf(\" %s=%%ld:%%ld\", %s.low, %s.high);\n", name, name, name)
			case "local":
				params = append(params, fmt.Sprintf("%s *%s", typ, name))
				setup += fmt.Sprintf("static %s %s[%s / sizeof(%s) + 1];\n", typ, name, spec[1], typ)
				pass = append(pass, name)
			default:
				params = append(params, typ+" "+name)
				pass = append(pass, spec[1])
			}
		}
		text := source[:m[0]] + "static void kernel_(" + strings.Join(params, ", ") + ") {\n" + source[m[1]:]
		fmt.Fprintf(&b, "namespace k%d {\n%s\n", i, text)
		sizes := ""
		for d := range 3 {
			g, l := int64(1), int64(1)
			if d < len(t.l.Global) {
				g, l = t.l.Global[d], t.l.Local[d]
			}
			sizes += fmt.Sprintf("gs_[%d] = %d; ls_[%d] = %d; ", d, g, d, l)
		}
		fmt.Fprintf(&b, "static void run() {\n%s%s\nfor (int i = 0; i < KINDS; i++) n[i] = 0; rnd = 7;\nlaunch([] { kernel_(%s); });\nprintf(\"%d\"); for (int i = 0; i < KINDS; i++) printf(\" %%.0f\", n[i]);\n%sprintf(\"\\n\"); fflush(stdout);\n}\n}\n",
			sizes, setup, strings.Join(pass, ", "), i, report)
		fmt.Fprintf(&calls, "k%d::run();\n", i)
	}
	return b.String() + "int main() {\n" + calls.String() + "}\n"
}

// execute compiles and runs trials.
func execute(t *testing.T, ts []*trial) {
	t.Helper()
	cxx, err := exec.LookPath("clang++")
	if err != nil {
		if cxx, err = exec.LookPath("g++"); err != nil {
			t.Fatal("this test executes kernels as C++ and finds neither clang++ nor g++: apt-get install clang")
		}
	}
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "count.cc"), filepath.Join(dir, "count")
	if err := os.WriteFile(src, []byte(program(ts)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cxx, "-std=c++14", "-O1", "-w", "-fpermissive", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("compiling: %v\n%.4000s", err, out)
	}
	var errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), bin)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running: %v %s\n%.2000s", err, errs.String(), out)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		i, _ := strconv.Atoi(f[0])
		x := &ts[i].executed
		x.extents = map[string][2]int64{}
		for j := range x.n {
			x.n[j], _ = strconv.ParseFloat(f[1+j], 64)
		}
		for _, e := range f[1+len(x.n):] {
			name, r, _ := strings.Cut(e, "=")
			lo, hi, _ := strings.Cut(r, ":")
			a, _ := strconv.ParseInt(lo, 10, 64)
			b, _ := strconv.ParseInt(hi, 10, 64)
			x.extents[name] = [2]int64{a, b}
		}
	}
}

// trials are launches of generated kernels that execute quickly, up to n of
// different kernels.
func trials(t *testing.T, seed uint64, n int) []*trial {
	t.Helper()
	g := generate.New(seed, 6)
	var ts []*trial
	for range 20 * n {
		if len(ts) == n {
			break
		}
		k := g.Next()
		if vectors.MatchString(k.Source) || strings.Contains(k.Source, "int in_bounds") {
			continue
		}
		best := slices.MinFunc(k.Launches, func(a, b generate.Launch) int { return int(a.Accesses - b.Accesses) })
		if best.Accesses > 3e6 {
			continue
		}
		scalars, elements, sizes := arguments(best.Args)
		p := kernelcost.Parse(k.Source, csource.Options{})
		for _, v := range p.Unit.Find(k.Name).Params {
			if n := elements[v.Name]; n > 0 {
				sizes[v.Name] = n * int64(v.Type.Elem.Size())
			}
		}
		c, err := p.Analyse(kernelcost.Launch{Kernel: k.Name, Scalars: scalars, Bytes: sizes, Global: best.Global, Local: best.Local})
		if err != nil {
			t.Fatal(err)
		}
		ts = append(ts, &trial{k: k, l: best, p: p, c: c})
	}
	return ts
}

// updated finds += and its like on elements: one access for the class that
// counts, a load and a store here.
var updated = regexp.MustCompile(`\w\[[^;=]*\] [-+*]= |\]\+\+`)

// Generated kernels are compiled as C++ whose numbers and buffers count what is
// done to them, and executed work-item by work-item. Where nothing is assumed
// every count is the same; with conditions on data the median is. No access lies
// outside of what the analysis says a buffer needs.
func TestCountsAgreeWithExecution(t *testing.T) {
	n := 40
	if testing.Short() {
		n = 12
	}
	ts := trials(t, 11, n)
	execute(t, ts)
	names := [9]string{"additions", "multiplications", "fused", "divisions", "roots", "transcendental", "simple", "accesses", "barriers"}
	var ratios [9][]float64
	sure := 0
	for _, x := range ts {
		f := func(k kernelcost.Kind) float64 { return x.c.Total[k] + x.c.Total[kernelcost.Float(k, 8)] }
		got := [9]float64{f(kernelcost.Add), f(kernelcost.Mul), f(kernelcost.FMA), f(kernelcost.Div), f(kernelcost.Sqrt), f(kernelcost.Transcendental) + f(kernelcost.Trigonometric) + f(kernelcost.Power), f(kernelcost.Simple),
			x.c.Total.Accesses(), x.c.Total[kernelcost.Barrier]}
		known := x.c.AssumedShare() == 0
		if known {
			sure++
		}
		for i := range got {
			if got[i] == 0 && x.n[i] == 0 {
				continue
			}
			ratios[i] = append(ratios[i], got[i]/x.n[i])
			tolerance := 1e-6
			if x.c.SampledShare() > 0 {
				tolerance = 0.02
			}
			if known && math.Abs(got[i]/x.n[i]-1) > tolerance && !(i == 7 && updated.MatchString(x.k.Source)) {
				t.Errorf("%s %v %v: %.10g %s, executed %g\n%s", x.k.Name, x.l.Global, x.l.Values, got[i], names[i], x.n[i], x.k.Source)
			}
		}
		for _, b := range x.c.Buffers {
			e, ok := x.extents[b.Name]
			if !ok || !b.Known {
				continue
			}
			if e[1] > b.Elements() {
				t.Errorf("%s: element %d of %s is accessed, %d are said to be enough\n%s", x.k.Name, e[1]-1, b.Name, b.Elements(), x.k.Source)
			}
			if known && b.Tight && e[1] != b.Elements() {
				t.Errorf("%s: %d elements of %s are reached, said to be %d\n%s", x.k.Name, e[1], b.Name, b.Elements(), x.k.Source)
			}
		}
	}
	for i, r := range ratios {
		if len(r) == 0 {
			continue
		}
		slices.Sort(r)
		m := r[len(r)/2]
		t.Logf("%-16s %3d launches, estimated by executed: least %.3g, median %.4g, greatest %.3g", names[i], len(r), r[0], m, r[len(r)-1])
		if i != 2 && len(r) > 8 && math.Abs(m-1) > 0.02 {
			t.Errorf("%s: the median ratio is %g", names[i], m)
		}
	}
	if sure < len(ts)/3 {
		t.Errorf("nothing is assumed for %d of %d launches only", sure, len(ts))
	}
}
