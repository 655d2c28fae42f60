package duckdb_test

import (
	"database/sql"
	"os"
	"testing"
)

// version1 makes a store as the first schema had it.
func version1(t *testing.T, path string) {
	t.Helper()
	script, err := os.ReadFile("testdata/version1.sql")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(string(script)); err != nil {
		t.Fatal(err)
	}
}

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
