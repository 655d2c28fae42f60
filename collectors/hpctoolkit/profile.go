package hpctoolkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID = 1

// maxMeta is how large a meta.db may be: it is read as a whole.
const maxMeta = 4 << 30

// partName is the name of a file beside meta.db.
func partName(in *collectors.Input, word string) string {
	name := filepath.Base(in.Name)
	i := strings.LastIndex(name, "meta")
	if i < 0 {
		return ""
	}
	return name[:i] + word + name[i+4:]
}

type reader struct {
	ctx      context.Context
	in       *collectors.Input
	out      *collectors.Output
	meta     *meta
	run      datasets.Run
	launches int64
	values   int64
	unlisted map[uint32]bool      // contexts that have values and are not in meta.db
	traces   map[uint32][2]uint64 // profile to where its samples are
	trace    *os.File
}

func parseMeta(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	b, err := in.ReadAll(maxMeta)
	if err != nil {
		return err
	}
	m, err := readMeta(in, b)
	if err != nil {
		return err
	}
	r := &reader{ctx: ctx, in: in, out: out, meta: m, traces: map[uint32][2]uint64{}, unlisted: map[uint32]bool{},
		run: datasets.Run{ID: runID, Tool: "hpctoolkit", Format: "hpctoolkit", FormatVersion: fmt.Sprintf("%d.%d", b[14], b[15]), Command: m.title, Status: datasets.RunOK}}
	if err := r.contexts(); err != nil {
		return err
	}
	if err := r.openTrace(); err != nil {
		return err
	}
	if r.trace != nil {
		defer r.trace.Close()
	}
	f, err := in.Part(partName(in, "profile"))
	if errors.Is(err, fs.ErrNotExist) {
		e := broken(in, "meta.db", "the profile.db that belongs to it is not beside it")
		e.Hint = "copy the whole database folder, and import it or its meta.db"
		return e
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := r.profiles(f); err != nil {
		return err
	}
	for _, kv := range [][2]string{{"title", m.title}, {"description", m.description}} {
		if kv[1] != "" {
			if err := out.Put(&datasets.Attribute{Run: runID, Name: kv[0], Value: kv[1]}); err != nil {
				return err
			}
		}
	}
	if n := len(r.unlisted); n > 0 {
		out.Warn(0, 0, "%d contexts have values and are not in meta.db, which happens for single instructions: what is measured there is part of the inclusive values of the contexts above", n)
	}
	r.run.TimeMetric, r.run.TimeInclusive = m.time, m.time != ""
	if r.values == 0 {
		r.run.Status, r.run.Error = datasets.RunEmpty, "the database holds no values"
		out.Warn(0, 0, "%s", r.run.Error)
	}
	return out.Put(&r.run)
}

// contexts emits the regions.
func (r *reader) contexts() error {
	order := int64(0)
	return r.meta.each(r.in, func(c *context4) error {
		if order%4096 == 0 && r.ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", r.in.Name, r.ctx.Err())
		}
		g := c.region()
		g.Order = datasets.Some(order)
		order++
		if err := r.out.Put(&g); err != nil {
			return err
		}
		var facts [][2]string
		if c.file != "" {
			facts = append(facts, [2]string{"file", c.file}, [2]string{"line", strconv.FormatUint(uint64(c.line), 10)})
		}
		if c.hasOffset {
			facts = append(facts, [2]string{"offset", fmt.Sprintf("0x%x", c.offset)})
		}
		if how := map[uint8]string{1: "call", 2: "inlined call"}[c.relation]; how != "" {
			facts = append(facts, [2]string{"relation", how})
		}
		for _, kv := range facts {
			if err := r.out.Put(&datasets.Attribute{Run: runID, Region: g.ID, Name: kv[0], Value: kv[1]}); err != nil {
				return err
			}
		}
		return nil
	})
}

// window reads a file whose pointers were not checked.
type window struct {
	in   *collectors.Input
	name string
	f    *os.File
	size uint64
}

func (r *reader) window(name string, f *os.File, magic, end string, sections int) (window, error) {
	st, err := f.Stat()
	if err != nil {
		return window{}, err
	}
	w := window{r.in, name, f, uint64(st.Size())}
	head, err := w.read(0, uint64(16+16*sections), "the header")
	if err != nil {
		return w, err
	}
	if string(head[:14]) != magic {
		return w, broken(r.in, name, "it begins with %s, not with %s", collectors.Quote(string(head[:14])), magic)
	}
	if err := parseHeader(r.in, name, head, sections); err != nil {
		return w, err
	}
	tail, err := w.read(w.size-8, 8, "the mark at the end")
	if err == nil && string(tail) != end {
		err = broken(r.in, name, "it has %d bytes and does not end with its mark, %s", w.size, end)
	}
	return w, err
}

func (w window) read(at, n uint64, what string) ([]byte, error) {
	if at > w.size || n > w.size-at {
		return nil, broken(w.in, w.name, "offset %d: %s of %d bytes is outside of the file of %d", at, what, n, w.size)
	}
	b := make([]byte, n)
	if _, err := w.f.ReadAt(b, int64(at)); err != nil {
		return nil, fmt.Errorf("reading %s: %s: %w", w.in.Name, w.name, err)
	}
	return b, nil
}

// stream reads n structures of a size.
func (w window) stream(at, n, size uint64, what string) (*bufio.Reader, error) {
	if n > w.size/size || at > w.size-n*size {
		return nil, broken(w.in, w.name, "offset %d: the list of %d %s is outside of the file of %d bytes", at, n, what, w.size)
	}
	return bufio.NewReaderSize(io.NewSectionReader(w.f, int64(at), int64(n*size)), 128<<10), nil
}

// profiles emits launches and counters of profile.db.
func (r *reader) profiles(f *os.File) error {
	w, err := r.window("profile.db", f, "HPCTOOLKITprof", "_prof.db", 2)
	if err != nil {
		return err
	}
	p, err := w.read(0x18, 8, "a pointer")
	if err != nil {
		return err
	}
	head, err := w.read(le.Uint64(p), 13, "the list of profiles")
	if err != nil {
		return err
	}
	list, n, size := le.Uint64(head), uint64(le.Uint32(head[8:])), uint64(head[12])
	if size < 0x2c || n > w.size/size {
		return broken(r.in, w.name, "it names %d profiles of %d bytes each", n, size)
	}
	for i := range n {
		b, err := w.read(list+i*size, 0x2c, "a profile")
		if err != nil {
			return err
		}
		who, err := r.identity(w, le.Uint64(b[0x20:]))
		if err != nil {
			return err
		}
		summary := le.Uint32(b[0x28:])&1 != 0
		if summary && i > 0 {
			r.out.Warn(0, 0, "profile.db: the summary of %s is left out: that of the whole run is there", who.text)
			continue
		}
		if !summary {
			if err := r.out.Put(&datasets.Attribute{Run: runID, Name: fmt.Sprintf("profile %d", i), Value: who.text}); err != nil {
				return err
			}
		}
		if err := r.block(w, uint32(i), b[:0x20], who, summary); err != nil {
			return err
		}
	}
	return nil
}

// identity is whose values a profile has.
type identity struct {
	launch datasets.Launch
	text   string
}

func (r *reader) identity(w window, at uint64) (identity, error) {
	var who identity
	if at == 0 {
		who.text = "the whole run"
		return who, nil
	}
	head, err := w.read(at, 8, "an identifier")
	if err != nil {
		return who, err
	}
	b, err := w.read(at+8, uint64(le.Uint16(head))*16, "an identifier")
	if err != nil {
		return who, err
	}
	var parts []string
	for ; len(b) > 0; b = b[16:] {
		kind := fmt.Sprintf("kind %d", b[0])
		if int(b[0]) < len(r.meta.kinds) {
			kind = r.meta.kinds[b[0]]
		}
		logical := datasets.Some(int64(le.Uint32(b[4:])))
		switch kind {
		case "RANK":
			who.launch.Rank = logical
		case "THREAD":
			who.launch.Thread = logical
		case "GPUDEVICE":
			who.launch.Device = logical
		case "GPUCONTEXT":
			who.launch.Context = logical
		case "GPUSTREAM":
			who.launch.Stream = logical
		}
		part := fmt.Sprintf("%s %d", kind, logical.V)
		if le.Uint16(b[2:])&1 != 0 {
			part += fmt.Sprintf(" (0x%x)", le.Uint64(b[8:]))
		}
		parts = append(parts, part)
	}
	who.text = strings.Join(parts, " ")
	return who, nil
}

// block emits the values of a profile, context by context.
func (r *reader) block(w window, profile uint32, b []byte, who identity, summary bool) error {
	nValues, nCtxs := le.Uint64(b), uint64(le.Uint32(b[0x10:]))
	values, err := w.stream(le.Uint64(b[8:]), nValues, 10, "values")
	if err != nil {
		return err
	}
	index, err := w.stream(le.Uint64(b[0x18:]), nCtxs, 12, "contexts")
	if err != nil {
		return err
	}
	samples, err := r.samples(profile)
	if err != nil {
		return err
	}
	var cur, next [12]byte
	read := func(dst *[12]byte) error {
		if _, err := io.ReadFull(index, dst[:]); err != nil {
			return broken(r.in, w.name, "the contexts of profile %d end too soon: %v", profile, err)
		}
		return nil
	}
	if nCtxs > 0 {
		if err := read(&next); err != nil {
			return err
		}
		if le.Uint64(next[4:]) != 0 {
			return broken(r.in, w.name, "the values of the first context of profile %d begin at %d, not at 0", profile, le.Uint64(next[4:]))
		}
	}
	seen := map[uint32]bool{}
	for i := range nCtxs {
		if i%4096 == 0 && r.ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", r.in.Name, r.ctx.Err())
		}
		cur = next
		end := nValues
		if i+1 < nCtxs {
			if err := read(&next); err != nil {
				return err
			}
			end = le.Uint64(next[4:])
		}
		id, from := le.Uint32(cur[:]), le.Uint64(cur[4:])
		if end < from || end > nValues || seen[id] {
			return broken(r.in, w.name, "profile %d: context %d is there twice, or its values are from %d to %d of %d", profile, id, from, end, nValues)
		}
		seen[id] = true
		if err := r.values4(values, end-from, profile, id, who, summary, samples[id]); err != nil {
			return err
		}
	}
	for id := range seen {
		delete(samples, id)
	}
	rest := make([]uint32, 0, len(samples))
	for id := range samples {
		rest = append(rest, id)
	}
	sort.Slice(rest, func(i, j int) bool { return rest[i] < rest[j] })
	for _, id := range rest {
		if err := r.values4(values, 0, profile, id, who, false, samples[id]); err != nil {
			return err
		}
	}
	return nil
}

// values4 emits the values of one context in one profile.
func (r *reader) values4(values io.Reader, n uint64, profile, id uint32, who identity, summary bool, samples int64) error {
	if id != 0 && !r.meta.contexts[id] {
		r.unlisted[id] = true
		if _, err := io.CopyN(io.Discard, values, int64(n)*10); err != nil {
			return broken(r.in, "profile.db", "the values of profile %d end too soon: %v", profile, err)
		}
		return nil
	}
	launch := int64(0)
	if !summary && id != 0 {
		r.launches++
		l := who.launch
		l.ID, l.Run, l.Region, l.Sequence, l.ToolID = r.launches, runID, int64(id), datasets.Some(r.launches-1), strconv.FormatUint(uint64(profile), 10)
		launch = l.ID
		if err := r.out.Put(&l); err != nil {
			return err
		}
	}
	var b [10]byte
	for range n {
		if _, err := io.ReadFull(values, b[:]); err != nil {
			return broken(r.in, "profile.db", "the values of profile %d end too soon: %v", profile, err)
		}
		metrics := r.meta.values
		if summary {
			metrics = r.meta.stats
		}
		m := metrics[le.Uint16(b[:])]
		if m == nil {
			return broken(r.in, "profile.db", "profile %d has values of metric %d, which meta.db does not describe", profile, le.Uint16(b[:]))
		}
		if id == 0 { // the sum over the roots
			continue
		}
		v := math.Float64frombits(le.Uint64(b[2:]))
		if err := r.counter(int64(id), launch, m, v); err != nil {
			return err
		}
	}
	if samples == 0 || id == 0 {
		return nil
	}
	return r.counter(int64(id), launch, &metric{name: "trace samples"}, float64(samples))
}

func (r *reader) counter(region, launch int64, m *metric, v float64) error {
	r.values++
	text := strconv.FormatFloat(v, 'g', -1, 64)
	c := datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: m.name, Unit: m.si.Base, RawValue: text, RawUnit: m.unit, Status: datasets.StatusNA}
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		x, err := m.si.Scale(text, collectors.Dot)
		if err != nil {
			return fmt.Errorf("reading %s: %w", r.in.Name, err)
		}
		c.Value, c.Status = datasets.Some(x), datasets.StatusOK
	}
	return r.out.Put(&c)
}

// openTrace reads the headers of trace.db, where there is one.
func (r *reader) openTrace() error {
	f, err := r.in.Part(partName(r.in, "trace"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.trace = f
	w, err := r.window("trace.db", f, "HPCTOOLKITtrce", "trace.db", 1)
	if err != nil {
		return err
	}
	b, err := w.read(0x18, 8, "a pointer")
	if err != nil {
		return err
	}
	at := le.Uint64(b)
	if b, err = w.read(at, 0x20, "the list of traces"); err != nil {
		return err
	}
	first, last := le.Uint64(b[0x10:]), le.Uint64(b[0x18:])
	if n := le.Uint32(b[8:]); n > 0 && first > 1e18 && last < 4e18 && last >= first {
		r.run.Started = datasets.Some(time.Unix(0, int64(first)).UTC())
		for _, kv := range [][2]string{{"trace start ns", strconv.FormatUint(first, 10)}, {"trace end ns", strconv.FormatUint(last, 10)}} {
			if err := r.out.Put(&datasets.Attribute{Run: runID, Name: kv[0], Value: kv[1]}); err != nil {
				return err
			}
		}
	}
	list, n, size := le.Uint64(b), uint64(le.Uint32(b[8:])), uint64(b[12])
	if size < 0x18 && n > 0 || size > 0 && n > w.size/size {
		return broken(r.in, w.name, "it names %d traces of %d bytes each", n, size)
	}
	for i := range n {
		t, err := w.read(list+i*size, 0x18, "a trace")
		if err != nil {
			return err
		}
		from, to := le.Uint64(t[8:]), le.Uint64(t[16:])
		if to < from || to > w.size || (to-from)%12 != 0 {
			return broken(r.in, w.name, "the samples of trace %d are from offset %d to %d of %d", i, from, to, w.size)
		}
		r.traces[le.Uint32(t)] = [2]uint64{from, to}
	}
	return nil
}

// samples counts a profile's trace samples by context.
func (r *reader) samples(profile uint32) (map[uint32]int64, error) {
	at, ok := r.traces[profile]
	if !ok {
		return nil, nil
	}
	counts := map[uint32]int64{}
	s := bufio.NewReaderSize(io.NewSectionReader(r.trace, int64(at[0]), int64(at[1]-at[0])), 128<<10)
	var b [12]byte
	for range (at[1] - at[0]) / 12 {
		if _, err := io.ReadFull(s, b[:]); err != nil {
			return nil, fmt.Errorf("reading %s: trace.db: %w", r.in.Name, err)
		}
		counts[le.Uint32(b[8:])]++
	}
	return counts, nil
}
