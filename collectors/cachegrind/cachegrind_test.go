package cachegrind_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/cachegrind"
	"github.com/rooflab/rooflab/collectors/parsertest"
)

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Total(metric) }
}

func value(function, metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Value(function, metric) }
}

func TestSamples(t *testing.T) {
	const f, how = "local_cachegrind.out", "cg_annotate --threshold=0.0001 --show-percs=no"
	facts := []parsertest.Fact{
		{File: f, What: "all instructions", Of: total("Ir"), Want: 8784311, How: how},
		{File: f, What: "all data misses of the last cache", Of: total("DLmw"), Want: 16737, How: how},
		{File: f, What: "all reads", Of: total("Dr"), Want: 2651830, How: how},
		{File: f, What: "instructions of main", Of: value("main", "Ir"), Want: 8650890, How: how},
		{File: f, What: "level 1 misses of writes in main", Of: value("main", "D1mw"), Want: 16385, How: how},
		{File: f, What: "reads in main", Of: value("main", "Dr"), Want: 2621443, How: how},
		{File: f, What: "functions", Of: func(r *parsertest.Records) any { return len(r.Regions) }, Want: 350, How: "grep -c ^fn="},
	}
	parsertest.Facts(t, "../../../shared/samples/cachegrind", facts, nil)
}

// small was summed up by hand: 10 + 20 + 5 + 7, and 1 + 0 + 2 + 0.
const small = `desc: I1 cache:         32768 B, 64 B, 8-way associative
desc: LL cache:         1048576 B, 64 B, 16-way associative
cmd: ./heat 100
events: Ir Dr DLmr
fl=heat.c
fn=step(double*, int)
12 10 4 1
13 20 8 .
fi=grid.h
7 5 2 2
fe=heat.c
fl=???
fn=memset
0 7
summary: 42 14 3
`

func TestFunctionsLinesAndInlinedOnes(t *testing.T) {
	r := parsertest.MustParse(t, "cachegrind", "cachegrind.out.1", small)
	for _, c := range []struct {
		fn, metric string
		want       float64
	}{{"step", "Ir", 35}, {"step", "Dr", 14}, {"step", "DLmr", 3}, {"memset", "Ir", 7}, {"memset", "DLmr", 0}} {
		if v := r.Value(c.fn, c.metric); v.V != c.want || !v.Valid {
			t.Errorf("%s of %s is %v, want %v", c.metric, c.fn, v, c.want)
		}
	}
	var lines []string
	for _, s := range r.Samples {
		c := r.Codes[s.Code-1]
		lines = append(lines, fmt.Sprintf("%s:%d %d %s %d", c.File, c.Line.V, c.InlineDepth.V, s.Reason, s.Samples.V))
	}
	want := "heat.c:12 0 Ir 10,heat.c:12 0 Dr 4,heat.c:12 0 DLmr 1,heat.c:13 0 Ir 20,heat.c:13 0 Dr 8,grid.h:7 1 Ir 5,grid.h:7 1 Dr 2,grid.h:7 1 DLmr 2,:0 0 Ir 7"
	if got := strings.Join(lines, ","); got != want {
		t.Errorf("lines\n%s\nwant\n%s", got, want)
	}
	if r.Runs[0].Command != "./heat 100" || r.Attributes[1].Name != "LL cache" || r.Attributes[1].Value != "1048576 B, 64 B, 16-way associative" {
		t.Errorf("%+v %+v", r.Runs[0], r.Attributes)
	}
	if r.Counters[0].Unit != "inst" || r.Counters[2].Unit != "miss" {
		t.Errorf("units of %+v", r.Counters[:3])
	}
}

func TestErrors(t *testing.T) {
	const head = "cmd: a\nevents: Ir Dr\nfl=a.c\n"
	for _, c := range []struct {
		text         string
		line, column int
		msg          string
	}{
		{strings.TrimSuffix(small, "summary: 42 14 3\n"), 15, 1, "before its summary"},
		{strings.TrimSuffix(small, "\n"), 15, 1, "it may be cut"},
		{strings.Replace(small, "12 10 4", "12 11 4", 1), 15, 1, "is not the sum of the lines"},
		{head + "1 2\n", 4, 1, "costs without a function"},
		{head + "fn=f\n1 2 3 4\n", 5, 3, "more costs than there are events"},
		{head + "fn=f\n1 x\n", 5, 3, "a cost is no number"},
		{head + "fn=f\nhello\n", 5, 1, "none of cachegrind's format"},
		{"cmd: a\nevents: Ir Ir\n", 2, 1, "named twice"},
		{"cmd: a\nsummary: 1\n", 2, 1, "before the events are named"},
		{small + "fl=a\n", 16, 1, "goes on after its summary"},
		{head + "fn=f\n1 9223372036854775807\n1 1\n", 6, 1, "does not fit 63 bits"},
	} {
		_, err := parsertest.Parse("cachegrind", "p", c.text)
		var e *collectors.SyntaxError
		if !errors.As(err, &e) || e.Line != c.line || e.Column != c.column || !strings.Contains(e.Error(), c.msg) || e.Hint == "" {
			t.Errorf("%q: %v, want %q in %d:%d", c.text[:min(40, len(c.text))], err, c.msg, c.line, c.column)
		}
	}
}

func TestDifferences(t *testing.T) {
	r := parsertest.MustParse(t, "cachegrind", "p", "desc: Files compared: a; b\ncmd: ./x; ./x\nevents: Ir\nfl=\nfn=x.c:f\n0 -5\nfl=\nfn=x.c:g\n0 3\nsummary: -2\n")
	if r.Total("Ir") != -2 || len(r.Regions) != 2 {
		t.Errorf("%+v", r.Counters)
	}
}

func TestNothingCounted(t *testing.T) {
	r := parsertest.MustParse(t, "cachegrind", "p", "cmd: a\nevents: Ir\nsummary: 0\n")
	if r.Runs[0].Status != "empty" {
		t.Errorf("%+v", r.Runs[0])
	}
}

func TestTruncations(t *testing.T) {
	parsertest.Truncations(t, "cachegrind", "cachegrind.out.1", small, 1000)
}

func FuzzCachegrind(f *testing.F) {
	parsertest.Fuzz(f, "cachegrind", small, "cmd: a\nevents: Ir\nfl=\nfn=\n1 1\nsummary: 1\n")
}
