package datasets

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// ParquetImport says what ImportParquet did.
type ParquetImport struct {
	Runs      []int64          // the store's ids of the runs that are new
	Unchanged int64            // runs of the folder whose content the store had already
	Replaced  int64            // runs of an older parser that made place for new ones
	Rows      map[string]int64 // that came in, by table
}

// facts are what makes two machines the same.
var facts = []string{"host", "cpu", "gpu", "arch", "units", "clock_hz", "mem_hz", "mem_bytes", "driver"}

// ImportParquet brings the rows of a folder that ExportParquet wrote into the
// store, in one transaction. Into an empty store all rows come exactly as they
// were; else ids move. A run whose content is there already, from the same or
// a newer version of its parser, stays out, so that importing a folder again
// changes nothing.
func (s *Store) ImportParquet(ctx context.Context, dir string) (ParquetImport, error) {
	fail := func(err error) (ParquetImport, error) {
		return ParquetImport{}, fmt.Errorf("importing %s into store %s: %w", dir, s.path, err)
	}
	if s.ro {
		return fail(fmt.Errorf("the store is open read-only"))
	}
	m, err := readManifest(dir)
	if err != nil {
		return fail(err)
	}
	if err := m.check(dir); err != nil {
		return fail(err)
	}
	tx, err := s.conn.Begin(ctx)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	p := &parquetImport{ctx: ctx, tx: tx, dir: dir}
	out, err := p.run()
	if err != nil {
		return fail(err)
	}
	if len(out.Runs) == 0 {
		return out, nil
	}
	if err := tx.Commit(); err != nil {
		return fail(err)
	}
	return out, nil
}

type parquetImport struct {
	ctx context.Context
	tx  Tx
	dir string
}

// file is a table of the folder as SQL.
func (p *parquetImport) file(table string) string {
	return "read_parquet(" + literal(filepath.Join(p.dir, table+".parquet")) + ")"
}

func (p *parquetImport) ints(sql string) (ids []int64, err error) {
	err = each(p.ctx, p.tx, sql, func(v []any) { ids = append(ids, integer(v[0]).V) })
	return ids, err
}

func (p *parquetImport) run() (out ParquetImport, err error) {
	// The names of temporary tables are gone again when the transaction ends.
	setup := []string{
		`CREATE TEMP TABLE in_run AS SELECT r.id, r.machine_id,
			count(a.run_id) AS artefacts,
			coalesce(bool_or(EXISTS (SELECT 1 FROM main.artefact t WHERE t.sha256 = a.sha256 AND t.kind = a.kind AND t.parser_version >= a.parser_version)), false) AS have
			FROM ` + p.file("run") + ` r LEFT JOIN (SELECT * FROM ` + p.file("artefact") + ` WHERE kind <> '` + kindPart + `') a ON a.run_id = r.id
			GROUP BY r.id, r.machine_id`,
	}
	if err := p.exec(setup...); err != nil {
		return out, err
	}
	bad, err := p.ints(`SELECT id FROM in_run WHERE artefacts = 0 ORDER BY id`)
	if err != nil {
		return out, err
	}
	if len(bad) > 0 {
		return out, fmt.Errorf("its run %d names no file that it came from: no store holds such a run", bad[0])
	}
	if out.Unchanged, err = one(p.ctx, p.tx, `SELECT count(*) FROM in_run WHERE have`); err != nil {
		return out, err
	}
	if err := p.exec(`DELETE FROM in_run WHERE have`); err != nil {
		return out, err
	}
	old, err := p.ints(`SELECT DISTINCT t.run_id FROM main.artefact t JOIN ` + p.file("artefact") + ` a ON a.sha256 = t.sha256 AND a.kind = t.kind
		JOIN in_run i ON i.id = a.run_id WHERE t.kind <> '` + kindPart + `'`)
	if err != nil {
		return out, err
	}
	if len(old) > 0 {
		out.Replaced = int64(len(old))
		if err := remove(p.ctx, p.tx, old); err != nil {
			return out, err
		}
	}
	ids, err := highest(p.ctx, p.tx)
	if err != nil {
		return out, err
	}
	if out.Runs, err = p.ints(fmt.Sprintf(`SELECT id + %d FROM in_run ORDER BY id`, ids.run)); err != nil || len(out.Runs) == 0 {
		return out, err
	}
	out.Rows, err = p.rows(ids)
	return out, err
}

func (p *parquetImport) exec(statements ...string) error {
	for _, s := range statements {
		if err := p.tx.Exec(p.ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// rows inserts the rows of the runs in in_run.
func (p *parquetImport) rows(ids bases) (map[string]int64, error) {
	if err := p.machines(ids); err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, t := range Tables {
		before, err := one(p.ctx, p.tx, `SELECT count(*) FROM main.`+t)
		if err != nil {
			return nil, err
		}
		names, exprs, err := p.columns(t, ids)
		if err != nil {
			return nil, err
		}
		where := `f.run_id IN (SELECT id FROM in_run)`
		switch t {
		case "machine":
			where = `f.id IN (SELECT id FROM in_machine WHERE first AND fresh)`
		case "run":
			where = `f.id IN (SELECT id FROM in_run)`
		case "ceiling": // those of a datasheet come with their machine, once
			same := ""
			for i, n := range names {
				same += ` AND t.` + n + ` IS NOT DISTINCT FROM ` + exprs[i]
			}
			where = `(f.run_id IN (SELECT id FROM in_run) OR f.run_id IS NULL AND f.machine_id IN (SELECT id FROM in_machine)
				AND NOT EXISTS (SELECT 1 FROM main.ceiling t WHERE t.run_id IS NULL` + same + `))`
		}
		list := strings.Join(exprs, ", ")
		if t == "counter" {
			if err := p.counters(names, list); err != nil {
				return nil, fmt.Errorf("table %s: %w", t, err)
			}
		} else if err := p.exec(`INSERT INTO main.` + t + ` (` + strings.Join(names, ", ") + `) SELECT ` + list + ` FROM ` + p.file(t) + ` f WHERE ` + where); err != nil {
			return nil, fmt.Errorf("table %s: %w", t, err)
		}
		after, err := one(p.ctx, p.tx, `SELECT count(*) FROM main.`+t)
		if err != nil {
			return nil, err
		}
		if after > before {
			counts[t] = after - before
		}
	}
	return counts, p.exec(`DROP TABLE in_run`, `DROP TABLE in_machine`)
}

// counters inserts the rows of the counters, whose series may be new.
func (p *parquetImport) counters(names []string, exprs string) error {
	from := `(SELECT ` + exprs + ` FROM ` + p.file("counter") + ` f WHERE f.run_id IN (SELECT id FROM in_run)) AS c(` + strings.Join(names, ", ") + `)`
	return p.exec(
		`INSERT INTO main.series SELECT (SELECT coalesce(max(id), 0) FROM main.series) + row_number() OVER (), c.* FROM (
			SELECT DISTINCT metric, instance, unit, raw_unit, status FROM `+from+`) c WHERE NOT EXISTS (SELECT 1 FROM main.series s WHERE `+sameSeries+`)`,
		`INSERT INTO main.counter_value SELECT c.run_id, c.region_id, c.launch_id, s.id, c.value, c.raw_value, c.coverage
			FROM `+from+` JOIN main.series s ON `+sameSeries)
}

// machines makes the table in_machine: the machines of the runs that come in,
// the ids that they get (moved), whether the store has them not (fresh), the
// first of several with the same facts, and the run that describes them first.
func (p *parquetImport) machines(ids bases) error {
	top, err := one(p.ctx, p.tx, `SELECT max(id) FROM main.machine`)
	if err != nil {
		return err
	}
	same := make([]string, len(facts))
	for i, f := range facts {
		same[i] = "t." + f + " IS NOT DISTINCT FROM m." + f
	}
	return p.exec(fmt.Sprintf(`CREATE TEMP TABLE in_machine AS
		WITH used AS (
			SELECT f.*, coalesce((SELECT id FROM in_run WHERE id = f.run_id), (SELECT min(id) FROM in_run i WHERE i.machine_id = f.id)) AS by_run
			FROM %s f WHERE f.run_id IN (SELECT id FROM in_run) OR f.id IN (SELECT machine_id FROM in_run)),
		m AS (SELECT *, min(id) OVER (PARTITION BY %s) AS first_id FROM used)
		SELECT m.id, m.id = m.first_id AS first, t.id IS NULL AS fresh, coalesce(t.id, m.first_id + %d) AS moved, m.by_run + %d AS run_id
		FROM m LEFT JOIN main.machine t ON %s`, p.file("machine"), strings.Join(facts, ", "), top, ids.run, strings.Join(same, " AND ")))
}

// columns are a table's columns and what they get from a row f of the folder.
func (p *parquetImport) columns(table string, ids bases) (names, exprs []string, err error) {
	moves := map[string]int64{"run_id": ids.run, "region_id": ids.region, "parent_id": ids.region, "launch_id": ids.launch, "code_id": ids.code}
	own := map[string]int64{"run": ids.run, "region": ids.region, "launch": ids.launch, "code": ids.code}
	err = each(p.ctx, p.tx, `SELECT column_name FROM information_schema.columns WHERE table_schema = 'main' AND table_name = ? ORDER BY ordinal_position`, func(v []any) {
		name := `"` + str(v[0]) + `"`
		expr := "f." + name
		base, move := moves[str(v[0])]
		switch {
		case str(v[0]) == "id" && table == "machine", str(v[0]) == "machine_id":
			expr = "(SELECT m.moved FROM in_machine m WHERE m.id = " + expr + ")"
		case str(v[0]) == "run_id" && table == "machine":
			expr = "(SELECT m.run_id FROM in_machine m WHERE m.id = f.id)"
		case str(v[0]) == "id":
			expr = fmt.Sprintf("%s + %d", expr, own[table])
		case move:
			expr = fmt.Sprintf("%s + %d", expr, base)
		}
		names, exprs = append(names, name), append(exprs, expr)
	}, table)
	return names, exprs, err
}
