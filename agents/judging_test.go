package agents

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/judge"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/ocllaunch"
	"github.com/rooflab/rooflab/datasets"
)

// A judge is told of the launches in the profile of an OpenCL program, equal ones
// once with their number.
func TestJudgesAreToldOfLaunches(t *testing.T) {
	const profile = `{"rooflab-opencl-launches": 1}
{"kernel": "scale", "global": [128], "local": [64], "start_ns": 1000, "end_ns": 1250, "args": ["buf:float:128", "int:7"]}
{"kernel": "scale", "global": [128], "local": [64], "start_ns": 1300, "end_ns": 1500, "args": ["buf:float:128", "int:7"]}
{"kernel": "turn", "global": [8, 4], "local": [], "start_ns": 2000, "end_ns": 4500, "args": []}
`
	dir := t.TempDir()
	s, err := datasets.Open(filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := collectors.Import(t.Context(), s, "launches.jsonl", strings.NewReader(profile), collectors.Options{Format: ocllaunch.Format})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{Workbench: &Workbench{Dir: dir, Target: &target.Target{Language: target.OpenCL}}}
	e := &Evidence{Program: "original", Store: "store.db", Run: sum.Run()}
	got, err := r.launches(t.Context(), e)
	want := []judge.Launch{{Kernel: "scale", Global: []int64{128}, Local: []int64{64}, Args: "buf:float:128 int:7", Count: 2}, {Kernel: "turn", Global: []int64{8, 4}, Count: 1}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	r.Target.Language = target.C
	if got, err := r.launches(t.Context(), e); err != nil || got != nil {
		t.Errorf("a program in C launches %+v (%v)", got, err)
	}
}
