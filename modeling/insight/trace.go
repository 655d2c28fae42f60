package insight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/timeline"
	"github.com/rooflab/rooflab/modeling/timeline/chart"
)

// traces says what devices did over time.
func traces(ctx context.Context, sc *scope) (found, error) {
	var f found
	if !sc.traced() { // a profiler that counts runs kernels one by one: its timeline is its own
		return f, nil
	}
	n, err := number(ctx, sc.store, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM launch WHERE run_id = %d AND start_ns IS NOT NULL AND dur_ns IS NOT NULL LIMIT 1)", sc.run.ID))
	if err != nil || n == 0 {
		return f, err
	}
	t, err := timeline.Analyse(ctx, sc.store, sc.run.ID, timeline.Options{})
	if err != nil {
		return f, err
	}
	if len(t.Devices) == 0 {
		return f, nil
	}
	f.notes = t.Notes
	for _, d := range t.Devices {
		if d.Window() <= 0 {
			continue
		}
		f.items = append(f.items, deviceItems(ctx, sc, t, d)...)
	}
	v, err := t.View(ctx, sc.store, timeline.ViewOptions{Bins: 600, Lanes: 8})
	if err != nil {
		return f, err
	}
	if html, err := chart.HTML(v); err == nil { // a view without lanes is no picture
		f.pictures = append(f.pictures, picture{title: "Timeline", html: html})
	}
	return f, nil
}

// remedies of what a timeline finds.
var timelineRemedies = map[timeline.Kind][]string{
	timeline.IdleGap:              {"See what the host does in the gap: input, allocation, compilation, synchronisation; move it out of the loop or into another thread."},
	timeline.LowUse:               {"Give the device work in this part: overlap setup and input with compute, start later work earlier."},
	timeline.HostBound:            {"Fewer and larger launches (fusion, batches), graphs of launches, less work of the host between them, launches ahead of need (no synchronisation in the loop)."},
	timeline.LaunchBound:          {"Fuse small kernels, record the stretch as a CUDA or HIP graph, larger batches."},
	timeline.ShortKernels:         {"Fuse kernels or give each more work: the call costs more than the kernel."},
	timeline.ExposedCopies:        {"Overlap copies with compute: pinned memory, asynchronous copies in a stream of their own, double buffering; keep data on the device."},
	timeline.PageableCopies:       {"Allocate the host's buffers as pinned memory (cudaMallocHost, pin_memory=True)."},
	timeline.SynchronousCopies:    {"Asynchronous copies from pinned memory, and synchronise only where the result is used."},
	timeline.SmallCopies:          {"Pack small copies into one; keep scalars on the device."},
	timeline.ExposedCommunication: {"Start communication earlier and in pieces (buckets), overlap it with compute of other layers or blocks, use a faster path (NVLink, GPUDirect)."},
	timeline.Synchronisation:      {"Synchronise less: events instead of device-wide waits, no reads of results inside the loop."},
}

// timelineKinds are the findings that become items, those of a device's time.
func deviceItems(ctx context.Context, sc *scope, t *timeline.Timeline, d timeline.Device) []Item {
	var out []Item
	w := busyTime{sc: sc, d: d}
	name := d.ID.String()
	for _, f := range t.Findings {
		if f.Device != d.ID {
			continue
		}
		it := Item{Kind: Timeline, Rule: strings.ReplaceAll(string(f.Kind), " ", "-"), Verdict: Problem, Share: 1, Gain: min(1, max(0, f.Share)),
			Statement: name + ": " + f.Text + ".", Remedies: timelineRemedies[f.Kind], Importance: min(0.95, 0.3+0.65*f.Share),
			Reference: &Reference{Value: timeline.Worth, What: "part of the window from which time is reported as lost", From: f.Rule},
			Sources:   sc.evidence(ctx, f.Rows)}
		if f.Estimate {
			it.Estimate = "the trace does not say all that this rests on"
		}
		switch f.Kind {
		case timeline.Breakdown:
			it.Verdict, it.Gain, it.Importance, it.Reference = Fact, 0, 0.7, nil
			it.Metric, it.Value, it.Unit, it.Query = "time in which "+name+" is busy", d.Busy.Seconds(), "s", w.busy()
			it.Moves = []Move{{"idle time of the device", Down}}
		case timeline.IdleGap:
			if len(f.Rows) < 2 || f.Estimate {
				continue
			}
			it.Metric, it.Value, it.Unit = "idle time between two pieces of work", f.Time.Seconds(), "s"
			it.Query = fmt.Sprintf("SELECT (b.start_ns - a.start_ns - a.dur_ns) / 1e9 FROM launch a, launch b WHERE a.id = %d AND b.id = %d", f.Rows[0].Launch, f.Rows[1].Launch)
			it.Importance = min(0.9, 0.15+0.65*f.Share)
		default:
			// What the sweep found follows from all rows; the query finds the time in
			// which the device is idle, or has launches, that it is a part of.
			it.Metric, it.Value, it.Unit, it.Query = "time in which "+name+" is idle", d.Idle.Seconds(), "s", w.idle()
			switch f.Kind {
			case timeline.ExposedCopies, timeline.PageableCopies, timeline.SynchronousCopies, timeline.SmallCopies:
				it.Metric, it.Value, it.Query = "time in which "+name+" has work", d.Busy.Seconds(), w.busy()
			case timeline.ShortKernels:
				it.Metric, it.Value, it.Unit, it.Query = "launches of kernels on "+name, float64(d.Kernels), "", w.kernels()
			}
		}
		if len(it.Sources[0].Rows) == 0 {
			it.Sources = w.rows(ctx)
		}
		// What costs nearly nothing is worth knowing and no problem; short kernels are
		// one where the device idles.
		if f.Kind != timeline.Breakdown && f.Share < timeline.Worth && !(f.Kind == timeline.ShortKernels && d.Idle > d.Window()/10) {
			it.Verdict, it.Importance, it.Gain = Fact, 0.08, 0
		}
		out = append(out, it)
	}
	// Several gaps or periods of a kind say the same: the largest few are enough.
	count := map[string]int{}
	return slices.DeleteFunc(out, func(i Item) bool {
		count[i.Rule]++
		return count[i.Rule] > 3
	})
}

// busyTime writes SQL for the time of a device, as timeline counts it.
type busyTime struct {
	sc *scope
	d  timeline.Device
}

func same(column string, n datasets.Null[int64]) string {
	if !n.Valid {
		return column + " IS NULL"
	}
	return fmt.Sprintf("%s = %d", column, n.V)
}

// work is SQL that begins with WITH and defines i(a, b), the pieces of work.
func (w busyTime) work() string {
	return fmt.Sprintf(`WITH i AS (SELECT l.start_ns AS a, l.start_ns + l.dur_ns AS b FROM launch l JOIN region g ON g.id = l.region_id
 LEFT JOIN (SELECT region_id, any_value(value) AS cat FROM attribute WHERE run_id = %[1]d AND name = 'cat' AND launch_id IS NULL GROUP BY 1) c ON c.region_id = g.id
 WHERE l.run_id = %[1]d AND l.dur_ns >= 0 AND l.start_ns IS NOT NULL AND %[2]s AND %[3]s AND %[4]s
 AND coalesce(cat, '') NOT IN ('gpu_user_annotation', 'cuda_sync', 'python_function')
 AND (cat IN ('gpu_memcpy', 'Memcpy', 'gpu_memset', 'Memset') OR g.raw LIKE '[CUDA memcpy%%' OR g.raw LIKE '[CUDA memset%%' OR g.raw LIKE '[CUDA graph %%' AND g.kind = 'range' OR g.module = 'MEMORY_COPY' OR g.kind = 'kernel'))`,
		w.sc.run.ID, same(ofAgent, w.d.Device), same("l.rank", w.d.Rank), same("l.pid", w.d.PID))
}

// ofAgent is the device of a launch; rocprofv3's copies name agents instead.
const ofAgent = `coalesce(l.device, (SELECT min(try_cast(regexp_extract(a.value, '[0-9]+') AS BIGINT)) FROM attribute a WHERE g.module = 'MEMORY_COPY' AND a.launch_id = l.id
 AND a.name = CASE WHEN g.raw LIKE '%DEVICE_TO_HOST%' THEN 'Source_Agent_Id' ELSE 'Destination_Agent_Id' END))`

// busy adds up the union of the pieces.
func (w busyTime) busy() string {
	return w.work() + `,
u AS (SELECT a, b, max(b) OVER (ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM i)
SELECT sum(greatest(0, b - greatest(a, coalesce(before, a)))) / 1e9 FROM u`
}

func (w busyTime) idle() string {
	return w.work() + `,
u AS (SELECT a, b, max(b) OVER (ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM i)
SELECT (max(b) - min(a) - sum(greatest(0, b - greatest(a, coalesce(before, a))))) / 1e9 FROM u`
}

func (w busyTime) kernels() string {
	return fmt.Sprintf("SELECT count(*) FROM launch l JOIN region g ON g.id = l.region_id WHERE l.run_id = %d AND g.kind = 'kernel' AND %s AND %s AND %s", w.sc.run.ID,
		same("l.device", w.d.Device), same("l.rank", w.d.Rank), same("l.pid", w.d.PID))
}

// rows are the first launches of the device.
func (w busyTime) rows(ctx context.Context) []Source {
	var rows []Row
	// An error here would have been one of the timeline's before.
	_ = w.sc.store.Each(ctx, func(v []any) {
		rows = append(rows, Row{Table: "launch", Region: v[0].(int64), Launch: v[1].(int64), Metric: "dur_ns"})
	},
		fmt.Sprintf("SELECT l.region_id, l.id FROM launch l JOIN region g ON g.id = l.region_id WHERE l.run_id = %d AND l.dur_ns IS NOT NULL AND %s AND %s AND %s ORDER BY l.start_ns, l.id LIMIT %d", w.sc.run.ID,
			same(ofAgent, w.d.Device), same("l.rank", w.d.Rank), same("l.pid", w.d.PID), mostRows))
	return w.sc.source(rows, int64(w.d.Works))
}
