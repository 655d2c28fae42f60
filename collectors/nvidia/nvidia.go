// Package nvidia has the collectors "ncu" and "nsys": they run a command under
// Nsight Compute, which measures the metrics of each kernel, or Nsight Systems,
// which records when each kernel and copy ran. In flows a command, out flow
// the runs that the formats make of the tools' files.
package nvidia

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.RegisterCollector(collectors.Collector{
		Name:    "ncu",
		About:   "metrics of each CUDA kernel by Nsight Compute: roofline, warp stalls by instruction, or all",
		Version: 1,
		New:     newNCU,
		Check:   func(ctx context.Context) error { return check(ctx, "ncu", ncuPlaces, ncuFix) },
	})
	collectors.RegisterCollector(collectors.Collector{
		Name:    "nsys",
		About:   "timeline of CUDA kernels, copies, calls and NVTX ranges by Nsight Systems",
		Version: 1,
		New:     newNsys,
		Check:   func(ctx context.Context) error { return check(ctx, "nsys", nsysPlaces, nsysFix) },
	})
}

// Where the tools lie when nobody put them into PATH, later versions last.
var (
	ncuPlaces  = []string{"/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu", "/usr/local/NVIDIA-Nsight-Compute*/ncu"}
	nsysPlaces = []string{"/usr/local/cuda/bin/nsys", "/opt/nvidia/nsight-systems/*/bin/nsys", "/opt/nvidia/nsight-systems-cli/*/bin/nsys"}
)

const (
	ncuFix  = "install Nsight Compute (package nsight-compute of NVIDIA's repository, or module load cuda), and put ncu into PATH"
	nsysFix = "install Nsight Systems (package nsight-systems-cli of NVIDIA's repository, or module load cuda), and put nsys into PATH"

	// The driver's module refuses counters to users since 418.43.
	counterFix = "let users read counters: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d/nvidia.conf, then load the module again; or run as root, or in a container with --cap-add SYS_ADMIN"
)

// find looks for a tool in PATH, then where its installer puts it.
func find(tool string, places []string, fix string) (string, *collectors.MissingError) {
	path, missing := process.Tool(tool, fix)
	if missing == nil {
		return path, nil
	}
	for i := len(places) - 1; i >= 0; i-- {
		found, err := filepath.Glob(places[i])
		if err != nil {
			continue
		}
		sort.Strings(found)
		for k := len(found) - 1; k >= 0; k-- {
			if p, err := exec.LookPath(found[k]); err == nil {
				return p, nil
			}
		}
	}
	return "", missing
}

func check(ctx context.Context, tool string, places []string, fix string) error {
	if _, missing := find(tool, places, fix); missing != nil {
		return missing
	}
	if m := gpuMissing(ctx); m != nil {
		return m
	}
	return nil
}

// gpuMissing says that this machine has no GPU, nil where it has one, or where
// nothing is known of it: this program was built without the collector nvml.
func gpuMissing(ctx context.Context) *collectors.MissingError {
	for _, c := range collectors.Collectors() {
		var m *collectors.MissingError
		if c.Name == "nvml" && errors.As(c.Check(ctx), &m) {
			return m
		}
	}
	return nil
}

var versionNumber = regexp.MustCompile(`(?i)version\s+(\d+(?:\.\d+)+)`)

// version asks a tool for its version: "2024.1.0.0".
func version(ctx context.Context, tool string) string {
	if m := versionNumber.FindStringSubmatch(process.Ask(ctx, tool, "--version")); m != nil {
		return m[1]
	}
	return ""
}

// atLeast compares versions by year and release; an unknown one counts as new.
func atLeast(version string, year, release int) bool {
	var y, r int
	if n, err := fmt.Sscanf(version, "%d.%d", &y, &r); err != nil || n != 2 {
		return true
	}
	return y > year || y == year && r >= release
}

// toolLines returns the lines of a tool's log that say what went wrong.
func toolLines(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var kept []string
	for _, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "==ERROR==") || strings.HasPrefix(line, "==WARNING==") {
			kept = append(kept, strings.TrimSpace(strings.TrimLeft(line, "=ERONWAIG")))
		}
	}
	return strings.Join(kept, "; ")
}

// judge explains a run of a tool that left nothing to read.
func judge(ctx context.Context, run *datasets.Run, tool, log string, r process.Result) {
	said := toolLines(log)
	all, _ := os.ReadFile(log) // an empty text where there is none
	text := string(all)
	switch {
	case strings.Contains(text, "ERR_NVGPUCTRPERM"):
		(&collectors.MissingError{Status: datasets.RunDenied, What: "ERR_NVGPUCTRPERM: the driver refuses performance counters to this user", Fix: counterFix}).Mark(run)
		return
	case !r.OK():
		run.Status, run.Error = datasets.RunFailed, fmt.Sprintf("%s or the command ended with %s and nothing was measured", tool, r)
	case strings.Contains(text, "No kernels were profiled"):
		run.Status, run.Error = datasets.RunEmpty, "no kernel was profiled: the command launched none that --kernel, --skip and --count let through"
	default:
		run.Status, run.Error = datasets.RunFailed, tool+" wrote no report"
	}
	if m := gpuMissing(ctx); m != nil {
		m.Mark(run)
	}
	if said != "" {
		run.Error += ": " + said
	}
}

type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }
