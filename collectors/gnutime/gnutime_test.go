package gnutime_test

import (
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/gnutime"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

const block = `step 1 of the program
	Command being timed: "./solve -n "a b""
	User time (seconds): 1.10
	System time (seconds): 0.25
	Percent of CPU this job got: 99%
	Elapsed (wall clock) time (h:mm:ss or m:ss): 1:01.25
	Average shared text size (kbytes): 0
	Maximum resident set size (kbytes): 1000
	Major (requiring I/O) page faults: 1
	Minor (reclaiming a frame) page faults: 200
	Voluntary context switches: 3
	Involuntary context switches: 2
	Swaps: 0
	File system inputs: 16
	File system outputs: 8
	Page size (bytes): 4096
	Exit status: 0
`

func TestBlocksAreLaunches(t *testing.T) {
	long := strings.NewReplacer("1:01.25", "2:00:03", `n "a b"`, "n 2").Replace(block)
	killed := "Command terminated by signal 9\n" + block
	r := parsertest.MustParse(t, "time-v", "x", block+long+killed)
	// By hand: 61.25 + 7203 + 61.25 s, 1000 kbytes of 1024 bytes three times.
	for metric, want := range map[string]float64{"time.wall": 7325.5, "time.user": 3.3, "time.system": 0.75, "memory.rss.max": 3072000, "page_fault.minor": 600, "page_fault.major": 3,
		"context_switch.voluntary": 9, "context_switch.involuntary": 6, "io.block.read": 48, "io.block.write": 24, "exit_status": 0} {
		if got := r.Total(metric); got-want > 1e-9 || want-got > 1e-9 {
			t.Errorf("%s add up to %v, want %v", metric, got, want)
		}
	}
	if len(r.Regions) != 2 || r.Regions[0].Raw != `./solve -n "a b"` || len(r.Launches) != 3 || r.Launches[2].Region != 1 {
		t.Errorf("%+v %+v", r.Regions, r.Launches)
	}
	last := r.Counters[len(r.Counters)-1]
	if last.Metric != "exit_status" || last.Status != datasets.StatusNA || r.Runs[0].Status != datasets.RunFailed || r.Runs[0].Error != "Command terminated by signal 9" {
		t.Errorf("%+v %+v", last, r.Runs)
	}
	f, sure, err := collectors.Detect(collectors.Head{Bytes: []byte(block), Whole: true})
	if f.Name != "time-v" || sure != collectors.Certain {
		t.Errorf("detected as %q, %v, %v", f.Name, sure, err)
	}
	parsertest.Truncations(t, "time-v", "x", block, 1000)
}

func TestBrokenBlocksAreRefusedWithTheirPlace(t *testing.T) {
	const begin = "\tCommand being timed: \"a\"\n"
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":         {"", 1, 1, "there is no block of GNU time"},
		"no quotes":     {"\tCommand being timed: a\n", 1, 23, "not in quotes"},
		"no end":        {begin + "\tSwaps: 0\n", 2, 10, `expected a line "Exit status: 0"`},
		"two at once":   {begin + begin, 2, 1, "the one before it has no end"},
		"a word":        {begin + "\tUser time (seconds): long\n", 2, 23, "the value of time.user is none"},
		"negative":      {begin + "\tExit status: -1\n", 2, 15, "expected a number, 0 or more"},
		"no wall time":  {begin + "\tElapsed (wall clock) time (h:mm:ss or m:ss): 12\n", 2, 47, "expected h:mm:ss or m:ss.ss"},
		"a line twice":  {begin + "\tFile system inputs: 0\n\tFile system inputs: 0\n", 3, 2, "twice in the block"},
		"cut in a line": {begin + "\tExit status: 1", 2, 16, "the file ends within a line"},
	} {
		parsertest.Refused(t, "time-v", name, c.text, c.line, c.col, c.msg)
	}
}

func FuzzTime(f *testing.F) {
	parsertest.Fuzz(f, "time-v", block, "Command exited with non-zero status 1\n"+block)
}
