package calltree_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/all"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/calltree"
)

const samples = "../../../shared/samples/"

// imported is a store with one sample, and its run.
func imported(t *testing.T, sample string) (*datasets.Store, int64) {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	sum, err := collectors.ImportFile(context.Background(), s, samples+sample, collectors.Options{})
	if err != nil {
		t.Fatalf("importing a sample: %v: the folder shared/ must lie beside the repository", err)
	}
	return s, sum.Run()
}

func read(t *testing.T, s *datasets.Store, run int64, opt calltree.Options) *calltree.Tree {
	t.Helper()
	tr, err := calltree.FromStore(context.Background(), s, run, opt)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// golden are exclusive and inclusive values by name, flattened; NaN for an
// exclusive value that is not known.
func golden(t *testing.T, tr *calltree.Tree, total, tolerance float64, want map[string][2]float64) {
	t.Helper()
	off := func(a, b float64) bool { return math.Abs(a-b) > tolerance*math.Abs(b)+1e-12 }
	if off(tr.Total().V, total) || off(sum(tr), total) {
		t.Errorf("%g in all and %g of nodes themselves, want %g", tr.Total().V, sum(tr), total)
	}
	f := tr.Flatten(calltree.ByName)
	for name, v := range want {
		r, ok := f.Row(name)
		if !ok || r.Exclusive.Valid == math.IsNaN(v[0]) || r.Exclusive.Valid && off(r.Exclusive.V, v[0]) || off(r.Inclusive.V, v[1]) {
			t.Errorf("%s has %v itself and %v in all, want %v", name, r.Exclusive, r.Inclusive, v)
		}
	}
}

// The file has exclusive times, the third of five numbers of a record. The
// inclusive ones are sums of them, as of LagrangeNodal: 0.0124 + 0.001854
// (CalcForceForNodes) + 0.001841 (CalcVolumeForceForElems) + 0.056681
// (IntegrateStressForElems) + 0.059643 (CalcHourglassControlForElems) +
// 0.080608 (CalcFBHourglassForceForElems) = 0.213027. The first record,
// outside of any region, has 0.001297.
func TestLuleshOfCaliper(t *testing.T) {
	s, run := imported(t, "caliper/caliper-lulesh-cali__lulesh-annotation-profile.cali")
	tr := read(t, s, run, calltree.Options{})
	golden(t, tr, 0.493788, 1e-9, map[string][2]float64{
		"main": {0.025121, 0.492491}, "LagrangeNodal": {0.0124, 0.213027}, "LagrangeElements": {0.001367, 0.249181},
		"CalcEnergyForElems": {0.095906, 0.095906}, "CalcHourglassControlForElems": {0.059643, 0.140251}})
	// 0.249181 of 0.467062, 0.143233 of that, 0.140823, 0.095906: each more than half.
	want := []string{"main", "lulesh.cycle", "LagrangeLeapFrog", "LagrangeElements", "ApplyMaterialPropertiesForElems", "EvalEOSForElems", "CalcEnergyForElems"}
	if got := tr.HotPath(calltree.DefaultHotPath).Names(); !slices.Equal(got, want) {
		t.Errorf("hot path %v", got)
	}
	fs := tr.Findings(1)
	if len(fs) != 2 || fs[0].Kind != calltree.HotPathEnds || fs[1].Node != "CalcEnergyForElems" || math.Abs(fs[1].Share-0.095906/0.493788) > 1e-9 {
		t.Fatalf("findings %+v", fs)
	}
	// The row that is cited has the value.
	r := fs[1].Rows[0]
	df, err := s.Query(context.Background(), "SELECT value FROM counter WHERE run_id = ? AND region_id = ? AND metric = ?", r.Run, r.Region, r.Metric)
	if err != nil || df.Nrow() != 1 || df.Col("value").Elem(0).Float() != fs[1].Value {
		t.Errorf("%v: the row %s is %v, the finding says %g", err, r, df, fs[1].Value)
	}
}

// The values of a metric are big-endian numbers behind the ten bytes of
// CUBEX.DATA, a row of eight ranks per node, and the children of a node have
// consecutive numbers: read from 1.data (time, inclusive) and 8.data
// (PAPI_TOT_INS, inclusive) with struct.unpack. Exclusive is a row's sum
// without those of the children. Names that occur twice are added up:
// MPI_Comm_rank 0.00047357375 + 0.0791653.
func TestKripkeOfScoreP(t *testing.T) {
	s, run := imported(t, "cubex/kripke.cubex")
	tr := read(t, s, run, calltree.Options{Metrics: []string{"time", "PAPI_TOT_INS"}})
	golden(t, tr, 148.63150991125, 1e-9, map[string][2]float64{
		"PARALLEL": {0.04935188999, 148.63150991125}, "Solve": {0.47659913125, 148.12322646875}, "Sweep": {18.81082184375, 27.75082116},
		"LTimes": {59.994445453125, 59.994445453125}, "MPI_Testany": {3.677575010625, 3.677575010625}, "MPI_Comm_rank": {0.07963887375, 0.07963887375}})
	instructions, err := tr.By("PAPI_TOT_INS")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, instructions, 43981966152, 1e-12, map[string][2]float64{"Sweep": {4575020158, 6776589861}, "Solve": {92374590, 43738331772}})
	if got := strings.Join(tr.HotPath(0).Names(), " "); got != "PARALLEL Solve" { // LTimes is 40.5 % of Solve
		t.Errorf("hot path %s", got)
	}

	golden(t, read(t, s, run, calltree.Options{Over: calltree.Mean}), 148.63150991125/8, 1e-9, map[string][2]float64{"Sweep": {18.81082184375 / 8, 27.75082116 / 8}})
	// Rank 5 has the longest Sweep: 1.1007873458545254 times the mean with its
	// calls, and 2.502830507 s itself.
	largest := read(t, s, run, calltree.Options{Over: calltree.Max})
	sweep := largest.Find(calltree.Named("Sweep"))[0]
	if v := largest.Inclusive(sweep).V; math.Abs(v-1.1007873458545254*27.75082116/8) > 1e-8 || !strings.Contains(largest.String(), "their sums are those of none") {
		t.Errorf("the longest Sweep takes %g", v)
	}
	five := read(t, s, run, calltree.Options{Rank: datasets.Some[int64](5)})
	if v := five.Exclusive(five.Find(calltree.Named("Sweep"))[0]).V; math.Abs(v-2.502830507) > 1e-8 || five.Over != "rank 5, sum over visits" {
		t.Errorf("Sweep takes %g on %s", v, five.Over)
	}
	if _, err := calltree.FromStore(context.Background(), s, run, calltree.Options{Rank: datasets.Some[int64](8)}); err == nil || !strings.Contains(err.Error(), "no rank 8") {
		t.Errorf("rank 8: %v", err)
	}

	ranks, err := calltree.OfRanks(context.Background(), s, run, calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(ranks.IDs) != 8 || math.Abs(ranks.Total[0]-18.6006) > 5e-5 {
		t.Errorf("%d ranks, the first takes %g", len(ranks.IDs), ranks.Total[0])
	}
	for _, n := range ranks.Nodes {
		e, in := n.Exclusive.V, n.Inclusive.V
		if n.Node.Name == "Sweep" && (math.Abs(e.Imbalance-1.0644215452847232) > 1e-9 || e.MaxRank != 5 || math.Abs(in.Imbalance-1.1007873458545254) > 1e-9) {
			t.Errorf("Sweep: %+v, %+v", e, in)
		}
	}
	// MPI_Testany's rank 5 waits 0.3628 * 0.4597 s = 0.167 s longer than the mean, most of all.
	if f := ranks.Findings(0.001); len(f) == 0 || f[0].Node != "MPI_Testany" || math.Abs(f[0].Value-(1.36276462356869-1)*3.677575010625/8) > 1e-8 || len(f[0].Rows) != 1 {
		t.Errorf("findings %+v", f)
	}
}

// 136 samples of 1001001 ns: 22 of gamma, 23 of delta itself, 44 of alpha (24
// below delta), 47 of beta (22 below delta), counted with grep.
func TestStacksOfPerfScript(t *testing.T) {
	s, run := imported(t, "perf_script/speedscope_simple-with-header.txt")
	tr := read(t, s, run, calltree.Options{})
	ns := 1001001e-9
	golden(t, tr, 136*ns, 1e-9, map[string][2]float64{
		"alpha": {44 * ns, 44 * ns}, "beta": {47 * ns, 47 * ns}, "delta": {23 * ns, 69 * ns}, "gamma": {22 * ns, 22 * ns}, "main": {math.NaN(), 136 * ns}})
	for _, n := range tr.Invert().Roots {
		if n.Name != "beta" {
			continue
		}
		for _, caller := range n.Children {
			if want := map[string]float64{"delta": 22, "main": 25}[caller.Name]; math.Abs(caller.Values[0].Inclusive.V-want*ns) > 1e-9 {
				t.Errorf("beta called by %s: %v, want %g samples", caller.Name, caller.Values, want)
			}
		}
	}
}

// As `go tool pprof -top -cum` has it.
func TestProfileOfGo(t *testing.T) {
	s, run := imported(t, "pprof/speedscope_simple.prof")
	tr := read(t, s, run, calltree.Options{})
	golden(t, tr, 1.5, 1e-9, map[string][2]float64{
		"main.main": {math.NaN(), 1.36}, "main.delta": {0.22, 0.58}, "main.alpha": {0.48, 0.48}, "main.beta": {0.39, 0.39}, "main.gamma": {0.27, 0.27}, "runtime.duffcopy": {0.11, 0.11}})
	if n := tr.Find(calltree.Named("main.delta"))[0]; filepath.Base(n.File) != "simple.go" {
		t.Errorf("main.delta is in %q", n.File)
	}
}

// experiment.xml writes six digits: "3.99824e+06" us for the root, and for
// MPI_Finalize below it, so that differences are off by 10 us.
func TestContextsOfHPCToolkit(t *testing.T) {
	s, run := imported(t, "hpctoolkit/cpi_experiment.xml")
	tr := read(t, s, run, calltree.Options{})
	golden(t, tr, 3.99824, 1e-9, map[string][2]float64{"MPI_Finalize": {0, 3.99824}, "psm_dofinalize": {0, 3.99824}})
	if notes := strings.Join(tr.Notes, "\n"); !strings.Contains(notes, "below 0 in 1 node, -7 µs in all") {
		t.Errorf("notes %s", notes)
	}
	if n := tr.Find(func(n *calltree.Node) bool { return n.Kind != datasets.KindFunction && n.Module != "" }); len(n) == 0 {
		t.Error("no line has the module of its function")
	}
}

// main has 20 itself and calls func1 (400) and func2 (400); func1 has 100 and
// calls func2 (300); func2 has 700. In the other file the names are lines:
// line3000 calls 1010 + 100 + 10 ms of the 1100 + 10 + 10.
func TestGraphOfCallgrind(t *testing.T) {
	s, run := imported(t, "callgrind/callgrind.example.log")
	if _, err := calltree.FromStore(context.Background(), s, run, calltree.Options{}); err == nil || !strings.Contains(err.Error(), "give a metric (Instructions") {
		t.Errorf("a profile without time: %v", err)
	}
	tr := read(t, s, run, calltree.Options{Metrics: []string{"Instructions"}})
	golden(t, tr, 820, 1e-12, map[string][2]float64{"main": {20, 820}, "func1": {100, 400}, "func2": {700, 700}})
	for _, n := range tr.Find(calltree.Named("func2")) {
		if want := map[string]float64{"main": 400, "func1": 300}[n.Parent().Name]; tr.Inclusive(n).V != want {
			t.Errorf("func2 called by %s: %v, want %g", n.Parent().Name, tr.Inclusive(n), want)
		}
	}
	if n := tr.Roots[0]; n.File != "file1.c" || !strings.Contains(tr.String(), "an estimate") {
		t.Errorf("%+v\n%s", n, tr)
	}
	s, run = imported(t, "pprof/pprof.cpu.callgrind")
	golden(t, read(t, s, run, calltree.Options{}), 1.12, 1e-9, map[string][2]float64{"line1000": {1.1, 1.1}, "line3000": {0, 1.12}})
}

// A profile of our own: main (1 s itself) calls solve (2 s itself) and write
// (0.5 s); dot (3 s) is called 3 times by solve and once by write, so that gprof
// gives solve 3/4 of it, 2.25 s, and write 0.75 s.
const gprof = `Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total
 time   seconds   seconds    calls   s/call   s/call  name
 46.15      3.00     3.00        4     0.75     0.75  dot
 30.77      5.00     2.00        1     2.00     4.25  solve
 15.38      6.00     1.00                             main
  7.69      6.50     0.50        1     0.50     1.25  write

			Call graph


granularity: each sample hit covers 4 byte(s) for 0.15% of 6.50 seconds

index % time    self  children    called     name
                                                 <spontaneous>
[1]    100.0    1.00    5.50                 main [1]
                2.00    2.25       1/1           solve [2]
                0.50    0.75       1/1           write [4]
-----------------------------------------------
                2.00    2.25       1/1           main [1]
[2]     65.4    2.00    2.25       1         solve [2]
                2.25    0.00       3/4           dot [3]
-----------------------------------------------
                0.75    0.00       1/4           write [4]
                2.25    0.00       3/4           solve [2]
[3]     46.2    3.00    0.00       4         dot [3]
-----------------------------------------------
                0.50    0.75       1/1           main [1]
[4]     19.2    0.50    0.75       1         write [4]
                0.75    0.00       1/4           dot [3]
-----------------------------------------------

Index by function name

   [3] dot                     [1] main                    [2] solve                   [4] write
`

func TestGraphOfGprof(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gprof.txt")
	if err := os.WriteFile(path, []byte(gprof), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sum, err := collectors.ImportFile(context.Background(), s, path, collectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr := read(t, s, sum.Run(), calltree.Options{})
	golden(t, tr, 6.5, 1e-9, map[string][2]float64{"main": {1, 6.5}, "solve": {2, 4.25}, "write": {0.5, 1.25}, "dot": {3, 3}})
	for _, n := range tr.Find(calltree.Named("dot")) {
		if want := map[string]float64{"solve": 2.25, "write": 0.75}[n.Parent().Name]; math.Abs(tr.Inclusive(n).V-want) > 1e-9 {
			t.Errorf("dot called by %s: %v, want %g", n.Parent().Name, tr.Inclusive(n), want)
		}
	}
	if !strings.Contains(tr.String(), "an estimate") {
		t.Errorf("the tree does not say that it is an estimate:\n%s", tr)
	}
}

// Kernels pass beside the host: they are another tree.
func TestKernelsAreATreeOfTheirOwn(t *testing.T) {
	s, run := imported(t, "nsys/h100_2gpu_1s.sqlite")
	ctx := context.Background()
	df, err := s.Query(ctx, "SELECT sum(dur_ns) / 1e9 AS t FROM launch l JOIN region g ON g.id = l.region_id WHERE g.kind = 'kernel'")
	if err != nil {
		t.Fatal(err)
	}
	want := df.Col("t").Elem(0).Float()
	host := read(t, s, run, calltree.Options{})
	device := read(t, s, run, calltree.Options{Kinds: []string{datasets.KindKernel}})
	if math.Abs(device.Total().V-want) > 1e-9 || len(host.Find(func(n *calltree.Node) bool { return n.Kind == datasets.KindKernel })) > 0 {
		t.Errorf("kernels take %g, want %g", device.Total().V, want)
	}
	if notes := strings.Join(host.Notes, "\n"); !strings.Contains(notes, "kernels with 44.83 ms beside the host's tree") || !strings.Contains(notes, `["function" "range"]`) {
		t.Errorf("notes %s", notes)
	}
}

func TestEverySampleWithATimeIsATree(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"caliper/*", "cubex/*", "perf_script/*", "pprof/*", "hpctoolkit/*.xml", "hpctoolkit/*meta.db", "tau/*", "timemory/*", "torch_trace/*trace.json.gz", "vtune/inferno_vtune.csv"} {
		found, err := filepath.Glob(samples + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no sample is like %s (%v): the folder shared/ must lie beside the repository", pattern, err)
		}
		paths = append(paths, found...)
	}
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	trees := 0
	for _, path := range paths {
		sum1, err := collectors.ImportFile(context.Background(), s, path, collectors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := calltree.FromStore(context.Background(), s, sum1.Run(), calltree.Options{})
		if err != nil {
			if !strings.Contains(err.Error(), "names no counter of time: give a metric") {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		trees++
		total := tr.Total().V
		if got := sum(tr); math.Abs(got-total) > 1e-9*math.Abs(total) {
			t.Errorf("%s: nodes themselves have %g of %g", path, got, total)
		}
		if got := tr.Invert().Total().V; math.Abs(got-total) > 1e-9*math.Abs(total) {
			t.Errorf("%s: inverted %g of %g", path, got, total)
		}
		c, err := calltree.Compare(tr, tr)
		if err != nil || len(c.Top(1)) > 0 {
			t.Errorf("%s: compared with itself: %v\n%s", path, err, c)
		}
		if n := len(calltree.Flame(tr).SVG()); n > 2e6 {
			t.Errorf("%s: a picture of %d bytes", path, n)
		}
	}
	if trees < 35 {
		t.Errorf("%d trees of %d samples", trees, len(paths))
	}
}
