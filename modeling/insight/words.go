package insight

import (
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/modeling/tabular"
)

// quantity is a value with its unit as people read it: times and large numbers
// with prefixes.
func quantity(v float64, unit string) string {
	if per, ok := strings.CutPrefix(unit, "s/"); ok && per != "" { // of benchmarks: s/op
		return tabular.Quantity(v, "s") + "/" + per
	}
	switch unit {
	case "s", "%":
		return tabular.Quantity(v, unit)
	case "byte":
		return prefixed(v, "B")
	case "byte/s":
		return prefixed(v, "B/s")
	}
	return prefixed(v, unit)
}

func prefixed(v float64, unit string) string {
	if math.Abs(v) >= 1e4 {
		for _, p := range []struct {
			size float64
			sign string
		}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
			if math.Abs(v) >= 0.9995*p.size {
				return strings.TrimSpace(fmt.Sprintf("%.3g %s%s", v/p.size, p.sign, unit))
			}
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, unit))
}

// percent is a part as percent, to three digits.
func percent(v float64) string {
	switch {
	case math.IsNaN(v):
		return "n/a"
	case v != 0 && math.Abs(v) < 0.0995:
		return fmt.Sprintf("%.2g %%", 100*v)
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}

func plural[T int | int64](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	switch {
	case strings.HasSuffix(what, "h") || strings.HasSuffix(what, "x"):
		what += "e"
	case strings.HasSuffix(what, "y"):
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// clean makes text of a profile fit for one line of a report.
func clean(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 || r == 0x85 }), " ")
	text = strings.ToValidUTF8(text, "�")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// printable is a text of several lines without other control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, text)
}

// mostName is how many characters of a kernel's name a statement holds.
const mostName = 80

func (k *Kernel) short() string { return clean(k.Name, mostName) }
