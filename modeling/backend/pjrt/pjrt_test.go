package pjrt_test

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/backend/pjrt"
)

func hash(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// wheel writes a wheel of our own with a small plugin inside.
func wheel(t *testing.T) (pjrt.Wheel, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.whl")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("pkg/pjrt_c_api_cpu_plugin.so")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("plugin")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return pjrt.Wheel{Name: "x", Version: "1", SHA256: hash(raw), Plugin: "pkg/pjrt_c_api_cpu_plugin.so", PluginSHA256: hash([]byte("plugin")),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}, file
}

func names(t *testing.T, dir string) string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ns []string
	for _, e := range es {
		ns = append(ns, e.Name())
	}
	return strings.Join(ns, " ")
}

func TestInstallFromAFile(t *testing.T) {
	w, file := wheel(t)
	dir := filepath.Join(t.TempDir(), "a", "b")
	verified := 0
	opt := pjrt.Options{File: file, Verify: func(_ context.Context, p string) error {
		verified++
		if b, err := os.ReadFile(p); err != nil || string(b) != "plugin" {
			t.Errorf("verifying %q, %v", b, err)
		}
		return nil
	}}
	for range 2 { // the second time it is there
		path, err := pjrt.Install(context.Background(), w, dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "plugin" || names(t, dir) != "pjrt_c_api_cpu_plugin.so" {
			t.Errorf("installed %q, %v; directory holds %s", b, err, names(t, dir))
		}
	}
	if verified != 1 {
		t.Errorf("verified %d times", verified)
	}
}

func TestAFailedInstallLeavesTheOldPlugin(t *testing.T) {
	w, file := wheel(t)
	other, old := w, w
	other.Platform = "plan9/mips"
	old.SHA256 = hash(nil)
	inside := w
	inside.PluginSHA256 = hash(nil)
	absent := w
	absent.Plugin = "pkg/none.so"
	for _, c := range []struct {
		name string
		w    pjrt.Wheel
		opt  pjrt.Options
		want string
	}{
		{"another version", old, pjrt.Options{File: file}, "damaged or another version"},
		{"another plugin", inside, pjrt.Options{File: file}, "in the wheel has sha256"},
		{"no plugin", absent, pjrt.Options{File: file}, "holds no pkg/none.so"},
		{"another platform", other, pjrt.Options{File: file}, "is for plan9/mips"},
		{"does not work", w, pjrt.Options{File: file, Verify: func(context.Context, string) error { return errors.New("no AVX") }}, "no AVX"},
		{"no file", w, pjrt.Options{File: file + "x"}, "no such file"},
		{"no python", w, pjrt.Options{Python: "no-such-python"}, "--wheel FILE"},
		{"pip fails", w, pjrt.Options{Python: "false"}, "pip failed"},
	} {
		dir := t.TempDir()
		target := filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
		if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := pjrt.Install(context.Background(), c.w, dir, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if b, _ := os.ReadFile(target); string(b) != "old" || names(t, dir) != "pjrt_c_api_cpu_plugin.so" {
			t.Errorf("%s: the old plugin is now %q, the directory holds %s", c.name, b, names(t, dir))
		}
	}
}
