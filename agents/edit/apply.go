package edit

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultMaxBytes is how much text an edit may put in, where Rules say nothing.
const DefaultMaxBytes = 64 << 10

// Source is a file that edits may speak of.
type Source struct {
	Path     string  `json:"path"` // with slashes, below the folder of the target
	Text     string  `json:"-"`
	Editable []Range `json:"editable,omitempty"` // none: no line may be changed
}

// All is the range of all lines of a text.
func All(text string) []Range { return []Range{{1, max(1, len(split(text).text))}} }

// Rules say which edits are taken. The zero value takes edits that cite
// evidence of the list, of DefaultMaxBytes at most.
type Rules struct {
	Evidence []string // ids that were supplied
	// AllowUncited takes edits that cite nothing, AllowUnknown those that cite
	// what was not supplied; Outcome.Unknown counts it all the same.
	AllowUncited, AllowUnknown bool
	MaxBytes                   int // of the text that an edit puts in; 0 is DefaultMaxBytes
}

// Change is lines of a file that an edit changed.
type Change struct {
	File string `json:"file"`
	// Old are the lines in the text before. An insertion has none, and says
	// before which line it is.
	Old Range `json:"old"`
	// New are the lines in the text with all accepted edits.
	New Range `json:"new"`
	// Loose says that the lines were found with their white space differing.
	Loose bool `json:"loose,omitempty"`
}

// Outcome is what became of one edit.
type Outcome struct {
	Edit     Edit       `json:"edit"`
	Rejected *Rejection `json:"rejected,omitempty"` // nil: accepted
	Changes  []Change   `json:"changes,omitempty"`  // of an accepted edit, by file and line
	Unknown  []string   `json:"unknown,omitempty"`  // cited ids that were not supplied
}

// File is a file with its new text.
type File struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Patch is what edits make of sources.
type Patch struct {
	Outcomes []Outcome `json:"outcomes"` // one for each edit, in their order
	Files    []File    `json:"files"`    // that differ, in the order of the sources
}

// Accepted is the number of edits that were taken.
func (p *Patch) Accepted() int {
	n := 0
	for _, o := range p.Outcomes {
		if o.Rejected == nil {
			n++
		}
	}
	return n
}

// Apply holds each edit against the rules and makes the new texts of all that
// are accepted. Every hunk is searched for in the text before, so that the
// order of edits only matters where two want the same lines: the first has them.
func Apply(edits []Edit, sources []Source, rules Rules) *Patch {
	a := applier{rules: rules}
	for _, s := range sources {
		a.files = append(a.files, &file{Source: s, lines: split(s.Text)})
	}
	p := &Patch{}
	for i, e := range edits {
		o := Outcome{Edit: e, Unknown: a.unknown(e)}
		o.Rejected = a.take(i, e)
		p.Outcomes = append(p.Outcomes, o)
	}
	for _, f := range a.files {
		shift := 0
		for _, t := range f.taken {
			n := len(t.lines)
			o := &p.Outcomes[t.edit]
			o.Changes = append(o.Changes, Change{File: f.Path, Loose: t.loose,
				Old: Range{t.from + 1, t.to}, New: Range{t.from + 1 + shift, t.from + shift + n}})
			shift += n - (t.to - t.from)
		}
		if len(f.taken) > 0 {
			p.Files = append(p.Files, File{f.Path, f.text(f.taken)})
		}
	}
	return p
}

type applier struct {
	rules Rules
	files []*file
}

// file is a source with the replacements that are accepted, by line.
type file struct {
	Source
	lines lines
	taken []owned
	// What is known of Text, nil where nobody has asked yet.
	functions  []Function
	readAs     []string
	meaning    []string
	directives map[string][]string
}

// owned is a replacement with the edit that wants it.
type owned struct {
	replacement
	edit  int
	loose bool
	line  int // of the answer
}

func (f *file) text(rs []owned) string {
	var plain []replacement
	for _, r := range rs {
		plain = append(plain, r.replacement)
	}
	return f.lines.replace(plain).String()
}

// unknown are the cited ids that were not supplied.
func (a *applier) unknown(e Edit) []string {
	var out []string
	for _, id := range e.Evidence {
		if !slices.ContainsFunc(a.rules.Evidence, func(s string) bool { return strings.EqualFold(s, id) }) {
			out = append(out, id)
		}
	}
	return out
}

// take accepts an edit or says why not. Where it lies comes first: an edit that
// reaches for other files is that before it is anything else.
func (a *applier) take(index int, e Edit) *Rejection {
	if len(e.Hunks) == 0 {
		return &Rejection{Reason: Malformed, Line: e.Line, Detail: "the edit has no block"}
	}
	bytes := 0
	for _, h := range e.Hunks {
		if r := checkPath(h); r != nil {
			return r
		}
	}
	for _, h := range e.Hunks {
		for _, l := range append(slices.Clone(h.Search), h.Replace...) {
			if strings.ContainsAny(l, "\x00\n") || !utf8.ValidString(l) {
				return &Rejection{Reason: Binary, File: h.File, Line: h.Line, Detail: "its text has a NUL, a line end within a line, or is not UTF-8: edits are of text"}
			}
		}
		for _, l := range h.Replace {
			bytes += len(l) + 1
			if strings.ContainsFunc(l, Unseen) && !slices.Contains(h.Search, l) {
				return &Rejection{Reason: Binary, File: h.File, Line: h.Line, Detail: fmt.Sprintf("the line %q has characters that cannot be seen: leave them out", clip(l))}
			}
			if other := otherSpelling(l); other != "" && !slices.Contains(h.Search, l) {
				return &Rejection{Reason: Binary, File: h.File, Line: h.Line, Detail: fmt.Sprintf("the line %q has %s, which stands for another character: write that one", clip(l), other)}
			}
		}
	}
	limit := a.rules.MaxBytes
	if limit <= 0 {
		limit = DefaultMaxBytes
	}
	if bytes > limit {
		return &Rejection{Reason: Oversize, Line: e.Line, Detail: fmt.Sprintf("it puts %d bytes in, the limit is %d: change fewer lines", bytes, limit)}
	}
	wanted, r := a.locate(index, e)
	if r != nil {
		return r
	}
	means := false // something else than before
	for _, f := range a.files {
		if ws := wanted[f]; len(ws) > 0 {
			if r := f.check(ws, e.Line); r != nil {
				return r
			}
			after := f.text(ws)
			if name, in, at := a.redefined(f, after); name != "" {
				return &Rejection{Reason: Outside, File: f.Path, Line: e.Line,
					Detail: fmt.Sprintf("the macro %s would change line %d of %s, which is not editable: take another name", name, at, in.Path)}
			}
			means = means || !slices.Equal(f.meant(), meant(after))
		}
	}
	switch unknown := a.unknown(e); {
	case !means:
		return &Rejection{Reason: NoOp, File: e.Hunks[0].File, Line: e.Line, Detail: "it changes only white space and comments"}
	case len(e.Evidence) == 0 && !a.rules.AllowUncited:
		return &Rejection{Reason: NoEvidence, Line: e.Line, Detail: `no evidence is cited: write "evidence: IDS" above its blocks`}
	case len(unknown) > 0 && !a.rules.AllowUnknown:
		return &Rejection{Reason: UnknownEvidence, Line: e.Line,
			Detail: fmt.Sprintf("%s %s not supplied: cite only ids of the evidence given", strings.Join(unknown, ", "), were(len(unknown)))}
	}
	for f, ws := range wanted {
		f.taken = append(f.taken, ws...)
		slices.SortFunc(f.taken, func(x, y owned) int { return x.from - y.from })
	}
	return nil
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// locate finds what the hunks of an edit replace, by file.
func (a *applier) locate(index int, e Edit) (map[*file][]owned, *Rejection) {
	wanted := map[*file][]owned{}
	changed := false
	for _, h := range e.Hunks {
		i := slices.IndexFunc(a.files, func(f *file) bool { return f.Path == h.File })
		if i < 0 {
			return nil, &Rejection{Reason: NewFile, File: h.File, Line: h.Line, Detail: "there is no such file among the sources, and new ones are not allowed: change " + a.editable()}
		}
		f := a.files[i]
		if len(f.Editable) == 0 {
			return nil, &Rejection{Reason: ReadOnly, File: h.File, Line: h.Line, Detail: "no line of it may be changed: change " + a.editable()}
		}
		at, found, loose, r := f.lines.find(h)
		if r != nil {
			r.File, r.Line = h.File, h.Line
			return nil, r
		}
		// Lines that Search and Replace have in common stay as the file has them.
		for _, c := range changes(found.Search, found.Replace, at) {
			again := func(o owned) bool { return o.from == c.from && o.to == c.to && slices.Equal(o.lines, c.lines) }
			if slices.Equal(f.lines.text[c.from:c.to], c.lines) || slices.ContainsFunc(wanted[f], again) {
				continue // a block that is given twice counts once
			}
			changed = true
			wanted[f] = append(wanted[f], owned{c, index, loose, h.Line})
		}
	}
	if !changed {
		return nil, &Rejection{Reason: NoOp, File: e.Hunks[0].File, Line: e.Hunks[0].Line, Detail: "it replaces text by the same text"}
	}
	return wanted, nil
}

// editable names the files of which lines may be changed.
func (a *applier) editable() string {
	var names []string
	for _, f := range a.files {
		if len(f.Editable) > 0 {
			names = append(names, f.Path)
		}
	}
	if len(names) == 0 {
		return "nothing: no file is editable"
	}
	return strings.Join(names, ", ")
}

// Unseen says that a character is not seen where text is shown, or turns the
// order of others around (Boucher and Anderson, Trojan Source, 2021): control
// and format characters but the tab, and what is no character at all.
func Unseen(r rune) bool {
	return r == utf8.RuneError || r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe0fff
}

// checkPath holds a path against what is below a folder.
func checkPath(h Hunk) *Rejection {
	fault := func(why string) *Rejection {
		return &Rejection{Reason: PathEscape, File: h.File, Line: h.Line, Detail: why + ": name a file as it is shown"}
	}
	p := strings.ReplaceAll(h.File, `\`, "/")
	switch {
	case p == "" || strings.ContainsRune(p, 0):
		return fault("the path is empty or has a NUL")
	case path.IsAbs(p) || len(p) > 1 && p[1] == ':' || strings.HasPrefix(p, "~"):
		return fault("the path is absolute")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return fault(`the path has ".."`)
	}
	return nil
}
