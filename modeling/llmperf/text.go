package llmperf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// plain says whether launches are read as plain text, for want of the special
// tokens that a tokenizer has that was trained for them.
func (c Encoder) plain() bool {
	_, ok := c.Tokenizer.Special(tokenize.Arg)
	return !ok
}

// text is a launch as a text of C: the source as it is, since those who trained
// the model showed it such, then arguments and sizes in comments. Only the
// source is cut.
func (c Encoder) text(x Example) (tokenize.Encoding, error) {
	s := c.Tokenizer.NewSequence()
	if c.Begin != "" {
		s.Special(c.Begin)
	}
	s.Source(x.Source)
	s.Text(argumentText(x))
	s.Text(launchText(x))
	e, err := s.Fit(c.Limit, tokenize.KeepBody)
	if err != nil {
		return e, fmt.Errorf("encoding a launch of %q: %w", x.Kernel, err)
	}
	return e, nil
}

// argumentText is a line for each argument.
func argumentText(x Example) string {
	var b strings.Builder
	b.WriteString("\n// arguments:\n")
	for _, a := range x.Args {
		b.WriteString("// " + a.Name)
		numbers := func(vs []float64) {
			for i, v := range vs {
				if i > 0 {
					b.WriteString(",")
				}
				if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
					b.WriteString(" " + strconv.FormatFloat(v, 'f', 0, 64))
				} else {
					b.WriteString(" " + strconv.FormatFloat(v, 'g', 6, 64))
				}
			}
		}
		switch a.Kind {
		case Scalar:
			fmt.Fprintf(&b, ": %s", a.Type)
			numbers(a.Values)
		case Buffer:
			fmt.Fprintf(&b, ": %s[%d] %s", a.Type, a.Elements, a.Init)
			numbers(a.Range)
			b.WriteString(" " + a.Access)
		default:
			fmt.Fprintf(&b, ": %s %d bytes", a.Kind, a.Bytes)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// launchText is the line of the sizes.
func launchText(x Example) string {
	local := "any"
	if len(x.Local) > 0 {
		local = sizes(x.Local)
	}
	return fmt.Sprintf("// global size %s, local size %s\n", sizes(x.Global), local)
}
