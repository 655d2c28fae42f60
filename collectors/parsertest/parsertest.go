// Package parsertest has what tests of formats share: a sink that keeps
// records, and the checks that every parser must pass. In flow a format and
// files, out flow the test's failures.
package parsertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// Records keeps what a parser emits.
type Records struct {
	Machines   []datasets.Machine
	Runs       []datasets.Run
	Regions    []datasets.Region
	Launches   []datasets.Launch
	Counters   []datasets.Counter
	Attributes []datasets.Attribute
	Ceilings   []datasets.Ceiling
	Codes      []datasets.Code
	Features   []datasets.StaticFeature
	Samples    []datasets.PCSample
	Telemetry  []datasets.Telemetry
	Warnings   []collectors.Warning
}

// Put keeps a record.
func (r *Records) Put(rec datasets.Record) error {
	switch v := rec.(type) {
	case *datasets.Machine:
		r.Machines = append(r.Machines, *v)
	case *datasets.Run:
		r.Runs = append(r.Runs, *v)
	case *datasets.Region:
		r.Regions = append(r.Regions, *v)
	case *datasets.Launch:
		r.Launches = append(r.Launches, *v)
	case *datasets.Counter:
		r.Counters = append(r.Counters, *v)
	case *datasets.Attribute:
		r.Attributes = append(r.Attributes, *v)
	case *datasets.Ceiling:
		r.Ceilings = append(r.Ceilings, *v)
	case *datasets.Code:
		r.Codes = append(r.Codes, *v)
	case *datasets.StaticFeature:
		r.Features = append(r.Features, *v)
	case *datasets.PCSample:
		r.Samples = append(r.Samples, *v)
	case *datasets.Telemetry:
		r.Telemetry = append(r.Telemetry, *v)
	default:
		return fmt.Errorf("a record of table %s: parsertest.Records does not keep those", rec.Table())
	}
	return nil
}

// Region returns the region of an id, nil where there is none.
func (r *Records) Region(id int64) *datasets.Region {
	for i := range r.Regions {
		if r.Regions[i].ID == id {
			return &r.Regions[i]
		}
	}
	return nil
}

// Path joins the short names of a region and of those above it.
func (r *Records) Path(id int64) string {
	var names []string
	for g := r.Region(id); g != nil && len(names) < 1000; g = r.Region(g.Parent) {
		names = append([]string{g.Short}, names...)
	}
	return strings.Join(names, "/")
}

// Value returns the value of the first counter of a metric whose region's
// short name is kernel.
func (r *Records) Value(kernel, metric string) datasets.Null[float64] {
	for _, c := range r.Counters {
		if c.Metric == metric && r.Region(c.Region).Short == kernel {
			return c.Value
		}
	}
	return datasets.Null[float64]{}
}

// ParseFile reads a file, and the parts beside it, as the format that is
// detected.
func ParseFile(t testing.TB, path string) (string, *Records, error) {
	t.Helper()
	recs := &Records{}
	format, warnings, err := collectors.ParseFile(context.Background(), path, collectors.Options{}, recs)
	recs.Warnings = warnings
	return format, recs, err
}

// Parse reads content as a format.
func Parse(format, name, content string) (*Records, error) {
	f, err := collectors.Lookup(format)
	if err != nil {
		return nil, err
	}
	in, err := collectors.Open(name, strings.NewReader(content))
	if err != nil {
		return nil, err
	}
	recs := &Records{}
	out := collectors.NewOutput(name, recs)
	err = f.Parse(context.Background(), in, out)
	recs.Warnings = out.Warnings
	return recs, err
}

// MustParse reads content that is right, and checks what holds for every
// profile: references lead somewhere, ids are unique, statuses are known.
func MustParse(t testing.TB, format, name, content string) *Records {
	t.Helper()
	recs, err := Parse(format, name, content)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	CheckReferences(t, recs)
	return recs
}

// Refused reads content that is wrong and fails the test unless the format
// says so with a SyntaxError at a place, whose text holds msg. name is the
// file's, and tells the case apart from others.
func Refused(t testing.TB, format, name, content string, line, column int, msg string) {
	t.Helper()
	_, err := Parse(format, name, content)
	var e *collectors.SyntaxError
	if !errors.As(err, &e) {
		t.Errorf("%s: the error of %.200q is %v, want %d:%d %s", name, content, err, line, column, msg)
		return
	}
	bare := *e
	bare.File = "" // msg must not be found there
	if e.Line != line || e.Column != column || !strings.Contains(bare.Error(), msg) {
		t.Errorf("%s: the error of %.200q is %v, want %d:%d %s", name, content, err, line, column, msg)
	}
}

// CheckReferences fails the test where a record refers to none, or has the id
// of another.
func CheckReferences(t testing.TB, r *Records) {
	t.Helper()
	runs, regions, launches := map[int64]bool{0: false}, map[int64]bool{}, map[int64]bool{}
	for _, v := range r.Runs {
		if runs[v.ID] {
			t.Errorf("two runs have the id %d", v.ID)
		}
		runs[v.ID] = true
	}
	if len(r.Runs) == 0 {
		t.Error("there is no run")
	}
	for _, v := range r.Regions {
		if regions[v.ID] {
			t.Errorf("two regions have the id %d", v.ID)
		}
		regions[v.ID] = true
	}
	for _, v := range r.Regions {
		if !runs[v.Run] || v.Parent != 0 && !regions[v.Parent] {
			t.Errorf("region %+v refers to nothing", v)
		}
	}
	for _, v := range r.Launches {
		if launches[v.ID] || !runs[v.Run] || !regions[v.Region] {
			t.Errorf("launch %+v: its id is taken or it refers to nothing", v)
		}
		launches[v.ID] = true
	}
	for _, v := range r.Counters {
		if !runs[v.Run] || !regions[v.Region] || v.Launch != 0 && !launches[v.Launch] {
			t.Errorf("counter %+v refers to nothing", v)
		}
		if v.Status == datasets.StatusNA && v.Value.Valid || v.Status == "" {
			t.Errorf("counter %+v: its status contradicts its value", v)
		}
	}
	machines, codes := map[int64]bool{}, map[int64]bool{}
	for _, v := range r.Machines {
		if machines[v.ID] {
			t.Errorf("two machines have the id %d", v.ID)
		}
		machines[v.ID] = true
	}
	for _, v := range r.Runs {
		if v.Machine != 0 && !machines[v.Machine] {
			t.Errorf("run %+v is of no machine", v)
		}
	}
	for _, v := range r.Ceilings {
		if !machines[v.Machine] || v.Run != 0 && !runs[v.Run] || v.Unit == "" {
			t.Errorf("ceiling %+v refers to nothing or has no unit", v)
		}
	}
	for _, v := range r.Codes {
		if codes[v.ID] || !runs[v.Run] || !regions[v.Region] || v.ISA == "" {
			t.Errorf("code %+v: its id is taken or it refers to nothing", v)
		}
		codes[v.ID] = true
	}
	for _, v := range r.Features {
		if !runs[v.Run] || !regions[v.Region] {
			t.Errorf("static feature %+v refers to nothing", v)
		}
	}
	for _, v := range r.Samples {
		if !runs[v.Run] || !launches[v.Launch] || !codes[v.Code] {
			t.Errorf("PC sample %+v refers to nothing", v)
		}
	}
	for _, v := range r.Telemetry {
		if !runs[v.Run] || v.Sensor == "" {
			t.Errorf("telemetry %+v refers to nothing", v)
		}
	}
	for _, v := range r.Attributes {
		if !runs[v.Run] || v.Region != 0 && !regions[v.Region] || v.Launch != 0 && !launches[v.Launch] {
			t.Errorf("attribute %+v refers to nothing", v)
		}
	}
}

// identity names a counter by what it measures, apart from ids.
func (r *Records) identity(c *datasets.Counter, sequence map[int64]string) string {
	return fmt.Sprintf("%s|%s|%s|%s", r.Path(c.Region), sequence[c.Launch], c.Metric, c.Instance)
}

// values lists the texts of all counters by identity.
func (r *Records) values() map[string]string {
	sequence := map[int64]string{}
	for _, l := range r.Launches {
		sequence[l.ID] = fmt.Sprint(l.Sequence, l.Rank, l.Thread)
	}
	vs := map[string]string{}
	for i := range r.Counters {
		c := &r.Counters[i]
		vs[r.identity(c, sequence)] = fmt.Sprint(c.RawValue, " ", c.RawUnit, " ", c.Value, " ", c.Status)
	}
	return vs
}

// Truncations cuts content at every offset (at a sample of them where there
// are more than limit) and checks that each cut gives a SyntaxError with a
// position, or a profile whose every value is one of the whole profile's.
func Truncations(t *testing.T, format, name, content string, limit int) {
	t.Helper()
	whole := MustParse(t, format, name, content).values()
	rng := rand.New(rand.NewPCG(1, uint64(len(content))))
	for i := range content {
		if len(content) > limit && rng.IntN(len(content)) >= limit {
			continue
		}
		recs, err := Parse(format, name, content[:i])
		if err != nil {
			if !positioned(err) {
				t.Errorf("%s cut at %d: the error has no position: %v", name, i, err)
			}
			continue
		}
		for id, v := range recs.values() {
			if whole[id] != v {
				t.Errorf("%s cut at %d: %s is %q, in the whole file %q", name, i, id, v, whole[id])
				return
			}
		}
		CheckReferences(t, recs)
		if t.Failed() {
			t.Fatalf("%s cut at %d", name, i)
		}
	}
}

func positioned(err error) bool {
	var syntax *collectors.SyntaxError
	if errors.As(err, &syntax) {
		return syntax.Line > 0 && syntax.Column > 0 && syntax.Msg != ""
	}
	var refused *collectors.UnsupportedError
	return errors.As(err, &refused)
}

// Fuzz checks that no content makes the parser panic or emit records that
// contradict each other.
func Fuzz(f *testing.F, format string, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		recs, err := Parse(format, "fuzz", content)
		if err != nil {
			return
		}
		CheckReferences(t, recs)
	})
}
