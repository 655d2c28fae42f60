package prompt

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/target"
)

// task says what is wanted, in words of the target.
func (b *builder) task() string {
	t := b.in.Target
	goal := "take less time"
	if t.Measure.Metric == target.Energy {
		goal = "take less energy"
	}
	var w strings.Builder
	fmt.Fprintf(&w, "Task: change the %s program %s so that it will %s.\n", language(t.Language), plain(t.Name), goal)
	if ks := t.Kernels(); len(ks) > 0 {
		fmt.Fprintf(&w, "What is hot: %s.\n", plain(strings.Join(ks, ", ")))
	}
	for _, s := range b.in.Sources {
		if len(s.Editable) > 0 {
			var at []string
			for _, r := range s.Editable {
				at = append(at, r.String())
			}
			fmt.Fprintf(&w, "Editable: %s, lines %s.\n", plain(s.Path), strings.Join(at, ", "))
		}
	}
	for _, c := range t.Build.Commands {
		fmt.Fprintf(&w, "Built by: %s\n", plain(c.String()))
	}
	if len(t.Run.Command) > 0 {
		fmt.Fprintf(&w, "Run by: %s\n", plain(t.Run.Command.String()))
	}
	for _, o := range t.Outputs {
		fmt.Fprintf(&w, "Output: %s must stay %s.\n", plain(o.Name()), within(o))
	}
	return w.String()
}

func language(l target.Language) string {
	switch l {
	case target.CPlusPlus:
		return "C++"
	case target.C, target.CUDA, target.HIP:
		return strings.ToUpper(string(l))
	case target.OpenCL:
		return "OpenCL"
	}
	return plain(string(l))
}

// within says how near an output must be.
func within(o target.Output) string {
	t := o.Tolerance
	switch {
	case t == nil:
		return "the same bit for bit"
	case t.ULP != nil:
		return fmt.Sprintf("within %d ulp, number by number (%s)", *t.ULP, o.Format)
	}
	var parts []string
	if t.Relative != nil {
		parts = append(parts, fmt.Sprintf("%g relative", *t.Relative))
	}
	if t.Absolute != nil {
		parts = append(parts, fmt.Sprintf("%g absolute", *t.Absolute))
	}
	return fmt.Sprintf("within %s, number by number (%s)", strings.Join(parts, " plus "), o.Format)
}

// data is lines of others between marks. The key is made of the content, so
// that no text can hold the mark that ends it; the bar before each line keeps
// it from looking like one all the same.
func data(name string, rows []string) string {
	body := ""
	if len(rows) > 0 {
		body = "|" + strings.Join(rows, "\n|") + "\n"
	}
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))[:8]
	return fmt.Sprintf("BEGIN DATA %s %s\n%sEND DATA %s\n", plain(name), key, body, key)
}

// lines is a text by lines that are safe to show, each behind a blank.
func lines(text string) []string {
	out := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range out {
		out[i] = " " + visible(strings.TrimSuffix(l, "\r"))
	}
	return out
}

// plain is a text on one line, for where no data is expected.
func plain(s string) string {
	const most = 400
	s = visible(strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "..."
	}
	return s
}

// visible writes out what cannot be seen or turns the order of text around:
// control and format characters, and bytes that are no UTF-8.
func visible(s string) string {
	if !strings.ContainsFunc(s, edit.Unseen) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x{%02x}`, s[i])
		case edit.Unseen(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden notes lines of sources whose characters were written out.
func (b *builder) hidden() []string {
	var out []string
	for _, s := range b.in.Sources {
		var at []string
		for i, l := range split(s.Text) {
			if strings.ContainsFunc(l, edit.Unseen) {
				at = append(at, fmt.Sprint(i+1))
			}
		}
		if n := len(at); n > 0 {
			if n > 10 {
				at = append(at[:10], "...")
			}
			out = append(out, fmt.Sprintf("%s has characters that cannot be seen, which are written out, at lines %s", plain(s.Path), strings.Join(at, ", ")))
		}
	}
	return out
}

// text is an example as data.
func (e Example) text() string {
	out := []string{" what: " + plain(e.Title), " outcome: " + plain(e.Outcome)}
	if len(e.Edits) > 0 {
		out = append(out, lines(edit.Format(e.Edits))...)
	}
	return data("example", out)
}

// text says what failed. Of a long log the beginning, where a compiler says
// what is wrong first, and the end are kept.
func (f *Failure) text(most int) string {
	log := f.Log
	if len(log) > most {
		begin, end := log[:most*2/3], log[len(log)-most/3:]
		log = strings.ToValidUTF8(begin, "") + fmt.Sprintf("\n... (%d bytes left out)\n", len(f.Log)-most) + strings.ToValidUTF8(end, "")
	}
	out := "Your edits failed at " + plain(f.Step) + ". Write them again, corrected, for the source as it is shown above.\n"
	return out + data("edits", lines(edit.Format(f.Edits))) + data("log", lines(log))
}

// leftExamples says which examples a plan has no room for.
func (b *builder) leftExamples(p plan) string {
	all := len(b.in.Examples) + len(b.in.Elsewhere)
	n := all - len(p.examples) - len(p.past)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d attempts and examples", n, all)
}

// split is a text by lines without their ends.
func split(text string) []string {
	out := strings.Split(text, "\n")
	if n := len(out); out[n-1] == "" {
		out = out[:n-1]
	}
	for i, l := range out {
		out[i] = strings.TrimSuffix(l, "\r")
	}
	return out
}

// step is how much of the sources is shown.
type step struct {
	around int // lines before and behind the editable ones; all below 0
	others int // files without editable lines, from the first
}

// steps are from the least to the most.
func (b *builder) steps() []step {
	out := []step{{0, 0}, {5, 0}, {20, 0}, {60, 0}, {-1, 0}}
	n := 0
	for _, s := range b.in.Sources {
		if len(s.Editable) == 0 {
			n++
			out = append(out, step{-1, n})
		}
	}
	return out
}

type shown struct {
	text string
	left int // lines
}

// shown are the sources of a step, those with editable lines first.
func (b *builder) shown(at int) []shown {
	s := b.steps()[at]
	var out []shown
	for _, src := range b.in.Sources {
		if len(src.Editable) > 0 {
			out = append(out, numbered(src, s.around))
		}
	}
	others := 0
	for _, src := range b.in.Sources {
		if len(src.Editable) == 0 && others < s.others {
			others++
			out = append(out, numbered(src, -1))
		}
	}
	return out
}

// leftSources says what of the sources a step leaves out.
func (b *builder) leftSources(at int) string {
	n := 0
	for _, s := range b.shown(at) {
		n += s.left
	}
	var parts, files []string
	if n > 0 {
		parts = append(parts, fmt.Sprintf("%d lines of editable files", n))
	}
	skip := b.steps()[at].others
	for _, s := range b.in.Sources {
		if len(s.Editable) == 0 {
			if skip > 0 {
				skip--
				continue
			}
			files = append(files, plain(s.Path))
		}
	}
	if len(files) > 0 {
		parts = append(parts, "the read-only files "+strings.Join(files, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ")
}

// numbered is a source with line numbers, a star at lines that may be changed,
// and only so many lines around those.
func numbered(src edit.Source, around int) shown {
	text := split(src.Text)
	var out shown
	var rows []string
	gap := 0
	flush := func(next int) {
		if gap > 0 {
			rows = append(rows, fmt.Sprintf("      ... lines %s left out", edit.Range{Start: next - gap, End: next - 1}))
			out.left += gap
			gap = 0
		}
	}
	within := func(n, near int) bool {
		return slices.ContainsFunc(src.Editable, func(r edit.Range) bool { return n >= r.Start-near && n <= r.End+near })
	}
	for i, l := range text {
		n := i + 1
		if around >= 0 && !within(n, around) {
			gap++
			continue
		}
		flush(n)
		star := " "
		if within(n, 0) {
			star = "*"
		} else if r := []rune(l); len(r) > 300 {
			l = string(r[:300]) + fmt.Sprintf(" ... (%d characters more)", len(r)-300)
		}
		if l != "" {
			l = " " + visible(l)
		}
		rows = append(rows, fmt.Sprintf("%5d%s", n, star)+l)
	}
	flush(len(text) + 1)
	out.text = data(src.Path, rows)
	return out
}
