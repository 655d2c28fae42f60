// Package speedscope reads speedscope's own JSON (*.speedscope.json), which
// py-spy, rbspy, pyinstrument, dotnet-trace, Pyroscope and others write, by its
// published types (speedscope's file-format-spec.ts).
//
// In flows the file: frames that all profiles share, and profiles (threads)
// that are "sampled", stacks with a weight each, or "evented", frames that
// open and close. Out flows one run:
//
//	region     a function below its caller, kind "function", the tree of all
//	           profiles together; attributes file and line
//	launch     what one profile had in one region itself, without what it
//	           called; its tool id and attribute "profile" is the name
//	counter    of a launch, exclusive: "time" in s where the unit is one of time,
//	           "bytes" where it is bytes, "weight" where it is "none"; and
//	           "samples", or for an evented profile "calls", how often the frame
//	           was opened
//	attribute  of the run: name, and of each profile by its number its name,
//	           type, unit, startValue and endValue, "profile.1.name"
//
// Samples without a frame are of no region: a warning counts them. A file that
// speedscope would refuse (events that do not balance or go back in time, fewer
// weights than samples) is refused with the place.
package speedscope

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/stacktree"
	"github.com/rooflab/rooflab/datasets"
)

const (
	format = "speedscope"
	runID  = 1
)

func init() {
	collectors.Register(collectors.Format{Name: format, About: "speedscope JSON (py-spy, rbspy, pyinstrument, dotnet-trace ...)", Version: 1, Detect: detect, Parse: parse})
}

var frames = regexp.MustCompile(`^\{\s*"shared"\s*:\s*\{\s*"frames"\s*:\s*\[`)

func detect(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	if !bytes.HasPrefix(b, []byte("{")) {
		return collectors.No
	}
	profiles := h.Has(`"sampled"`, `"evented"`) && h.Has(`"startValue"`) && h.Has(`"unit"`) && h.Has(`"samples"`, `"events"`)
	switch {
	case h.Has("speedscope.app/file-format-schema.json") && h.Has(`"profiles"`, `"shared"`):
		return collectors.Certain
	case profiles, frames.Match(b): // no schema, or one behind what is seen
		return collectors.Likely
	}
	return collectors.No
}

type reader struct {
	ctx    context.Context
	in     *collectors.Input
	out    *collectors.Output
	j      *collectors.JSON
	run    datasets.Run
	seen   map[string]bool
	frames []stacktree.Frame

	// Frames may come behind the profiles, so paths are kept as indices.
	nodes    []node // the first is above the outermost frames
	at       map[node]int
	largest  int64 // index of a frame that is named
	place    [2]int
	profiles []profile
}

type node struct {
	parent int
	frame  int64
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{ctx: ctx, in: in, out: out, j: collectors.NewJSON(in), seen: map[string]bool{}, nodes: make([]node, 1), at: map[node]int{}, largest: -1,
		run: datasets.Run{ID: runID, Tool: "speedscope", Format: format, Status: datasets.RunOK}}
	err := r.object("the file", r.seen, func(key string) error {
		switch key {
		case "shared":
			return r.object(`"shared"`, map[string]bool{}, func(key string) error {
				if key == "frames" {
					return r.list(`"frames"`, r.frame)
				}
				return r.skip()
			})
		case "profiles":
			return r.list(`"profiles"`, r.profile)
		case "name", "exporter":
			var text string
			if err := r.j.Decode(&text); err != nil {
				return r.j.Wrap(err)
			}
			if tool, version, ok := strings.Cut(text, "@"); ok && key == "exporter" {
				r.run.Tool, r.run.ToolVersion = tool, version
			}
			return r.attribute(key, text)
		}
		return r.skip()
	})
	if err != nil {
		return err
	}
	if _, err := r.j.Token(); !errors.Is(err, io.EOF) {
		e := r.j.Syntax("the file goes on after its object")
		e.Hint = "it may be two profiles in one: import each by itself"
		return e
	}
	for _, key := range []string{"shared", "profiles"} {
		if !r.seen[key] {
			e := r.j.Syntax("the file lacks a member")
			e.Expected, e.Hint = strconv.Quote(key), "is this speedscope's JSON? Export it again"
			return e
		}
	}
	return r.finish()
}

// object reads an object, member by member.
func (r *reader) object(what string, seen map[string]bool, member func(key string) error) error {
	if err := r.j.Delim('{', what); err != nil {
		return err
	}
	for r.j.More() {
		key, err := r.j.Member(seen, what)
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
	return r.j.Delim('}', what)
}

// list reads a list, element by element.
func (r *reader) list(what string, element func() error) error {
	if err := r.j.Delim('[', what); err != nil {
		return err
	}
	for n := 0; r.j.More(); n++ {
		if n%4096 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if err := element(); err != nil {
			return err
		}
	}
	return r.j.Delim(']', what)
}

func (r *reader) skip() error {
	var v any
	return r.j.Wrap(r.j.Decode(&v))
}

func (r *reader) attribute(name, value string) error {
	if value == "" {
		return nil
	}
	return r.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: value})
}

func (r *reader) frame() error {
	var f struct {
		Name, File *string
		Line       *float64
	}
	if err := r.j.Decode(&f); err != nil {
		return r.j.Wrap(err)
	}
	if f.Name == nil {
		e := r.j.Syntax("the frame that ends here has no name")
		e.Expected, e.Hint = `"name"`, "the file is damaged or no speedscope JSON: export it again"
		return e
	}
	out := stacktree.Frame{Raw: *f.Name, Name: *f.Name}
	if f.File != nil {
		out.File = *f.File
	}
	if f.Line != nil {
		out.Line = strconv.FormatFloat(*f.Line, 'f', -1, 64)
	}
	r.frames = append(r.frames, out)
	return nil
}

// step returns the path that a frame below another path is.
func (r *reader) step(parent int, frame int64) (int, error) {
	if frame < 0 {
		return 0, r.fault("a negative index of a frame", "an index into the shared frames", strconv.FormatInt(frame, 10))
	}
	if frame > r.largest {
		r.largest = frame
		r.place[0], r.place[1] = r.j.Place(r.j.InputOffset())
	}
	key := node{parent, frame}
	if at, ok := r.at[key]; ok {
		return at, nil
	}
	r.nodes = append(r.nodes, key)
	r.at[key] = len(r.nodes) - 1
	return len(r.nodes) - 1, nil
}

// fault is an error at what was read last.
func (r *reader) fault(msg, expected, found string) error {
	e := r.j.Syntax(msg)
	e.Expected, e.Found, e.Hint = expected, found, "the file is damaged, or its writer is at fault: export it again"
	return e
}

// finish resolves frames and emits the tree.
func (r *reader) finish() error {
	if r.largest >= int64(len(r.frames)) {
		e := r.in.Syntax(r.place[0], r.place[1], "a stack or event before this place names a frame that is not there")
		e.Expected, e.Found = "an index below "+strconv.Itoa(len(r.frames)), strconv.FormatInt(r.largest, 10)
		e.Hint = "the file is damaged: export it again"
		return e
	}
	metrics := []stacktree.Metric{{Name: "samples"}, {Name: "calls"}}
	at := map[string]int{}
	for _, p := range r.profiles {
		if _, known := at[p.unit]; !known {
			at[p.unit] = len(metrics)
			metrics = append(metrics, units[p.unit])
		}
	}
	tree := stacktree.New(r.out, runID, metrics...)
	regions := make([]int64, len(r.nodes))
	for i, n := range r.nodes[1:] { // a path stands behind those that lead to it
		id, err := tree.Region(regions[n.parent], r.frames[n.frame])
		if err != nil {
			return err
		}
		regions[i+1] = id
	}
	var names []string
	counted := false
	for group, p := range r.profiles {
		names = append(names, p.name)
		count := 0
		if p.kind == evented {
			count = 1
		}
		for _, at := range p.order {
			counted = true
			tree.Add(regions[at], int64(group), count, p.counts[at])
		}
		for _, node := range p.order {
			tree.Add(regions[node], int64(group), at[p.unit], p.weights[node].Value())
		}
		if p.idle > 0 {
			r.out.Warn(0, 0, "%d samples of the profile %s have no frame and are of no region", p.idle, collectors.Quote(p.name))
		}
		if m := units[p.unit].Name; r.run.TimeMetric == "" || m == "time" {
			r.run.TimeMetric = m
		}
	}
	if err := tree.Emit(names); err != nil {
		return err
	}
	if !counted {
		r.run.Status, r.run.Error = datasets.RunEmpty, "the file holds no sample and no event"
		r.out.Warn(0, 0, "%s", r.run.Error)
	}
	return r.out.Put(&r.run)
}
