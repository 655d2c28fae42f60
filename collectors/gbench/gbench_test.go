package gbench_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/gbench"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func value(region, metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Value(region, metric) }
}

func regions(r *parsertest.Records) any  { return len(r.Regions) }
func launches(r *parsertest.Records) any { return len(r.Launches) }

func TestSamples(t *testing.T) {
	const jq = "jq: .benchmarks[], time by its time_unit"
	f := func(file, what string, of func(*parsertest.Records) any, want any) parsertest.Fact {
		return parsertest.Fact{File: file, What: what, Of: of, Want: want, How: jq}
	}
	parsertest.Facts(t, "../../../shared/samples/gbench", []parsertest.Fact{
		f("test1_run1.json", "measured rows", launches, 14), f("test1_run1.json", "real time of BM_NotBadTimeUnit", value("BM_NotBadTimeUnit", "real_time"), 0.4),
		f("test1_run1.json", "real time of BM_100xFaster", value("BM_100xFaster", "real_time"), 10000e-9), f("test1_run1.json", "coefficient", value("MyComplexityTest", "real_coefficient.BigO"), 6.4789275289789780e-9),
		f("test1_run1.json", "RMS in percent", value("MyComplexityTest", "rms.RMS"), 0.45097802512472874), f("test1_run1.json", "clock", func(r *parsertest.Records) any { return r.Machines[0].ClockHz }, 4228e6),
		f("test1_run2.json", "measured rows", launches, 14), f("test1_run2.json", "real time of BM_2xFaster", value("BM_2xFaster", "real_time"), 25e-9), f("test1_run2.json", "cpu time of BM_10PercentSlower", value("BM_10PercentSlower", "cpu_time"), 1.1e-07),
		f("test2_run.json", "benchmarks", regions, 10), f("test2_run.json", "cpu time of BM_Hi", value("BM_Hi", "cpu_time"), 0.024), f("test2_run.json", "real time of Prefix/BM_Zero/3", value("Prefix/BM_Zero/3", "real_time"), 30e-9),
		f("test3_run0.json", "measured rows", launches, 4), f("test3_run0.json", "aggregate of BM_One", value("BM_One", "real_time.aggregate"), 10e-9), f("test3_run0.json", "BM_One as a measurement", value("BM_One", "real_time"), datasets.Null[float64]{}),
		f("test3_run0.json", "rows of medium", func(r *parsertest.Records) any {
			n := 0
			for _, l := range r.Launches {
				if r.Region(l.Region).Short == "medium" {
					n++
				}
			}
			return n
		}, 2),
		f("test5_run0.json", "measured rows", launches, 1), f("test5_run0.json", "seconds", value("BM_ManyRepetitions", "cpu_time"), 1000), f("test5_run0.json", "processors", func(r *parsertest.Records) any { return r.Machines[0].Units }, 4),
	}, nil)
}

const own = `{
  "context": {"date": "2026-01-02T03:04:05+01:00", "host_name": "node7", "executable": "./bench", "num_cpus": 16, "mhz_per_cpu": 2500, "library_version": "v1.9.0", "json_schema_version": 1,
    "caches": [{"type": "Data", "level": 1, "size": 32768}], "load_avg": [0.5, 1]},
  "benchmarks": [
    {"name": "BM_Copy<a/b, 2>/64/threads:4/real_time", "run_name": "BM_Copy<a/b, 2>/64/threads:4/real_time", "run_type": "iteration", "family_index": 0, "repetitions": 2, "repetition_index": 0, "threads": 4,
     "iterations": 100, "real_time": 1.5, "cpu_time": 2, "time_unit": "us", "bytes_per_second": 2.5e9, "hits": 7, "ratio": NaN, "label": "warm"},
    {"name": "BM_Copy<a/b, 2>/64/threads:4/real_time", "run_name": "BM_Copy<a/b, 2>/64/threads:4/real_time", "run_type": "iteration", "repetitions": 2, "repetition_index": 1, "threads": 4,
     "iterations": 100, "real_time": 2.5, "cpu_time": 3, "time_unit": "us", "bytes_per_second": Infinity},
    {"name": "BM_Copy<a/b, 2>/64/threads:4/real_time_mean", "run_name": "BM_Copy<a/b, 2>/64/threads:4/real_time", "run_type": "aggregate", "aggregate_name": "mean", "aggregate_unit": "time",
     "iterations": 2, "real_time": 2, "cpu_time": 2.5, "time_unit": "us"},
    {"name": "BM_Copy<a/b, 2>/64/threads:4/real_time_cv", "run_name": "BM_Copy<a/b, 2>/64/threads:4/real_time", "run_type": "aggregate", "aggregate_name": "cv", "aggregate_unit": "percentage",
     "iterations": 2, "real_time": 0.35, "cpu_time": 0.28, "time_unit": "us"},
    {"name": "BM_Bad", "run_name": "BM_Bad", "run_type": "iteration", "error_occurred": true, "error_message": "no device", "iterations": 0, "real_time": 0, "cpu_time": 0, "time_unit": "ns"},
    {"name": "BM_Later", "run_type": "iteration", "skipped": true, "skip_message": "too slow", "iterations": 0, "real_time": 0, "cpu_time": 0, "time_unit": "ns"},
    {"name": "BM_Old", "iterations": 10, "real_time": 5, "cpu_time": 5, "time_unit": "ms"},
    {"name": "BM_Old_stddev", "iterations": 10, "real_time": 1, "cpu_time": 1, "time_unit": "ms"}
  ]
}`

func TestRowsAggregatesAndErrors(t *testing.T) {
	r := parsertest.MustParse(t, "google-benchmark", "b.json", own)
	var got []string
	for _, c := range r.Counters {
		if c.Metric != "iterations" && c.Metric != "iterations.mean" && c.Metric != "cpu_time" && !strings.HasPrefix(c.Metric, "cpu_time.") {
			got = append(got, fmt.Sprintf("%d %s=%g %s %s", c.Launch, c.Metric, c.Value.V, c.Unit, c.Status))
		}
	}
	want := `1 bytes_per_second=2.5e+09 byte/s ok
1 hits=7  ok
1 ratio=0  na
1 real_time=1.5e-06 s ok
2 bytes_per_second=0 byte/s na
2 real_time=2.5e-06 s ok
0 real_time.mean=2e-06 s ok
0 iterations.cv=2  ok
0 real_time.cv=35 % ok
3 real_time=0 s na
4 real_time=0 s na
5 real_time=0.005 s ok
0 iterations.stddev=10  ok
0 real_time.stddev=0.001 s ok`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	attrs := map[string]string{}
	for _, a := range r.Attributes {
		attrs[fmt.Sprint(a.Region, " ", a.Launch, " ", a.Name)] = a.Value
	}
	for key, want := range map[string]string{"1 0 arg.0": "64", "1 0 threads": "4", "1 0 timing": "real_time", "1 1 label": "warm", "1 2 repetition_index": "1", "1 1 threads": "4", "2 3 status": "error",
		"2 3 message": "no device", "3 4 status": "skipped", "3 4 message": "too slow", "0 0 caches": `[{"level":1,"size":32768,"type":"Data"}]`, "0 0 load_avg": "[0.5,1]"} {
		if attrs[key] != want {
			t.Errorf("attribute %s is %q, want %q", key, attrs[key], want)
		}
	}
	run := r.Runs[0]
	if run.ToolVersion != "v1.9.0" || run.Command != "./bench" || run.Started.V.Unix() != 1767319445 || run.Status != datasets.RunOK || run.TimeMetric != "real_time" {
		t.Errorf("run %+v", run)
	}
	if m := r.Machines[0]; m.Host != "node7" || m.Units.V != 16 || m.ClockHz.V != 2.5e9 {
		t.Errorf("machine %+v", m)
	}
	if len(r.Regions) != 4 || r.Regions[3].Raw != "BM_Old" || len(r.Warnings) != 1 || r.Warnings[0].Line != 13 {
		t.Errorf("regions %+v, warnings %v", r.Regions, r.Warnings)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		text         string
		line, column int
		msg          string
	}{
		{"{\"benchmarks\": [\n{}]}", 2, 3, "has no name"},
		{"{\"benchmarks\": [\n{\"name\": \"a\", \"time_unit\": \"m\"}]}", 2, 32, "unit of time"},
		{"{\"benchmarks\": [{\"name\": \"a\", \"x\": 1e999}]}", 1, 42, "does not fit"},
		{"{\"context\": {}}", 1, 16, "lacks a member"},
		{"{\"context\": {}, \"context\": 1}", 1, 26, "a member twice"},
		{"{\"benchmarks\": [", 1, 17, "the file ends within a JSON value"},
		{"{\"benchmarks\": []} 1", 1, 21, "goes on after its object"},
	} {
		parsertest.Refused(t, "google-benchmark", "p", c.text, c.line, c.column, c.msg)
	}
	var u *collectors.UnsupportedError
	for format, text := range map[string]string{"google-benchmark": `{"context": {"json_schema_version": 2}}`, "google-benchmark-text": "Benchmark   Time\n"} {
		if _, err := parsertest.Parse(format, "p", text); !errors.As(err, &u) || u.Hint == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
	if r := parsertest.MustParse(t, "google-benchmark", "p", `{"benchmarks": []}`); r.Runs[0].Status != datasets.RunEmpty {
		t.Errorf("%+v", r.Runs)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{own: "google-benchmark", `{"benchmarks": [{"name": "x", "real_time": 1, "cpu_time": 1}`: "google-benchmark", `{"benchmarks": ["a"], "series": []}`: "",
		"2026-01-02T03:04:05\nRunning ./b\n---\nBenchmark          Time             CPU   Iterations\n": "google-benchmark-text", "name,iterations,real_time,cpu_time,time_unit,label\n": "google-benchmark-text"} {
		f, _, _ := collectors.Detect(collectors.Head{Name: "a", Bytes: []byte(text), Whole: true})
		if f.Name != want {
			t.Errorf("%.30q is detected as %q, want %q", text, f.Name, want)
		}
	}
}

func TestTruncations(t *testing.T) {
	parsertest.Truncations(t, "google-benchmark", "b", own, 1500)
}

func FuzzJSON(f *testing.F) {
	parsertest.Fuzz(f, "google-benchmark", own, `{"benchmarks": [{"name": "a/>/1", "run_type": "aggregate", "x": Infinity}]}`)
}

func TestFilesWithoutUnitAreInNanoseconds(t *testing.T) {
	r := parsertest.MustParse(t, "google-benchmark", "b.json", `{"context": {"date": "2015/03/17-18:40:25", "num_cpus": 40, "mhz_per_cpu": 2801}, "benchmarks": [{"name": "BM_Insert/8", "iterations": 100, "real_time": 29275, "cpu_time": 29836, "items_per_second": 33516}]}`)
	want := map[string]string{"real_time": "2.9275e-05 s ns", "cpu_time": "2.9836e-05 s ns", "items_per_second": "33516 item/s ", "iterations": "100  "}
	for _, c := range r.Counters {
		if got := fmt.Sprintf("%.6g %s %s", c.Value.V, c.Unit, c.RawUnit); got != want[c.Metric] {
			t.Errorf("%s is %q, want %q", c.Metric, got, want[c.Metric])
		}
	}
	if len(r.Counters) != len(want) {
		t.Errorf("%d counters", len(r.Counters))
	}
}
