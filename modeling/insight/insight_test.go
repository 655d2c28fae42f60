package insight_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/all"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/insight"
)

// samplesDir holds profiles of all tools.
const samplesDir = "../../../shared/samples"

// scratch is removed when the tests are done.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "insight-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	status := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// stored is a store of all samples that import, made once.
var stored = sync.OnceValues(func() (*datasets.Store, error) {
	ctx := context.Background()
	dir, err := filepath.Abs(samplesDir)
	if err != nil {
		return nil, err
	}
	found, err := collectors.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	s, err := datasets.Open(filepath.Join(scratch, "samples.db"))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range found {
		paths = append(paths, f.Path)
	}
	return s, collectors.ImportFiles(ctx, s, paths, collectors.Options{Found: true}, func(collectors.Summary, error) error { return nil })
})

// samples returns the store of all samples and the ids of its runs.
func samples(t *testing.T) (*datasets.Store, []int64) {
	t.Helper()
	s, err := stored()
	if err != nil {
		t.Fatalf("importing %s: %v: the folder shared/ must lie beside the repository", samplesDir, err)
	}
	rows, err := s.Rows(context.Background(), "SELECT id FROM run ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		ids = append(ids, rows.Values()[0].(int64))
	}
	if len(ids) < 90 {
		t.Fatalf("only %d runs in the samples of %s", len(ids), samplesDir)
	}
	return s, ids
}

// of makes the report of a run.
func of(t *testing.T, s *datasets.Store, opt insight.Options) *insight.Report {
	t.Helper()
	r, err := insight.Of(context.Background(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every row that any report cites is in the store, and every query finds the
// item's value.
func TestEverythingThatIsCitedIsFoundAgain(t *testing.T) {
	s, runs := samples(t)
	for _, id := range runs {
		r, err := insight.Of(context.Background(), s, insight.Options{Run: id})
		if err != nil {
			t.Errorf("run %d: %v", id, err)
			continue
		}
		if err := r.Verify(context.Background(), s); err != nil {
			t.Errorf("run %d (%s): %v", id, r.Runs[0].Tool, err)
		}
		if len(r.Items) == 0 && len(r.Missing) == 0 {
			t.Errorf("run %d (%s): a report that says nothing", id, r.Runs[0].Tool)
		}
		for _, i := range r.Items {
			if i.Statement == "" || i.Metric == "" || i.Rule == "" || i.Importance < 0 || i.Importance > 1 || i.Share < 0 || i.Share > 1.0001 {
				t.Errorf("run %d: %+v", id, i)
			}
		}
	}
}

// The same store gives the same bytes.
func TestReportsAreDeterministic(t *testing.T) {
	s, runs := samples(t)
	for n, id := range runs {
		if n%4 != 3 { // each takes a second; all kinds of tools are among these
			continue
		}
		var a, b bytes.Buffer
		for _, w := range []*bytes.Buffer{&a, &b} {
			r := of(t, s, insight.Options{Run: id})
			if err := r.WriteJSON(w); err != nil {
				t.Fatal(err)
			}
			w.WriteString(r.Markdown() + r.Page() + r.String())
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("run %d: two reports differ", id)
		}
		var back insight.Report
		if err := json.NewDecoder(&a).Decode(&back); err != nil || back.Version != insight.Version {
			t.Errorf("run %d: the JSON does not read back: %v", id, err)
		}
	}
}
