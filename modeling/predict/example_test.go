package predict_test

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/predict"
)

// From a dataframe to a value with an interval, and to a file and back.
func Example() {
	var kernel []string
	var bytes_, time []float64
	for i := range 400 {
		n := math.Pow(2, 10+float64(i%16))
		kernel, bytes_ = append(kernel, fmt.Sprint("kernel ", i/8)), append(bytes_, n)
		time = append(time, 2e-6+n/5e11*(1+0.1*float64(i%7)))
	}
	df := dataframe.New(series.New(kernel, series.String, "kernel"), series.New(bytes_, series.Float, "dram bytes"), series.New(time, series.Float, "time"))

	ctx := context.Background()
	examples, _, err := predict.FromFrame(df, predict.Frame{Target: "time", Unit: "s", Group: "kernel"})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := predict.Conformal{Learner: boost.Learner{}}.Fit(ctx, examples, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := predict.Save(&file, p.(*predict.Fitted)); err != nil {
		fmt.Println(err)
		return
	}
	again, err := predict.Load(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	ps, err := again.Predict(ctx, &predict.Examples{Features: []string{"dram bytes"}, X: [][]float64{{1 << 24}}}, 0.8)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f us, between %.0f and %.0f us\n", 1e6*ps[0].Value, 1e6*ps[0].Low, 1e6*ps[0].High)
	fmt.Println(again.Describe().Interval)
	// Output:
	// 46 us, between 38 and 54 us
	// split conformal by group on 80 rows of 10 groups that the model did not see
}
