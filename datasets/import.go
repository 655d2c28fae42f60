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
	q      queue
	ids    bases // of the profile that is being put
	top    bases // the highest ids so far
	counts map[string]int64
	runs   []int64
	head   head
	err    error // of an earlier Put
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
	im := &Import{ctx: ctx, tx: tx, q: queue{tx: tx}, counts: map[string]int64{}}
	if im.ids, err = highest(ctx, tx); err != nil {
		return nil, errors.Join(fmt.Errorf("importing into store %s: %w", s.path, err), tx.Rollback())
	}
	im.top = im.ids
	return im, nil
}

// highest returns the highest ids of the store.
func highest(ctx context.Context, q querier) (b bases, err error) {
	rows, err := q.Query(ctx, `SELECT (SELECT max(id) FROM run), (SELECT max(id) FROM region), (SELECT max(id) FROM launch), (SELECT max(id) FROM code)`)
	if err != nil {
		return b, err
	}
	defer rows.Close()
	if rows.Next() {
		v := rows.Values()
		b = bases{integer(v[0]).V, integer(v[1]).V, integer(v[2]).V, integer(v[3]).V}
	}
	return b, rows.Err()
}

// Put adds a record. An error means that the import cannot be committed.
func (im *Import) Put(r Record) error {
	if im.err != nil {
		return im.err
	}
	if im.err = im.put(r); im.err != nil {
		return im.err
	}
	im.counts[r.Table()]++
	return nil
}

func (im *Import) put(r Record) error {
	if err := im.ctx.Err(); err != nil {
		return err
	}
	if im.done {
		return errors.New("putting a record: the import has ended already")
	}
	if err := r.check(); err != nil {
		return err
	}
	switch v := r.(type) {
	case *Run:
		im.runs = append(im.runs, v.ID+im.ids.run)
		im.top.run = max(im.top.run, v.ID+im.ids.run)
		im.head.runs = append(im.head.runs, *v)
		return nil
	case *Machine:
		im.head.machines = append(im.head.machines, *v)
		return nil
	case *Ceiling:
		im.head.ceilings = append(im.head.ceilings, *v)
		return nil
	case *Launch:
		im.top.launch = max(im.top.launch, v.ID+im.ids.launch)
	case *Region:
		im.top.region = max(im.top.region, v.ID+im.ids.region)
	case *Code:
		im.top.code = max(im.top.code, v.ID+im.ids.code)
	}
	if v, ok := r.(interface{ runOf() int64 }); ok {
		im.head.refer(v.runOf())
	}
	return im.q.put(r, &im.ids)
}

// Counts returns how many records each table got so far. Once the import is
// committed, a machine that the store had already does not count.
func (im *Import) Counts() map[string]int64 { return im.counts }

// Runs returns the store's ids of the runs that were put so far.
func (im *Import) Runs() []int64 { return im.runs }

// Commit writes the artefact beside every run that was put, and makes the
// import durable. parts are further files that the profile consists of. An
// earlier import of the same content by an older parser is replaced. Where the
// content is in the store already, from the same version of the parser, Commit
// changes nothing and returns a *DuplicateError.
func (im *Import) Commit(a Artefact, parts ...Artefact) error {
	if im.done {
		return errors.New("committing an import: it has ended already")
	}
	err := im.err
	if err == nil {
		err = im.commit(a, parts)
	}
	if err != nil {
		var dup *DuplicateError
		if !errors.As(err, &dup) {
			err = fmt.Errorf("committing the import of %s: %w", a.Path, err)
		} else {
			err = dup
		}
		if rerr := im.Rollback(); rerr != nil {
			err = errors.Join(err, rerr)
		}
		return err
	}
	im.done = true
	return nil
}

func (im *Import) commit(a Artefact, parts []Artefact) error {
	if err := im.head.check(); err != nil {
		return err
	}
	if err := im.q.end(); err != nil {
		return err
	}
	dup, old, err := earlier(im.ctx, im.tx, a)
	if err != nil {
		return err
	}
	if dup != nil {
		return dup
	}
	machines, err := im.replace(old)
	if err != nil {
		return err
	}
	if err := im.head.write(im.tx, im.ids.run, machines, im.counts); err != nil {
		return err
	}
	if err := im.artefacts(im.counts, im.runs, a, parts); err != nil {
		return err
	}
	return im.tx.Commit()
}

// replace drops the runs of an earlier import and returns the machines that
// the store has then.
func (im *Import) replace(old []int64) (*machines, error) {
	if len(old) > 0 {
		if err := im.tx.Flush(); err != nil {
			return nil, err
		}
		if err := remove(im.ctx, im.tx, old); err != nil {
			return nil, fmt.Errorf("replacing the earlier import: %w", err)
		}
	}
	return knownMachines(im.ctx, im.tx)
}

// kindPart is the kind of artefacts that are further files of a profile.
const kindPart = "part"

func (im *Import) artefacts(counts map[string]int64, runs []int64, a Artefact, parts []Artefact) error {
	now := time.Now()
	write := func(run int64, a *Artefact, kind string) error {
		counts["artefact"]++
		return im.tx.Append("artefact", []Value{intValue(run), textValue(a.Path), textValue(a.SHA256), intValue(a.Bytes), textValue(kind),
			intValue(int64(a.ParserVersion)), timeValue(now)})
	}
	for _, run := range runs {
		if err := write(run, &a, a.Kind); err != nil {
			return err
		}
		for i := range parts {
			parts[i].ParserVersion = a.ParserVersion
			if err := write(run, &parts[i], kindPart); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rollback drops the import. After Commit it does nothing.
func (im *Import) Rollback() error {
	if im.done {
		return nil
	}
	im.done = true
	im.q.drop()
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

// ImportedSize reports whether the store has any content of that size from
// that parser. Where it has none, a file need not be read for its sum to know
// that it is new.
func (s *Store) ImportedSize(ctx context.Context, kind string, bytes int64) (bool, error) {
	n, err := one(ctx, s.conn, `SELECT count(*) FROM artefact WHERE bytes = ? AND kind = ?`, bytes, kind)
	return n > 0, err
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
