// Package lab finds or makes a JupyterLab to run the kernel in. What flows in
// is the machine as it is (PATH, Python, the user's data directory); what flows
// out is the path of a jupyter-lab that works, and on a writer the account of
// what was installed where. It never changes a Python installation that it did
// not make.
package lab

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Constraints pins JupyterLab and everything under it, in pip's format.
//
//go:embed constraints.txt
var Constraints string

// Lab is a JupyterLab that runs.
type Lab struct {
	Bin     string // absolute path of jupyter-lab
	Version string
	Prefix  string // the virtual environment, when it is ours; else empty
}

// ErrNoPyPI is wrapped by the error of Make when packages could not be had.
var ErrNoPyPI = errors.New("JupyterLab could not be installed from PyPI")

// Dir is the virtual environment of rooflab's own: rooflab/venv in
// $XDG_DATA_HOME, which defaults to ~/.local/share.
func Dir() (string, error) {
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the user's data directory: %w", err)
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "rooflab", "venv"), nil
}

// Find looks for a working jupyter-lab: on the PATH, then in rooflab's own
// virtual environment. ok is false when there is none; a jupyter-lab that is
// there but does not run counts as none and is described in why.
func Find(ctx context.Context) (l Lab, why string, ok bool) {
	if bin, err := exec.LookPath("jupyter-lab"); err == nil {
		if bin, err = filepath.Abs(bin); err == nil {
			v, err := version(ctx, bin)
			if err == nil {
				return Lab{Bin: bin, Version: v}, "", true
			}
			why = fmt.Sprintf("%s does not run: %v", bin, err)
		}
	} else {
		why = "no jupyter-lab on the PATH"
	}
	dir, err := Dir()
	if err != nil {
		return Lab{}, err.Error(), false
	}
	bin := filepath.Join(dir, "bin", "jupyter-lab")
	if !complete(dir) {
		return Lab{}, why + ", none in " + dir, false
	}
	v, err := version(ctx, bin)
	if err != nil {
		return Lab{}, fmt.Sprintf("%s; %s does not run: %v", why, bin, err), false
	}
	return Lab{Bin: bin, Version: v, Prefix: dir}, "", true
}

func version(ctx context.Context, bin string) (string, error) {
	out, err := exec.CommandContext(ctx, bin, "--version").CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, lastLine(text))
	}
	return lastLine(text), nil
}

// Make creates rooflab's virtual environment, or completes one that was left
// half made, and installs JupyterLab into it. Each step is told on out.
func Make(ctx context.Context, out io.Writer) (Lab, error) {
	dir, err := Dir()
	if err != nil {
		return Lab{}, err
	}
	py, err := FindPython(ctx)
	if err != nil {
		return Lab{}, err
	}
	venvPython := filepath.Join(dir, "bin", "python")
	if err := exec.CommandContext(ctx, venvPython, "-m", "pip", "--version").Run(); err != nil {
		fmt.Fprintf(out, "making a virtual environment in %s with %s (Python %d.%d)\n", dir, py.Bin, py.Major, py.Minor)
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return Lab{}, fmt.Errorf("making the virtual environment: %w", err)
		}
		// --clear: a half-made or outdated environment of ours is replaced.
		if text, err := exec.CommandContext(ctx, py.Bin, "-m", "venv", "--clear", dir).CombinedOutput(); err != nil {
			return Lab{}, fmt.Errorf("%s -m venv %s: %w\n%s\non Debian or Ubuntu, `apt install python3-venv` brings what it needs",
				py.Bin, dir, err, bytes.TrimSpace(text))
		}
	}
	if err := installJupyterLab(ctx, dir, out); err != nil {
		return Lab{}, err
	}
	if err := os.WriteFile(marker(dir), []byte(Constraints), 0o644); err != nil {
		return Lab{}, fmt.Errorf("noting what was installed: %w", err)
	}
	l := Lab{Bin: filepath.Join(dir, "bin", "jupyter-lab"), Prefix: dir}
	if l.Version, err = version(ctx, l.Bin); err != nil {
		return Lab{}, fmt.Errorf("the JupyterLab just installed does not run: %w", err)
	}
	fmt.Fprintf(out, "installed JupyterLab %s: %s\n", l.Version, l.Bin)
	return l, nil
}

// installJupyterLab runs pip with all versions pinned and, where this Python
// cannot have some pinned version, with JupyterLab alone pinned.
func installJupyterLab(ctx context.Context, dir string, out io.Writer) error {
	pins := filepath.Join(dir, "rooflab-constraints.txt")
	if err := os.WriteFile(pins, []byte(Constraints), 0o644); err != nil {
		return fmt.Errorf("writing the pinned versions: %w", err)
	}
	// plotly brings the extension that draws interactive figures without a network.
	want, figures := pinned("jupyterlab"), pinned("plotly")
	pip := func(args ...string) ([]byte, error) {
		base := []string{"-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet", "--retries=2", want, figures}
		return exec.CommandContext(ctx, filepath.Join(dir, "bin", "python"), append(base, args...)...).CombinedOutput()
	}
	fmt.Fprintf(out, "installing %s, %s and what they need from PyPI into %s (about %d MB)\n", want, figures, dir, installedMB)
	text, err := pip("-c", pins)
	if err != nil && (bytes.Contains(text, []byte("ResolutionImpossible")) || bytes.Contains(text, []byte("Requires-Python"))) {
		// pip says so without a network, too: what it was is only known afterwards.
		if text, err = pip(); err == nil {
			fmt.Fprintf(out, "this Python cannot have all the versions that were tried together; pinning only %s and %s\n", want, figures)
		}
	}
	if err != nil {
		return fmt.Errorf("%w (%w):\n%s", ErrNoPyPI, err, tail(text, 6))
	}
	return nil
}

// installedMB is the size of the virtual environment once JupyterLab is in it.
const installedMB = 320

// marker is the file that says that an environment is complete, and for which pins.
func marker(dir string) string { return filepath.Join(dir, "rooflab-installed.txt") }

func complete(dir string) bool {
	data, err := os.ReadFile(marker(dir))
	return err == nil && string(data) == Constraints
}

// pinned returns "name==version" as the constraints have it.
func pinned(name string) string {
	for line := range strings.Lines(Constraints) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, name+"==") {
			return line
		}
	}
	return name
}

// Python is a Python that can make virtual environments for JupyterLab.
type Python struct {
	Bin          string
	Major, Minor int
}

// FindPython looks for Python 3.10 or later, which is what JupyterLab wants.
func FindPython(ctx context.Context) (Python, error) {
	var tried []string
	for _, name := range []string{"python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"} {
		bin, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, bin, "-c", "import sys; print(*sys.version_info[:2])").Output()
		major, minor, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
		p := Python{Bin: bin}
		var err1, err2 error
		p.Major, err1 = strconv.Atoi(major)
		p.Minor, err2 = strconv.Atoi(minor)
		if err != nil || !ok || err1 != nil || err2 != nil {
			tried = append(tried, bin+" does not run")
			continue
		}
		if p.Major > 3 || p.Major == 3 && p.Minor >= 10 {
			return p, nil
		}
		tried = append(tried, fmt.Sprintf("%s is %d.%d", bin, p.Major, p.Minor))
	}
	if len(tried) == 0 {
		tried = []string{"none on the PATH"}
	}
	return Python{}, fmt.Errorf("JupyterLab needs Python 3.10 or later (%s); on Debian or Ubuntu: apt install python3 python3-venv",
		strings.Join(tried, ", "))
}

// Args are the arguments with which JupyterLab serves dir on loopback only.
// Arguments in extra come last and so win.
func Args(dir string, browser bool, port int, root bool, extra []string) []string {
	args := []string{
		"--ServerApp.ip=127.0.0.1",
		"--ServerApp.root_dir=" + dir,
		"--MultiKernelManager.default_kernel_name=rooflab",
	}
	if port > 0 {
		args = append(args, "--ServerApp.port="+strconv.Itoa(port))
	}
	if !browser {
		args = append(args, "--no-browser")
	}
	if root {
		args = append(args, "--allow-root") // Jupyter refuses to run as root without it
	}
	return append(args, extra...)
}

// HasDisplay says whether a browser could open a window here.
func HasDisplay() bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return os.Getenv("SSH_CONNECTION") == ""
	}
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

func tail(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}
