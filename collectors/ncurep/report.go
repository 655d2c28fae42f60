package ncurep

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "ncu-rep",
		About:   "Nsight Compute report (.ncu-rep): all metrics, PC samples, SASS, PTX and source",
		Version: 2,
		Detect: func(h collectors.Head) collectors.Confidence {
			if bytes.HasPrefix(h.Bytes, []byte(magic)) {
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: parse,
	})
}

const (
	magic = "NVR\x00"
	// version of the file format that all of this is about.
	version = 7

	runID, machineID = 1, 1
)

// parser holds what reading one report needs.
type parser struct {
	ctx context.Context
	in  *collectors.Input
	out *collectors.Output
	at  int64 // of the next byte

	run     datasets.Run
	session session
	strings []string
	process process
	sources map[uint64]*source
	regions map[regionKey]int64
	code    codes
	count   int64 // results
	ids     struct{ region, code int64 }
	warned  map[string]bool
}

// process is the program that a block is about.
type process struct {
	id         uint64
	host, path string
}

// header is what a block's header says of its payload.
type header struct {
	length uint64
	counts [numKinds]uint64 // of sources, then of each kind of result
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	p := &parser{ctx: ctx, in: in, out: out, run: datasets.Run{ID: runID, Tool: "ncu", Format: "ncu-rep", Status: datasets.RunOK},
		sources: map[uint64]*source{}, regions: map[regionKey]int64{}, warned: map[string]bool{}}
	p.code.functions = map[functionKey]*function{}
	head, err := p.take(4, "the magic number")
	if err != nil {
		return err
	}
	if string(head.b) != magic {
		return &collectors.SyntaxError{File: in.Name, Msg: "at byte 0: this is no report of Nsight Compute", Expected: `"NVR\x00"`, Found: collectors.Quote(string(head.b))}
	}
	fh, err := p.sized("the file's header", -1)
	if err != nil {
		return err
	}
	v := uint64(0)
	if err := p.each(fh, func(fd field) error {
		if fd.num == 1 {
			return p.number(fd, &v)
		}
		return nil
	}); err != nil {
		return err
	}
	p.run.FormatVersion = fmt.Sprint(v)
	if v != version {
		out.Warn(0, 0, "the report's format has version %d, and it is read by the rules of version %d", v, version)
	}
	for {
		more, err := p.block()
		if err != nil {
			return err
		}
		if !more {
			return p.finish()
		}
	}
}

// take reads n bytes. It does not trust n: memory grows with what is there.
func (p *parser) take(n int64, of string) (message, error) {
	var buf bytes.Buffer
	m := message{at: p.at, of: of}
	got, err := io.CopyN(&buf, p.in, n)
	p.at += got
	if errors.Is(err, io.EOF) {
		return m, p.bad(m.at, "the file ends within %s: it has %d bytes, and %d are there", of, n, got)
	}
	m.b = buf.Bytes()
	return m, err
}

// sized reads a message behind its length, of which room bytes are left in the
// payload; -1 where there is none around it.
func (p *parser) sized(of string, room int64) (message, error) {
	at := p.at
	if room >= 0 && room < 4 {
		return message{}, p.bad(at, "the payload of its block ends before %s", of)
	}
	l, err := p.take(4, "the length of "+of)
	if err != nil {
		return l, err
	}
	n := int64(binary.LittleEndian.Uint32(l.b))
	if room >= 0 && n > room-4 {
		return l, p.bad(at, "%s has %d bytes, and the payload of its block %d more", of, n, room-4)
	}
	return p.take(n, of)
}

// block reads a block; more is false at the end of the file.
func (p *parser) block() (more bool, err error) {
	if err := p.ctx.Err(); err != nil {
		return false, fmt.Errorf("reading %s: %w", p.in.Name, err)
	}
	start := p.at
	l, err := p.take(4, "the length of a block's header")
	if err != nil && p.at == start {
		return false, nil // the file ends between blocks
	}
	if err != nil {
		return false, err
	}
	hm, err := p.take(int64(binary.LittleEndian.Uint32(l.b)), "a block's header")
	if err != nil {
		return false, err
	}
	h, err := p.header(hm)
	if err != nil {
		return false, err
	}
	end := p.at + int64(h.length)
	for kind := range h.counts {
		for range h.counts[kind] {
			m, err := p.sized(kindNames[kind], end-p.at)
			if err != nil {
				return false, err
			}
			if kind == kindSource {
				err = p.source(m)
			} else {
				err = p.result(m, kind)
			}
			if err != nil {
				return false, err
			}
		}
	}
	if p.at < end {
		left, err := p.take(end-p.at, "a block's payload")
		if err != nil {
			return false, err
		}
		p.once("left", "at byte %d a block holds %d bytes of a kind that is not known here: they were left out", left.at, len(left.b))
	}
	return true, nil
}

func (p *parser) header(m message) (h header, err error) {
	p.process = process{}
	err = p.each(m, func(fd field) error {
		switch fd.num {
		case 1:
			return p.number(fd, &h.counts[kindSource])
		case 2:
			return p.number(fd, &h.counts[kindKernel])
		case 3:
			return p.readSession(fd)
		case 4:
			return p.eachIn(fd, "a table of strings", func(fd field) error {
				if fd.num != 1 {
					return nil
				}
				p.strings = append(p.strings, "")
				return p.text(fd, &p.strings[len(p.strings)-1])
			})
		case 5:
			return p.number(fd, &h.length)
		case 6:
			return p.eachIn(fd, "a process", func(fd field) error {
				switch fd.num {
				case 1:
					return p.number(fd, &p.process.id)
				case 2:
					return p.text(fd, &p.process.host)
				case 3:
					return p.text(fd, &p.process.path)
				}
				return nil
			})
		case 7, 8, 9:
			return p.number(fd, &h.counts[kindRange+int(fd.num)-7])
		}
		return nil
	})
	if err == nil && h.length > 1<<32 {
		err = p.bad(m.at, "the payload of a block has %d bytes", h.length)
	}
	if p.run.Command == "" {
		p.run.Command = p.process.path
	}
	return h, err
}

// once warns about the file, a single time per topic.
func (p *parser) once(topic, format string, args ...any) {
	if !p.warned[topic] {
		p.warned[topic] = true
		p.out.Warn(0, 0, format, args...)
	}
}

// finish ends the report: machine and run go out.
func (p *parser) finish() error {
	if p.count == 0 {
		p.run.Status, p.run.Error = datasets.RunEmpty, "the report holds no result"
		p.out.Warn(0, 0, "no launch was measured: the report holds no result")
	}
	if err := p.putSession(); err != nil {
		return err
	}
	return p.out.Put(&p.run)
}
