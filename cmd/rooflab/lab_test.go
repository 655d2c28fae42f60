package main_test

import (
	"bufio"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rooflab/rooflab/kernel/jupyter"
)

// shown is what testdata/open_in_browser.py saw in JupyterLab.
type shown struct {
	Kernel           string
	Outputs          []string // text of each code cell's output area
	Pictures, Tables []int    // and how many of these are in it
}

// openInLab starts `rooflab lab` on the folder of the notebook, opens it in
// headless Chromium and runs all cells.
func openInLab(t *testing.T, nb string) shown {
	t.Helper()
	venv, err := filepath.Abs("../../.venv/bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(venv, "jupyter-lab")); err != nil {
		t.Fatal("this test opens JupyterLab: `make test` puts it into .venv, `make .venv/.ready` does only that")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("this test opens JupyterLab in Chromium: on Debian or Ubuntu, apt-get install chromium")
	}
	t.Setenv("PATH", venv+string(filepath.ListSeparator)+os.Getenv("PATH"))
	data := t.TempDir()
	for _, name := range []string{"JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR"} {
		t.Setenv(name, filepath.Join(data, name))
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
		cmd.Wait()
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
			said.WriteString(lines.Text() + "\n")
		}
	}()
	if ip := net.ParseIP(base.Hostname()); base.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		t.Errorf("it listens on %s, want loopback only", base.Host)
	}
	if spec := filepath.Join(data, "JUPYTER_DATA_DIR", "kernels", "rooflab", "kernel.json"); !strings.Contains(said.String(), filepath.Dir(spec)) {
		t.Errorf("it does not say that the kernel was installed in %s:\n%s", filepath.Dir(spec), &said)
	}
	page := base.Scheme + "://" + base.Host + "/lab/tree/" + url.PathEscape(filepath.Base(nb)) + "?token=secret"
	shot := filepath.Join(t.ArtifactDir(), "jupyterlab.png")
	look := exec.Command(filepath.Join(venv, "python"), "testdata/open_in_browser.py", chromium, page, shot)
	var errs strings.Builder
	look.Stderr = &errs
	out, err := look.Output()
	if err != nil {
		t.Fatalf("looking at the page: %v\n%s", err, &errs)
	}
	var s shown
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

func TestJupyterLabRunsANotebookInTheBrowser(t *testing.T) {
	nb := write(t, "x := 6", "x * 7", "import \"github.com/go-gota/gota/dataframe\"\nimport \"github.com/go-gota/gota/series\"\n"+
		"dataframe.New(series.New([]int{1, 2, 3}, series.Int, \"threads\"))", `panic("boom")`)
	s := openInLab(t, nb)
	if s.Kernel != jupyter.RooflabSpec("").Name || len(s.Outputs) != 4 {
		t.Fatalf("%+v", s)
	}
	if !strings.Contains(s.Outputs[1], "42") {
		t.Errorf("x * 7 shows %q", s.Outputs[1])
	}
	if s.Tables[2] != 1 || !strings.Contains(s.Outputs[2], "threads") {
		t.Errorf("the dataframe shows %d tables and %q", s.Tables[2], s.Outputs[2])
	}
	if !strings.Contains(s.Outputs[3], "boom") {
		t.Errorf("the panic shows %q", s.Outputs[3])
	}
}
