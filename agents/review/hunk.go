package review

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/modeling/insight"
)

// Line is a line of a hunk. Old and New are its numbers in the texts before and
// after, 0 where it is not in one or its number is not known.
type Line struct {
	Kind     byte // ' ', '-' or '+'
	Old, New int
	Text     string // without its end
}

// Hunk is lines of one file that differ, with some around them, and the edits
// that made them differ.
type Hunk struct {
	File     string
	Old, New edit.Range // zero where the places are not known
	Lines    []Line
	Edits    []Note
}

// Hunks are those of a candidate; in a notebook they show themselves.
type Hunks []Hunk

// Note is an edit beside a hunk.
type Note struct {
	Edit     int // its number in the candidate, from 1
	Why      string
	Cites    []Cite
	Predicts []Prediction
	Rejected *edit.Rejection
	// Above says that an earlier hunk has the same edit with its predictions.
	Above bool
}

// Cite is an id that an edit cites. Item is nil where the report has none of
// that id.
type Cite struct {
	ID       string
	Item     *insight.Item
	Supplied bool // to whoever made the edit
	Here     bool // its place is among the lines of the hunk, or next to them
	Above    bool // an earlier hunk shows it
}

// Fate says whether a prediction came true.
type Fate string

// Fates.
const (
	True       Fate = "came true"
	False      Fate = "did not come true"
	Unmeasured Fate = "not measured"
)

// Prediction is one of an edit with what was measured; Before and After are NaN
// where nothing was.
type Prediction struct {
	edit.Prediction
	Before, After float64
	Fate          Fate
}

// Evidence is what edits are held against.
type Evidence struct {
	Report        *insight.Report // nil: no item is known
	Supplied      []string        // ids that the adviser was shown
	Before, After align.Values    // nil where nothing was measured again
}

// near is how many lines beside an item's place still are its place, as in the
// scores of the optimizer.
const near = 1

var hunkHead = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)

// Parse reads a unified diff. Lines are counted as the heads of hunks say, so
// that a line of source that looks like a head is none.
func Parse(diff string) (Hunks, error) {
	var out Hunks
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	file := ""
	for at := 0; at < len(lines); at++ {
		l := lines[at]
		m := hunkHead.FindStringSubmatch(l)
		switch {
		case strings.HasPrefix(l, "+++ "):
			file = strings.TrimPrefix(strings.TrimPrefix(l, "+++ "), "b/")
			continue
		case m == nil:
			continue
		}
		h := Hunk{File: file}
		var n, o int
		h.Old, o = span(m[1], m[2])
		h.New, n = span(m[3], m[4])
		oldLine, newLine := h.Old.Start, h.New.Start
		for o > 0 || n > 0 {
			at++
			if at == len(lines) || lines[at] == "" {
				return nil, fmt.Errorf("reading a diff: the hunk %q of %s ends before its %d and %d lines", m[0], file, h.Old.Len(), h.New.Len())
			}
			line := Line{Kind: lines[at][0], Text: lines[at][1:]}
			switch line.Kind {
			case ' ':
				line.Old, line.New = oldLine, newLine
				oldLine, newLine, o, n = oldLine+1, newLine+1, o-1, n-1
			case '-':
				line.Old = oldLine
				oldLine, o = oldLine+1, o-1
			case '+':
				line.New = newLine
				newLine, n = newLine+1, n-1
			case '\\':
				continue
			default:
				return nil, fmt.Errorf("reading a diff: line %d begins with %q, and no line of a hunk does", at+1, line.Kind)
			}
			h.Lines = append(h.Lines, line)
		}
		out = append(out, h)
	}
	return out, nil
}

// span reads a range of a hunk's head: an empty one names the line before.
func span(start, count string) (edit.Range, int) {
	s, _ := strconv.Atoi(start)
	n := 1
	if count != "" {
		n, _ = strconv.Atoi(count)
	}
	if n == 0 {
		s++
	}
	return edit.Range{Start: s, End: s + n - 1}, n
}

// Annotate puts beside each hunk the edits that made it, with their evidence.
// An edit without a hunk (another took its place, or only lines that stayed the
// same) is beside the first one of its file.
func Annotate(hunks []Hunk, outcomes []edit.Outcome, ev Evidence) {
	shown := map[string]bool{}
	told := map[int]bool{}
	for i := range hunks {
		h := &hunks[i]
		for k, o := range outcomes {
			if o.Rejected != nil || !h.of(o, hunks, i) {
				continue
			}
			n := note(k+1, o, ev, h)
			n.Above = told[k]
			told[k] = true
			for j := range n.Cites {
				n.Cites[j].Above = shown[n.Cites[j].ID]
				shown[n.Cites[j].ID] = true
			}
			h.Edits = append(h.Edits, n)
		}
	}
}

// of says that an edit is to be shown beside the hunk.
func (h *Hunk) of(o edit.Outcome, all []Hunk, at int) bool {
	if slices.ContainsFunc(o.Changes, h.has) {
		return true
	}
	first := slices.IndexFunc(all, func(g Hunk) bool {
		return slices.ContainsFunc(o.Changes, func(c edit.Change) bool { return c.File == g.File })
	})
	return first == at && !slices.ContainsFunc(all, func(g Hunk) bool { return slices.ContainsFunc(o.Changes, g.has) })
}

// has says that a change is of lines that differ in the hunk.
func (h *Hunk) has(c edit.Change) bool {
	if c.File != h.File {
		return false
	}
	place := h.Old.Start // the line of the text before that comes next
	for _, l := range h.Lines {
		in := place >= c.Old.Start && place <= c.Old.End
		switch {
		case l.Kind == ' ':
			place++
		case l.Kind == '-':
			if place++; in {
				return true
			}
		case place >= c.Old.Start && place <= max(c.Old.Start, c.Old.End+1):
			return true
		}
	}
	return false
}

// Proposed are the hunks of an edit as its adviser wrote them, of use where it
// was not applied.
func Proposed(number int, o edit.Outcome, ev Evidence) Hunks {
	var out Hunks
	for i, p := range o.Edit.Hunks {
		h := Hunk{File: p.File}
		for _, l := range p.Search {
			h.Lines = append(h.Lines, Line{Kind: '-', Text: l})
		}
		for _, l := range p.Replace {
			h.Lines = append(h.Lines, Line{Kind: '+', Text: l})
		}
		if i == 0 {
			h.Edits = []Note{note(number, o, ev, &h)}
		}
		out = append(out, h)
	}
	return out
}

// note is an edit with its evidence: what is about these lines comes first.
func note(number int, o edit.Outcome, ev Evidence, h *Hunk) Note {
	n := Note{Edit: number, Why: o.Edit.Why, Rejected: o.Rejected}
	for _, id := range o.Edit.Evidence {
		c := Cite{ID: id, Supplied: slices.ContainsFunc(ev.Supplied, func(s string) bool { return strings.EqualFold(s, id) })}
		if ev.Report != nil {
			if item, ok := ev.Report.Find(id); ok {
				c.Item, c.Here = &item, h.at(item.Location)
			}
		}
		n.Cites = append(n.Cites, c)
	}
	slices.SortStableFunc(n.Cites, func(a, b Cite) int {
		switch {
		case a.Here && !b.Here:
			return -1
		case b.Here && !a.Here:
			return 1
		}
		return 0
	})
	for _, p := range o.Edit.Predictions {
		n.Predicts = append(n.Predicts, Judge(p, ev))
	}
	return n
}

// at says that a place is among the old lines of the hunk, or next to them.
func (h *Hunk) at(l *insight.Location) bool {
	if l == nil || l.Line == 0 || h.Old.Start == 0 || !sameFile(l.File, h.File) {
		return false
	}
	return int(max(l.Line, l.EndLine))+near >= h.Old.Start && int(l.Line)-near <= h.Old.End
}

// sameFile says that a path of a profile may be a source's: profiles have
// absolute ones, or names alone.
func sameFile(a, b string) bool {
	clean := func(s string) string { return "/" + strings.TrimPrefix(strings.ReplaceAll(s, `\`, "/"), "/") }
	a, b = clean(a), clean(b)
	return strings.HasSuffix(a, b) || strings.HasSuffix(b, a)
}

// Judge is a prediction with what was measured, decided as package align does.
func Judge(p edit.Prediction, ev Evidence) Prediction {
	out := Prediction{Prediction: p, Before: math.NaN(), After: math.NaN(), Fate: Unmeasured}
	out.Before, out.After = value(ev.Before, p.Metric), value(ev.After, p.Metric)
	s := align.Of(align.Case{Outcome: edit.Outcome{Edit: edit.Edit{Predictions: []edit.Prediction{p}}}, Before: ev.Before, After: ev.After}, align.Options{})
	if s.Direction.Known() {
		out.Fate = False
		if s.Direction.Of == 1 {
			out.Fate = True
		}
	}
	return out
}

// value is that of a metric, whose name an adviser may write in any letters.
func value(vs align.Values, metric string) float64 {
	if v, ok := vs[metric]; ok {
		return v
	}
	for name, v := range vs {
		if strings.EqualFold(name, metric) {
			return v
		}
	}
	return math.NaN()
}
