package all_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/all"
)

// claim is what one format says of a file.
type claim struct {
	format string
	sure   collectors.Confidence
}

// claims asks every format, and returns those that want the file, the surest
// first.
func claims(h collectors.Head) []claim {
	var cs []claim
	for _, f := range collectors.Formats() {
		if c := f.Detect(h); c > collectors.No {
			cs = append(cs, claim{f.Name, c})
		}
	}
	for i := 1; i < len(cs); i++ {
		for j := i; j > 0 && cs[j].sure > cs[j-1].sure; j-- {
			cs[j], cs[j-1] = cs[j-1], cs[j]
		}
	}
	return cs
}

func headOf(t testing.TB, path string) collectors.Head {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := collectors.Open(path, f)
	if err != nil {
		t.Fatal(err)
	}
	return in.Head
}

func filesBelow(t testing.TB, root string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatalf("%v: the sample profiles lie in shared/ beside the repository", err)
	}
	return paths
}

const shared = "../../../shared/"

// expected names the format of each file below shared/samples, shared/data and
// the formats' own fixtures. The first pattern that fits decides.
var expected = []struct{ pattern, format string }{
	{"samples/MANIFEST.tsv", ""},
	{"samples/cachegrind/*", "cachegrind"},
	{"samples/caliper/*.cali", "caliper-cali"},
	{"samples/caliper/*.json", "caliper-json-split"},
	{"samples/callgrind/*", "callgrind"},
	{"samples/chrome_trace/*", "chrome-trace"},
	{"samples/cubex/*", "cubex"},
	{"samples/derived/gpuflopbench_*", "gpuflopbench"},
	{"samples/gbench/*.json", "google-benchmark"},
	{"samples/gobench/reference.json", "go-benchseries"},
	{"samples/gobench/*", "go-bench"},
	{"samples/gprof/*", "gprof"},
	{"samples/hpctoolkit/*experiment.xml", "hpctoolkit-xml"},
	{"samples/hpctoolkit/*meta.db", "hpctoolkit"},
	{"samples/hpctoolkit/*", "hpctoolkit-part"},
	{"samples/llvm_mca/*.json", "llvm-mca"},
	{"samples/llvm_mca/*.txt", "llvm-mca-text"},
	{"samples/ncu/*", "ncu-csv"},
	{"samples/ncu_rep/*", "ncu-rep"},
	{"samples/nsys/*.sqlite", "nsys-sqlite"},
	{"samples/nvml/*_smi.txt", "nvidia-smi-dmon"},
	{"samples/nvml/h100_*.json", "gpu-roofline-json"},
	{"samples/nvml/*_nvml.csv", "nvml-csv"},
	{"samples/nvml/*_peaks.csv", "roofline-peaks-csv"},
	{"samples/nvml/*_timing.csv", "kernel-timing-csv"},
	{"samples/perf/*.json", "perf-stat-json"},
	{"samples/perf/*.csv", "perf-stat-csv"},
	{"samples/perf_script/*", "perf-script"},
	{"samples/pprof/*.callgrind", "callgrind"},
	{"samples/pprof/*.prof", "pprof"},
	{"samples/pprof/go.crc32.cpu", "pprof-legacy"},
	{"samples/pprof/cppbench.*", "pprof-legacy"},
	{"samples/rocprof/*", "rocprof-csv"},
	{"samples/rocprof_compute/*pmc_perf.csv", "rocprof-compute"},
	{"samples/rocprof_compute/*sysinfo.csv", "rocprof-compute-sysinfo"},
	{"samples/rocprof_compute/*roofline.csv", "rocprof-compute-roofline"},
	{"samples/rocprof_compute/*timestamps.csv", "rocprof-compute-timestamps"},
	{"samples/tau/*", "tau"},
	{"samples/timemory/*", "timemory"},
	{"samples/torch_trace/*_et.json.gz", "pytorch-execution-trace"},
	{"samples/torch_trace/*", "chrome-trace"},
	{"samples/vtune/*", "vtune-csv"},
	{"data/deeptune-devmap/*.csv", "deeptune-devmap"},
	{"data/gpuflopbench/*.json", "gpuflopbench-sources"},
	{"data/gpuflopbench/*.csv", "gpuflopbench"},
	{"data/kernel-tuner/*", "kernel-tuner-cache"},
	{"data/kernel-tuner-hub/*", "kernel-tuner-cache"},
	{"data/ktt-coulomb/*", "ktt-json"},
	{"data/neusight/device_configs/*.json", "neusight-device"},
	{"data/neusight/*.csv", "neusight"},
	{"data/robust-kbench/*", "robust-kbench"},
}

// Each file has one format that is surest of it, the right one, and the next
// one is clearly less sure: which format reads a file must not depend on what
// the others are called, nor on the file that was imported before.
func TestEveryProfileHasOneFormat(t *testing.T) {
	for _, dir := range []string{"samples", "data"} {
		for _, path := range filesBelow(t, shared+dir) {
			name := filepath.ToSlash(strings.TrimPrefix(path, shared))
			t.Run(name, func(t *testing.T) {
				want, known := "", false
				for _, e := range expected {
					if ok, err := filepath.Match(e.pattern, name); err != nil {
						t.Fatal(err)
					} else if ok {
						want, known = e.format, true
						break
					}
				}
				if !known {
					t.Fatalf("nothing says which format this file has: the formats say %v", claims(headOf(t, path)))
				}
				checkFormat(t, headOf(t, path), want)
			})
		}
	}
}

// checkFormat wants one format to be surest of a file, by a distance; no
// format where want is empty.
func checkFormat(t *testing.T, h collectors.Head, want string) {
	t.Helper()
	cs := claims(h)
	switch {
	case want == "" && len(cs) > 0:
		t.Errorf("%v want a file that is no profile", cs)
	case want == "":
	case len(cs) == 0 || cs[0].format != want:
		t.Errorf("the formats say %v, want %s", cs, want)
	case len(cs) > 1 && cs[0].sure-cs[1].sure < 0.2:
		t.Errorf("the formats are equally sure: %v", cs)
	case cs[0].sure < collectors.Likely:
		t.Errorf("%s is not sure of its own file: %v", want, cs)
	}
}

// The formats' own fixtures are of the format whose folder they lie in.
func TestFixturesAreOfTheirFormat(t *testing.T) {
	own := map[string]string{
		"caliper/testdata/ranks.json": "caliper-json-split", "caliper/testdata/solver.cali": "caliper-cali",
		"kerneltuner/testdata/cache.json": "kernel-tuner-cache", "kerneltuner/testdata/t4.json": "kernel-tuner-t4",
		"caliper/testdata/independent.py": "", "ncurep/testdata/README.md": "", "ncurep/testdata/scale.ptx": "",
		"ncurep/testdata/scale.sm120.cubin": "", "ncurep/testdata/scale.sm86.cubin": "",
	}
	for _, path := range filesBelow(t, "..") {
		if !strings.Contains(filepath.ToSlash(path), "/testdata/") || strings.Contains(filepath.ToSlash(path), "/fuzz/") {
			continue
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		want, known := own[name]
		switch folder, _, _ := strings.Cut(name, "/"); {
		case known:
		case folder == "ncu":
			want = "ncu-csv"
		case folder == "llvm", folder == "mca", folder == "nvml", folder == "ocllaunch", folder == "opencl": // sources that are measured
		default:
			t.Errorf("nothing says which format %s has", name)
		}
		t.Run(name, func(t *testing.T) { checkFormat(t, headOf(t, path), want) })
	}
}

// Source code is no profile, even where nothing but its content tells: the
// standard library has all of Go's syntax, assembler and tables of numbers.
func TestSourceCodeIsNoProfile(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env GOROOT: %v: Go belongs into PATH", err)
	}
	for _, dir := range []string{"runtime", "math", "encoding", "testing", "unicode", "cmd/internal/obj"} {
		for _, path := range filesBelow(t, filepath.Join(strings.TrimSpace(string(root)), "src", filepath.FromSlash(dir))) {
			switch filepath.Ext(path) {
			case ".go", ".s", ".h", ".c":
				h := headOf(t, path)
				h.Name = ""
				if cs := claims(h); len(cs) > 0 {
					t.Errorf("%v want %s", cs, path)
				}
			}
		}
	}
}

// Tests and documents quote profiles: their names say that they are none.
func TestQuotedProfilesAreNoProfiles(t *testing.T) {
	profile := []byte("Flat profile:\n\nEach sample counts as 0.01 seconds.\n  %   cumulative   self              self     total\n time   seconds   seconds    calls  ms/call  ms/call  name\n 60.00      0.06     0.06        2    30.00    30.00  solve\n")
	for name, want := range map[string]string{"gprof.txt": "gprof", "": "gprof", "profile": "gprof",
		"gprof_test.go": "", "README.md": "", "paper.tex": "", "parse.py": "", "kernel.CU": "", "report.html": "", "study.ipynb": "", "run.sh": ""} {
		f, _, err := collectors.Detect(collectors.Head{Name: name, Bytes: profile, Whole: true})
		if f.Name != want || (err == nil) != (want != "") {
			t.Errorf("%q is of format %q, %v; want %q", name, f.Name, err, want)
		}
	}
}

func pack(t *testing.T, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// archives are a tar and a zip with a member.
func archives(t *testing.T) (tarred, zipped []byte) {
	t.Helper()
	var a, b bytes.Buffer
	w := tar.NewWriter(&a)
	if err := w.WriteHeader(&tar.Header{Name: "results/run.txt", Mode: 0o644, Size: 4}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("done")); err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(&b)
	f, err := z.Create("results/run.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(f, "done"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}

// What else lies in folders of profiles is wanted by no format, packed or not,
// whole or as the beginning of a longer file.
func TestLookAlikesAreNoProfiles(t *testing.T) {
	tarred, zipped := archives(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := headOf(t, self)
	files := map[string][]byte{"a tar": tarred, "a zip": zipped, "a program": program.Bytes}
	for name, text := range lookAlikes {
		files[name] = []byte(text)
	}
	for name, content := range kinds() {
		files["beginning: "+name] = content
	}
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			checkLookAlike(t, content)
		})
	}
}

func checkLookAlike(t *testing.T, content []byte) {
	for _, packed := range []bool{false, true} {
		b := content
		if packed {
			b = pack(t, content)
		}
		in, err := collectors.Open("results.dat", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(in.Head.Bytes, []byte("SQLite format 3\x00")) {
			// Nsight Systems takes other databases, to say what they are not.
			if cs := claims(in.Head); len(cs) != 1 || cs[0] != (claim{"nsys-sqlite", collectors.Possible}) {
				t.Errorf("%v want a database", cs)
			}
			continue
		}
		checkFormat(t, in.Head, "")
	}
}

// The first member of an archive is not the whole of it, and whoever has a
// packed profile is told what it is and how to unpack it.
func TestPackedProfilesAreNamed(t *testing.T) {
	profile := []byte("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\"0\",\"k\",\"a__a.sum\",\"inst\",\"1\"\n")
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"a.csv", "b.csv"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(profile))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(profile); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, zipped := archives(t)
	for want, content := range map[string][]byte{
		"a tar archive": archive.Bytes(), "a zip archive": zipped, "compressed by gzip twice": pack(t, pack(t, profile)),
		"compressed by zstd": []byte("\x28\xb5\x2f\xfd\x24\x00"), "compressed by xz": []byte("\xfd7zXZ\x00\x00\x04"), "compressed by bzip2": []byte("BZh91AY&SY"),
		"text in UTF-16": []byte(strings.Join(strings.Split(string(profile), ""), "\x00")),
	} {
		in, err := collectors.Open("profile.csv", bytes.NewReader(content))
		if err == nil {
			_, _, err = collectors.Detect(in.Head)
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "FILE") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
