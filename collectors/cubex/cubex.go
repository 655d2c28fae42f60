// Package cubex reads the call-path profiles of Score-P, Scalasca and CubeLib:
// files named profile.cubex, a tar of anchor.xml (metrics, regions, call tree,
// system tree) and one pair of files, N.index and N.data, per metric.
//
// In flows the file, out flows one run: a region per node of the call tree, a
// launch per node and location (a thread of a rank), a counter per metric of a
// launch, under the metric's unique name. Whether a metric is inclusive or
// exclusive is the attribute "metric NAME type"; values are as the file has
// them, neither kind is converted into the other.
//
// The layout of the pairs, all numbers in the byte order of the writer:
//
//	N.index  "CUBEX.INDEX", int32 1 (tells the byte order), int16 version,
//	         int8 kind (1: a list follows, 0: every node has a row),
//	         int32 count, count times int32: the nodes that have a row
//	N.data   "CUBEX.DATA", rows of one value per location; or "ZCUBEX.DATA",
//	         int64 count, count times (int64 position unpacked, int64 position
//	         packed, int64 size packed), then as many zlib streams
//
// Nodes are numbered depth first for exclusive metrics. For inclusive ones the
// children of a node get consecutive numbers, then each child is entered in
// turn. A node without a row is zero by definition of the format. A metric
// without a pair has no data, which an attribute says.
package cubex

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "cubex",
		About:   "Score-P / Scalasca / CUBE 4 profile (.cubex)",
		Version: 1,
		Archive: true,
		Detect:  detect,
		Parse:   parse,
	})
	collectors.Register(collectors.Format{
		Name:    "cube3",
		About:   "CUBE 3 profile, XML (recognised, not read)",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			b := h.Bytes
			if i := bytes.Index(b, []byte("<cube version=")); i >= 0 && i < 4096 && bytes.HasPrefix(bytes.TrimSpace(b), []byte("<")) {
				return collectors.Likely
			}
			return collectors.No
		},
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			return &collectors.UnsupportedError{File: in.Name, What: "a profile of CUBE 3, or the anchor.xml of a .cubex file",
				Hint: "convert it with CubeLib (cube_info and the other tools write .cubex), or import the .cubex file itself"}
		},
	})
}

// detect looks for a tar whose first members are those of a .cubex file.
func detect(h collectors.Head) collectors.Confidence {
	b := h.Bytes
	if len(b) < 512 || string(b[257:262]) != "ustar" {
		return collectors.No
	}
	name := string(bytes.TrimRight(b[:100], "\x00"))
	switch {
	case bytes.HasPrefix(b[512:], []byte("CUBEX.DATA")), bytes.HasPrefix(b[512:], []byte("ZCUBEX.DATA")), bytes.HasPrefix(b[512:], []byte("CUBEX.INDEX")):
		return collectors.Certain
	case bytes.Contains(b, []byte("CUBEX.INDEX")), bytes.Contains(b, []byte("CUBEX.DATA")), name == "anchor.xml" || strings.HasSuffix(h.Name, ".cubex"):
		return collectors.Certain
	case name == "remapping.spec":
		return collectors.Likely
	}
	return collectors.No
}

// broken is an error about a binary part of the file.
func broken(in *collectors.Input, hint, format string, args ...any) *collectors.SyntaxError {
	return &collectors.SyntaxError{File: in.Name, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

const getAgain = "the file is cut or damaged: get it again"
