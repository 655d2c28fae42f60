package folded_test

import (
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/folded"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

const stacks = `# what the tools below write, one after the other
solve;main;step 120
solve;main;step;read_[k] 7
solve;main;step 3
solve;main 40.5
 2

unix` + "`" + `thread_start;unix` + "`" + `idle+0x114 1641
<module> (run.py:3);step (run.py:12) 20
java/lang/Thread.run;Main.work_[j];Main.add_[i] 9
solve;main;_ZN2ns4loopEi;; 2
`

func find(r *parsertest.Records, raw string) *datasets.Region {
	for i := range r.Regions {
		if r.Regions[i].Raw == raw {
			return &r.Regions[i]
		}
	}
	return &datasets.Region{}
}

func attribute(r *parsertest.Records, region int64, name string) string {
	for _, a := range r.Attributes {
		if a.Region == region && a.Name == name {
			return a.Value
		}
	}
	return ""
}

func TestStacksAreACallTree(t *testing.T) {
	r := parsertest.MustParse(t, "folded-stacks", "x", stacks)
	// awk '/^[^# ]/{s+=$NF} END{print s}': 120+7+3+40.5+1641+20+9+2.
	if got := r.Total("samples"); got != 1842.5 {
		t.Errorf("the counts add up to %v, want 1842.5", got)
	}
	// Paths, by hand: solve, main, step, read; thread_start, idle; <module>,
	// step; run, work, add; work below main and two frames without a name.
	if len(r.Regions) != 14 || len(r.Launches) != 7 || r.Runs[0].TimeMetric != "samples" {
		t.Errorf("%d regions and %d launches, want 14 and 7", len(r.Regions), len(r.Launches))
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "1 lines have a count without a frame") {
		t.Errorf("%v", r.Warnings)
	}
	for _, w := range []struct {
		raw, path, module, file, line, code string
		self                                float64
	}{
		{"step", "solve/main/step", "", "", "", "", 123}, // 120 + 3
		{"main", "solve/main", "", "", "", "", 40.5},
		{"read_[k]", "solve/main/step/read", "", "", "", "kernel", 7},
		{"unix`idle+0x114", "thread_start/idle", "unix", "", "", "", 1641},
		{"step (run.py:12)", "<module>/step", "", "run.py", "12", "", 20},
		{"Main.add_[i]", "java/lang/Thread.run/Main.work/Main.add", "", "", "", "inlined", 9},
	} {
		g := find(r, w.raw)
		self := -1.0
		for _, c := range r.Counters {
			if c.Region == g.ID {
				self = c.Value.V
			}
		}
		if r.Path(g.ID) != w.path || g.Module != w.module || self != w.self || attribute(r, g.ID, "file") != w.file || attribute(r, g.ID, "line") != w.line || attribute(r, g.ID, "code") != w.code {
			t.Errorf("%s is %q with %v: %+v %+v", w.raw, r.Path(g.ID), self, g, r.Attributes)
		}
	}
	if g := find(r, "_ZN2ns4loopEi"); g.Mangled != g.Raw || g.Short != "loop" {
		t.Errorf("%+v", g)
	}
	if r.Path(int64(len(r.Regions))) != "solve/main/loop/[unknown]/[unknown]" {
		t.Errorf("frames without a name are %q", r.Path(int64(len(r.Regions))))
	}
}

func TestDifferencesHaveTwoCounts(t *testing.T) {
	r := parsertest.MustParse(t, "folded-stacks", "x", "main;a 10 12\nmain;b 0 3\n")
	if r.Total("samples.before") != 10 || r.Total("samples.after") != 15 || r.Runs[0].TimeMetric != "samples.after" {
		t.Errorf("%+v", r.Counters)
	}
	// One line without a second count: the numbers belong to the frames.
	r = parsertest.MustParse(t, "folded-stacks", "x", "main;thread 1 12\nmain;b 3\n")
	if r.Total("samples") != 15 || find(r, "thread 1").ID == 0 {
		t.Errorf("%+v", r.Regions)
	}
}

func TestStacksAreKnownByTheirContent(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, format string
	}{
		"stacks":        {"out.txt", stacks, "folded-stacks"},
		"one":           {"", "main;solve 1\n", "folded-stacks"},
		"own ending":    {"x.folded", "main;solve 1\n", "folded-stacks"},
		"names alone":   {"", "main 10\nsolve 20\n", ""},
		"columns":       {"", "1;2;3 4\n2;3;4 5\n", ""},
		"a title":       {"", "a;b;c\n1;2;3 4\n", ""},
		"other lines":   {"", "main;solve 1\nhello\n", ""},
		"counts absent": {"", "main;solve\nmain;io\n", ""},
	} {
		f, _, err := collectors.Detect(collectors.Head{Name: c.file, Bytes: []byte(c.text), Whole: true})
		if f.Name != c.format {
			t.Errorf("%s: detected as %q, %v", name, f.Name, err)
		}
	}
}

func TestBrokenStacksAreRefusedWithTheirPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":            {"", 1, 1, "the file holds no stack"},
		"comments":         {"# nothing\n", 1, 1, "make it again"},
		"no count":         {"main;a 1\nmain;b\n", 2, 7, `expected frames with ";" between them`},
		"no number":        {"main;a 1\nmain;b -5\n", 2, 10, "take the line out"},
		"a word alone":     {"main;a 1\n b\n", 2, 3, "no stack with a count"},
		"too large":        {"main;a 1\nmain;b " + strings.Repeat("9", 400) + "\n", 2, 8, "does not fit"},
		"cut":              {"main;a 10\nmain;b 1", 2, 9, "end it with a newline"},
		"one count of two": {"main;a 1 2\n" + strings.Repeat("main;a 1 2\n", 6000) + "main;b 1\n", 6002, 7, "two counts"},
	} {
		parsertest.Refused(t, "folded-stacks", name, c.text, c.line, c.col, c.msg)
	}
	parsertest.Truncations(t, "folded-stacks", "x", "main;a 10\n", 100)
}

func FuzzFolded(f *testing.F) {
	parsertest.Fuzz(f, "folded-stacks", stacks, "a;b 1 2\n", "a 1\n", ";;; 1.5\n", "m`f+0x1;`;_[k] 1\n")
}
