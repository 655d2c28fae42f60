// Package caliper reads the profiles of LLNL's Caliper: the native .cali
// stream of text records, and json-split as cali-query and hatchet use it. It
// also writes .cali (Writer), which is how rooflab records itself.
//
// In flows the text, out flow one run with its globals as attributes, the
// region tree (nested attributes such as function, region, loop and
// mpi.function; call paths; GPU kernels as leaves), and a counter per number.
// Where a region has one plain record its counters are those of the region; a
// record of one rank, thread or interval of time, and every further record of
// a region, is a launch with counters of its own.
//
// Caliper names the unit of few attributes. Values whose unit neither the file
// nor the attribute's name tells are kept as they are, without a unit, and the
// file's times are then warned about once.
package caliper

import (
	"bytes"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "caliper-cali",
		About:   "Caliper, the native .cali stream",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			if bytes.HasPrefix(h.Bytes, []byte("__rec=")) {
				return collectors.Certain
			}
			if strings.HasSuffix(h.Name, ".cali") && len(h.Bytes) > 0 {
				return collectors.Possible
			}
			return collectors.No
		},
		Parse: parseCali,
	})
	collectors.Register(collectors.Format{
		Name:    "caliper-json-split",
		About:   "Caliper, json-split",
		Version: 1,
		Detect:  detectJSON,
		Parse:   parseJSON,
	})
}

// detectJSON looks for the keys of json-split. The rows come before the other
// keys, so that a long file shows only its first key and the rows' shape.
func detectJSON(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	if !bytes.HasPrefix(b, []byte("{")) {
		return collectors.No
	}
	if bytes.Contains(b, []byte(`"column_metadata"`)) || bytes.Contains(b, []byte(`"columns"`)) && bytes.Contains(b, []byte(`"nodes"`)) {
		return collectors.Certain
	}
	if h.Whole && bytes.HasSuffix(bytes.TrimRight(h.Bytes, " \t\r\n"), []byte("}")) {
		return collectors.No // of a file that was cut it may be the beginning
	}
	b = bytes.TrimLeft(b[1:], " \t\r\n")
	if b, ok := bytes.CutPrefix(b, []byte(`"data"`)); ok {
		b = bytes.TrimLeft(b, " \t\r\n:")
		if b, ok = bytes.CutPrefix(b, []byte("[")); ok && bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("[")) {
			return collectors.Likely
		}
	}
	return collectors.No
}
