// Package nvml is the collector "nvml": what the sensors of NVIDIA's GPUs say
// while a command runs. In flows a command, out flow
//
//	telemetry  sensors gpu0.power, gpu0.power.instant (W), gpu0.energy (J since
//	           the start, cumulative), gpu0.clock.sm, .graphics, .memory (Hz),
//	           gpu0.memory.used (byte), gpu0.temperature, .temperature.memory
//	           (degC), gpu0.utilization.gpu, .memory (%), gpu0.fan (%),
//	           gpu0.pcie.tx, .rx (byte since the start, cumulative),
//	           gpu0.throttle_reasons (bits)
//	counter    of the command's launch, the GPU as instance:
//	           energy.counter   J  by the GPU's own counter
//	           energy.integral  J  the power over time, by the trapezoidal rule
//	           power.mean, power.max, temperature.max, memory.used.max, clock.sm.mean
//	           pcie.tx, pcie.rx byte  sent and received by the GPU
//	           throttle         %  of the readings with a reason; instance gpu0 REASON
//
// The two energies differ: the counter is exact and is refreshed every 20 to
// 100 ms, which is coarse for short commands; the readings of power are means
// over a second on most GPUs since Ampere, and lag behind.
// Where power.instant is there, it is the one that is integrated.
//
// The sensors are read by a program of its own, rooflab-nvml, which is linked
// with NVIDIA's binding go-nvml; this package starts it and is light itself.
// `rooflab prepare` builds the program, or else the first use where there is a
// driver. ROOFLAB_NVML_LIBRARY names the driver's library where the loader does
// not find it. A library that crashes ends the program alone: the run is
// datasets.RunFailed then, and keeps the readings up to there.
package nvml

import (
	"context"
	"errors"
	"flag"
	"fmt"
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
		Version: 2,
		New:     newNVML,
		Prepare: prepare,
		Check: func(ctx context.Context) error {
			_, err := hear(ctx)
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
	for _, f := range strings.FieldsFunc(o.gpus, func(r rune) bool { return r == ',' }) {
		if _, err := strconv.Atoi(f); err != nil {
			return fmt.Errorf("--gpu %s: expected numbers, separated by commas", o.gpus)
		}
	}
	subject, err := process.Describe(ctx, job, o.inputs...)
	if err != nil {
		return err
	}
	run := subject.Run("nvml", "", "nvml")
	run.TimeMetric, run.TimeInclusive = "time.wall", true
	s, err := start(ctx, job.Log, "sample", "--wait", "--gpu", o.gpus, "--rate", strconv.FormatFloat(o.rate, 'g', -1, 64))
	var missing *collectors.MissingError
	if errors.As(err, &missing) {
		return subject.PutMissing(out, run, missing)
	}
	if err != nil {
		return err
	}
	defer s.close()
	run.ToolVersion = s.hello.NVML
	subject.Attributes = append(subject.Attributes, describe(s.hello, &subject.Machine)...)
	rec := &recorder{hello: s.hello}
	r, err := process.Run(ctx, process.Command{Argv: job.Command, Dir: job.Dir, Stdin: job.Stdin, Stdout: job.Stdout, Stderr: job.Stderr,
		Before: func(time.Time) (err error) {
			if rec.start, err = monotonic(); err == nil {
				s.begin()
			}
			return err
		},
		After: func() error {
			rec.readings, rec.broken = s.end()
			return nil
		},
	})
	if err != nil {
		return err
	}
	run.Started = datasets.Some(r.Start.UTC())
	if !r.OK() {
		run.Status, run.Error = datasets.RunFailed, "the command ended with "+r.String()
	}
	if rec.broken != nil {
		run.Status = datasets.RunFailed
		run.Error = strings.TrimPrefix(run.Error+"; ", "; ") + "the sensors were not read to the end: " + programName + ", which runs the driver's library, failed: " + rec.broken.Error() + "; " + lookFix
	}
	if err := subject.Put(out, run); err != nil {
		return err
	}
	if err := subject.PutLaunches(out, r); err != nil {
		return err
	}
	return rec.write(out, r.Usage.Wall)
}
