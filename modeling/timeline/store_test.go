package timeline_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/timeline"
)

// row is one row of a trace that a test makes up.
type row struct {
	name        string // see kinds
	start, dur  int64
	device      int64 // -1: none
	stream      int64
	corr        string
	pid         int64 // 0: none
	bytes       float64
	pageable    bool
	noDur, none bool // no duration, no start
}

// kinds are the regions of names, as the reader of Nsight Systems' exports
// writes them.
func kindOf(name string) (kind, module string) {
	switch {
	case strings.HasPrefix(name, "["):
		return datasets.KindRange, ""
	case name == "Command Buffer Full":
		return datasets.KindFunction, "CUPTI overhead"
	case strings.HasPrefix(name, "cuda"):
		return datasets.KindFunction, "CUDA API"
	}
	return datasets.KindKernel, ""
}

// storeOf makes a store with one run per list of rows.
func storeOf(t testing.TB, formats []string, runs ...[]row) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i, rows := range runs {
		format := "nsys-sqlite"
		if i < len(formats) {
			format = formats[i]
		}
		im, err := s.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		put := func(r datasets.Record) {
			if err := im.Put(r); err != nil {
				t.Fatal(err)
			}
		}
		tool, _, _ := strings.Cut(format, "-")
		put(&datasets.Run{ID: 1, Tool: tool, Format: format, Status: datasets.RunOK})
		regions := map[string]int64{}
		for j, r := range rows {
			id, ok := regions[r.name]
			if !ok {
				id = int64(len(regions) + 1)
				regions[r.name] = id
				kind, module := kindOf(r.name)
				put(&datasets.Region{ID: id, Run: 1, Kind: kind, Raw: r.name, Short: r.name, Module: module})
			}
			l := datasets.Launch{ID: int64(j + 1), Run: 1, Region: id, ToolID: r.corr}
			if !r.none {
				l.StartNs = datasets.Some(r.start)
			}
			if !r.noDur {
				l.DurNs = datasets.Some(r.dur)
			}
			if kind, _ := kindOf(r.name); kind != datasets.KindFunction {
				if r.device >= 0 {
					l.Device, l.Stream = datasets.Some(r.device), datasets.Some(r.stream)
				}
			}
			if r.pid > 0 {
				l.PID = datasets.Some(r.pid)
			}
			put(&l)
			if r.bytes > 0 {
				put(&datasets.Counter{Run: 1, Region: id, Launch: l.ID, Metric: "bytes", Value: datasets.Some(r.bytes), Unit: "byte", Status: datasets.StatusOK})
			}
			if r.pageable {
				put(&datasets.Attribute{Run: 1, Region: id, Launch: l.ID, Name: "srcKind", Value: "Pageable"})
			}
		}
		if err := im.Commit(datasets.Artefact{Path: fmt.Sprint("made up ", i), SHA256: fmt.Sprintf("%064d", i), Kind: "test", ParserVersion: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func analyse(t testing.TB, opt timeline.Options, rows ...row) *timeline.Timeline {
	t.Helper()
	return run(t, storeOf(t, nil, rows), 1, opt)
}

// run analyses one run of a store.
func run(t testing.TB, s *datasets.Store, id int, opt timeline.Options) *timeline.Timeline {
	t.Helper()
	tl, err := timeline.Analyse(context.Background(), s, int64(id), opt)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// one is the only device.
func one(t testing.TB, tl *timeline.Timeline) timeline.Device {
	t.Helper()
	if len(tl.Devices) != 1 {
		t.Fatalf("%d devices, want one\n%s", len(tl.Devices), tl)
	}
	return tl.Devices[0]
}
