package pretrained

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// The format (ggml's docs/gguf.md, versions 2 and 3): magic, version, counts of
// tensors and of keys, the keys with typed values, the tensors' names,
// dimensions (the fastest first), types and offsets, and, from the next
// multiple of the alignment on, their data. All is little-endian.
const (
	ggufMagic     = "GGUF"
	ggufAlignment = 32
	ggufDims      = 4
	ggufText      = 1 << 24 // bytes of a string at most
)

// ggufFile is a parsed header.
type ggufFile struct {
	f       *os.File
	keys    map[string]any // int64, float64, bool, string, []int64, []float64, []bool, []string
	tensors map[string]ggufTensor
	data    int64 // where the data begin
	size    int64 // of the file
}

type ggufTensor struct {
	dims   []int // the slowest first
	kind   quantisation
	offset int64
	bytes  int64
}

func openGGUF(path string) (*ggufFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		g := &ggufFile{f: f, size: info.Size()}
		if err = g.parse(f); err == nil {
			return g, nil
		}
	}
	f.Close()
	return nil, err
}

// reader counts what is read, and knows how much there is.
type reader struct {
	r    *bufio.Reader
	at   int64
	size int64
	err  error // the first
}

func (r *reader) bytes(n int64) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > r.size-r.at {
		r.err = fmt.Errorf("at byte %d it speaks of %d bytes more, and %d are left: it is cut off or damaged: get it again", r.at, n, r.size-r.at)
		return nil
	}
	b := make([]byte, n)
	k, err := io.ReadFull(r.r, b)
	r.at += int64(k)
	if err != nil {
		r.err = fmt.Errorf("at byte %d: %w", r.at, err)
		return nil
	}
	return b
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads how many follow, of at least least bytes each.
func (r *reader) count(least int64) int {
	n := r.u64()
	if r.err == nil && n > uint64(r.size-r.at)/uint64(least) {
		r.err = fmt.Errorf("at byte %d it counts %d entries, for which there is no room in the %d bytes left: it is cut off or damaged: get it again", r.at-8, n, r.size-r.at)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count(1)
	if n > ggufText {
		r.err = fmt.Errorf("at byte %d it has a string of %d bytes: it is damaged", r.at-8, n)
	}
	return string(r.bytes(int64(n)))
}

// Types of values.
const (
	ggufU8, ggufI8, ggufU16, ggufI16, ggufU32, ggufI32, ggufF32 = 0, 1, 2, 3, 4, 5, 6
	ggufBool, ggufString, ggufArray, ggufU64, ggufI64, ggufF64  = 7, 8, 9, 10, 11, 12
)

var ggufWidth = map[uint32]int64{ggufU8: 1, ggufI8: 1, ggufU16: 2, ggufI16: 2, ggufU32: 4, ggufI32: 4, ggufF32: 4, ggufBool: 1, ggufString: 8, ggufU64: 8, ggufI64: 8, ggufF64: 8}

// scalar reads a value that is no array.
func (r *reader) scalar(kind uint32) any {
	if kind == ggufString {
		return r.text()
	}
	b := r.bytes(ggufWidth[kind])
	if b == nil {
		return nil
	}
	le := binary.LittleEndian
	switch kind {
	case ggufU8:
		return int64(b[0])
	case ggufI8:
		return int64(int8(b[0]))
	case ggufU16:
		return int64(le.Uint16(b))
	case ggufI16:
		return int64(int16(le.Uint16(b)))
	case ggufU32:
		return int64(le.Uint32(b))
	case ggufI32:
		return int64(int32(le.Uint32(b)))
	case ggufU64, ggufI64:
		return int64(le.Uint64(b))
	case ggufF32:
		return float64(math.Float32frombits(le.Uint32(b)))
	case ggufF64:
		return math.Float64frombits(le.Uint64(b))
	default:
		return b[0] != 0
	}
}

func (r *reader) value() any {
	kind := r.u32()
	if kind != ggufArray {
		if ggufWidth[kind] == 0 && r.err == nil {
			r.err = fmt.Errorf("at byte %d it has a value of the unknown type %d", r.at-4, kind)
		}
		if r.err != nil {
			return nil
		}
		return r.scalar(kind)
	}
	kind = r.u32()
	if ggufWidth[kind] == 0 && r.err == nil {
		r.err = fmt.Errorf("at byte %d it has an array of the type %d, which is unknown, or arrays of arrays", r.at-4, kind)
	}
	if r.err != nil {
		return nil
	}
	n := r.count(ggufWidth[kind])
	switch kind {
	case ggufString:
		return each[string](r, kind, n)
	case ggufF32, ggufF64:
		return each[float64](r, kind, n)
	case ggufBool:
		return each[bool](r, kind, n)
	}
	return each[int64](r, kind, n)
}

func each[T any](r *reader, kind uint32, n int) []T {
	out := make([]T, 0, min(n, 1<<16))
	for range n {
		v, ok := r.scalar(kind).(T)
		if !ok || r.err != nil {
			return nil
		}
		out = append(out, v)
	}
	return out
}

func (g *ggufFile) parse(f io.Reader) error {
	r := &reader{r: bufio.NewReaderSize(f, 1<<16), size: g.size}
	magic := string(r.bytes(4))
	if r.err != nil || magic != ggufMagic {
		return fmt.Errorf("it begins with %q, want %q: it is no GGUF file", magic, ggufMagic)
	}
	switch v := r.u32(); {
	case r.err != nil:
		return r.err
	case v == 2<<24 || v == 3<<24:
		return errors.New("it is big-endian: only little-endian GGUF files can be read")
	case v != 2 && v != 3:
		return fmt.Errorf("it is of version %d: 2 and 3 can be read", v)
	}
	tensors := r.count(24)
	keys := r.count(13)
	g.keys, g.tensors = map[string]any{}, map[string]ggufTensor{}
	for range keys {
		key := r.text()
		value := r.value()
		if r.err != nil {
			return fmt.Errorf("reading the key %q: %w", key, r.err)
		}
		if _, twice := g.keys[key]; twice {
			return fmt.Errorf("it has the key %q twice: it is damaged", key)
		}
		g.keys[key] = value
	}
	for range tensors {
		name := r.text()
		t := ggufTensor{}
		n := r.u32()
		if r.err == nil && n > ggufDims {
			return fmt.Errorf("the tensor %q has %d dimensions, %d are the limit: the file is damaged", name, n, ggufDims)
		}
		for range n {
			d := r.u64()
			if d > math.MaxInt32 {
				return fmt.Errorf("the tensor %q has a dimension of %d: the file is damaged", name, d)
			}
			t.dims = append(t.dims, int(d))
		}
		slices.Reverse(t.dims)
		t.kind, t.offset = quantisation(r.u32()), int64(r.u64())
		if r.err != nil {
			return fmt.Errorf("reading about the tensor %q: %w", name, r.err)
		}
		if _, twice := g.tensors[name]; twice {
			return fmt.Errorf("it has the tensor %q twice: it is damaged", name)
		}
		g.tensors[name] = t
	}
	if r.err != nil {
		return r.err
	}
	align := int64(ggufAlignment)
	if a, ok := g.keys["general.alignment"].(int64); ok {
		if a < 8 || a > 1<<20 || a%8 != 0 {
			return fmt.Errorf("its data are aligned to %d bytes, which is no multiple of 8 in reason", a)
		}
		align = a
	}
	g.data = (r.at + align - 1) / align * align
	return g.place()
}

// place checks that the data of all tensors are in the file.
func (g *ggufFile) place() error {
	names := make([]string, 0, len(g.tensors))
	for name := range g.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t := g.tensors[name]
		block, ok := blocks[t.kind]
		if !ok {
			continue // an error when it is read
		}
		n := int64(1)
		for _, d := range t.dims {
			if d > 0 && n > math.MaxInt64/16/int64(d) {
				return fmt.Errorf("the tensor %q: %w", name, errHuge)
			}
			n *= int64(d)
		}
		if columns := t.dims; len(columns) == 0 || columns[len(columns)-1]%block.values != 0 {
			return fmt.Errorf("the tensor %q of dimensions %v is stored in blocks of %d values (%s), which do not fit its rows", name, t.dims, block.values, t.kind)
		}
		t.bytes = n / int64(block.values) * int64(block.bytes)
		if t.offset < 0 || t.offset > g.size || t.bytes > g.size-g.data-t.offset {
			return fmt.Errorf("the tensor %q has its data in bytes %d to %d, and the file ends at %d: it is cut off: get it again", name, g.data+t.offset, g.data+t.offset+t.bytes, g.size)
		}
		g.tensors[name] = t
	}
	return nil
}

func (g *ggufFile) Close() error { return g.f.Close() }

func (g *ggufFile) has(name string) bool { _, ok := g.tensors[name]; return ok }

// halves implements source: llama.cpp's converter sorts the rows of queries and
// keys of llama for rotary pairs of neighbours, and not those of qwen2.
func (g *ggufFile) halves() bool { return g.keys["general.architecture"] != "llama" }

func (g *ggufFile) names() map[string]string {
	return map[string]string{
		"tokens/embeddings": "token_embd.weight", "norm/gain": "output_norm.weight",
		"norm1/gain": "blk.%d.attn_norm.weight", "norm2/gain": "blk.%d.ffn_norm.weight",
		"query/weights": "blk.%d.attn_q.weight", "key/weights": "blk.%d.attn_k.weight", "value/weights": "blk.%d.attn_v.weight",
		"query/biases": "blk.%d.attn_q.bias", "key/biases": "blk.%d.attn_k.bias", "value/biases": "blk.%d.attn_v.bias",
		"output/weights": "blk.%d.attn_output.weight",
		"gate/weights":   "blk.%d.ffn_gate.weight", "up/weights": "blk.%d.ffn_up.weight", "down/weights": "blk.%d.ffn_down.weight",
	}
}

// tensor implements source.
func (g *ggufFile) tensor(name string, dims ...int) ([]float32, error) {
	t, ok := g.tensors[name]
	if !ok {
		return nil, fmt.Errorf("there is no tensor %q", name)
	}
	if !slices.Equal(t.dims, dims) {
		return nil, fmt.Errorf("the tensor %q has dimensions %v, want %v", name, t.dims, dims)
	}
	block, ok := blocks[t.kind]
	if !ok {
		return nil, fmt.Errorf("the tensor %q is stored as %s, which cannot be read: %s can", name, t.kind, known())
	}
	raw := make([]byte, t.bytes)
	if _, err := g.f.ReadAt(raw, g.data+t.offset); err != nil {
		return nil, fmt.Errorf("the tensor %q: %w", name, err)
	}
	out := make([]float32, t.bytes/int64(block.bytes)*int64(block.values))
	for i := range len(out) / block.values {
		block.decode(raw[i*block.bytes:(i+1)*block.bytes], out[i*block.values:(i+1)*block.values])
	}
	return out, finite(name, out)
}

// finite refuses weights that are no numbers.
func finite(name string, x []float32) error {
	for i, v := range x {
		if v-v != 0 {
			return fmt.Errorf("the tensor %q has %g at place %d: the file is damaged", name, v, i)
		}
	}
	return nil
}
