// Package pprof reads profiles in pprof's protobuf format (what Go, gperftools'
// successors, py-spy, async-profiler and others write, packed or not) and in
// the older formats that pprof knows: gperftools' binary CPU profile and the
// texts heapz, growthz, threadz, contentionz and Go's goroutine counts.
//
// In flows the file, which is read as a whole, out flows one run:
//
//	region     a function below its caller, kind "function": a forest of call
//	           stacks, merged by function, inlined frames included. A place
//	           without symbols is named by its address, "0x42ecc3", and module
//	           is the mapping's file. Mangled is the linker's name.
//	launch     per region in which samples end and set of labels; thread and
//	           pid where labels tell them; labels are its attributes
//	counter    of a launch: one per sample type, by its name ("cpu",
//	           "samples", "alloc_space"), exclusive: what was sampled in the
//	           region itself. datasets.Tree adds up what is below.
//	code       the line (or, without symbols, the address) that samples end in
//	pc_sample  their values per sample type, which is the reason, in the unit
//	           that the type has in the file (raw_unit of the counters)
//	attribute  of the run: default_sample_type, period, duration, comments,
//	           drop_frames, mappings and so on
//
// As pprof does, frames that the profile itself declares to be uninteresting
// (drop_frames, keep_frames: allocators in heap profiles) are left out, so that
// values equal those of `go tool pprof -top`. The run's time is the default
// sample type if it is a time, else the last one that is.
package pprof

import (
	"bytes"
	"encoding/binary"
	"regexp"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rooflab/rooflab/collectors"
)

const (
	formatProto  = "pprof"
	formatLegacy = "pprof-legacy"
)

func init() {
	collectors.Register(collectors.Format{Name: formatProto, About: "pprof, protobuf", Version: 1, Detect: detectProto, Parse: parseProto})
	collectors.Register(collectors.Format{Name: formatLegacy, About: "pprof's older formats (gperftools CPU, heap, growth, threads, contention; Go counts)", Version: 1, Detect: detectLegacy, Parse: parseLegacy})
}

// fields are the wire types of the message Profile's fields.
var fields = map[protowire.Number]protowire.Type{1: protowire.BytesType, 2: protowire.BytesType, 3: protowire.BytesType, 4: protowire.BytesType, 5: protowire.BytesType, 6: protowire.BytesType,
	7: protowire.VarintType, 8: protowire.VarintType, 9: protowire.VarintType, 10: protowire.VarintType, 11: protowire.BytesType, 12: protowire.VarintType, 13: protowire.VarintType,
	14: protowire.VarintType, 15: protowire.VarintType}

// detectProto walks the message. Comments (13) may be packed.
func detectProto(h collectors.Head) collectors.Confidence {
	b := h.Bytes
	count := map[protowire.Number]int{}
	strings := 0
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			if h.Whole {
				return collectors.No
			}
			break
		}
		if fields[num] != typ && (num != 13 || typ != protowire.BytesType) || fields[num] == 0 && num != 7 && num > 15 {
			return collectors.No
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			if h.Whole {
				return collectors.No
			}
			break
		}
		value := b[n : n+m]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
			switch num {
			case 1, 11:
				if !isValueType(value) {
					return collectors.No
				}
			case 6:
				if strings == 0 && len(value) != 0 {
					return collectors.No // the first string is the empty one
				}
				strings++
			}
		}
		count[num]++
		b = b[n+m:]
	}
	switch {
	case h.Whole && count[1] > 0 && strings > 0:
		return collectors.Certain
	case !h.Whole && count[1] > 0 && count[2]+count[4]+strings > 3:
		return collectors.Certain
	case !h.Whole && count[2]+count[4]+count[5]+strings > 3:
		return collectors.Likely // the types come later
	}
	return collectors.No
}

// isValueType says whether bytes are a message of two numbers of strings.
func isValueType(b []byte) bool {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 || num < 1 || num > 2 || typ != protowire.VarintType {
			return false
		}
		_, m := protowire.ConsumeVarint(b[n:])
		if m < 0 {
			return false
		}
		b = b[n+m:]
	}
	return true
}

var legacyText = regexp.MustCompile(`\A(heap profile: +\d+: +\d+ +\[ *\d+: +\d+\] +@|--- ?(heapz|contentionz|growthz|mutex|contention|threadz|cpuz)\b|(goroutine|threadcreate) profile: total \d+|heapz_v2|heap_v2/\d+)`)

// afterComments leaves out the lines before the first that is neither blank
// nor a comment.
func afterComments(b []byte) []byte {
	for {
		b = bytes.TrimLeft(b, " \t\r\n\f\v")
		if len(b) == 0 || b[0] != '#' {
			return b
		}
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
}

// detectLegacy knows gperftools' binary CPU profile by its head: 0, 3, version,
// period, 0 as words of 4 or 8 bytes in either order.
func detectLegacy(h collectors.Head) collectors.Confidence {
	if legacyText.Match(afterComments(h.Bytes)) || bytes.Contains(h.Bytes[:min(len(h.Bytes), 4096)], []byte("\n--- threadz ")) {
		return collectors.Certain
	}
	b := h.Bytes
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if len(b) >= 40 && order.Uint64(b) == 0 && order.Uint64(b[8:]) == 3 && order.Uint64(b[16:]) <= 2 && order.Uint64(b[24:]) > 0 && order.Uint64(b[32:]) == 0 {
			return collectors.Certain
		}
		if len(b) >= 20 && order.Uint32(b) == 0 && order.Uint32(b[4:]) == 3 && order.Uint32(b[8:]) <= 2 && order.Uint32(b[12:]) > 0 && order.Uint32(b[16:]) == 0 {
			return collectors.Certain
		}
	}
	return collectors.No
}
