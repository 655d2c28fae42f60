package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A folder of Parquet files holds a whole store: one file per table, TABLE.parquet,
// columns as in the schema, and manifest.json, which is written last. Each file
// by itself is what pandas, Spark or Arrow read.
const (
	manifestFile   = "manifest.json"
	parquetFormat  = "rooflab-parquet"
	parquetVersion = 1
)

// Manifest describes a folder of Parquet files.
type Manifest struct {
	Format        string          `json:"format"` // "rooflab-parquet"
	FormatVersion int             `json:"format_version"`
	SchemaVersion int64           `json:"schema_version"`
	Created       time.Time       `json:"created"`
	Tables        []ManifestTable `json:"tables"`
}

// ManifestTable describes one of its files.
type ManifestTable struct {
	Name   string `json:"name"`
	File   string `json:"file"` // relative to the folder
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ExportParquet writes all tables, as they are at one moment, into a folder
// that is new or empty.
func (s *Store) ExportParquet(ctx context.Context, dir string) (Manifest, error) {
	fail := func(err error) (Manifest, error) {
		return Manifest{}, fmt.Errorf("exporting store %s to %s: %w", s.path, dir, err)
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fail(err)
	case len(entries) > 0:
		return fail(errors.New("the folder holds files already: name a new one"))
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return fail(err)
	}
	// What is cut off half-way has another name.
	tmp, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+"-*")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(tmp)
	m, err := s.exportTo(ctx, tmp)
	if err != nil {
		return fail(err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil { //nolint:gosec // as public as other folders of the user
		return fail(err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fail(err)
	}
	return m, nil
}

// exportTo writes the files. All statements are one query, so that they see
// the same rows while an import of this process commits.
func (s *Store) exportTo(ctx context.Context, dir string) (Manifest, error) {
	v, err := version(ctx, s.conn)
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{Format: parquetFormat, FormatVersion: parquetVersion, SchemaVersion: v, Created: time.Now().UTC()}
	var sql strings.Builder
	var counts []string
	for _, t := range Tables {
		fmt.Fprintf(&sql, "COPY (SELECT * FROM %s) TO %s (FORMAT parquet, COMPRESSION zstd);\n", t, literal(filepath.Join(dir, t+".parquet")))
		counts = append(counts, "(SELECT count(*) FROM "+t+")")
		m.Tables = append(m.Tables, ManifestTable{Name: t, File: t + ".parquet"})
	}
	err = each(ctx, s.conn, sql.String()+"SELECT "+strings.Join(counts, ", "), func(v []any) {
		for i := range m.Tables {
			m.Tables[i].Rows = integer(v[i]).V
		}
	})
	if err != nil {
		return m, err
	}
	for i := range m.Tables {
		t := &m.Tables[i]
		if t.SHA256, t.Bytes, err = sumOf(filepath.Join(dir, t.File)); err != nil {
			return m, err
		}
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, err
	}
	return m, os.WriteFile(filepath.Join(dir, manifestFile), append(b, '\n'), 0o644) //nolint:gosec // as public as other files of the user
}

// literal writes a text as SQL does.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func sumOf(path string) (sha string, n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// IsParquet reports whether a folder is one that ExportParquet wrote.
func IsParquet(dir string) bool {
	m, err := readManifest(dir)
	return err == nil && m.Format == parquetFormat
}

func readManifest(dir string) (m Manifest, err error) {
	path := filepath.Join(dir, manifestFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%w: a folder of rooflab export has one", err)
	}
	if err != nil {
		return m, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&m); err != nil {
		return m, fmt.Errorf("reading %s: %w", path, err)
	}
	return m, nil
}

// check reports why a folder cannot be imported: another format, a schema that
// is not known here, a file that is missing or is not the one it was.
func (m *Manifest) check(dir string) error {
	switch {
	case m.Format != parquetFormat:
		return fmt.Errorf("%s says format %q, expected %q: it is no folder of rooflab export", manifestFile, m.Format, parquetFormat)
	case m.FormatVersion != parquetVersion || m.SchemaVersion > SchemaVersion:
		return fmt.Errorf("its format version %d or schema version %d is newer than %d and %d, the newest that this rooflab knows: use a newer rooflab",
			m.FormatVersion, m.SchemaVersion, parquetVersion, SchemaVersion)
	case m.SchemaVersion < readableFrom:
		return fmt.Errorf("its schema version %d is none", m.SchemaVersion)
	}
	files := map[string]ManifestTable{}
	for _, t := range m.Tables {
		files[t.Name] = t
	}
	for _, name := range Tables {
		t, ok := files[name]
		if !ok || t.File != name+".parquet" {
			return fmt.Errorf("%s names no file %s.parquet", manifestFile, name)
		}
		sha, n, err := sumOf(filepath.Join(dir, t.File))
		if err != nil {
			return err
		}
		if sha != t.SHA256 {
			return fmt.Errorf("%s has %d bytes and the SHA-256 %s, expected %d bytes and %s: it is cut or was changed: export again",
				t.File, n, sha, t.Bytes, t.SHA256)
		}
	}
	return nil
}
