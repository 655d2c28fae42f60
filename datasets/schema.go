package datasets

import (
	"context"
	"fmt"
)

// SchemaVersion is the version of the schema that this package writes.
const SchemaVersion = 4

// readableFrom is the oldest version whose stores can be read as they are:
// since then no table has lost or gained a column.
const readableFrom = 1

// migrations lead from one version of the schema to the next: the first makes
// version 1 out of an empty store. A released migration is never changed; a
// change of the schema is a new one.
var migrations = []struct {
	what       string
	statements []string
}{
	{"the first schema", []string{
		`CREATE TABLE machine (
			id BIGINT NOT NULL, host TEXT, cpu TEXT, gpu TEXT, arch TEXT, units BIGINT,
			clock_hz DOUBLE, mem_hz DOUBLE, mem_bytes BIGINT, driver TEXT, run_id BIGINT)`,
		`CREATE TABLE ceiling (
			machine_id BIGINT NOT NULL, run_id BIGINT, level TEXT NOT NULL, value DOUBLE NOT NULL,
			unit TEXT NOT NULL, measured BOOLEAN NOT NULL, clock_hz DOUBLE, source TEXT)`,
		`CREATE TABLE run (
			id BIGINT NOT NULL, machine_id BIGINT, tool TEXT NOT NULL, tool_version TEXT,
			format TEXT NOT NULL, format_version TEXT, command TEXT, env_hash TEXT, input_hash TEXT,
			started TIMESTAMP, clock_policy TEXT, cache_policy TEXT, replay_policy TEXT,
			status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'denied', 'empty')), error TEXT,
			time_metric TEXT, time_inclusive BOOLEAN)`,
		`CREATE TABLE region (
			id BIGINT NOT NULL, run_id BIGINT NOT NULL, parent_id BIGINT, kind TEXT NOT NULL,
			raw TEXT NOT NULL, short TEXT NOT NULL, mangled TEXT, module TEXT, ord BIGINT)`,
		`CREATE TABLE launch (
			id BIGINT NOT NULL, run_id BIGINT NOT NULL, region_id BIGINT NOT NULL,
			device BIGINT, context BIGINT, stream BIGINT, pid BIGINT, rank BIGINT, thread BIGINT,
			grid_x BIGINT, grid_y BIGINT, grid_z BIGINT, block_x BIGINT, block_y BIGINT, block_z BIGINT,
			regs BIGINT, smem BIGINT, sequence BIGINT, tool_id TEXT, start_ns BIGINT, dur_ns BIGINT)`,
		`CREATE TABLE counter (
			run_id BIGINT NOT NULL, region_id BIGINT NOT NULL, launch_id BIGINT, metric TEXT NOT NULL,
			instance TEXT, value DOUBLE, unit TEXT, raw_value TEXT, raw_unit TEXT, coverage DOUBLE,
			status TEXT NOT NULL CHECK (status IN ('ok', 'na', 'unsupported', 'missing', 'multiplexed')))`,
		`CREATE TABLE code (
			id BIGINT NOT NULL, run_id BIGINT NOT NULL, region_id BIGINT NOT NULL, isa TEXT NOT NULL,
			"offset" BIGINT, opcode TEXT, text TEXT, file TEXT, line BIGINT, inline_depth BIGINT)`,
		`CREATE TABLE static_feature (
			run_id BIGINT NOT NULL, region_id BIGINT NOT NULL, name TEXT NOT NULL, value DOUBLE)`,
		`CREATE TABLE pc_sample (
			run_id BIGINT NOT NULL, launch_id BIGINT NOT NULL, code_id BIGINT NOT NULL, reason TEXT NOT NULL,
			samples BIGINT, not_issued BIGINT)`,
		`CREATE TABLE telemetry (
			run_id BIGINT NOT NULL, sensor TEXT NOT NULL, t_ns BIGINT NOT NULL, value DOUBLE, unit TEXT,
			kind TEXT NOT NULL CHECK (kind IN ('instant', 'average', 'cumulative')))`,
		`CREATE TABLE attribute (
			run_id BIGINT NOT NULL, region_id BIGINT, launch_id BIGINT, name TEXT NOT NULL, value TEXT NOT NULL)`,
		`CREATE TABLE artefact (
			run_id BIGINT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, bytes BIGINT NOT NULL,
			kind TEXT NOT NULL, parser_version INTEGER NOT NULL, imported TIMESTAMP NOT NULL)`,
	}},
	{"runs for which the machine lacks what was to be measured", []string{
		`CREATE TABLE run_2 (
			id BIGINT NOT NULL, machine_id BIGINT, tool TEXT NOT NULL, tool_version TEXT,
			format TEXT NOT NULL, format_version TEXT, command TEXT, env_hash TEXT, input_hash TEXT,
			started TIMESTAMP, clock_policy TEXT, cache_policy TEXT, replay_policy TEXT,
			status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'denied', 'empty', 'unavailable')), error TEXT,
			time_metric TEXT, time_inclusive BOOLEAN)`,
		`INSERT INTO run_2 SELECT * FROM run`,
		`DROP TABLE run`,
		`ALTER TABLE run_2 RENAME TO run`,
	}},
	{"machines of equal facts are one; where every run came from, as a view", []string{
		`CREATE TEMP TABLE same_machine AS SELECT id, min(id) OVER (
			PARTITION BY host, cpu, gpu, arch, units, clock_hz, mem_hz, mem_bytes, driver) AS first FROM machine`,
		`UPDATE run SET machine_id = s.first FROM same_machine s WHERE s.id = run.machine_id AND s.id <> s.first`,
		`UPDATE ceiling SET machine_id = s.first FROM same_machine s WHERE s.id = ceiling.machine_id AND s.id <> s.first`,
		`DELETE FROM machine WHERE id IN (SELECT id FROM same_machine WHERE id <> first)`,
		`DROP TABLE same_machine`,
		`CREATE VIEW provenance AS ` + provenance,
	}},
	{"what the counters of a metric have in common is kept once", []string{
		`CREATE TABLE series (
			id INTEGER NOT NULL, metric TEXT NOT NULL, instance TEXT, unit TEXT, raw_unit TEXT,
			status TEXT NOT NULL CHECK (status IN ('ok', 'na', 'unsupported', 'missing', 'multiplexed')))`,
		// Short texts of numbers: to compress them costs more time than it saves space.
		`CREATE TABLE counter_value (
			run_id BIGINT NOT NULL, region_id BIGINT NOT NULL, launch_id BIGINT, series_id INTEGER NOT NULL,
			value DOUBLE, raw_value TEXT USING COMPRESSION uncompressed, coverage DOUBLE)`,
		`INSERT INTO series SELECT row_number() OVER (), * FROM (SELECT DISTINCT metric, instance, unit, raw_unit, status FROM counter)`,
		`INSERT INTO counter_value SELECT c.run_id, c.region_id, c.launch_id, s.id, c.value, c.raw_value, c.coverage
			FROM counter c JOIN series s ON ` + sameSeries,
		`DROP TABLE counter`,
		`CREATE VIEW counter AS SELECT v.run_id, v.region_id, v.launch_id, s.metric, s.instance, v.value, s.unit,
			v.raw_value, s.raw_unit, v.coverage, s.status FROM counter_value v JOIN series s ON s.id = v.series_id`,
	}},
}

// sameSeries tells that a counter c is of a series s.
const sameSeries = `s.metric = c.metric AND s.status = c.status AND s.instance IS NOT DISTINCT FROM c.instance
	AND s.unit IS NOT DISTINCT FROM c.unit AND s.raw_unit IS NOT DISTINCT FROM c.raw_unit`

// Tables are the names of the schema's tables, without the bookkeeping of
// migrations, in the order in which a reader meets them. counter is a view of
// the tables counter_value and series.
var Tables = []string{"machine", "ceiling", "run", "region", "launch", "counter", "code",
	"static_feature", "pc_sample", "telemetry", "attribute", "artefact"}

// provenance is the query behind the view of that name.
const provenance = `SELECT r.id AS run_id, r.tool, r.tool_version, r.format, r.status, a.path, a.sha256, a.bytes,
	a.kind AS parser, a.parser_version, a.imported
	FROM run r LEFT JOIN artefact a ON a.run_id = r.id`

const migrationTable = `CREATE TABLE IF NOT EXISTS schema_migration (
	version INTEGER NOT NULL, what TEXT NOT NULL, applied TIMESTAMP NOT NULL)`

// version returns the schema version of an open store, 0 for an empty one.
func version(ctx context.Context, c Conn) (int64, error) {
	n, err := one(ctx, c, `SELECT count(*) FROM information_schema.tables WHERE table_name = 'schema_migration'`)
	if err != nil || n == 0 {
		return 0, err
	}
	return one(ctx, c, `SELECT coalesce(max(version), 0) FROM schema_migration`)
}

// querier is what Conn and Tx have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
}

// one runs a query for a single integer; NULL is 0.
func one(ctx context.Context, q querier, sql string, args ...any) (n int64, err error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if rows.Next() {
		switch v := rows.Values()[0].(type) {
		case int64:
			n = v
		case nil:
		default:
			return 0, fmt.Errorf("query %q: found a %T, expected an integer", sql, v)
		}
	}
	return n, rows.Err()
}

// migrate brings the store up to SchemaVersion, in one transaction.
func migrate(ctx context.Context, c Conn, from int64) error {
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := tx.Exec(ctx, migrationTable); err != nil {
		return err
	}
	for v := from; v < SchemaVersion; v++ {
		m := migrations[v]
		for _, s := range m.statements {
			if err := tx.Exec(ctx, s); err != nil {
				return fmt.Errorf("migrating the schema to version %d (%s): %w", v+1, m.what, err)
			}
		}
		if err := tx.Exec(ctx, `INSERT INTO schema_migration VALUES (?, ?, current_timestamp::TIMESTAMP)`, v+1, m.what); err != nil {
			return err
		}
	}
	return tx.Commit()
}
