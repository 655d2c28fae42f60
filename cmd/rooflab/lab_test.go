package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rooflab/rooflab/kernel/jupyter"
)

// shown is what testdata/open_in_browser.py saw in JupyterLab in one theme.
type shown struct {
	Theme   string
	Kernel  string // name of the kernelspec
	Toolbar string // text of the notebook's toolbar
	Cells   []shownCell
}

// shownCell is a code cell: its prompt and what is in its output area.
type shownCell struct {
	Prompt, Text string
	Errors       int // outputs that are errors
	Tables       []struct {
		Rows          int
		Width, Height float64 // CSS pixels, 0 when it is not visible
		Colour        string  // of the text, as CSS writes it
	}
	Pictures []struct {
		Width, Height               float64 // CSS pixels, 0 when it is not visible
		NaturalWidth, NaturalHeight float64 // 0 when it could not be drawn
	}
}

// openInLab starts `rooflab lab` on the folder of the notebook, opens it in
// headless Chromium, runs all cells and looks at it in the light and the dark
// theme. `go test -artifacts` keeps the screenshots.
func openInLab(t *testing.T, nb string) (light, dark shown) {
	t.Helper()
	venv, err := filepath.Abs("../../.venv/bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(venv, "jupyter-lab")); err != nil {
		t.Fatal("this test opens JupyterLab: `make test` puts it into .venv, `make .venv/.ready` does only that")
	}
	var chromium string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if chromium, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal("this test opens JupyterLab in Chromium: on Debian or Ubuntu, apt-get install chromium")
	}
	t.Setenv("PATH", venv+string(filepath.ListSeparator)+os.Getenv("PATH"))
	data := t.TempDir()
	// Nothing of the user's own Jupyter or rooflab is read or written.
	for _, name := range []string{"JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR",
		"XDG_DATA_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR"} {
		t.Setenv(name, filepath.Join(data, name))
	}
	// JupyterLab hides cells that it takes to be out of view; what is looked at
	// here is whether outputs can be read once they are in view.
	settings := filepath.Join(data, "JUPYTERLAB_SETTINGS_DIR", "@jupyterlab", "notebook-extension")
	if err := os.MkdirAll(settings, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(settings, "tracker.jupyterlab-settings"), []byte(`{"windowingMode": "none"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "lab", filepath.Dir(nb), "--no-browser", "--",
		"--IdentityProvider.token=secret", "--LabApp.expose_app_in_browser=True", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// SIGTERM ends JupyterLab and the kernels that it started.
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("JupyterLab ended with %v", err)
		}
		leftNothing(t, "JUPYTER_RUNTIME_DIR="+filepath.Join(data, "JUPYTER_RUNTIME_DIR"))
	})
	address := regexp.MustCompile(`https?://[^ ]+/lab\?token=`)
	var base *url.URL
	var said strings.Builder
	lines := bufio.NewScanner(log)
	for base == nil && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := address.FindString(lines.Text()); m != "" {
			if base, err = url.Parse(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if base == nil {
		t.Fatalf("JupyterLab did not start:\n%s", &said)
	}
	go func() { // an unread pipe would stop the server
		for lines.Scan() {
		}
	}()
	if ip := net.ParseIP(base.Hostname()); base.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		t.Errorf("it listens on %s, want loopback only", base.Host)
	}
	if spec := filepath.Join(data, "JUPYTER_DATA_DIR", "kernels", "rooflab", "kernel.json"); !strings.Contains(said.String(), filepath.Dir(spec)) {
		t.Errorf("it does not say that the kernel was installed in %s:\n%s", filepath.Dir(spec), &said)
	}
	page := base.Scheme + "://" + base.Host + "/lab/tree/" + url.PathEscape(filepath.Base(nb)) + "?token=secret"
	look := exec.Command(filepath.Join(venv, "python"), "testdata/open_in_browser.py", chromium, page, t.ArtifactDir())
	var errs strings.Builder
	look.Stderr = &errs
	out, err := look.Output()
	if err != nil {
		t.Fatalf("looking at the page: %v\n%s", err, &errs)
	}
	var seen []shown
	if err := json.Unmarshal(out, &seen); err != nil || len(seen) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	return seen[0], seen[1]
}

// leftNothing fails if processes with this variable in their environment are
// still there: the server's kernels and their session hosts inherit it.
func leftNothing(t *testing.T, variable string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return // elsewhere the environment of a process cannot be read
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		// Processes that end meanwhile, and those of others, cannot be read.
		if env, err := os.ReadFile(file); err == nil && strings.Contains(string(env), variable) && file != fmt.Sprintf("/proc/%d/environ", os.Getpid()) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			t.Errorf("still running after JupyterLab ended: %s", strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
}

// tableAndRoofline is a notebook that makes a table and a roofline. The kernel
// "triad" does 2 flop for 24 byte, "gemm" 1000 flop for 100 byte.
func tableAndRoofline(t *testing.T) string {
	return write(t, "x := 6", "x * 7", `import "github.com/rooflab/rooflab/modeling/roofline"

launches := []roofline.Launch{}
for kernel, m := range map[string][3]float64{"triad": {2e9, 24e9, 0.2}, "gemm": {1e12, 1e11, 2}} {
	launches = append(launches, roofline.Launch{Kernel: kernel, Metrics: map[string]float64{
		roofline.FlopCounter(roofline.FP64): m[0], roofline.ByteCounter(roofline.DRAM): m[1], roofline.TimeCounter: m[2],
	}})
}
results := roofline.ByKernel(roofline.AnalyseAll(launches, roofline.Options{
	Peak:      map[roofline.Precision]float64{roofline.FP64: 1e12},
	Bandwidth: map[roofline.Level]float64{roofline.DRAM: 200e9},
}))
roofline.Frame(results)`, "import \"github.com/rooflab/rooflab/modeling/roofline/chart\"\nchart.Plot(results)", `panic("boom")`)
}

func TestJupyterLabShowsATableAndARooflineInTheBrowser(t *testing.T) {
	light, dark := openInLab(t, tableAndRoofline(t))
	if light.Theme != "JupyterLab Light" || dark.Theme != "JupyterLab Dark" {
		t.Errorf("looked at %q and %q", light.Theme, dark.Theme)
	}
	for _, s := range []shown{light, dark} {
		if s.Kernel != jupyter.RooflabSpec("").Name || !strings.Contains(s.Toolbar, "Go (rooflab)") || len(s.Cells) != 5 {
			t.Fatalf("%+v", s)
		}
		for i, c := range s.Cells {
			if want := fmt.Sprintf("[%d]:", i+1); strings.TrimSpace(c.Prompt) != want {
				t.Errorf("%s: the prompt of cell %d is %q, want %s", s.Theme, i, c.Prompt, want)
			}
			if failed := c.Errors > 0; failed != (i == 4) {
				t.Errorf("%s: cell %d shows %d errors: %q", s.Theme, i, c.Errors, c.Text)
			}
		}
		if !strings.Contains(s.Cells[1].Text, "42") {
			t.Errorf("x * 7 shows %q", s.Cells[1].Text)
		}
		if table := s.Cells[2]; len(table.Tables) != 1 || table.Tables[0].Rows != 2 || !strings.Contains(table.Text, "flop_per_byte") {
			t.Errorf("%s: the dataframe shows %+v", s.Theme, table)
		}
		checkVisible(t, s)
		if n := len(s.Cells[3].Pictures); n != 1 {
			t.Errorf("%s: the roofline shows %d pictures: %+v", s.Theme, n, s.Cells[3])
		}
		if !strings.Contains(s.Cells[4].Text, "boom") {
			t.Errorf("the panic shows %q", s.Cells[4].Text)
		}
	}
	if l, d := light.Cells[2].Tables, dark.Cells[2].Tables; len(l) == 1 && len(d) == 1 && l[0].Colour == d[0].Colour {
		t.Errorf("the table's text is %s in both themes", l[0].Colour)
	}
}

func TestFirstLookInTheBrowser(t *testing.T) {
	t.Setenv("ROOFLAB_DATASETS", "") // the recordings that come with rooflab
	source, err := os.ReadFile("../../notebooks/01-first-look.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	nb := filepath.Join(t.TempDir(), "first-look.ipynb") // JupyterLab may save it
	if err := os.WriteFile(nb, source, 0o600); err != nil {
		t.Fatal(err)
	}
	light, dark := openInLab(t, nb)
	for _, s := range []shown{light, dark} {
		tables, pictures := 0, 0
		for i, c := range s.Cells {
			if want := fmt.Sprintf("[%d]:", i+1); strings.TrimSpace(c.Prompt) != want {
				t.Errorf("%s: the prompt of code cell %d is %q, want %s", s.Theme, i, c.Prompt, want)
			}
			if c.Errors > 0 {
				t.Errorf("%s: code cell %d shows an error: %s", s.Theme, i, c.Text)
			}
			tables += len(c.Tables)
			pictures += len(c.Pictures)
		}
		checkVisible(t, s)
		// The observations, the facts, the roofline, the sweep; the roofline's plot.
		if tables < 4 || pictures < 1 {
			t.Errorf("%s: %d tables and %d pictures", s.Theme, tables, pictures)
		}
	}
}

// checkVisible fails for tables and pictures that take no room on the page, or
// are too small to be read.
func checkVisible(t *testing.T, s shown) {
	t.Helper()
	for i, c := range s.Cells {
		for _, table := range c.Tables {
			if table.Rows == 0 || table.Width < 50 || table.Height < 15*float64(min(table.Rows, 10)) {
				t.Errorf("%s: cell %d has a table that cannot be read: %+v", s.Theme, i, table)
			}
		}
		for _, p := range c.Pictures {
			if p.NaturalWidth < 300 || p.NaturalHeight < 150 || p.Width < 300 || p.Height < 150 {
				t.Errorf("%s: cell %d has a picture that cannot be read: %+v", s.Theme, i, p)
			}
		}
	}
}
