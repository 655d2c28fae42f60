package chart_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/rooflab/rooflab/internal/imagetest"
	"github.com/rooflab/rooflab/modeling/counters"
	"github.com/rooflab/rooflab/modeling/counters/chart"
)

func result(t *testing.T) *counters.Result {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	table := counters.Table{Target: "time", Y: make([]float64, 80)}
	for j := range 30 {
		c := make([]float64, 80)
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		table.Names, table.Columns = append(table.Names, fmt.Sprint("counter ", j)), append(table.Columns, c)
	}
	table.Names[0] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit_and_more.sum"
	for i := range table.Y {
		table.Y[i] = math.Exp(table.Columns[0][i] - table.Columns[1][i] + 0.2*rng.NormFloat64())
	}
	r, err := counters.Select(context.Background(), table, counters.Options{K: 2, Members: 40})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestChosenCountersAreDrawnFirst(t *testing.T) {
	r := result(t)
	p, err := chart.Plot(r)
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.WriterTo(7*vg.Inch, 4*vg.Inch, "svg")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What explains time", "chosen", "not chosen", "importance", "counter 1<", "l1tex__t_sectors_pipe_l…_lookup_hit_and_more.sum"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the drawing lacks %q", want)
		}
	}
	if n := strings.Count(out.String(), ">counter "); n != 14 { // and the long name
		t.Errorf("%d counters are named, want 14", n)
	}
}

func TestNothingToDraw(t *testing.T) {
	for _, r := range []*counters.Result{nil, {}} {
		if _, err := chart.Plot(r); err == nil || !strings.Contains(err.Error(), "no counters") {
			t.Error(err)
		}
	}
}

// The picture was looked at when it was made; the test fails when what is
// drawn is visibly another in more than 0.2 % of the pixels.
func TestThePictureIsTheGoldenOne(t *testing.T) {
	p, err := chart.Plot(result(t))
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.WriterTo(7*vg.Inch, 4*vg.Inch, "png")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	imagetest.PNG(t, out.Bytes(), "testdata/choice.png", 0.002)
}
