package ncurep_test

import (
	"fmt"
	"testing"

	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

const reader = "NVIDIA's own reader, ncu_report 2026.3.1 of PyPI: "

// hottest is the instruction with most samples of a reason, over all launches
// in the first: offset, opcode, line and numbers.
func hottest(reason string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		best := datasets.PCSample{}
		for _, s := range r.Samples {
			if s.Launch == 1 && s.Reason == reason && s.Samples.V > best.Samples.V {
				best = s
			}
		}
		for _, c := range r.Codes {
			if c.ID == best.Code {
				return fmt.Sprintf("%#x %s %s:%d %d %d", c.Offset.V, c.Opcode, c.File, c.Line.V, best.Samples.V, best.NotIssued.V)
			}
		}
		return nil
	}
}

// sampleSum adds up the samples of a reason.
func sampleSum(reason string, notIssued bool) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		n := int64(0)
		for _, s := range r.Samples {
			switch {
			case s.Reason != reason:
			case notIssued:
				n += s.NotIssued.V
			default:
				n += s.Samples.V
			}
		}
		return n
	}
}

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		sum := 0.0
		for _, c := range r.Counters {
			if c.Metric == metric && c.Instance == "" {
				sum += c.Value.V
			}
		}
		return sum
	}
}

// executed adds up how often the instructions of an opcode were executed in
// the first launch, from the counters per instruction and the decoded opcodes.
func executed(opcode string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		sum := 0.0
		for _, c := range r.Codes {
			if c.Opcode == opcode && c.ISA == "sass" {
				sum += counter(r, "inst_executed", fmt.Sprintf("0x%04x", c.Offset.V)).Value.V
			}
		}
		return sum
	}
}

func launches(r *parsertest.Records) any {
	s := ""
	for _, l := range r.Launches {
		threads := l.Grid[0].V * l.Grid[1].V * l.Grid[2].V * l.Block[0].V * l.Block[1].V * l.Block[2].V
		s += fmt.Sprintf("%d %d %d %d; ", l.Sequence.V, threads, l.DurNs.V, l.Regs.V)
	}
	return s
}

func machine(r *parsertest.Records) any {
	m := r.Machines[0]
	return fmt.Sprintf("%s, %s, %d, %g, %g, %d, %s, %s, %s", m.GPU, m.Arch, m.Units.V, m.ClockHz.V, m.MemHz.V, m.MemBytes.V, m.Host, m.CPU, m.Driver)
}

const (
	cuda = "stencil-2d-cuda-v4.ncu-rep"
	omp  = "stencil-2d-omp-target-v3.ncu-rep"
)

func fact(file, what string, of func(*parsertest.Records) any, want any, how string) parsertest.Fact {
	return parsertest.Fact{File: file, What: what, Of: of, Want: want, How: how}
}

func TestSamples(t *testing.T) {
	const a40 = "NVIDIA A40, cc8.6, 84, 1.74e+09, 7.251e+09, 50911182848, a0128.nhr.fau.de, AMD EPYC 7713 64-Core Processor, 570.124.06"
	parsertest.Facts(t, "../../../shared/samples/ncu_rep", []parsertest.Fact{
		fact(cuda, "launches: sequence, threads, nanoseconds, registers", launches, "0 67108864 1637408 18; 1 67108864 1639232 18; 2 67108864 1639840 18; 3 67108864 1636352 18; ",
			reader+"launch__thread_count, gpu__time_duration.sum, launch__registers_per_thread"),
		fact(cuda, "machine", machine, a40, reader+"device__attribute_*; host and driver by a dump of the wire format in Python"),
		fact(cuda, "time of all launches", total("gpu__time_duration.sum"), 6552832e-9, reader+"sum of value()"),
		fact(cuda, "bytes read", total("dram__bytes_read.sum"), 2147792000.0, reader+"sum of value()"),
		fact(cuda, "cycles over their rate are the time, ns, of launch 0", func(r *parsertest.Records) any {
			return float64(int64(counter(r, "sm__cycles_elapsed.avg", "").Value.V/counter(r, "sm__cycles_elapsed.avg.per_second", "").Value.V*1e9 + 0.5))
		}, 1637408.0, "both say how long the launch took"),
		fact(cuda, "PC samples waiting for memory", sampleSum("long_scoreboard", false), 464525, reader+"sum of smsp__pcsamp_warps_issue_stalled_long_scoreboard"),
		fact(cuda, "of them not issued", sampleSum("long_scoreboard", true), 398997, reader+"sum of smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"),
		fact(cuda, "the hottest instruction", hottest("long_scoreboard"), "0x2c0 DMUL /home/hpc/k_d77x/d77x0000/src/stencil-2d/stencil-2d-cuda-v4.cu:12 90796 77788",
			reader+"instances of the metric, sass_by_pc, source_info"),
		fact(cuda, "IMAD executed", executed("IMAD"), 31457280.0, reader+"sass__inst_executed_per_opcode"),
		fact(cuda, "DFMA executed", executed("DFMA"), 6291456.0, reader+"sass__inst_executed_per_opcode"),
		fact(cuda, "metrics of a launch", func(r *parsertest.Records) any {
			names := map[string]bool{}
			for _, c := range r.Counters {
				names[c.Metric] = true
			}
			for _, s := range r.Telemetry {
				names[s.Sensor] = true
			}
			return len(names)
		}, 1221, reader+"len(metric_names()), the same for each launch"),
		fact(omp, "launches: sequence, threads, nanoseconds, registers", launches, "0 67076224 1631744 46; 1 67076224 1632672 46; 2 67076224 1633024 46; 3 67076224 1631328 46; ",
			reader+"launch__thread_count, gpu__time_duration.sum, launch__registers_per_thread"),
		fact(omp, "machine", machine, a40, reader+"device__attribute_*; host and driver by a dump of the wire format in Python"),
		fact(omp, "PC samples waiting for memory", sampleSum("long_scoreboard", false), 364558, reader+"sum of smsp__pcsamp_warps_issue_stalled_long_scoreboard"),
		fact(omp, "of them not issued", sampleSum("long_scoreboard", true), 159559, reader+"sum of smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"),
		fact(omp, "the hottest instruction", hottest("long_scoreboard"), "0x2290 DMUL /home/hpc/k_d77x/d77x0000/src/stencil-2d/stencil-2d-util.h:13 65369 28332",
			reader+"instances of the metric, sass_by_pc, source_info"),
		fact(omp, "LOP3 executed", executed("LOP3"), 12576783.0, reader+"sass__inst_executed_per_opcode"),
		fact(omp, "the kernel", func(r *parsertest.Records) any { return r.Regions[0].Raw }, "nvkernel__Z9stencil2dIdEvPKT_PS0_mm_F2L5_6", "strings"),
	}, nil)
}
