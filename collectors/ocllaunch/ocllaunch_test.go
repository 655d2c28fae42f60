package ocllaunch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors/ocllaunch"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// two is a file as the layer writes it: a launch of 100 work-items in groups of 64
// has two groups.
const two = `{"rooflab-opencl-launches": 1}
{"kernel": "scale", "global": [100], "local": [64], "start_ns": 1000, "end_ns": 1250, "args": ["buffer:400", "value:07000000", "local:64", ""]}
{"kernel": "turn", "global": [8, 4], "local": [], "start_ns": 2000, "end_ns": 4500, "args": []}
{"kernel": "turn", "global": [8, 4], "local": [4, 2], "args": []}
`

func TestLaunches(t *testing.T) {
	r := parsertest.MustParse(t, ocllaunch.Format, "launches.jsonl", two)
	if len(r.Runs) != 1 || r.Runs[0].Status != datasets.RunOK || r.Runs[0].TimeMetric != "kernel_time" || len(r.Regions) != 2 || len(r.Launches) != 3 {
		t.Fatalf("%+v, regions %+v", r.Runs, r.Regions)
	}
	a, b, c := r.Launches[0], r.Launches[1], r.Launches[2]
	if a.Grid[0].V != 2 || a.Block[0].V != 64 || a.Grid[1].V != 1 || a.DurNs.V != 250 || a.StartNs.V != 0 {
		t.Errorf("%+v", a)
	}
	if b.Grid[0].Valid || b.DurNs.V != 2500 || b.StartNs.V != 1000 || c.DurNs.Valid || c.Grid[0].V != 2 || c.Grid[1].V != 2 {
		t.Errorf("%+v, %+v", b, c)
	}
	if v := r.Value("scale", "kernel_time"); v.V != 250e-9 {
		t.Errorf("kernel_time %v", v)
	}
	args := ""
	for _, x := range r.Attributes {
		if x.Launch == a.ID && x.Name == "args" {
			args = x.Value
		}
	}
	if args != "buffer:400 value:07000000 local:64 " {
		t.Errorf("args %q", args)
	}
	parsertest.CheckReferences(t, r)
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	head := strings.SplitAfter(two, "\n")[0]
	for _, tt := range []struct {
		content, msg string
		line, column int
	}{
		{`{"rooflab-opencl-launches": 7}` + "\n", "of another version", 1, 1},
		{head + "{\n", "JSON", 2, 1},
		{head + `{"kernel": "k", "global": [1,1,1,1]}` + "\n", "4 dimensions", 2, 1},
		{head + `{"kernel": "k", "global": [0]}` + "\n", "size of 0", 2, 1},
		{head + `{"kernel": "k", "global": [4], "local": [1, 1]}` + "\n", "a local one in 2", 2, 1},
		{head + `{"global": [4]}` + "\n", "without the name", 2, 1},
		{head + `{"kernel": "k", "global": [4], "start_ns": 2, "end_ns": 1}` + "\n", "before it began", 2, 1},
		{head + `{"kernel": "k", "global": [4]`, "ends within a line", 2, 30},
	} {
		parsertest.Refused(t, ocllaunch.Format, "launches.jsonl", tt.content, tt.line, tt.column, tt.msg)
	}
	if r := parsertest.MustParse(t, ocllaunch.Format, "launches.jsonl", head); r.Runs[0].Status != datasets.RunEmpty {
		t.Errorf("%+v", r.Runs[0])
	}
}

func FuzzLaunches(f *testing.F) { parsertest.Fuzz(f, ocllaunch.Format, two) }

func TestTruncations(t *testing.T) {
	parsertest.Truncations(t, ocllaunch.Format, "launches.jsonl", two, 1000)
}

// TestTheLayerWatchesAProgram runs a program of C that knows nothing of the layer:
// two launches of one kernel, whose arguments are a buffer of 400 bytes and a number.
func TestTheLayerWatchesAProgram(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Fatal("a C compiler is needed (Debian: apt-get install gcc)")
	}
	if _, err := os.Stat("/etc/OpenCL/vendors/pocl.icd"); err != nil {
		t.Fatal("PoCL is needed (Debian: apt-get install pocl-opencl-icd ocl-icd-libopencl1)")
	}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(argv ...string) {
		t.Helper()
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir = dir
		c.Env = append(os.Environ(), "POCL_CACHE_DIR="+dir, ocllaunch.LayersVariable+"="+filepath.Join(dir, "layer.so"), ocllaunch.FileVariable+"=launches.jsonl")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	program, err := os.ReadFile("testdata/program.c")
	if err != nil {
		t.Fatal(err)
	}
	run(append(append([]string{cc, "-Wall", "-Werror"}, ocllaunch.BuildFlags...), "-o", "layer.so", write("layer.c", ocllaunch.Layer))...)
	run(cc, "-o", "program", write("program.c", program), "-ldl")
	run("./program")
	data, err := os.ReadFile(filepath.Join(dir, "launches.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := parsertest.ParseFile(t, write("watched.jsonl", data))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Launches) != 2 || r.Regions[0].Short != "fill" || !(r.Launches[0].DurNs.V > 0) || r.Launches[1].Block[0].V != 10 || r.Launches[0].Block[0].Valid {
		t.Fatalf("%s", data)
	}
	var args []string
	for _, a := range r.Attributes {
		if a.Name == "args" {
			args = append(args, a.Value)
		}
	}
	if want := "buffer:400 value:07000000"; len(args) != 2 || args[0] != want || args[1] != "buffer:400 value:08000000" {
		t.Errorf("args %q", args)
	}
}
