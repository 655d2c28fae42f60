package kernelcost_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	. "github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// scalars are arguments by name.
type scalars = map[string]float64

func analyse(t *testing.T, src, flags string, l Launch) *Cost {
	t.Helper()
	c, err := Analyse(src, flags, l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Counts derived by hand. Kinds that are not named are not compared, unless
// they are in others and expected to be 0.
func TestCountsOfSmallKernels(t *testing.T) {
	for _, test := range []struct {
		name, src, flags string
		l                Launch
		want             map[Kind]float64
		bytes            map[string]int64 // needed by buffer; -1 for unknown
		assumed          bool
		loose            bool // that the last byte is reached is not seen
	}{
		{
			name: "saxpy with a guard: 1000 of 1024 work-items pass",
			src: `__kernel void saxpy(__global const float *x, __global float *y, const float a, const int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}`,
			l: Launch{Scalars: scalars{"a": 2, "n": 1000}, Global: []int64{1024}, Local: []int64{128}},
			// One product, one sum that can take it in, two loads, a store, each 4 B.
			want: map[Kind]float64{Mul: 1000, Add: 1000, Fusable: 1000, FMA: 0, GlobalLoad: 2000, GlobalStore: 1000, GlobalReadBytes: 8000, GlobalWriteBytes: 4000,
				IntAdd: 1024, BranchByID: 1024, BranchByData: 0, Barrier: 0},
			bytes: map[string]int64{"x": 4000, "y": 4000},
		},
		{
			name: "CUDA with the same meaning",
			src: `__global__ void saxpy(const float *__restrict__ x, float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = a * x[i] + y[i];
}`,
			l:     Launch{Scalars: scalars{"a": 2, "n": 1000}, Global: []int64{1024}, Local: []int64{128}},
			want:  map[Kind]float64{Mul: 1000, Add: 1000, GlobalLoad: 2000, GlobalStore: 1000, IntMul: 1024, IntAdd: 2048, BranchByID: 1024},
			bytes: map[string]int64{"x": 4000, "y": 4000},
		},
		{
			name: "triangle: work-item i runs i + 1 iterations, 300 * 301 / 2 in all",
			src: `kernel void sum(global const double *a, global double *s, int n) {
  int i = get_global_id(0);
  double x = 0;
  for (int j = 0; j <= i; j++) x += a[i * n + j];
  s[i] = x;
}`,
			l:     Launch{Scalars: scalars{"n": 300}, Global: []int64{300}, Local: []int64{50}},
			want:  map[Kind]float64{Float(Add, 8): 45150, Add: 0, GlobalLoad: 45150, GlobalStore: 300, GlobalReadBytes: 361200, IntMul: 45150},
			bytes: map[string]int64{"a": 300 * 300 * 8, "s": 2400},
		},
		{
			name: "triangle over an outer loop: sum of k over k < 1000",
			src: `kernel void f(global float *a) {
  float x = 0;
  for (int k = 0; k < 1000; k++)
    for (int j = 0; j < k; j++) x += a[j];
  a[get_global_id(0)] = x;
}`,
			l:    Launch{Global: []int64{64}, Local: []int64{64}},
			want: map[Kind]float64{Add: 499500 * 64, GlobalLoad: 499500 * 64},
			// j < k <= 999.
			bytes: map[string]int64{"a": 999 * 4}, loose: true,
		},
		{
			name: "a stride of all work-items visits each of 10007 elements once",
			src: `kernel void f(global int *a, int n) {
  for (int j = get_global_id(0); j < n; j += get_global_size(0)) a[j] = 1;
}`,
			l:     Launch{Scalars: scalars{"n": 10007}, Global: []int64{512}, Local: []int64{64}},
			want:  map[Kind]float64{GlobalStore: 10007, IntAdd: 2*10007 + 512}, // a comparison more than iterations
			bytes: map[string]int64{"a": 40028}, loose: true,
		},
		{
			name: "tiled product of 64 x 64 matrices, tiles of 16",
			src: `kernel void gemm(global const float *a, global const float *b, global float *c, int n) {
  local float s[16][16];
  local float t[16][16];
  int x = get_local_id(0), y = get_local_id(1);
  int col = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (int k = 0; k < n / TILE; k++) {
    s[y][x] = a[row * n + k * TILE + x];
    t[y][x] = b[(k * TILE + y) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; i++) sum = fma(s[y][i], t[i][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + col] = sum;
}`,
			flags: "-D TILE=16 -cl-fast-relaxed-math",
			l:     Launch{Scalars: scalars{"n": 64}, Global: []int64{64, 64}, Local: []int64{16, 16}},
			// 4096 work-items, 4 tiles, 16 products each.
			want: map[Kind]float64{FMA: 4096 * 64, GlobalLoad: 4096 * 8, LocalStore: 4096 * 8, LocalLoad: 4096 * 128, Barrier: 4096 * 8, GlobalStore: 4096,
				LocalReadBytes: 4096 * 128 * 4, BranchByID: 0, BranchByData: 0},
			bytes: map[string]int64{"a": 16384, "b": 16384, "c": 16384, "s": 1024, "t": 1024},
		},
		{
			name: "tree in local memory: 32 + 16 + 8 + 4 + 2 + 1 additions a group",
			src: `kernel void reduce(global const float *a, global float *r, local float *s) {
  int l = get_local_id(0);
  s[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = get_local_size(0) / 2; d > 0; d >>= 1) {
    if (l < d) s[l] += s[l + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) r[get_group_id(0)] = s[0];
}`,
			l:     Launch{Global: []int64{6400}, Local: []int64{64}, Bytes: map[string]int64{"s": 256}},
			want:  map[Kind]float64{Add: 6300, LocalLoad: 2*6300 + 100, LocalStore: 6300 + 6400, Barrier: 6400 * 7, GlobalStore: 100, BranchByID: 6400 * 7},
			bytes: map[string]int64{"a": 25600, "r": 400, "s": 256}, loose: true,
		},
		{
			name: "remainders and masks: 1/3 of 3000, then an eighth of 3072",
			src: `kernel void f(global float *a) {
  int i = get_global_id(0);
  if (i % 3 == 0) a[i] = 1.0f;
  if ((i & 7) == 5) a[i] = sqrt(a[i]);
  if (i % 2 == 0) { if (i % 2 == 1) a[i] = exp(a[i]); }
}`,
			l:    Launch{Global: []int64{3072}, Local: []int64{64}},
			want: map[Kind]float64{GlobalStore: 1024 + 384, Sqrt: 384, Transcendental: 0},
		},
		{
			name: "sparse rows: trips by the size of the values",
			src: `kernel void spmv(global const int *row, global const int *col, global const float *val, global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  float s = 0.0f;
  for (int j = row[i]; j < row[i + 1]; j++) s += val[j] * x[col[j]];
  y[i] = s;
}`,
			l:       Launch{Scalars: scalars{"n": 1000}, Bytes: map[string]int64{"val": 4 * 7000, "col": 4 * 7000}, Global: []int64{1024}, Local: []int64{32}},
			want:    map[Kind]float64{Mul: 7000, Add: 7000, GlobalStore: 1000},
			bytes:   map[string]int64{"row": 4004, "val": -1, "col": -1, "x": -1, "y": 4000},
			assumed: true,
		},
		{
			name: "vectors, functions, switch by an argument",
			src: `float4 twice(float4 v) { return v * 2.0f; }
kernel void f(global const float4 *a, global float *r, constant float *c, int mode) {
  int i = get_global_id(0);
  float4 v = twice(a[i]);
  switch (mode) {
  case 1: v = v + c[3]; break;
  case 2: v = native_exp(v); break;
  default: v = -v;
  }
  r[i] = dot(v, v) + v.x;
  vstore2(v.xy, i, r);
}`,
			l: Launch{Scalars: scalars{"mode": 1}, Global: []int64{32}, Local: []int64{32}},
			// v * 2: 4 products; v + c: 4 sums; dot: 4 products, 3 sums; + v.x: one more.
			want:  map[Kind]float64{Mul: 8 * 32, Add: 8 * 32, Transcendental: 0, Simple: 0, GlobalLoad: 32, GlobalReadBytes: 512, ConstantLoad: 32, ConstantBytes: 128, GlobalStore: 64, GlobalWriteBytes: 384},
			bytes: map[string]int64{"a": 512, "r": 256, "c": 16},
		},
		{
			name: "atomics through loaded indices",
			src: `__global__ void histogram(const unsigned char *a, int *h, int n) {
  __shared__ int s[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) s[b] = 0;
  __syncthreads();
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) atomicAdd(&s[a[i]], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(h + b, s[b]);
}`,
			l:    Launch{Scalars: scalars{"n": 1000}, Global: []int64{1024}, Local: []int64{128}},
			want: map[Kind]float64{LocalAtomic: 1000, GlobalAtomic: 8 * 256, LocalStore: 8 * 256, LocalLoad: 8 * 256, GlobalLoad: 1000, GlobalReadBytes: 1000 + 8192, GlobalWriteBytes: 8192, Barrier: 2048},
			// An unsigned char is at most 255.
			bytes: map[string]int64{"a": 1000, "h": 1024, "s": 1024},
		},
		{
			name: "a border in both directions, unsigned below 0",
			src: `kernel void blur(global const float *in, global float *out, int w, int h) {
  uint x = get_global_id(0) - 1, y = get_global_id(1);
  if (x < (uint)w && y > 0 && y < h - 1) out[y * w + x] = in[(y - 1) * w + x] + in[(y + 1) * w + x];
}`,
			l: Launch{Scalars: scalars{"w": 60, "h": 50}, Global: []int64{64, 64}, Local: []int64{8, 8}},
			// x from 0 to 59, y from 1 to 48.
			want:  map[Kind]float64{Add: 60 * 48, GlobalLoad: 2 * 60 * 48, GlobalStore: 60 * 48},
			bytes: map[string]int64{"in": 4 * 50 * 60, "out": 4 * 49 * 60}, loose: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := analyse(t, test.src, test.flags, test.l)
			for k, want := range test.want {
				if got := c.Total[k]; math.Abs(got-want) > 1e-9*want {
					t.Errorf("%v: %.12g, want %g", k, got, want)
				}
			}
			for name, want := range test.bytes {
				b, ok := c.Buffer(name)
				switch {
				case !ok:
					t.Errorf("no buffer %s", name)
				case want < 0 && b.Known:
					t.Errorf("%s: %d bytes, want it unknown", name, b.Bytes)
				case want >= 0 && (!b.Known || b.Bytes != want || !b.Tight && !test.loose):
					t.Errorf("%s: %d bytes, known %v %s, tight %v; want %d", name, b.Bytes, b.Known, b.Why, b.Tight, want)
				}
			}
			if a := c.AssumedShare(); (a > 0) != test.assumed {
				t.Errorf("%g of the work is assumed: %v", a, c.Notes)
			}
			if t.Failed() {
				t.Log("\n" + c.LineTable().String())
			}
		})
	}
}

// A work-item's neighbours: what they touch together follows from the index.
func TestPatternsOfAccess(t *testing.T) {
	const src = `kernel void f(global const float *a, global float *b, global const int *p, int n, local float *s) {
  int i = get_global_id(0), j = get_global_id(1);
  int l = get_local_id(0);
  float x = a[j * n + i];
  x += a[i * n + j];
  x += a[5];
  x += a[i * 3];
  x += a[p[i]];
  x += a[(i * i) % 1000];
  s[l * 32] = x;
  s[l * 33] = x;
  b[j * n + (n - 1 - i)] = x;
}`
	c := analyse(t, src, "", Launch{Scalars: scalars{"n": 1024}, Global: []int64{1024, 4}, Local: []int64{32, 1}, Bytes: map[string]int64{"s": 32 * 33 * 4}})
	var got []string
	for _, s := range c.Sites {
		got = append(got, fmt.Sprintf("%d %s %s %d %g %g", s.Line, s.Buffer, s.Pattern, s.Stride, s.Sectors, s.Conflicts))
	}
	want := []string{
		"4 a unit 4 4 1",           // 32 floats: 4 sectors of 32 bytes
		"5 a transposed 4096 32 1", // a row apart; along j side by side
		"6 a uniform 0 1 1",
		"7 a strided 12 12 1", // 32 * 12 bytes
		"8 p unit 4 4 1",
		"8 a indirect 0 32 2",
		"10 s strided 128 32 32", // all in one bank
		"11 s strided 132 32 1",  // each in another
		"12 b unit -4 4 1",
	}
	irregular := ""
	for i, s := range got {
		if strings.HasPrefix(s, "9 a irregular") {
			irregular = s
			got = append(got[:i:i], got[i+1:]...)
			break
		}
	}
	if irregular == "" || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\n%s\nwant\n%s", irregular, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A sum over 100 elements is a chain of 100 additions behind a load; following
// an index 8 times is a chain of loads.
func TestChains(t *testing.T) {
	sum := analyse(t, `kernel void f(global float *a, global float *r) { float s = 0; for (int i = 0; i < 100; i++) s += a[i]; r[0] = s; }`, "", Launch{Global: []int64{1}})
	// The first load and 100 additions; the store is one more.
	if sum.Depth < 100 || sum.Depth > 104 {
		t.Errorf("depth of a sum of 100: %g", sum.Depth)
	}
	if sum.Loads > 2 {
		t.Errorf("loads that wait for one another in a sum: %g", sum.Loads)
	}
	chase := analyse(t, `kernel void f(global int *p, global int *r) { int h = 0; for (int i = 0; i < 8; i++) h = p[h]; r[0] = h; }`, "", Launch{Global: []int64{1}})
	if chase.Loads != 8 {
		t.Errorf("loads that wait for one another in a chase of 8: %g", chase.Loads)
	}
}

// What a function may change through a reference or pointer is known no more.
func TestReferencesMakeVariablesUnknown(t *testing.T) {
	for _, src := range []string{
		"__device__ void next(int &i, int by) { i += by; }\n__global__ void f(int *a, int n) { int i = 0; next(i, n); a[i] = 1; }",
		"void next(int *i, int by) { *i += by; }\nkernel void f(global int *a, int n) { int i = 0; next(&i, n); a[i] = 1; }",
		"__device__ void next(int &i, int by) { i += by; }\n__global__ void f(int *a, int n) { for (int i = 0; i < 10; next(i, n)) a[i + n] = 1; }",
	} {
		c := analyse(t, src, "", Launch{Scalars: scalars{"n": 5}, Global: []int64{4}})
		b, _ := c.Buffer("a")
		if known := strings.Contains(src, "for"); !known && b.Known {
			t.Errorf("%d bytes are said to be enough for\n%s", b.Bytes, src)
		}
		if strings.Contains(src, "for") && (c.AssumedShare() == 0 || b.Known && b.Bytes < 60) {
			t.Errorf("assumed %g, %d bytes for\n%s", c.AssumedShare(), b.Bytes, src)
		}
	}
}

// A program is read once; launches of it can be analysed side by side.
func TestOneProgramForManyLaunches(t *testing.T) {
	p := Parse("int g(int x) { return x * 3 + 1; }\nkernel void f(global float *a, int n) { for (int i = get_global_id(0); i < n; i += 64) if (g(i) % 5 == 2) a[g(i)] += 1.0f; }", csource.Options{})
	one := func(n int) string {
		c, err := p.Analyse(Launch{Scalars: scalars{"n": float64(n)}, Global: []int64{64}, Local: []int64{16}})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(c.Features(), c.Sites, c.Buffers)
	}
	const n = 40
	var want [n]string
	for i := range want {
		want[i] = one(100 * i)
	}
	got := make(chan [2]string, n)
	for i := range n {
		go func() { got <- [2]string{one(100 * i), want[i]} }()
	}
	for range n {
		if g := <-got; g[0] != g[1] {
			t.Errorf("alone\n%s\namong others\n%s", g[1], g[0])
		}
	}
	if want[3] == want[4] {
		t.Error("the argument changes nothing")
	}
}

// What is not known is said, and counted apart.
func TestAssumptionsAreCountedApart(t *testing.T) {
	const src = `kernel void f(global const float *a, global float *r, int n) {
  int i = get_global_id(0);
  r[i] = 0.0f;
  if (a[i] > 0.5f) r[i] = a[i] * 3.0f;
  while (a[i] < r[i]) r[i] = r[i] - 1.0f;
  for (int k = 0; k < 10; k++) { if (a[k] == 0.0f) break; r[i] += a[k]; }
}`
	c := analyse(t, src, "", Launch{Scalars: scalars{"n": 3}, Global: []int64{128}, Local: []int64{64}, Assume: Assumptions{Taken: 0.25, Trips: 3, Leave: 1}})
	at := map[int]Line{}
	for _, l := range c.Lines {
		at[l.Number] = l
	}
	if l := at[3]; l.Total[GlobalStore] != 128 || l.Assumed != (Counts{}) {
		t.Errorf("line 3: %+v", l)
	}
	// A quarter of 128 take the branch; its condition is sure.
	if l := at[4]; l.Total[Mul] != 32 || l.Assumed[Mul] != 32 || l.Assumed[Simple] != 0 || l.Total[Simple] != 128 {
		t.Errorf("line 4: %v assumed %v", l.Total[Mul], l.Assumed[Mul])
	}
	if l := at[5]; l.Total[Add] != 3*128 || l.Assumed[Add] != 3*128 {
		t.Errorf("line 5: %v assumed %v", l.Total[Add], l.Assumed[Add])
	}
	if l := at[6]; l.Assumed[Add] != l.Total[Add] || l.Total[Add] <= 0 || l.Total[Add] > 1280 {
		t.Errorf("line 6: %v assumed %v", l.Total[Add], l.Assumed[Add])
	}
	if len(c.Notes) == 0 {
		t.Error("nothing is said of assumptions")
	}
}

func TestLaunchesThatNoDeviceTakesAreErrors(t *testing.T) {
	const src = "kernel void f(global int *a) { a[get_global_id(0)] = 1; }\nkernel void g(global int *a) { a[0] = 1; }"
	for _, test := range []struct {
		l    Launch
		want string
	}{
		{Launch{Global: []int64{4}}, "it has f, g"},
		{Launch{Kernel: "h", Global: []int64{4}}, "looking for kernel h"},
		{Launch{Kernel: "f"}, "1 to 3 dimensions"},
		{Launch{Kernel: "f", Global: []int64{100}, Local: []int64{64}}, "positive multiple"},
		{Launch{Kernel: "f", Global: []int64{1 << 40, 1 << 40}}, "too many"},
	} {
		if _, err := Analyse(src, "", test.l); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want one with %q", test.l, err, test.want)
		}
	}
}

func TestFeaturesFrameAndTable(t *testing.T) {
	const src = "kernel void f(global const float *a, global float *b, int n) {\n  int i = get_global_id(0);\n  if (i < n) b[i] = a[i] / 3.0f;\n}"
	l := Launch{Scalars: scalars{"n": 1000}, Global: []int64{1024}, Local: []int64{64}}
	c := analyse(t, src, "", l)
	names, x := FeatureNames(), c.Features()
	if len(names) != len(x) || len(x) < 60 {
		t.Fatalf("%d names, %d features", len(names), len(x))
	}
	value := map[string]float64{}
	for i, n := range names {
		if _, twice := value[n]; twice {
			t.Errorf("%s is there twice", n)
		}
		value[n] = x[i]
	}
	for n, want := range map[string]float64{
		"log2_items": math.Log2(1025), "log2_div": math.Log2(1001), "log2_f32_flop_per_item": math.Log2(1 + 1000./1024), "log2_footprint_bytes": math.Log2(8001),
		"footprint_known": 1, "assumed_share": 0, "log2_global_bytes_unit": math.Log2(8001), "log2_sector_bytes": math.Log2(1 + 8000),
	} {
		if math.Abs(value[n]-want) > 1e-3 {
			t.Errorf("%s is %g, want %g", n, value[n], want)
		}
	}
	if again := analyse(t, src, "", l).Features(); fmt.Sprint(again) != fmt.Sprint(x) {
		t.Error("the same launch has other features")
	}
	df := c.Frame()
	if df.Err != nil || df.Nrow() != len(c.Lines) || df.Col("f32_div").Elem(0).Float() != 1000 {
		t.Errorf("%v", df)
	}
	if sf := c.SiteFrame(); sf.Err != nil || sf.Nrow() != 2 {
		t.Errorf("%v", sf)
	}
	text := c.Display().Data["text/plain"].(string)
	for _, want := range []string{"b[i] = a[i] / 3.0f;", "a unit", "1000", "reached"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Each place executes as often as its loops and branches let it: by hand, of 64
// work-items one in 16 goes on, and 8 times each.
func TestPlacesOfALine(t *testing.T) {
	source := "kernel void k(global float *a) { int i = get_global_id(0); if (i % 16 == 0) for (int j = 0; j < 8; j++) a[i * 8 + j] = sin((float)j); }"
	c, err := Analyse(source, "", Launch{Global: []int64{64}, Local: []int64{16}})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]float64{}
	for _, p := range c.Places {
		rest := source[p.Offset:]
		for _, part := range []string{"%", "sin", "[", "i %"} {
			if strings.HasPrefix(rest, part) {
				at[part] = p.Count
			}
		}
	}
	if at["sin"] != 32 || at["%"]+at["i %"] != 64 || c.Total[Float(Trigonometric, 4)] != 32 {
		t.Errorf("places execute %v of %v, want 32 sines and 64 remainders", at, c.Places)
	}
}

// Of numbers spread evenly from 0 to 1 a quarter is above 0.75; of 0, 1 and 2 one
// in three is 1. By hand, of 64 work-items.
func TestBranchesByWhatBuffersHold(t *testing.T) {
	src := `kernel void k(global const float *a, global const int *d, global float *o) {
  int i = get_global_id(0);
  float v = a[i];
  if (v > 0.75f) o[i] = sin(v);
  if (d[i] == 1) o[i] = pow(v, 1.5f);
}`
	c := analyse(t, src, "", Launch{Global: []int64{96}, Local: []int64{16}, Fill: map[string]Fill{"a": {0, 1}, "d": {0, 3}}})
	if got := [2]float64{c.Total[Trigonometric], c.Total[Power]}; math.Abs(got[0]-24) > 1e-9 || math.Abs(got[1]-32) > 1e-9 {
		t.Errorf("%v sines and powers, want 24 and 32", got)
	}
	c = analyse(t, src, "", Launch{Global: []int64{96}, Local: []int64{16}})
	if got := [2]float64{c.Total[Trigonometric], c.Total[Power]}; got != [2]float64{48, 48} {
		t.Errorf("%v sines and powers without knowing the data, want half of the work-items", got)
	}
}
