// Package all registers every format that rooflab reads. Import it for its
// effect; a new format is one more line here.
package all

import (
	_ "github.com/rooflab/rooflab/collectors/cachegrind"     // Cachegrind
	_ "github.com/rooflab/rooflab/collectors/caliper"        // Caliper .cali and json-split
	_ "github.com/rooflab/rooflab/collectors/callgrind"      // Callgrind: Valgrind, Xdebug, pprof -callgrind
	_ "github.com/rooflab/rooflab/collectors/chrometrace"    // Trace Event Format: Chrome, Perfetto, PyTorch profiler
	_ "github.com/rooflab/rooflab/collectors/cubex"          // Score-P, Scalasca (.cubex)
	_ "github.com/rooflab/rooflab/collectors/folded"         // folded stacks of flame graphs
	_ "github.com/rooflab/rooflab/collectors/gbench"         // Google Benchmark JSON
	_ "github.com/rooflab/rooflab/collectors/gnutime"        // GNU time -v
	_ "github.com/rooflab/rooflab/collectors/gobench"        // Go benchmarks
	_ "github.com/rooflab/rooflab/collectors/gprof"          // GNU gprof
	_ "github.com/rooflab/rooflab/collectors/hpctoolkit"     // HPCToolkit databases
	_ "github.com/rooflab/rooflab/collectors/hyperfine"      // hyperfine JSON
	_ "github.com/rooflab/rooflab/collectors/kerneltuner"    // Kernel Tuner caches, T4 results, T1 descriptions
	_ "github.com/rooflab/rooflab/collectors/ktt"            // Kernel Tuning Toolkit: JSON, CSV
	_ "github.com/rooflab/rooflab/collectors/likwid"         // LIKWID perfctr
	_ "github.com/rooflab/rooflab/collectors/llvm"           // live: LLVM IR and static features
	_ "github.com/rooflab/rooflab/collectors/llvmmca"        // llvm-mca JSON
	_ "github.com/rooflab/rooflab/collectors/machine"        // live: this machine and its ceilings
	_ "github.com/rooflab/rooflab/collectors/mca"            // live: llvm-mca
	_ "github.com/rooflab/rooflab/collectors/ncu"            // Nsight Compute CSV
	_ "github.com/rooflab/rooflab/collectors/ncurep"         // Nsight Compute .ncu-rep
	_ "github.com/rooflab/rooflab/collectors/nsys"           // Nsight Systems: SQLite export, nsys stats
	_ "github.com/rooflab/rooflab/collectors/nvidia"         // live: Nsight Compute and Nsight Systems
	_ "github.com/rooflab/rooflab/collectors/nvml"           // live: sensors of NVIDIA GPUs
	_ "github.com/rooflab/rooflab/collectors/ocllaunch"      // launches of OpenCL programs, by a layer
	_ "github.com/rooflab/rooflab/collectors/opencl"         // live: OpenCL kernels
	_ "github.com/rooflab/rooflab/collectors/papi"           // PAPI high-level interface
	_ "github.com/rooflab/rooflab/collectors/perf"           // live: Linux perf
	_ "github.com/rooflab/rooflab/collectors/perfreport"     // Linux perf report; perf.data and perf annotate are refused
	_ "github.com/rooflab/rooflab/collectors/perfscript"     // Linux perf script
	_ "github.com/rooflab/rooflab/collectors/perfstat"       // Linux perf stat
	_ "github.com/rooflab/rooflab/collectors/pprof"          // pprof, protobuf and older formats
	_ "github.com/rooflab/rooflab/collectors/published"      // tables of published data sets
	_ "github.com/rooflab/rooflab/collectors/rapl"           // live: energy of the processor
	_ "github.com/rooflab/rooflab/collectors/rocprof"        // AMD rocprof, rocprofv2, rocprofv3
	_ "github.com/rooflab/rooflab/collectors/rocprofcompute" // ROCm Compute Profiler (Omniperf)
	_ "github.com/rooflab/rooflab/collectors/run"            // live: any command
	_ "github.com/rooflab/rooflab/collectors/smi"            // nvidia-smi, NVML logs, ceilings and timings
	_ "github.com/rooflab/rooflab/collectors/speedscope"     // speedscope JSON
	_ "github.com/rooflab/rooflab/collectors/stream"         // STREAM and BabelStream
	_ "github.com/rooflab/rooflab/collectors/tau"            // TAU profile.N.C.T
	_ "github.com/rooflab/rooflab/collectors/timemory"       // timemory, Omnitrace JSON
	_ "github.com/rooflab/rooflab/collectors/valgrind"       // live: Callgrind and Cachegrind
	_ "github.com/rooflab/rooflab/collectors/vtune"          // Intel VTune CSV
)
