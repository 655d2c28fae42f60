package edit_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
)

// gpuFLOPBench has the kernels of 420 CUDA programs, cut out of their sources
// with clang. Each text ends with a kernel; the functions and kernels that it
// calls stand before it. A kernel has the word __global__ outside of comments.
const kernels = "../../../shared/data/gpuflopbench/extracted_CUDA_kernels.json"

func TestFunctionsOfPublishedKernels(t *testing.T) {
	data, err := os.ReadFile(kernels)
	if err != nil {
		t.Fatalf("%v: the folder shared/ must lie beside the repository", err)
	}
	var programs map[string]map[string][]string
	if err := json.Unmarshal(data, &programs); err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	n := 0
	for program, files := range programs {
		for _, texts := range files {
			for _, text := range texts {
				n++
				fs := edit.Functions(text)
				global := 0
				for _, f := range fs {
					if strings.Contains(f.Signature, "__global__ ") {
						global++
					}
				}
				want := strings.Count(comment.ReplaceAllString(text, ""), "__global__")
				if global != want || !strings.Contains(fs[len(fs)-1].Signature, "__global__ ") || fs[len(fs)-1].Lines.End != edit.All(text)[0].End {
					t.Errorf("%s: %d kernels, want %d, in\n%s", program, global, want, text)
				}
			}
		}
	}
	if n < 420 {
		t.Errorf("%d texts, fewer than programs", n)
	}
}
