package imports

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ncuMetrics are metrics of a roofline collection with their units.
var ncuMetrics = [][2]string{
	{"dram__bytes_read.sum", "byte"}, {"dram__bytes_write.sum", "byte"}, {"gpu__time_duration.sum", "ns"},
	{"l1tex__t_bytes.sum", "byte"}, {"lts__t_bytes.sum", "byte"}, {"sm__cycles_elapsed.avg", "cycle"},
	{"sm__cycles_elapsed.avg.per_second", "Ghz"}, {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"},
	{"smsp__inst_executed.sum", "inst"}, {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", "inst"},
	{"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", "inst"}, {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "inst"},
	{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "inst"}, {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "inst"},
	{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst"}, {"smsp__warps_active.avg.pct_of_peak_sustained_active", "%"},
	{"launch__registers_per_thread", "register/thread"}, {"launch__occupancy_limit_registers", "block"},
	{"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "inst"}, {"l1tex__t_sector_hit_rate.pct", "%"},
}

// writeNCU writes a long Nsight Compute CSV of about size bytes: launches of a
// few kernels with all metrics each. It returns how many launches there are and
// the sum of their durations in nanoseconds.
func writeNCU(w io.Writer, size int64, seed uint64) (launches int, totalNs int64, err error) {
	b := bufio.NewWriterSize(w, 1<<20)
	rng := rand.New(rand.NewPCG(seed, 0x6e6375))
	kernels := make([]string, 12)
	for i := range kernels {
		kernels[i] = fmt.Sprintf("void stencil_kernel<%d, (bool)%d>(const double *, double *, int, int, %s)", 8<<(i%4), i%2, []string{"float", "double", "long"}[i%3])
	}
	written := int64(0)
	put := func(s string) {
		n, werr := b.WriteString(s)
		written += int64(n)
		if err == nil {
			err = werr
		}
	}
	put(`"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"` + "\n")
	for ; written < size && err == nil; launches++ {
		head := fmt.Sprintf(`"%d","4711","stencil","127.0.0.1","%s","1","7","(%d, 1, 1)","(%d, %d, 1)","0","8.0","Command line profiler metrics",`,
			launches, kernels[rng.IntN(len(kernels))], 64<<rng.IntN(4), 1+rng.IntN(4096), 1+rng.IntN(64))
		for _, m := range ncuMetrics {
			var value string
			switch {
			case m[1] == "ns":
				ns := 1000 + rng.Int64N(20_000_000)
				totalNs += ns
				value = grouped(ns)
			case m[1] == "%" || m[1] == "Ghz" || strings.HasSuffix(m[0], ".ratio"):
				value = strconv.FormatFloat(rng.Float64()*100, 'f', 2, 64)
			default:
				value = grouped(rng.Int64N(1 << (10 + rng.IntN(30))))
			}
			put(head)
			put(`"` + m[0] + `","` + m[1] + `","` + value + "\"\n")
		}
	}
	if err == nil {
		err = b.Flush()
	}
	return launches, totalNs, err
}

// grouped writes thousands with commas, as the tool does.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// caliRegions is how many kernels a generated Caliper file has.
const caliRegions = 40

// writeCaliper writes n Caliper files as a sweep over problem sizes makes them:
// a tree of one function, six groups and 40 kernels with four metrics. It
// returns the sum over all files of the exclusive times.
func writeCaliper(dir string, n int, seed uint64) (total float64, err error) {
	rng := rand.New(rand.NewPCG(seed, 0x63616c69))
	for i := range n {
		var b strings.Builder
		// Attributes are nodes: 8 is the name, 9 the type tree of the built-in ones.
		fmt.Fprintf(&b, `__rec=node,id=20,attr=10,data=276,parent=3
__rec=node,id=21,attr=8,data=region,parent=20
__rec=node,id=22,attr=10,data=1,parent=5
__rec=node,id=23,attr=8,data=sum#time.duration,parent=22
__rec=node,id=24,attr=8,data=sum#papi.cycles,parent=22
__rec=node,id=25,attr=8,data=sum#bytes,parent=22
__rec=node,id=26,attr=8,data=sum#flops,parent=22
__rec=node,id=27,attr=10,data=204,parent=3
__rec=node,id=28,attr=8,data=problem_size,parent=27
__rec=node,id=29,attr=8,data=launchdate,parent=27
__rec=node,id=30,attr=21,data=main
`)
		groups := []string{"Apps", "Basic", "Lcals", "Polybench", "Stream", "Algorithm"}
		for g, name := range groups {
			fmt.Fprintf(&b, "__rec=node,id=%d,attr=21,data=%s,parent=30\n", 31+g, name)
		}
		for k := range caliRegions {
			fmt.Fprintf(&b, "__rec=node,id=%d,attr=21,data=%s_KERNEL_%02d,parent=%d\n", 40+k, groups[k%len(groups)], k, 31+k%len(groups))
		}
		put := func(id int) {
			t := rng.Float64()
			text := strconv.FormatFloat(t, 'f', 6, 64)
			v, perr := strconv.ParseFloat(text, 64)
			if err == nil {
				err = perr
			}
			total += v
			fmt.Fprintf(&b, "__rec=ctx,ref=%d,attr=23=24=25=26,data=%s=%d=%d=%d\n", id, text, rng.Int64N(1e12), rng.Int64N(1e10), rng.Int64N(1e10))
		}
		for id := 30; id < 30+1+len(groups); id++ {
			put(id)
		}
		for k := range caliRegions {
			put(40 + k)
		}
		fmt.Fprintf(&b, "__rec=globals,attr=28=29,data=%d=%d\n", 1<<(10+i%14), 1700000000+i)
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("run%05d.cali", i)), []byte(b.String()), 0o644); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// writeTrace writes a Chrome trace of about size bytes: complete events of
// several threads, as PyTorch's profiler writes them. It returns how many
// events there are and the sum of their durations in microseconds.
func writeTrace(w io.Writer, size int64, seed uint64) (events int, totalUs int64, err error) {
	b := bufio.NewWriterSize(w, 1<<20)
	rng := rand.New(rand.NewPCG(seed, 0x7472616365))
	written := int64(0)
	put := func(s string) {
		n, werr := b.WriteString(s)
		written += int64(n)
		if err == nil {
			err = werr
		}
	}
	put("{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"traceEvents\": [\n")
	ops := []string{"aten::addmm", "aten::copy_", "aten::add", "aten::softmax", "aten::layer_norm", "aten::matmul", "aten::gelu", "aten::transpose"}
	ts := [4]int64{}
	for ; written < size && err == nil; events++ {
		tid := rng.IntN(len(ts))
		dur := 1 + rng.Int64N(500)
		if events > 0 {
			put(",\n")
		}
		put(fmt.Sprintf(`{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 4711, "tid": %d, "ts": %d, "dur": %d, "args": {"External id": %d, "Sequence number": %d, "Fwd thread id": 0}}`,
			ops[rng.IntN(len(ops))], tid, ts[tid], dur, events, events/2))
		ts[tid] += dur + rng.Int64N(20)
		totalUs += dur
	}
	put("\n]}\n")
	if err == nil {
		err = b.Flush()
	}
	return events, totalUs, err
}
