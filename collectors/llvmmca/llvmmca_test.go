package llvmmca_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/llvmmca"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// of finds a counter of a region.
func of(region int64, metric, instance string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		for _, c := range r.Counters {
			if c.Region == region && c.Metric == metric && c.Instance == instance {
				if !c.Value.Valid {
					return c.Status
				}
				return c.Value
			}
		}
		return "absent"
	}
}

func TestSamples(t *testing.T) {
	const f, jq = "local_mca.json", "jq '.CodeRegions[0]', and the text of the same code by llvm-mca"
	parsertest.Facts(t, "../../../shared/samples/llvm_mca", []parsertest.Fact{
		{File: f, What: "IPC", Of: of(1, "IPC", ""), Want: 0.73710073710073709, How: jq},
		{File: f, What: "cycles", Of: of(1, "TotalCycles", ""), Want: 407, How: jq},
		{File: f, What: "latency of the second instruction", Of: of(1, "instruction.Latency", "1"), Want: 4, How: jq},
		{File: f, What: "pressure on port 1 per iteration", Of: of(1, "ResourcePressure", "SKLPort1"), Want: 1.02, How: jq},
		{File: f, What: "stalls of the scheduler", Of: of(1, "DispatchStatistics.SCHEDQ", ""), Want: 144, How: jq},
		{File: f, What: "retirement of the last instruction of the timeline", Of: of(1, "timeline.CycleRetired", "9/2"), Want: 46, How: jq},
		{File: f, What: "instructions", Of: func(r *parsertest.Records) any { return len(r.Codes) }, Want: 3, How: jq},
		{File: f, What: "processor", Of: func(r *parsertest.Records) any { return r.Machines[0].CPU }, Want: "skylake", How: jq},
	}, map[string]string{"local_mca.txt": "run llvm-mca with --json"})
}

const own = `{
  "CodeRegions": [
    {"Name": "axpy", "Instructions": ["vfmadd231pd\t(%rdi), %ymm1, %ymm0", "lock addq\t$1, (%rsi)"],
     "SummaryView": {"BlockRThroughput": 1.5, "DispatchWidth": 4, "IPC": 0.5, "Instructions": 200, "Iterations": 100, "TotalCycles": 400, "TotaluOps": 300, "uOpsPerCycle": 0.75},
     "DispatchStatistics": {"RAT": 0, "SQ": 12},
     "InstructionInfoView": {"InstructionList": [
       {"Instruction": 0, "Latency": 10, "NumMicroOpcodes": 2, "RThroughput": 0.5, "hasUnmodeledSideEffects": false, "mayLoad": true, "mayStore": false},
       {"Instruction": 1, "Latency": 6, "NumMicroOpcodes": 1, "RThroughput": 0, "hasUnmodeledSideEffects": true, "mayLoad": true, "mayStore": true}]},
     "ResourcePressureView": {"ResourcePressureInfo": [{"InstructionIndex": 0, "ResourceIndex": 1, "ResourceUsage": 0.25}, {"InstructionIndex": 2, "ResourceIndex": 2, "ResourceUsage": 1.25}]},
     "TimelineView": {"TimelineInfo": [
       {"CycleDispatched": 0, "CycleExecuted": 11, "CycleIssued": 1, "CycleReady": 0, "CycleRetired": 12}, {"CycleDispatched": 0, "CycleExecuted": 8, "CycleIssued": 2, "CycleReady": 0, "CycleRetired": 12},
       {"CycleDispatched": 1, "CycleExecuted": 21, "CycleIssued": 11, "CycleReady": 11, "CycleRetired": 0}, {"CycleDispatched": 1, "CycleExecuted": 0, "CycleIssued": 0, "CycleReady": 1, "CycleRetired": 0}]}},
    {"Name": "", "Instructions": ["nop"], "SummaryView": {"IPC": 4}, "BottleneckAnalysis": {"PressureIncreaseCycles": 7, "Chain": [1, 2]}}
  ],
  "SimulationParameters": {"-march": "x86_64", "-mcpu": "znver3", "-mtriple": "x86_64-pc-linux-gnu"},
  "TargetInfo": {"CPUName": "znver3", "Resources": ["Zn3AGU0", "Zn3Load.\u0000", "Zn3Load.\u0001"]}
}`

func TestRegionsInstructionsAndTimeline(t *testing.T) {
	r := parsertest.MustParse(t, "llvm-mca", "m.json", own)
	for _, c := range []struct {
		region           int64
		metric, instance string
		want             any
	}{
		{1, "BlockRThroughput", "", 1.5}, {1, "DispatchStatistics.SQ", "", 12.0}, {1, "instruction.Latency", "1", 6.0}, {1, "instruction.RThroughput", "0", 0.5}, {1, "instruction.RThroughput", "1", "na"},
		{1, "instruction.mayStore", "0", 0.0}, {1, "instruction.hasUnmodeledSideEffects", "1", 1.0}, {1, "instruction.ResourcePressure", "0/Zn3Load.0", 0.25}, {1, "ResourcePressure", "Zn3Load.1", 1.25},
		{1, "timeline.CycleIssued", "1/0", 11.0}, {1, "timeline.CycleRetired", "0/1", 12.0}, {1, "timeline.CycleRetired", "1/0", "na"}, {1, "timeline.CycleIssued", "1/1", "na"}, {1, "timeline.CycleReady", "0/0", 0.0},
		{2, "IPC", "", 4.0}, {2, "BottleneckAnalysis.PressureIncreaseCycles", "", 7.0},
	} {
		got := of(c.region, c.metric, c.instance)(r)
		if v, ok := got.(datasets.Null[float64]); ok {
			got = v.V
		}
		if got != c.want {
			t.Errorf("%s %s of region %d is %v, want %v", c.metric, c.instance, c.region, got, c.want)
		}
	}
	var codes, features []string
	for _, c := range r.Codes {
		codes = append(codes, fmt.Sprint(c.Region, " ", c.Offset.V, " ", c.Opcode, " ", c.ISA))
	}
	for _, f := range r.Features {
		features = append(features, fmt.Sprint(f.Region, " ", f.Name, " ", f.Value.V))
	}
	if got := strings.Join(codes, ", "); got != "1 0 vfmadd231pd x86_64, 1 1 addq x86_64, 2 0 nop x86_64" {
		t.Errorf("codes %s", got)
	}
	if got := strings.Join(features, ", "); got != "1 BlockRThroughput 1.5, 1 DispatchWidth 4, 1 IPC 0.5, 1 Instructions 200, 1 Iterations 100, 1 TotalCycles 400, 1 TotaluOps 300, 1 uOpsPerCycle 0.75, 2 IPC 4" {
		t.Errorf("features %s", got)
	}
	if r.Regions[0].Raw != "axpy" || r.Regions[1].Raw != "[1] Code Region" || r.Machines[0].CPU != "znver3" || r.Machines[0].Arch != "x86_64" || len(r.Attributes) != 4 || r.Attributes[3].Value != "[1,2]" {
		t.Errorf("%+v %+v %+v", r.Regions, r.Machines, r.Attributes)
	}
}

func TestErrors(t *testing.T) {
	for text, msg := range map[string]string{
		`{"TargetInfo": {}}`: "lacks a member",
		`{"CodeRegions": [{"InstructionInfoView": {"InstructionList": [{"Instruction": 3}]}}]}`:                                                    "an instruction that it does not have",
		`{"CodeRegions": [{"ResourcePressureView": {"ResourcePressureInfo": [{"ResourceUsage": 1}]}}]}`:                                            "names no instruction or resource",
		`{"CodeRegions": [{"ResourcePressureView": {"ResourcePressureInfo": [{"InstructionIndex": 0, "ResourceIndex": 5, "ResourceUsage": 1}]}}]}`: "no resource 5",
		`{"CodeRegions": [{"TimelineView": {"TimelineInfo": [{"CycleReady": 1}]}}]}`:                                                               "a timeline and no instruction",
		`{"CodeRegions": [{"SummaryView": {"IPC": "fast"}}]}`:                                                                                      "IPC is no number",
		`{"CodeRegions": [{"SummaryView": {"IPC": 1e999}}]}`:                                                                                       "fits no number of 64 bits",
		`{"CodeRegions": [`:         "the file ends within a JSON value",
		`{"CodeRegions": []} {}`:    "goes on after its object",
		`{"CodeRegions": {"a": 1}}`: "expected a list, found a JSON object",
		`{"CodeRegions": [3]}`:      "expected an object, found a JSON number",
	} {
		_, err := parsertest.Parse("llvm-mca", "p", text)
		var e *collectors.SyntaxError
		if !errors.As(err, &e) || e.Line != 1 || e.Column < 1 || !strings.Contains(e.Error(), msg) {
			t.Errorf("%s: %v, want %q", text, err, msg)
		}
	}
	if r := parsertest.MustParse(t, "llvm-mca", "p", `{"CodeRegions": []}`); r.Runs[0].Status != datasets.RunEmpty {
		t.Errorf("%+v", r.Runs)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{own: "llvm-mca", "Iterations:        100\nDispatch Width:    6\nuOps Per Cycle:    1.94\n": "llvm-mca-text", "{\"CodeRegions\": []}": "", "{}": ""} {
		f, _, _ := collectors.Detect(collectors.Head{Name: "a", Bytes: []byte(text), Whole: true})
		if f.Name != want {
			t.Errorf("%.30q is detected as %q, want %q", text, f.Name, want)
		}
	}
}

func TestTruncations(t *testing.T) { parsertest.Truncations(t, "llvm-mca", "m", own, 1500) }

func FuzzJSON(f *testing.F) {
	parsertest.Fuzz(f, "llvm-mca", own, `{"CodeRegions": [{"TimelineView": {"TimelineInfo": [{}]}, "Instructions": [""]}]}`)
}
