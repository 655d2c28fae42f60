package ncu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors/parsertest"
)

// BenchmarkLong reads 20,000 rows of one metric each.
func BenchmarkLong(b *testing.B) {
	var s strings.Builder
	s.WriteString("\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n")
	for i := range 1000 {
		for m := range 20 {
			fmt.Fprintf(&s, "\"%d\",\"1\",\"app\",\"127.0.0.1\",\"void k%d<float, 3>(const float *, int)\",\"1\",\"7\",\"(256, 1, 1)\",\"(1024, 1, 1)\",\"0\",\"9.0\",\"Command line profiler metrics\",\"m__%d.sum\",\"byte\",\"12,345,%d\"\n", i, i%40, m, 100+i%900)
		}
	}
	b.SetBytes(int64(s.Len()))
	for b.Loop() {
		if _, err := parsertest.Parse("ncu-csv", "long.csv", s.String()); err != nil {
			b.Fatal(err)
		}
	}
}
