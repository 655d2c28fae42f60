package perf

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/perfscript"
	_ "github.com/rooflab/rooflab/collectors/perfstat"
	"github.com/rooflab/rooflab/datasets"
)

// tool puts a perf into PATH that runs the command and does what a shell
// script says, which finds its options in $args, and those that name files in
// $out, $data and $in.
func tool(t *testing.T, script string) (argsFile string) {
	t.Helper()
	dir := t.TempDir()
	argsFile = filepath.Join(dir, "args")
	text := `#!/bin/sh
if [ "$1" = --version ]; then echo perf version 6.1.7; exit 0; fi
args="$*"
case "$args" in "stat -x ; -e cycles -- true") ;; *) echo "$args" >> ` + argsFile + `;; esac
mode=$1; shift
while [ $# -gt 0 ]; do
	case "$1" in
	--) shift; break;;
	-o) out=$2; shift 2;;
	-i) in=$2; shift 2;;
	*) shift;;
	esac
done
` + script
	if err := os.WriteFile(filepath.Join(dir, "perf"), []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return argsFile
}

func collect(t *testing.T, flags []string, command ...string) *parsertest.Records {
	t.Helper()
	r, err := parsertest.Collect(t, "perf", flags, collectors.Job{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStatCountsEvents(t *testing.T) {
	args := tool(t, `"$@"; rc=$?
printf '# started on Thu Jan  1 00:00:00 2026\n\n2000000;ns;duration_time;2000000;100.00;;\n1.50;msec;task-clock;1500000;100.00;0.750;CPUs utilized\n3000000;;cycles;750000;50.00;2.0;GHz\n6000000;;instructions;1500000;100.00;2.00;insn per cycle\n' > "$out"
exit $rc
`)
	r := collect(t, []string{"-event", "task-clock,cycles", "-event", "instructions", "-repeats", "3", "-option", "--no-big-num"}, "sh", "-c", "exit 0")
	want := "stat -x ; -o * -e duration_time,task-clock,cycles,instructions -r 3 --no-big-num -- sh -c exit 0\n"
	if got := readFile(t, args); !match(want, got) {
		t.Errorf("perf %s", got)
	}
	run := r.Runs[0]
	if run.Status != datasets.RunOK || run.Tool != "perf" || run.ToolVersion != "6.1.7" || run.Command != "sh -c 'exit 0'" || run.InputHash == "" || run.Machine != 1 || r.Machines[0] != host.Machine() {
		t.Errorf("run %+v", run)
	}
	found := map[string]datasets.Counter{}
	for _, c := range r.Counters {
		if c.Instance == "" {
			found[c.Metric] = c
		}
	}
	if c := found["cycles"]; c.Value.V != 3e6 || c.Status != datasets.StatusMultiplexed || c.Coverage.V != 50 {
		t.Errorf("cycles %+v", c)
	}
	if c := found["task-clock"]; c.Value.V != 0.0015 || c.Unit != "s" {
		t.Errorf("task-clock %+v", c)
	}
}

// Two microseconds are too short for a second of processor time, however many
// processors (up to 450,000) this machine has.
func TestADurationThatCannotBeIsNotKept(t *testing.T) {
	tool(t, `printf '2000;ns;duration_time;2000;100.00;2.000;K/sec\n1000.00;msec;task-clock;1000000000;100.00;500000.000;CPUs utilized\n7;;page-faults;1000000000;100.00;7.000;/sec\n' > "$out"
`)
	r := collect(t, []string{"-event", "task-clock,page-faults"}, "true")
	seen := 0
	for _, c := range r.Counters {
		switch {
		case c.Metric == "duration_time" && c.Instance == "", c.Metric == "CPUs utilized", c.Metric == "rate" && c.Instance == "duration_time":
			if seen++; c.Value.Valid || c.Status != datasets.StatusNA {
				t.Errorf("%+v", c)
			}
		case c.Metric == "task-clock" && c.Instance == "" && c.Value.V != 1, c.Metric == "page-faults" && c.Value.V != 7:
			t.Errorf("%+v", c)
		}
	}
	if seen != 3 {
		t.Errorf("%d counters of the elapsed time, want 3", seen)
	}
}

// match compares with a text in which each * stands for a word.
func match(pattern, text string) bool {
	p, w := strings.Split(pattern, " "), strings.Split(text, " ")
	if len(p) != len(w) {
		return false
	}
	for i := range p {
		if p[i] != "*" && p[i] != w[i] {
			return false
		}
	}
	return true
}

const notSupported = `printf '1.50;msec;task-clock;1500000;100.00;0.750;CPUs utilized\n<not supported>;;cycles;0;100.00;;\n<not supported>;;instructions;0;100.00;;\n' > "$out"
`

func TestNoHardwareCounters(t *testing.T) {
	tool(t, notSupported)
	r := collect(t, nil, "true")
	if run := r.Runs[0]; run.Status != datasets.RunUnavailable || !strings.Contains(run.Error, "no hardware counters for cycles, instructions") || !strings.Contains(run.Error, "pmu=on") {
		t.Errorf("run %+v", run)
	}
	for _, c := range r.Counters {
		if c.Metric == "cycles" && (c.Status != datasets.StatusUnsupported || c.Value.Valid) || c.Metric == "task-clock" && c.Instance == "" && c.Value.V != 0.0015 {
			t.Errorf("%+v", c)
		}
	}
	tool(t, `printf '7;;page-faults;1500000;100.00;;\n' > "$out"`)
	if run := collect(t, []string{"-set", "kernel"}, "true").Runs[0]; run.Status != datasets.RunOK {
		t.Errorf("events of the kernel alone: %+v", run)
	}
}

func TestWhatPerfRefuses(t *testing.T) {
	for _, c := range []struct {
		what, script, status, text string
	}{
		{"no permission", "echo 'Error: Access to performance monitoring and observability operations is limited.' >&2; exit 255", datasets.RunDenied, "sysctl kernel.perf_event_paranoid=1"},
		{"an unknown event", `[ -z "$out" ] && { printf '5;;cycles;1;100.00;;\n' >&2; exit 0; }; echo "event syntax error: 'nonsense'" >&2; exit 129`, datasets.RunFailed, "perf ended with exit status 129 and measured nothing: event syntax error: 'nonsense'"},
		{"a name of a hidden processor", `[ -z "$out" ] && { printf '<not supported>;;cycles;0;100.00;;\n' >&2; exit 0; }; echo "event syntax error: 'fp_arith'" >&2; exit 129`, datasets.RunUnavailable, "no hardware counters"},
	} {
		tool(t, c.script+"\n")
		var errs bytes.Buffer
		r, err := parsertest.Collect(t, "perf", nil, collectors.Job{Command: []string{"true"}, Stderr: &errs})
		if err != nil || r.Runs[0].Status != c.status || !strings.Contains(r.Runs[0].Error, c.text) || len(r.Counters) != 0 {
			t.Errorf("%s: %+v, %v", c.what, r.Runs[0], err)
		}
		if errs.Len() == 0 {
			t.Errorf("%s: what perf says does not pass through", c.what)
		}
	}
}

func TestAFailingCommandKeepsItsCounts(t *testing.T) {
	tool(t, `"$@"; rc=$?; printf '5;;cycles;1;100.00;;\n' > "$out"; exit $rc`)
	r := collect(t, nil, "sh", "-c", "exit 3")
	if run := r.Runs[0]; run.Status != datasets.RunFailed || run.Error != "the command ended with exit status 3" || len(r.Counters) == 0 {
		t.Errorf("%+v with %d counters", run, len(r.Counters))
	}
}

func TestRecordTakesSamples(t *testing.T) {
	args := tool(t, `case $mode in
record) "$@"; rc=$?; echo data > "$out"; exit $rc;;
script) [ "$(cat "$in")" = data ] || exit 1
printf 'app 70 1.000100: 10 cycles: \n\t1000 inner+0x1 (/bin/app)\n\t2000 main+0x2 (/bin/app)\n\napp 70 1.000200: 10 cycles: \n\t1000 inner+0x1 (/bin/app)\n\t2000 main+0x2 (/bin/app)\n\n';;
esac
`)
	r := collect(t, []string{"-mode", "record", "-frequency", "99", "-call-graph", "dwarf"}, "true")
	if got := strings.Split(readFile(t, args), "\n"); !match("record -q -o * -F 99 --call-graph dwarf -- true", got[0]) || !match("script --no-inline -i *", got[1]) {
		t.Errorf("perf %q", got)
	}
	if run := r.Runs[0]; run.Status != datasets.RunOK || run.Format != "perf-script" || run.Command != "true" || run.ToolVersion != "6.1.7" {
		t.Errorf("run %+v", run)
	}
	found := false
	for _, g := range r.Regions {
		found = found || g.Short == "inner"
	}
	if !found {
		t.Errorf("regions %+v", r.Regions)
	}
	tool(t, `[ $mode = record ] && echo data > "$out"; exit 0`)
	if run := collect(t, []string{"-mode", "record"}, "true").Runs[0]; run.Status != datasets.RunEmpty || !strings.Contains(run.Error, "too short") {
		t.Errorf("no sample: %+v", run)
	}
}

func TestPermissionOfTheKernel(t *testing.T) {
	const paranoid, status = "proc/sys/kernel/perf_event_paranoid", "proc/self/status"
	for _, c := range []struct {
		what   string
		files  map[string]string
		root   bool
		status string // "" where it is permitted
	}{
		{"2", map[string]string{paranoid: "2\n"}, false, ""},
		{"-1", map[string]string{paranoid: "-1\n"}, false, ""},
		{"Debian's 3", map[string]string{paranoid: "3\n", status: "CapEff:\t0000000000000000\n"}, false, datasets.RunDenied},
		{"4 for root", map[string]string{paranoid: "4\n"}, true, ""},
		{"4 with CAP_PERFMON, bit 38", map[string]string{paranoid: "4\n", status: "CapEff:\t0000004000000000\n"}, false, ""},
		{"4 with CAP_SYS_ADMIN, bit 21", map[string]string{paranoid: "4\n", status: "CapEff:\t0000000000200000\n"}, false, ""},
		{"a kernel without events", nil, true, datasets.RunUnavailable},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			full := filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		if m := permitted(host.At(root), c.root); m != nil {
			got = m.Status
		}
		if got != c.status {
			t.Errorf("%s: %q, want %q", c.what, got, c.status)
		}
	}
}

func TestNoPerf(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(dir, "sh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if run := collect(t, nil, "sh", "-c", "exit 0").Runs[0]; run.Status != datasets.RunUnavailable || !strings.Contains(run.Error, "the tool perf is not in PATH; install") {
		t.Errorf("run %+v", run)
	}
}

func TestWrongUse(t *testing.T) {
	job := collectors.Job{Command: []string{"true"}}
	for _, c := range []struct {
		flags []string
		job   collectors.Job
		want  string
	}{
		{nil, collectors.Job{}, "after --"},
		{[]string{"-mode", "top"}, job, "--mode top"},
		{[]string{"-set", "x"}, job, "--set x"},
		{[]string{"-interval", "5"}, job, "--interval"},
		{[]string{"-call-graph", "x"}, job, "--call-graph x"},
		{[]string{"-repeats", "0"}, job, "--repeats 0"},
	} {
		if _, err := parsertest.Collect(t, "perf", c.flags, c.job); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.flags, err)
		}
	}
}

func TestVersionsThatKnowDuration(t *testing.T) {
	for v, want := range map[string]bool{"5.1.0": false, "5.2": true, "6.1.187": true, "4.18.0-553.el8": false, "": false} {
		if hasDuration(v) != want {
			t.Errorf("%q: %v", v, !want)
		}
	}
}
