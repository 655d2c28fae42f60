package ncurep

import (
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rooflab/rooflab/collectors"
)

// message is the content of a protobuf message and where in the file it is.
type message struct {
	b  []byte
	at int64
	of string // what it is, for errors
}

// field is one field of a message: u is its number or bits, or sub its bytes.
type field struct {
	num  protowire.Number
	kind protowire.Type
	u    uint64
	sub  message
	at   int64
}

// bad is the error for a place in the file.
func (p *parser) bad(at int64, format string, args ...any) *collectors.SyntaxError {
	return &collectors.SyntaxError{File: p.in.Name, Msg: fmt.Sprintf("at byte %d: ", at) + fmt.Sprintf(format, args...),
		Hint: "the report is cut or damaged: get it again"}
}

// each calls f with the fields of a message, in order.
func (p *parser) each(m message, f func(field) error) error {
	rest := m.b
	for len(rest) > 0 {
		fd := field{at: m.at + int64(len(m.b)-len(rest))}
		num, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return p.bad(fd.at, "%s is no protobuf message: its next field has no valid number or type", m.of)
		}
		fd.num, fd.kind = num, kind
		rest = rest[n:]
		switch kind {
		case protowire.VarintType:
			fd.u, n = protowire.ConsumeVarint(rest)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(rest)
			fd.u = uint64(v)
		case protowire.Fixed64Type:
			fd.u, n = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			fd.sub.b, n = protowire.ConsumeBytes(rest)
			fd.sub.at = m.at + int64(len(m.b)-len(rest)+n-len(fd.sub.b))
		default:
			n = protowire.ConsumeFieldValue(num, kind, rest)
		}
		if n < 0 {
			return p.bad(fd.at, "field %d of %s does not end within it, or holds no value of its type", num, m.of)
		}
		rest = rest[n:]
		if err := f(fd); err != nil {
			return err
		}
	}
	return nil
}

// message is a field's value as a message, for of in errors.
func (p *parser) message(fd field, of string) (message, error) {
	if fd.kind != protowire.BytesType {
		return message{}, p.bad(fd.at, "%s has the wrong wire type %d", of, fd.kind)
	}
	fd.sub.of = of
	return fd.sub, nil
}

// eachIn is each over a field that is a message.
func (p *parser) eachIn(fd field, of string, f func(field) error) error {
	m, err := p.message(fd, of)
	if err != nil {
		return err
	}
	return p.each(m, f)
}

// text sets dst to a field's value as a text.
func (p *parser) text(fd field, dst *string) error {
	if fd.kind != protowire.BytesType {
		return p.bad(fd.at, "field %d is no text but has wire type %d", fd.num, fd.kind)
	}
	*dst = string(fd.sub.b)
	return nil
}

// number sets dst to a field's value as an integer.
func (p *parser) number(fd field, dst *uint64) error {
	if fd.kind != protowire.VarintType {
		return p.bad(fd.at, "field %d is no integer but has wire type %d", fd.num, fd.kind)
	}
	*dst = fd.u
	return nil
}

// value is the value of a metric.
type value struct {
	kind valueKind
	s    string
	f    float64
	u    uint64
}

type valueKind byte

const (
	none valueKind = iota
	textual
	floating
	integer
)

func (p *parser) value(fd field, of string) (v value, err error) {
	err = p.eachIn(fd, of, func(fd field) error {
		want := protowire.VarintType
		switch fd.num {
		case 1:
			v.kind = textual
			return p.text(fd, &v.s)
		case 2:
			want = protowire.Fixed32Type
			v = value{kind: floating, f: float64(math.Float32frombits(uint32(fd.u)))}
		case 3:
			want = protowire.Fixed64Type
			v = value{kind: floating, f: math.Float64frombits(fd.u)}
		case 4, 5:
			v = value{kind: integer, u: fd.u, f: float64(fd.u)}
		default:
			return nil
		}
		if fd.kind != want {
			return p.bad(fd.at, "%s has the wrong wire type %d", of, fd.kind)
		}
		return nil
	})
	return v, err
}

// String is the value as text, exact.
func (v value) String() string {
	switch v.kind {
	case textual:
		return v.s
	case integer:
		return strconv.FormatUint(v.u, 10)
	case floating:
		return strconv.FormatFloat(v.f, 'g', -1, 64)
	}
	return ""
}
