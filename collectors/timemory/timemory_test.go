package timemory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/timemory"
	"github.com/rooflab/rooflab/datasets"
)

func fact(file, what string, of func(*parsertest.Records) any, want any, how string) parsertest.Fact {
	return parsertest.Fact{File: file, What: what, Of: of, Want: want, How: how}
}

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Total(metric) }
}

func TestSamples(t *testing.T) {
	const how = "python3 with json: sums over the nodes whose hash is not 0"
	const f = "wall.tree.json"
	parsertest.Facts(t, "../../../shared/samples/timemory", []parsertest.Fact{
		fact(f, "nodes", func(r *parsertest.Records) any { return len(r.Launches) }, 28, how),
		fact(f, "inclusive", total("wall_clock inclusive"), 228.63760345800003, how),
		fact(f, "exclusive", total("wall_clock exclusive"), 113.81680249299998, how),
		fact(f, "laps", total("wall_clock laps"), 70, how),
		fact(f, "count", total("wall_clock inclusive count"), 140, how),
		fact(f, "regions", func(r *parsertest.Records) any { return len(r.Regions) }, 14, "python3: distinct paths of prefixes"),
		fact(f, "first loop of rank 0", func(r *parsertest.Records) any {
			return r.Value("generate_history/outer-loop-0", "wall_clock inclusive")
		}, 35.638487535, "jq: its repr_data"),
		fact(f, "ranks", func(r *parsertest.Records) any {
			return fmt.Sprint(r.Launches[0].Rank.V, r.Launches[len(r.Launches)-1].Rank.V)
		}, "0 1", "mpi has two elements"),
	}, nil)
}

const flat = `{
  "timemory": {
    "wall_clock": {
      "type": "wall", "description": "Real time", "unit_value": 1000000000, "num_ranks": 1,
      "ranks": [{"rank": 3, "graph_size": 4, "graph": [
        {"hash": 1, "prefix": "|0>>> main", "depth": 0, "entry": {"laps": 1, "value": 9, "accum": 9, "repr_data": 900.5, "repr_display": 900.5},
         "stats": {"sum": 900.5, "count": 1, "min": 900.5, "max": 900.5, "sqr": 810900.25, "mean": 900.5, "stddev": 0.0}},
        {"hash": 2, "prefix": "|0>>> |_[solve][a.py:12]", "depth": 1, "entry": {"laps": 7, "repr_data": 70}, "stats": {"count": 0, "min": 0}},
        {"hash": 3, "prefix": "|1>>> worker@w.cpp:8/inner", "depth": 1, "entry": {"laps": 1, "repr_data": 5}},
        {"hash": 4, "prefix": "|0>>> | |_void ns::f<int>(int)", "depth": 2, "entry": {"laps": 2, "repr_data": 3}},
        {"hash": 4, "prefix": "|0>>> | |_void ns::f<int>(int)", "depth": 2, "entry": {"laps": 1, "repr_data": null}}
      ]}],
      "unit_repr": "msec"
    },
    "papi_array": {
      "type": ["Total cycles", "Instr completed"], "unit_repr": ["", ""], "unit_value": [1, 1],
      "ranks": [{"rank": 3, "graph": [
        {"hash": 1, "prefix": "|0>>> main", "depth": 0, "entry": {"laps": 1, "value": [5, 6], "repr_data": [5.0, 6.0]}, "stats": {"count": 1, "sum": [5.0, 6.0]}}
      ]}]
    },
    "metadata": {"info": 1}
  }
}
`

func list(r *parsertest.Records) string {
	var got []string
	for _, c := range r.Counters {
		got = append(got, fmt.Sprint(r.Path(c.Region), "#", c.Launch, " ", c.Metric, "=", c.Value.Or(-1), c.Unit))
	}
	return strings.Join(got, "; ")
}

func TestFlatForm(t *testing.T) {
	r := parsertest.MustParse(t, "timemory", "all.json", flat)
	want := "main#1 papi_array laps=1; main#1 papi_array.Total cycles inclusive=5; main#1 papi_array.Instr completed inclusive=6; main#1 papi_array inclusive count=1; " +
		"main#1 papi_array.Total cycles inclusive sum=5; main#1 papi_array.Instr completed inclusive sum=6; " +
		"main#1 wall_clock laps=1; main#1 wall_clock inclusive=0.9005s; main#1 wall_clock inclusive count=1; main#1 wall_clock inclusive sum=0.9005s; main#1 wall_clock inclusive min=0.9005s; " +
		"main#1 wall_clock inclusive max=0.9005s; main#1 wall_clock inclusive mean=0.9005s; main#1 wall_clock inclusive stddev=0s; main#1 wall_clock inclusive sqr=810900.25; " +
		"main/solve#2 wall_clock laps=7; main/solve#2 wall_clock inclusive=0.07s; worker/inner#3 wall_clock laps=1; worker/inner#3 wall_clock inclusive=0.005s; " +
		"main/solve/f#4 wall_clock laps=2; main/solve/f#4 wall_clock inclusive=0.003s; main/solve/f#5 wall_clock laps=1; main/solve/f#5 wall_clock inclusive=-1s"
	if got := list(r); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if l := r.Launches[2]; l.Rank != datasets.Some[int64](3) || l.Thread != datasets.Some[int64](1) {
		t.Errorf("%+v", l)
	}
	if c := r.Counters[len(r.Counters)-1]; c.Status != datasets.StatusMissing {
		t.Errorf("%+v", c)
	}
	if u := r.Runs[0]; u.TimeMetric != "wall_clock inclusive" || !u.TimeInclusive || u.FormatVersion != "flat" {
		t.Errorf("%+v", u)
	}
	places := ""
	for _, a := range r.Attributes {
		if a.Name == "file" || a.Name == "line" {
			places += a.Value + " "
		}
	}
	if places != "a.py 12 w.cpp 8 " {
		t.Error(places)
	}
}

func TestTreeAndOldForms(t *testing.T) {
	r := parsertest.MustParse(t, "timemory", "t.json", `{"timemory": {"CPU_CLOCK": {"properties": {"id": "cpu_clock"}, "type": "cpu", "unit_repr": "sec", "graph": [
{"node": {"hash": 0, "prefix": "unknown", "tid": [0], "pid": [7], "inclusive": {"entry": {"laps": 0, "repr_data": 0.0}}, "exclusive": {"entry": {"repr_data": -5.0}}},
 "children": [{"node": {"hash": 5, "prefix": "f", "tid": [1, 2], "pid": [7], "inclusive": {"entry": {"laps": 2, "repr_data": 5.0}, "stats": {"count": 2, "max": 3.0}}, "exclusive": {"entry": {"laps": 2, "repr_data": 4.0}}},
  "children": [{"node": {"hash": 6, "prefix": "g", "tid": 1, "pid": 7, "inclusive": {"entry": {"laps": 1, "repr_data": 1.0}}, "exclusive": {"entry": {"repr_data": 1.0}}}, "children": []}]}]}]}}}`)
	if got, want := list(r), "f#1 cpu_clock laps=2; f#1 cpu_clock inclusive=5s; f#1 cpu_clock inclusive count=2; f#1 cpu_clock inclusive max=3s; f#1 cpu_clock exclusive=4s; "+
		"f/g#2 cpu_clock laps=1; f/g#2 cpu_clock inclusive=1s; f/g#2 cpu_clock exclusive=1s"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if l := r.Launches; l[0].Thread.Valid || l[0].PID.V != 7 || l[1].Thread.V != 1 || l[0].Rank.Valid {
		t.Errorf("%+v", l)
	}
	r = parsertest.MustParse(t, "timemory", "o.json", `{"timemory": {"ranks": [{"rank": 1, "concurrency": 1, "data": {"type": "wall", "unit_repr": "sec", "graph": [
{"hash": 1, "prefix": "> [cxx] main", "depth": 0, "entry": {"laps": 1, "repr_data": 2.5}}]}}]}}`)
	if got := list(r); got != "[cxx] main#1 wall laps=1; [cxx] main#1 wall inclusive=2.5s" && got != "main#1 wall laps=1; main#1 wall inclusive=2.5s" {
		t.Error(got)
	}
	if r.Launches[0].Rank.V != 1 {
		t.Errorf("%+v", r.Launches)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, c := range []struct {
		old, new  string
		line, col int
		part      string
	}{
		{`"depth": 2`, `"depth" 2`, 10, 73, `expected ":"`},
		{`"laps": 7`, `"laps": [7]`, 8, 89, "JSON array"},
		{`"unit_repr": "msec"`, ``, 14, 5, "expected a key in quotes"},
	} {
		_, err := parsertest.Parse("timemory", "t.json", strings.Replace(flat, c.old, c.new, 1))
		var e *collectors.SyntaxError
		if !errors.As(err, &e) || e.Line != c.line || e.Column != c.col || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %d:%d with %q", c.new, err, c.line, c.col, c.part)
		}
	}
	var refused *collectors.UnsupportedError
	if _, err := parsertest.Parse("timemory", "m.json", `{"timemory": {"metadata": {}}}`); !errors.As(err, &refused) {
		t.Error(err)
	}
	parsertest.Truncations(t, "timemory", "t.json", flat, 500)
}

func FuzzTimemory(f *testing.F) { parsertest.Fuzz(f, "timemory", flat) }

// A component of two values has a unit of each.
func TestUnitsOfSeveralValues(t *testing.T) {
	r := parsertest.MustParse(t, "timemory", "rss.tree.json", `{"timemory": {"CURRENT_PEAK_RSS": {"properties": {"id": "current_peak_rss"}, "type": ["start peak rss", " stop peak rss"], "unit_repr": ["MB", "KB"],
	"graph": [[{"node": {"hash": 1, "prefix": "solve", "tid": [0], "pid": [7], "depth": 0, "inclusive": {"entry": {"laps": 3, "repr_data": {"first": 195.5, "second": 2.0}},
	"stats": {"count": 6, "sum": {"first": 195.5, "second": 2.0}, "sqr": {"first": 9.0, "second": 9.0}}}, "exclusive": {"entry": {"repr_data": {"first": 1.0, "second": 1.0}}}}, "children": []}]]}}}`)
	want := map[string]string{"current_peak_rss.first inclusive": "1.955e+08 byte MB", "current_peak_rss.second inclusive": "2000 byte KB", "current_peak_rss.first inclusive sum": "1.955e+08 byte MB",
		"current_peak_rss.second inclusive sqr": "9  ", "current_peak_rss inclusive count": "6  ", "current_peak_rss laps": "3  "}
	for _, c := range r.Counters {
		got := fmt.Sprintf("%g %s %s", c.Value.V, c.Unit, c.RawUnit)
		if w, ok := want[c.Metric]; ok && got != w {
			t.Errorf("%s is %q, want %q", c.Metric, got, w)
		}
		delete(want, c.Metric)
	}
	if len(want) != 0 {
		t.Errorf("missing: %v", want)
	}
}

// timemory's library for JSON writes NaN and Infinity.
func TestStatisticsWithoutAValue(t *testing.T) {
	r := parsertest.MustParse(t, "timemory", "n.json", `{"timemory": {"WALL": {"properties": {"id": "wall"}, "type": "wall", "unit_repr": "sec", "ranks": [{"rank": 0, "graph": [
{"hash": 1, "prefix": ">>> main", "depth": 0, "entry": {"laps": 1, "repr_data": Infinity}, "stats": {"count": 1, "mean": 1.5, "stddev": NaN}}]}]}}}`)
	got := map[string]string{}
	for _, c := range r.Counters {
		got[c.Metric] = fmt.Sprint(c.RawValue, " ", c.Status, " ", c.Value.Valid)
	}
	if got["wall inclusive"] != "Infinity na false" || got["wall inclusive stddev"] != "NaN na false" || got["wall inclusive mean"] != "1.5 ok true" {
		t.Errorf("%v", got)
	}
}
