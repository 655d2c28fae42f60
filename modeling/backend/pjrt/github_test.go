package pjrt_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	released "github.com/gomlx/go-xla/pjrt"

	"github.com/rooflab/rooflab/modeling/backend/pjrt"
)

func tarball(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// github serves one release with one archive and the digest that it says to have.
func github(t *testing.T, archive []byte, digest string) *httptest.Server {
	name := "pjrt_cpu_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/repos/gomlx/pjrt-cpu-binaries/releases/tags/v1":
			fmt.Fprintf(w, `{"tag_name": "v1", "assets": [{"name": "other.zip", "size": 1}, {"name": %q, "size": %d, "digest": %s, "browser_download_url": %q}]}`,
				name, len(archive), digest, s.URL+"/file")
		case "/repos/gomlx/pjrt-cpu-binaries/releases/tags/bare":
			fmt.Fprint(w, `{"assets": [{"name": "other.zip", "size": 1}]}`)
		case "/file":
			_, _ = w.Write(archive)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAReleaseIsInstalledByAChecksumOrNotAtAll(t *testing.T) {
	archive := tarball(t, "README", "text", "lib/pjrt_c_api_cpu_v1_plugin.so", plugin)
	is := hash(archive)
	quoted := func(digest string) string { return `"sha256:` + digest + `"` }
	other := hash(nil)
	for _, c := range []struct {
		name, tag string
		archive   []byte
		recorded  string // by GitHub
		given     string // by the user
		want      string // error, or what is said
		fails     bool
	}{
		{"GitHub's record", "v1", archive, quoted(is), "", "by GitHub's own record: that finds damage, not a release that was exchanged", false},
		{"the user's pin", "v1", archive, "null", is, "installed", false},
		{"the user's pin in capitals", "v1", archive, quoted(is), strings.ToUpper(is), "installed", false},
		{"no checksum", "v1", archive, "null", "", "what cannot be checked is not installed: give the one that you trust as --sha256", true},
		{"a checksum of another kind", "v1", archive, `"md5:abc"`, "", "not installed", true},
		{"another file than the user's", "v1", archive, quoted(is), other, "nothing was downloaded", true},
		{"another file than GitHub's", "v1", archive, quoted(other), "", "changed or damaged", true},
		{"another file, unrecorded", "v1", archive, "null", other, "changed or damaged", true},
		{"no such release", "v2", archive, "null", is, "404", true},
		{"nothing for this platform", "bare", archive, "null", is, "it has: other.zip", true},
		{"no plugin in it", "v1", tarball(t, "README", "text"), "null", hash(tarball(t, "README", "text")), "holds no pjrt_c_api_cpu_", true},
		{"no archive", "v1", []byte("text"), "null", hash([]byte("text")), "opening", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := github(t, c.archive, c.recorded)
			dir := t.TempDir()
			var log bytes.Buffer
			path, err := pjrt.InstallRelease(ctx, c.tag, c.given, dir, pjrt.Options{GitHub: s.URL, Log: &log})
			if c.fails {
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(names(t, dir), "plugin") {
					t.Errorf("%v; %s", err, names(t, dir))
				}
				return
			}
			if err != nil || filepath.Dir(path) != dir || content(t, path) != plugin || !strings.Contains(log.String(), c.want) || strings.Contains(names(t, dir), " ") {
				t.Errorf("%v; %s; %s", err, names(t, dir), &log)
			}
		})
	}
	bomb := tarball(t, "pjrt_c_api_cpu_v1_plugin.so", strings.Repeat("\x00", 64<<20))
	s := github(t, bomb, quoted(hash(bomb)))
	if _, err := pjrt.InstallRelease(ctx, "v1", "", t.TempDir(), pjrt.Options{GitHub: s.URL}); err == nil {
		t.Error("a bomb is unpacked")
	}
	s.Close()
	if _, err := pjrt.InstallRelease(ctx, "v1", "", t.TempDir(), pjrt.Options{GitHub: s.URL}); err == nil || !strings.Contains(err.Error(), "package index") {
		t.Errorf("without network: %v", err)
	}
}

func TestTheReleaseIsTheOneOfGoXLA(t *testing.T) {
	if pjrt.Release != released.DefaultCPUVersion {
		t.Errorf("%s, go-xla has %s", pjrt.Release, released.DefaultCPUVersion)
	}
}
