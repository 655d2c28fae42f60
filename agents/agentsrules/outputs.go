package agentsrules

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/agents/validate"
)

// outputs says how what a program left in a folder and printed differs from what
// the original did; "" where it does not, by the tolerances of the target.
func outputs(t *target.Target, want string, wantPrinted []byte, got string, gotPrinted []byte) (string, error) {
	for _, o := range t.Outputs {
		var w, g io.Reader = bytes.NewReader(wantPrinted), bytes.NewReader(gotPrinted)
		if !o.Stdout {
			name := filepath.FromSlash(o.File)
			a, err := os.ReadFile(filepath.Join(want, name))
			if err != nil {
				return "", fmt.Errorf("reading an output of the original: %w", err)
			}
			b, err := os.ReadFile(filepath.Join(got, name))
			if os.IsNotExist(err) {
				return o.File + " is missing", nil
			}
			if err != nil {
				return "", err
			}
			w, g = bytes.NewReader(a), bytes.NewReader(b)
		}
		c, err := validate.Compare(compared(o), w, g)
		if err != nil {
			return "", err
		}
		if !c.OK() {
			return c.String(), nil
		}
	}
	return "", nil
}

// compared is an output as package validate has it.
func compared(o target.Output) validate.Output {
	out := validate.Output{Path: o.File, Format: validate.Format(o.Format), Ignore: o.Ignore}
	if o.Stdout {
		out.Path = validate.Stdout
	}
	if o.Format == target.FormatBytes {
		out.Format = validate.Bytes
	}
	if t := o.Tolerance; t != nil {
		rel, abs := t.Relative, t.Absolute
		switch {
		case t.ULP != nil:
			out.Tolerance = validate.Tolerance{Rule: validate.ULP, ULP: uint64(*t.ULP)}
		case rel != nil && abs != nil:
			out.Tolerance = validate.Tolerance{Rule: validate.Scaled, Rel: *rel, Abs: *abs}
		case rel != nil:
			out.Tolerance = validate.Tolerance{Rule: validate.Relative, Rel: *rel}
		case abs != nil:
			out.Tolerance = validate.Tolerance{Rule: validate.Absolute, Abs: *abs}
		}
	}
	return out
}
