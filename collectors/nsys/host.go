package nsys

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// Types of NVTX events, of both sources of them.
const (
	nvtxCategory, nvtxMark, nvtxPushPop, nvtxStartEnd, nvtxThread = 33, 34, 59, 60, 39
	nvtxtMark, nvtxtPushPop, nvtxtStartEnd                        = 65, 70, 71
	nvtxDomain                                                    = 75
)

// open is a range on the stack of a thread.
type open struct {
	region int64
	end    int64
	ended  bool
}

type track struct{ thread, domain int64 }

// ranges reads NVTX. The rows come in the order of their starts, the longer
// first, so that a stack per thread and domain tells what a range is within:
// ranges that were pushed nest by their nature. Those that were started are
// ranges of the process and have no parent.
func (e *export) ranges() error {
	const table = "NVTX_EVENTS"
	e.read[table] = true
	domains, err := e.domains(table)
	if err != nil {
		return err
	}
	stacks := map[track][]open{}
	columns := []string{"start", "end", "eventType", "text", "textId", "globalTid", "endGlobalTid", "domainId", "category",
		"uint64Value", "int64Value", "doubleValue", "uint32Value", "int32Value", "floatValue", "jsonText", "jsonTextId"}
	order := "start"
	if e.db.has(table, "end") {
		order = `start, "end" IS NULL DESC, "end" DESC, rowid`
	}
	return e.db.each(e.ctx, table, columns, order, func(r *record) error {
		typ, ok := r.integer("eventType")
		if !ok {
			typ = nvtxPushPop
		}
		switch typ {
		case nvtxMark, nvtxtMark, nvtxPushPop, nvtxtPushPop, nvtxStartEnd, nvtxtStartEnd:
		default:
			return nil // names of categories, threads and domains
		}
		text := r.text("text")
		if text == "" {
			if text, err = e.name(r.integer("textId")); err != nil {
				return err
			}
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
		thread, _ := r.integer("globalTid")
		domain, _ := r.integer("domainId")
		l := &datasets.Launch{}
		if err := e.when(l, table, r); err != nil {
			return err
		}
		who(l, r, "", "globalTid")
		t := track{thread, domain}
		var parent int64
		nests := typ == nvtxPushPop || typ == nvtxtPushPop
		if nests || typ == nvtxMark || typ == nvtxtMark {
			s := stacks[t]
			for len(s) > 0 && s[len(s)-1].ended && (s[len(s)-1].end < l.StartNs.V || l.DurNs.Valid && s[len(s)-1].end < l.StartNs.V+l.DurNs.V || s[len(s)-1].end == l.StartNs.V && l.DurNs.V > 0) {
				s = s[:len(s)-1]
			}
			if len(s) > 0 {
				parent = s[len(s)-1].region
			}
			stacks[t] = s
		}
		if l.Region, err = e.region(parent, datasets.KindRange, domains[track{thread &^ 0xffffff, domain}], text, shortRange(text), ""); err != nil {
			return err
		}
		if nests {
			stacks[t] = append(stacks[t], open{l.Region, l.StartNs.V + l.DurNs.V, l.DurNs.Valid})
		}
		if err := e.launch("nvtx", l); err != nil {
			return err
		}
		return e.payload(l, r)
	})
}

// domains reads the names of NVTX domains, by process.
func (e *export) domains(table string) (map[track]string, error) {
	names := map[track]string{}
	if !e.db.has(table, "eventType", "domainId") {
		return names, nil
	}
	err := e.db.each(e.ctx, table, []string{"eventType", "text", "textId", "globalTid", "domainId"}, "", func(r *record) error {
		if typ, _ := r.integer("eventType"); typ != nvtxDomain {
			return nil
		}
		text := r.text("text")
		if text == "" {
			var err error
			if text, err = e.name(r.integer("textId")); err != nil {
				return err
			}
		}
		thread, _ := r.integer("globalTid")
		domain, _ := r.integer("domainId")
		names[track{thread &^ 0xffffff, domain}] = text
		return nil
	})
	return names, err
}

// payload puts the value that a program gave to an event.
func (e *export) payload(l *datasets.Launch, r *record) error {
	for _, c := range [...]string{"uint64Value", "int64Value", "uint32Value", "int32Value", "doubleValue", "floatValue"} {
		if !r.has(c) {
			continue
		}
		count := datasets.Counter{Run: runID, Region: l.Region, Launch: l.ID, Metric: "payload", Status: datasets.StatusOK}
		if n, ok := r.integer(c); ok {
			v := float64(n)
			count.RawValue = strconv.FormatInt(n, 10)
			if c == "uint64Value" { // SQLite's integers have a sign
				v, count.RawValue = float64(uint64(n)), strconv.FormatUint(uint64(n), 10)
			}
			count.Value = datasets.Some(v)
		} else if v, ok := r.values[r.at[c]].(float64); ok {
			count.RawValue = strconv.FormatFloat(v, 'g', -1, 64)
			if math.IsInf(v, 0) || math.IsNaN(v) { // the program may give what it likes
				count.Status = datasets.StatusNA
			} else {
				count.Value = datasets.Some(v)
			}
		} else {
			continue
		}
		return e.out.Put(&count)
	}
	text := r.text("jsonText")
	if text == "" {
		var err error
		if text, err = e.name(r.integer("jsonTextId")); err != nil {
			return err
		}
	}
	return e.about(l, "payload", text)
}

// numbered are the counts that PyTorch appends to the names of its ranges.
var numbered = regexp.MustCompile(`(, (seq|op_id|trace_id|sizes|input_op_ids) = (-?\d+|\[.*\]))+$`)

// shortRange is the name of a range without counts that make each one unique.
func shortRange(text string) string { return numbered.ReplaceAllString(text, "") }

// versioned is the ending that CUPTI appends to the functions of CUDA.
var versioned = regexp.MustCompile(`(_ptsz|_ptds)?_v\d+$`)

// functions reads the tables of calls: CUDA's, the OS runtime's, and those of
// libraries, which have a name, a thread and times in common.
func (e *export) functions() error {
	for _, table := range e.db.names() {
		if e.read[table] || !e.db.has(table, "start", "nameId") || strings.HasPrefix(table, "ENUM_") || table == "ThreadNames" {
			continue
		}
		e.read[table] = true
		module := map[string]string{"CUPTI_ACTIVITY_KIND_RUNTIME": "CUDA API", "OSRT_API": "OS runtime", "PROFILER_OVERHEAD": "profiler overhead",
			"CUPTI_ACTIVITY_KIND_OVERHEAD": "CUPTI overhead"}[table]
		module = first(module, strings.TrimSuffix(table, "_EVENTS"))
		columns := []string{"start", "end", "globalTid", "globalPid", "correlationId", "nameId", "returnValue", "bytes", "size", "tag", "remoteRank", "rank", "commHandle"}
		err := e.db.each(e.ctx, table, columns, "start", func(r *record) error {
			name, err := e.name(r.integer("nameId"))
			if err != nil {
				return err
			}
			l := &datasets.Launch{}
			if l.Region, err = e.region(0, datasets.KindFunction, module, first(name, "(unnamed)"), versioned.ReplaceAllString(name, ""), ""); err != nil {
				return err
			}
			if err := e.when(l, table, r); err != nil {
				return err
			}
			who(l, r, "globalPid", "globalTid")
			l.Rank = r.null("rank")
			if n, ok := r.integer("correlationId"); ok {
				l.ToolID = strconv.FormatInt(n, 10)
			}
			if err := e.launch(table, l); err != nil {
				return err
			}
			if n, ok := r.integer("returnValue"); ok && n != 0 && table == "CUPTI_ACTIVITY_KIND_RUNTIME" {
				if err := e.about(l, "returnValue", strconv.FormatInt(n, 10)); err != nil { // an error of CUDA
					return err
				}
			}
			for _, c := range [...]string{"bytes", "size"} {
				if err := e.counter(l, r, c, "byte"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
