// Package duckdb keeps stores in DuckDB files. It registers itself as the
// datasets driver "duckdb", so programs that work on stores import it for its
// effect alone:
//
//	import _ "github.com/rooflab/rooflab/datasets/duckdb"
//
// A DuckDB file has one writing process, and no reader beside it; without a
// writer any number of processes read it together. Within one process all
// stores of a path share one database: a read-only one beside a writing one
// sees what is committed.
package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/rooflab/rooflab/datasets"
)

func init() { datasets.RegisterDriver("duckdb", engine{}) }

// database is an open file, shared by all conns of this process.
type database struct {
	path string
	ro   bool
	db   *sql.DB
	refs int
	// write holds one token: whoever has taken it is the writer.
	write chan struct{}
}

var (
	openMu sync.Mutex
	open   = map[string]*database{} // by real path
)

type engine struct{}

func (engine) Open(ctx context.Context, path string, opt datasets.DriverOptions) (datasets.Conn, error) {
	key, err := realPath(path, opt.ReadOnly)
	if err != nil {
		return nil, err
	}
	openMu.Lock()
	defer openMu.Unlock()
	d := open[key]
	switch {
	case d != nil && d.ro && !opt.ReadOnly:
		return nil, fmt.Errorf("opening store %s for writing: this process has it open read-only, %d times: close those stores first", path, d.refs)
	case d == nil:
		if d, err = openFile(ctx, path, key, opt.ReadOnly); err != nil {
			return nil, err
		}
		open[key] = d
	}
	d.refs++
	return &conn{d: d}, nil
}

// realPath resolves path, so that two names of one file share a database. The
// file itself need not be there yet, unless mustExist.
func realPath(path string, mustExist bool) (string, error) {
	if strings.ContainsAny(path, "?#%") {
		return "", fmt.Errorf("opening store %s: the path holds one of ? # %%, which DuckDB's Go driver reads as options: use another name", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("opening store %s: %w", path, err)
	}
	target, err := filepath.EvalSymlinks(abs)
	switch {
	case err == nil:
		if st, err := os.Stat(target); err == nil && st.IsDir() {
			return "", fmt.Errorf("opening store %s: it is a directory; a store is a file", path)
		}
		return target, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("opening store %s: %w", path, err)
	case mustExist:
		return "", fmt.Errorf("opening store %s: %w: make one with rooflab import --store %s and the profiles", path, fs.ErrNotExist, path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", fmt.Errorf("opening store %s: its directory: %w", path, err)
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

// settings are DuckDB's for every store. Extensions are never fetched behind
// the user's back. Trying the FSST compressions on each column of text takes a
// third of an import's processor time, and makes tables of counters 2 percent
// smaller than the dictionaries that are used anyway.
const settings = "&autoinstall_known_extensions=false&disabled_compression_methods=fsst,dict_fsst"

func openFile(ctx context.Context, path, key string, ro bool) (*database, error) {
	mode := "READ_WRITE"
	if ro {
		mode = "READ_ONLY"
	}
	if err := isStore(path, key, ro); err != nil {
		return nil, err
	}
	c, err := duckdb.NewConnector(key+"?access_mode="+mode+settings, nil)
	if err != nil {
		return nil, openError(path, key, ro, err)
	}
	db := sql.OpenDB(c)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, openError(path, key, ro, err)
	}
	d := &database{path: path, ro: ro, db: db, write: make(chan struct{}, 1)}
	d.write <- struct{}{}
	return d, nil
}

// isStore refuses files that are there and are none of DuckDB's own. DuckDB
// itself takes tables of CSV, JSON and Parquet, too, and opens a database in
// memory beside them: whatever is written there is gone when it is closed.
func isStore(path, key string, ro bool) error {
	f, err := os.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is made
	}
	if err != nil {
		return fmt.Errorf("opening store %s: %w", path, err)
	}
	defer f.Close()
	const checksum, magic = 8, "DUCK"
	head := make([]byte, checksum+len(magic))
	_, err = io.ReadFull(f, head)
	switch {
	case errors.Is(err, io.EOF) && young(key):
		return beingMade(path, ro, err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("opening store %s: it is an empty file, and no store: remove it, then it is made", path)
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("opening store %s: %w", path, err)
	case string(head[checksum:]) != magic:
		return fmt.Errorf("opening store %s: it is another file, and no store: name a file that is not there yet, which is made, or a store", path)
	}
	return nil
}

// young says whether a file that is no store yet may be one that another
// process is making: between its name and its first bytes nothing tells.
func young(key string) bool {
	info, err := os.Stat(key)
	return err == nil && time.Since(info.ModTime()) < 2*time.Second
}

func beingMade(path string, ro bool, err error) error {
	return &datasets.LockedError{Path: path, ReadOnly: ro, Holder: "which is making it", Err: err}
}

var holder = regexp.MustCompile(`(?s)Conflicting lock is held in (.*? \(PID \d+\))`)

func openError(path, key string, ro bool, err error) error {
	if strings.Contains(err.Error(), "not a valid DuckDB database file") && young(key) {
		return beingMade(path, ro, err)
	}
	if msg := err.Error(); strings.Contains(msg, "Could not set lock on file") {
		locked := &datasets.LockedError{Path: path, ReadOnly: ro, Err: err}
		if m := holder.FindStringSubmatch(msg); m != nil {
			locked.Holder = m[1]
		}
		return locked
	}
	return fmt.Errorf("opening store %s: %w", path, err)
}

type conn struct {
	d    *database
	once sync.Once
	err  error
}

func (c *conn) Close() error {
	c.once.Do(func() {
		openMu.Lock()
		defer openMu.Unlock()
		if c.d.refs--; c.d.refs > 0 {
			return
		}
		for key, d := range open {
			if d == c.d {
				delete(open, key)
			}
		}
		if err := c.d.db.Close(); err != nil {
			c.err = fmt.Errorf("closing store %s: %w", c.d.path, err)
		}
	})
	return c.err
}

// Query runs sql in a transaction of its own that cannot write.
func (c *conn) Query(ctx context.Context, query string, args ...any) (datasets.Rows, error) {
	sc, err := c.d.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("querying store %s: %w", c.d.path, err)
	}
	if _, err := sc.ExecContext(ctx, "BEGIN TRANSACTION READ ONLY"); err != nil {
		sc.Close()
		return nil, fmt.Errorf("querying store %s: %w", c.d.path, err)
	}
	end := func() error {
		// The statement may have ended the transaction itself by failing.
		_, _ = sc.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return sc.Close()
	}
	rs, err := newRows(ctx, sc, end, query, args)
	if err != nil {
		return nil, fmt.Errorf("querying store %s: %w", c.d.path, errors.Join(err, end()))
	}
	return rs, nil
}

func (c *conn) Begin(ctx context.Context) (datasets.Tx, error) {
	select {
	case <-c.d.write:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to write to store %s, which another import of this process is writing to: %w", c.d.path, ctx.Err())
	}
	sc, err := c.d.db.Conn(ctx)
	if err == nil {
		if _, err = sc.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
			sc.Close()
		}
	}
	if err != nil {
		c.d.write <- struct{}{}
		return nil, fmt.Errorf("beginning to write to store %s: %w", c.d.path, err)
	}
	return &tx{d: c.d, conn: sc, appenders: map[string]*appender{}}, nil
}
