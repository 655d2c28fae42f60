package nsys

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // pure Go

	"github.com/rooflab/rooflab/collectors"
)

// database is an export that is open for reading.
type database struct {
	*sql.DB
	file   string                     // for messages
	tables map[string]map[string]bool // columns by table
}

// openDatabase opens a file as it is: read-only, and immutable, so that no
// journal beside it is looked for and nothing is written.
func openDatabase(ctx context.Context, file, path string) (*database, error) {
	if err := whole(file, path); err != nil {
		return nil, err
	}
	for _, journal := range [...]string{"-wal", "-journal"} {
		if st, err := os.Stat(path + journal); err == nil && st.Size() > 0 {
			return nil, &collectors.SyntaxError{File: file, Msg: "the database is being written, or its writer was killed: rows that " + filepath.Base(path) + journal + " beside it holds would be missing",
				Hint: "wait until the export has ended, or make it again; sqlite3 " + filepath.Base(path) + " .schema takes the rows in where both files are whole"}
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", file, err)
	}
	c, err := sql.Open("sqlite", "file:"+(&url.URL{Path: abs}).EscapedPath()+"?mode=ro&immutable=1")
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", file, err)
	}
	// One query may be open while names are looked up.
	c.SetMaxOpenConns(2)
	d := &database{DB: c, file: file, tables: map[string]map[string]bool{}}
	if err := d.schema(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return d, nil
}

// whole compares a file's size with what its header says.
func whole(file, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [100]byte
	if n, err := io.ReadFull(f, head[:]); err != nil || string(head[:16]) != magic {
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		return &collectors.SyntaxError{File: file, Msg: fmt.Sprintf("at byte 0: this is no SQLite database (the first %d bytes)", n), Expected: "the header of 100 bytes of one", Hint: "the file is cut or damaged: get it again"}
	}
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	// The count of pages is right where the two versions agree.
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	if binary.BigEndian.Uint32(head[24:]) == binary.BigEndian.Uint32(head[92:]) && pages*page > st.Size() {
		return &collectors.SyntaxError{File: file, Msg: fmt.Sprintf("the file ends at byte %d", st.Size()), Expected: fmt.Sprintf("%d bytes, which its header says", pages*page),
			Hint: "the file is cut: get it again, or wait until the export has ended"}
	}
	return nil
}

// schema reads which tables and columns there are. Views are left out: what a
// file computes is not what was measured.
func (d *database) schema(ctx context.Context) error {
	rows, err := d.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		return d.broken("the schema", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return d.broken("the schema", err)
		}
		d.tables[name] = map[string]bool{}
	}
	if err := rows.Err(); err != nil {
		return d.broken("the schema", err)
	}
	for name, columns := range d.tables {
		err := func() error {
			rows, err := d.QueryContext(ctx, `SELECT name FROM pragma_table_info(?)`, name)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var c string
				if err := rows.Scan(&c); err != nil {
					return err
				}
				columns[c] = true
			}
			return rows.Err()
		}()
		if err != nil {
			return d.broken("the columns of "+name, err)
		}
	}
	return nil
}

// broken is the error for what SQLite could not read.
func (d *database) broken(what string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("reading %s: %w", d.file, err)
	}
	var se *collectors.SyntaxError
	if errors.As(err, &se) {
		return err
	}
	return &collectors.SyntaxError{File: d.file, Msg: "reading " + what + ": " + err.Error(), Hint: "the database is damaged: export the report again"}
}

// has reports whether there is a table with all of some columns.
func (d *database) has(table string, columns ...string) bool {
	t, ok := d.tables[table]
	for _, c := range columns {
		ok = ok && t[c]
	}
	return ok
}

// names lists the tables in order.
func (d *database) names() []string {
	ns := slices.Sorted(maps.Keys(d.tables))
	return ns
}

// record is one row; the values are int64, float64, string, []byte or nil.
type record struct {
	values []any
	at     map[string]int
}

// integer returns a whole number; ok is false where there is none.
func (r *record) integer(column string) (n int64, ok bool) {
	n, ok = r.values[r.at[column]].(int64)
	return n, ok
}

func (r *record) text(column string) string {
	switch v := r.values[r.at[column]].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func (r *record) has(column string) bool { return r.values[r.at[column]] != nil }

// each calls f for every row of a table. Columns that the table lacks are
// NULL: exports of other versions have others. order is a list of columns.
func (d *database) each(ctx context.Context, table string, columns []string, order string, f func(*record) error) error {
	if d.tables[table] == nil {
		return nil
	}
	r := &record{values: make([]any, len(columns)), at: map[string]int{}}
	list, dst := make([]string, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		list[i] = quote(c)
		if !d.has(table, c) {
			list[i] = "NULL"
		}
		r.at[c] = i
		dst[i] = &r.values[i]
	}
	query := "SELECT " + strings.Join(list, ", ") + " FROM " + quote(table)
	if order != "" {
		query += " ORDER BY " + order
	}
	rows, err := d.QueryContext(ctx, query)
	if err != nil {
		return d.broken("table "+table, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dst...); err != nil {
			return d.broken("table "+table, err)
		}
		if err := f(r); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return d.broken("table "+table, err)
	}
	return nil
}

// count returns how many rows a table has.
func (d *database) count(ctx context.Context, table string) (n int64, err error) {
	if err := d.QueryRowContext(ctx, "SELECT count(*) FROM "+quote(table)).Scan(&n); err != nil {
		return 0, d.broken("table "+table, err)
	}
	return n, nil
}

// quote makes a name an SQL identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
