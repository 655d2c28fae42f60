package notebooks_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/kernel/notebook"
)

// binary is rooflab, built once as `make build` does.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rooflab-notebooks-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "rooflab")
	status := 1
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../cmd/rooflab").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program under test: %v\n%s", err, out)
	} else {
		status = m.Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// rooflab runs the program with ROOFLAB_DATASETS and a temporary folder of its
// own, which must be empty again at the end. It returns the exit status.
func rooflab(t *testing.T, datasets string, args ...string) (status int, output string) {
	t.Helper()
	tmp := t.TempDir()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "ROOFLAB_DATASETS="+datasets, "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for _, pattern := range []string{"first-look-*", "explanation-*", "rooflab-heat-*", "optimizer-*"} {
		if left, _ := filepath.Glob(filepath.Join(tmp, pattern)); err == nil && left != nil {
			t.Errorf("files are left behind: %v", left)
		}
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

const (
	firstLook   = "01-first-look.ipynb"
	explanation = "02-from-counters-to-an-explanation.ipynb"
	howLong     = "03-how-long-will-it-take.ipynb"
	proof       = "04-an-optimizer-that-has-to-prove-it.ipynb"
)

// files lists the files of this folder.
func files(t *testing.T) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// shown collects what a notebook's outputs hold: text, and MIME types.
func shown(nb *notebook.Notebook) (text string, types map[string]int) {
	var b strings.Builder
	types = map[string]int{}
	for _, c := range nb.Cells {
		for _, o := range c.Outputs {
			b.WriteString(o.Text)
			for mime, data := range o.Bundle.Data {
				types[mime]++
				if mime == "text/plain" {
					fmt.Fprintln(&b, data)
				}
			}
		}
	}
	return b.String(), types
}

func TestFirstLookRuns(t *testing.T) {
	before := files(t)
	for _, c := range []struct {
		name, datasets string
		want           []string
		pictures       int
	}{
		{"with the recordings that come with rooflab", "", []string{
			"No Nsight Compute profile: no folder", "No Caliper profile: no folder", "Caliper profile: notebooks/data/large.cali"}, 1},
		{"with real profiles", "../../shared/samples", []string{
			"gemm_tiled_kernel", "Nsight Compute profile: ", "Caliper profile: ", "1.71799e+10|17179869184"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			datasets := c.datasets
			if datasets != "" {
				var err error
				if datasets, err = filepath.Abs(datasets); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(datasets); err != nil {
					t.Fatalf("no samples beside the repository (%v): put the project's sample profiles there", err)
				}
			}
			out := filepath.Join(t.TempDir(), "out.ipynb")
			if status, output := rooflab(t, datasets, "run", firstLook, "-o", out); status != 0 {
				t.Fatalf("exit status %d:\n%s", status, output)
			}
			nb, err := notebook.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			text, types := shown(nb)
			for _, want := range append(c.want, "regression of log time.duration on 14 columns", "ridge", "disjoint in kernel, seed 1", "372 rows and a model") {
				some := false
				for _, w := range strings.Split(want, "|") {
					some = some || strings.Contains(text, w)
				}
				if !some {
					t.Errorf("%q is nowhere in the outputs:\n%s", want, text)
				}
			}
			if types["image/svg+xml"] != c.pictures || types["text/html"] < 5 {
				t.Errorf("outputs of types %v, want %d pictures and five tables or more", types, c.pictures)
			}
			if c.datasets == "" { // everything but times and the model's losses is the same again
				if status, output := rooflab(t, "", "verify", out); status != 0 {
					t.Errorf("verify: exit status %d:\n%s", status, output)
				}
			}
		})
	}
	if after := files(t); after != before {
		t.Errorf("the run changed the folder:\n%s\nbefore:\n%s", after, before)
	}
}

// ran runs a notebook and looks for texts in its outputs. It returns the file that
// it wrote, all text of outputs, and how many there are of each type. The folder of
// the notebooks has to be as it was when the test ends.
func ran(t *testing.T, path string, wants ...string) (out, text string, types map[string]int) {
	t.Helper()
	before := files(t)
	t.Cleanup(func() {
		if after := files(t); after != before {
			t.Errorf("the run changed the folder:\n%s\nbefore:\n%s", after, before)
		}
	})
	out = filepath.Join(t.TempDir(), "out.ipynb")
	if status, output := rooflab(t, "", "run", path, "-o", out); status != 0 {
		t.Fatalf("exit status %d:\n%s", status, output)
	}
	nb, err := notebook.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	text, types = shown(nb)
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is nowhere in the outputs:\n%s", want, text)
		}
	}
	return out, text, types
}

func TestExplanationRuns(t *testing.T) {
	out, _, types := ran(t, explanation,
		"R1   spread is bound by latency", // the report
		"1 of 16 kernels cover 84",        // hot: samples of perf
		"hot path of cpu-clock: spread",   // call tree
		"65025000",                        // 5 flop x 510 x 510 points x 50 steps, and as many reads
		"16320000", "1638450",             // about 1.25 and 0.125 misses a point
		"faster", "time.user", // the comparison
		"merge grows as n^2 * log2(n)",         // sorting n^2 numbers
		"spread grows as n^2\n", "[R1] spread", // the prompt
		"No profile of your own", "16 statements",
	)
	if types["image/svg+xml"] != 1 || types["application/vnd.plotly.v1+json"] != 1 || types["text/html"] < 10 {
		t.Errorf("outputs of types %v, want a plot, an interactive one and ten tables or more", types)
	}
	if status, output := rooflab(t, "", "verify", out); status != 0 {
		t.Errorf("verify: exit status %d:\n%s", status, output)
	}
}

// A network is trained on XLA, which `make test` sets up.
func TestHowLongRuns(t *testing.T) {
	_, _, types := ran(t, howLong,
		"1010 of 20200 launches, of 202 kernels", // 4040 kernels, every 20th, with 5 launches each
		"boosted trees", "5-fold, disjoint",
		"132 of 132", // 85 of 805 rows are held out to stop by: 6 epochs of 22.5 batches
		"n = 205", "What the prediction of",
	)
	if types["text/html"] < 3 {
		t.Errorf("outputs of types %v, want a comparison, progress and a listing", types)
	}
}

// What is faster depends on the machine and its load; what is right, what is
// evidence, and what is turned down for which reason, does not.
func TestProofRuns(t *testing.T) {
	for _, tool := range []string{"gcc", "clang", "valgrind"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is needed (Debian: apt-get install %[1]s)", tool)
		}
	}
	_, text, types := ran(t, proof,
		"hot: step; about ", "interchange of stencil.c:8, cites [C1", "builds: true",
		"right: true, on 2 fresh inputs of sizes [512 128]; out.bin is the same bit for bit, 262144 values", // 512 x 512
		"predicts D1mr down: came true",
		"Candidates\nround  candidate",
		"(unknown evidence)", "(wrong result)", "(read-only file)", "(sleeping)", "(timer tricks)", "(no edit)",
		"a bad model      5 ",
	)
	rejected := "first I want to read it; what may be applied all the same can be accepted by name"
	if confirmed := strings.Contains(text, "times as fast, with the same outputs"); confirmed != strings.Contains(text, rejected) || confirmed == strings.Contains(text, "Nothing was confirmed on this machine today") {
		t.Errorf("what was confirmed was not to be rejected, and then accepted:\n%s", text)
	}
	if types["image/svg+xml"] != 1 || types["text/html"] < 8 {
		t.Errorf("outputs of types %v, want a plot, hunks, progress, reports and scores", types)
	}
}

func TestExplanationTakesAProfile(t *testing.T) {
	profile, err := filepath.Abs("data/large.cali")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := notebook.ReadFile(explanation)
	if err != nil {
		t.Fatal(err)
	}
	// The first cell, the parameter and the report: none between is needed.
	var cells []*notebook.Cell
	for _, c := range whole.Cells {
		parameter := strings.HasPrefix(c.Source, `profile := ""`)
		if c.Type == notebook.Code && (len(cells) != 1 || parameter) {
			cells = append(cells, c)
		}
	}
	if len(cells) != 4 {
		t.Fatalf("%d cells, want the first, the parameter, the report and the end", len(cells))
	}
	cells[3] = notebook.NewCell(notebook.Code, "must(0, errors.Join(store.Close(), os.RemoveAll(dir)))")
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.ipynb"), filepath.Join(dir, "out.ipynb")
	if err := notebook.WriteFile(in, notebook.New(cells...)); err != nil {
		t.Fatal(err)
	}
	if status, output := rooflab(t, "", "run", in, "-p", "profile="+profile, "-o", out); status != 0 {
		t.Fatalf("exit status %d:\n%s", status, output)
	}
	nb, err := notebook.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := shown(nb); !strings.Contains(text, "large.cali is caliper-cali") || !strings.Contains(text, "Insight: run 1, caliper") {
		t.Errorf("the report of the profile is missing:\n%s", text)
	}
}

func TestABrokenCellEndsTheRun(t *testing.T) {
	whole, err := notebook.ReadFile(firstLook)
	if err != nil {
		t.Fatal(err)
	}
	var first []*notebook.Cell
	for _, c := range whole.Cells {
		if c.Type == notebook.Code && len(first) < 3 {
			first = append(first, c)
		}
	}
	for _, c := range []struct{ name, source, want string }{
		{"panic", "var none []int\nnone[3]++", "index out of range [3] with length 0"},
		{"command", "!false", "exit status 1"},
		{"compile error", "y := x + undefinedName", "undefined: undefinedName"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			in, out := filepath.Join(dir, "in.ipynb"), filepath.Join(dir, "out.ipynb")
			broken := notebook.New(append(append([]*notebook.Cell{}, first...),
				notebook.NewCell(notebook.Code, c.source), notebook.NewCell(notebook.Code, "fmt.Println(\"later\")"))...)
			if err := notebook.WriteFile(in, broken); err != nil {
				t.Fatal(err)
			}
			status, output := rooflab(t, "", "run", in, "-o", out)
			if status != 1 {
				t.Fatalf("exit status %d, want 1:\n%s", status, output)
			}
			nb, err := notebook.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := shown(nb); !strings.Contains(text, "1.4142135623730951") || !strings.Contains(text, "ns a number") || strings.Contains(text, "later") {
				t.Errorf("the outputs so far are not kept, or a later cell ran:\n%s", text)
			}
			failed := nb.Cells[3].Outputs
			if len(failed) == 0 || failed[len(failed)-1].Type != notebook.ErrorOutput || !strings.Contains(failed[len(failed)-1].EValue, c.want) {
				t.Errorf("the broken cell's outputs are %+v, want an error with %q", failed, c.want)
			}
			if n := nb.Cells[4].Count; n != 0 {
				t.Errorf("the cell after it has execution count %d", n)
			}
		})
	}
}
