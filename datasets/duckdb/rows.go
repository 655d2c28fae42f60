package duckdb

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/rooflab/rooflab/datasets"
)

type rows struct {
	rs     *sql.Rows
	end    func() error
	cols   []datasets.Column
	values []any
	dest   []any
	err    error
	closed bool
}

func newRows(ctx context.Context, c *sql.Conn, end func() error, query string, args []any) (*rows, error) {
	rs, err := c.QueryContext(ctx, query, args...) //nolint:rowserrcheck // the caller asks, through rows.Err
	if err != nil {
		return nil, err
	}
	types, err := rs.ColumnTypes()
	if err != nil {
		_ = rs.Close() //nolint:sqlclosecheck // on success the rows outlive this function
		return nil, err
	}
	r := &rows{rs: rs, end: end, values: make([]any, len(types)), dest: make([]any, len(types))}
	for i, t := range types {
		r.dest[i] = &r.values[i]
		name := t.DatabaseTypeName()
		r.cols = append(r.cols, datasets.Column{Name: t.Name(), Type: columnType(name), Engine: name})
	}
	return r, nil
}

// columnType is the dataframe's type for a type of DuckDB.
func columnType(name string) datasets.Type {
	base, _, _ := strings.Cut(name, "(")
	if strings.HasSuffix(name, "]") { // DECIMAL(9,2)[] is a list
		return datasets.Text
	}
	switch base {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT", "UHUGEINT":
		return datasets.Int
	case "FLOAT", "DOUBLE", "DECIMAL":
		return datasets.Float
	case "BOOLEAN":
		return datasets.Bool
	}
	return datasets.Text
}

func (r *rows) Columns() []datasets.Column { return r.cols }

func (r *rows) Next() bool {
	if r.err != nil || !r.rs.Next() {
		return false
	}
	if r.err = r.rs.Scan(r.dest...); r.err != nil {
		return false
	}
	for i, v := range r.values {
		if r.values[i], r.err = value(v, r.cols[i]); r.err != nil {
			return false
		}
	}
	return true
}

func (r *rows) Values() []any { return r.values }

func (r *rows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.rs.Err()
}

func (r *rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	return errors.Join(r.rs.Close(), r.end())
}

// value turns what the driver scans into what datasets.Rows promises.
func value(v any, c datasets.Column) (any, error) {
	switch v := v.(type) {
	case nil, int64, float64, bool, string:
		return v, nil
	case int:
		return int64(v), nil
	case int8:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint8:
		return int64(v), nil
	case uint16:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case uint64:
		return bigInt(new(big.Int).SetUint64(v), c)
	case *big.Int:
		return bigInt(v, c)
	case float32:
		return float64(v), nil
	case duckdb.Decimal:
		return v.Float64(), nil
	case time.Time:
		return timeText(v, c.Engine), nil
	case []byte:
		if c.Engine == "UUID" && len(v) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:]), nil
		}
		return hex.EncodeToString(v), nil
	}
	return nested(v), nil
}

// nested writes a value of several values, and what stands within one, as
// DuckDB's shell does: [1, NULL], {'a': 1} (fields by name), {k=v},
// 2 months 3 days 4.5 s.
func nested(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case duckdb.Decimal:
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = nested(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any: // a struct, whose order of fields the driver does not give
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, "'"+k+"': "+nested(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case duckdb.OrderedMap:
		keys, values := v.Keys(), v.Values()
		parts := make([]string, len(keys))
		for i := range keys {
			parts[i] = nested(keys[i]) + "=" + nested(values[i])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *duckdb.OrderedMap:
		return nested(*v)
	case duckdb.Interval:
		var parts []string
		if v.Months != 0 {
			parts = append(parts, fmt.Sprintf("%d months", v.Months))
		}
		if v.Days != 0 {
			parts = append(parts, fmt.Sprintf("%d days", v.Days))
		}
		if v.Micros != 0 || len(parts) == 0 {
			parts = append(parts, strconv.FormatFloat(float64(v.Micros)/1e6, 'f', -1, 64)+" s")
		}
		return strings.Join(parts, " ")
	case time.Time:
		return timeText(v, "")
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprint(v)
}

func bigInt(n *big.Int, c datasets.Column) (any, error) {
	if n == nil {
		return nil, nil
	}
	if !n.IsInt64() {
		return nil, fmt.Errorf("column %s: %s does not fit into 64 bits: write CAST(%s AS DOUBLE), or AS TEXT to keep all digits", c.Name, n, c.Name)
	}
	return n.Int64(), nil
}

func timeText(t time.Time, engine string) string {
	switch {
	case engine == "DATE":
		return t.Format(time.DateOnly)
	case strings.HasPrefix(engine, "TIME") && !strings.HasPrefix(engine, "TIMESTAMP"):
		return t.Format("15:04:05.999999999")
	}
	return t.Format(time.RFC3339Nano)
}
