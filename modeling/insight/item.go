package insight

import (
	"fmt"
	"strings"
)

// Kind says which analysis an item comes from.
type Kind string

// Kinds of items, in the order in which a reader wants them.
const (
	Hot       Kind = "hot"       // where the time goes
	Change    Kind = "change"    // what differs from another run
	Roofline  Kind = "roofline"  // what bounds a kernel
	Stall     Kind = "stall"     // where warps wait, and why
	Counter   Kind = "counter"   // a rule over counters
	LaunchUse Kind = "launch"    // occupancy, waves, size of launches
	Balance   Kind = "balance"   // ranks, threads and devices against each other
	Timeline  Kind = "timeline"  // gaps, overlap, launch-bound stretches
	Path      Kind = "path"      // where in the call tree
	Advice    Kind = "advice"    // what the profiling tool itself estimates
	Noise     Kind = "noise"     // how steady the measurement is
	Scaling   Kind = "scaling"   // growth over sizes or processes
	Telemetry Kind = "telemetry" // clocks, power, temperature
)

// letters begin the ids of items.
var letters = map[Kind]string{Hot: "H", Change: "D", Roofline: "R", Stall: "S", Counter: "C", LaunchUse: "L", Balance: "B",
	Timeline: "T", Path: "P", Advice: "A", Noise: "N", Scaling: "G", Telemetry: "E"}

// Verdict says what an item means for whoever wants the code faster.
type Verdict string

// Verdicts.
const (
	Problem Verdict = "problem" // time is lost here
	Fine    Verdict = "fine"    // looked at, and no problem: do not spend time here
	Fact    Verdict = "fact"    // something to know
)

// Direction says which way a metric moves.
type Direction string

// Directions.
const (
	Up   Direction = "up"
	Down Direction = "down"
)

// Move is a metric that a successful change is expected to move. Metric is a
// counter of the store, a formula of counters, "time", or "pc_sample:REASON"
// for the part of a stall reason in the kernel's stalled samples.
type Move struct {
	Metric    string    `json:"metric"`
	Direction Direction `json:"direction"`
}

// Reference is what a value is compared against.
type Reference struct {
	Value float64 `json:"value"`
	What  string  `json:"what"`             // "threshold", "DRAM ceiling"
	From  string  `json:"source,omitempty"` // a guide with its section, a paper
}

// Location is a place in the source or the machine code.
type Location struct {
	File        string `json:"file,omitempty"`
	Line        int64  `json:"line,omitempty"`
	EndLine     int64  `json:"end_line,omitempty"` // the last line of a range, 0 for a single line
	Function    string `json:"function,omitempty"`
	Instruction string `json:"instruction,omitempty"`
}

func (l Location) String() string {
	out := l.File
	if l.Line != 0 {
		out += fmt.Sprintf(":%d", l.Line)
	}
	if l.EndLine > l.Line {
		out += fmt.Sprintf("-%d", l.EndLine)
	}
	if l.Function != "" {
		out = strings.TrimSpace(l.Function + " " + out)
	}
	if l.Instruction != "" {
		out = strings.TrimSpace(out + " (" + l.Instruction + ")")
	}
	return out
}

// Row names a row of a store. Fields that do not apply are zero.
type Row struct {
	Table  string `json:"table"` // counter, launch, region, code, pc_sample, telemetry, attribute, ceiling
	Region int64  `json:"region,omitempty"`
	Launch int64  `json:"launch,omitempty"`
	Code   int64  `json:"code,omitempty"`
	Metric string `json:"metric,omitempty"` // counter, sensor, attribute, level of a ceiling; for a launch its column
}

// Source is rows of one run with the file that they came from.
type Source struct {
	Run    int64  `json:"run"`
	Tool   string `json:"tool"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the file's content after decompression
	Rows   []Row  `json:"rows"`   // the first of Count
	Count  int64  `json:"count"`
}

// Item is one statement about a kernel or a run with the evidence for it.
type Item struct {
	ID string `json:"id"` // unique in its report; what agents cite
	// Kind and Rule say which rule made it; they are the same in every report.
	Kind      Kind       `json:"kind"`
	Rule      string     `json:"rule"`
	Verdict   Verdict    `json:"verdict"`
	Kernel    string     `json:"kernel,omitempty"`
	Statement string     `json:"statement"` // one sentence with its numbers and units
	Metric    string     `json:"metric"`    // what Value is
	Formula   string     `json:"formula,omitempty"`
	Value     float64    `json:"value"`
	Unit      string     `json:"unit,omitempty"` // SI; "" for counts and ratios
	Reference *Reference `json:"reference,omitempty"`
	// Share is the part of the run's time that the item is about, 0 to 1.
	Share float64 `json:"share"`
	// Gain is an upper estimate of the part of the kernel's time that would be
	// saved if the item were resolved, 0 to 1; 0 where nothing can be said.
	Gain       float64   `json:"gain,omitempty"`
	Importance float64   `json:"importance"` // 0 to 1, what the report is sorted by
	Location   *Location `json:"location,omitempty"`
	Sources    []Source  `json:"sources"`
	Query      string    `json:"query"`              // SQL that finds Value in the store again
	Estimate   string    `json:"estimate,omitempty"` // says what is estimated and not measured
	Meaning    string    `json:"meaning,omitempty"`
	Remedies   []string  `json:"remedies,omitempty"`
	Moves      []Move    `json:"moves,omitempty"`
}

// Query is SQL that counts the rows which a Row of a run names: 0 where there
// is none.
func (r Row) Query(run int64) string {
	where := []string{fmt.Sprintf("run_id = %d", run)}
	id := func(column string, v int64) {
		if v != 0 {
			where = append(where, fmt.Sprintf("%s = %d", column, v))
		}
	}
	switch r.Table {
	case "launch":
		id("id", r.Launch)
		id("region_id", r.Region)
		if r.Metric != "" {
			where = append(where, identifier(r.Metric)+" IS NOT NULL")
		}
	case "region":
		id("id", r.Region)
	case "code":
		id("id", r.Code)
		id("region_id", r.Region)
	case "pc_sample":
		id("launch_id", r.Launch)
		id("code_id", r.Code)
	case "telemetry":
		where = append(where, "sensor = "+literal(r.Metric))
	case "ceiling":
		return fmt.Sprintf("SELECT count(*) FROM ceiling WHERE machine_id = (SELECT machine_id FROM run WHERE id = %d) AND level = %s", run, literal(r.Metric))
	default: // counter and attribute
		column := "metric"
		if r.Table == "attribute" {
			column = "name"
		}
		id("region_id", r.Region)
		id("launch_id", r.Launch)
		where = append(where, column+" = "+literal(r.Metric))
	}
	return fmt.Sprintf("SELECT count(*) FROM %s WHERE %s", identifier(r.Table), strings.Join(where, " AND "))
}

// literal is a text as SQL has it.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// identifier is a name of a table or column as SQL has it.
func identifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// literals is a list of texts as SQL has it.
func literals(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = literal(n)
	}
	return strings.Join(out, ", ")
}
