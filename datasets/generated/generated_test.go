package generated_test

import (
	"path/filepath"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/datasets/generated"
	"github.com/rooflab/rooflab/datasets/registry"
)

func TestEveryTimeIsThereWithWhatItIsToBePredictedFrom(t *testing.T) {
	t.Setenv(registry.Env, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	place, err := registry.Find(generated.Name)
	if err != nil {
		t.Fatal(err)
	}
	set, err := registry.Lookup(generated.Name)
	if err != nil {
		t.Fatal(err)
	}
	if n := set.Bytes(); n == 0 || n > 4<<20 {
		t.Errorf("the data set has %d bytes, at most 4 MB are shipped", n)
	}
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.ImportParquet(t.Context(), place.Dir); err != nil {
		t.Fatal(err)
	}
	// The counts are those of the store that it was packed of, by rooflab query.
	for _, c := range []struct {
		what, sql string
		want      int64
	}{
		{"kernels", `SELECT count(DISTINCT value) FROM attribute WHERE name = 'source'`, 4040},
		{"configurations", `SELECT count(*) FROM (SELECT DISTINCT l.region_id, a.value, g.value, b.value FROM launch l JOIN attribute a ON a.launch_id = l.id AND a.name = 'args'
			JOIN attribute g ON g.launch_id = l.id AND g.name = 'global_size' JOIN attribute b ON b.launch_id = l.id AND b.name = 'local_size')`, 20200},
		{"times", `SELECT count(*) FROM counter WHERE metric = 'kernel_time' AND status = 'ok' AND value > 0`, 207799},
		{"times that are not the launch's", `SELECT count(*) FROM counter c JOIN launch l ON l.id = c.launch_id WHERE round(c.value * 1e9) <> l.dur_ns`, 0},
		{"runs that are not ok", `SELECT count(*) FROM run WHERE status <> 'ok'`, 0},
		{"runs without their machine", `SELECT count(*) FROM run r WHERE NOT EXISTS (SELECT 1 FROM attribute a WHERE a.run_id = r.id AND a.name = 'device.name')`, 0},
		{"patterns", `SELECT count(DISTINCT regexp_extract(module, '^[a-z]+')) FROM region`, 19},
		{"paths of one machine", `SELECT (SELECT count(*) FROM attribute WHERE name <> 'source' AND (value LIKE '%/tmp/%' OR value LIKE '%/home/%' OR value LIKE '%/root/%')) + (SELECT count(*) FROM run WHERE command LIKE '%/%')`, 0},
	} {
		err := s.Each(t.Context(), func(v []any) {
			if n, ok := v[0].(int64); !ok || n != c.want {
				t.Errorf("%v %s, want %d", v[0], c.what, c.want)
			}
		}, c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
