package recorded_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/datasets/recorded"
)

func open(t *testing.T) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := recorded.Import(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// rows runs a query and returns what it gives.
func rows(t *testing.T, s *datasets.Store, sql string) [][]any {
	t.Helper()
	r, err := s.Rows(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all [][]any
	for r.Next() {
		all = append(all, slices.Clone(r.Values()))
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func one(t *testing.T, s *datasets.Store, sql string) int64 {
	t.Helper()
	all := rows(t, s, sql)
	if len(all) != 1 {
		t.Fatalf("%s gives %d rows", sql, len(all))
	}
	n, ok := all[0][0].(int64)
	if !ok {
		t.Fatalf("%s gives a %T", sql, all[0][0])
	}
	return n
}

func TestEveryMeasurementIsWholeAndHasItsFeatures(t *testing.T) {
	s := open(t)
	for what, sql := range map[string]string{
		"runs that are not ok":       `SELECT count(*) FROM run WHERE status != 'ok'`,
		"launches without a time":    `SELECT count(*) FROM launch l JOIN run r ON r.id = l.run_id WHERE r.tool = 'opencl' AND coalesce(l.dur_ns, 0) <= 0`,
		"outputs that are not right": `SELECT count(*) FROM attribute WHERE name LIKE 'output.%.fault'`,
		"paths of one machine":       `SELECT (SELECT count(*) FROM attribute WHERE value LIKE '%/tmp/%' OR value LIKE '%/home/%' OR value LIKE '%/root/%') + (SELECT count(*) FROM run WHERE command LIKE '/%')`,
		"kernels without features": `WITH b AS (SELECT r.id, r.tool, p.value AS path, coalesce(o.value, '') AS options FROM run r
				JOIN attribute p ON p.run_id = r.id AND p.name = 'source.path'
				LEFT JOIN attribute o ON o.run_id = r.id AND o.name = 'build.options')
			SELECT count(*) FROM region g JOIN b ON b.id = g.run_id AND b.tool = 'opencl' WHERE NOT EXISTS (
				SELECT 1 FROM b l JOIN region h ON h.run_id = l.id JOIN static_feature f ON f.region_id = h.id
				WHERE l.tool = 'clang' AND l.path = b.path AND trim(replace(l.options, '-O1', '')) = b.options AND h.short = g.short AND f.name = 'arithmetic_intensity')`,
	} {
		if n := one(t, s, sql); n != 0 {
			t.Errorf("there are %d %s", n, what)
		}
	}
	// By Python: sum(math.prod(len(v) for v in l["sweep"].values()) for p in
	// job["programs"] for l in p["launches"]) over pocl.json.
	if n := one(t, s, `SELECT count(*) FROM (SELECT DISTINCT run_id, value FROM attribute WHERE name = 'configuration')`); n != 233 {
		t.Errorf("%d configurations of kernels were measured, want 233", n)
	}
	if n := one(t, s, `SELECT count(*) FROM run WHERE tool = 'callgrind'`); n != 60 {
		t.Errorf("%d runs of programs were counted, want 60", n)
	}
}

// daxpy writes each element of y once. clang vectorises its loop for SSE2, so
// that an instruction writes two of them; what is left over is less than ten.
func TestCountsAreThoseOfThePrograms(t *testing.T) {
	s := open(t)
	for _, r := range rows(t, s, `SELECT r.command, c.value FROM counter c JOIN run r ON r.id = c.run_id JOIN region g ON g.id = c.region_id
		WHERE r.tool = 'callgrind' AND g.short = 'daxpy' AND c.metric = 'Dw.inclusive' ORDER BY c.value`) {
		want := map[any]float64{"daxpy 1000": 500, "daxpy 10000": 5000, "daxpy 100000": 50000, "daxpy 500000": 250000}[r[0]]
		if got, ok := r[1].(float64); !ok || want == 0 || got < want || got > want+10 {
			t.Errorf("%v writes %v times, want %v and at most 10 more", r[0], r[1], want)
		}
	}
	// Each multiplication of n by n matrices is n^3 passes through the inner
	// loop: eight times as many for twice the size, in the limit.
	ir := map[any]float64{}
	for _, r := range rows(t, s, `SELECT r.command, c.value FROM counter c JOIN run r ON r.id = c.run_id JOIN region g ON g.id = c.region_id
		WHERE r.tool = 'callgrind' AND g.short = 'matmul_ijk' AND c.metric = 'Ir.inclusive'`) {
		ir[r[0]], _ = r[1].(float64)
	}
	if ratio := ir["matmul_ijk 64"] / ir["matmul_ijk 32"]; ratio < 7 || ratio > 8 {
		t.Errorf("matmul_ijk of 64 takes %v times the instructions of 32, want nearly 8", ratio)
	}
}

// The sources in the data are those in the tree: who changes a kernel records
// the data again.
func TestSourcesAreThoseThatWereMeasured(t *testing.T) {
	s := open(t)
	all := rows(t, s, `SELECT DISTINCT p.value, t.value FROM attribute p JOIN attribute t ON t.run_id = p.run_id AND t.name = 'source' WHERE p.name = 'source.path'`)
	if len(all) != 22+14 {
		t.Errorf("there are %d sources, want 22 kernel files and 14 programs", len(all))
	}
	for _, r := range all {
		path, _ := r[0].(string)
		text, err := fs.ReadFile(recorded.Sources, path)
		if err != nil || string(text) != r[1] {
			t.Errorf("%s is not what was measured (%v): record the data again, as README.md says", path, err)
		}
	}
}

func TestItIsSmallAndExtracts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := recorded.Extract(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += st.Size()
	}
	if bytes == 0 || bytes > 5<<20 {
		t.Errorf("the data set has %d bytes, at most 5 MB are shipped", bytes)
	}
	if s := open(t); s != nil {
		again, err := recorded.Import(t.Context(), s)
		if err != nil || len(again.Runs) != 0 {
			t.Errorf("imported again, %d runs are new (%v)", len(again.Runs), err)
		}
	}
}
