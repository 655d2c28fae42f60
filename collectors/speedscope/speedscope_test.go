package speedscope_test

import (
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/speedscope"
)

// Two threads that were sampled and one that was traced. The profiles stand
// before the frames, as writers that sort their keys put them.
const threads = `{
 "$schema": "https://www.speedscope.app/file-format-schema.json",
 "exporter": "py-spy@0.3.14", "name": "run", "activeProfileIndex": 0,
 "profiles": [
  {"type": "sampled", "name": "main", "unit": "milliseconds", "startValue": 0, "endValue": 40, "samples": [[0, 1], [0, 1, 2], [0], [0, 1], []], "weights": [10, 10, 5, 15, 3]},
  {"type": "sampled", "name": "worker", "unit": "seconds", "startValue": 0, "endValue": 0.5, "samples": [[0, 2]], "weights": [0.5]},
  {"type": "evented", "name": "traced", "unit": "microseconds", "startValue": 100, "endValue": 200, "events": [
   {"type": "O", "at": 100, "frame": 0}, {"type": "O", "at": 110, "frame": 1}, {"type": "C", "at": 150, "frame": 1},
   {"type": "O", "at": 160, "frame": 1}, {"type": "C", "at": 165, "frame": 1}, {"type": "C", "at": 200, "frame": 0}]}
 ],
 "shared": {"frames": [{"name": "main"}, {"name": "ns::step(int)", "file": "step.cpp", "line": 12, "col": 3}, {"name": "read"}]}
}
`

// value is a profile's counter of a path.
func value(r *parsertest.Records, profile, path, metric string) any {
	for _, c := range r.Counters {
		if c.Metric == metric && r.Path(c.Region) == path && r.Launches[c.Launch-1].ToolID == profile {
			return c.Value.V
		}
	}
	return nil
}

func TestProfilesAreOneTree(t *testing.T) {
	r := parsertest.MustParse(t, "speedscope", "x", threads)
	// By hand from the text above: weights of the same stack added, and of the
	// traced thread the time between events, of the frame on top: main has
	// 10 + 10 + 35 us, step 40 + 5.
	for _, w := range []struct {
		profile, path, metric string
		want                  any
	}{
		{"main", "main/step", "time", 0.025}, {"main", "main/step", "samples", 2.0}, {"main", "main/step/read", "time", 0.01}, {"main", "main", "time", 0.005},
		{"worker", "main/read", "time", 0.5}, {"worker", "main/read", "samples", 1.0}, {"worker", "main/read", "calls", nil},
		{"traced", "main", "time", 55e-6}, {"traced", "main", "calls", 1.0}, {"traced", "main/step", "time", 45e-6}, {"traced", "main/step", "calls", 2.0}, {"traced", "main", "samples", nil},
	} {
		if got := value(r, w.profile, w.path, w.metric); got != w.want {
			t.Errorf("%s of %s in %s is %v, want %v", w.metric, w.path, w.profile, got, w.want)
		}
	}
	if len(r.Regions) != 4 || r.Regions[1].Raw != "ns::step(int)" || r.Runs[0].Tool != "py-spy" || r.Runs[0].ToolVersion != "0.3.14" || r.Runs[0].TimeMetric != "time" {
		t.Errorf("%+v %+v", r.Runs[0], r.Regions)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, `1 samples of the profile "main" have no frame`) {
		t.Errorf("%v", r.Warnings)
	}
	if r.Attribute("file") != "step.cpp" || r.Attribute("line") != "12" || r.Attribute("profile.3.startValue") != "100" {
		t.Errorf("%+v", r.Attributes)
	}
	for _, file := range []string{threads, strings.Replace(threads, "www.speedscope.app/", "", 1)} {
		f, sure, err := collectors.Detect(collectors.Head{Bytes: []byte(file), Whole: true})
		if f.Name != "speedscope" || sure < collectors.Likely {
			t.Errorf("detected as %q, %v, %v", f.Name, sure, err)
		}
	}
	parsertest.Truncations(t, "speedscope", "x", strings.TrimSpace(threads), 300)
}

func TestWhatSpeedscopeRefusesIsRefused(t *testing.T) {
	shared := `"shared": {"frames": [{"name": "a"}, {"name": "b"}]}`
	profile := func(text string) string { return "{" + shared + ",\n\"profiles\": [" + text + "]}" }
	events := func(text string) string {
		return profile(`{"type": "evented", "unit": "none", "events": [` + text + `]}`)
	}
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":              {"", 1, 1, "the file ends within a JSON value"},
		"no profiles":        {"{" + shared + "}", 1, 55, `the file lacks a member: expected "profiles"`},
		"no frames":          {`{"profiles": []}`, 1, 17, `expected "shared"`},
		"more":               {"{" + shared + `, "profiles": []} {`, 1, 73, "goes on after its object"},
		"a nameless frame":   {`{"shared": {"frames": [{"file": "x"}]}}`, 1, 37, "has no name"},
		"a text for a line":  {`{"shared": {"frames": [{"name": "x", "line": "y"}]}}`, 1, 50, "expected a number, found a JSON string"},
		"a type":             {profile(`{"type": "other"}`), 2, 30, `expected "sampled" or "evented", found "other"`},
		"a unit":             {profile(`{"unit": "hours"}`), 2, 30, `found "hours"`},
		"no unit":            {profile(`{"type": "sampled", "samples": [], "weights": []}`), 2, 63, `expected "unit"`},
		"weights":            {profile(`{"type": "sampled", "unit": "none", "samples": [[0]], "weights": []}`), 2, 82, "expected 1 weights, found 0"},
		"samples and events": {profile(`{"type": "sampled", "unit": "none", "samples": [], "weights": [], "events": []}`), 2, 93, "has samples and events"},
		"a frame":            {profile(`{"type": "sampled", "unit": "none", "samples": [[0, 2]], "weights": [1]}`), 2, 67, "expected an index below 2, found 2"},
		"a negative frame":   {profile(`{"type": "sampled", "samples": [[-1]]}`), 2, 49, "a negative index"},
		"a text for a frame": {profile(`{"type": "sampled", "samples": [["a"]]}`), 2, 50, "expected a whole number, found a JSON string"},
		"not closed":         {events(`{"type": "O", "at": 1, "frame": 0}`), 2, 96, "frames are open still"},
		"closed":             {events(`{"type": "C", "at": 1, "frame": 0}`), 2, 95, "none is open"},
		"another closed":     {events(`{"type": "O", "at": 1, "frame": 0}, {"type": "C", "at": 1, "frame": 1}`), 2, 131, "closes another frame"},
		"back in time":       {events(`{"type": "O", "at": 2, "frame": 0}, {"type": "C", "at": 1, "frame": 0}`), 2, 131, "expected a time of at least 2, found 1"},
		"an event's type":    {events(`{"type": "X", "at": 2, "frame": 0}`), 2, 95, `expected "O" or "C"`},
		"half an event":      {events(`{"type": "O", "at": 2}`), 2, 83, "lacks a member"},
	} {
		parsertest.Refused(t, "speedscope", name, c.text, c.line, c.col, c.msg)
	}
}

// A hundred weights of 0.01 are 1, as they are not where each sum is rounded.
func TestWeightsAddUpWithoutRounding(t *testing.T) {
	r := parsertest.MustParse(t, "speedscope", "x", `{"shared": {"frames": [{"name": "a"}]}, "profiles": [{"type": "sampled", "name": "t", "unit": "seconds", "samples": [[0]`+strings.Repeat(",[0]", 99)+`], "weights": [0.01`+strings.Repeat(",0.01", 99)+`]}]}`)
	if got := value(r, "t", "a", "time"); got != 1.0 {
		t.Errorf("the time is %v, want 1", got)
	}
}

func FuzzSpeedscope(f *testing.F) {
	parsertest.Fuzz(f, "speedscope", threads, `{"shared": {"frames": []}, "profiles": []}`, `{"profiles": [{"type": "evented", "events": [{"type": "O", "at": 1e300, "frame": 9}]}]}`)
}
