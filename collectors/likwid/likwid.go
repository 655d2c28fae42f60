// Package likwid reads what likwid-perfctr writes: stacked tables as CSV (-O,
// or -o FILE.csv), the same as drawn tables, and the timeline (-t) as CSV.
//
//	STRUCT,Info,3
//	CPU name:,...
//	TABLE,Region solve,Group 1 Raw,MEM_DP,15
//	Region Info,HWThread 0,HWThread 1
//	RDTSC Runtime [s],0.25,0.26
//	call count,1,1
//	Event,Counter,HWThread 0,HWThread 1
//	INSTR_RETIRED_ANY,FIXC0,1200,1300
//	TABLE,Region solve,Group 1 Raw STAT,MEM_DP,15
//	Event,Counter,Sum,Min,Max,Avg
//	TABLE,Region solve,Group 1 Metric,MEM_DP,12
//	Metric,HWThread 0,HWThread 1
//
// Lines are padded with commas to the widest table. Out flow one run and a
// region per marker region, or "likwid-perfctr" where the whole program was
// measured. A launch is one hardware thread in one group of a region: a column
// of the tables. Its thread is the hardware thread's number (a GPU's is its
// device) and its attributes are group and hwthread. Counters are events,
// with the register as their instance, and derived metrics, named as LIKWID
// does ("Memory bandwidth [MBytes/s]"), in SI units: what the brackets say is
// the raw unit. Statistics over threads are counters of the region, named
// "... STAT", with the statistic (and the register) as their instance.
//
// Runs of likwid-perfctr that were appended to one file are told apart: a group
// of a region that comes again makes new launches, with their number as the
// attribute repetition. LIKWID 3 drew its tables without a title, named its
// columns "core 0" and its regions "Region: NAME"; LIKWID 4 wrote the units of
// some metrics without brackets ("DP MFLOP/s"). An event that could not be set
// up ("Permission denied") is counted as 0 by LIKWID: here it has no value.
//
// likwid-mpirun says the region and the group on lines of their own, "Region,solve"
// and "Group,1" (as text "Region: solve" and "Group: 1"), and titles no table.
//
// In a timeline each line is one launch per thread, with start and duration.
package likwid

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "likwid-csv",
		About:   "LIKWID, likwid-perfctr as CSV",
		Version: 2,
		Detect: func(h collectors.Head) collectors.Confidence {
			if h.HasLine("Group,") && mpirunCSV.Match(h.Bytes) {
				return collectors.Certain
			}
			if !h.HasLine("TABLE,", "STRUCT,Info,3", "# HWThreads,", "# GID,") {
				return collectors.No
			}
			for line := range bytes.Lines(h.Bytes) {
				s := strings.TrimRight(string(line), "\r\n")
				if _, ok := tableTitle(s); ok || strings.HasPrefix(s, "STRUCT,Info,3") {
					return collectors.Certain
				}
				if strings.HasPrefix(s, "# HWThreads,") || strings.HasPrefix(s, "# GID,MetricsCount,") || strings.HasPrefix(s, "# GID,EventCount,") {
					return collectors.Certain
				}
			}
			return collectors.No
		},
		Parse: func(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
			return parse(ctx, newReader(in, out, "likwid-csv"), (*reader).csvLine)
		},
	})
	collectors.Register(collectors.Format{
		Name:    "likwid-text",
		About:   "LIKWID, likwid-perfctr as drawn tables",
		Version: 2,
		Detect: func(h collectors.Head) collectors.Confidence {
			if !h.HasLine("Group ", "Region ", "Group: ", "CPU type:") || !h.HasLine("+-") {
				return collectors.No
			}
			if mpirunText.Match(h.Bytes) {
				return collectors.Certain
			}
			group := false
			for line := range bytes.Lines(h.Bytes) {
				s := strings.TrimRight(string(line), " \r\n")
				if cells, ok := cellsOf(s); ok && oldTitles(cells) {
					return collectors.Certain
				}
				if _, _, ok := groupTitle(s); ok {
					group = true
				}
				if group && strings.HasPrefix(s, "+-") {
					return collectors.Certain
				}
			}
			return collectors.No
		},
		Parse: func(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
			return parse(ctx, newReader(in, out, "likwid-text"), (*reader).textLine)
		},
	})
}

// What likwid-mpirun writes above its tables.
var (
	mpirunCSV  = regexp.MustCompile(`(?m)^Group,\d+,*\r?\n(?:[ \t]*\r?\n)?Event,Counter,[^,\n]+:\d+:\d+`)
	mpirunText = regexp.MustCompile(`(?m)^Group: \d+[ \t]*\r?\n\+-[-+]+[ \t]*\r?\n\| +Event +\| +Counter +\|[^\n]*:\d+:\d+ +\|`)
)

// group begins a group of likwid-mpirun, whose tables come next.
func (r *reader) group(number string, line int) (bool, error) {
	if _, err := atoi(number); err == nil {
		if err := r.close(line); err != nil {
			return true, err
		}
		r.drawn = title{region: r.old, group: strings.TrimSpace(number), rows: -1}
		r.again(r.drawn)
		return true, nil
	}
	return false, nil
}

func newReader(in *collectors.Input, out *collectors.Output, format string) *reader {
	return &reader{in: in, out: out, regions: map[string]int64{}, launches: map[launchKey]int64{}, facts: map[string]bool{}, times: map[string]bool{},
		rounds: map[launchKey]int{}, denied: map[string]bool{},
		run:     datasets.Run{ID: runID, Tool: "likwid", Format: format, Status: datasets.RunOK},
		machine: datasets.Machine{ID: machineID}, timeline: map[string]*timeline{}}
}

func parse(ctx context.Context, r *reader, take func(*reader, string, int) error) error {
	last := 0
	for l, err := range r.in.Lines(ctx) {
		if err != nil {
			return err
		}
		text, line, ended := l.Text, l.Number, l.Ended
		last = line
		s := strings.TrimRight(string(text), " \t")
		if rest, ok := strings.CutPrefix(s, "Setup of event "); ok {
			r.refused(rest, line)
			continue
		}
		if !ended && s != "" {
			return r.in.Cut(line, len(text), "the file is cut: get it again")
		}
		if err := take(r, s, line); err != nil {
			return err
		}
	}
	return r.end(last)
}

// tableTitle reads "TABLE,[Region NAME,]Group 1 Raw[ STAT],MEM_DP,15,,,".
func tableTitle(s string) (title, bool) {
	rest, ok := strings.CutPrefix(s, "TABLE,")
	if !ok {
		return title{}, false
	}
	f := strings.Split(strings.TrimRight(rest, ","), ",")
	for i := len(f) - 1; i >= 0; i-- {
		group, kind, ok := groupKind(f[i])
		if !ok || i+2 >= len(f) && i+1 != len(f)-1 {
			continue
		}
		t := title{group: group, kind: kind, rows: -1}
		t.region = strings.TrimPrefix(strings.Join(f[:i], ","), "Region ")
		t.name = strings.Join(f[i+1:max(i+1, len(f)-1)], ",")
		if n, err := atoi(f[len(f)-1]); err == nil {
			t.rows = n
		}
		return t, true
	}
	return title{}, false
}

// groupKind reads "Group 1 Raw STAT".
func groupKind(s string) (group, kind string, ok bool) {
	f := strings.Fields(s)
	if len(f) < 3 || f[0] != "Group" || f[2] != "Raw" && f[2] != "Metric" {
		return "", "", false
	}
	if _, err := atoi(f[1]); err != nil {
		return "", "", false
	}
	return f[1], strings.Join(f[2:], " "), true
}

// groupTitle reads "Group 1: MEM_DP" and "Region solve, Group 1: MEM_DP".
func groupTitle(s string) (region string, t title, ok bool) {
	if rest, has := strings.CutPrefix(s, "Region "); has {
		i := strings.LastIndex(rest, ", Group ")
		if i < 0 {
			return "", title{}, false
		}
		region, s = rest[:i], rest[i+2:]
	}
	rest, has := strings.CutPrefix(s, "Group ")
	number, name, colon := strings.Cut(rest, ":")
	if _, err := atoi(number); err != nil || !has || !colon {
		return "", title{}, false
	}
	return region, title{region: region, group: number, name: strings.TrimSpace(name), rows: -1}, true
}

// csvLine reads a line of CSV.
func (r *reader) csvLine(s string, line int) error {
	trimmed := strings.TrimRight(s, ",")
	switch {
	case strings.HasPrefix(s, "TABLE,"):
		t, ok := tableTitle(s)
		if !ok {
			e := r.in.Syntax(line, 1, "the title of the table is odd")
			e.Expected, e.Found = `"TABLE,Group 1 Raw,NAME,rows"`, collectors.Quote(trimmed)
			e.Hint = "the line is damaged, or a version of LIKWID that is not known here wrote it"
			return e
		}
		if t.kind == "Raw" {
			r.again(t)
		}
		return r.begin(t, line)
	case strings.HasPrefix(s, "STRUCT,"):
		return r.close(line)
	case trimmed == "":
		return nil
	case strings.HasPrefix(s, "Region,"):
		r.old = trimmed[min(len("Region,"), len(trimmed)):]
		return r.close(line)
	case strings.HasPrefix(s, "Group,"):
		if ok, err := r.group(trimmed[min(len("Group,"), len(trimmed)):], line); ok {
			return err
		}
		return r.noise(trimmed, line)
	case strings.HasPrefix(s, "# "):
		return r.timelineTitle(strings.Split(trimmed[2:], ","), line)
	case r.table.open:
		return r.tableRow(strings.Split(s, ","), line)
	}
	if strings.HasPrefix(s, "Event,Counter,") && r.drawn.group != "" {
		if err := r.begin(r.drawn, line); err != nil {
			return err
		}
		return r.tableRow(strings.Split(s, ","), line)
	}
	if len(r.timeline) > 0 {
		return r.timelineRow(strings.Split(trimmed, ","), line)
	}
	if key, value, ok := strings.Cut(trimmed, ":,"); ok {
		return r.fact(key, value)
	}
	return r.noise(trimmed, line)
}

// textLine reads a line of drawn tables.
func (r *reader) textLine(s string, line int) error {
	if _, t, ok := groupTitle(s); ok {
		if err := r.close(line); err != nil {
			return err
		}
		r.again(t)
		r.drawn = t
		return nil
	}
	if name, ok := strings.CutPrefix(s, "Region: "); ok && !r.table.open {
		r.old = strings.TrimSpace(name)
		return nil
	}
	if number, ok := strings.CutPrefix(s, "Group: "); ok {
		if ok, err := r.group(number, line); ok {
			return err
		}
	}
	if cells, ok := cellsOf(s); ok && !r.table.open && oldTitles(cells) {
		t := title{region: r.old, rows: -1}
		if kind := cells[0] + strings.Join(cells[1:], ","); kind == r.oldKind && t.region == r.oldRegion || r.oldKind == "" {
			r.again(t)
			r.oldKind, r.oldRegion = kind, t.region
		} else if t.region != r.oldRegion {
			r.again(t)
			r.oldKind, r.oldRegion = kind, t.region
		}
		if err := r.begin(t, line); err != nil {
			return err
		}
	}
	switch {
	case strings.HasPrefix(s, "+-"):
		if !r.table.open && r.drawn.group != "" {
			return r.begin(r.drawn, line)
		}
		if r.table.columns == nil {
			return nil
		}
		if r.table.dashes++; r.table.dashes == 2 {
			return r.close(line)
		}
		return nil
	case strings.HasPrefix(s, "|") && r.table.open:
		if !strings.HasSuffix(s, "|") || len(s) < 2 {
			return r.noise(s, line)
		}
		cells, _ := cellsOf(s)
		return r.tableRow(cells, line)
	case r.table.open && s != "":
		return r.noise(s, line)
	}
	// The tab behind the colon is often copied as spaces.
	if key, value, ok := strings.Cut(s, ":"); ok && (key == "CPU name" || key == "CPU type" || key == "CPU clock") {
		return r.fact(key, strings.TrimSpace(value))
	}
	return nil
}

// cellsOf takes a row of a drawn table apart.
func cellsOf(s string) ([]string, bool) {
	if len(s) < 2 || s[0] != '|' || s[len(s)-1] != '|' {
		return nil, false
	}
	var cells []string
	for _, c := range strings.Split(s[1:len(s)-1], " | ") {
		cells = append(cells, strings.TrimSpace(c))
	}
	return cells, true
}

// oldTitles knows the titles of a table of LIKWID 3: no column of registers,
// and cores in small letters or statistics over them.
func oldTitles(cells []string) bool {
	if len(cells) < 2 || cells[0] != "Event" && cells[0] != "Metric" && cells[0] != "Region Info" {
		return false
	}
	number, ok := strings.CutPrefix(cells[1], "core ")
	_, err := atoi(number)
	return ok && err == nil || len(cells) == 5 && cells[1] == "Sum" && cells[2] == "Max"
}
