package duckdb_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/datasets"
)

// everything fills all tables, with NULLs and values at the edges.
func everything(sha string, version int) datasets.Profile {
	some := datasets.Some[int64]
	return datasets.Profile{
		Artefact: datasets.Artefact{Path: sha + ".csv", SHA256: sha, Bytes: 1, Kind: "test", ParserVersion: version},
		Records: []datasets.Record{
			&datasets.Machine{ID: 1, Host: "node7", Units: some(108), ClockHz: datasets.Some(1.41e9)},
			&datasets.Run{ID: 1, Machine: 1, Tool: "t", Format: "f", Status: datasets.RunOK, TimeMetric: "m", TimeInclusive: true,
				Started: datasets.Some(time.Date(2025, 1, 2, 3, 4, 5, 678901000, time.UTC)), Command: `a "b", 'c' ü`},
			&datasets.Run{ID: 2, Tool: "t", Format: "f", Status: datasets.RunDenied, Error: "two\nlines"},
			&datasets.Ceiling{Machine: 1, Run: 1, Level: "dram", Value: 1, Unit: "byte/s", Measured: true},
			&datasets.Ceiling{Machine: 1, Level: "dram", Value: 2, Unit: "byte/s"},
			&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindFunction, Raw: "main", Short: "main", Order: some(0)},
			&datasets.Region{ID: 2, Run: 1, Parent: 1, Kind: datasets.KindKernel, Raw: "", Short: ""},
			&datasets.Launch{ID: 1, Run: 1, Region: 2, Grid: [3]datasets.Null[int64]{some(1), {}, some(math.MaxInt64)}, ToolID: "0x7"},
			&datasets.Counter{Run: 1, Region: 2, Launch: 1, Metric: "m", Value: datasets.Some(math.Inf(1)), Status: datasets.StatusOK},
			&datasets.Counter{Run: 1, Region: 1, Metric: "m", Value: datasets.Some(0.1), Coverage: datasets.Some(33.3), Status: datasets.StatusMultiplexed},
			&datasets.Counter{Run: 1, Region: 1, Metric: "n", RawValue: "n/a", Status: datasets.StatusNA},
			&datasets.Code{ID: 1, Run: 1, Region: 2, ISA: "sass", Offset: some(0)},
			&datasets.StaticFeature{Run: 1, Region: 2, Name: "f"},
			&datasets.PCSample{Run: 1, Launch: 1, Code: 1, Reason: "wait", Samples: some(3)},
			&datasets.Telemetry{Run: 1, Sensor: "power", TNs: math.MinInt64, Kind: "instant"},
			&datasets.Attribute{Run: 1, Launch: 1, Region: 2, Name: "a", Value: ""},
		}}
}

func group(t *testing.T, s *datasets.Store, ps ...datasets.Profile) {
	t.Helper()
	out, err := s.ImportAll(t.Context(), ps)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil || o.Duplicate != nil {
			t.Fatalf("%+v", o)
		}
	}
}

func TestParquetRoundTripIsExact(t *testing.T) {
	dir := t.TempDir()
	a := open(t, filepath.Join(dir, "a.duckdb"))
	group(t, a, everything("aa", 1), everything("bb", 1))
	out := filepath.Join(dir, "it's out")
	m, err := a.ExportParquet(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if m.SchemaVersion != datasets.SchemaVersion || m.Tables[2].Name != "run" || m.Tables[2].Rows != 4 {
		t.Errorf("the manifest: %+v", m)
	}
	b := open(t, filepath.Join(dir, "b.duckdb"))
	done, err := b.ImportParquet(t.Context(), out)
	if err != nil || len(done.Runs) != 4 || done.Unchanged != 0 || done.Rows["counter"] != 6 || done.Rows["artefact"] != 4 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got, want := dump(t, b), dump(t, a); got != want {
		t.Errorf("after the round trip\n%s\nwant\n%s", got, want)
	}
	if got, want := columns(t, b), columns(t, a); got != want {
		t.Errorf("columns\n%s\nwant\n%s", got, want)
	}
	// Again: nothing changes.
	before := dump(t, b)
	if done, err = b.ImportParquet(t.Context(), out); err != nil || len(done.Runs) != 0 || done.Unchanged != 4 || dump(t, b) != before {
		t.Errorf("the second time: %+v, %v", done, err)
	}
	// The parquet files themselves hold the types, as another reader sees them.
	got := text(t, a, "SELECT name, type, coalesce(converted_type, '') FROM parquet_schema(?) WHERE name IN ('started', 'id', 'time_inclusive', 'command') ORDER BY name", filepath.Join(out, "run.parquet"))
	if got != "command BYTE_ARRAY UTF8\nid INT64 INT_64\nstarted INT64 TIMESTAMP_MICROS\ntime_inclusive BOOLEAN \n" {
		t.Errorf("types in the file:\n%s", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 5 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestParquetGoesIntoAFullStore(t *testing.T) {
	dir := t.TempDir()
	a := open(t, filepath.Join(dir, "a.duckdb"))
	group(t, a, everything("aa", 1), everything("bb", 2), everything("cc", 2))
	out := filepath.Join(dir, "out")
	if _, err := a.ExportParquet(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	// The target has bb from an older parser, cc from a newer one, and dd.
	b := open(t, filepath.Join(dir, "b.duckdb"))
	group(t, b, everything("dd", 1), everything("bb", 1), everything("cc", 3))
	done, err := b.ImportParquet(t.Context(), out)
	if err != nil || len(done.Runs) != 4 || done.Unchanged != 2 || done.Replaced != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	checkProvenance(t, b)
	if got := text(t, b, "SELECT sha256, parser_version, count(*) FROM artefact GROUP BY ALL ORDER BY ALL"); got != "aa 1 2\nbb 2 2\ncc 3 2\ndd 1 2\n" {
		t.Errorf("artefacts:\n%s", got)
	}
	if got := text(t, b, "SELECT (SELECT count(*) FROM machine), (SELECT count(DISTINCT machine_id) FROM ceiling), (SELECT count(*) FROM ceiling WHERE run_id IS NULL), (SELECT count(*) FROM ceiling)"); got != "1 1 1 5\n" {
		t.Errorf("machines and ceilings: %s", got)
	}
	// Every import's rows still belong together, and ids are unique.
	for what, sql := range map[string]string{
		"launches": `SELECT count(*), count(DISTINCT l.id), count(DISTINCT l.run_id) FROM launch l JOIN region g ON g.id = l.region_id AND g.run_id = l.run_id JOIN region p ON p.id = g.parent_id AND p.short = 'main'`,
		"counters": `SELECT count(*), count(DISTINCT c.launch_id), count(DISTINCT c.run_id) FROM counter c JOIN launch l ON l.id = c.launch_id AND l.run_id = c.run_id AND l.region_id = c.region_id`,
		"samples":  `SELECT count(*), count(DISTINCT c.id), count(DISTINCT p.run_id) FROM pc_sample p JOIN code c ON c.id = p.code_id AND c.run_id = p.run_id JOIN launch l ON l.id = p.launch_id AND l.run_id = p.run_id`,
	} {
		if got := text(t, b, sql); got != "4 4 4\n" {
			t.Errorf("%s: %s", what, got)
		}
	}
	before := dump(t, b)
	if done, err = b.ImportParquet(t.Context(), out); err != nil || len(done.Runs) != 0 || dump(t, b) != before {
		t.Errorf("the second time: %+v, %v", done, err)
	}
}

func TestParquetOfTheFirstSchema(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "old.duckdb"), filepath.Join(dir, "out")
	version1(t, path)
	if m, err := open(t, path, datasets.ReadOnly).ExportParquet(t.Context(), out); err != nil || m.SchemaVersion != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	b := open(t, filepath.Join(dir, "b.duckdb"))
	if done, err := b.ImportParquet(t.Context(), out); err != nil || len(done.Runs) != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	checkProvenance(t, b)
	if got := text(t, b, "SELECT id, machine_id FROM run ORDER BY id"); got != "1 1\n2 1\n3 3\n" {
		t.Errorf("runs and machines:\n%s", got)
	}
}

func TestParquetThatIsNotWholeIsRefused(t *testing.T) {
	dir := t.TempDir()
	a := open(t, filepath.Join(dir, "a.duckdb"))
	group(t, a, everything("aa", 1))
	b := open(t, filepath.Join(dir, "b.duckdb"))
	damage := func(name string, f func(out string) error, want string) {
		t.Helper()
		out := filepath.Join(dir, name)
		if _, err := a.ExportParquet(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		if err := f(out); err != nil {
			t.Fatal(err)
		}
		if _, err := b.ImportParquet(t.Context(), out); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), out) {
			t.Errorf("%s: %v", name, err)
		}
	}
	manifest := func(change func(*datasets.Manifest)) func(string) error {
		return func(out string) error {
			path := filepath.Join(out, "manifest.json")
			data, err := os.ReadFile(path)
			var m datasets.Manifest
			if err = errors.Join(err, json.Unmarshal(data, &m)); err != nil {
				return err
			}
			change(&m)
			data, err = json.Marshal(m)
			return errors.Join(err, os.WriteFile(path, data, 0o600))
		}
	}
	damage("no manifest", func(out string) error { return os.Remove(filepath.Join(out, "manifest.json")) }, "rooflab export has one")
	damage("a cut file", func(out string) error { return os.Truncate(filepath.Join(out, "counter.parquet"), 100) }, "counter.parquet has 100 bytes")
	damage("a missing file", func(out string) error { return os.Remove(filepath.Join(out, "run.parquet")) }, "run.parquet")
	damage("no JSON", func(out string) error { return os.WriteFile(filepath.Join(out, "manifest.json"), []byte("{"), 0o600) }, "manifest.json")
	damage("another format", manifest(func(m *datasets.Manifest) { m.Format = "x" }), `"x"`)
	damage("the future", manifest(func(m *datasets.Manifest) { m.SchemaVersion = 99 }), "use a newer rooflab")
	damage("a table less", manifest(func(m *datasets.Manifest) { m.Tables = m.Tables[1:] }), "machine.parquet")
	if n := count(t, b, "run"); n != 0 {
		t.Errorf("%d runs", n)
	}
	if datasets.IsParquet(dir) || !datasets.IsParquet(filepath.Join(dir, "a cut file")) {
		t.Error("IsParquet")
	}
	// Where files are, nothing is written.
	if _, err := a.ExportParquet(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "holds files") {
		t.Errorf("exporting over files: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.ExportParquet(ctx, filepath.Join(dir, "cancelled")); !errors.Is(err, context.Canceled) {
		t.Errorf("exporting with an ended context: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cancelled")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a cancelled export left %v", err)
	}
	if _, err := open(t, filepath.Join(dir, "a.duckdb"), datasets.ReadOnly).ImportParquet(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("importing into a read-only store: %v", err)
	}
}
