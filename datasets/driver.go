package datasets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Driver opens stores of one engine. Drivers register themselves under a name
// in an init function of their package.
type Driver interface {
	// Open opens the store at path, creating it unless opt.ReadOnly is set. It
	// returns a *LockedError where another process holds the store.
	Open(ctx context.Context, path string, opt DriverOptions) (Conn, error)
}

// DriverOptions is what Open passes on to a driver.
type DriverOptions struct {
	ReadOnly bool
}

// Conn is an open store. Its methods are safe for concurrent use; transactions
// are independent of queries.
type Conn interface {
	// Query runs one statement that only reads. args take the places of "?".
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
	// Begin starts the one writing transaction; it waits while another one of
	// this process is open.
	Begin(ctx context.Context) (Tx, error)
	Close() error
}

// Tx is a writing transaction. It is used by one goroutine at a time.
type Tx interface {
	Exec(ctx context.Context, sql string, args ...any) error
	// Query sees what Exec has done, and what Append has done after Flush.
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
	// Append adds one row in bulk: values in the order of the table's columns.
	// The slice is the caller's again afterwards.
	Append(table string, values []Value) error
	// Flush makes appended rows visible to Query.
	Flush() error
	// Commit flushes, makes everything durable and ends the transaction.
	Commit() error
	// Rollback undoes everything. After Commit it does nothing.
	Rollback() error
}

// Type is the type of a result column, as a dataframe can hold it.
type Type int

// Types of columns. A value of a row is nil for NULL, else int64, float64,
// bool, or string.
const (
	Text Type = iota
	Int
	Float
	Bool
)

// Column describes a column of a result.
type Column struct {
	Name string
	Type Type
	// Engine is the engine's name of the type, "BIGINT".
	Engine string
}

// Rows is a result, shaped like bufio.Scanner: Next until false, then Err.
type Rows interface {
	Columns() []Column
	Next() bool
	// Values are those of the current row; the slice is reused by Next.
	Values() []any
	Err() error
	Close() error
}

// LockedError says that another process holds a store.
type LockedError struct {
	Path   string
	Holder string // who holds it, as far as the engine says ("rooflab (PID 1234)")
	// ReadOnly says that it was to be opened for reading: the other one writes.
	ReadOnly bool
	Err      error
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.Holder != "" {
		who += ", " + e.Holder + ","
	}
	what := "for reading or writing"
	if e.ReadOnly {
		what = "for writing"
	}
	return fmt.Sprintf("opening store %s: %s has it open %s; a store has one writing process, and no reader beside it: "+
		"close it there (store.Close(), or end that process or notebook session) and try again, or work on a copy of the file", e.Path, who, what)
}

func (e *LockedError) Unwrap() error { return e.Err }

var (
	driversMu sync.Mutex
	drivers   = map[string]Driver{}
)

// DefaultDriver is the driver that Open uses when it is not told another.
const DefaultDriver = "duckdb"

// RegisterDriver makes a driver known under a name. It panics when the name is
// taken: two packages of one program fight for it.
func RegisterDriver(name string, d Driver) {
	driversMu.Lock()
	defer driversMu.Unlock()
	if _, dup := drivers[name]; dup {
		panic("datasets: driver " + name + " registered twice")
	}
	drivers[name] = d
}

// Drivers lists the names of the registered drivers.
func Drivers() []string {
	driversMu.Lock()
	defer driversMu.Unlock()
	names := slices.Sorted(maps.Keys(drivers))
	return names
}

func driver(name string) (Driver, error) {
	driversMu.Lock()
	d, ok := drivers[name]
	driversMu.Unlock()
	if ok {
		return d, nil
	}
	have := "none is"
	if names := Drivers(); len(names) > 0 {
		have = strings.Join(names, ", ") + " registered"
	}
	return nil, fmt.Errorf("no store driver %q (%s): add the blank import _ \"github.com/rooflab/rooflab/datasets/%s\"", name, have, name)
}
