package speedscope

import (
	"strconv"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/stacktree"
)

const sampled, evented = "sampled", "evented"

// units are what a profile's values are in, by the file's word.
var units = map[string]stacktree.Metric{
	"none": {Name: "weight"}, "bytes": {Name: "bytes", Unit: "bytes"}, "seconds": {Name: "time", Unit: "seconds"},
	"milliseconds": {Name: "time", Unit: "milliseconds"}, "microseconds": {Name: "time", Unit: "microseconds"}, "nanoseconds": {Name: "time", Unit: "nanoseconds"},
}

// profile is one of the file's, added up by path.
type profile struct {
	kind, name, unit string
	order            []int // paths, in order of appearance
	counts           map[int]float64
	weights          map[int]*stacktree.Sum
	idle             int // samples without a frame
}

func (p *profile) add(path int, count, weight float64) {
	if _, known := p.counts[path]; !known {
		p.order = append(p.order, path)
		p.weights[path] = &stacktree.Sum{}
	}
	p.counts[path] += count
	p.weights[path].Add(weight)
}

// profile reads one of "profiles". Its members come in any order, so samples
// and weights are kept until both are there.
func (r *reader) profile() error {
	p := profile{counts: map[int]float64{}, weights: map[int]*stacktree.Sum{}}
	number := strconv.Itoa(len(r.profiles) + 1)
	var samples []int
	var weights []float64
	seen := map[string]bool{}
	err := r.object("a profile", seen, func(key string) error {
		var err error
		switch key {
		case "type", "name", "unit":
			var text string
			if err := r.j.Decode(&text); err != nil {
				return r.j.Wrap(err)
			}
			switch key {
			case "type":
				p.kind = text
				if text != sampled && text != evented {
					return r.fault("the type of a profile is not known", `"sampled" or "evented"`, collectors.Quote(text))
				}
			case "name":
				p.name = text
			case "unit":
				p.unit = text
				if _, ok := units[text]; !ok {
					return r.fault("the unit of a profile is not known", `"none", "bytes", "seconds", "milliseconds", "microseconds" or "nanoseconds"`, collectors.Quote(text))
				}
			}
			return r.attribute("profile."+number+"."+key, text)
		case "startValue", "endValue":
			var v float64
			if err := r.j.Decode(&v); err != nil {
				return r.j.Wrap(err)
			}
			return r.attribute("profile."+number+"."+key, strconv.FormatFloat(v, 'f', -1, 64))
		case "samples":
			samples, err = r.samples()
			return err
		case "weights":
			return r.list(`"weights"`, func() error {
				var v float64
				if err := r.j.Decode(&v); err != nil {
					return r.j.Wrap(err)
				}
				weights = append(weights, v)
				return nil
			})
		case "events":
			return r.events(&p)
		}
		return r.skip()
	})
	if err != nil {
		return err
	}
	needed := []string{"type", "unit", "samples", "weights"}
	if p.kind == evented {
		needed = []string{"type", "unit", "events"}
	}
	for _, key := range needed {
		if !seen[key] {
			return r.fault("the profile that ends here lacks a member", strconv.Quote(key), "")
		}
	}
	if p.kind == evented && seen["samples"] || p.kind == sampled && seen["events"] {
		return r.fault("the profile that ends here has samples and events", "those of its type "+p.kind, "both")
	}
	if len(samples) != len(weights) {
		return r.fault("the profile that ends here has not one weight for each sample", strconv.Itoa(len(samples))+" weights", strconv.Itoa(len(weights)))
	}
	for i, path := range samples {
		if path == 0 {
			p.idle++
			continue
		}
		p.add(path, 1, weights[i])
	}
	r.profiles = append(r.profiles, p)
	return nil
}

// samples reads stacks, from the outermost frame.
func (r *reader) samples() ([]int, error) {
	var paths []int
	err := r.list(`"samples"`, func() error {
		path := 0
		err := r.list("a sample", func() error {
			var frame int64
			err := r.j.Decode(&frame)
			if err != nil {
				return r.j.Wrap(err)
			}
			path, err = r.step(path, frame)
			return err
		})
		paths = append(paths, path)
		return err
	})
	return paths, err
}

// events reads frames that open and close. The time between two events is of
// the frame that was opened last and is open still.
func (r *reader) events(p *profile) error {
	var open []int // paths
	last, n := 0.0, 0
	err := r.list(`"events"`, func() error {
		var e struct {
			Type  string
			At    *float64
			Frame *int64
		}
		if err := r.j.Decode(&e); err != nil {
			return r.j.Wrap(err)
		}
		switch {
		case e.At == nil || e.Frame == nil:
			return r.fault("the event that ends here lacks a member", `"type", "at" and "frame"`, "")
		case n > 0 && *e.At < last:
			return r.fault("the event that ends here is before the one above it", "a time of at least "+number(last), number(*e.At))
		}
		if len(open) > 0 {
			p.add(open[len(open)-1], 0, *e.At-last)
		}
		last = *e.At
		n++
		top := 0
		if len(open) > 0 {
			top = open[len(open)-1]
		}
		switch e.Type {
		case "O":
			path, err := r.step(top, *e.Frame)
			if err != nil {
				return err
			}
			p.add(path, 1, 0)
			open = append(open, path)
		case "C":
			if len(open) == 0 {
				return r.fault("the event that ends here closes a frame, and none is open", "", "")
			}
			if r.nodes[top].frame != *e.Frame {
				return r.fault("the event that ends here closes another frame than the one that was opened last", strconv.FormatInt(r.nodes[top].frame, 10), strconv.FormatInt(*e.Frame, 10))
			}
			open = open[:len(open)-1]
		default:
			return r.fault("the type of the event that ends here is not known", `"O" or "C"`, collectors.Quote(e.Type))
		}
		return nil
	})
	if err == nil && len(open) > 0 {
		err = r.fault("the events end, and frames are open still", "an event \"C\" for each \"O\"", strconv.Itoa(len(open))+" that are missing")
	}
	return err
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
