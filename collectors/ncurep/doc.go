// Package ncurep reads Nsight Compute's own reports (.ncu-rep): the whole
// measurement, where the tool's --csv pages each show a part of it.
//
// In flow the bytes of a report, out flow one run with its machine, a region
// per kernel, a launch per profiled result, a counter per metric and per
// instance of a metric, the instructions of the profiled kernels with their
// source lines, the PC samples of each, PTX and source text where the report
// holds them, and attributes: findings of rules, NVTX ranges, settings.
//
// # The file
//
// Reports are written front to back and their parts carry no index. All
// lengths are 32 bits, little endian:
//
//	"NVR\0"
//	length, FileHeader                1 version: 7, for which all of this holds
//	blocks until the end of the file:
//	    length, BlockHeader           1 number of sources, 2 of kernel results, 3 session,
//	                                  4 strings (1, repeated), 5 length of the payload,
//	                                  6 process (1 id, 2 host, 3 path), 7 number of range results,
//	                                  8 of command lists, 9 of graphs
//	    payload                       that many sources, results, ranges, lists and graphs, in this
//	                                  order, each: length, message
//
// The strings of all blocks form one table, in the order of the file: metrics
// name their index in it. Sources come before the first result that refers to
// them; a source may come again later with more functions and no binary.
//
// Messages are protobuf (proto2). Fields that are read:
//
//	source      1 reference, 3 PTX, 4 cubin (an ELF file), 8 source files (1 repeated: 1 name, 2 content),
//	            9 loaded symbols (1 functions, repeated: 1 name, 2 address)
//	kernel      1 thread, 2 call, 5 mangled, 6 function's and 7 demangled name, 10 grid, 11 block (1 x, 2 y, 3 z),
//	            12 comments, 13 metrics, 14 time, 15 source (1 reference), 17 sections, 19 rules, 21 NVTX,
//	            22 context, 23 stream, 24 series (2 text), 25 clocks (1 lock asked for, 2 held), 26, 27 names of
//	            context and stream, 28 and 32 call stacks, 31 name given by a user
//	range, command list, graph: the same in other places, see resultFields
//	metric      1 name's index, 2 value, 3 instances (1 what it belongs to, 2 value, 3 more values),
//	            4 category (1: samples over time)
//	value       one of 1 text, 2 float, 3 double, 4 uint32, 5 uint64
//	rule        1 identifier, 3 body (1 repeated items: 1 message (1 text, 2 type, 4 title),
//	            10 speedup (1 local or global, 2 percent)), 5 markers
//	session     2 time, 3 host and 4 target system, 6 devices (1 id, 2 name, 3 attributes), 7 comments,
//	            8 versions (1 of what, 2 text), 9 program, 10 settings, 11 ncu's command line
//
// # What is not in the file
//
// A report has no units: ncu derives them from the names of metrics, and so
// does unitOf. Values are in the unit without a prefix (nanoseconds, bytes),
// whatever the tool prints. RawUnit is therefore empty.
//
// Nor is there any disassembly: ncu runs a disassembler over the cubin. Here a
// table gives each instruction's mnemonic, and Text has its encoding, as
// nvdisasm -hex prints it, behind the mnemonic. Lines come from the cubin's
// .debug_line, where the program was compiled with -lineinfo.
//
// # Instances
//
// What an instance belongs to is in its id. An address of an instruction
// becomes "0x0250", its offset within the kernel: the number that
// printf('0x%04x', code.offset) gives; within a device function that the
// kernel calls, "name+0x0250". Anything else stays as it is: an opcode, a
// block size. Metrics named smsp__pcsamp_warps_issue_stalled_ become PC
// samples, those that are not zero, and only their sum is a counter, too.
// Metrics that are sampled over time become telemetry, whose sensor is the
// metric's name and whose time is the GPU's; kernels of one run do not overlap.
package ncurep
