package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/rooflab/rooflab/datasets"
)

// tx is a writing transaction on a connection of its own. Bulk rows go through
// DuckDB's appenders, which belong to the transaction of their connection.
type tx struct {
	d         *database
	conn      *sql.Conn
	appenders map[string]*duckdb.Appender
	row       []driver.Value
	done      bool
}

func (t *tx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.conn.ExecContext(ctx, query, args...)
	return err
}

func (t *tx) Query(ctx context.Context, query string, args ...any) (datasets.Rows, error) {
	return newRows(ctx, t.conn, func() error { return nil }, query, args)
}

func (t *tx) Append(table string, values []any) error {
	a := t.appenders[table]
	if a == nil {
		err := t.conn.Raw(func(c any) (err error) {
			a, err = duckdb.NewAppenderFromConn(c.(driver.Conn), "", table)
			return err
		})
		if err != nil {
			return err
		}
		t.appenders[table] = a
	}
	t.row = t.row[:0]
	for _, v := range values {
		t.row = append(t.row, v)
	}
	return a.AppendRow(t.row...)
}

func (t *tx) Flush() error {
	for table, a := range t.appenders {
		if err := a.Flush(); err != nil {
			return fmt.Errorf("writing rows of table %s: %w", table, err)
		}
	}
	return nil
}

func (t *tx) Commit() error {
	if t.done {
		return errors.New("the transaction has ended already")
	}
	for table, a := range t.appenders {
		delete(t.appenders, table)
		if err := a.Close(); err != nil {
			return fmt.Errorf("writing rows of table %s: %w", table, err)
		}
	}
	if _, err := t.conn.ExecContext(context.Background(), "COMMIT"); err != nil {
		return err
	}
	return t.end()
}

func (t *tx) Rollback() error {
	if t.done {
		return nil
	}
	for table, a := range t.appenders {
		delete(t.appenders, table)
		// What the appender holds is dropped with the transaction, so an
		// error in writing it does not matter.
		_ = a.Close()
	}
	_, err := t.conn.ExecContext(context.Background(), "ROLLBACK")
	return errors.Join(err, t.end())
}

// end gives the connection and the right to write back.
func (t *tx) end() error {
	t.done = true
	err := t.conn.Close()
	t.d.write <- struct{}{}
	return err
}
