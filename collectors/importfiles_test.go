package collectors_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/caliper"
	_ "github.com/rooflab/rooflab/collectors/ncu"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// small is a profile of three regions.
func small(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := caliper.NewWriter(&b)
	for _, r := range []string{"a", "b", "c"} {
		w.Record([]caliper.Step{{Kind: caliper.Function, Name: r}}, caliper.Metric{Name: "time", Unit: "sec", Value: 1})
	}
	w.Global("cmdline", name)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// table is an ncu table with so many rows, in launches of ten.
func table(rows int) []byte {
	var b bytes.Buffer
	b.WriteString(`"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"` + "\n")
	for i := range rows {
		fmt.Fprintf(&b, `"%d","1","app","h","k","1","7","Command line profiler metrics","m%d.sum","byte","%d"`+"\n", i/10, i%10, i)
	}
	return b.Bytes()
}

func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(content)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tempStore(t *testing.T) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// counts are the rows of runs and counters.
func counts(t *testing.T, s *datasets.Store) string {
	t.Helper()
	df, err := s.Query(t.Context(), "SELECT (SELECT count(*) FROM run) AS runs, (SELECT count(*) FROM counter) AS counters, (SELECT count(*) FROM artefact) AS artefacts")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(df.Records()[1])
}

func TestManyFilesAreImportedInOrderEachByItself(t *testing.T) {
	dir := t.TempDir()
	var paths, want []string
	add := func(name string, content []byte, becomes string) {
		path := filepath.Join(dir, name)
		if content != nil {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		paths, want = append(paths, path), append(want, name+" "+becomes)
	}
	for i := range 40 {
		name := fmt.Sprintf("%02d", i)
		add(name+".cali", small(t, name), "imported 1")
		switch i {
		case 5:
			add("again.cali", small(t, "03"), "duplicate of 03.cali")
		case 10:
			add("cut.cali", []byte("__rec=node,id=16,attr=10,data=x\n__rec=ctx,ref=99"), "failed at line 2")
			add("unknown.bin", []byte("nothing that is known"), "unknown")
		case 20:
			add("large.csv", table(20_000), "imported 1") // more bytes than are kept in memory
			add("packed.csv.gz", packed(t, table(30_000)), "imported 1")
			add("cut.csv", append(table(20_000), []byte(`"9999","1"`)...), "failed at line 20002")
		case 30:
			add("missing.cali", nil, "missing")
			add("empty.cali", []byte{}, "unknown")
		}
	}
	s := tempStore(t)
	var got []string
	runs := map[int64]bool{}
	report := func(sum collectors.Summary, err error) error {
		var unknown *collectors.UnknownError
		var syntax *collectors.SyntaxError
		what := fmt.Sprint("imported ", len(sum.Runs))
		switch {
		case errors.As(err, &syntax):
			what = fmt.Sprint("failed at line ", syntax.Line)
		case errors.As(err, &unknown):
			what = "unknown"
		case errors.Is(err, fs.ErrNotExist):
			what = "missing"
		case err != nil:
			what = err.Error()
		case sum.Duplicate != nil:
			what = "duplicate of " + filepath.Base(sum.Duplicate.Earlier)
		default:
			runs[sum.Run()] = true
		}
		got = append(got, filepath.Base(sum.Path)+" "+what)
		return nil
	}
	if err := collectors.ImportFiles(t.Context(), s, paths, collectors.Options{}, report); err != nil {
		t.Fatal(err)
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("reported\n%s\nwant\n%s", g, w)
	}
	// 40 files with 3 counters each, and two tables.
	if c := counts(t, s); c != "[42 50120 42]" || len(runs) != 42 {
		t.Errorf("runs, counters and artefacts: %s; %d runs reported", c, len(runs))
	}
	// Again, nothing changes.
	got = nil
	if err := collectors.ImportFiles(t.Context(), s, paths, collectors.Options{}, report); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(strings.Join(got, "\n"), "duplicate of"); n != 43 || counts(t, s) != "[42 50120 42]" {
		t.Errorf("the second time %d duplicates, %s", n, counts(t, s))
	}
}

func TestImportOfManyFilesEndsWhenItIsTold(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 50 {
		path := filepath.Join(dir, fmt.Sprintf("%d.cali", i))
		if err := os.WriteFile(path, small(t, path), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	stop := errors.New("enough")
	n := 0
	err := collectors.ImportFiles(t.Context(), tempStore(t), paths, collectors.Options{}, func(collectors.Summary, error) error {
		if n++; n == 7 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 7 {
		t.Errorf("after %d reports: %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := tempStore(t)
	err = collectors.ImportFiles(ctx, s, paths, collectors.Options{}, func(collectors.Summary, error) error {
		t.Error("a file was reported after the end")
		return nil
	})
	if !errors.Is(err, context.Canceled) || counts(t, s) != "[0 0 0]" {
		t.Errorf("with an ended context: %v, %s", err, counts(t, s))
	}
}
