package nvidia

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

// nsysOptions are the flags of the collector nsys.
type nsysOptions struct {
	set           string
	trace, sample string
	gpuMetrics    bool
	memory        bool
	keep          string
	extra, input  list
}

func newNsys(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	o := &nsysOptions{}
	fs.StringVar(&o.set, "set", "timeline", "timeline (what --trace names) or all (also samples of the CPU, CUDA's memory and the GPU's counters over time)")
	fs.StringVar(&o.trace, "trace", "cuda,nvtx,osrt", "what is traced, as nsys profile -t takes it: cuda, nvtx, osrt, cublas, cudnn, mpi, openmp ...")
	fs.StringVar(&o.sample, "sample", "none", "samples of the CPU: none, cpu (the command's processes) or system")
	fs.BoolVar(&o.gpuMetrics, "gpu-metrics", false, "also the GPU's own counters over time (needs their permission)")
	fs.BoolVar(&o.memory, "memory", false, "also what CUDA allocates over time")
	fs.StringVar(&o.keep, "keep", "", "keep the report in this file")
	fs.Var(&o.extra, "option", "another option for nsys profile (may be given several times)")
	fs.Var(&o.input, "input", "a file that the command reads: its content goes into the input hash (may be given several times)")
	return o.collect
}

// command is nsys with its options, as the version takes them.
func (o *nsysOptions) command(nsys, version, report string) []string {
	argv := []string{nsys, "profile", "--output", report, "--force-overwrite", "true", "--trace", o.trace}
	sample := o.sample
	if sample == "cpu" && atLeast(version, 2022, 2) {
		sample = "process-tree"
	} else if sample == "system" {
		sample = "system-wide"
	}
	argv = append(argv, "--sample", sample)
	if o.sample == "none" && atLeast(version, 2021, 3) {
		argv = append(argv, "--cpuctxsw", "none")
	}
	switch {
	case !o.gpuMetrics:
	case atLeast(version, 2024, 5):
		argv = append(argv, "--gpu-metrics-devices", "all")
	default:
		argv = append(argv, "--gpu-metrics-device", "all")
	}
	if o.memory {
		argv = append(argv, "--cuda-memory-usage", "true")
	}
	return append(argv, o.extra...)
}

func (o *nsysOptions) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	if len(job.Command) == 0 {
		return errors.New("no command to run: name it after --")
	}
	switch o.set {
	case "timeline":
	case "all":
		o.gpuMetrics, o.memory = true, true
		if o.sample == "none" {
			o.sample = "cpu"
		}
	case "roofline", "stalls":
		return fmt.Errorf("--set %s: nsys measures no counters of single kernels: rooflab collect ncu --set %s does", o.set, o.set)
	default:
		return fmt.Errorf("--set %s: it is timeline or all", o.set)
	}
	switch o.sample {
	case "none", "cpu", "system":
	default:
		return fmt.Errorf("--sample %s: it is none, cpu or system", o.sample)
	}
	subject, err := process.Describe(ctx, job, o.input...)
	if err != nil {
		return err
	}
	run := subject.Run("nsys", "", "nsys-sqlite")
	nsys, missing := find("nsys", nsysPlaces, nsysFix)
	if missing != nil {
		return subject.PutMissing(out, run, missing)
	}
	run.ToolVersion = version(ctx, nsys)
	dir, remove, err := process.Scratch("nsys")
	if err != nil {
		return err
	}
	defer remove()
	base := filepath.Join(dir, "report")
	r, err := process.Run(ctx, process.Command{Argv: append(o.command(nsys, run.ToolVersion, base), job.Command...), Dir: job.Dir,
		Stdin: job.Stdin, Stdout: job.Stdout, Stderr: job.Stderr})
	if err != nil {
		return err
	}
	report := base + ".nsys-rep"
	if _, err := os.Stat(report); err != nil {
		report = base + ".qdrep" // before 2021.4
	}
	if _, err := os.Stat(report); err != nil {
		judge(ctx, &run, "nsys", filepath.Join(dir, "log"), r)
		return subject.Put(out, run)
	}
	if o.keep != "" {
		if err := keep(report, o.keep); err != nil {
			return err
		}
	}
	database := base + ".sqlite"
	var said strings.Builder
	e, err := process.Run(ctx, process.Command{Argv: []string{nsys, "export", "--type", "sqlite", "--force-overwrite", "true", "--output", database, report}, Stdout: &said, Stderr: &said})
	if err != nil {
		return err
	}
	if _, err := os.Stat(database); err != nil || !e.OK() {
		run.Status, run.Error = datasets.RunFailed, fmt.Sprintf("nsys export ended with %s: %s", e, strings.TrimSpace(said.String()))
		return subject.Put(out, run)
	}
	p, err := subject.Read(ctx, "nsys-sqlite", database)
	if err != nil {
		return err
	}
	for _, made := range p.Runs {
		if made.ToolVersion == "" {
			made.ToolVersion = run.ToolVersion
		}
	}
	p.Failed(r)
	return p.Write(out, r.Start)
}
