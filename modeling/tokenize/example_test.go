package tokenize_test

import (
	"context"
	"fmt"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

func Example() {
	kernels := tokenize.Texts(
		"__kernel void scale(__global float *x, int n) { int i = get_global_id(0); if (i < n) x[i] *= 0.5f; }",
		"__kernel void add(__global float *y, int m) { int j = get_global_id(0); if (j < m) y[j] += 2.5f; }",
	)
	t, err := tokenize.Train(context.Background(), kernels, tokenize.Options{
		Vocab:         600,
		Normalization: tokenize.Normalization{Space: tokenize.MinimalSpace, Rename: true, Numbers: tokenize.Scientific},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	const source = "__kernel void k(__global float *data, int size) { data[get_global_id(0)] = 1024; }"
	fmt.Println(t.Normalize(source))

	s := t.NewSequence()
	s.Special(tokenize.Begin)
	s.Source(source)
	s.Special(tokenize.Global)
	s.Number(1 << 20)
	s.Special(tokenize.End)
	e, err := s.Fit(64, tokenize.KeepBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range e.IDs[e.Len()-10 : e.Len()-1] {
		name, _ := t.Token(id)
		fmt.Print(name, " ")
	}
	fmt.Println(e.Log2[e.Len()-2])
	// Output:
	// __kernel void f0(__global float*v0,int v1){v0[get_global_id(0)]=1024;}
	// <global> <e6> <#1> <#0> <#4> <#8> <#5> <#7> <#6> 20
}
