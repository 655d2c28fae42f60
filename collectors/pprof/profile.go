package pprof

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const (
	runID = 1
	// limit is how large an unpacked profile may be: real ones have some 100 MB
	// at most.
	limit = 1 << 30
)

func parseProto(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	return parse(ctx, in, out, formatProto, profile.ParseUncompressed)
}

func parseLegacy(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	return parse(ctx, in, out, formatLegacy, profile.ParseData)
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output, format string, decode func([]byte) (*profile.Profile, error)) error {
	data, err := in.ReadAll(limit)
	if err != nil {
		return err
	}
	if format == formatLegacy {
		if err := checkLegacy(in, out, data); err != nil {
			return err
		}
	}
	p, err := decodeSafely(data, decode)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		e := in.Syntax(1, 1, fmt.Sprintf("the profile of %d bytes is not whole (the decoder of pprof says %q)", len(data), strings.TrimPrefix(err.Error(), "parsing profile: ")))
		e.Hint = "the file is cut or damaged: get it again"
		return e
	}
	if err := p.RemoveUninteresting(); err != nil {
		out.Warn(0, 0, "the profile's expressions for frames to leave out are not understood, and all frames are kept: %v", err)
	}
	r := &reader{out: out, p: p, regions: map[frame]int64{}, launches: map[launchKey]*cell{}, codes: map[codeKey]int64{},
		run: datasets.Run{ID: runID, Tool: "pprof", Format: format, Status: datasets.RunOK}}
	return r.emit(ctx, in.Name)
}

// decodeSafely turns a panic of the decoder, which damaged files may cause,
// into an error.
func decodeSafely(data []byte, decode func([]byte) (*profile.Profile, error)) (p *profile.Profile, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	return decode(data)
}

type reader struct {
	out      *collectors.Output
	p        *profile.Profile
	run      datasets.Run
	regions  map[frame]int64
	launches map[launchKey]*cell
	order    []*cell
	codes    map[codeKey]int64
}

// frame identifies a region.
type frame struct {
	parent                         int64
	name, system, file, module, at string
}

// launchKey identifies what samples are added up for.
type launchKey struct {
	region int64
	labels string
}

// codeKey is a place in the source, or an address.
type codeKey struct {
	region int64
	file   string
	line   int64
	addr   uint64
}

// cell adds up the samples of a region with the same labels.
type cell struct {
	launch datasets.Launch
	labels [][2]string
	sums   []int64
	codes  map[int64][]int64
	list   []int64
}

func (r *reader) emit(ctx context.Context, name string) error {
	for i, s := range r.p.Sample {
		if i%4096 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", name, ctx.Err())
		}
		if err := r.sample(s); err != nil {
			return err
		}
	}
	for _, c := range r.order {
		if err := r.cell(c); err != nil {
			return err
		}
	}
	if err := r.facts(); err != nil {
		return err
	}
	if len(r.p.Sample) == 0 {
		r.run.Status, r.run.Error = datasets.RunEmpty, "the profile holds no sample"
		r.out.Warn(0, 0, "%s", r.run.Error)
	}
	return r.out.Put(&r.run)
}

// sample adds a sample to its stack's last region.
func (r *reader) sample(s *profile.Sample) error {
	var region, code int64
	var err error
	for i := len(s.Location) - 1; i >= 0; i-- {
		loc := s.Location[i]
		if len(loc.Line) == 0 {
			if region, err = r.region(region, loc, nil); err != nil {
				return err
			}
			if i == 0 {
				code, err = r.code(region, loc, nil, 0)
			}
		}
		for k := len(loc.Line) - 1; k >= 0 && err == nil; k-- { // the last is the caller of what was inlined
			if region, err = r.region(region, loc, &loc.Line[k]); err == nil && i == 0 && k == 0 {
				code, err = r.code(region, loc, &loc.Line[0], len(loc.Line)-1)
			}
		}
		if err != nil {
			return err
		}
	}
	if region == 0 { // a sample without a stack
		if region, err = r.put(frame{name: "(no stack)"}, "(no stack)"); err != nil {
			return err
		}
	}
	labels, key := labelsOf(s)
	c := r.launches[launchKey{region, key}]
	if c == nil {
		id := int64(len(r.order) + 1)
		c = &cell{launch: datasets.Launch{ID: id, Run: runID, Region: region, Sequence: datasets.Some(id - 1)}, labels: labels,
			sums: make([]int64, len(r.p.SampleType)), codes: map[int64][]int64{}}
		place(&c.launch, s)
		r.launches[launchKey{region, key}] = c
		r.order = append(r.order, c)
	}
	at := c.codes[code]
	if at == nil && code != 0 {
		at = make([]int64, len(c.sums))
		c.codes[code] = at
		c.list = append(c.list, code)
	}
	for i, v := range s.Value {
		if sum := c.sums[i] + v; v > 0 && sum < c.sums[i] || v < 0 && sum > c.sums[i] {
			return fmt.Errorf("the sum of the samples of %q does not fit 63 bits", r.p.SampleType[i].Type)
		}
		c.sums[i] += v
		if at != nil {
			at[i] += v
		}
	}
	return nil
}

// labelsOf returns a sample's labels in order, and a text that identifies them.
func labelsOf(s *profile.Sample) (labels [][2]string, key string) {
	for name, values := range s.Label {
		labels = append(labels, [2]string{name, strings.Join(values, ",")})
	}
	for name, values := range s.NumLabel {
		var texts []string
		for i, v := range values {
			t := strconv.FormatInt(v, 10)
			if u := s.NumUnit[name]; i < len(u) && u[i] != "" {
				t += " " + u[i]
			}
			texts = append(texts, t)
		}
		labels = append(labels, [2]string{name, strings.Join(texts, ",")})
	}
	sort.Slice(labels, func(i, j int) bool {
		return labels[i][0] < labels[j][0] || labels[i][0] == labels[j][0] && labels[i][1] < labels[j][1]
	})
	var b strings.Builder
	for _, l := range labels {
		fmt.Fprintf(&b, "%q=%q\n", l[0], l[1])
	}
	return labels, b.String()
}

// place takes process and thread from labels that are called so.
func place(l *datasets.Launch, s *profile.Sample) {
	get := func(names ...string) datasets.Null[int64] {
		for _, n := range names {
			if v := s.NumLabel[n]; len(v) == 1 {
				return datasets.Some(v[0])
			}
			if v := s.Label[n]; len(v) == 1 {
				if i, err := strconv.ParseInt(v[0], 10, 64); err == nil {
					return datasets.Some(i)
				}
			}
		}
		return datasets.Null[int64]{}
	}
	l.PID = get("pid", "process_id")
	l.Thread = get("tid", "thread_id", "thread id", "thread")
	l.Rank = get("rank", "mpi_rank")
}

// region returns the region of a line of a location, or of a location that
// has no symbols.
func (r *reader) region(parent int64, loc *profile.Location, line *profile.Line) (int64, error) {
	f := frame{parent: parent}
	if loc.Mapping != nil {
		f.module = loc.Mapping.File
	}
	raw := ""
	if line != nil && line.Function != nil {
		f.name, f.system, f.file = line.Function.Name, line.Function.SystemName, line.Function.Filename
		if raw = f.name; raw == "" {
			raw = f.system
		}
	}
	if raw == "" {
		raw = "0x" + strconv.FormatUint(loc.Address, 16)
		f.at = raw
	}
	return r.put(f, raw)
}

func (r *reader) put(f frame, raw string) (int64, error) {
	if id, ok := r.regions[f]; ok {
		return id, nil
	}
	id := int64(len(r.regions) + 1)
	r.regions[f] = id
	g := datasets.Region{ID: id, Run: runID, Parent: f.parent, Kind: datasets.KindFunction, Raw: raw, Short: shortName(raw), Module: f.module}
	if f.system != f.name {
		g.Mangled = f.system
	}
	if err := r.out.Put(&g); err != nil {
		return 0, err
	}
	if f.file == "" {
		return id, nil
	}
	return id, r.out.Put(&datasets.Attribute{Run: runID, Region: id, Name: "file", Value: f.file})
}

// shortName leaves Go's names as they are: "main.(*T).run" has neither
// parameters nor namespaces of C++.
func shortName(raw string) string {
	if strings.Contains(raw, ".(") || strings.Contains(raw, "/") && !strings.Contains(raw, "::") || strings.HasPrefix(raw, "0x") {
		return raw
	}
	return collectors.ShortName(raw)
}

// code returns the code that samples end in.
func (r *reader) code(region int64, loc *profile.Location, line *profile.Line, depth int) (int64, error) {
	k := codeKey{region: region}
	c := datasets.Code{Run: runID, Region: region, ISA: "machine", InlineDepth: datasets.Some(int64(depth))}
	if line != nil && line.Line > 0 {
		k.line = line.Line
		c.ISA, c.Line = "source", datasets.Some(line.Line)
		if line.Function != nil {
			k.file, c.File = line.Function.Filename, line.Function.Filename
		}
	} else {
		k.addr = loc.Address
		if loc.Address > 0 && loc.Address <= math.MaxInt64 {
			c.Offset = datasets.Some(int64(loc.Address))
		}
	}
	if id, ok := r.codes[k]; ok {
		return id, nil
	}
	c.ID = int64(len(r.codes) + 1)
	r.codes[k] = c.ID
	return c.ID, r.out.Put(&c)
}

// cell emits a launch with its counters.
func (r *reader) cell(c *cell) error {
	if err := r.out.Put(&c.launch); err != nil {
		return err
	}
	for _, l := range c.labels {
		if err := r.out.Put(&datasets.Attribute{Run: runID, Region: c.launch.Region, Launch: c.launch.ID, Name: l[0], Value: l[1]}); err != nil {
			return err
		}
	}
	seen := map[string]int{}
	for i, n := range c.sums {
		t := r.p.SampleType[i]
		u := unitOf(t.Unit)
		v, err := u.Scale(strconv.FormatInt(n, 10), collectors.Dot)
		if err != nil {
			return fmt.Errorf("the samples of %q: %w", t.Type, err)
		}
		counter := datasets.Counter{Run: runID, Region: c.launch.Region, Launch: c.launch.ID, Metric: t.Type, Value: datasets.Some(v), Unit: u.Base,
			RawValue: strconv.FormatInt(n, 10), RawUnit: t.Unit, Status: datasets.StatusOK}
		if seen[t.Type]++; seen[t.Type] > 1 {
			counter.Instance = "#" + strconv.Itoa(seen[t.Type])
		}
		if err := r.out.Put(&counter); err != nil {
			return err
		}
	}
	for _, id := range c.list {
		for i, n := range c.codes[id] {
			if n == 0 {
				continue
			}
			s := datasets.PCSample{Run: runID, Launch: c.launch.ID, Code: id, Reason: r.p.SampleType[i].Type, Samples: datasets.Some(n)}
			if err := r.out.Put(&s); err != nil {
				return err
			}
		}
	}
	return nil
}

// unitOf reads a unit. A count has no unit.
func unitOf(s string) collectors.Unit {
	if s == "count" {
		return collectors.Unit{}
	}
	return collectors.ParseUnit(s)
}

// facts emits what the profile says of itself.
func (r *reader) facts() error {
	p := r.p
	if p.TimeNanos > 0 {
		r.run.Started = datasets.Some(time.Unix(0, p.TimeNanos).UTC())
	}
	isTime := func(t *profile.ValueType) bool { return unitOf(t.Unit).Base == "s" }
	for i, t := range p.SampleType {
		// pprof's own default is the last type.
		if isTime(t) && (r.run.TimeMetric == "" || p.DefaultSampleType == "" || t.Type == p.DefaultSampleType || !isDefault(p, r.run.TimeMetric)) {
			r.run.TimeMetric = p.SampleType[i].Type
		}
	}
	var facts [][2]string
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, [2]string{name, value})
		}
	}
	add("default_sample_type", p.DefaultSampleType)
	if p.PeriodType != nil {
		add("period_type", p.PeriodType.Type)
	}
	if p.Period != 0 {
		unit := ""
		if p.PeriodType != nil {
			unit = " " + p.PeriodType.Unit
		}
		add("period", strconv.FormatInt(p.Period, 10)+unit)
	}
	if p.DurationNanos != 0 {
		add("duration", strconv.FormatInt(p.DurationNanos, 10)+" nanoseconds")
	}
	add("drop_frames", p.DropFrames)
	add("keep_frames", p.KeepFrames)
	add("doc_url", p.DocURL)
	for _, c := range p.Comments {
		add("comment", c)
	}
	for _, m := range p.Mapping {
		text := fmt.Sprintf("%s 0x%x-0x%x offset 0x%x", m.File, m.Start, m.Limit, m.Offset)
		if m.BuildID != "" {
			text += " build id " + m.BuildID
		}
		add("mapping", strings.TrimSpace(text))
	}
	for _, f := range facts {
		if err := r.out.Put(&datasets.Attribute{Run: runID, Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	return nil
}

func isDefault(p *profile.Profile, metric string) bool { return p.DefaultSampleType == metric }
