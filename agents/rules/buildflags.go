package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/modeling/insight"
)

// buildFlags is the name of the transformation, whose place is a file of the build
// and no function.
const buildFlags = "build-flags"

// assigned is a line of a file of a build that sets flags of a C or C++ compiler.
var assigned = regexp.MustCompile(`^\s*(override\s+)?(C|CXX|CPP)FLAGS\s*[:+?]?=`)

// linked is one that sets flags or libraries of the linker.
var linked = regexp.MustCompile(`^\s*(override\s+)?(LDFLAGS|LDLIBS|LIBS|LOADLIBES)\s*[:+?]?=`)

// builds looks at how the sources are compiled, and offers other flags where lines
// of a file of the build may be changed.
func builds(c Case, opt Options, out *Advice) {
	compiled := Compiled(c)
	if len(compiled) == 0 {
		return
	}
	b := builder{c: c, opt: opt, out: out}
	for _, s := range c.Sources {
		if BuildFile(s.Path) && len(s.Editable) > 0 {
			b.files = append(b.files, s)
		}
	}
	if len(b.files) == 0 {
		for _, one := range compiled {
			if missing := one.Missing(); missing != "" {
				out.Refusals = append(out.Refusals, Refusal{buildFlags, one.File, "its build", 1,
					fmt.Sprintf("it is compiled with %s; no file that says so may be changed: name the Makefile among sources.editable, or change build.commands", missing)})
			}
		}
		return
	}
	b.optimise(compiled)
	b.openMP(compiled)
}

type builder struct {
	c     Case
	opt   Options
	out   *Advice
	files []edit.Source // of the build, with lines that may be changed
}

// optimise offers -O3, vectors, and this processor's instructions.
func (b *builder) optimise(compiled []Compilation) {
	part, words, bare := 0.0, map[string]bool{}, false
	native := true
	for _, one := range compiled {
		if one.Optimised() < 3 {
			part = max(part, []float64{1, 0.7, 0.4}[one.Optimised()])
			words[one.Level] = true
			bare = bare || one.Level == ""
		}
		for _, w := range one.Hinders {
			part = max(part, 0.5)
			words[w] = true
		}
		if !one.Native {
			part = max(part, 0.4)
			native = false
			words[one.Level] = true
			bare = bare || one.Level == ""
		}
	}
	if part == 0 {
		b.refuse("the build asks for -O3 and for this processor already")
		return
	}
	flags := "-O3"
	why := "the compiler optimises with all it has"
	if !native {
		flags += " -march=native"
		why += ", for the processor that builds it"
		if !b.opt.Reassociate {
			flags += " -ffp-contract=off"
			why += "; products and sums are not fused, so that results stay the same"
		}
	}
	var takes []string
	if !native && b.opt.Reassociate {
		takes = append(takes, rounded)
	}
	hunks := b.lines(func(line string) string {
		now := line
		for w := range words {
			switch {
			case w == "":
			case hinders[w]:
				now = without(now, w)
			default:
				now = word(w).ReplaceAllString(now, "${1}"+flags+"$3")
			}
		}
		if bare && assigned.MatchString(line) {
			now = strings.TrimRight(now, " \t") + " " + flags
		}
		return now
	})
	b.offer(hunks, part, why, takes)
}

// openMP offers that pragmas of OpenMP, which the sources have, are read.
func (b *builder) openMP(compiled []Compilation) {
	var levels []string
	sums, bare := false, false
	for _, one := range compiled {
		if !one.Pragmas || one.OpenMP {
			continue
		}
		levels, bare = append(levels, one.Level), bare || one.Level == ""
		for _, s := range b.c.Sources {
			sums = sums || s.Path == one.File && strings.Contains(s.Text, "reduction(")
		}
	}
	if len(levels) == 0 {
		return
	}
	if sums && !b.opt.Reassociate {
		b.refuse("pragmas of OpenMP are not read (no -fopenmp), and one of them is about a sum, which threads would add in another order: allow it with a tolerance")
		return
	}
	// Where linking is a command of its own, it needs the flag as well.
	apart := slices.ContainsFunc(compilers(b.c.Build), func(command []string) bool {
		return !slices.Contains(command, "-c") && !slices.ContainsFunc(command, func(w string) bool { return w != "" && slices.Contains(levels, w) })
	})
	compiling, linking := false, false
	hunks := b.lines(func(line string) string {
		now := line
		for _, w := range levels {
			if w != "" && !strings.Contains(now, "-fopenmp") {
				now = word(w).ReplaceAllString(now, "$1$2 -fopenmp$3")
			}
		}
		if now == line && bare && assigned.MatchString(line) {
			now = strings.TrimRight(now, " \t") + " -fopenmp"
		}
		compiling = compiling || now != line
		if apart && linked.MatchString(line) {
			linking = true
			now = strings.TrimRight(now, " \t") + " -fopenmp"
		}
		return now
	})
	if !compiling {
		hunks = nil
	}
	if compiling && apart && !linking {
		b.refuse("pragmas of OpenMP are not read (no -fopenmp), and no line that may be changed sets LDFLAGS or LDLIBS, which linking needs as well")
		return
	}
	var takes []string
	if sums {
		takes = []string{reordered}
	}
	b.offer(hunks, 1, "the pragmas of OpenMP that the sources have are read: iterations are shared among processors", takes)
}

// word finds a word of a command among others, with what stands before and behind.
func word(w string) *regexp.Regexp {
	return regexp.MustCompile(`(^|[\s="'])(` + regexp.QuoteMeta(w) + `)($|[\s"'])`)
}

// without is a line without a word, and without the white space before it.
func without(line, w string) string {
	return word(w).ReplaceAllStringFunc(line, func(s string) string {
		return strings.TrimRight(s[:strings.Index(s, w)], " \t") + s[strings.Index(s, w)+len(w):]
	})
}

// lines are the lines that may be changed and that change makes others of.
func (b *builder) lines(change func(string) string) []edit.Hunk {
	var out []edit.Hunk
	for _, s := range b.files {
		for i, line := range splitLines(s.Text) {
			if !editable(s, i+1, i+1) || strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			if now := change(line); now != line {
				out = append(out, edit.Hunk{File: s.Path, Search: []string{line}, Replace: []string{now}, At: i + 1})
			}
		}
	}
	return out
}

func (b *builder) refuse(why string) {
	b.out.Refusals = append(b.out.Refusals, Refusal{buildFlags, b.files[0].Path, "the build", 1, why})
}

func (b *builder) offer(hunks []edit.Hunk, part float64, why string, takes []string) {
	if len(hunks) == 0 {
		b.refuse("no line that may be changed has the flags that the compiler is given, or sets CFLAGS or CXXFLAGS")
		return
	}
	t := Transformations[slices.IndexFunc(Transformations, func(t Transformation) bool { return t.Name == buildFlags })]
	p := Proposal{Transformation: t.Name, File: hunks[0].File, Line: hunks[0].At, Gain: t.Gain * part, Assumes: takes,
		Edit: edit.Edit{Why: why, Hunks: hunks, Predictions: []edit.Prediction{{Metric: "time", Direction: edit.Down}}}}
	for _, speaks := range []func(insight.Item) bool{t.Relevant, func(it insight.Item) bool { return it.Kind == insight.Hot }} {
		for _, it := range b.c.Evidence {
			if len(p.Edit.Evidence) < 3 && speaks(it) {
				p.Edit.Evidence = append(p.Edit.Evidence, strings.ToUpper(it.ID))
			}
		}
		if len(p.Edit.Evidence) > 0 {
			break
		}
	}
	if len(p.Edit.Evidence) == 0 && !b.opt.Uncited {
		b.refuse("no evidence is about time that the compiler could save")
		return
	}
	b.out.Proposals = append(b.out.Proposals, p)
}
