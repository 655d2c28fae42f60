package roofline

import (
	"context"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// block is what the IR of a line computes and moves in one basic block.
type block struct {
	flop             [2]float64 // FP64, FP32
	loads, stores    float64
	loadBytes, store float64
}

func (b *block) accesses() float64 { return b.loads + b.stores }

// where is a line of a function's file.
type where struct {
	file string // without its folder: compilers write it in several ways
	line int64
}

// irOf reads the IR of functions from a store, by the function's name: what
// each line computes, basic block by basic block. A function whose IR several
// runs have is that of the last one.
func irOf(ctx context.Context, s *datasets.Store, names map[string]bool) (map[string]map[where][]block, error) {
	out := map[string]map[where][]block{}
	condition, args := among("g.raw", names)
	run, region, number := int64(0), int64(0), 0
	var last map[where]int // the block that a line's last entry is of
	err := each(ctx, s, `SELECT g.run_id, g.id, g.raw, c.opcode, c.text, c.file, c.line FROM code c JOIN region g ON g.id = c.region_id
		WHERE c.isa = 'llvm-ir' AND `+condition+` ORDER BY g.run_id, g.id, c."offset"`, args, func(v []any) {
		name, _ := v[2].(string)
		if v[0].(int64) != run || v[1].(int64) != region {
			run, region, number = v[0].(int64), v[1].(int64), 0
			out[name], last = map[where][]block{}, map[where]int{}
		}
		op, _ := v[3].(string)
		text, _ := v[4].(string)
		file, _ := v[5].(string)
		l, ok := v[6].(int64)
		if ok {
			at := where{path.Base(file), l}
			bs := out[name][at]
			if n, ok := last[at]; !ok || n != number {
				bs = append(bs, block{})
				last[at] = number
			}
			bs[len(bs)-1].count(op, text)
			out[name][at] = bs
		}
		switch op {
		case "br", "switch", "ret", "unreachable", "indirectbr", "invoke", "resume", "callbr":
			number++
		}
	})
	return out, err
}

var (
	irType = regexp.MustCompile(`<(\d+) x (double|float|half|bfloat|ptr|i\d+)(\*?)>|\b(double|float|half|bfloat|ptr|i\d+)(\**)`)
	irFMA  = regexp.MustCompile(`@llvm\.(?:experimental\.constrained\.)?(?:fma|fmuladd)\.`)
	irOne  = regexp.MustCompile(`@llvm\.(?:experimental\.constrained\.)?(?:fadd|fsub|fmul|fdiv|sqrt)\.`)
)

// count adds an instruction as collector llvm counts it: a lane each, a fused
// multiply-add as two, comparisons and conversions as none.
func (b *block) count(op, text string) {
	each := 0.0
	switch op {
	case "fadd", "fsub", "fmul", "fdiv", "frem":
		each = 1
	case "call", "invoke":
		if irFMA.MatchString(text) {
			each = 2
		} else if irOne.MatchString(text) {
			each = 1
		}
	case "load", "store":
	default:
		return
	}
	_, rest, ok := strings.Cut(text, op+" ")
	if !ok {
		return
	}
	t := irType.FindStringSubmatch(rest)
	if t == nil {
		return
	}
	lanes, name, pointer := 1.0, t[4], t[5] != ""
	if t[1] != "" {
		n, _ := strconv.Atoi(t[1])
		lanes, name, pointer = float64(n), t[2], t[3] != ""
	}
	size := map[string]float64{"double": 8, "float": 4, "half": 2, "bfloat": 2, "ptr": 8}[name]
	if bits, ok := strings.CutPrefix(name, "i"); ok {
		n, _ := strconv.Atoi(bits)
		size = max(float64(n)/8, 1)
	}
	if pointer {
		size = 8
	}
	switch {
	case op == "load":
		b.loads++
		b.loadBytes += lanes * size
	case op == "store":
		b.stores++
		b.store += lanes * size
	case name == "double":
		b.flop[0] += each * lanes
	case name == "float":
		b.flop[1] += each * lanes
	}
}

// executed is what Valgrind counted of a line.
type executed struct {
	instr         float64 // executions of the most often executed instruction, where instructions were told apart
	all           float64 // instructions
	reads, writes float64
}

// addEstimates adds work to functions of Callgrind and Cachegrind: the flop of
// each line's IR times how often the line was executed. That is how often the
// instruction of the line that ran most often ran (--instructions); without
// instructions, how often the line's loads or stores ran, whichever is more,
// since optimisation moves accesses away from their lines and not to them.
//
// Of a line with several basic blocks (a vectorised loop and its remainder) the
// one with the most work counts. The estimate is right as far as the program
// was compiled as the IR was; where the IR is scalar and the program
// vectorised, it is too low by the number of lanes.
func addEstimates(ctx context.Context, s *datasets.Store, ms []datasets.Measurement) error {
	at, runs, names := map[int64]*datasets.Measurement{}, map[int64]bool{}, map[string]bool{}
	for i := range ms {
		if m := &ms[i]; isSimulation(m) && m.Launch != 0 {
			at[m.Launch], runs[m.Run], names[m.Name] = m, true, true
		}
	}
	if len(at) == 0 {
		return nil
	}
	ir, err := irOf(ctx, s, names)
	if err != nil {
		return err
	}
	counts := map[int64]map[where]*executed{}
	if len(ir) > 0 {
		have := map[string]bool{}
		for name := range ir {
			have[name] = true
		}
		inRuns, args := among("g.run_id", runs)
		named, more := among("g.raw", have)
		err = each(ctx, s, `SELECT p.launch_id, c.file, c.line, c.isa = 'machine', p.reason, p.samples FROM pc_sample p JOIN code c ON c.id = p.code_id
			JOIN region g ON g.id = c.region_id WHERE p.reason IN ('Ir', 'Dr', 'Dw') AND c.line IS NOT NULL AND `+inRuns+` AND `+named, append(args, more...), func(v []any) {
			launch, _ := v[0].(int64)
			samples, ok := v[5].(int64)
			n := float64(samples)
			if !ok || at[launch] == nil {
				return
			}
			if counts[launch] == nil {
				counts[launch] = map[where]*executed{}
			}
			file, _ := v[1].(string)
			k := where{path.Base(file), v[2].(int64)}
			e := counts[launch][k]
			if e == nil {
				e = &executed{}
				counts[launch][k] = e
			}
			switch v[4].(string) {
			case "Ir":
				e.all += n
				if machine, _ := v[3].(bool); machine {
					e.instr = max(e.instr, n)
				}
			case "Dr":
				e.reads += n
			case "Dw":
				e.writes += n
			}
		})
		if err != nil {
			return err
		}
	}
	for launch, m := range at {
		if lines := ir[m.Name]; lines != nil && counts[launch] != nil {
			estimateFunction(m, lines, counts[launch])
		}
	}
	return addWallTimes(ctx, s, at, names)
}

// estimateFunction adds the counters of estimatedFlop and estimatedSize, as far
// as the lines tell: work that was executed an unknown number of times makes
// the whole unknown.
func estimateFunction(m *datasets.Measurement, lines map[where][]block, counts map[where]*executed) {
	var flop [2]float64
	var accesses, size float64
	known := true
	for at, blocks := range lines {
		e := counts[at]
		if e == nil {
			continue // never executed
		}
		main := blocks[0]
		for _, b := range blocks {
			if b.flop[0]+b.flop[1] > main.flop[0]+main.flop[1] {
				main = b
			}
		}
		times := e.instr
		if times == 0 && main.loads > 0 {
			times = e.reads / main.loads
		}
		if e.instr == 0 && main.stores > 0 {
			times = max(times, e.writes/main.stores)
		}
		if times == 0 && main.flop[0]+main.flop[1] > 0 {
			known = false
		}
		for p := range flop {
			flop[p] += main.flop[p] * times
		}
		if times == 0 { // the mean size needs no more than a weight
			times = e.all
		}
		accesses += main.accesses() * times
		size += (main.loadBytes + main.store) * times
	}
	if known {
		add(m, estimatedFlop[FP64], flop[0])
		add(m, estimatedFlop[FP32], flop[1])
	}
	if accesses > 0 {
		add(m, estimatedSize, size/accesses)
	}
}

// addWallTimes adds the time that another run measured of the same function,
// under the same command where both runs know theirs: the last such run's, that
// of the slowest thread, with the number of threads.
// Valgrind's costs are those of the function itself: an inclusive time serves
// for functions that call none.
func addWallTimes(ctx context.Context, s *datasets.Store, at map[int64]*datasets.Measurement, names map[string]bool) error {
	named, args := among("g.raw", names)
	type timed struct {
		run       int64
		command   string
		time      float64 // of the slowest thread
		threads   int64   // 0: not told
		inclusive bool
	}
	found, commands := map[string][]timed{}, map[int64]string{}
	err := each(ctx, s, `SELECT run, raw, any_value(command), any_value(inclusive), max(t), count(thread) FROM
		(SELECT r.id AS run, g.raw, r.command, coalesce(r.time_inclusive, true) AS inclusive, l.rank, l.pid, l.thread, sum(c.value) AS t
			FROM counter c JOIN region g ON g.id = c.region_id JOIN run r ON r.id = g.run_id LEFT JOIN launch l ON l.id = c.launch_id
			WHERE c.metric = r.time_metric AND c.unit = 's' AND c.instance IS NULL AND r.tool NOT IN ('callgrind', 'cachegrind') AND `+named+` GROUP BY ALL)
		GROUP BY run, raw ORDER BY run`, args, func(v []any) {
		t := timed{}
		t.run, _ = v[0].(int64)
		name, _ := v[1].(string)
		t.command, _ = v[2].(string)
		t.inclusive, _ = v[3].(bool)
		if t.time, _ = v[4].(float64); t.time > 0 {
			t.threads, _ = v[5].(int64)
			found[name] = append(found[name], t)
		}
	})
	if err != nil {
		return err
	}
	err = each(ctx, s, `SELECT id, command FROM run WHERE tool IN ('callgrind', 'cachegrind') AND command IS NOT NULL`, nil, func(v []any) {
		id, _ := v[0].(int64)
		commands[id], _ = v[1].(string)
	})
	if err != nil {
		return err
	}
	for _, m := range at {
		leaf := m.Counter("calls.to") == nil
		ts := found[m.Name]
		for i := len(ts) - 1; i >= 0; i-- {
			same := ts[i].command == "" || commands[m.Run] == "" || ts[i].command == commands[m.Run]
			if same && (leaf || !ts[i].inclusive) {
				add(m, wallFact, ts[i].time)
				add(m, wallRunFact, float64(ts[i].run))
				if ts[i].threads > 0 {
					add(m, threadsFact, float64(ts[i].threads))
				}
				break
			}
		}
	}
	return nil
}
