package hyperfine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/hyperfine"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

const export = `{
  "results": [
    {
      "command": "./solve -n 100", "mean": 0.25, "stddev": 0.05, "median": 0.25, "user": 0.2, "system": 0.01, "min": 0.2, "max": 0.3,
      "times": [0.2, 0.3, 0.25], "memory_usage_byte": [1048576, 2097152, 1048576], "exit_codes": [0, 0, 0],
      "parameters": {"n": "100", "size": "big"}
    },
    {
      "command": "./solve -n 1", "mean": 0.001234567, "stddev": null, "median": 0.001234567, "user": 0.001, "system": 0.0, "min": 0.001234567, "max": 0.001234567,
      "times": [0.001234567], "exit_codes": [null]
    }
  ]
}
`

func TestTimesAndWhatHyperfineMakesOfThem(t *testing.T) {
	r := parsertest.MustParse(t, "hyperfine", "x", export)
	// By hand from the text: the sums of the lists.
	for metric, want := range map[string]float64{"time.wall": 0.2 + 0.3 + 0.25 + 0.001234567, "memory.rss.max": 4 << 20, "exit_status": 0, "time.user.mean": 0.201} {
		if got := r.Total(metric); got != want {
			t.Errorf("%s add up to %v, want %v", metric, got, want)
		}
	}
	if v := r.Value("./solve -n 100", "time.wall.stddev"); v != datasets.Some(0.05) {
		t.Errorf("the standard deviation is %v", v)
	}
	if l := r.Launches; len(l) != 4 || l[3].DurNs != datasets.Some(int64(1234567)) || l[3].Region != 2 {
		t.Errorf("launches %+v", l)
	}
	for _, c := range r.Counters {
		if na := c.Region == 2 && (c.Metric == "time.wall.stddev" || c.Metric == "exit_status"); na != (c.Status == datasets.StatusNA) {
			t.Errorf("%+v", c)
		}
	}
	if r.Attribute("parameter.n") != "100" || r.Runs[0].Status != datasets.RunFailed || !strings.Contains(r.Runs[0].Error, "1 runs") {
		t.Errorf("%+v %+v", r.Attributes, r.Runs)
	}
	f, sure, err := collectors.Detect(collectors.Head{Bytes: []byte(export), Whole: true})
	if f.Name != "hyperfine" || sure != collectors.Certain {
		t.Errorf("detected as %q, %v, %v", f.Name, sure, err)
	}
	parsertest.Truncations(t, "hyperfine", "x", strings.TrimSpace(export), 200)
}

// Exports of old versions have no times of single runs.
func TestSummariesAlone(t *testing.T) {
	r := parsertest.MustParse(t, "hyperfine", "x", `{"results": [{"command": "a", "mean": 1.5, "stddev": 0.1, "user": 1, "system": 0.1, "min": 1, "max": 2, "parameter": 4}]}`)
	if len(r.Launches) != 0 || r.Value("a", "time.wall.mean") != datasets.Some(1.5) || r.Runs[0].TimeMetric != "time.wall.mean" || r.Attribute("parameter") != "4" {
		t.Errorf("%+v %+v", r.Runs, r.Counters)
	}
}

func TestBrokenExportsAreRefusedWithTheirPlace(t *testing.T) {
	one := func(text string) string { return "{\"results\": [\n{" + text + "}]}" }
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":         {"", 1, 1, "the file ends within a JSON value"},
		"other":         {`{"a": 1}`, 1, 9, `expected "results"`},
		"more":          {`{"results": []} {`, 1, 18, "goes on after its object"},
		"no command":    {one(`"mean": 1`), 2, 12, "names no command"},
		"no time":       {one(`"command": "a"`), 2, 17, "has no time"},
		"a text":        {one(`"command": "a", "mean": "fast"`), 2, 33, `expected a number, found "fast"`},
		"negative":      {one(`"command": "a", "times": [-1]`), 2, 32, "can be none"},
		"too large":     {one(`"command": "a", "mean": 1e999`), 2, 32, "does not fit"},
		"exit codes":    {one(`"command": "a", "times": [1], "exit_codes": []`), 2, 49, "expected 1, found 0"},
		"use of memory": {one(`"command": "a", "times": [1], "memory_usage_byte": [1, 2]`), 2, 60, "expected 1, found 2"},
	} {
		parsertest.Refused(t, "hyperfine", name, c.text, c.line, c.col, c.msg)
	}
	var refused *collectors.UnsupportedError
	if _, err := parsertest.Parse("hyperfine", "x", `{"schema_version": 2, "results": []}`); !errors.As(err, &refused) || !strings.Contains(err.Error(), "hyperfine 1") {
		t.Errorf("%v", err)
	}
}

func FuzzHyperfine(f *testing.F) {
	parsertest.Fuzz(f, "hyperfine", export, `{"results": [{"command": "a", "times": [1e30], "exit_codes": [null]}]}`)
}
