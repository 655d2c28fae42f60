package ncurep_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// A writer of reports, as far as tests need it. NVIDIA's own reader (ncu_report
// 2026.3 of PyPI) reads what it writes.

func num(field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
}

func sub(field protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), join(parts...))
}

func str(field protowire.Number, s string) []byte { return sub(field, []byte(s)) }

func double(field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, field, protowire.Fixed64Type), math.Float64bits(v))
}

func float(field protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, field, protowire.Fixed32Type), math.Float32bits(v))
}

func join(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func sized(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func report(version uint64, blocks ...[]byte) string {
	return "NVR\x00" + string(sized(num(1, version))) + string(join(blocks...))
}

// block is a block of entries: sources, kernels, ranges, command lists, graphs.
type block struct {
	sources, kernels, ranges, lists, graphs [][]byte
	strings                                 []string
	session                                 []byte
	pid                                     uint64
}

func (b block) bytes() []byte {
	var payload []byte
	for _, kind := range [][][]byte{b.sources, b.kernels, b.ranges, b.lists, b.graphs} {
		for _, e := range kind {
			payload = append(payload, sized(e)...)
		}
	}
	var table []byte
	for _, s := range b.strings {
		table = append(table, str(1, s)...)
	}
	h := join(num(1, uint64(len(b.sources))), num(2, uint64(len(b.kernels))))
	if b.session != nil {
		h = append(h, sub(3, b.session)...)
	}
	h = join(h, sub(4, table), num(5, uint64(len(payload))), sub(6, num(1, b.pid), str(2, "127.0.0.1"), str(3, "/app/run")),
		num(7, uint64(len(b.ranges))), num(8, uint64(len(b.lists))), num(9, uint64(len(b.graphs))))
	return append(sized(h), payload...)
}

func u64(v uint64) []byte    { return num(5, v) }
func f64(v float64) []byte   { return double(3, v) }
func text(s string) []byte   { return str(1, s) }
func f32(v float32) []byte   { return float(2, v) }
func at(id, v []byte) []byte { return sub(3, sub(1, id), sub(2, v)) }

// metric is a metric with a total and instances; a nil total is none.
func metric(name uint64, total []byte, more ...[]byte) []byte {
	m := num(1, name)
	if total != nil {
		m = append(m, sub(2, total)...)
	}
	return join(append([][]byte{m}, more...)...)
}

func xyz(field protowire.Number, x, y, z uint64) []byte {
	return sub(field, num(1, x), num(2, y), num(3, z))
}

// kernel is a kernel's result from a module, with some metrics.
func kernel(mangled, demangled string, reference uint64, metrics [][]byte, more ...[]byte) []byte {
	k := join(num(1, 41), num(2, 9), num(3, 1), num(4, 2), str(5, mangled), str(6, "scale"), str(7, demangled), num(8, 3),
		xyz(9, 0, 0, 0), xyz(10, 8, 2, 1), xyz(11, 64, 1, 1))
	for _, m := range metrics {
		k = append(k, sub(13, m)...)
	}
	return join(append([][]byte{k, sub(15, num(1, reference)), num(22, 1), num(23, 7)}, more...)...)
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
