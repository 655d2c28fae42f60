package pjrt_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rooflab/rooflab/modeling/backend/pjrt"
)

var ctx = context.Background()

func hash(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// pack is an archive of our own in the form of a wheel: name, content, name, ...
func pack(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func wheelOf(name string, raw []byte) pjrt.Wheel {
	return pjrt.Wheel{Name: name, Version: "1", File: name + "-1-py3-none-any.whl", SHA256: hash(raw), Size: int64(len(raw))}
}

const plugin = "the plugin, long enough to be cut in two"

// cpu is a bundle of one wheel, and the wheel.
func cpu(t *testing.T) (pjrt.Bundle, []byte) {
	raw := pack(t, "pkg/pjrt_c_api_cpu_plugin.so", plugin)
	return pjrt.Bundle{Name: "cpu", Platform: runtime.GOOS + "/" + runtime.GOARCH, Plugin: "pkg/pjrt_c_api_cpu_plugin.so",
		PluginSHA256: hash([]byte(plugin)), Wheels: []pjrt.Wheel{wheelOf("x", raw)}}, raw
}

// index is a package index (PEP 503) that serves files, and remembers what it
// was asked for. Serve, when set, answers for files instead.
type index struct {
	*httptest.Server
	files map[string][]byte // by name
	serve func(w http.ResponseWriter, r *http.Request, content []byte)
	mu    sync.Mutex
	asked []string // "name", or "file bytes=7-"
}

func newIndex(t *testing.T, wheels map[string][]byte) *index {
	x := &index{files: wheels}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if name, ok := strings.CutPrefix(r.URL.Path, "/simple/"); ok {
			name = strings.TrimSuffix(name, "/")
			x.asked = append(x.asked, name)
			fmt.Fprintf(w, `<!DOCTYPE html><a href="../../files/%s-0-py3-none-any.whl">another version</a>`, name)
			for file := range x.files {
				if strings.HasPrefix(file, name+"-1") {
					fmt.Fprintf(w, "\n<A class=x HREF='../../files/%s#sha256=0000'>%s</a>", file, file)
				}
			}
			return
		}
		file := filepath.Base(r.URL.Path)
		x.asked = append(x.asked, strings.TrimSpace(file+" "+r.Header.Get("Range")))
		if x.serve != nil {
			x.serve(w, r, x.files[file])
			return
		}
		http.ServeContent(w, r, file, time.Time{}, bytes.NewReader(x.files[file]))
	}))
	t.Cleanup(x.Close)
	return x
}

func (x *index) options() pjrt.Options { return pjrt.Options{Index: x.URL + "/simple"} }

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

func content(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestInstallFromAnIndexAndFromAFile(t *testing.T) {
	b, raw := cpu(t)
	x := newIndex(t, map[string][]byte{b.Wheels[0].File: raw})
	file := filepath.Join(t.TempDir(), "any name")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]pjrt.Options{"index": x.options(), "file": {Files: []string{file}}} {
		dir := filepath.Join(t.TempDir(), "a", "b")
		verified := 0
		opt.Verify = func(_ context.Context, p string) error {
			verified++
			if got := content(t, p); got != plugin {
				t.Errorf("%s: verifying %q", name, got)
			}
			return nil
		}
		for range 2 { // the second time it is there
			path, err := pjrt.Install(ctx, b, dir, opt)
			if err != nil {
				t.Fatal(err)
			}
			if path != b.Place(dir) || content(t, path) != plugin || names(t, dir) != "pjrt_c_api_cpu_plugin.so" {
				t.Errorf("%s: installed %s; directory holds %s", name, path, names(t, dir))
			}
		}
		if verified != 1 {
			t.Errorf("%s: verified %d times", name, verified)
		}
	}
	if want := []string{"x", "x-1-py3-none-any.whl"}; !slices.Equal(x.asked, want) {
		t.Errorf("the index was asked for %q, want %q", x.asked, want)
	}
}

func TestAFailedInstallLeavesTheOldPlugin(t *testing.T) {
	b, raw := cpu(t)
	file := filepath.Join(t.TempDir(), "x.whl")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	given := pjrt.Options{Files: []string{file}}
	change := func(f func(*pjrt.Bundle)) pjrt.Bundle {
		c := b
		c.Wheels = slices.Clone(b.Wheels)
		f(&c)
		return c
	}
	nothing := newIndex(t, nil)
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	bomb := pack(t, "pkg/pjrt_c_api_cpu_plugin.so", strings.Repeat("\x00", 64<<20))
	bombFile := filepath.Join(t.TempDir(), "bomb.whl")
	if err := os.WriteFile(bombFile, bomb, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		b    pjrt.Bundle
		opt  pjrt.Options
		want string
	}{
		{"another version", change(func(b *pjrt.Bundle) { b.Wheels[0].SHA256 = hash(nil) }), given, "damaged or another version"},
		{"another plugin", change(func(b *pjrt.Bundle) { b.PluginSHA256 = hash(nil) }), given, "in the wheel has sha256"},
		{"no plugin", change(func(b *pjrt.Bundle) { b.Plugin = "pkg/none.so" }), given, "holds no pkg/none.so"},
		{"another platform", change(func(b *pjrt.Bundle) { b.Platform = "plan9/mips" }), given, "are for plan9/mips"},
		{"does not work", b, pjrt.Options{Files: given.Files, Verify: func(context.Context, string) error { return errors.New("no AVX") }}, "no AVX"},
		{"no file", b, pjrt.Options{Files: []string{file + "x"}}, "no such file"},
		{"no network", b, pjrt.Options{Index: dead.URL}, "connection refused; on a machine with network `pip download --no-deps x==1` gets the wheel, and `rooflab xla install --wheel FILE`"},
		{"no such package", b, pjrt.Options{Index: gone.URL}, "the index answers 404"},
		{"withdrawn", b, nothing.options(), "does not list x-1-py3-none-any.whl"},
		{"no index", b, pjrt.Options{Index: "ftp://x y/"}, "is no package index"},
		{"a zip bomb", change(func(b *pjrt.Bundle) { b.Wheels[0] = wheelOf("x", bomb) }), pjrt.Options{Files: []string{bombFile}}, "unpacks to more than 20 times its size"},
		{"too large for the disk", change(func(b *pjrt.Bundle) { b.Wheels[0].Size = 1 << 60 }), nothing.options(), "free, and about"},
	} {
		dir := t.TempDir()
		target := filepath.Join(dir, "pjrt_c_api_cpu_plugin.so")
		if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := pjrt.Install(ctx, c.b, dir, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := content(t, target); got != "old" {
			t.Errorf("%s: the old plugin is now %q", c.name, got)
		}
		if left := strings.TrimSpace(strings.ReplaceAll(names(t, dir), ".downloads", "")); left != "pjrt_c_api_cpu_plugin.so" {
			t.Errorf("%s: the directory holds %s", c.name, left)
		}
	}
}

// cut serves n bytes of what is asked for and breaks the connection.
func cut(n int) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, r *http.Request, content []byte) {
		from := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
			w.WriteHeader(http.StatusPartialContent)
		} else {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		}
		rest := content[from:]
		_, _ = w.Write(rest[:min(n, len(rest))])
		if n < len(rest) {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

func TestADownloadThatBreaksOffGoesOn(t *testing.T) {
	b, raw := cpu(t)
	x := newIndex(t, map[string][]byte{b.Wheels[0].File: raw})
	x.serve = cut(100)
	if _, err := pjrt.Install(ctx, b, t.TempDir(), x.options()); err != nil {
		t.Fatal(err)
	}
	var want []string
	for at := 0; at < len(raw); at += 100 {
		want = append(want, strings.TrimSuffix(fmt.Sprintf("%s bytes=%d-", b.Wheels[0].File, at), " bytes=0-"))
	}
	if !slices.Equal(x.asked[1:], want) {
		t.Errorf("asked for %q, want %q", x.asked[1:], want)
	}
}

// What a first run has downloaded when the server dies is not downloaded again.
func TestTheNextInstallGoesOn(t *testing.T) {
	b, raw := cpu(t)
	x := newIndex(t, map[string][]byte{b.Wheels[0].File: raw})
	served := false
	x.serve = func(w http.ResponseWriter, r *http.Request, content []byte) {
		if served {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		served = true
		cut(90)(w, r, content)
	}
	dir := t.TempDir()
	_, err := pjrt.Install(ctx, b, dir, x.options())
	if err == nil || !strings.Contains(err.Error(), "503") {
		t.Fatal(err)
	}
	if got := pjrt.Pending(dir, b.Wheels[0]); got != int64(len(raw))-90 {
		t.Errorf("pending %d bytes of %d", got, len(raw))
	}
	x.serve, x.asked = nil, nil
	if _, err := pjrt.Install(ctx, b, dir, x.options()); err != nil {
		t.Fatal(err)
	}
	if want := b.Wheels[0].File + " bytes=90-"; x.asked[1] != want {
		t.Errorf("asked for %q, want %q", x.asked[1], want)
	}
	if names(t, dir) != "pjrt_c_api_cpu_plugin.so" {
		t.Errorf("the directory holds %s", names(t, dir))
	}
}

func TestServersThatMisbehave(t *testing.T) {
	b, raw := cpu(t)
	good := func(w http.ResponseWriter, r *http.Request, content []byte) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
	for _, c := range []struct {
		name  string
		part  []byte // what is there of an earlier download
		serve func(w http.ResponseWriter, r *http.Request, content []byte)
		want  string // error; "" when it must succeed
	}{
		{"another content of the same length", nil, func(w http.ResponseWriter, _ *http.Request, content []byte) {
			_, _ = w.Write(bytes.Repeat([]byte("x"), len(content)))
		}, "it was changed or damaged on the way"},
		{"too short", nil, func(w http.ResponseWriter, _ *http.Request, content []byte) {
			_, _ = w.Write(content[:20])
		}, "what came (20 bytes) has sha256"},
		{"without end", nil, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "sends more than the"},
		{"cannot continue", raw[:50], func(w http.ResponseWriter, _ *http.Request, content []byte) { _, _ = w.Write(content) }, ""},
		{"continues elsewhere", raw[:50], func(w http.ResponseWriter, _ *http.Request, content []byte) {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 60-%d/%d", len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(content[60:])
		}, "asked for bytes from 50"},
		{"a part of something else", []byte("something else"), good, "changed or damaged"},
		{"a part that is longer", append(slices.Clone(raw), 1, 2), good, "does not belong to the file"},
		{"a part that is the whole", raw, good, ""},
		{"says nothing", nil, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "nothing came for 300ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newIndex(t, map[string][]byte{b.Wheels[0].File: raw})
			x.serve = c.serve
			dir := t.TempDir()
			part := filepath.Join(dir, ".downloads", b.Wheels[0].File+".part")
			if c.part != nil {
				if err := errors.Join(os.Mkdir(filepath.Dir(part), 0o755), os.WriteFile(part, c.part, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			opt := x.options()
			opt.Stall = 300 * time.Millisecond
			_, err := pjrt.Install(ctx, b, dir, opt)
			if c.want == "" {
				if err != nil || content(t, b.Place(dir)) != plugin {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			// Whatever happened, a server that behaves ends it.
			x.mu.Lock()
			x.serve = nil
			x.mu.Unlock()
			if _, err := pjrt.Install(ctx, b, dir, x.options()); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestAnInterruptKeepsWhatCame(t *testing.T) {
	b, raw := cpu(t)
	x := newIndex(t, map[string][]byte{b.Wheels[0].File: raw})
	ctx, cancel := context.WithCancel(ctx)
	dir := t.TempDir()
	part := filepath.Join(dir, ".downloads", b.Wheels[0].File+".part")
	x.serve = func(w http.ResponseWriter, r *http.Request, content []byte) {
		_, _ = w.Write(content[:40])
		w.(http.Flusher).Flush()
		for { // until the client has written it
			if i, err := os.Stat(part); err == nil && i.Size() == 40 {
				break
			}
			runtime.Gosched()
		}
		cancel()
		<-r.Context().Done()
	}
	_, err := pjrt.Install(ctx, b, dir, x.options())
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "run the command again") {
		t.Errorf("%v", err)
	}
	if got := pjrt.Pending(dir, b.Wheels[0]); got != int64(len(raw))-40 {
		t.Errorf("pending %d of %d", got, len(raw))
	}
}

func TestTwoInstallationsDoNotMix(t *testing.T) {
	b, raw := cpu(t)
	x := newIndex(t, map[string][]byte{b.Wheels[0].File: raw})
	dir := t.TempDir()
	opt := x.options()
	var second error
	opt.Verify = func(context.Context, string) error {
		_, second = pjrt.Install(ctx, b, dir, x.options())
		return nil
	}
	if _, err := pjrt.Install(ctx, b, dir, opt); err != nil {
		t.Fatal(err)
	}
	if second == nil || !strings.Contains(second.Error(), "another installation") {
		t.Errorf("the second: %v", second)
	}
}

func TestIndexOfTheUser(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PIP_INDEX_URL", "")
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	conf := filepath.Join(dir, "other.conf")
	t.Setenv("PIP_CONFIG_FILE", conf)
	write := func(file, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(conf, "[install]\nindex-url = https://wrong/\n")
	write(filepath.Join(dir, "pip", "pip.conf"), "[global]\ntimeout = 60\nindex-url = https://mirror/simple\n")
	if got := pjrt.Index(); got != "https://mirror/simple" {
		t.Errorf("from pip.conf: %s", got)
	}
	t.Setenv("PIP_INDEX_URL", "https://own/simple")
	if got := pjrt.Index(); got != "https://own/simple" {
		t.Errorf("from the environment: %s", got)
	}
}
