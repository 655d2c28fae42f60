package target_test

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/target"
)

const heat = `#include "heat.h"

void step(const double *a, double *b, int n)
{
	for (int i = 1; i < n - 1; i++)
		b[i] = 0.5 * (a[i - 1] + a[i + 1]);
}

static int twice(int n) { return 2 * n; }
`

// load writes a description beside its sources and loads it.
func load(t *testing.T, text string) (*target.Target, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"heat.c": heat, "main.c": "int main(void) { return 0; }\n", "heat.h": "void step(const double *, double *, int);\n", "zero.c": "a\x00", "weights.txt": "1\n", "reference.py": "", "target.toml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.c")); err != nil {
		t.Fatal(err)
	}
	return target.Load(filepath.Join(dir, "target.toml"))
}

// documented is the description in the package's comment.
func documented(t *testing.T) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "target.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for l := range strings.SplitSeq(f.Doc.Text(), "\n") {
		if code, ok := strings.CutPrefix(l, "\t"); ok || l == "" {
			out = append(out, code)
		} else {
			out = append(out, "# "+l)
		}
	}
	return strings.Join(out, "\n")
}

func TestTheDocumentedDescriptionLoads(t *testing.T) {
	got, err := load(t, documented(t))
	if err != nil {
		t.Fatal(err)
	}
	e9, e12, tokens, money := 1e-9, 1e-12, int64(200000), 1.5
	want := &target.Target{
		Name: "heat", Language: target.C,
		Files: target.Files{Editable: []string{"heat.c"}, ReadOnly: []string{"main.c", "heat.h"}},
		Build: target.Build{Commands: []target.Command{{"cc", "-O2", "-fopenmp", "-o", "heat", "main.c", "heat.c", "-lm"}}, Products: []string{"heat"}, Timeout: target.Duration(2 * time.Minute)},
		Inputs: target.Inputs{Generate: target.Command{"./heat", "--make", "{size}", "--seed", "{seed}", "--to", "input.bin"}, PerRun: 3, Sizes: []string{"512"}, Other: []string{"64", "100", "2000"},
			Drawn: &target.Drawn{From: "16", To: "2000", Multiple: 1, Count: 3}},
		Run:       target.Run{Command: target.Command{"./heat", "input.bin", "out.bin"}, Files: []string{"weights.txt"}, Environment: map[string]string{"OMP_NUM_THREADS": "2"}, Cache: []string{"cache"}, Timeout: target.Duration(time.Minute)},
		Reference: &target.Reference{Command: target.Command{"python3", "reference.py", "input.bin", "out.bin"}, Files: []string{"reference.py"}, Timeout: target.Duration(time.Minute)},
		Outputs: []target.Output{{Stdout: true, Format: target.FormatText, Ignore: []string{"^took "}},
			{File: "out.bin", Format: target.FormatFloat64, Tolerance: &target.Tolerance{Relative: &e9, Absolute: &e12}}},
		Profile: &target.Profile{Command: target.Command{"ncu", "--set", "full", "-o", "{profile}", "./heat", "input.bin", "out.bin"}, Import: "ncu-rep", Size: "128", Timeout: target.Duration(10 * time.Minute)},
		Hot:     []target.Region{{File: "heat.c", Function: "step", Kernel: "step"}},
		Measure: target.Measure{Metric: target.Time, Repeats: 24, Alpha: 0.05, MinEffect: 0.03},
		Search:  target.Search{Strategy: "beam:3", Prefer: "edp"},
		Budget:  target.Budget{Time: target.Duration(10 * time.Minute), Rounds: 8, Tokens: &tokens, Money: &money},
		Sandbox: target.Sandbox{Memory: 2 << 30, CPUTime: target.Duration(2 * time.Minute), Processes: 64, Disk: 256 << 20, Print: 16 << 20, Read: []string{"/opt/rocm"}, GPU: true},
		Path:    got.Path, Dir: filepath.Dir(got.Path),
	}
	sources := got.Sources()
	if wantSources := []edit.Source{{Path: "heat.c", Text: heat, Editable: []edit.Range{{Start: 3, End: 7}}}, {Path: "main.c", Text: "int main(void) { return 0; }\n"},
		{Path: "heat.h", Text: "void step(const double *, double *, int);\n"}}; !reflect.DeepEqual(sources, wantSources) {
		t.Errorf("sources %+v", sources)
	}
	if k := got.Kernels(); !reflect.DeepEqual(k, []string{"step"}) {
		t.Errorf("kernels %q", k)
	}
	// The texts of the sources are compared above.
	v, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "sources" && !reflect.DeepEqual(v.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s is\n%+v, want\n%+v", name, v.Field(i).Interface(), w.Field(i).Interface())
		}
	}
}

// least is the shortest description.
const least = `name = "heat"
language = "c"
[sources]
editable = ["heat.c"]
[build]
commands = [["cc", "-o", "heat", "heat.c"]]
products = ["heat"]
[run]
command = ["./heat", "{seed}"]
[[output]]
stdout = true
`

func TestTheShortestDescriptionHasDefaults(t *testing.T) {
	got, err := load(t, least)
	if err != nil {
		t.Fatal(err)
	}
	if got.Inputs.PerRun != target.DefaultInputs || got.Run.Timeout != target.DefaultRunTimeout || got.Measure.Metric != target.Time || got.Sandbox.Memory != 0 ||
		got.Budget.Tokens != nil || got.Budget.Money != nil || got.Profile != nil || got.Reference != nil {
		t.Errorf("%+v", got)
	}
	if s := got.Sources()[0]; !reflect.DeepEqual(s.Editable, []edit.Range{{Start: 1, End: 9}}) {
		t.Errorf("without a hot region, lines %v are editable; the file has 9", s.Editable)
	}
}

func TestFaultsAreNamedWithTheirLine(t *testing.T) {
	replace := func(was, is string) string {
		if !strings.Contains(least, was) {
			t.Fatalf("%q is not in the description", was)
		}
		return strings.Replace(least, was, is, 1)
	}
	seed, out := `command = ["./heat", "{seed}"]`, "stdout = true"
	for _, tt := range []struct{ name, text, at, says string }{
		{"an unknown key", replace(seed, seed+"\ntimeuot = \"1m\""), "target.toml:10: run.timeuot", "here are command, files, environment, cache, timeout"},
		{"an unknown table", least + "[limits]\nx = 1\n", "target.toml:12: limits", "here are name, language"},
		{"an unknown key in a second table", least + "[[output]]\nfile = \"a\"\nfromat = \"text\"\n", "target.toml:14: output[1].fromat", "here are stdout, file, format, tolerance, ignore"},
		{"an unknown key in an inline table", least + "[[output]]\nfile = \"a\"\nformat = \"text\"\ntolerance = { relative = 0.1, abs = 1 }\n", "target.toml:15: output.tolerance.abs", "relative, absolute, ulp"},
		{"a key in capitals", replace("language", "Language"), "target.toml:2: Language", "no such key"},
		{"no TOML", replace("language = \"c\"", "language = c"), "target.toml:2: language", "expected value"},
		{"a key twice", replace(out, out+"\nstdout = false"), "target.toml:12: output.stdout", "already"},
		{"a wrong type", replace(out, "stdout = 1"), "target.toml:11: output.stdout", "found integer, expected boolean"},
		{"a number for a list", least + "[inputs]\nsizes = 800\n", "target.toml:13: inputs.sizes", "found integer, expected a list in [ ]"},
		{"a line of a shell", replace(seed, `command = "./heat {seed}"`), "target.toml:9: run.command", `["sh", "-c", "..."]`},
		{"a number among arguments", replace(seed, `command = ["./heat", 3]`), "target.toml:9: run.command", "quotes"},
		{"a time without a unit", replace(seed, seed+"\ntimeout = 60"), "target.toml:10: run.timeout", `"90s"`},
		{"a negative time", replace(seed, seed+"\ntimeout = \"-1s\""), "target.toml:10: run.timeout", "above 0"},
		{"a size without a unit", least + "[sandbox]\nmemory = \"2 GB of it\"\n", "target.toml:13: sandbox.memory", "512MiB"},
		{"no name", replace(`name = "heat"`, ""), "target.toml: name", "give the target a name"},
		{"a name that is a path", replace(`name = "heat"`, `name = "../heat"`), "target.toml:1: name", "letters"},
		{"no such language", replace(`"c"`, `"fortran"`), "target.toml:2: language", "opencl"},
		{"no source", replace(`["heat.c"]`, "[]"), "target.toml:4: sources.editable", "at least one"},
		{"a missing file", replace(`["heat.c"]`, `["heat.c", "gone.c"]`), "target.toml:4: sources.editable", "gone.c"},
		{"a file above", replace(`["heat.c"]`, `["heat.c", "../heat.c"]`), "target.toml:4: sources.editable", `".."`},
		{"an absolute file", replace(`["heat.c"]`, `["heat.c", "/etc/hostname"]`), "target.toml:4: sources.editable", "absolute"},
		{"a symbolic link", replace(`["heat.c"]`, `["heat.c", "link.c"]`), "target.toml:4: sources.editable", "symbolic link"},
		{"a binary file", replace(`["heat.c"]`, `["heat.c", "zero.c"]`), "target.toml:4: sources.editable", "NUL"},
		{"a long spelling", replace(`["heat.c"]`, `["./heat.c"]`), "target.toml:4: sources.editable", `write it as "heat.c"`},
		{"a file twice", replace(`["heat.c"]`, "[\"heat.c\"]\nread_only = [\"heat.c\"]"), "target.toml:5: sources.read_only", "twice"},
		{"no command to build", replace(`[["cc", "-o", "heat", "heat.c"]]`, "[]"), "target.toml:6: build.commands", "at least one"},
		{"a command without a program", replace(`[["cc", "-o", "heat", "heat.c"]]`, "[[]]"), "target.toml:6: build.commands", "no program"},
		{"a seed in the build", replace(`"heat.c"]]`, `"heat.c", "{seed}"]]`), "target.toml:6: build.commands", "none is allowed"},
		{"a misspelt placeholder", replace("{seed}", "{sede}"), "target.toml:9: run.command", "{sede} is no placeholder"},
		{"nothing varies", replace(`, "{seed}"`, ""), "target.toml:9: run.command", "no input varies"},
		{"fixed and not", least + "[inputs]\nfixed = true\n", "target.toml:13: inputs.fixed", "contradicts"},
		{"fixed, several", replace(`, "{seed}"`, "") + "[inputs]\nfixed = true\nper_run = 2\n", "target.toml:14: inputs.per_run", "contradicts"},
		{"a generator without a seed", least + "[inputs]\ngenerate = [\"gen\"]\n", "target.toml:13: inputs.generate", "no {seed}"},
		{"a size that nobody gives", replace("{seed}", "{seed} {size}"), "target.toml: inputs.sizes", "at least one"},
		{"sizes that nobody takes", least + "[inputs]\nsizes = [\"1\"]\n", "target.toml:12: inputs", "no command has {size}"},
		{"no output", strings.Split(least, "[[output]]")[0], "target.toml: output", "any program would be right"},
		{"two kinds of output", replace(out, out+"\nfile = \"x\""), "target.toml:10: output[0]", "either"},
		{"an output above", replace(out, `file = "../x"`), "target.toml:11: output[0].file", "below"},
		{"a source as output", replace(out, `file = "heat.c"`), "target.toml:11: output[0].file", "is a source"},
		{"an output twice", least + "[[output]]\nstdout = true\n", "target.toml:12: output[1]", "twice"},
		{"no such format", replace(out, out+"\nformat = \"f64\""), "target.toml:12: output[0].format", "float64"},
		{"a tolerance of bytes", replace(out, out+"\ntolerance = { relative = 0.1 }"), "target.toml:12: output[0].tolerance", "bytes have no tolerance"},
		{"two kinds of tolerance", replace(out, out+"\nformat = \"float32\"\ntolerance = { relative = 0.1, ulp = 1 }"), "target.toml:13: output[0].tolerance", "alone"},
		{"lines of no text", replace(out, out+"\nignore = [\"x\"]"), "target.toml:12: output[0].ignore", "format = \"text\""},
		{"no regular expression", replace(out, out+"\nformat = \"text\"\nignore = [\"(\"]"), "target.toml:13: output[0].ignore", "regular expression"},
		{"no product", replace(`["heat"]`, "[]"), "target.toml:7: build.products", "a run needs"},
		{"a product above", replace(`["heat"]`, `["../heat"]`), "target.toml:7: build.products", "below"},
		{"a source as product", replace(`["heat"]`, `["heat.c"]`), "target.toml:7: build.products", "is a source"},
		{"a file of the run that is not there", replace(seed, seed+"\nfiles = [\"gone\"]"), "target.toml:10: run.files", "gone"},
		{"a file of the run through a link", replace(seed, seed+"\nfiles = [\"link.c\"]"), "target.toml:10: run.files", "symbolic link"},
		{"a cache above", replace(seed, seed+"\ncache = [\"../x\"]"), "target.toml:10: run.cache", "below"},
		{"an output in a cache", strings.Replace(replace(out, `file = "x/y"`), seed, seed+"\ncache = [\"x\"]", 1), "target.toml:10: run.cache", "apart"},
		{"a tolerance of nothing", replace(out, out+"\nformat = \"text\"\ntolerance = { relative = 0.0 }"), "target.toml:13: output[0].tolerance", "above 0"},
		{"ULPs of text", replace(out, out+"\nformat = \"text\"\ntolerance = { ulp = 4 }"), "target.toml:13: output[0].tolerance", "not of text"},
		{"a profile that is nowhere", least + "[profile]\ncommand = [\"perf\"]\n", "target.toml:13: profile.command", "{profile}"},
		{"a profile that is twice", least + "[profile]\ncommand = [\"perf\", \"{profile}\"]\nfile = \"p\"\n", "target.toml:14: profile.file", "contradicts"},
		{"a size of a profile without sizes", least + "[profile]\ncollector = \"valgrind\"\nsize = \"8\"\n", "target.toml:14: profile.size", "inputs.sizes"},
		{"a collector and a command", least + "[profile]\ncollector = \"valgrind\"\nimport = \"callgrind\"\n", "target.toml:13: profile.collector", "contradicts"},
		{"a region of no source", least + "[[hot]]\nfile = \"main.c\"\nlines = [1, 1]\n", "target.toml:13: hot[0].file", "sources.editable"},
		{"a region of nothing", least + "[[hot]]\nfile = \"heat.c\"\n", "target.toml:12: hot[0]", "either function or lines"},
		{"a function that is not there", least + "[[hot]]\nfile = \"heat.c\"\nfunction = \"stop\"\n", "target.toml:14: hot[0].function", "it has step, twice"},
		{"lines that are not there", least + "[[hot]]\nfile = \"heat.c\"\nlines = [3, 99]\n", "target.toml:14: hot[0].lines", "within 1 to 9"},
		{"regions that overlap", least + "[[hot]]\nfile = \"heat.c\"\nlines = [3, 7]\n[[hot]]\nfile = \"heat.c\"\nlines = [7, 8]\n", "target.toml:15: hot[1]", "overlap"},
		{"no such metric", least + "[measure]\nmetric = \"speed\"\n", "target.toml:13: measure.metric", "energy"},
		{"too few repeats", least + "[measure]\nrepeats = 3\n", "target.toml:13: measure.repeats", "6 to"},
		{"an odd number of repeats", least + "[measure]\nrepeats = 15\n", "target.toml:13: measure.repeats", "even"},
		{"no effect", least + "[measure]\nmin_effect = 0.0\n", "target.toml:13: measure.min_effect", "above 0"},
		{"no alpha", least + "[measure]\nalpha = 1.0\n", "target.toml:13: measure.alpha", "probability"},
		{"no tokens", least + "[budget]\ntokens = 0\n", "target.toml:13: budget.tokens", "no limit"},
		{"no such search", least + "[search]\nstrategy = \"beam\"\n", "target.toml:13: search.strategy", "beam:3"},
		{"no such preference", least + "[search]\nprefer = \"money\"\n", "target.toml:13: search.prefer", "edp"},
		{"no rounds", least + "[budget]\nrounds = 0\n", "target.toml:13: budget.rounds", "no limit"},
		{"owed money", least + "[budget]\nmoney = -1.0\n", "target.toml:13: budget.money", "0 or more"},
		{"all folders", least + "[sandbox]\nread = [\"/\"]\n", "target.toml:13: sandbox.read", "below /"},
		{"a relative folder", least + "[sandbox]\nread = [\"opt\"]\n", "target.toml:13: sandbox.read", "absolute"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.text)
			if err == nil {
				t.Fatal("no error")
			}
			if e := (*target.Error)(nil); !errors.As(err, &e) {
				t.Errorf("%T is no *target.Error", err)
			}
			for l := range strings.SplitSeq(err.Error(), "\n") {
				if strings.Contains(l, tt.at+":") && strings.Contains(l, tt.says) {
					return
				}
			}
			t.Errorf("%v\nwant %s: %s", err, tt.at, tt.says)
		})
	}
}

func TestAllFaultsComeAtOnceByLine(t *testing.T) {
	_, err := load(t, "name = \"-\"\nlanguage = \"c\"\nx = '''\n[y]\n''' # z = 1\n[run]\ncommand = [ # with a comment\n  \"a\",\n]\nz = 1\n[build]\ncommands = [[\"cc\"]]\n[sources]\neditable = [\"heat.c\"]\n")
	var got []string
	for l := range strings.SplitSeq(err.Error(), "\n") {
		line, rest, _ := strings.Cut(l[strings.LastIndex(l, "target.toml")+len("target.toml"):], ": ")
		key, _, _ := strings.Cut(rest, ": ")
		got = append(got, line+" "+key)
	}
	if want := []string{" output", ":1 name", ":3 x", ":7 run.command", ":10 run.z", ":11 build.products"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q\n%v", got, want, err)
	}
}

func TestCommandsAreExpanded(t *testing.T) {
	c := target.Command{"awk", "{{print}}", "{seed}/{size}.bin", "{Nothing here}"}
	got, err := c.Expand(map[target.Placeholder]string{target.Seed: "7", target.Size: "64"})
	if err != nil || !reflect.DeepEqual(got, target.Command{"awk", "{print}", "7/64.bin", "{Nothing here}"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := c.Expand(map[target.Placeholder]string{target.Seed: "7"}); err == nil || !strings.Contains(err.Error(), "{size} has no value") {
		t.Errorf("%v", err)
	}
	if s := (target.Command{"sh", "-c", "echo 'a'", ""}).String(); s != `sh -c 'echo '\''a'\''' ''` {
		t.Error(s)
	}
}

// A description of any content is loaded or refused, without a panic.
func FuzzLoad(f *testing.F) {
	f.Add(least)
	f.Add(least + "[[hot]]\nfile = \"heat.c\"\nlines = [3, 7]\n[profile]\ncollector = \"x\"\n[inputs]\nsizes = ['''\n''', \"\\\n\"]\n")
	f.Add("a.b = {c = [1, {d = 2}]}\n[[e.f]]\n[e.f.g]\nh = \"\"\"x\\\"\"\"\"\n")
	dir := f.TempDir()
	path := filepath.Join(dir, "target.toml")
	if err := os.WriteFile(filepath.Join(dir, "heat.c"), []byte(heat), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := target.Load(path)
		if (got == nil) == (err == nil) {
			t.Fatalf("%v, %v", got, err)
		}
		last := strings.Count(text, "\n") + 1
		if e := (*target.Error)(nil); errors.As(err, &e) && (e.Line < 0 || e.Line > last || e.What == "") {
			t.Fatalf("%+v in a text of %d lines", e, last)
		}
	})
}
