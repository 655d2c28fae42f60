package build_test

import (
	"slices"
	"testing"

	"github.com/rooflab/rooflab/agents/build"
)

// The lines are in the form in which each tool writes them; gcc's and the
// linker's own are in build_test.go.
func TestMessagesOfManyToolsAreRead(t *testing.T) {
	for _, c := range []struct {
		tool, line string
		want       build.Message
	}{
		{"gcc", "src/k.c:12:7: error: expected ';' before 'x'", build.Message{"src/k.c", 12, 7, build.Error, "expected ';' before 'x'"}},
		{"gcc, no column", "k.c:12: warning: unused [-Wunused]", build.Message{"k.c", 12, 0, build.Warning, "unused [-Wunused]"}},
		{"gcc, fatal", "k.c:1:10: fatal error: a.h: No such file or directory", build.Message{"k.c", 1, 10, build.Error, "a.h: No such file or directory"}},
		{"clang and hipcc", "k.hip:3:5: note: declared here", build.Message{"k.hip", 3, 5, build.Note, "declared here"}},
		{"OpenCL of NVIDIA", "<kernel>:4:9: error: use of undeclared identifier 'b'", build.Message{"<kernel>", 4, 9, build.Error, "use of undeclared identifier 'b'"}},
		{"PoCL", "error: <program source>:2:10: use of undeclared identifier 'b'", build.Message{"<program source>", 2, 10, build.Error, "use of undeclared identifier 'b'"}},
		{"nvcc", "dir/k.cu(12): error: identifier \"b\" is undefined", build.Message{"dir/k.cu", 12, 0, build.Error, "identifier \"b\" is undefined"}},
		{"nvcc, numbered", "k.cu(7): warning #177-D: variable \"u\" was declared but never referenced", build.Message{"k.cu", 7, 0, build.Warning, "variable \"u\" was declared but never referenced"}},
		{"nvcc, catastrophic", "k.cu(1): catastrophic error: cannot open source file \"a.h\"", build.Message{"k.cu", 1, 0, build.Error, "cannot open source file \"a.h\""}},
		{"nvc++", "NVC++-S-0039-Use of undeclared variable b (k.cpp: 3)", build.Message{"k.cpp", 3, 0, build.Error, "Use of undeclared variable b"}},
		{"ptxas", "ptxas error   : Entry function 'f' uses too much shared data (0x10000 bytes, 0xc000 max)", build.Message{"", 0, 0, build.Error, "Entry function 'f' uses too much shared data (0x10000 bytes, 0xc000 max)"}},
		{"ld", "/usr/bin/ld: cannot find -lnone: No such file or directory", build.Message{"", 0, 0, build.Error, "cannot find -lnone: No such file or directory"}},
		{"ld, no debug information", "k.c:(.text+0x10): undefined reference to `f'", build.Message{"k.c", 0, 0, build.Error, "undefined reference to `f'"}},
		{"collect2", "collect2: error: ld returned 1 exit status", build.Message{"", 0, 0, build.Error, "ld returned 1 exit status"}},
		{"clang, linking", "clang: error: linker command failed with exit code 1 (use -v to see invocation)", build.Message{"", 0, 0, build.Error, "linker command failed with exit code 1 (use -v to see invocation)"}},
		{"make", "make[1]: *** No rule to make target 'x.c', needed by 'x.o'.  Stop.", build.Message{"", 0, 0, build.Error, "No rule to make target 'x.c', needed by 'x.o'"}},
		{"sh", "sh: 1: nvcc: not found", build.Message{"", 0, 0, build.Error, "nvcc: not found"}},
	} {
		got := build.Parse("gcc -c k.c\n" + c.line + "\n    3 |  x = 1\n" + c.line + "\n")
		if !slices.Equal(got, []build.Message{c.want}) {
			t.Errorf("%s: %+v, want %+v", c.tool, got, c.want)
		}
	}
	if m := (build.Message{"k.c", 3, 4, build.Error, "no"}); m.String() != "k.c:3:4: error: no" {
		t.Error(m)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("k.c:1:2: error: x\nld: cannot find -lx\n")
	f.Add("k.cu(1): error: \n<k>:99999999999999999999:1: note: ")
	f.Fuzz(func(t *testing.T, log string) {
		for _, m := range build.Parse(log) {
			if m.Severity == "" || m.Line < 0 || m.Column < 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}
