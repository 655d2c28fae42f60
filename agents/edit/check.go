package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// check holds the replacements that an edit wants in a file against what may be
// changed there.
func (f *file) check(wanted []owned, line int) *Rejection {
	fault := func(r Reason, line int, format string, args ...any) *Rejection {
		return &Rejection{Reason: r, File: f.Path, Line: line, Detail: fmt.Sprintf(format, args...)}
	}
	slices.SortStableFunc(wanted, func(x, y owned) int { return x.from - y.from })
	for _, w := range wanted {
		if !f.allowed(w.replacement) {
			return fault(Outside, w.line, "it changes line %s; editable are lines %s", Range{w.from + 1, w.to}, ranges(f.Editable))
		}
	}
	all := slices.Clone(f.taken)
	for _, w := range wanted {
		for _, t := range all {
			if w.from < t.to && t.from < w.to || w.from == t.from {
				return fault(Overlap, w.line, "line %s is changed by another edit or block: change each line once", Range{w.from + 1, w.to})
			}
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(x, y owned) int { return x.from - y.from })
	after := f.text(all)
	if strings.TrimSpace(after) == "" {
		return fault(EmptiedFile, line, "nothing would be left of the file: replace only what changes")
	}
	if why := signatureFault(f.defined(), after); why != "" {
		return fault(SignatureChange, line, "%s", why)
	}
	if at := f.leaks(all, after); at > 0 {
		return fault(Outside, line, "line %d, which is not editable, would mean something else: close comments, strings, brackets and #if where they were opened, and keep lines within their function", at)
	}
	if directive := f.newDirective(after, "line"); directive != "" {
		return fault(Outside, line, "it has #%s, by which lines get the names of others: leave it out", directive)
	}
	return nil
}

// allowed says that all lines of a replacement are editable; an insertion may
// stand before, within or behind editable lines.
func (f *file) allowed(r replacement) bool {
	next := r.from + 1 // the line, from 1, that must be editable next
	for _, e := range sorted(f.Editable) {
		if r.from == r.to {
			if r.from >= e.Start-1 && r.from <= e.End {
				return true
			}
			continue
		}
		if e.Start <= next && e.End >= next {
			if next = e.End + 1; next > r.to {
				return true
			}
		}
	}
	return false
}

func sorted(rs []Range) []Range {
	rs = slices.Clone(rs)
	slices.SortFunc(rs, func(a, b Range) int { return a.Start - b.Start })
	return rs
}

func ranges(rs []Range) string {
	var out []string
	for _, r := range sorted(rs) {
		out = append(out, r.String())
	}
	return strings.Join(out, ", ")
}

// meant is a text without white space and comments.
func meant(text string) []string {
	pieces, err := tokenize.Scan(tokenize.C, text)
	if err != nil {
		return []string{text}
	}
	var out []string
	for _, p := range pieces {
		if p.Kind != tokenize.Space && p.Kind != tokenize.Comment {
			out = append(out, text[p.Start:p.End])
		}
	}
	return out
}
