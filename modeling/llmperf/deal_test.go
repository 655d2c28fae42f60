package llmperf

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rooflab/rooflab/modeling/predict"
)

func TestKernelsToStopByAreNotLearntFrom(t *testing.T) {
	e := &predict.Examples{}
	for i := range 60 {
		e.X = append(e.X, nil)
		e.Groups = append(e.Groups, fmt.Sprint(i%12))
		e.Y = append(e.Y, float64(i+1))
	}
	for seed := range uint64(5) {
		learnt, held, err := Options{Seed: seed}.deal(e)
		if err != nil {
			t.Fatal(err)
		}
		if held.Len() == 0 || learnt.Len()+held.Len() != e.Len() {
			t.Errorf("%d learnt from and %d held out of %d", learnt.Len(), held.Len(), e.Len())
		}
		for _, g := range held.Groups {
			if slices.Contains(learnt.Groups, g) {
				t.Errorf("group %s is on both sides", g)
			}
		}
	}
}
