package main_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const ncuHeader = `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"` + "\n"

// zipped packs text.
func zipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// repeat reads n bytes of a pattern without holding them.
func repeat(pattern string, n int64) io.Reader {
	block := bytes.Repeat([]byte(pattern), 1<<20/len(pattern))
	return io.LimitReader(&endless{block: block}, n)
}

type endless struct {
	block []byte
	at    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.block[e.at:])
	e.at = (e.at + n) % len(e.block)
	return n, nil
}

// Whatever a file is, the message says what is wrong with it, nothing of it is
// in the store, and memory stays within bounds.
func TestHostileFilesAreNamedAndLeaveNothing(t *testing.T) {
	const gigabyte = 1 << 30
	launch := `"0","1","app","h","k","1","7","(1, 1, 1)","(1, 1, 1)","0","8.0","","m","byte","1"` + "\n"
	// Members of a gzip file follow each other: 4 GB of zeros from one of 64 MB.
	zeros := zipped(t, make([]byte, 64<<20))
	bomb := append(zipped(t, []byte(ncuHeader)), bytes.Repeat(zeros, 64)...)
	whole := zipped(t, []byte(ncuHeader+strings.Repeat(launch, 1000)))
	for name, c := range map[string]struct {
		content io.Reader
		want    string
	}{
		"a line of 1 GB in a profile": {io.MultiReader(strings.NewReader(ncuHeader), repeat(`"`+strings.Repeat("x", 63), gigabyte)), "profile:2:67108864: the line is longer than 67108864 bytes"},
		"a line of 128 MB of nothing": {repeat("x", gigabyte/8), "no format that is known here fits"},
		"a bomb":                      {bytes.NewReader(bomb), "this is a decompression bomb rather than a profile"},
		"a gzip file that is cut":     {bytes.NewReader(whole[:len(whole)/2]), "the gzip file ends before its content does; the file is cut or damaged"},
		"a gzip file with a flaw":     {bytes.NewReader(append(bytes.Clone(whole[:len(whole)-6]), 0, 0, 0, 0, 0, 0)), "the content of the gzip file does not have the checksum"},
		"a picture":                   {strings.NewReader("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), "no format that is known here fits"},
		"a program":                   {strings.NewReader("\x7fELF\x02\x01\x01\x00"), "no format that is known here fits"},
		"a text":                      {strings.NewReader("Dear reviewer,\nthe profile follows.\n"), "no format that is known here fits"},
		"nothing":                     {strings.NewReader(""), "the file is empty"},
		"UTF-16":                      {strings.NewReader("\xff\xfe\"\x00I\x00D\x00\"\x00"), "UTF-16"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, store := filepath.Join(dir, "profile"), filepath.Join(dir, "s.db")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(f, c.content)
			if cerr := f.Close(); err != nil || cerr != nil {
				t.Fatal(err, cerr)
			}
			cmd := exec.Command(binary, "import", "--store", store, path)
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), c.want) {
				t.Errorf("status %d, %s; want the message %q", cmd.ProcessState.ExitCode(), out, c.want)
			}
			const most = 600 << 10 // KiB: a line of 64 MB, and what Go and DuckDB take
			if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); !ok || u.Maxrss > most {
				t.Errorf("it took %d KiB of memory", u.Maxrss)
			}
			if got, _, _ := run(t, "", "query", "--store", store, "--format", "csv", "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM launch) + (SELECT count(*) FROM artefact) AS n"); got != "n\n0\n" {
				t.Errorf("the store holds %q rows", got)
			}
		})
	}
}
