package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// without takes variables out of the environment for a test.
func without(t *testing.T, names ...string) {
	t.Helper()
	for _, n := range names {
		t.Setenv(n, "") // which puts it back afterwards
		if err := os.Unsetenv(n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestXLAInstallListsWhatItWouldDownload(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "made")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"lammps_jax_pjrt_cpu-0.11.2", "62.7 MB", filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")}},
		{[]string{"--cuda", "13", "--no-driver-check"}, []string{"jax_cuda13_pjrt-0.11.2", "nvidia_cudnn_cu13-", "files: 14", "to download: 1966.8 MB", filepath.Join(dir, "nvidia", "pjrt_c_api_cuda_plugin.so")}},
		{[]string{"--cuda", "12", "--no-driver-check"}, []string{"jax_cuda12_pjrt-0.11.2", "files: 13", "to download: 2968.4 MB"}},
	} {
		out, errs, status := run(t, "", append([]string{"xla", "install", "--dry-run", "--dir", dir}, c.args...)...)
		if status != 0 {
			t.Fatalf("%q: status %d: %s", c.args, status, errs)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%q: %q is missing in\n%s", c.args, want, out)
			}
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a dry run makes folders")
	}
}

func TestXLAInstallRefusesWhatDoesNotGoTogether(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"--cuda 11", "want 13, 12 or auto"},
		{"--cuda auto --no-driver-check", "give 13 or 12"},
		{"--from github --cuda 13", "do not go with it"},
		{"--from elsewhere", "want index or github"},
		{"--sha256 00", "goes with --from github"},
		{"--index http://127.0.0.1:1/simple", "rooflab xla install --wheel FILE"},
		{"--wheel /no/such.whl", "no such file"},
	} {
		_, errs, status := run(t, "", append([]string{"xla", "install", "--dir", dir}, strings.Fields(c.args)...)...)
		if status == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d: %s", c.args, status, errs)
		}
	}
}

// A plugin that is none is named by every command, and none of them ends by it.
func TestABrokenPluginIsReportedAndTheGoBackendTaken(t *testing.T) {
	dir := t.TempDir()
	plugin := filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
	if err := os.WriteFile(plugin, []byte("half a download, as it may be left behind"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", dir)
	without(t, "GOMLX_BACKEND")
	out, errs, status := run(t, "", "xla", "status")
	if status != 0 || !strings.Contains(out, "broken:   "+plugin) || !strings.Contains(out, "models train on GoMLX's Go backend") || !strings.Contains(out, "note: models run on GoMLX's Go backend") {
		t.Errorf("xla status: status %d\n%s%s", status, out, errs)
	}
	if _, errs, status := run(t, "", "xla", "check"); status == 0 || !strings.Contains(errs, plugin) {
		t.Errorf("xla check: status %d\n%s", status, errs)
	}
	out, errs, _ = run(t, "", "doctor", "--json")
	var report struct {
		Checks []struct {
			Name, Status, Found, Fix string
			Details                  struct {
				Engine, Searched string
				Plugins          []struct{ Path, Error string }
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	seen := 0
	for _, c := range report.Checks {
		switch c.Name {
		case "XLA plugin":
			seen++
			if c.Status != "broken" || len(c.Details.Plugins) != 1 || c.Details.Plugins[0].Path != plugin || c.Details.Plugins[0].Error == "" ||
				!strings.Contains(c.Details.Searched, dir) || !strings.Contains(c.Fix, "rooflab xla install") {
				t.Errorf("%+v", c)
			}
		case "in use":
			seen++
			if c.Status != "missing" || c.Details.Engine != "go" || !strings.Contains(c.Fix, plugin) {
				t.Errorf("%+v", c)
			}
		}
	}
	if seen != 2 {
		t.Errorf("the report lacks checks of models:\n%s", out)
	}
}

func TestWithoutAHomeRooflabStartsQuietly(t *testing.T) {
	without(t, "HOME", "PJRT_PLUGIN_LIBRARY_PATH", "GOMLX_BACKEND")
	out, errs, status := run(t, "", "xla", "status")
	if status != 0 || errs != "" || !strings.Contains(out, "models train on") {
		t.Errorf("status %d: %q\n%s", status, errs, out)
	}
}
