package tabular_test

import (
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/tabular"
)

func TestTable(t *testing.T) {
	tab := tabular.Table{Title: "Times", Columns: tabular.Columns("<kernel", "time")}
	tab.Add("a<b>", tabular.Quantity(0.0125, "s"))
	tab.Add("µkernel", "1")
	tab.Note("%d rows", 2)
	if got, want := tab.String(), "Times\nkernel      time\na<b>     12.5 ms\nµkernel        1\nnote: 2 rows"; got != want {
		t.Errorf("text:\n%s\nwant:\n%s", got, want)
	}
	html := tab.Display().Data["text/html"].(string)
	if !strings.Contains(html, "a&lt;b&gt;") || strings.Contains(html, "a<b>") {
		t.Errorf("names are not escaped: %s", html)
	}
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{{2.5e-9, "s", "2.5 ns"}, {-3e-6, "s", "-3 µs"}, {0, "s", "0 s"}, {math.NaN(), "s", "n/a"}, {1500, "byte", "1500 byte"}, {2, "", "2"}} {
		if got := tabular.Quantity(c.v, c.unit); got != c.want {
			t.Errorf("Quantity(%g, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
