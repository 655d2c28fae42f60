package insight

import (
	"fmt"
	"strings"
	"testing"
)

// spaced are the names of counters with spaces that rules use.
var spacedNames = []string{"est. achieved occupancy %", "blocks per SM", "CPUs utilized", "Front-End Bound",
	"L1/TEX Hit Rate", "L2 Hit Rate", "Avg. Active Threads Per Warp", "Avg. Not Predicated Off Threads Per Warp", "Issued Warp Per Scheduler",
	"Eligible Warps Per Scheduler", "Achieved Occupancy", "Theoretical Occupancy"}

func knownNames(rest string) string {
	for _, n := range spacedNames {
		if strings.HasPrefix(rest, n) {
			return n
		}
	}
	return ""
}

func TestFormulasKeepPrecedenceAndBrackets(t *testing.T) {
	for text, want := range map[string]string{
		"a":                           "<a>",
		"a + b x c":                   "(<a> + (<b> * <c>))",
		"a / b / c":                   "((<a> / nullif(<b>, 0)) / nullif(<c>, 0))",
		"32 x (a + b) / (c x d)":      "((32 * (<a> + <b>)) / nullif((<c> * <d>), 0))",
		"1 - a x b / c":               "(1 - ((<a> * <b>) / nullif(<c>, 0)))",
		"-1 x L1-dcache-loads + x/y/": "((-1 * <L1-dcache-loads>) + <x/y/>)",
		"100 x CPUs utilized / a":     "((100 * <CPUs utilized>) / nullif(<a>, 0))",
	} {
		f, err := parse(text, knownNames)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := f.sql(func(n string) string { return "<" + n + ">" }); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	for _, bad := range []string{"", "a +", "(a", "a b", "a + (b x c", " a"} {
		if f, err := parse(bad, knownNames); err == nil {
			t.Errorf("%q is read as %+v", bad, f)
		}
	}
}

// Every rule's formulas are read, its sentences take a kernel and a number, and
// a rule that calls something a problem says what to do about it.
func TestRulesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range []family{nvidiaRules, amdRules, cpuRules, {"launches", launchFormulas}} {
		for _, r := range f.rules {
			if seen[r.name] || r.what == "" || r.from == "" || r.bad == "" || len(r.value) == 0 {
				t.Errorf("%s: twice, or without its number, threshold's source or sentence", r.name)
			}
			seen[r.name] = true
			for _, v := range append(append([]string{}, r.value...), r.when...) {
				for _, part := range strings.Split(v, " // ") {
					if _, err := parse(part, knownNames); err != nil {
						t.Errorf("%s: %v", r.name, err)
					}
				}
			}
			for _, text := range []string{r.bad, r.fine} {
				if said := fmt.Sprintf(text, "KERNEL", "NUMBER"); text != "" && (strings.Contains(said, "%!") || !strings.Contains(said, "KERNEL") || !strings.Contains(said, "NUMBER") || !strings.HasSuffix(said, ".")) {
					t.Errorf("%s says %q", r.name, said)
				}
			}
			if !r.fact && (r.meaning == "" || len(r.remedies) == 0) {
				t.Errorf("%s: a problem without its meaning or a remedy", r.name)
			}
		}
	}
	for _, f := range []family{nvidiaRules, amdRules, cpuRules, {"launches", launchFormulas}} {
		for _, r := range f.rules {
			if r.unless != "" && !seen[r.unless] {
				t.Errorf("%s gives way to %s, which is no rule", r.name, r.unless)
			}
		}
	}
}

func TestQuantitiesAreReadable(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		unit string
		want string
	}{
		{0.001637408, "s", "1.637 ms"}, {6.953e11, "byte/s", "695 GB/s"}, {4.695e6, "", "4.7 M"}, {87.5, "%", "87.5 %"}, {9999, "", "9999"}, {1e4, "", "10 k"}, {32, "byte", "32 B"}, {7.38e-05, "s/op", "73.8 µs/op"},
	} {
		if got := quantity(tt.v, tt.unit); got != tt.want {
			t.Errorf("%g %s is %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
	for v, want := range map[float64]string{0.9417: "94 %", 0.0907: "9.1 %", 0.00098: "0.098 %", 0: "0 %", 2.15: "215 %"} {
		if got := percent(v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
	if got := clean("a\n\x1b[31mb\u2028c\xff", 80); strings.ContainsAny(got, "\n\x1b\u2028") || !strings.Contains(got, "c") {
		t.Errorf("%q", got)
	}
}
