package split_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/datasets/split"
)

// keys are those of n kernels with 3 to 9 rows each, in a row order of their own.
func keys(n int, order uint64) []string {
	var ks []string
	for k := range n {
		for range 3 + k%7 {
			ks = append(ks, fmt.Sprintf("kernel%02d", k))
		}
	}
	rng := rand.New(rand.NewPCG(order, 1))
	rng.Shuffle(len(ks), func(i, j int) { ks[i], ks[j] = ks[j], ks[i] })
	return ks
}

func sides(ks []string, s split.Split) map[string]int {
	m := map[string]int{}
	for i, part := range [][]int{s.Train, s.Calibration, s.Test} {
		for _, r := range part {
			m[ks[r]] |= 1 << i
		}
	}
	return m
}

func TestNoGroupStandsOnTwoSides(t *testing.T) {
	for seed := range uint64(50) {
		ks := keys(20, seed)
		s, err := split.Groups(ks, split.Options{Axis: split.ByKernel, Test: 0.2, Calibration: 0.1, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.Train) + len(s.Calibration) + len(s.Test); n != len(ks) {
			t.Fatalf("seed %d: %d of %d rows were dealt", seed, n, len(ks))
		}
		for k, m := range sides(ks, s) {
			if m != 1 && m != 2 && m != 4 {
				t.Errorf("seed %d: %s stands on several sides (%b)", seed, k, m)
			}
		}
		// A group has 9 rows at most, so a part is at most 8 rows too large.
		if n := len(s.Test); float64(n) < 0.2*float64(len(ks)) || float64(n) > 0.2*float64(len(ks))+8 {
			t.Errorf("seed %d: %d of %d rows for test, want a fifth", seed, n, len(ks))
		}
	}
}

func TestTheSeedAloneDecides(t *testing.T) {
	one, two := keys(20, 1), keys(20, 2)
	of := func(ks []string, seed uint64) string {
		s, err := split.Groups(ks, split.Options{Axis: split.ByKernel, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		test := map[string]bool{}
		for _, r := range s.Test {
			test[ks[r]] = true
		}
		names := []string{}
		for n := range test {
			names = append(names, n)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	if a, b := of(one, 7), of(two, 7); a != b {
		t.Errorf("the order of rows changed the split: %s, %s", a, b)
	}
	if a, b := of(one, 7), of(one, 8); a == b {
		t.Errorf("seeds 7 and 8 give the same test kernels: %s", a)
	}
}

func TestFoldsTestEveryRowOnce(t *testing.T) {
	ks := keys(23, 3)
	folds, err := split.Folds(ks, 5, split.Options{Axis: split.ByKernel, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	tested := make([]int, len(ks))
	for _, s := range folds {
		for _, r := range s.Test {
			tested[r]++
		}
		for k, m := range sides(ks, s) {
			if m == 5 {
				t.Errorf("%s stands on both sides", k)
			}
		}
		if d := math.Abs(float64(len(s.Test)) - float64(len(ks))/5); d > 9 {
			t.Errorf("a fold has %d of %d rows", len(s.Test), len(ks))
		}
	}
	for r, n := range tested {
		if n != 1 {
			t.Errorf("row %d is in the test of %d folds", r, n)
		}
	}
}

func TestTooFewGroupsAreNamed(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(split.Groups([]string{"a", "a", "b"}, split.Options{Axis: split.ByMachine, Calibration: 0.1})), `by machine: there are 2 groups (["a" "b"]) for 3 parts`},
		{second(split.Groups([]string{"a", "a"}, split.Options{})), `splitting: there are 1 groups (["a"]) for 2 parts`},
		{second(split.Groups([]string{"a", "b"}, split.Options{Test: 1.5})), "fractions for test 1.5"},
		{second(split.Folds([]string{"a", "b"}, 3, split.Options{Axis: split.ByProgram})), "there are 2 groups"},
		{second(split.Holdout([]string{"A100", "V100"}, split.ByMachine, "H100")), `no row has it; there are ["A100" "V100"]`},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want %q", c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestLeaksAreFound(t *testing.T) {
	// 60 rows, 10 kernels. bytes and rate give the time: rate = bytes / time.
	rng := rand.New(rand.NewPCG(1, 1))
	var kernel, source []string
	var bytes, rate, noise, time []float64
	for i := range 60 {
		k := i / 6
		kernel = append(kernel, fmt.Sprint("k", k))
		source = append(source, fmt.Sprintf("__kernel void f%d(__global float *x) { x[get_global_id(0)] *= 2; }", k%9)) // k9 has k0's text
		b, s := math.Exp(rng.NormFloat64()*3+10), math.Exp(rng.NormFloat64())
		bytes, time, rate = append(bytes, b), append(time, s), append(rate, b/s)
		noise = append(noise, rng.Float64()+1)
	}
	df := dataframe.New(series.New(kernel, series.String, "kernel"), series.New(source, series.String, "source"), series.New(bytes, series.Float, "bytes"),
		series.New(rate, series.Float, "traffic"), series.New(noise, series.Float, "noise"), series.New(time, series.Float, "t"))
	found := func(s split.Split) map[string]split.Leak {
		leaks, err := split.Check(df, s, "kernel", "t")
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]split.Leak{}
		for _, l := range leaks {
			m[l.Kind] = l
		}
		return m
	}
	clean, err := split.Holdout(kernel, split.ByKernel, "k3", "k4")
	if err != nil {
		t.Fatal(err)
	}
	leaks := found(clean)
	if l := leaks[split.TargetFromOthers]; !slices.Equal(slices.Sorted(slices.Values(l.Columns)), []string{"bytes", "traffic"}) {
		t.Errorf("the amount and the rate that give the time: %+v", leaks)
	}
	if len(leaks) != 1 {
		t.Errorf("a clean split has other leaks: %v", leaks)
	}
	twin, err := split.Holdout(kernel, split.ByKernel, "k9")
	if err != nil {
		t.Fatal(err)
	}
	if l := found(twin)[split.SameText]; l.Rows != 6 {
		t.Errorf("k9 has the source of k0, 6 rows: %+v", l)
	}
	random, err := split.Groups(kernel, split.Options{Axis: split.ByRow, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if l := found(random)[split.GroupOnBothSides]; l.Rows != 12 {
		t.Errorf("random rows leave all 12 test rows with known kernels: %+v", l)
	}
	if _, err := split.Check(df, clean, "kernel", "seconds"); err == nil || !strings.Contains(err.Error(), `no column "seconds"`) {
		t.Errorf("a target that is not there: %v", err)
	}
}

// The published table has "traffic", which is bytes per second, beside
// operations and operations per byte: together they are the time. 0.999 was
// found with numpy's least squares on the logarithms.
func TestTheTimeInGPUFLOPBenchIsFound(t *testing.T) {
	f, err := os.Open("../../../shared/data/gpuflopbench/profiling-data.csv")
	if err != nil {
		t.Fatalf("the folder shared/ must lie beside the repository: %v", err)
	}
	defer f.Close()
	df := dataframe.ReadCSV(f).Select([]string{"targetName", "traffic", "intops", "intAI", "xtime"})
	ks, err := split.Column(df, "targetName")
	if err != nil {
		t.Fatal(err)
	}
	s, err := split.Groups(ks, split.Options{Axis: split.ByProgram, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	leaks, err := split.Check(df, s, "targetName", "xtime")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(leaks, func(l split.Leak) bool {
		return l.Kind == split.TargetFromOthers && slices.Contains(l.Columns, "traffic")
	}) {
		t.Errorf("found %v", leaks)
	}
	leaks, err = split.Check(df.Drop("traffic"), s, "targetName", "xtime")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leaks {
		if l.Kind != split.SameRow { // the same launch, measured again for other arguments, is no fault of a column
			t.Errorf("without traffic: %v", l)
		}
	}
}

func TestNamesOfTimeDerivedColumns(t *testing.T) {
	for _, name := range []string{"gpu__time_duration.sum", "dram__bytes.sum.per_second", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
		"sm__cycles_elapsed.avg", "smsp__inst_executed.avg.per_cycle_active", "sm__warps_active.avg.pct_of_peak_sustained_active", "Duration",
		"Elapsed Cycles", "SM Frequency", "Memory Throughput", "Executed Ipc Active", "spPerf", "xtime", "time_ns", "dur_ns", "start_ns",
		"energy_j", "GB/s", "GFLOPS", "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "min#inclusive#sum#time.duration",
		"CPUTIME (usec):Sum (I)", "CPUTIME (sec):execution", "cpu-clock:uhH", "task-clock", "cpu(ms).inclusive", "mean_ms", "AverageNs", "sec/op", "ns/op", "dur", "times",
		"submit_to_start", "queued_to_submit", "achieved_gbps", "core_freq", "GHz[cycles:u]", "insn per cycle", "uOpsPerCycle", "CPUs utilized", "rate[branches:u]", "seconds"} {
		if _, leaks := split.TimeDerived(name); !leaks {
			t.Errorf("%s is not known as derived from time", name)
		}
	}
	for _, name := range []string{"dram__bytes.sum", "lts__t_sector_hit_rate.pct", "smsp__inst_executed.sum", "grid_x", "regs", "traffic", "dpAI", "intops",
		"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", "sometimes", "timesteps", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "smsp__thread_inst_executed_per_inst_executed.ratio",
		"l1tex__t_sector_hit_rate.pct", "L2 Hit Rate", "dram__bytes.sum.peak_sustained", "cpu_migrations", "branches:us", "params", "sections", "columns", "radius",
		"stride_to_neighbour"} {
		if reason, leaks := split.TimeDerived(name); leaks {
			t.Errorf("%s is taken for derived from time: %s", name, reason)
		}
	}
}
