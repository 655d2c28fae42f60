package split_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/datasets/split"
)

func TestKeysComeFromTheStore(t *testing.T) {
	ctx := context.Background()
	store, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	im, err := store.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := func(v int64) datasets.Null[int64] { return datasets.Some(v) }
	for _, r := range []datasets.Record{
		&datasets.Machine{ID: 1, CPU: "EPYC 7763", GPU: "A100"},
		&datasets.Run{ID: 1, Machine: 1, Tool: "ncu", Format: "x", Command: "/opt/bin/lulesh -s 30", InputHash: "abc", Status: datasets.RunOK},
		&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindKernel, Raw: "void f<1>(int)", Short: "f"},
		&datasets.Region{ID: 2, Run: 1, Kind: datasets.KindKernel, Raw: "g", Short: "g"},
		&datasets.Attribute{Run: 1, Region: 2, Name: "program", Value: "minife"},
		&datasets.Launch{ID: 1, Run: 1, Region: 1, Grid: [3]datasets.Null[int64]{n(4), n(2), n(1)}, Block: [3]datasets.Null[int64]{n(64), n(1), n(1)}},
		&datasets.Counter{Run: 1, Region: 1, Launch: 1, Metric: "m", Value: datasets.Some(1.0), Status: datasets.StatusOK},
		&datasets.Counter{Run: 1, Region: 2, Metric: "m", Value: datasets.Some(2.0), Status: datasets.StatusOK},
	} {
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Commit(datasets.Artefact{Path: "p", SHA256: "00", Kind: "x", ParserVersion: 1}); err != nil {
		t.Fatal(err)
	}
	ms, err := store.Measurements(ctx, datasets.Filter{})
	if err != nil || len(ms) != 2 {
		t.Fatalf("%d measurements, %v", len(ms), err)
	}
	if ms[0].Kernel != "f" {
		ms[0], ms[1] = ms[1], ms[0]
	}
	for axis, want := range map[split.Axis][]string{
		split.ByKernel:  {"f", "g"},
		split.ByProgram: {"lulesh", "minife"}, // the command's, and what the region says itself
		split.ByMachine: {"A100", "A100"},
		split.ByInput:   {"abc -s 30 (4,2,1) (64,1,1)", "abc -s 30"},
		split.ByRow:     {"row 0", "row 1"},
	} {
		got, err := split.Keys(ctx, store, ms, axis)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("by %s: %q, %v, want %q", axis, got, err, want)
		}
	}
	if _, err := split.Keys(ctx, store, ms, "colour"); err == nil || !strings.Contains(err.Error(), `"colour"`) {
		t.Errorf("an unknown axis: %v", err)
	}
	ms[0].Run = 99 // a run about which nothing is known
	if _, err := split.Keys(ctx, store, ms, split.ByMachine); err == nil || !strings.Contains(err.Error(), "nothing in the store tells the machine of run 99") {
		t.Errorf("no machine: %v", err)
	}
}
