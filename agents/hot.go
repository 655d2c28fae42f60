package agents

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/modeling/hot"
	"github.com/rooflab/rooflab/modeling/insight"
)

// HotKernel is a function or kernel that is worth changing.
type HotKernel struct {
	Name  string     `json:"name"`
	Share Number     `json:"share"` // of the run's time, or of what the profile counts in its place
	File  string     `json:"file"`
	Lines edit.Range `json:"lines"`
	// Within is the hot function that calls this one, which the profile does not
	// know: a compiler that inlines it leaves its time to the caller. The share is
	// the caller's.
	Within string `json:"within,omitempty"`
}

// SelectHot finds the functions of the sources that a report's hot kernels are,
// the most expensive first, up to those that cover a share of the time (0 is
// hot.DefaultShare), and narrows what may be changed to them, and to what may have
// been inlined into them; files of the build keep their lines. Where no hot kernel is a function with editable lines,
// the sources stay as they are.
func SelectHot(r *insight.Report, sources []edit.Source, share float64) ([]HotKernel, []edit.Source) {
	if share == 0 {
		share = hot.DefaultShare
	}
	var found []HotKernel
	covered := 0.0
	for _, k := range r.Kernels {
		if covered >= share || k.Share == nil {
			break
		}
		covered += *k.Share
		for _, s := range sources {
			for _, f := range edit.Functions(s.Text) {
				if (f.Name == k.Name || strings.HasSuffix(f.Name, "::"+k.Name)) && len(within(s.Editable, f.Lines)) > 0 {
					found = append(found, HotKernel{Name: k.Name, Share: Number(*k.Share), File: s.Path, Lines: f.Lines})
				}
			}
		}
	}
	if len(found) == 0 {
		return nil, sources
	}
	found = inlined(r, sources, found)
	narrowed := make([]edit.Source, len(sources))
	for i, s := range sources {
		narrowed[i] = edit.Source{Path: s.Path, Text: s.Text}
		if rules.BuildFile(s.Path) { // no profile is about it
			narrowed[i].Editable = s.Editable
		}
		for _, k := range found {
			if k.File == s.Path {
				narrowed[i].Editable = append(narrowed[i].Editable, within(s.Editable, k.Lines)...)
			}
		}
	}
	return found, narrowed
}

// inlined adds the functions with editable lines that hot ones call and that the
// profile does not name.
func inlined(r *insight.Report, sources []edit.Source, found []HotKernel) []HotKernel {
	named := map[string]bool{}
	for _, k := range r.Kernels {
		named[k.Name] = true
	}
	for _, k := range found {
		named[k.Name] = true
	}
	for i := 0; i < len(found); i++ { // what is found on the way may have something inlined, too
		caller := found[i]
		text := textOf(sources, caller)
		for _, s := range sources {
			for _, f := range edit.Functions(s.Text) {
				name := f.Name[strings.LastIndex(f.Name, ":")+1:]
				if named[f.Name] || named[name] || len(within(s.Editable, f.Lines)) == 0 || !regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\s*\(`).MatchString(text) {
					continue
				}
				named[f.Name] = true
				found = append(found, HotKernel{Name: f.Name, Share: caller.Share, File: s.Path, Lines: f.Lines, Within: cmp.Or(caller.Within, caller.Name)})
			}
		}
	}
	return found
}

// textOf is the text of a function.
func textOf(sources []edit.Source, k HotKernel) string {
	for _, s := range sources {
		if s.Path == k.File {
			all := strings.Split(s.Text, "\n")
			return strings.Join(all[min(len(all), k.Lines.Start-1):min(len(all), k.Lines.End)], "\n")
		}
	}
	return ""
}

// within are the parts of ranges that lie in another.
func within(ranges []edit.Range, in edit.Range) []edit.Range {
	var out []edit.Range
	for _, r := range ranges {
		if part := (edit.Range{Start: max(r.Start, in.Start), End: min(r.End, in.End)}); part.Len() > 0 {
			out = append(out, part)
		}
	}
	return out
}

// after are sources as a patch leaves them, with the lines that may be changed
// where they are then: a range grows or shrinks by what changes in it.
func after(sources []edit.Source, p *edit.Patch) []edit.Source {
	out := make([]edit.Source, len(sources))
	for i, s := range sources {
		out[i] = edit.Source{Path: s.Path, Text: s.Text}
		for _, f := range p.Files {
			if f.Path == s.Path {
				out[i].Text = f.Text
			}
		}
		for _, r := range s.Editable {
			moved := r
			for _, o := range p.Outcomes {
				for _, c := range o.Changes {
					if c.File != s.Path {
						continue
					}
					grow := c.New.Len() - c.Old.Len()
					switch {
					case c.Old.Start < r.Start:
						moved.Start += grow
						moved.End += grow
					case c.Old.Start <= r.End+1:
						moved.End += grow
					}
				}
			}
			if moved.Len() > 0 {
				out[i].Editable = append(out[i].Editable, moved)
			}
		}
	}
	return out
}
