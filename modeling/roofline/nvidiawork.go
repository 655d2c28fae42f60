package roofline

import (
	"fmt"
	"strings"
)

var letter = [...]string{FP64: "d", FP32: "f", FP16: "h"}

func sass(unit string, p Precision, op string) string {
	return unit + "__sass_thread_inst_executed_op_" + letter[p] + op + "_pred_on"
}

const integerOps = "__sass_thread_inst_executed_op_integer_pred_on"

// flop is add + mul + 2 fma of a precision for ordinary arithmetic, thread
// instructions for integers, and the work of the tensor pipe.
func (c nvidia) flop(p Precision) Quantity {
	switch {
	case p == Int:
		return best(c.count("sm"+integerOps), c.count("smsp"+integerOps))
	case p > FP16:
		return c.tensor(p)
	}
	var ways []Quantity
	for _, unit := range []string{"sm", "smsp"} {
		ways = append(ways, plus(plus(c.count(sass(unit, p, "add")), c.count(sass(unit, p, "mul"))), times(2, c.count(sass(unit, p, "fma")))))
	}
	// The sections define twice the multiply-adds per cycle as a metric of its
	// own, of half precision four times, and may leave out what it is made of.
	q := best(ways...)
	if !q.OK {
		weight := known(1, "1")
		if p == FP16 {
			weight = known(2, "2")
		}
		perCycle := plus(c.first(sass("smsp", p, "add")+".sum.per_cycle_elapsed"), c.first(sass("smsp", p, "mul")+".sum.per_cycle_elapsed"))
		derived := plus(product(weight, perCycle), c.first("derived__"+sass("smsp", p, "fma")+"_x"+[...]string{FP64: "2", FP32: "2", FP16: "4"}[p]))
		return best(q, product(derived, c.rate("smsp"), c.time()))
	}
	if p == FP32 { // Blackwell's packed pairs
		pairs := plus(times(2, plus(c.count("smsp__sass_thread_inst_executed_op_fadd2_pred_on"), c.count("smsp__sass_thread_inst_executed_op_fmul2_pred_on"))),
			times(4, c.count("smsp__sass_thread_inst_executed_op_ffma2_pred_on")))
		if pairs.OK && pairs.Value > 0 {
			return plus(q, pairs)
		}
	}
	if p == FP16 {
		return times(c.halfWeight(), q)
	}
	return q
}

// halfWeight is the flop of one FP16 add per thread instruction. Newer sections
// count all half precision as packed (they derive hfma x 4).
func (c nvidia) halfWeight() float64 {
	if c.opt.HalfWeight > 0 {
		return c.opt.HalfWeight
	}
	for _, unit := range []string{"sm", "smsp"} {
		if _, ok := c.counters["derived__"+sass(unit, FP16, "fma")+"_x4"]; ok {
			return 2
		}
	}
	return 1
}

// peak is the most flop/s of a precision at the profiled clock: two per fused
// multiply-add.
func (c nvidia) peak(p Precision) Quantity {
	switch {
	case p == Int:
		return best(c.most("sm"+integerOps), c.most("smsp"+integerOps))
	case p > FP16:
		return c.tensorPeak(p)
	}
	q := times(2, best(c.most(sass("sm", p, "fma")), c.most(sass("smsp", p, "fma"))))
	if p == FP16 {
		return best(times(c.halfWeight(), q), product(c.first("derived__"+sass("sm", p, "fma")+"_x4"), c.rate("sm")))
	}
	return best(q, product(c.first("derived__"+sass("sm", p, "fma")+"_x2"), c.rate("sm")))
}

// tensorPaths are ncu's counters of operations in the tensor pipe (Ampere and
// later), by the format of the sources: groups of names that together are all
// of it. With each name goes ..._sparsity_off and ..._sparsity_on.
var tensorPaths = map[Precision][][]string{
	TensorFP64: {{"fp64"}},
	TensorFP32: {{"tf32_dst_fp32"}, {"tf32"}},
	TensorFP16: {{"fp16"}, {"fp16_dst_fp32", "fp16_dst_fp16"}},
	TensorBF16: {{"bf16_dst_fp32"}, {"bf16"}},
	TensorFP8:  {{"fp8"}, {"fp8_dst_fp32", "fp8_dst_fp16"}, {"fp4_fp6_fp8_dst_fp32", "fp4_fp6_fp8_dst_fp16"}}, // the last: Blackwell, and smaller formats
	TensorInt8: {{"int8"}},
}

const opsPath = "sm__ops_path_tensor_src_"

// path is the operations of one path, dense and sparse.
func (c nvidia) path(name string) Quantity {
	if q := c.count(opsPath + name); q.OK {
		return q
	}
	return best(c.count(opsPath+name), c.counts(1, opsPath+name+"_sparsity_off", opsPath+name+"_sparsity_on"))
}

// tensor is the work of the tensor pipe in a precision: the operations that ncu
// counts; failing that instructions, where the flop of one are known.
func (c nvidia) tensor(p Precision) Quantity {
	return c.once(p.String(), func() Quantity { return c.readTensor(p) })
}

func (c nvidia) readTensor(p Precision) Quantity {
	first := missing("not counted")
	for i, group := range tensorPaths[p] {
		q := c.path(group[0])
		for _, name := range group[1:] {
			q = plus(q, c.path(name))
		}
		if q.OK {
			return q
		}
		if i == 0 {
			first = q
		}
	}
	inst, flop := c.tensorInstruction(p)
	if inst == "" {
		return best(first, c.partial(p))
	}
	return best(first, c.partial(p), c.counts(flop, inst))
}

// partial is what is counted of a precision where not all of its paths are:
// see remarks.
func (c nvidia) partial(p Precision) Quantity {
	sum := missing("not counted")
	for _, group := range tensorPaths[p] {
		for _, name := range group {
			for _, q := range []Quantity{c.path(name), c.count(opsPath + name + "_sparsity_off"), c.count(opsPath + name + "_sparsity_on")} {
				if q.OK {
					if sum.OK {
						q = plus(sum, q)
					}
					sum = q
					break
				}
			}
		}
		if sum.OK {
			return sum
		}
	}
	return sum
}

// tensorInstruction is the counter of instructions that do a precision's work,
// and the flop of one. There are many matrix instructions, of different sizes
// on each architecture, so that NVIDIA itself points to the counters of
// operations; two are one size alone:
// Volta's HMMA is m8n8k4 in four steps, for which ncu's section
// SpeedOfLight_HierarchicalTensorRooflineChart counts 512 flop per
// instruction, as Yang, Kurth and Williams (2020) do; the GA100's DMMA is
// m8n8k4 (PTX ISA, mma with .f64 on sm_80), 2 x 8 x 8 x 4 flop.
func (c nvidia) tensorInstruction(p Precision) (counter string, flop float64) {
	switch cc := c.capability(); {
	case p == TensorFP16 && (c.opt.TensorFlop > 0 || cc == 70):
		flop = c.opt.TensorFlop
		if flop <= 0 {
			flop = 512
		}
		for _, name := range []string{"sm__inst_executed_pipe_tensor_op_hmma", "sm__inst_executed_pipe_tensor"} {
			if c.count(name).OK {
				return name, flop
			}
		}
		return "sm__inst_executed_pipe_tensor", flop
	case p == TensorFP64 && cc == 80:
		return "sm__inst_executed_pipe_tensor_op_dmma", 512
	}
	return "", 0
}

// tensorPeak is that of dense operations. The peak of a path without a suffix
// is that of sparse ones; where there is no other, From names it and a remark
// says so.
func (c nvidia) tensorPeak(p Precision) Quantity {
	out, most := missing("no ceiling in the profile"), -1.0
	// Paths of one source format differ in their peak (GeForce halves that of
	// FP32 sums): the one that did the most work counts.
	for _, group := range tensorPaths[p] {
		for _, name := range group {
			q := best(c.most(opsPath+name+"_sparsity_off"), c.most(opsPath+name))
			work := best(c.path(name), c.count(opsPath+name+"_sparsity_off"))
			if q.OK && (!out.OK || work.OK && work.Value > most) {
				out, most = q, work.Value
			}
		}
	}
	if inst, flop := c.tensorInstruction(p); inst != "" && !out.OK {
		return best(times(flop, c.most(inst)), out)
	}
	return out
}

// uncounted is tensor work of which only instructions are known.
func (c nvidia) uncounted() []string {
	var out []string
	n := c.count("sm__inst_executed_pipe_tensor")
	kinds := []struct {
		op string
		of []Precision
	}{{"hmma", []Precision{TensorFP16, TensorBF16, TensorFP32}}, {"imma", []Precision{TensorInt8}}, {"dmma", []Precision{TensorFP64}}}
	some := false
	for _, k := range kinds {
		counted := false
		for _, p := range k.of {
			q := c.flop(p)
			counted = counted || q.OK && q.Value > 0
		}
		some = some || counted
		if m := c.count("sm__inst_executed_pipe_tensor_op_" + k.op); m.OK && m.Value > 0 && !counted {
			out = append(out, fmt.Sprintf("tensor work: %.0f instructions of the tensor pipe (%s) are not counted; measure %s*, or give Options.TensorFlop", m.Value, k.op, opsPath))
			some = true
		}
	}
	if n.OK && n.Value > 0 && !some {
		out = append(out, fmt.Sprintf("tensor work: %.0f instructions of the tensor pipe are not counted; measure %s*, or give Options.TensorFlop", n.Value, opsPath))
	}
	return out
}

// remarks are what the numbers do not say themselves.
func (c nvidia) remarks() []string {
	var out []string
	if q := c.flop(FP16); q.OK && q.Value > 0 && c.opt.HalfWeight == 0 && c.halfWeight() == 1 {
		out = append(out, "FP16 work is counted as 1 flop per thread and operation; packed half2 code does 2: Options.HalfWeight")
	}
	for p := TensorFP64; p <= TensorInt8; p++ {
		work := c.tensor(p)
		if !work.OK || work.Value == 0 {
			continue
		}
		part := c.partial(p)
		if part.OK && work.From == part.From && strings.Contains(work.From, opsPath) {
			for _, group := range tensorPaths[p] {
				whole := c.path(group[0])
				for _, name := range group[1:] {
					whole = plus(whole, c.path(name))
				}
				if whole.OK {
					part.OK = false
				}
			}
			if part.OK {
				out = append(out, fmt.Sprintf("%s work is that of %s alone", p, work.From))
			}
		}
		if q := c.tensorPeak(p); q.OK && strings.Contains(q.From, opsPath) && !strings.Contains(q.From, "_sparsity_off") && p != TensorFP64 {
			out = append(out, fmt.Sprintf("the ceiling of %s is that of sparse operations (%s), twice the dense one", p, q.From))
		}
	}
	if q := c.count("lts__t_sectors_srcunit_ltcfabric"); q.OK && q.Value > 0 {
		if all := c.transactions(L2); all.OK && all.Value > 0 {
			out = append(out, fmt.Sprintf("%.1f %% of the traffic of L2 passes between its two halves (lts__t_sectors_srcunit_ltcfabric), not to the SMs", 100*q.Value/all.Value))
		}
	}
	return out
}
