package boost_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/predict"
)

// synthetic is a table whose target depends on five of d features.
func synthetic(n, d int, seed uint64) *predict.Examples {
	rng := rand.New(rand.NewPCG(seed, 1))
	e := &predict.Examples{Target: "time", Unit: "s"}
	for j := range d {
		e.Features = append(e.Features, fmt.Sprintf("f%03d", j))
	}
	for r := range n {
		row := make([]float64, d)
		for j := range row {
			row[j] = rng.Float64()
		}
		e.X = append(e.X, row)
		e.Groups = append(e.Groups, fmt.Sprintf("kernel %d", r/10))
		// Friedman's first test function (1991), with noise of standard deviation 0.3.
		y := 10*math.Sin(math.Pi*row[0]*row[1]) + 20*(row[2]-0.5)*(row[2]-0.5) + 10*row[3] + 5*row[4]
		e.Y = append(e.Y, math.Exp(y/5+0.3*rng.NormFloat64()))
	}
	return e
}

// The size that the package is made for: run with -benchtime 1x.
func BenchmarkFit20000Rows200Features500Trees(b *testing.B) {
	e := synthetic(20000, 200, 1)
	for b.Loop() {
		if _, err := (boost.Learner{Trees: 500, Held: -1}).Fit(context.Background(), e, 1); err != nil {
			b.Fatal(err)
		}
	}
}
