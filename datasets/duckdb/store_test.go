package duckdb_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// A test that needs a second process runs this binary again, with the role in
// the environment. It says when it is there, then waits until its input ends.
func TestMain(m *testing.M) {
	role := os.Getenv("DUCKDB_TEST_ROLE")
	if role == "" {
		os.Exit(m.Run())
	}
	if err := other(role, os.Getenv("DUCKDB_TEST_STORE")); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// other is the second process: "hold" opens the store for writing, "read" for
// reading, "put N" puts N launches into an import that it never commits, and
// "commits" imports one profile after the other, saying so each time.
func other(role, path string) error {
	var opts []datasets.Option
	if role == "read" {
		opts = append(opts, datasets.ReadOnly)
	}
	s, err := datasets.Open(path, opts...)
	if err != nil {
		return err
	}
	if n, ok := strings.CutPrefix(role, "put "); ok {
		im, err := s.Begin(context.Background())
		if err != nil {
			return err
		}
		launches, err := strconv.Atoi(n)
		if err != nil {
			return err
		}
		if err := put(im, launches); err != nil {
			return err
		}
	}
	if role == "read" {
		df, err := s.Query(context.Background(), "SELECT count(*) AS n FROM launch")
		if err != nil {
			return err
		}
		fmt.Println(df.Col("n").Records()[0])
	}
	fmt.Println("ready")
	for i := 0; role == "commits"; i++ {
		im, err := s.Begin(context.Background())
		if err != nil {
			return err
		}
		if err := put(im, perCommit); err != nil {
			return err
		}
		if err := im.Commit(datasets.Artefact{Path: "x.csv", SHA256: fmt.Sprint(os.Getpid(), i), Kind: "test", ParserVersion: 1}); err != nil {
			return err
		}
		fmt.Println("committed", i)
	}
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// perCommit is how many launches each profile of the role "commits" has.
const perCommit = 20_000

// put puts one run with two regions, and n launches with one counter each.
func put(im *datasets.Import, n int) error {
	records := []datasets.Record{
		&datasets.Machine{ID: 1, Host: "node7", Arch: "cc8.0"},
		&datasets.Run{ID: 1, Machine: 1, Tool: "test", Format: "test", Status: datasets.RunOK, TimeMetric: "time"},
		&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindFunction, Raw: "main", Short: "main"},
		&datasets.Region{ID: 2, Run: 1, Parent: 1, Kind: datasets.KindKernel, Raw: "void k<1>(int)", Short: "k"},
	}
	for i := range n {
		id := int64(i + 1)
		records = append(records,
			&datasets.Launch{ID: id, Run: 1, Region: 2, Sequence: datasets.Some(id - 1), Regs: datasets.Null[int64]{}},
			&datasets.Counter{Run: 1, Region: 2, Launch: id, Metric: "time", Value: datasets.Some(float64(i) / 2), Unit: "s", RawValue: "x", Status: datasets.StatusOK})
	}
	for _, r := range records {
		if err := im.Put(r); err != nil {
			return err
		}
	}
	return nil
}

// process is a second process.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Reader
}

// start starts a process with a role and waits until it is there.
func start(t *testing.T, role, path string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), "DUCKDB_TEST_ROLE="+role, "DUCKDB_TEST_STORE="+path)
	if _, err := p.cmd.StdinPipe(); err != nil { // it waits for its end
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	p.out = bufio.NewReader(out)
	if role != "read" {
		p.says("ready")
	}
	return p
}

// says waits for the next line.
func (p *process) says(want string) {
	p.t.Helper()
	if line, err := p.out.ReadString('\n'); line != want+"\n" {
		p.t.Fatalf("the other process says %q (%v), want %q", line, err, want)
	}
}

// kill ends it at once, with SIGKILL.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // it was killed
	}
}

func open(t *testing.T, path string, opts ...datasets.Option) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func imported(t *testing.T, s *datasets.Store, n int, a datasets.Artefact) {
	t.Helper()
	im, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := put(im, n); err != nil {
		t.Fatal(err)
	}
	if err := im.Commit(a); err != nil {
		t.Fatal(err)
	}
}

// dump is every row of every table, as text.
func dump(t *testing.T, s *datasets.Store) string {
	t.Helper()
	var b strings.Builder
	for _, table := range datasets.Tables {
		rows, err := s.Rows(t.Context(), "SELECT * FROM "+table+" ORDER BY ALL")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			fmt.Fprintln(&b, table, rows.Values())
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func count(t *testing.T, s *datasets.Store, table string) int {
	t.Helper()
	df, err := s.Query(t.Context(), "SELECT count(*) AS n FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	n, err := df.Col("n").Elem(0).Int()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var artefact = datasets.Artefact{Path: "a.csv", SHA256: "aa", Bytes: 3, Kind: "test", ParserVersion: 1}

func TestImportIsOneTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	s := open(t, path)
	imported(t, s, 3, artefact)
	before := dump(t, s)

	im, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := put(im, 5000); err != nil {
		t.Fatal(err)
	}
	if got := dump(t, s); got != before {
		t.Error("a reader sees rows of an import that is not committed")
	}
	if err := im.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := dump(t, s); got != before {
		t.Errorf("after Rollback the store holds\n%s\nbefore\n%s", got, before)
	}
	// The rolled back import has left no ids behind and no lock.
	imported(t, s, 2, datasets.Artefact{Path: "b.csv", SHA256: "bb", Kind: "test", ParserVersion: 1})
	if n := count(t, s, "launch"); n != 5 {
		t.Errorf("%d launches, want 5", n)
	}
	df, err := s.Query(t.Context(), "SELECT l.id FROM launch l JOIN region g ON g.id = l.region_id JOIN run r ON r.id = g.run_id WHERE r.id = 2 AND g.short = 'k' AND l.run_id = 2 ORDER BY l.id")
	if err != nil || df.Nrow() != 2 || df.Col("id").Records()[0] != "4" {
		t.Errorf("launches of the second run: %v %v", df, err)
	}
}

func TestSameContentTwiceChangesNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
	imported(t, s, 3, artefact)
	before := dump(t, s)
	im, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := put(im, 3); err != nil {
		t.Fatal(err)
	}
	again := artefact
	again.Path = "copy.csv"
	err = im.Commit(again)
	var dup *datasets.DuplicateError
	if !errors.As(err, &dup) || dup.Earlier != "a.csv" || dup.Run != 1 || dup.Path != "copy.csv" {
		t.Fatalf("committing the same content: %v", err)
	}
	if got := dump(t, s); got != before {
		t.Errorf("the store changed:\n%s\nbefore\n%s", got, before)
	}
	if dup, err := s.Imported(t.Context(), again); err != nil || dup == nil {
		t.Errorf("Imported = %v, %v", dup, err)
	}

	// A newer parser replaces what the older one made.
	again.ParserVersion = 2
	imported(t, s, 4, again)
	if n, runs := count(t, s, "launch"), count(t, s, "run"); n != 4 || runs != 1 || count(t, s, "machine") != 1 || count(t, s, "artefact") != 1 {
		t.Errorf("after the newer parser: %d launches, %d runs", n, runs)
	}
}

func TestBadRecordsAreRefused(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
	for name, r := range map[string]datasets.Record{
		"region without a run":    &datasets.Region{ID: 1, Kind: "kernel"},
		"counter without a name":  &datasets.Counter{Run: 1, Region: 1, Status: "ok"},
		"run without a status":    &datasets.Run{ID: 1, Tool: "t", Format: "f"},
		"launch without a region": &datasets.Launch{ID: 1, Run: 1},
	} {
		im, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := im.Put(r); err == nil {
			t.Errorf("%s was taken", name)
		}
		if err := im.Rollback(); err != nil {
			t.Error(err)
		}
	}
	// A status that the schema does not know fails the whole import.
	im, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = im.Put(&datasets.Run{ID: 1, Tool: "t", Format: "f", Status: "fine"})
	if err == nil {
		err = im.Commit(artefact)
	}
	if err == nil {
		t.Error("the status \"fine\" was taken")
	}
	if err := im.Rollback(); err != nil {
		t.Error(err)
	}
	if n := count(t, s, "run"); n != 0 {
		t.Errorf("%d runs", n)
	}
}

func TestDataframesHaveTypesAndNA(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
	df, err := s.Query(t.Context(), `SELECT * FROM (VALUES
		(1::BIGINT, 1.5::DOUBLE, true, 'a', 2::HUGEINT, 1.25::DECIMAL(9,2), TIMESTAMP '2024-05-06 07:08:09'),
		(NULL, NULL, NULL, NULL, NULL, NULL, NULL)) v(i, f, b, s, h, d, t) ORDER BY i`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"int", "float", "bool", "string", "int", "float", "string"}
	for i, typ := range df.Types() {
		if string(typ) != want[i] {
			t.Errorf("column %s is %s, want %s", df.Names()[i], typ, want[i])
		}
		if !df.Elem(1, i).IsNA() || df.Elem(0, i).IsNA() {
			t.Errorf("column %s: %v", df.Names()[i], df.Col(df.Names()[i]))
		}
	}
	if got := df.Col("t").Records()[0]; got != "2024-05-06T07:08:09Z" {
		t.Errorf("the time is %s", got)
	}
	if df, err := s.Query(t.Context(), "SELECT id, tool FROM run WHERE tool = ?", "none"); err != nil || df.Nrow() != 0 || df.Ncol() != 2 {
		t.Errorf("an empty result: %v, %v", df, err)
	}
	if _, err := s.Query(t.Context(), "SELECT 170141183460469231731687303715884105727::HUGEINT AS big"); err == nil || !strings.Contains(err.Error(), "big") {
		t.Errorf("an integer that does not fit: %v", err)
	}
	for _, sql := range []string{"DELETE FROM run", "DROP TABLE run", "INSERT INTO schema_migration VALUES (9, 'x', now()::TIMESTAMP)"} {
		if _, err := s.Query(t.Context(), sql); err == nil {
			t.Errorf("Query did %s", sql)
		}
	}
}

func TestHelpersShapeTheData(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
	im, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := put(im, 2); err != nil { // times 0 and 0.5
		t.Fatal(err)
	}
	for _, r := range []datasets.Record{
		&datasets.Counter{Run: 1, Region: 1, Metric: "time", Value: datasets.Some(2.0), Unit: "s", Status: datasets.StatusOK},
		&datasets.Counter{Run: 1, Region: 2, Launch: 2, Metric: "hits", Instance: "ch0", Value: datasets.Some(7.0), Status: datasets.StatusOK},
		&datasets.Counter{Run: 1, Region: 2, Launch: 2, Metric: "hits", Instance: "ch1", Status: datasets.StatusUnsupported},
	} {
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Commit(artefact); err != nil {
		t.Fatal(err)
	}

	wide, err := s.CountersWide(t.Context(), datasets.Filter{Kernel: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(wide.Names(), " "); got != "run_id region_id launch_id kernel sequence rank hits[ch0] hits[ch1] time" || wide.Nrow() != 2 {
		t.Errorf("the wide table has %s, %d rows", got, wide.Nrow())
	}
	if f := wide.Col("hits[ch0]").Float(); !math.IsNaN(f[0]) || f[1] != 7 {
		t.Errorf("hits[ch0] = %v", f)
	}
	if f := wide.Col("hits[ch1]").Float(); !math.IsNaN(f[1]) {
		t.Errorf("an unsupported counter has the value %v", f)
	}

	long, err := s.Counters(t.Context(), datasets.Filter{Metrics: []string{"hits"}})
	if err != nil || long.Nrow() != 2 {
		t.Errorf("Counters: %v, %v", long, err)
	}
	if launches, err := s.Launches(t.Context(), datasets.Filter{}); err != nil || launches.Nrow() != 2 || !launches.Col("regs").Elem(0).IsNA() {
		t.Errorf("Launches: %v, %v", launches, err)
	}

	ms, err := s.Measurements(t.Context(), datasets.Filter{})
	if err != nil || len(ms) != 3 || ms[0].Launch != 0 || ms[2].Value("hits") != datasets.Some(7.0) || ms[1].Value("hits").Valid || ms[1].Kernel != "k" {
		t.Errorf("Measurements: %+v, %v", ms, err)
	}

	// The metric is exclusive: main has 2 s of its own and k 0 + 0.5 s.
	tree, err := s.Tree(t.Context(), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	if in, ex := tree.Col("inclusive").Float(), tree.Col("exclusive").Float(); in[0] != 2.5 || ex[0] != 2 || in[1] != 0.5 || ex[1] != 0.5 {
		t.Errorf("the tree: %v", tree)
	}
	if p := tree.Col("path").Records(); p[1] != "main/k" || tree.Col("unit").Records()[1] != "s" {
		t.Errorf("the tree: %v", tree)
	}
	for _, f := range []func() error{
		func() error { _, err := s.Tree(t.Context(), 9, ""); return err },
		func() error { _, err := s.Tree(t.Context(), 1, "nothing"); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "SELECT") {
			t.Errorf("a tree that cannot be: %v", err)
		}
	}
}

func TestStoresOfOneProcessShareTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	if _, err := datasets.Open(path, datasets.ReadOnly); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "rooflab import") {
		t.Errorf("reading a store that is not there: %v", err)
	}
	w := open(t, path)
	r := open(t, path, datasets.ReadOnly)
	imported(t, w, 3, artefact)
	if n := count(t, r, "launch"); n != 3 {
		t.Errorf("the reader sees %d launches, want 3", n)
	}
	if _, err := r.Begin(t.Context()); err == nil {
		t.Error("a read-only store began an import")
	}
	// A second writer of this process waits, and gives up with its context.
	im, err := w.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, path).Begin(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("two imports at a time: %v", err)
	}
	if err := im.Rollback(); err != nil {
		t.Error(err)
	}
}

func TestReaderAloneCannotBecomeAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	s, err := datasets.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, datasets.ReadOnly)
	open(t, path, datasets.ReadOnly)
	if _, err := datasets.Open(path); err == nil || !strings.Contains(err.Error(), "close those stores first") {
		t.Errorf("writing beside own readers: %v", err)
	}
}

func TestLockOfAnotherProcessIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	p := start(t, "hold", path)
	for _, opts := range [][]datasets.Option{nil, {datasets.ReadOnly}} {
		_, err := datasets.Open(path, opts...)
		var locked *datasets.LockedError
		if !errors.As(err, &locked) || !strings.Contains(locked.Holder, "PID") || !strings.Contains(err.Error(), "close it there") {
			t.Errorf("opening a store that another process holds: %v", err)
		}
	}
	p.kill()
	open(t, path)
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.duckdb")
	s, err := datasets.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Query(t.Context(), "SELECT max(version) AS v FROM schema_migration"); err != nil || v.Col("v").Records()[0] != fmt.Sprint(datasets.SchemaVersion) {
		t.Errorf("the schema's version: %v, %v", v, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	future(t, path)
	if _, err := datasets.Open(path); err == nil || !strings.Contains(err.Error(), "use a newer rooflab") {
		t.Errorf("opening a store of the future: %v", err)
	}
}

func TestNoStoreIsSaid(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no store\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a text": text, "a directory": dir, "no directory": filepath.Join(dir, "no", "s"), "a question": filepath.Join(dir, "a?b")} {
		if s, err := datasets.Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: opened %v, %v", name, s, err)
		}
	}
	if _, err := datasets.Open(text, datasets.WithDriver("nothing")); err == nil || !strings.Contains(err.Error(), "blank import") {
		t.Errorf("an unknown driver: %v", err)
	}
}

func TestCancelledImportCanBeRolledBack(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s.duckdb"))
	ctx, cancel := context.WithCancel(t.Context())
	im, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := put(im, 10); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := put(im, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("putting after the end: %v", err)
	}
	if err := im.Rollback(); err != nil {
		t.Error(err)
	}
	imported(t, s, 1, artefact)
}
