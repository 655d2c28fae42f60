package nvidia

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/process"
)

// ncuOptions are the flags of the collector ncu.
type ncuOptions struct {
	set, kernel           string
	skip, count           int
	clock, cache, replay  string
	metrics, extra, input list
	keep                  string
}

func newNCU(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	o := &ncuOptions{}
	fs.StringVar(&o.set, "set", "roofline", "what is measured: roofline (work, traffic, ceilings), stalls (warp states, by instruction), all (everything, many replays) or none (--metrics only)")
	fs.Var(&o.metrics, "metrics", "further metrics, separated by commas (may be given several times)")
	fs.StringVar(&o.kernel, "kernel", "", "measure only kernels whose name this regular expression matches")
	fs.IntVar(&o.skip, "skip", 0, "leave out so many launches first")
	fs.IntVar(&o.count, "count", 0, "measure so many launches; 0 is all")
	fs.StringVar(&o.clock, "clock", "base", "base (the GPU's clocks are held, results repeat) or none (as they are)")
	fs.StringVar(&o.cache, "cache", "all", "all (caches are emptied before each replay) or none")
	fs.StringVar(&o.replay, "replay", "kernel", "kernel, application or range: what is run again for each pass")
	fs.StringVar(&o.keep, "keep", "", "keep the report in this file")
	fs.Var(&o.extra, "option", "another option for ncu (may be given several times)")
	fs.Var(&o.input, "input", "a file that the command reads: its content goes into the input hash (may be given several times)")
	return o.collect
}

// rooflineMetrics are what a hierarchical roofline needs: time, work by
// precision, bytes by level, and the peaks at the clock of the run.
func rooflineMetrics() []string {
	m := []string{"gpu__time_duration.sum", "sm__cycles_elapsed.avg", "sm__cycles_elapsed.max", "sm__cycles_elapsed.avg.per_second",
		"sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm__inst_executed_pipe_tensor.sum",
		"dram__bytes.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "dram__bytes.sum.peak_sustained", "dram__cycles_elapsed.avg.per_second",
		"lts__t_bytes.sum", "lts__t_bytes.sum.peak_sustained", "lts__cycles_elapsed.avg.per_second",
		"l1tex__t_bytes.sum", "l1tex__t_bytes.sum.peak_sustained", "l1tex__cycles_elapsed.avg.per_second",
		"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.peak_sustained"}
	for _, letter := range []string{"d", "f", "h"} {
		for _, op := range []string{"add", "mul", "fma"} {
			m = append(m, "sm__sass_thread_inst_executed_op_"+letter+op+"_pred_on.sum")
		}
		m = append(m, "sm__sass_thread_inst_executed_op_"+letter+"fma_pred_on.sum.peak_sustained")
	}
	return m
}

func (o *ncuOptions) validate(job collectors.Job) error {
	oneOf := func(name, v string, all ...string) error {
		for _, a := range all {
			if v == a {
				return nil
			}
		}
		return fmt.Errorf("--%s %s: it is one of %s", name, v, strings.Join(all, ", "))
	}
	if len(job.Command) == 0 {
		return errors.New("no command to run: name it after --")
	}
	if o.skip < 0 || o.count < 0 {
		return fmt.Errorf("--skip %d --count %d: both take 0 at least", o.skip, o.count)
	}
	if o.set == "none" && len(o.metrics) == 0 {
		return errors.New("--set none measures nothing without --metrics")
	}
	return errors.Join(oneOf("set", o.set, "roofline", "stalls", "all", "none"), oneOf("clock", o.clock, "base", "none"),
		oneOf("cache", o.cache, "all", "none"), oneOf("replay", o.replay, "kernel", "application", "range"))
}

// command is ncu with its options, as the version takes them. without are
// metrics that this GPU does not have.
func (o *ncuOptions) command(ncu, version, report, log string, without map[string]bool) []string {
	argv := []string{ncu, "--export", report, "--force-overwrite", "--log-file", log, "--target-processes", "all"}
	metrics := []string{}
	add := func(names ...string) {
		for _, n := range names {
			if n = strings.TrimSpace(n); n != "" && !without[n] {
				metrics = append(metrics, n)
			}
		}
	}
	switch o.set {
	case "roofline":
		argv = append(argv, "--section", "LaunchStats")
		add(rooflineMetrics()...)
	case "stalls":
		argv = append(argv, "--section", "LaunchStats", "--section", "WarpStateStats", "--section", "SchedulerStats", "--section", "SourceCounters")
		add("gpu__time_duration.sum")
	case "all":
		argv = append(argv, "--set", "full")
		add(rooflineMetrics()...)
	}
	for _, m := range o.metrics {
		add(strings.Split(m, ",")...)
	}
	if len(metrics) > 0 {
		argv = append(argv, "--metrics", strings.Join(metrics, ","))
	}
	if (o.set == "stalls" || o.set == "all") && atLeast(version, 2021, 1) {
		argv = append(argv, "--import-source", "yes")
	}
	if o.kernel != "" {
		if atLeast(version, 2021, 1) {
			argv = append(argv, "--kernel-name", "regex:"+o.kernel)
		} else {
			argv = append(argv, "--kernel-regex", o.kernel)
		}
	}
	if o.skip > 0 {
		argv = append(argv, "--launch-skip", strconv.Itoa(o.skip))
	}
	if o.count > 0 {
		argv = append(argv, "--launch-count", strconv.Itoa(o.count))
	}
	argv = append(argv, "--clock-control", o.clock)
	if atLeast(version, 2020, 1) {
		argv = append(argv, "--cache-control", o.cache)
	}
	if o.replay != "kernel" {
		argv = append(argv, "--replay-mode", o.replay)
	}
	return append(argv, o.extra...)
}

// noMetric is how ncu names a metric that the GPU does not have.
var noMetric = regexp.MustCompile(`(?i)(?:failed to find metric|unknown metric|invalid metric)[: '"]+(?:regex:)?([A-Za-z0-9_.]+)`)

// retries is how many rounds of metrics that the GPU lacks are left out.
const retries = 8

func (o *ncuOptions) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	if err := o.validate(job); err != nil {
		return err
	}
	subject, err := process.Describe(ctx, job, o.input...)
	if err != nil {
		return err
	}
	run := subject.Run("ncu", "", "ncu-rep")
	ncu, missing := find("ncu", ncuPlaces, ncuFix)
	if missing != nil {
		return subject.PutMissing(out, run, missing)
	}
	run.ToolVersion = version(ctx, ncu)
	dir, remove, err := process.Scratch("ncu")
	if err != nil {
		return err
	}
	defer remove()
	report, log := filepath.Join(dir, "report.ncu-rep"), filepath.Join(dir, "log")
	var r process.Result
	without := map[string]bool{}
	for range retries {
		argv := append(o.command(ncu, run.ToolVersion, report, log, without), job.Command...)
		r, err = process.Run(ctx, process.Command{Argv: argv, Dir: job.Dir, Stdin: job.Stdin, Stdout: job.Stdout, Stderr: job.Stderr})
		if err != nil {
			return err
		}
		// ncu looks at the metrics before it measures the first kernel.
		if _, err := os.Stat(report); err == nil || !o.leaveOut(log, without) {
			break
		}
	}
	run.ClockPolicy, run.ReplayPolicy = o.clock, o.replay
	run.CachePolicy = map[string]string{"all": "flush-all", "none": "none"}[o.cache]
	for name := range without {
		out.Warn(0, 0, "ncu does not know the metric %s on this GPU: it was left out", name)
	}
	if _, err := os.Stat(report); err != nil {
		judge(ctx, &run, "ncu", log, r)
		return subject.Put(out, run)
	}
	if o.keep != "" {
		if err := keep(report, o.keep); err != nil {
			return err
		}
	}
	p, err := o.read(ctx, subject, ncu, report, dir, out)
	if err != nil {
		return err
	}
	for _, made := range p.Runs {
		made.ClockPolicy, made.CachePolicy, made.ReplayPolicy = run.ClockPolicy, run.CachePolicy, run.ReplayPolicy
		if made.ToolVersion == "" {
			made.ToolVersion = run.ToolVersion
		}
		if text, err := os.ReadFile(log); err == nil && strings.Contains(string(text), "ERR_NVGPUCTRPERM") {
			judge(ctx, made, "ncu", log, r)
		}
	}
	p.Failed(r)
	return p.Write(out, r.Start)
}

// leaveOut notes the metrics that a log says there are not, and reports
// whether there was a new one.
func (o *ncuOptions) leaveOut(log string, without map[string]bool) bool {
	b, err := os.ReadFile(log)
	if err != nil {
		return false
	}
	found := false
	for _, m := range noMetric.FindAllStringSubmatch(string(b), -1) {
		name := strings.TrimRight(m[1], ".")
		if !without[name] {
			without[name], found = true, true
		}
	}
	return found
}

// read reads the report itself, which has instructions and samples besides
// metrics. Where its version is not known, ncu writes the metrics as CSV.
func (o *ncuOptions) read(ctx context.Context, subject *process.Subject, ncu, report, dir string, out *collectors.Output) (*process.Profile, error) {
	p, err := subject.Read(ctx, "ncu-rep", report)
	if err == nil {
		return p, nil
	}
	table := filepath.Join(dir, "raw.csv")
	f, ferr := os.Create(table)
	if ferr != nil {
		return nil, ferr
	}
	defer f.Close()
	r, rerr := process.Run(ctx, process.Command{Argv: []string{ncu, "--import", report, "--csv", "--page", "raw"}, Stdout: f, Env: append(os.Environ(), "LC_ALL=C")})
	if rerr != nil {
		return nil, rerr
	}
	if !r.OK() {
		return nil, fmt.Errorf("%w; and ncu --import ended with %s", err, r)
	}
	out.Warn(0, 0, "the report itself is not read (%v): metrics come from ncu --import --csv, without instructions and samples", err)
	return subject.Read(ctx, "ncu-csv", table)
}

// keep copies a tool's file to where the user wants it.
func keep(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
