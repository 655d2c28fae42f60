package timeline_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/timeline"
)

const horizon = 1500 // ns

var (
	names  = []string{"gemm", "softmax", "ncclDevKernel_AllReduce", "[CUDA memcpy Host-to-Device]", "[CUDA memcpy Device-to-Host]", "[CUDA memcpy Device-to-Device]", "[CUDA memset]"}
	counts = 60
)

// random is a trace of one device: a few streams, work that overlaps within a
// stream too, zero durations, times that coincide.
func random(seed uint64) []row {
	rng := rand.New(rand.NewPCG(seed, 1))
	var rows []row
	for range counts/2 + rng.IntN(counts) {
		dur := rng.Int64N(40)
		if rng.IntN(10) == 0 {
			dur = 0
		}
		rows = append(rows, row{name: names[rng.IntN(len(names))], start: rng.Int64N(horizon - 40), dur: dur, stream: rng.Int64N(3), pid: 7})
	}
	return rows
}

// truth is what a device did, found without any sorting or sweeping: for each
// nanosecond it is written down what runs, and the nanoseconds are counted.
type truth struct {
	From, To                                                          int64
	Busy, Kernel, Compute, Comm, HiddenComm, Copy, HiddenCopy, Memset time.Duration
	ExposedComm, ExposedCopy, Idle                                    time.Duration
	Gaps                                                              [][2]int64
	AtOnce                                                            map[int]time.Duration
	Streams                                                           map[int64]time.Duration
	Directions                                                        map[string][2]time.Duration // time, hidden
}

func count(rows []row, from, to int64) truth {
	tr := truth{From: from, To: to, AtOnce: map[int]time.Duration{}, Streams: map[int64]time.Duration{}, Directions: map[string][2]time.Duration{}}
	var idle bool
	for ns := from; ns < to; ns++ {
		running := map[string]int{}
		streams := map[int64]bool{}
		for _, r := range rows {
			if r.start <= ns && ns < r.start+r.dur {
				running[r.name]++
				streams[r.stream] = true
			}
		}
		for s := range streams {
			tr.Streams[s]++
		}
		compute, comm := running["gemm"]+running["softmax"], running["ncclDevKernel_AllReduce"]
		var copying bool
		for _, d := range names[3:6] {
			if running[d] > 0 {
				copying = true
				v := tr.Directions[d]
				v[0]++
				if compute+comm > 0 {
					v[1]++
				}
				tr.Directions[d] = v
			}
		}
		tally := func(v *time.Duration, when bool) {
			if when {
				*v++
			}
		}
		tr.AtOnce[compute+comm]++
		tally(&tr.Busy, len(running) > 0)
		tally(&tr.Kernel, compute+comm > 0)
		tally(&tr.Compute, compute > 0)
		tally(&tr.Comm, comm > 0)
		tally(&tr.HiddenComm, comm > 0 && compute > 0)
		tally(&tr.ExposedComm, comm > 0 && compute == 0)
		tally(&tr.Copy, copying)
		tally(&tr.HiddenCopy, copying && compute+comm > 0)
		tally(&tr.Memset, running["[CUDA memset]"] > 0)
		tally(&tr.ExposedCopy, len(running) > 0 && compute+comm == 0)
		tally(&tr.Idle, len(running) == 0)
		switch {
		case len(running) > 0:
			idle = false
		case !idle:
			idle = true
			tr.Gaps = append(tr.Gaps, [2]int64{ns, ns + 1})
		default:
			tr.Gaps[len(tr.Gaps)-1][1] = ns + 1
		}
	}
	return tr
}

// found is the same as a Device says it.
func found(d timeline.Device) truth {
	tr := truth{From: d.From, To: d.To, Busy: d.Busy, Kernel: d.Kernel, Compute: d.Compute, Comm: d.Communication, HiddenComm: d.HiddenCommunication, Copy: d.Copy, HiddenCopy: d.HiddenCopy,
		Memset: d.Memset, ExposedComm: d.ExposedCommunication, ExposedCopy: d.ExposedCopy, Idle: d.Idle,
		AtOnce: map[int]time.Duration{}, Streams: map[int64]time.Duration{}, Directions: map[string][2]time.Duration{}}
	for n, t := range d.Concurrency {
		if t > 0 {
			tr.AtOnce[n] = t
		}
	}
	for _, s := range d.Streams {
		if s.Busy > 0 {
			tr.Streams[s.Stream.V] = s.Busy
		}
	}
	for _, c := range d.Copies {
		if c.Time > 0 {
			name := map[timeline.Class]string{timeline.HtoD: names[3], timeline.DtoH: names[4], timeline.DtoD: names[5]}[c.Class]
			tr.Directions[name] = [2]time.Duration{c.Time, c.Hidden}
		}
	}
	for _, g := range d.Longest {
		tr.Gaps = append(tr.Gaps, [2]int64{g.From, g.To})
	}
	slices.SortFunc(tr.Gaps, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	return tr
}

// extent is from the first start to the last end.
func extent(rows []row) (from, to int64) {
	from = horizon
	for _, r := range rows {
		from, to = min(from, r.start), max(to, r.start+r.dur)
	}
	return from, to
}

func TestRandomIntervalsAgreeWithCountingEachNanosecond(t *testing.T) {
	all := timeline.Options{Gaps: 1 << 20}
	var traces [][]row
	for seed := range uint64(25) {
		traces = append(traces, random(seed))
	}
	s := storeOf(t, nil, traces...)
	for seed, rows := range traces {
		from, to := extent(rows)
		d := one(t, run(t, s, seed+1, all))
		if got, want := found(d), count(rows, from, to); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: found\n%+v, want\n%+v", seed, got, want)
		}
		if d.Compute+d.ExposedCommunication+d.ExposedCopy+d.Idle != d.Window() {
			t.Errorf("seed %d: the breakdown does not add up to the window", seed)
		}
		var waits, lengths, parts time.Duration
		for _, w := range d.Waits {
			waits += w.Time
		}
		for _, b := range d.Lengths {
			lengths += b.Time
		}
		for _, p := range d.Parts {
			parts += p.Busy
		}
		if waits != d.Idle || lengths != d.Idle || parts != d.Busy || d.Gaps != len(d.Longest) {
			t.Errorf("seed %d: idle for %d, by reasons %d, by lengths %d; busy for %d, by parts %d", seed, d.Idle, waits, lengths, d.Busy, parts)
		}
		// A window cuts what reaches over its edges.
		lo, hi := int64(400), int64(900)
		window := all
		window.From, window.To = datasets.Some(lo), datasets.Some(hi)
		if got, want := found(one(t, run(t, s, seed+1, window))), count(rows, lo, hi); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d in a window: found\n%+v, want\n%+v", seed, got, want)
		}
	}
}

func TestOrderShiftAndSplittingChangeNothing(t *testing.T) {
	const by = int64(1_700_000_000_000_000_000) // a time of day in ns
	var traces [][]row
	for seed := range uint64(8) {
		rows := random(100 + seed)
		rng := rand.New(rand.NewPCG(seed, 2))
		mixed, moved := slices.Clone(rows), slices.Clone(rows)
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for i := range moved {
			moved[i].start += by
		}
		var halves []row
		for _, r := range rows {
			if r.dur < 2 {
				halves = append(halves, r)
				continue
			}
			first, second := r, r
			first.dur = 1 + rng.Int64N(r.dur-1)
			second.start, second.dur = r.start+first.dur, r.dur-first.dur
			halves = append(halves, second, first)
		}
		traces = append(traces, rows, mixed, moved, halves)
	}
	s := storeOf(t, nil, traces...)
	for i := 0; i < len(traces); i += 4 {
		device := func(variant int) truth { return found(one(t, run(t, s, i+variant+1, timeline.Options{Gaps: 1 << 20}))) }
		want := device(0)
		if got := device(1); !reflect.DeepEqual(got, want) {
			t.Errorf("the order of import changes\n%+v to\n%+v", want, got)
		}
		shifted := want
		shifted.From, shifted.To, shifted.Gaps = want.From+by, want.To+by, nil
		for _, g := range want.Gaps {
			shifted.Gaps = append(shifted.Gaps, [2]int64{g[0] + by, g[1] + by})
		}
		if got := device(2); !reflect.DeepEqual(got, shifted) {
			t.Errorf("another origin of time changes\n%+v to\n%+v", shifted, got)
		}
		if got := device(3); !reflect.DeepEqual(got, want) {
			t.Errorf("splitting work in two adjoining halves changes\n%+v to\n%+v", want, got)
		}
	}
}
