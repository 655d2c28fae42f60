package engines_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/backend"
	_ "github.com/rooflab/rooflab/modeling/backend/engines"
)

// stub is a plugin that has a version and does nothing: the head of PJRT_Api
// as pjrt_c_api.h lays it out, whose functions succeed (return no error).
const stub = `
#include <stddef.h>
static void *ok(void *args) { (void)args; return NULL; }
struct version { size_t struct_size; void *extension_start; int major, minor; };
static struct {
	size_t struct_size;
	void *extension_start;
	struct version version;
	void *(*functions[200])(void *);
} api;
const void *GetPjrtApi(void) {
	api.struct_size = sizeof api;
	api.version.struct_size = sizeof api.version;
	api.version.major = %d;
	api.version.minor = %d;
	for (int i = 0; i < 200; i++) api.functions[i] = ok;
	return &api;
}`

// compile makes a shared library of a source in C.
func compile(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	file, plugin := filepath.Join(dir, "stub.c"), filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", plugin, file).CombinedOutput(); err != nil {
		t.Fatalf("compiling a plugin needs gcc: %v: %s", err, out)
	}
	return plugin
}

// None of these may end this process, and each is told by what is wrong.
func TestPluginsThatAreNone(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // nothing may be kept of failures
	for _, c := range []struct{ name, source, want string }{
		{"a newer major version", fmt.Sprintf(stub, 1, 2), "speaks PJRT C API 1.2, and this program 0.104 (0.81 and later will do): `rooflab xla install`"},
		{"much older", fmt.Sprintf(stub, 0, 12), "speaks PJRT C API 0.12"},
		{"fitting by its version alone", fmt.Sprintf(stub, 0, 130), "pjrt_c_api_cpu_plugin.so"},
		{"a library of something else", "int answer(void) { return 42; }", "without the function GetPjrtApi"},
		{"a library that wants GetPjrtApi", "const void *GetPjrtApi(void); const void *ask(void) { return GetPjrtApi(); }", "without the function GetPjrtApi"},
		{"nothing behind it", "const void *GetPjrtApi(void) { return 0; }", "GetPjrtApi returns nothing"},
		{"too little behind it", "#include <stddef.h>\nstatic size_t api[8] = {16}; const void *GetPjrtApi(void) { return api; }", "too short"},
		{"needs a library that is not there", "void no_such_function(void); __attribute__((constructor)) static void f(void) { no_such_function(); } const void *GetPjrtApi(void) { return 0; }", "no_such_function"},
		{"crashes when it is loaded", "#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { abort(); } const void *GetPjrtApi(void) { return 0; }", "SIGABRT"},
		{"crashes when it is asked", "const void *GetPjrtApi(void) { *(volatile int *)8 = 1; return 0; }", "ends the process that loads it"},
		{"leaves without a word", "#include <stdlib.h>\nconst void *GetPjrtApi(void) { exit(0); }", "ends the process that loads it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plugin := compile(t, c.source)
			t.Setenv("GOMLX_BACKEND", "")
			t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", filepath.Dir(plugin))
			for range 2 { // a failure is not remembered as a success
				_, err := backend.Open("xla:" + plugin)
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), plugin) {
					t.Fatalf("%v, want %q", err, c.want)
				}
			}
			if _, err := backend.Probe(context.Background(), plugin); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Probe: %v", err)
			}
			choice, err := backend.Default()
			if err != nil || choice.Engine != "go" || !strings.Contains(choice.Notice, plugin) {
				t.Errorf("Default: %+v, %v", choice, err)
			}
		})
	}
}

func TestAProgramIsNoPlugin(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "x.c"), filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-no-pie", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("compiling a program needs gcc: %v: %s", err, out)
	}
	if _, err := backend.Open("xla:" + program); err == nil || !strings.Contains(err.Error(), "no shared library") {
		t.Error(err)
	}
	if _, err := backend.Open("xla:" + dir); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Error(err)
	}
}

// What a plugin says is kept until the file is another.
func TestAPluginIsTriedOnceAndAgainWhenItChanges(t *testing.T) {
	plugins := backend.Plugins()
	if len(plugins) == 0 {
		t.Fatal("no PJRT plugin found: `make test` gets one for its tests, `rooflab xla install` one for you")
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	plugin := filepath.Join(t.TempDir(), "pjrt_c_api_cpu_plugin.so")
	if err := os.Symlink(plugins[0], plugin); err != nil {
		t.Fatal(err)
	}
	f, err := backend.Probe(context.Background(), plugin)
	if err != nil {
		t.Fatal(err)
	}
	if f.Platform != "cpu" || f.APIMajor != 0 || f.APIMinor < 81 || f.Program != "0.104" || len(f.Devices) == 0 {
		t.Errorf("%+v", f)
	}
	kept, err := filepath.Glob(filepath.Join(cache, "rooflab", "pjrt", "*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q, %v", kept, err)
	}
	if err := os.Remove(plugin); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plugin, []byte("something else, and long enough for a header"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := backend.Probe(context.Background(), plugin); err == nil || !strings.Contains(err.Error(), "no ELF library") {
		t.Errorf("a changed file: %v", err)
	}
}

// go-xla looks for the home directory while a program starts, and complains.
func TestAProgramWithoutAHomeStartsQuietly(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "HOME" && name != "PJRT_PLUGIN_LIBRARY_PATH" {
			cmd.Env = append(cmd.Env, v)
		}
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(errs.String()) != "testing: warning: no tests to run" {
		t.Errorf("%v; stdout %q, stderr %q", err, out, &errs)
	}
}

func TestDevicesOfACPUPlugin(t *testing.T) {
	if len(backend.Plugins()) == 0 {
		t.Fatal("no PJRT plugin found: `make test` gets one for its tests, `rooflab xla install` one for you")
	}
	t.Setenv("NPROC", "") // which limits XLA's threads, and so the devices
	for options, want := range map[string]int{"": min(runtime.NumCPU(), 4), ",devices=1": 1, ",devices=3": 3} {
		c, err := backend.Open("xla:cpu" + options)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Backend.NumDevices(); got != want || !strings.Contains(c.Why, "PJRT C API 0.") {
			t.Errorf("%q: %d devices, %s", options, got, c.Why)
		}
	}
	for _, wrong := range []string{"devices=0", "devices=many"} {
		if _, err := backend.Open("xla:cpu," + wrong); err == nil || !strings.Contains(err.Error(), strings.Split(wrong, "=")[0]) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
