package insight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/stalls"
)

const (
	// leastLine is the part of a kernel's stalls from which on a line is an item.
	leastLine = 0.05
	mostLines = 8 // items of lines of a kernel
)

// stallsOf says where the warps of kernels wait, and why.
func stallsOf(ctx context.Context, sc *scope) (found, error) {
	var f found
	n, err := number(ctx, sc.store, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM pc_sample p JOIN code c ON c.id = p.code_id JOIN region g ON g.id = c.region_id WHERE p.run_id = %d AND g.kind = 'kernel' LIMIT 1)", sc.run.ID))
	if err != nil {
		return f, err
	}
	if n == 0 {
		if !slices.ContainsFunc(sc.kernels, func(k *Kernel) bool { return k.Kind == "kernel" }) {
			return f, nil // no GPU: nothing is missed
		}
		return f, &missingError{what: "no PC samples: where in the source the kernels wait is not known", command: sc.collectStalls()}
	}
	seen := map[string]bool{}
	for _, k := range sc.kernels {
		if k.Kind != "kernel" || seen[k.Name] {
			continue
		}
		seen[k.Name] = true
		a, err := stalls.FromStore(ctx, sc.store, stalls.Options{Run: sc.run.ID, Kernel: k.Name, Lines: 1000, Instructions: 500, Launches: 100})
		if err != nil {
			return f, err
		}
		if len(a.Kernels) == 0 {
			f.missing = append(f.missing, Missing{What: "no PC samples of " + k.short(), Command: sc.collectStalls()})
			continue
		}
		for i, s := range a.Kernels {
			f.items = append(f.items, stallItems(sc, k, s, len(a.Kernels) > 1)...)
			if i < 3 {
				f.pictures = append(f.pictures, picture{title: "Stalls of " + k.short(), html: s.HTML()})
			}
		}
		f.notes = append(f.notes, a.Notes...)
	}
	return f, nil
}

func (sc *scope) collectStalls() string {
	if sc.is("rocprof") {
		return "rocprofv3 --pc-sampling-beta-enabled --pc-sampling-method stochastic -- CMD"
	}
	return "ncu --section SourceCounters --section WarpStateStats --import-source yes -o FILE CMD (code built with -lineinfo)"
}

func stallItems(sc *scope, k *Kernel, s *stalls.Kernel, several bool) []Item {
	var out []Item
	name := k.short()
	if several {
		name = clean(s.Raw, mostName)
	}
	if s.Stalled() == 0 {
		return nil
	}
	share := k.share()
	whole := s.Evidence()
	part := func(e stalls.Evidence) string {
		return "SELECT (" + e.Query() + ")::DOUBLE / nullif((" + whole.Query() + "), 0)"
	}
	dominant := s.Dominant()
	for i, c := range s.Reasons {
		reason, known := stalls.LookUp(c.Reason)
		is := i < len(dominant)
		part1 := float64(c.Samples) / float64(s.Stalled())
		if !is && (i > 2 || part1 < 0.1) {
			break
		}
		e := s.ReasonEvidence(c.Reason)
		it := Item{Kind: Stall, Rule: "reason-" + c.Reason, Verdict: Fact, Kernel: k.Name, Metric: "pc_sample:" + c.Reason, Value: part1, Share: share,
			Reference: &Reference{Value: stalls.DefaultDominant, What: "part from which a reason is dominant", From: "Optimas 2025"},
			Sources:   stallSource(sc, s, e), Query: part(e), Importance: share * (0.1 + 0.2*part1), Moves: []Move{{"pc_sample:" + c.Reason, Down}}}
		word := "In"
		if is {
			it.Verdict, it.Importance = Problem, share*(0.45+0.4*part1)
			word = "Warps of"
		}
		if reason.Group == stalls.Ready {
			it.Verdict, it.Importance, it.Moves = Fine, 0.1*share, nil
		}
		if is {
			it.Statement = fmt.Sprintf("%s %s stall for %s in %s of their stalled samples (%d of %d).", word, name, c.Reason, percent(part1), c.Samples, s.Stalled())
		} else {
			it.Statement = fmt.Sprintf("%s %s %s of the stalls are %s (%d of %d samples).", word, name, percent(part1), c.Reason, c.Samples, s.Stalled())
		}
		if known {
			it.Meaning, it.Remedies = reason.Meaning, []string{reason.Remedy}
		}
		if i == 0 {
			it.Location = hottest(s)
		}
		out = append(out, it)
	}
	for i := range s.Lines[:min(len(s.Lines), mostLines)] {
		l := s.Lines[i]
		if l.Share < leastLine || l.Stalled() == 0 || !l.Known() {
			break
		}
		out = append(out, lineItem(sc, k, s, name, l, part))
	}
	if len(s.Lines) > 0 && !s.Lines[0].Known() && len(s.Instructions) > 0 {
		// Without lines of source instructions are the places.
		for _, in := range s.Instructions[:min(len(s.Instructions), 5)] {
			if in.Share < leastLine {
				break
			}
			e := s.InstructionEvidence(in)
			text := instruction(in.Text)
			it := Item{Kind: Stall, Rule: "instruction", Verdict: Problem, Kernel: k.Name, Metric: "part of stalled samples", Value: in.Share, Share: share,
				Statement: fmt.Sprintf("%s of the stalls of %s are at the instruction `%s`%s.", percent(in.Share), name, text, because(in.Tally)),
				Location:  &Location{File: in.File, Line: in.Line.V, Function: in.Function, Instruction: text},
				Sources:   stallSource(sc, s, e), Query: part(e), Importance: share * (0.3 + 0.5*in.Share)}
			out = append(out, explain(it, in.Reasons))
		}
	}
	return out
}

func lineItem(sc *scope, k *Kernel, s *stalls.Kernel, name string, l stalls.Line, part func(stalls.Evidence) string) Item {
	e := s.LineEvidence(l, "")
	at := &Location{File: l.File, Line: l.Line.V}
	source := ""
	if text := clean(l.Text, 100); text != "" {
		source = fmt.Sprintf(" (`%s`)", text)
	}
	for _, in := range s.Instructions {
		if in.File == l.File && in.Line == l.Line {
			at.Instruction, at.Function = instruction(in.Text), in.Function
			break
		}
	}
	it := Item{Kind: Stall, Rule: "line", Verdict: Problem, Kernel: k.Name, Metric: "part of stalled samples", Value: l.Share, Share: k.share(),
		Statement: fmt.Sprintf("%s of the stalls of %s are at %s:%d%s%s.", percent(l.Share), name, base(l.File), l.Line.V, source, because(l.Tally)),
		Location:  at, Sources: stallSource(sc, s, e), Query: part(e), Importance: k.share() * (0.3 + 0.5*l.Share)}
	return explain(it, l.Reasons)
}

// base is the last part of a path, which Windows writes with backslashes.
func base(file string) string { return clean(path.Base(strings.ReplaceAll(file, `\`, "/")), 80) }

// instruction is the text of an instruction without the encoding beside it.
func instruction(text string) string {
	for {
		from := strings.Index(text, "/*")
		if from < 0 {
			return clean(text, 80)
		}
		to := strings.Index(text[from:], "*/")
		if to < 0 {
			return clean(text[:from], 80)
		}
		text = text[:from] + text[from+to+2:]
	}
}

// because names the reasons that a place waits for.
func because(t stalls.Tally) string {
	var parts []string
	for i, c := range t.Reasons {
		if p := float64(c.Samples) / float64(t.Stalled()); i == 0 || p >= stalls.DefaultDominant {
			parts = append(parts, fmt.Sprintf("%s %s", c.Reason, percent(p)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// explain adds meaning and remedy of the first reason.
func explain(it Item, reasons []stalls.Count) Item {
	if len(reasons) == 0 {
		return it
	}
	it.Moves = []Move{{"pc_sample:" + reasons[0].Reason, Down}}
	if r, ok := stalls.LookUp(reasons[0].Reason); ok {
		it.Meaning = r.Meaning
		if r.Group == stalls.Memory {
			it.Meaning += " The wait is at the instruction that needs the value: look for the load before it."
		}
		it.Remedies = []string{r.Remedy}
	}
	return it
}

func hottest(s *stalls.Kernel) *Location {
	for _, l := range s.Lines {
		if l.Known() {
			return &Location{File: l.File, Line: l.Line.V}
		}
	}
	return nil
}

// stallSource is the samples behind an evidence.
func stallSource(sc *scope, s *stalls.Kernel, e stalls.Evidence) []Source {
	var rows []Row
	for _, c := range e.Codes[:min(len(e.Codes), mostRows)] {
		rows = append(rows, Row{Table: "pc_sample", Code: c})
	}
	if len(rows) == 0 {
		for _, l := range e.Launches[:min(len(e.Launches), mostRows)] {
			rows = append(rows, Row{Table: "pc_sample", Launch: l})
		}
	}
	count := int64(e.CodeCount)
	if count == 0 {
		count = s.RawRows
	}
	return sc.source(rows, count)
}
