package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rooflab/rooflab/datasets"
)

// tx is a writing transaction on a connection of its own. Bulk rows go through
// DuckDB's appenders, which belong to the transaction of their connection.
type tx struct {
	d         *database
	conn      *sql.Conn
	appenders map[string]*appender
	done      bool
}

func (t *tx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.conn.ExecContext(ctx, query, args...)
	return err
}

func (t *tx) Query(ctx context.Context, query string, args ...any) (datasets.Rows, error) {
	return newRows(ctx, t.conn, func() error { return nil }, query, args)
}

func (t *tx) Append(table string, values []datasets.Value) error {
	a := t.appenders[table]
	if a == nil {
		err := t.conn.Raw(func(c any) (err error) {
			a, err = newAppender(c, table)
			return err
		})
		if err != nil {
			return err
		}
		t.appenders[table] = a
	}
	return a.append(values)
}

func (t *tx) Flush() error {
	for _, a := range t.appenders {
		if err := a.flush(); err != nil {
			return fmt.Errorf("writing rows: %w", err)
		}
	}
	return nil
}

func (t *tx) Commit() error {
	if t.done {
		return errors.New("the transaction has ended already")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	t.drop()
	if _, err := t.conn.ExecContext(context.Background(), "COMMIT"); err != nil {
		return err
	}
	return t.end()
}

func (t *tx) Rollback() error {
	if t.done {
		return nil
	}
	t.drop()
	_, err := t.conn.ExecContext(context.Background(), "ROLLBACK")
	return errors.Join(err, t.end())
}

// drop frees the appenders with what they hold.
func (t *tx) drop() {
	for table, a := range t.appenders {
		delete(t.appenders, table)
		a.close()
	}
}

// end gives the connection and the right to write back.
func (t *tx) end() error {
	t.done = true
	err := t.conn.Close()
	t.d.write <- struct{}{}
	return err
}
