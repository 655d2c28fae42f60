package duckdb_test

import (
	"path/filepath"
	"testing"

	"github.com/rooflab/rooflab/datasets"
)

// A report has a counter as a whole and for each instruction; the analysis
// means the whole.
func TestTheWholeComesBeforeItsInstances(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
	p := profile()
	p.Records = append(p.Records, &datasets.Region{ID: 1, Run: 1, Kind: datasets.KindKernel, Raw: "k", Short: "k"})
	for instance, v := range map[string]float64{"0x0010": 2, "0x0000": 3, "": 5} {
		p.Records = append(p.Records, &datasets.Counter{Run: 1, Region: 1, Metric: "inst_executed", Instance: instance, Value: datasets.Some(v), Status: datasets.StatusOK})
	}
	group(t, s, p)
	ms, err := s.Measurements(t.Context(), datasets.Filter{})
	if err != nil || len(ms) != 1 {
		t.Fatalf("%d measurements, %v", len(ms), err)
	}
	if got := ms[0].Value("inst_executed"); got.V != 5 {
		t.Errorf("the value is %v, want the whole, 5", got)
	}
}
