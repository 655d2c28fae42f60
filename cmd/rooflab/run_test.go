package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/kernel/notebook"
)

// write puts a notebook of code cells into a fresh folder. A source that
// starts with "#tag " names its cell's tag in the first line.
func write(t *testing.T, sources ...string) (path string) {
	t.Helper()
	var cells []*notebook.Cell
	for _, src := range sources {
		if rest, ok := strings.CutPrefix(src, "#tag "); ok {
			tag, code, _ := strings.Cut(rest, "\n")
			cells = append(cells, notebook.NewCell(notebook.Code, code, tag))
			continue
		}
		cells = append(cells, notebook.NewCell(notebook.Code, src))
	}
	path = filepath.Join(t.TempDir(), "study.ipynb")
	if err := notebook.WriteFile(path, notebook.New(cells...)); err != nil {
		t.Fatal(err)
	}
	return path
}

// outputs is the text of a cell's outputs, errors by their names.
func outputs(t *testing.T, path string, cell int) string {
	t.Helper()
	nb, err := notebook.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, o := range nb.Cells[cell].Outputs {
		switch o.Type {
		case notebook.StreamOutput:
			b.WriteString(o.Text)
		case notebook.ErrorOutput:
			b.WriteString("<" + o.EName + ">")
		default:
			text, _ := o.Bundle.Data["text/plain"].(string)
			b.WriteString(text)
		}
	}
	return b.String()
}

func TestRunWritesOutputsAndLeavesTheInputAlone(t *testing.T) {
	nb := write(t, "#tag parameters\nn := 2\nwho := \"nobody\"", `fmt.Println("for", who)`+"\nn * 21", `os.ReadFile("beside.txt")`)
	before, err := os.ReadFile(nb)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(nb)
	if err := os.WriteFile(filepath.Join(dir, "beside.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	out, page := filepath.Join(dir, "out.ipynb"), filepath.Join(dir, "page.html")
	stdout, stderr, status := run(t, "", "run", nb, "-o", out, "--html", page, "-p", "n=3", "-p", "who=a <b>")
	if status != 0 || stdout != "" {
		t.Fatalf("status %d, stdout %q, stderr %s", status, stdout, stderr)
	}
	if got := outputs(t, out, 2); got != "for a <b>\n63" {
		t.Errorf("cell 3 gave %q", got)
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "for a &lt;b&gt;") {
		t.Errorf("page: %v\n%s", err, html)
	}
	if !strings.Contains(stderr, "[4/4] ok") {
		t.Errorf("no progress on standard error: %s", stderr)
	}
	if after, _ := os.ReadFile(nb); string(after) != string(before) {
		t.Error("the input was changed")
	}
	if got := outputs(t, out, 3); strings.Contains(got, "no such file") {
		t.Errorf("cells do not run in the notebook's folder: %q", got)
	}
}

func TestRunShowsOutputsWhereNoFileIsAskedFor(t *testing.T) {
	stdout, stderr, status := run(t, "", "run", write(t, `fmt.Print("one line")`, "6 * 7"))
	if status != 0 || stdout != "one line\n42\n" {
		t.Errorf("status %d, stdout %q, stderr %s", status, stdout, stderr)
	}
}

func TestAFailingCellEndsTheRunWithItsOutputsKept(t *testing.T) {
	for _, tt := range []struct{ name, cell, kind, said string }{
		{"panic", "xs := []int{}\nxs[3]", "<panic>", "index out of range"},
		{"compile error", "y := undefinedName", "<CompileError>", "undefined: undefinedName"},
		{"error of a call", "os.ReadFile(\"no such file\")", "<error>", "open no such file: "},
		{"failing command", "!false", "<ExitError>", "exit status 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nb := write(t, `fmt.Println("so far")`, tt.cell, `fmt.Println("later")`)
			_, stderr, status := run(t, "", "run", "--inplace", nb)
			if status != 1 {
				t.Errorf("exit status %d, want 1", status)
			}
			if a, b, c := outputs(t, nb, 0), outputs(t, nb, 1), outputs(t, nb, 2); a != "so far\n" || b != tt.kind || c != "" {
				t.Errorf("outputs %q, %q, %q; want the first cell's, then %s, then none", a, b, c, tt.kind)
			}
			if !strings.Contains(stderr, "cell 2 failed") || !strings.Contains(stderr, tt.said) || !strings.Contains(stderr, "1 later cell was not run") {
				t.Errorf("stderr does not tell: %s", stderr)
			}
		})
	}
}

func TestRunStopsAtAnInterrupt(t *testing.T) {
	nb := write(t, "fmt.Println(\"started\")\nfor {\n}", `fmt.Println("later")`)
	cmd := exec.Command(binary, "run", nb)
	var errs strings.Builder
	cmd.Stderr = &errs
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(pipe)
	if line, err := r.ReadString('\n'); line != "started\n" {
		t.Errorf("first line %q, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := r.ReadString(0)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit status %v, want 1", err)
	}
	if !strings.Contains(errs.String(), "Interrupted") || strings.Contains(rest, "later") {
		t.Errorf("stdout %q, stderr %s", rest, &errs)
	}
}

func TestVerifyTellsWhichCellDiffers(t *testing.T) {
	nb := write(t, "x := 1.5", "x * 2", "#tag nbval-ignore-output\nos.Getpid()")
	if _, stderr, status := run(t, "", "verify", nb); status != 1 || !strings.Contains(stderr, "no outputs to compare with") {
		t.Errorf("a notebook that was never run: status %d, stderr %s", status, stderr)
	}
	if _, stderr, status := run(t, "", "run", "--inplace", nb); status != 0 {
		t.Fatal(stderr)
	}
	if stdout, stderr, status := run(t, "", "verify", nb); status != 0 || !strings.Contains(stdout, "are the same") {
		t.Errorf("status %d, stdout %s, stderr %s", status, stdout, stderr)
	}
	text, err := os.ReadFile(nb)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(nb, []byte(strings.Replace(string(text), `"3"`, `"3.25"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, _, status := run(t, "", "verify", nb)
	if want := `cell 2, output 1, text/plain: expected "3.25", found "3"`; status != 1 || !strings.Contains(stdout, want) {
		t.Errorf("status %d, stdout %s; want 1 and %s", status, stdout, want)
	}
	if _, _, status := run(t, "", "verify", nb, "--rtol", "0.1"); status != 0 {
		t.Errorf("0.25 of 3.25 is within 10 %%, but the status is %d", status)
	}
}

func TestVerifyTellsOfDataThatChanged(t *testing.T) {
	nb := write(t, `d, err := os.ReadFile("data.csv")`+"\nlen(d)")
	data := filepath.Join(filepath.Dir(nb), "data.csv")
	if err := os.WriteFile(data, []byte("1,2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := run(t, "", "run", "--inplace", nb); status != 0 {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(data, []byte("1,3"), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := run(t, "", "verify", nb)
	if status != 0 || !strings.Contains(stdout, "data.csv has changed since the notebook was run") || !strings.Contains(stdout, "are the same") {
		t.Errorf("status %d, stdout %s, stderr %s", status, stdout, stderr)
	}
}

func TestMistakesAreNamedBeforeAnythingRuns(t *testing.T) {
	nb := write(t, "#tag parameters\nsize := 1", `os.WriteFile("ran", nil, 0o644)`)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"run", nb + ".none"}, "no such file"},
		{[]string{"run", nb, "-p", "sise=2"}, `"sise"`},
		{[]string{"run", nb, "-p", "size"}, "name=value"},
		{[]string{"run", nb, "-o", "x", "--inplace"}, "not both"},
		{[]string{"run", nb, "-o", "no such folder/x.ipynb"}, "the notebook was not run"},
		{[]string{"run", nb, "--html", t.TempDir()}, "is a folder"},
		{[]string{"run", "run_test.go"}, "run_test.go:1:1: not JSON"},
		{[]string{"run"}, "accepts 1 arg"},
	} {
		_, stderr, status := run(t, "", tt.args...)
		if status != 1 || !strings.Contains(stderr, tt.want) {
			t.Errorf("rooflab %q: status %d, stderr %s; want 1 and %q", tt.args, status, stderr, tt.want)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(nb), "ran")); err == nil {
		t.Error("a cell ran all the same")
	}
}

func TestBatchReadsCellsFromStandardInput(t *testing.T) {
	const cells = "x := 40\n%%%\nx + 2\n%%%\nfmt.Println(\"printed\")\npanic(\"boom\")\n%%%\nfmt.Print(x)"
	stdout, stderr, status := run(t, cells, "repl")
	if status != 1 || stdout != "42\nprinted\n40\n" || !strings.Contains(stderr, "boom") {
		t.Errorf("status %d, stdout %q, stderr %s", status, stdout, stderr)
	}
	stdout, stderr, status = run(t, cells, "repl", "--stop-on-error")
	if status != 1 || stdout != "42\nprinted\n" || !strings.Contains(stderr, "later cells were not run") {
		t.Errorf("stopping: status %d, stdout %q, stderr %s", status, stdout, stderr)
	}
	if stdout, stderr, status = run(t, "1 + 1", "repl"); status != 0 || stdout != "2\n" || stderr != "" {
		t.Errorf("all well: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

func TestDoctorSaysThatTheKernelRuns(t *testing.T) {
	stdout, stderr, status := run(t, "", "doctor", "--json")
	var report struct {
		KernelRuns bool `json:"kernel_runs"`
		Checks     []struct {
			Name, Status, Found string
			Required            bool
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	if status != 0 || !report.KernelRuns {
		t.Errorf("status %d, report %+v", status, report)
	}
	t.Setenv("ROOFLAB_SRC", t.TempDir())
	stdout, _, status = run(t, "", "doctor")
	if status != 1 || !strings.Contains(stdout, "ROOFLAB_SRC") {
		t.Errorf("without a source tree: status %d\n%s", status, stdout)
	}
}

func TestLabWithoutJupyterOrPyPIOffersTheRest(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("PIP_NO_INDEX", "1") // no package index in reach, nothing beside it either
	t.Setenv("PIP_FIND_LINKS", "")
	hideJupyterLab(t)
	_, stderr, status := run(t, "", "lab", t.TempDir())
	if status != 1 {
		t.Errorf("exit status %d, want 1", status)
	}
	for _, want := range []string{"could not be installed from PyPI", "rooflab repl", "rooflab run"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is missing in %s", want, stderr)
		}
	}
	if strings.Contains(stderr, "this Python cannot") {
		t.Errorf("it blames Python: %s", stderr)
	}
}

// hideJupyterLab takes the folders that hold a jupyter-lab off the PATH.
func hideJupyterLab(t *testing.T) {
	t.Helper()
	var kept []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "jupyter-lab")); err != nil {
			kept = append(kept, dir)
		}
	}
	t.Setenv("PATH", strings.Join(kept, string(filepath.ListSeparator)))
}
