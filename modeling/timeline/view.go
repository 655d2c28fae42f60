package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/observe"
)

// Defaults of ViewOptions.
const (
	DefaultBins  = 1000
	DefaultLanes = 24
	DefaultNames = 6
)

// ViewOptions say what part of a timeline to look at, and how closely.
type ViewOptions struct {
	// From and To are the window in the trace's time, in nanoseconds; the
	// timeline's where absent.
	From, To datasets.Null[int64]
	// Bins is how many steps of time the window has at most: work that is
	// shorter than one step is merged with its neighbours in it.
	Bins int
	// Lanes is how many streams are shown at most, those that are busiest.
	Lanes int
	// Names is how many names of kernels are told apart, those with the most time.
	Names int
}

// Bar is a piece of work, or several that are too short to be seen apart.
type Bar struct {
	From, To    int64 // ns
	Class       Class
	Name        string // of the longest piece
	Launches    int
	Busy        time.Duration // the sum of durations of the pieces
	observe.Row               // the longest piece
}

// Lane is a stream of a device, or, with Marks, what is noted of a device.
type Lane struct {
	Device  int // index of Timeline.Devices
	Title   string
	Marks   bool // gaps and launch-bound stretches
	Bars    []Bar
	Gaps    []Gap
	Stretch []Stretch
}

// Name is a kernel's name with its time in the window.
type Name struct {
	Name string
	Time time.Duration
}

// View is a window of a timeline at a limited resolution: its size depends on
// the options alone, not on the trace.
type View struct {
	Runs     []int64
	Origin   int64 // ns: the first start of the recording, from which a reader counts
	From, To int64 // ns
	Step     time.Duration
	Lanes    []Lane
	Names    []Name // kernels, the most time first
	Merged   int    // launches that are merged into bars
	Notes    []string
}

// View reads a window. The store merges what is too short to be seen, so that a
// trace of any length is read in bounded memory.
func (t *Timeline) View(ctx context.Context, s *datasets.Store, opt ViewOptions) (*View, error) {
	v, err := t.view(ctx, s, opt)
	if err != nil {
		return nil, fmt.Errorf("reading a view of the timeline of run %s: %w", list(t.Runs), err)
	}
	return v, nil
}

func (t *Timeline) view(ctx context.Context, s *datasets.Store, opt ViewOptions) (*View, error) {
	if len(t.Devices) == 0 {
		return nil, errors.New("it has no device: " + strings.Join(t.Notes, "; "))
	}
	if opt.Bins <= 0 {
		opt.Bins = DefaultBins
	}
	if opt.Lanes <= 0 {
		opt.Lanes = DefaultLanes
	}
	if opt.Names <= 0 {
		opt.Names = DefaultNames
	}
	v := &View{Runs: t.Runs, Origin: t.Devices[0].From, From: t.Devices[0].From, To: t.Devices[0].To}
	for i := range t.Devices {
		v.Origin, v.From, v.To = min(v.Origin, t.Devices[i].From), min(v.From, t.Devices[i].From), max(v.To, t.Devices[i].To)
	}
	v.From, v.To = opt.From.Or(v.From), opt.To.Or(v.To)
	if v.To <= v.From {
		return nil, fmt.Errorf("the window from %d ns to %d ns is empty", v.From, v.To)
	}
	step := max(1, (v.To-v.From-1)/int64(opt.Bins)+1)
	v.Step = time.Duration(step)
	values := t.lanes(v, opt)
	if values == "" {
		return nil, errors.New("no stream has work with a start and a duration")
	}
	r := &reader{ctx: ctx, s: s, with: t.with + `, lane(n, part, rank, pid, device, context, stream) AS (VALUES ` + values + `),
		seen AS (SELECT e.n, i.* FROM item i JOIN lane e ON i.part = e.part AND i.rank IS NOT DISTINCT FROM e.rank AND i.pid IS NOT DISTINCT FROM e.pid
			AND i.device IS NOT DISTINCT FROM e.device AND i.context IS NOT DISTINCT FROM e.context AND i.stream IS NOT DISTINCT FROM e.stream
			WHERE i.class < 10 AND i.dur IS NOT NULL AND ` + fmt.Sprintf(`i.start_ns < %d AND i.start_ns + i.dur > %d) `, v.To, v.From)}
	// Work as long as a step stands alone: there can be no more of it than steps,
	// but for streams in which work overlaps, whose longest is taken.
	most := opt.Bins * len(v.Lanes)
	err := r.each(fmt.Sprintf(`SELECT n, class, start_ns, start_ns + dur, g.short, 1, dur, seen.id, seen.region_id, seen.run_id
		FROM seen JOIN region g ON g.id = seen.region_id WHERE dur >= %d ORDER BY dur DESC, seen.id LIMIT %d`, step, most+1), func(x []any) error {
		if most--; most < 0 {
			v.Notes = append(v.Notes, "work overlaps within a stream so much that the shortest of what could be seen is left out")
			return nil
		}
		return v.bar(x, false)
	})
	if err != nil {
		return nil, err
	}
	err = r.each(fmt.Sprintf(`SELECT q.n, q.class, q.f, q.t, g.short, q.launches, q.busy, q.id, q.region_id, q.run_id FROM (
		SELECT n, class, greatest(start_ns - %[1]d, 0) // %[2]d AS bin, min(start_ns) AS f, max(start_ns + dur) AS t, count(*) AS launches, sum(dur)::BIGINT AS busy,
			arg_max(id, dur) AS id, arg_max(region_id, dur) AS region_id, arg_max(run_id, dur) AS run_id
		FROM seen WHERE dur < %[2]d AND dur > 0 GROUP BY n, class, bin) q JOIN region g ON g.id = q.region_id ORDER BY q.n, q.f, q.class`, v.From, step),
		func(x []any) error { return v.bar(x, true) })
	if err != nil {
		return nil, err
	}
	for i := range v.Lanes {
		slices.SortFunc(v.Lanes[i].Bars, func(a, b Bar) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Launch, b.Launch))
		})
	}
	err = r.each(fmt.Sprintf(`SELECT g.short, sum(dur)::BIGINT AS t FROM seen JOIN region g ON g.id = seen.region_id WHERE seen.class = 1
		GROUP BY g.short ORDER BY t DESC, g.short LIMIT %d`, opt.Names), func(x []any) error {
		v.Names = append(v.Names, Name{word(x[0]), time.Duration(whole(x[1]))})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if v.Merged > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d launches shorter than %s are merged with their neighbours: take a narrower window to see them", v.Merged, seconds(v.Step)))
	}
	return v, nil
}

// lanes makes the lanes of a view, and says which rows are theirs.
func (t *Timeline) lanes(v *View, opt ViewOptions) string {
	type candidate struct {
		device int
		Stream
	}
	var all []candidate
	for i := range t.Devices {
		for _, s := range t.Devices[i].Streams {
			all = append(all, candidate{i, s})
		}
	}
	order := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.Context.V, b.Context.V), cmp.Compare(a.Stream.Stream.V, b.Stream.Stream.V))
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.Busy, a.Busy), order(a, b)) })
	if n := len(all) - opt.Lanes; n > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d streams with less work are not shown", n))
		all = all[:opt.Lanes]
	}
	slices.SortStableFunc(all, order)
	owned := slices.SortedFunc(maps.Keys(t.owners), func(a, b owner) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	bigint := func(n datasets.Null[int64]) string {
		if !n.Valid {
			return "NULL::BIGINT"
		}
		return fmt.Sprintf("%d::BIGINT", n.V)
	}
	var values []string
	for i, c := range all {
		if i == 0 || all[i-1].device != c.device {
			d := &t.Devices[c.device]
			mark := Lane{Device: c.device, Title: d.ID.String() + " gaps", Marks: true}
			for _, g := range d.Longest {
				if g.From < v.To && g.To > v.From {
					mark.Gaps = append(mark.Gaps, g)
				}
			}
			for _, s := range d.Stretches {
				if s.From < v.To && s.To > v.From {
					mark.Stretch = append(mark.Stretch, s)
				}
			}
			v.Lanes = append(v.Lanes, mark)
		}
		name := "no stream"
		if c.Stream.Stream.Valid {
			name = fmt.Sprintf("stream %d", c.Stream.Stream.V)
		}
		for _, other := range all {
			if other.device == c.device && other.Stream.Stream == c.Stream.Stream && other.Context != c.Context && c.Context.Valid {
				name = fmt.Sprintf("context %d %s", c.Context.V, name)
				break
			}
		}
		for _, o := range owned {
			if t.owners[o] == c.device {
				values = append(values, fmt.Sprintf("(%d, %d::BIGINT, %s, %s, %s, %s, %s)", len(v.Lanes), o.group, bigint(o.rank), bigint(o.pid), bigint(o.device), bigint(c.Context), bigint(c.Stream.Stream)))
			}
		}
		v.Lanes = append(v.Lanes, Lane{Device: c.device, Title: name})
	}
	return strings.Join(values, ", ")
}

// bar takes a row of a view's queries.
func (v *View) bar(x []any, merged bool) error {
	n, launches := whole(x[0]), int(whole(x[5]))
	b := Bar{From: max(whole(x[2]), v.From), To: min(whole(x[3]), v.To), Class: Class(whole(x[1])), Name: word(x[4]), Launches: launches, Busy: time.Duration(whole(x[6])), //nolint:gosec // the query's own numbers
		Row: observe.Row{Run: whole(x[9]), Region: whole(x[8]), Launch: whole(x[7]), Metric: observe.Duration}}
	if merged && launches > 1 {
		v.Merged += launches
	}
	v.Lanes[n].Bars = append(v.Lanes[n].Bars, b)
	return nil
}
