package datasets

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Import is one import in progress: a transaction that takes records. Exactly
// one of Commit and Rollback ends it; until Commit nobody else sees anything
// of it, and a process that dies leaves the store as it was. It is used by one
// goroutine at a time.
type Import struct {
	ctx    context.Context
	tx     Tx
	bases  bases
	counts map[string]int64
	runs   []int64
	row    []any
	done   bool
}

// Begin starts an import.
func (s *Store) Begin(ctx context.Context) (*Import, error) {
	if s.ro {
		return nil, fmt.Errorf("importing into store %s: it is open read-only: open it without datasets.ReadOnly", s.path)
	}
	tx, err := s.conn.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("importing into store %s: %w", s.path, err)
	}
	im := &Import{ctx: ctx, tx: tx, counts: map[string]int64{}}
	for _, b := range []struct {
		table string
		base  *int64
	}{{"machine", &im.bases.machine}, {"run", &im.bases.run}, {"region", &im.bases.region}, {"launch", &im.bases.launch}, {"code", &im.bases.code}} {
		if *b.base, err = one(ctx, tx, `SELECT coalesce(max(id), 0) FROM `+b.table); err != nil {
			return nil, errors.Join(fmt.Errorf("importing into store %s: %w", s.path, err), tx.Rollback())
		}
	}
	return im, nil
}

// Put adds a record. An error means that the import cannot be committed.
func (im *Import) Put(r Record) error {
	if err := im.ctx.Err(); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	im.row = r.row(im.row[:0], &im.bases)
	if err := im.tx.Append(r.Table(), im.row); err != nil {
		return fmt.Errorf("adding a row to table %s: %w", r.Table(), err)
	}
	im.counts[r.Table()]++
	if run, ok := r.(*Run); ok {
		im.runs = append(im.runs, run.ID+im.bases.run)
	}
	return nil
}

// Counts returns how many records each table got so far.
func (im *Import) Counts() map[string]int64 { return im.counts }

// Runs returns the store's ids of the runs that were put so far.
func (im *Import) Runs() []int64 { return im.runs }

// Commit writes the artefact beside every run that was put, and makes the
// import durable. An earlier import of the same content by an older parser is
// replaced. Where the content is in the store already, from the same version
// of the parser, Commit changes nothing and returns a *DuplicateError.
func (im *Import) Commit(a Artefact) error {
	if im.done {
		return errors.New("committing an import: it has ended already")
	}
	if len(im.runs) == 0 {
		return errors.Join(fmt.Errorf("committing the import of %s: it holds no run", a.Path), im.Rollback())
	}
	if err := im.commit(a); err != nil {
		if rerr := im.Rollback(); rerr != nil {
			err = errors.Join(err, rerr)
		}
		return err
	}
	im.done = true
	return nil
}

func (im *Import) commit(a Artefact) error {
	dup, old, err := earlier(im.ctx, im.tx, a)
	if err != nil {
		return fmt.Errorf("committing the import of %s: %w", a.Path, err)
	}
	if dup != nil {
		return dup
	}
	if err := im.tx.Flush(); err != nil {
		return fmt.Errorf("committing the import of %s: %w", a.Path, err)
	}
	for _, run := range old {
		for _, t := range Tables {
			col := "run_id"
			if t == "run" {
				col = "id"
			}
			if err := im.tx.Exec(im.ctx, `DELETE FROM `+t+` WHERE `+col+` = ?`, run); err != nil {
				return fmt.Errorf("replacing the earlier import of %s: %w", a.Path, err)
			}
		}
	}
	now := time.Now().UTC()
	for _, run := range im.runs {
		if err := im.tx.Append("artefact", []any{run, a.Path, a.SHA256, a.Bytes, a.Kind, int32(a.ParserVersion), now}); err != nil {
			return fmt.Errorf("committing the import of %s: %w", a.Path, err)
		}
		im.counts["artefact"]++
	}
	if err := im.tx.Commit(); err != nil {
		return fmt.Errorf("committing the import of %s: %w", a.Path, err)
	}
	return nil
}

// Rollback drops the import. After Commit it does nothing.
func (im *Import) Rollback() error {
	if im.done {
		return nil
	}
	im.done = true
	return im.tx.Rollback()
}

// DuplicateError says that the content of a file is in the store already.
type DuplicateError struct {
	Path    string // the file that was to be imported
	Earlier string // the path that its content was imported from
	Run     int64  // its (first) run
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%s: its content is in the store already, imported from %s as run %d: nothing changed", e.Path, e.Earlier, e.Run)
}

// Imported looks for the content of a file in the store: a *DuplicateError
// where the same version of the parser has imported it, nil where a Commit
// would add or replace something.
func (s *Store) Imported(ctx context.Context, a Artefact) (*DuplicateError, error) {
	dup, _, err := earlier(ctx, s.conn, a)
	return dup, err
}

// earlier looks for earlier imports of a's content: dup where the parser was
// the same, else the runs which an older parser made of it.
func earlier(ctx context.Context, q querier, a Artefact) (dup *DuplicateError, old []int64, err error) {
	rows, err := q.Query(ctx, `SELECT run_id, path, parser_version::BIGINT FROM artefact WHERE sha256 = ? AND kind = ? ORDER BY run_id`, a.SHA256, a.Kind)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v := rows.Values()
		if integer(v[2]).V == int64(a.ParserVersion) {
			return &DuplicateError{Path: a.Path, Earlier: str(v[1]), Run: integer(v[0]).V}, nil, nil
		}
		old = append(old, integer(v[0]).V)
	}
	return nil, old, rows.Err()
}
