package gobench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// comparison is one element of a benchseries file: how benchmarks (rows)
// compare to a baseline at points of a series of commits.
type comparison struct {
	Unit       string                       `json:"unit"`
	Benchmarks []string                     `json:"benchmarks"`
	Series     []string                     `json:"series"`
	Summaries  [][]*summary                 `json:"summaries"` // by series, then by benchmark
	HashPairs  map[string]map[string]string `json:"hashpairs"`
	Residues   []struct {
		S     string   `json:"s"`
		Slice []string `json:"slice"`
	} `json:"residues"`
}

type summary struct {
	Low, Center, High *json.Number
	Date              string
	Present           bool
}

// parseSeries reads comparisons over time. A region is a benchmark, a launch
// its comparison at one point of the series; the counters ratio, ratio.low and
// ratio.high, with the unit that was compared as instance, are new over old.
// A point without a comparison has the status "missing".
func parseSeries(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	s := &series{out: out, j: collectors.NewLooseJSON(in), regions: map[string]int64{}}
	if err := s.j.Delim('[', "the file"); err != nil {
		return err
	}
	n := 0
	for ; s.j.More(); n++ {
		if ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", in.Name, ctx.Err())
		}
		var c comparison
		if err := s.j.Decode(&c); err != nil {
			return s.j.Wrap(err)
		}
		if err := s.comparison(n, &c); err != nil {
			return err
		}
	}
	if err := s.j.Delim(']', "the end of the file"); err != nil {
		return err
	}
	if _, err := s.j.Token(); !errors.Is(err, io.EOF) {
		return s.j.Syntax("the file goes on after its list")
	}
	run := datasets.Run{ID: runID, Tool: "benchseries", Format: formatSeries, Status: datasets.RunOK}
	if s.launches == 0 {
		run.Status, run.Error = datasets.RunEmpty, "the file holds no comparison"
		out.Warn(0, 0, "%s", run.Error)
	}
	return out.Put(&run)
}

type series struct {
	out      *collectors.Output
	j        *collectors.JSON
	regions  map[string]int64
	launches int64
}

func (s *series) comparison(n int, c *comparison) error {
	if len(c.Summaries) != len(c.Series) {
		e := s.j.Syntax("the comparison that ends here has not one list of summaries per point of its series")
		e.Expected, e.Found = strconv.Itoa(len(c.Series)), strconv.Itoa(len(c.Summaries))
		return e
	}
	for _, r := range c.Residues {
		if err := s.put(0, 0, "residue "+r.S, strings.Join(r.Slice, ", ")); err != nil {
			return err
		}
	}
	for i, point := range c.Series {
		if len(c.Summaries[i]) != len(c.Benchmarks) {
			e := s.j.Syntax("the comparison that ends here has not one summary per benchmark at " + collectors.Quote(point))
			e.Expected, e.Found = strconv.Itoa(len(c.Benchmarks)), strconv.Itoa(len(c.Summaries[i]))
			return e
		}
		for k, name := range c.Benchmarks {
			if err := s.summary(n, c, point, name, c.Summaries[i][k]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *series) summary(n int, c *comparison, point, name string, v *summary) error {
	region, ok := s.regions[name]
	if !ok {
		region = int64(len(s.regions) + 1)
		s.regions[name] = region
		short := name
		if m := gomaxprocs.FindStringSubmatch(name); m != nil {
			short = m[1]
		}
		g := datasets.Region{ID: region, Run: runID, Kind: datasets.KindFunction, Raw: name, Short: short}
		if name == "" {
			g.Raw, g.Short = "(no name)", "(no name)"
		}
		if err := s.out.Put(&g); err != nil {
			return err
		}
	}
	s.launches++
	l := datasets.Launch{ID: s.launches, Run: runID, Region: region, Sequence: datasets.Some(s.launches - 1), ToolID: strconv.Itoa(n)}
	if err := s.out.Put(&l); err != nil {
		return err
	}
	facts := []pair{{"series", point}, {"unit", c.Unit}}
	if v != nil && v.Date != "" {
		facts = append(facts, pair{"date", v.Date})
	}
	var keys []string
	for k := range c.HashPairs[point] {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		facts = append(facts, pair{k, c.HashPairs[point][k]})
	}
	for _, f := range facts {
		if err := s.put(region, l.ID, f.key, f.value); err != nil {
			return err
		}
	}
	if v == nil {
		v = &summary{}
	}
	for _, m := range []struct {
		name string
		n    *json.Number
	}{{"ratio", v.Center}, {"ratio.low", v.Low}, {"ratio.high", v.High}} {
		unit, _, _ := strings.Cut(c.Unit, " ")
		counter := datasets.Counter{Run: runID, Region: region, Launch: l.ID, Metric: m.name, Instance: unit, Status: datasets.StatusMissing}
		if v.Present && m.n != nil {
			f, err := m.n.Float64()
			if err != nil {
				return s.j.Syntax("a number of the comparison that ends here fits no number of 64 bits: " + m.n.String())
			}
			counter.Value, counter.RawValue, counter.Status = datasets.Some(f), m.n.String(), datasets.StatusOK
		}
		if err := s.out.Put(&counter); err != nil {
			return err
		}
	}
	return nil
}

func (s *series) put(region, launch int64, name, value string) error {
	if value == "" {
		return nil
	}
	return s.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: launch, Name: name, Value: value})
}
