package build_test

import (
	"fmt"

	"github.com/rooflab/rooflab/agents/build"
)

func ExampleParse() {
	log := `gcc -O2 -c stencil.c
stencil.c: In function 'step':
stencil.c:12:9: error: 'j' undeclared (first use in this function)
   12 |   for (j = 1; j < n; j++)
      |        ^
make: *** [Makefile:4: stencil.o] Error 1
`
	for _, m := range build.Parse(log) {
		fmt.Println(m)
	}
	// Output:
	// stencil.c:12:9: error: 'j' undeclared (first use in this function)
	// error: [Makefile:4: stencil.o] Error 1
}
