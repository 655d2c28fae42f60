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
	fmt.Fprintf(&b, "  %-16s %8s %16s %8s  %-28s %8s %16s\n", "", "R2", "95 % interval", "sd", "ensemble ahead by", "MAPE", "ensemble better")
	for _, w := range c.Ways {
		fmt.Fprintf(&b, "  %-16s %8.3f %16s %8.3f  %-28s %8s %16s\n", w.Way, w.R2, span(w.Low, w.High), w.R2SD, w.ahead(), percent(w.MAPE, 1), percent(w.Better, 0))
	}
	for _, w := range c.Ways {
		if s := w.often(c.K); s != "" {
			fmt.Fprintf(&b, "  %s: %s\n", w.Way, s)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func span(low, high float64) string { return fmt.Sprintf("%.3f to %.3f", low, high) }

// ahead is by how much the ensemble's R2 is larger, with the paired interval.
func (w Compared) ahead() string {
	if math.IsNaN(w.Ahead) {
		return "-"
	}
	return fmt.Sprintf("%+.4f (%+.4f to %+.4f)", w.Ahead, w.AheadLow, w.AheadHigh)
}

func (c *Comparison) title() string {
	return fmt.Sprintf("Predicting %s on unseen rows from %d counters: %s, %d rows, %d-fold cross-validation of choice and fit, %d repeats, seed %d; %d random choices a repeat; intervals by bootstrap over rows",
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
		rows = append(rows, []string{w.Way, fmt.Sprintf("%.3f", w.R2), span(w.Low, w.High), fmt.Sprintf("%.3f", w.R2SD), w.ahead(), percent(w.MAPE, 1), percent(w.Better, 0), w.often(c.K)})
	}
	table(&b, []string{"<", "R²", "95 % interval", "sd", "ensemble ahead by", "MAPE", "ensemble better", "<chosen in so many folds"}, rows)
	b.WriteString("</div>")
	return display.Bundle{Data: map[string]any{"text/plain": c.String(), "text/html": b.String()}}
}

// maxShown counters are listed besides the chosen.
const maxShown = 15

// agreed is the share of members from which their sign is shown.
const agreed = 0.75

func (r *Result) title() string {
	what := r.Target
	if r.LogTime {
		what = "log " + what
	}
	s := fmt.Sprintf("%d of %d counters explain %s of the variance of %s on %d rows", len(r.Chosen), len(r.All), percent(r.R2, 1), what, r.Rows)
	if r.Units != r.Rows {
		s += fmt.Sprintf(" of %d groups", r.Units)
	}
	return s
}

// how says what was done, and what happened to rows and gaps.
func (r *Result) how() string {
	s := fmt.Sprintf("%d matching pursuits on bootstrap samples, each offered %.0f %% of the counters, drawing among the best %d; seed %d", r.Members, 100*r.Options.Columns, r.Options.Best, r.Options.Seed)
	if r.LeftOut > 0 {
		s += fmt.Sprintf("; %d rows without %s left out", r.LeftOut, r.Target)
	}
	if r.Gaps > 0 {
		s += fmt.Sprintf("; %d missing values took their column's median", r.Gaps)
	}
	if r.Lasso.Folds > 0 {
		s += fmt.Sprintf("; LASSO at penalty %.3g (%d folds), mutual information by %d nearest neighbours", r.Lasso.Penalty, r.Lasso.Folds, neighbours)
	}
	return s
}

func (c *Counter) label() string {
	if c.Log {
		return "log " + c.Name
	}
	return c.Name
}

// sign is that of the coefficient; "\u00b1" where members do not agree on it.
func (c *Counter) sign() string {
	switch {
	case c.Sign != 0 && c.SignShare < agreed:
		return "\u00b1"
	case c.Sign > 0:
		return "+"
	case c.Sign < 0:
		return "\u2212"
	}
	return ""
}

// others are the most stable counters that were not chosen.
func (r *Result) others() []Counter {
	var out []Counter
	for _, c := range r.All {
		if c.Adds == 0 && len(out) < maxShown {
			out = append(out, c)
		}
	}
	return out
}

// String is the choice as text: the chosen counters with what they mean, then
// the most stable of the others.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.title())
	width := 8
	for _, c := range append(r.others(), r.Chosen...) {
		width = max(width, len(c.label()))
	}
	line := func(c *Counter) {
		fmt.Fprintf(&b, "  %-*s %9s %6.1f %5s %9s %9s %9.3f %9.3f %9.3f\n", width, c.label(), percent(c.Stability, 0), c.Rank, c.sign(), percent(c.Importance, 1), percent(c.Adds, 1), c.Correlation, c.Lasso, c.Mutual)
	}
	same := func(c *Counter) {
		if len(c.Aliases) > 0 {
			fmt.Fprintf(&b, "      the same as %s\n", strings.Join(c.Aliases, ", "))
		}
	}
	fmt.Fprintf(&b, "  %-*s %9s %6s %5s %9s %9s %9s %9s %9s\n", width, "", "stability", "rank", "sign", "importance", "adds", "r", "LASSO", "MI (nat)")
	for i := range r.Chosen {
		c := &r.Chosen[i]
		line(c)
		fmt.Fprintf(&b, "      %s\n", c.About)
		same(c)
	}
	if others := r.others(); len(others) > 0 {
		b.WriteString("not chosen:\n")
		for i := range others {
			line(&others[i])
			same(&others[i])
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	if len(r.Dropped) > 0 {
		fmt.Fprintf(&b, "no candidates: %s\n", reasons(r.Dropped))
	}
	b.WriteString(r.how())
	return b.String()
}

// Display shows the choice as a table; columns that were no candidates, and
// the other counters, are folded away.
func (r *Result) Display() display.Bundle {
	e := display.Escape
	heads := []string{"<counter", "stability", "mean rank", "sign", "importance", "adds", "r", "LASSO", "MI (nat)", "<meaning"}
	row := func(c *Counter) []string {
		about := c.About.String()
		if len(c.Aliases) > 0 {
			about += "; the same as " + strings.Join(c.Aliases, ", ")
		}
		rank := ""
		if c.Stability > 0 {
			rank = fmt.Sprintf("%.1f", c.Rank)
		}
		return []string{c.label(), percent(c.Stability, 0), rank, c.sign(), percent(c.Importance, 1), percent(c.Adds, 1),
			fmt.Sprintf("%.3f", c.Correlation), fmt.Sprintf("%.3f", c.Lasso), fmt.Sprintf("%.3f", c.Mutual), about}
	}
	rows := func(cs []Counter) (out [][]string) {
		for i := range cs {
			out = append(out, row(&cs[i]))
		}
		return out
	}
	var b strings.Builder
	b.WriteString(`<div style="color:inherit">` + e(r.title()))
	table(&b, heads, rows(r.Chosen))
	if others := r.others(); len(others) > 0 {
		fmt.Fprintf(&b, "<details><summary>%d more of %d counters, the most stable first</summary>", len(others), len(r.All))
		table(&b, heads, rows(others))
		b.WriteString("</details>")
	}
	b.WriteString(`<div style="font-size:90%;opacity:.8">` + e(r.how()))
	for _, w := range r.Warnings {
		b.WriteString("<br>Warning: " + e(w))
	}
	if len(r.Dropped) > 0 {
		fmt.Fprintf(&b, "<details><summary>%d columns were no candidates</summary>%s</details>", len(r.Dropped), e(reasons(r.Dropped)))
	}
	b.WriteString("</div></div>")
	return display.Bundle{Data: map[string]any{"text/plain": r.String(), "text/html": b.String()}}
}
