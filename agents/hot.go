package agents

import (
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/modeling/hot"
	"github.com/rooflab/rooflab/modeling/insight"
)

// HotKernel is a function or kernel that is worth changing.
type HotKernel struct {
	Name  string     `json:"name"`
	Share Number     `json:"share"` // of the run's time, or of what the profile counts in its place
	File  string     `json:"file"`
	Lines edit.Range `json:"lines"`
}

// SelectHot finds the functions of the sources that a report's hot kernels are,
// the most expensive first, up to those that cover a share of the time (0 is
// hot.DefaultShare), and narrows what may be changed to them. Where no hot kernel
// is a function with editable lines, the sources stay as they are.
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
					found = append(found, HotKernel{k.Name, Number(*k.Share), s.Path, f.Lines})
				}
			}
		}
	}
	if len(found) == 0 {
		return nil, sources
	}
	narrowed := make([]edit.Source, len(sources))
	for i, s := range sources {
		narrowed[i] = edit.Source{Path: s.Path, Text: s.Text}
		for _, k := range found {
			if k.File == s.Path {
				narrowed[i].Editable = append(narrowed[i].Editable, within(s.Editable, k.Lines)...)
			}
		}
	}
	return found, narrowed
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
