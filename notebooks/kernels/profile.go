package kernels

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors/caliper"
)

// Write writes samples as a Caliper profile: a record per sample, and what a
// reader must know to trust them as globals.
func Write(w io.Writer, samples []Sample) error {
	out := caliper.NewWriter(w)
	for i, s := range samples {
		// The number of the iteration makes each record an observation of its own.
		ms := append([]caliper.Metric{{Name: "iteration#sample", Value: float64(i)}}, s.metrics()...)
		out.Record([]caliper.Step{{Kind: caliper.Function, Name: s.Kernel}}, ms...)
	}
	for _, g := range globals() {
		out.Global(g[0], g[1])
	}
	return out.Close()
}

func globals() [][2]string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	goamd64 := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOAMD64" || s.Key == "GOEXPERIMENT" {
				goamd64 += " " + s.Key + "=" + s.Value
			}
		}
	}
	return [][2]string{
		{"written.by", "rooflab, notebooks/kernels"},
		{"launchdate", strconv.FormatInt(time.Now().Unix(), 10)},
		{"hostname", host},
		{"cpu", processor()},
		{"cpu.caches", caches()},
		{"processors", strconv.Itoa(runtime.NumCPU())},
		{"go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + goamd64},
		{"how.time", fmt.Sprintf("time.duration is one call on one core: the fastest of %d samples; a sample is calls for %v at least, or one call with the caches emptied before (records with byte.dram)", Samples, least)},
		{"how.work", "flop.fp64 = add + mul + 2 fma + div, counted from the kernel's source, not by hardware"},
		{"how.bytes", "byte.l1 = 8 bytes for each number loaded or stored; byte.footprint = each number once; byte.dram = the footprint, what a cold call moves at least"},
	}
}

// processor is the name that the system gives the processor.
func processor() string {
	if name := field("/proc/cpuinfo", "model name"); name != "" {
		return name
	}
	return runtime.GOARCH
}

// caches lists the sizes of the first core's caches, "unknown" where the
// system does not tell.
func caches() string {
	var list []string
	for i := 0; ; i++ {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu0/cache/index%d/", i)
		level, err := os.ReadFile(dir + "level")
		if err != nil {
			break
		}
		kind, _ := os.ReadFile(dir + "type")
		size, _ := os.ReadFile(dir + "size")
		list = append(list, fmt.Sprintf("L%s %s %s", strings.TrimSpace(string(level)), strings.ToLower(strings.TrimSpace(string(kind))), strings.TrimSpace(string(size))))
	}
	if list == nil {
		return "unknown"
	}
	return strings.Join(list, "; ")
}

// field is the first value of a name in a file of "name : value" lines, empty
// where there is none.
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		key, value, _ := strings.Cut(sc.Text(), ":")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Rounds is how often Ceilings measures each probe: a roof is the best that
// was ever seen, and a busy machine seldom shows it.
const Rounds = 5

// Ceilings measures the limits of one core with probes: multiply-adds that
// stay in registers, a triad over arrays that fit the first cache, and scale,
// add and triad (as McCalpin's STREAM) over arrays that no cache holds. The
// highest rates that they reach are the roofs.
func Ceilings(ctx context.Context) ([]Sample, error) {
	best := triadProbe()
	probes := []struct {
		kernel  Kernel
		n       int
		measure func(context.Context, Kernel, int) (Sample, error)
	}{
		{fmaProbe(), 1 << 16, Measure},
		{scalarFMAProbe(), 1 << 16, Measure},
		{best, 1 << 10, Measure},      // 24 KiB
		{best, 4 << 20, MeasureCold},  // 96 MiB
		{best, 32 << 20, MeasureCold}, // 768 MiB
		{triad(), 4 << 20, MeasureCold},
		{add(), 4 << 20, MeasureCold},
		{scale(), 4 << 20, MeasureCold},
	}
	var out []Sample
	for range Rounds {
		for _, p := range probes {
			s, err := p.measure(ctx, p.kernel, p.n)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// Large measures seven kernels of different kinds once each, at a size whose
// data does not stay in caches: what a roofline needs.
func Large(ctx context.Context) ([]Sample, error) {
	var out []Sample
	for _, k := range All() {
		n := 4 << 20
		switch k.Name {
		default:
			continue
		case "triad", "dot", "stencil5", "gather", "horner16":
		case "gemm_ijk", "gemm_simd":
			n = 512
		}
		s, err := MeasureCold(ctx, k, n)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// Sweep measures every kernel at many sizes, from a few kilobytes to beyond
// the second cache: rows to learn from.
func Sweep(ctx context.Context) ([]Sample, error) {
	var out []Sample
	for _, k := range All() {
		sizes := []int{64, 160, 400, 1000, 2400, 6000, 16000, 40000, 100000, 240000, 600000, 1500000}
		if k.Square {
			sizes = []int{8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384}
		}
		for _, n := range sizes {
			s, err := Measure(ctx, k, n)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	return out, nil
}
