package cubex

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// field is one number of a value.
type field struct {
	instance string
	size     int
	read     func(binary.ByteOrder, []byte) (float64, string)
}

func whole[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](get func(binary.ByteOrder, []byte) T) func(binary.ByteOrder, []byte) (float64, string) {
	return func(o binary.ByteOrder, b []byte) (float64, string) {
		v := get(o, b)
		return float64(v), fmt.Sprint(v)
	}
}

func double(o binary.ByteOrder, b []byte) (float64, string) {
	v := math.Float64frombits(o.Uint64(b))
	return v, strconv.FormatFloat(v, 'g', -1, 64)
}

var (
	i8  = whole(func(_ binary.ByteOrder, b []byte) int8 { return int8(b[0]) })
	u8  = whole(func(_ binary.ByteOrder, b []byte) uint8 { return b[0] })
	i16 = whole(func(o binary.ByteOrder, b []byte) int16 { return int16(o.Uint16(b)) })
	u16 = whole(func(o binary.ByteOrder, b []byte) uint16 { return o.Uint16(b) })
	i32 = whole(func(o binary.ByteOrder, b []byte) int32 { return int32(o.Uint32(b)) })
	u32 = whole(func(o binary.ByteOrder, b []byte) uint32 { return o.Uint32(b) })
	i64 = whole(func(o binary.ByteOrder, b []byte) int64 { return int64(o.Uint64(b)) })
	u64 = whole(func(o binary.ByteOrder, b []byte) uint64 { return o.Uint64(b) })
)

// fieldsOf returns what a value of a type consists of, nil for unknown types.
func fieldsOf(dtype string) []field {
	dtype = strings.ToUpper(strings.Join(strings.Fields(dtype), " "))
	name, args, _ := strings.Cut(strings.TrimSuffix(dtype, ")"), "(")
	switch strings.TrimSpace(name) {
	case "DOUBLE", "FLOAT", "MINDOUBLE", "MAXDOUBLE":
		return []field{{"", 8, double}}
	case "INT64", "INTEGER", "SIGNED INTEGER":
		return []field{{"", 8, i64}}
	case "UINT64", "UNSIGNED INTEGER":
		return []field{{"", 8, u64}}
	case "INT", "INT32", "SIGNED INT":
		return []field{{"", 4, i32}}
	case "UINT32", "UNSIGNED INT":
		return []field{{"", 4, u32}}
	case "INT16", "SHORT INT", "SIGNED SHORT INT":
		return []field{{"", 2, i16}}
	case "UINT16", "UNSIGNED SHORT INT":
		return []field{{"", 2, u16}}
	case "INT8":
		return []field{{"", 1, i8}}
	case "UINT8", "CHAR":
		return []field{{"", 1, u8}}
	case "COMPLEX":
		return []field{{"re", 8, double}, {"im", 8, double}}
	case "RATE":
		return []field{{"numerator", 8, double}, {"denominator", 8, double}}
	case "TAU_ATOMIC":
		return []field{{"n", 4, u32}, {"min", 8, double}, {"max", 8, double}, {"sum", 8, double}, {"sum2", 8, double}}
	case "NDOUBLES":
		n, err := strconv.Atoi(strings.TrimSpace(args))
		if err != nil || n < 1 || n > 1<<12 {
			return nil
		}
		fs := make([]field, n)
		for i := range fs {
			fs[i] = field{strconv.Itoa(i), 8, double}
		}
		return fs
	}
	return nil
}

// index is a parsed N.index: the numbers of the nodes that have rows.
type index struct {
	order binary.ByteOrder
	rows  []int // numbers of nodes; every node once at most
}

func readIndex(in *collectors.Input, name string, b []byte, nodes int) (*index, error) {
	const magic = "CUBEX.INDEX"
	if len(b) < len(magic)+7 || string(b[:len(magic)]) != magic {
		return nil, broken(in, getAgain, "%s: it does not begin with %s", name, magic)
	}
	b = b[len(magic):]
	x := &index{order: binary.LittleEndian}
	if x.order.Uint32(b) != 1 {
		x.order = binary.BigEndian
	}
	if x.order.Uint32(b) != 1 {
		return nil, broken(in, getAgain, "%s: the mark of its byte order is %x", name, b[:4])
	}
	kind := b[6]
	b = b[7:]
	if kind == 0 {
		for i := range nodes {
			x.rows = append(x.rows, i)
		}
		return x, nil
	}
	if kind != 1 {
		return nil, &collectors.UnsupportedError{File: in.Name, What: fmt.Sprintf("a profile whose %s is of the unknown kind %d", name, kind), Hint: "write it again with CubeLib 4.3 to 4.8 (cube_calltree, cube_canonize ...)"}
	}
	if len(b) < 4 || uint64(x.order.Uint32(b))*4 != uint64(len(b)-4) {
		return nil, broken(in, getAgain, "%s: its length does not fit the number of nodes that it names", name)
	}
	seen := make([]bool, nodes)
	for b = b[4:]; len(b) > 0; b = b[4:] {
		n := int(int32(x.order.Uint32(b)))
		if n < 0 || n >= nodes || seen[n] {
			return nil, broken(in, getAgain, "%s: it names node %d twice or the call tree of %d nodes has none such", name, n, nodes)
		}
		seen[n] = true
		x.rows = append(x.rows, n)
	}
	return x, nil
}

// rows calls f with each row of a N.data; size is the length of one.
func rows(in *collectors.Input, name string, r io.Reader, length int64, x *index, size int, f func(node int, row []byte) error) error {
	const plain, packed = "CUBEX.DATA", "ZCUBEX.DATA"
	head := make([]byte, len(plain))
	if _, err := io.ReadFull(r, head); err != nil {
		return broken(in, getAgain, "%s: it is too short", name)
	}
	want := int64(len(x.rows)) * int64(size)
	switch {
	case string(head) == plain:
		if length-int64(len(plain)) != want {
			return broken(in, getAgain, "%s: it has %d bytes of values, which its index and the system tree say are %d", name, length-int64(len(plain)), want)
		}
	case string(head) == packed[:len(head)]:
		var err error
		if r, err = unpack(in, name, r, length-int64(len(packed)), x.order); err != nil {
			return err
		}
	default:
		return broken(in, getAgain, "%s: it begins with %s, not with %s", name, collectors.Quote(string(head)), plain)
	}
	row := make([]byte, size)
	for i, n := range x.rows {
		if _, err := io.ReadFull(r, row); err != nil {
			return broken(in, getAgain, "%s: its values end within row %d of %d: %v", name, i, len(x.rows), err)
		}
		if err := f(n, row); err != nil {
			return err
		}
	}
	return nil
}

// unpack returns what the zlib streams of a packed N.data hold.
func unpack(in *collectors.Input, name string, r io.Reader, left int64, order binary.ByteOrder) (io.Reader, error) {
	var b [9]byte // the last byte of the magic, and the count
	if _, err := io.ReadFull(r, b[:]); err != nil || b[0] != 'A' {
		return nil, broken(in, getAgain, "%s: its packed values have no count", name)
	}
	n := order.Uint64(b[1:])
	if n > uint64(left)/24 {
		return nil, broken(in, getAgain, "%s: it is too short for the %d packed pieces that it names", name, n)
	}
	table := make([]byte, n*24)
	if _, err := io.ReadFull(r, table); err != nil {
		return nil, broken(in, getAgain, "%s: the table of its packed pieces is cut", name)
	}
	return &streams{r: r, table: table, order: order}, nil
}

// streams reads zlib streams one after the other.
type streams struct {
	r     io.Reader
	table []byte
	order binary.ByteOrder
	cur   io.Reader
}

func (s *streams) Read(p []byte) (int, error) {
	for {
		if s.cur != nil {
			n, err := s.cur.Read(p)
			if errors.Is(err, io.EOF) {
				s.cur, err = nil, nil
			}
			if n > 0 || err != nil {
				return n, err
			}
			continue
		}
		if len(s.table) == 0 {
			return 0, io.EOF
		}
		size := s.order.Uint64(s.table[16:])
		s.table = s.table[24:]
		if size == 0 {
			continue
		}
		if size > 1<<30 {
			return 0, io.ErrUnexpectedEOF
		}
		var packed bytes.Buffer
		if n, err := io.CopyN(&packed, s.r, int64(size)); err != nil || n != int64(size) {
			return 0, io.ErrUnexpectedEOF
		}
		z, err := zlib.NewReader(&packed)
		if err != nil {
			return 0, err
		}
		s.cur = z
	}
}
