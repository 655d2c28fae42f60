package published

import (
	"context"
	"errors"
	"io"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

var robustKBench = collectors.Format{
	Name: "robust-kbench", Version: 1,
	About:  "robust-kbench: CUDA kernels written by agents, with run times and feedback (CSV)",
	Detect: header("Batch ID,Sample ID,Kernel Name,CUDA Filename,Correct,Runtime (ms)"),
	Parse:  parseRobustKBench,
}

var robustKBenchMetrics = []metric{
	{"Runtime (ms)", "ms", "s", 1e-3}, {"Speedup", "", "", 1}, {"Speedup Compile", "", "", 1}, {"Max Diff", "", "", 1},
	{"CUDA API Costs", "USD", "USD", 1}, {"Verifier API Costs Total", "USD", "USD", 1}, {"Verifier Aggregated", "", "", 1},
}

// parseRobustKBench makes one kernel and one launch of each row: every row has
// a source of its own. A kernel that is not correct keeps its status as the
// attribute "Correct"; a run time that was not measured is absent.
func parseRobustKBench(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	t, err := open(in, "Kernel Name", "Correct", "Runtime (ms)", "Code", "task_name")
	if err != nil {
		return err
	}
	if err := put(out, &datasets.Run{ID: 1, Tool: "robust-kbench", Format: "robust-kbench", Status: datasets.RunOK, TimeMetric: "Runtime (ms)", TimeInclusive: true}); err != nil {
		return err
	}
	for id := int64(1); ; id++ {
		if err := t.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		ms, err := t.number("Runtime (ms)")
		if err != nil {
			return err
		}
		l := datasets.Launch{ID: id, Run: 1, Region: id, Sequence: datasets.Some(id - 1), ToolID: t.text("Batch ID") + "/" + t.text("Sample ID")}
		l.DurNs = duration(ms, 1e6)
		name := t.text("Kernel Name")
		if err := put(out, &datasets.Region{ID: id, Run: 1, Kind: datasets.KindKernel, Raw: name, Short: collectors.ShortName(name)}, &l,
			&datasets.Attribute{Run: 1, Region: id, Name: "program", Value: t.text("task_name")},
			&datasets.Code{ID: id, Run: 1, Region: id, ISA: "source", Text: t.text("Code"), File: t.text("CUDA Filename")}); err != nil {
			return err
		}
		if err := t.counters(out, datasets.Counter{Run: 1, Region: id, Launch: id}, robustKBenchMetrics); err != nil {
			return err
		}
		if err := t.attributes(out, datasets.Attribute{Run: 1, Region: id, Launch: id}, "Correct", "Error", "Error Type", "Thought", "Settings", "NCU Profile", "Torch Profile",
			"Clang Tidy", "Profiler Feedback", "Verifier Individual", "Verifier Responses", "Verifier API Costs", "task_name", "forward", "Msg Hist Filename"); err != nil {
			return err
		}
	}
}
