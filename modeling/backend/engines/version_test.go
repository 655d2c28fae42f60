package engines_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

func TestAPluginOfAnotherAPIIsRefusedBeforeItIsUsed(t *testing.T) {
	for _, v := range [][2]int{{1, 2}, {0, 12}} {
		dir := t.TempDir()
		source, plugin := filepath.Join(dir, "stub.c"), filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
		if err := os.WriteFile(source, fmt.Appendf(nil, stub, v[0], v[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", plugin, source).CombinedOutput(); err != nil {
			t.Fatalf("compiling a plugin needs gcc: %v: %s", err, out)
		}
		want := fmt.Sprintf("speaks PJRT C API %d.%d", v[0], v[1])
		if _, err := backend.Open("xla:" + plugin); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rooflab xla install") {
			t.Errorf("%v", err)
		}
	}
}

func TestDevicesOfACPUPlugin(t *testing.T) {
	if len(backend.Plugins()) == 0 {
		t.Fatal("no PJRT plugin found: `make test` gets one for its tests, `rooflab xla install` one for you")
	}
	for options, want := range map[string]int{",devices=1": 1, ",devices=3": 3} {
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
