package duckdb_test

import (
	"database/sql"
	"testing"
)

// future makes the schema of a store look newer than it is.
func future(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO schema_migration VALUES (1000, 'from the future', now()::TIMESTAMP)"); err != nil {
		t.Fatal(err)
	}
}
