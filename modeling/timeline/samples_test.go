package timeline_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/chrometrace"
	_ "github.com/rooflab/rooflab/collectors/nsys"
	_ "github.com/rooflab/rooflab/collectors/rocprof"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/timeline"
)

func sample(t *testing.T, name string) (*datasets.Store, int64) {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	sum, err := collectors.ImportFile(context.Background(), s, "../../../shared/samples/"+name, collectors.Options{})
	if err != nil {
		t.Fatalf("importing a sample: %v: the folder shared/ must lie beside the repository", err)
	}
	return s, sum.Run()
}

// The numbers were computed from the files themselves, without a store: intervals read
// by Python's sqlite3, json and csv modules (kernels by category or table; those
// of NCCL by "nccl" in their names; microseconds of PyTorch times 1000), merged into
// disjoint ones after sorting by start, with sums of lengths of the unions and of
// pairwise intersections. A gap's reason compares the start of the call with
// the same correlation id (and process) with the end of all earlier work.
func TestSamplesAgreeWithTheirFiles(t *testing.T) {
	type waits map[timeline.Wait]timeline.Tally
	type numbers struct {
		device                                              int64
		from, to                                            int64
		busy, compute, comm, commHidden, copied, copyHidden time.Duration
		memset, idle                                        time.Duration
		gaps, kernels, comms                                int
		longest                                             [2]int64
		directions                                          string // count, time, sum, hidden
		waits                                               waits
		known, short                                        int
		call, latency                                       time.Duration
	}
	for _, c := range []struct {
		file    string
		devices []numbers
	}{
		{"nsys/h100_2gpu_1s.sqlite", []numbers{
			{0, 155357525002, 156326972607, 962890247, 22385163, 0, 0, 940490300, 0, 14784, 6557358, 2183, 1721, 0, [2]int64{156064988229, 156065750091},
				"host to device 225 920872841 920872841 0; device to host 2 3808 3808 0; device to device 225 19613651 19613651 0; ",
				waits{timeline.UnknownWait: {1137, 2496691}, timeline.OtherWait: {1039, 2278862}, timeline.HostWait: {7, 1781805}}, 816, 675, 5704, 421298136},
			{1, 155357602221, 156326860799, 962810705, 22444359, 0, 0, 940351914, 0, 14432, 6447873, 2183, 1721, 0, [2]int64{156064984725, 156065716629},
				"host to device 225 920757957 920757957 0; device to host 2 4064 4064 0; device to device 225 19589893 19589893 0; ",
				waits{timeline.UnknownWait: {1137, 2551776}, timeline.OtherWait: {1039, 2327233}, timeline.HostWait: {7, 1568864}}, 816, 679, 5409, 421309256},
		}},
		{"torch_trace/benchmark_result_2869224_1695835535_trace.json.gz", []numbers{
			{0, 1695835572943613000, 1695835585863857000, 66141000, 10630000, 0, 0, 55503000, 0, 8000, 12854103000, 95, 79, 0, [2]int64{1695835573847846000, 1695835583881571000},
				"host to device 16 55503000 55503000 0; ", nil, 0, 0, 0, 0},
		}},
		{"torch_trace/sampled_rank-0.json.gz", []numbers{
			{0, 1682725898082228000, 1682725899305075000, 547656000, 210320000, 396199000, 59216000, 1297000, 970000, 28000, 675191000, 930, 1154, 10, [2]int64{1682725899072204000, 1682725899131066000},
				"host to device 24 877000 877000 871000; device to host 8 16000 16000 0; device to device 8 404000 404000 99000; ", nil, 0, 0, 0, 0},
		}},
		{"rocprof/rocprofv3_kernel_trace.csv", []numbers{
			{1, 8819330200067564, 8819330200369359, 299425, 299425, 0, 0, 0, 0, 0, 2370, 1, 7, 0, [2]int64{8819330200116308, 8819330200118678}, "", nil, 0, 0, 0, 0},
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			s, id := sample(t, c.file)
			tl := run(t, s, int(id), timeline.Options{})
			if len(tl.Devices) != len(c.devices) {
				t.Fatalf("%d devices, want %d", len(tl.Devices), len(c.devices))
			}
			for i, want := range c.devices {
				d := tl.Devices[i]
				got := want // what is not compared below
				got.device, got.from, got.to, got.busy, got.compute, got.comm, got.commHidden = d.ID.Device.V, d.From, d.To, d.Busy, d.Compute, d.Communication, d.HiddenCommunication
				got.copied, got.copyHidden, got.memset, got.idle, got.gaps, got.kernels, got.comms = d.Copy, d.HiddenCopy, d.Memset, d.Idle, d.Gaps, d.Kernels, d.Communications
				got.longest = [2]int64{d.Longest[0].From, d.Longest[0].To}
				got.directions = ""
				for _, c := range d.Copies {
					got.directions += fmt.Sprintf("%s %d %d %d %d; ", c.Class, c.Count, c.Time, c.Sum, c.Hidden)
				}
				got.known, got.short = d.Launch.Known, d.Launch.Short
				if want.waits == nil {
					got.known, got.short = 0, 0
				}
				if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
					t.Errorf("device %d: found\n%s, want\n%s", i, a, b)
				}
				for w, n := range want.waits {
					if d.Waits[w] != n {
						t.Errorf("device %d: %s %+v, want %+v", i, w, d.Waits[w], n)
					}
				}
				for _, m := range [][2]time.Duration{{d.Launch.Call, want.call}, {d.Launch.Latency, want.latency}} {
					if want.call > 0 && math.Abs(float64(m[0])/float64(m[1])-1) > 0.01 {
						t.Errorf("device %d: a median of %s, want %s within 1 %%", i, m[0], m[1])
					}
				}
			}
		})
	}
}

// The seven kernels of the sample run on four queues: time with 0 to 4 of them
// at once, from +1 and -1 at starts and ends, sorted.
func TestSampleConcurrency(t *testing.T) {
	s, id := sample(t, "rocprof/rocprofv3_kernel_trace.csv")
	d := one(t, run(t, s, int(id), timeline.Options{}))
	want := []time.Duration{2370, 55263, 78374, 79710, 86078}
	if fmt.Sprint(d.Concurrency) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", d.Concurrency, want)
	}
}

// CUPTI's range profiler gives kernels no times, and some traces have no device.
func TestSamplesWithoutATimelineSayWhy(t *testing.T) {
	for file, want := range map[string]string{
		"torch_trace/benchmark_result_924719_1679055439_trace.json.gz": "77 launches without times",
		"torch_trace/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz":    "of a host alone",
		"rocprof/rocprofv3_hsa_api_trace.csv":                          "of a host alone (10 calls",
		"rocprof/rocprofv3_counter_collection.csv":                     "7 launches without times",
		"chrome_trace/speedscope_simple-object.json":                   "nothing of a device was traced",
	} {
		s, id := sample(t, file)
		if tl := run(t, s, int(id), timeline.Options{}); len(tl.Devices) != 0 || !noted(tl, want) {
			t.Errorf("%s: %d devices, %q; want %q", file, len(tl.Devices), tl.Notes, want)
		}
	}
}
