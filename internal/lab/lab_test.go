package lab_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/internal/lab"
)

// script puts a command into dir.
func script(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// bare is a machine with only the commands put into the returned folder.
func bare(t *testing.T) (bin, venv string) {
	t.Helper()
	bin = t.TempDir()
	data := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("XDG_DATA_HOME", data)
	return bin, filepath.Join(data, "rooflab", "venv")
}

func TestFindTakesTheOneOnThePath(t *testing.T) {
	bin, _ := bare(t)
	script(t, bin, "jupyter-lab", "echo 4.2.0")
	l, why, ok := lab.Find(context.Background())
	if !ok || l.Version != "4.2.0" || l.Bin != filepath.Join(bin, "jupyter-lab") || l.Prefix != "" {
		t.Errorf("Find = %+v, %q, %v", l, why, ok)
	}
}

func TestFindPassesOverOneThatDoesNotRun(t *testing.T) {
	bin, _ := bare(t)
	script(t, bin, "jupyter-lab", "echo pyenv: command not found >&2; exit 127")
	if l, why, ok := lab.Find(context.Background()); ok || !strings.Contains(why, "does not run") || !strings.Contains(why, "pyenv: command not found") {
		t.Errorf("Find = %+v, %q, %v", l, why, ok)
	}
}

// fakePython makes virtual environments in which pip runs the given script.
func fakePython(t *testing.T, bin, version, pip string) {
	t.Helper()
	script(t, bin, "python3", `
case "$1" in
-c) echo "`+version+`" ;;
-m) shift; test "$1" = venv || exit 9; shift; test "$1" = --clear || exit 9
    /bin/mkdir -p "$2/bin"
    /bin/cat > "$2/bin/python" <<'END'
#!/bin/sh
here="${0%/bin/python}"
case "$3" in
--version) exit 0 ;;
install) echo "$*" >> "$here/log"
`+pip+`
;;
*) exit 9 ;;
esac
END
    /bin/chmod +x "$2/bin/python" ;;
*) exit 9 ;;
esac`)
}

const installs = `printf '#!/bin/sh\necho 4.6.6\n' > "$here/bin/jupyter-lab"; /bin/chmod +x "$here/bin/jupyter-lab"`

func TestMakeInstallsIntoItsOwnEnvironmentAndIsFoundThen(t *testing.T) {
	bin, venv := bare(t)
	fakePython(t, bin, "3 11", installs)
	if _, why, ok := lab.Find(context.Background()); ok || !strings.Contains(why, venv) {
		t.Fatalf("found one before there was any: %s", why)
	}
	var told bytes.Buffer
	l, err := lab.Make(context.Background(), &told)
	if err != nil {
		t.Fatal(err)
	}
	if l.Prefix != venv || l.Version != "4.6.6" {
		t.Errorf("Make = %+v", l)
	}
	if !strings.Contains(told.String(), venv) || !strings.Contains(told.String(), "jupyterlab==") {
		t.Errorf("it does not say what it installs where: %s", &told)
	}
	log, err := os.ReadFile(filepath.Join(venv, "log"))
	if err != nil || strings.Count(string(log), "\n") != 1 || !strings.Contains(string(log), "jupyterlab==") || !strings.Contains(string(log), "-c "+venv) {
		t.Errorf("pip ran with %q, %v: want one run, pinned, with constraints", log, err)
	}
	if again, why, ok := lab.Find(context.Background()); !ok || again != l {
		t.Errorf("not found afterwards: %+v, %s", again, why)
	}
	// Other pins than were installed: not complete any more.
	if err := os.WriteFile(filepath.Join(venv, "rooflab-installed.txt"), []byte("older pins"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := lab.Find(context.Background()); ok {
		t.Error("an environment of older pins counts as complete")
	}
}

func TestMakeLoosensPinsThatThisPythonCannotHave(t *testing.T) {
	bin, venv := bare(t)
	fakePython(t, bin, "3 10", `case "$*" in *" -c "*) echo ERROR: ResolutionImpossible; exit 1 ;; esac; `+installs)
	var told bytes.Buffer
	if _, err := lab.Make(context.Background(), &told); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(told.String(), "pinning only jupyterlab==") {
		t.Errorf("it does not say that it loosened the pins: %s", &told)
	}
	log, _ := os.ReadFile(filepath.Join(venv, "log"))
	if strings.Count(string(log), "\n") != 2 {
		t.Errorf("pip ran with %q, want two runs", log)
	}
}

func TestMakeWithoutPyPISaysSo(t *testing.T) {
	bin, venv := bare(t)
	// What pip 23.2.1 says without a network: with constraints it takes it for a conflict.
	fakePython(t, bin, "3 12", `case "$*" in *" -c "*) echo "ERROR: ResolutionImpossible: for help visit ..." ;;
*) echo "ERROR: No matching distribution found for jupyterlab" ;; esac; exit 1`)
	var told bytes.Buffer
	_, err := lab.Make(context.Background(), &told)
	if strings.Contains(told.String(), "this Python") {
		t.Errorf("it blames Python: %s", &told)
	}
	if !errors.Is(err, lab.ErrNoPyPI) || !strings.Contains(err.Error(), "No matching distribution") {
		t.Errorf("err = %v", err)
	}
	if _, _, ok := lab.Find(context.Background()); ok {
		t.Error("a half-made environment counts as complete")
	}
	// The next try, with the network back, completes it.
	fakePython(t, bin, "3 12", installs)
	if err := os.RemoveAll(filepath.Join(venv, "bin")); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Make(context.Background(), &bytes.Buffer{}); err != nil {
		t.Errorf("second try: %v", err)
	}
}

func TestAnOldOrMissingPythonIsNamed(t *testing.T) {
	bin, _ := bare(t)
	if _, err := lab.FindPython(context.Background()); err == nil || !strings.Contains(err.Error(), "none on the PATH") || !strings.Contains(err.Error(), "python3-venv") {
		t.Errorf("no Python: %v", err)
	}
	script(t, bin, "python3", "echo 3 8")
	script(t, bin, "python", "exit 1")
	_, err := lab.FindPython(context.Background())
	if err == nil || !strings.Contains(err.Error(), "python3 is 3.8") || !strings.Contains(err.Error(), "python does not run") {
		t.Errorf("an old Python: %v", err)
	}
	script(t, bin, "python3.12", "echo 3 12")
	if p, err := lab.FindPython(context.Background()); err != nil || p.Minor != 12 {
		t.Errorf("a fitting Python of another name: %+v, %v", p, err)
	}
}

func TestArgsServeLoopbackOnly(t *testing.T) {
	args := lab.Args("/nb", false, 9000, true, []string{"--debug"})
	for _, want := range []string{"--ServerApp.ip=127.0.0.1", "--ServerApp.root_dir=/nb", "--ServerApp.port=9000", "--no-browser", "--allow-root"} {
		if !slices.Contains(args, want) {
			t.Errorf("%q is missing in %q", want, args)
		}
	}
	if args[len(args)-1] != "--debug" {
		t.Errorf("the user's own flags come last, so that they win: %q", args)
	}
	args = lab.Args("/nb", true, 0, false, nil)
	for _, unwanted := range []string{"--no-browser", "--allow-root", "--ServerApp.port=0"} {
		if slices.Contains(args, unwanted) {
			t.Errorf("%q in %q", unwanted, args)
		}
	}
}

func TestEveryConstraintIsAnExactVersion(t *testing.T) {
	n := 0
	for line := range strings.Lines(lab.Constraints) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, version, ok := strings.Cut(line, "=="); !ok || name == "" || version == "" {
			t.Errorf("%q pins no exact version", line)
		}
		n++
	}
	if n < 50 || !strings.Contains(lab.Constraints, "\njupyterlab==") {
		t.Errorf("%d pins: JupyterLab needs more than that", n)
	}
}
