package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules/syntax"
	"github.com/rooflab/rooflab/modeling/insight"
)

// Case is what there is to advise on.
type Case struct {
	Sources []edit.Source
	// Evidence is what may be cited, such as the Items of insight's Report.
	Evidence []insight.Item
	// Build are the commands that build the program, those of make or a script as
	// they are run in the end: their flags say what pragmas mean. None: no OpenMP,
	// and a compiler that is not known.
	Build [][]string
	// Launches are the shapes in which kernels are launched, by kernel, where they
	// are known beyond what Sources say. They must hold for all inputs.
	Launches map[string]Launch
}

// Launch is the shape of a launch: work-items in all, and in a group; {} where
// the shape is not the same for all inputs.
type Launch struct {
	Global, Local []int64
	Square        bool // the first two sizes of Global are the same for all inputs, and so are those of Local
}

// Options say what may be taken for granted. The zero value takes nothing:
// results stay the same bit for bit.
type Options struct {
	// Reassociate allows that sums are added in another order, and divisions by
	// the same number become products: the last bits of floating-point results
	// change. Proposals that do so say which of both it is.
	Reassociate bool
	// Distinct says that pointer parameters of a function never overlap. Proposals
	// that need it say so.
	Distinct bool
	// Uncited offers what no evidence speaks for, too.
	Uncited bool
}

// Proposal is one change with its reason.
type Proposal struct {
	Transformation string `json:"transformation"` // its name, see Transformations
	File           string `json:"file"`
	Function       string `json:"function"` // "" where it is of the build
	Line           int    `json:"line"`     // where the loop or statement begins
	// Gain is the part of the time that is expected to be saved, 0 to 1: a rule of
	// thumb, to sort by, and no measurement.
	Gain float64 `json:"gain"`
	// Assumes is what was taken for granted beyond the text, by Options.
	Assumes []string  `json:"assumes,omitempty"`
	Edit    edit.Edit `json:"edit"`
}

// Refusal is a transformation that was considered and is not offered.
type Refusal struct {
	Transformation string `json:"transformation"`
	File           string `json:"file"`
	Function       string `json:"function"`
	Line           int    `json:"line"`
	Reason         string `json:"reason"`
}

// All stands in a Refusal for every transformation: a loop or statement is not
// understood.
const All = "all"

func (r Refusal) String() string {
	if r.Transformation == All {
		return fmt.Sprintf("%s:%d: nothing for this in %s: %s", r.File, r.Line, r.Function, r.Reason)
	}
	return fmt.Sprintf("%s:%d: no %s in %s: %s", r.File, r.Line, r.Transformation, r.Function, r.Reason)
}

// Advice is what there is to propose, the largest gain first, and what is not
// proposed and why, in the order of the sources.
type Advice struct {
	Proposals []Proposal `json:"proposals"`
	Refusals  []Refusal  `json:"refusals"`
}

// Answer is the first n proposals as an answer that edit.Parse reads, all where n
// is 0. Proposals may want the same lines: Apply takes the first.
func (a Advice) Answer(n int) string {
	var edits []edit.Edit
	for i, p := range a.Proposals {
		if n > 0 && i == n {
			break
		}
		edits = append(edits, p.Edit)
	}
	return edit.Format(edits)
}

// Advisor proposes transformations. The zero value is ready to use.
type Advisor struct{ Options Options }

// Propose advises on a case.
func (a Advisor) Propose(c Case) []Proposal { return a.Advise(c).Proposals }

// Advise advises on a case and says what is not offered.
func (a Advisor) Advise(c Case) Advice {
	u := &unit{opt: a.Options, strict: true, purity: map[string]int{}, done: map[string]*doing{}}
	for _, command := range c.Build {
		u.strict = u.strict && !slices.Contains(command, "-fno-strict-aliasing")
	}
	for _, s := range c.Sources {
		text := s.Text
		if BuildFile(s.Path) {
			text = "" // it has no functions
		}
		u.files = append(u.files, syntax.Parse(text))
		u.paths = append(u.paths, s.Path)
	}
	written := u.launches()
	for name, l := range c.Launches {
		written[name] = l
	}
	c.Launches = written
	var out Advice
	for i, s := range c.Sources {
		if len(s.Editable) == 0 {
			continue
		}
		for _, fn := range u.files[i].Functions {
			if !editable(s, u.files[i].Line(fn.Start), u.files[i].Line(fn.End-1)) {
				continue
			}
			v := newView(u, s.Path, u.files[i], fn, a.Options)
			u.learn(v)
			f := &finder{view: v, source: s, c: c, out: &out, lines: strings.Split(s.Text, "\n")}
			syntax.Walk(fn.Body, func(n *syntax.Node) bool {
				if why := v.refused[n]; why != "" {
					out.Refusals = append(out.Refusals, Refusal{All, s.Path, fn.Name, v.file.Line(n.Start), why})
				}
				return true
			})
			for _, p := range fn.Problems {
				out.Refusals = append(out.Refusals, Refusal{All, s.Path, fn.Name, v.file.Line(p.Offset), p.Text + " is not understood here"})
			}
			for _, t := range Transformations {
				if f.t = t; t.find != nil {
					t.find(f)
				}
			}
		}
	}
	builds(c, a.Options, &out)
	slices.SortStableFunc(out.Proposals, func(x, y Proposal) int {
		return cmp.Or(cmp.Compare(y.Gain, x.Gain), cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Transformation, y.Transformation))
	})
	return out
}

// editable reports whether any line of a range may be changed.
func editable(s edit.Source, start, end int) bool {
	for _, e := range s.Editable {
		if e.Start <= end && e.End >= start {
			return true
		}
	}
	return false
}

// Transformation is one way to change code, offered where its precondition holds
// on the syntax tree.
type Transformation struct {
	Name         string
	Title        string // what it does, in a line
	Precondition string
	// Rules of insight that make it relevant; "*-bound" is any rule that ends so.
	Rules []string
	// Gain is the part of the time that it saves where all goes well: a rule of
	// thumb.
	Gain float64
	// Counts are events of profiles by line that it makes fewer of.
	Counts []string
	find   func(*finder)
}

// Relevant reports whether an item speaks for the transformation.
func (t Transformation) Relevant(it insight.Item) bool {
	return it.Verdict != insight.Fine && slices.ContainsFunc(t.Rules, func(r string) bool {
		end, suffix := strings.CutPrefix(r, "*")
		return r == it.Rule || suffix && strings.HasSuffix(it.Rule, end)
	})
}

// finder looks for places of one transformation in one function.
type finder struct {
	*view
	t      Transformation
	source edit.Source
	c      Case
	out    *Advice
	lines  []string
	taking []string // what the next offer takes for granted by Options
}

// What a transformation that needs Reassociate takes for granted.
const (
	reordered = "sums may be added in another order"
	rounded   = "results may be rounded otherwise in their last bits"
)

// takes notes what the next offer takes for granted, where it does.
func (f *finder) takes(what string, does bool) {
	if does {
		f.taking = append(f.taking, what)
	}
}

// change is new text for a range of bytes.
type change struct {
	start, end int
	text       string
}

func (f *finder) refuse(n *syntax.Node, format string, args ...any) {
	r := Refusal{f.t.Name, f.path, f.fn.Name, f.file.Line(n.Start), fmt.Sprintf(format, args...)}
	if !slices.Contains(f.out.Refusals, r) {
		f.out.Refusals = append(f.out.Refusals, r)
	}
}

// offer proposes changes at a node. part is how much of the transformation's gain
// is to be expected here.
func (f *finder) offer(n *syntax.Node, part float64, why string, changes ...change) {
	taken := f.taking
	f.taking = nil
	first, last := f.file.Line(n.Start), f.file.Line(max(n.Start, n.End-1))
	if p := f.parent[n]; p != nil && n.Kind == syntax.For {
		if i := slices.Index(p.Kids, n); i > 0 && p.Kids[i-1] != nil && p.Kids[i-1].Kind == syntax.Directive {
			f.refuse(n, "it belongs to the line before it, %s", firstLine(p.Kids[i-1].Op))
			return
		}
	}
	hunks, reason := f.hunks(changes)
	if reason != "" {
		f.refuse(n, "%s", reason)
		return
	}
	cited, direct := f.evidence(first, last)
	relevant := len(cited)
	cited = f.touched(hunks, cited)
	if len(cited) == 0 && !f.opt.Uncited {
		f.refuse(n, "no evidence is about %s", f.fn.Name)
		return
	}
	p := Proposal{Transformation: f.t.Name, File: f.path, Function: f.fn.Name, Line: first, Edit: edit.Edit{Why: why, Hunks: hunks}}
	share := 1.0
	for i, it := range cited {
		p.Edit.Evidence = append(p.Edit.Evidence, strings.ToUpper(it.ID))
		if i >= relevant && !f.moves(it) {
			continue
		}
		if i < relevant && (i == 0 || it.Share > share) {
			share = it.Share
		}
		for _, m := range it.Moves {
			pr := edit.Prediction{Metric: m.Metric, Direction: edit.Direction(m.Direction)}
			if len(p.Edit.Predictions) < 6 && !slices.ContainsFunc(p.Edit.Predictions, func(q edit.Prediction) bool { return q.Metric == pr.Metric }) {
				p.Edit.Predictions = append(p.Edit.Predictions, pr)
			}
		}
	}
	if len(p.Edit.Predictions) == 0 {
		p.Edit.Predictions = []edit.Prediction{{Metric: "time", Direction: edit.Down}}
	}
	if math.IsNaN(share) || share <= 0 || share > 1 {
		share = 1
	}
	p.Gain = f.t.Gain * part * share
	if !direct {
		p.Gain *= 0.7
	}
	if f.opt.Distinct {
		p.Assumes = append(p.Assumes, "pointer parameters do not overlap")
	}
	p.Assumes = append(p.Assumes, taken...)
	f.out.Proposals = append(f.out.Proposals, p)
}

// evidence is what a change of lines cites: items that speak for it, else where
// the time goes. direct says that it is the former.
func (f *finder) evidence(first, last int) (cited []insight.Item, direct bool) {
	var hot []insight.Item
	for _, it := range f.c.Evidence {
		if !f.about(it, first, last) {
			continue
		}
		switch {
		case f.t.Relevant(it):
			cited = append(cited, it)
		case it.Kind == insight.Hot && it.Kernel != "" || it.Rule == "hot-path" || it.Kind == insight.Stall && it.Location != nil:
			hot = append(hot, it)
		}
	}
	if len(cited) > 0 {
		return cited[:min(len(cited), 4)], true
	}
	return hot[:min(len(hot), 1)], false
}

// touched is the evidence with what is known of the very lines that are changed.
func (f *finder) touched(hunks []edit.Hunk, cited []insight.Item) []insight.Item {
	out, n := slices.Clone(cited), 0
	for _, it := range f.c.Evidence {
		l := it.Location
		if n == 2 || it.Verdict == insight.Fine || l == nil || l.Line == 0 || l.File != "" && !sameFile(l.File, f.path) ||
			slices.ContainsFunc(out, func(o insight.Item) bool { return o.ID == it.ID }) {
			continue
		}
		if slices.ContainsFunc(hunks, func(h edit.Hunk) bool {
			return l.Line <= int64(h.At+len(h.Search)-1) && max(l.Line, l.EndLine) >= int64(h.At)
		}) {
			out = append(out, it)
			n++
		}
	}
	return out
}

// moves reports whether the transformation is expected to make less of what an
// item about a line counts.
func (f *finder) moves(it insight.Item) bool { return slices.Contains(f.t.Counts, it.Metric) }

// about reports whether an item is about the function, and does not name other
// lines of it.
func (f *finder) about(it insight.Item, first, last int) bool {
	if l := it.Location; l != nil && l.Line > 0 && (l.File == "" || sameFile(l.File, f.path)) {
		end := max(l.Line, l.EndLine)
		if l.Line <= int64(f.file.Line(f.fn.End-1)) && end >= int64(f.file.Line(f.fn.Start)) {
			return l.Line <= int64(last) && end >= int64(first)
		}
	}
	if it.Kernel == "" {
		return it.Rule == "ipc" || it.Kind == insight.Counter // of the whole program
	}
	name := it.Kernel
	if i := strings.IndexAny(name, "(<"); i > 0 {
		name = name[:i]
	}
	return name[strings.LastIndexAny(name, ": /")+1:] == f.fn.Name || name == f.fn.Name
}

func sameFile(a, b string) bool {
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}
