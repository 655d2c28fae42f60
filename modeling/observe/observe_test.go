package observe_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/observe"
)

// region is one of a call tree, with the durations (ns) of its launches and
// the values (s) of counters, one per launch, or one of the region as a whole.
type region struct {
	name, kind string
	parent     int64
	durations  []int64 // -1: not known
	values     []float64
}

func store(t *testing.T, run datasets.Run, regions ...region) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	run.ID, run.Tool, run.Format, run.Status = 1, "t", "t", datasets.RunOK
	records := []datasets.Record{&run}
	launches := int64(0)
	for i, r := range regions {
		id := int64(i + 1)
		records = append(records, &datasets.Region{ID: id, Run: 1, Parent: r.parent, Kind: r.kind, Raw: r.name, Short: r.name})
		for j, d := range r.durations {
			launches++
			l := &datasets.Launch{ID: launches, Run: 1, Region: id, Sequence: datasets.Some(launches)}
			if d >= 0 {
				l.DurNs = datasets.Some(d)
			}
			records = append(records, l)
			if j < len(r.values) {
				records = append(records, &datasets.Counter{Run: 1, Region: id, Launch: launches, Metric: "time", Value: datasets.Some(r.values[j]), Unit: "s", Status: datasets.StatusOK})
			}
		}
		if len(r.durations) == 0 && len(r.values) == 1 {
			records = append(records, &datasets.Counter{Run: 1, Region: id, Metric: "time", Value: datasets.Some(r.values[0]), Unit: "s", Status: datasets.StatusOK})
		}
	}
	if _, err := s.ImportAll(context.Background(), []datasets.Profile{{Records: records, Artefact: datasets.Artefact{Path: "p", SHA256: "1", Kind: "t"}}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// values are those of a kernel, -1 where there is none.
func values(obs []observe.Observation, kernel string) (vs []float64) {
	for _, o := range obs {
		if o.Kernel == kernel {
			vs = append(vs, o.Value.Or(-1))
		}
	}
	return vs
}

func check(t *testing.T, obs []observe.Observation, want map[string][]float64) {
	t.Helper()
	n := 0
	for kernel, vs := range want {
		n += len(vs)
		got := values(obs, kernel)
		same := len(got) == len(vs)
		for i := range vs {
			same = same && i < len(got) && got[i] > vs[i]-1e-12 && got[i] < vs[i]+1e-12
		}
		if !same {
			t.Errorf("%s: %v, want %v", kernel, got, vs)
		}
	}
	if len(obs) != n {
		t.Errorf("%d observations, want %d: %+v", len(obs), n, obs)
	}
}

const function = datasets.KindFunction

func TestRepeatsOfAnInclusiveToolStayApart(t *testing.T) {
	s := store(t, datasets.Run{TimeMetric: "time", TimeInclusive: true},
		region{"main", function, 0, []int64{-1, -1}, []float64{10, 12}},
		region{"solve", function, 1, []int64{-1, -1}, []float64{4, 5}})
	obs, err := observe.Run(context.Background(), s, 1, observe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// main has 22 s with 9 s in solve, whose two visits are two numbers.
	check(t, obs, map[string][]float64{"main": {13}, "solve": {4, 5}})
}

func TestDurationsOfRangesContainEachOther(t *testing.T) {
	s := store(t, datasets.Run{},
		region{"step", datasets.KindRange, 0, []int64{5e9, 6e9}, nil},
		region{"halo", datasets.KindRange, 1, []int64{1e9, 2e9}, nil},
		region{"gemm", datasets.KindKernel, 1, []int64{3e9, -1}, nil})
	ctx := context.Background()
	// Kernels come first, and one launch has no duration.
	obs, err := observe.Run(ctx, s, 1, observe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, obs, map[string][]float64{"gemm": {3, -1}})
	if r := obs[0].Row.String(); !strings.HasPrefix(r, "run 1 region 3 launch ") || !strings.HasSuffix(r, " dur_ns") {
		t.Errorf("row %q", r)
	}
	// Of 11 s of step 3 s pass in halo; the kernel runs beside them.
	obs, err = observe.Run(ctx, s, 1, observe.Options{Kinds: []string{datasets.KindRange}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, obs, map[string][]float64{"step": {8}, "halo": {1, 2}})
	if obs[0].Launches != 2 {
		t.Errorf("step stands for %d launches", obs[0].Launches)
	}
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	s := store(t, datasets.Run{TimeMetric: "time"}, region{"main", function, 0, nil, []float64{1}})
	for want, f := range map[string]func() ([]observe.Observation, error){
		`no region has a value of "bytes"`: func() ([]observe.Observation, error) {
			return observe.Run(context.Background(), s, 1, observe.Options{Metric: "bytes"})
		},
		"the store has no such run": func() ([]observe.Observation, error) {
			return observe.Runs(context.Background(), s, []int64{1, 2}, observe.Options{})
		},
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
