package timeline

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"time"

	"github.com/rooflab/rooflab/datasets"
)

// call is the call of the host that launched something.
type call struct {
	known       bool
	start, dur  int64 // ns
	synchronous bool
}

// event is a piece of work of a device, as it comes.
type event struct {
	work     Work
	context  datasets.Null[int64]
	started  bool
	call     call
	bytes    datasets.Null[float64]
	pageable bool
}

// ending is when something that runs will end.
type ending struct {
	at    int64
	class Class
}

type endings []ending

func (h endings) Len() int           { return len(h) }
func (h endings) Less(i, j int) bool { return h[i].at < h[j].at }
func (h endings) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *endings) Push(x any)        { e, _ := x.(ending); *h = append(*h, e) }
func (h *endings) Pop() any          { old := *h; e := old[len(old)-1]; *h = old[:len(old)-1]; return e }

// few is how many rows a statement names as its evidence.
const few = 5

type streamKey struct{ context, stream datasets.Null[int64] }

type stream struct {
	Stream
	end int64
}

// sweep walks along the time of one device. It holds what runs now, and sums.
type sweep struct {
	d       *Device
	o       Options
	now     int64
	open    endings
	count   [classes]int
	kernels int // that run now
	work    int // of any class that runs now

	dry     int64 // when all work that came so far has ended
	before  Work  // which of it ended last
	unsure  bool  // work of unknown duration began since
	begun   bool
	copies  [copyDirections]Copies
	hidden  [copyDirections]time.Duration
	running [copyDirections]time.Duration
	streams map[streamKey]*stream
	lengths []Bin
	calls   histogram
	latency histogram
	stretch stretch
	host    doings
}

func newSweep(d *Device, o Options) *sweep {
	s := &sweep{d: d, o: o, now: d.From, dry: d.From, streams: map[streamKey]*stream{}}
	d.Concurrency = make([]time.Duration, concurrencyMost+1)
	for from := time.Duration(1); from <= time.Hour; from *= 10 {
		s.lengths = append(s.lengths, Bin{From: from, To: 10 * from})
	}
	if w := d.To - d.From; w > 0 {
		for i := range int64(Periods) {
			s.d.Parts = append(s.d.Parts, Period{From: d.From + share(w, i), To: d.From + share(w, i+1)})
		}
	}
	return s
}

// share is i/Periods of a window, without the product's overflow.
func share(w, i int64) int64 { return w/Periods*i + w%Periods*i/Periods }

// advance moves to a time, ending what ends until then.
func (s *sweep) advance(to int64) {
	for len(s.open) > 0 && s.open[0].at <= to {
		e, _ := heap.Pop(&s.open).(ending)
		s.segment(e.at)
		s.count[e.class]--
		if e.class.IsKernel() {
			s.kernels--
		}
		if !e.class.IsHost() {
			s.work--
		}
	}
	s.segment(to)
}

// begin lets something run from now on.
func (s *sweep) begin(class Class, end int64) {
	s.count[class]++
	if class.IsKernel() {
		s.kernels++
	}
	if !class.IsHost() {
		s.work++
	}
	heap.Push(&s.open, ending{end, class})
}

// segment counts the time up to some point, in which nothing changes.
func (s *sweep) segment(to int64) {
	a, b := s.now, min(to, s.d.To)
	if b <= a {
		return
	}
	s.now = b
	t, d := time.Duration(b-a), s.d
	d.Concurrency[min(s.kernels, concurrencyMost)] += t
	if s.work == 0 {
		d.Idle += t
		doing := HostNone
		for c := hostLast; c >= firstHost; c-- {
			if s.count[c] > 0 {
				doing = c
				break
			}
		}
		d.HostIdle[doing] += t
		return
	}
	d.Busy += t
	s.period(a, b)
	compute, communicate := s.count[Compute] > 0, s.count[Communication] > 0
	kernel := compute || communicate
	copying := false
	for i := range copyDirections {
		if s.count[firstCopy+Class(i)] == 0 { //nolint:gosec // small
			continue
		}
		copying = true
		s.running[i] += t
		if kernel {
			s.hidden[i] += t
		}
	}
	add := func(sum *time.Duration, when bool) {
		if when {
			*sum += t
		}
	}
	add(&d.Kernel, kernel)
	add(&d.Compute, compute)
	add(&d.Communication, communicate)
	add(&d.HiddenCommunication, communicate && compute)
	add(&d.ExposedCommunication, communicate && !compute)
	add(&d.Copy, copying)
	add(&d.HiddenCopy, copying && kernel)
	add(&d.ExposedCopy, !kernel)
	add(&d.Memset, s.count[Memset] > 0)
}

// period adds busy time to the equal parts of the window.
func (s *sweep) period(a, b int64) {
	parts := s.d.Parts
	i, _ := slices.BinarySearchFunc(parts, a, func(p Period, at int64) int {
		if p.To <= at {
			return -1
		}
		return 1
	})
	for ; i < len(parts) && parts[i].From < b; i++ {
		parts[i].Busy += time.Duration(min(b, parts[i].To) - max(a, parts[i].From))
	}
}

// hostRow takes a call of the host.
func (s *sweep) hostRow(a Activity, start, end int64) {
	s.advance(start)
	s.begin(a.Class, end)
	if end > s.dry {
		s.host.add(a, start, end, s.dry)
	}
}

// add takes a piece of work. Those with a start come in its order, those
// without at the end.
func (s *sweep) add(e event) {
	d, w := s.d, e.work
	d.Works++
	if w.Class.IsKernel() {
		d.Kernels++
	}
	if w.Class == Communication {
		d.Communications++
	}
	if !e.started || !w.Dur.Valid {
		d.Unknown++
		s.unsure = s.unsure || e.started
		return
	}
	end := w.Start + w.Dur.V
	s.advance(w.Start)
	s.streamed(e, end)
	s.called(e)
	if w.Class.IsCopy() {
		s.copied(e)
	}
	if w.Class == Communication {
		d.CommWork = longest(d.CommWork, w, few)
	}
	if w.Dur.V == 0 {
		d.Zero++
		return
	}
	if s.work == 0 && w.Start > s.dry {
		s.gap(e)
	} else {
		s.stretch.end(d, s.o)
	}
	s.begun, s.unsure = true, s.unsure && s.work > 0
	s.begin(w.Class, end)
	if end > s.dry {
		s.dry, s.before = end, w
		s.host.forget(end)
	}
}

// gap ends a gap with the work that came after it.
func (s *sweep) gap(e event) {
	g := Gap{From: max(s.dry, s.d.From), To: min(e.work.Start, s.d.To), Before: s.before, After: e.work, Uncertain: s.unsure, Wait: UnknownWait}
	if s.begun && e.call.known {
		switch {
		case e.call.start >= g.From:
			g.Wait = HostWait
		case g.Time() < s.o.KernelWait:
			g.Wait = KernelGap
		default:
			g.Wait = OtherWait
		}
	}
	s.keep(g)
	s.stretch.add(s.d, s.o, g, e)
}

func (s *sweep) keep(g Gap) {
	if g.To <= g.From {
		return
	}
	d := s.d
	d.Gaps++
	if g.Uncertain {
		d.Uncertain++
	}
	w := d.Waits[g.Wait]
	d.Waits[g.Wait] = Tally{w.Count + 1, w.Time + g.Time()}
	i := min(int(math.Log10(float64(g.Time()))+1e-12), len(s.lengths)-1)
	s.lengths[i].Count++
	s.lengths[i].Time += g.Time()
	at, _ := slices.BinarySearchFunc(d.Longest, g, func(a, b Gap) int { return cmp.Or(cmp.Compare(b.Time(), a.Time()), cmp.Compare(a.From, b.From)) })
	if at < s.o.Gaps {
		g.Host = s.host.within(g.From, g.To)
		d.Longest = slices.Insert(d.Longest, at, g)
		d.Longest = d.Longest[:min(len(d.Longest), s.o.Gaps)]
	}
}

// longest inserts work among the longest few, the first of several as long.
func longest(ws []Work, w Work, n int) []Work {
	at, _ := slices.BinarySearchFunc(ws, w, func(a, b Work) int {
		return cmp.Or(cmp.Compare(b.Dur.V, a.Dur.V), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Launch, b.Launch))
	})
	if at >= n {
		return ws
	}
	ws = slices.Insert(ws, at, w)
	return ws[:min(len(ws), n)]
}

func (s *sweep) streamed(e event, end int64) {
	k := streamKey{e.context, e.work.Stream}
	t := s.streams[k]
	if t == nil {
		t = &stream{Stream: Stream{Context: k.context, Stream: k.stream}, end: s.d.From}
		s.streams[k] = t
	}
	t.Launches++
	if from, to := max(e.work.Start, t.end), min(end, s.d.To); to > from {
		t.Busy += time.Duration(to - from)
		t.end = to
	}
}

// called counts what the call of a kernel says.
func (s *sweep) called(e event) {
	if !e.work.Class.IsKernel() {
		return
	}
	l := &s.d.Launch
	l.Kernels++
	if !e.call.known {
		return
	}
	latency := e.work.Start - e.call.start
	l.Known++
	s.calls.add(e.call.dur)
	s.latency.add(latency)
	l.Worst = longest(l.Worst, Work{Row: e.work.Row, Name: e.work.Name, Class: e.work.Class, Stream: e.work.Stream, Start: e.call.start, Dur: datasets.Some(latency)}, few)
	if e.work.Dur.V < e.call.dur {
		l.Short++
		if len(l.ShortWork) < few {
			l.ShortWork = append(l.ShortWork, e.work)
		}
	}
	if s.begun && s.work == 0 && e.call.start >= s.dry && e.work.Start > s.dry {
		l.Starved++
	}
}

func (s *sweep) copied(e event) {
	c := &s.copies[e.work.Class-firstCopy]
	t := time.Duration(e.work.Dur.V)
	c.Class = e.work.Class
	c.Count++
	c.Sum += t
	c.Largest = longest(c.Largest, e.work, few)
	if e.bytes.Valid {
		c.Sized++
		c.Bytes += e.bytes.V
		if e.bytes.V <= float64(s.o.SmallCopy) {
			c.Small++
			c.SmallTime += t
		}
	}
	if e.pageable {
		c.Pageable++
		c.PageTime += t
		c.Pages = longest(c.Pages, e.work, few)
	}
	if e.call.synchronous {
		c.Synchronous++
		c.SyncTime += t
		c.Blocking = longest(c.Blocking, e.work, few)
	}
}

// finish ends the window and fills in what was collected.
func (s *sweep) finish(traced bool) {
	d := s.d
	if s.dry < d.To && d.Works > d.Unknown {
		s.keep(Gap{From: s.dry, To: d.To, Before: s.before, Uncertain: s.unsure, Wait: UnknownWait})
	}
	s.advance(d.To)
	s.stretch.end(d, s.o)
	for i, c := range s.copies {
		if c.Count > 0 {
			c.Time, c.Hidden = s.running[i], s.hidden[i]
			d.Copies = append(d.Copies, c)
		}
	}
	for _, t := range s.streams {
		d.Streams = append(d.Streams, t.Stream)
	}
	slices.SortFunc(d.Streams, func(a, b Stream) int {
		return cmp.Or(cmp.Compare(b.Busy, a.Busy), cmp.Compare(a.Context.V, b.Context.V), cmp.Compare(a.Stream.V, b.Stream.V))
	})
	for _, b := range s.lengths {
		if b.Count > 0 {
			d.Lengths = append(d.Lengths, b)
		}
	}
	last := 0
	for i, t := range d.Concurrency {
		if t > 0 {
			last = i
		}
	}
	d.Concurrency = d.Concurrency[:last+1]
	d.HostTraced = traced
	if !traced {
		clear(d.HostIdle)
	}
	d.Launch.Call, d.Launch.Latency = s.calls.median(), s.latency.median()
}

// histogram counts times in 64 bins per doubling, each 1.1 % wide.
type histogram struct {
	bins map[int]int
	n    int
}

func (h *histogram) add(ns int64) {
	if h.bins == nil {
		h.bins = map[int]int{}
	}
	h.n++
	b := -1
	if ns > 0 {
		b = int(64 * math.Log2(float64(ns)))
	}
	h.bins[b]++
}

func (h *histogram) median() time.Duration {
	keys := make([]int, 0, len(h.bins))
	for b := range h.bins {
		keys = append(keys, b)
	}
	slices.Sort(keys)
	n := 0
	for _, b := range keys {
		if n += h.bins[b]; 2*n >= h.n {
			if b < 0 {
				return 0
			}
			return time.Duration(math.Round(math.Exp2((float64(b) + 0.5) / 64)))
		}
	}
	return 0
}
