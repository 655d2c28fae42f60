package pjrt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What a CUDA release needs. Drivers: NVIDIA, CUDA Compatibility, minor version
// compatibility (a driver runs every release of its major version from the
// first on). GPUs: CUDA 13.0's release notes, which take away all before
// Turing; JAX's installation guide, which wants compute capability 5.2 with
// CUDA 12.
var needs = map[int]struct {
	driver     int // major version of the driver
	capability float64
	gpus       string
}{
	13: {580, 7.5, "Turing and later"},
	12: {525, 5.2, "Maxwell and later"},
}

// Driver is an NVIDIA driver and the GPUs that it has.
type Driver struct {
	Version string // "580.65.06"
	GPUs    []GPU  // nil when unknown
	Source  string // where the version is from
}

// GPU is one that the driver lists.
type GPU struct {
	Name       string
	Capability float64 // compute capability, 0 when unknown
}

// System is what FindDriver looks at; tests make up their own.
type System struct {
	ReadFile func(path string) ([]byte, error)
	Run      func(ctx context.Context, name string, args ...string) (string, error)
}

// ThisSystem is the machine that runs this.
func ThisSystem() System {
	return System{os.ReadFile, func(ctx context.Context, name string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second) // a GPU that fell off the bus blocks nvidia-smi
		defer cancel()
		out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}}
}

// ErrNoDriver is that no NVIDIA driver runs.
var ErrNoDriver = errors.New("no NVIDIA driver is loaded")

var driverVersion = regexp.MustCompile(`\b(\d{3,4}\.\d+(?:\.\d+)?)\b`)

// FindDriver asks nvidia-smi, and /proc/driver/nvidia/version where there is
// none. ErrNoDriver says that there is no driver.
func FindDriver(ctx context.Context, sys System) (Driver, error) {
	var failed error
	for _, smi := range []string{"nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"} {
		out, err := sys.Run(ctx, smi, "--query-gpu=driver_version,compute_cap,name", "--format=csv,noheader")
		if err != nil {
			if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, os.ErrNotExist) {
				failed = fmt.Errorf("%s does not run (%w): %s", smi, err, out)
			}
			continue
		}
		d := Driver{Source: smi}
		for line := range strings.Lines(out) {
			f := strings.SplitN(strings.TrimSpace(line), ", ", 3)
			if len(f) != 3 || !driverVersion.MatchString(f[0]) {
				continue
			}
			d.Version = f[0]
			g := GPU{Name: f[2]}
			if c, err := strconv.ParseFloat(f[1], 64); err == nil { // "[N/A]" by old drivers
				g.Capability = c
			}
			d.GPUs = append(d.GPUs, g)
		}
		if d.Version != "" {
			return d, nil
		}
		failed = fmt.Errorf("%s lists no GPU: %q", smi, out)
	}
	const proc = "/proc/driver/nvidia/version"
	if text, err := sys.ReadFile(proc); err == nil {
		first, _, _ := strings.Cut(string(text), "\n")
		if v := driverVersion.FindString(first); v != "" {
			return Driver{Version: v, Source: proc}, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s names no version: %q", proc, first))
	}
	if failed != nil {
		return Driver{}, fmt.Errorf("finding the NVIDIA driver: %w", failed)
	}
	return Driver{}, ErrNoDriver
}

// Fits says whether a driver and its GPUs can run a bundle.
func (b Bundle) Fits(d Driver) error {
	need, ok := needs[b.CUDA]
	if !ok {
		return nil
	}
	major, _ := strconv.Atoi(strings.SplitN(d.Version, ".", 2)[0])
	if major < need.driver {
		return fmt.Errorf("CUDA %d needs an NVIDIA driver of version %d or later, this one is %s (%s): update the driver",
			b.CUDA, need.driver, d.Version, d.Source)
	}
	var old []string
	for _, g := range d.GPUs {
		if g.Capability == 0 || g.Capability >= need.capability {
			return nil
		}
		old = append(old, fmt.Sprintf("%s has %g", g.Name, g.Capability))
	}
	if len(old) > 0 {
		return fmt.Errorf("CUDA %d needs a GPU of compute capability %g (%s): %s", b.CUDA, need.capability, need.gpus, strings.Join(old, ", "))
	}
	return nil
}

// CUDAFor is the bundle for a driver: CUDA 13's, or CUDA 12's where that does
// not run. The error says what both lack.
func CUDAFor(d Driver) (Bundle, error) {
	err13 := CUDA13.Fits(d)
	if err13 == nil {
		return CUDA13, nil
	}
	err12 := CUDA12.Fits(d)
	if err12 == nil {
		return CUDA12, nil
	}
	return Bundle{}, fmt.Errorf("%w; %w", err13, err12)
}
