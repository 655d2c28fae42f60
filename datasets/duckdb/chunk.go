package duckdb

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go/v2"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/rooflab/rooflab/datasets"
)

// appender writes rows into a table through DuckDB's C API. duckdb-go's own
// Appender boxes each value and calls C for each text; this one writes numbers
// and short texts straight into DuckDB's column vectors, which makes imports
// of millions of counters a third faster.
type appender struct {
	table    string
	handle   mapping.Appender
	chunk    mapping.DataChunk
	types    []mapping.LogicalType
	columns  []vector
	rows     int
	capacity int
}

// vector is a column of the chunk that is being filled.
type vector struct {
	typ  mapping.Type
	vec  mapping.Vector
	data unsafe.Pointer // capacity elements of the type
	mask *uint64        // a bit per row, 0 for NULL; nil while no row is NULL
}

// connectionOf returns the C handle of a connection, which duckdb-go keeps to
// itself.
func connectionOf(c any) (mapping.Connection, error) {
	conn, ok := c.(*duckdb.Conn)
	if !ok {
		return mapping.Connection{}, fmt.Errorf("a connection is a %T, expected DuckDB's", c)
	}
	f := reflect.ValueOf(conn).Elem().FieldByName("conn")
	if !f.IsValid() || f.Type() != reflect.TypeFor[mapping.Connection]() {
		return mapping.Connection{}, errors.New("this version of duckdb-go keeps its connections in another way: datasets/duckdb has to follow")
	}
	return *(*mapping.Connection)(f.Addr().UnsafePointer()), nil
}

func newAppender(c any, table string) (*appender, error) {
	conn, err := connectionOf(c)
	if err != nil {
		return nil, err
	}
	a := &appender{table: table, capacity: duckdb.GetDataChunkCapacity()}
	if mapping.AppenderCreateExt(conn, "", "", table, &a.handle) == mapping.StateError {
		err := a.fault()
		mapping.AppenderDestroy(&a.handle)
		return nil, err
	}
	for i := range mapping.AppenderColumnCount(a.handle) {
		t := mapping.AppenderColumnType(a.handle, i)
		a.types = append(a.types, t)
		a.columns = append(a.columns, vector{typ: mapping.GetTypeId(t)})
	}
	a.chunk = mapping.CreateDataChunk(a.types)
	a.begin()
	return a, nil
}

func (a *appender) fault() error {
	return fmt.Errorf("table %s: %s", a.table, mapping.AppenderError(a.handle))
}

// begin begins an empty chunk.
func (a *appender) begin() {
	a.rows = 0
	for i := range a.columns {
		c := &a.columns[i]
		c.vec = mapping.DataChunkGetVector(a.chunk, mapping.IdxT(i))
		c.data, c.mask = mapping.VectorGetData(c.vec), nil
	}
}

// append adds a row.
func (a *appender) append(values []datasets.Value) error {
	if len(values) != len(a.columns) {
		return fmt.Errorf("table %s has %d columns, and a row has %d values", a.table, len(a.columns), len(values))
	}
	if a.rows == a.capacity {
		if err := a.send(); err != nil {
			return err
		}
	}
	for i := range values {
		if !a.columns[i].set(a.rows, &values[i]) {
			return fmt.Errorf("table %s: column %d of DuckDB's type %d takes no value of kind %d", a.table, i+1, a.columns[i].typ, values[i].Kind())
		}
	}
	a.rows++
	return nil
}

// set writes a value; false says that it is of another type than the column.
func (c *vector) set(row int, v *datasets.Value) bool {
	switch v.Kind() {
	case datasets.NullValue:
		if c.mask == nil {
			mapping.VectorEnsureValidityWritable(c.vec)
			c.mask = (*uint64)(mapping.VectorGetValidity(c.vec))
		}
		word := (*uint64)(unsafe.Add(unsafe.Pointer(c.mask), row/64*8))
		*word &^= 1 << (row % 64)
	case datasets.IntValue:
		switch n := v.Int(); {
		case c.typ == mapping.TypeBigInt:
			*(*int64)(unsafe.Add(c.data, row*8)) = n
		case c.typ == mapping.TypeInteger && n >= math.MinInt32 && n <= math.MaxInt32:
			*(*int32)(unsafe.Add(c.data, row*4)) = int32(n)
		default:
			return false
		}
	case datasets.FloatValue:
		if c.typ != mapping.TypeDouble {
			return false
		}
		*(*float64)(unsafe.Add(c.data, row*8)) = v.Float()
	case datasets.BoolValue:
		if c.typ != mapping.TypeBoolean {
			return false
		}
		*(*bool)(unsafe.Add(c.data, row)) = v.Bool()
	case datasets.TimeValue:
		if c.typ != mapping.TypeTimestamp {
			return false
		}
		*(*int64)(unsafe.Add(c.data, row*8)) = v.Micros()
	case datasets.TextValue:
		if c.typ != mapping.TypeVarchar {
			return false
		}
		c.setText(row, v.Text())
	}
	return true
}

// short is duckdb_string_t for texts that fit into it.
type short struct {
	length uint32
	bytes  [12]byte
}

func (c *vector) setText(row int, s string) {
	if len(s) > len(short{}.bytes) {
		mapping.VectorAssignStringElement(c.vec, mapping.IdxT(row), s)
		return
	}
	p := (*short)(unsafe.Add(c.data, row*int(unsafe.Sizeof(short{}))))
	*p = short{length: uint32(len(s))} // the rest of the bytes has to be 0
	copy(p.bytes[:], s)
}

// send hands the chunk to DuckDB.
func (a *appender) send() error {
	if a.rows == 0 {
		return nil
	}
	mapping.DataChunkSetSize(a.chunk, mapping.IdxT(a.rows))
	if mapping.AppendDataChunk(a.handle, a.chunk) == mapping.StateError {
		return a.fault()
	}
	mapping.DataChunkReset(a.chunk)
	a.begin()
	return nil
}

// flush makes the rows visible to the transaction.
func (a *appender) flush() error {
	if err := a.send(); err != nil {
		return err
	}
	if mapping.AppenderFlush(a.handle) == mapping.StateError {
		return a.fault()
	}
	return nil
}

// close frees the appender. Rows that were not flushed are dropped.
func (a *appender) close() {
	mapping.AppenderClear(a.handle) // else destroying would write them
	mapping.AppenderDestroy(&a.handle)
	mapping.DestroyDataChunk(&a.chunk)
	for i := range a.types {
		mapping.DestroyLogicalType(&a.types[i])
	}
}
