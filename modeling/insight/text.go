package insight

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteJSON writes the report as indented JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// subject says what the report is about in a few words.
func (r *Report) subject() string {
	if len(r.Runs) == 0 {
		return "no run"
	}
	run := r.Runs[0]
	out := fmt.Sprintf("run %d, %s", run.ID, strings.TrimSpace(run.Tool+" "+run.ToolVersion))
	if m := r.Machine; m != nil {
		for _, part := range []string{m.GPU, m.CPU, m.Host} {
			if part != "" {
				out += " on " + part
				if m.Arch != "" && part == m.GPU {
					out += " (" + m.Arch + ")"
				}
				break
			}
		}
	}
	return out
}

// cite is where a statement comes from, on one line.
func (i Item) cite() string {
	var parts []string
	for _, s := range i.Sources {
		part := fmt.Sprintf("run %d", s.Run)
		var names []string
		seen := map[string]bool{}
		for _, row := range s.Rows {
			name := row.Table
			if row.Metric != "" {
				name = row.Metric
			}
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
		if len(names) > 3 {
			names = append(names[:3], "...")
		}
		if len(names) > 0 {
			part += ": " + strings.Join(names, ", ")
		}
		if s.Count > 0 {
			part += fmt.Sprintf(" (%s)", plural(s.Count, "row"))
		}
		if s.Path != "" {
			part += " of " + s.Path
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// place is where an item is, in short, "" where its statement says it.
func (i Item) place() string {
	if i.Location == nil {
		return ""
	}
	l := *i.Location
	if l.File != "" {
		l.File = base(l.File)
	}
	said := l
	said.Instruction, said.Function = "", ""
	if at := said.String(); at != "" && strings.Contains(i.Statement, at) {
		return ""
	}
	return l.String()
}

// extra is what an item says besides its statement.
func (i Item) extra() string {
	out := ""
	if at := i.place(); at != "" {
		out += " At " + at + "."
	}
	if i.Estimate != "" {
		out += " Estimate: " + i.Estimate + "."
	}
	return out
}

// text is the item as lines of a terminal.
func (i Item) text() string {
	s := fmt.Sprintf("%-4s %s%s\n", i.ID, i.Statement, i.extra())
	if i.Verdict == Problem && len(i.Remedies) > 0 {
		s += "       -> " + strings.Join(i.Remedies, "\n       -> ") + "\n"
	}
	return s
}

// String is the item with where its number comes from.
func (i Item) String() string { return i.text() + "     " + i.cite() }

// Markdown is the report for people.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Insight: %s\n\n", escapeMarkdown(r.subject()))
	for _, run := range r.Runs {
		for _, a := range run.Artefacts {
			fmt.Fprintf(&b, "- run %d (%s): `%s`, sha256 %s\n", run.ID, run.Role, clean(a.Path, 300), a.SHA256)
		}
	}
	for _, n := range r.Notes {
		b.WriteString("- " + escapeMarkdown(n) + "\n")
	}
	if len(r.Kernels) > 0 {
		heads, rows := r.table()
		b.WriteString("\n| " + strings.Join(heads, " | ") + " |\n|---|---|--:|--:|--:|" + strings.Repeat("---|", len(heads)-5) + "\n")
		for _, c := range rows {
			for i := range c {
				c[i] = escapeMarkdown(c[i])
			}
			b.WriteString("| " + strings.Join(c, " | ") + " |\n")
		}
	}
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		for _, i := range s.items {
			fmt.Fprintf(&b, "- **%s** %s\n", i.ID, escapeMarkdown(i.Statement+i.extra()))
			if i.Verdict == Problem {
				if i.Meaning != "" {
					b.WriteString("  " + escapeMarkdown(i.Meaning) + "\n")
				}
				for _, rem := range i.Remedies {
					b.WriteString("  - " + escapeMarkdown(rem) + "\n")
				}
			}
			fmt.Fprintf(&b, "  <sub>%s</sub>\n", escapeMarkdown(i.cite()))
		}
	}
	if len(r.Missing) > 0 {
		b.WriteString("\n## What is not known\n\n")
		for _, m := range r.Missing {
			fmt.Fprintf(&b, "- %s: %s", m.Analysis, escapeMarkdown(m.What))
			if m.Command != "" {
				fmt.Fprintf(&b, "; collect it with `%s`", m.Command)
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "\n<sub>rooflab %s, report version %d. Every number is found again in the store by the query beside it in the JSON.</sub>\n", r.Rooflab, r.Version)
	return b.String()
}

// table is the table of kernels: its heads, of which the third to fifth are of
// numbers, and its rows. What no kernel has is left out.
func (r *Report) table() (heads []string, rows [][]string) {
	heads = []string{"kernel", "kind", "time", "share", "launches"}
	if !slices.ContainsFunc(r.Kernels, func(k *Kernel) bool { return k.Time == nil || k.Unit == "s" }) {
		heads[2] = "cost" // of instructions, samples or bytes
	}
	bound := slices.ContainsFunc(r.Kernels, func(k *Kernel) bool { return k.Bound != "" })
	if bound {
		heads = append(heads, "bound by")
	}
	for _, k := range r.Kernels {
		time, share, launches := "unknown", "", ""
		if k.Time != nil {
			time, share = quantity(*k.Time, k.Unit), percent(*k.Share)
		}
		if k.Launches > 0 {
			launches = fmt.Sprint(k.Launches)
		}
		row := []string{k.short(), k.Kind, time, share, launches}
		if bound {
			row = append(row, k.Bound)
		}
		rows = append(rows, row)
	}
	return heads, rows
}

type section struct {
	title string
	items []Item
}

// sections are the items by what a reader does with them.
func (r *Report) sections() []section {
	var problems, facts, fine []Item
	for _, i := range r.Items {
		switch i.Verdict {
		case Problem:
			problems = append(problems, i)
		case Fine:
			fine = append(fine, i)
		default:
			facts = append(facts, i)
		}
	}
	var out []section
	for _, s := range []section{{"Where time is lost", problems}, {"What else is known", facts}, {"Looked at and found in order", fine}} {
		if len(s.items) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// escapeMarkdown makes text of a profile safe in Markdown.
func escapeMarkdown(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "|", `\|`, "[", `\[`, "]", `\]`).Replace(s)
}

// String is the report as text.
func (r *Report) String() string {
	var b strings.Builder
	b.WriteString("Insight: " + r.subject() + "\n")
	for _, n := range r.Notes {
		b.WriteString("note: " + n + "\n")
	}
	for _, s := range r.sections() {
		b.WriteString("\n" + s.title + "\n")
		for _, i := range s.items {
			b.WriteString(i.text())
		}
	}
	if len(r.Missing) > 0 {
		b.WriteString("\nWhat is not known\n")
		for _, m := range r.Missing {
			b.WriteString("     " + m.Analysis + ": " + m.What)
			if m.Command != "" {
				b.WriteString("\n       -> " + m.Command)
			}
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
