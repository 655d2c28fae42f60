package backend_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/compute"

	"github.com/rooflab/rooflab/modeling/backend"
	_ "github.com/rooflab/rooflab/modeling/backend/engines"
)

// bare takes away every place where a plugin could be found.
func bare(t *testing.T) {
	t.Helper()
	t.Setenv("GOMLX_BACKEND", "")
	t.Setenv("ROOFLAB_XLA_DIR", t.TempDir())
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
}

func TestWithoutPluginTheGoBackendIsTakenAndSaysSo(t *testing.T) {
	bare(t)
	c, err := backend.Default()
	if err != nil {
		t.Fatal(err)
	}
	if c.Engine != "go" || c.Plugin != "" {
		t.Errorf("engine %q, plugin %q", c.Engine, c.Plugin)
	}
	for _, want := range []string{"slower than XLA", os.Getenv("PJRT_PLUGIN_LIBRARY_PATH"), "rooflab xla install"} {
		if !strings.Contains(c.Notice, want) {
			t.Errorf("notice %q lacks %q", c.Notice, want)
		}
	}
	// Unlimited workers: the default can hang.
	if d := c.Backend.Description(); !strings.Contains(d, "parallelism=-1") {
		t.Errorf("description %q", d)
	}
	again, err := backend.Default()
	if err != nil || again.Backend != c.Backend {
		t.Errorf("a second call gives another backend (%v)", err)
	}
	own, err := compute.NewWithConfig("go")
	if err != nil || !strings.Contains(own.Description(), "parallelism=-1") {
		t.Errorf("GoMLX's own constructor gives %v, %v", own, err)
	}
}

func TestAskingForXLAWithoutPluginIsAnErrorNotADownload(t *testing.T) {
	bare(t)
	for _, config := range []string{"xla", "xla:cuda", "stablehlo"} {
		if _, err := backend.Open(config); err == nil || !strings.Contains(err.Error(), "no PJRT plugin") {
			t.Errorf("Open(%q): %v", config, err)
		}
	}
	if _, err := compute.NewWithConfig("xla"); err == nil || !strings.Contains(err.Error(), "no PJRT plugin") {
		t.Errorf("GoMLX's own constructor: %v", err)
	}
	if os.Getenv("GOMLX_NO_AUTO_INSTALL") == "" {
		t.Error("GOMLX_NO_AUTO_INSTALL is not set for child processes")
	}
	t.Setenv("GOMLX_BACKEND", "xla")
	if _, err := backend.Default(); err == nil || !strings.Contains(err.Error(), "GOMLX_BACKEND=xla") {
		t.Errorf("Default with GOMLX_BACKEND=xla: %v", err)
	}
}

func TestABrokenPluginIsNamedAndTheGoBackendTaken(t *testing.T) {
	bare(t)
	dir := os.Getenv("PJRT_PLUGIN_LIBRARY_PATH")
	path := filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
	if err := os.WriteFile(path, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := backend.Plugins(); len(got) != 1 || got[0] != path {
		t.Fatalf("Plugins() = %q", got)
	}
	c, err := backend.Default()
	if err != nil {
		t.Fatal(err)
	}
	if c.Engine != "go" || !strings.Contains(c.Notice, path) {
		t.Errorf("engine %q, notice %q", c.Engine, c.Notice)
	}
}

func TestUnknownEnginesAndMissingFiles(t *testing.T) {
	if _, err := backend.Open("tpu"); err == nil || !strings.Contains(err.Error(), `no model engine "tpu"`) {
		t.Errorf("unknown engine: %v", err)
	}
	if _, err := backend.Open("xla:/nowhere/plugin.so"); err == nil || !strings.Contains(err.Error(), "/nowhere/plugin.so does not exist") {
		t.Errorf("missing file: %v", err)
	}
	if _, err := backend.Open("go:nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("unknown option: %v", err)
	}
	backend.Register("panicking", backend.Engine{Open: func(string) (compute.Backend, error) { panic("offline") }})
	if _, err := backend.Open("panicking"); err == nil || !strings.Contains(err.Error(), "offline") {
		t.Errorf("panicking engine: %v", err)
	}
	sentinel := errors.New("no device")
	backend.Register("failing", backend.Engine{Open: func(string) (compute.Backend, error) { return nil, sentinel }})
	if _, err := backend.Open("failing"); !errors.Is(err, sentinel) {
		t.Errorf("failing engine: %v", err)
	}
}

func TestSearchOrder(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", a+string(os.PathListSeparator)+b)
	for _, p := range []string{
		filepath.Join(a, "pjrt_c_api_zz_plugin.so"), filepath.Join(b, "pjrt_c_api_cpu_plugin.so"),
		filepath.Join(a, "pjrt_c_api_cpu_v0.83.1_plugin.so"), filepath.Join(a, "other.so"),
	} {
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		filepath.Join(a, "pjrt_c_api_cpu_v0.83.1_plugin.so"), filepath.Join(b, "pjrt_c_api_cpu_plugin.so"),
		filepath.Join(a, "pjrt_c_api_zz_plugin.so"),
	}
	if got := backend.Plugins(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestATruncatedPluginIsRefusedBeforeItKillsTheProcess(t *testing.T) {
	bare(t)
	self, err := os.Executable() // any ELF file will do
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pjrt_c_api_cpu_plugin.so")
	for _, n := range []int{len(raw) / 2, 100, 0} {
		if err := os.WriteFile(path, raw[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := backend.Open("xla:" + path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%d of %d bytes: %v", n, len(raw), err)
		}
	}
}

func TestASearchPathThatIsNonsenseIsSaidToBe(t *testing.T) {
	bare(t)
	file := filepath.Join(t.TempDir(), "pjrt_c_api_cpu_plugin.so")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/no/such/folder": "/no/such/folder (which is not there) (from PJRT_PLUGIN_LIBRARY_PATH, which replaces the usual folders)",
		file:              file + " (which is a file: the variable wants its folder)",
		"":                "PJRT_PLUGIN_LIBRARY_PATH is set and empty",
		"[-":              "which is not there", // a malformed pattern
	} {
		t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", path)
		c, err := backend.Default()
		if err != nil || c.Engine != "go" || !strings.Contains(c.Notice, want) {
			t.Errorf("%q: %+v, %v", path, c, err)
		}
		if _, err := backend.Open("xla"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestAPluginThatFailsIsPassedOverWithANotice(t *testing.T) {
	working := backend.Plugins()
	if len(working) == 0 {
		t.Fatal("no PJRT plugin found: `make test` gets one for its tests, `rooflab xla install` one for you")
	}
	broken := t.TempDir()
	bad := filepath.Join(broken, "pjrt_c_api_cpu_plugin.so")
	if err := os.WriteFile(bad, []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMLX_BACKEND", "")
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", broken+string(os.PathListSeparator)+filepath.Dir(working[0]))
	c, err := backend.Default()
	if err != nil {
		t.Fatal(err)
	}
	if c.Engine != "xla" || c.Plugin != working[0] || !strings.Contains(c.Notice, bad) {
		t.Errorf("%+v", c)
	}
}

// On a machine with a plugin (`rooflab xla install`), it is the default.
func TestAPluginThatIsThereIsTaken(t *testing.T) {
	plugins := backend.Plugins()
	if len(plugins) == 0 {
		t.Fatal("no PJRT plugin found: `make test` gets one for its tests, `rooflab xla install` one for you")
	}
	t.Setenv("GOMLX_BACKEND", "")
	c, err := backend.Default()
	if err != nil {
		t.Fatal(err)
	}
	if c.Engine != "xla" || c.Plugin != plugins[0] || c.Notice != "" {
		t.Errorf("engine %q, plugin %q, notice %q; plugins %q", c.Engine, c.Plugin, c.Notice, plugins)
	}
}
