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

// executions are, of each row's tokens, log2 of one more than how often the
// launch executes what the token stands for, as kernelcost counts it. All are 0
// where a launch cannot be analysed.
func (m *Model) executions(ctx context.Context, e *predict.Examples, rows []tokenize.Encoding) ([][]float32, error) {
	global, hasGlobal := m.tokenizer.Special(tokenize.Global)
	local, hasLocal := m.tokenizer.Special(tokenize.Local)
	programs := map[string]*kernelcost.Program{}
	out := make([][]float32, len(rows))
	for r, tokens := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[r] = make([]float32, tokens.Len())
		x, err := row(e, r)
		if err != nil {
			return nil, err
		}
		p := programs[x.Source]
		if p == nil {
			p = kernelcost.Parse(x.Source, csource.Options{})
			programs[x.Source] = p
		}
		c, err := p.Analyse(launchOf(x))
		if err != nil {
			continue
		}
		executed(out[r], c, x.Source, tokens.Spans)
		// Beside the text stand the launch, its work-items and its groups.
		out[r][0] = 1
		for i, id := range tokens.IDs {
			switch {
			case tokens.Spans[i].End > tokens.Spans[i].Start:
			case hasGlobal && id == global:
				out[r][i] = float32(math.Log2(1 + c.Items))
			case hasLocal && id == local:
				out[r][i] = float32(math.Log2(1 + c.Groups))
			}
		}
	}
	return out, nil
}

// executed fills in the counts of tokens of the source: that of the place within
// a token, else of the one before it in its line, else of the one after.
func executed(out []float32, c *kernelcost.Cost, source string, spans []tokenize.Span) {
	for i, s := range spans {
		if s.End <= s.Start || s.End > len(source) {
			continue
		}
		at, _ := slices.BinarySearchFunc(c.Places, s.Start, func(p kernelcost.Place, start int) int { return p.Offset - start })
		n := 0.0
		switch {
		case at < len(c.Places) && c.Places[at].Offset < s.End:
			n = c.Places[at].Count
		case at > 0 && !strings.Contains(source[c.Places[at-1].Offset:s.Start], "\n"):
			n = c.Places[at-1].Count
		case at < len(c.Places) && c.Places[at].Offset <= len(source) && !strings.Contains(source[s.Start:c.Places[at].Offset], "\n"):
			n = c.Places[at].Count
		}
		out[i] = float32(math.Log2(1 + n))
	}
}
