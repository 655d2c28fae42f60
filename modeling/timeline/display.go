package timeline

import (
	"fmt"
	"math"
	"time"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// shown limits the rows of a report's tables; the fields have it all.
const shown = 10

// Tables are the breakdown, copies, reasons for idle time, the longest gaps,
// launch-bound stretches, streams and findings, those that have rows.
func (t *Timeline) Tables() []tabular.Table {
	first := t.devices()
	out := []tabular.Table{first}
	for _, of := range []func() tabular.Table{t.copyTable, t.waitTable, t.gapTable, t.lengthTable, t.stretchTable, t.streamTable, t.hostTable, t.findingTable} {
		if tab := of(); len(tab.Rows) > 0 {
			out = append(out, tab)
		}
	}
	return out
}

func cell(n datasets.Null[int64]) string {
	if !n.Valid {
		return "n/a"
	}
	return fmt.Sprint(n.V)
}

// timeShare is a time with its share of another.
func timeShare(a, of time.Duration) string {
	if of <= 0 {
		return "n/a"
	}
	return fmt.Sprintf("%s (%s)", seconds(a), tabular.Percent(ratio(a, of)))
}

func (t *Timeline) devices() tabular.Table {
	tab := tabular.Table{Title: fmt.Sprintf("Timeline of run %s: %s", list(t.Runs), things(len(t.Devices), "device")),
		Columns: tabular.Columns("<device", "window", "compute", "communication", "copy", "idle", "communication hidden", "copies hidden", "kernels", "most at once", "gaps")}
	for i := range t.Devices {
		d := &t.Devices[i]
		w := d.Window()
		tab.Add(d.ID.String(), seconds(w), timeShare(d.Compute, w), timeShare(d.ExposedCommunication, w), timeShare(d.ExposedCopy, w), timeShare(d.Idle, w),
			tabular.Percent(ratio(d.HiddenCommunication, d.Communication)), tabular.Percent(ratio(d.HiddenCopy, d.Copy)), fmt.Sprint(d.Kernels), fmt.Sprint(len(d.Concurrency)-1), fmt.Sprint(d.Gaps))
	}
	tab.Notes = append(tab.Notes, t.Notes...)
	return tab
}

func list(runs []int64) string {
	s := ""
	for i, r := range runs {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(r)
	}
	return s
}

func (t *Timeline) copyTable() tabular.Table {
	tab := tabular.Table{Title: "Copies by direction", Columns: tabular.Columns("<device", "<direction", "count", "time", "hidden", "bytes", "rate", "pageable", "synchronous", "small")}
	for i := range t.Devices {
		for _, c := range t.Devices[i].Copies {
			bytes, rate := "n/a", "n/a"
			if c.Sized > 0 {
				bytes = tabular.Quantity(c.Bytes, "byte")
				if c.Sized == c.Count && c.Sum > 0 {
					rate = tabular.Quantity(c.Bytes/c.Sum.Seconds(), "byte/s")
				}
			}
			tab.Add(t.Devices[i].ID.String(), c.Class.String(), fmt.Sprint(c.Count), seconds(c.Time), tabular.Percent(ratio(c.Hidden, c.Time)), bytes, rate,
				fmt.Sprint(c.Pageable), fmt.Sprint(c.Synchronous), fmt.Sprint(c.Small))
		}
	}
	return tab
}

func (t *Timeline) waitTable() tabular.Table {
	tab := tabular.Table{Title: "Why devices were idle", Columns: tabular.Columns("<device", "<reason", "gaps", "time", "of idle time")}
	for i := range t.Devices {
		d := &t.Devices[i]
		for _, w := range Waits {
			if v := d.Waits[w]; v.Count > 0 {
				tab.Add(d.ID.String(), string(w), fmt.Sprint(v.Count), seconds(v.Time), tabular.Percent(ratio(v.Time, d.Idle)))
			}
		}
		for c := HostNone; c <= hostLast; c++ {
			if v := d.HostIdle[c]; v > 0 {
				tab.Add(d.ID.String(), "while the host was in: "+c.String(), "", seconds(v), tabular.Percent(ratio(v, d.Idle)))
			}
		}
	}
	return tab
}

func (t *Timeline) gapTable() tabular.Table {
	tab := tabular.Table{Title: "Longest gaps", Columns: tabular.Columns("<device", "at", "length", "<wait", "<before", "<after", "<host", "<evidence")}
	for i := range t.Devices {
		d := &t.Devices[i]
		for j, g := range d.Longest {
			if j == shown {
				break
			}
			host := ""
			for k, a := range g.Host {
				if k > 0 {
					host += ", "
				}
				host += a.Name + " " + seconds(a.Time)
			}
			evidence := ""
			if g.After.Launch != 0 {
				evidence = fmt.Sprintf("run %d launch %d", g.After.Run, g.After.Launch)
			}
			tab.Add(d.ID.String(), seconds(time.Duration(g.From-d.From)), seconds(g.Time()), string(g.Wait), short(edge(g.Before)), short(edge(g.After)), short(host), evidence)
		}
	}
	return tab
}

// short cuts a name in its middle.
func short(name string) string {
	const most = 44
	r := []rune(name)
	if len(r) <= most {
		return name
	}
	return string(r[:most/2]) + "…" + string(r[len(r)-most/2+1:])
}

func (t *Timeline) lengthTable() tabular.Table {
	tab := tabular.Table{Title: "Lengths of gaps", Columns: tabular.Columns("<device", "from", "to", "gaps", "time", "of idle time")}
	for i := range t.Devices {
		d := &t.Devices[i]
		for _, b := range d.Lengths {
			tab.Add(d.ID.String(), seconds(b.From), seconds(b.To), fmt.Sprint(b.Count), seconds(b.Time), tabular.Percent(ratio(b.Time, d.Idle)))
		}
	}
	return tab
}

func (t *Timeline) stretchTable() tabular.Table {
	tab := tabular.Table{Title: "Launch-bound stretches", Columns: tabular.Columns("<device", "at", "length", "launches", "idle", "short", "<most launches", "<from", "<to")}
	for i := range t.Devices {
		d := &t.Devices[i]
		for j, s := range d.Stretches {
			if j == shown {
				break
			}
			brief := "n/a"
			if s.Known > 0 {
				brief = fmt.Sprint(s.Short)
			}
			tab.Add(d.ID.String(), seconds(time.Duration(s.From-d.From)), seconds(s.Time()), fmt.Sprint(s.Launches), tabular.Percent(s.quiet()), brief, short(s.Top),
				fmt.Sprintf("launch %d", s.First.Launch), fmt.Sprintf("launch %d", s.Last.Launch))
		}
		if d.Bound.Count > 0 {
			tab.Note("%s: %s in all, %s, idle for %s", d.ID, things(d.Bound.Count, "stretch"), things(d.Bound.Launches, "launch"), seconds(d.Bound.Idle))
		}
		if d.Bound.Estimate {
			tab.Note("%s: an estimate: gaps of %s or less before shorter work, since the trace does not join launches with calls", d.ID, seconds(LaunchTime))
		}
	}
	return tab
}

func (t *Timeline) streamTable() tabular.Table {
	tab := tabular.Table{Title: "Streams", Columns: tabular.Columns("<device", "context", "stream", "launches", "busy", "of the window")}
	for i := range t.Devices {
		d := &t.Devices[i]
		for j, s := range d.Streams {
			if j == shown {
				tab.Note("%s: %d more streams", d.ID, len(d.Streams)-j)
				break
			}
			tab.Add(d.ID.String(), cell(s.Context), cell(s.Stream), fmt.Sprint(s.Launches), seconds(s.Busy), tabular.Percent(ratio(s.Busy, d.Window())))
		}
	}
	return tab
}

func (t *Timeline) hostTable() tabular.Table {
	tab := tabular.Table{Title: "Calls of the host", Columns: tabular.Columns("<call", "<kind", "calls", "time")}
	for i, a := range t.Host {
		if i == shown {
			tab.Note("%d more calls took less", len(t.Host)-i)
			break
		}
		tab.Add(a.Name, a.Class.String(), fmt.Sprint(a.Count), seconds(a.Time))
	}
	return tab
}

func (t *Timeline) findingTable() tabular.Table {
	tab := tabular.Table{Title: "Findings", Columns: tabular.Columns("<device", "<kind", "time", "of the window", "<finding", "<evidence")}
	for _, f := range t.Findings {
		evidence := ""
		if len(f.Rows) > 0 {
			evidence = f.Rows[0].String()
			if n := len(f.Rows); n > 1 {
				evidence += fmt.Sprintf(" and %d more", n-1)
			}
		}
		spent, share := seconds(f.Time), tabular.Percent(f.Share)
		if f.Time == 0 { // it is about a number
			spent, share = "", ""
		}
		tab.Add(f.Device.String(), string(f.Kind), spent, share, f.Text, evidence)
	}
	return tab
}

// String is the timeline as text.
func (t *Timeline) String() string { s, _ := t.Display().Data["text/plain"].(string); return s }

// Display shows the timeline as tables.
func (t *Timeline) Display() display.Bundle { return tabular.Join(t.Tables()...) }

// frame is a dataframe that is filled row by row.
type frame struct {
	names  []string
	types  []series.Type
	values [][]any
}

func (f *frame) column(name string, typ series.Type) {
	f.names, f.types, f.values = append(f.names, name), append(f.types, typ), append(f.values, []any{})
}

func (f *frame) add(row ...any) {
	for i, v := range row {
		switch x := v.(type) {
		case time.Duration:
			v = x.Seconds()
		case datasets.Null[int64]:
			v = nil
			if x.Valid {
				v = int(x.V)
			}
		case int64:
			v = int(x)
		case float64:
			if math.IsNaN(x) {
				v = nil
			}
		}
		f.values[i] = append(f.values[i], v)
	}
}

func (f *frame) build() dataframe.DataFrame {
	ss := make([]series.Series, len(f.names))
	for i := range f.names {
		ss[i] = series.New(f.values[i], f.types[i], f.names[i])
	}
	return dataframe.New(ss...)
}

// Breakdown has a row per device, times in seconds: run, rank, pid, device,
// from_ns, to_ns, window, busy, kernel, compute, communication,
// communication_hidden, copy, copy_hidden, memset, communication_exposed, copy_exposed,
// idle, host_wait, kernel_wait, other_wait, unknown_wait, kernels, gaps,
// launch_bound_idle, launch_bound_launches, unknown (launches without
// duration).
func (t *Timeline) Breakdown() dataframe.DataFrame {
	var f frame
	for _, n := range []string{"run", "rank", "pid", "device", "from_ns", "to_ns"} {
		f.column(n, series.Int)
	}
	for _, n := range []string{"window", "busy", "kernel", "compute", "communication", "communication_hidden", "copy", "copy_hidden", "memset", "communication_exposed",
		"copy_exposed", "idle", "host_wait", "kernel_wait", "other_wait", "unknown_wait"} {
		f.column(n, series.Float)
	}
	f.column("kernels", series.Int)
	f.column("gaps", series.Int)
	f.column("launch_bound_idle", series.Float)
	f.column("launch_bound_launches", series.Int)
	f.column("unknown", series.Int)
	for i := range t.Devices {
		d := &t.Devices[i]
		f.add(d.Run, d.Rank, d.PID, d.ID.Device, d.From, d.To, d.Window(), d.Busy, d.Kernel, d.Compute, d.Communication, d.HiddenCommunication, d.Copy, d.HiddenCopy, d.Memset,
			d.ExposedCommunication, d.ExposedCopy, d.Idle, d.Waits[HostWait].Time, d.Waits[KernelGap].Time, d.Waits[OtherWait].Time, d.Waits[UnknownWait].Time,
			d.Kernels, d.Gaps, d.Bound.Idle, d.Bound.Launches, d.Unknown)
	}
	return f.build()
}

// GapFrame has a row per gap that was kept, the longest first: run, rank, pid,
// device, from_ns, to_ns, gap (s), wait, before, before_launch, after,
// after_launch, host (what the host was in for longest) and host_time (s).
func (t *Timeline) GapFrame() dataframe.DataFrame {
	var f frame
	for _, n := range []string{"run", "rank", "pid", "device", "from_ns", "to_ns"} {
		f.column(n, series.Int)
	}
	f.column("gap", series.Float)
	f.column("wait", series.String)
	f.column("before", series.String)
	f.column("before_launch", series.Int)
	f.column("after", series.String)
	f.column("after_launch", series.Int)
	f.column("host", series.String)
	f.column("host_time", series.Float)
	work := func(w Work) (any, any) {
		if w.Launch == 0 {
			return nil, nil
		}
		return w.Name, int(w.Launch)
	}
	for i := range t.Devices {
		d := &t.Devices[i]
		for _, g := range d.Longest {
			before, b := work(g.Before)
			after, a := work(g.After)
			var host, spent any
			if len(g.Host) > 0 {
				host, spent = g.Host[0].Name, g.Host[0].Time
			}
			f.add(d.Run, d.Rank, d.PID, d.ID.Device, g.From, g.To, g.Time(), string(g.Wait), before, b, after, a, host, spent)
		}
	}
	return f.build()
}
