// Package opencl compiles and times OpenCL kernels: in flow a .cl file with
// launches, or a job file with many of both; out flow records with one launch
// per timed execution. The device's library is found when it is needed, through
// the ICD loader (libOpenCL.so.1): nothing of OpenCL is needed to build.
//
// A kernel that was found somewhere may do anything, and so may a driver that
// compiles it. So each program runs in a process of its own with a limit on the
// time between two signs of life: a crash is a failed run, the launches after
// it are measured still. Programs that link this package call ServeIfAsked
// first thing in main; rooflab does.
//
// # Arguments
//
// A kernel's arguments are given in order, each as [NAME=]SPEC. SPEC is
//
//	TYPE:VALUE                 a scalar, int:42, or a vector, float4:1,2,3,4
//	buf:TYPE:COUNT[:INIT][:ACCESS]   a buffer of COUNT elements
//	local:BYTES                local memory
//	raw:HEX                    bytes of a struct, 0a00ff...
//
// TYPE is char, uchar, short, ushort, int, uint, long, ulong, half, float or
// double, with 2, 3, 4, 8 or 16 behind it for a vector (a vector of 3 takes the
// place of 4). INIT is zero (the default), fill(V), iota(START,STEP),
// random(SEED) or random(SEED,LOW,HIGH), uniform in [LOW, HIGH), by default
// [0, 1) and for integers [0, 100), or file(PATH), raw bytes. ACCESS is r, w or
// rw (the default); what is not r is an output, whose content after one launch
// on fresh inputs is hashed.
//
// # Job files
//
// A job file is JSON:
//
//	{"warmup": 2, "repeats": 10,
//	 "programs": [{"source": "saxpy.cl", "options": "-cl-std=CL1.2",
//	   "launches": [{"kernel": "saxpy",
//	     "sweep": {"n": [65536, 1048576], "wg": [16, 64]}, "when": "n >= wg",
//	     "global": "${n}", "local": "${wg}",
//	     "args": ["n=int:${n}", "a=float:2", "x=buf:float:${n}:random(1):r", "y=buf:float:${n}:random(2)"],
//	     "work": {"flop": "2*n", "byte": "12*n"},
//	     "expect": {"y": "sum=1.5e5~1e-3"}}]}]}
//
// Paths are relative to the job file. A launch is made once per combination of
// its sweep, in the order of the variables' names. ${...} holds integer
// arithmetic (+ - * / % << >> and parentheses) over them, "when" a condition
// (== != < <= > >= && ||). "options" of a launch are added to the program's,
// with ${...}, too: each distinct set of options is a run of its own. "work" is
// what the author says that a launch does. "expect" checks an output: all=V,
// sum=V (each with ~TOLERANCE, relative, 1e-5 by default), or sha256=HEX.
//
// # Records
//
// A run is one program with one set of build options; its source, build log,
// platform and device are attributes. A region is a kernel, with its own lines
// as code and what the driver says of it (work-group limits, memory) as static
// features. A launch is one timed execution: grid counts work-groups, block is
// the work-group, and global_size, the arguments and the sweep's variables
// (param.NAME) are attributes. Counters of a launch are
//
//	kernel_time       start to end, by the device's clock (the run's time metric)
//	queued_to_submit  waiting in the queue
//	submit_to_start   waiting for the device
//	host_time         from the call until the event is done, by the host's clock
//	declared_NAME     what "work" says, not measured
//
// A launch that failed has the attribute error and a kernel_time that is
// missing, and makes the run a failed one.
package opencl
