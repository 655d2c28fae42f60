// Package machine is the collector "machine": what this machine is, from
// package host, and how fast its
// processors are, from probes. Out flow a run with the facts
// as attributes, a region for each probe, a launch for each time that it was
// timed, and ceilings.
//
// Ceilings have Level "fp64" and "fp32" (multiply-adds in registers, two
// operations each) and "l1", "l2", "l3" and "dram" (the triad a = b + s c,
// with the 24 bytes of each element counted as STREAM does; that a cache reads
// a before it is written is not counted). Those are of all processors that
// this process may use, at once; Level "fp64.core", "dram.core" and so on are
// of one alone. Source says with which instructions each was reached.
package machine

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.RegisterCollector(collectors.Collector{
		Name:    "machine",
		About:   "this machine: processor, caches, memory, settings, and the ceilings that probes reach",
		Version: 1,
		New:     newMachine,
	})
}

type options struct {
	probe   bool
	threads int
	least   time.Duration
}

func newMachine(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	o := &options{}
	fs.BoolVar(&o.probe, "probe", true, "measure ceilings; --probe=false tells only what the system knows")
	fs.IntVar(&o.threads, "threads", 0, "threads of the probes that use all processors; 0 is one for each that may be used")
	fs.DurationVar(&o.least, "round", 3*time.Millisecond, "how long one of the rounds of a probe takes")
	return o.collect
}

func (o *options) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	if len(job.Command) > 0 {
		return fmt.Errorf("machine measures this machine and takes no command, found %q", job.Command[0])
	}
	if o.threads < 0 || o.least <= 0 {
		return fmt.Errorf("--threads %d --round %s: both take more than 0", o.threads, o.least)
	}
	m := host.Machine()
	run := datasets.Run{ID: 1, Machine: m.ID, Tool: "rooflab", Format: "machine", Started: datasets.Some(time.Now().UTC()), Status: datasets.RunOK,
		ClockPolicy: "none", CachePolicy: "none", TimeMetric: "time.duration", TimeInclusive: true}
	if err := out.Put(&m); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, f := range append(host.Here.Facts(), host.DeviceFacts()...) {
		if known[f.Name] {
			continue // both know the driver
		}
		known[f.Name] = true
		if err := out.Put(&datasets.Attribute{Run: 1, Name: f.Name, Value: f.Value}); err != nil {
			return err
		}
	}
	if o.probe {
		p := &prober{options: *o, job: job, out: out, cpus: allowed(o.threads)}
		if err := p.all(ctx); err != nil {
			return err
		}
	}
	return out.Put(&run)
}

// allowed lists the processors that the probes run on.
func allowed(threads int) []int {
	cpus := host.Here.CPU().Allowed
	if len(cpus) == 0 {
		cpus = []int{0}
	}
	if threads > 0 && threads < len(cpus) {
		cpus = cpus[:threads]
	}
	return cpus
}

// prober runs the probes and writes what they find.
type prober struct {
	options
	job            collectors.Job
	out            *collectors.Output
	cpus           []int
	hz             float64
	region, launch int64
}

func (p *prober) all(ctx context.Context) error {
	if q := host.Here.CPU().Quota; q > 0 && q < float64(len(p.cpus)) {
		p.out.Warn(0, 0, "the control group allows %.3g processors' time for %d processors: ceilings of all processors hold for short bursts alone", q, len(p.cpus))
	}
	var err error
	if p.hz, err = clock(ctx, p.cpus[0], p.least); err != nil {
		return err
	}
	if err := p.out.Put(&datasets.Attribute{Run: 1, Name: "cpu.clock_hz.measured", Value: strconv.FormatFloat(p.hz, 'f', -1, 64)}); err != nil {
		return err
	}
	sets := kernelSets()
	for _, precision := range []string{"fp64", "fp32"} {
		if err := p.flops(ctx, precision, sets); err != nil {
			return err
		}
	}
	found, skipped := levels(host.Here.Caches(), len(p.cpus), available())
	for _, s := range skipped {
		p.out.Warn(0, 0, "%s", s)
	}
	for _, l := range found {
		if l.doubt != "" {
			p.out.Warn(0, 0, "%s: %s", l.name, l.doubt)
		}
		if err := p.triads(ctx, l, sets); err != nil {
			return err
		}
	}
	return nil
}

// available is how much memory may be used: what the system has free, and the
// control group allows.
func available() int64 {
	if b := host.Here.Memory()["MemAvailable"]; b > 0 {
		if limit := host.Here.MemoryLimit(); limit > 0 {
			b = min(b, limit)
		}
		return b
	}
	return 1 << 30
}

func (p *prober) flops(ctx context.Context, precision string, sets []kernelSet) error {
	type pick struct {
		kernel func(int) float64
		work   float64
	}
	of := func(s kernelSet) pick {
		if precision == "fp32" {
			return pick{s.fma32, s.flop32 * 1000}
		}
		return pick{s.fma64, s.flop64 * 1000}
	}
	return p.best(ctx, precision, "fma", "flop."+precision, "flop", sets,
		func(s kernelSet, cpu int, _ bool) worker { return compute(cpu, of(s).kernel) },
		func(s kernelSet, _ bool) float64 { return of(s).work },
		func(kernelSet, bool) string { return "" })
}

func (p *prober) triads(ctx context.Context, l level, sets []kernelSet) error {
	// Large arrays are a whole number of parts.
	numbers := func(s kernelSet, alone bool) (n, part int) {
		bytes := l.thread
		if alone {
			bytes = l.single
		}
		n = max(int(bytes)/24/s.step, 1) * s.step
		if n > chunk {
			return n / chunk * chunk, chunk
		}
		return n, n
	}
	return p.best(ctx, l.name, "triad", "byte."+l.name, "byte", sets,
		func(s kernelSet, cpu int, alone bool) worker {
			n, part := numbers(s, alone)
			return stream(cpu, n, part, s.triad)
		},
		func(s kernelSet, alone bool) float64 {
			_, part := numbers(s, alone)
			return 24 * float64(part)
		},
		func(s kernelSet, alone bool) string {
			n, _ := numbers(s, alone)
			return fmt.Sprintf(", %d bytes in each thread", 24*n)
		})
}

// best runs a probe with each set of instructions on one processor, and with
// the best of them on all. work is what one call does in one thread.
func (p *prober) best(ctx context.Context, what, probe, metric, unit string, sets []kernelSet,
	work func(s kernelSet, cpu int, alone bool) worker, amount func(s kernelSet, alone bool) float64, about func(s kernelSet, alone bool) string) error {
	best, top := sets[0], 0.0
	for _, s := range sets {
		t, err := measure(ctx, []worker{work(s, p.cpus[0], true)}, p.least)
		if err != nil {
			return err
		}
		rate := t.calls * amount(s, true) / t.best().Seconds()
		if rate > top {
			best, top = s, rate
		}
		if err := p.emit(probe+"."+what+".core", s, metric, unit, t, t.calls*amount(s, true)); err != nil {
			return err
		}
	}
	if err := p.ceiling(what+".core", top, unit, fmt.Sprintf("%s, %s, one thread%s, best of %d rounds", probe, best.instructions, about(best, true), rounds)); err != nil {
		return err
	}
	var workers []worker
	for _, cpu := range p.cpus {
		workers = append(workers, work(best, cpu, false))
	}
	t, err := measure(ctx, workers, p.least)
	if err != nil {
		return err
	}
	total := t.calls * amount(best, false) * float64(len(workers))
	if err := p.emit(probe+"."+what, best, metric, unit, t, total); err != nil {
		return err
	}
	all, source := together(total/t.best().Seconds(), top, len(workers), unit)
	return p.ceiling(what, all, unit, fmt.Sprintf("%s, %s, %s%s, best of %d rounds", probe, best.instructions, source, about(best, false), rounds))
}

// together is the rate of n threads and the words for it. What one thread
// reaches, all can reach: where they were measured below that, something else
// used the processors, and the one thread's rate is the better bound.
func together(rate, one float64, n int, unit string) (float64, string) {
	if rate >= one {
		return rate, fmt.Sprintf("%d threads", n)
	}
	return one, fmt.Sprintf("one thread, since %d reached only %.4g %s/s: something else was running, measure again without it", n, rate, unit)
}

func (p *prober) ceiling(level string, value float64, unit, source string) error {
	fmt.Fprintf(p.job.Log, "machine: %-10s %12.4g %s/s  %s\n", level, value, unit, source)
	return p.out.Put(&datasets.Ceiling{Machine: 1, Run: 1, Level: level, Value: value, Unit: unit + "/s", Measured: true, ClockHz: datasets.Some(p.hz), Source: source})
}

// emit writes a probe as a region and its rounds as launches.
func (p *prober) emit(name string, s kernelSet, metric, unit string, t timing, amount float64) error {
	p.region++
	name += "." + s.name
	if err := p.out.Put(&datasets.Region{ID: p.region, Run: 1, Kind: datasets.KindKernel, Raw: name, Short: name}); err != nil {
		return err
	}
	if err := p.out.Put(&datasets.Attribute{Run: 1, Region: p.region, Name: "instructions", Value: s.instructions}); err != nil {
		return err
	}
	for _, d := range t.times {
		p.launch++
		l := datasets.Launch{ID: p.launch, Run: 1, Region: p.region, Sequence: datasets.Some(p.launch - 1), DurNs: datasets.Some(d.Nanoseconds())}
		if err := p.out.Put(&l); err != nil {
			return err
		}
		for _, c := range []datasets.Counter{{Metric: "time.duration", Value: datasets.Some(d.Seconds()), Unit: "s"}, {Metric: metric, Value: datasets.Some(amount), Unit: unit}} {
			c.Run, c.Region, c.Launch, c.Status = 1, p.region, p.launch, datasets.StatusOK
			if err := p.out.Put(&c); err != nil {
				return err
			}
		}
	}
	return nil
}
