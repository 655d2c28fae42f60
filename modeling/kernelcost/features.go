package kernelcost

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// feature is one number about a launch.
type feature struct {
	name string
	of   func(c *Cost) float64
}

// functions are those whose calls are features of their own: what one takes
// differs by far more than between additions and multiplications.
var functions = strings.Fields("sqrt rsqrt exp exp2 log log2 sin cos tan atan tanh pow fma mad fmin fmax fabs floor")

// log2 scales what spans orders of magnitude: log2(1 + x).
func log2(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return math.Log2(1 + min(x, 1e30))
}

var features = func() []feature {
	var fs []feature
	add := func(name string, of func(c *Cost) float64) { fs = append(fs, feature{name, of}) }
	logs := func(name string, of func(c *Cost) float64) {
		add("log2_"+name, func(c *Cost) float64 { return log2(of(c)) })
	}
	// Of the whole launch, and of a work-item.
	both := func(name string, of func(c *Cost) float64) {
		logs(name, of)
		logs(name+"_per_item", func(c *Cost) float64 { return of(c) / c.Items })
	}
	logs("items", func(c *Cost) float64 { return c.Items })
	logs("groups", func(c *Cost) float64 { return c.Groups })
	for d := range 3 {
		logs(fmt.Sprintf("group_size_%d", d), func(c *Cost) float64 { return float64(c.Group[d]) - 1 })
	}
	for _, p := range []struct {
		name  string
		bytes int
	}{{"f32", 4}, {"f64", 8}, {"f16", 2}} {
		both(p.name+"_flop", func(c *Cost) float64 { return c.executed.Flop(p.bytes) })
	}
	for _, k := range []Kind{Add, Mul, FMA, Div, Sqrt, Transcendental, Trigonometric, Power, Simple, Fusable} {
		both(kindNames[k][len("f32_"):], func(c *Cost) float64 {
			return c.executed[Float(k, 4)] + c.executed[Float(k, 8)] + c.executed[Float(k, 2)]
		})
	}
	for k := IntAdd; k < Kinds; k++ {
		both(k.String(), func(c *Cost) float64 { return c.executed[k] })
	}
	for _, name := range functions {
		logs("call_"+name, func(c *Cost) float64 { return c.Calls[name] })
	}
	// What is done on vectors takes less for each of their numbers.
	logs("vector_calls", func(c *Cost) float64 { return c.vectorCalls })
	both("vector_flop", func(c *Cost) float64 { return c.vectorFlop })
	// Stores that neighbours do not make side by side, and the least array that
	// atomics meet in.
	logs("scattered_store_bytes", func(c *Cost) float64 {
		return c.sum(func(s *Site) float64 {
			if s.Space == csource.Local || s.Operation == "load" || s.Pattern == Unit || s.Pattern == Uniform {
				return 0
			}
			return s.Executed * float64(s.Bytes)
		})
	})
	logs("atomic_target_bytes", func(c *Cost) float64 {
		least := math.Inf(1)
		for i := range c.Sites {
			if s := &c.Sites[i]; s.Operation == "update" && s.Space != csource.Local {
				if b, ok := c.Buffer(s.Buffer); ok && b.Footprint > 0 {
					least = min(least, float64(b.Footprint))
				}
			}
		}
		if math.IsInf(least, 1) {
			return 0
		}
		return least
	})
	for i, kind := range []string{"unrolled", "constant", "other"} {
		both("iterations_"+kind, func(c *Cost) float64 { return c.Iterations[i] })
	}
	logs("chained_loads", func(c *Cost) float64 { return c.Loads * c.Items })
	logs("hoisted", func(c *Cost) float64 { return work(&c.Hoisted) })
	for p := range patterns {
		logs("global_bytes_"+p.String(), func(c *Cost) float64 {
			return c.sum(func(s *Site) float64 {
				if s.Space == csource.Local || s.Pattern != p {
					return 0
				}
				return s.Executed * float64(s.Bytes)
			})
		})
	}
	// What a GPU would move between L1 and L2 if nothing were cached.
	both("sector_bytes", func(c *Cost) float64 {
		warp := float64(min(c.Group[0]*c.Group[1]*c.Group[2], together))
		return c.sum(func(s *Site) float64 {
			if s.Space == csource.Local {
				return 0
			}
			return s.Executed / warp * s.Sectors * 32
		})
	})
	both("local_cycles", func(c *Cost) float64 {
		return c.sum(func(s *Site) float64 {
			if s.Space != csource.Local {
				return 0
			}
			return s.Executed * s.Conflicts
		})
	})
	logs("footprint_bytes", func(c *Cost) float64 { b, _ := c.Footprint(); return b })
	add("footprint_known", func(c *Cost) float64 {
		if _, known := c.Footprint(); known {
			return 1
		}
		return 0
	})
	logs("reuse", func(c *Cost) float64 {
		b, _ := c.Footprint()
		if b == 0 {
			return 0
		}
		return c.executed.GlobalBytes() / b
	})
	logs("flop_per_byte", func(c *Cost) float64 {
		if b := c.executed.GlobalBytes(); b > 0 {
			return c.executed.Flops() / b
		}
		return 0
	})
	logs("depth", func(c *Cost) float64 { return c.Depth })
	logs("dependent_loads", func(c *Cost) float64 { return c.Loads })
	logs("local_bytes_per_group", func(c *Cost) float64 { return float64(c.Local) })
	logs("array_bytes_per_item", func(c *Cost) float64 { return float64(c.Private) })
	logs("sites", func(c *Cost) float64 { return float64(len(c.Sites)) })
	logs("lines", func(c *Cost) float64 { return float64(len(c.Lines)) })
	add("assumed_share", (*Cost).AssumedShare)
	add("sampled_share", (*Cost).SampledShare)
	return fs
}()

func (c *Cost) sum(of func(s *Site) float64) float64 {
	n := 0.0
	for i := range c.Sites {
		n += of(&c.Sites[i])
	}
	return n
}

// FeatureNames are the names of Features, in their order. Those that begin with
// log2_ are log2(1 + x) of a count, number of bytes or ratio; _per_item is of a
// mean work-item, else of the launch (groups: work-groups; group_size_D: less
// one). Others are between 0 and 1.
func FeatureNames() []string {
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = f.name
	}
	return names
}

// sizes are features of a whole launch that are no amounts of work.
var sizes = strings.Fields("group_size_0 group_size_1 group_size_2 reuse flop_per_byte depth dependent_loads local_bytes_per_group array_bytes_per_item sites lines atomic_target_bytes hoisted")

// AmountNames are those of FeatureNames whose features are log2(1 + x) of an
// amount of work of the whole launch, which a sum of costs can be made of
// (baseline/additive).
func AmountNames() []string {
	var names []string
	for _, f := range features {
		name, ok := strings.CutPrefix(f.name, "log2_")
		if ok && !strings.HasSuffix(name, "_per_item") && !slices.Contains(sizes, name) {
			names = append(names, f.name)
		}
	}
	return names
}

// Features are numbers about a launch for models, as long as FeatureNames. All
// are finite; equal launches of equal sources have equal ones.
func (c *Cost) Features() []float64 {
	v := make([]float64, len(features))
	for i, f := range features {
		x := f.of(c)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			x = 0
		}
		v[i] = x
	}
	return v
}
