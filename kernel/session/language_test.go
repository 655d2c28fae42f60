package session_test

import (
	"strings"
	"testing"
)

func TestCellsMixImportsDeclarationsStatementsAndExpressions(t *testing.T) {
	n := start(t)
	n.want("x := 5\nx + 1", "6")
	n.want("import \"strings\"\nfunc shout(s string) string { return strings.ToUpper(s) + \"!\" }\ntype pair struct{ a, B int }\np := pair{1, 2}\nshout(\"hi\")", `HI!`)
	n.want("p.a += 10\np.a * p.B", "22")
	n.want("fmt.Sprintf(\"%T %+v\", p, p)", "main.pair {a:11 B:2}")
	n.want("string(func() []byte { b, _ := json.Marshal(p); return b }())", `{"B":2}`)
	n.want("const (\n\tA = iota\n\tB\n\tC\n)\nC", "2")
	n.run("const key = \"a\"")
	n.want("map[string][2]bool{key: {B: true}}", "map[a:[false true]]")
	n.want("if x == 5 { x = 7 } else { x = 8 }\nfor i := range 3 { x += i }\nx", "10")
	n.want("x;", "")
	if o := n.exec(`fmt.Println("printed")`); o.stdout != "printed\n" || o.result != "" {
		t.Errorf("Println shows %q and result %q", o.stdout, o.result)
	}
	n.want(`strconv.Atoi("42")`, "42")
	if tb := n.fail("x = 10\nstrconv.Atoi(\"no\")", "error"); !strings.Contains(tb, "invalid syntax") || !strings.Contains(tb, "In[13]:2") {
		t.Errorf("an error beside a value is told with its place: %q", tb)
	}
	n.want("Out[2]", "HI!")
	n.want("package main\nimport \"fmt\"\nfunc main() { fmt.Print() }\n7", "7")
}

func TestUnexportedNamesWorkAcrossCells(t *testing.T) {
	n := start(t)
	n.run("type shape interface { area() float64 }\ntype sq struct{ s float64 }\nfunc (s sq) area() float64 { return s.s * s.s }")
	n.run("type circ struct{ r float64 }\nfunc (c circ) area() float64 { return 3 * c.r * c.r }\nvar shapes []shape\nshapes = append(shapes, sq{2}, circ{1})")
	n.want("sum := 0.0\nfor _, s := range shapes { sum += s.area() }\nsum", "7")
	n.want("names := \"\"\nfor _, s := range shapes { switch v := s.(type) { case sq: names += fmt.Sprint(v.s); case circ: names += fmt.Sprint(v.r) } }\nnames", "21")
	n.run("func (s sq) String() string { return \"square\" }")
	n.want("fmt.Sprint(sq{3})", "square")
}

func TestGenericTypesWithMethodsOfOneName(t *testing.T) {
	n := start(t)
	n.run("type stack[T any] struct{ items []T }\nfunc (s *stack[T]) put(v T) { s.items = append(s.items, v) }\ntype queue[T any] struct{ items []T }\nfunc (q *queue[T]) put(v T) { q.items = append([]T{v}, q.items...) }\nfunc apply[T, U any](xs []T, f func(T) U) []U { var out []U; for _, x := range xs { out = append(out, f(x)) }; return out }")
	n.run("s := &stack[int]{}; q := &queue[string]{}\ns.put(1); s.put(2); q.put(\"a\"); q.put(\"b\")")
	n.want("apply(s.items, func(i int) string { return fmt.Sprint(i * 10, q.items) })", "[10 [b a] 20 [b a]]")
}

func TestRedeclaringReplaces(t *testing.T) {
	n := start(t)
	n.run("func g() string { return \"g1\" }\nfunc f() string { return \"f:\" + g() }\nkept := f")
	n.want("f()", "f:g1")
	n.run("func g() string { return \"g2\" }")
	n.want("f()", "f:g2")
	n.want("func() string { h := f; return h() }()", "f:g2")
	n.run("type point struct{ X int }\nfunc (p point) Double() int { return 2 * p.X }\nold := point{4}\nvar boxed any = old")
	n.run("type point struct{ X int; Y string }\nfresh := point{1, \"y\"}")
	n.want("fmt.Sprintf(\"%+v %T\", fresh, fresh)", "{X:1 Y:y} main.point")
	n.want("old.Double()", "8")
	n.want("boxed.(interface{ Double() int }).Double()", "8")
	n.run("old = old; old.X++")
	n.want("old.X", "5")
	if tb := n.fail("old = point{1, \"y\"}", "CompileError"); !strings.Contains(tb, "declare the variable again") {
		t.Errorf("two types of one name are not told apart: %s", tb)
	}
	n.want("v := 1\nv", "1")
	n.want("v := \"text\"\nv", "text")
	n.want("v := len(v)\nv", "4")
	n.want("v := float64(v) / 8\nv", "0.5")
	n.fail("w := 1\nw := 2", "CompileError")
	n.fail("w", "CompileError")
}

func TestAMethodEditedInALaterCellActsOnOldVariables(t *testing.T) {
	n := start(t)
	n.run("type model struct{ k int }\nfunc (m *model) predict(x int) int { return m.k * x }\nm := &model{3}")
	n.want("m.predict(2)", "6")
	n.run("func (m *model) predict(x int) int { return m.k*x + 100 }")
	n.want("m.predict(2)", "106")
	n.want("var p interface{ predict(int) int } = m\np.predict(2)", "106")
}

func TestClosuresGoroutinesAndChannelsLiveOn(t *testing.T) {
	n := start(t)
	n.run("count := 0\ninc := func() int { count++; return count }\nreq, resp := make(chan int), make(chan int)\ngo func() { for v := range req { resp <- v * v } }()")
	n.want("inc(); inc()", "2")
	n.want("req <- 7; <-resp", "49")
	n.want("inc() + count", "6")
	n.want("close(req); _, ok := <-req; ok", "false")
	n.run("var once sync.Once; calls := 0")
	n.run("once.Do(func() { calls++ })")
	n.run("once.Do(func() { calls++ })")
	n.want("calls", "1")
}

func TestStatementsOnOneLine(t *testing.T) {
	n := start(t)
	n.run("c := make(chan int, 1)\nc <- 4")
	n.want("got := 0\nselect { case v := <-c: got = v; case <-time.After(time.Minute): got = -1 }\ngot", "4")
	n.want("for i := 0; i < 3; i++ { if i == 1 { continue }; got += i }; got", "6")
	n.want("switch { case got > 5: got = 1; fallthrough; case got < 0: got++; default: got = 9 }; got", "2")
	n.want("go func(a, b int) { c <- a + b }(1, got); <-c", "3")
	n.want("func() (r any) { defer func() { r = recover() }(); panic(\"inside\") }()", "inside")
}

func TestPanicsAndExitsAreErrorsOfTheirCell(t *testing.T) {
	n := start(t)
	n.run("keep := \"alive\"\nfunc boom(m map[string]int) {\n\tm[\"a\"] = 1\n}")
	tb := n.fail("x := 1\n_ = x\nboom(nil)", "panic")
	for _, want := range []string{"assignment to entry in nil map", "In[1]:3 in boom", "In[2]:3 in cell", "boom(nil)"} {
		if !strings.Contains(tb, want) {
			t.Errorf("traceback lacks %q:\n%s", want, tb)
		}
	}
	if strings.Contains(tb, "kernel/live") || strings.Contains(tb, ".go:") && strings.Contains(tb, "cell.go") {
		t.Errorf("traceback shows the machinery:\n%s", tb)
	}
	tb = n.fail("go func() { panic(\"in goroutine\") }()\ntime.Sleep(time.Hour)", "panic")
	if !strings.Contains(tb, "in goroutine") {
		t.Error(tb)
	}
	n.fail("go boom(nil)\ntime.Sleep(time.Hour)", "panic")
	n.fail("os.Exit(3)", "ExitError")
	n.run("os.Exit(0)")
	n.fail("log.Fatal(\"bye\")", "ExitError")
	n.fail("runtime.Goexit()", "panic")
	n.want("keep", "alive")
}

func TestCompileErrorsPointAtTheCell(t *testing.T) {
	n := start(t)
	n.run("a := 1")
	for _, c := range []struct{ src, want string }{
		{"a + nowhere", "In[2]:1:5: undefined: nowhere"},
		{"\n\nvar s string = a", "In[3]:3:16: cannot use a"},
		{"func f() int {\n\treturn \"x\"\n}", "In[4]:2:9: cannot use"},
		{"x := )", "In[5]:1:6: syntax error"},
		{"for {\n", "In[6]:"},
		{"import \"no/such/thing\"", "In[7]:1:8: import"},
		{"}\nx := 1", "In[8]:"},
		{"1 + 1\n2 + 2", "In[9]:1:1: 1 + 1"},
		{"len(\n", "In[10]:1:5: syntax error: expected operand, found the end of the cell"},
		{"a?", "In[11]:1:2: syntax error: illegal character U+003F '?'"},
		{"1 << 100", "In[12]:1:1: cannot use 1 << 100 (untyped int constant 1267650600228229401496703205376) as int value (overflows)"},
		{"var (\n\tv = w + 1\n\tw = v\n)", "In[13]:2:6: w is used before line 3, which declares it; the two need each other (an initialization cycle)"},
		{"fmt.Println(\"é\", late)\nlate := 1", "In[14]:1:19: late is used before line 2"},
		{"a := a + later\nlater := 1", "In[15]:1:10: later is used before line 2"},
		{"var v = w\nfmt.Print()\nvar w = 5", "In[16]:1:9: w is used before line 3, which declares it; move the declaration up"},
		{"//go:embed a.txt\nvar text string", "In[17]:1:1: go:embed does not work in cells"},
	} {
		if tb := n.fail(c.src, "CompileError"); !strings.Contains(tb, c.want) {
			t.Errorf("%q: traceback lacks %q:\n%s", c.src, c.want, tb)
		}
	}
	n.want("a", "1")
	n.want("later := func() int { return twin }\ntype box struct{ twin int }\nb := box{twin: 2}\ntwin := 40\nlater() + b.twin", "42")
	n.want("c := a + 1; a := 5; c", "2")
}

// The order is that of the Go specification, "Package initialization".
func TestVariablesOfACellAreInitialisedAsThoseOfAPackage(t *testing.T) {
	n := start(t)
	n.want("var a = b + 1\nvar b = 5\na", "6")
	n.want("var a = b + 1\nvar b = 7\na", "8") // not the b of the cell before
	n.want("var c = f()\nvar d = 1\nfunc f() int { return d + 1 }\nc", "2")
	n.want("var e, g = g + 1, 10\ne", "11")
	n.want("var h = fill()\nvar buf [2]int\nfunc fill() int { buf[0] = 1; return 1 }\nbuf", "[1 0]")
	n.want("var trace string\nvar x, _, y = note(\"x\"), note(\"_\"), note(\"y\")\nfunc note(s string) int { trace += s; return 1 }\ntrace", "x_y")
	n.want("var fact = func(n int) int { if n < 2 { return 1 }; return n * fact(n-1) }\nfact(4)", "24")
	if o := n.exec("func init_v() { fmt.Println(\"v is\", v) }\nvar v = 5"); o.stdout != "v is 5\n" {
		t.Errorf("init_v prints %q", o.stdout)
	}
	// The right side may mean the variables of earlier cells.
	n.want("var a, b = b, a\na*100 + b", "708")
	n.want("b := b + 1\nb", "9")
}

// A cell defines its flags anew when it runs again, as a program does.
func TestACellThatDefinesFlagsRunsAgain(t *testing.T) {
	n := start(t)
	const cell = "var size = flag.Int(\"size\", 1, \"how large\")\nimport \"k8s.io/klog/v2\"\nfunc init_log() { klog.InitFlags(nil) }\n%% --size=3\n*size"
	n.want(cell, "3")
	n.want(cell, "3")
	n.want("var size = flag.Int(\"size\", 2, \"how large\")\n*size", "2")
	n.want("%% --size=4 --v=1 rest\nflag.Arg(0)", "rest") // flags of earlier cells
	n.want("*size", "4")
	n.want("flag.Lookup(\"size\").DefValue + flag.CommandLine.Lookup(\"v\").Value.String()", "21")
	n.want("flag.Parse(); len(os.Args) + flag.NArg()", "5")
	n.want("%%\nlen(os.Args)", "1")
	n.fail("flag.Int(\"twice\", 1, \"\"); flag.Int(\"twice\", 1, \"\")", "panic")
}

func TestNamesOfDotImportsStay(t *testing.T) {
	n := start(t)
	n.run("Abs := 7")
	n.want("import . \"math\"\nfunc root(x float64) float64 { return Sqrt(x) }\nroot(4)", "2")
	n.want("root(9) + Sqrt(4) + Abs(-7)", "12") // the latest meaning counts
	n.want("Sqrt := 5\nSqrt", "5")
	n.want("Sqrt", "5")
}

func TestDeclarationsAreTakenBack(t *testing.T) {
	n := start(t)
	n.run("len := 3\ntype point struct{ x int }\nfunc (p point) twice() int { return 2 * p.x }\nconst (\n\tA = iota\n\tB\n)\npt := point{1}")
	n.run("import \"math\"")
	if o := n.exec("%rm len nosuch point A math"); o.reply.Status != "ok" || o.stdout != ". removed var len\n. removed type point\n. removed const A\n. removed import math\n" || o.stderr != ". key \"nosuch\" not found in any definition, not removed\n" {
		t.Errorf("%+v", o)
	}
	n.want(`len("abcd")`, "4")
	n.want("B", "1")
	n.fail("A", "CompileError")
	if tb := n.fail("pt", "CompileError"); !strings.Contains(tb, "In[1]:8:7: pt has a type that uses point, which is declared no more") {
		t.Error(tb)
	}
	n.run("type point struct{ x int }")
	n.fail("point{1}.twice()", "CompileError")
}

func TestShellAndCommandLines(t *testing.T) {
	n := start(t)
	if o := n.exec("!echo from shell; echo oops >&2\nfmt.Println(\"then go\")"); o.stdout != "from shell\nthen go\n" || o.stderr != "oops\n" {
		t.Errorf("stdout %q, stderr %q", o.stdout, o.stderr)
	}
	n.fail("!exit 3", "ExitError")
	n.fail("!false\nfmt.Println(1)", "ExitError")
	n.want("%env GREETING=hello\nos.Getenv(\"GREETING\")", "hello")
	n.want("%args one two\nlen(os.Args)", "3")
	n.want("%args 'one two' three\"\"four it's\nstrings.Join(os.Args[1:], \"|\")", "'one|two'|three\"\"four|it's")
	n.want("%args 'one two' three\nstrings.Join(os.Args[1:], \"|\")", "one two|three")
	n.run("shots := flag.Int(\"shots\", 1, \"how many\")")
	n.want("%% --shots=3\n*shots", "3")
	n.fail("%main --shoots=3\n*shots", "panic")
	n.run("!mkdir 'a folder'")
	n.run("%%writefile \"a folder/a file\"\ntext")
	n.want("%cd \"a folder\"\nos.ReadFile(\"a file\")", "[]byte(\"text\")")
	n.run("%cd ..")
	n.run("%%writefile f.txt\nline %1\n!line 2\n")
	n.want("b, err := os.ReadFile(\"f.txt\")\nstring(b)", "line %1\n!line 2\n")
	n.fail("%nonsense", "CommandError")
	n.want("s := `\n%not a command\n!nor this`\nlen(s)", "25")
	if o := n.exec("!yes | head -n 1"); o.stdout != "y\n" || o.stderr != "" {
		t.Errorf("a pipe that is closed early: stdout %q, stderr %q", o.stdout, o.stderr)
	}
	if o := n.exec("%help"); len(o.reply.Payload) != 1 {
		t.Errorf("%%help gives payload %v", o.reply.Payload)
	}
	n.run("%reset")
	n.fail("s", "CompileError")
}

func TestDisplaysStayInOrderWithText(t *testing.T) {
	n := start(t)
	o := n.exec("fmt.Println(\"a\")\nimport \"github.com/rooflab/rooflab/kernel/display\"\ndisplay.HTML(\"<b>x</b>\")\nfmt.Println(\"b\")\n9")
	if len(o.displays) != 1 || o.displays[0].Bundle.Data["text/html"] != "<b>x</b>" || o.stdout != "a\nb\n" || o.result != "9" {
		t.Errorf("%+v", o)
	}
	o = n.exec("import \"github.com/janpfeifer/gonb/gonbui\"\ngonbui.DisplayHtml(\"<i>y</i>\")\ngonbui.DisplayMarkdown(\"*z*\")")
	if len(o.displays) != 2 || o.displays[0].Bundle.Data["text/html"] != "<i>y</i>" || o.displays[1].Bundle.Data["text/markdown"] != "*z*" {
		t.Errorf("gonbui's displays: %+v", o.displays)
	}
}

func TestUserExpressionsAndSilentCells(t *testing.T) {
	n := start(t)
	r := n.Execute(sessionRequest("a := 20", map[string]string{"twice": "a * 2", "bad": "nope"}), func(sessionEvent) {})
	if r.Status != "ok" || r.Count != 1 || r.UserExpressions["twice"].Bundle.Data["text/plain"] != "40" || r.UserExpressions["bad"].Error == nil {
		t.Errorf("%+v", r)
	}
	silent := sessionRequest("a + 1", nil)
	silent.Silent = true
	r = n.Execute(silent, func(ev sessionEvent) { t.Errorf("a silent cell sent %v", ev) })
	if r.Count != 1 || r.Status != "ok" {
		t.Errorf("%+v", r)
	}
	n.want("a", "20")
}

func TestUnspellableTypesAreEvaluatedOnce(t *testing.T) {
	n := start(t)
	n.run("calls := 0\nfunc local() []any { calls++; type hidden struct{ n int }; return []any{hidden{calls}} }\nfirst := local()")
	n.run("import \"math/big\"\nz := func() struct{ r *big.Int; neg bool } { calls++; return struct{ r *big.Int; neg bool }{big.NewInt(5), true} }()\nimport \"go/token\"\nfs := token.NewFileSet()")
	n.want("z.neg", "true")
	n.want("calls", "2")
}

func TestStandardInputAsksTheFrontEnd(t *testing.T) {
	n := start(t)
	var asked int
	req := sessionRequest("var name string\nfmt.Scanln(&name)\nname + \"!\"", nil)
	req.AllowStdin = true
	var result any
	r := n.Execute(req, func(ev sessionEvent) {
		switch ev := ev.(type) {
		case inputRequest:
			asked++
			go ev.Answer("gopher")
		case resultEvent:
			result = ev.Bundle.Data["text/plain"]
		}
	})
	if r.Status != "ok" || asked != 1 || result != "gopher!" {
		t.Errorf("status %s, asked %d times, result %v", r.Status, asked, result)
	}
	// Without a front end that answers, the read ends.
	n.want("_, err := fmt.Scanln(&name)\nerr", "EOF")
}

func TestCellsWithCCode(t *testing.T) {
	n := start(t)
	n.run("/*\n#include <math.h>\n#include <stdio.h>\n#cgo LDFLAGS: -lm\nstatic double twice(double x) { return 2*x; }\nstatic void hello(void) { printf(\"hello from C\"); }\n*/\nimport \"C\"\n\nfunc Twice(x float64) float64 { return float64(C.twice(C.double(x))) }\nfunc Hello() { C.hello() }")
	if o := n.exec("Hello()\nTwice(21)"); o.stdout != "hello from C" || o.result != "42" {
		t.Errorf("stdout %q, result %q", o.stdout, o.result)
	}
	n.run("func four(x float64) float64 { return Twice(Twice(x)) }")
	n.want("four(1)", "4")
	if tb := n.fail("import \"C\"\nx := 1", "CompileError"); !strings.Contains(tb, "In[5]:2:1: ") {
		t.Error(tb)
	}
}
