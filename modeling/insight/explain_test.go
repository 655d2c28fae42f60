package insight_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/insight"
)

// ofRule is the items of a report that a rule made.
func ofRule(r *insight.Report, name string) (out []insight.Item) {
	for _, i := range r.Items {
		if i.Rule == name {
			out = append(out, i)
		}
	}
	return out
}

// importFile imports a file and returns its run.
func importFile(t *testing.T, s *datasets.Store, path string) int64 {
	t.Helper()
	sum, err := collectors.ImportFile(context.Background(), s, path, collectors.Options{})
	if err != nil {
		t.Fatalf("importing %s: %v: the folder shared/ must lie beside the repository", path, err)
	}
	return sum.Run()
}

// verified fails where the report cites what is not there.
func verified(t *testing.T, r *insight.Report, s *datasets.Store) {
	t.Helper()
	if err := r.Verify(context.Background(), s); err != nil {
		t.Error(err)
	}
}

// A kernel whose time is that of its traffic, with a counter that copies the
// traffic in other units, one that does not matter and one that never changes:
// the report says that the traffic tells the quick launches from the slow.
func TestTheCountersThatExplainTheTimesAreSaid(t *testing.T) {
	const launches = 60
	random := rand.New(rand.NewPCG(1, 2))
	s := open(t)
	im, err := s.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	records := []datasets.Record{&datasets.Run{ID: 1, Tool: "ncu", Format: "ncu", Status: datasets.RunOK},
		&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindKernel, Raw: "sweep(int)", Short: "sweep"}}
	traffic := make([]float64, launches)
	for i := range traffic {
		traffic[i] = math.Round(1e6 * math.Exp(3*random.Float64()))
		// 1 ns a byte, give or take 2 %.
		dur := int64(traffic[i] * (1 + 0.02*random.NormFloat64()))
		id := int64(i + 1)
		records = append(records, &datasets.Launch{ID: id, Run: 1, Region: 1, Sequence: datasets.Some(int64(i)), DurNs: datasets.Some(dur)})
		for name, v := range map[string]float64{"dram__bytes.sum": traffic[i], "dram__sectors.sum": traffic[i] / 32, "smsp__inst_executed.sum": 1e5 * (1 + random.Float64()), "launch__waves": 4} {
			records = append(records, &datasets.Counter{Run: 1, Region: 1, Launch: id, Metric: name, Value: datasets.Some(v), Status: datasets.StatusOK})
		}
	}
	for _, r := range records {
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Commit(datasets.Artefact{Path: "made", SHA256: strings.Repeat("0", 64), Bytes: 1, Kind: "ncu", ParserVersion: 1}); err != nil {
		t.Fatal(err)
	}
	r := of(t, s, insight.Options{})
	verified(t, r, s)
	items := ofRule(r, "explains-time")
	if len(items) != 1 {
		t.Fatalf("%d items say what explains the times, want 1: %v", len(items), r)
	}
	// Time and traffic differ by 2 % and span a factor of 20: ln(time) has a
	// variance of 3^2/12 = 0.75, of which noise is 0.02^2.
	it := items[0]
	if it.Value < 0.998 || it.Value > 1 {
		t.Errorf("traffic alone explains %g of the variance", it.Value)
	}
	if m := it.Moves[0].Metric; m != "dram__bytes.sum" && m != "dram__sectors.sum" || it.Moves[0].Direction != insight.Down {
		t.Errorf("the first counter to move is %+v", it.Moves[0])
	}
	if strings.Contains(it.Statement, "launch__waves") || !strings.Contains(it.Statement, "60 launches") {
		t.Error(it.Statement)
	}
}

// On ktt-coulomb counters are named, on a tuner's cache without counters the
// parameters.
func TestTunersAreExplainedByCountersOrElseByParameters(t *testing.T) {
	for _, c := range []struct{ file, noun, one string }{
		{"ktt-coulomb/coulomb_2080_full_search_space.json", "counters", "smsp__inst_executed.sum"},
		{"kernel-tuner-hub/convolution_milo-A100.json.gz", "tuning parameters", "use_shmem"},
	} {
		s := open(t)
		r := of(t, s, insight.Options{Run: importFile(t, s, "../../../shared/data/"+c.file)})
		verified(t, r, s)
		items := ofRule(r, "explains-time")
		if len(items) != 1 || !strings.Contains(items[0].Statement, c.noun+" tell") || !strings.Contains(items[0].Statement, c.one) {
			t.Errorf("%s: %v", c.file, items)
		}
	}
}

// The file of an RTX 5070 has no ceiling. Its saxpy moves 134,221,568 +
// 43,631,104 byte in 292,928 ns, 607.15 GB/s: 90.34 % of the 672 GB/s of the
// data sheet (192 bit at 28 Gbit/s), and 102.9 % of the 590.06 GB/s that a
// probe of the same machine reached.
func TestCeilingsCanBeNamed(t *testing.T) {
	s := open(t)
	run := importFile(t, s, samplesDir+"/ncu/rtx5070_saxpy_stdout_mixed.csv")
	peaks := importFile(t, s, samplesDir+"/nvml/rtx5070_peaks.csv")
	if r := of(t, s, insight.Options{}); r.Run != run || len(ofRule(r, "dram-bound")) != 0 || len(r.Notes) != 1 {
		t.Errorf("run %d, %v, %v: want run %d, the last that measured a kernel, without a bound", r.Run, ofRule(r, "dram-bound"), r.Notes, run)
	}
	for _, c := range []struct {
		opt  insight.Options
		used float64
	}{{insight.Options{Run: run, Device: "RTX 5070"}, 177852672 / 292928e-9 / 672e9}, {insight.Options{Run: run, Ceilings: peaks}, 177852672 / 292928e-9 / 590061393638.3},
		{insight.Options{Run: run, Ceilings: peaks, Device: "RTX 5070"}, 177852672 / 292928e-9 / 590061393638.3}} {
		r := of(t, s, c.opt)
		verified(t, r, s)
		items := ofRule(r, "dram-bound")
		if len(items) != 1 || math.Abs(items[0].Value/c.used-1) > 1e-6 {
			t.Fatalf("%+v: %v, want %g of DRAM", c.opt, items, c.used)
		}
		cites := slices.ContainsFunc(items[0].Sources, func(src insight.Source) bool { return src.Run == peaks })
		if cites != (c.opt.Ceilings != 0) {
			t.Errorf("%+v: cites %+v", c.opt, items[0].Sources)
		}
	}
	for _, opt := range []insight.Options{{Device: "RTX 50700"}, {Ceilings: run}, {Ceilings: 99}} {
		if r, err := insight.Of(context.Background(), s, opt); err == nil {
			t.Errorf("%+v: no error: %v", opt, r)
		}
	}
}

// Six runs whose kernels take 2 n log2 n ns, 0.3 ms, and
// 0.2 ms and 100 ms / n, read by their attribute:
// growth is said with the formula's value beside the measured one.
func TestGrowthOverSizesIsSaid(t *testing.T) {
	s := open(t)
	var last int64
	for i, n := range []int{64, 256, 1024, 4096, 16384, 65536} {
		ns := int64(2 * float64(n) * math.Log2(float64(n)))
		last = putSized(t, s, i, fmt.Sprint(n), map[string]int64{"sort": ns, "setup": 300_000, "halo": 200_000 + 1e8/int64(n)})
	}
	r := of(t, s, insight.Options{Run: last})
	verified(t, r, s)
	items := ofRule(r, "growth")
	if len(items) != 3 {
		t.Fatalf("%d items of growth, want 3: %v", len(items), r)
	}
	for _, it := range items {
		want := map[string]string{"sort": "log2(n)", "setup": "does not depend on n", "halo": "n^-1"}[it.Kernel]
		if !strings.Contains(it.Statement, want) {
			t.Errorf("%s: want %q in %q", it.Kernel, want, it.Statement)
		}
		if it.Kernel == "sort" && (it.Reference == nil || math.Abs(it.Reference.Value/it.Value-1) > 0.01) {
			t.Errorf("the formula gives %+v, measured is %g", it.Reference, it.Value)
		}
	}
}

// putSized adds a run of a program with an argument n.
func putSized(t *testing.T, s *datasets.Store, i int, n string, kernels map[string]int64) int64 {
	t.Helper()
	im, err := s.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	records := []datasets.Record{&datasets.Run{ID: 1, Tool: "demo", Format: "demo", Status: datasets.RunOK},
		&datasets.Attribute{Run: 1, Name: "n", Value: n}}
	for g, name := range sortedKeys(kernels) {
		id := int64(g + 1)
		records = append(records, &datasets.Region{ID: id, Run: 1, Kind: datasets.KindFunction, Raw: name, Short: name},
			&datasets.Launch{ID: id, Run: 1, Region: id, DurNs: datasets.Some(kernels[name])})
	}
	for _, r := range records {
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Commit(datasets.Artefact{Path: "size " + n, SHA256: fmt.Sprintf("%064x", 1000+i), Bytes: 1, Kind: "demo", ParserVersion: 1}); err != nil {
		t.Fatal(err)
	}
	return im.Runs()[0]
}

// Every ceiling is zero, times are negative or without end: nothing is divided by
// them, and nothing but the intensity is said.
func TestValuesThatCannotBeAreNoEvidence(t *testing.T) {
	const head = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
	file := head
	for i, v := range []string{"nan", "inf", "n/a", "-5", "0", "-0"} {
		for _, m := range [][3]string{{"gpu__time_duration.sum", "us", v}, {"dram__bytes.sum", "Gbyte", "2"}, {"dram__bytes.sum.peak_sustained", "byte/cycle", "0"},
			{"dram__cycles_elapsed.avg.per_second", "Ghz", "1"}, {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", v}} {
			file += fmt.Sprintf("\"%d\",\"bad%d(int)\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"Command line profiler metrics\",%q,%q,%q\n", i, i, m[0], m[1], m[2])
		}
	}
	path := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t)
	run := importFile(t, s, path)
	for _, kernel := range []string{"", "bad0", "bad1", "bad2", "bad3", "bad4", "bad5"} {
		r := of(t, s, insight.Options{Run: run, Kernel: kernel})
		verified(t, r, s)
		for _, i := range r.Items {
			if i.Kind == insight.Roofline && i.Unit != "flop/byte" {
				t.Errorf("%s: %s", kernel, i.Statement)
			}
		}
	}
}

// A kernel takes 1.5 times as long with 1.5 times the traffic and as many
// instructions as before: the traffic is named beside the time.
func TestWhatChangedAlongWithTheTimeIsSaid(t *testing.T) {
	s := open(t)
	times := func(scale float64) map[string][]int64 {
		var out []int64
		for i := range 12 {
			out = append(out, int64(scale*float64(100_000+100*(i*5%12))))
		}
		return map[string][]int64{"k": out}
	}
	before := put(t, s, made{tool: "ncu", kind: datasets.KindKernel, kernels: times(1), counters: map[string]float64{"dram__bytes.sum": 50e6, "smsp__inst_executed.sum": 1e6}})
	after := put(t, s, made{tool: "ncu", kind: datasets.KindKernel, kernels: times(1.5), counters: map[string]float64{"dram__bytes.sum": 75e6, "smsp__inst_executed.sum": 1e6}})
	r := of(t, s, insight.Options{Run: after, Against: before})
	verified(t, r, s)
	items := ofRule(r, "slower")
	if len(items) != 1 || math.Abs(items[0].Value-1.5) > 1e-3 || !strings.Contains(items[0].Statement, "Along with it dram__bytes.sum is 1.5 times what it was.") {
		t.Errorf("%v", items)
	}
}
