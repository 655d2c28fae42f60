package validate_test

import (
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/agents/validate"
)

func ExampleCompare() {
	want := "iteration 1 residual 1.000e-01\niteration 2 residual 2.00000e-03\ntime 3.2 s\n"
	got := "iteration 1 residual 1.000e-01\niteration 2 residual 2.00040e-03\ntime 1.1 s\n"
	out := validate.Output{
		Path: "residuals.txt", Format: validate.Text, Ignore: []string{"^time "},
		Tolerance: validate.Tolerance{Rule: validate.Relative, Rel: 1e-5},
	}
	c, err := validate.Compare(out, strings.NewReader(want), strings.NewReader(got))
	fmt.Println(c, err)
	// Output: residuals.txt differs (|got - want| <= 1e-05 |want|): 1 of 4 values, the first at index 3 (line 2): 2.00040e-03 instead of 2.00000e-03, off by 4e-07 <nil>
}
