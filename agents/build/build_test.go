package build_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/build"
	"github.com/rooflab/rooflab/agents/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.ServeIfAsked()
	os.Exit(m.Run())
}

func open(t *testing.T) *sandbox.Box {
	t.Helper()
	for tool, pkg := range map[string]string{"gcc": "gcc", "make": "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is needed to build the projects of these tests (Debian: apt-get install %s)", tool, pkg)
		}
	}
	b, err := sandbox.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// project builds testdata/project with changed files, unless change says
// something else.
func project(t *testing.T, replace map[string]string, change func(*build.Recipe)) (build.Result, string) {
	t.Helper()
	out := t.TempDir()
	r := build.Recipe{Sources: "testdata/project", Replace: map[string][]byte{}, Command: []string{"make"},
		Products: []string{"bin/program"}, Out: out, Limits: sandbox.Limits{Wall: 60 * time.Second}}
	for name, text := range replace {
		r.Replace[name] = []byte(text)
	}
	if change != nil {
		change(&r)
	}
	res, err := build.Build(t.Context(), open(t), r)
	if err != nil {
		t.Fatal(err)
	}
	return res, out
}

// contents are the files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		m[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestACandidateIsBuiltOnACopy(t *testing.T) {
	before := contents(t, "testdata/project")
	res, out := project(t, map[string]string{"sum.c": `#include "sum.h"
double sum(const double *x, int n) { return n ? 100 + x[0] : 0; }`}, nil)
	if !res.OK() || len(res.Products) != 1 || len(res.Messages) != 0 {
		t.Fatalf("%s\n%s", res.Reason, res.Log)
	}
	got, err := exec.Command(filepath.Join(out, "bin/program")).Output()
	if err != nil || string(got) != "101\n" {
		t.Errorf("%q, %v", got, err)
	}
	after := contents(t, "testdata/project")
	if len(after) != len(before) || after["testdata/project/sum.c"] != before["testdata/project/sum.c"] {
		t.Error("the sources have changed")
	}
	if !strings.Contains(res.Log, "gcc -g -O2 -Wall -c sum.c") {
		t.Errorf("log: %s", res.Log)
	}
	original, _ := project(t, nil, nil)
	if !original.OK() || original.Products[0].SHA256 == res.Products[0].SHA256 {
		t.Errorf("the original: %s, %v", original.Reason, original.Products)
	}
}

// An object that an earlier build left beside the sources is older than the
// candidate's file, which make has to see.
func TestObjectsOfEarlierBuildsDoNotStandForTheCandidate(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/project")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("make", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, out := project(t, map[string]string{"sum.c": `#include "sum.h"
double sum(const double *x, int n) { return 7; }`}, func(r *build.Recipe) { r.Sources = dir })
	got, err := exec.Command(filepath.Join(out, "bin/program")).Output()
	if err != nil || string(got) != "7\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCompilerMessagesNameFileAndLine(t *testing.T) {
	res, _ := project(t, map[string]string{"sum.c": "#include \"sum.h\"\n\ndouble sum(const double *x, int n)\n{\n\treturn total;\n}\n"}, nil)
	if res.OK() || res.Reason != "the build ended with exit status 2" {
		t.Errorf("reason %q", res.Reason)
	}
	errs := res.Errors()
	if len(errs) != 2 {
		t.Fatalf("%v\n%s", errs, res.Log)
	}
	if m := errs[0]; m.File != "sum.c" || m.Line != 5 || m.Column != 16 || !strings.Contains(m.Text, "undeclared") {
		t.Errorf("%+v", m)
	}
	if m := errs[1]; m.File != "" || !strings.Contains(m.Text, "sum.o] Error 1") {
		t.Errorf("%+v", m)
	}
	if strings.Contains(res.Log, "/work") {
		t.Errorf("the log names the sandbox's folders:\n%s", res.Log)
	}
}

func TestLinkerMessagesAreFound(t *testing.T) {
	change := map[string]string{"sum.c": "double total(void) { return 0; }\n"}
	first, _ := project(t, change, nil)
	if errs := first.Errors(); len(errs) == 0 || errs[0].File != "main.c" || errs[0].Line != 7 || !strings.HasPrefix(errs[0].Text, "undefined reference to") {
		t.Errorf("%v\n%s", errs, first.Log)
	}
	second, _ := project(t, change, nil)
	if first.Log != second.Log {
		t.Errorf("the same build has two logs:\n%s\n%s", first.Log, second.Log)
	}
}

func TestProductsThatAreNotThereAreNamed(t *testing.T) {
	res, _ := project(t, nil, func(r *build.Recipe) { r.Products = []string{"bin/program", "bin/other"} })
	if res.OK() || !strings.Contains(res.Reason, "bin/other is not there") {
		t.Errorf("%q", res.Reason)
	}
	// Not even one of an earlier build.
	out := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(out, "bin"), 0o755), os.WriteFile(filepath.Join(out, "bin/program"), []byte("old"), 0o755)); err != nil {
		t.Fatal(err)
	}
	res, _ = project(t, nil, func(r *build.Recipe) { r.Out, r.Command = out, []string{"true"} })
	if res.OK() {
		t.Error("the product of an earlier build passes for one")
	}
}

func TestABuildCannotReachTheMachine(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.h")
	if err := os.WriteFile(secret, []byte("#define SECRET 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	res, _ := project(t, map[string]string{"sum.c": "#include \"" + secret + "\"\n"}, nil)
	if errs := res.Errors(); len(errs) == 0 || !strings.Contains(errs[0].Text, "No such file") {
		t.Errorf("%v\n%s", errs, res.Log)
	}
	res, _ = project(t, nil, func(r *build.Recipe) { r.Command = []string{"sh", "-c", "touch /usr/planted"} })
	if _, err := os.Stat("/usr/planted"); err == nil || res.OK() {
		t.Errorf("%v, %s", err, res.Reason)
	}
}

func TestABuildWithoutEndIsEnded(t *testing.T) {
	res, _ := project(t, nil, func(r *build.Recipe) {
		r.Command, r.Limits.Wall = []string{"sh", "-c", "while :; do :; done"}, 300*time.Millisecond
	})
	if res.OK() || res.Outcome.End != sandbox.TimedOut {
		t.Errorf("%q", res.Reason)
	}
}

func TestLongLogsAreCutInTheMiddle(t *testing.T) {
	res, _ := project(t, nil, func(r *build.Recipe) {
		r.Command = []string{"sh", "-c", "echo first.c:1:2: error: cause; seq 10000; echo last.c:3:4: error: end; exit 1"}
		r.MostLog = 400
	})
	if !res.Cut || len(res.Log) > 450 || !strings.HasPrefix(res.Log, "first.c:1:2") || !strings.HasSuffix(res.Log, "last.c:3:4: error: end\n") || !strings.Contains(res.Log, "bytes left out") {
		t.Errorf("%d bytes, cut %v:\n%s", len(res.Log), res.Cut, res.Log)
	}
	if len(res.Messages) != 2 {
		t.Errorf("%v", res.Messages)
	}
}

func TestAClockOfTheCandidatesOwnIsNamed(t *testing.T) {
	for what, clock := range map[string]string{
		"a function": "#define _GNU_SOURCE\n#include <time.h>\nint clock_gettime(clockid_t c, struct timespec *t) { t->tv_sec = t->tv_nsec = 0; return 0; }",
		"assembly":   `__asm__(".globl clock_gettime\nclock_gettime: xor %eax, %eax\nret");`,
		"an array":   `const unsigned char clock_gettime[] __attribute__((section(".text#"))) = {0x31, 0xc0, 0xc3};`,
		"an alias":   `static int mine(int c, long *t) { return t[0] = t[1] = 0; } int clock_gettime(int, long *) __attribute__((alias("mine")));`,
	} {
		res, _ := project(t, map[string]string{"sum.c": clock + "\n#include \"sum.h\"\ndouble sum(const double *x, int n) { return 6.5; }\n"}, nil)
		if !res.OK() {
			t.Fatal(res.Log)
		}
		if got := res.Products[0].Suspect; !slices.Equal(got, []string{"clock_gettime"}) {
			t.Errorf("%s: suspect: %q", what, got)
		}
	}
	honest, _ := project(t, nil, nil)
	if got := honest.Products[0].Suspect; len(got) != 0 {
		t.Errorf("of the original: %q", got)
	}
}

func TestRecipesThatMakeNoSenseAreErrors(t *testing.T) {
	good := build.Recipe{Sources: "testdata/project", Command: []string{"make"}, Products: []string{"x"}, Out: t.TempDir()}
	for want, change := range map[string]func(*build.Recipe){
		"no command":          func(r *build.Recipe) { r.Command = nil },
		"name the products":   func(r *build.Recipe) { r.Products = nil },
		"plain path":          func(r *build.Recipe) { r.Products = []string{"../x"} },
		"not inside":          func(r *build.Recipe) { r.Replace = map[string][]byte{"../../etc/x": nil} },
		"no such file or dir": func(r *build.Recipe) { r.Sources = "testdata/none" },
	} {
		r := good
		change(&r)
		if _, err := build.Build(t.Context(), open(t), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
