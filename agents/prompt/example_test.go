package prompt_test

import (
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/agents/prompt"
)

// A prompt within 2000 tokens says which evidence it holds and what it left out.
func ExampleBuild() {
	p, err := prompt.Build(input(), prompt.Options{Tokens: 2000})
	if err != nil {
		panic(err)
	}
	head, _, _ := strings.Cut(p.User, "\n")
	fmt.Println(head)
	fmt.Println(p.Evidence, p.Left, p.Tokens <= 2000)
	// Output:
	// Task: change the C program heat so that it will take less time.
	// [H1 C1 C2] [] true
}
