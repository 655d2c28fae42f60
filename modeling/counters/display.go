package counters

import (
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
)

func (w Compared) often(k int) string {
	var parts []string
	for _, f := range w.Often[:min(k, len(w.Often))] {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", f.Name, 100*f.Share))
	}
	return strings.Join(parts, ", ")
}

// String is the comparison as text.
func (c *Comparison) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, c.title())
	fmt.Fprintf(&b, "  %-16s %8s %8s %8s %16s\n", "", "R2", "sd", "MAPE", "ensemble better")
	for _, w := range c.Ways {
		fmt.Fprintf(&b, "  %-16s %8.3f %8.3f %8s %16s\n", w.Way, w.R2, w.R2SD, percent(w.MAPE, 1), percent(w.Better, 0))
	}
	for _, w := range c.Ways {
		if s := w.often(c.K); s != "" {
			fmt.Fprintf(&b, "  %s: %s\n", w.Way, s)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func (c *Comparison) title() string {
	return fmt.Sprintf("Predicting %s on unseen rows from %d counters: %s, %d rows, %d-fold cross-validation of choice and fit, %d repeats, seed %d; %d random choices a repeat",
		c.Target, c.K, c.Regressor, c.Rows, c.Folds, c.Repeats, c.Seed, c.Draws)
}

func percent(v float64, digits int) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.*f %%", digits, 100*v)
}

const cell = `style="padding:.15em .7em;border-bottom:1px solid rgba(128,128,128,.35);text-align:`

// table writes HTML: heads and rows of cells that are escaped here. Columns
// whose head starts with "<" are aligned left.
func table(b *strings.Builder, heads []string, rows [][]string) {
	b.WriteString(`<table style="border-collapse:collapse;color:inherit;background:transparent"><tr>`)
	align := make([]string, len(heads))
	for i, h := range heads {
		align[i] = "right"
		if left, ok := strings.CutPrefix(h, "<"); ok {
			h, align[i] = left, "left"
		}
		fmt.Fprintf(b, `<th %s%s">%s</th>`, cell, align[i], display.Escape(h))
	}
	b.WriteString("</tr>")
	for _, row := range rows {
		b.WriteString("<tr>")
		for i, v := range row {
			fmt.Fprintf(b, `<td %s%s">%s</td>`, cell, align[i], display.Escape(v))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table>")
}

// Display shows the comparison as a table.
func (c *Comparison) Display() display.Bundle {
	var b strings.Builder
	b.WriteString(`<div style="color:inherit">` + display.Escape(c.title()))
	var rows [][]string
	for _, w := range c.Ways {
		rows = append(rows, []string{w.Way, fmt.Sprintf("%.3f", w.R2), fmt.Sprintf("%.3f", w.R2SD), percent(w.MAPE, 1), percent(w.Better, 0), w.often(c.K)})
	}
	table(&b, []string{"<", "R²", "sd", "MAPE", "ensemble better", "<chosen in so many folds"}, rows)
	b.WriteString("</div>")
	return display.Bundle{Data: map[string]any{"text/plain": c.String(), "text/html": b.String()}}
}
