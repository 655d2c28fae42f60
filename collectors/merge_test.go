package collectors_test

import (
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// emit writes one record of every kind, with ids and references of 1.
func emit(t *testing.T, s datasets.Sink) {
	t.Helper()
	for _, r := range []datasets.Record{
		&datasets.PCSample{Run: 1, Launch: 1, Code: 1, Reason: "selected"}, // before what it refers to
		&datasets.Machine{ID: 1, CPU: "file"},
		&datasets.Run{ID: 1, Machine: 1, Tool: "t", Status: datasets.RunOK},
		&datasets.Ceiling{Machine: 1, Run: 1, Level: "dram"},
		&datasets.Region{ID: 1, Run: 1, Raw: "a", Short: "a"},
		&datasets.Region{ID: 2, Run: 1, Parent: 1, Raw: "b", Short: "b"},
		&datasets.Launch{ID: 1, Run: 1, Region: 2},
		&datasets.Counter{Run: 1, Region: 2, Launch: 1, Metric: "m"},
		&datasets.Counter{Run: 1, Region: 2, Metric: "m"}, // of the region as a whole
		&datasets.Code{ID: 1, Run: 1, Region: 2},
		&datasets.StaticFeature{Run: 1, Region: 2, Name: "f"},
		&datasets.Telemetry{Run: 1, Sensor: "s"},
		&datasets.Attribute{Run: 1, Name: "n"},
	} {
		if err := s.Put(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMergedParsesKeepTheirReferences(t *testing.T) {
	recs := &parsertest.Records{}
	m := &collectors.Merge{To: recs, Run: func(r *datasets.Run) { r.Command = "c" }}
	m.Reserve("region", 10)
	emit(t, m)
	m.Next()
	emit(t, m)
	for i, want := range []int64{1, 2} {
		if recs.Runs[i].ID != want || recs.Runs[i].Machine != want || recs.Runs[i].Command != "c" || recs.Machines[i].ID != want || recs.Ceilings[i].Machine != want || recs.Ceilings[i].Run != want {
			t.Errorf("run %+v, machine %+v, ceiling %+v", recs.Runs[i], recs.Machines[i], recs.Ceilings[i])
		}
		a, b := recs.Regions[2*i], recs.Regions[2*i+1]
		if a.ID != 10+2*want-1 || b.ID != 10+2*want || a.Parent != 0 || b.Parent != a.ID || b.Run != want {
			t.Errorf("regions %+v, %+v", a, b)
		}
		l, c, whole, code := recs.Launches[i], recs.Counters[2*i], recs.Counters[2*i+1], recs.Codes[i]
		if l.ID != want || l.Region != b.ID || c.Launch != want || c.Region != b.ID || whole.Launch != 0 || code.ID != want || code.Region != b.ID {
			t.Errorf("launch %+v, counters %+v, %+v, code %+v", l, c, whole, code)
		}
		if s := recs.Samples[i]; s.Run != want || s.Launch != want || s.Code != want {
			t.Errorf("sample %+v", s)
		}
		if recs.Features[i].Region != b.ID || recs.Telemetry[i].Run != want || recs.Attributes[i].Run != want || recs.Attributes[i].Region != 0 {
			t.Errorf("feature %+v, telemetry %+v, attribute %+v", recs.Features[i], recs.Telemetry[i], recs.Attributes[i])
		}
	}
}

func TestMergedParsesOfOneMachine(t *testing.T) {
	recs := &parsertest.Records{}
	m := &collectors.Merge{To: recs, Machine: 7}
	emit(t, m)
	m.Next()
	emit(t, m)
	if len(recs.Machines) != 0 || recs.Runs[0].Machine != 7 || recs.Runs[1].Machine != 7 || recs.Ceilings[1].Machine != 7 {
		t.Errorf("machines %+v, runs %+v", recs.Machines, recs.Runs)
	}
}

func TestCommandLineReadsAsAShellWould(t *testing.T) {
	for want, words := range map[string][]string{
		`./a.out -n 5 --x=1,2`: {"./a.out", "-n", "5", "--x=1,2"},
		`sh -c 'a b' ''`:       {"sh", "-c", "a b", ""},
		`e 'it'\''s' '$x' '*'`: {"e", "it's", "$x", "*"},
		`é ü`:                  {"é", "ü"},
	} {
		if got := collectors.CommandLine(words); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}
