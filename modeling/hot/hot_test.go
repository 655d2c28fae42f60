package hot_test

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/hot"
	"github.com/rooflab/rooflab/modeling/observe"
)

func launch(kernel string, id int64, time float64) observe.Observation {
	o := observe.Observation{Row: observe.Row{Run: 1, Region: int64(kernel[0]), Launch: id, Metric: "t"}, Kernel: kernel, Kind: datasets.KindKernel, Unit: "s", Launches: 1}
	if !math.IsNaN(time) {
		o.Value = datasets.Some(time)
	}
	return o
}

func of(t *testing.T, obs []observe.Observation, opt hot.Options) hot.Result {
	t.Helper()
	r, err := hot.Of(obs, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLaunchesAreSummedAndTheShareIsCovered(t *testing.T) {
	nan := math.NaN()
	obs := []observe.Observation{launch("c", 1, 1), launch("a", 2, 2), launch("b", 3, 3), launch("a", 4, 3), launch("d", 5, 1), launch("b", 6, nan), launch("e", 7, nan)}
	r := of(t, obs, hot.Options{}) // a 5, b 3, c 1, d 1 of 10
	if got := r.Names(); !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Fatalf("hot kernels %v", got)
	}
	a, b := r.Kernels[0], r.Kernels[1]
	if a.Time != 5 || a.Launches != 2 || a.Share != 0.5 || b.Cumulative != 0.8 || b.Unknown != 1 || r.Total != 10 {
		t.Errorf("a %+v\nb %+v", a, b)
	}
	if len(a.Evidence) != 2 || a.Evidence[1].String() != "run 1 region 97 launch 4 t" {
		t.Errorf("evidence %v", a.Evidence)
	}
	if len(r.Unknown) != 1 || r.Unknown[0].Name != "e" {
		t.Errorf("unknown %+v", r.Unknown)
	}
	if r := of(t, obs, hot.Options{Share: 0.85}); !reflect.DeepEqual(r.Names(), []string{"a", "b", "c"}) || len(r.Ties) != 1 || r.Ties[0].Name != "d" {
		t.Errorf("85 %%: %v, ties %v", r.Names(), r.Ties)
	}
	text := r.String()
	for _, want := range []string{"2 of 4 kernels cover 80.0 % of 10 s", "1 launches of b have no time: its time is a lower bound", "e has no time: it may belong to the set"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

func TestNoSmallerSetCovers(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(8)
		times := make([]float64, n)
		total := 0.0
		var obs []observe.Observation
		for i := range times {
			times[i] = float64(rng.IntN(6)) / 10
			total += times[i]
			obs = append(obs, launch(string(rune('a'+i)), int64(i), times[i]))
		}
		share := 0.05 + 0.95*rng.Float64()
		r, err := hot.Of(obs, hot.Options{Share: share})
		if total == 0 {
			if err == nil || !strings.Contains(err.Error(), "no time was measured") {
				t.Fatalf("no time at all: %v", err)
			}
			continue
		}
		// All subsets: how many kernels the smallest needs.
		smallest := n + 1
		for set := range 1 << n {
			sum, size := 0.0, 0
			for i := range times {
				if set&(1<<i) != 0 {
					sum, size = sum+times[i], size+1
				}
			}
			if sum >= share*total-1e-9 {
				smallest = min(smallest, size)
			}
		}
		if len(r.Kernels) != smallest {
			t.Fatalf("seed %d: %v of %v for %g, want %d", seed, r.Names(), times, share, smallest)
		}
		rng.Shuffle(len(obs), func(i, j int) { obs[i], obs[j] = obs[j], obs[i] })
		if again := of(t, obs, hot.Options{Share: share}); !reflect.DeepEqual(again, r) {
			t.Fatalf("seed %d: another order of launches gives another result:\n%v\n%v", seed, r, again)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	bytes := launch("b", 2, 1)
	bytes.Unit = "byte"
	for want, f := range map[string]func() (hot.Result, error){
		"must be above 0":         func() (hot.Result, error) { return hot.Of(nil, hot.Options{Share: 1.5}) },
		"no time was measured":    func() (hot.Result, error) { return hot.Of(nil, hot.Options{}) },
		"finite and not negative": func() (hot.Result, error) { return hot.Of([]observe.Observation{launch("a", 1, -1)}, hot.Options{}) },
		"they cannot be added": func() (hot.Result, error) {
			return hot.Of([]observe.Observation{launch("a", 1, 1), bytes}, hot.Options{})
		},
		"the store has no such run": func() (hot.Result, error) {
			return hot.Find(context.Background(), store(t, true), 9, hot.Options{})
		},
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// store has a run of main (10 s with what it calls), which calls solve (7 s, 4
// of them in spmv) and write (1 s): inclusive or exclusive as a tool says it.
func store(t *testing.T, inclusive bool) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	records := []datasets.Record{&datasets.Run{ID: 1, Tool: "t", Format: "t", Status: datasets.RunOK, TimeMetric: "time", TimeInclusive: inclusive}}
	for i, r := range []struct {
		name   string
		parent int64
		in, ex float64
	}{{"main", 0, 10, 2}, {"solve", 1, 7, 3}, {"spmv", 2, 4, 4}, {"write", 1, 1, 1}} {
		id := int64(i + 1)
		v := r.ex
		if inclusive {
			v = r.in
		}
		records = append(records, &datasets.Region{ID: id, Run: 1, Parent: r.parent, Kind: datasets.KindFunction, Raw: r.name, Short: r.name},
			&datasets.Counter{Run: 1, Region: id, Metric: "time", Value: datasets.Some(v), Unit: "s", Status: datasets.StatusOK})
	}
	if _, err := s.ImportAll(context.Background(), []datasets.Profile{{Records: records, Artefact: datasets.Artefact{Path: "p", SHA256: "1", Kind: "t"}}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestInclusiveAndExclusiveToolsAgree(t *testing.T) {
	for _, inclusive := range []bool{false, true} {
		r, err := hot.Find(context.Background(), store(t, inclusive), 1, hot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Names(); !reflect.DeepEqual(got, []string{"spmv", "solve", "main"}) || r.Total != 10 || r.Covered != 0.9 {
			t.Errorf("inclusive %v: %v of %g s, %g covered", inclusive, got, r.Total, r.Covered)
		}
		if ev := r.Kernels[0].Evidence; len(ev) != 1 || ev[0].Region == 0 || ev[0].Metric != "time" {
			t.Errorf("evidence %v", ev)
		}
	}
}
