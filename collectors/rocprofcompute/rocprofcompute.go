// Package rocprofcompute reads what ROCm Compute Profiler (rocprof-compute,
// formerly Omniperf) leaves in a workload's folder:
//
//	pmc_perf.csv    a row per dispatch, a column per counter and channel, "TCC_HIT[0]"; or a row per counter
//	sysinfo.csv     one row about the machine and the command
//	roofline.csv    a row per device: the ceilings that its microbenchmarks reached
//	timestamps.csv  a row per dispatch, with its times
//
// In flow these files, by itself each, or a folder of them, where pmc_perf.csv
// brings in the others; a prefix that all their names have does no harm. Out
// flow a run, a region per kernel, a launch per dispatch, a counter per value
// whose instance is the channel, the machine and its ceilings.
package rocprofcompute

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/collectors/rocprof"
	"github.com/rooflab/rooflab/datasets"
)

const tool = "rocprof-compute"

func init() {
	collectors.Register(collectors.Format{
		Name: "rocprof-compute", Version: 1, Detect: detectCounters, Parse: parseCounters, Parts: partsBeside,
		About: "ROCm Compute Profiler (Omniperf): pmc_perf.csv, with sysinfo, roofline and timestamps beside it",
	})
	collectors.Register(collectors.Format{
		Name: "rocprof-compute-timestamps", Version: 1, Detect: detectTimes, Parse: parseTimes, Parts: mainBeside,
		About: "ROCm Compute Profiler: timestamps.csv",
	})
	for _, t := range []struct {
		name, about string
		is          func(*delimited.Header) bool
		read        func(*table) error
	}{
		{"rocprof-compute-sysinfo", "ROCm Compute Profiler: sysinfo.csv, about the machine", isSysinfo, (*table).sysinfo},
		{"rocprof-compute-roofline", "ROCm Compute Profiler: roofline.csv, measured ceilings", isRoofline, (*table).roofline},
	} {
		collectors.Register(collectors.Format{
			Name: t.name, About: t.about, Version: 1, Parts: mainBeside,
			Detect: func(h collectors.Head) collectors.Confidence {
				if head := firstRow(h); head != nil && t.is(head) {
					return collectors.Certain
				}
				return collectors.No
			},
			Parse: func(_ context.Context, in *collectors.Input, out *collectors.Output) error {
				return parseAlone(in, out, t.name, t.is, t.read)
			},
		})
	}
}

// firstRow is the header of a file as far as its head shows it.
func firstRow(h collectors.Head) *delimited.Header {
	line, _, ended := strings.Cut(string(h.Bytes), "\n")
	if !ended && !h.Whole || strings.Count(line, ",") < 2 {
		return nil
	}
	cells, broken := delimited.Split(strings.TrimRight(line, "\r"), ',')
	if broken != nil {
		return nil
	}
	return delimited.NewHeader(cells)
}

// detectCounters tells pmc_perf.csv from the tables of rocprof, which it is
// made of, by its name, or by ids that say that several passes were joined.
func detectCounters(h collectors.Head) collectors.Confidence {
	head := rocprof.Header(h)
	if head == nil || !head.Has("dispatchid", "kernelname") {
		return collectors.No
	}
	if strings.Contains(h.Name, "pmc_perf") || head.Has("gpuid") && (head.At("wavesize1", "obj1", "correlationid1") >= 0) {
		return collectors.Certain
	}
	return collectors.No
}

func detectTimes(h collectors.Head) collectors.Confidence {
	head := rocprof.Header(h)
	if head == nil || !head.Has("dispatchid", "kernelname", "gpuid", "ldsperworkgroup") {
		return collectors.No
	}
	if strings.HasSuffix(h.Name, "timestamps.csv") || head.Has("dispatchns", "completens") {
		return collectors.Certain
	}
	return collectors.No
}

const mainFile = "pmc_perf.csv"

// parts are the files that belong to pmc_perf.csv.
var parts = []string{"sysinfo.csv", "roofline.csv", "timestamps.csv"}

// partsBeside are those that there are, with the same prefix.
func partsBeside(path string) []string {
	prefix, ok := strings.CutSuffix(path, mainFile)
	if !ok {
		return nil
	}
	return there(prefix, parts...)
}

// mainBeside is the pmc_perf.csv that a part belongs to.
func mainBeside(path string) []string {
	for _, p := range parts {
		if prefix, ok := strings.CutSuffix(path, p); ok {
			return there(prefix, mainFile)
		}
	}
	return nil
}

func there(prefix string, names ...string) []string {
	if base := filepath.Base(prefix + "x"); base != "x" && !strings.HasSuffix(prefix, "_") && !strings.HasSuffix(prefix, "-") {
		return nil // "mysysinfo.csv"
	}
	var found []string
	for _, n := range names {
		if st, err := os.Stat(prefix + n); err == nil && st.Mode().IsRegular() {
			found = append(found, prefix+n)
		}
	}
	return found
}

// ofMain is the error for a part which its main file brings in.
func ofMain(in *collectors.Input) error {
	if names := in.Parts(); in.Found() && len(names) > 0 {
		return &collectors.PartError{File: in.Name, Of: names[0]}
	}
	return nil
}

func parseTimes(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	if err := ofMain(in); err != nil {
		return err
	}
	return rocprof.Table(ctx, in, out, rocprof.Options{Tool: tool, Finish: func(r *datasets.Run, _ *datasets.Machine) error {
		r.Format = "rocprof-compute-timestamps"
		return nil
	}})
}

func parseCounters(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	opt := rocprof.Options{Tool: tool}
	if head := rocprof.Header(in.Head); head != nil && head.At("starttimestamp", "beginns") < 0 {
		times, err := timesBeside(ctx, in)
		if err != nil {
			return err
		}
		opt.Times = times
	}
	opt.Finish = func(r *datasets.Run, m *datasets.Machine) error {
		r.Format = "rocprof-compute-pmc"
		if len(opt.Times) > 0 {
			if err := out.Put(&datasets.Attribute{Run: r.ID, Name: "times", Value: "from timestamps.csv, by the order of the dispatches: they are of a run of their own"}); err != nil {
				return err
			}
		}
		// A GPU of two dies is two devices to the profiler.
		if err := out.Put(&datasets.Attribute{Run: r.ID, Name: "scope", Value: "per GCD: the values are those of one graphics compute die, not of a package with several"}); err != nil {
			return err
		}
		return others(in, out, r, m)
	}
	return rocprof.Table(ctx, in, out, opt)
}

// others reads the tables about the machine that lie beside the input.
func others(in *collectors.Input, out *collectors.Output, r *datasets.Run, m *datasets.Machine) error {
	for _, name := range in.Parts() {
		var is func(*delimited.Header) bool
		var read func(*table) error
		switch {
		case strings.HasSuffix(name, "sysinfo.csv"):
			is, read = isSysinfo, (*table).sysinfo
		case strings.HasSuffix(name, "roofline.csv"):
			is, read = isRoofline, (*table).roofline
		default:
			continue
		}
		if err := readPart(in, out, name, r, m, is, read); err != nil {
			return err
		}
	}
	return nil
}
