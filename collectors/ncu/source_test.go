package ncu_test

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// sampled lists PC samples as "launch place opcode reason samples/not issued",
// where the place is an offset or a line.
func sampled(r *parsertest.Records) []string {
	var all []string
	for _, s := range r.Samples {
		for _, c := range r.Codes {
			if c.ID == s.Code {
				place := fmt.Sprintf("%#x %s", c.Offset.V, c.Opcode)
				if c.ISA == "source" {
					place = fmt.Sprintf("%s:%d", c.File, c.Line.V)
				}
				all = append(all, fmt.Sprintf("%d %s %s %d/%d", s.Launch, place, s.Reason, s.Samples.V, s.NotIssued.V))
			}
		}
	}
	sort.Strings(all)
	return all
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func TestSourcePageOfInstructions(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-csv", "sass.csv", fixture(t, "source_sass.csv"))
	check(t, "samples", sampled(r), []string{
		"1 0x0 MOV dispatch_stall 2/0", "1 0x0 MOV no_instructions 10/10", "1 0x10 LDG dispatch_stall 3/0", "1 0x20 DFMA long_scoreboard 1200/1100",
		"2 0x0 MOV no_instructions 9/9", "2 0x20 DFMA long_scoreboard 1000/900"})
	if len(r.Codes) != 3 || r.Codes[1].Text != "@!P0 LDG.E.64 R2, [R4.64]" || r.Codes[1].ISA != "sass" {
		t.Errorf("code %+v, want 3 instructions, once for both launches", r.Codes)
	}
	if len(r.Launches) != 2 || len(r.Regions) != 1 || r.Regions[0].Short != "axpy" || r.Launches[1].Sequence.V != 1 || r.Runs[0].FormatVersion != "source" {
		t.Errorf("launches %+v of %+v", r.Launches, r.Regions)
	}
	got := map[string]datasets.Counter{}
	for _, c := range r.Counters {
		if c.Launch == 1 {
			got[c.Metric+" "+c.Instance] = c
		}
	}
	// 7 columns that are no stalls, one of them there twice; 3 instructions.
	check(t, "counters of a launch", len(got), 21)
	check(t, "counters", len(r.Counters), 42)
	for name, want := range map[string]float64{"Instructions Executed 0x0010": 1024, "Avg. Threads Executed 0x0010": 31.5, "# Samples 0x0020": 1200, "Warp Stall Sampling (Not-issued Samples) 0x0000": 10} {
		if got[name].Value != datasets.Some(want) {
			t.Errorf("%s: %+v, want %v", name, got[name], want)
		}
	}
	if c := got["Address Space 0x0010"]; c.RawValue != "Global(4)" || c.Value.Valid || c.Status != datasets.StatusOK {
		t.Errorf("the address space: %+v", c)
	}
	if c := got["Access Size 0x0000"]; c.Status != datasets.StatusNA || c.Value.Valid {
		t.Errorf("a cell of %q: %+v", "-", c)
	}
}

func TestSourcePageOfLinesWithInstructionsCountsSamplesOnce(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-csv", "both.csv", fixture(t, "source_both.csv"))
	// Offsets count from the lowest address, which is not the first. The
	// instruction that two files list is one.
	check(t, "samples", sampled(r), []string{"1 0x0 MOV wait 3/2", "1 0x10 LDG long_scoreboard 90/0", "1 0x20 ISETP wait 4/3"})
	lines := map[string]string{}
	for _, c := range r.Codes {
		lines[fmt.Sprintf("%s %#x", c.ISA, c.Offset.V)] = fmt.Sprintf("%s:%d", c.File, c.Line.V)
	}
	check(t, "the line of an instruction", lines["sass 0x10"], "/src/axpy.cu:5")
	if n := len(r.Codes); n != 3+4 {
		t.Errorf("%d codes, want 3 instructions and 4 lines", n)
	}
	for _, c := range r.Counters {
		if !strings.HasPrefix(c.Instance, "0x") {
			t.Errorf("a line's counter repeats its instructions': %+v", c)
		}
	}
	check(t, "launches", len(r.Launches), 1)
}

func TestTheSameSamplesInTwoViewsCountOnce(t *testing.T) {
	sass := "\"Kernel Name\",\"axpy\",\n\"Address\",\"Source\",\"# Samples\",\"stall_wait\"\n\"0x7f10aa000400\",\"MOV R1, R2\",\"3\",\"3\"\n\"0x7f10aa000410\",\"EXIT\",\"4\",\"4\"\n"
	cuda := "\"Kernel Name\",\"axpy\",\n\"Line No\",\"Source\",\"# Samples\",\"stall_wait\"\n\"1\",\"a\",\"3\",\"3\"\n\"2\",\"b\",\"4\",\"4\"\n"
	one := []string{"1 0x0 MOV wait 3/0", "1 0x10 EXIT wait 4/0"}
	for name, content := range map[string]string{"instructions, then lines": sass + cuda, "lines, then instructions": cuda + sass} {
		r := parsertest.MustParse(t, "ncu-csv", name, content)
		check(t, name, sampled(r), one)
		check(t, name+": launches", len(r.Launches), 1)
	}
	r := parsertest.MustParse(t, "ncu-csv", "lines alone", cuda)
	check(t, "lines alone", sampled(r), []string{"1 :1 wait 3/0", "1 :2 wait 4/0"})
	r = parsertest.MustParse(t, "ncu-csv", "two launches in two views", sass+sass+cuda+cuda)
	check(t, "two launches in two views", sampled(r), append(append([]string{}, one...), "2 0x0 MOV wait 3/0", "2 0x10 EXIT wait 4/0"))
}

func TestSourcePagesOfOtherVersions(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"cycles instead of samples": {"\"Kernel Name\",\"k(int)\",\n\"Address\",\"Source\",\"Warp Stall Sampling (All Cycles)\",\"stall_sleep\",\"stall_sleeping (Not Issued)\"\n\"0x7f10aa000400\",\"NANOSLEEP R1\",\"3\",\"3\",\"2\"\n",
			[]string{"1 0x0 NANOSLEEP sleeping 3/2"}},
		"the metrics' own names": {"\"Kernel Name\",\"k(int)\",\n\"Address\",\"Source\",\"smsp__pcsamp_warps_issue_stalled_no_instruction\",\"smsp__pcsamp_warps_issue_stalled_no_instruction_not_issued\"\n\"0x7f10aa000400\",\"NOP\",\"3\",\"2\"\n",
			[]string{"1 0x0 NOP no_instructions 3/2"}},
		"offsets instead of addresses": {"==PROF== Connected to process 1 (/a)\n\"PC\",\"Function Name\",\"SASS\",\"stall_wait\"\n\"/*0060*/\",\"k\",\"FFMA R0, R1, R2, R3 ;\",\"12\"\n\"0x70\",\"j\",\"EXIT ;\",\"1\"\n",
			[]string{"1 0x60 FFMA wait 12/0", "2 0x70 EXIT wait 1/0"}},
		"a row of units":         {"\"Kernel Name\",\"k\",\n\"Address\",\"Source\",\"# Samples\",\"stall_wait\"\n\"\",\"\",\"sample\",\"warp\"\n\"0x7f10aa000400\",\"NOP\",\"3\",\"2\"\n", []string{"1 0x0 NOP wait 2/0"}},
		"a column with a number": {"\"Kernel Name\",\"k\",\n\"#\",\"Address\",\"Source\",\"# Samples\",\"stall_wait\"\n\"1\",\"0x7f10aa000400\",\"NOP\",\"3\",\"2\"\n", []string{"1 0x0 NOP wait 2/0"}},
		"saved by a spreadsheet": {"Kernel Name;k(int, int);\r\nAddress;Source;# Samples;stall_wait\r\n0x7f10aa000400;MOV R1, R2;3;1.234\r\n", []string{"1 0x0 MOV wait 1234/0"}},
		"separators at the end":  {"\"Kernel Name\",\"k\",\n\"Address\",\"Source\",\"stall_wait\"\n\"0x7f10aa000400\",\"NOP\",\"2\",\n", []string{"1 0x0 NOP wait 2/0"}},
	} {
		r, err := parsertest.Parse("ncu-csv", name, c.content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		parsertest.CheckReferences(t, r)
		check(t, name, sampled(r), c.want)
		f, sure, err := collectors.Detect(collectors.Head{Name: name, Bytes: []byte(c.content), Whole: true})
		if err != nil || f.Name != "ncu-csv" || sure != collectors.Certain {
			t.Errorf("%s is detected as %q (%v, %v)", name, f.Name, sure, err)
		}
	}
}

func TestPagesMayFollowEachOther(t *testing.T) {
	raw := fixture(t, "raw_two_kernels.csv")
	for name, content := range map[string]string{"raw, then source": raw + fixture(t, "source_both.csv"), "source, then raw": fixture(t, "source_both.csv") + raw} {
		r := parsertest.MustParse(t, "ncu-csv", name, content)
		if len(r.Launches) != 3 || len(r.Samples) != 3 || r.Value("jacobi", "gpu__time_duration.sum").V != 112.35e-6 {
			t.Errorf("%s: %d launches, %d samples", name, len(r.Launches), len(r.Samples))
		}
	}
}

func TestBrokenSourcePagesNameThePlace(t *testing.T) {
	sass, both := fixture(t, "source_sass.csv"), fixture(t, "source_both.csv")
	for name, c := range map[string]struct {
		content string
		line    int
		says    string
	}{
		"a cell less":              {strings.Replace(sass, `"12","10",`, `"12",`, 1), 4, "wrong number of cells"},
		"a damaged address":        {strings.Replace(sass, "0x7f10aa000410", "0x7f1zz", 1), 5, "address"},
		"half a sample":            {strings.Replace(sass, `"-","-","0","1,200"`, `"-","-","0","1,20"`, 1), 6, "no whole number"},
		"a text for samples":       {strings.Replace(sass, `"-","-","0","1,200"`, `"-","-","0","many"`, 1), 6, "no whole number"},
		"a damaged line":           {strings.Replace(both, `"5","    y`, `"five","    y`, 1), 8, "line"},
		"neither line nor address": {strings.Replace(both, `"5","    y`, `"","    y`, 1), 8, "neither"},
		"cut within a row":         {sass[:len(sass)-30], 11, "no line end"},
	} {
		_, err := parsertest.Parse("ncu-csv", "broken.csv", c.content)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != c.line || syntax.Column == 0 || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want line %d and %q", name, err, c.line, c.says)
		}
	}
}

func TestCutSourcePages(t *testing.T) {
	for _, name := range []string{"source_sass.csv", "source_both.csv"} {
		content := fixture(t, name)
		for i := range content {
			r, err := parsertest.Parse("ncu-csv", name, content[:i])
			var syntax *collectors.SyntaxError
			if err != nil && (!errors.As(err, &syntax) || syntax.Line == 0 || syntax.Column == 0) {
				t.Errorf("%s cut at %d: %v", name, i, err)
			}
			if err == nil {
				parsertest.CheckReferences(t, r)
			}
		}
	}
}

// The view of source alone has a title per file, which may be "File Name".
func TestLinesOfSeveralFiles(t *testing.T) {
	const header = "\"Line No\",\"Source\",\"# Samples\",\"Instructions Executed\",\"stall_wait\",\"stall_wait (Not Issued)\"\n"
	r := parsertest.MustParse(t, "ncu-csv", "source.csv", "\"File Name\",\"/src/k.cu\",\n"+header+
		"\"1\",\"int i;\",\"-\",\"-\",\"-\",\"-\"\n\"2\",\"a[i] = 1;\",\"40\",\"1024\",\"30\",\"28\"\n"+
		"\"File Name\",\"/src/x.h\",\n"+header+"\"2\",\"return i;\",\"2\",\"64\",\"1\",\"0\"\n")
	if len(r.Launches) != 1 || len(r.Codes) != 3 || r.Codes[1].File != "/src/k.cu" || r.Codes[2].File != "/src/x.h" || len(r.Samples) != 2 {
		t.Fatalf("%+v, %+v, %+v", r.Launches, r.Codes, r.Samples)
	}
	got := map[string]float64{}
	for _, c := range r.Counters {
		if c.Metric == "Instructions Executed" && c.Value.Valid {
			got[c.Instance] = c.Value.V
		}
	}
	if len(got) != 2 || got["/src/k.cu:2"] != 1024 || got["/src/x.h:2"] != 64 {
		t.Errorf("%v", got)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "does not say of which kernel") {
		t.Errorf("%v", r.Warnings)
	}
}
