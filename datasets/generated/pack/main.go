// Command pack makes the data set in datasets/generated of a store that
// `rooflab generate` has filled. From the root of the source tree:
//
//	rooflab generate --store S --kernels 4040 --repeats 5 --settle 0.02
//	GOEXPERIMENT=simd go run ./datasets/generated/pack -store S
//
// It keeps every time of every configuration with what a model may read before
// a launch, and the machine. What the device computed, the waiting of the
// host and the lines of the sources apart from the whole are left out, as is
// what names this machine's folders. The store is only read.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// kept are what is chosen from a table, in an order in which equal values and
// near ones stand together; of tables that are not named no row is kept. %s is
// the command.
var kept = map[string]string{
	"machine": `SELECT * REPLACE ('recorded' AS host) FROM machine ORDER BY id`,
	"ceiling": `SELECT * FROM ceiling ORDER BY machine_id, level`,
	"run":     `SELECT * REPLACE (%s AS command) FROM run ORDER BY id`,
	"region":  `SELECT * FROM region WHERE kind = 'kernel' ORDER BY id`,
	"launch":  `SELECT * REPLACE (NULL::BIGINT AS start_ns, NULL::VARCHAR AS tool_id) FROM launch ORDER BY id`,
	"counter": `SELECT * REPLACE (NULL::VARCHAR AS raw_value, NULL::VARCHAR AS raw_unit) FROM counter WHERE metric = 'kernel_time' ORDER BY launch_id`,
	"attribute": `SELECT * FROM attribute WHERE launch_id IS NOT NULL AND name IN ('args', 'global_size', 'local_size')
		OR launch_id IS NULL AND (name IN ('source', 'source.path', 'build.options', 'load.1min', 'virtualisation')
			OR starts_with(name, 'device.') OR starts_with(name, 'platform.') OR starts_with(name, 'cpu.') OR starts_with(name, 'memory.'))
		ORDER BY launch_id IS NOT NULL, name, run_id, launch_id`,
	"artefact": `SELECT * FROM artefact ORDER BY run_id`,
}

func main() {
	store := flag.String("store", "", "the `store` that rooflab generate filled")
	out := flag.String("o", "datasets/generated/opencl", "`folder` to write the Parquet files to, whose files are replaced")
	command := flag.String("command", "rooflab generate --kernels 4040 --repeats 5 --settle 0.02 --seed 1", "the `command` that filled the store")
	flag.Parse()
	if err := pack(context.Background(), *store, *out, *command); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(ctx context.Context, path, out, command string) (err error) {
	store, err := datasets.Open(path, datasets.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	m := datasets.Manifest{Format: "rooflab-parquet", FormatVersion: 1, SchemaVersion: datasets.SchemaVersion, Created: time.Now().UTC()}
	for _, table := range datasets.Tables {
		query, ok := kept[table]
		if !ok {
			query = "SELECT * FROM " + table + " WHERE false"
		}
		if table == "run" {
			query = fmt.Sprintf(query, literal(command))
		}
		t := datasets.ManifestTable{Name: table, File: table + ".parquet"}
		file := filepath.Join(out, t.File)
		// Version 2 has encodings of differences, which ascending ids want.
		err := store.Each(ctx, func(v []any) { t.Rows, _ = v[0].(int64) },
			`COPY (`+query+`) TO `+literal(file)+` (FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd, COMPRESSION_LEVEL 19, ROW_GROUP_SIZE 1000000)`)
		if err != nil {
			return fmt.Errorf("packing table %s: %w", table, err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		t.Bytes, t.SHA256 = int64(len(b)), hex.EncodeToString(sum[:])
		m.Tables = append(m.Tables, t)
		fmt.Printf("%-16s %8d rows %9d bytes\n", table, t.Rows, t.Bytes)
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "manifest.json"), append(b, '\n'), 0o644) //nolint:gosec // as public as the other files
}

// literal writes a text as SQL does.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
