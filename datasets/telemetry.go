package datasets

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// Telemetry returns the readings of sensors, one row each in order of run,
// sensor and time: run_id, sensor, t_ns, t (s, from the run's first reading),
// value and unit (SI), kind (instant, average or cumulative). Filter.Metrics
// picks sensors; Filter.Kernel is not looked at.
func (s *Store) Telemetry(ctx context.Context, f Filter) (dataframe.DataFrame, error) {
	where, args := f.sensors()
	return s.Query(ctx, `SELECT run_id, sensor, t_ns, (t_ns - min(t_ns) OVER (PARTITION BY run_id))::DOUBLE / 1e9 AS t, value, unit, kind
		FROM telemetry c`+where+` ORDER BY run_id, sensor, c.t_ns`, args...)
}

func (f Filter) sensors() (where string, args []any) {
	where = " WHERE true"
	if f.Run != 0 {
		where, args = where+" AND c.run_id = ?", append(args, f.Run)
	}
	if len(f.Metrics) > 0 {
		in, v := among("c.sensor", f.Metrics)
		where, args = where+" AND "+in, append(args, v...)
	}
	return where, args
}

// TelemetryResampled returns the readings on a grid of time steps, one row per
// run and step, one Float column per sensor: run_id, t (s, where the step
// begins, from the run's first reading), then the sensors by name. An instant
// or an average is the mean of the readings within the step; a cumulative one
// (an energy counter) is the last reading within it. A step without a reading
// is NA: nothing is made up between readings. Steps without any reading at all
// are rows, too, so that the rows of a run are evenly spaced.
func (s *Store) TelemetryResampled(ctx context.Context, f Filter, step time.Duration) (dataframe.DataFrame, error) {
	fail := func(err error) (dataframe.DataFrame, error) {
		return dataframe.DataFrame{}, fmt.Errorf("resampling telemetry: %w", err)
	}
	if step <= 0 {
		return fail(fmt.Errorf("the step is %v, expected a time above 0", step))
	}
	where, args := f.sensors()
	type bin struct{ run, step int64 }
	values := map[string]map[bin]Null[float64]{}
	last := map[int64]int64{} // step by run
	var runs []int64
	err := each(ctx, s.conn, `SELECT run_id, sensor, step, CASE WHEN bool_and(kind = 'cumulative') THEN arg_max(value, t_ns) ELSE avg(value) END
		FROM (SELECT *, (t_ns - min(t_ns) OVER (PARTITION BY run_id)) // `+fmt.Sprint(int64(step))+` AS step FROM telemetry c`+where+`)
		GROUP BY run_id, sensor, step ORDER BY run_id, step`, func(v []any) {
		b := bin{integer(v[0]).V, integer(v[2]).V}
		if _, ok := last[b.run]; !ok {
			runs = append(runs, b.run)
		}
		last[b.run] = max(last[b.run], b.step)
		sensor := str(v[1])
		if values[sensor] == nil {
			values[sensor] = map[bin]Null[float64]{}
		}
		values[sensor][b] = number(v[3])
	}, args...)
	if err != nil {
		return fail(err)
	}
	names := sorted(values)
	rows := 0.0
	for _, n := range last {
		rows += float64(n) + 1
	}
	if cells := rows * float64(len(names)+2); cells > math.MaxInt32 || int(cells) > s.maxCells() {
		return fail(&TooLargeError{Columns: len(names) + 2, Limit: s.maxCells(), Hint: fmt.Sprintf("take a longer step than %v", step)})
	}
	var t table
	t.columns(series.Int, "run_id")
	t.columns(series.Float, "t")
	t.columns(series.Float, names...)
	for _, run := range runs {
		for n := range last[run] + 1 {
			row := []any{run, float64(n) * step.Seconds()}
			for _, sensor := range names {
				row = append(row, values[sensor][bin{run, n}])
			}
			t.add(row...)
		}
	}
	return t.frame()
}
