package datasets

import (
	"context"

	"github.com/go-gota/gota/dataframe"
)

// Provenance returns where runs came from, one row per run and artefact:
// run_id, tool, tool_version, format, status, path, sha256 (of the content
// after decompression), bytes, parser ("part" for further files of the same
// profile), parser_version, imported (RFC 3339). Every row of every table has
// a run_id that leads here; a machine's is the run that described it first.
// In SQL it is the view provenance. Filter.Run picks a run; the rest of the
// filter is not looked at.
func (s *Store) Provenance(ctx context.Context, f Filter) (dataframe.DataFrame, error) {
	sql := `SELECT * FROM (` + provenance + `) p`
	var args []any
	if f.Run != 0 {
		sql += ` WHERE run_id = ?`
		args = append(args, f.Run)
	}
	return s.Query(ctx, sql+` ORDER BY run_id, parser = '`+kindPart+`', path`, args...)
}
