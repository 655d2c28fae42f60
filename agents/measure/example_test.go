package measure_test

import (
	"context"
	"fmt"

	"github.com/rooflab/rooflab/agents/measure"
)

func ExampleCompare() {
	// Runs of a program in a sandbox are measure.Program{...}.Run; these only say
	// how long they took.
	times := func(seconds ...float64) measure.Runner {
		i := 0
		return func(context.Context) (measure.Sample, error) {
			i++
			return measure.Sample{Seconds: seconds[(i-1)%len(seconds)]}, nil
		}
	}
	r, err := measure.Compare(context.Background(), times(2.01, 2.00, 2.04), times(1.25, 1.26, 1.25), measure.Options{})
	fmt.Println(r.Verdict, r.Stopped, err)
	fmt.Printf("%.2f times as fast, after %d repeats of each\n", r.Speedup, len(r.Candidate.Samples))
	// Output:
	// faster a difference was shown <nil>
	// 1.61 times as fast, after 6 repeats of each
}
