package insight_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/insight"
)

// reportOf imports one sample into a store of its own.
func reportOf(t *testing.T, sample string, opt insight.Options) (*insight.Report, *datasets.Store) {
	t.Helper()
	s := open(t)
	if _, err := collectors.ImportFile(context.Background(), s, samplesDir+"/"+sample, collectors.Options{}); err != nil {
		t.Fatalf("%v: the folder shared/ must lie beside the repository", err)
	}
	return of(t, s, opt), s
}

// rule finds the item of a rule.
func rule(t *testing.T, r *insight.Report, kind insight.Kind, name string) insight.Item {
	t.Helper()
	for _, i := range r.Items {
		if i.Kind == kind && i.Rule == name {
			return i
		}
	}
	t.Fatalf("no item of %s %s in\n%s", kind, name, r)
	return insight.Item{}
}

func near(got, want, part float64) bool { return math.Abs(got-want) <= part*math.Abs(want) }

// A tiled matrix product on an RTX 5070, from the twelve numbers of its file:
// SM throughput 88.9 %, 67,108,864 sectors in 16,777,216 requests, L2 hit rate
// 87.5 %, (53,261,312 + 3,377,920) byte of DRAM in 10,195,552 ns, 66.65 % of the
// warps, 4,695,342 bank conflicts, 32 threads per instruction.
func TestGemmOnRTX5070(t *testing.T) {
	r, _ := reportOf(t, "ncu/rtx5070_gemm_tiled.csv", insight.Options{})
	for _, tt := range []struct {
		kind    insight.Kind
		rule    string
		want    float64
		verdict insight.Verdict
		says    string
	}{
		{insight.Hot, "total", 10195552e-9, insight.Fact, "10.2 ms"},
		{insight.Roofline, "sm-bound", 0.889, insight.Problem, "89 %"},
		{insight.Roofline, "dram-rate", (53261312 + 3377920) / 10195552e-9, insight.Fact, "5.56 GB/s"},
		{insight.Counter, "global-load-sectors", 4, insight.Fine, "touches 4 sectors"},
		{insight.Counter, "global-store-sectors", 524288. / 131072, insight.Fine, "touches 4 sectors"},
		{insight.Counter, "l2-hit-rate", 87.5, insight.Fact, "87.5 %"},
		{insight.Counter, "bank-conflict-count", 4695342, insight.Fact, "4.7 M"},
		{insight.Counter, "divergence", 32, insight.Fine, "32 of 32"},
		{insight.LaunchUse, "occupancy", 66.65, insight.Fine, "66.65 %"},
	} {
		i := rule(t, r, tt.kind, tt.rule)
		if !near(i.Value, tt.want, 1e-9) || i.Verdict != tt.verdict || !strings.Contains(i.Statement, tt.says) || i.Kernel != "gemm_tiled_kernel" && i.Rule != "total" {
			t.Errorf("%s: %+v, want %g, %s, %q", tt.rule, i, tt.want, tt.verdict, tt.says)
		}
		if s := i.Sources[0]; !strings.HasSuffix(s.Path, "rtx5070_gemm_tiled.csv") || len(s.SHA256) != 64 || s.Tool != "ncu" {
			t.Errorf("%s comes from %+v", tt.rule, s)
		}
	}
	if k := r.Kernels[0]; len(r.Kernels) != 1 || k.Bound != "SM" || *k.Share != 1 || k.Launches != 1 {
		t.Errorf("kernels %+v", k)
	}
	if !mentions(r.Missing, "stalls", "ncu --section SourceCounters") {
		t.Errorf("what is missing: %+v", r.Missing)
	}
}

// Saxpy on the same machine: (134,221,568 + 43,631,104) byte in 292,928 ns. The
// file has no ceiling, so nothing is said of a bound, and what would tell is.
func TestSaxpyOnRTX5070HasNoBound(t *testing.T) {
	r, _ := reportOf(t, "ncu/rtx5070_saxpy_stdout_mixed.csv", insight.Options{})
	if i := rule(t, r, insight.Roofline, "dram-rate"); !near(i.Value, 177852672/292928e-9, 1e-9) || !strings.Contains(i.Statement, "607 GB/s") {
		t.Errorf("%+v", i)
	}
	if i := rule(t, r, insight.Counter, "bank-conflict-count"); i.Value != 0 || i.Verdict != insight.Fine {
		t.Errorf("%+v", i)
	}
	for _, i := range r.Items {
		if strings.HasSuffix(i.Rule, "-bound") {
			t.Errorf("a bound without ceilings: %+v", i)
		}
	}
	if r.Kernels[0].Bound != "" || !mentions(r.Missing, "roofline", "ncu --section SpeedOfLight") {
		t.Errorf("%+v, missing %+v", r.Kernels[0], r.Missing)
	}
}

func mentions(ms []insight.Missing, analysis, command string) bool {
	for _, m := range ms {
		if m.Analysis == analysis && strings.HasPrefix(m.Command, command) {
			return true
		}
	}
	return false
}

// Four launches of a stencil on an A40. Nsight Compute's own numbers, by rules
// and counters that no rule here reads: DRAM throughput 94.2 %; 8,370,180 of
// 92,235,780 sectors excessive; 2,097,152 of 8,388,608 FP64 instructions not
// fused; blocks of 256 threads, 48 warps of an SM: 6 blocks, full occupancy; 84
// SMs hold 504 of the 262,144 blocks: 520.127 waves; the clock 1.305 of 1.740
// GHz. Samples by pandas from the exported tables: 663,133 of 689,588 stalled
// ones at line 12, 464,525 wait for memory.
func TestStencilOnA40(t *testing.T) {
	r, s := reportOf(t, "ncu_rep/stencil-2d-cuda-v4.ncu-rep", insight.Options{})
	throughput := query(t, s, "SELECT avg(value) FROM counter WHERE metric = 'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed'")
	waves := 262144. / (84 * 6)
	for _, tt := range []struct {
		kind    insight.Kind
		rule    string
		want    float64
		within  float64
		verdict insight.Verdict
		says    string
	}{
		{insight.Roofline, "dram-bound", throughput / 100, 1e-3, insight.Problem, "bound by DRAM bandwidth: it uses 94 % of it, 655 GB/s of 695 GB/s"},
		{insight.Roofline, "intensity", 1878130800. / 4290836352, 1e-6, insight.Fact, "its roof is memory"},
		{insight.Stall, "line", 663133. / 689588, 1e-12, insight.Problem, "96 % of the stalls of stencil2d are at stencil-2d-cuda-v4.cu:12"},
		{insight.Stall, "reason-long_scoreboard", 464525. / 689588, 1e-12, insight.Problem, "464525 of 689588"},
		{insight.Counter, "excess-sectors", 8370180. / 92235780, 1e-9, insight.Problem, "9.1 %"},
		{insight.Counter, "fp64-non-fused", 2097152. / 8388608, 1e-3, insight.Problem, "25 %"},
		{insight.Counter, "clock", 1.3047172290421379 / 1.740, 2e-3, insight.Fact, "75 %"},
		{insight.LaunchUse, "theoretical-occupancy", 100, 0, insight.Fine, "the size of the blocks sets it: 6 blocks per SM"},
		{insight.LaunchUse, "tail", 1 - waves/521, 1e-6, insight.Fine, "520.1 waves"},
		{insight.Hot, "total", (1637408 + 1639232 + 1639840 + 1636352) * 1e-9, 1e-12, insight.Fact, "in 4 launches, 1.638 ms each"},
	} {
		i := rule(t, r, tt.kind, tt.rule)
		if !near(i.Value, tt.want, tt.within) || i.Verdict != tt.verdict || !strings.Contains(i.Statement, tt.says) {
			t.Errorf("%s: %+v, want %g, %s, %q", tt.rule, i, tt.want, tt.verdict, tt.says)
		}
	}
	line := rule(t, r, insight.Stall, "line")
	if l := line.Location; l == nil || l.Line != 12 || !strings.HasSuffix(l.File, "/stencil-2d-cuda-v4.cu") || !strings.HasPrefix(l.Instruction, "D") {
		t.Errorf("the hottest line is at %+v", line.Location)
	}
	if l := rule(t, r, insight.Counter, "excess-sectors").Location; l == nil || l.Line != 12 || !strings.HasPrefix(l.Instruction, "LDG") {
		t.Errorf("excess sectors are at %+v: the file's largest are of the loads at 0x250 and 0x280", l)
	}
	bound := r.Items[0]
	if bound.Rule != "total" && bound.Rule != "dram-bound" || r.Items[1].Rule != "dram-bound" && bound.Rule != "dram-bound" {
		t.Errorf("the report begins with %s and %s, not with the time and the bound", bound.Rule, r.Items[1].Rule)
	}
	moves := rule(t, r, insight.Roofline, "dram-bound").Moves
	if len(moves) != 2 || moves[0].Direction != insight.Down || !strings.HasPrefix(moves[0].Metric, "dram__") || moves[1].Metric != "gpu__time_duration.sum" {
		t.Errorf("less DRAM traffic would show in %v", moves)
	}
}

// The same stencil through OpenMP: its file's DRAM throughput, and blocks of
// 128 threads with 46 registers, of which 10 fit: 40 of 48 warps.
func TestStencilByOpenMP(t *testing.T) {
	r, s := reportOf(t, "ncu_rep/stencil-2d-omp-target-v3.ncu-rep", insight.Options{})
	throughput := query(t, s, "SELECT avg(value) FROM counter WHERE metric = 'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed'")
	if i := rule(t, r, insight.Roofline, "dram-bound"); !near(i.Value, throughput/100, 2e-3) {
		t.Errorf("%+v, want %g", i, throughput/100)
	}
	if i := rule(t, r, insight.LaunchUse, "theoretical-occupancy"); !near(i.Value, 100*40./48, 1e-6) || !strings.Contains(i.Statement, "registers sets it: 10 blocks") {
		t.Errorf("%+v", i)
	}
	// 503,705 of 657,448 stalled samples at line 13, by pandas.
	if i := rule(t, r, insight.Stall, "line"); !near(i.Value, 503705./657448, 1e-12) || i.Location.Line != 13 {
		t.Errorf("%+v", i)
	}
}

// A copy on an MI200, by its own roofline.csv and the documented bytes of its
// requests: reads 64 (or 32), writes 64 (or 32).
func TestVcopyOnMI200(t *testing.T) {
	r, s := reportOf(t, "rocprof_compute/vcopy_MI200_pmc_perf.csv", insight.Options{})
	v := func(metric string) float64 {
		return query(t, s, "SELECT sum(value) FROM counter WHERE instance IS NULL AND metric = '"+metric+"'")
	}
	bytes := 64*(v("TCC_EA_RDREQ_sum")-v("TCC_EA_RDREQ_32B_sum")) + 32*v("TCC_EA_RDREQ_32B_sum") +
		64*v("TCC_EA_WRREQ_64B_sum") + 32*(v("TCC_EA_WRREQ_sum")-v("TCC_EA_WRREQ_64B_sum"))
	if i := rule(t, r, insight.Roofline, "dram-bound"); !near(i.Value, bytes/v("duration")/1389.3043e9, 1e-9) || !strings.Contains(i.Estimate, "roofline.csv") {
		t.Errorf("%+v, want %g", i, bytes/v("duration")/1389.3043e9)
	}
	if i := rule(t, r, insight.Counter, "amd-l2-hit-rate"); !near(i.Value, v("TCC_HIT_sum")/(v("TCC_HIT_sum")+v("TCC_MISS_sum")), 1e-12) {
		t.Errorf("%+v", i)
	}
	if i := rule(t, r, insight.Counter, "amd-active-threads"); i.Value != 64 || i.Verdict != insight.Fine {
		t.Errorf("%+v", i)
	}
}

// query is a single number of a store.
func query(t *testing.T, s *datasets.Store, sql string) float64 {
	t.Helper()
	rows, err := s.Rows(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatalf("no row of %s: %v", sql, rows.Err())
	}
	switch v := rows.Values()[0].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	t.Fatalf("%s gives %v", sql, rows.Values()[0])
	return 0
}
