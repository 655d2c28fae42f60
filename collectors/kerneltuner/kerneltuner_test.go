package kerneltuner_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/kerneltuner"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// configuration is the launch of a cache's key.
func configuration(r *parsertest.Records, key string) int64 {
	for _, l := range r.Launches {
		if l.ToolID == key {
			return l.ID
		}
	}
	return -1
}

// of finds a counter of a configuration.
func of(key, metric, instance string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		id := configuration(r, key)
		for _, c := range r.Counters {
			if c.Launch == id && c.Metric == metric && c.Instance == instance {
				if !c.Value.Valid {
					return c.Status + " " + c.RawValue
				}
				return c.Value
			}
		}
		return "absent"
	}
}

func attribute(key, name string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		id := int64(0)
		if key != "" {
			id = configuration(r, key)
		}
		for _, a := range r.Attributes {
			if a.Launch == id && a.Name == name {
				return a.Value
			}
		}
		return "absent"
	}
}

func failures(invalidity string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		n := 0
		for _, a := range r.Attributes {
			if a.Name == "invalidity" && a.Value == invalidity {
				n++
			}
		}
		return n
	}
}

func launches(r *parsertest.Records) any { return len(r.Launches) }

func TestMeasuredCaches(t *testing.T) {
	const how = "python3: json.load of the file"
	parsertest.Facts(t, "../../../shared/data/kernel-tuner", []parsertest.Fact{
		{File: "time_energy.json", What: "configurations", Of: launches, Want: 15, How: how},
		{File: "time_energy.json", What: "seconds of 128,1080", Of: of("128,1080", "time", ""), Want: 3.165401004254818e-3, How: how},
		{File: "time_energy.json", What: "joules of 256,1080", Of: of("256,1080", "ps_energy", ""), Want: 0.2358061059384572, How: how},
		{File: "time_energy.json", What: "third repeat of 192,1080", Of: of("192,1080", "times", "2"), Want: 3.1590399742126465e-3, How: how},
	}, nil)
	for _, f := range hub {
		format, r, err := parsertest.ParseFile(t, filepath.Join("../../../shared/data/kernel-tuner-hub", f.file))
		if err != nil || format != "kernel-tuner-cache" {
			t.Errorf("%s: %s, %v: the folder shared/ must lie beside the repository", f.file, format, err)
			continue
		}
		parsertest.CheckReferences(t, r)
		got := fmt.Sprintf("%v %v %v %.9g", launches(r), failures("runtime")(r), failures("compile")(r), r.Total("time"))
		if want := fmt.Sprintf("%d %d %d %.9g", f.all, f.runtime, f.compile, f.ms/1000); got != want {
			t.Errorf("%s: configurations, failures and seconds are %s, want %s (%s)", f.file, got, want, hubHow)
		}
	}
}

// hub are facts about the caches of the benchmark hub: configurations, failures
// and the sum of the good times in milliseconds.
var hub = []struct {
	file                  string
	all, runtime, compile int
	ms                    float64
}{
	{"convolution_milo-A100.json.gz", 4362, 155, 6, 9618.212226247415},
	{"convolution_milo-W6600.json.gz", 4362, 0, 0, 345510.96354531497},
}

const hubHow = "python3: json.load, Counter of the times that are strings, math.fsum of the others"

func TestCache(t *testing.T) {
	r := parsertest.MustParse(t, "kernel-tuner-cache", "cache.json", fixture(t, "cache.json"))
	for _, c := range []struct {
		what string
		of   func(*parsertest.Records) any
		want any
	}{
		{"time", of("32,1,row", "time", ""), "{0.0025 true}"}, {"second repeat", of("32,1,row", "times", "1"), "{0.00275 true}"},
		{"rate", of("32,1,row", "GFLOP/s", ""), "{8.005e+11 true}"}, {"energy", of("32,1,row", "nvml_energy", ""), "{0.5 true}"},
		{"clock", of("32,1,row", "core_freq", ""), "{1.41e+09 true}"}, {"not a number", of("32,1,row", "myload", ""), "na NaN"},
		{"failure", of("32,2,row", "time", ""), "na CompilationFailedConfig"}, {"its build", of("32,2,row", "compile_time", ""), "{0.09 true}"},
		{"old failure", of("64,3,row", "time", ""), "na 1e20"}, {"parameter", attribute("64,1,tile", "layout"), `{"tile":4}`}, {"parameter 2", attribute("64,2,row", "unroll"), "2"},
		{"good", attribute("32,1,row", "invalidity"), "correct"}, {"compile", attribute("32,2,row", "invalidity"), "compile"}, {"runtime", attribute("64,1,tile", "invalidity"), "runtime"},
		{"constraints", attribute("64,2,row", "invalidity"), "constraints"}, {"unknown", attribute("64,3,row", "invalidity"), "unknown"}, {"flags", attribute("32,1,row", "flags"), `["-O3"]`},
		{"objective", attribute("", "objective"), "time"}, {"size", attribute("", "problem_size"), "[512,256]"}, {"space", attribute("", "tune_params.unroll"), "[1,2]"},
	} {
		if got := fmt.Sprint(c.of(r)); got != c.want {
			t.Errorf("%s is %s, want %s", c.what, got, c.want)
		}
	}
	l := r.Launches[0]
	if l.DurNs != datasets.Some[int64](2500000) || l.Block[0] != datasets.Some[int64](32) || l.Block[1].Valid || r.Launches[1].DurNs.Valid {
		t.Errorf("launch %+v", l)
	}
	if g := r.Regions[0]; g.Raw != "heat::step<float>" || g.Short != "step" || g.Kind != datasets.KindKernel {
		t.Errorf("region %+v", g)
	}
	if r.Machines[0].GPU != "NVIDIA Example" || r.Runs[0].TimeMetric != "time" || r.Runs[0].FormatVersion != "1.1.0" || len(r.Warnings) > 0 {
		t.Errorf("%+v %+v %v", r.Machines, r.Runs, r.Warnings)
	}
}

// Kernel Tuner adds the last braces when it has finished.
func TestOpenCache(t *testing.T) {
	whole := fixture(t, "cache.json")
	for _, c := range []struct {
		name, text string
		n          int
	}{
		{"without braces", strings.TrimSuffix(whole, "}\n}\n"), 5},
		{"with a comma", strings.TrimSuffix(whole, "}\n}\n") + ",\n", 5},
		{"one brace", strings.TrimSuffix(whole, "}\n"), 5},
		{"killed within an entry", whole[:strings.Index(whole, `"RuntimeFailedConfig"`)+5], 2},
		{"killed within the second entry", whole[:strings.Index(whole, "CompilationFailed")], 1},
		{"no entry yet", whole[:strings.Index(whole, `"32,1,row"`)], 0},
	} {
		r := parsertest.MustParse(t, "kernel-tuner-cache", "cache.json", c.text)
		if len(r.Launches) != c.n || len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0].Msg, fmt.Sprintf("the cache is open: the tuning was going on, or it was killed; %d configurations are whole", c.n)) {
			t.Errorf("%s: %d configurations, warnings %v", c.name, len(r.Launches), r.Warnings)
		}
	}
}

func TestConfigurationsThatWereMeasuredTwice(t *testing.T) {
	r := parsertest.MustParse(t, "kernel-tuner-cache", "c", "{\"tune_params_keys\": [\"a\"],\n\"cache\": {\"1\": {\"a\": 1, \"time\": 2}, \"1\": {\"a\": 1, \"time\": 3}}}")
	if len(r.Launches) != 2 || r.Total("time") != 0.005 || len(r.Warnings) != 1 || r.Warnings[0].Line != 2 {
		t.Errorf("%+v %v", r.Launches, r.Warnings)
	}
}

func TestCacheWithSortedKeys(t *testing.T) {
	r := parsertest.MustParse(t, "kernel-tuner-cache", "c", `{"cache": {"32": {"b": 32, "compile_time": 1, "framework_time": 1, "time": 5, "timestamp": "x"}}, "device_name": "D", "kernel_name": "k", "tune_params_keys": ["b"]}`)
	if v := attribute("32", "b")(r); v != "32" || len(r.Counters) != 3 {
		t.Errorf("b is %v, %+v", v, r.Counters)
	}
}

func TestT4(t *testing.T) {
	r := parsertest.MustParse(t, "kernel-tuner-t4", "t4.json", fixture(t, "t4.json"))
	get := func(launch int64, metric, instance string) string {
		for _, c := range r.Counters {
			if c.Launch == launch && c.Metric == metric && c.Instance == instance {
				return fmt.Sprintf("%v %s %s", c.Value.V, c.Unit, c.Status)
			}
		}
		return "absent"
	}
	for _, c := range []struct {
		launch                 int64
		metric, instance, want string
	}{
		{1, "time", "", "1.3e-05 s ok"}, {1, "runtimes", "1", "1.35e-05 s ok"}, {1, "compilation_time", "", "0.0015005 s ok"}, {1, "power_usage", "", "61 W ok"},
		{1, "voltages", "1", "0.0025 V ok"}, {1, "dram__sectors_read.sum", "", "4096  ok"}, {1, "local_memory_size", "", "128  ok"}, {1, "correctness", "", "1  ok"},
		{2, "time", "", "0 s na"}, {2, "runtimes", "0", "0 s na"}, {2, "compilation_time", "", "0.0009 s ok"},
	} {
		if got := get(c.launch, c.metric, c.instance); got != c.want {
			t.Errorf("%s %s of %d is %s, want %s", c.metric, c.instance, c.launch, got, c.want)
		}
	}
	l := r.Launches[0]
	if l.DurNs != datasets.Some[int64](13000) || l.Regs != datasets.Some[int64](40) || l.Block != [3]datasets.Null[int64]{datasets.Some[int64](64), datasets.Some[int64](2), datasets.Some[int64](1)} || r.Launches[1].DurNs.Valid {
		t.Errorf("launches %+v", r.Launches)
	}
	if run := r.Runs[0]; run.Tool != "KTT" || run.ToolVersion != "2.2.0" || run.FormatVersion != "1.0.0" || r.Machines[0].GPU != "Tesla T10" || len(r.Warnings) > 0 {
		t.Errorf("%+v %v", run, r.Warnings)
	}
	// Without metadata nothing tells the unit of the times.
	r = parsertest.MustParse(t, "kernel-tuner-t4", "t4.json", `{"results": [{"configuration": {"b": 1}, "times": {"runtimes": [12.5]}, "invalidity": "correct", "correctness": 1, "measurements": [{"name": "time", "value": 12.5, "unit": ""}]}]}`)
	for _, c := range r.Counters {
		if c.Unit != "" || c.RawUnit != "" {
			t.Errorf("%+v has a unit", c)
		}
	}
	if len(r.Warnings) != 1 || r.Launches[0].DurNs.Valid {
		t.Errorf("%v, %+v", r.Warnings, r.Launches)
	}
	// Kernel Tuner names it at the measurement.
	r = parsertest.MustParse(t, "kernel-tuner-t4", "t4.json", `{"results": [{"configuration": {"b": 1}, "times": {"benchmark": 3, "runtimes": [12.5]}, "invalidity": "correct", "correctness": 1, "measurements": [{"name": "time", "value": 12.5, "unit": "ms"}]}]}`)
	if c := r.Counters[0]; c.Metric != "benchmark" || c.Value.V != 0.003 || r.Launches[0].DurNs.V != 12500000 {
		t.Errorf("%+v", c)
	}
}

func TestT1(t *testing.T) {
	r := parsertest.MustParse(t, "kernel-tuner-t1", "t1.json", `{"General": {"BenchmarkName": "heat"}, "ConfigurationSpace": {"TuningParameters": [{"Name": "block", "Type": "int", "Values": "[32, 64]", "Default": 32}],
		"Conditions": [{"Expression": "block <= 1024", "Parameters": ["block"]}]}, "KernelSpecification": {"Language": "CUDA", "KernelName": "step", "ProblemSize": [512, 256], "Stream": null}}`)
	var got []string
	for _, a := range r.Attributes {
		got = append(got, a.Name+"="+a.Value)
	}
	want := `General.BenchmarkName=heat
ConfigurationSpace.Conditions.0.Expression=block <= 1024
ConfigurationSpace.Conditions.0.Parameters=["block"]
ConfigurationSpace.TuningParameters.block.Default=32
ConfigurationSpace.TuningParameters.block.Name=block
ConfigurationSpace.TuningParameters.block.Type=int
ConfigurationSpace.TuningParameters.block.Values=[32, 64]
KernelSpecification.KernelName=step
KernelSpecification.Language=CUDA
KernelSpecification.ProblemSize=[512,256]`
	if strings.Join(got, "\n") != want {
		t.Errorf("attributes\n%s", strings.Join(got, "\n"))
	}
	if r.Regions[0].Raw != "step" || r.Runs[0].Status != datasets.RunEmpty {
		t.Errorf("%+v %+v", r.Regions, r.Runs)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		format, text string
		line, column int
		msg          string
	}{
		{"kernel-tuner-cache", "{\"tune_params_keys\": [\"a\"],\n\"cache\": {\"1\": {\"a\": 1, \"a\": 2}}}", 2, 28, "has a member twice"},
		{"kernel-tuner-cache", "{\"cache\": {\"1\": {\"time\": 1}}}", 1, 30, "lacks a member"},
		{"kernel-tuner-cache", "{\"tune_params_keys\": [\"a\"]", 1, 27, "the file ends within a JSON value"},
		{"kernel-tuner-cache", "{\"tune_params_keys\": 3}", 1, 23, "no list"},
		{"kernel-tuner-cache", "{\"tune_params_keys\": [\"a\"], \"cache\": {\"1\": {\"time\": 1e999}}}", 1, 59, "fits no number of 64 bits"},
		{"kernel-tuner-cache", "{\"tune_params_keys\": [\"a\"], \"cache\": [1]}", 1, 39, `reading "cache"`},
		{"kernel-tuner-t4", "{\"results\": [{\"configuration\": {}}]}", 1, 35, "lacks its configuration or its invalidity"},
		{"kernel-tuner-t4", "{\"results\": [{\"configuration\": {}, \"invalidity\": \"correct\", \"measurements\": [{}]}]}", 1, 82, "a measurement"},
		{"kernel-tuner-t4", "{\"schema_version\": \"1.0.0\"}", 1, 28, "lacks a member"},
		{"kernel-tuner-t4", "{\"results\": []}{}", 1, 17, "goes on after its object"},
		{"kernel-tuner-t1", "{\"General\": {", 1, 14, "the file ends within a JSON value"},
	} {
		parsertest.Refused(t, c.format, "p", c.text, c.line, c.column, c.msg)
	}
	for format, text := range map[string]string{"kernel-tuner-cache": `{"schema_version": "2.0.0"}`, "kernel-tuner-t4": `{"schema_version": "3.1"}`} {
		var u *collectors.UnsupportedError
		if _, err := parsertest.Parse(format, "p", text); !errors.As(err, &u) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		fixture(t, "cache.json"): "kernel-tuner-cache",
		fixture(t, "t4.json"):    "kernel-tuner-t4",
		`{"cache": {"32": {"b": 32, "compile_time": 1, "framework_time": 1, "time": 5}}`:             "kernel-tuner-cache",
		`{"General": {}, "ConfigurationSpace": {"TuningParameters": []}, "KernelSpecification": {}}`: "kernel-tuner-t1",
		`{"results": [{"time": 1}]}`:                         "",
		`{"Metadata": {"KttVersion": "2.1"}, "Results": []}`: "",
	} {
		f, _, _ := collectors.Detect(collectors.Head{Name: "a.json", Bytes: []byte(text), Whole: true})
		if f.Name != want {
			t.Errorf("%.40s is detected as %q, want %q", text, f.Name, want)
		}
	}
}

func TestTruncations(t *testing.T) {
	parsertest.Truncations(t, "kernel-tuner-cache", "cache.json", fixture(t, "cache.json"), 1500)
	parsertest.Truncations(t, "kernel-tuner-t4", "t4.json", fixture(t, "t4.json"), 1500)
}

func FuzzCache(f *testing.F) {
	parsertest.Fuzz(f, "kernel-tuner-cache", fixture(f, "cache.json"), `{"cache": {"": {"time": NaN}}, "tune_params_keys": []}`)
}
func FuzzT4(f *testing.F) {
	parsertest.Fuzz(f, "kernel-tuner-t4", fixture(f, "t4.json"), `{"results": [{"configuration": {}, "invalidity": "", "times": {"a": []}}]}`)
}
func FuzzT1(f *testing.F) {
	parsertest.Fuzz(f, "kernel-tuner-t1", `{"General": {"a": [{"Name": "b"}]}}`)
}
