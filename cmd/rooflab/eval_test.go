package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// evaluate runs `rooflab eval` with a folder of data sets.
func evaluate(t *testing.T, data string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	c := exec.Command(binary, append([]string{"eval"}, args...)...)
	c.Env = append(os.Environ(), "ROOFLAB_DATASETS="+data, "XDG_CACHE_HOME="+t.TempDir())
	var o, e strings.Builder
	c.Stdout, c.Stderr = &o, &e
	err = c.Run()
	return o.String(), e.String(), err
}

func TestEvalWritesResultsAndRecord(t *testing.T) {
	data, err := filepath.Abs("../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "record.json")
	stdout, stderr, err := evaluate(t, data, "counters-coulomb", "--json", "--seed", "5", "--out", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var r struct {
		Results []struct {
			Name, Metric, Baseline, Split string
			Value, Low, High              *float64
			Baseline_value                *float64
			N                             int
		}
		Seed    int
		Data    []struct{ SHA256 string }
		Program struct{ Go string }
		Machine struct{ CPUs int }
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if len(r.Results) == 0 || r.Seed != 5 || len(r.Data) != 1 || len(r.Data[0].SHA256) != 64 || r.Program.Go == "" || r.Machine.CPUs == 0 {
		t.Errorf("%+v", r)
	}
	for _, x := range r.Results {
		if x.Name == "" || x.Metric == "" || x.Baseline == "" || x.Split == "" || x.Value == nil || x.Low == nil || x.High == nil || x.Baseline_value == nil || x.N != 210 {
			t.Errorf("%+v", x)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != stdout {
		t.Errorf("the record is not what was printed: %v\n%s", err, b)
	}
	if !strings.Contains(stderr, "eval counters-coulomb: folds with ridge regression: 25 of 25") {
		t.Errorf("progress %q", stderr)
	}
}

func TestEvalListsWhatThereIs(t *testing.T) {
	stdout, _, err := evaluate(t, t.TempDir())
	if err != nil || !strings.HasPrefix(stdout, "counters-coulomb ") && !strings.Contains(stdout, "\ncounters-coulomb ") {
		t.Errorf("%v\n%s", err, stdout)
	}
	_, stderr, err := evaluate(t, t.TempDir(), "no-such")
	if err == nil || !strings.Contains(stderr, `no evaluation "no-such": there are `) || !strings.Contains(stderr, "counters-coulomb") {
		t.Errorf("%v %s", err, stderr)
	}
}

func TestEvalWithoutItsDataLeavesNoRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record.json")
	stdout, stderr, err := evaluate(t, t.TempDir(), "counters-coulomb", "--out", file)
	if err == nil || stdout != "" || !strings.Contains(stderr, "data set ktt-coulomb is not on this machine") || !strings.Contains(stderr, "rooflab datasets fetch ktt-coulomb") {
		t.Errorf("%v %q %q", err, stdout, stderr)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("half a record is left: %v", err)
	}
}
