package ncu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors/parsertest"
)

// Rows whose first cells are those of the row before are read in a short way.
// The same rows with another process name in each must say the same.
func TestTheShortWaySaysWhatTheLongOneDoes(t *testing.T) {
	cells := []string{
		`"dram__bytes.sum","byte","53,261,312"`, `"gpu__time_duration.sum","us","10.25"`, `"launch__cache","","n/a"`, `"name","","a ""quoted"" text"`,
		`"ratio","%","1,234.5"`, `"blank "," % "," 7 "`, `"empty","inst",""`, `"marked","inst","(!) 12"`, `"instances","inst","12 (1; 11)"`,
		`"scaled","Kbyte","65.54"`, `"big","inst","123,456,789,012,345,678"`, `"negative","inst","-3"`, `"exponent","inst","1e+03"`, `"ambiguous","inst","117.344"`,
		`"decimal","us","12.345678"`, `"both","Mbyte","1,234,567.25"`, `"small","s","0.000001"`, `"zero","%","0.00"`, `"rate","Gbyte/second","1.5"`, `"cycles","cycle/nsecond","1.41"`,
		`"grouped","inst","117,344"`, `"binary","KiB","2.5"`, `"long","ns","12345678901234.5678"`, `"third","%","33.333"`, `"tenth","usecond","0.1"`,
	}
	file := func(process func(int) string) string {
		var b strings.Builder
		b.WriteString(longHeader)
		n := 0
		for l := range 3 {
			for _, c := range cells {
				n++
				fmt.Fprintf(&b, "\"%d\",\"4711\",\"%s\",\"h\",\"k%d(int)\",\"1\",\"7\",\"(64, 1, 1)\",\"(%d, 1, 1)\",\"0\",\"8.0\",\"Command line profiler metrics\",%s\n", l, process(n), l%2, l+1, c)
			}
		}
		return b.String()
	}
	short := parsertest.MustParse(t, "ncu-csv", "short.csv", file(func(int) string { return "app" }))
	long := parsertest.MustParse(t, "ncu-csv", "long.csv", file(func(n int) string { return fmt.Sprint("app", n%2) }))
	if len(short.Counters) != 3*len(cells) {
		t.Fatalf("%d counters, want %d", len(short.Counters), 3*len(cells))
	}
	for i := range short.Counters {
		if short.Counters[i] != long.Counters[i] {
			t.Errorf("counter %d is %+v, in the long way %+v", i, short.Counters[i], long.Counters[i])
		}
	}
	for i := range short.Launches {
		if short.Launches[i] != long.Launches[i] {
			t.Errorf("launch %d is %+v, in the long way %+v", i, short.Launches[i], long.Launches[i])
		}
	}
	// Faults have the same places.
	for _, bad := range []string{`"m","byte","12a"`, `"m","12","7"`, `"m","byte","1,5,0"`, `"m","byte","65,77"`, `"m","byte"`, `"m","byte","1","2"`, `"m","byte","1`} {
		cut := func(process func(int) string) error {
			_, err := parsertest.Parse("ncu-csv", "f", file(process)+strings.Replace(file(process), longHeader, "", 1)[:strings.Index(file(process)[len(longHeader):], `"dram__bytes.sum"`)]+bad+"\n")
			return err
		}
		a, b := cut(func(int) string { return "app" }), cut(func(n int) string { return fmt.Sprint("ap", n%2) })
		if a == nil || b == nil || a.Error() != b.Error() {
			t.Errorf("%s: %v, in the long way %v", bad, a, b)
		}
	}
}
