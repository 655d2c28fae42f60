package stream_test

import (
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/stream"
	"github.com/rooflab/rooflab/datasets"
)

const plain = `the job's own line
-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
This system uses 8 bytes per array element.
-------------------------------------------------------------
Array size = 20000000 (elements), Offset = 0 (elements)
Memory per array = 152.6 MiB (= 0.1 GiB).
-------------------------------------------------------------
Number of Threads requested = 8
Number of Threads counted = 8
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           20000.0     0.016200     0.016000     0.017000
Scale:          19000.5     0.017000     0.016842     0.018000
Add:            21000.0     0.023000     0.022857     0.024000
Triad:          21500.0     0.022500     0.022326     0.023000
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
-------------------------------------------------------------
`

const babel = `BabelStream
Version: 5.0
Implementation: CUDA
Running kernels 100 times
Precision: double
Array size: 268.4 MB (=0.3 GB)
Using CUDA device NVIDIA A100-SXM4-40GB
Function    MBytes/sec  Min (sec)   Max         Average
Copy        1394019.5   0.00038512  0.00039014  0.00038701
Triad       1376000.25  0.00058525  0.00059000  0.00058701
Dot         1300000     0.00041298  0.00050000  0.00042
`

// Values by hand from the tables: MB/s times a million.
func TestBandwidthsAreCountersAndACeiling(t *testing.T) {
	for name, c := range map[string]struct {
		text, tool, version, gpu, source string
		copied, triad, average           float64
		rows                             int
	}{
		"STREAM":      {plain, "STREAM", "5.10", "", "STREAM Triad, arrays of 152.6 MiB, threads: 8", 2e10, 2.15e10, 0.0225, 4},
		"BabelStream": {babel, "BabelStream", "5.0", "NVIDIA A100-SXM4-40GB", "BabelStream Triad, arrays of 268.4 MB", 1.3940195e12, 1.37600025e12, 0.00058701, 3},
	} {
		f, sure, err := collectors.Detect(collectors.Head{Bytes: []byte(c.text), Whole: true})
		if f.Name != "stream" || sure != collectors.Certain {
			t.Errorf("%s is detected as %q, %v, %v", name, f.Name, sure, err)
		}
		r := parsertest.MustParse(t, "stream", "x", c.text+c.text)
		if v := r.Value("Copy", "bandwidth"); v != datasets.Some(c.copied) {
			t.Errorf("%s: Copy has %v, want %v", name, v, c.copied)
		}
		if v := r.Value("Triad", "time.avg"); v != datasets.Some(c.average) {
			t.Errorf("%s: Triad takes %v, want %v", name, v, c.average)
		}
		if len(r.Launches) != 2*c.rows || len(r.Regions) != c.rows || len(r.Counters) != 2*4*c.rows {
			t.Errorf("%s: %d launches, %d regions, %d counters", name, len(r.Launches), len(r.Regions), len(r.Counters))
		}
		if len(r.Ceilings) != 1 || r.Ceilings[0].Value != c.triad || r.Ceilings[0].Level != "dram" || !r.Ceilings[0].Measured || r.Ceilings[0].Source != c.source {
			t.Errorf("%s: %+v", name, r.Ceilings)
		}
		if run := r.Runs[0]; run.Tool != c.tool || run.ToolVersion != c.version || r.Machines[0].GPU != c.gpu {
			t.Errorf("%s: %+v %+v", name, run, r.Machines)
		}
		parsertest.Truncations(t, "stream", name, c.text, 300)
	}
	// MiBytes/sec are 1,048,576 bytes.
	r := parsertest.MustParse(t, "stream", "x", "Function    MiBytes/sec  Min (sec)   Max         Average\nCopy 2 1 1 1\n")
	if v := r.Value("Copy", "bandwidth"); v != datasets.Some(float64(2<<20)) {
		t.Errorf("%v", v)
	}
}

func TestWrongResultsAreNoCeiling(t *testing.T) {
	for _, text := range []string{
		strings.Replace(plain, "Solution Validates: avg error less than 1.000000e-13 on all three arrays", "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)", 1),
		plain[:strings.Index(plain, "Solution")],
	} {
		r := parsertest.MustParse(t, "stream", "x", text)
		if failed := strings.Contains(text, "Failed"); len(r.Ceilings) != 0 || len(r.Counters) != 16 || len(r.Warnings) != 1 || failed != (r.Runs[0].Status == datasets.RunFailed) {
			t.Errorf("%+v %+v %v", r.Ceilings, r.Runs, r.Warnings)
		}
	}
}

func TestBrokenTablesAreRefusedWithTheirPlace(t *testing.T) {
	const title = "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":       {"", 1, 1, "there is no table of STREAM"},
		"other":       {"a\nhello\n", 2, 1, "write all that stream prints"},
		"a word":      {title + "Copy: fast 1 1 1\n", 2, 7, "the value of bandwidth is no number"},
		"negative":    {title + "Copy: 1 1 -1 1\n", 2, 11, "the value of time.min is no number"},
		"a short row": {title + "Copy: 1 1 1\n", 2, 12, "a name and four numbers"},
		"mixed":       {title + "hello\n", 2, 1, "no row of the table"},
		"cut":         {title + "Copy: 1 1 1 1", 2, 14, "end it with a newline"},
	} {
		parsertest.Refused(t, "stream", name, c.text, c.line, c.col, c.msg)
	}
}

func FuzzStream(f *testing.F) { parsertest.Fuzz(f, "stream", plain, babel) }
