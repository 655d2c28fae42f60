package datasets

import (
	"context"
	"fmt"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// Query runs a statement that only reads and returns its result as a
// dataframe: integers as series.Int, floating point and decimals as
// series.Float, truth values as series.Bool, everything else as series.String
// (times as RFC 3339). NULL is NaN (NA) in all of them. args take the places
// of "?" in sql.
//
// A result with more cells than the store's limit (MaxCells) is a
// *TooLargeError, which says what to do instead.
func (s *Store) Query(ctx context.Context, sql string, args ...any) (dataframe.DataFrame, error) {
	rows, err := s.conn.Query(ctx, sql, args...)
	if err != nil {
		return dataframe.DataFrame{}, err
	}
	defer rows.Close()
	return frame(rows, s.maxCells())
}

func frame(rows Rows, limit int) (dataframe.DataFrame, error) {
	cols := rows.Columns()
	values := make([][]any, len(cols))
	for n := 0; rows.Next(); n += len(cols) {
		if n >= limit {
			return dataframe.DataFrame{}, &TooLargeError{Columns: len(cols), Limit: limit}
		}
		for i, v := range rows.Values() {
			if n, ok := v.(int64); ok {
				v = int(n) // gota's integers are ints, and an int64 would become NA
			}
			values[i] = append(values[i], v)
		}
	}
	if err := rows.Err(); err != nil {
		return dataframe.DataFrame{}, err
	}
	ss := make([]series.Series, len(cols))
	for i, c := range cols {
		if values[i] == nil {
			values[i] = []any{}
		}
		ss[i] = series.New(values[i], gotaTypes[c.Type], c.Name)
	}
	df := dataframe.New(ss...)
	if df.Err != nil {
		return df, fmt.Errorf("building a dataframe of %d columns: %w", len(cols), df.Err)
	}
	return df, nil
}

var gotaTypes = map[Type]series.Type{Text: series.String, Int: series.Int, Float: series.Float, Bool: series.Bool}

// Filter picks part of a store. Its zero value picks everything.
type Filter struct {
	Run     int64    // one run
	Kernel  string   // regions whose short name is this
	Metrics []string // these metrics
	// Sample, where it is above 0, picks so many launches at random, all
	// counters of each, out of those that the rest of the filter picks. The same
	// Seed picks the same ones of the same store, whatever else is asked of it.
	// What belongs to no launch is left out then.
	Sample int
	Seed   int64
}

// Launches returns one row per launch, with its region and run: launch_id,
// run_id, region_id, tool, kind, kernel (short name), name (raw), device,
// context, stream, pid, rank, thread, grid_x ... block_z, regs, smem, sequence,
// start_ns, dur_ns. Filter.Metrics is not looked at.
func (s *Store) Launches(ctx context.Context, f Filter) (dataframe.DataFrame, error) {
	where, args := f.where(false)
	return s.Query(ctx, `SELECT l.id AS launch_id, l.run_id, l.region_id, u.tool, g.kind, g.short AS kernel, g.raw AS name,
		l.device, l.context, l.stream, l.pid, l.rank, l.thread, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z,
		l.regs, l.smem, l.sequence, l.start_ns, l.dur_ns
		FROM launch l JOIN region g ON g.id = l.region_id JOIN run u ON u.id = l.run_id`+where+` ORDER BY l.id`, args...)
}

// Counters returns one row per counter: run_id, region_id, launch_id (NA for
// a counter of a region as a whole), kernel (short name), metric, instance,
// value and unit (SI), raw_value, raw_unit, coverage, status.
func (s *Store) Counters(ctx context.Context, f Filter) (dataframe.DataFrame, error) {
	where, args := f.where(true)
	return s.Query(ctx, `SELECT c.run_id, c.region_id, c.launch_id, g.short AS kernel, c.metric, c.instance, c.value, c.unit,
		c.raw_value, c.raw_unit, c.coverage, c.status
		FROM counter c JOIN region g ON g.id = c.region_id`+where+
		` ORDER BY c.run_id, c.launch_id NULLS FIRST, c.region_id, c.metric, c.instance NULLS FIRST`, args...)
}

// where writes the conditions of a filter; counters says that the query has a
// table c, else it has l. Both have g.
func (f Filter) where(counters bool) (string, []any) {
	var cond string
	var args []any
	and := func(c string, v ...any) {
		if cond == "" {
			cond = " WHERE " + c
		} else {
			cond += " AND " + c
		}
		args = append(args, v...)
	}
	if f.Run != 0 {
		and("g.run_id = ?", f.Run)
	}
	if f.Kernel != "" {
		and("g.short = ?", f.Kernel)
	}
	if counters && len(f.Metrics) > 0 {
		in, v := among("c.metric", f.Metrics)
		and(in, v...)
	}
	if f.Sample > 0 {
		all := f
		all.Sample = 0
		where, v := all.where(false)
		launch := "l.id"
		if counters {
			launch = "c.launch_id"
		}
		// A sum that no version of the engine changes.
		and(launch+` IN (SELECT l.id FROM launch l JOIN region g ON g.id = l.region_id`+where+` ORDER BY md5(? || ' ' || l.id), l.id LIMIT ?)`,
			append(v, fmt.Sprint(f.Seed), int64(f.Sample))...)
	}
	return cond, args
}

// among is the condition that a column has one of some values.
func among(column string, values []string) (string, []any) {
	marks := "?"
	var args []any
	for i, v := range values {
		if i > 0 {
			marks += ", ?"
		}
		args = append(args, v)
	}
	return column + " IN (" + marks + ")", args
}
