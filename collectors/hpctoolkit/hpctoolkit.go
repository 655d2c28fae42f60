// Package hpctoolkit reads HPCToolkit's databases: those of hpcprof since 2022
// (meta.db with profile.db, cct.db and trace.db beside it, format version 4,
// public as FORMATS.md in every database), and the earlier experiment.xml with
// its *.metric-db files.
//
// In flows a database, out flows one run: a region per calling context
// (functions, loops, lines, instructions, entry points), summary statistics as
// counters of the region, and a launch with counters per context and thread
// that has a value there. Values are sparse by design of the tool: where no
// sample fell there is none.
//
// Metrics of version 4 are named "METRIC:SCOPE" in launches, such as
// "CPUTIME (sec):execution" (inclusive), ":function" (of the function without
// what it calls) or ":point" (as measured), and "METRIC:SCOPE:sum", ":min" ...
// in summaries. Those of experiment.xml keep their names, "CPUTIME (usec):Sum
// (I)" in summaries, "CPUTIME (usec) (I)" in launches. trace.db gives the times
// of the recording and, per context and thread, the counter "trace samples".
// cct.db holds the values of profile.db in another order and is not read.
package hpctoolkit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "hpctoolkit",
		About:   "HPCToolkit database, meta.db and what is beside it",
		Version: 1,
		Detect:  magic("HPCTOOLKITmeta"),
		Parse:   parseMeta,
		Parts:   partsV4,
	})
	collectors.Register(collectors.Format{
		Name:    "hpctoolkit-part",
		About:   "HPCToolkit profile.db, cct.db, trace.db and *.metric-db (parts of a database)",
		Version: 1,
		Detect:  magic("HPCTOOLKITprof", "HPCTOOLKITctxt", "HPCTOOLKITtrce", "HPCPROF-metricdb", "HPCPROF-tracedb"),
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			of := "meta.db"
			if bytes.HasPrefix(in.Head.Bytes, []byte("HPCPROF")) {
				of = "experiment.xml"
			}
			return &collectors.PartError{File: in.Name, Of: of}
		},
	})
	collectors.Register(collectors.Format{
		Name:    "hpcrun",
		About:   "HPCToolkit measurements of hpcrun (recognised, not read)",
		Version: 1,
		Detect:  magic("HPCRUN-profile", "HPCRUN-trace"),
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			return &collectors.UnsupportedError{File: in.Name, What: "a measurement of hpcrun, whose addresses no one has resolved yet",
				Hint: "run hpcstruct and hpcprof on the measurement directory, and import the database that they make"}
		},
	})
	collectors.Register(collectors.Format{
		Name:    "hpctoolkit-xml",
		About:   "HPCToolkit experiment.xml with *.metric-db",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			if bytes.HasPrefix(bytes.TrimLeft(h.Bytes, " \t\r\n"), []byte("<")) && (bytes.Contains(h.Bytes, []byte("<HPCToolkitExperiment ")) || bytes.Contains(h.Bytes, []byte("<!DOCTYPE HPCToolkitExperiment"))) {
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: parseXML,
		Parts: partsXML,
	})
}

func magic(texts ...string) func(collectors.Head) collectors.Confidence {
	return func(h collectors.Head) collectors.Confidence {
		for _, t := range texts {
			if bytes.HasPrefix(h.Bytes, []byte(t)) {
				return collectors.Certain
			}
		}
		return collectors.No
	}
}

// partsV4 finds the files beside meta.db: those whose names have another word
// in place of "meta".
func partsV4(path string) []string {
	dir, base := filepath.Split(path)
	i := strings.LastIndex(base, "meta")
	if i < 0 {
		return nil
	}
	var parts []string
	for _, word := range []string{"profile", "cct", "trace"} {
		p := filepath.Join(dir, base[:i]+word+base[i+4:])
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			parts = append(parts, p)
		}
	}
	return parts
}

// partsXML finds the metric-db files of an experiment.xml: all in its folder,
// or those with its prefix.
func partsXML(path string) []string {
	dir, base := filepath.Split(path)
	prefix, ok := strings.CutSuffix(base, "experiment.xml")
	if !ok {
		return nil
	}
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return nil
	}
	var parts []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), ".metric-db") && e.Type().IsRegular() {
			parts = append(parts, filepath.Join(dir, e.Name()))
		}
	}
	sort.Strings(parts)
	return parts
}

const getAgain = "the file is cut or damaged: get it again"

func broken(in *collectors.Input, file, format string, args ...any) *collectors.SyntaxError {
	return &collectors.SyntaxError{File: in.Name, Msg: file + ": " + fmt.Sprintf(format, args...), Hint: getAgain}
}

// unitOf is the unit in a metric's name, "CPUTIME (sec):Sum (I)".
func unitOf(metric string) string {
	for _, part := range strings.Split(metric, "(")[1:] {
		u, _, ok := strings.Cut(part, ")")
		if !ok {
			continue
		}
		switch collectors.ParseUnit(u).Base {
		case "s", "Hz", "byte", "byte/s", "%":
			return u
		}
	}
	return ""
}
