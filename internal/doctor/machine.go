package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Machine is what the checks may ask. The zero value is not usable; Real gives
// this machine, and tests make up their own.
type Machine struct {
	GOOS string
	Root bool // commands run as root need no sudo
	// LookPath finds a command as a shell would.
	LookPath func(name string) (string, error)
	// Run returns what a command prints on both streams.
	Run func(ctx context.Context, name string, args ...string) (string, error)
	// ReadFile and Glob look at files.
	ReadFile func(path string) ([]byte, error)
	Glob     func(pattern string) []string
	// Writable says whether a folder could be made or written.
	Writable func(dir string) error

	Binary Binary
}

// Binary is what this program knows about itself. The caller fills it in, since
// what is linked is the caller's business.
type Binary struct {
	GoVersion    string   // as runtime.Version()
	SourceRoot   string   // rooflab's source tree, or
	SourceErr    error    // why it was not found
	CacheDir     string   // where sessions and builds keep their files
	SQLDrivers   []string // as database/sql lists them
	Engines      []string // model engines linked in
	Plugins      []Plugin // PJRT plugins found, best first
	PluginPath   string   // folders where plugins are looked for
	Models       Models   // where models are trained
	GPU          GPU      // what the NVIDIA driver can run
	SpecDirs     []string // Jupyter data folders where the kernelspec may be
	JupyterLab   string   // path and version of a jupyter-lab that works, or
	NoJupyterLab string   // why there is none
	Python       string   // path and version of a fitting Python, or
	PythonErr    error    // why there is none
}

// Plugin is a PJRT plugin, with what it said when it was tried or why it failed.
type Plugin struct {
	Path     string   `json:"path"`
	Platform string   `json:"platform,omitempty"`
	API      string   `json:"api,omitempty"`     // its PJRT C API, "0.115"
	Program  string   `json:"program,omitempty"` // the one that go-xla was compiled with
	Devices  []string `json:"devices,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// GPU is an NVIDIA driver, and which of CUDA's plugins it can run.
type GPU struct {
	NoDriver  bool     `json:"-"` // there is none, or
	DriverErr error    `json:"-"` // why it was not found
	Driver    string   `json:"driver"`
	Names     []string `json:"gpus,omitempty"`
	CUDA      int      `json:"cuda,omitempty"` // major version of the plugin that fits, or
	FitErr    error    `json:"-"`              // why none does
	Download  int64    `json:"-"`              // bytes of that plugin and its libraries
}

// Models is the backend that models are trained on.
type Models struct {
	Engine string `json:"engine"` // "xla", "go", "" for none
	Plugin string `json:"plugin,omitempty"`
	Why    string `json:"why"`
	Notice string `json:"notice,omitempty"` // what would be better, and how to get it
}

// Real is the machine this program runs on.
func Real(b Binary) Machine {
	return Machine{
		GOOS:     runtime.GOOS,
		Root:     os.Geteuid() == 0,
		LookPath: exec.LookPath,
		Run: func(ctx context.Context, name string, args ...string) (string, error) {
			// A command that asks something or waits for a device must not hang the doctor.
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
			return string(bytes.TrimSpace(out)), err
		},
		ReadFile: os.ReadFile,
		Glob: func(pattern string) []string {
			found, err := filepath.Glob(pattern)
			if err != nil { // only a malformed pattern: ours are constants
				return nil
			}
			return found
		},
		Writable: func(dir string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			f, err := os.CreateTemp(dir, ".doctor-*")
			if err != nil {
				return err
			}
			f.Close()
			return os.Remove(f.Name())
		},
		Binary: b,
	}
}

// apt is how to get a Debian package; other systems get the name to look for.
func (m Machine) apt(packages string) string {
	if m.GOOS != "linux" {
		return "install " + packages + " with your package manager"
	}
	sudo := "sudo "
	if m.Root {
		sudo = ""
	}
	return fmt.Sprintf("%sapt-get install %s (Debian, Ubuntu; other systems have packages of similar names)", sudo, packages)
}

// version runs a command's version flag and returns the first line with a digit in it.
func (m Machine) version(ctx context.Context, bin string, args ...string) (string, error) {
	out, err := m.Run(ctx, bin, args...)
	for line := range strings.Lines(out) {
		if strings.ContainsAny(line, "0123456789") {
			return strings.TrimSpace(line), err
		}
	}
	return strings.TrimSpace(out), err
}

// command is the check of a tool that only has to be there and to run.
func command(name, fix string, versionArgs ...string) func(context.Context, Machine) Finding {
	return func(ctx context.Context, m Machine) Finding {
		bin, err := m.LookPath(name)
		if err != nil {
			return missing("no "+name+" on the PATH", fix)
		}
		v, err := m.version(ctx, bin, versionArgs...)
		if err != nil {
			return broken(fmt.Sprintf("%s does not run (%v): %s", bin, err, v), fix)
		}
		return ok("%s, %s", v, bin)
	}
}

// debian is command for a tool that a Debian package brings.
func debian(name, packages string, versionArgs ...string) func(context.Context, Machine) Finding {
	return func(ctx context.Context, m Machine) Finding {
		return command(name, m.apt(packages), versionArgs...)(ctx, m)
	}
}
