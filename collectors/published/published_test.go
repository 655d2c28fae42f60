package published_test

import (
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/published"
	"github.com/rooflab/rooflab/datasets"
)

type records = parsertest.Records

// row is a parsertest.Fact in short.
type row struct {
	file, what string
	of         func(*records) any
	want       any
	how        string
}

func facts(rows []row) []parsertest.Fact {
	fs := make([]parsertest.Fact, len(rows))
	for i, r := range rows {
		fs[i] = parsertest.Fact{File: r.file, What: r.what, Of: r.of, Want: r.want, How: r.how}
	}
	return fs
}

const shared = "../../../shared/data/"

func total(metric string) func(*records) any {
	return func(r *records) any { return r.Total(metric) }
}

func launches(r *records) any { return len(r.Launches) }

func kinds(kind string) func(*records) any {
	return func(r *records) any {
		n := 0
		for _, g := range r.Regions {
			if g.Kind == kind {
				n++
			}
		}
		return n
	}
}

func gridX(r *records) any {
	n := int64(0)
	for _, l := range r.Launches {
		n += l.Grid[0].V
	}
	return n
}

// machineOf counts the launches on a GPU.
func machineOf(gpu string) func(*records) any {
	return func(r *records) any {
		id := int64(-1)
		for _, m := range r.Machines {
			if m.GPU == gpu {
				id = m.ID
			}
		}
		n := 0
		for _, l := range r.Launches {
			if l.Run == id { // a run has its machine's id
				n++
			}
		}
		return n
	}
}

const pandas = "pandas.read_csv and sum, len, nunique or value_counts of the column"

func TestGPUFLOPBench(t *testing.T) {
	parsertest.Facts(t, shared+"gpuflopbench", facts([]row{
		{"profiling-data.csv", "rows", launches, 3436, pandas},
		{"profiling-data.csv", "pairs of program and kernel", kinds(datasets.KindKernel), 1818, "pandas groupby(targetName, Kernel Name).ngroups"},
		{"profiling-data.csv", "programs", kinds(datasets.KindRange), 661, pandas},
		{"profiling-data.csv", "seconds", total("xtime"), 69.95541152, pandas},
		{"profiling-data.csv", "integer operations", total("intops"), 24403000861494.0, pandas},
		{"profiling-data.csv", "kernel of row 100", func(r *records) any { return r.Region(r.Launches[100].Region).Short }, "timedReduction", "the column kernelName of that row"},
		{"profiling-data.csv", "duration of row 100", func(r *records) any { return r.Launches[100].DurNs }, 3744, "the row's text"},
		{"extracted_CUDA_kernels.json", "programs", kinds(datasets.KindRange), 420, "json.load, len"},
		{"extracted_CUDA_kernels.json", "functions", func(r *records) any { return len(r.Codes) }, 1166, "json.load, sum of len of the lists"},
		{"extracted_CUDA_kernels.json", "kernels", kinds(datasets.KindKernel), 1166, `json.load, "__global__" in the text`},
		{"extracted_CUDA_kernels.json", "kernels adam, behind a macro and two functions", func(r *records) any {
			n := 0
			for _, g := range r.Regions {
				if g.Kind == datasets.KindKernel && g.Short == "adam" {
					n++
				}
			}
			return n
		}, 1, "the file's text"},
		{"extracted_CUDA_kernels.json", "characters of source", func(r *records) any {
			n := 0
			for _, c := range r.Codes {
				n += len([]rune(c.Text))
			}
			return n
		}, 3268082, "json.load, sum of len of the texts"},
	}), nil)
}

func TestNeuSight(t *testing.T) {
	parsertest.Facts(t, shared+"neusight", facts([]row{
		{"bmm.csv", "rows", launches, 13461, pandas}, {"bmm.csv", "seconds", total("Latency"), 314.6917715906805, pandas}, {"bmm.csv", "sum of Grid x", gridX, 105558, pandas},
		{"bmm.csv", "rows on the H100", machineOf("NVIDIA H100 80GB HBM3"), 2477, pandas},
		{"linear.csv", "rows", launches, 8254, pandas}, {"linear.csv", "seconds", total("Latency"), 1426.1342481686613, pandas}, {"linear.csv", "sum of Grid x", gridX, 1133230, pandas},
		{"ln.csv", "rows", launches, 533, pandas}, {"ln.csv", "seconds", total("Latency"), 4.53483502831608, pandas}, {"ln.csv", "sum of Grid x", gridX, 69816320, pandas},
		{"softmax.csv", "rows", launches, 533, pandas}, {"softmax.csv", "seconds", total("Latency"), 4.549339817953855, pandas}, {"softmax.csv", "rows on the T4", machineOf("Tesla T4"), 75, pandas},
	}), nil)
	ceiling := func(level string) func(*records) any {
		return func(r *records) any {
			for _, c := range r.Ceilings {
				if c.Level == level {
					return c.Value
				}
			}
			return nil
		}
	}
	device := func(file string, bw, fp32, sms float64) []row {
		how := "the file's text; GB/s, GFLOP/s"
		return []row{{file, "memory bandwidth", ceiling("dram"), bw * 1e9, how}, {file, "fp32 peak", ceiling("fp32"), fp32 * 1e9, how},
			{file, "SMs", func(r *records) any { return r.Machines[0].Units }, sms, how}}
	}
	var peaks []row
	for _, f := range [][]row{
		device("NVIDIA_L4.json", 300, 31334, 60), device("NVIDIA_A100-PCIE-40GB.json", 1555, 19492, 108), device("NVIDIA_A100-SXM4-40GB.json", 1555, 19492, 108),
		device("NVIDIA_A100_80GB_PCIe.json", 1935, 19492, 108), device("NVIDIA_H100_80GB_HBM3.json", 3430, 66908, 132), device("Tesla_P100-PCIE-16GB.json", 732, 9519, 56),
		device("Tesla_P4.json", 192, 5699, 40), device("Tesla_T4.json", 320, 8141, 40), device("Tesla_V100-PCIE-32GB.json", 900, 14029, 80),
	} {
		peaks = append(peaks, f...)
	}
	parsertest.Facts(t, shared+"neusight/device_configs", facts(peaks), nil)
}

func TestRobustKBench(t *testing.T) {
	parsertest.Facts(t, shared+"robust-kbench", facts([]row{
		{"results.csv", "rows", launches, 12, pandas}, {"results.csv", "seconds", total("Runtime (ms)"), 0.006360278747413307, pandas},
		{"results.csv", "sum of speedups", total("Speedup"), 187.46662787032002, pandas},
		{"results.csv", "the last kernel", func(r *records) any { return r.Regions[11].Raw }, "maxpool2d_ks2_backward_fast", pandas},
	}), nil)
}

func TestDeepTune(t *testing.T) {
	parsertest.Facts(t, shared+"deeptune-devmap", facts([]row{
		{"cgo17-nvidia.csv", "rows", launches, 680, pandas}, {"cgo17-nvidia.csv", "pairs of benchmark and source", kinds(datasets.KindKernel), 256, "pandas groupby(benchmark, src).ngroups"},
		{"cgo17-nvidia.csv", "sum of runtime_cpu", total("runtime_cpu"), 365757.37286400003, pandas}, {"cgo17-nvidia.csv", "sum of runtime_gpu", total("runtime_gpu"), 160360.365681, pandas},
		{"cgo17-nvidia.csv", "rows that are faster on the GPU", func(r *records) any {
			n := 0
			for _, a := range r.Attributes {
				if a.Name == "oracle" && a.Value == "GPU" {
					n++
				}
			}
			return n
		}, 387, `pandas (oracle == "GPU").sum()`},
	}), nil)
}

const flopHeader = `"Kernel Name","traffic","dpAI","spAI","dpPerf","spPerf","xtime","Block Size","Grid Size","device","intops","intPerf","intAI","targetName","exeArgs","kernelName"` + "\n"

const flopRow = `"add(int)",2.5,0.0,4.0,0.0,10.0,1500.0,"(64, 1, 1)","(7, 2, 1)","GPU A",3.0,2.0,1.0,"adder-cuda","10 20","add"` + "\n"

func TestFaultsHaveAPlace(t *testing.T) {
	for name, c := range map[string]struct {
		format, content string
		line, column    int
		msg             string
	}{
		"a text for a time":   {"gpuflopbench", flopHeader + strings.Replace(flopRow, "1500.0", "soon", 1), 2, 33, `column "xtime": not a number`},
		"two sizes":           {"gpuflopbench", flopHeader + strings.Replace(flopRow, "(7, 2, 1)", "(7, 2)", 1), 2, 53, `not three sizes: expected "(x, y, z)"`},
		"a short row":         {"gpuflopbench", flopHeader + flopRow + `"add(int)",1.0` + "\n", 3, 1, "not one cell per column: expected 16 fields"},
		"an open quote":       {"gpuflopbench", flopHeader + `"add(int`, 2, 9, "the file ends within a quoted cell"},
		"half a column":       {"neusight", "OPName,Latency,Device,Torch Version,Kernel Name\n", 1, 1, `no column "Grid x"`},
		"half a grid":         {"neusight", "OPName,Latency,Device,Torch Version,Kernel Name,Grid x,Grid y,Grid z,Block x,Block y,Block z\nbmm,1,G,p2,k,1.5,1,1,1,1,1\n", 2, 14, "not a whole number"},
		"cut sources":         {"gpuflopbench-sources", `{"a-cuda": {"main.cu": ["__global__ void f(`, 1, 44, "the file ends within a JSON value"},
		"a text for a number": {"neusight-device", `{"Device": "X", "Mem_Bw": "fast", "SingleFLOPs": 1}`, 1, 52, `the value of "Mem_Bw": expected a number, found`},
	} {
		parsertest.Refused(t, c.format, name, c.content, c.line, c.column, c.msg)
	}
}

func TestAMissingValueIsNotZero(t *testing.T) {
	r := parsertest.MustParse(t, "gpuflopbench", "f.csv", flopHeader+flopRow+strings.Replace(flopRow, "1500.0", "", 1)+strings.Replace(flopRow, "1500.0", "-5", 1)+strings.Replace(flopRow, "1500.0", "1e30", 1))
	if l := r.Launches; !l[0].DurNs.Valid || l[0].DurNs.V != 1500 || l[1].DurNs.Valid || l[2].DurNs.Valid || l[3].DurNs.Valid {
		t.Errorf("durations of %+v", l)
	}
	if len(r.Regions) != 2 || r.Regions[1].Short != "add" || r.Path(r.Regions[1].ID) != "adder-cuda/add" {
		t.Errorf("regions %+v", r.Regions)
	}
}

func FuzzGPUFLOPBench(f *testing.F) {
	parsertest.Fuzz(f, "gpuflopbench", flopHeader+flopRow, flopHeader)
}

func FuzzGPUFLOPBenchSources(f *testing.F) {
	parsertest.Fuzz(f, "gpuflopbench-sources", `{"a-cuda": {"main.cu": ["__global__ void f(int n) {}", "int g() {}"]}}`)
}

func FuzzNeuSight(f *testing.F) {
	parsertest.Fuzz(f, "neusight", "OPName,Latency,Device,Torch Version,Kernel Name,Grid x,Grid y,Grid z,Block x,Block y,Block z,B\nbmm,1,G,p2,k,1,1,1,1,1,1,7\n")
}

func FuzzNeuSightDevice(f *testing.F) {
	parsertest.Fuzz(f, "neusight-device", `{"Device":"X","Mem_Bw":1,"SingleFLOPs":2,"Num_Sm":3}`)
}

func FuzzRobustKBench(f *testing.F) {
	parsertest.Fuzz(f, "robust-kbench", "Batch ID,Sample ID,Kernel Name,CUDA Filename,Correct,Runtime (ms),Code,task_name\n1,2,k,a.cu,True,0.5,code,relu\n")
}

func FuzzDeepTune(f *testing.F) {
	parsertest.Fuzz(f, "deeptune-devmap", ",benchmark,dataset,comp,rational,mem,localmem,coalesced,atomic,transfer,wgsize,oracle,runtime_cpu,runtime_gpu,src,seq\n0,npb-BT-a,A,1,2,3,4,5,6,7,64,GPU,1.5,0.5,kernel,1 2\n")
}
