package insight_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/insight"
)

// What ncu writes without further options is its page of details: names for
// people, each in a section, and two numbers of the name Memory Throughput. At
// 2.8475 TB/s, which is 85 % of the peak, the peak is 3.35 TB/s, and the kernel
// of 1 ms would take 0.85 ms at it. 71.5 % of the warps of 100 % are there.
func TestThePageOfDetailsIsRead(t *testing.T) {
	rows := []string{"\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\""}
	for _, r := range [][4]string{
		{"GPU Speed Of Light Throughput", "Memory Throughput", "%", "85.00"}, {"GPU Speed Of Light Throughput", "DRAM Throughput", "%", "85.00"},
		{"GPU Speed Of Light Throughput", "Duration", "ms", "1.00"}, {"GPU Speed Of Light Throughput", "Compute (SM) Throughput", "%", "20.0"},
		{"Memory Workload Analysis", "Memory Throughput", "Gbyte/second", "2,847.50"}, {"Memory Workload Analysis", "L2 Hit Rate", "%", "33.0"},
		{"Occupancy", "Theoretical Occupancy", "%", "100"}, {"Occupancy", "Achieved Occupancy", "%", "71.5"},
	} {
		rows = append(rows, `"0","add(double *)","(256, 1, 1)","(8192, 1, 1)","0","9.0","`+strings.Join(r[:], `","`)+`"`)
	}
	path := filepath.Join(t.TempDir(), "details.csv")
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t)
	r := of(t, s, insight.Options{Run: importFile(t, s, path)})
	verified(t, r, s)
	for _, c := range []struct {
		kind  insight.Kind
		rule  string
		value float64
	}{{insight.Roofline, "dram-bound", 0.85}, {insight.Roofline, "dram-roof", 0.85e-3}, {insight.Counter, "l2-hit-rate", 33}, {insight.LaunchUse, "achieved-occupancy", 0.715}} {
		if i := rule(t, r, c.kind, c.rule); !near(i.Value, c.value, 1e-9) {
			t.Errorf("%s is %g, want %g: %s", c.rule, i.Value, c.value, i.Statement)
		}
	}
	if r.Kernels[0].Bound != "DRAM" {
		t.Errorf("bound by %q", r.Kernels[0].Bound)
	}
}
