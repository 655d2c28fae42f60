package insight

import (
	"fmt"
	"slices"
	"strings"
)

// PromptOptions bound a prompt.
type PromptOptions struct {
	Tokens int // at most so many; 0 is 2000
	// Count counts the tokens of a text. Without it a token is taken to be three
	// bytes, as stalls.DigestOptions does.
	Count func(text string) int
}

// BudgetError says that not even the most important item fits.
type BudgetError struct{ Tokens, Needs int }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("a prompt of %d tokens has no room for a single item: it needs %d", e.Tokens, e.Needs)
}

// Prompt is the report as text for a language model, within a number of
// tokens: the most important items first, each whole and with its id, and at
// the end which are left out. Items lose their meaning and remedies before
// others are left out.
func (r *Report) Prompt(opt PromptOptions) (string, error) {
	if opt.Tokens <= 0 {
		opt.Tokens = 2000
	}
	if opt.Count == nil {
		opt.Count = func(text string) int { return (len(text) + 2) / 3 }
	}
	head := "Evidence from " + clean(r.subject(), 200) + ". Cite items by their id. Each says what was measured; \"moves\" are the metrics that a successful change moves.\n"
	if len(r.Items) == 0 {
		head = "The profile (" + clean(r.subject(), 200) + ") gives no evidence.\n"
	}
	render := func(forms []int) string {
		var b strings.Builder
		b.WriteString(head)
		var left []string
		said := map[string]string{}
		for i, form := range forms {
			if form == 0 {
				left = append(left, r.Items[i].ID)
				continue
			}
			b.WriteString(r.Items[i].prompt(form, said))
		}
		if len(left) > 0 {
			shown := left
			if len(shown) > 12 {
				shown = append(append([]string{}, shown[:11]...), "...")
			}
			fmt.Fprintf(&b, "(left out for room: %s: %s)\n", plural(len(left), "item"), strings.Join(shown, " "))
		}
		if n := len(r.Missing); n > 0 {
			var names []string
			for _, m := range r.Missing {
				if len(names) == 0 || names[len(names)-1] != m.Analysis {
					names = append(names, m.Analysis)
				}
			}
			fmt.Fprintf(&b, "(not measured: %s)\n", strings.Join(names, ", "))
		}
		return b.String()
	}
	forms := make([]int, len(r.Items))
	text := render(forms)
	fits := opt.Count(text) <= opt.Tokens
	// First statements for a part of the room, then what explains them, then the
	// statements that still fit, all in the order of importance. Not all are tried
	// one by one: the text grows with the number of items, so that the most is
	// found by halving.
	for _, step := range []struct {
		form, tokens int
	}{{1, max(opt.Tokens*3/5, opt.Count(render(first(forms))))}, {2, opt.Tokens}, {1, opt.Tokens}} {
		raise := func(n int) []int {
			out := slices.Clone(forms)
			for i := range n {
				if out[i] == step.form-1 {
					out[i] = step.form
				}
			}
			return out
		}
		low, high := 0, len(forms)
		for low < high {
			n := (low + high + 1) / 2
			if opt.Count(render(raise(n))) <= min(step.tokens, opt.Tokens) {
				low = n
			} else {
				high = n - 1
			}
		}
		forms = raise(low)
	}
	text = render(forms)
	if opt.Count(text) > opt.Tokens || !fits && len(r.Items) == 0 || len(r.Items) > 0 && forms[0] == 0 {
		needs := make([]int, len(r.Items))
		if len(needs) > 0 {
			needs[0] = 1
		}
		return "", &BudgetError{opt.Tokens, opt.Count(render(needs))}
	}
	return text, nil
}

// first is forms with the first item's statement.
func first(forms []int) []int {
	out := slices.Clone(forms)
	if len(out) > 0 {
		out[0] = 1
	}
	return out
}

// prompt is an item as lines of a prompt; form 1 is the statement alone. said
// are meanings and remedies that an item before has, with its id.
func (i Item) prompt(form int, said map[string]string) string {
	out := fmt.Sprintf("[%s] %s%s\n", i.ID, clean(i.Statement, 600), spaced(clean(i.extra(), 300)))
	if form == 1 || i.Verdict == Fine {
		return out
	}
	line := func(head, text string) {
		if text == "" {
			return
		}
		if id := said[text]; id != "" {
			text = "as for " + id
		} else {
			said[text] = i.ID
		}
		out += "  " + head + ": " + clean(text, 600) + "\n"
	}
	line("means", i.Meaning)
	line("usual remedies", strings.Join(i.Remedies, " "))
	if len(i.Moves) > 0 {
		var ms []string
		for _, m := range i.Moves {
			ms = append(ms, m.Metric+" "+string(m.Direction))
		}
		out += "  moves: " + strings.Join(ms, ", ") + "\n"
	}
	return out
}

// spaced is a text after another, with a space between where there is one.
func spaced(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}
