package agents_test

import (
	"fmt"

	"github.com/rooflab/rooflab/agents"
)

// A diff as patch and git apply read it.
func ExampleDiff() {
	fmt.Print(agents.Diff("axpy.c", "for (i = 0; i < n; i++)\n    y[i] += a * x[i];\n", "#pragma omp simd\nfor (i = 0; i < n; i++)\n    y[i] += a * x[i];\n"))
	// Output:
	// --- a/axpy.c
	// +++ b/axpy.c
	// @@ -1,2 +1,3 @@
	// +#pragma omp simd
	//  for (i = 0; i < n; i++)
	//      y[i] += a * x[i];
}
