// Package llvmmca reads what llvm-mca predicts of machine code, from its JSON
// (llvm-mca --json, LLVM 14 and later).
//
// In flows the JSON, out flows one run:
//
//	machine         the processor that was modelled (-mcpu), arch of -march
//	region          a code region, kind "range", by the name behind
//	                LLVM-MCA-BEGIN; one without is "[0] Code Region"
//	static_feature  of the region, known without running it: IPC,
//	                BlockRThroughput, DispatchWidth, uOpsPerCycle and what
//	                else the summary says
//	counter         of the region: the summary again, with units;
//	                ResourcePressure per iteration with the resource ("SKLPort0")
//	                as instance; DispatchStatistics.SCHEDQ and so on, in cycles;
//	                BottleneckAnalysis.PressureIncreaseCycles and what other
//	                views later versions add
//	code            an instruction: text, opcode, offset. llvm-mca knows no
//	                addresses: the offset is the instruction's number in the region
//	counter         of an instruction, with its number as instance:
//	                instruction.Latency, .RThroughput, .NumMicroOpcodes,
//	                .mayLoad, .mayStore, .hasUnmodeledSideEffects (0 or 1); with
//	                "0/SKLPort0" as instance instruction.ResourcePressure;
//	                with "iteration/instruction" as instance timeline.CycleIssued
//	                and the other times of the timeline
//	attribute       of the run: what the simulation was told (-mcpu ...)
//
// An instruction is joined with its numbers so:
//
//	SELECT c."offset", c.text, n.value FROM code c JOIN counter n
//	ON n.region_id = c.region_id AND n.instance = c."offset"::TEXT
//	WHERE n.metric = 'instruction.Latency'
//
// llvm-mca writes 0 where it knows no reciprocal throughput, and for steps of
// the timeline behind its end: these have the status "na".
package llvmmca

import (
	"bytes"
	"context"
	"regexp"

	"github.com/rooflab/rooflab/collectors"
)

const (
	formatJSON       = "llvm-mca"
	formatText       = "llvm-mca-text"
	runID, machineID = 1, 1
)

func init() {
	collectors.Register(collectors.Format{Name: formatJSON, About: "llvm-mca, JSON", Version: 1, Detect: detect, Parse: parse})
	collectors.Register(collectors.Format{Name: formatText, About: "llvm-mca, text (recognised, not read)", Version: 1, Detect: detectText, Parse: refuse})
}

func detect(h collectors.Head) collectors.Confidence {
	if !bytes.HasPrefix(bytes.TrimLeft(h.Bytes, " \t\r\n"), []byte("{")) {
		return collectors.No
	}
	n := 0
	for _, key := range []string{`"CodeRegions"`, `"InstructionInfoView"`, `"ResourcePressureView"`, `"SummaryView"`, `"SimulationParameters"`, `"TargetInfo"`, `"DispatchStatistics"`} {
		if bytes.Contains(h.Bytes, []byte(key)) {
			n++
		}
	}
	if n >= 2 {
		return collectors.Certain
	}
	return collectors.No
}

var textHead = regexp.MustCompile(`(?m)^Dispatch Width: +\d+\r?\nuOps Per Cycle: `)

func detectText(h collectors.Head) collectors.Confidence {
	if h.HasLine("Dispatch Width: ") && textHead.Match(h.Bytes) || bytes.HasPrefix(h.Bytes, []byte("Iterations: ")) && bytes.Contains(h.Bytes, []byte("\nBlock RThroughput: ")) {
		return collectors.Certain
	}
	return collectors.No
}

func refuse(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
	return &collectors.UnsupportedError{File: in.Name, What: "the text that llvm-mca prints for people, which rounds its values", Hint: "run llvm-mca with --json"}
}
