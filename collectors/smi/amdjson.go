package smi

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
)

// amdJSON reads listings as JSON, one behind the other where the tool ran again
// and again: rocm-smi's {"card0": {title: value}}, and amd-smi's list of GPUs
// whose members nest and end in {"value": 1, "unit": "W"}.
func (l *log) amdJSON() error {
	j := collectors.NewJSON(l.in)
	for n := int64(0); ; n++ {
		if l.ctx.Err() != nil {
			return l.ctx.Err()
		}
		var v any
		err := j.Decode(&v)
		if errors.Is(err, io.EOF) && n > 0 {
			return l.finish()
		}
		if err != nil {
			return j.Wrap(err)
		}
		line, column := j.Place(j.InputOffset())
		l.r.Line = line
		x := amdListing{log: l, t: n * 1e9, line: line, column: column}
		if l.run.Tool == "rocm-smi" {
			err = x.cards(v)
		} else {
			err = x.gpus(v)
		}
		if err != nil {
			return err
		}
	}
}

// amdListing is one listing. Its place is where it ends.
type amdListing struct {
	*log
	t            int64
	line, column int
}

func (x *amdListing) fault(msg, expected, found string) error {
	e := x.in.Syntax(x.line, x.column, "in the listing that ends here "+msg)
	e.Expected, e.Found, e.Hint = expected, collectors.Quote(found), "the file is damaged: list it again, or remove that listing"
	return e
}

func (x *amdListing) value(gpu int64, title, text string) error {
	err := x.amdValue(gpu, title, x.t, delimited.Cell{Text: text, Line: x.line, Column: x.column})
	var e *collectors.SyntaxError
	if errors.As(err, &e) && e.Msg != "" && e.Hint == "" {
		e.Msg, e.Hint = "in the listing that ends here "+e.Msg+" ("+title+")", "the file is damaged: list it again, or remove that listing"
	}
	return err
}

func (x *amdListing) cards(v any) error {
	cards, ok := v.(map[string]any)
	if !ok {
		return x.fault("there are no cards", `an object as {"card0": {"GPU use (%)": "42"}}`, collectors.JSONText(v))
	}
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		members, ok := cards[name].(map[string]any)
		if !ok {
			return x.fault("a card has no members", "an object", collectors.JSONText(cards[name]))
		}
		digits, isCard := strings.CutPrefix(name, "card")
		gpu, err := strconv.ParseInt(digits, 10, 32)
		if !isCard || err != nil || gpu < 0 { // "system": the driver and the processes
			if driver, ok := members["Driver version"].(string); ok {
				x.machine.Driver = driver
			}
			continue
		}
		x.rows++
		if err := x.untimed(x.t); err != nil {
			return err
		}
		for _, title := range slices.Sorted(maps.Keys(members)) {
			if err := x.value(gpu, title, collectors.JSONText(members[title])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *amdListing) gpus(v any) error {
	if m, ok := v.(map[string]any); ok {
		if data, ok := m["gpu_data"]; ok {
			v = data
		} else {
			v = []any{m} // of one GPU, as --watch writes it
		}
	}
	gpus, ok := v.([]any)
	if !ok {
		return x.fault("there is no list of GPUs", `"gpu_data"`, collectors.JSONText(v))
	}
	number := x.t
	for _, g := range gpus {
		members, _ := g.(map[string]any)
		index, _ := members["gpu"].(json.Number)
		gpu, err := strconv.ParseInt(index.String(), 10, 32)
		if err != nil || gpu < 0 {
			return x.fault("a GPU has no index", `"gpu": 0`, collectors.JSONText(members["gpu"]))
		}
		x.rows++
		x.t = number
		if stamp, ok := members["timestamp"]; ok {
			ns, date, zone, ok := when(collectors.JSONText(stamp), "date")
			if !ok {
				return x.fault("the time is none", "seconds since 1970", collectors.JSONText(stamp))
			}
			x.t = ns
			if err := x.begin(ns, date, zone); err != nil {
				return err
			}
		} else if err := x.untimed(x.t); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if name == "gpu" || name == "timestamp" {
				continue
			}
			if err := x.walk(gpu, name, members[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// walk goes down to the values.
func (x *amdListing) walk(gpu int64, path string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		if value, ok := v["value"]; ok {
			text := collectors.JSONText(value)
			if unit, ok := v["unit"].(string); ok && unit != "" {
				text += " " + unit
			}
			return x.value(gpu, path, text)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := x.walk(gpu, path+"."+name, v[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		for i, e := range v {
			if err := x.walk(gpu, path+"."+strconv.Itoa(i), e); err != nil {
				return err
			}
		}
		return nil
	}
	return x.value(gpu, path, collectors.JSONText(v))
}
