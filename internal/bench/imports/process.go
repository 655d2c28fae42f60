package imports

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rooflab/rooflab/internal/bench/pypi"
)

// usage is what a process took.
type usage struct {
	seconds   float64 // wall time
	megabytes float64 // peak resident set, 1e6 bytes
}

// measure runs a program to its end.
func measure(ctx context.Context, name string, args ...string) (usage, []byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	u := usage{seconds: time.Since(began).Seconds()}
	if err != nil {
		text := errs.String() + out.String()
		if len(text) > 4000 {
			text = text[len(text)-4000:]
		}
		return u, nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args[:min(2, len(args))], " "), err, text)
	}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.megabytes = float64(r.Maxrss) * 1024 / 1e6 // Linux counts kibibytes
	}
	return u, out.Bytes(), nil
}

// pins are the peers; Thicket brings Hatchet, Caliper's reader and pandas.
var pins = []string{"llnl-thicket==2026.1.1", "llnl-hatchet==2026.2.0", "caliper-reader==0.4.1", "pandas==2.3.3", "numpy==2.4.6"}

// peers is the Python that has them.
func peers(ctx context.Context, progress func(string)) (python string, err error) {
	return pypi.Python(ctx, "bench-import", "pandas and Thicket", pins, progress)
}

// pandasScript reads a long table as users do, and makes one row per launch.
const pandasScript = `
import sys
import pandas as pd
d = pd.read_csv(sys.argv[1], thousands=",")
w = d.pivot_table(index=["ID", "Kernel Name", "Block Size", "Grid Size"], columns="Metric Name", values="Metric Value")
print(len(w), w.count().sum(), int(w["gpu__time_duration.sum"].sum()))
`

// thicketScript composes the first files of a folder.
const thicketScript = `
import glob, json, sys, time
import thicket
files = sorted(glob.glob(sys.argv[1] + "/*.cali"))[:int(sys.argv[2])]
began = time.perf_counter()
t = thicket.Thicket.from_caliperreader(files, disable_tqdm=True)
print(json.dumps({"seconds": time.perf_counter() - began, "rows": len(t.dataframe)}))
`
