package llmperf

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Attribution says what a prediction rests on, to first order: of each token
// the gradient of the logarithm of the predicted time by what the token says,
// times that (gradient times input, Shrikumar et al. 2016), summed by line. It
// is in units of log time: 0.1 is about 10 % longer. It explains the model, which
// need not be how the kernel spends its time.
type Attribution struct {
	Kernel  string
	Seconds float64 // predicted
	Lines   []Line  // all lines of the source
	// Arguments and Sizes are of what stands beside the source; Cut says that a
	// part of the source was left out, for its length.
	Arguments, Sizes float64
	Cut              bool
	// Side says that kernelcost's features had a part, which is not in here.
	Side bool
}

// Line is a line of the source.
type Line struct {
	Number int
	Text   string
	Value  float64 // sum over its tokens
	Weight float64 // sum of the absolute values
	Tokens int     // 0 where the model saw none: blank, a comment, or cut
}

// Attribute says which lines of a launch's source a prediction rests on.
func (m *Model) Attribute(ctx context.Context, x Example) (*Attribution, error) {
	a, err := m.attribution(ctx, x)
	if err != nil {
		return nil, fmt.Errorf("attributing a prediction of %q: %w", x.Kernel, err)
	}
	return a, nil
}

func (m *Model) attribution(ctx context.Context, x Example) (*Attribution, error) {
	if m.weights != nil {
		return nil, errUnread
	}
	x.Seconds = unknown()
	e, err := Table([]Example{x})
	if err != nil {
		return nil, err
	}
	location, _, err := m.both(ctx, e)
	if err != nil {
		return nil, err
	}
	d, err := m.encode(ctx, e)
	if err != nil {
		return nil, err
	}
	length, err := bucket(m.lengths, d.Length(0))
	if err != nil {
		return nil, err
	}
	b, err := d.Batch([]int{0}, length)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.network == nil {
		return nil, errUnread
	}
	each, err := m.network.Attribute(b)
	if err != nil {
		return nil, err
	}
	a := &Attribution{Kernel: x.Kernel, Seconds: math.Exp(location[0]), Side: d.width > 0}
	for i, text := range strings.Split(x.Source, "\n") {
		a.Lines = append(a.Lines, Line{Number: i + 1, Text: text})
	}
	tokens := d.rows[0]
	arg, _ := m.tokenizer.Special("<arg>")
	sizes := tokens.Len() // where a text's begin
	if c := m.encoder(); c.plain() {
		sizes -= len(m.tokenizer.AppendIDs(nil, launchText(x)))
	}
	cut, hasCut := m.tokenizer.Special("<cut>")
	sep, _ := m.tokenizer.Special("<sep>")
	separators := 0
	for i, line := range tokens.Lines(x.Source) {
		v := m.sd * float64(each.Float32[i])
		switch id := tokens.IDs[i]; {
		case line >= 1 && line <= len(a.Lines):
			l := &a.Lines[line-1]
			l.Value, l.Weight, l.Tokens = l.Value+v, l.Weight+math.Abs(v), l.Tokens+1
		case m.encoder().plain():
			if i < sizes {
				a.Arguments += v
			} else {
				a.Sizes += v
			}
		case id == sep:
			separators++
		case hasCut && id == cut:
			a.Cut = true
		case separators == 1 || id == arg:
			a.Arguments += v
		case separators > 1:
			a.Sizes += v
		}
	}
	return a, nil
}

// bars is how long the longest bar of a listing is.
const bars = 12

// Table is the source with the weight of its lines.
func (a *Attribution) Table() tabular.Table {
	t := tabular.Table{
		Title:   fmt.Sprintf("What the prediction of %s for %s rests on, by line", tabular.Quantity(a.Seconds, "s"), name(a.Kernel)),
		Columns: tabular.Columns("line", "log time", "share", "<weight", "<source"),
	}
	total, most := 0.0, 0.0
	for _, l := range a.Lines {
		total, most = total+l.Weight, max(most, l.Weight)
	}
	for _, l := range a.Lines {
		cells := []string{fmt.Sprint(l.Number), "", "", "", indented(l.Text)}
		if l.Tokens > 0 {
			cells[1] = fmt.Sprintf("%+.3f", l.Value)
			if total > 0 {
				cells[2] = tabular.Percent(l.Weight / total)
				cells[3] = strings.Repeat("█", int(math.Round(bars*l.Weight/most)))
			}
		}
		t.Add(cells...)
	}
	t.Note("log time: gradient times input, summed over the line's tokens; share: of the sum of their absolute values. Arguments %+.3f, sizes %+.3f.", a.Arguments, a.Sizes)
	if a.Cut {
		t.Note("The source was too long: lines without a number were left out.")
	}
	if a.Side {
		t.Note("The counts of operations that the model reads beside the text had a part, which is not shown.")
	}
	return t
}

// indented makes the blanks that a line begins with ones that HTML keeps.
func indented(line string) string {
	text := strings.TrimLeft(line, " \t")
	blanks := strings.ReplaceAll(line[:len(line)-len(text)], "\t", "    ")
	return strings.ReplaceAll(blanks, " ", "\u00a0") + text
}

func name(kernel string) string {
	if kernel == "" {
		return "the kernel"
	}
	return kernel
}

// Display shows the listing.
func (a *Attribution) Display() display.Bundle { return a.Table().Display() }

// String is the listing as text.
func (a *Attribution) String() string { return a.Table().String() }

var _ predict.Spread = (*Model)(nil)
