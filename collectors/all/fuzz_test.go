package all_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
)

// FuzzDetect asks all formats about any beginning of a file: none panics, none
// changes what it was shown, and each says the same when it is asked again, as
// does the choice between them.
func FuzzDetect(f *testing.F) {
	for _, text := range lookAlikes {
		f.Add("results.txt", []byte(text), true)
	}
	for _, head := range kinds() {
		f.Add("", head[:2000], false)
	}
	for _, path := range filesBelow(f, "..") {
		if !strings.Contains(filepath.ToSlash(path), "/testdata/") || strings.Contains(filepath.ToSlash(path), "/fuzz/") {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		b = b[:min(len(b), 4096)]
		f.Add(filepath.Base(path), b, len(b) < 4096)
		f.Add("", b[:len(b)/2], true)
	}
	for _, magic := range []string{"SQLite format 3\x00META_DATA_EXPORT", "NVR\x00", "QDREP", "PERFILE2", "gmon\x01\x00\x00\x00", "HPCTOOLKITmeta", "HPCPROF-metricdb", "HPCRUN-profile",
		"1 templated_functions_MULTI_TIME\n", "__rec=node,id=1", "[{\"ph\":\"X\",\"ts\":", "TABLE,Group 1 Raw,MEM,3\n", "Group 1: MEM\n+-", "# callgrind format\nevents: Ir\n",
		"heap profile: 1: 2 [3: 4] @", "# started on Mon\n1,,cycles,2,100.00\n", "a 1 1.0: cycles:\n\tffffff f (m)\n", "desc: x\ncmd: y\nevents: Ir\nfl=a\n",
		"BenchmarkX 1 2 ns/op\n", "Function Stack;CPU Time\n", "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n", "Dispatch Width: 4\nuOps Per Cycle: 1\n"} {
		f.Add("x.csv", []byte(magic), false)
	}
	f.Fuzz(func(t *testing.T, name string, b []byte, whole bool) {
		if len(b) > collectors.HeadSize {
			b = b[:collectors.HeadSize]
		}
		h := collectors.Head{Name: filepath.Base(name), Bytes: bytes.Clone(b), Whole: whole}
		first := claims(h)
		if !bytes.Equal(h.Bytes, b) {
			t.Fatal("a format changed what it was shown")
		}
		again := claims(h)
		if len(again) != len(first) {
			t.Fatalf("the formats said %v, and then %v", first, again)
		}
		for i := range first {
			if first[i] != again[i] {
				t.Fatalf("the formats said %v, and then %v", first, again)
			}
			if first[i].sure < 0 || first[i].sure > collectors.Certain {
				t.Fatalf("%s is sure to %v", first[i].format, first[i].sure)
			}
		}
		chosen, sure, err := collectors.Detect(h)
		switch {
		case err != nil && chosen.Name != "":
			t.Fatalf("%s, and yet %v", chosen.Name, err)
		case err == nil && (len(first) == 0 || chosen.Name != first[0].format || sure != first[0].sure):
			t.Fatalf("%s was chosen of %v", chosen.Name, first)
		}
	})
}

// Asking all formats about a file takes a few pieces of memory for each line
// that some of them look at, never one for each line that there is: a bound on
// their work that holds on any machine. Formats that split every line of a
// beginning need more than ten times as many.
func TestDetectionIsCheap(t *testing.T) {
	heads := map[string]collectors.Head{}
	for name, head := range kinds() {
		heads[name] = collectors.Head{Name: "results.txt", Bytes: head}
	}
	for _, dir := range []string{"samples", "data"} {
		for _, path := range filesBelow(t, shared+dir) {
			heads[path] = headOf(t, path)
		}
	}
	for name, h := range heads {
		columns, _, _ := bytes.Cut(h.Bytes, []byte("\n")) // some tables have thousands, and several formats look at their names
		most := 5000 + 15*float64(bytes.Count(columns, []byte(",")))
		if n := testing.AllocsPerRun(1, func() { _, _, _ = collectors.Detect(h) }); n > most {
			t.Errorf("%s: detection takes %.0f allocations, want at most %.0f", name, n, most)
			for _, f := range collectors.Formats() {
				if n := testing.AllocsPerRun(1, func() { f.Detect(h) }); n > most/10 {
					t.Logf("%s takes %.0f", f.Name, n)
				}
			}
		}
	}
}
