// Package nsys reads what Nsight Systems exports: the SQLite database of
// `nsys export --type sqlite` (and of `nsys stats`, which leaves one behind),
// and the tables that `nsys stats` prints, as CSV, TSV, JSON or for people.
// Reports themselves (.nsys-rep, .qdrep) are recognised and refused with the way
// to convert them.
//
// Of a database flow out one run; a region per kernel, direction of copies,
// function and range; a launch per event with its times (ns since the start
// of the session, which is the run's Started); a counter "duration" per
// launch, and "bytes" where there are some; the samples of GPU metrics as
// telemetry; the GPU as machine. NVTX ranges nest: the region of a range is
// below that of the one that was open in its thread and domain. A launch's
// sequence counts within its kind: kernels are numbered among kernels, as
// other profilers of kernels number them. Its tool id is the correlation id,
// which a kernel shares with the call that launched it.
package nsys

import (
	"bytes"
	"context"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name: "nsys-sqlite", Version: 1, Detect: detectSQLite, Parse: parseSQLite,
		About: "Nsight Systems, nsys export --type sqlite",
	})
	collectors.Register(collectors.Format{
		Name: "nsys-csv", Version: 2, Detect: detectCSV, Parse: parseCSV,
		About: "Nsight Systems, nsys stats: summaries and traces (CSV, TSV, or the tables that it prints)",
	})
	collectors.Register(collectors.Format{
		Name: "nsys-json", Version: 1, Detect: detectJSON, Parse: parseJSON,
		About: "Nsight Systems, nsys stats --format json: summaries and traces",
	})
	collectors.Register(collectors.Format{
		Name: "nsys-rep", Version: 1, Detect: detectReport, Parse: refuseReport,
		About: "Nsight Systems report (.nsys-rep, .qdrep): recognised, to be exported first",
	})
}

const magic = "SQLite format 3\x00"

// detectSQLite is certain where the start of the schema, which is in the first
// pages, names a table that only Nsight Systems has, and takes other databases
// of SQLite when nobody else does, to say what they are not.
func detectSQLite(h collectors.Head) collectors.Confidence {
	if !bytes.HasPrefix(h.Bytes, []byte(magic)) {
		return collectors.No
	}
	for _, name := range []string{"META_DATA_EXPORT", "META_DATA_CAPTURE", "TARGET_INFO_", "NVTX_EVENTS", "ENUM_NSYS", "TABLE StringIds", "ANALYSIS_DETAILS", "OSRT_API"} {
		if bytes.Contains(h.Bytes, []byte(name)) {
			return collectors.Certain
		}
	}
	if bytes.Contains(h.Bytes, []byte("CUPTI_ACTIVITY_KIND_")) {
		return collectors.Likely
	}
	return collectors.Possible
}

// detectReport knows reports by their content: old ones are named by their
// first bytes, new ones are a container whose parts are named within.
func detectReport(h collectors.Head) collectors.Confidence {
	name := strings.HasSuffix(h.Name, ".nsys-rep") || strings.HasSuffix(h.Name, ".qdrep") || strings.HasSuffix(h.Name, ".qdstrm")
	binary := bytes.IndexByte(h.Bytes, 0) >= 0
	switch {
	case bytes.HasPrefix(h.Bytes, []byte("QDREP")), bytes.HasPrefix(h.Bytes, []byte("NSYS")), name && binary:
		return collectors.Certain
	case name:
		return collectors.Likely
	}
	return collectors.No
}

func refuseReport(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
	return &collectors.UnsupportedError{File: in.Name, What: "a report of Nsight Systems",
		Hint: "export it, no GPU is needed: nsys export --type sqlite --output profile.sqlite " + in.Name + ", and import profile.sqlite"}
}
