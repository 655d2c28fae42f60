package pjrt_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/backend/pjrt"
)

// gpu is a bundle in CUDA 13's layout, of two wheels, with their content by file.
func gpu(t *testing.T) (pjrt.Bundle, map[string][]byte) {
	one := pack(t, "jax_plugins/xla/xla_cuda_plugin.so", plugin, "jax_plugins/xla/__init__.py", "")
	two := pack(t, "nvidia/__init__.py", "", "nvidia/cu13/lib/libcudart.so.13", "runtime", "nvidia/cu13/bin/ptxas", "ptxas",
		"nvidia/cu13/nvvm/libdevice/libdevice.10.bc", "bitcode", "nvidia_x-1.dist-info/METADATA", "Name: x")
	b := pjrt.Bundle{Name: "cuda13", CUDA: 13, Platform: runtime.GOOS + "/" + runtime.GOARCH, Plugin: "jax_plugins/xla/xla_cuda_plugin.so",
		Wheels: []pjrt.Wheel{wheelOf("plugin", one), wheelOf("libraries", two)}}
	return b, map[string][]byte{b.Wheels[0].File: one, b.Wheels[1].File: two}
}

func TestCUDAIsInstalledWithItsLibraries(t *testing.T) {
	b, files := gpu(t)
	x := newIndex(t, files)
	dir := t.TempDir()
	opt := x.options()
	var tried string
	opt.Verify = func(_ context.Context, p string) error {
		tried = p
		// The plugin finds its libraries from where it is tried as from its place.
		_, err := os.Stat(filepath.Join(filepath.Dir(p), "..", "nvidia", "cu13", "lib", "libcudart.so.13"))
		return err
	}
	path, err := pjrt.Install(ctx, b, dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	if path != filepath.Join(dir, "nvidia", "pjrt_c_api_cuda_plugin.so") || content(t, path) != plugin || tried == "" || names(t, dir) != "nvidia" {
		t.Errorf("%s, tried %q; the directory holds %s", path, tried, names(t, dir))
	}
	for file, want := range map[string]string{"cu13/lib/libcudart.so.13": "runtime", "bin/ptxas": "ptxas", "nvvm/libdevice/libdevice.10.bc": "bitcode"} {
		if got := content(t, filepath.Join(dir, "nvidia", file)); got != want {
			t.Errorf("%s holds %q", file, got)
		}
	}
	if i, err := os.Stat(filepath.Join(dir, "nvidia", "bin", "ptxas")); err != nil || i.Mode()&0o100 == 0 {
		t.Errorf("ptxas cannot be run: %v", err)
	}
	if moved := dir + "-moved"; os.Rename(dir, moved) != nil || content(t, filepath.Join(moved, "nvidia", "bin", "ptxas")) != "ptxas" {
		t.Error("links do not survive that the folder is moved")
	} else {
		dir = moved
	}

	x.asked = nil
	if _, err := pjrt.Install(ctx, b, dir, opt); err != nil || len(x.asked) > 0 {
		t.Errorf("the second time: %v, the index was asked for %q", err, x.asked)
	}

	// Another version replaces all of it, or nothing.
	newer := pack(t, "jax_plugins/xla/xla_cuda_plugin.so", plugin+"2")
	x.files["plugin-1-py3-none-any.whl"] = newer
	b.Wheels[0] = wheelOf("plugin", newer)
	failing := opt
	failing.Verify = func(context.Context, string) error { return errors.New("no device") }
	if _, err := pjrt.Install(ctx, b, dir, failing); err == nil || content(t, b.Place(dir)) != plugin {
		t.Errorf("a plugin that does not work: %v", err)
	}
	if _, err := pjrt.Install(ctx, b, dir, opt); err != nil || content(t, b.Place(dir)) != plugin+"2" || names(t, dir) != "nvidia" {
		t.Errorf("an update: %v; %s", err, names(t, dir))
	}
}

func TestCUDADoesNotReplaceWhatIsNotOurs(t *testing.T) {
	b, files := gpu(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "nvidia"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := pjrt.Install(ctx, b, dir, newIndex(t, files).options()); err == nil || !strings.Contains(err.Error(), "was not put there by rooflab") {
		t.Error(err)
	}
}

func TestWheelsThatLeaveTheirFolder(t *testing.T) {
	for name, bad := range map[string][]byte{
		"does not belong into a wheel":    pack(t, "nvidia/../../evil", "x"),
		"nothing below nvidia/":           pack(t, "elsewhere/lib.so", "x"),
		"unpacks to more than 20 times":   pack(t, "nvidia/a", strings.Repeat("0", 16<<20), "nvidia/b", strings.Repeat("0", 16<<20)),
		"not a valid zip file":            []byte("nonsense"),
		"unpacking nvidia/cu13/lib/x.so ": pack(t, "nvidia/cu13/lib/x.so", "1", "nvidia/cu13/lib/x.so", "22"),
	} {
		b, files := gpu(t)
		files[b.Wheels[1].File] = bad
		b.Wheels[1] = wheelOf("libraries", bad)
		dir := t.TempDir()
		if _, err := pjrt.Install(ctx, b, dir, newIndex(t, files).options()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q: %v", name, err)
		}
		if names(t, dir) != ".downloads" {
			t.Errorf("%s: the directory holds %s", name, names(t, dir))
		}
	}
}

// system is a made-up machine: what nvidia-smi prints ("" for none, "fails: ..."),
// and what /proc says.
func system(smi, proc string) pjrt.System {
	return pjrt.System{
		ReadFile: func(path string) ([]byte, error) {
			if proc == "" || path != "/proc/driver/nvidia/version" {
				return nil, fs.ErrNotExist
			}
			return []byte(proc), nil
		},
		Run: func(_ context.Context, name string, _ ...string) (string, error) {
			if smi == "" || name != "nvidia-smi" {
				return "", exec.ErrNotFound
			}
			if text, bad := strings.CutPrefix(smi, "fails: "); bad {
				return text, errors.New("exit status 18")
			}
			return smi, nil
		},
	}
}

const proc = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version: gcc version 12.2.0"

func TestTheBundleFitsTheDriver(t *testing.T) {
	for _, c := range []struct{ name, smi, proc, version, bundle, err string }{
		{"a new driver", "580.65.06, 9.0, NVIDIA H200", "", "580.65.06", "cuda13", ""},
		{"a newer one", "1002.10, 10.0, NVIDIA B200", "", "1002.10", "cuda13", ""},
		{"an older driver", "550.54.15, 8.0, NVIDIA A100-SXM4-40GB", "", "550.54.15", "cuda12", ""},
		{"an older GPU", "580.65.06, 7.0, Tesla V100-SXM2-16GB", "", "580.65.06", "cuda12", ""},
		{"an old and a new GPU", "580.65.06, 6.1, NVIDIA TITAN X\n580.65.06, 8.6, NVIDIA RTX A4000", "", "580.65.06", "cuda13", ""},
		{"an old driver", "470.82.01, 8.0, NVIDIA A100", "", "470.82.01", "",
			"CUDA 13 needs an NVIDIA driver of version 580 or later, this one is 470.82.01 (nvidia-smi): update the driver; CUDA 12 needs an NVIDIA driver of version 525 or later"},
		{"an old GPU", "580.65.06, 3.5, Tesla K40", "", "580.65.06", "", "CUDA 12 needs a GPU of compute capability 5.2 (Maxwell and later): Tesla K40 has 3.5"},
		{"capability not known", "525.60.13, [N/A], NVIDIA A40", "", "525.60.13", "cuda12", ""},
		{"no tools", "", proc, "535.183.01", "cuda12", ""},
		{"tools of another version", "fails: Failed to initialize NVML: Driver/library version mismatch", proc, "535.183.01", "cuda12", ""},
	} {
		d, err := pjrt.FindDriver(ctx, system(c.smi, c.proc))
		if err != nil || d.Version != c.version {
			t.Errorf("%s: %+v, %v", c.name, d, err)
			continue
		}
		b, err := pjrt.CUDAFor(d)
		if b.Name != c.bundle || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.name, b.Name, err)
		}
	}
	if _, err := pjrt.FindDriver(ctx, system("", "")); !errors.Is(err, pjrt.ErrNoDriver) {
		t.Errorf("without a driver: %v", err)
	}
	for _, smi := range []string{"fails: No devices were found", "No devices were found"} {
		if _, err := pjrt.FindDriver(ctx, system(smi, "")); err == nil || errors.Is(err, pjrt.ErrNoDriver) || !strings.Contains(err.Error(), "No devices were found") {
			t.Errorf("%q: %v", smi, err)
		}
	}
}

// The lists of pins are typed once and used rarely.
func TestPinsAreComplete(t *testing.T) {
	digest := regexp.MustCompile(`^[0-9a-f]{64}$`)
	for _, b := range []pjrt.Bundle{pjrt.CPU, pjrt.CUDA13, pjrt.CUDA12} {
		seen := map[string]bool{}
		if !digest.MatchString(b.PluginSHA256) {
			t.Errorf("%s: the plugin has the checksum %q", b.Name, b.PluginSHA256)
		}
		for _, w := range b.Wheels {
			prefix := strings.ReplaceAll(w.Name, "-", "_") + "-" + w.Version + "-py3-none-manylinux"
			if !digest.MatchString(w.SHA256) || w.Size <= 0 || !strings.HasPrefix(w.File, prefix) || !strings.HasSuffix(w.File, "_x86_64.whl") || seen[w.SHA256] {
				t.Errorf("%s: %+v", b.Name, w)
			}
			seen[w.SHA256] = true
		}
	}
}
