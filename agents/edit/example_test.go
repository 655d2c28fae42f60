package edit_test

import (
	"fmt"

	"github.com/rooflab/rooflab/agents/edit"
)

// An answer of two edits: one is applied, the other wants a line that is not
// editable.
func Example() {
	const source = `#define N 1024
float sum(const float *a)
{
	float s = 0;
	for (int i = 0; i < N; i++) s += a[i];
	return s;
}
`
	answer := edit.Parse(`The loop is a chain of additions (C1).

file: sum.c
evidence: C1
predict: time down
<<<<<<< SEARCH
	for (int i = 0; i < N; i++) s += a[i];
=======
	#pragma omp simd reduction(+ : s)
	for (int i = 0; i < N; i++) s += a[i];
>>>>>>> REPLACE

evidence: C1
<<<<<<< SEARCH
#define N 1024
=======
#define N 1
>>>>>>> REPLACE
`, edit.ParseOptions{})
	patch := edit.Apply(answer.Edits, []edit.Source{{Path: "sum.c", Text: source, Editable: []edit.Range{edit.Functions(source)[0].Lines}}},
		edit.Rules{Evidence: []string{"H1", "C1"}})
	for _, o := range patch.Outcomes {
		fmt.Println(o.Edit.Evidence, o.Edit.Predictions, o.Changes)
		if o.Rejected != nil {
			fmt.Println(o.Rejected)
		}
	}
	fmt.Print(patch.Files[0].Text)
	// Output:
	// [C1] [{time down}] [{sum.c before 5 5 false}]
	// [C1] [] []
	// edit rejected (outside) at line 14 of the answer, sum.c: it changes line 1; editable are lines 2-7
	// #define N 1024
	// float sum(const float *a)
	// {
	// 	float s = 0;
	// 	#pragma omp simd reduction(+ : s)
	// 	for (int i = 0; i < N; i++) s += a[i];
	// 	return s;
	// }
}
