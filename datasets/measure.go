package datasets

import (
	"context"
	"fmt"
	"math"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// Measurement is one launch, or one region as a whole, with all its counters:
// what an analysis works on.
type Measurement struct {
	Run      int64
	Region   int64
	Launch   int64 // 0: the counters are those of the region as a whole
	Tool     string
	Kind     string
	Kernel   string // short name
	Name     string // raw name
	Sequence Null[int64]
	Rank     Null[int64]
	Grid     [3]Null[int64]
	Block    [3]Null[int64]
	DurNs    Null[int64]
	Counters []Counter // ids are the store's
}

// Value returns the value of a metric in its SI unit; absent where the metric
// is not there or has no value. Where a metric has instances, the value of it
// as a whole comes first, if the tool gives one.
func (m *Measurement) Value(metric string) Null[float64] {
	for i := range m.Counters {
		if c := &m.Counters[i]; c.Metric == metric && c.Value.Valid {
			return c.Value
		}
	}
	return Null[float64]{}
}

// Counter returns the first counter of a metric, nil where there is none.
func (m *Measurement) Counter(metric string) *Counter {
	for i := range m.Counters {
		if m.Counters[i].Metric == metric {
			return &m.Counters[i]
		}
	}
	return nil
}

// Measurements returns the launches, and the regions that carry counters of
// their own, in order of run, region and launch.
func (s *Store) Measurements(ctx context.Context, f Filter) ([]Measurement, error) {
	where, args := f.where(true)
	rows, err := s.conn.Query(ctx, `SELECT c.run_id, c.region_id, c.launch_id, u.tool, g.kind, g.short, g.raw,
		l.sequence, l.rank, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z, l.dur_ns,
		c.metric, c.instance, c.value, c.unit, c.raw_value, c.raw_unit, c.coverage, c.status
		FROM counter c JOIN region g ON g.id = c.region_id JOIN run u ON u.id = c.run_id
		LEFT JOIN launch l ON l.id = c.launch_id`+where+
		` ORDER BY c.run_id, c.launch_id NULLS FIRST, c.region_id, c.metric, c.instance NULLS FIRST`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Measurement
	for n := 0; rows.Next(); n += len(rows.Columns()) {
		if n >= s.maxCells() {
			return nil, &TooLargeError{Columns: len(rows.Columns()), Limit: s.maxCells()}
		}
		v := rows.Values()
		run, region, launch := integer(v[0]).V, integer(v[1]).V, integer(v[2]).V
		if n := len(out); n == 0 || out[n-1].Launch != launch || out[n-1].Region != region {
			out = append(out, Measurement{Run: run, Region: region, Launch: launch,
				Tool: str(v[3]), Kind: str(v[4]), Kernel: str(v[5]), Name: str(v[6]),
				Sequence: integer(v[7]), Rank: integer(v[8]),
				Grid:  [3]Null[int64]{integer(v[9]), integer(v[10]), integer(v[11])},
				Block: [3]Null[int64]{integer(v[12]), integer(v[13]), integer(v[14])},
				DurNs: integer(v[15])})
		}
		m := &out[len(out)-1]
		m.Counters = append(m.Counters, Counter{Run: run, Region: region, Launch: launch, Metric: str(v[16]), Instance: str(v[17]),
			Value: number(v[18]), Unit: str(v[19]), RawValue: str(v[20]), RawUnit: str(v[21]), Coverage: number(v[22]), Status: str(v[23])})
	}
	return out, rows.Err()
}

func integer(v any) Null[int64] {
	n, ok := v.(int64)
	return Null[int64]{n, ok}
}

func number(v any) Null[float64] {
	n, ok := v.(float64)
	return Null[float64]{n, ok}
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// CountersWide returns one row per launch (and per region with counters of its
// own, where launch_id is NA): run_id, region_id, launch_id, kernel, sequence,
// rank, then one Float column per metric in SI units, NA where there is no
// value. A metric with several instances gets a column each, "metric[instance]".
func (s *Store) CountersWide(ctx context.Context, f Filter) (dataframe.DataFrame, error) {
	ms, err := s.Measurements(ctx, f)
	if err != nil {
		return dataframe.DataFrame{}, err
	}
	// Which metrics have more than one instance within a measurement.
	several := map[string]bool{}
	for i := range ms {
		cs := ms[i].Counters // sorted by metric
		for j := 1; j < len(cs); j++ {
			if cs[j].Metric == cs[j-1].Metric {
				several[cs[j].Metric] = true
			}
		}
	}
	nameOf := func(c *Counter) string {
		if several[c.Metric] && c.Instance != "" {
			return c.Metric + "[" + c.Instance + "]"
		}
		return c.Metric
	}
	columns := map[string][]float64{}
	for i := range ms {
		for j := range ms[i].Counters {
			columns[nameOf(&ms[i].Counters[j])] = nil
		}
	}
	if n := len(columns) + 6; n*len(ms) > s.maxCells() {
		return dataframe.DataFrame{}, &TooLargeError{Columns: n, Limit: s.maxCells()}
	}
	column := func(name string) []float64 {
		c := columns[name]
		if c == nil {
			c = make([]float64, len(ms))
			for i := range c {
				c[i] = math.NaN()
			}
			columns[name] = c
		}
		return c
	}
	ids := make([][]any, 6)
	for i := range ms {
		m := &ms[i]
		for j, v := range []any{int(m.Run), int(m.Region), cell(Null[int64]{m.Launch, m.Launch != 0}), m.Kernel, cell(m.Sequence), cell(m.Rank)} {
			ids[j] = append(ids[j], v)
		}
		for _, c := range m.Counters {
			col := column(nameOf(&c))
			if c.Value.Valid {
				col[i] = c.Value.V
			}
		}
	}
	names := sorted(columns)
	var ss []series.Series
	for j, n := range []string{"run_id", "region_id", "launch_id", "kernel", "sequence", "rank"} {
		t := series.Int
		if n == "kernel" {
			t = series.String
		}
		if ids[j] == nil {
			ids[j] = []any{}
		}
		ss = append(ss, series.New(ids[j], t, n))
	}
	for _, n := range names {
		ss = append(ss, series.New(columns[n], series.Float, n))
	}
	df := dataframe.New(ss...)
	if df.Err != nil {
		return df, fmt.Errorf("building a wide table of %d metrics: %w", len(names), df.Err)
	}
	return df, nil
}

// cell returns the value as a gota element takes it: an int, or nil for NA.
func cell(n Null[int64]) any {
	if n.Valid {
		return int(n.V)
	}
	return nil
}
