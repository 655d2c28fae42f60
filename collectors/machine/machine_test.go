package machine

import (
	"errors"
	"math"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func TestSizesOfArrays(t *testing.T) {
	const k, m, g = 1 << 10, 1 << 20, 1 << 30
	data := func(level int, bytes int64, instances, threads int) host.Cache {
		kind := "Unified"
		if level == 1 {
			kind = "Data"
		}
		return host.Cache{Level: level, Type: kind, Bytes: bytes, Instances: instances, Threads: threads}
	}
	for _, c := range []struct {
		what    string
		caches  []host.Cache
		threads int
		free    int64
		want    []level
		skipped int
		doubt   bool
	}{
		// Half of L1; sqrt(32 KiB * 2 MiB) = 256 KiB; sqrt(2 MiB * 32 MiB) = 8 MiB;
		// STREAM's rule, 4 * 64 MiB over two threads, and 4 * 64 MiB for one.
		{"two threads, one L3", []host.Cache{data(1, 32*k, 2, 1), {Level: 1, Type: "Instruction", Bytes: 32 * k}, data(2, 2*m, 2, 1), data(3, 64*m, 1, 2)}, 2, 16 * g,
			[]level{{"l1", 16 * k, 16 * k, ""}, {"l2", 256 * k, 256 * k, ""}, {"l3", 8 * m, 8 * m, ""}, {"dram", 128 * m, 256 * m, ""}}, 0, false},
		// Four sockets: memory is four times all of the last caches for all
		// threads, and four times one of them for a thread alone.
		{"four sockets", []host.Cache{data(1, 32*k, 4, 1), data(3, 128*m, 4, 1)}, 4, 16 * g,
			[]level{{"l1", 16 * k, 16 * k, ""}, {"l3", 2 * m, 2 * m, ""}, {"dram", 512 * m, 512 * m, ""}}, 0, false},
		// Hyperthreads share: each has 16 KiB of L1.
		{"shared L1", []host.Cache{data(1, 32*k, 1, 2)}, 2, 16 * g, []level{{"l1", 8 * k, 8 * k, ""}, {"dram", 128 * m, 256 * m, ""}}, 0, false},
		{"an L3 that is no larger than L2 for each of many threads", []host.Cache{data(1, 32*k, 16, 1), data(2, 2*m, 16, 1), data(3, 32*m, 1, 16)}, 16, 64 * g,
			[]level{{"l1", 16 * k, 16 * k, ""}, {"l2", 256 * k, 256 * k, ""}, {"dram", 16 * m, 256 * m, ""}}, 1, false},
		{"no caches known", nil, 1, 16 * g, []level{{"dram", 256 * m, 256 * m, ""}}, 0, false},
		{"little memory", []host.Cache{data(1, 32*k, 1, 1), data(3, 256*m, 1, 1)}, 1, 512 * m,
			[]level{{"l1", 16 * k, 16 * k, ""}, {"l3", 2965820, 2965820, ""} /* 2^21.5 */, {"dram", 256 * m, 256 * m, ""}}, 0, true},
	} {
		got, skipped := levels(c.caches, c.threads, c.free)
		if d := got[len(got)-1].doubt; (d != "") != c.doubt {
			t.Errorf("%s: doubt %q", c.what, d)
		}
		got[len(got)-1].doubt = ""
		if !reflect.DeepEqual(got, c.want) || len(skipped) != c.skipped {
			t.Errorf("%s: %+v, skipped %q", c.what, got, skipped)
		}
	}
}

func TestKernelsCompute(t *testing.T) {
	for _, s := range kernelSets() {
		n := 3 * s.step
		a, b, c, release, err := arrays(n + 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b {
			b[i], c[i] = float64(i), float64(2*i)
		}
		a[n] = -1
		s.triad(a[:n], b[:n], c[:n])
		for i := range n {
			if a[i] != float64(7*i) { // i + 3 * 2i
				t.Errorf("%s: a[%d] = %g", s.name, i, a[i])
			}
		}
		if a[n] != -1 {
			t.Errorf("%s writes behind its arrays", s.name)
		}
		release()
		// Each chain goes to 1 / (1 - 0.5) = 2, whatever it begins with.
		each := 2 * s.flop64 / 2 / lanesOf(s.name, 8)
		if got := s.fma64(2000); math.Abs(got-each) > 1e-9 {
			t.Errorf("%s: fp64 chains end with %g, want %g", s.name, got, each)
		}
		if got := s.fma32(2000); math.Abs(got-2*s.flop32/2/lanesOf(s.name, 4)) > 1e-5 {
			t.Errorf("%s: fp32 chains end with %g", s.name, got)
		}
	}
}

// lanesOf is how many numbers of some bytes an instruction of a set takes.
func lanesOf(set string, bytes float64) float64 {
	switch set {
	case "avx512":
		return 64 / bytes
	case "avx2":
		return 32 / bytes
	}
	return 1
}

// TestEveryChainIsComputed counts instructions in what the compiler makes of
// the kernels: it computes variables that are always equal only once, which
// would make a ceiling too high.
func TestEveryChainIsComputed(t *testing.T) {
	if len(kernelSets()) == 1 {
		t.Log("no vectors in this build: nothing to count")
		return
	}
	out, err := exec.Command("go", "build", "-gcflags=-S", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	counts, in := map[string]int{}, ""
	for _, line := range strings.Split(string(out), "\n") {
		if name, _, ok := strings.Cut(line, " STEXT"); ok {
			in = name[strings.LastIndex(name, ".")+1:]
		}
		if strings.Contains(line, "VFMADD") {
			counts[in]++
		}
	}
	for _, f := range []string{"fma64x8", "fma64x4", "fma32x16", "fma32x8"} {
		if counts[f] < chains {
			t.Errorf("%s has %d multiply-adds for %d chains", f, counts[f], chains)
		}
	}
}

func TestCeilingsOfThisMachine(t *testing.T) {
	r, err := parsertest.Collect(t, "machine", []string{"-round", "20us"}, collectors.Job{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != 1 || r.Runs[0].Status != datasets.RunOK || r.Machines[0] != host.Machine() {
		t.Fatalf("%+v on %+v", r.Runs, r.Machines)
	}
	levels := map[string]datasets.Ceiling{}
	for _, c := range r.Ceilings {
		levels[c.Level] = c
		if !(c.Value > 0) || !c.Measured || c.Machine != 1 || c.Run != 1 || !c.ClockHz.Valid {
			t.Errorf("%+v", c)
		}
	}
	for level, unit := range map[string]string{"fp64": "flop/s", "fp32.core": "flop/s", "dram": "byte/s", "dram.core": "byte/s"} {
		c := levels[level]
		if one, ok := levels[level+".core"]; ok && c.Value < one.Value {
			t.Errorf("%s is %g for all processors and %g for one", level, c.Value, one.Value)
		}
		if c.Unit != unit {
			t.Errorf("%s: %+v", level, c)
		}
		said := false
		for _, s := range kernelSets() {
			said = said || strings.Contains(c.Source, s.instructions)
		}
		if !said {
			t.Errorf("%s does not say with which instructions: %q", level, c.Source)
		}
	}
	// A ceiling is the best launch of its probe.
	best := map[string]float64{}
	amount := map[int64]float64{}
	for _, c := range r.Counters {
		if c.Metric != "time.duration" {
			amount[c.Launch] = c.Value.V
		}
	}
	for _, l := range r.Launches {
		name := r.Region(l.Region).Short
		if strings.Contains(name, ".dram.core.") {
			best["dram.core"] = max(best["dram.core"], amount[l.ID]/float64(l.DurNs.V)*1e9)
		}
	}
	if d := levels["dram.core"].Value; math.Abs(best["dram.core"]/d-1) > 1e-6 {
		t.Errorf("ceiling %g, best launch %g", d, best["dram.core"])
	}
	if r.Attribute("cpu.model") == "" || r.Attribute("kernel.release") == "" || r.Attribute("cpu.clock_hz.measured") == "" {
		t.Errorf("attributes %v", r.Attributes)
	}
}

func TestFactsAlone(t *testing.T) {
	r, err := parsertest.Collect(t, "machine", []string{"-probe=false"}, collectors.Job{})
	if err != nil || len(r.Ceilings)+len(r.Launches) != 0 || r.Attribute("cpu.model") == "" {
		t.Errorf("%v, %d ceilings", err, len(r.Ceilings))
	}
	if _, err := parsertest.Collect(t, "machine", nil, collectors.Job{Command: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "takes no command") {
		t.Errorf("a command: %v", err)
	}
}

func TestThreadsGoBack(t *testing.T) {
	before := runtime.NumGoroutine()
	boom := []worker{{0, func() (func(int), func(), error) { return nil, nil, exec.ErrNotFound }}}
	if _, err := measure(t.Context(), boom, 1); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, then %d", before, after)
	}
}

// Two threads that reach less than one are disturbed: the bound is the one's.
func TestTogether(t *testing.T) {
	if rate, words := together(3e9, 2e9, 2, "byte"); rate != 3e9 || words != "2 threads" {
		t.Error(rate, words)
	}
	if rate, words := together(1e9, 2e9, 2, "byte"); rate != 2e9 || !strings.Contains(words, "2 reached only 1e+09 byte/s") {
		t.Error(rate, words)
	}
}
