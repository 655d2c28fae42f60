package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/agents/validate"
	"github.com/rooflab/rooflab/collectors/ocllaunch"
)

// profiler is a collector that works in the sandbox, on a target's own run.
type profiler struct {
	file, format string
	// argv is what comes before the command.
	argv []string
	gpu  bool   // it needs a GPU's devices in the sandbox
	get  string // how to get the program
}

// profilers are those that a target may name in profile.collector. What they write
// has the name of file, or that with an ending of its own.
var profilers = map[string]profiler{
	"valgrind": {file: "profile.callgrind", format: "callgrind", get: "install valgrind",
		argv: []string{"valgrind", "--tool=callgrind", "--callgrind-out-file=profile.callgrind", "--cache-sim=yes", "--branch-sim=yes", "--dump-line=yes", "--"}},
	"perf": {file: "profile.perf", format: "perf-script", get: "install perf (linux-tools of your kernel) and let users count: sudo sysctl kernel.perf_event_paranoid=1",
		argv: []string{"sh", "-c", `perf record -q -o rooflab.data -- "$@" && perf script --no-inline -i rooflab.data > profile.perf`, "perf"}},
	"ncu": {file: "profile.ncu-rep", format: "ncu-rep", gpu: true, get: "install Nsight Compute (developer.nvidia.com/nsight-compute) on a machine with an NVIDIA GPU, and let users read counters (NVreg_RestrictProfilingToAdminUsers=0)",
		argv: []string{"ncu", "--export", "profile.ncu-rep", "--force-overwrite", "--set", "full", "--import-source", "yes", "--target-processes", "all"}},
	"nsys": {file: "profile.sqlite", format: "nsys-sqlite", gpu: true, get: "install Nsight Systems (developer.nvidia.com/nsight-systems) on a machine with an NVIDIA GPU",
		argv: []string{"nsys", "profile", "--output", "profile", "--export", "sqlite", "--force-overwrite", "true", "--trace", "cuda", "--sample", "none", "--cpuctxsw", "none"}},
	"rocprof": {file: "profile.csv", format: "rocprof-csv", gpu: true, get: "install ROCm's rocprof (package rocprofiler) on a machine with an AMD GPU",
		argv: []string{"rocprof", "--timestamp", "on", "-o", "profile.csv"}},
}

// collectorNames are all that profile.collector may be, sorted.
func collectorNames() []string {
	names := []string{"run", openclCollector}
	for name := range profilers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// openclCollector watches the launches of OpenCL programs.
const openclCollector = "opencl"

// profiling is the command that profiles, in the sandbox, the file that it
// leaves there, and its format. No command: the target has none.
func (w *Workbench) profiling(ctx context.Context, p validate.Prepared) (*sandbox.Command, string, string, error) {
	pr := w.Target.Profile
	if pr == nil || pr.Collector == "run" {
		return nil, "", "", nil
	}
	c := p.Original
	c.Limits.Wall, c.Limits.CPU = pr.Timeout.Value(), 0
	if pr.Collector == openclCollector {
		c, err := w.watched(ctx, c)
		return &c, launchesFile, ocllaunch.Format, err
	}
	if pr.Collector != "" {
		tool, ok := profilers[pr.Collector]
		switch {
		case !ok:
			return nil, "", "", fmt.Errorf("profile.collector %q does not work in the sandbox, in which programs are run: take one of %s, or give profile.command with its file",
				pr.Collector, strings.Join(collectorNames(), ", "))
		case tool.gpu && !w.Target.Sandbox.GPU:
			return nil, "", "", fmt.Errorf("profile.collector %q measures a GPU, and the sandbox shows none: say gpu = true in [sandbox]", pr.Collector)
		}
		c.Argv = slices.Concat(tool.argv, c.Argv)
		return &c, tool.file, tool.format, nil
	}
	file := pr.File
	if file == "" {
		file = "rooflab.profile"
	}
	values := map[target.Placeholder]string{target.Profiled: file, target.Seed: fmt.Sprint(p.Seed), target.Size: p.Input["size"]}
	argv, err := pr.Command.Expand(values)
	if err != nil {
		return nil, "", "", err
	}
	c.Argv = argv
	return &c, file, pr.Import, nil
}

// cannotProfile says how to get a profiler that did not do its work.
func (w *Workbench) cannotProfile(err error) error {
	tool, ok := profilers[w.Target.Profile.Collector]
	if !ok {
		return err
	}
	if missing := (*sandbox.StartError)(nil); errors.As(err, &missing) {
		return fmt.Errorf("the profiler %s is not there: %w; %s, or say collector = \"run\"", w.Target.Profile.Collector, err, tool.get)
	}
	return fmt.Errorf("%w; %s", err, tool.get)
}

// profileSize is the size of the input that is profiled, "" for one without.
func (w *Workbench) profileSize() string {
	switch t := w.Target; {
	case t.Profile != nil && t.Profile.Size != "":
		return t.Profile.Size
	case len(t.Inputs.Sizes) > 0:
		return t.Inputs.Sizes[0]
	}
	return ""
}
