package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs the binary and returns its standard output, its standard error and
// its exit status.
func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

var tables = []string{"machine", "ceiling", "run", "region", "launch", "counter", "attribute", "artefact"}

// dump is every row of a store, by way of the query command.
func dump(t *testing.T, store string) string {
	t.Helper()
	var b strings.Builder
	for _, table := range tables {
		out, errs, status := run(t, "", "query", "--store", store, "SELECT * FROM "+table+" ORDER BY ALL")
		if status != 0 {
			t.Fatalf("query: %s", errs)
		}
		b.WriteString(out)
	}
	return b.String()
}

const samplesDir = "../../../shared/samples"

type importReport struct {
	Failed int
	Files  []struct {
		Path, Format, Status, Reason string
		Rows                         map[string]int
		Warnings                     []string
		Error                        *struct {
			Message      string
			Line, Column int
		}
	}
}

func importJSON(t *testing.T, wantStatus int, args ...string) importReport {
	t.Helper()
	out, errs, status := run(t, "", append([]string{"import", "--json"}, args...)...)
	var r importReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != wantStatus {
		t.Fatalf("import %v: exit %d, want %d, %v\n%s%s", args, status, wantStatus, err, out, errs)
	}
	return r
}

func TestImportOfAllSamplesTwice(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.duckdb")
	dirs := []string{samplesDir + "/ncu", samplesDir + "/caliper"}
	r := importJSON(t, 0, append([]string{"--store", store}, dirs...)...)
	want := 0
	for _, dir := range dirs {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatalf("%v: the project's sample profiles belong into ../shared beside the repository", err)
		}
		want += len(files)
	}
	counters := 0
	for _, f := range r.Files {
		if f.Status != "imported" || f.Rows["run"] != 1 || f.Rows["counter"] == 0 {
			t.Errorf("%+v", f)
		}
		counters += f.Rows["counter"]
	}
	if len(r.Files) != want || want == 0 {
		t.Errorf("%d files were reported, want %d", len(r.Files), want)
	}
	out, _, _ := run(t, "", "query", "--store", store, "--format", "json", "SELECT count(*) AS n, count(DISTINCT run_id) AS runs FROM counter")
	if out != fmt.Sprintf("[\n{\"n\":%d,\"runs\":%d}\n]\n", counters, want) {
		t.Errorf("the store holds %s, want %d counters of %d runs", out, counters, want)
	}

	before := dump(t, store)
	for _, f := range importJSON(t, 0, append([]string{"--store", store}, dirs...)...).Files {
		if f.Status != "unchanged" || !strings.Contains(f.Reason, "already") {
			t.Errorf("the second time: %+v", f)
		}
	}
	if dump(t, store) != before {
		t.Error("importing a second time changed the store")
	}
}

func TestBrokenFilesChangeNothingAndNameThePlace(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "s.duckdb")
	importJSON(t, 0, "--store", store, samplesDir+"/ncu")
	before := dump(t, store)

	// Every sample, cut in half: what is imported is whole, what is not names
	// the place and leaves no row.
	halves := filepath.Join(dir, "halves")
	if err := os.Mkdir(halves, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"ncu", "caliper"} {
		files, err := os.ReadDir(filepath.Join(samplesDir, kind))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(filepath.Join(samplesDir, kind, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(halves, f.Name()), b[:len(b)/2], 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := importJSON(t, 1, "--store", store, halves)
	failed := 0
	for _, f := range r.Files {
		switch f.Status {
		case "imported":
		case "failed":
			failed++
			if f.Error.Line == 0 || f.Error.Column == 0 || !strings.Contains(f.Error.Message, fmt.Sprintf(":%d:%d: ", f.Error.Line, f.Error.Column)) {
				t.Errorf("%+v %+v", f, f.Error)
			}
		default:
			t.Errorf("%+v", f)
		}
	}
	if failed != len(r.Files) { // none of these cuts falls between two lines
		t.Errorf("%d of %d halves failed", failed, len(r.Files))
	}
	if dump(t, store) != before {
		t.Error("files that failed changed the store")
	}
}

func TestOtherFilesAreImportedStill(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good.csv": ncuRows(3), "bad.csv": strings.Replace(ncuRows(3), `"1,000"`, `"1,00x"`, 1), "notes.txt": "nothing\n", ".hidden.csv": ncuRows(4)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := filepath.Join(dir, "s.duckdb")
	status := map[string]string{}
	for _, f := range importJSON(t, 1, "--store", store, dir).Files {
		status[filepath.Base(f.Path)] = f.Status
	}
	if fmt.Sprint(status) != "map[bad.csv:failed good.csv:imported notes.txt:skipped]" {
		t.Errorf("%v", status)
	}
	if r := importJSON(t, 1, "--store", store, filepath.Join(dir, "notes.txt")); r.Files[0].Status != "failed" || !strings.Contains(r.Files[0].Error.Message, "--format") {
		t.Errorf("a file of no format, named: %+v", r)
	}
	if r := importJSON(t, 0, "--store", store, filepath.Join(dir, "go*.csv")); len(r.Files) != 1 || r.Files[0].Status != "unchanged" {
		t.Errorf("a pattern: %+v", r)
	}
	if _, errs, status := run(t, "", "import", "--store", store, "--format", "nothing", dir); status != 1 || !strings.Contains(errs, "ncu-csv") {
		t.Errorf("an unknown format: %d %s", status, errs)
	}
	if _, errs, status := run(t, "", "import", "--store", store, filepath.Join(dir, "gone.csv")); status != 1 || !strings.Contains(errs, "gone.csv") {
		t.Errorf("a file that is not there: %d %s", status, errs)
	}
	out, errs, code := run(t, ncuRows(5), "import", "--store", store, "-")
	if code != 0 || !strings.Contains(out, "counter 5") {
		t.Errorf("standard input: %d %s%s", code, out, errs)
	}
}

// ncuRows is a table of Nsight Compute with n launches of one metric.
func ncuRows(n int) string {
	var b strings.Builder
	b.WriteString("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n")
	for i := range n {
		fmt.Fprintf(&b, "\"%d\",\"k(int)\",\"gpu__time_duration.sum\",\"ns\",\"1,000\"\n", i)
	}
	return b.String()
}

// feed starts an import from a pipe and returns when the process has taken
// most of a megabyte of rows: it is then in the middle of its transaction.
func feed(t *testing.T, store string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, "import", "--store", store, "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		_ = in.Close()
	})
	// A pipe holds 64 KiB, so what was written beyond that was read.
	if _, err := in.Write([]byte(ncuRows(20_000))); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestKilledImportLeavesTheStoreAsItWas(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.duckdb")
	importJSON(t, 0, "--store", store, samplesDir+"/ncu")
	before := dump(t, store)
	cmd := feed(t, store)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the import ended before it was killed")
	}
	if dump(t, store) != before {
		t.Error("a killed import changed the store")
	}
	if _, errs, status := run(t, ncuRows(2), "import", "--store", store, "-"); status != 0 {
		t.Errorf("importing afterwards: %s", errs)
	}
}

func TestStoreInUseIsSaid(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.duckdb")
	importJSON(t, 0, "--store", store, samplesDir+"/ncu")
	feed(t, store)
	for _, args := range [][]string{{"query", "--store", store, "SELECT 1"}, {"import", "--store", store, samplesDir + "/ncu"}} {
		out, errs, status := run(t, "", args...)
		if status != 1 || out != "" || !strings.Contains(errs, "PID") || !strings.Contains(errs, "close it there") {
			t.Errorf("%s while another process writes: %d %s%s", args[0], status, out, errs)
		}
	}
}

func TestQueryFormats(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.duckdb")
	importJSON(t, 0, "--store", store, samplesDir+"/ncu")
	const sql = `SELECT * FROM (VALUES (1, 1.5, 'a,"b"', NULL, true), (20, 'nan'::DOUBLE, NULL, 'x', false)) v(i, f, s, n, b)`
	for _, c := range []struct{ format, want string }{
		{"csv", "i,f,s,n,b\n1,1.5,\"a,\"\"b\"\"\",,true\n20,NaN,,x,false\n"},
		{"", "i,f,s,n,b\n1,1.5,\"a,\"\"b\"\"\",,true\n20,NaN,,x,false\n"},
		{"json", "[\n{\"i\":1,\"f\":1.5,\"s\":\"a,\\\"b\\\"\",\"n\":null,\"b\":true},\n{\"i\":20,\"f\":null,\"s\":null,\"n\":\"x\",\"b\":false}\n]\n"},
		{"table", " i    f  s      n     b\n--  ---  -----  ----  -----\n 1  1.5  a,\"b\"  NULL  true\n20  NaN  NULL   x     false\n(2 rows)\n"},
	} {
		args := []string{"query", "--store", store, "-"}
		if c.format != "" {
			args = append(args, "--format", c.format)
		}
		if out, errs, status := run(t, sql, args...); out != c.want || status != 0 {
			t.Errorf("%s: exit %d\n%swant\n%s%s", c.format, status, out, c.want, errs)
		}
	}
	for _, sql := range []string{"DELETE FROM run", "SELEC 1", "SELECT * FROM nothing"} {
		if _, errs, status := run(t, "", "query", "--store", store, sql); status != 1 || !strings.Contains(errs, store) {
			t.Errorf("%s: exit %d, %s", sql, status, errs)
		}
	}
	if _, errs, status := run(t, "", "query", "--store", store, "--format", "xml", "SELECT 1"); status != 1 || !strings.Contains(errs, "csv, json and table") {
		t.Errorf("an unknown format: %d %s", status, errs)
	}
}
