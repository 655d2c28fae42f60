package papi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/papi"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

const seven = `{
  "papi_version":"7.0.1.0",
  "cpu_info":"Some CPU",
  "max_cpu_rate_mhz":"3900",
  "min_cpu_rate_mhz":"1200",
  "event_definitions":{
    "perf::TASK-CLOCK":{"component":"perf_event", "type":"delta"},
    "PAPI_TOT_INS":{"component":"perf_event", "type":"delta"}
  },
  "threads":{
    "0":{
      "regions":{
        "0":{"name":"outer", "parent_region_id":"-1", "cycles":"5000", "real_time_nsec":"2000", "perf::TASK-CLOCK":"1900", "PAPI_TOT_INS":"9007199254740993"},
        "1":{"name":"inner", "parent_region_id":"0", "cycles":{"region_value":"3000", "read_1":"1000"}, "real_time_nsec":{"region_value":"1200", "read_1":"400"}, "perf::TASK-CLOCK":"1100", "PAPI_TOT_INS":"70"},
        "2":{"name":"outer", "parent_region_id":"-1", "cycles":"5001", "real_time_nsec":"2001", "perf::TASK-CLOCK":"1901", "PAPI_TOT_INS":"71"}
      }
    },
    "1":{"regions":{"0":{"name":"inner", "parent_region_id":"-1", "cycles":"1", "real_time_nsec":"3", "perf::TASK-CLOCK":"2", "PAPI_TOT_INS":"4"}}}
  }
}
`

const six = `{"cpu in mhz":"2400","threads":[{"id":"0","regions":[{"solve":{"region_count":"2","cycles":"12","PAPI_TOT_INS":"56"}},{"solve":{"region_count":"1","cycles":"13","PAPI_TOT_INS":"57"}}]},
{"id":"7","regions":[{"solve":{"region_count":"1","cycles":"14","PAPI_TOT_INS":"58"}}]}]}
`

func lines(r *parsertest.Records) string {
	var b strings.Builder
	for _, c := range r.Counters {
		l := r.Launches[c.Launch-1]
		fmt.Fprintf(&b, "%d %v/%v %s %s[%s] %v%s %s\n", l.Sequence.V, l.Rank.V, l.Thread.V, r.Path(c.Region), c.Metric, c.Instance, c.Value.V, c.Unit, c.RawValue)
	}
	return b.String()
}

func TestVisitsOfPAPI7(t *testing.T) {
	r := parsertest.MustParse(t, "papi-json", "papi_hl_output/rank_000012.json", seven)
	want := `0 12/0 outer cycles[] 5000 5000
0 12/0 outer real_time_nsec[] 2e-06s 2000
0 12/0 outer perf::TASK-CLOCK[] 1.9e-06s 1900
0 12/0 outer PAPI_TOT_INS[] 9.007199254740992e+15 9007199254740993
1 12/0 outer/inner cycles[] 3000 3000
1 12/0 outer/inner cycles[read_1] 1000 1000
1 12/0 outer/inner real_time_nsec[] 1.2e-06s 1200
1 12/0 outer/inner real_time_nsec[read_1] 4e-07s 400
1 12/0 outer/inner perf::TASK-CLOCK[] 1.1e-06s 1100
1 12/0 outer/inner PAPI_TOT_INS[] 70 70
2 12/0 outer cycles[] 5001 5001
2 12/0 outer real_time_nsec[] 2.001e-06s 2001
2 12/0 outer perf::TASK-CLOCK[] 1.901e-06s 1901
2 12/0 outer PAPI_TOT_INS[] 71 71
3 12/1 inner cycles[] 1 1
3 12/1 inner real_time_nsec[] 3e-09s 3
3 12/1 inner perf::TASK-CLOCK[] 2e-09s 2
3 12/1 inner PAPI_TOT_INS[] 4 4
`
	if got := lines(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	run, m := r.Runs[0], r.Machines[0]
	if len(r.Regions) != 3 || run.ToolVersion != "7.0.1.0" || run.TimeMetric != "real_time_nsec" || !run.TimeInclusive || m.CPU != "Some CPU" || m.ClockHz.V != 3.9e9 || r.Launches[1].DurNs.V != 1200 {
		t.Errorf("%+v\n%+v\n%+v\n%+v", r.Regions, run, m, r.Launches[1])
	}
}

func TestRegionsOfPAPI6(t *testing.T) {
	want := "0 0/0 solve region_count[] 2 2\n0 0/0 solve cycles[] 12 12\n0 0/0 solve PAPI_TOT_INS[] 56 56\n1 0/0 solve region_count[] 1 1\n1 0/0 solve cycles[] 13 13\n1 0/0 solve PAPI_TOT_INS[] 57 57\n2 0/7 solve region_count[] 1 1\n2 0/7 solve cycles[] 14 14\n2 0/7 solve PAPI_TOT_INS[] 58 58\n"
	// Also with the regions of a thread in one object, where a key repeats.
	object := strings.NewReplacer("[{\"solve\"", "{\"solve\"", "}},{\"solve\"", "},\"solve\"", "}}]}", "}}}").Replace(six)
	merged := `{"ranks":[{"id":"3","threads":` + strings.TrimSuffix(strings.TrimPrefix(six, `{"cpu in mhz":"2400","threads":`), "}\n") + "}]}\n"
	for name, text := range map[string]string{"list": six, "object": object, "merged": merged} {
		r := parsertest.MustParse(t, "papi-json", "out.json", text)
		w := want
		if name == "merged" {
			w = strings.ReplaceAll(want, " 0/", " 3/")
		}
		if got := lines(r); got != w {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, w)
		}
		if name != "merged" && r.Launches[0].Rank.Valid {
			t.Errorf("%s: a file of another name has the rank %v", name, r.Launches[0].Rank)
		}
		if len(r.Regions) != 1 || r.Runs[0].TimeMetric != "cycles" {
			t.Errorf("%s: %+v %+v", name, r.Regions, r.Runs)
		}
		f, sure, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(text), Whole: true})
		if err != nil || f.Name != "papi-json" || sure != collectors.Certain {
			t.Errorf("%s is detected as %q, %v, %v", name, f.Name, sure, err)
		}
	}
}

func TestNoRegionIsAnEmptyRun(t *testing.T) {
	r := parsertest.MustParse(t, "papi-json", "x", `{"papi_version":"7.0.0.0","threads":{"0":{"regions":{}}}}`)
	if r.Runs[0].Status != datasets.RunEmpty {
		t.Errorf("%+v", r.Runs[0])
	}
}

func TestDamagedFilesAreRefusedWithTheirPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":          {"", 1, 1, "the file ends within a JSON value"},
		"no object":      {"3", 1, 1, "holds no measurement"},
		"no threads":     {"{\"papi_version\":\"7\"}", 1, 1, "the object has no threads"},
		"no regions":     {"{\"threads\":{\n\"0\":{}}}", 2, 5, "the thread has no regions"},
		"no number":      {"{\"threads\":[{\"id\":\"0\",\"regions\":[{\"a\":{\"cycles\":\"x\"}}]}]}", 1, 49, "the value of cycles is no number"},
		"unknown parent": {"{\"threads\":{\"0\":{\"regions\":{\"0\":{\"name\":\"a\",\"parent_region_id\":\"5\"}}}}}", 1, 64, "within one that the thread does not have"},
		"cut":            {six[:60], 1, 61, "the file ends within a JSON value"},
		"more":           {"{\"threads\":[]} {}", 1, 17, "something follows"},
	} {
		parsertest.Refused(t, "papi-json", name, c.text, c.line, c.col, c.msg)
	}
	deep := strings.Repeat("[", 100000)
	if _, err := parsertest.Parse("papi-json", "f", deep); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
		t.Errorf("100000 brackets: %v", err)
	}
}

func TestOtherJSONIsNotPAPIs(t *testing.T) {
	f, err := collectors.Lookup("papi-json")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "[]", `{"traceEvents":[]}`, `{"threads":[1]}`, `{"data":[[1]],"columns":[],"nodes":[]}`} {
		if c := f.Detect(collectors.Head{Bytes: []byte(text), Whole: true}); c != collectors.No {
			t.Errorf("%q is taken for PAPI's: %v", text, c)
		}
	}
}

func TestCutFilesGiveNoOtherValues(t *testing.T) {
	parsertest.Truncations(t, "papi-json", "x", seven, 500)
}

func FuzzPAPI(f *testing.F) { parsertest.Fuzz(f, "papi-json", seven, six, "{}") }
