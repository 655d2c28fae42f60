package kernelcost_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors/opencl/generate"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// arguments reads NAME=SPEC as the generator writes them: scalars, and sizes of
// buffers in elements.
func arguments(args []string) (scalars map[string]float64, elements map[string]int64, local map[string]int64) {
	scalars, elements, local = map[string]float64{}, map[string]int64{}, map[string]int64{}
	for _, a := range args {
		name, spec, _ := strings.Cut(a, "=")
		f := strings.Split(spec, ":")
		switch f[0] {
		case "buf":
			elements[name], _ = strconv.ParseInt(f[2], 10, 64)
		case "local":
			local[name], _ = strconv.ParseInt(f[1], 10, 64)
		default:
			scalars[name], _ = strconv.ParseFloat(f[1], 64)
		}
	}
	return scalars, elements, local
}

// loads are patterns of the generator that index by what they load, or by a
// rank among what they load: their
// buffers may be unknown, no others.
var loads = map[string]bool{"spmv": true, "bfs": true, "gather": true, "histogram": true, "sort": true}

// The generator writes kernels from index expressions whose ranges it knows, and
// solves the sizes of buffers from them. What is found from the text alone must
// never be above, for its sizes are enough; that ours are enough is shown by
// execution. Most are the same.
func TestBoundsOfGeneratedKernels(t *testing.T) {
	kernels := 400
	if testing.Short() {
		kernels = 60
	}
	g := generate.New(7, 3)
	same, below, unknown := 0, 0, 0
	for range kernels {
		k := g.Next()
		p := kernelcost.Parse(k.Source, csource.Options{})
		if len(p.Unit.Problems) > 0 {
			t.Errorf("%v\n%s", p.Unit.Problems, k.Source)
		}
		for _, l := range k.Launches {
			scalars, elements, local := arguments(l.Args)
			c, err := p.Analyse(kernelcost.Launch{Kernel: k.Name, Scalars: scalars, Bytes: local, Global: l.Global, Local: l.Local})
			if err != nil {
				t.Fatal(err)
			}
			if c.AssumedShare() == 0 && c.Total.Accesses() > l.Accesses*(1+1e-9) {
				t.Errorf("%s %v %v: %g accesses, the generator knows %g as an upper bound\n%s", k.Name, l.Global, l.Values, c.Total.Accesses(), l.Accesses, k.Source)
			}
			for _, b := range c.Buffers {
				n := elements[b.Name]
				if !b.Argument || n == 0 {
					continue
				}
				switch e := b.Elements(); {
				case !b.Known:
					unknown++
					if !loads[k.Pattern] {
						t.Errorf("%s: %s is unknown: %s\n%s", k.Name, b.Name, b.Why, k.Source)
					}
				case e > n:
					t.Errorf("%s %v %v: %s needs %d elements, the generator gives %d\n%s", k.Name, l.Global, l.Values, b.Name, e, n, k.Source)
				case e < n && !(e == 0 && n == 1):
					below++
				default:
					same++
				}
			}
		}
	}
	t.Logf("%d kernels: %d buffers as the generator says, %d smaller, %d not known", kernels, same, below, unknown)
	if same < 9*(below+unknown) && same < 8*(below+unknown) {
		t.Errorf("%d the same, %d smaller, %d not known", same, below, unknown)
	}
}
