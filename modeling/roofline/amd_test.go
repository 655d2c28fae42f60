package roofline_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/rocprof"
	_ "github.com/rooflab/rooflab/collectors/rocprofcompute"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/roofline"
)

func emptyStore(t *testing.T) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// sampleStore is a store with a sample file, and what lies beside it.
func sampleStore(t *testing.T, path string) *datasets.Store {
	t.Helper()
	s := emptyStore(t)
	if _, err := collectors.ImportFile(t.Context(), s, "../../../shared/samples/"+path, collectors.Options{}); err != nil {
		t.Fatalf("%v: the folder shared/ must lie beside the repository", err)
	}
	return s
}

// resultsOf analyses all launches of a store, by kernel's name.
func resultsOf(t *testing.T, s *datasets.Store, opt roofline.Options) map[string][]roofline.Result {
	t.Helper()
	ls, err := roofline.FromStore(t.Context(), s, datasets.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]roofline.Result{}
	for _, r := range roofline.AnalyseAll(ls, opt) {
		out[r.Kernel] = append(out[r.Kernel], r)
	}
	return out
}

func within(got roofline.Quantity, want, tolerance float64) bool {
	return got.OK && math.Abs(got.Value-want) <= tolerance*math.Abs(want)
}

// The MI200 sample, three copies of 1048576 doubles. What is wanted is by
// python's csv.DictReader of pmc_perf.csv, a row r per dispatch:
//
//	ns   = int(r["End_Timestamp"]) - int(r["Start_Timestamp"])
//	hbm  = 32*RD32 + 64*(RD - RD32) + 64*WR64 + 32*(WR - WR64), of TCC_EA_RDREQ_sum, TCC_EA_RDREQ_32B_sum, TCC_EA_WRREQ_sum, TCC_EA_WRREQ_64B_sum
//	l2   = 64*(TCP_TCC_READ_REQ_sum + TCP_TCC_WRITE_REQ_sum + TCP_TCC_ATOMIC_WITH_RET_REQ_sum + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum)
//	l1   = 64*TCP_TOTAL_CACHE_ACCESSES_sum
//	int  = 64*(SQ_INSTS_VALU_INT32 + SQ_INSTS_VALU_INT64)
//	busy = SQ_ACTIVE_INST_VALU / (GRBM_GUI_ACTIVE * 104), 104 being sysinfo's cu_per_gpu
//
// and of roofline.csv's first row, GB/s and GFLOP/s. The copy itself is 2 * 8 *
// 1048576 = 16777216 bytes, which the first dispatch moves within 0.01 %; the
// later ones leave some of it in L2.
func TestMI200AgreesWithItsFiles(t *testing.T) {
	rs := resultsOf(t, sampleStore(t, "rocprof_compute/vcopy_MI200_pmc_perf.csv"), roofline.Options{})["vecCopy"]
	if len(rs) != 3 {
		t.Fatalf("%d dispatches", len(rs))
	}
	hbm, ns, busy := []float64{16778112, 14218112, 14220800}, []float64{20480, 16320, 15520}, []float64{0.05346630291480113, 0.03785526276875758, 0.03786709168532595}
	bound := []roofline.Bound{roofline.Latency, "DRAM", "DRAM"} // 819, 871 and 916 of 1389 GB/s: 59, 63 and 66 %
	for i, r := range rs {
		for _, c := range []struct {
			what string
			got  roofline.Quantity
			want float64
		}{
			{"time", r.Time, ns[i] * 1e-9},
			{"HBM bytes", r.Traffic[roofline.DRAM].Bytes, hbm[i]},
			{"L2 bytes", r.Traffic[roofline.L2].Bytes, 16777216},
			{"L1 bytes", r.Traffic[roofline.L1].Bytes, 33554432},
			{"LDS bytes", r.Traffic[roofline.Shared].Bytes, 0},
			{"integers", r.Work[roofline.Int].Flop, 7340032},
			{"FP64", r.Work[roofline.FP64].Flop, 0},
			{"HBM rate", r.Traffic[roofline.DRAM].Rate, hbm[i] / ns[i] * 1e9},
			{"VALU", r.SM, busy[i]},
		} {
			if !within(c.got, c.want, 1e-9) {
				t.Errorf("dispatch %d, %s: %v, want %g", i, c.what, c.got, c.want)
			}
		}
		// The devices of roofline.csv differ by less than 1 % but for LDS (3 %),
		// of which the highest counts: which one a dispatch ran on is not told.
		for level, want := range map[roofline.Level]float64{roofline.DRAM: 1388.9302e9, roofline.L2: 5018.2891e9, roofline.L1: 9226.7266e9, roofline.Shared: 18326.717e9} {
			if got := r.Traffic[level].Ceiling; !within(got, want, 0.01) || !strings.Contains(got.From, "roofline.csv") {
				t.Errorf("dispatch %d, %s: ceiling %v (%s), want %g", i, level, got, got.From, want)
			}
		}
		for p, want := range map[roofline.Precision]float64{roofline.FP64: 20272.537e9, roofline.FP32: 20941.971e9, roofline.TensorFP64: 41497.562e9,
			roofline.TensorFP32: 41438.68e9, roofline.TensorFP16: 164938.17e9, roofline.TensorBF16: 170483.16e9, roofline.TensorInt8: 166402.27e9} {
			if got := r.Work[p].Ceiling; !within(got, want, 0.01) {
				t.Errorf("dispatch %d, %s: ceiling %v, want %g", i, p, got, want)
			}
		}
		if r.Bound != bound[i] {
			t.Errorf("dispatch %d: %s", i, r.Why)
		}
	}
	if math.Abs(rs[0].Traffic[roofline.DRAM].Bytes.Value/16777216-1) > 1e-4 {
		t.Error("the copy's own bytes")
	}
}

// The MI300A sample in the same way, with 128*TCC_BUBBLE_sum of the reads and
// names of TCC_EA0. It has no roofline.csv: HBM's ceiling is sysinfo's hbm_bw of
// 5324.8 GB/s, those of FP64 and FP32 2 * 64 * 228 compute units * 2.1 GHz, that
// of L2 the device table's (AMD: 2 KB per clock and XCD, 6 of them), 2048 * 6 *
// 2.1 GHz. L2's traffic is 64 bytes for each of 65536 + 131072 requests,
// rocprof-compute's formula, of which the reads moved 128.
func TestMI300A(t *testing.T) {
	rs := resultsOf(t, sampleStore(t, "rocprof_compute/device_filter_MI300A_A1_pmc_perf.csv"), roofline.Options{})["vecCopy"]
	if len(rs) != 3 {
		t.Fatalf("%d dispatches", len(rs))
	}
	hbm, ns, sca := []float64{16782208, 16782912, 16782272}, []float64{7731, 6329, 6209}, []float64{0.004873634304728609, 0.004786001612972014, 0.004698705274973487}
	for i, r := range rs {
		if !within(r.Time, ns[i]*1e-9, 1e-9) || !within(r.Traffic[roofline.DRAM].Bytes, hbm[i], 1e-9) || !within(r.Traffic[roofline.L2].Bytes, 12582912, 1e-9) ||
			!within(r.Traffic[roofline.L1].Bytes, 33554432, 1e-9) || !within(r.SM, sca[i], 1e-9) || !within(r.Work[roofline.Int].Flop, 5242880, 1e-9) {
			t.Errorf("dispatch %d: %v, SM %v", i, r, r.SM)
		}
		if !within(r.Traffic[roofline.DRAM].Ceiling, 5324.8e9, 1e-9) || !within(r.Work[roofline.FP64].Ceiling, 2*64*228*2.1e9, 1e-9) ||
			!strings.Contains(r.Work[roofline.FP64].Ceiling.From, "theoretical") || !strings.Contains(r.Traffic[roofline.DRAM].Ceiling.From, "theoretical") {
			t.Errorf("dispatch %d: ceilings %v, %v", i, r.Traffic[roofline.DRAM].Ceiling, r.Work[roofline.FP64].Ceiling)
		}
		if l2 := r.Traffic[roofline.L2].Ceiling; !within(l2, 2048*6*2.1e9, 1e-9) || !strings.Contains(l2.From, "theoretical") || !strings.Contains(strings.Join(r.Notes, " "), "128") {
			t.Errorf("dispatch %d: L2 %v, notes %q", i, r.Traffic[roofline.L2].Ceiling, r.Notes)
		}
	}
}

// mi200 is a kernel by hand: 1000 wavefronts of each operation.
func mi200() roofline.Launch {
	l := roofline.Launch{Kernel: "k", Metrics: map[string]float64{
		"duration": 1e-3, "GRBM_GUI_ACTIVE": 1e6, "machine.units": 100, "SQ_ACTIVE_INST_VALU": 2e7, "SQ_ACTIVE_INST_SCA": 1e7, "SQ_VALU_MFMA_BUSY_CYCLES": 1.6e8,
		"SQ_INSTS_VALU_INT32": 30, "SQ_INSTS_VALU_INT64": 12,
		"TCC_EA_RDREQ_sum": 1e6, "TCC_EA_RDREQ_32B_sum": 1e5, "TCC_EA_WRREQ_sum": 5e5, "TCC_EA_WRREQ_64B_sum": 4e5,
		"TCP_TCC_READ_REQ_sum": 4e6, "TCP_TCC_WRITE_REQ_sum": 1e6, "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 100, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 200,
		"TCP_TOTAL_CACHE_ACCESSES_sum": 2e7, "SQ_LDS_IDX_ACTIVE": 5e6, "SQ_LDS_BANK_CONFLICT": 1e6,
	}}
	for i, f := range []string{"F16", "F32", "F64"} {
		for j, op := range []string{"ADD", "MUL", "TRANS", "FMA"} {
			l.Metrics["SQ_INSTS_VALU_"+op+"_"+f] = float64(1000*(i+1) + 100*j)
		}
	}
	for i, f := range []string{"I8", "F16", "BF16", "F32", "F64", "F8"} {
		l.Metrics["SQ_INSTS_VALU_MFMA_MOPS_"+f] = float64(1000 * (i + 1))
	}
	return l
}

func mi300() roofline.Launch {
	l := mi200()
	for _, n := range []string{"RDREQ_sum", "RDREQ_32B_sum", "WRREQ_sum", "WRREQ_64B_sum"} {
		l.Metrics["TCC_EA0_"+n] = l.Metrics["TCC_EA_"+n]
		delete(l.Metrics, "TCC_EA_"+n)
	}
	l.Metrics["TCC_BUBBLE_sum"] = 3e5
	return l
}

func TestAMDByHand(t *testing.T) {
	a, b := roofline.Analyse(mi200(), roofline.Options{}), roofline.Analyse(mi300(), roofline.Options{})
	for _, c := range []struct {
		what string
		got  roofline.Quantity
		want float64
	}{
		{"FP64: 64 * (3000 + 3100 + 3200 + 2*3300)", a.Work[roofline.FP64].Flop, 64 * 15900},
		{"FP32: 64 * (2000 + 2100 + 2200 + 2*2300)", a.Work[roofline.FP32].Flop, 64 * 10900},
		{"FP16: 64 * (1000 + 1100 + 1200 + 2*1300)", a.Work[roofline.FP16].Flop, 64 * 5900},
		{"INT: 64 * 42", a.Work[roofline.Int].Flop, 2688},
		{"matrix INT8", a.Work[roofline.TensorInt8].Flop, 512 * 1000},
		{"matrix BF16", a.Work[roofline.TensorBF16].Flop, 512 * 3000},
		{"matrix FP64", a.Work[roofline.TensorFP64].Flop, 512 * 5000},
		{"matrix FP8", a.Work[roofline.TensorFP8].Flop, 512 * 6000},
		{"HBM: 32*1e5 + 64*9e5 + 64*4e5 + 32*1e5", a.Traffic[roofline.DRAM].Bytes, 3.2e6 + 57.6e6 + 25.6e6 + 3.2e6},
		{"HBM of MI300: 128*3e5 + 32*1e5 + 64*6e5 + 64*4e5 + 32*1e5", b.Traffic[roofline.DRAM].Bytes, 38.4e6 + 3.2e6 + 38.4e6 + 25.6e6 + 3.2e6},
		{"L2: 64 * 5000300", a.Traffic[roofline.L2].Bytes, 320019200},
		{"L1: 64 * 2e7", a.Traffic[roofline.L1].Bytes, 1.28e9},
		{"LDS: 4e6 * 32 * 4", a.Traffic[roofline.Shared].Bytes, 5.12e8},
		{"matrix cores: 1.6e8 / 4 / (1e6 * 100)", a.SM, 0.4},
	} {
		if !within(c.got, c.want, 1e-12) {
			t.Errorf("%s: %v, want %g", c.what, c.got, c.want)
		}
	}
	half := roofline.Analyse(mi200(), roofline.Options{HalfWeight: 2})
	if !within(half.Work[roofline.FP16].Flop, 2*64*5900, 1e-12) {
		t.Errorf("packed FP16: %v", half.Work[roofline.FP16].Flop)
	}
}

// MI350 counts reads of each size; there TCC_BUBBLE is none of them. MI100 has
// a second port. rocprof's derived metrics are bytes in the store.
func TestAMDOtherWaysToMemory(t *testing.T) {
	mi350 := mi300()
	mi350.Metrics["TCC_EA0_RDREQ_64B_sum"], mi350.Metrics["TCC_EA0_RDREQ_128B_sum"] = 2e5, 7e5
	mi100 := mi200()
	for _, n := range []string{"RDREQ_sum", "RDREQ_32B_sum", "WRREQ_sum", "WRREQ_64B_sum"} {
		mi100.Metrics["TCC_EA1_"+n] = mi100.Metrics["TCC_EA_"+n]
	}
	derived := roofline.Launch{Metrics: map[string]float64{"FETCH_SIZE": 1000, "WRITE_SIZE": 24, "duration": 1}}
	for _, c := range []struct {
		what string
		l    roofline.Launch
		want float64
	}{
		{"MI350: 32*1e5 + 64*2e5 + 128*7e5 + 64*4e5 + 32*1e5", mi350, 3.2e6 + 12.8e6 + 89.6e6 + 25.6e6 + 3.2e6},
		{"MI100: twice MI200's", mi100, 2 * 89.6e6},
		{"derived", derived, 1024},
	} {
		if got := roofline.Analyse(c.l, roofline.Options{}).Traffic[roofline.DRAM].Bytes; !within(got, c.want, 1e-12) {
			t.Errorf("%s: %v, want %g", c.what, got, c.want)
		}
	}
}

// Counters of channels without ROCm's own sum are summed, unless one has no
// value.
func TestAMDChannels(t *testing.T) {
	const table = `Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Wave_Size_1,TCC_EA_RDREQ[0],TCC_EA_RDREQ[1],TCC_EA_RDREQ_32B[0],TCC_EA_RDREQ_32B[1],TCC_EA_WRREQ[0],TCC_EA_WRREQ[1],TCC_EA_WRREQ_64B[0],TCC_EA_WRREQ_64B[1]
0,2,1024,64,0,0,8,4,16,64,"whole(int) (.kd)",100,1100,64,10,20,1,2,30,40,30,39
1,2,1024,64,0,0,8,4,16,64,"lacking(int) (.kd)",2100,3100,64,10,,1,2,30,40,30,39
`
	s := emptyStore(t)
	if _, err := collectors.Import(t.Context(), s, "pmc_perf.csv", strings.NewReader(table), collectors.Options{}); err != nil {
		t.Fatal(err)
	}
	rs := resultsOf(t, s, roofline.Options{})
	if r := rs["whole"][0]; !within(r.Traffic[roofline.DRAM].Bytes, 32*3+64*27+64*69+32*1, 1e-12) || !within(r.Time, 1e-6, 1e-12) {
		t.Errorf("%v", r)
	}
	if r := rs["lacking"][0]; r.Traffic[roofline.DRAM].Bytes.OK || !strings.Contains(r.Traffic[roofline.DRAM].Bytes.From, "TCC_EA_RDREQ") {
		t.Errorf("a channel without a value: %v", r.Traffic[roofline.DRAM].Bytes)
	}
}

// rocprof (v1) with its derived metrics, in KiB: (8 + 4) * 1024 bytes in 2 us.
func TestRocprofDerivedMetrics(t *testing.T) {
	const table = `"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","wgr","lds","scr","arch_vgpr","accum_vgpr","sgpr","wave_size","sig","obj","FETCH_SIZE","WRITE_SIZE","DispatchNs","BeginNs","EndNs","CompleteNs","DurationNs"
0,"k(float*) [clone .kd]",0,0,0,1,1,1024,64,0,0,8,0,16,64,0x0,0x7f0000000000,8.0,4.0,100,1000,3000,4000,2000
`
	s := emptyStore(t)
	if _, err := collectors.Import(t.Context(), s, "results.csv", strings.NewReader(table), collectors.Options{}); err != nil {
		t.Fatal(err)
	}
	r := resultsOf(t, s, roofline.Options{})["k"][0]
	if !within(r.Traffic[roofline.DRAM].Bytes, 12*1024, 1e-12) || !within(r.Time, 2e-6, 1e-12) || r.Traffic[roofline.L2].Bytes.OK {
		t.Errorf("%v", r)
	}
}

// rocprofv3's counters of one block alone, without times.
func TestRocprofWithoutTimes(t *testing.T) {
	for name, rs := range resultsOf(t, sampleStore(t, "rocprof/rocprofv3_counter_collection.csv"), roofline.Options{}) {
		for _, r := range rs {
			if r.Time.OK || r.Bound != roofline.Unknown || r.Work[roofline.FP32].Flop.OK || !strings.Contains(r.Work[roofline.FP32].Flop.From, "SQ_INSTS_VALU_ADD_F32") {
				t.Errorf("%s: %v", name, r)
			}
		}
	}
}
