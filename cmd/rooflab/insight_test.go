package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// insightReport is what `rooflab insight --json` must say, in the words of its
// own documentation.
type insightReport struct {
	Version int   `json:"version"`
	Run     int64 `json:"run"`
	Items   []struct {
		ID        string `json:"id"`
		Statement string `json:"statement"`
		Query     string `json:"query"`
		Sources   []struct {
			Path   string `json:"path"`
			SHA256 string `json:"sha256"`
			Rows   []any  `json:"rows"`
		} `json:"sources"`
	} `json:"items"`
	Missing []struct {
		Analysis string `json:"analysis"`
	} `json:"missing"`
}

// Every sample that imports gives a report, each statement with an id of its
// own, a query and the file that it comes from.
func TestInsightIntoAllSamples(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.duckdb")
	importJSON(t, 1, "--store", store, samplesDir)
	ids, errs, status := run(t, "", "query", "--store", store, "--format", "json", "SELECT run_id AS id, min(path) AS path FROM provenance WHERE parser <> 'part' GROUP BY 1 ORDER BY 1")
	if status != 0 {
		t.Fatal(errs)
	}
	var runs []struct {
		ID   int64
		Path string
	}
	if err := json.Unmarshal([]byte(ids), &runs); err != nil {
		t.Fatal(err)
	}
	if len(runs) < 90 {
		t.Fatalf("only %d runs in %s", len(runs), samplesDir)
	}
	for _, f := range runs {
		out, errs, status := run(t, "", "insight", "--store", store, "--run", strconv.FormatInt(f.ID, 10), "--json")
		if status != 0 {
			t.Errorf("%s: %s", f.Path, errs)
			continue
		}
		var r insightReport
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Errorf("%s: %v", f.Path, err)
			continue
		}
		// Nothing can be said of a profile without a single sample, and of a trace
		// whose only event never ends.
		empty := strings.HasSuffix(f.Path, "local_gprof.txt") || strings.HasSuffix(f.Path, "speedscope_mismatched-name.json")
		if r.Version != 1 || r.Run != f.ID || (len(r.Items) == 0) != empty {
			t.Errorf("%s: version %d, run %d, %d items; missing %v", f.Path, r.Version, r.Run, len(r.Items), r.Missing)
		}
		seen := map[string]bool{}
		for _, i := range r.Items {
			if i.ID == "" || seen[i.ID] || i.Statement == "" || i.Query == "" || len(i.Sources) == 0 || len(i.Sources[0].Rows) == 0 || i.Sources[0].Path == "" || len(i.Sources[0].SHA256) != 64 {
				t.Errorf("%s: %+v", f.Path, i)
			}
			seen[i.ID] = true
		}
	}
}

func TestInsightWritesItsFormats(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "s.duckdb")
	importJSON(t, 0, "--store", store, filepath.Join(samplesDir, "ncu_rep/stencil-2d-cuda-v4.ncu-rep"))
	page := filepath.Join(dir, "r.html")
	for _, tt := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"stencil2d is bound by DRAM bandwidth", "What else is known"}},
		{[]string{"--markdown"}, []string{"# Insight: run 1", "**R1** stencil2d is bound by DRAM bandwidth"}},
		{[]string{"--prompt", "--tokens", "400"}, []string{"[R1] stencil2d is bound by DRAM bandwidth", "left out for room"}},
		{[]string{"--html", page, "--kernel", "stencil2d"}, nil},
	} {
		out, errs, status := run(t, "", append([]string{"insight", "--store", store}, tt.args...)...)
		if status != 0 {
			t.Fatalf("%v: %s", tt.args, errs)
		}
		for _, want := range tt.says {
			if !strings.Contains(out, want) {
				t.Errorf("%v: %q is not in\n%s", tt.args, want, out)
			}
		}
	}
	b, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(b), "<svg") || !strings.Contains(string(b), "stencil-2d-cuda-v4.cu") {
		t.Errorf("the page: %v, %d bytes", err, len(b))
	}
	if _, errs, status := run(t, "", "insight", "--store", store, "--kernel", "stencil"); status != 1 || !strings.Contains(errs, `did you mean "stencil2d"?`) {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status := run(t, "", "insight", "--store", filepath.Join(dir, "none.duckdb")); status != 1 || !strings.Contains(errs, "none.duckdb") {
		t.Errorf("status %d, %s", status, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.duckdb"), []byte("no store at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := run(t, "", "insight", "--store", filepath.Join(dir, "broken.duckdb")); status != 1 || errs == "" {
		t.Errorf("a broken store: status %d, %s", status, errs)
	}
}
