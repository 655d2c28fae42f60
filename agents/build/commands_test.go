package build_test

import (
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

// commands are what a command runs in a folder with some files.
func commands(t *testing.T, files map[string]string, command ...string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ran, err := build.Commands(t.Context(), open(t), build.Recipe{Sources: dir, Command: command, Products: []string{"p"}, Out: t.TempDir(),
		Limits: sandbox.Limits{Wall: 60 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range ran {
		out = append(out, r.Dir+"$ "+strings.Join(r.Argv, "|"))
	}
	return out
}

// What make does not print, with flags of the environment and of another folder, is
// seen word by word.
func TestTheCommandsThatMakeRunsAreRecorded(t *testing.T) {
	files := map[string]string{
		"Makefile":     "CFLAGS += -O1 '-DNAME=\"a b\"'\np: main.c sub/f.o\n\t@$(CC) $(CFLAGS) -o p main.c sub/f.o\nsub/f.o: sub/f.c\n\t@$(MAKE) -s -C sub CFLAGS=-fno-tree-vectorize f.o\n",
		"sub/Makefile": "f.o: f.c\n\t@$(CC) -O0 $(CFLAGS) -c f.c\n",
		"main.c":       "int f(void);\nint main(void) { return f(); }\n", "sub/f.c": "int f(void) { return 0; }\n",
	}
	want := []string{"sub$ cc|-O0|-fno-tree-vectorize|-c|f.c", `$ cc|-g|-O1|-DNAME="a b"|-o|p|main.c|sub/f.o`}
	if got := commands(t, files, "sh", "-c", "CFLAGS=-g make -s"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A compiler by its path is known where its call is printed.
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Fatal("gcc is needed (Debian: apt-get install gcc)")
	}
	files = map[string]string{"Makefile": "p: main.c\n\t" + gcc + " -Os -o p main.c\n", "main.c": "int main(void) { return 0; }\n"}
	if got, want := commands(t, files, "make"), []string{"$ " + gcc + "|-Os|-o|p|main.c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// One that does not build has run what it has run; one that runs nothing, nothing.
	files["main.c"] = "int main(void) { return x; }\n"
	files["Makefile"] = "p: main.c\n\t@gcc -O2 -o p main.c\n"
	if got, want := commands(t, files, "make"), []string{"$ gcc|-O2|-o|p|main.c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := commands(t, files, "true"); len(got) != 0 {
		t.Errorf("true has run %q", got)
	}
}
