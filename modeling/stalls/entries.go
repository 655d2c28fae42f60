package stalls

import (
	"fmt"
	"strings"
)

// Sections of a kernel's part of a digest, in order.
const (
	head = iota
	ofReasons
	ofLines
	ofInstructions
	ofTypes
	meanings
)

// mostKernels is how many kernels a digest speaks of, the most stalled ones,
// besides those with a line that must be kept.
const mostKernels = 100

// entries are what the digest must hold and what it may hold, the most useful
// first.
func (w *writer) entries() (must, may []entry) {
	var cool, code, types, words, cold []entry
	said := map[string]bool{}
	words = append(words, plain(0, consumer))
	for i, k := range w.ks {
		hot := i < mostKernels || len(k.Lines) > 0 && part(k.Lines[0].Stalled(), w.all) >= w.opt.Least
		if hot {
			must = append(must, w.header(i, k))
		}
		if hot && len(k.Reasons) > 0 && k.Reasons[0].Samples > 0 {
			must = append(must, w.reasons(i, k))
		}
		for j := range k.Lines {
			l := &k.Lines[j]
			if l.Stalled() == 0 {
				break
			}
			switch {
			case part(l.Stalled(), w.all) >= w.opt.Least:
				must = append(must, w.line(i, k, l))
			case i >= mostKernels:
			case l.Share >= w.opt.Least:
				cool = append(cool, w.line(i, k, l))
			case j < 40 && l.Share >= w.opt.Least/10:
				cold = append(cold, w.line(i, k, l))
			}
		}
		if i >= mostKernels {
			continue
		}
		for _, in := range k.Instructions {
			if len(code) < 60 && in.Share >= w.opt.Least {
				code = append(code, w.instruction(i, k, in))
			}
		}
		for j, t := range k.Types {
			if j < 8 && t.Share >= 0.01 {
				types = append(types, w.class(i, k, t))
			}
		}
		for _, c := range k.Dominant() {
			if r, ok := LookUp(c.Reason); ok && !said[r.Name] {
				said[r.Name] = true
				words = append(words, plain(i, fmt.Sprintf("%s: %s Usual remedy: %s", r.Name, r.Meaning, r.Remedy)))
			}
		}
	}
	for _, more := range [][]entry{cool, types, words, code, cold} {
		may = append(may, more...)
	}
	if len(w.ks) > 8 { // what must be there is lines; of cold kernels not even a head
		must, may = w.hot(must, may)
	}
	return must, may
}

// consumer is what readers of stalls get wrong most often.
const consumer = "A stall is counted at the instruction that waits; what it waits for is an earlier one, often on another line."

func plain(kernel int, text string) entry {
	return entry{kernel: kernel, section: meanings, plain: true, forms: [3]string{text, text, text}}
}

// hot moves the heads of kernels without a line that must be kept to what may
// be kept.
func (w *writer) hot(must, may []entry) (m, n []entry) {
	lines := map[int]bool{0: true}
	for _, e := range must {
		lines[e.kernel] = lines[e.kernel] || e.line
	}
	var rest []entry
	for _, e := range must {
		if lines[e.kernel] {
			m = append(m, e)
		} else {
			rest = append(rest, e)
		}
	}
	return m, append(rest, may...)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func (w *writer) header(i int, k *Kernel) entry {
	where := fmt.Sprintf("run %d", k.Run)
	switch {
	case k.Launch != 0:
		where += fmt.Sprintf(", launch %d", k.Launch)
	case k.LaunchCount == 1:
		where += ", 1 launch"
	case k.LaunchCount > 1:
		where += fmt.Sprintf(", %d launches", k.LaunchCount)
	}
	idle := ""
	if k.NotIssued.Valid {
		idle = fmt.Sprintf(", %d in cycles without an issue", k.NotIssued.V)
	}
	of := ""
	if len(w.ks) > 1 {
		of = fmt.Sprintf("; %s of all stalls", percent(part(k.Stalled(), w.all)))
	}
	text := func(name int, more string) string {
		return fmt.Sprintf("kernel %s (%s): %d PC samples, %d issued, %d stalled (%s%s)%s", clean(k.Name, name), where, k.Samples, k.Selected, k.Stalled(),
			percent(part(k.Stalled(), k.Samples)), more, of)
	}
	es := []Evidence{k.Evidence()}
	return entry{kernel: i, section: head, forms: [3]string{text(160, idle), text(80, idle), text(60, "")}, evidence: [3][]Evidence{es, es, es}}
}

func (w *writer) reasons(i int, k *Kernel) entry {
	e := entry{kernel: i, section: ofReasons}
	for f, most := range [3]int{10, 5, 3} {
		var parts []string
		for j, c := range k.Reasons {
			share := part(c.Samples, k.Stalled())
			dominant := share >= k.dominant
			if c.Samples == 0 || j >= most && !dominant || j > 0 && share < 0.001 {
				continue
			}
			text := c.Reason + " " + percent(share)
			if dominant {
				text += " (dominant)"
			}
			parts = append(parts, text)
			e.evidence[f] = append(e.evidence[f], k.ReasonEvidence(c.Reason))
		}
		e.forms[f] = "reasons, of its stalls: " + strings.Join(parts, ", ")
	}
	return e
}

// line says where and why; reasons below a hundredth of a line say nothing.
func (w *writer) line(i int, k *Kernel, l *Line) entry {
	e := entry{kernel: i, section: ofLines, line: true}
	name := l.Name()
	if l.Known() && l.File != "" {
		name = fmt.Sprintf("%s:%d", clean(w.names[l.File], 120), l.Line.V)
	}
	for f, most := range [3]int{4, 2, 1} {
		var parts []string
		e.evidence[f] = []Evidence{k.LineEvidence(*l, "")}
		for j, c := range l.Reasons {
			share := part(c.Samples, l.Stalled())
			if j >= most && (share < k.dominant || f == 2) || j > 0 && share < 0.01 {
				continue
			}
			parts = append(parts, c.Reason+" "+percent(share))
			e.evidence[f] = append(e.evidence[f], k.LineEvidence(*l, c.Reason))
		}
		e.forms[f] = fmt.Sprintf("%s %s: %s", name, percent(l.Share), strings.Join(parts, ", "))
	}
	if text := clean(l.Text, 120); text != "" {
		e.forms[0] += " | " + text
	}
	return e
}

func (w *writer) instruction(i int, k *Kernel, in Instruction) entry {
	name := clean(in.Opcode, 40)
	if text, _, _ := strings.Cut(in.Text, "/*"); strings.TrimSpace(text) != "" {
		name = clean(text, 80)
	}
	if name == "" {
		name = "instruction"
	}
	if in.Offset.Valid {
		name += fmt.Sprintf(" at +0x%x", in.Offset.V)
	}
	if in.Function != "" {
		name += " of " + clean(in.Function, 60)
	}
	if in.Line.Valid {
		file := w.names[in.File]
		if file == "" {
			file = base(in.File)
		}
		name += fmt.Sprintf(" (%s:%d)", clean(file, 120), in.Line.V)
	}
	text := fmt.Sprintf("%s %s", name, percent(in.Share))
	if len(in.Reasons) > 0 {
		text += fmt.Sprintf(": %s %s", in.Reasons[0].Reason, percent(part(in.Reasons[0].Samples, in.Stalled())))
	}
	es := []Evidence{k.InstructionEvidence(in)}
	return entry{kernel: i, section: ofInstructions, forms: [3]string{text, text, text}, evidence: [3][]Evidence{es, es, es}}
}

func (w *writer) class(i int, k *Kernel, t Type) entry {
	text := fmt.Sprintf("%s instructions %s", t.Class, percent(t.Share))
	if len(t.Reasons) > 0 {
		text += fmt.Sprintf(": %s %s", t.Reasons[0].Reason, percent(part(t.Reasons[0].Samples, t.Stalled())))
	}
	es := []Evidence{k.TypeEvidence(t)}
	return entry{kernel: i, section: ofTypes, forms: [3]string{text, text, text}, evidence: [3][]Evidence{es, es, es}}
}
