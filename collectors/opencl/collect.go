package opencl

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.RegisterCollector(collectors.Collector{
		Name:    "opencl",
		About:   "times OpenCL kernels, one launch at a time, on a GPU or (PoCL) the CPU",
		Version: 1,
		Check:   check,
		New:     flags,
	})
}

// settings are the collector's flags.
type settings struct {
	source, kernel, options string
	global, local           string
	args                    list
	expect                  list
	job                     string
	warmup, repeats         int
	timeout                 time.Duration
	platform, device        string
	reinit                  bool
	settle                  float64
	together                int

	child *child // what waits for another program, nil where there is none
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func flags(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	var s settings
	fs.StringVar(&s.source, "source", "", "`file` with kernels in OpenCL C")
	fs.StringVar(&s.kernel, "kernel", "", "`name` of the kernel to launch")
	fs.StringVar(&s.global, "global", "", "work-items of a launch, `X,Y,Z`")
	fs.StringVar(&s.local, "local", "", "work-items of a work-group, `X,Y,Z`; without it the driver chooses")
	fs.Var(&s.args, "arg", "argument of the kernel, [NAME=]`SPEC`, once for each in order: int:42, float4:1,2,3,4, buf:float:1024:random(1):r, local:256, raw:0a00")
	fs.Var(&s.expect, "expect", "what an output must be, `NAME=CHECK`: all=V, sum=V~TOLERANCE or sha256=HEX")
	fs.StringVar(&s.options, "options", "", "build `options`, -cl-fast-relaxed-math -DTILE=16")
	fs.StringVar(&s.job, "job", "", "JSON `file` with many launches, instead of the flags above")
	fs.IntVar(&s.warmup, "warmup", -1, "launches before those that are timed, also where a job file says another `number` (2 where nothing says)")
	fs.IntVar(&s.repeats, "repeats", 0, "launches that are timed, also where a job file says another `number` (10 where nothing says)")
	fs.DurationVar(&s.timeout, "timeout", 2*time.Minute, "how long one launch or build may take")
	fs.StringVar(&s.platform, "platform", "", "take a platform whose name contains this `text`")
	fs.StringVar(&s.device, "device", "", "take a device whose name contains this `text`; without it the first GPU, else the first device")
	fs.BoolVar(&s.reinit, "reinit", false, "write fresh inputs before every launch, for kernels that change them")
	fs.Float64Var(&s.settle, "settle", 0, "time a launch again, up to 5 times as often, until the relative standard error of the median is at most this `fraction`")
	fs.IntVar(&s.together, "together", 1, "`number` of programs that one process runs, one after the other: starting one takes a driver some tenths of a second, but what breaks its memory breaks the programs after it, too")
	return s.collect
}

// What is done where neither flags nor a job file say.
var fewWarmup, fewRepeats = 2, 10

// programs reads what the flags name.
func (s *settings) programs() ([]program, error) {
	var set struct{ warmup, repeats *int } // what the command line says goes before the job file
	if s.warmup >= 0 {
		set.warmup = &s.warmup
	}
	if !(s.settle >= 0) {
		return nil, fmt.Errorf("--settle %g: a fraction such as 0.02 is expected, or 0", s.settle)
	}
	if s.repeats != 0 {
		set.repeats = &s.repeats
	}
	if s.timeout <= 0 {
		return nil, errors.New("--timeout must be above 0")
	}
	if s.job != "" {
		if s.source != "" || s.kernel != "" || s.global != "" || s.local != "" || len(s.args)+len(s.expect) > 0 || s.options != "" {
			return nil, errors.New("--job goes without --source, --kernel, --global, --local, --arg, --expect and --options: the file says all that")
		}
		return readJob(s.job, set.warmup, set.repeats)
	}
	if s.source == "" || s.kernel == "" || s.global == "" {
		return nil, errors.New("--source, --kernel and --global are needed, or --job")
	}
	text, err := os.ReadFile(s.source)
	if err != nil {
		return nil, fmt.Errorf("reading the source: %w", err)
	}
	l := launchSpec{Kernel: s.kernel, Global: s.global, Local: s.local, Args: s.args, Warmup: first(set.warmup, &fewWarmup), Repeats: first(set.repeats, &fewRepeats), Expect: map[string]string{}}
	for _, e := range s.expect {
		name, check, ok := strings.Cut(e, "=")
		if !ok {
			return nil, fmt.Errorf("--expect %q: expected NAME=CHECK", e)
		}
		l.Expect[name] = check
	}
	return l.expand(nil, program{Path: s.source, Source: string(text), Options: s.options}, "")
}

func (s *settings) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	if len(job.Command) > 0 {
		return fmt.Errorf("the collector opencl runs no command, found %q: name a kernel's file with --source", collectors.CommandLine(job.Command))
	}
	ps, err := s.programs()
	if err != nil {
		return err
	}
	defer s.release()
	e := &emitter{out: out, machine: host.Machine(), state: host.Here.State()}
	for i, p := range ps {
		fmt.Fprintf(job.Log, "%d/%d %s %s: %d configurations\n", i+1, len(ps), p.Path, p.Options, len(p.Launches))
		missing, err := s.program(ctx, job, e, p)
		if err != nil {
			return err
		}
		if missing { // for one program is for all
			break
		}
	}
	return nil
}

// mostCrashes ends a program whose every launch crashes.
const mostCrashes = 10

// program measures one program; missing says that there is no device.
func (s *settings) program(ctx context.Context, job collectors.Job, e *emitter, p program) (missing bool, err error) {
	e.begin(p, s.command(p))
	began := time.Now()
	for from, crashes := 0, 0; from < len(p.Launches); {
		offset := time.Since(began).Nanoseconds()
		if s.child == nil {
			if s.child, err = start(job.Stdout, job.Stderr); err != nil {
				return missing, err
			}
		}
		alive, c, err := s.child.ask(ctx, request{Platform: s.platform, Device: s.device, Program: p, From: from, Reinit: s.reinit, Settle: s.settle}, s.timeout,
			func(m message) error {
				missing = missing || m.Unavailable != nil
				return e.message(m, offset)
			})
		if !alive {
			s.child = nil
		} else if s.child.served >= s.together {
			s.release()
		}
		if err != nil {
			return missing, err
		}
		if c == nil {
			break
		}
		if err := e.crashed(*c); err != nil {
			return missing, err
		}
		if crashes++; c.launch < 0 || crashes == mostCrashes {
			break
		}
		from = c.launch + 1
	}
	return missing, e.end()
}

// release ends the process that waits, if there is one.
func (s *settings) release() {
	if s.child != nil {
		_ = s.child.end() // its work is done, whatever it says now
		s.child = nil
	}
}

// command is the command line that measures the program again.
func (s *settings) command(p program) string {
	words := []string{"rooflab", "collect", "opencl"}
	if s.job != "" {
		words = append(words, "--job", s.job)
	} else {
		words = append(words, "--source", p.Path, "--kernel", s.kernel, "--global", s.global)
		for _, f := range []struct{ name, value string }{{"--local", s.local}, {"--options", s.options}} {
			if f.value != "" {
				words = append(words, f.name, f.value)
			}
		}
		for _, a := range s.args {
			words = append(words, "--arg", a)
		}
	}
	if s.reinit {
		words = append(words, "--reinit")
	}
	if s.settle > 0 {
		words = append(words, "--settle", strconv.FormatFloat(s.settle, 'g', -1, 64))
	}
	return collectors.CommandLine(words)
}

// check says whether there is a device, without loading any driver into this
// process: the loader's list of drivers, or the library alone.
func check(context.Context) error {
	lists, _ := filepath.Glob("/etc/OpenCL/vendors/*.icd") // the pattern is right
	if len(lists) == 0 && os.Getenv("OCL_ICD_VENDORS") == "" && os.Getenv("OCL_ICD_FILENAMES") == "" && !exists(libraryNames()) {
		return missingOpenCL("no OpenCL driver in /etc/OpenCL/vendors")
	}
	return nil
}

func exists(paths []string) bool {
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return true
		}
	}
	return false
}

func missingOpenCL(what string) *collectors.MissingError {
	return &collectors.MissingError{Status: datasets.RunUnavailable, What: what, Fix: howToGet}
}
