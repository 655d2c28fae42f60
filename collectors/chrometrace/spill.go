package chrometrace

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// event is what is kept of an event until all are known and can be put in
// order. id and args point into the file's text, or into a copy of it.
type event struct {
	ts, dur  int64 // nanoseconds; dur is noTime where there is none
	seq      int64 // place in the file
	name     uint32
	cat      uint32
	track    uint32
	ph       byte
	rank     byte // of those at the same time
	id, args []byte
}

const noTime = -1 << 63

// Ranks of events at the same time: what ends is gone before something begins,
// and what has no length is within what begins.
const (
	rankEnd     = iota // E, e
	rankX              // X, the longest first
	rankBegin          // B, b
	rankZeroEnd        // the E of a B at the same time
	rankPoint          // instants, flows
)

func compare(a, b *event) int {
	if c := cmp.Compare(a.ts, b.ts); c != 0 {
		return c
	}
	if c := cmp.Compare(a.rank, b.rank); c != 0 {
		return c
	}
	if a.rank == rankX {
		if c := cmp.Compare(b.dur, a.dur); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.seq, b.seq)
}

// sorter puts events in order of time. What does not fit its memory goes to a
// temporary file in sorted pieces, which are merged at the end.
type sorter struct {
	limit  int // bytes of text in memory; as many/64 events
	events []event
	bytes  int
	arena  []byte
	file   *os.File
	w      *bufio.Writer
	size   int64
	pieces []int64 // where they begin in the file
}

// sortMemory is how many bytes of events are sorted at once.
const sortMemory = 48 << 20

// keep copies a text.
func (s *sorter) keep(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	if len(s.arena)+len(b) > cap(s.arena) {
		s.arena = make([]byte, 0, max(1<<20, len(b)))
	}
	n := len(s.arena)
	s.arena = append(s.arena, b...)
	return s.arena[n:len(s.arena):len(s.arena)]
}

func (s *sorter) add(e event) error {
	e.id, e.args = s.keep(e.id), s.keep(e.args)
	s.events = append(s.events, e)
	s.bytes += len(e.id) + len(e.args)
	if s.bytes < s.limit && len(s.events) < s.limit/64 {
		return nil
	}
	return s.spill()
}

func (s *sorter) sort() {
	slices.SortFunc(s.events, func(a, b event) int { return compare(&a, &b) })
}

func (s *sorter) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "rooflab-trace-*")
		if err != nil {
			return fmt.Errorf("sorting the events of a trace: %w", err)
		}
		s.file, s.w = f, bufio.NewWriterSize(f, 1<<20)
	}
	s.sort()
	s.pieces = append(s.pieces, s.size)
	var b []byte
	for i := range s.events {
		b = s.events[i].encode(b[:0])
		if _, err := s.w.Write(b); err != nil {
			return fmt.Errorf("sorting the events of a trace: %w", err)
		}
		s.size += int64(len(b))
	}
	s.events, s.arena, s.bytes = s.events[:0], nil, 0
	return nil
}

const headLen = 44

func (e *event) encode(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(e.ts))
	b = le.AppendUint64(b, uint64(e.dur))
	b = le.AppendUint64(b, uint64(e.seq)<<16|uint64(e.ph)<<8|uint64(e.rank))
	b = le.AppendUint32(b, e.name)
	b = le.AppendUint32(b, e.cat)
	b = le.AppendUint32(b, e.track)
	b = le.AppendUint32(b, uint32(len(e.id)))
	b = le.AppendUint32(b, uint32(len(e.args)))
	return append(append(b, e.id...), e.args...)
}

// piece reads one sorted piece of the file.
type piece struct {
	r    *bufio.Reader
	e    event
	text []byte
}

func (p *piece) next() error {
	var h [headLen]byte
	if _, err := io.ReadFull(p.r, h[:]); err != nil {
		return err
	}
	le := binary.LittleEndian
	word := le.Uint64(h[16:])
	p.e = event{ts: int64(le.Uint64(h[0:])), dur: int64(le.Uint64(h[8:])), seq: int64(word >> 16), ph: byte(word >> 8), rank: byte(word),
		name: le.Uint32(h[24:]), cat: le.Uint32(h[28:]), track: le.Uint32(h[32:])}
	id, n := int(le.Uint32(h[36:])), int(le.Uint32(h[36:]))+int(le.Uint32(h[40:]))
	if cap(p.text) < n {
		p.text = make([]byte, n)
	}
	p.text = p.text[:n]
	if _, err := io.ReadFull(p.r, p.text); err != nil {
		return err
	}
	p.e.id, p.e.args = p.text[:id], p.text[id:]
	return nil
}

type pieces []*piece

func (h pieces) Len() int           { return len(h) }
func (h pieces) Less(i, j int) bool { return compare(&h[i].e, &h[j].e) < 0 }
func (h pieces) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *pieces) Push(x any)        { *h = append(*h, x.(*piece)) }
func (h *pieces) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// each calls f with all events in order. An event is valid during the call.
func (s *sorter) each(f func(*event) error) error {
	if s.file == nil {
		s.sort()
		for i := range s.events {
			if err := f(&s.events[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.events = nil
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("sorting the events of a trace: %w", err)
	}
	var h pieces
	for i, from := range s.pieces {
		to := s.size
		if i+1 < len(s.pieces) {
			to = s.pieces[i+1]
		}
		p := &piece{r: bufio.NewReaderSize(io.NewSectionReader(s.file, from, to-from), 128<<10)}
		switch err := p.next(); {
		case errors.Is(err, io.EOF):
		case err != nil:
			return fmt.Errorf("sorting the events of a trace: %w", err)
		default:
			h = append(h, p)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		p := h[0]
		if err := f(&p.e); err != nil {
			return err
		}
		switch err := p.next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&h)
		case err != nil:
			return fmt.Errorf("sorting the events of a trace: %w", err)
		default:
			heap.Fix(&h, 0)
		}
	}
	return nil
}

func (s *sorter) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
