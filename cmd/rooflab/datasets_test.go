package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestDatasetsAreFoundListedAndImported(t *testing.T) {
	shared, err := filepath.Abs("../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "ROOFLAB_DATASETS="+shared, "XDG_CACHE_HOME="+t.TempDir())
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(binary, args...)
		cmd.Env = env
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("rooflab %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	var list struct {
		Datasets []struct{ Name, Where, Path, Problem string }
	}
	if err := json.Unmarshal([]byte(run("datasets", "list", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, d := range list.Datasets {
		at[d.Name] = d.Where + " " + d.Path
		if d.Problem != "" {
			t.Errorf("%+v", d)
		}
	}
	if want := "own " + filepath.Join(shared, "neusight"); at["neusight"] != want {
		t.Errorf("neusight is %q, want %q", at["neusight"], want)
	}
	if got := run("datasets", "path", "neusight"); got != filepath.Join(shared, "neusight")+"\n" {
		t.Errorf("path: %q", got)
	}
	store := filepath.Join(t.TempDir(), "s.db")
	run("datasets", "fetch", "robust-kbench", "--store", store)
	// 12 rows of 12 tasks or less: the sum of "Runtime (ms)" is 6.36 ms with pandas.
	if got := run("query", "--store", store, "--format", "csv", `SELECT count(*), round(sum(value)*1e3, 2) FROM counter WHERE metric = 'Runtime (ms)'`); !strings.HasSuffix(got, "12,6.36\n") {
		t.Errorf("query: %q", got)
	}
	// rooflab's own is unpacked, without a network, and imported like any folder.
	own := strings.TrimSpace(run("datasets", "path", "rooflab-pocl"))
	run("import", "--store", store, own)
	if got := run("query", "--store", store, "--format", "csv", `SELECT count(*) > 2000 FROM launch l JOIN run r ON r.id = l.run_id WHERE r.tool = 'opencl'`); !strings.HasSuffix(got, "true\n") {
		t.Errorf("launches of rooflab-pocl: %q", got)
	}
	if err := os.WriteFile(filepath.Join(own, "launch.parquet"), []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	run("import", "--store", filepath.Join(t.TempDir(), "t.db"), strings.TrimSpace(run("datasets", "path", "rooflab-pocl")))
	cmd := exec.Command(binary, "datasets", "path", "no-such-set")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), `no data set "no-such-set": there are deeptune-devmap, gpuflopbench`) {
		t.Errorf("an unknown name: %v, %s", err, out)
	}
}
