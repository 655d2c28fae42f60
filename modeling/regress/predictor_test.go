package regress_test

import (
	"context"
	"math"
	"testing"

	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/regress"
)

var _ predict.Model = (*regress.Model)(nil)

// The same rows as a dataframe and as a table of examples.
func TestAModelPredictsExamplesAsItDoesDataframes(t *testing.T) {
	o := opts
	o.Epochs = 5
	df := kernels(20, 5)
	m := fit(t, df, o)
	e, dropped, err := predict.FromFrame(df, predict.Frame{Target: o.Target, Unit: "s", Group: "kernel"})
	if err != nil || len(dropped) != 1 {
		t.Fatalf("%v, dropped %v", err, dropped)
	}
	logs, err := m.Log(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Predict(df)
	if err != nil {
		t.Fatal(err)
	}
	for r := range want {
		if math.Exp(logs[r]) != want[r].Time {
			t.Fatalf("row %d: %g and %g", r, math.Exp(logs[r]), want[r].Time)
		}
	}
	if d := m.Describe(); d.Rows != m.Report.Train || d.Target != o.Target || len(d.Features) != len(m.Report.Features) {
		t.Errorf("%+v", d)
	}
}
