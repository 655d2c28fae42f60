package duckdb_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
)

// columns are the columns of all tables with their types and whether they take
// NULL, as the engine describes them.
func columns(t *testing.T, s *datasets.Store) string {
	t.Helper()
	return text(t, s, `SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name <> 'schema_migration' ORDER BY table_name, ordinal_position`)
}

// text is a result, a line per row.
func text(t *testing.T, s *datasets.Store, sql string, args ...any) string {
	t.Helper()
	df, err := s.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range df.Records()[1:] {
		fmt.Fprintln(&b, strings.Join(r, " "))
	}
	return b.String()
}

func TestStoreOfTheFirstSchemaIsReadAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	version1(t, path)
	s := open(t, path, datasets.ReadOnly)
	if got := text(t, s, "SELECT max(version) FROM schema_migration"); got != "1\n" {
		t.Errorf("reading made it version %s", got)
	}
	for _, table := range datasets.Tables {
		if count(t, s, table) == 0 {
			t.Errorf("table %s has no rows", table)
		}
	}
	ms, err := s.Measurements(t.Context(), datasets.Filter{Run: 1})
	if err != nil || len(ms) != 1 || ms[0].Value("gpu__time_duration.sum") != datasets.Some(1.5e-6) {
		t.Errorf("Measurements: %+v, %v", ms, err)
	}
	df, err := s.Provenance(t.Context(), datasets.Filter{Run: 3})
	if err != nil || df.Nrow() != 1 || df.Col("path").Records()[0] != "c.cali" {
		t.Errorf("Provenance: %v, %v", df, err)
	}
}

func TestStoreOfTheFirstSchemaIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.duckdb")
	version1(t, old)
	before := func() string {
		s, err := datasets.Open(old, datasets.ReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return dump(t, s)
	}()
	s := open(t, old)
	if got, want := columns(t, s), columns(t, open(t, filepath.Join(dir, "new.duckdb"))); got != want {
		t.Errorf("the columns after migrating\n%s\nof a new store\n%s", got, want)
	}
	// Machines 1 and 2 have the same facts: run 2 and its ceiling now name
	// machine 1. Nothing else changes.
	want := strings.Split(before, "\n")
	want = slices.DeleteFunc(want, func(l string) bool { return strings.HasPrefix(l, "machine [2 ") })
	for i, l := range want {
		l = strings.Replace(l, "run [2 2 ncu", "run [2 1 ncu", 1)
		want[i] = strings.Replace(l, "ceiling [2 2 dram", "ceiling [1 2 dram", 1)
	}
	got := strings.Split(dump(t, s), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("after migrating\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// It takes new rows, ids on top, and its own check knows the new status.
	im, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := im.Put(&datasets.Run{ID: 1, Tool: "t", Format: "f", Status: datasets.RunUnavailable}); err != nil {
		t.Fatal(err)
	}
	if err := im.Commit(artefact); err != nil {
		t.Fatal(err)
	}
	if got := text(t, s, "SELECT id FROM run WHERE status = 'unavailable'"); got != "4\n" {
		t.Errorf("the new run is %s", got)
	}
}

// lost counts the rows of a table whose run has no artefact.
const lost = `SELECT count(*) FROM %s t WHERE NOT EXISTS (SELECT 1 FROM artefact a JOIN run r ON r.id = a.run_id
	WHERE r.id = %s AND a.path <> '' AND a.sha256 <> '' AND a.parser_version > 0 AND a.imported IS NOT NULL)`

func checkProvenance(t *testing.T, s *datasets.Store) {
	t.Helper()
	for _, table := range datasets.Tables {
		run := "t.run_id"
		switch table {
		case "run":
			run = "t.id"
		case "ceiling": // one of a datasheet belongs to its machine
			run = "coalesce(t.run_id, (SELECT m.run_id FROM machine m WHERE m.id = t.machine_id))"
		}
		if got := text(t, s, fmt.Sprintf(lost, table, run)); got != "0\n" {
			t.Errorf("rows of table %s that lead to no artefact: %s", table, got)
		}
	}
}

func TestEveryRowLeadsToItsFile(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
	profile := func(sha string, version int, gpu string) datasets.Profile {
		return datasets.Profile{Artefact: datasets.Artefact{Path: sha + ".csv", SHA256: sha, Bytes: 1, Kind: "test", ParserVersion: version},
			Parts: []datasets.Artefact{{Path: sha + ".db", SHA256: sha + "db", Bytes: 2}},
			Records: []datasets.Record{
				&datasets.Machine{ID: 5, Host: "node7", GPU: gpu},
				&datasets.Run{ID: 1, Machine: 5, Tool: "t", Format: "f", Status: datasets.RunOK},
				&datasets.Ceiling{Machine: 5, Run: 1, Level: "dram", Value: 1, Unit: "byte/s", Measured: true},
				&datasets.Ceiling{Machine: 5, Level: "dram", Value: 2, Unit: "byte/s", Source: "datasheet"},
				&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindKernel, Raw: "k", Short: "k"},
				&datasets.Launch{ID: 1, Run: 1, Region: 1},
				&datasets.Counter{Run: 1, Region: 1, Launch: 1, Metric: "m", Status: datasets.StatusNA},
				&datasets.Code{ID: 1, Run: 1, Region: 1, ISA: "sass"},
				&datasets.StaticFeature{Run: 1, Region: 1, Name: "f"},
				&datasets.PCSample{Run: 1, Launch: 1, Code: 1, Reason: "wait"},
				&datasets.Telemetry{Run: 1, Sensor: "power", Kind: "instant"},
				&datasets.Attribute{Run: 1, Name: "a", Value: ""},
			}}
	}
	all := []datasets.Profile{profile("a", 1, "A100"), profile("b", 1, "A100"), profile("c", 1, "H100"), profile("a", 1, "A100")}
	out, err := s.ImportAll(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Runs[0] != 1 || out[1].Runs[0] != 2 || out[2].Runs[0] != 3 || out[3].Duplicate == nil || out[3].Duplicate.Run != 1 || out[1].Rows["artefact"] != 2 ||
		out[0].Rows["machine"] != 1 || out[0].Rows["ceiling"] != 2 || out[1].Rows["machine"] != 0 || out[1].Rows["ceiling"] != 1 {
		t.Errorf("outcomes: %+v", out)
	}
	checkProvenance(t, s)
	// The same machine described twice is one, with one line of its datasheet
	// and what each run measured.
	if got := text(t, s, "SELECT id, gpu, run_id FROM machine ORDER BY id"); got != "1 A100 1\n2 H100 3\n" {
		t.Errorf("machines:\n%s", got)
	}
	if got := text(t, s, "SELECT machine_id, coalesce(run_id, 0) FROM ceiling ORDER BY ALL"); got != "1 0\n1 1\n1 2\n2 0\n2 3\n" {
		t.Errorf("ceilings:\n%s", got)
	}
	if got := text(t, s, "SELECT path, parser FROM provenance WHERE run_id = 2 ORDER BY ALL"); got != "b.csv test\nb.db part\n" {
		t.Errorf("provenance:\n%s", got)
	}

	// A newer parser replaces runs 1 and 3: machine 1 stays, as it is run 2's;
	// machine 2 goes and comes again.
	out, err = s.ImportAll(t.Context(), []datasets.Profile{profile("a", 2, "A100"), profile("c", 2, "H100")})
	if err != nil || out[0].Runs[0] != 4 || out[1].Runs[0] != 5 {
		t.Fatalf("outcomes: %+v, %v", out, err)
	}
	checkProvenance(t, s)
	if got := text(t, s, "SELECT r.id, m.gpu, m.run_id FROM run r JOIN machine m ON m.id = r.machine_id ORDER BY r.id"); got != "2 A100 2\n4 A100 2\n5 H100 5\n" {
		t.Errorf("runs and machines:\n%s", got)
	}
	if got := text(t, s, "SELECT m.gpu, coalesce(c.run_id, 0) FROM ceiling c JOIN machine m ON m.id = c.machine_id ORDER BY ALL"); got != "A100 0\nA100 2\nA100 4\nH100 0\nH100 5\n" {
		t.Errorf("ceilings:\n%s", got)
	}
}

func TestRecordsThatLeadNowhereAreRefused(t *testing.T) {
	run := &datasets.Run{ID: 1, Tool: "t", Format: "f", Status: datasets.RunOK}
	for name, c := range map[string]struct {
		records []datasets.Record
		want    string
	}{
		"a run that is not there":     {[]datasets.Record{run, &datasets.Region{ID: 1, Run: 2, Kind: "kernel"}}, "run 2"},
		"a machine that is not there": {[]datasets.Record{&datasets.Run{ID: 1, Machine: 4, Tool: "t", Format: "f", Status: "ok"}}, "machine 4"},
		"two runs of one id":          {[]datasets.Record{run, run}, "two runs"},
		"no run":                      {[]datasets.Record{&datasets.Machine{ID: 1}}, "no run"},
		"a ceiling of no machine":     {[]datasets.Record{run, &datasets.Ceiling{Machine: 1, Level: "l", Unit: "u"}}, "machine 1"},
		"a status nobody knows":       {[]datasets.Record{&datasets.Run{ID: 1, Tool: "t", Format: "f", Status: "fine"}}, "run"},
	} {
		s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
		bad := datasets.Profile{Artefact: artefact, Records: c.records}
		good := datasets.Profile{Artefact: datasets.Artefact{Path: "b.csv", SHA256: "bb", Kind: "test", ParserVersion: 1}, Records: []datasets.Record{run}}
		// In a group, it alone is left out.
		out, err := s.ImportAll(t.Context(), []datasets.Profile{bad, good})
		if err != nil || out[0].Err == nil || !strings.Contains(out[0].Err.Error(), c.want) || !strings.Contains(out[0].Err.Error(), "a.csv") || len(out[1].Runs) != 1 {
			t.Errorf("%s, in a group: %+v, %v", name, out, err)
		}
		if n := count(t, s, "run"); n != 1 {
			t.Errorf("%s: %d runs", name, n)
		}
		im, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.records {
			if err = im.Put(r); err != nil {
				break
			}
		}
		if err == nil {
			err = im.Commit(artefact)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := im.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

func TestTextsOfAnyLengthAndEncodingComeBack(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
	texts := []string{"", "a", "twelve bytes", "thirteen byte", "ü", "größer als zwölf", strings.Repeat("long ", 1000), "quote ' and \" and \\", "a\x00b"}
	p := profile()
	for i := range 5000 { // more than the engine takes at a time
		p.Records = append(p.Records, &datasets.Attribute{Run: 1, Name: fmt.Sprint("n", i), Value: texts[i%len(texts)]})
	}
	// A file in Latin-1, such as a Windows tool writes: é is the byte e9.
	p.Records = append(p.Records, &datasets.Region{ID: 1, Run: 1, Kind: "kernel", Raw: "caf\xe9 ü", Short: "caf\xe9"},
		&datasets.Counter{Run: 1, Region: 1, Metric: "m\xb5s", Unit: "\xb5", Status: datasets.StatusNA})
	group(t, s, p)
	rows, err := s.Rows(t.Context(), "SELECT name, value FROM attribute")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var i int
		if _, err := fmt.Sscanf(rows.Values()[0].(string), "n%d", &i); err != nil {
			t.Fatal(err)
		}
		if got := rows.Values()[1]; got != texts[i%len(texts)] {
			t.Fatalf("text %d came back as %q, want %q", i, got, texts[i%len(texts)])
		}
		n++
	}
	if rows.Err() != nil || n != 5000 {
		t.Errorf("%d rows, %v", n, rows.Err())
	}
	if got := text(t, s, "SELECT g.raw, g.short, c.metric, c.unit FROM counter c JOIN region g ON g.id = c.region_id"); got != "café ü café mµs µ\n" {
		t.Errorf("texts in Latin-1 came back as %s", got)
	}
}
