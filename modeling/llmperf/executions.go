package llmperf

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/tokenize"
)

// counts is what a network is told of kernelcost's analysis of a launch, each as
// log2 of one more. It is nil of a launch that cannot be analysed.
type counts struct {
	items, groups float32
	places        []place // by offset
}

// place is a spot of the source, in bytes from its beginning, and how often the
// launch executes it.
type place struct {
	offset int32
	count  float32
}

func countsOf(c *kernelcost.Cost) *counts {
	if c == nil {
		return nil
	}
	log2 := func(n float64) float32 { return float32(math.Log2(1 + n)) }
	n := &counts{items: log2(c.Items), groups: log2(c.Groups), places: make([]place, len(c.Places))}
	for i, p := range c.Places {
		n.places[i] = place{int32(p.Offset), log2(p.Count)}
	}
	return n
}

// counted are the counts of each row: those that Table kept, and of a table
// that was made otherwise new ones.
func counted(ctx context.Context, e *predict.Examples) ([]*counts, error) {
	out := make([]*counts, e.Len())
	programs := map[string]*kernelcost.Program{}
	for r := range out {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.Kept != nil {
			if n, ok := e.Kept[r].(*counts); ok {
				out[r] = n
				continue
			}
		}
		x, err := row(e, r)
		if err != nil {
			return nil, err
		}
		p := programs[x.Source]
		if p == nil {
			p = kernelcost.Parse(x.Source, csource.Options{})
			programs[x.Source] = p
		}
		out[r] = countsOf(analysed(p, x))
	}
	return out, nil
}

// executions are, of each row's tokens, log2 of one more than how often the
// launch executes what the token stands for, as kernelcost counts it. All are 0
// where a launch cannot be analysed.
func (m *Model) executions(ctx context.Context, e *predict.Examples, rows []tokenize.Encoding) ([][]float32, error) {
	counts, err := counted(ctx, e)
	if err != nil {
		return nil, err
	}
	global, hasGlobal := m.tokenizer.Special(tokenize.Global)
	local, hasLocal := m.tokenizer.Special(tokenize.Local)
	out := make([][]float32, len(rows))
	for r, tokens := range rows {
		out[r] = make([]float32, tokens.Len())
		n := counts[r]
		if n == nil {
			continue
		}
		n.tell(out[r], e.Texts[textSource][r], tokens.Spans)
		// Beside the text stand the launch, its work-items and its groups.
		out[r][0] = 1
		for i, id := range tokens.IDs {
			switch {
			case tokens.Spans[i].End > tokens.Spans[i].Start:
			case hasGlobal && id == global:
				out[r][i] = n.items
			case hasLocal && id == local:
				out[r][i] = n.groups
			}
		}
	}
	return out, nil
}

// tell fills in the counts of tokens of the source: that of the place within
// a token, else of the one before it in its line, else of the one after.
func (n *counts) tell(out []float32, source string, spans []tokenize.Span) {
	for i, s := range spans {
		if s.End <= s.Start || s.End > len(source) {
			continue
		}
		at, _ := slices.BinarySearchFunc(n.places, s.Start, func(p place, start int) int { return int(p.offset) - start })
		oneLine := func(from, to int) bool { return to <= len(source) && !strings.Contains(source[from:to], "\n") }
		switch {
		case at < len(n.places) && int(n.places[at].offset) < s.End:
			out[i] = n.places[at].count
		case at > 0 && oneLine(int(n.places[at-1].offset), s.Start):
			out[i] = n.places[at-1].count
		case at < len(n.places) && oneLine(s.Start, int(n.places[at].offset)):
			out[i] = n.places[at].count
		}
	}
}
