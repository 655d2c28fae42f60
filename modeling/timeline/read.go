package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/observe"
)

// part is one run of the recording. Runs of the same group share devices and
// the calls of the host.
type part struct {
	run          int64
	group        int64
	tool, format string
}

// region is the name of a kernel, a direction of copies or a call.
type region struct {
	name        string
	class       Class
	pageable    bool
	synchronous bool
}

// owner is whose work a row is, as the row says it.
type owner struct {
	group             int64
	rank, pid, device datasets.Null[int64]
}

// reader fills a Timeline.
type reader struct {
	ctx      context.Context
	s        *datasets.Store
	t        *Timeline
	with     string // common tables of all queries
	regions  map[int64]region
	owners   map[owner]int // index of Timeline.Devices
	groups   []int64       // by index of Timeline.Devices
	works    []int64       // rows, by index of Timeline.Devices
	host     int64         // rows of the host that were traced
	untimed  int           // work without start or duration, of no device that has times
	inFlight inFlight
	apart    bool // no two of the runs overlap in time
}

// each runs a query over the common tables and calls f for each row.
func (r *reader) each(query string, f func(v []any) error) error {
	rows, err := r.s.Rows(r.ctx, r.with+query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		if n%4096 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if err := f(rows.Values()); err != nil {
			return err
		}
	}
	return rows.Err()
}

func whole(v any) int64 { n, _ := v.(int64); return n }

func word(v any) string { s, _ := v.(string); return s }

func truth(v any) bool { b, _ := v.(bool); return b }

func maybe(v any) datasets.Null[int64] {
	n, ok := v.(int64)
	return datasets.Null[int64]{V: n, Valid: ok}
}

// runs looks the runs up and puts them into groups.
func (r *reader) runs() error {
	if o := r.t.Options; o.From.Valid && o.To.Valid && o.From.V >= o.To.V {
		return fmt.Errorf("the window ends at %d ns, which is not after its start at %d ns: swap Options.From and To", o.To.V, o.From.V)
	}
	slices.Sort(r.t.Runs)
	r.t.Runs = slices.Compact(r.t.Runs)
	var values []string
	same := map[string]int64{}
	for _, run := range r.t.Runs {
		p := part{run: run}
		found := false
		err := r.each(fmt.Sprintf(`SELECT tool, format FROM run WHERE id = %d`, run), func(v []any) error {
			p.tool, p.format, found = word(v[0]), word(v[1]), true
			return nil
		})
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf(`the store has no run %d: Query "SELECT id, tool, format FROM run" lists them`, run)
		}
		p.group = same[p.format]
		same[p.format]++
		r.t.parts = append(r.t.parts, p)
		values = append(values, fmt.Sprintf("(%d::BIGINT, %d::BIGINT, '%s')", p.run, p.group, strings.ReplaceAll(p.tool, "'", "''")))
	}
	r.with = common(values)
	return nil
}

// common are the tables that all queries begin with: part (the runs), kind
// (the class of each region that matters) and item (their launches; a
// duration that does not fit the clock is none).
func common(parts []string) string {
	return `WITH part(run_id, part, tool) AS (VALUES ` + strings.Join(parts, ", ") + `),
	cat AS (SELECT a.region_id, any_value(a.value) AS cat FROM attribute a JOIN part p ON p.run_id = a.run_id
		WHERE a.name = 'cat' AND a.launch_id IS NULL AND a.region_id IS NOT NULL GROUP BY ALL),
	kind AS (SELECT id, class FROM (SELECT g.id, ` + classSQL + ` AS class
		FROM region g JOIN part p ON p.run_id = g.run_id LEFT JOIN cat c ON c.region_id = g.id) WHERE class IS NOT NULL),
	agent AS (SELECT a.launch_id, max(CASE WHEN a.name ILIKE 'source%' THEN try_cast(regexp_extract(a.value, '[0-9]+') AS BIGINT) END) AS src,
		max(CASE WHEN a.name ILIKE 'dest%' THEN try_cast(regexp_extract(a.value, '[0-9]+') AS BIGINT) END) AS dst
		FROM attribute a JOIN part p ON p.run_id = a.run_id
		WHERE a.name IN ('Source_Agent_Id', 'Destination_Agent_Id') AND a.launch_id IS NOT NULL GROUP BY ALL),
	item AS NOT MATERIALIZED (SELECT l.id, l.run_id, p.part, p.tool, l.region_id, k.class,
		coalesce(l.device, CASE WHEN k.class = 4 THEN n.src WHEN k.class BETWEEN 3 AND 9 THEN n.dst END) AS device,
		l.context, l.stream, l.pid, l.rank, l.tool_id, l.start_ns,
		CASE WHEN l.dur_ns >= 0 AND l.start_ns::HUGEINT + l.dur_ns <= 9223372036854775807 THEN l.dur_ns END AS dur
		FROM launch l JOIN part p ON p.run_id = l.run_id JOIN kind k ON k.id = l.region_id LEFT JOIN agent n ON n.launch_id = l.id) `
}

// rowsOf is the query for one slab of time: its rows in the order of their
// starts, calls before work that starts with them. corr joins work with the call
// that launched it: CUPTI's correlation id, which is the tool id in Nsight Systems'
// exports and an attribute in Kineto's traces, and rocprofv3's.
const rowsOf = `, slab AS MATERIALIZED (SELECT * FROM item i WHERE %s),
	named AS (SELECT a.launch_id, any_value(try_cast(a.value AS BIGINT)) AS corr FROM attribute a JOIN slab i ON i.id = a.launch_id
		WHERE a.name IN ('correlation', 'Correlation_Id') AND i.tool <> 'nsys' GROUP BY ALL),
	copied AS MATERIALIZED (SELECT id FROM slab WHERE class BETWEEN 3 AND 9),
	size AS (SELECT c.launch_id, any_value(c.value) AS bytes FROM counter c WHERE c.metric = 'bytes' AND c.launch_id IN (SELECT id FROM copied) GROUP BY ALL),
	paged AS (SELECT DISTINCT a.launch_id FROM attribute a WHERE a.name IN ('srcKind', 'dstKind') AND a.value = 'Pageable' AND a.launch_id IN (SELECT id FROM copied))
	SELECT i.id, i.run_id, i.part, i.rank, i.pid, i.device, i.region_id, i.class, i.context, i.stream, i.start_ns, i.dur,
		coalesce(n.corr, CASE WHEN i.tool = 'nsys' OR i.tool = 'rocprof' AND i.class > 2 THEN try_cast(i.tool_id AS BIGINT) END), s.bytes, g.launch_id IS NOT NULL
	FROM slab i LEFT JOIN named n ON n.launch_id = i.id LEFT JOIN size s ON s.launch_id = i.id LEFT JOIN paged g ON g.launch_id = i.id
	ORDER BY i.start_ns, i.class DESC, i.id`

// slabRows is about how many rows a slab of time has.
const slabRows = 500_000

// kinds reads the names of what matters.
func (r *reader) kinds() error {
	r.regions = map[int64]region{}
	return r.each(`SELECT g.id, g.short, k.class, g.raw LIKE '%Pageable%', `+synchronousSQL+` FROM kind k JOIN region g ON g.id = k.id`, func(v []any) error {
		r.regions[whole(v[0])] = region{name: word(v[1]), class: Class(whole(v[2])), pageable: truth(v[3]), synchronous: truth(v[4])} //nolint:gosec // the query's own numbers
		return nil
	})
}

// devices finds the devices and their windows.
func (r *reader) devices() error {
	type found struct {
		owner
		run            int64
		works, unknown int
		from, to       datasets.Null[int64]
	}
	var all []found
	err := r.each(`SELECT part, rank, CASE WHEN class < 10 THEN pid END, device, class < 10, min(run_id), count(*), count(*) FILTER (start_ns IS NULL OR dur IS NULL),
		min(start_ns) FILTER (dur IS NOT NULL), max(start_ns + dur) FROM item GROUP BY ALL ORDER BY ALL`, func(v []any) error {
		if !truth(v[4]) {
			r.host += whole(v[6])
			return nil
		}
		all = append(all, found{owner{whole(v[0]), maybe(v[1]), maybe(v[2]), maybe(v[3])}, whole(v[5]), int(whole(v[6])), int(whole(v[7])), maybe(v[8]), maybe(v[9])})
		return nil
	})
	if err != nil {
		return err
	}
	// Those that say more of themselves first: the others may belong to them.
	null := func(n datasets.Null[int64]) int {
		if n.Valid {
			return 0
		}
		return 1
	}
	order := func(a, b owner) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(null(a.device), null(b.device)), cmp.Compare(null(a.pid), null(b.pid)), cmp.Compare(null(a.rank), null(b.rank)),
			cmp.Compare(a.rank.V, b.rank.V), cmp.Compare(a.pid.V, b.pid.V), cmp.Compare(a.device.V, b.device.V))
	}
	slices.SortFunc(all, func(a, b found) int { return order(a.owner, b.owner) })
	r.owners = map[owner]int{}
	var mains []owner
	for _, f := range all {
		at := slices.IndexFunc(mains, func(m owner) bool { return belongs(f.owner, m) })
		if !f.device.Valid && !f.pid.Valid {
			// Work that names no device is the only device's.
			if n := len(slices.DeleteFunc(slices.Clone(mains), func(m owner) bool { return m.group != f.group })); n != 1 {
				at = -1
			}
		}
		if at < 0 {
			at = len(mains)
			mains = append(mains, f.owner)
			r.groups, r.works = append(r.groups, f.group), append(r.works, 0)
			r.t.Devices = append(r.t.Devices, Device{ID: ID{f.run, f.rank, f.pid, f.device}, HostIdle: map[Class]time.Duration{}, Waits: map[Wait]Tally{}})
		}
		r.owners[f.owner] = at
		r.works[at] += int64(f.works)
		d := &r.t.Devices[at]
		if f.from.Valid && f.to.Valid {
			if d.From == 0 && d.To == 0 {
				d.From, d.To = f.from.V, f.to.V
			}
			d.From, d.To = min(d.From, f.from.V), max(d.To, f.to.V)
		}
	}
	for i := range r.t.Devices {
		d := &r.t.Devices[i]
		if o := r.t.Options; d.From < d.To || o.From.Valid || o.To.Valid {
			d.From, d.To = o.From.Or(d.From), o.To.Or(d.To)
			d.To = max(d.From, d.To)
		}
	}
	return nil
}

// overlap finds out whether runs that are taken together are of one time.
func (r *reader) overlap() error {
	if len(r.t.parts) < 2 {
		return nil
	}
	r.apart = true
	end := datasets.Null[int64]{}
	return r.each(`SELECT min(start_ns) AS f, max(start_ns + dur) FROM item WHERE dur IS NOT NULL AND start_ns IS NOT NULL GROUP BY run_id ORDER BY f`, func(v []any) error {
		if end.Valid && whole(v[0]) < end.V {
			r.apart = false
		}
		end = datasets.Some(max(whole(v[1]), end.Or(whole(v[1]))))
		return nil
	})
}

// belongs reports whether what names itself less is work of a device.
func belongs(o, m owner) bool {
	fits := func(a, b datasets.Null[int64]) bool { return !a.Valid || a == b }
	return o.group == m.group && fits(o.rank, m.rank) && fits(o.pid, m.pid) && fits(o.device, m.device)
}

// work makes the work of a row of the sweep's query.
func (r *reader) work(v []any) Work {
	g := r.regions[whole(v[6])]
	return Work{Row: observe.Row{Run: whole(v[1]), Region: whole(v[6]), Launch: whole(v[0]), Metric: observe.Duration}, Name: g.name, Class: g.class,
		Stream: maybe(v[9]), Start: whole(v[10]), Dur: maybe(v[11])}
}

// slabs are the ends of consecutive times of about slabRows rows each. Where
// they are is no matter: it changes nothing but memory and time.
func (r *reader) slabs() ([]int64, error) {
	total := r.host
	for i := range r.t.Devices {
		total += r.works[i]
	}
	n := total / slabRows
	if n == 0 {
		return nil, nil
	}
	var at []string
	for i := int64(1); i <= n; i++ {
		at = append(at, fmt.Sprint(float64(i)/float64(n+1)))
	}
	var ends []int64
	err := r.each(`SELECT DISTINCT unnest(approx_quantile(start_ns, [`+strings.Join(at, ", ")+`])) AS q FROM item i WHERE `+r.window()+` ORDER BY q`, func(v []any) error {
		if q := maybe(v[0]); q.Valid {
			ends = append(ends, q.V)
		}
		return nil
	})
	return ends, err
}

// sweep passes over all rows in the order of their starts, slab by slab.
func (r *reader) sweep() error {
	sweeps := make([]*sweep, len(r.t.Devices))
	for i := range r.t.Devices {
		sweeps[i] = newSweep(&r.t.Devices[i], r.t.Options)
	}
	ends, err := r.slabs()
	if err != nil {
		return err
	}
	for i := range len(ends) + 1 {
		cond := r.window()
		if i > 0 {
			cond += fmt.Sprintf(" AND i.start_ns >= %d", ends[i-1])
		}
		if i < len(ends) {
			cond += fmt.Sprintf(" AND i.start_ns < %d", ends[i])
		}
		if err := r.slab(sweeps, cond); err != nil {
			return err
		}
	}
	// What has no start comes last.
	if err := r.slab(sweeps, "i.start_ns IS NULL"); err != nil {
		return err
	}
	for _, s := range sweeps {
		s.finish(r.host > 0)
	}
	r.prune()
	return nil
}

// slab passes over the rows of one slab.
func (r *reader) slab(sweeps []*sweep, cond string) error {
	return r.each(fmt.Sprintf(rowsOf, cond), func(v []any) error {
		id := whole(v[0])
		class := Class(whole(v[7])) //nolint:gosec // the query's own numbers
		start, dur := maybe(v[10]), maybe(v[11])
		if class.IsHost() {
			if start.Valid && dur.V > 0 {
				group, pid := whole(v[2]), maybe(v[4])
				if class != HostOperator && class != HostProfiler && dur.Valid {
					r.called(sweeps, callKey{group, r.pid(group, pid), whole(v[12])}, call{true, start.V, dur.V, r.regions[whole(v[6])].synchronous})
				}
				a := Activity{Row: observe.Row{Run: whole(v[1]), Region: whole(v[6]), Launch: id, Metric: observe.Duration}, Name: r.regions[whole(v[6])].name, Class: class}
				for i, s := range sweeps {
					if r.groups[i] == group && (!pid.Valid || !s.d.PID.Valid || pid == s.d.PID) {
						s.hostRow(a, start.V, start.V+dur.V)
					}
				}
			}
			return nil
		}
		i, ok := r.owners[owner{whole(v[2]), maybe(v[3]), maybe(v[4]), maybe(v[5])}]
		if !ok {
			return fmt.Errorf("launch %d of run %d appeared while its timeline was read: read it again when the import has ended", id, whole(v[1]))
		}
		e := event{work: r.work(v), context: maybe(v[8]), started: start.Valid}
		if key := (callKey{r.groups[i], r.pid(r.groups[i], maybe(v[4])), whole(v[12])}); key.corr != 0 && start.Valid {
			if e.call = r.inFlight.calls[key]; !e.call.known && class.IsKernel() {
				r.inFlight.await(key, early{i, start.V})
			}
		}
		e.bytes.V, e.bytes.Valid = v[13].(float64)
		e.pageable = truth(v[14]) || r.regions[whole(v[6])].pageable
		sweeps[i].add(e)
		return nil
	})
}

// pid is the process of calls and work, 0 where work does not name its own.
func (r *reader) pid(group int64, pid datasets.Null[int64]) int64 {
	for i := range r.t.Devices {
		if r.groups[i] == group && r.t.Devices[i].PID.Valid {
			return pid.V
		}
	}
	return 0
}

// called takes a call, which work of later starts may refer to. Kernels that
// referred to it before are early.
func (r *reader) called(sweeps []*sweep, key callKey, c call) {
	if key.corr == 0 {
		return
	}
	if e, ok := r.inFlight.waiting[key]; ok && e.start < c.start {
		delete(r.inFlight.waiting, key)
		sweeps[e.device].d.Launch.Before++
	}
	r.inFlight.put(key, c)
}

// prune removes devices without any time.
func (r *reader) prune() {
	moved := map[int]int{}
	var devices []Device
	var groups []int64
	for i, d := range r.t.Devices {
		switch {
		case d.Works == 0:
		case d.To == d.From && d.Unknown == d.Works:
			r.untimed += d.Works
		default:
			moved[i] = len(devices)
			devices, groups = append(devices, d), append(groups, r.groups[i])
		}
	}
	for o, i := range r.owners {
		if to, ok := moved[i]; ok {
			r.owners[o] = to
		} else {
			delete(r.owners, o)
		}
	}
	r.t.Devices, r.groups = devices, groups
	r.t.owners, r.t.with = r.owners, r.with
}

// window is the condition of rows i that reach into the options' window.
func (r *reader) window() string {
	cond := "i.start_ns IS NOT NULL"
	if o := r.t.Options.From; o.Valid {
		// Calls from before may have launched what is within.
		cond += fmt.Sprintf(" AND (i.start_ns >= %d OR i.start_ns + i.dur > %d OR i.class BETWEEN 12 AND 15)", o.V, o.V)
	}
	if o := r.t.Options.To; o.Valid {
		cond += fmt.Sprintf(" AND i.start_ns < %d", o.V)
	}
	return cond
}

// calls adds up the calls of the host by name.
func (r *reader) calls() error {
	if r.host == 0 {
		return nil
	}
	return r.each(`SELECT any_value(g.short), i.class, count(*), sum(i.dur)::BIGINT AS sum, arg_max(i.id, i.dur), arg_max(i.region_id, i.dur), arg_max(i.run_id, i.dur)
		FROM item i JOIN region g ON g.id = i.region_id WHERE i.class > 11 AND i.dur IS NOT NULL
		GROUP BY g.short, i.class ORDER BY sum DESC, g.short`, func(v []any) error {
		r.t.Host = append(r.t.Host, Calls{Row: observe.Row{Run: whole(v[6]), Region: whole(v[5]), Launch: whole(v[4]), Metric: observe.Duration},
			Name: word(v[0]), Class: Class(whole(v[1])), Count: int(whole(v[2])), Time: time.Duration(whole(v[3]))}) //nolint:gosec // the query's own numbers
		return nil
	})
}
