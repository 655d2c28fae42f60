package jupyter_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const root = "../.."

// TestJupyterKernelTest runs testdata/kernel_test.py, Jupyter's own clients,
// against the binary as installed by `rooflab install`.
func TestJupyterKernelTest(t *testing.T) {
	python := python(t)
	prefix := t.TempDir()
	binary := filepath.Join(prefix, "bin", "rooflab")
	// The flags of the Makefile: cells are built the same way.
	command(t, nil, "go", "build", "-C", root, "-ldflags=-s -w", "-o", binary, "./cmd/rooflab")
	command(t, nil, binary, "install", "--prefix", prefix)
	script, err := filepath.Abs("testdata/kernel_test.py")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"JUPYTER_PATH=" + filepath.Join(prefix, "share", "jupyter"),
		"JUPYTER_RUNTIME_DIR=" + filepath.Join(prefix, "runtime"),
		"ROOFLAB_HISTORY=" + filepath.Join(prefix, "history.jsonl"),
		"PYTHONDONTWRITEBYTECODE=1",
		"TMPDIR=" + t.TempDir(), // connection files of killed clients stay behind
	}
	out := command(t, env, python, script)
	t.Log(out)
	if !strings.Contains(out, "\nOK\n") {
		t.Error("unittest does not say OK")
	}
}

func TestInstallAndUninstallOfTheBinary(t *testing.T) {
	prefix := t.TempDir()
	binary := filepath.Join(prefix, "rooflab")
	command(t, nil, "go", "build", "-C", root, "-ldflags=-s -w", "-o", binary, "./cmd/rooflab")
	env := []string{"JUPYTER_DATA_DIR=" + filepath.Join(prefix, "data")}
	for _, c := range []struct {
		flags []string
		data  string
	}{
		{[]string{"--user", "--gonb"}, filepath.Join(prefix, "data")},
		{[]string{"--prefix", prefix, "--gonb"}, filepath.Join(prefix, "share", "jupyter")},
	} {
		command(t, env, binary, append([]string{"install"}, c.flags...)...)
		for name, display := range map[string]string{"rooflab": "Go (rooflab)", "gonb": "Go (gonb)"} {
			data, err := os.ReadFile(filepath.Join(c.data, "kernels", name, "kernel.json"))
			if err != nil {
				t.Fatal(err)
			}
			var spec struct {
				Argv    []string `json:"argv"`
				Display string   `json:"display_name"`
			}
			if err := json.Unmarshal(data, &spec); err != nil {
				t.Fatal(err)
			}
			if spec.Display != display {
				t.Errorf("%s is called %q", name, spec.Display)
			}
			if info, err := os.Stat(spec.Argv[0]); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s starts %s, which is no program: %v", name, spec.Argv[0], err)
			}
		}
		command(t, env, binary, append([]string{"uninstall"}, c.flags...)...)
		if left, err := os.ReadDir(filepath.Join(c.data, "kernels")); err != nil || len(left) != 0 {
			t.Errorf("after uninstall: %v, %v", left, err)
		}
	}
}

// python is a Python that has what the tests need: that of the repository's
// .venv, else of a virtual environment in the cache directory, made once for
// each content of requirements.txt.
func python(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".venv", ".ready")); err == nil {
		path, err := filepath.Abs(filepath.Join(root, ".venv", "bin", "python"))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	python3, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("this test drives the kernel with Jupyter's own clients and needs python3: apt-get install python3 python3-venv")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	for _, file := range []string{"testdata/requirements.txt", filepath.Join(root, "internal/lab/constraints.txt")} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		hash.Write(data)
	}
	dir := filepath.Join(cache, "rooflab", "test-venv-"+hex.EncodeToString(hash.Sum(nil))[:12])
	ready, path := filepath.Join(dir, "ready"), filepath.Join(dir, "bin", "python")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(dir, "lock")) // packages' tests run side by side
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ready); !errors.Is(err, fs.ErrNotExist) {
		return path
	}
	t.Logf("making %s", dir)
	command(t, nil, python3, "-m", "venv", dir)
	command(t, nil, path, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "testdata/requirements.txt")
	if err := os.WriteFile(ready, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// command runs a program to its end and returns what it printed.
func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out.Bytes())
	}
	return out.String()
}
