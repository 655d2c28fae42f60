package gobench_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/gobench"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func count(of func(*parsertest.Records) int) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return of(r) }
}

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return fmt.Sprintf("%.9g", r.Total(metric)) }
}

func TestSamples(t *testing.T) {
	launches := count(func(r *parsertest.Records) int { return len(r.Launches) })
	regions := count(func(r *parsertest.Records) int { return len(r.Regions) })
	facts := []parsertest.Fact{
		{File: "units.txt", What: "results", Of: launches, Want: 8, How: "grep -c ^Benchmark"},
		{File: "units.txt", What: "benchmarks", Of: regions, Want: 2, How: "awk '/^Bench/{print $1}' | sort -u"},
		{File: "units.txt", What: "text", Of: total("text-bytes"), Want: "810", How: "awk '/^Bench/{s+=$3} END{print s}'"},
		{File: "zero.txt", What: "results", Of: launches, Want: 12, How: "grep -c ^Benchmark"},
		{File: "zero.txt", What: "y", Of: total("y"), Want: "200", How: "by hand, 0 + 0 + 100 + 100"},
		{File: "zero.txt", What: "values of x", Of: count(func(r *parsertest.Records) int {
			n := 0
			for _, c := range r.Counters {
				if c.Metric == "x" && c.Value.Valid {
					n++
				}
			}
			return n
		}), Want: 4, How: "by hand: zeros are values"},
		{File: "reference.json", What: "benchmarks", Of: regions, Want: 101, How: "jq '.[0].benchmarks|length'"},
		{File: "reference.json", What: "points", Of: launches, Want: 11 * 101, How: "jq '[.[].summaries[]|length]|add'"},
		{File: "reference.json", What: "first ratio", Of: func(r *parsertest.Records) any { return r.Value("All/search/KNN", "ratio") }, Want: 0.9793253476676125, How: "jq '.[0].summaries[0][0].center'"},
	}
	for _, f := range text {
		facts = append(facts, parsertest.Fact{File: f.file, What: "results", Of: launches, Want: f.results, How: f.how},
			parsertest.Fact{File: f.file, What: "seconds", Of: total("sec/op"), Want: fmt.Sprintf("%.9g", f.ns/1e9), How: f.how},
			parsertest.Fact{File: f.file, What: "benchmarks", Of: regions, Want: f.names, How: f.how})
	}
	parsertest.Facts(t, "../../../shared/samples/gobench", facts, nil)
}

var text = []struct {
	file    string
	results int
	ns      float64
	names   int
	how     string
}{
	{"crc-new.txt", 360, 1808836.8, 36, awk},
	{"crc-old.txt", 360, 2055945.9, 36, awk},
	{"20200101T213604.Base.stdout", 1675, 755939933044.56824, 67, awk},
}

const awk = "awk over the lines whose second field is a number: their count, the sum of the fields before ns/op, and distinct pairs of pkg and name"

// Go's own reader of the format finds the same values.
func TestSamplesAsBenchfmtReadsThem(t *testing.T) {
	paths, err := filepath.Glob("../../../shared/samples/gobench/*t")
	if err != nil || len(paths) < 4 {
		t.Fatalf("no samples in ../shared/samples/gobench beside the repository: %v", err)
	}
	for _, path := range paths {
		_, r, err := parsertest.ParseFile(t, path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		values := map[int64]map[string]float64{}
		for _, c := range r.Counters {
			if values[c.Launch] == nil {
				values[c.Launch] = map[string]float64{}
			}
			values[c.Launch][c.Metric] = c.Value.V
		}
		reader, n := benchfmt.NewReader(f, path), int64(0)
		for reader.Scan() {
			res, ok := reader.Result().(*benchfmt.Result)
			if !ok {
				continue
			}
			n++
			if n > int64(len(r.Launches)) {
				break
			}
			got := r.Region(r.Launches[n-1].Region)
			if got.Raw != "Benchmark"+res.Name.String() || got.Module != res.GetConfig("pkg") || values[n]["iterations"] != float64(res.Iters) {
				t.Fatalf("%s: result %d is %+v, want %s of %s", path, n, got, res.Name, res.GetConfig("pkg"))
			}
			for _, v := range res.Values {
				if g := values[n][v.Unit]; math.Abs(g-v.Value) > 1e-14*math.Abs(v.Value) {
					t.Errorf("%s: %s of %s is %v, want %v", path, v.Unit, res.Name, g, v.Value)
				}
			}
		}
		if n != int64(len(r.Launches)) {
			t.Errorf("%s: benchfmt has at least %d results, we %d", path, n, len(r.Launches))
		}
	}
}

const own = `goos: linux
goarch: amd64
pkg: example.com/fft
cpu: Example CPU @ 2.00GHz
Unit p99-ns better=lower
BenchmarkFFT/n=1024/real-8   	    1000	     12.5 ns/op	 100.25 MB/s	      16 B/op	       2 allocs/op	  7 p99-ns
BenchmarkFFT/n=1024/real-8   	    1001	     NaN ns/op
some log line: with a colon
BenchmarkLog-8
    fft_test.go:12: hello
note: second half
BenchmarkOdd-8 10 5 ns/op 3
BenchmarkNum-8 10 x5 ns/op
--- SKIP: BenchmarkGPU
--- FAIL: BenchmarkBroken-8
    fft_test.go:20: no
FAIL
exit status 1
FAIL	example.com/fft	1.234s
pkg: example.com/mul
note:
BenchmarkMul 	 5 	 2 sec/op
PASS
ok  	example.com/mul	0.5s
`

func dump(r *parsertest.Records) string {
	var b strings.Builder
	for _, c := range r.Counters {
		g := r.Region(c.Region)
		fmt.Fprintf(&b, "%d %s %s %s=%g %s (%s %s) %s\n", c.Launch, g.Module, g.Short, c.Metric, c.Value.V, c.Unit, c.RawValue, c.RawUnit, c.Status)
	}
	return b.String()
}

const ownValues = `1 example.com/fft FFT/n=1024/real iterations=1000  (1000 ) ok
1 example.com/fft FFT/n=1024/real sec/op=1.25e-08 s/op (12.5 ns/op) ok
1 example.com/fft FFT/n=1024/real B/s=1.0025e+08 byte/s (100.25 MB/s) ok
1 example.com/fft FFT/n=1024/real B/op=16 byte/op (16 B/op) ok
1 example.com/fft FFT/n=1024/real allocs/op=2 allocs/op (2 allocs/op) ok
1 example.com/fft FFT/n=1024/real p99-sec=7e-09 s (7 p99-ns) ok
2 example.com/fft FFT/n=1024/real iterations=1001  (1001 ) ok
2 example.com/fft FFT/n=1024/real sec/op=0 s/op (NaN ns/op) na
5 example.com/mul Mul iterations=5  (5 ) ok
5 example.com/mul Mul sec/op=2 sec/op (2 sec/op) ok
`

func TestConfigurationNamesUnitsAndFailures(t *testing.T) {
	r := parsertest.MustParse(t, "go-bench", "bench.txt", own)
	if got, want := dump(r), strings.Replace(ownValues, "2 sec/op (", "2 s/op (", 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	attrs := map[string]string{}
	for _, a := range r.Attributes {
		attrs[fmt.Sprint(a.Region, " ", a.Launch, " ", a.Name)] = a.Value
	}
	for key, want := range map[string]string{"1 0 n": "1024", "1 0 sub.2": "real", "1 0 gomaxprocs": "8", "1 1 goos": "linux", "1 2 note": "", "2 3 status": "skip", "3 4 status": "fail", "3 4 note": "second half",
		"4 5 note": "", "4 5 pkg": "example.com/mul", "4 0 gomaxprocs": "", "0 0 unit p99-ns better": "lower"} {
		if attrs[key] != want {
			t.Errorf("attribute %s is %q, want %q", key, attrs[key], want)
		}
	}
	if run := r.Runs[0]; run.Status != datasets.RunFailed || run.Error != "--- FAIL: BenchmarkBroken-8; FAIL example.com/fft 1.234s" || run.TimeMetric != "sec/op" {
		t.Errorf("run %+v", run)
	}
	if m := r.Machines[0]; m.CPU != "Example CPU @ 2.00GHz" || m.Arch != "amd64" {
		t.Errorf("machine %+v", m)
	}
	var warnings []string
	for _, w := range r.Warnings {
		warnings = append(warnings, fmt.Sprint(w.Line, ":", w.Column))
	}
	if strings.Join(warnings, " ") != "12:1 13:19" {
		t.Errorf("warnings %v", r.Warnings)
	}
}

func TestJSONEvents(t *testing.T) {
	const events = `{"Time":"2026-01-02T03:04:05Z","Action":"start","Package":"a"}
{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"a","Output":"goos: linux\n"}
{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"a","Test":"BenchmarkX","Output":"BenchmarkX-2   \t"}
{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"b","Test":"BenchmarkY","Output":"BenchmarkY-2 \t 3 \t 4 ns/op\n"}
{"Time":"2026-01-02T03:04:06Z","Action":"output","Package":"a","Test":"BenchmarkX","Output":"  100\t 20 ns/op\n"}
`
	f, _, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(events), Whole: true})
	if f.Name != "go-bench" {
		t.Errorf("detected as %s: %v", f.Name, err)
	}
	const want = "1 b Y iterations=3  (3 ) ok\n1 b Y sec/op=4e-09 s/op (4 ns/op) ok\n2 a X iterations=100  (100 ) ok\n2 a X sec/op=2e-08 s/op (20 ns/op) ok\n"
	if got := dump(parsertest.MustParse(t, "go-bench", "x", events)); got != want {
		t.Errorf("got\n%s", got)
	}
	parsertest.Truncations(t, "go-bench", "x", events, 1000)
}

// bent names benchmarks of binaries in small letters.
func TestSmallLetters(t *testing.T) {
	const want = "1  gonum_text iterations=1  (1 ) ok\n1  gonum_text text-bytes=33871 byte (33871 text-bytes) ok\n"
	if got := dump(parsertest.MustParse(t, "go-bench", "x", "Benchmarkgonum_text 1 33871 text-bytes\nBenchmarks took 100 seconds\n")); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestSeries(t *testing.T) {
	const s = `[{"unit": "sec/op arm64", "benchmarks": ["A-4", "B-4"], "series": ["c1"], "summaries": [[{"low": 0.5, "center": 0.75, "high": 1, "date": "d", "present": true}, {"low": 0, "center": 0, "high": 0, "present": false}]],
		"hashpairs": {"c1": {"NumHash": "aa", "DenHash": "bb"}}, "residues": [{"s": "cpu", "slice": ["x", "y"]}]}]`
	r := parsertest.MustParse(t, "go-benchseries", "s.json", s)
	var got []string
	for _, c := range r.Counters {
		got = append(got, fmt.Sprint(r.Region(c.Region).Short, " ", c.Metric, " ", c.Instance, " ", c.Value, " ", c.Status))
	}
	want := "A ratio sec/op {0.75 true} ok,A ratio.low sec/op {0.5 true} ok,A ratio.high sec/op {1 true} ok,B ratio sec/op {0 false} missing,B ratio.low sec/op {0 false} missing,B ratio.high sec/op {0 false} missing"
	if strings.Join(got, ",") != want {
		t.Errorf("got %s", strings.Join(got, ","))
	}
	parsertest.Truncations(t, "go-benchseries", "s.json", s, 1000)
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		format, text string
		line, column int
		msg          string
	}{
		{"go-bench", "BenchmarkA 1 2 ns/op", 1, 21, "ends within a line"},
		{"go-bench", "{\"Action\": 1}\n", 1, 1, "no event of go test -json"},
		{"go-benchseries", "[{\"series\": [\"a\"]}]", 1, 19, "not one list of summaries per point"},
		{"go-benchseries", "[{\"series\": [\"a\"], \"benchmarks\": [\"b\"], \"summaries\": [[]]}]", 1, 59, "not one summary per benchmark"},
		{"go-benchseries", "[] []", 1, 5, "goes on after its list"},
	} {
		parsertest.Refused(t, c.format, "p", c.text, c.line, c.column, c.msg)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{own: "go-bench", "BenchmarkA-8 100 5 ns/op\n": "go-bench", "Benchmarkgonum_text 1 5 text-bytes\n": "go-bench", "Benchmarks are 100 5 times\n": "", "Benchmark Time CPU\n": "", "pkg: x\nBenchmarkA\n": "go-bench",
		`{"Time":"x","Action":"run","Test":"TestA"}`: "", "[1]": ""} {
		f, _, _ := collectors.Detect(collectors.Head{Name: "a", Bytes: []byte(text), Whole: true})
		if f.Name != want {
			t.Errorf("%.30q is detected as %q, want %q", text, f.Name, want)
		}
	}
}

func TestTruncations(t *testing.T) { parsertest.Truncations(t, "go-bench", "b", own, 1000) }

func FuzzText(f *testing.F) {
	parsertest.Fuzz(f, "go-bench", own, `{"Action":"output","Output":"BenchmarkA 1 2 x\n"}`)
}
func FuzzSeries(f *testing.F) {
	parsertest.Fuzz(f, "go-benchseries", `[{"series": ["a"], "summaries": [[null]], "benchmarks": [""]}]`)
}
