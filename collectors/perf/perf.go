// Package perf is the collector "perf": it runs a command under Linux perf,
// which counts events of the processor and the kernel (stat), or takes samples
// of where the command is (record). In flows a command, out flow the runs that
// the formats "perf-stat-csv" and "perf-script" make of what perf writes.
//
// Where the machine has no hardware counters, as most virtual machines, what
// the kernel counts is kept and the run is unavailable: its counters say which
// events are unsupported.
package perf

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

const fix = "install the perf of this kernel: apt install linux-perf or linux-tools-$(uname -r), dnf install perf"

func init() {
	collectors.RegisterCollector(collectors.Collector{
		Name:    "perf",
		About:   "hardware and kernel events of a command (stat), or where it spends them (record), by Linux perf",
		Version: 1,
		New:     newPerf,
		Check:   check,
	})
}

// sets are events that belong together.
var sets = map[string]string{
	"default": "task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions,branches,branch-misses,cache-references,cache-misses",
	"cache":   "task-clock,cycles,instructions,L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses,dTLB-loads,dTLB-load-misses,iTLB-load-misses",
	"flops": "task-clock,cycles,instructions,fp_arith_inst_retired.scalar_double,fp_arith_inst_retired.scalar_single,fp_arith_inst_retired.128b_packed_double,fp_arith_inst_retired.128b_packed_single," +
		"fp_arith_inst_retired.256b_packed_double,fp_arith_inst_retired.256b_packed_single,fp_arith_inst_retired.512b_packed_double,fp_arith_inst_retired.512b_packed_single",
	"stalls": "task-clock,cycles,instructions,stalled-cycles-frontend,stalled-cycles-backend,branch-misses,cache-misses",
	"kernel": "task-clock,cpu-clock,context-switches,cpu-migrations,page-faults,minor-faults,major-faults,alignment-faults,emulation-faults",
}

// software are events that the kernel counts by itself.
var software = map[string]bool{"task-clock": true, "cpu-clock": true, "context-switches": true, "cs": true, "cpu-migrations": true, "migrations": true,
	"page-faults": true, "faults": true, "minor-faults": true, "major-faults": true, "alignment-faults": true, "emulation-faults": true, "bpf-output": true,
	"cgroup-switches": true, "dummy": true, "duration_time": true, "user_time": true, "system_time": true}

type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

type options struct {
	mode, set, callGraph    string
	events                  list
	repeats, interval, rate int
	inputs, extra           list
}

func newPerf(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	o := &options{}
	fs.StringVar(&o.mode, "mode", "stat", "stat (count events) or record (sample where they happen)")
	fs.StringVar(&o.set, "set", "default", "events of stat: default, cache, flops (Intel), stalls or kernel")
	fs.Var(&o.events, "event", "events instead of a set, as perf list names them, separated by commas (may be given several times)")
	fs.IntVar(&o.repeats, "repeats", 1, "stat: how often the command runs; perf gives the mean and its variance")
	fs.IntVar(&o.interval, "interval", 0, "stat: also each so many milliseconds, 10 at least; 0 is only the whole")
	fs.IntVar(&o.rate, "frequency", 999, "record: samples per second")
	fs.StringVar(&o.callGraph, "call-graph", "fp", "record: how callers are found: fp, dwarf, lbr or none")
	fs.Var(&o.inputs, "input", "a file that the command reads: its content goes into the input hash (may be given several times)")
	fs.Var(&o.extra, "option", "another option for perf stat or perf record (may be given several times)")
	return o.collect
}

func (o *options) validate(job collectors.Job) error {
	set, ok := sets[o.set]
	switch {
	case len(job.Command) == 0:
		return errors.New("no command to run: name it after --")
	case o.mode != "stat" && o.mode != "record":
		return fmt.Errorf("--mode %s: it is stat or record", o.mode)
	case !ok:
		return fmt.Errorf("--set %s: it is default, cache, flops, stalls or kernel", o.set)
	case o.repeats < 1:
		return fmt.Errorf("--repeats %d: it takes 1 at least", o.repeats)
	case o.interval != 0 && (o.interval < 10 || o.repeats > 1):
		return errors.New("--interval takes 10 ms at least, and goes with --repeats 1 only")
	case o.rate < 1:
		return fmt.Errorf("--frequency %d: it takes 1 at least", o.rate)
	}
	switch o.callGraph {
	case "fp", "dwarf", "lbr", "none":
	default:
		return fmt.Errorf("--call-graph %s: it is fp, dwarf, lbr or none", o.callGraph)
	}
	if len(o.events) == 0 && o.mode == "stat" {
		o.events = list{set}
	}
	return nil
}

func (o *options) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	if err := o.validate(job); err != nil {
		return err
	}
	subject, err := process.Describe(ctx, job, o.inputs...)
	if err != nil {
		return err
	}
	format := map[string]string{"stat": "perf-stat-csv", "record": "perf-script"}[o.mode]
	run := subject.Run("perf", "", format)
	perf, missing := process.Tool("perf", fix)
	if missing == nil {
		missing = permitted(host.Here, os.Geteuid() == 0)
	}
	if missing != nil {
		return subject.PutMissing(out, run, missing)
	}
	run.ToolVersion = strings.TrimPrefix(process.Ask(ctx, perf, "--version"), "perf version ")
	dir, remove, err := process.Scratch("perf")
	if err != nil {
		return err
	}
	defer remove()
	m := measurement{options: o, ctx: ctx, job: job, out: out, subject: subject, run: run, perf: perf, dir: dir}
	if o.mode == "record" {
		return m.record()
	}
	return m.stat()
}

// measurement is one use of perf.
type measurement struct {
	*options
	ctx     context.Context
	job     collectors.Job
	out     *collectors.Output
	subject *process.Subject
	run     datasets.Run
	perf    string
	dir     string
}

// start runs perf over the command. perf passes the command's exit status on,
// and what perf itself has to say is in stderr, after the command's.
func (m *measurement) start(args []string) (r process.Result, said string, err error) {
	var tail lastLines
	r, err = process.Run(m.ctx, process.Command{Argv: append(append(append([]string{m.perf}, args...), "--"), m.job.Command...), Dir: m.job.Dir,
		Stdin: m.job.Stdin, Stdout: m.job.Stdout, Stderr: tail.beside(m.job.Stderr), Env: append(os.Environ(), "LC_ALL=C")})
	return r, tail.String(), err
}

func (m *measurement) stat() error {
	file := filepath.Join(m.dir, "stat.csv")
	events := strings.Join(m.events, ",")
	// Without the elapsed time, what perf derives from it cannot be checked.
	if hasDuration(m.run.ToolVersion) && !strings.Contains(events, "duration_time") && !strings.Contains(events, "{") {
		events = "duration_time," + events
	}
	args := []string{"stat", "-x", ";", "-o", file, "-e", events}
	if m.repeats > 1 {
		args = append(args, "-r", strconv.Itoa(m.repeats))
	}
	if m.interval > 0 {
		args = append(args, "-I", strconv.Itoa(m.interval))
	}
	r, said, err := m.start(append(args, m.extra...))
	if err != nil {
		return err
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), ";") {
		return m.failed(r, said)
	}
	p, err := m.subject.Read(m.ctx, "perf-stat-csv", file)
	if err != nil {
		return err
	}
	m.complete(p)
	p.Failed(r)
	judge(p)
	m.doubt(p)
	return p.Write(m.out, r.Start)
}

func (m *measurement) record() error {
	data := filepath.Join(m.dir, "perf.data")
	args := []string{"record", "-q", "-o", data, "-F", strconv.Itoa(m.rate)}
	if len(m.events) > 0 {
		args = append(args, "-e", strings.Join(m.events, ","))
	}
	if m.callGraph != "none" {
		args = append(args, "--call-graph", m.callGraph)
	}
	r, said, err := m.start(append(args, m.extra...))
	if err != nil {
		return err
	}
	if st, err := os.Stat(data); err != nil || st.Size() == 0 {
		return m.failed(r, said)
	}
	text := filepath.Join(m.dir, "perf.script")
	f, err := os.Create(text)
	if err != nil {
		return err
	}
	defer f.Close()
	var tail lastLines
	s, err := process.Run(m.ctx, process.Command{Argv: []string{m.perf, "script", "--no-inline", "-i", data}, Stdout: f, Stderr: tail.beside(nil), Env: append(os.Environ(), "LC_ALL=C")})
	if err != nil {
		return err
	}
	st, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !s.OK():
		return fmt.Errorf("perf script ended with %s: %s", s, tail.String())
	case st.Size() == 0:
		m.run.Status, m.run.Error = datasets.RunEmpty, "perf took no sample: the command was too short for --frequency "+strconv.Itoa(m.rate)
		return m.subject.Put(m.out, m.run)
	}
	p, err := m.subject.Read(m.ctx, "perf-script", text)
	if err != nil {
		return err
	}
	m.complete(p)
	p.Failed(r)
	return p.Write(m.out, r.Start)
}

func (m *measurement) complete(p *process.Profile) {
	for _, run := range p.Runs {
		if run.ToolVersion == "" {
			run.ToolVersion = m.run.ToolVersion
		}
	}
}

// doubt takes away a duration_time in which all processors together could not
// have given the command its processor time: the first one that perf 6.1 reads
// is at times some microseconds.
func (m *measurement) doubt(p *process.Profile) {
	type of struct{ run, launch int64 }
	clock := map[of]float64{}
	for _, r := range p.Records {
		if c, ok := r.(*datasets.Counter); ok && c.Metric == "task-clock" && c.Instance == "" && c.Value.Valid && c.Unit == "s" {
			clock[of{c.Run, c.Launch}] = c.Value.V
		}
	}
	wrong := map[of]bool{}
	for _, r := range p.Records {
		c, ok := r.(*datasets.Counter)
		if !ok || c.Metric != "duration_time" || c.Instance != "" || !c.Value.Valid || c.Unit != "s" {
			continue
		}
		if cpus := float64(m.cpus()); clock[of{c.Run, c.Launch}] > 1.1*cpus*c.Value.V {
			m.out.Warn(0, 0, "perf says that %s ns passed, in which %g processors cannot have given %g s of processor time: duration_time is not kept", c.RawValue, cpus, clock[of{c.Run, c.Launch}])
			wrong[of{c.Run, c.Launch}] = true
		}
	}
	for _, r := range p.Records {
		if c, ok := r.(*datasets.Counter); ok && wrong[of{c.Run, c.Launch}] && (c.Metric == "duration_time" || c.Instance == "duration_time" || c.Metric == "CPUs utilized") {
			c.Value, c.Status = datasets.Null[float64]{}, datasets.StatusNA
		}
	}
}

// cpus are the processors of this machine.
func (m *measurement) cpus() int { return max(runtime.NumCPU(), 1) }

// hasDuration says whether a version of perf knows the event duration_time:
// 5.2 and later.
func hasDuration(version string) bool {
	var major, minor int
	if n, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || n != 2 {
		return false
	}
	return major > 5 || major == 5 && minor >= 2
}

// failed writes the run of a perf that wrote nothing, with what perf said.
func (m *measurement) failed(r process.Result, said string) error {
	var missing *collectors.MissingError
	if strings.Contains(said, "event syntax error") && errors.As(check(m.ctx), &missing) {
		// A processor that hides its counters hides their names too.
		missing.Mark(&m.run)
	} else if denied(said) {
		(&collectors.MissingError{Status: datasets.RunDenied, What: "the kernel refuses performance events: " + said, Fix: permissionFix}).Mark(&m.run)
	} else {
		m.run.Status, m.run.Error = datasets.RunFailed, fmt.Sprintf("perf ended with %s and measured nothing: %s", r, said)
	}
	return m.subject.Put(m.out, m.run)
}

// judge says on runs in which no hardware event counted, although some were
// asked for, that the machine has none.
func judge(p *process.Profile) {
	counted, refused := map[int64]int{}, map[int64][]string{}
	seen := map[string]bool{}
	for _, r := range p.Records {
		c, ok := r.(*datasets.Counter)
		if !ok || software[strings.SplitN(c.Metric, ":", 2)[0]] || c.Instance != "" {
			continue
		}
		switch c.Status {
		case datasets.StatusOK, datasets.StatusMultiplexed:
			counted[c.Run]++
		case datasets.StatusUnsupported, datasets.StatusMissing:
			if !seen[c.Metric] {
				seen[c.Metric] = true
				refused[c.Run] = append(refused[c.Run], c.Metric)
			}
		}
	}
	for _, run := range p.Runs {
		if run.Status == datasets.RunOK && counted[run.ID] == 0 && len(refused[run.ID]) > 0 {
			(&collectors.MissingError{Status: datasets.RunUnavailable,
				What: "this machine has no hardware counters for " + strings.Join(refused[run.ID], ", ") + " (what the kernel counts itself is there)",
				Fix:  noCounters}).Mark(run)
		}
	}
}
