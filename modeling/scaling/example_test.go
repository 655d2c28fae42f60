package scaling_test

import (
	"fmt"
	"log"
	"math"

	"github.com/rooflab/rooflab/modeling/scaling"
)

func ExampleFit() {
	var points []scaling.Point
	for _, n := range []float64{100, 200, 400, 800, 1600, 3200} {
		t := 3.1e-3 + 2e-6*n*math.Log2(n)
		points = append(points, scaling.Point{At: []float64{n}, Values: []float64{t * 1.01, t, t * 0.99}})
	}
	m, err := scaling.Fit(points, scaling.Options{Name: "sort", Parameters: []string{"n"}, Unit: "s"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Formula())
	p, err := m.Predict(6400)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f s, %g times beyond\n", p.Value, p.Beyond)
	// Output:
	// 0.0031 + 2e-06 * n * log2(n) seconds
	// 0.165 s, 2 times beyond
}
