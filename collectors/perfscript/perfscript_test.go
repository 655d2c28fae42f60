package perfscript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/perfscript"
	"github.com/rooflab/rooflab/datasets"
)

// self is the sum of a metric over the regions of a raw name.
func self(raw, metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		sum := 0.0
		for _, c := range r.Counters {
			if c.Metric == metric && r.Region(c.Region).Raw == raw {
				sum += c.Value.V
			}
		}
		return sum
	}
}

// inclusive counts the samples that have a function of a raw name anywhere in
// their stack.
func inclusive(raw string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		sum := 0.0
		for _, c := range r.Counters {
			if c.Metric != "samples" {
				continue
			}
			for g := r.Region(c.Region); g != nil; g = r.Region(g.Parent) {
				if g.Raw == raw {
					sum += c.Value.V
					break
				}
			}
		}
		return sum
	}
}

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Total(metric) }
}

func threads(r *parsertest.Records) any {
	set := map[string]bool{}
	for _, l := range r.Launches {
		set[fmt.Sprint(l.ToolID, l.PID, l.Thread)] = true
	}
	return len(set)
}

func TestSamplesHoldWhatAwkCounts(t *testing.T) {
	const (
		lines = "lines that begin a sample, counted with grep -c"
		sum   = "the periods of those lines, added with awk"
		top   = "samples whose first frame is the function, counted by a script that shares no code with the parser"
		under = "samples that name the function in some frame, counted by the same script"
		seen  = "read in the text"
	)
	var facts []parsertest.Fact
	add := func(file, what string, of func(*parsertest.Records) any, want any, how string) {
		facts = append(facts, parsertest.Fact{File: file, What: what, Of: of, Want: want, How: how})
	}
	for _, f := range []struct {
		file    string
		samples int
		event   string
		period  float64 // of the event, SI
		threads int
		fn      string
		self    float64
		caller  string
		incl    float64
	}{
		{"inferno_cpp-stacks-std-function.txt", 46, "cycles:uppp", 80567950, 1, "std::ostream::flush", 1, "main", 36},
		{"inferno_empty-line.txt", 2, "cpu-clock:uhH", 0.0005, 1, "main", 2, "main", 2},
		{"inferno_go-stacks.txt", 5, "cpu-clock:uhH", 0.00125, 1, "runtime.growslice", 2, "runtime.main", 5},
		{"inferno_java-inline.txt", 22, "cpu-clock", 0.22222222, 1, "__GI___libc_write", 6, "do_syscall_64", 11},
		{"inferno_sourcepawn-jitdump.txt", 1, "cycles", 22145531, 1, "fib.smx::fib", 1, "main", 1},
		{"inferno_versioned-vmlinux.txt", 1, "cycles", 20834821, 1, "bpf_prog_2b956549c660136a_uni_l4lb", 1, "do_idle", 1},
		{"inferno_weird-stack-line.txt", 2, "cpu-clock:uhH", 0.0005, 1, "main", 1, "main", 1},
		{"perf-cycles-instructions-01.txt", 444, "instructions", 333e8, 5, "cksum", 87, "main", 421},
		{"perf-dd-stacks-01.txt", 11, "cpu-clock", 0.11111111, 1, "__srcu_read_unlock", 3, "system_call", 9},
		{"perf-iperf-stacks-pidtid-01.txt", 201, "", 0, 11, "xen_hypercall_xen_version", 67, "entry_SYSCALL_64_fastpath", 186},
		{"perf-java-stacks-01.txt", 46, "", 0, 7, "native_write_msr_safe", 16, "JavaThread::thread_main_inner()", 32},
		{"perf-rust-Yamakaky-dcpu.txt", 58, "cycles:u", 6850637, 1, "page_fault", 3, "__rust_maybe_catch_panic", 37},
		{"speedscope_forks.txt", 561, "cpu-clock", 0.561561561, 4, "_Z5alphav", 93, "_Z5alphav", 94},
		{"speedscope_simple-with-header.txt", 136, "cpu-clock", 0.136136136, 1, "_Z4betav", 47, "_Z5deltav", 69},
		{"speedscope_system-wide.txt", 556, "cpu-clock", 0.556556556, 2, "_Z4betav", 53, "_Z5deltav", 72},
	} {
		add(f.file, "samples", total("samples"), f.samples, lines)
		add(f.file, "threads", threads, f.threads, "different pairs of comm and thread, counted with sort -u")
		add(f.file, "self samples of "+f.fn, self(f.fn, "samples"), f.self, top)
		add(f.file, "samples under "+f.caller, inclusive(f.caller), f.incl, under)
		if f.event != "" {
			how := sum
			if f.file == "perf-cycles-instructions-01.txt" {
				how = "333 samples of perf record -c 100000000, by the header"
			}
			add(f.file, "sum of "+f.event, total(f.event), f.period, how)
		}
	}
	add("perf-cycles-instructions-01.txt", "CPU", func(r *parsertest.Records) any { return r.Machines[0].CPU }, "Intel(R) Xeon(R) CPU E3-1245 v5 @ 3.50GHz", seen)
	add("perf-iperf-stacks-pidtid-01.txt", "process of the first sample", func(r *parsertest.Records) any { return r.Launches[0].PID }, 27409, seen)
	add("perf-iperf-stacks-pidtid-01.txt", "thread of the first sample", func(r *parsertest.Records) any { return r.Launches[0].Thread }, 28744, seen)
	add("speedscope_simple-with-header.txt", "memory", func(r *parsertest.Records) any { return r.Machines[0].MemBytes }, 2046644*1024, seen)
	parsertest.Facts(t, "../../../shared/samples/perf_script", facts, nil)
}

const stacks = `# ========
# captured on    : Sun Nov 29 20:38:23 2026
# hostname : node7
# arch : x86_64
# cpudesc : Some CPU
# total memory : 1024 kB
# cmdline : /usr/bin/perf record -g ./solve 
# perf version : 6.1.0
# event : name = faults, , id = { 1 }, { sample_period, sample_freq } = 7, disabled = 1
# ========
#
Web Content 12/34 [003] 10.000001:     250000 cpu-clock:u: 
	    7f0000000010 ns::kernel<float, (int)2>+0x1f (/opt/my libs (old)/libk.so)
	    7f0000000020 helper (inlined)
	    7f0000000020 run(int (*)(int))+0x4 (/bin/solve (deleted))
	          401000 main+0x9 (/bin/solve (deleted))

Web Content 12/35 [001] 10.000000:     750000 cpu-clock:u: 
	    7f0000000010 ns::kernel<float, (int)2>+0x22 (/opt/my libs (old)/libk.so)
	    7f0000000020 run(int (*)(int))+0x4 (/bin/solve (deleted))
	          401000 main+0x9 (/bin/solve (deleted))

:77 77 10.5: faults: 
	ffffffff81000000 page_fault ([kernel.kallsyms])

:77 77 10.6: faults: 
	    7f89cc45c5c3 Lio/Out;::write->Lio/Enc;::enc+0x4b (/tmp/perf-77.map)

solve 12/12 11.0: PERF_RECORD_FORK(12:12):(11:11)
solve 12/12 11.0: PERF_RECORD_LOST lost 5
dd 9 12.0: sched:sched_switch: prev_comm=dd prev_pid=9 ==> next_comm=swapper/0

`

func TestStacksBecomeATreeOfFunctions(t *testing.T) {
	r := parsertest.MustParse(t, "perf-script", "stacks.txt", stacks)
	var got []string
	for _, c := range r.Counters {
		g := r.Region(c.Region)
		got = append(got, fmt.Sprintf("%s | %s %s %v%s | %s", r.Path(c.Region), c.Metric, c.Instance, c.Value.V, c.Unit, g.Module))
	}
	want := []string{
		// In order of the launches' first samples; 34 began after 35.
		"main/run/kernel | samples cpu-clock:u 1 | /opt/my libs (old)/libk.so",
		"main/run/kernel | cpu-clock:u  0.00075s | /opt/my libs (old)/libk.so",
		"main/run/helper/kernel | samples cpu-clock:u 1 | /opt/my libs (old)/libk.so",
		"main/run/helper/kernel | cpu-clock:u  0.00025s | /opt/my libs (old)/libk.so",
		"page_fault | samples faults 1 | [kernel.kallsyms]",
		"page_fault | faults  7 | [kernel.kallsyms]",
		"write/enc | samples faults 1 | /tmp/perf-77.map",
		"write/enc | faults  7 | /tmp/perf-77.map",
		"[unknown] | samples sched:sched_switch 1 | ",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("counters are\n%s\nwant\n%s", g, w)
	}
	l := r.Launches[0]
	if l.PID.V != 12 || l.Thread.V != 35 || l.StartNs != datasets.Some(int64(10e9)) || l.Sequence.V != 0 {
		t.Errorf("the first launch is %+v", l)
	}
	inlined := 0
	for _, a := range r.Attributes {
		if a.Name == "inlined" {
			inlined++
			if g := r.Region(a.Region); g.Short == "helper" && g.Module != "/bin/solve (deleted)" {
				t.Errorf("an inlined function is of the module %q, want that of the function around it", g.Module)
			}
		}
	}
	if inlined != 2 {
		t.Errorf("%d functions are inlined, want helper and enc", inlined)
	}
	run, m := r.Runs[0], r.Machines[0]
	if run.TimeMetric != "cpu-clock:u" || run.TimeInclusive || run.Command != "/usr/bin/perf record -g ./solve" || run.ToolVersion != "6.1.0" || m.Host != "node7" || m.MemBytes.V != 1<<20 {
		t.Errorf("run %+v on machine %+v", run, m)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "lost 5 events") {
		t.Errorf("warnings %v, want one about the lost events", r.Warnings)
	}
}

func TestFieldsThatPerfPrintsOnDemand(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		samples int
		path    string
		thread  datasets.Null[int64]
		event   string
	}{
		"without stacks":     {"               w 15961 11622.024518:    1001001 cpu-clock:      55b5ae04a188 leaf+0x1f (/tmp/w)\n               w 15961 11622.029546:    1001001 cpu-clock:      55b5ae04a184 leaf+0x1b (/tmp/w)\n", 2, "leaf", datasets.Some(int64(15961)), "cpu-clock"},
		"comm looks hex":     {"              dd 29776 666709.771979:   10101010 cycles:  414b3b fsnotify (/boot/vmlinux)\n", 1, "fsnotify", datasets.Some(int64(29776)), "cycles"},
		"no time":            {"w 15961 cycles:u: \n\t  126f leaf+0x1 (/tmp/w)\n\t  2724a main (/tmp/w)\n\n", 1, "main/leaf", datasets.Some(int64(15961)), "cycles:u"},
		"no event":           {"w 15840 11619.253189: \n\t            126f ns::work<double>\n\t           2724a main\n\n", 1, "main/work", datasets.Some(int64(15840)), ""},
		"stacks alone":       {"\t            126f ns::work<double>\n\t           2724a main\n\n\n\t            126f ns::work<double>\n\t           2724a main\n\n", 2, "main/work", datasets.Null[int64]{}, ""},
		"source lines":       {"w 1/2 1.5: 10 cycles: \n\t 126f work+0x43 (/w)\n  w.cpp:3\n|3   for (;;)\n\t 2724a main (/w)\n  libc-start.c:74 (discriminator 2)\n\n", 1, "main/work", datasets.Some(int64(2)), "cycles"},
		"names alone":        {" ffffffff815e199f unmap_page_range\n           4012e2 ns::work<double>\n", 2, "unmap_page_range", datasets.Null[int64]{}, ""},
		"lines of one frame": {"w 1 1.5: 10 cycles:  ffffffff815e199f work+0x7 ([kernel.kallsyms])\n  [kernel.kallsyms][ffffffff815e199f]\nw 1 1.6: 10 cycles:  4012e2 work+0x1 (/w)\n  w.cpp:7\n", 2, "work", datasets.Some(int64(1)), "cycles"},
		"inlined sources":    {"w 1 1.5: 10 cycles: \n\t 126f work+0x43\n  w.cpp:3 (inlined)\n\t 2724a main ([kernel.kallsyms])\n  [kernel.kallsyms][ffffffff8158c3f5]\n\n", 1, "main/work", datasets.Some(int64(1)), "cycles"},
		"misc":               {"w 1/2 [000] U 1.5: 10 cpu_core/cycles/P: \n\t 126f work+0x43 (/w+0x126f)\n\n", 1, "work", datasets.Some(int64(2)), "cpu_core/cycles/P"},
		"event with terms":   {"w 1 [000] 1.5: 10 cpu/event=0x3c,umask=0x0/u: \n\t 126f work (/w)\n\n", 1, "work", datasets.Some(int64(1)), "cpu/event=0x3c,umask=0x0/u"},
		"negative ids":       {"swapper -1/0 [000] 1.5: 10 cycles: \n\t ffff126f idle ([kernel.kallsyms])\n\n", 1, "idle", datasets.Some(int64(0)), "cycles"},
		"blank before stack": {"w 1 1.5: 10 cycles: \n\n\t 126f work (/w)\n\n", 1, "work", datasets.Some(int64(1)), "cycles"},
		"no stack":           {"w 1 1.5: 10 cycles: \n\nw 1 1.6: 10 cycles: \n\n", 2, "[unknown]", datasets.Some(int64(1)), "cycles"},
		"noise":              {"[nvidia] with build id 12 not found, continuing without symbols\nWarning:\nProcessed 100 events and lost 1 chunks!\n\nw 1 1.5: 10 cycles: \n\t 126f work (/w)\n\n", 1, "work", datasets.Some(int64(1)), "cycles"},
		"CRLF":               {"w 1 1.5: 10 cycles: \r\n\t 126f work (/w)\r\n\r\n", 1, "work", datasets.Some(int64(1)), "cycles"},
		"V8":                 {"node 1 1.5: 10 cycles: \n\t 126f LazyCompile:~run /x/a b.js:12 (/tmp/perf-1.map)\n\n", 1, "run", datasets.Some(int64(1)), "cycles"},
		"V8's builtins":      {"node 1 cycles: \n            13a8 RegExp:[&<> \"\\'] (/tmp/perf-1.map)\n  c6d7 Builtin:A builtin from the snapshot (/tmp/perf-1.map)\n\n", 1, "A builtin from the snapshot/[&<> \"\\']", datasets.Some(int64(1)), "cycles"},
		"branches":           {"w 1 1.5: 10 cycles:  4012e2 work+0x1 (/a/b/c/d/w)  0x55d0/0x55e8/P/-/-/3 main+0x14/solve+0x0/M/-/-/1 \n", 1, "work", datasets.Some(int64(1)), "cycles"},
		"accesses to memory": {"w 1 1.5: 30 cpu/mem-loads,ldlat=30/P:     7ffc05a0deadbeef       5080021 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A      12   4012e2 ns::work<double>+0x1 (/w)\n", 1, "work", datasets.Some(int64(1)), "cpu/mem-loads,ldlat=30/P"},
		"older accesses":     {"w 1 1.5: 30 cpu/mem-loads/P:  7ffc05a0 5080021 N/A|SNP N/A|TLB N/A|LCK N/A 55d0c0de4012 work+0x1 (/w)\n", 1, "work", datasets.Some(int64(1)), "cpu/mem-loads/P"},
		"Go":                 {"go 1 1.5: 10 cycles: \n\t 126f regexp/syntax.(*parser).push+0xa6 (/bin/go)\n\n", 1, "regexp/syntax.(*parser).push", datasets.Some(int64(1)), "cycles"},
		"Rust":               {"e 1 1.5: 10 cycles: \n\t 126f _ZN4core3fmt9Formatter3pad17h0123456789abcdefE (/e)\n\t 127f emulator::main::hc2aaa9b4591a10c7 (/e)\n\n", 1, "main/pad", datasets.Some(int64(1)), "cycles"},
	} {
		r := parsertest.MustParse(t, "perf-script", name, c.text)
		l := r.Launches[0]
		if r.Total("samples") != float64(c.samples) || r.Path(l.Region) != c.path || l.Thread != c.thread || r.Counters[0].Instance != c.event {
			t.Errorf("%s: %v samples of %q in %q by %v", name, r.Total("samples"), r.Counters[0].Instance, r.Path(l.Region), l.Thread)
		}
		f, sure, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(c.text), Whole: true})
		if err != nil || f.Name != "perf-script" || sure < collectors.Likely {
			t.Errorf("%s is detected as %q, %v, %v", name, f.Name, sure, err)
		}
	}
}

func TestMangledNamesAreKeptAndShortened(t *testing.T) {
	r := parsertest.MustParse(t, "perf-script", "x", "w 1 1.5: 10 cycles: \n\t 126f _ZN2ns4workIdEET_RSt6vectorIS1_SaIS1_EE+0x43 (/w)\n\n")
	if g := r.Regions[0]; g.Short != "work" || g.Mangled != "_ZN2ns4workIdEET_RSt6vectorIS1_SaIS1_EE" || g.Kind != datasets.KindFunction {
		t.Errorf("region %+v", g)
	}
}

func TestPeriodsAddUpBeyondFloat64(t *testing.T) {
	// 2^53 + 1 has no float64; the text keeps it.
	text := "w 1 1.0: 9007199254740992 cycles: \n\t 1f work (/w)\n\nw 1 1.1: 1 cycles: \n\t 1f work (/w)\n\n"
	r := parsertest.MustParse(t, "perf-script", "x", text)
	if c := r.Counters[1]; c.RawValue != "9007199254740993" {
		t.Errorf("the sum is %+v", c)
	}
}

func TestBrokenTextIsRefusedWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":          {"", 1, 1, "the file is empty"},
		"another text":   {"w 1 1.5: 10 cycles: \n\t 126f work (/w)\n\nhello\n", 4, 1, "neither a sample nor a frame"},
		"cut":            {"w 1 1.5: 10 cycles: \n\t 126f wor", 2, 11, "the file ends within a line"},
		"cut in a title": {"w 1 1.5: 10 cycles: \n\t 126f work (/w)\n\nw 1 1.6: 1", 4, 1, "neither a sample nor a frame"},
	} {
		parsertest.Refused(t, "perf-script", name, c.text, c.line, c.col, c.msg)
	}
}

func TestOddLinesAreWarnedAbout(t *testing.T) {
	r := parsertest.MustParse(t, "perf-script", "x", "w 1 1.5: 10 cycles: \n\t 126f work (/w)\n\t WEIRD\n")
	if len(r.Warnings) != 2 || r.Warnings[0].Line != 3 || !strings.Contains(r.Warnings[0].Msg, "WEIRD") || !strings.Contains(r.Warnings[1].Msg, "may have been cut") {
		t.Errorf("warnings %v", r.Warnings)
	}
}

func TestOtherTextsAreNotTakenForSamples(t *testing.T) {
	f, err := collectors.Lookup("perf-script")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"",
		"# started on Sun Nov 29 16:12:16 2026\n\n1.77,msec,task-clock,1765664,100.00,476.434,CPUs utilized\n",
		"main;work 12\nmain;idle 3\n", // folded stacks
		"# Overhead  Command  Shared Object  Symbol\n    67.31%  w        w              [.] leaf\n",
		"Flat profile:\n\nEach sample counts as 0.01 seconds.\n",
		"{\"a\": 1}\n",
		"abc 12 some prose: with a colon\nand more\n",
	} {
		if c := f.Detect(collectors.Head{Bytes: []byte(text), Whole: true}); c != collectors.No {
			t.Errorf("%q is taken for samples: %v", text, c)
		}
	}
}

func FuzzPerfScript(f *testing.F) {
	parsertest.Fuzz(f, "perf-script", stacks, "w 1 1.5: 10 cycles: 126f work (/w)\n", "\t 1f a\n\t 2f b\n\n", "")
}
