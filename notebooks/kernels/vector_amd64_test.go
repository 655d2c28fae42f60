//go:build goexperiment.simd

package kernels

import (
	"math"
	"testing"
)

func TestVectorProductIsTheScalarOne(t *testing.T) {
	if !haveVectors() {
		t.Skip("this processor has no AVX2")
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
