// Package timemory reads the JSON that timemory writes, and what is built on it
// (Omnitrace, ROCm Systems Profiler): wall_clock.json and its like, and the
// same as a tree, wall_clock.tree.json.
//
// In flows the text, out flows one run: a region per label and place in the
// call tree, a launch per entry (of one rank, and of one thread or the sum of
// several), and counters under the component's name: "wall_clock inclusive",
// "wall_clock exclusive" (trees only), "wall_clock laps", and the statistics
// over laps as "wall_clock inclusive min", "mean" and so on. Components of
// several values, such as hardware counters, are "papi_array.LABEL inclusive".
//
// Both forms have one object per component with type, unit_value, unit_repr
// and entries: {laps, value, accum, repr_data, repr_display}, of which
// repr_data is in the unit unit_repr. The flat form has them as a list,
//
//	"ranks": [{"rank": 0, "graph": [{"hash", "prefix": "|0>>> |_f", "depth", "entry", "stats"}]}]
//
// where an entry's parent is the last one before it of less depth. The tree has
//
//	"mpi" or "graph": [[{"node": {"hash", "prefix", "tid": [], "pid": [], "depth",
//	  "inclusive": {"entry", "stats"}, "exclusive": {...}}, "children": []}]]
//
// Nodes with the hash 0 stand for no label: what is below them is a root.
package timemory

import (
	"bytes"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "timemory",
		About:   "timemory / Omnitrace JSON, flat or tree",
		Version: 1,
		Detect:  detect,
		Parse:   parse,
	})
}

func detect(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	if len(b) == 0 || b[0] != '{' {
		return collectors.No
	}
	has := func(s string) bool { return bytes.Contains(b, []byte(s)) }
	rest := bytes.TrimLeft(b[1:], " \t\r\n")
	switch {
	case has(`"repr_data"`) && has(`"laps"`):
		return collectors.Certain
	case bytes.HasPrefix(rest, []byte(`"timemory"`)):
		return collectors.Certain
	}
	return collectors.No
}
