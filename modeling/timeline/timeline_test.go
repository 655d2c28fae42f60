package timeline_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/timeline"
)

const us = 1000 // ns

// with returns the findings of a kind.
func with(tl *timeline.Timeline, k timeline.Kind) []timeline.Finding {
	var out []timeline.Finding
	for _, f := range tl.Findings {
		if f.Kind == k {
			out = append(out, f)
		}
	}
	return out
}

func noted(tl *timeline.Timeline, part string) bool {
	return slices.ContainsFunc(tl.Notes, func(n string) bool { return strings.Contains(n, part) })
}

// eager is a host that launches n kernels one by one: every 20 µs a call of
// 6 µs, whose kernel starts 8 µs after the call does and runs for 5 µs.
func eager(n int, corr bool) []row {
	var rows []row
	for i := range n {
		at := int64(1000*us + 20*us*i)
		c := ""
		if corr {
			c = fmt.Sprint(i + 1)
		}
		rows = append(rows, row{name: "cudaLaunchKernel", start: at, dur: 6 * us, corr: c, pid: 7, device: -1},
			row{name: "tiny", start: at + 8*us, dur: 5 * us, stream: 7, corr: c, pid: 7})
	}
	return rows
}

// The device is dry 13 µs after a call began and the next call begins 7 µs
// later: all 99 gaps, of 15 µs each, wait for the host, and make one stretch.
// Each kernel (5 µs) is shorter than its call (6 µs).
func TestOneByOneLaunchesAreLaunchBound(t *testing.T) {
	tl := analyse(t, timeline.Options{}, eager(100, true)...)
	d := one(t, tl)
	if w := d.Waits[timeline.HostWait]; w != (timeline.Tally{Count: 99, Time: 99 * 15 * us}) || w.Time != d.Idle {
		t.Errorf("waits for the host: %+v, idle %s", w, d.Idle)
	}
	if b := d.Bound; b.Count != 1 || b.Launches != 99 || b.Short != 99 || b.Idle != 99*15*us || b.Busy != 99*5*us || b.Estimate {
		t.Errorf("launch-bound: %+v", b)
	}
	s := d.Stretches[0]
	if s.Top != "tiny" || s.Known != 99 || s.From != 1013*us || s.To != 1013*us+99*20*us || s.First.Launch == 0 || s.Last.Launch == 0 {
		t.Errorf("stretch: %+v", s)
	}
	l := d.Launch
	if l.Known != 100 || l.Short != 100 || l.Starved != 99 {
		t.Errorf("launches: %+v", l)
	}
	for what, v := range map[string][2]time.Duration{"call": {l.Call, 6 * us}, "latency": {l.Latency, 8 * us}} {
		if r := float64(v[0]) / float64(v[1]); math.Abs(r-1) > 0.01 {
			t.Errorf("median %s %s, want %s within 1 %%", what, v[0], v[1])
		}
	}
	// While the device is idle (from 13 to 28 µs after a call began) the host is in the next call
	// from 20 to 26 µs: 6 of 15 µs.
	if got := d.HostIdle[timeline.HostLaunch]; got != 99*6*us {
		t.Errorf("idle in launch calls for %s, want %s", got, time.Duration(99*6*us))
	}
	if got := d.HostIdle[timeline.HostNone]; got != 99*9*us {
		t.Errorf("idle outside of calls for %s, want %s", got, time.Duration(99*9*us))
	}
	if a := d.Longest[0].Host; len(a) != 1 || a[0].Name != "cudaLaunchKernel" || a[0].Time != 6*us {
		t.Errorf("the host during the longest gap: %+v", a)
	}
	for _, k := range []timeline.Kind{timeline.LaunchBound, timeline.HostBound, timeline.ShortKernels, timeline.LowUse, timeline.Breakdown} {
		fs := with(tl, k)
		if len(fs) != 1 || len(fs[0].Rows) == 0 || fs[0].Rule == "" || len(fs[0].Numbers) == 0 {
			t.Errorf("%s: %+v", k, fs)
			continue
		}
		for _, r := range fs[0].Rows {
			if r.Run != 1 || r.Region == 0 || r.Launch == 0 || r.Metric != "dur_ns" {
				t.Errorf("%s rests on the row %+v", k, r)
			}
		}
	}
}

// Without correlation the same stretch is an estimate, and says so: gaps of
// 15 µs are within the 20 µs of a call, and longer than the kernels of 5 µs.
func TestStretchesWithoutCallsAreEstimates(t *testing.T) {
	tl := analyse(t, timeline.Options{}, eager(100, false)...)
	d := one(t, tl)
	if b := d.Bound; b.Launches != 99 || !b.Estimate || b.Short != 0 {
		t.Errorf("launch-bound: %+v", b)
	}
	if fs := with(tl, timeline.LaunchBound); len(fs) != 1 || !fs[0].Estimate || !strings.Contains(fs[0].Text, "an estimate") {
		t.Errorf("%+v", fs)
	}
	if d.Waits[timeline.UnknownWait].Count != 99 || !noted(tl, "no kernel is joined with the call") {
		t.Errorf("%+v, %q", d.Waits, tl.Notes)
	}
}

// Nine launches in a row make no stretch, and neither do ten of which one
// comes after a gap that is longer than Options.StretchGap.
func TestStretchesHaveALeastLength(t *testing.T) {
	if b := one(t, analyse(t, timeline.Options{}, eager(10, true)...)).Bound; b.Count != 0 {
		t.Errorf("nine launches after gaps: %+v", b)
	}
	if b := one(t, analyse(t, timeline.Options{}, eager(11, true)...)).Bound; b.Count != 1 || b.Launches != 10 {
		t.Errorf("ten launches after gaps: %+v", b)
	}
	if b := one(t, analyse(t, timeline.Options{StretchGap: 14 * time.Microsecond}, eager(50, true)...)).Bound; b.Count != 0 {
		t.Errorf("gaps of 15 µs with 14 µs allowed: %+v", b)
	}
}

// The second kernel is called while the first runs and starts 20 ns after it,
// the third 10 µs after it, the fourth is called when the device is dry.
func TestReasonsForGaps(t *testing.T) {
	var rows []row
	for i, at := range [][3]int64{{0, 10, 1000}, {20, 1030, 1000}, {40, 12030, 1000}, {14000, 14100, 500}} { // call, start, duration
		c := fmt.Sprint(i + 1)
		rows = append(rows, row{name: "cudaLaunchKernel", start: at[0], dur: 5, corr: c, device: -1, pid: 1}, row{name: "k" + c, start: at[1], dur: at[2], corr: c, pid: 1})
	}
	d := one(t, analyse(t, timeline.Options{}, rows...))
	want := map[timeline.Wait]timeline.Tally{timeline.KernelGap: {1, 20}, timeline.OtherWait: {1, 10000}, timeline.HostWait: {1, 1070}}
	for w, n := range want {
		if d.Waits[w] != n {
			t.Errorf("%s: %+v, want %+v", w, d.Waits[w], n)
		}
	}
	g := d.Longest[0]
	if g.Before.Name != "k2" || g.After.Name != "k3" || g.From != 2030 || g.To != 12030 {
		t.Errorf("the longest gap: %+v", g)
	}
	if d.Launch.Worst[0].Name != "k3" || d.Launch.Worst[0].Dur.V != 11990 {
		t.Errorf("the longest latency: %+v", d.Launch.Worst[0])
	}
}

func TestCopiesThatBlock(t *testing.T) {
	var rows []row
	for i := range 20 {
		c := fmt.Sprint(i + 1)
		name, bytes := "cudaMemcpyAsync", float64(4096)
		if i%4 == 0 {
			name = "cudaMemcpy"
		}
		if i == 19 {
			bytes = 1 << 20
		}
		rows = append(rows, row{name: name, start: int64(i) * 100 * us, dur: 50 * us, corr: c, device: -1, pid: 1},
			row{name: "[CUDA memcpy Host-to-Device]", start: int64(i)*100*us + 10*us, dur: 30 * us, corr: c, pid: 1, bytes: bytes, pageable: i%2 == 0})
	}
	rows = append(rows, row{name: "gemm", start: 20 * us, dur: 10 * us, stream: 2, pid: 1})
	tl := analyse(t, timeline.Options{}, rows...)
	d := one(t, tl)
	c := d.Copies[0]
	if c.Count != 20 || c.Pageable != 10 || c.Synchronous != 5 || c.Small != 19 || c.Bytes != 19*4096+1<<20 || c.Time != 600*us || c.Hidden != 10*us || c.SyncTime != 150*us {
		t.Errorf("%+v", c)
	}
	for k, rows := range map[timeline.Kind]int{timeline.PageableCopies: 5, timeline.SynchronousCopies: 5, timeline.SmallCopies: 5, timeline.ExposedCopies: 2} {
		if fs := with(tl, k); len(fs) != 1 || len(fs[0].Rows) != rows {
			t.Errorf("%s: %+v", k, fs)
		}
	}
	if fs := with(tl, timeline.ExposedCopies); fs[0].Time != 590*us {
		t.Errorf("copies that nothing hides: %s", fs[0].Time)
	}
}

func TestCommunicationThatNothingHides(t *testing.T) {
	tl := analyse(t, timeline.Options{}, row{name: "gemm", start: 0, dur: 100 * us}, row{name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", start: 60 * us, dur: 100 * us, stream: 9})
	fs := with(tl, timeline.ExposedCommunication)
	if len(fs) != 1 || fs[0].Time != 60*us || !strings.Contains(fs[0].Text, "hides 40.0 %") || fs[0].Share != 60./160 {
		t.Errorf("%+v", fs)
	}
}

// Devices of several processes and ranks are apart; what the host of one does
// is not counted for another.
func TestDevicesAndRanksAreApart(t *testing.T) {
	rows := []row{
		{name: "a", start: 0, dur: 10, device: 0, pid: 1}, {name: "a", start: 30, dur: 10, device: 0, pid: 1},
		{name: "b", start: 0, dur: 40, device: 1, pid: 1},
		{name: "c", start: 5, dur: 5, device: 0, pid: 2}, {name: "c", start: 20, dur: 5, device: 0, pid: 2},
		{name: "cudaDeviceSynchronize", start: 12, dur: 10, device: -1, pid: 1},
	}
	tl := analyse(t, timeline.Options{}, rows...)
	if len(tl.Devices) != 3 {
		t.Fatalf("%d devices\n%s", len(tl.Devices), tl)
	}
	var got []string
	for _, d := range tl.Devices {
		got = append(got, fmt.Sprintf("%d/%d busy %d idle %d sync %d", d.PID.V, d.ID.Device.V, d.Busy, d.Idle, d.HostIdle[timeline.HostSync]))
	}
	want := []string{"1/0 busy 20 idle 20 sync 10", "1/1 busy 40 idle 0 sync 0", "2/0 busy 10 idle 10 sync 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	df := tl.Breakdown()
	if df.Err != nil || df.Nrow() != 3 || df.Col("idle").Float()[0] != 20e-9 || df.Col("pid").Elem(2).String() != "2" || !df.Col("rank").Elem(0).IsNA() {
		t.Errorf("%v", df)
	}
	gaps := tl.GapFrame()
	if gaps.Err != nil || gaps.Nrow() != 2 || gaps.Col("host").Elem(0).String() != "cudaDeviceSynchronize" || gaps.Col("gap").Float()[0] != 20e-9 || gaps.Col("after").Elem(1).String() != "c" {
		t.Errorf("%v", gaps)
	}
}

// rocprofv3 writes kernels, copies and calls in files of their own: the
// copy names agents, and no device.
func TestPartsOfARecordingAreTakenTogether(t *testing.T) {
	s := storeOf(t, []string{"rocprof-kernels", "rocprof-copies"},
		[]row{{name: "k", start: 0, dur: 100, device: 1, stream: 1}}, []row{{name: "[CUDA memcpy Host-to-Device]", start: 50, dur: 100, device: -1}})
	d := one(t, run(t, s, 1, timeline.Options{Beside: []int64{2}}))
	if d.Busy != 150 || d.Copy != 100 || d.HiddenCopy != 50 || len(d.Streams) != 2 {
		t.Errorf("%+v", d)
	}
	// Two recordings in one format keep their devices.
	s = storeOf(t, nil, []row{{name: "k", start: 0, dur: 100}}, []row{{name: "k", start: 500, dur: 100}})
	tl := run(t, s, 1, timeline.Options{Beside: []int64{2}})
	if len(tl.Devices) != 2 || !noted(tl, "no two of the runs 1, 2 overlap in time") {
		t.Errorf("%s", tl)
	}
}

func TestWhatIsUnknownIsSaid(t *testing.T) {
	tl := analyse(t, timeline.Options{}, row{name: "a", start: 0, dur: 10}, row{name: "b", start: 20, noDur: true}, row{name: "a", start: 50, dur: 10},
		row{name: "c", none: true, noDur: true}, row{name: "d", start: math.MaxInt64 - 5, dur: 10})
	d := one(t, tl)
	if d.Works != 5 || d.Unknown != 3 || d.Busy != 20 || d.Idle != 40 || d.To != 60 || d.Uncertain != 1 || !d.Longest[0].Uncertain {
		t.Errorf("%+v", d)
	}
	if !noted(tl, "3 of 5 launches and copies have no duration or start: busy time is a lower bound; uncertain: 1 gap") {
		t.Errorf("%q", tl.Notes)
	}
}

// A clock that wraps, or runs apart from the other, shows kernels before their
// calls.
func TestClocksThatDiffer(t *testing.T) {
	tl := analyse(t, timeline.Options{}, row{name: "cudaLaunchKernel", start: 1000, dur: 5, corr: "1", device: -1, pid: 1}, row{name: "a", start: 10, dur: 10, corr: "1", pid: 1},
		row{name: "a", start: 40, dur: 10, pid: 1})
	d := one(t, tl)
	if d.Launch.Before != 1 || d.Launch.Known != 0 || d.Launch.Latency != 0 || !noted(tl, "1 kernel starts before the call") {
		t.Errorf("%+v %q", d.Launch, tl.Notes)
	}
}

func TestOneCallOfManyKernels(t *testing.T) {
	// A graph: three kernels of one call; two calls with one id do not double work.
	rows := []row{{name: "cudaGraphLaunch", start: 0, dur: 5, corr: "1", device: -1, pid: 1}, {name: "cudaStreamSynchronize", start: 3, dur: 50, corr: "1", device: -1, pid: 1}}
	for i := range int64(3) {
		rows = append(rows, row{name: "k", start: 10 + 10*i, dur: 10, corr: "1", pid: 1})
	}
	d := one(t, analyse(t, timeline.Options{}, rows...))
	if d.Works != 3 || d.Busy != 30 || d.Launch.Known != 3 || d.Streams[0].Launches != 3 {
		t.Errorf("%+v", d)
	}
}

func TestTracesOfAHostAlone(t *testing.T) {
	s := storeOf(t, nil, []row{{name: "cudaMalloc", start: 0, dur: 5, device: -1}}, []row{{name: "k", none: true, noDur: true}}, nil)
	for id, want := range []string{"of a host alone (1 calls", "1 launch without times", "nothing of a device was traced"} {
		tl := run(t, s, id+1, timeline.Options{})
		if len(tl.Devices) != 0 || !noted(tl, want) || !strings.Contains(tl.String(), want) {
			t.Errorf("run %d: %q, want %q", id+1, tl.Notes, want)
		}
		if _, err := tl.View(context.Background(), s, timeline.ViewOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a view of run %d: %v", id+1, err)
		}
	}
}

func TestMistakesAreSaid(t *testing.T) {
	s := storeOf(t, nil, []row{{name: "k", start: 0, dur: 5}})
	ctx := context.Background()
	_, err := timeline.Analyse(ctx, s, 9, timeline.Options{})
	if err == nil || !strings.Contains(err.Error(), "the store has no run 9") {
		t.Errorf("%v", err)
	}
	_, err = timeline.Analyse(ctx, s, 1, timeline.Options{From: datasets.Some[int64](5), To: datasets.Some[int64](5)})
	if err == nil || !strings.Contains(err.Error(), "not after its start") {
		t.Errorf("%v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = timeline.Analyse(stopped, s, 1, timeline.Options{}); err == nil {
		t.Error("a context that has ended is not heeded")
	}
}

// Work without a stream, work that takes no time, and windows without any.
func TestOddTraces(t *testing.T) {
	d := one(t, analyse(t, timeline.Options{}, row{name: "k", start: 7, dur: 0}))
	if d.Works != 1 || d.Zero != 1 || d.Busy != 0 || d.Window() != 0 || d.Gaps != 0 {
		t.Errorf("%+v", d)
	}
	// A kernel that takes no time does not end a gap.
	d = one(t, analyse(t, timeline.Options{}, row{name: "k", start: 0, dur: 10}, row{name: "z", start: 15, dur: 0}, row{name: "k", start: 20, dur: 10}))
	if d.Gaps != 1 || d.Longest[0].Time() != 10 || d.Zero != 1 {
		t.Errorf("%+v", d)
	}
	tl := analyse(t, timeline.Options{From: datasets.Some[int64](100), To: datasets.Some[int64](200)}, row{name: "k", start: 0, dur: 10})
	if len(tl.Devices) != 0 || !noted(tl, "in this window") {
		t.Errorf("%s", tl)
	}
}
