package kernelcost_test

import (
	"testing"

	"github.com/rooflab/rooflab/collectors/opencl/generate"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// BenchmarkAnalyse reads and analyses a generated kernel with three launches.
func BenchmarkAnalyse(b *testing.B) {
	g := generate.New(9, 3)
	ks := make([]generate.Kernel, 200)
	for i := range ks {
		ks[i] = g.Next()
	}
	b.ReportAllocs()
	launches := 0
	for i := 0; b.Loop(); i++ {
		k := ks[i%len(ks)]
		p := kernelcost.Parse(k.Source, csource.Options{})
		for _, l := range k.Launches {
			scalars, _, local := arguments(l.Args)
			if _, err := p.Analyse(kernelcost.Launch{Scalars: scalars, Bytes: local, Global: l.Global, Local: l.Local}); err != nil {
				b.Fatal(err)
			}
			launches++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(launches), "µs/launch")
}
