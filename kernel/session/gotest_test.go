package session_test

import (
	"os"
	"strings"
	"testing"
)

// What tests print is what the binary of `go test` prints, and they see the
// session's values.
func TestTestsOfCellsRunInTheSession(t *testing.T) {
	n := start(t)
	n.run("data := []int{1, 2, 3}\nruns := 0\nfunc TestEarlier(t *testing.T) { runs++ }")
	o := n.exec("%test\nfunc TestSum(t *testing.T) {\n\tfor _, v := range data {\n\t\tt.Run(fmt.Sprint(v), func(t *testing.T) {\n\t\t\tt.Parallel()\n\t\t\tt.Log(v)\n\t\t})\n\t}\n}")
	for _, want := range []string{"=== RUN   TestSum/2\n", "    In[2]:6: 2\n", "    --- PASS: TestSum/3 (0.00s)\n", "\nPASS\n"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("lacks %q:\n%s", want, o.stdout)
		}
	}
	n.want("runs", "0") // only the cell's own
	if o = n.exec("%test"); !strings.Contains(o.stdout, "--- PASS: TestEarlier (0.00s)\n") || !strings.Contains(o.stdout, "--- PASS: TestSum ") {
		t.Errorf("alone, it runs all tests:\n%s", o.stdout)
	}
	n.want("runs", "1")
	n.run("%test -run=Earlier -count=2")
	n.want("runs", "3")
	if o = n.exec("func BenchmarkLen(b *testing.B) { for b.Loop() { runs = len(data) } }\n%test -test.bench=. -test.run=^$ -benchtime=5x"); !strings.Contains(o.stdout, "BenchmarkLen") || !strings.Contains(o.stdout, "       5\t") {
		t.Errorf("a benchmark prints\n%s", o.stdout)
	}
	if o = n.exec("func TestMain(m *testing.M) { fmt.Println(\"set up\"); os.Exit(m.Run()) }\n%test -run=Earlier"); o.stdout != "set up\nPASS\n" {
		t.Errorf("with TestMain: %q", o.stdout)
	}
	n.run("%rm TestMain")
	n.want("data", "[1 2 3]")
}

// Package testing ends the process for much of this.
func TestATestThatFailsOrPanicsFailsItsCellOnly(t *testing.T) {
	n := start(t)
	n.run("keep := 42")
	o := n.exec("func TestBad(t *testing.T) {\n\tt.Error(\"bad\")\n}\n%test")
	if o.reply.Error == nil || o.reply.Error.Name != "ExitError" || o.reply.Error.Exit != 1 || !strings.Contains(o.stdout, "    In[2]:2: bad\n--- FAIL: TestBad (0.00s)\nFAIL\n") {
		t.Errorf("%v\n%s", o.reply.Error, o.stdout)
	}
	o = n.exec("func TestPanic(t *testing.T) {\n\tt.Run(\"inner\", func(t *testing.T) {\n\t\tvar m map[string]int\n\t\tm[\"a\"] = 1\n\t})\n}\nfunc TestPast(t *testing.T) { fmt.Println(\"not this\") }\n%test")
	if o.reply.Error == nil || o.reply.Error.Name != "panic" || strings.Contains(o.stdout, "not this") {
		t.Errorf("%v\n%s", o.reply.Error, o.stdout)
	} else if tb := strings.Join(o.reply.Error.Traceback, "\n"); !strings.Contains(tb, "In[3]:4 in TestPanic") || !strings.Contains(tb, "| \t\tm[\"a\"] = 1") {
		t.Error(tb)
	}
	n.fail("func BenchmarkP(b *testing.B) { b.RunParallel(func(pb *testing.PB) { for pb.Next() { panic(\"there\") } }) }\n%test -bench=P -run=^$", "panic")
	n.fail("func TestSleep(t *testing.T) { time.Sleep(time.Hour) }\n%test -run=Sleep -timeout=10ms", "Interrupted")
	n.fail("func TestCleanup(t *testing.T) { t.Cleanup(func() { panic(\"late\") }) }\n%test", "panic")
	n.fail("func TestGoexit(t *testing.T) { runtime.Goexit() }\n%test", "ExitError")
	n.fail("func TestExit(t *testing.T) { os.Exit(3) }\n%test", "ExitError")
	for _, flags := range []string{"-run=(", "-nosuch", "-cpu=1,2", "-coverprofile=c", "-memprofile=no/such/file"} {
		if o := n.exec("%test " + flags); o.reply.Error == nil || o.reply.Error.Exit != 2 || !strings.HasPrefix(o.stderr, "%test: ") {
			t.Errorf("%s: %v, %q", flags, o.reply.Error, o.stderr)
		}
	}
	if r := n.interrupt("\nfunc TestLong(t *testing.T) { for { } }\n%test"); r.Error == nil || r.Error.Name != "Interrupted" {
		t.Errorf("got %v", r.Error)
	}
	n.want("keep", "42")
}

func TestCaptureCopiesWhatGoCodeShows(t *testing.T) {
	n := start(t)
	n.run("%env DIR=.\n%capture ${DIR}/out.txt\n!echo from shell\nfmt.Println(\"printed\")\n1 + 1")
	n.run("%capture -a ./out.txt\ngonbui.DisplayHTML(\"<b>x</b>\\n\")")
	n.run("fmt.Println(\"not this\")")
	n.want("os.ReadFile(\"out.txt\")", "[]byte(\"printed\\n2\\n<b>x</b>\\n\")")
	n.fail("%capture no/such/folder/f\n1", "CommandError")
	n.fail("%capture", "CommandError")
	if _, err := os.Stat("/dev/full"); err == nil {
		if tb := n.fail("%capture /dev/full\nfmt.Println(1)", "CommandError"); !strings.Contains(tb, "no space left") {
			t.Error(tb)
		}
	}
}
