package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rooflab/rooflab/modeling/observe"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Kind is what a Finding says.
type Kind string

// Kinds of findings, in the order of reports.
const (
	Breakdown            Kind = "breakdown"             // always: how the window is shared out
	IdleGap              Kind = "long gap"              // gpu_gaps
	LowUse               Kind = "low utilisation"       // gpu_time_util
	HostBound            Kind = "host wait"             // HTA's idle time breakdown
	LaunchBound          Kind = "launch-bound"          //
	ShortKernels         Kind = "short kernels"         // HTA's kernel launch statistics
	ExposedCopies        Kind = "exposed copies"        //
	PageableCopies       Kind = "pageable copies"       // cuda_memcpy_async
	SynchronousCopies    Kind = "synchronous copies"    // cuda_memcpy_sync
	SmallCopies          Kind = "small copies"          //
	ExposedCommunication Kind = "exposed communication" // HTA's communication computation overlap
	Synchronisation      Kind = "synchronisation"       // cuda_api_sync
)

// Worth is the share of a window from which time is reported as lost.
const Worth = 0.01

// Number is one number of a finding, in an SI unit or "" for counts and shares.
type Number struct {
	Name  string
	Value float64
	Unit  string
}

// Finding is one statement about a device with what it rests on.
type Finding struct {
	Kind     Kind
	Device   ID
	From, To int64         // ns: what it is about
	Time     time.Duration // what it is about, or what it costs
	Share    float64       // of the device's window
	Text     string
	Rule     string // when it is said
	Estimate bool
	Numbers  []Number
	Rows     []observe.Row // of launches; the most telling where they are too many
}

// String is the statement.
func (f Finding) String() string { return f.Device.String() + ": " + f.Text }

func seconds(t time.Duration) string { return tabular.Quantity(t.Seconds(), "s") }

func num(name string, t time.Duration) Number { return Number{name, t.Seconds(), "s"} }

func count(name string, n int) Number { return Number{name, float64(n), ""} }

// things counts in words: "1 gap", "2 gaps", "2 stretches".
func things(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ch"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func starts(n int) string {
	if n == 1 {
		return "1 kernel starts"
	}
	return fmt.Sprintf("%d kernels start", n)
}

func portion(name string, a, b time.Duration) Number { return Number{name, ratio(a, b), ""} }

func rows(ws ...Work) []observe.Row {
	var out []observe.Row
	for _, w := range ws {
		if w.Launch != 0 && !slices.Contains(out, w.Row) {
			out = append(out, w.Row)
		}
	}
	return out
}

// find makes the findings.
func (t *Timeline) find() {
	for i := range t.Devices {
		d := &t.Devices[i]
		if d.Window() <= 0 {
			continue
		}
		for _, fs := range [][]Finding{t.breakdown(d), t.gaps(d), t.periods(d), t.waits(d), t.launches(d), t.copies(d), t.communication(d)} {
			for _, f := range fs {
				f.Device = d.ID
				if f.From == 0 && f.To == 0 {
					f.From, f.To = d.From, d.To
				}
				f.Share = ratio(f.Time, d.Window())
				t.Findings = append(t.Findings, f)
			}
		}
	}
}

func (t *Timeline) breakdown(d *Device) []Finding {
	w := d.Window()
	f := Finding{Kind: Breakdown, Time: d.Busy, Rule: "always; the window is shared out as in HTA's temporal breakdown",
		Text: fmt.Sprintf("busy for %s of %s: compute %s, communication that nothing hides %s, copies and memsets that nothing hides %s, idle %s",
			tabular.Percent(ratio(d.Busy, w)), seconds(w), tabular.Percent(ratio(d.Compute, w)), tabular.Percent(ratio(d.ExposedCommunication, w)),
			tabular.Percent(ratio(d.ExposedCopy, w)), tabular.Percent(ratio(d.Idle, w))),
		Numbers: []Number{num("window", w), num("busy", d.Busy), num("kernel", d.Kernel), num("compute", d.Compute), num("exposed communication", d.ExposedCommunication),
			num("exposed copy", d.ExposedCopy), num("idle", d.Idle), count("work", d.Works)}}
	var ws []Work
	for _, g := range d.Longest[:min(1, len(d.Longest))] {
		ws = append(ws, g.Before, g.After)
	}
	for _, c := range d.Copies {
		ws = append(ws, c.Largest[:min(1, len(c.Largest))]...)
	}
	f.Rows = rows(append(ws, d.CommWork[:min(1, len(d.CommWork))]...)...)
	return []Finding{f}
}

// longGap is from where a gap is reported.
func (t *Timeline) longGap(d *Device) time.Duration {
	if t.Options.LongGap > 0 {
		return t.Options.LongGap
	}
	return min(LongGap, d.Window()/100)
}

func (t *Timeline) gaps(d *Device) []Finding {
	var out []Finding
	limit := t.longGap(d)
	for _, g := range d.Longest {
		if len(out) == few || g.Time() < limit {
			break
		}
		f := Finding{Kind: IdleGap, From: g.From, To: g.To, Time: g.Time(), Estimate: g.Uncertain,
			Rule:    fmt.Sprintf("idle for %s or more in a row (Nsight Systems' gpu_gaps: 500 ms, or a hundredth of the window where that is less)", seconds(limit)),
			Text:    fmt.Sprintf("idle for %s between %s and %s (%s)%s", seconds(g.Time()), edge(g.Before), edge(g.After), g.Wait, doing(g.Host)),
			Numbers: []Number{num("gap", g.Time())}, Rows: rows(g.Before, g.After)}
		for _, a := range g.Host {
			f.Numbers = append(f.Numbers, num("host "+a.Name, a.Time))
			f.Rows = append(f.Rows, a.Row)
		}
		out = append(out, f)
	}
	return out
}

func edge(w Work) string {
	if w.Launch == 0 {
		return "the edge of the window"
	}
	return w.Name
}

func doing(as []Activity) string {
	s := ""
	for i, a := range as {
		sep := ", "
		if i == 0 {
			sep = "; the host was in "
		}
		s += fmt.Sprintf("%s%s for %s", sep, a.Name, seconds(a.Time))
	}
	return s
}

// periods joins neighbouring parts of the window with little work, as
// gpu_time_util does.
func (t *Timeline) periods(d *Device) []Finding {
	var out []Finding
	low := func(p Period) bool { return ratio(p.Busy, time.Duration(p.To-p.From)) < LowUtilisation }
	for i := 0; i < len(d.Parts); i++ {
		if d.Parts[i].To == d.Parts[i].From || !low(d.Parts[i]) {
			continue
		}
		from, busy := d.Parts[i].From, d.Parts[i].Busy
		for i+1 < len(d.Parts) && low(d.Parts[i+1]) {
			i++
			busy += d.Parts[i].Busy
		}
		w := time.Duration(d.Parts[i].To - from)
		f := Finding{Kind: LowUse, From: from, To: d.Parts[i].To, Time: w - busy,
			Rule:    fmt.Sprintf("busy for less than %.0f %% of some of %d equal parts of the window (Nsight Systems' gpu_time_util)", 100*LowUtilisation, Periods),
			Text:    fmt.Sprintf("busy for %s of %s that begin %s after the start", tabular.Percent(ratio(busy, w)), seconds(w), seconds(time.Duration(from-d.From))),
			Numbers: []Number{num("period", w), num("busy", busy), portion("utilisation", busy, w)}}
		for _, g := range d.Longest {
			if g.From < f.To && g.To > f.From && len(f.Rows) < few {
				f.Rows = append(f.Rows, rows(g.Before, g.After)...)
			}
		}
		out = append(out, f)
	}
	return out
}

func (t *Timeline) waits(d *Device) []Finding {
	var out []Finding
	w := d.Window()
	if host := d.Waits[HostWait]; ratio(host.Time, w) >= Worth {
		f := Finding{Kind: HostBound, Time: host.Time,
			Rule: fmt.Sprintf("gaps whose next launch was called when the device had already run dry (HTA's host wait), %.0f %% of the window or more", 100*Worth),
			Text: fmt.Sprintf("waits for the host for %s (%s of the window, %s): its launches were called when the device had already run dry",
				seconds(host.Time), tabular.Percent(ratio(host.Time, w)), things(host.Count, "gap")),
			Numbers: []Number{num("host wait", host.Time), count("gaps", host.Count), portion("of idle time", host.Time, d.Idle)}}
		for _, g := range d.Longest {
			if g.Wait == HostWait && len(f.Rows) < 2*few {
				f.Rows = append(f.Rows, rows(g.Before, g.After)...)
			}
		}
		for _, c := range []Class{HostNone, HostOperator, HostCall, HostLaunch, HostCopy, HostSync, HostProfiler} {
			if v := d.HostIdle[c]; v > 0 {
				f.Numbers = append(f.Numbers, num("idle while the host was in "+c.String(), v))
			}
		}
		out = append(out, f)
	}
	if v := d.HostIdle[HostSync]; ratio(v, w) >= Worth {
		f := Finding{Kind: Synchronisation, Time: v,
			Rule: fmt.Sprintf("idle while a thread of the host is in a call that waits for the device (those of Nsight Systems' cuda_api_sync), %.0f %% of the window or more", 100*Worth),
			Text: fmt.Sprintf("idle for %s while the host is in calls that wait for the device", seconds(v)), Numbers: []Number{num("idle in synchronisation", v)}}
		for _, a := range t.Host {
			if a.Class == HostSync {
				f.Numbers = append(f.Numbers, count("calls of "+a.Name, a.Count), num("in "+a.Name, a.Time))
				f.Rows = append(f.Rows, a.Row)
			}
		}
		out = append(out, f)
	}
	return out
}

func (t *Timeline) launches(d *Device) []Finding {
	var out []Finding
	w, b, l := d.Window(), d.Bound, d.Launch
	if ratio(b.Idle, w) >= Worth {
		f := Finding{Kind: LaunchBound, Time: b.Idle, Estimate: b.Estimate,
			Rule: fmt.Sprintf("%d or more launches in a row, before each of which the device was idle for at most %s and waited for the host; %.0f %% of the window or more idle in them",
				t.Options.StretchLaunches, seconds(t.Options.StretchGap), 100*Worth),
			Text:    fmt.Sprintf("launch-bound in %s with %s: idle for %s of their %s (%s)", things(b.Count, "stretch"), things(b.Launches, "launch"), seconds(b.Idle), seconds(b.Idle+b.Busy), tabular.Percent(ratio(b.Idle, b.Idle+b.Busy))),
			Numbers: []Number{count("stretches", b.Count), count("launches", b.Launches), count("short launches", b.Short), num("idle", b.Idle), num("busy", b.Busy)}}
		if b.Estimate {
			f.Text += ", an estimate: the trace does not join launches with calls"
		}
		for _, s := range d.Stretches[:min(few, len(d.Stretches))] {
			f.Rows = append(f.Rows, rows(s.First, s.Last)...)
		}
		out = append(out, f)
	}
	if l.Known > 0 && 10*l.Short >= l.Known {
		out = append(out, Finding{Kind: ShortKernels, Time: 0,
			Rule: "a tenth or more of the kernels whose call is known take less time than the call that launched them (HTA's short GPU kernels)",
			Text: fmt.Sprintf("%d of %d kernels (%s) take less time than the call that launched them; the median call takes %s, the median latency is %s",
				l.Short, l.Known, tabular.Percent(float64(l.Short)/float64(l.Known)), seconds(l.Call), seconds(l.Latency)),
			Numbers: []Number{count("short kernels", l.Short), count("kernels with a call", l.Known), num("median call", l.Call), num("median latency", l.Latency), count("called when the device was dry", l.Starved)},
			Rows:    rows(l.ShortWork...)})
	}
	return out
}

func (t *Timeline) copies(d *Device) []Finding {
	var out []Finding
	w := d.Window()
	if e := d.Copy - d.HiddenCopy; ratio(e, w) >= Worth {
		f := Finding{Kind: ExposedCopies, Time: e,
			Rule:    fmt.Sprintf("copies while no kernel runs, %.0f %% of the window or more", 100*Worth),
			Text:    fmt.Sprintf("copies for %s without any kernel; kernels hide %s of the %s in which copies run", seconds(e), tabular.Percent(ratio(d.HiddenCopy, d.Copy)), seconds(d.Copy)),
			Numbers: []Number{num("copy", d.Copy), num("hidden", d.HiddenCopy), portion("hidden share", d.HiddenCopy, d.Copy)}}
		for _, c := range d.Copies {
			f.Numbers = append(f.Numbers, num(c.Class.String(), c.Time), num(c.Class.String()+" hidden", c.Hidden))
			f.Rows = append(f.Rows, rows(c.Largest[:min(2, len(c.Largest))]...)...)
		}
		out = append(out, f)
	}
	for _, c := range d.Copies {
		if c.Pageable > 0 {
			out = append(out, Finding{Kind: PageableCopies, Time: c.PageTime,
				Rule:    "copies from or to pageable memory, which wait for a copy into pinned memory (Nsight Systems' cuda_memcpy_async)",
				Text:    fmt.Sprintf("%d of %d copies %s are from or to pageable memory and take %s: an asynchronous call blocks on them", c.Pageable, c.Count, c.Class, seconds(c.PageTime)),
				Numbers: []Number{count("pageable copies", c.Pageable), num("duration", c.PageTime)}, Rows: rows(c.Pages...)})
		}
		if c.Synchronous > 0 {
			out = append(out, Finding{Kind: SynchronousCopies, Time: c.SyncTime,
				Rule:    "copies by a call that returns when they are done (Nsight Systems' cuda_memcpy_sync)",
				Text:    fmt.Sprintf("%d of %d copies %s are synchronous and take %s", c.Synchronous, c.Count, c.Class, seconds(c.SyncTime)),
				Numbers: []Number{count("synchronous copies", c.Synchronous), num("duration", c.SyncTime)}, Rows: rows(c.Blocking...)})
		}
		if c.Small >= t.Options.StretchLaunches && 2*c.Small >= c.Sized {
			out = append(out, Finding{Kind: SmallCopies, Time: c.SmallTime,
				Rule: fmt.Sprintf("%d or more copies of one direction, and half of them, move %d bytes or less", t.Options.StretchLaunches, t.Options.SmallCopy),
				Text: fmt.Sprintf("%d of %d copies %s move %d bytes or less; all take %s for %s: fewer, larger ones cost less", c.Small, c.Count, c.Class,
					t.Options.SmallCopy, seconds(c.Sum), tabular.Quantity(c.Bytes, "byte")),
				Numbers: []Number{count("small copies", c.Small), num("duration", c.SmallTime), {"bytes", c.Bytes, "byte"}}, Rows: rows(c.Largest...)})
		}
	}
	return out
}

func (t *Timeline) communication(d *Device) []Finding {
	if ratio(d.ExposedCommunication, d.Window()) < Worth {
		return nil
	}
	return []Finding{{Kind: ExposedCommunication, Time: d.ExposedCommunication,
		Rule: fmt.Sprintf("kernels that communicate, by their names, while none that computes runs, %.0f %% of the window or more", 100*Worth),
		Text: fmt.Sprintf("communicates for %s without computing; computation hides %s of the %s in which it communicates", seconds(d.ExposedCommunication),
			tabular.Percent(ratio(d.HiddenCommunication, d.Communication)), seconds(d.Communication)),
		Numbers: []Number{num("communication", d.Communication), num("hidden", d.HiddenCommunication), portion("overlap", d.HiddenCommunication, d.Communication), count("kernels", d.Communications)},
		Rows:    rows(d.CommWork...)}}
}

// notes say what the numbers lack.
func (t *Timeline) notes(r *reader) {
	note := func(format string, args ...any) { t.Notes = append(t.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case len(t.Devices) == 0 && r.untimed > 0:
		note("%s without times: the recording has no timeline (a profiler that counts events serialises kernels and writes none)", things(r.untimed, "launch"))
	case len(t.Devices) == 0 && r.host > 0:
		note("the recording is of a host alone (%d calls and operators): no kernel or copy of a device was traced", r.host)
	case len(t.Devices) == 0:
		note("nothing of a device was traced in these runs, or in this window")
	case r.untimed > 0:
		note("%d launches are of devices that have no times at all: these are left out", r.untimed)
	}
	if r.apart {
		note("no two of the runs %s overlap in time: if they are not of one recording, read them one by one", list(t.Runs))
	}
	for i := range t.Devices {
		d := &t.Devices[i]
		if d.Unknown > 0 {
			note("%s: %d of %d launches and copies have no duration or start: busy time is a lower bound; uncertain: %s", d.ID, d.Unknown, d.Works, things(d.Uncertain, "gap"))
		}
		if d.Launch.Before > 0 {
			note("%s: %s before the call of the host that launched it: the clocks of host and device differ, or one has wrapped; such calls are left out of latencies, and waits for the host may be wrong", d.ID, starts(d.Launch.Before))
		}
		if d.Gaps > 0 && d.Launch.Kernels > 0 && d.Launch.Known == 0 {
			note("%s: no kernel is joined with the call that launched it: why the device was idle is unknown", d.ID)
		}
		if !d.HostTraced {
			note("%s: the recording has no calls of the host", d.ID)
		}
	}
	for _, a := range t.Host {
		if a.Class == HostProfiler && len(t.Devices) > 0 {
			note("the profiler itself held the host: %s for %s in %s", a.Name, seconds(a.Time), things(a.Count, "span"))
		}
	}
}
