package kernelcost

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Frame is the counts of lines as a dataframe, a row per line that executes
// something: line, flop, int, the accesses and bytes of global memory, the share
// that is assumed (0 to 1), then a column per Kind, all of the whole launch.
func (c *Cost) Frame() dataframe.DataFrame {
	n := len(c.Lines)
	lines := make([]int, n)
	for i, l := range c.Lines {
		lines[i] = l.Number
	}
	cols := []series.Series{series.New(lines, series.Int, "line")}
	add := func(name string, of func(l *Line) float64) {
		v := make([]float64, n)
		for i := range c.Lines {
			v[i] = of(&c.Lines[i])
		}
		cols = append(cols, series.New(v, series.Float, name))
	}
	add("flop", func(l *Line) float64 { return l.Total.Flops() })
	add("int", func(l *Line) float64 { return l.Total.Ints() })
	add("global_accesses", func(l *Line) float64 { return l.Total.Accesses() })
	add("global_bytes", func(l *Line) float64 { return l.Total.GlobalBytes() })
	add("assumed_share", func(l *Line) float64 { return share(&l.Assumed, &l.Total) })
	for k := range Kinds {
		add(k.String(), func(l *Line) float64 { return l.Total[k] })
	}
	return dataframe.New(cols...)
}

// SiteFrame is the places that access memory as a dataframe, a row each: line,
// buffer, space, operation, element_bytes, count, certainty, pattern, stride
// (bytes), sectors, conflicts.
func (c *Cost) SiteFrame() dataframe.DataFrame {
	n := len(c.Sites)
	text := func(name string, of func(s *Site) string) series.Series {
		v := make([]string, n)
		for i := range c.Sites {
			v[i] = of(&c.Sites[i])
		}
		return series.New(v, series.String, name)
	}
	number := func(name string, t series.Type, of func(s *Site) float64) series.Series {
		v := make([]float64, n)
		for i := range c.Sites {
			v[i] = of(&c.Sites[i])
		}
		return series.New(v, t, name)
	}
	return dataframe.New(
		number("line", series.Int, func(s *Site) float64 { return float64(s.Line) }),
		text("buffer", func(s *Site) string { return s.Buffer }),
		text("space", func(s *Site) string { return s.Space.String() }),
		text("operation", func(s *Site) string { return s.Operation }),
		number("element_bytes", series.Int, func(s *Site) float64 { return float64(s.Bytes) }),
		number("count", series.Float, func(s *Site) float64 { return s.Count }),
		text("certainty", func(s *Site) string { return string(s.Certainty) }),
		text("pattern", func(s *Site) string { return s.Pattern.String() }),
		number("stride", series.Int, func(s *Site) float64 { return float64(s.Stride) }),
		number("sectors", series.Float, func(s *Site) float64 { return s.Sectors }),
		number("conflicts", series.Float, func(s *Site) float64 { return s.Conflicts }),
	)
}

// count is a number as a table shows it; nothing for 0.
func count(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 1e6 && x == float64(int64(x)):
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// LineTable is the counts of lines beside their text; columns of what no line
// does are left out.
func (c *Cost) LineTable() tabular.Table {
	t := tabular.Table{Title: fmt.Sprintf("%s: %.0f work-items, per line", c.Kernel, c.Items),
		Columns: tabular.Columns("line", "<source", "flop", "special", "int", "global", "bytes", "local", "private", "branches", "barriers", "<sure", "<pattern")}
	text := strings.Split(c.source, "\n")
	patterns := map[int][]string{}
	for _, s := range c.Sites {
		patterns[s.Line] = append(patterns[s.Line], s.describe())
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		n := &l.Total
		special := 0.0
		for _, b := range []int{2, 4, 8} {
			special += n[Float(Div, b)] + n[Float(Sqrt, b)] + n[Float(Transcendental, b)] + n[Float(Trigonometric, b)] + n[Float(Power, b)]
		}
		sure := string(Exact)
		if a := share(&l.Assumed, n); a > 0 {
			sure = fmt.Sprintf("%.0f %% assumed", 100*a)
		} else if share(&l.Sampled, n) > 0 {
			sure = string(BySample)
		}
		line := ""
		if l.Number >= 1 && l.Number <= len(text) {
			line = strings.TrimSpace(text[l.Number-1])
			if r := []rune(line); len(r) > 48 {
				line = string(r[:47]) + "…"
			}
		}
		t.Add(strconv.Itoa(l.Number), line, count(n.Flops()), count(special), count(n.Ints()), count(n.Accesses()), count(n.GlobalBytes()),
			count(n[LocalLoad]+n[LocalStore]+n[LocalAtomic]), count(n[PrivateLoad]+n[PrivateStore]), count(n.Branches()), count(n[Barrier]),
			sure, strings.Join(dedupe(patterns[l.Number]), ", "))
	}
	dropEmpty(&t)
	for _, n := range c.Notes {
		t.Note("%s", n)
	}
	return t
}

// dropEmpty takes out columns in which nothing stands.
func dropEmpty(t *tabular.Table) {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if slices.ContainsFunc(t.Rows, func(r []string) bool { return r[i] != "" }) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for j := range t.Rows {
			t.Rows[j] = slices.Delete(t.Rows[j], i, i+1)
		}
	}
}

func (s *Site) describe() string {
	if s.Pattern == Strided || s.Pattern == Transposed {
		return fmt.Sprintf("%s %s by %d B", s.Buffer, s.Pattern, s.Stride)
	}
	return s.Buffer + " " + s.Pattern.String()
}

func dedupe(ss []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range ss {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// BufferTable is what is known of the buffers.
func (c *Cost) BufferTable() tabular.Table {
	t := tabular.Table{Title: "buffers of " + c.Kernel, Columns: tabular.Columns("<buffer", "<space", "<element", "<use", "elements needed", "bytes", "<sure")}
	for _, b := range c.Buffers {
		use := map[[2]bool]string{{true, true}: "read, written", {true, false}: "read", {false, true}: "written", {false, false}: "not accessed"}[[2]bool{b.Reads, b.Writes}]
		elements, bytes, sure := "unknown", "unknown", b.Why
		if b.Known {
			elements, bytes, sure = strconv.FormatInt(b.Elements(), 10), strconv.FormatInt(b.Bytes, 10), "enough"
			if b.Tight {
				sure = "reached"
			}
		}
		t.Add(b.Name, b.Space.String(), b.Element, use, elements, bytes, sure)
	}
	return t
}

// Display shows the counts by line and the buffers.
func (c *Cost) Display() display.Bundle { return tabular.Join(c.LineTable(), c.BufferTable()) }

func (c *Cost) summary() string {
	b, known := c.Footprint()
	at := "at least "
	if known {
		at = ""
	}
	return fmt.Sprintf("%s: %s flop, %s integer operations, %s B of global memory asked for (%s%s B touched), %.3g flop/B; %.0f %% assumed, %.0f %% sampled",
		c.Kernel, count(c.Total.Flops()), count(c.Total.Ints()), count(c.Total.GlobalBytes()), at, count(b), c.Intensity(), 100*c.AssumedShare(), 100*c.SampledShare())
}
