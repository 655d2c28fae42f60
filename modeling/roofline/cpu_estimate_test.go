package roofline_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/cachegrind"
	_ "github.com/rooflab/rooflab/collectors/callgrind"
	_ "github.com/rooflab/rooflab/collectors/llvm"
	_ "github.com/rooflab/rooflab/collectors/valgrind"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// Two kernels whose flop and bytes follow from n.
const kernelsC = `#include <stdlib.h>
__attribute__((noinline)) void triad(double *restrict a, const double *restrict b, const double *restrict c, double s, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] + s * c[i];
}
__attribute__((noinline)) void matmul(const double *restrict a, const double *restrict b, double *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			double s = 0;
			for (long k = 0; k < n; k++)
				s += a[i * n + k] * b[k * n + j];
			c[i * n + j] = s;
		}
}
__attribute__((noinline)) long count(const int *p, long n)
{
	long k = 0;
	for (long i = 0; i < n; i++)
		k += p[i] & 1;
	return k;
}
static void *array(long n)
{
	double *p = aligned_alloc(64, n * sizeof *p);
	for (long i = 0; i < n; i++)
		p[i] = i % 7;
	return p;
}
int main(int argc, char **argv)
{
	long n = atol(argv[1]), m = atol(argv[2]);
	double *a = array(n), *b = array(n), *c = array(n);
	double *more = array(1 << 18); /* drives them out of the last cache */
	triad(a, b, c, 3, n);
	double *x = array(m * m), *y = array(m * m), *z = array(m * m);
	matmul(x, y, z, m);
	return more[argc] + a[n - 1] + z[m * m - 1] + count((int *)x, m * m) < 0;
}
`

const triadN, matmulN = 100_000, 104

// simulate builds the kernels with a compiler and runs them under Valgrind
// with caches of known sizes; clang's IR of them goes into the same store.
func simulate(t *testing.T, compiler, opt string, flags ...string) *datasets.Store {
	t.Helper()
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "kernels.c"), filepath.Join(dir, "kernels")
	if err := os.WriteFile(src, []byte(kernelsC), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-g", opt, "-o", bin, src).CombinedOutput(); err != nil { //nolint:gosec // the test's own program
		t.Fatalf("building the kernels (install the compiler: apt install gcc clang): %v\n%s", err, out)
	}
	s := emptyStore(t)
	flags = append(flags, "--option=--D1=32768,8,64", "--option=--LL=1048576,16,64", "--branch=false")
	sum, err := collectors.Collect(t.Context(), s, "valgrind", flags, collectors.Job{Command: []string{bin, strconv.Itoa(triadN), strconv.Itoa(matmulN)}, Log: os.Stderr, Stdout: os.Stderr, Stderr: os.Stderr})
	if err != nil {
		t.Fatalf("the test needs valgrind (apt install valgrind): %v", err)
	}
	if rows, err := s.Query(t.Context(), "SELECT status, error FROM run"); err != nil || rows.Elem(0, 0).String() != datasets.RunOK {
		t.Fatalf("the simulation: %v %v %v", rows, err, sum)
	}
	if _, err := collectors.Collect(t.Context(), s, "llvm", []string{"--source", src, "--opt", strings.TrimPrefix(opt, "-O")}, collectors.Job{Log: os.Stderr}); err != nil {
		t.Fatalf("the test needs clang (apt install clang): %v", err)
	}
	return s
}

// The truth of the two kernels, and how far an estimate may be from it.
//
// triad: 2 n flop. Its three arrays of 8 n bytes are not in the caches, as 2
// MiB were written since, twice the last cache: each of their lines is missed
// once at either level, 24 n bytes, and 8 lines more are for the stack and the
// function's arguments.
//
// matmul: 2 n^3 flop. A row of n = 104 doubles is 13 lines of 64 bytes. Columns
// of b are read eight at a time, as they are a line: for each i all n^2/8
// lines of b (86 kB) pass through L1 (32 kB) and are gone when they come
// again: n^3/8 misses. Row i of a and of c have n/8 lines each, which b may
// drive out and a bring back, once for each of b's passes at most: between 2
// n^2/8 misses and twice that. All three arrays (260 kB) are in the last
// cache since they were written: none of its misses.
//
// Both read and write 8 bytes at a time: 3 n accesses, and 2 n^3 + n^2; here
// the 8 more are those of the stack.
func TestEstimatesOfKernelsThatAreKnown(t *testing.T) {
	const n, m = float64(triadN), float64(matmulN)
	opt := roofline.Options{
		Bandwidth: map[roofline.Level]float64{roofline.DRAM: 10e9, roofline.L2: 50e9, roofline.L1: 200e9},
		Peak:      map[roofline.Precision]float64{roofline.FP64: 5e9},
	}
	for _, way := range []struct {
		name, compiler string
		flags          []string
	}{
		{"callgrind with instructions", "clang", []string{"--instructions"}},
		{"callgrind with lines, another compiler than the IR's", "cc", nil},
		{"cachegrind", "clang", []string{"--tool", "cachegrind"}},
	} {
		rs := resultsOf(t, simulate(t, way.compiler, "-O1", way.flags...), opt)
		for _, c := range []struct {
			kernel             string
			flop, dram, l2, l1 float64
			dramMore, l2More   float64
			bound              roofline.Bound
		}{
			{"triad", 2 * n, 24 * n, 24 * n, 24 * n, 8 * 64, 8 * 64, "DRAM"},                                                // DRAM 240 us, FP64 40 us
			{"matmul", 2 * m * m * m, 0, 64 * (m*m*m/8 + 2*m*m/8), 8 * (2*m*m*m + m*m), 8 * 64, 64 * (2*m*m/8 + 8), "FP64"}, // FP64 450 us, L2 183 us, L1 91 us
			{"count", 0, 0, 0, 4 * m * m, 8 * 64, 4*m*m + 8*64, ""},                                                         // integers, of an array that may still be in L1
		} {
			if len(rs[c.kernel]) != 1 {
				t.Fatalf("%s: %d results of %s", way.name, len(rs[c.kernel]), c.kernel)
			}
			r := rs[c.kernel][0]
			at := func(what string, q roofline.Quantity, least, more float64) {
				if !q.OK || q.Value < least || q.Value > least+more || !q.Estimate() {
					t.Errorf("%s, %s: %s %v (%s), want %g to %g, as an estimate", way.name, c.kernel, what, q, q.From, least, least+more)
				}
			}
			at("flop", r.Work[roofline.FP64].Flop, c.flop, 0)
			at("DRAM", r.Traffic[roofline.DRAM].Bytes, c.dram, c.dramMore)
			at("L2", r.Traffic[roofline.L2].Bytes, c.l2, c.l2More)
			at("L1", r.Traffic[roofline.L1].Bytes, c.l1, 8*8)
			if r.Time.OK || !strings.Contains(r.Why, "estimate") || c.bound != "" && r.Bound != c.bound {
				t.Errorf("%s: %s: %s", way.name, r.Bound, r.Why)
			}
			t.Logf("%s, %s: FP64 %v, DRAM %v, L2 %v, L1 %v", way.name, c.kernel, r.Work[roofline.FP64].Flop, r.Traffic[roofline.DRAM].Bytes, r.Traffic[roofline.L2].Bytes, r.Traffic[roofline.L1].Bytes)
		}
	}
}

// Vectors in both the program and the IR: the loop's work is counted, that of
// the remainder, fewer than 16 elements of the 100,000 of triad, is not.
func TestEstimateOfAVectorisedLoop(t *testing.T) {
	r := resultsOf(t, simulate(t, "clang", "-O2", "--instructions"), roofline.Options{})["triad"][0]
	const n = float64(triadN)
	if q := r.Work[roofline.FP64].Flop; !q.OK || q.Value < 2*(n-16) || q.Value > 2*(n+16) {
		t.Errorf("%v (%s), want %g", q, q.From, 2*n)
	}
	// The mean size is that of the loop's accesses: eight that a remainder and the stack have are taken as large.
	if q := r.Traffic[roofline.L1].Bytes; !within(q, 24*n, 64/(24*n)) {
		t.Errorf("%v (%s), want %g", q, q.From, 24*n)
	}
}

// A run that timed the function gives the simulation its time, and the result a
// rate: 15000 lines in the 1 ms of the slower of two threads. Inclusive times serve functions that call none, and
// a run of another command is another measurement.
func TestATimedRunGivesASimulationItsTime(t *testing.T) {
	simulation := func(calls bool) []datasets.Record {
		rs := []datasets.Record{
			&datasets.Run{ID: 1, Tool: "callgrind", Format: "callgrind", Status: datasets.RunOK, Machine: 1, Command: "./a 100"},
			&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindFunction, Raw: "triad", Short: "triad"},
			&datasets.Launch{ID: 1, Run: 1, Region: 1},
			&datasets.Machine{ID: 1, Host: "here"},
			&datasets.Ceiling{Machine: 1, Run: 1, Level: "dram", Value: 25e9, Unit: "byte/s", Measured: true},
			&datasets.Ceiling{Machine: 1, Run: 1, Level: "dram.core", Value: 10e9, Unit: "byte/s", Measured: true},
		}
		for metric, v := range map[string]float64{"Ir": 1e6, "Dr": 2e5, "Dw": 1e5, "D1mr": 1e4, "D1mw": 5e3, "DLmr": 1e4, "DLmw": 5e3} {
			rs = append(rs, &datasets.Counter{Run: 1, Region: 1, Launch: 1, Metric: metric, Value: datasets.Some(v), Status: datasets.StatusOK})
		}
		if calls {
			rs = append(rs, &datasets.Counter{Run: 1, Region: 1, Launch: 1, Metric: "calls.to", Instance: "f", Value: datasets.Some(1.0), Status: datasets.StatusOK})
		}
		return rs
	}
	timed := func(inclusive bool, command string) []datasets.Record {
		return []datasets.Record{
			&datasets.Run{ID: 1, Tool: "caliper", Format: "x", Status: datasets.RunOK, TimeMetric: "time.duration", TimeInclusive: inclusive, Command: command},
			&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindFunction, Raw: "triad", Short: "triad"},
			&datasets.Launch{ID: 1, Run: 1, Region: 1, Thread: datasets.Some[int64](7)},
			&datasets.Launch{ID: 2, Run: 1, Region: 1, Thread: datasets.Some[int64](8)},
			&datasets.Counter{Run: 1, Region: 1, Launch: 1, Metric: "time.duration", Value: datasets.Some(1e-3), Unit: "s", Status: datasets.StatusOK},
			&datasets.Counter{Run: 1, Region: 1, Launch: 2, Metric: "time.duration", Value: datasets.Some(0.5e-3), Unit: "s", Status: datasets.StatusOK},
		}
	}
	for _, c := range []struct {
		calls, inclusive bool
		command          string
		want             bool
	}{{false, true, "", true}, {false, true, "./a 100", true}, {true, false, "", true}, {true, true, "", false}, {false, true, "./a 200", false}} {
		s := emptyStore(t)
		put(t, s, "a", simulation(c.calls)...)
		put(t, s, "b", timed(c.inclusive, c.command)...)
		var r roofline.Result
		for _, x := range resultsOf(t, s, roofline.Options{})["triad"] {
			if x.Traffic[roofline.DRAM].Bytes.OK {
				r = x
			}
		}
		ceiling := 25e9 // of all processors, or of the two threads that ran
		if c.want {
			ceiling = 20e9
		}
		if !within(r.Traffic[roofline.DRAM].Ceiling, ceiling, 1e-12) {
			t.Errorf("%+v: ceiling %v (%s), want %g", c, r.Traffic[roofline.DRAM].Ceiling, r.Traffic[roofline.DRAM].Ceiling.From, ceiling)
		}
		if r.Time.OK != c.want {
			t.Errorf("%+v: time %v", c, r.Time)
		}
		if c.want && (!within(r.Traffic[roofline.DRAM].Rate, 64*15e3/1e-3, 1e-12) || !strings.Contains(strings.Join(r.Notes, " "), "in run 2")) {
			t.Errorf("%+v: %v, notes %q", c, r, r.Notes)
		}
	}
}
