// Package nvml is the collector "nvml": what the sensors of NVIDIA's GPUs say
// while a command runs. In flows a command, out flow
//
//	telemetry  sensors gpu0.power, gpu0.power.instant (W), gpu0.energy (J since
//	           the start, cumulative), gpu0.clock.sm, .graphics, .memory (Hz),
//	           gpu0.memory.used (byte), gpu0.temperature (degC),
//	           gpu0.utilization.gpu, .memory (%), gpu0.throttle_reasons (bits)
//	counter    of the command's launch, the GPU as instance:
//	           energy.counter   J  by the GPU's own counter
//	           energy.integral  J  the power over time, by the trapezoidal rule
//	           power.mean, power.max, temperature.max, memory.used.max, clock.sm.mean
//	           throttle         %  of the readings with a reason; instance gpu0 REASON
//
// The two energies differ: the counter is exact and is refreshed every 20 to
// 100 ms, which is coarse for short commands; the readings of power are means
// over a second on most GPUs since Ampere, and lag behind.
// Where power.instant is there, it is the one that is integrated.
package nvml

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	host.RegisterDevices(facts)
	collectors.RegisterCollector(collectors.Collector{
		Name:    "nvml",
		About:   "power, energy, clocks, memory, temperature and throttling of NVIDIA's GPUs while a command runs",
		Version: 1,
		New:     newNVML,
		Check: func(context.Context) error {
			lib, closeLib, err := open()
			if err != nil {
				return err
			}
			defer closeLib()
			_, err = gpus(lib, nil)
			return err
		},
	})
}

type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

type options struct {
	rate   float64
	gpus   string
	inputs list
}

func newNVML(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	o := &options{}
	fs.Float64Var(&o.rate, "rate", 50, "readings per second, 100 at most")
	fs.StringVar(&o.gpus, "gpu", "", "the GPUs to read, by number: 0,1; empty is all")
	fs.Var(&o.inputs, "input", "a file that the command reads: its content goes into the input hash (may be given several times)")
	return o.collect
}

func (o *options) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	switch {
	case len(job.Command) == 0:
		return errors.New("no command to run: name it after -- (sleep 10 reads the GPUs at rest)")
	case !(o.rate > 0 && o.rate <= 100):
		return fmt.Errorf("--rate %g: it takes more than 0 and 100 at most; the sensors are not refreshed more often", o.rate)
	}
	var which []int
	for _, f := range strings.FieldsFunc(o.gpus, func(r rune) bool { return r == ',' }) {
		i, err := strconv.Atoi(f)
		if err != nil {
			return fmt.Errorf("--gpu %s: expected numbers, separated by commas", o.gpus)
		}
		which = append(which, i)
	}
	subject, err := process.Describe(ctx, job, o.inputs...)
	if err != nil {
		return err
	}
	run := subject.Run("nvml", "", "nvml")
	run.TimeMetric, run.TimeInclusive = "time.wall", true
	lib, closeLib, err := open()
	if m := missing(err); m != nil {
		return subject.PutMissing(out, run, m)
	}
	defer closeLib()
	gs, err := gpus(lib, which)
	if m := missing(err); m != nil {
		return subject.PutMissing(out, run, m)
	}
	if err != nil {
		return err
	}
	run.ToolVersion = text(lib.nvmlVer)
	subject.Attributes = append(subject.Attributes, describe(lib, gs, &subject.Machine)...)
	rec := &recorder{gpus: gs}
	var stop func() error
	r, err := process.Run(ctx, process.Command{Argv: job.Command, Dir: job.Dir, Stdin: job.Stdin, Stdout: job.Stdout, Stderr: job.Stderr,
		Before: func(start time.Time) error {
			rec.begin()
			stop = process.Every(start, time.Duration(float64(time.Second)/o.rate), rec.read)
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
	return rec.write(out, r.Usage.Wall)
}

// reading is what the sensors of one GPU said at one time; NaN is no answer.
type reading struct {
	at     time.Duration
	values []float64
}

// recorder reads the sensors.
type recorder struct {
	gpus     []*gpu
	readings [][]reading // by GPU
}

func (rec *recorder) begin() {
	rec.readings = make([][]reading, len(rec.gpus))
	for _, g := range rec.gpus {
		if g.sensor("energy") != nil {
			e, ret := g.energy()
			if ret != success {
				e = math.NaN() // nothing is known without a beginning
			}
			g.energy0 = e
		}
	}
}

// read reads all sensors once.
func (rec *recorder) read(since time.Duration) error {
	for i, g := range rec.gpus {
		one := reading{at: since, values: make([]float64, len(g.sensors))}
		for k, s := range g.sensors {
			v, ret := s.read()
			switch {
			case ret != success:
				v = math.NaN()
			case s.name == "energy":
				v -= g.energy0
			}
			one.values[k] = v
		}
		rec.readings[i] = append(rec.readings[i], one)
	}
	return nil
}

func (rec *recorder) write(out *collectors.Output, wall time.Duration) error {
	put := func(metric, instance, unit string, v float64, known bool) error {
		c := datasets.Counter{Run: 1, Region: 1, Launch: 1, Metric: metric, Instance: instance, Unit: unit, Status: datasets.StatusUnsupported}
		if known {
			c.Value, c.Status = datasets.Some(v), datasets.StatusOK
			if math.IsNaN(v) {
				c.Value, c.Status = datasets.Null[float64]{}, datasets.StatusNA
			}
		}
		return out.Put(&c)
	}
	if err := put("time.wall", "", "s", wall.Seconds(), true); err != nil {
		return err
	}
	for i, g := range rec.gpus {
		name := fmt.Sprintf("gpu%d", g.index)
		for k, s := range g.sensors {
			for _, r := range rec.readings[i] {
				t := datasets.Telemetry{Run: 1, Sensor: name + "." + s.name, TNs: r.at.Nanoseconds(), Unit: s.unit, Kind: s.kind}
				if !math.IsNaN(r.values[k]) {
					t.Value = datasets.Some(r.values[k])
				}
				if err := out.Put(&t); err != nil {
					return err
				}
			}
		}
		col := func(sensor string) ([]float64, bool) {
			for k, s := range g.sensors {
				if s.name == sensor {
					vs := make([]float64, len(rec.readings[i]))
					for n, r := range rec.readings[i] {
						vs[n] = r.values[k]
					}
					return vs, true
				}
			}
			return nil, false
		}
		times := make([]float64, len(rec.readings[i]))
		for n, r := range rec.readings[i] {
			times[n] = r.at.Seconds()
		}
		power, hasPower := col("power.instant")
		if !hasPower {
			power, hasPower = col("power")
		}
		energy, hasEnergy := col("energy")
		temperature, hasTemperature := col("temperature")
		memory, hasMemory := col("memory.used")
		clock, hasClock := col("clock.sm")
		joules, mean := integrate(times, power)
		_, meanClock := integrate(times, clock)
		for _, c := range []struct {
			metric, unit string
			v            float64
			known        bool
		}{
			{"energy.counter", "J", lastOf(energy), hasEnergy},
			{"energy.integral", "J", joules, hasPower},
			{"power.mean", "W", mean, hasPower},
			{"power.max", "W", maxOf(power), hasPower},
			{"temperature.max", "degC", maxOf(temperature), hasTemperature},
			{"memory.used.max", "byte", maxOf(memory), hasMemory},
			{"clock.sm.mean", "Hz", meanClock, hasClock},
		} {
			if err := put(c.metric, name, c.unit, c.v, c.known); err != nil {
				return err
			}
		}
		bits, hasBits := col("throttle_reasons")
		for _, reason := range reasons {
			share := shareOf(bits, reason.bit)
			if hasBits && share == 0 {
				continue // what never happened is no line
			}
			if err := put("throttle", name+" "+reason.name, "%", share, hasBits); err != nil {
				return err
			}
			if !hasBits {
				break
			}
		}
	}
	return nil
}

// integrate returns the integral of v over t by the trapezoidal rule, and the
// mean. Readings without an answer are left out; of fewer than two nothing is known.
func integrate(t, v []float64) (integral, mean float64) {
	last, first := -1, -1
	for i := range v {
		if math.IsNaN(v[i]) {
			continue
		}
		if last >= 0 {
			integral += (t[i] - t[last]) * (v[i] + v[last]) / 2
		} else {
			first = i
		}
		last = i
	}
	if last <= first || t[last] <= t[first] {
		return math.NaN(), math.NaN()
	}
	return integral, integral / (t[last] - t[first])
}

func maxOf(v []float64) float64 {
	most := math.NaN()
	for _, x := range v {
		if math.IsNaN(most) || x > most {
			most = x
		}
	}
	return most
}

func lastOf(v []float64) float64 {
	for i := len(v) - 1; i >= 0; i-- {
		if !math.IsNaN(v[i]) {
			return v[i]
		}
	}
	return math.NaN()
}

// shareOf is in how many percent of the readings a bit was set.
func shareOf(v []float64, bit uint64) float64 {
	set, all := 0, 0
	for _, x := range v {
		if math.IsNaN(x) {
			continue
		}
		all++
		if uint64(x)&bit != 0 {
			set++
		}
	}
	if all == 0 {
		return math.NaN()
	}
	return 100 * float64(set) / float64(all)
}
