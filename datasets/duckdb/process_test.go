package duckdb_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/datasets"
)

func TestProcessKilledWhileImportingLeavesTheStoreAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	before := func() string {
		s, err := datasets.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		imported(t, s, 10, artefact)
		return dump(t, s)
	}()
	// Nothing, something in memory, rows with the engine, rows in the file.
	for i, n := range []int{0, 10, 10_000, 300_000} {
		start(t, fmt.Sprint("put ", n), path).kill()
		s, err := datasets.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(t, s); got != before {
			t.Errorf("killed after %d launches: the store holds %d bytes of rows, before %d", n, len(got), len(before))
		}
		imported(t, s, 3, datasets.Artefact{Path: "b", SHA256: fmt.Sprint(i), Kind: "test", ParserVersion: 1})
		before = dump(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProcessKilledBetweenCommitsKeepsWholeImports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	total := 0
	for round := range 4 {
		p := start(t, "commits", path)
		for i := range round {
			p.says(fmt.Sprint("committed ", i))
		}
		p.kill() // at any place of the next import
		total += round
		s, err := datasets.Open(path)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		n := count(t, s, "run")
		if n < total {
			t.Errorf("round %d: %d runs, of which %d were committed", round, n, total)
		}
		total = n // the import that was going on may have just ended
		if n == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, want := text(t, s, `SELECT DISTINCT (SELECT count(*) FROM launch l WHERE l.run_id = r.id), (SELECT count(*) FROM counter c WHERE c.run_id = r.id),
			(SELECT count(*) FROM region g WHERE g.run_id = r.id), (SELECT count(*) FROM artefact a WHERE a.run_id = r.id) FROM run r`), fmt.Sprintln(perCommit, perCommit, 2, 1); got != want {
			t.Errorf("round %d: launches, counters, regions and artefacts of a run: %swant %s", round, got, want)
		}
		for _, table := range []string{"launch", "counter"} {
			if got := count(t, s, table); got != n*perCommit {
				t.Errorf("round %d: table %s has %d rows, %d runs", round, table, got, n)
			}
		}
		checkProvenance(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProcessesReadTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	s, err := datasets.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	imported(t, s, 10, artefact)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var readers []*process
	for range 3 {
		readers = append(readers, start(t, "read", path))
	}
	for _, r := range readers {
		r.says("10")
		r.says("ready")
	}
	// This process reads beside them, and may not write.
	if n := count(t, open(t, path, datasets.ReadOnly), "launch"); n != 10 {
		t.Errorf("%d launches", n)
	}
}

func TestWriterBesideReadersOfOtherProcessesIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	s, err := datasets.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	imported(t, s, 10, artefact)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := start(t, "read", path)
	r.says("10")
	r.says("ready")
	_, err = datasets.Open(path)
	var locked *datasets.LockedError
	if !errors.As(err, &locked) || !strings.Contains(locked.Holder, fmt.Sprint(r.cmd.Process.Pid)) || !strings.Contains(err.Error(), "for reading or writing") {
		t.Errorf("writing beside a reader: %v", err)
	}
	r.kill()
	open(t, path)
}

func TestGoroutinesReadAndImportTogether(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
	const writers, each, launches = 3, 4, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				im, err := s.Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if err := put(im, launches); err != nil {
					t.Error(err)
				}
				name := fmt.Sprint(w, "-", i)
				if err := im.Commit(datasets.Artefact{Path: name, SHA256: name, Kind: "test", ParserVersion: 1}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			last := 0
			for range 20 {
				df, err := s.Query(t.Context(), "SELECT (SELECT count(*) FROM launch) AS l, (SELECT count(*) FROM run) AS r")
				if err != nil {
					t.Error(err)
					return
				}
				l, err1 := df.Col("l").Elem(0).Int()
				r, err2 := df.Col("r").Elem(0).Int()
				if errors.Join(err1, err2) != nil || l != r*launches || r < last {
					t.Errorf("a reader sees %d launches of %d runs, after %d runs", l, r, last)
				}
				last = r
			}
		})
	}
	wg.Wait()
	if got := text(t, s, "SELECT count(*), count(DISTINCT id) FROM launch"); got != fmt.Sprintln(writers*each*launches, writers*each*launches) {
		t.Errorf("launches and their ids: %s", got)
	}
	checkProvenance(t, s)
}
