package llvm_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/llvm"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := llvm.Tool(name, "")
	if err != nil {
		t.Fatalf("this test needs %s: %v", name, err)
	}
	return path
}

func compile(t *testing.T, source, opt string, options ...string) string {
	t.Helper()
	ir, _, _, err := llvm.Compile(t.Context(), "", tool(t, "clang"), source, "", opt, "", options)
	if err != nil {
		t.Fatal(err)
	}
	return ir
}

func analyse(t *testing.T, name, ir string) map[string]llvm.Report {
	t.Helper()
	m, err := llvm.Parse(name, ir)
	if err != nil {
		t.Fatal(err)
	}
	rs := map[string]llvm.Report{}
	for _, r := range llvm.Analyse(m) {
		rs[collectors.ShortName(r.Function.Name)] = r
	}
	return rs
}

// The patterns are told from the sources, by hand: what changes with the
// innermost loop's counter, and by how many bytes.
func TestPatternsOfLoops(t *testing.T) {
	rs := analyse(t, "loops.c", compile(t, "testdata/loops.c", "1"))
	for _, c := range []struct {
		function string
		line     int
		depth    int
		flops    int
		load     uint64
		store    uint64
		loop     map[string]int
	}{
		{"saxpy", 10, 1, 2, 8, 4, map[string]int{"unit": 3}},
		{"matmul", 16, 1, 0, 0, 0, nil},
		{"matmul", 17, 2, 0, 0, 8, map[string]int{"unit": 1}},
		{"matmul", 19, 3, 2, 16, 0, map[string]int{"unit": 1, "strided": 1}},
		{"gather", 28, 1, 1, 12, 0, map[string]int{"unit": 1, "indirect": 1}},
		{"chase", 36, 1, 1, 16, 0, map[string]int{"indirect": 2}},
		{"every_third", 45, 1, 0, 8, 16, map[string]int{"unit": 2, "strided": 1}},
	} {
		i := slices.IndexFunc(rs[c.function].Loops, func(l llvm.LoopReport) bool { return l.Line == c.line })
		if i < 0 {
			t.Errorf("%s has no loop at line %d", c.function, c.line)
			continue
		}
		l := rs[c.function].Loops[i]
		flops := 0
		for _, n := range l.Own.Flops {
			flops += n
		}
		if l.Depth != c.depth || flops != c.flops || l.Own.LoadBytes != c.load || l.Own.StoreBytes != c.store || fmt.Sprint(l.Own.Loop) != fmt.Sprint(c.loop) {
			t.Errorf("%s:%d has depth %d, %d flops, loads %d and stores %d bytes with %v; want %+v", c.function, c.line, l.Depth, flops, l.Own.LoadBytes, l.Own.StoreBytes, l.Own.Loop, c)
		}
	}
	var strides []int64
	for _, x := range rs["every_third"].Accesses {
		strides = append(strides, x.Stride)
	}
	if !slices.Equal(strides, []int64{24, 8, -8}) {
		t.Errorf("every_third moves by %v bytes, want 3 doubles, 1, and 1 back", strides)
	}
	if c := rs["choose"].Total; c.Calls != 2 || c.CondBranches != 1 || c.Ops["switch"] != 1 || len(rs["choose"].Loops) != 0 {
		t.Errorf("choose has %d calls, %d branches", c.Calls, c.CondBranches)
	}
}

func TestPatternsOfWorkItems(t *testing.T) {
	rs := analyse(t, "stencil.cl", compile(t, "testdata/stencil.cl", "1"))
	for name, want := range map[string]string{
		"stencil":   "map[unit:5] flops map[float:4] global 20 local 0 barriers 0 branches 0",
		"transpose": "map[strided:1 unit:1] flops map[] global 8 local 0 barriers 0 branches 0",
		// r < rows, and the loop's test before and after: all depend on r.
		"spmv": "map[indirect:3 unit:3] flops map[double:2] global 36 local 0 barriers 0 branches 3",
		// l < d and l == 0 differ between work-items, d > 0 does not.
		"reduce": "map[constant:2 unit:5] flops map[float:1] global 8 local 20 barriers 2 branches 2",
	} {
		r := rs[name]
		got := fmt.Sprint(r.Total.Item, " flops ", r.Total.Flops, " global ", r.Total.Global, " local ", r.Total.Local, " barriers ", r.Total.Barrier, " branches ", r.Total.ItemBranches)
		if got != want || !r.Function.Kernel || r.Total.Calls != 0 {
			t.Errorf("%s: %s (kernel %v, %d calls), want %s", name, got, r.Function.Kernel, r.Total.Calls, want)
		}
	}
}

var (
	loopLine = regexp.MustCompile(`Loop at depth (\d+) containing: (.*)`)
	header   = regexp.MustCompile(`%([\w."-]+)<header>`)
)

// LLVM's own analysis finds the same loops, in C, in C++ with exceptions,
// templates and vectors, and in OpenCL, at every level of optimisation.
func TestLoopsAreThoseThatLLVMFinds(t *testing.T) {
	opt := tool(t, "opt")
	// The IR of a newer clang is not always read by an older opt.
	clang := tool(t, "clang")
	if path, err := filepath.EvalSymlinks(opt); err == nil {
		if beside, err := llvm.Tool("clang", filepath.Join(filepath.Dir(path), "clang")); err == nil {
			clang = beside
		}
	}
	for _, source := range []string{"loops.c", "corners.cpp", "stencil.cl"} {
		for _, level := range []string{"0", "1", "2", "3"} {
			ir, _, _, err := llvm.Compile(t.Context(), "", clang, "testdata/"+source, "", level, "", []string{"-Xclang", "-disable-O0-optnone"})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "m.ll")
			if err := os.WriteFile(file, []byte(ir), 0o644); err != nil {
				t.Fatal(err)
			}
			m, err := llvm.Parse(source, ir)
			if err != nil {
				t.Errorf("%s -O%s: %v", source, level, err)
				continue
			}
			var got, want []string
			for _, f := range m.Functions {
				for _, l := range f.Loops() {
					got = append(got, fmt.Sprintf("%d %s %d", l.Depth, f.Blocks[l.Header].Label, len(l.Blocks)))
				}
			}
			_, log, err := llvm.Output(t.Context(), "", opt, "-passes=print<loops>", "-disable-output", file)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range loopLine.FindAllStringSubmatch(log, -1) {
				h := header.FindStringSubmatch(x[2])
				want = append(want, fmt.Sprintf("%s %s %d", x[1], h[1], strings.Count(x[2], ",")+1))
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s -O%s: the loops (depth, header, blocks) are\n%q, LLVM's\n%q", source, level, got, want)
			}
		}
	}
}

// Counted by hand in the text.
func TestOpaquePointersByHand(t *testing.T) {
	text, err := os.ReadFile("testdata/opaque.ll")
	if err != nil {
		t.Fatal(err)
	}
	r := analyse(t, "opaque.ll", string(text))["strided"]
	if len(r.Loops) != 1 || r.Function.Line != 7 || r.Function.File != "by-hand.c" {
		t.Fatalf("the function is at %s:%d with loops %+v", r.Function.File, r.Function.Line, r.Loops)
	}
	l := r.Loops[0].Own
	if l.Instrs != 12 || l.LoadBytes != 12 || l.StoreBytes != 8 || l.Flops["double"] != 2 || l.Loop["strided"] != 3 || l.Intrinsics != 1 {
		t.Errorf("the loop has %+v", l)
	}
	// { i8, double, [3 x i32] } is 8 + 8 + 12, and 32 with what fills it up.
	if x := r.Accesses[0]; x.Stride != 32 || x.Bytes != 8 {
		t.Errorf("the first load moves by %d, %d bytes each", x.Stride, x.Bytes)
	}
	if c := r.Total; c.Atomics != 1 || c.Instrs != 17 || c.Blocks != 5 || r.Edges != 7-1 {
		t.Errorf("%d atomics, %d instructions in %d blocks, %d edges", c.Atomics, c.Instrs, c.Blocks, r.Edges)
	}
}

func TestWhatIsNoIRIsNamedByLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "x.ll:1:1: there is neither a function nor a module's head",
		"define void @f() {\n  ret void\n":       "the text is cut",
		"define void @f() {\n  frob i32 1,\n}\n": "x.ll:2:1: reading a function: frob: a value is missing",
		"define void @f() {\n  %1 = load i32\n}\n": "x.ll:2:1: reading a function: load: expected a pointer after the type",
		"define void @f() {\n  store \"x\n}\n":     "a text without its closing quote",
	} {
		_, err := llvm.Parse("x.ll", text)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", text, err, want)
		}
	}
}

func collect(t *testing.T, flags ...string) (*parsertest.Records, error) {
	t.Helper()
	c, err := collectors.LookupCollector("llvm")
	if err != nil {
		t.Fatal(err)
	}
	fs := flag.NewFlagSet("llvm", flag.ContinueOnError)
	f := c.New(fs)
	if err := fs.Parse(flags); err != nil {
		t.Fatal(err)
	}
	recs := &parsertest.Records{}
	err = f(context.Background(), collectors.Job{Stdout: io.Discard, Stderr: io.Discard, Log: io.Discard}, collectors.NewOutput("collect llvm", recs))
	if err == nil {
		parsertest.CheckReferences(t, recs)
	}
	return recs, err
}

func TestRecords(t *testing.T) {
	tool(t, "clang")
	recs, err := collect(t, "--source", "testdata/loops.c", "--source", "testdata/stencil.cl")
	if err != nil {
		t.Fatal(err)
	}
	if len(recs.Runs) != 2 || recs.Runs[0].Status != datasets.RunOK || recs.Runs[1].Status != datasets.RunOK || len(recs.Machines) != 1 {
		t.Fatalf("the runs are %+v", recs.Runs)
	}
	byName := map[string]datasets.Region{}
	for _, g := range recs.Regions {
		byName[g.Short] = g
	}
	inner := byName["matmul:19"]
	if inner.Kind != datasets.KindLoop || recs.Path(inner.ID) != "matmul/matmul:16/matmul:17/matmul:19" {
		t.Errorf("the inner loop is %+v at %s", inner, recs.Path(inner.ID))
	}
	if byName["spmv"].Kind != datasets.KindKernel || byName["saxpy"].Kind != datasets.KindFunction {
		t.Errorf("spmv is a %s, saxpy a %s", byName["spmv"].Kind, byName["saxpy"].Kind)
	}
	for _, f := range recs.Features {
		if f.Region == inner.ID && f.Name == "arithmetic_intensity" && f.Value.V != 2.0/16 {
			t.Errorf("the intensity of the inner loop is %v, want 2 flops for 16 bytes", f.Value)
		}
		if f.Region == byName["choose"].ID && f.Name == "arithmetic_intensity" && f.Value.Valid {
			t.Errorf("the intensity of what moves no byte is %v", f.Value)
		}
	}
	fma := slices.IndexFunc(recs.Codes, func(c datasets.Code) bool {
		return c.Region == byName["matmul"].ID && strings.Contains(c.Text, "@llvm.fmuladd.f64")
	})
	if fma < 0 || recs.Codes[fma].Line.V != 20 || recs.Codes[fma].Opcode != "call" || recs.Codes[fma].ISA != "llvm-ir" || recs.Codes[fma].File != "testdata/loops.c" {
		t.Errorf("no fmuladd of matmul at line 20 among the code")
	}
}

func TestWhatDoesNotCompileIsAFailedRun(t *testing.T) {
	tool(t, "clang")
	bad := filepath.Join(t.TempDir(), "bad.c")
	if err := os.WriteFile(bad, []byte("int f(void) {\n  return undeclared;\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	recs, err := collect(t, "--source", bad)
	if err != nil {
		t.Fatal(err)
	}
	if r := recs.Runs[0]; r.Status != datasets.RunFailed || !strings.Contains(r.Error, "bad.c:2:10: error: use of undeclared identifier") {
		t.Errorf("the run is %s: %s", r.Status, r.Error)
	}
	recs, err = collect(t, "--source", "testdata/loops.c", "--clang", "no-such-clang")
	if err != nil {
		t.Fatal(err)
	}
	if r := recs.Runs[0]; r.Status != datasets.RunUnavailable || !strings.Contains(r.Error, "apt-get install clang") {
		t.Errorf("without clang the run is %s: %s", r.Status, r.Error)
	}
	for _, c := range []struct {
		flags []string
		part  string
	}{{nil, "--source is needed"}, {[]string{"--source", "nowhere.c"}, "nowhere.c"}, {[]string{"--source", "testdata/loops.c", "--opt", "9"}, `--opt "9"`}} {
		if _, err := collect(t, c.flags...); err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%q gives %v, want %s", c.flags, err, c.part)
		}
	}
}

func FuzzIR(f *testing.F) {
	text, err := os.ReadFile("testdata/opaque.ll")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("define void @f() {\na:\n  br label %a\n}\n")
	f.Add("%a = type { %b }\n%b = type { %a }\ndefine void @f(ptr %p) {\n  %q = getelementptr %a, ptr %p, i64 1, i32 0\n  %v = load %a, ptr %q\n  ret void\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := llvm.Parse("fuzz.ll", text)
		if err != nil {
			return
		}
		for _, r := range llvm.Analyse(m) {
			r.Features()
		}
	})
}

// What later versions of LLVM write, by hand: ranges, captures, flags of more
// instructions, and NVPTX's kernels and ids.
func TestSyntaxOfLaterVersions(t *testing.T) {
	r := analyse(t, "later.ll", `target triple = "nvptx64-nvidia-cuda"
@table = global { [5 x ptr] } zeroinitializer
define ptx_kernel void @_Z5scalePfi(ptr noundef captures(none) initializes((0, 4)) %x, i32 noundef range(i32 0, 100) %n) #0 {
  %ctaid = call range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %base = mul i32 %ctaid, %ntid
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = add nuw i32 %base, %tid
  %two = shl nuw nsw i32 %i, 1
  %odd = or disjoint i32 %two, 1
  %wide = zext nneg i32 %odd to i64
  %p = getelementptr inbounds nuw float, ptr %x, i64 %wide
  %v = load float, ptr %p, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %more = icmp samesign ult i32 %i, %n
  br i1 %more, label %then, label %end
then:
  store float %v, ptr getelementptr inbounds inrange(-16, 24) ({ [5 x ptr] }, ptr @table, i32 0, i32 0, i32 2), align 4
  br label %end
end:
  ret void
}
`)["scale"]
	if !r.Function.Kernel || len(r.Function.Params) != 2 || len(r.Accesses) != 2 || r.Total.Barrier != 1 || r.Total.ItemBranches != 1 {
		t.Fatalf("the kernel is %+v with %+v", r.Function, r.Total)
	}
	// Two floats of 4 bytes from one thread to the next; a global stays.
	if a, b := r.Accesses[0], r.Accesses[1]; a.Item != llvm.Strided || b.Item != llvm.Constant || !b.Store {
		t.Errorf("the accesses are %+v and %+v", a, b)
	}
}
