//go:build goexperiment.simd

package kernels

import (
	"math"
	"os/exec"
	"strings"
	"testing"
)

// Chains that are always equal would be computed once, and the ceiling that
// the probe finds would be too high: the compiler's listing tells.
func TestEveryChainOfTheProbeIsComputed(t *testing.T) {
	out, err := exec.Command("go", "build", "-gcflags=-S", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	counts, in := map[string]int{}, ""
	for line := range strings.Lines(string(out)) {
		if name, _, ok := strings.Cut(line, " STEXT"); ok {
			in = name[strings.LastIndex(name, ".")+1:]
		}
		if strings.Contains(line, "VFMADD") {
			counts[in]++
		}
	}
	for _, f := range []string{"fma512", "fma256"} {
		if counts[f] < chains {
			t.Errorf("%s has %d multiply-adds for %d chains", f, counts[f], chains)
		}
	}
}

func TestVectorProductIsTheScalarOne(t *testing.T) {
	if !haveVectors() {
		t.Log("this processor has no AVX2: there is no vector product to compare")
		return
	}
	for _, n := range []int{4, 12, 13, 64} {
		a, b := array(n*n), array(n*n)
		one, two := make([]float64, n*n), make([]float64, n*n)
		ikj(n, a, b, one)
		ikjVector(n, a, b, two)
		for i := range one {
			if math.Abs(one[i]-two[i]) > 1e-12*one[i] {
				t.Fatalf("n = %d, element %d: %g and %g", n, i, one[i], two[i])
			}
		}
	}
}
