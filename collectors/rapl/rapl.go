// Package rapl is the collector "rapl": the energy that processor and memory
// take while a command runs, from the counters that the kernel shows under
// /sys/class/powercap (Intel since Sandy Bridge, AMD since Zen). In flows a
// command, out flow
//
//	counter    energy  J  and  power  W (the mean), of the command's launch, with
//	           the domain as instance: package-0, package-0/dram, psys
//	telemetry  sensor rapl.DOMAIN: the energy since the start, J, cumulative
//
// The counters are of the whole machine: what else runs is in them. A domain
// contains those below it, so package-0/core is part of package-0; psys
// contains the packages. The counters wrap at max_energy_range_uj.
package rapl

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.RegisterCollector(collectors.Collector{
		Name:    "rapl",
		About:   "energy of processor and memory while a command runs, from the kernel's powercap counters",
		Version: 1,
		New: func(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
			return newRAPL(fs, host.Here)
		},
		Check: func(context.Context) error {
			if _, missing := domains(host.Here); missing != nil {
				return missing
			}
			return nil
		},
	})
}

// domain is a part of the machine whose energy is counted.
type domain struct {
	name  string // package-0/dram
	dir   string
	wrap  uint64 // the counter begins again there, microjoules
	last  uint64
	total uint64 // since the start
}

const (
	folder    = "/sys/class/powercap"
	deniedFix = "let users read it: sudo chmod -R a+r /sys/class/powercap/*/energy_uj (until the next start), or run as root"
	absentFix = "use bare metal with an Intel (Sandy Bridge or later) or AMD (Zen or later) processor and the kernel module intel_rapl_msr: sudo modprobe intel_rapl_msr"
)

// unusable are counters of parts of a processor alone.
var unusable = &collectors.MissingError{Status: datasets.RunUnavailable, What: "this machine shows energy counters under " + folder + ", but none of a whole processor (package-0) or of the machine (psys)", Fix: absentFix}

// domains lists the domains of a system, or says why there are none.
func domains(s host.System) ([]*domain, *collectors.MissingError) {
	dirs, err := filepath.Glob(s.Path(folder + "/*:*"))
	if err != nil {
		return nil, &collectors.MissingError{Status: datasets.RunUnavailable, What: err.Error(), Fix: absentFix}
	}
	sort.Strings(dirs)
	names := map[string]string{}
	var found []*domain
	var refused error
	for _, dir := range dirs {
		base := filepath.Base(dir)
		kind, _, _ := strings.Cut(base, ":")
		b, err := os.ReadFile(filepath.Join(dir, "name"))
		if err != nil {
			continue // no zone: a control type, or one of another kind
		}
		name := strings.TrimSpace(string(b))
		// intel-rapl:0:1 is a part of intel-rapl:0, which is sorted before it.
		if i := strings.LastIndex(base, ":"); strings.Count(base, ":") > 1 {
			name = names[base[:i]] + "/" + name
		} else if kind != "intel-rapl" {
			name = strings.TrimPrefix(kind, "intel-rapl-") + "/" + name // the same counter by another way
		}
		names[base] = name
		d := &domain{name: name, dir: dir}
		if d.last, err = d.read("energy_uj"); err != nil {
			if errors.Is(err, fs.ErrPermission) {
				refused = err
			}
			continue
		}
		if d.wrap, err = d.read("max_energy_range_uj"); err != nil || d.wrap == 0 {
			continue // without it a counter that wrapped cannot be told
		}
		found = append(found, d)
	}
	switch {
	case len(found) > 0:
		return found, nil
	case refused != nil:
		return nil, &collectors.MissingError{Status: datasets.RunDenied, What: "the system refuses the energy counters: " + refused.Error(), Fix: deniedFix}
	}
	return nil, &collectors.MissingError{Status: datasets.RunUnavailable, What: "this machine shows no energy counters under " + folder + " (virtual machines do not)", Fix: absentFix}
}

func (d *domain) read(file string) (uint64, error) {
	b, err := os.ReadFile(filepath.Join(d.dir, file))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
}

// update reads the counter and adds what it went on since the last time. It
// must be called before the counter wraps twice, some minutes at full power.
func (d *domain) update() error {
	now, err := d.read("energy_uj")
	if err != nil {
		return fmt.Errorf("reading the energy of %s: %w", d.name, err)
	}
	if now >= d.last {
		d.total += now - d.last
	} else {
		d.total += d.wrap - d.last + now
	}
	d.last = now
	return nil
}

type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

type options struct {
	system   host.System
	interval time.Duration
	inputs   list
}

func newRAPL(fs *flag.FlagSet, s host.System) func(context.Context, collectors.Job, *collectors.Output) error {
	o := &options{system: s}
	fs.DurationVar(&o.interval, "interval", 100*time.Millisecond, "how often the counters are read; they change about each millisecond")
	fs.Var(&o.inputs, "input", "a file that the command reads: its content goes into the input hash (may be given several times)")
	return o.collect
}

func (o *options) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	switch {
	case len(job.Command) == 0:
		return errors.New("no command to run: name it after -- (sleep 10 measures the machine at rest)")
	case o.interval < time.Millisecond || o.interval > time.Minute:
		return fmt.Errorf("--interval %s: it takes a millisecond to a minute", o.interval)
	}
	subject, err := process.Describe(ctx, job, o.inputs...)
	if err != nil {
		return err
	}
	run := subject.Run("rooflab", "", "rapl")
	run.TimeMetric, run.TimeInclusive = "time.wall", true
	ds, missing := domains(o.system)
	if missing != nil {
		return subject.PutMissing(out, run, missing)
	}
	var telemetry []datasets.Telemetry
	var stop func() error
	r, err := process.Run(ctx, process.Command{Argv: job.Command, Dir: job.Dir, Stdin: job.Stdin, Stdout: job.Stdout, Stderr: job.Stderr,
		Before: func(start time.Time) error {
			for _, d := range ds { // from now on
				if err := d.update(); err != nil {
					return err
				}
				d.total = 0
			}
			stop = process.Every(start, o.interval, func(since time.Duration) error {
				for _, d := range ds {
					if err := d.update(); err != nil {
						return err
					}
					telemetry = append(telemetry, datasets.Telemetry{Run: 1, Sensor: "rapl." + d.name, TNs: since.Nanoseconds(),
						Value: datasets.Some(float64(d.total) / 1e6), Unit: "J", Kind: "cumulative"})
				}
				return nil
			})
			return nil
		},
		After: func() error { return stop() },
	})
	if err != nil {
		return err
	}
	run.Started = datasets.Some(r.Start.UTC())
	if !r.OK() {
		run.Status, run.Error = datasets.RunFailed, "the command ended with "+r.String()
	}
	if err := subject.Put(out, run); err != nil {
		return err
	}
	if err := subject.PutLaunches(out, r); err != nil {
		return err
	}
	wall := r.Usage.Wall.Seconds()
	cs := []datasets.Counter{{Metric: "time.wall", Value: datasets.Some(wall), Unit: "s"}}
	for _, d := range ds {
		joules := float64(d.total) / 1e6
		cs = append(cs, datasets.Counter{Metric: "energy", Instance: d.name, Value: datasets.Some(joules), Unit: "J", RawValue: strconv.FormatUint(d.total, 10), RawUnit: "uJ"},
			datasets.Counter{Metric: "power", Instance: d.name, Value: datasets.Some(joules / wall), Unit: "W"})
	}
	for _, c := range cs {
		c.Run, c.Region, c.Launch, c.Status = 1, 1, 1, datasets.StatusOK
		if err := out.Put(&c); err != nil {
			return err
		}
	}
	for i := range telemetry {
		if err := out.Put(&telemetry[i]); err != nil {
			return err
		}
	}
	return out.Put(&datasets.Attribute{Run: 1, Name: "rapl.interval", Value: o.interval.String()})
}
