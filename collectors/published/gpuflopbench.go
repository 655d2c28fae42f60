package published

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

var gpuflopbench = collectors.Format{
	Name: "gpuflopbench", Version: 1,
	About:  "gpuFLOPBench: profiling table of CUDA kernels (CSV)",
	Detect: header(`"Kernel Name","traffic","dpAI","spAI"`),
	Parse:  parseGPUFLOPBench,
}

// The table's own units: time in nanoseconds, performance in operations per
// second. "traffic" is bytes per second: spPerf / traffic is spAI in each row.
var gpuflopbenchMetrics = []metric{
	{"xtime", "ns", "s", 1e-9}, {"traffic", "byte/s", "byte/s", 1},
	{"dpAI", "flop/byte", "flop/byte", 1}, {"spAI", "flop/byte", "flop/byte", 1}, {"intAI", "op/byte", "op/byte", 1},
	{"dpPerf", "flop/s", "flop/s", 1}, {"spPerf", "flop/s", "flop/s", 1}, {"intPerf", "op/s", "op/s", 1},
	{"intops", "op", "op", 1},
}

func parseGPUFLOPBench(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	t, err := open(in, "Kernel Name", "xtime", "Block Size", "Grid Size", "device", "targetName", "exeArgs")
	if err != nil {
		return err
	}
	runs, programs, kernels := regions{}, regions{}, regions{}
	launch := datasets.Launch{}
	for {
		if err := t.next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		device, program, kernel := t.text("device"), t.text("targetName"), t.text("Kernel Name")
		run, first := runs.id(device)
		if first {
			if err := put(out, &datasets.Machine{ID: run, GPU: device},
				&datasets.Run{ID: run, Machine: run, Tool: "gpuFLOPBench", Format: "gpuflopbench", Status: datasets.RunOK, TimeMetric: "xtime", TimeInclusive: true}); err != nil {
				return err
			}
		}
		// Programs and kernels share one space of ids: odd and even.
		p, first := programs.id(device + "\x1f" + program)
		if first {
			if err := put(out, &datasets.Region{ID: 2*p - 1, Run: run, Kind: datasets.KindRange, Raw: program, Short: program},
				&datasets.Attribute{Run: run, Region: 2*p - 1, Name: "program", Value: program}); err != nil {
				return err
			}
		}
		k, first := kernels.id(device + "\x1f" + program + "\x1f" + kernel)
		if first {
			if err := put(out, &datasets.Region{ID: 2 * k, Run: run, Parent: 2*p - 1, Kind: datasets.KindKernel, Raw: kernel, Short: collectors.ShortName(kernel)},
				&datasets.Attribute{Run: run, Region: 2 * k, Name: "program", Value: program}); err != nil {
				return err
			}
		}
		launch = datasets.Launch{ID: launch.ID + 1, Run: run, Region: 2 * k, Sequence: datasets.Some(launch.ID)}
		if launch.Grid, err = t.dims("Grid Size"); err != nil {
			return err
		}
		if launch.Block, err = t.dims("Block Size"); err != nil {
			return err
		}
		ns, err := t.number("xtime")
		if err != nil {
			return err
		}
		launch.DurNs = duration(ns, 1)
		if err := out.Put(&launch); err != nil {
			return err
		}
		if err := t.counters(out, datasets.Counter{Run: run, Region: 2 * k, Launch: launch.ID}, gpuflopbenchMetrics); err != nil {
			return err
		}
		if err := t.attributes(out, datasets.Attribute{Run: run, Region: 2 * k, Launch: launch.ID}, "exeArgs"); err != nil {
			return err
		}
	}
	if launch.ID == 0 {
		return out.Put(&datasets.Run{ID: 1, Tool: "gpuFLOPBench", Format: "gpuflopbench", Status: datasets.RunEmpty, Error: "the table has no rows"})
	}
	return nil
}

// put emits records until one fails.
func put(out *collectors.Output, records ...datasets.Record) error {
	for _, r := range records {
		if err := out.Put(r); err != nil {
			return err
		}
	}
	return nil
}

var gpuflopbenchSources = collectors.Format{
	Name: "gpuflopbench-sources", Version: 2,
	About: "gpuFLOPBench: sources of CUDA kernels by program and file (JSON)",
	Detect: func(h collectors.Head) collectors.Confidence {
		if b := bytes.TrimLeft(h.Bytes, " \t\r\n"); len(b) > 0 && b[0] == '{' && sourcesStart.Match(b) {
			return collectors.Certain
		}
		return collectors.No
	},
	Parse: parseGPUFLOPBenchSources,
}

// sourcesStart is {"program": {"file.cu": ["source", the nesting that only
// these files have.
var sourcesStart = regexp.MustCompile(`^\s*\{\s*"[^"]+"\s*:\s*\{\s*"[^"]+\.(cu|cuh|h|hpp|cpp|c)"\s*:\s*\[\s*("|\])`)

// functionName finds the name before the first parameter list.
var functionName = regexp.MustCompile(`([A-Za-z_]\w*)\s*\(`)

// launchBounds and the like stand before a kernel's name, and have parentheses too.
var launchBounds = regexp.MustCompile(`__launch_bounds__\s*\([^)]*\)|__attribute__\s*\(\([^)]*\)\)`)

func parseGPUFLOPBenchSources(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	j := collectors.NewJSON(in)
	if err := put(out, &datasets.Run{ID: 1, Tool: "gpuFLOPBench", Format: "gpuflopbench-sources", Status: datasets.RunOK}); err != nil {
		return err
	}
	if err := j.Delim('{', "the programs"); err != nil {
		return err
	}
	id := int64(0)
	for j.More() {
		program, err := j.Key()
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		id++
		parent := id
		if err := put(out, &datasets.Region{ID: id, Run: 1, Kind: datasets.KindRange, Raw: program, Short: program},
			&datasets.Attribute{Run: 1, Region: id, Name: "program", Value: program}); err != nil {
			return err
		}
		if err := j.Delim('{', "the files of "+program); err != nil {
			return err
		}
		for j.More() {
			file, err := j.Key()
			if err != nil {
				return err
			}
			var sources []string
			if err := j.Decode(&sources); err != nil {
				return j.Wrap(err)
			}
			for _, src := range sources {
				id++
				name, kind := function(src)
				// The file's folder is of the machine that scraped it.
				short := file[strings.LastIndex(file, "/")+1:]
				if err := put(out, &datasets.Region{ID: id, Run: 1, Parent: parent, Kind: kind, Raw: name, Short: name, Module: file},
					&datasets.Attribute{Run: 1, Region: id, Name: "program", Value: program},
					&datasets.Code{ID: id, Run: 1, Region: id, ISA: "source", Text: src, File: short}); err != nil {
					return err
				}
			}
		}
		if err := j.Delim('}', "the files of "+program); err != nil {
			return err
		}
	}
	if err := j.Delim('}', "the programs"); err != nil {
		return err
	}
	if _, err := j.Token(); !errors.Is(err, io.EOF) {
		var syntax *json.SyntaxError
		if err != nil && !errors.As(err, &syntax) {
			return j.Wrap(err)
		}
		return j.Syntax("there is text after the end of the JSON value")
	}
	return nil
}

// function returns the name of the function that a source is of, and whether it
// is a kernel. A kernel's source begins with the macros and device functions
// that it needs.
func function(src string) (name, kind string) {
	kind = datasets.KindFunction
	head := launchBounds.ReplaceAllString(src, " ")
	if _, after, ok := strings.Cut(head, "__global__"); ok {
		head, kind = after, datasets.KindKernel
	}
	head, _, _ = strings.Cut(head, "{")
	if m := functionName.FindStringSubmatch(head); m != nil {
		return m[1], kind
	}
	return "(unnamed)", kind
}
