package stalls

import (
	"fmt"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

const (
	around   = 3   // lines of source around one with samples
	maxShown = 200 // lines with samples in a listing, the most stalled ones
)

// block is the listed part of one file.
type block struct {
	file    string
	share   float64
	stalled int64
	source  bool // the text of the file is known
	rows    []shown
}

// shown is a row of a listing.
type shown struct {
	number datasets.Null[int64]
	text   string
	at     *Line // nil where there are no samples
	gap    int64 // so many lines are left out here, when above 0
}

// blocks arranges the most stalled lines by file, with the source around them.
func (k *Kernel) blocks() []block {
	var order []string
	of := map[string][]*Line{}
	for i := range k.Lines {
		if i == maxShown {
			break
		}
		l := &k.Lines[i]
		name := l.File
		if !l.Known() && name == "" {
			name = "\xff" // comes last
		}
		if of[name] == nil {
			order = append(order, name)
		}
		of[name] = append(of[name], l)
	}
	var out []block
	for _, name := range order {
		b := block{file: strings.TrimPrefix(name, "\xff"), source: len(k.sources[name]) > 0}
		lines := of[name]
		sort.SliceStable(lines, func(i, j int) bool {
			a, b := lines[i].Line, lines[j].Line
			return a.Valid && (!b.Valid || a.V < b.V)
		})
		last := int64(0)
		for i, l := range lines {
			b.stalled += l.Stalled()
			if !l.Line.Valid {
				b.rows = append(b.rows, shown{at: l, text: "(no line information)"})
				continue
			}
			from, to := l.Line.V, l.Line.V
			if b.source {
				from, to = max(from-around, 1), min(to+around, int64(len(k.sources[name])))
				if i+1 < len(lines) && lines[i+1].Line.Valid {
					to = min(to, lines[i+1].Line.V-1)
				}
				to = max(to, l.Line.V)
			}
			from = max(from, last+1)
			if from > last+1 && (b.source || last > 0) {
				b.rows = append(b.rows, shown{gap: from - last - 1})
			}
			for n := from; n <= to; n++ {
				r := shown{number: datasets.Some(n), text: k.text(name, datasets.Some(n))}
				if n == l.Line.V {
					r.at, r.text = l, l.Text
				}
				b.rows = append(b.rows, r)
			}
			last = to
		}
		if n := int64(len(k.sources[name])); b.source && n > last {
			b.rows = append(b.rows, shown{gap: n - last})
		}
		b.share = part(b.stalled, k.Stalled())
		out = append(out, b)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].stalled > out[j].stalled })
	return out
}

// name is what stands above a block.
func (b block) name() string {
	switch {
	case b.file == "" && len(b.rows) > 0 && b.rows[0].at != nil && !b.rows[0].at.Known():
		return "(no line information)"
	case b.file == "":
		return "(no file information)"
	case !b.source:
		return b.file + " (the profile does not hold this file's text)"
	}
	return b.file
}

// left says what a listing leaves out, "" for nothing.
func (k *Kernel) left() string {
	var n int
	var stalled int64
	for i := maxShown; i < len(k.Lines); i++ {
		n++
		stalled += k.Lines[i].Stalled()
	}
	n, stalled = n+k.Rest.Count, stalled+k.Rest.Stalled()
	switch {
	case !k.loaded:
		return "the kernel's lines are not read: Kernel.Load does"
	case n == 0:
		return ""
	}
	return fmt.Sprintf("not shown: %s with %s of the stalls", plural(int64(n), "more line"), percent(part(stalled, k.Stalled())))
}

// why names the reasons of a row: the dominant ones, or else the first.
func (k *Kernel) why(t Tally) string {
	cs := t.Dominant(k.dominant)
	if len(cs) == 0 && len(t.Reasons) > 0 && t.Reasons[0].Samples > 0 {
		cs = t.Reasons[:1]
	}
	var parts []string
	for _, c := range cs {
		parts = append(parts, fmt.Sprintf("%s %.0f%%", c.Reason, 100*part(c.Samples, t.Stalled())))
	}
	return strings.Join(parts, ", ")
}

const barWidth = 10

// bar draws a share as a bar of barWidth characters.
func bar(share, most float64) string {
	if most <= 0 {
		return strings.Repeat(" ", barWidth)
	}
	n := int(share/most*barWidth + 0.5)
	if n == 0 && share > 0 {
		return "." + strings.Repeat(" ", barWidth-1)
	}
	return strings.Repeat("#", n) + strings.Repeat(" ", barWidth-n)
}

func (k *Kernel) hottest() float64 {
	if len(k.Lines) == 0 {
		return 0
	}
	return k.Lines[0].Share
}

// Listing is the source with samples as text: the part of the kernel's stalled
// samples of each line, a bar, its number, its source, and its dominant
// reasons. It holds the 200 most stalled lines with what stands around them.
func (k *Kernel) Listing() string {
	var b strings.Builder
	for _, f := range k.blocks() {
		fmt.Fprintf(&b, "%s: %s of the stalls\n", clean(f.name(), 300), percent(f.share))
		for _, r := range f.rows {
			number := ""
			if r.number.Valid {
				number = fmt.Sprint(r.number.V)
			}
			switch {
			case r.gap > 0:
				fmt.Fprintf(&b, "%7s %s %6s | ...\n", "", strings.Repeat(" ", barWidth), "")
			case r.at == nil:
				fmt.Fprintf(&b, "%7s %s %6s | %s\n", "", strings.Repeat(" ", barWidth), number, spaced(r.text))
			default:
				text := spaced(r.text)
				if why := k.why(r.at.Tally); why != "" {
					text = fmt.Sprintf("%-60s <- %s", text, why)
				}
				fmt.Fprintf(&b, "%6.1f%% %s %6s | %s\n", 100*r.at.Share, bar(r.at.Share, k.hottest()), number, text)
			}
		}
	}
	if left := k.left(); left != "" {
		b.WriteString("(" + left + ")\n")
	}
	return b.String()
}

// spaced makes a line of source printable without losing its indentation.
func spaced(text string) string {
	text = strings.ReplaceAll(text, "\t", "    ")
	indent := len(text) - len(strings.TrimLeft(text, " "))
	return strings.Repeat(" ", min(indent, 80)) + clean(text, 300)
}

// String is the kernel's stalls as text: reasons, types of instructions and
// the lines with the most stalls.
func (k *Kernel) String() string {
	w := writer{ks: []*Kernel{k}, names: fileNames([]*Kernel{k}), all: k.Stalled()}
	var b strings.Builder
	b.WriteString(w.header(0, k).forms[0] + "\n")
	if len(k.Reasons) > 0 {
		b.WriteString("  " + w.reasons(0, k).forms[0] + "\n")
	}
	if !k.loaded {
		b.WriteString("  (" + k.left() + ")\n")
	}
	for i, t := range k.Types {
		if i == 8 {
			fmt.Fprintf(&b, "  (%s)\n", plural(int64(len(k.Types)-i), "more type"))
			break
		}
		b.WriteString("  " + w.class(0, k, t).forms[0] + "\n")
	}
	for i := range k.Lines {
		if i == 12 {
			break
		}
		b.WriteString("  " + w.line(0, k, &k.Lines[i]).forms[0] + "\n")
	}
	if n := len(k.Lines) + k.Rest.Count - 12; n > 0 {
		fmt.Fprintf(&b, "  (%s)\n", plural(int64(n), "more line"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// String is the analysis as text, the ten most stalled kernels of it.
func (a *Analysis) String() string {
	if len(a.Kernels) == 0 {
		return "no kernel has PC samples"
	}
	var parts []string
	for i, k := range a.Kernels {
		if i == maxKernels {
			parts = append(parts, "("+plural(int64(len(a.Kernels)-i), "more kernel")+")")
			break
		}
		parts = append(parts, k.String())
	}
	for _, n := range a.Notes {
		parts = append(parts, "note: "+n)
	}
	return strings.Join(parts, "\n")
}

const maxKernels = 10
