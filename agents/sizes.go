package agents

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/agents/validate"
)

// DrawnSizes are sizes that a target does not list and allows (target.Drawn).
// Outputs are compared at each of them once, on a fresh input, so that a candidate
// that is right at the listed sizes alone, such as one that forgets the rest of a
// loop in steps, is turned down. Nobody knew them when it was written; the seed
// gives the same again.
type DrawnSizes struct {
	Seed  uint64   `json:"seed"`
	Sizes []string `json:"sizes"`
}

// drawSizes draws the sizes of a run, by a seed that is drawn itself where it is 0.
func drawSizes(t *target.Target, seed uint64) DrawnSizes {
	if t.Inputs.Drawn == nil {
		return DrawnSizes{}
	}
	for seed == 0 {
		seed = uint64(rand.Uint32()) // of the runtime's source, which nobody can foresee
	}
	return DrawnSizes{Seed: seed, Sizes: t.Inputs.Draw(seed)}
}

// String says which sizes were drawn, "" where none were.
func (d DrawnSizes) String() string {
	if len(d.Sizes) == 0 {
		return ""
	}
	return fmt.Sprintf("the sizes %s, drawn with the seed %d", strings.Join(d.Sizes, ", "), d.Seed)
}

// reasons are those of a verdict, each with the size at which it came about.
func (d DrawnSizes) reasons(v validate.Verdict, sizes int) []validate.Reason {
	var out []validate.Reason
	for _, c := range v.Cases {
		at := ""
		switch size := c.Input[string(target.Size)]; {
		case slices.Contains(d.Sizes, size):
			at = fmt.Sprintf("at the size %s, which is not listed but drawn (seed %d): ", size, d.Seed)
		case sizes > 1:
			at = fmt.Sprintf("at the size %s: ", size)
		}
		for _, r := range c.Reasons {
			out = append(out, validate.Reason{Kind: r.Kind, Text: at + r.Text})
		}
	}
	return out
}

// failed says of an original that does not run at a drawn size what to change.
func (d DrawnSizes) failed(err error) error {
	var own *validate.OriginalError
	if errors.As(err, &own) && slices.Contains(d.Sizes, own.Input[string(target.Size)]) {
		return fmt.Errorf("%w%s", err, narrower)
	}
	return err
}

const narrower = "; this size is not listed but drawn: give inputs.drawn bounds, or a multiple, within which the program runs"

// bounds is what to change where an original is turned down at a drawn size, ""
// where it is at a listed one.
func (d DrawnSizes) bounds(v Validation) string {
	if slices.Contains(d.Sizes, v.At) {
		return narrower
	}
	return ""
}
