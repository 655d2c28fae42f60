package kerneltuner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// cache reads a cache file.
type cache struct {
	*tuning
	params map[string]bool // nil until the file names them
	seen   map[string]bool // members of the file
	early  []entry         // configurations before the parameters' names
	open   bool            // the file ends without its last braces
}

type entry struct {
	key   string
	pairs []pair
}

func parseCache(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	c := &cache{tuning: newTuning(in, out, formatCache), seen: map[string]bool{}}
	if err := c.j.Delim('{', "the file"); err != nil {
		return err
	}
	for c.j.More() && !c.open {
		if err := c.member(ctx); err != nil {
			return err
		}
	}
	if !c.open {
		// The last brace may be missing as well.
		if tok, err := c.j.Token(); err == nil && tok == json.Delim('}') {
			if err := c.end(); err != nil {
				return err
			}
		} else if !c.seen["cache"] || err == nil || !atEnd(err) {
			return c.j.Wrap(orEnd(err))
		} else {
			c.open = true
		}
	}
	if !c.seen["cache"] || c.params == nil {
		e := c.j.Syntax("the file lacks a member")
		e.Expected, e.Hint = `"tune_params_keys" and "cache"`, "is this a cache file of Kernel Tuner?"
		return e
	}
	if c.open {
		c.out.Warn(0, 0, "the cache is open: the tuning was going on, or it was killed; %d configurations are whole", int(c.count)+len(c.early))
	}
	for _, e := range c.early {
		if err := c.configuration(e); err != nil {
			return err
		}
	}
	return c.finish()
}

func orEnd(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// atEnd says whether an error is that the file ended.
func atEnd(err error) bool {
	var syntax *json.SyntaxError
	var own *collectors.SyntaxError
	switch {
	case errors.As(err, &own):
		return own.Msg == "the file ends within a JSON value"
	case errors.As(err, &syntax):
		return syntax.Error() == "unexpected end of JSON input"
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (c *cache) member(ctx context.Context) error {
	key, err := c.j.Member(c.seen, "the file")
	if err != nil {
		if atEnd(err) && c.seen["cache"] {
			c.open = true
			return nil
		}
		return err
	}
	if key == "cache" {
		return c.entries(ctx)
	}
	var v any
	if err := c.j.Decode(&v); err != nil {
		return c.j.Wrap(err)
	}
	switch key {
	case "device_name":
		c.machine.GPU = collectors.JSONText(v)
	case "kernel_name":
		c.kernel = collectors.JSONText(v)
	case "schema_version":
		c.run.FormatVersion = collectors.JSONText(v)
		if major, _, _ := strings.Cut(collectors.JSONText(v), "."); major != "1" {
			return &collectors.UnsupportedError{File: c.in.Name, What: "a cache file of Kernel Tuner in schema version " + collectors.Quote(collectors.JSONText(v)), Hint: "rooflab reads versions 1.x and files without a version"}
		}
	case "tune_params_keys":
		list, ok := v.([]any)
		if !ok {
			e := c.j.Syntax("the names of the tuning parameters are no list")
			e.Found = collectors.Quote(collectors.JSONText(v))
			return e
		}
		c.params = map[string]bool{}
		for _, p := range list {
			c.params[collectors.JSONText(p)] = true
		}
		return c.attribute(0, 0, key, collectors.JSONText(v))
	case "tune_params":
		if params, ok := v.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(params)) {
				if err := c.attribute(0, 0, "tune_params."+name, collectors.JSONText(params[name])); err != nil {
					return err
				}
			}
			return nil
		}
		return c.attribute(0, 0, key, collectors.JSONText(v))
	default:
		return c.attribute(0, 0, key, collectors.JSONText(v))
	}
	return nil
}

// entries reads the configurations one after the other.
func (c *cache) entries(ctx context.Context) error {
	if err := c.j.Delim('{', `"cache"`); err != nil {
		if atEnd(err) {
			c.open = true
			return nil
		}
		return err
	}
	seen := map[string]bool{}
	for n := 0; c.j.More(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", c.in.Name, ctx.Err())
		}
		key, err := c.j.Key()
		var ps []pair
		if err == nil {
			ps, err = c.pairs("the configuration " + collectors.Quote(key))
		}
		if err != nil && atEnd(err) { // after the comma, or within an entry that was being written
			c.open = true
			return nil
		}
		if err != nil {
			return err
		}
		if seen[key] { // two processes wrote into one cache: both have measured
			line, column := c.j.Place(c.j.InputOffset())
			c.out.Warn(line, column, "the cache has the configuration %s twice: both are kept", collectors.Quote(key))
		}
		seen[key] = true
		e := entry{key, ps}
		if c.params == nil {
			c.early = append(c.early, e)
			continue
		}
		if err := c.configuration(e); err != nil {
			return err
		}
	}
	err := c.j.Delim('}', `"cache"`)
	if err != nil && atEnd(err) {
		c.open = true
		return nil
	}
	return err
}

// configuration emits one configuration.
func (c *cache) configuration(e entry) error {
	l := c.launch(e.key)
	invalidity := "correct"
	for _, p := range e.pairs {
		if c.params[p.key] {
			if err := c.parameter(l, p.key, p.value); err != nil {
				return err
			}
			continue
		}
		if s, ok := p.value.(string); ok && failures[s] != "" && invalidity == "correct" {
			invalidity = failures[s]
		}
		if isOldFailure(p.key, p.value) {
			invalidity = "unknown"
			err := c.out.Put(&datasets.Counter{Run: runID, Region: regionID, Launch: l.ID, Metric: p.key, Unit: "s", RawUnit: "ms", RawValue: collectors.JSONText(p.value), Status: datasets.StatusNA})
			if err != nil {
				return err
			}
			continue
		}
		v, ok, err := c.counter(l.ID, p.key, "", "", p.value)
		if err == nil && !ok {
			ok, err = c.list(l.ID, p.key, "", p.value)
		}
		if err == nil && !ok {
			err = c.attribute(regionID, l.ID, p.key, collectors.JSONText(p.value))
		}
		if err != nil {
			return err
		}
		if p.key == "time" && v.Valid {
			c.timed = true
			duration(l, v.V)
		}
	}
	if err := c.attribute(regionID, l.ID, "invalidity", invalidity); err != nil {
		return err
	}
	return c.out.Put(l)
}

func isOldFailure(key string, v any) bool {
	n, ok := v.(json.Number)
	if !ok || key != "time" {
		return false
	}
	f, err := n.Float64()
	return err == nil && f >= oldFailure
}
