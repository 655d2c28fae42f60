package registry_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rooflab/rooflab/datasets/registry"
)

const (
	first  = "kernel,seconds\nsaxpy,0.25\n"
	second = "kernel,seconds\ngemm,1.5\n"
)

// sets counts the data sets that tests registered: a name is taken once.
var sets atomic.Int64

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// server serves files and counts requests. It registers a data set of the two
// files under a name of the test's own, in a cache and without a folder of the
// user's.
func server(t *testing.T, files map[string]string) (name string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		content, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(content)) // a client that left is the test's concern
	}))
	t.Cleanup(s.Close)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(registry.Env, "")
	name = fmt.Sprintf("set-%d", sets.Add(1))
	registry.Register(registry.Set{Name: name, Page: "https://example.org/set", Files: []registry.File{
		{Name: "one.csv", URL: s.URL + "/one.csv", SHA256: sum(first), Bytes: int64(len(first))},
		{Name: "sub/two.csv", URL: s.URL + "/two.csv", SHA256: sum(second), Bytes: int64(len(second))},
	}})
	return name, requests
}

func content(t *testing.T, dir, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFetchedOnceAndVerified(t *testing.T) {
	files := map[string]string{"/one.csv": first, "/two.csv": second}
	name, requests := server(t, files)
	if _, err := registry.Find(name); !errors.As(err, new(*registry.MissingError)) {
		t.Fatalf("before it is fetched: %v", err)
	}
	p, err := registry.Fetch(context.Background(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if content(t, p.Dir, "one.csv") != first || content(t, p.Dir, "sub/two.csv") != second || p.Own {
		t.Errorf("fetched into %+v", p)
	}
	again, err := registry.Fetch(context.Background(), name, nil)
	if err != nil || again.Dir != p.Dir || requests.Load() != 2 {
		t.Errorf("again: %+v, %v, %d requests", again, err, requests.Load())
	}
	// A file that was damaged since is fetched again, the other one is not.
	if err := os.WriteFile(filepath.Join(p.Dir, "one.csv"), []byte("rubbish"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Fetch(context.Background(), name, nil); err != nil || requests.Load() != 3 || content(t, p.Dir, "one.csv") != first {
		t.Errorf("after damage: %v, %d requests", err, requests.Load())
	}
}

func TestWhatIsNotThePublishedFileIsRefused(t *testing.T) {
	for what, c := range map[string]struct{ one, want string }{
		"another text": {strings.Replace(first, "0.25", "0.26", 1), "is not what was published"},
		"too long":     {first + "more", "is not what was published"},
		"cut":          {first[:5], "is not what was published"},
	} {
		t.Run(what, func(t *testing.T) {
			name, _ := server(t, map[string]string{"/one.csv": c.one, "/two.csv": second})
			_, err := registry.Fetch(context.Background(), name, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "https://example.org/set") {
				t.Errorf("error %v", err)
			}
			if _, err := registry.Find(name); err == nil {
				t.Error("it is found nevertheless")
			}
			left, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "rooflab/datasets", name, "*"))
			if len(left) != 0 {
				t.Errorf("it left %q", left)
			}
		})
	}
	t.Run("not there", func(t *testing.T) {
		name, _ := server(t, nil)
		if _, err := registry.Fetch(context.Background(), name, nil); err == nil || !strings.Contains(err.Error(), "the server says 404") {
			t.Errorf("error %v", err)
		}
	})
}

func TestTheUsersFolderIsLookedAtFirst(t *testing.T) {
	name, requests := server(t, map[string]string{"/one.csv": first, "/two.csv": second})
	own := t.TempDir()
	t.Setenv(registry.Env, own)
	write := func(file, text string) {
		t.Helper()
		path := filepath.Join(own, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(name+"/one.csv", first)
	if _, err := registry.Fetch(context.Background(), name, nil); err == nil || !strings.Contains(err.Error(), "lacks sub/two.csv") {
		t.Errorf("half a data set: %v", err)
	}
	write(name+"/sub/two.csv", second+"mine,3\n")
	p, err := registry.Fetch(context.Background(), name, nil)
	if err != nil || p.Dir != filepath.Join(own, name) || !p.Own || !slices.Equal(p.Differ, []string{"sub/two.csv"}) {
		t.Errorf("a folder with a file of its own: %+v, %v", p, err)
	}
	if requests.Load() != 0 {
		t.Error("the network was asked")
	}
	write("campaign-7/profile.csv", "x")
	if p, err := registry.Find("campaign-7"); err != nil || p.Dir != filepath.Join(own, "campaign-7") {
		t.Errorf("a folder of the user's own: %+v, %v", p, err)
	}
	if got := registry.Own(); !slices.Equal(got, []string{"campaign-7"}) {
		t.Errorf("own folders %q", got)
	}
	for _, bad := range []string{"", "..", "a/b", "/etc", "no-such-set"} {
		if _, err := registry.Find(bad); !errors.As(err, new(*registry.UnknownError)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The catalogue's sums and sizes are those of the files at hand.
func TestTheCatalogueFitsTheFiles(t *testing.T) {
	dir, err := filepath.Abs("../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("the folder shared/ must lie beside the repository: %v", err)
	}
	t.Setenv(registry.Env, dir)
	for _, name := range []string{"deeptune-devmap", "gpuflopbench", "kernel-tuner", "kernel-tuner-hub", "ktt-coulomb", "neusight", "robust-kbench"} {
		p, err := registry.Find(name)
		if err != nil || len(p.Differ) > 0 || p.Dir != filepath.Join(dir, name) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		s, err := registry.Lookup(name)
		if err != nil || s.Licence == "" || s.Citation == "" || s.About == "" || !strings.HasPrefix(s.Page, "https://") {
			t.Errorf("%+v, %v: the licence, the citation, or what it is is missing", s, err)
		}
	}
}
