// Package gotest runs the Test functions and Benchmarks of cells in the live
// session, as the binary of `go test` does: what they print, their order and
// their flags are those of package testing. Cells do not import it; the session
// writes the call.
package gotest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rooflab/rooflab/kernel/live"
)

// Tests and Benchmarks are the functions by name.
type (
	Tests      map[string]func(*testing.T)
	Benchmarks map[string]func(*testing.B)
)

// ours returns the flags of package testing, which defines them once in a
// process, unless the process is itself a test: those of the command line then.
var ours = sync.OnceValue(func() map[string]*flag.Flag {
	was := flag.CommandLine
	defer func() { flag.CommandLine = was }()
	flag.CommandLine = flag.NewFlagSet("test", flag.ContinueOnError)
	testing.Init()
	all := map[string]*flag.Flag{}
	for _, set := range []*flag.FlagSet{was, flag.CommandLine} {
		set.VisitAll(func(f *flag.Flag) {
			if strings.HasPrefix(f.Name, "test.") {
				all[f.Name] = f
			}
		})
	}
	return all
})

// refused are flags that a live session cannot serve, and what to do instead.
var refused = map[string]string{
	"test.cpu":          "the session's GOMAXPROCS is that of all cells; set runtime.GOMAXPROCS in the test",
	"test.coverprofile": "cells are not compiled for coverage; put the code into a package and run !go test -coverprofile",
	"test.gocoverdir":   "cells are not compiled for coverage; put the code into a package and run !go test -cover",
	"test.artifacts":    "write files with os.WriteFile, or into t.TempDir()",
	"test.testlogfile":  "it is the go command's own",
	"test.fuzz":         "fuzzing restarts the program; put the code into a package and run !go test -fuzz",
}

// Run runs tests and benchmarks with the flags in args, which may be written
// without "test." in front, and ends the cell with an exit status unless all
// passed. A TestMain takes over as it does in a package.
func Run(args []string, tests Tests, benchmarks Benchmarks, testMain ...func(*testing.M)) {
	code, err := run(args, tests, benchmarks, testMain)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%%test: %v\n", err)
		code = 2
	}
	if code != 0 {
		live.Exit(code)
	}
}

// badPattern is what MatchString panics with: package testing would end the
// process.
type badPattern struct{ err error }

func run(args []string, tests Tests, benchmarks Benchmarks, testMain []func(*testing.M)) (code int, err error) {
	ours()
	line, stderr := flag.CommandLine, os.Stderr
	flag.CommandLine = flag.NewFlagSet("%test", flag.ContinueOnError)
	defer func() { flag.CommandLine, os.Stderr = line, stderr }()
	limit, err := parse(line, args)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, _ = io.WriteString(os.Stdout, "Usage of %test:\n")
			flag.CommandLine.SetOutput(os.Stdout)
			flag.PrintDefaults()
			return 0, nil
		}
		return 0, err
	}
	defer func() {
		v := recover()
		if bad, ok := v.(badPattern); ok {
			err = bad.err
		} else if v != nil {
			panic(v)
		}
	}()
	if limit > 0 {
		defer time.AfterFunc(limit, func() {
			fmt.Fprintf(os.Stderr, "%%test: the tests run for more than -test.timeout=%v and are interrupted\n", limit)
			live.Interrupt()
		}).Stop()
	}
	m := testing.MainStart(dependencies{}, inOrder(tests), inOrderB(benchmarks), nil, nil)
	for _, f := range testMain {
		f(m)
		return int(reflect.ValueOf(m).Elem().FieldByName("exitCode").Int()), nil
	}
	return m.Run(), nil
}

// parse sets the flags of package testing, those of the cells included, and
// returns the time limit, which ends a test binary and only interrupts a cell.
func parse(cells *flag.FlagSet, args []string) (limit time.Duration, err error) {
	set := flag.CommandLine
	set.SetOutput(io.Discard)
	for _, f := range ours() {
		_ = f.Value.Set(f.DefValue) // of the run before; one refuses its own default
		set.Var(f.Value, f.Name, f.Usage)
	}
	cells.VisitAll(func(f *flag.Flag) {
		if set.Lookup(f.Name) == nil {
			set.Var(f.Value, f.Name, f.Usage)
		}
	})
	full := slices.Clone(args)
	for i, a := range full {
		name, dashed := strings.CutPrefix(a, "-")
		name = strings.TrimPrefix(name, "-")
		word, _, _ := strings.Cut(name, "=")
		if dashed && word != "" && set.Lookup(word) == nil && set.Lookup("test."+word) != nil {
			full[i] = "-test." + name
		}
	}
	if err := set.Parse(full); err != nil {
		return 0, err
	}
	set.SetOutput(os.Stderr)
	dir := set.Lookup("test.outputdir").Value.String()
	set.Visit(func(f *flag.Flag) {
		switch why, no := refused[f.Name]; {
		case err != nil:
		case no:
			err = fmt.Errorf("-%s does not work in a live session: %s", f.Name, why)
		case strings.HasSuffix(f.Name, "profile") || f.Name == "test.trace":
			err = writable(dir, f.Value.String())
		}
	})
	timeout := set.Lookup("test.timeout").Value
	limit = timeout.(flag.Getter).Get().(time.Duration)
	return limit, errors.Join(err, timeout.Set("0"))
}

// writable looks beforehand whether a profile can be written: package testing
// ends the process where it cannot.
func writable(dir, file string) error {
	if dir != "" && !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("making the profile: %w", err)
	}
	return f.Close()
}

// inOrder lists tests by name. Once the cell is stopped, by a panic or an
// interrupt, no further one runs.
func inOrder(tests Tests) []testing.InternalTest {
	var all []testing.InternalTest
	for name, f := range tests {
		all = append(all, testing.InternalTest{Name: name, F: func(t *testing.T) {
			defer stopped()
			ended := false
			defer func() {
				if !ended && !t.Failed() && !t.Skipped() {
					t.Error("the test ended its goroutine (runtime.Goexit)")
					t.FailNow()
				}
			}()
			defer live.GuardTest(t.FailNow)
			f(t)
			ended = true
		}})
	}
	slices.SortFunc(all, func(a, b testing.InternalTest) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func inOrderB(benchmarks Benchmarks) []testing.InternalBenchmark {
	var all []testing.InternalBenchmark
	for name, f := range benchmarks {
		all = append(all, testing.InternalBenchmark{Name: name, F: func(b *testing.B) {
			if live.Stop.Load() != 0 {
				b.SkipNow()
			}
			defer live.GuardTest(b.FailNow)
			f(b)
		}})
	}
	slices.SortFunc(all, func(a, b testing.InternalBenchmark) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func stopped() {
	if live.Stop.Load() != 0 {
		_ = ours()["test.failfast"].Value.Set("true")
	}
}

// dependencies is what the go command generates for package testing.
type dependencies struct{}

type corpusEntry = struct {
	Parent     string
	Path       string
	Data       []byte
	Values     []any
	Generation int
	IsSeed     bool
}

var errNoFuzzing = errors.New("a live session does not fuzz")

func (dependencies) MatchString(pattern, s string) (bool, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		panic(badPattern{err})
	}
	return re.MatchString(s), nil
}

func (dependencies) ImportPath() string                { return "" }
func (dependencies) ModulePath() string                { return "" }
func (dependencies) SetPanicOnExit0(bool)              {}
func (dependencies) StartCPUProfile(w io.Writer) error { return pprof.StartCPUProfile(w) }
func (dependencies) StopCPUProfile()                   { pprof.StopCPUProfile() }
func (dependencies) StartTestLog(io.Writer)            {}
func (dependencies) StopTestLog() error                { return nil }
func (dependencies) WriteProfileTo(name string, w io.Writer, debug int) error {
	return pprof.Lookup(name).WriteTo(w, debug)
}

func (dependencies) CoordinateFuzzing(time.Duration, int64, time.Duration, int64, int, []corpusEntry, []reflect.Type, string, string) error {
	return errNoFuzzing
}
func (dependencies) RunFuzzWorker(func(corpusEntry) error) error { return errNoFuzzing }
func (dependencies) ReadCorpus(string, []reflect.Type) ([]corpusEntry, error) {
	return nil, errNoFuzzing
}
func (dependencies) CheckCorpus([]any, []reflect.Type) error { return errNoFuzzing }
func (dependencies) ResetCoverage()                          {}
func (dependencies) SnapshotCoverage()                       {}
func (dependencies) InitRuntimeCoverage() (mode string, tearDown func(profile, dir string) (string, error), snapshot func() float64) {
	return "", nil, nil
}
