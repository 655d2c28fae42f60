package duckdb_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
)

// launched is a run whose kernels start in the order of a text such as
// "k/64 k/32 f": name and grid, or a name alone where the tool does not know
// the grid. A leading number and colon is the rank, "?" at the end says that
// the place in the sequence is not known.
func launched(t *testing.T, order string) datasets.Profile {
	var records []datasets.Record
	regions := map[string]int64{}
	for i, w := range strings.Fields(order) {
		l := &datasets.Launch{ID: int64(i + 1), Run: 1, Sequence: datasets.Some(int64(i)), ToolID: fmt.Sprint(1000 - i)}
		if before, unknown := strings.CutSuffix(w, "?"); unknown {
			w, l.Sequence = before, datasets.Null[int64]{}
		}
		if rank, rest, ok := strings.Cut(w, ":"); ok {
			w = rest
			n := number(t, rank)
			l.Rank, l.PID = datasets.Some(n), datasets.Some(100+n)
		}
		name, grid, sized := strings.Cut(w, "/")
		if sized {
			n := number(t, grid)
			one := datasets.Some[int64](1)
			l.Grid, l.Block = [3]datasets.Null[int64]{datasets.Some(n), one, one}, [3]datasets.Null[int64]{datasets.Some[int64](256), one, one}
		}
		if regions[name] == 0 {
			regions[name] = int64(len(regions) + 1)
			kind := datasets.KindKernel
			if name == "range" {
				kind = datasets.KindRange
			}
			records = append(records, &datasets.Region{ID: regions[name], Run: 1, Kind: kind, Raw: "void " + name + "()", Short: name})
		}
		l.Region = regions[name]
		records = append(records, l, &datasets.Counter{Run: 1, Region: l.Region, Launch: l.ID, Metric: "m", Value: datasets.Some(float64(i)), Status: datasets.StatusOK})
	}
	return profile(records...)
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLaunchesArePairedByNameSizeAndPlace(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		opt  datasets.PairOptions
		want string // a's and b's sequence number, the rule
	}{
		"the same": {"k/64 k/64 f/1", "k/64 k/64 f/1", datasets.PairOptions{}, "0=0 exact, 1=1 exact, 2=2 exact"},
		"sizes tell launches apart, whatever else ran between": {"k/64 k/32", "range k/64 other/1 k/32", datasets.PairOptions{},
			"0=1 exact, 1=3 exact, -=2 only b"},
		"a tool without sizes": {"k k f", "k/64 k/32 f/1", datasets.PairOptions{}, "0=0 exact, 1=1 exact, 2=2 exact"},
		"another order":        {"f/1 k/64 g/1", "k/64 g/1 f/1", datasets.PairOptions{}, "0=2 exact moved, 1=0 exact, 2=1 exact"},
		"missing on each side": {"k/64 f/1", "k/64 g/1", datasets.PairOptions{}, "0=0 exact, 1=- only a, -=1 only b"},
		"a stretch of the other run": {"f/1 k/64 g/1", "k/64 f/1 k/64 g/1 k/64", datasets.PairOptions{},
			"0=1 exact, 1=2 stretch, 2=3 exact, -=0 only b, -=4 only b"},
		"a stretch, the other way": {"k/64 f/1 k/64", "f/1 k/64", datasets.PairOptions{}, "0=- only a, 1=0 exact, 2=1 stretch"},
		"which ones cannot be told": {"k/64 k/64", "k/64 k/64 k/64", datasets.PairOptions{},
			"0=- ambiguous, 1=- ambiguous, -=0 ambiguous, -=1 ambiguous, -=2 ambiguous"},
		"both from the start": {"k/64 k/64", "k/64 k/64 k/64", datasets.PairOptions{FromStart: true}, "0=0 from start, 1=1 from start, -=2 only b"},
		"no known order": {"k/64? k/64? f/1?", "k/64 k/64 f/1", datasets.PairOptions{},
			"-=- ambiguous, -=- ambiguous, -=2 exact, -=0 ambiguous, -=1 ambiguous"},
		"ranks":                     {"0:k/64 1:k/64 0:k/64", "1:k/64 0:k/64 0:k/64", datasets.PairOptions{}, "0=1 exact moved, 1=0 exact, 2=2 exact"},
		"ranks that one side mixes": {"0:k/64 1:k/64", "k/64 k/64", datasets.PairOptions{}, "0=- ambiguous, 1=- ambiguous, -=0 ambiguous, -=1 ambiguous"},
		"nothing there":             {"k/64", "", datasets.PairOptions{}, "0=- only a"},
	} {
		s := open(t, filepath.Join(t.TempDir(), "s"))
		group(t, s, launched(t, c.a), launched(t, c.b))
		pairs, err := s.Pairs(t.Context(), 1, 2, c.opt)
		if err != nil {
			t.Fatal(err)
		}
		show := func(n datasets.Null[int64]) string {
			if n.Valid {
				return fmt.Sprint(n.V)
			}
			return "-"
		}
		var got []string
		for _, p := range pairs {
			g := show(p.SequenceA) + "=" + show(p.SequenceB) + " " + p.Match
			if p.Reordered {
				g += " moved"
			}
			got = append(got, g)
		}
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("%s: %s\nwant %s", name, g, c.want)
		}
	}
}

func TestProcessesWithoutRanksAreToldApart(t *testing.T) {
	// Two processes launch the same kernel: one once, the other twice.
	launches := func(first, second int64, pids [2]int64, devices [2]int64) datasets.Profile {
		p := launched(t, "k/64 k/64 k/64")
		n := 0
		for _, r := range p.Records {
			if l, ok := r.(*datasets.Launch); ok {
				who := []int64{first, second, second}[n]
				l.PID, l.Device = datasets.Some(pids[who]), datasets.Some(devices[who])
				n++
			}
		}
		return p
	}
	for name, c := range map[string]struct {
		pids    [2]int64
		devices [2]int64
		want    string
	}{
		"the same pids":    {[2]int64{10, 11}, [2]int64{0, 0}, "[{1 4} {2 5} {3 6}]"},
		"a device each":    {[2]int64{20, 21}, [2]int64{0, 1}, "[{1 4} {2 5} {3 6}]"},
		"nothing to go by": {[2]int64{20, 21}, [2]int64{0, 0}, "[{1 0} {2 0} {3 0} {0 4} {0 5} {0 6}]"},
	} {
		s := open(t, filepath.Join(t.TempDir(), "s"))
		devices := c.devices
		group(t, s, launches(0, 1, [2]int64{10, 11}, devices), launches(0, 1, c.pids, devices))
		pairs, err := s.Pairs(t.Context(), 1, 2, datasets.PairOptions{})
		if err != nil {
			t.Fatal(err)
		}
		type ab struct{ A, B int64 }
		var got []ab
		for _, p := range pairs {
			got = append(got, ab{p.A, p.B})
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestPairedCountersStandSideBySide(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s"))
	group(t, s, launched(t, "k/64 f/1"), launched(t, "other/1 k/64"))
	df, err := s.PairedCounters(t.Context(), 1, 2, datasets.PairOptions{}, "m")
	same(t, "paired", lines(t, df.Select([]string{"kernel", "grid_x", "launch_a", "launch_b", "match", "reordered", "dur_a", "m (a)", "m (b)"}), err), `
		kernel grid_x launch_a launch_b match reordered dur_a m (a) m (b)
		k 64 1 4 exact false NaN 0.000000 1.000000
		f 1 2 NaN only a false NaN 1.000000 NaN
		other 1 NaN 3 only b false NaN NaN 0.000000`)
	if _, err := s.Pairs(t.Context(), 1, 7, datasets.PairOptions{}); err == nil || !strings.Contains(err.Error(), "no run 7") {
		t.Errorf("a run that is not there: %v", err)
	}
}
