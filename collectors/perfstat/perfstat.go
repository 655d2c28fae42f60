// Package perfstat reads what `perf stat` prints: fields with a separator
// (-x), lines of JSON (-j), and text for people, each also in intervals (-I),
// repeated (-r) and split by CPU, core, die, socket, node or thread.
//
// A line with a separator has, where the options asked for them, the fields in
// brackets:
//
//	[seconds] [unit of the machine [number of CPUs]] value unit event [cgroup]
//	[variance%] run-time percent-running [metric-value metric-unit]
//
// Out flow one run per measurement with one region, the command, or "perf
// stat" where the file does not name it. A launch is one interval of time or
// one part of the machine, or both: intervals have a start, counted from the
// start of perf, and a duration; parts are named by the attributes cpu, core,
// cluster, cache, die, socket, node or thread. Intervals are launches and not
// telemetry because each has all events at once, which is what ratios need.
//
// Counters have the event's name. Clocks are in seconds, energies in joules.
// What perf scaled up because the counter ran only part of the time is
// multiplexed, with its coverage; "<not supported>" and "<not counted>" are
// unsupported and missing. "variance" and "event-runtime" have the event as
// their instance. So have derived metrics, which are computed again where their
// inputs are there (perf's own can be wrong by a factor of 1000):
// "insn per cycle", "CPUs utilized", "GHz" (in Hz), "rate" (per second of the
// clock), "of all branches" and the like (in %). Elapsed, user and system time
// are the counters duration_time, user_time and system_time, as perf names them.
// Metrics that perf prints in groups (TopdownL1) have the group as their
// instance. A summary of all intervals is one more launch, with the attribute
// summary.
package perfstat

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "perf-stat-csv",
		About:   "Linux perf stat, fields with a separator (-x)",
		Version: 2,
		Detect:  detectCSV,
		Parse: func(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
			r := newReader(in, out, "perf-stat-csv")
			return r.lines(ctx, &csvReader{reader: r})
		},
	})
	collectors.Register(collectors.Format{
		Name:    "perf-stat-json",
		About:   "Linux perf stat, lines of JSON (-j)",
		Version: 2,
		Detect:  detectJSON,
		Parse: func(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
			r := newReader(in, out, "perf-stat-json")
			return r.lines(ctx, &jsonReader{reader: r})
		},
	})
	collectors.Register(collectors.Format{
		Name:    "perf-stat",
		About:   "Linux perf stat, text",
		Version: 2,
		Detect:  detectText,
		Parse:   parseText,
	})
}

const startedOn = "# started on "

// content yields the first lines that are neither blank nor comments.
func content(h collectors.Head) (lines [][]byte, started bool) {
	const most, mostBlank = 100, 1000
	n := 0
	for line := range bytes.Lines(h.Bytes) {
		if n++; len(lines) == most || n-len(lines) > mostBlank || !h.Whole && line[len(line)-1] != '\n' {
			break
		}
		text := bytes.TrimRight(line, "\r\n")
		switch {
		case bytes.HasPrefix(text, []byte(startedOn)):
			started = true
		case len(bytes.TrimSpace(text)) == 0, text[0] == '#':
		default:
			lines = append(lines, text)
		}
	}
	return lines, started
}

func detectJSON(h collectors.Head) collectors.Confidence {
	if !h.Has(`"counter-value"`, `"metric-value"`, startedOn) {
		return collectors.No
	}
	lines, started := content(h)
	for _, l := range lines {
		if l[0] != '{' {
			continue
		}
		if bytes.Contains(l, []byte(`"counter-value"`)) || bytes.Contains(l, []byte(`"metric-value"`)) && bytes.Contains(l, []byte(`"metric-unit"`)) {
			return collectors.Certain
		}
		if started {
			return collectors.Likely
		}
		break
	}
	return collectors.No
}

func detectText(h collectors.Head) collectors.Confidence {
	if bytes.Contains(h.Bytes, []byte("Performance counter stats for ")) || h.Has("counts") && intervalTitle(h.Bytes) {
		return collectors.Certain
	}
	return collectors.No
}

// intervalTitle looks for the titles of the columns that perf stat -I prints.
func intervalTitle(b []byte) bool {
	for line := range bytes.Lines(b) {
		if f := strings.Fields(string(line)); len(f) >= 4 && f[0] == "#" && f[1] == "time" && strings.Contains(string(line), "counts") && strings.Contains(string(line), "events") {
			return true
		}
	}
	return false
}

// share is the run time of an event and its share of the whole, between two of
// the same separators: trying every separator on every line of files that are
// none of perf's costs too much.
var share = regexp.MustCompile(`[^0-9.][0-9]+[^0-9.][^0-9]{0,3}[0-9]{1,3}[.,][0-9][0-9]([^0-9]|$)`)

// plausible tells events of perf from numbers and texts of other tables that
// happen to stand in the same order.
func plausible(r row) bool {
	known := r.unit == "" || units[r.unit] || strings.ContainsAny(r.event, "-_/.:") // other units are uncore events'
	return known && (r.onlyMetric || strings.Trim(r.event, eventLetters) == "" && strings.ContainsAny(r.event[:1], eventLetters[:52]))
}

// units are perf's own.
var units = map[string]bool{"msec": true, "ns": true, "Joules": true, "MiB": true, "Bytes": true, "C": true, "%": true}

const eventLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/=,@%+*#[]~"

func detectCSV(h collectors.Head) collectors.Confidence {
	lines, started := content(h)
	tried := 0
	for i, l := range lines {
		if l[0] == '{' {
			return collectors.No
		}
		if !started && !share.Match(l) {
			continue
		}
		if tried++; tried > 5 && !started {
			return collectors.No
		}
		d, ok := dialectOf(string(l))
		if !ok {
			continue
		}
		row, _, err := d.row(string(l))
		switch {
		case err != nil, !started && !plausible(row):
		case row.percent != "" && (i == 0 || started):
			return collectors.Certain
		case row.percent != "":
			return collectors.Likely
		case started:
			return collectors.Likely
		}
	}
	if started && !detectTextOrJSON(h) {
		return collectors.Possible // perf was stopped before it wrote anything
	}
	return collectors.No
}

func detectTextOrJSON(h collectors.Head) bool {
	return detectText(h) > collectors.No || detectJSON(h) > collectors.No
}

// reader makes records of rows, however they were written.
type reader struct {
	in     *collectors.Input
	out    *collectors.Output
	format string
	style  collectors.Style

	run     datasets.Run
	region  datasets.Region
	launch  int64 // ids given so far
	seq     int64 // launches of the run so far
	rows    int   // of the run
	groups  map[groupKey]*group
	order   []*group
	group   string // of the metrics on lines of their own
	at      string // the interval that is being read
	before  int64  // its start, ns
	now     int64  // its end, ns
	timed   bool   // there are intervals
	elapsed datasets.Null[float64]
	footer  []measured
	seen    map[string]bool
	noted   map[string]bool
}

func newReader(in *collectors.Input, out *collectors.Output, format string) *reader {
	r := &reader{in: in, out: out, format: format, style: collectors.Dot, noted: map[string]bool{}}
	r.begin()
	return r
}

// begin starts another run.
func (r *reader) begin() {
	id := r.run.ID + 1
	r.run = datasets.Run{ID: id, Tool: "perf", Format: r.format, Status: datasets.RunOK}
	r.region = datasets.Region{ID: id, Run: id, Kind: datasets.KindRange, Raw: "perf stat", Short: "perf stat"}
	r.seq, r.rows, r.groups, r.order, r.at, r.before, r.now, r.timed = 0, 0, map[groupKey]*group{}, nil, "", 0, 0, false
	r.elapsed, r.footer, r.seen = datasets.Null[float64]{}, nil, map[string]bool{}
}

// started reads "# started on ...", which begins a run. perf writes the time
// of its machine without a zone.
func (r *reader) started(text string) error {
	if r.rows > 0 {
		if err := r.finish(); err != nil {
			return err
		}
		r.begin()
	}
	value := strings.Join(strings.Fields(strings.TrimPrefix(text, startedOn)), " ")
	if t, err := time.Parse("Mon Jan _2 15:04:05 2006", value); err == nil {
		r.run.Started = datasets.Some(t)
	}
	return nil
}

// rowReader reads one line that is no comment.
type rowReader interface {
	line(text string, line int, ended bool) error
}

func (r *reader) lines(ctx context.Context, rows rowReader) error {
	last := 0
	for l, err := range r.in.Lines(ctx) {
		if err != nil {
			return err
		}
		text, line, ended := l.Text, l.Number, l.Ended
		last = line
		s := strings.TrimRight(string(text), " \t")
		switch {
		case strings.HasPrefix(s, startedOn):
			if !ended {
				return r.cut(line, len(text))
			}
			err = r.started(s)
		case s == "" || s[0] == '#':
			if !ended && s != "" {
				err = r.cut(line, len(text))
			}
		default:
			err = rows.line(s, line, ended)
		}
		if err != nil {
			return err
		}
	}
	if last == 0 {
		e := r.in.Syntax(1, 1, "the file is empty")
		e.Expected = "what perf stat prints"
		return e
	}
	return r.finish()
}

func (r *reader) cut(line, length int) error {
	return r.in.Cut(line, length, "the file is cut: get it again")
}
