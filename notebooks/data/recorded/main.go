// Command recorded measures the kernels and programs of datasets/recorded on
// this machine, and writes the data set that models are trained on, as Parquet.
// It takes some minutes; a quiet machine gives better numbers. From the root of
// the source tree:
//
//	GOEXPERIMENT=simd go run ./notebooks/data/recorded
//
// It needs an OpenCL driver (PoCL), clang and valgrind; `rooflab doctor` says
// how to get them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/callgrind" // what the collector valgrind reads
	_ "github.com/rooflab/rooflab/collectors/llvm"
	"github.com/rooflab/rooflab/collectors/opencl"
	_ "github.com/rooflab/rooflab/collectors/valgrind"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// programs are those that valgrind counts, with their sizes.
var programs = []struct {
	name  string
	sizes []string
}{
	{"daxpy", []string{"1000", "10000", "100000", "500000"}},
	{"matmul_ijk", []string{"8", "16", "32", "64", "96"}},
	{"matmul_ikj", []string{"8", "16", "32", "64", "96"}},
	{"jacobi", []string{"16", "64", "128", "256"}},
	{"spmv", []string{"100", "1000", "10000", "50000"}},
	{"quicksort", []string{"100", "1000", "10000", "50000"}},
	{"binary_search", []string{"100", "1000", "10000", "100000"}},
	{"sieve", []string{"1000", "10000", "100000", "500000"}},
	{"list", []string{"10", "100", "1000", "10000", "100000"}},
	{"hash", []string{"100", "1000", "10000", "50000"}},
	{"edit_distance", []string{"16", "64", "128", "256"}},
	{"fft", []string{"4", "6", "8", "10", "12"}},
	{"shortest_paths", []string{"8", "16", "32", "64"}},
	{"mandelbrot", []string{"8", "16", "32", "64"}},
}

func main() {
	opencl.ServeIfAsked()
	source := flag.String("source", "datasets/recorded", "`folder` with the kernels and programs")
	out := flag.String("o", "datasets/recorded/pocl", "`folder` to write the Parquet files to, whose files are replaced")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	if err := record(ctx, *source, *out); err != nil {
		fmt.Fprintln(os.Stderr, "recorded:", err)
		os.Exit(1)
	}
	fmt.Printf("recorded in %v\n", time.Since(began).Round(time.Second))
}

func record(ctx context.Context, source, out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "rooflab-recorded-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	// Commands are recorded as they are given, so they are given from here.
	if err := os.Chdir(source); err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	store, err := datasets.Open(filepath.Join(scratch, "store.duckdb"))
	if err != nil {
		return err
	}
	defer store.Close()
	r := &recorder{store: store, replace: strings.NewReplacer(scratch+"/", "", here+"/", "", scratch, ".", here, ".", "./programs/", "programs/")}
	if err := r.openCL(ctx); err != nil {
		return err
	}
	if err := r.valgrind(ctx, scratch); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	_, err = store.ExportParquet(ctx, out)
	return err
}

// recorder collects into a store, without what is of this machine's folders
// alone.
type recorder struct {
	store   *datasets.Store
	replace *strings.Replacer
	sink    *datasets.Import // of the collection under way
	failed  []string
	builds  map[int64]*build // of the OpenCL runs, by their ids
}

// build is a kernel's file with the options that it was measured with.
type build struct{ file, options string }

func (r *recorder) openCL(ctx context.Context) error {
	r.builds = map[int64]*build{}
	if err := r.collect(ctx, "opencl", []string{"--job", "pocl.json"}, nil); err != nil {
		return err
	}
	builds := r.builds
	r.builds = nil
	// The static features of each kernel as it was built.
	for _, id := range slices.Sorted(maps.Keys(builds)) {
		b := builds[id]
		if err := r.collect(ctx, "llvm", []string{"--options", b.options, "--source", b.file}, nil); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) valgrind(ctx context.Context, scratch string) error {
	for _, p := range programs {
		source := "programs/" + p.name + ".c"
		if err := r.collect(ctx, "llvm", []string{"--source", source}, nil); err != nil {
			return err
		}
		bin := filepath.Join(scratch, p.name)
		if log, err := exec.CommandContext(ctx, "clang", "-O2", "-g", "-fdebug-compilation-dir=.", "-o", bin, source, "-lm").CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w: %s", source, err, log)
		}
		for _, n := range p.sizes {
			if err := r.collect(ctx, "valgrind", []string{"--function", p.name}, []string{bin, n}); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect runs a collector and keeps what it measured.
func (r *recorder) collect(ctx context.Context, name string, flags, command []string) (err error) {
	c, err := collectors.LookupCollector(name)
	if err != nil {
		return err
	}
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	run := c.New(fs)
	if err := fs.Parse(flags); err != nil {
		return err
	}
	fmt.Println(name, strings.Join(flags, " "), r.replace.Replace(strings.Join(command, " ")))
	if r.sink, err = r.store.Begin(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.sink.Rollback()) }() // after Commit it does nothing
	path := strings.TrimSpace(r.replace.Replace("collect " + name + " " + strings.Join(append(flags, command...), " ")))
	out := collectors.NewOutput(path, r)
	if err := run(ctx, collectors.Job{Command: command, Stdout: nowhere{}, Stderr: os.Stderr, Log: os.Stdout}, out); err != nil {
		return err
	}
	if len(r.failed) > 0 {
		return fmt.Errorf("%s: %s", path, strings.Join(r.failed, "; "))
	}
	return r.sink.Commit(datasets.Artefact{Path: path, SHA256: fmt.Sprintf("%064x", time.Now().UnixNano()), Kind: name, ParserVersion: c.Version})
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// Put takes a record on its way to the store.
func (r *recorder) Put(rec datasets.Record) error {
	rec = datasets.Clone(rec)
	switch v := rec.(type) {
	case *datasets.Machine:
		v.Host = "recorded"
	case *datasets.Run:
		v.Command = r.replace.Replace(v.Command)
		if v.Status != datasets.RunOK {
			r.failed = append(r.failed, v.Status+": "+v.Error)
		}
	case *datasets.Region:
		v.Raw, v.Module = r.replace.Replace(v.Raw), r.replace.Replace(v.Module)
	case *datasets.Code:
		v.File = r.replace.Replace(v.File)
	case *datasets.Attribute:
		if v.Name == "cwd" || v.Name == "executable" || strings.HasPrefix(v.Name, "git.") || strings.HasPrefix(v.Name, "env.") {
			return nil
		}
		v.Value = r.replace.Replace(v.Value)
		r.note(v)
	}
	return r.sink.Put(rec)
}

// note remembers how a kernel's file was built.
func (r *recorder) note(a *datasets.Attribute) {
	if r.builds == nil || a.Region != 0 || a.Launch != 0 {
		return
	}
	b := r.builds[a.Run]
	if b == nil {
		b = &build{}
		r.builds[a.Run] = b
	}
	switch a.Name {
	case "source.path":
		b.file = a.Value
	case "build.options":
		b.options = a.Value
	}
}
