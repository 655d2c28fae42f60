package timeline_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/chrometrace"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/timeline"
)

// A trace of PyTorch's profiler in which the second kernel is launched when the
// first has ended: the device waits for the host.
func ExampleAnalyse() {
	const trace = `{"schemaVersion": 1, "traceEvents": [
	{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 100, "dur": 6, "args": {"correlation": 1}},
	{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 110, "dur": 50, "args": {"correlation": 1, "device": 0, "stream": 7}},
	{"ph": "X", "cat": "cpu_op", "name": "aten::item", "pid": 9, "tid": 9, "ts": 150, "dur": 40},
	{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 195, "dur": 5, "args": {"correlation": 2}},
	{"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 7, "ts": 200, "dur": 10, "args": {"correlation": 2, "device": 0, "stream": 7}}]}`
	dir, err := os.MkdirTemp("", "timeline")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "small.pt.trace.json")
	if err := os.WriteFile(file, []byte(trace), 0o600); err != nil {
		log.Print(err)
		return
	}
	store, err := datasets.Open(filepath.Join(dir, "study.db"))
	if err != nil {
		log.Print(err)
		return
	}
	defer store.Close()
	ctx := context.Background()
	sum, err := collectors.ImportFile(ctx, store, file, collectors.Options{})
	if err != nil {
		log.Print(err)
		return
	}
	tl, err := timeline.Analyse(ctx, store, sum.Run(), timeline.Options{})
	if err != nil {
		log.Print(err)
		return
	}
	for _, f := range tl.Findings {
		fmt.Println(f)
	}
	// Output:
	// device 0: busy for 60.0 % of 100 µs: compute 60.0 %, communication that nothing hides 0.0 %, copies and memsets that nothing hides 0.0 %, idle 40.0 %
	// device 0: idle for 40 µs between gemm and relu (host wait); the host was in aten::item for 30 µs, cudaLaunchKernel for 5 µs
	// device 0: busy for 0.0 % of 40 µs that begin 50 µs after the start
	// device 0: waits for the host for 40 µs (40.0 % of the window, 1 gap): its launches were called when the device had already run dry
}
