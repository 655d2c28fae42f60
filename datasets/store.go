package datasets

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Store is an open store. Its methods are safe for concurrent use.
type Store struct {
	conn  Conn
	path  string
	ro    bool
	cells int // of a dataframe, at most; 0 is the default
}

type options struct {
	driver   string
	ro       bool
	maxCells int
}

// Option changes how Open opens a store.
type Option func(*options)

// ReadOnly opens an existing store for reading, beside other readers. It may
// be one that an older rooflab wrote: it stays as it is.
func ReadOnly(o *options) { o.ro = true }

// WithDriver opens the store with the driver of that name.
func WithDriver(name string) Option { return func(o *options) { o.driver = name } }

// Open opens the store at path, creating it when there is none (unless
// ReadOnly) and bringing its schema up to date. Several stores of one process
// may have the same path. A store is always a file: ":memory:" is refused, and
// Temporary makes one that goes away after use. It returns a *LockedError where
// another process holds the store.
func Open(path string, opts ...Option) (*Store, error) {
	o := options{driver: DefaultDriver}
	for _, f := range opts {
		f(&o)
	}
	if strings.HasPrefix(path, ":memory:") {
		return nil, fmt.Errorf("opening store %s: a store is a file, there are none in memory: name a file in a folder for temporary ones, or call datasets.Temporary, which removes its store after use", path)
	}
	if path == "" {
		return nil, errors.New("opening a store: its path is empty: name a file, which is made when it is not there")
	}
	d, err := driver(o.driver)
	if err != nil {
		return nil, fmt.Errorf("opening store %s: %w", path, err)
	}
	ctx := context.Background()
	conn, err := d.Open(ctx, path, DriverOptions{ReadOnly: o.ro})
	if err != nil {
		return nil, err
	}
	s := &Store{conn: conn, path: path, ro: o.ro, cells: o.maxCells}
	if err := s.upgrade(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) upgrade(ctx context.Context) error {
	v, err := version(ctx, s.conn)
	switch {
	case err != nil:
		return fmt.Errorf("opening store %s: reading its schema version: %w", s.path, err)
	case v > SchemaVersion:
		return fmt.Errorf("opening store %s: its schema version %d is newer than %d, the newest that this rooflab knows: use a newer rooflab", s.path, v, SchemaVersion)
	case v == SchemaVersion:
		return nil
	case s.ro && v == 0:
		return fmt.Errorf("opening store %s: it holds no rooflab schema: import something into it first", s.path)
	case s.ro && v >= readableFrom:
		return nil // an archive that nobody may write to is still read
	case s.ro:
		return fmt.Errorf("opening store %s: its schema version %d is older than %d: open it once for writing to bring it up to date", s.path, v, readableFrom)
	}
	if err := migrate(ctx, s.conn, v); err != nil {
		return fmt.Errorf("opening store %s: %w", s.path, err)
	}
	return nil
}

// Path is the path that the store was opened with.
func (s *Store) Path() string { return s.path }

// Close closes the store. Dataframes taken from it stay valid.
func (s *Store) Close() error { return s.conn.Close() }

// Each runs a statement that only reads and calls f with the values of each
// row, which hold until f returns.
func (s *Store) Each(ctx context.Context, f func(values []any), sql string, args ...any) error {
	return each(ctx, s.conn, sql, f, args...)
}

// Rows runs a statement that only reads and returns its rows as they come.
// The caller closes them.
func (s *Store) Rows(ctx context.Context, sql string, args ...any) (Rows, error) {
	return s.conn.Query(ctx, sql, args...)
}
