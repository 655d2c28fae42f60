package llvm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.RegisterCollector(collectors.Collector{
		Name:    "llvm",
		About:   "LLVM IR and static features of C, C++ and OpenCL sources: loops, strides, operations per iteration",
		Version: 1,
		Check: func(context.Context) error {
			_, err := Tool("clang", "")
			return err
		},
		New: flags,
	})
}

type settings struct {
	sources               list
	opt, std, clang, lang string
	options               string
	function              string
}

type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func flags(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
	var s settings
	fs.Var(&s.sources, "source", "`file` in C, C++, OpenCL C, or LLVM IR (.ll, .bc); may be given several times")
	fs.StringVar(&s.opt, "opt", "1", "optimisation `level` of clang: 0, 1, 2, 3, s, z, fast")
	fs.StringVar(&s.std, "std", "", "language `standard`, c11, c++17, CL1.2 (OpenCL's default is CL2.0)")
	fs.StringVar(&s.lang, "language", "", "c, c++ or cl, instead of what the file's name says")
	fs.StringVar(&s.options, "options", "", "more `flags` for clang, \"-Iinclude -DN=1000 -march=native\"")
	fs.StringVar(&s.clang, "clang", "", "`program` to use as clang")
	fs.StringVar(&s.function, "function", "", "only functions whose name contains this `text`")
	return s.collect
}

func (s *settings) collect(ctx context.Context, job collectors.Job, out *collectors.Output) error {
	if len(job.Command) > 0 {
		return fmt.Errorf("the collector llvm runs no command, found %q: name a source with --source", collectors.CommandLine(job.Command))
	}
	if len(s.sources) == 0 {
		return errors.New("--source is needed")
	}
	if !slices.Contains([]string{"0", "1", "2", "3", "s", "z", "fast"}, s.opt) {
		return fmt.Errorf("--opt %q: there are 0, 1, 2, 3, s, z and fast", s.opt)
	}
	clang, missing := Tool("clang", s.clang)
	version := ""
	if missing == nil {
		var err error
		if version, err = Version(ctx, clang); err != nil {
			return err
		}
	}
	merged := &collectors.Merge{To: out}
	for i, source := range s.sources {
		subject, err := process.Describe(ctx, collectors.Job{Dir: job.Dir}, source)
		if err != nil {
			return err
		}
		subject.Command = collectors.CommandLine(s.again(source))
		if i > 0 {
			merged.Machine = 1
		}
		merged.Next()
		run := subject.Run("clang", version, "llvm-ir")
		var m *collectors.MissingError
		switch {
		case errors.As(missing, &m):
			m.Mark(&run)
			err = subject.Put(merged, run)
		case missing != nil:
			err = missing
		default:
			fmt.Fprintf(job.Log, "%s\n", source)
			err = s.source(ctx, job, merged, clang, source, subject, run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// again is the command line that collects a source again.
func (s *settings) again(source string) []string {
	words := []string{"rooflab", "collect", "llvm", "--opt", s.opt}
	for _, f := range [][2]string{{"--std", s.std}, {"--language", s.lang}, {"--options", s.options}, {"--clang", s.clang}, {"--function", s.function}} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	return append(words, "--source", source)
}

// Compile has clang translate a source to textual IR, and returns the command
// and clang's warnings with it.
func Compile(ctx context.Context, dir, clang, source, language, opt, std string, options []string) (ir string, argv []string, log string, err error) {
	if language == "" {
		language = Language(source)
	}
	argv = append([]string{clang, "-S", "-emit-llvm", "-o", "-", "-O" + opt, "-fno-discard-value-names"}, Flags(language, std)...)
	if language != "ir" {
		argv = append(argv, "-g")
	}
	argv = append(argv, options...)
	argv = append(argv, "--", source) // a name that begins with - is no flag
	text, log, err := Output(ctx, dir, argv...)
	return string(text), argv, log, err
}

func (s *settings) source(ctx context.Context, job collectors.Job, out datasets.Sink, clang, source string, subject *process.Subject, run datasets.Run) error {
	ir, argv, log, err := Compile(ctx, job.Dir, clang, source, s.lang, s.opt, s.std, strings.Fields(s.options))
	var failed *FailedError
	if errors.As(err, &failed) {
		run.Status, run.Error, log = datasets.RunFailed, source+" was not translated: "+firstError(failed), failed.Log
		ir, err = "", nil
	}
	if err != nil {
		return err
	}
	var m *Module
	if run.Status == datasets.RunOK {
		if m, err = Parse(source+" (as IR)", ir); err != nil {
			return err
		}
		if len(m.Functions) == 0 {
			run.Status, run.Error = datasets.RunEmpty, source+" defines no function that is left in the IR"
		}
	}
	if err := subject.Put(out, run); err != nil {
		return err
	}
	e := emitter{out: out, run: run.ID}
	if text, err := os.ReadFile(inDir(job.Dir, source)); err == nil && Language(source) != "ir" {
		e.attribute(0, "source", string(text))
	}
	e.attribute(0, "source.path", source)
	e.attribute(0, "build.command", collectors.CommandLine(argv))
	e.attribute(0, "build.options", strings.TrimSpace("-O"+s.opt+" "+s.options))
	e.attribute(0, "build.log", strings.TrimSpace(log))
	if m != nil {
		e.attribute(0, "target.triple", m.Triple)
		e.attribute(0, "target.datalayout", m.Layout)
		for _, r := range Analyse(m) {
			if strings.Contains(r.Function.Name, s.function) {
				e.report(r)
			}
		}
	}
	return e.err
}

// firstError is the first line of clang's that says error, else the first.
func firstError(f *FailedError) string {
	for line := range strings.Lines(f.Log) {
		if strings.Contains(line, "error:") {
			return strings.TrimSpace(line)
		}
	}
	return f.Error()
}

// emitter writes records until the first error.
type emitter struct {
	out            datasets.Sink
	run            int64
	regions, codes int64
	err            error
}

func (e *emitter) put(r datasets.Record) {
	if e.err == nil {
		e.err = e.out.Put(r)
	}
}

func (e *emitter) attribute(region int64, name, value string) {
	if value != "" {
		e.put(&datasets.Attribute{Run: e.run, Region: region, Name: name, Value: value})
	}
}

func (e *emitter) features(region int64, fs []Feature) {
	for _, f := range fs {
		v := datasets.Some(f.Value)
		if f.None {
			v = datasets.Null[float64]{}
		}
		e.put(&datasets.StaticFeature{Run: e.run, Region: region, Name: f.Name, Value: v})
	}
}

func (e *emitter) report(r Report) {
	f := r.Function
	kind := datasets.KindFunction
	if f.Kernel {
		kind = datasets.KindKernel
	}
	e.regions++
	region := e.regions
	raw := collectors.Demangle(f.Name)
	mangled := ""
	if raw != f.Name {
		mangled = f.Name
	}
	short := collectors.ShortName(raw)
	e.put(&datasets.Region{ID: region, Run: e.run, Kind: kind, Raw: raw, Short: short, Mangled: mangled, Module: f.File})
	if f.Line > 0 {
		e.attribute(region, "line", strconv.Itoa(f.Line))
	}
	e.features(region, r.Features())
	loopRegion := make([]int64, len(r.Loops))
	lines := map[string]int{}
	for i, l := range r.Loops {
		e.regions++
		loopRegion[i] = e.regions
		parent := region
		if l.Parent >= 0 {
			parent = loopRegion[l.Parent]
		}
		name := short + ":" + f.Blocks[l.Header].Label
		if l.Line > 0 {
			name = fmt.Sprintf("%s:%d", short, l.Line)
		}
		if lines[name]++; lines[name] > 1 { // two loops of one line
			name += fmt.Sprintf("#%d", lines[name])
		}
		e.put(&datasets.Region{ID: loopRegion[i], Run: e.run, Parent: parent, Kind: datasets.KindLoop, Raw: raw + "/" + f.Blocks[l.Header].Label, Short: name, Module: l.File, Order: datasets.Some(int64(i))})
		if l.Line > 0 {
			e.attribute(loopRegion[i], "line", strconv.Itoa(l.Line))
		}
		e.features(loopRegion[i], l.Features())
	}
	e.instructions(r, region, loopRegion)
}

func (e *emitter) instructions(r Report, region int64, loopRegion []int64) {
	f := r.Function
	loops := make([]Loop, len(r.Loops))
	for i, l := range r.Loops {
		loops[i] = l.Loop
	}
	in := inner(len(f.Blocks), loops)
	offset := int64(0)
	for _, b := range f.Blocks {
		for _, ins := range b.Instrs {
			c := datasets.Code{Run: e.run, Region: region, ISA: "llvm-ir", Offset: datasets.Some(offset), Opcode: ins.Op, Text: ins.Text}
			offset++
			if ignored.MatchString(ins.callee) {
				continue
			}
			e.codes++
			c.ID = e.codes
			if p := f.module.where(ins.Debug); p.line > 0 {
				c.File, c.Line, c.InlineDepth = p.file, datasets.Some(int64(p.line)), datasets.Some(int64(p.depth))
			}
			e.put(&c)
		}
	}
	for i, x := range r.Accesses {
		at := region
		if l := in[x.inBlock]; l >= 0 {
			at = loopRegion[l]
		}
		e.attribute(at, fmt.Sprintf("access.%d", i), x.describe(f))
	}
}

// describe tells an access in words: "load 4 bytes of global memory at a.c:5:20,
// loop unit 4, item strided".
func (x Access) describe(f *Function) string {
	s := fmt.Sprintf("%s %d bytes of %s memory", x.Instr.Op, x.Bytes, x.Space)
	if p := f.module.where(x.Instr.Debug); p.line > 0 {
		s += fmt.Sprintf(" at %s:%d:%d", p.file, p.line, p.column)
	}
	if x.Loop != "" {
		s += ", loop " + x.Loop
		if x.Stride != 0 {
			s += fmt.Sprintf(" %d", x.Stride)
		}
	}
	if x.Item != "" {
		s += ", item " + x.Item
	}
	return s
}
