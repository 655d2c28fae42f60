package kernelcost_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

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

func TestDebugGenerated(t *testing.T) {
	n := 300
	only := os.Getenv("ONLY")
	g := generate.New(7, 3)
	var total time.Duration
	launches := 0
	stat := map[string][4]int{}
	for range n {
		k := g.Next()
		if only != "" && k.Pattern != only {
			continue
		}
		p := kernelcost.Parse(k.Source, csource.Options{})
		if len(p.Unit.Problems) > 0 {
			t.Errorf("%v\n%s", p.Unit.Problems, k.Source)
		}
		for _, l := range k.Launches {
			scalars, elements, local := arguments(l.Args)
			from := time.Now()
			c, err := p.Analyse(kernelcost.Launch{Kernel: k.Name, Scalars: scalars, Bytes: local, Global: l.Global, Local: l.Local})
			d := time.Since(from)
			total += d
			launches++
			if err != nil {
				t.Fatal(err)
			}
			if d > 5*time.Millisecond {
				fmt.Println("slow", k.Name, d)
			}
			s := stat[k.Pattern]
			for _, b := range c.Buffers {
				if !b.Argument || elements[b.Name] == 0 {
					continue
				}
				switch e := b.Elements(); {
				case !b.Known:
					s[3]++
					if only != "" {
						fmt.Println("unknown", b.Name, b.Why)
					}
				case e == elements[b.Name] || e == 0 && elements[b.Name] == 1:
					s[0]++
				case e < elements[b.Name]:
					s[1]++
					if only != "" {
						fmt.Println("below", b.Name, e, elements[b.Name], l.Global, l.Local, l.Values)
					}
				default:
					s[2]++
					fmt.Println("ABOVE", k.Pattern, b.Name, e, elements[b.Name], l.Global, l.Local, l.Values)
					if os.Getenv("SRC") != "" {
						fmt.Println(k.Source)
					}
				}
			}
			stat[k.Pattern] = s
			if only != "" {
				fmt.Println(c.Notes, "acc", c.Total.Accesses(), "gen", l.Accesses, "ass", c.AssumedShare(), c.SampledShare(), d)
			}
		}
		if only != "" {
			fmt.Println(k.Source)
		}
	}
	fmt.Println(launches, total/time.Duration(max(launches, 1)), math.Pi)
	for p, s := range stat {
		fmt.Println(p, "equal/below/above/unknown", s)
	}
}
