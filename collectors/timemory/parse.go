package timemory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// maxFile is how large a file may be: units can follow the values, so that it
// is read as a whole.
const maxFile = 2 << 30

// component is one kind of measurement.
type component struct {
	Properties struct {
		ID string `json:"id"`
	} `json:"properties"`
	Type        json.RawMessage   `json:"type"`
	Description json.RawMessage   `json:"description"`
	UnitValue   json.RawMessage   `json:"unit_value"`
	UnitRepr    json.RawMessage   `json:"unit_repr"`
	MPISize     json.Number       `json:"mpi_size"`
	Ranks       []rank            `json:"ranks"`
	MPI         []json.RawMessage `json:"mpi"`
	UPCXX       []json.RawMessage `json:"upcxx"`
	Graph       []json.RawMessage `json:"graph"`
	ThreadCount json.Number       `json:"thread_count"`
}

// rank is the entries of one process, in the flat form. Data is where older
// versions have component and entries.
type rank struct {
	Rank  *json.Number `json:"rank"`
	Graph []flatNode   `json:"graph"`
	Data  *component   `json:"data"`
}

type flatNode struct {
	Prefix string          `json:"prefix"`
	Depth  int64           `json:"depth"`
	Entry  entry           `json:"entry"`
	Stats  json.RawMessage `json:"stats"`
}

type treeNode struct {
	Node struct {
		Hash      json.Number     `json:"hash"`
		Prefix    string          `json:"prefix"`
		TID       json.RawMessage `json:"tid"`
		PID       json.RawMessage `json:"pid"`
		Inclusive measured        `json:"inclusive"`
		Exclusive measured        `json:"exclusive"`
	} `json:"node"`
	Children []treeNode `json:"children"`
}

type measured struct {
	Entry entry           `json:"entry"`
	Stats json.RawMessage `json:"stats"`
}

type entry struct {
	Laps     *json.Number    `json:"laps"`
	ReprData json.RawMessage `json:"repr_data"`
	Value    json.RawMessage `json:"value"`
}

type parser struct {
	ctx      context.Context
	in       *collectors.Input
	out      *collectors.Output
	run      datasets.Run
	regions  map[regionKey]int64
	launches map[launchKey]int64
	entries  int64
	// of the component that is read
	name, unit string
	units      []string // where a component has several values
	labels     []string
	seen       map[launchKey]int
}

type regionKey struct {
	parent int64
	label  string
}

// launchKey tells entries of several components that belong together.
type launchKey struct {
	region    int64
	rank      datasets.Null[int64]
	tid, pid  string
	occurence int
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	data, err := in.ReadAll(maxFile)
	if err != nil {
		return err
	}
	data = collectors.LooseJSON(data) // its library for JSON writes NaN, where a statistic has no value
	p := &parser{ctx: ctx, in: in, out: out, regions: map[regionKey]int64{}, launches: map[launchKey]int64{},
		run: datasets.Run{ID: runID, Tool: "timemory", Format: "timemory", Status: datasets.RunOK}}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return p.broken(data, 0, err)
	}
	top := map[string]map[string]json.RawMessage{}
	for g, raw := range all {
		if raw[0] != '{' {
			continue
		}
		var members map[string]json.RawMessage
		if err := p.decode(data, raw, &members); err != nil {
			return err
		}
		top[g] = members
	}
	groups := slices.Sorted(maps.Keys(top))
	components := 0
	for _, g := range groups {
		names := make([]string, 0, len(top[g]))
		for n := range top[g] {
			names = append(names, n)
		}
		sort.Strings(names)
		if raw, ok := top[g]["ranks"]; ok { // versions before 3: the ranks come first
			var c component
			if err := p.decode(data, raw, &c.Ranks); err != nil {
				return err
			}
			components++
			if err := p.component(data, "timemory", &c); err != nil {
				return err
			}
			continue
		}
		for _, n := range names {
			raw := top[g][n]
			if len(raw) == 0 || raw[0] != '{' || n == "metadata" {
				continue
			}
			var c component
			if err := p.decode(data, raw, &c); err != nil {
				return err
			}
			if c.Ranks == nil && c.MPI == nil && c.UPCXX == nil && c.Graph == nil {
				continue
			}
			components++
			if err := p.component(data, n, &c); err != nil {
				return err
			}
		}
	}
	if components == 0 {
		return &collectors.UnsupportedError{File: in.Name, What: "a file of timemory without measurements (such as metadata.json)",
			Hint: "import the files of its components, wall_clock.json and so on"}
	}
	if p.entries == 0 {
		p.run.Status, p.run.Error = datasets.RunEmpty, "the file holds no entry"
		out.Warn(0, 0, "%s", p.run.Error)
	}
	return out.Put(&p.run)
}

// decode reads a part of the text.
func (p *parser) decode(data []byte, raw json.RawMessage, dst any) error {
	if err := json.Unmarshal(raw, dst); err != nil {
		return p.broken(data, bytes.Index(data, raw), err)
	}
	return nil
}

// broken gives an error of encoding/json its place; from is where the part
// that was read begins.
func (p *parser) broken(data []byte, from int, err error) error {
	at := int64(from)
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	msg, expected, found := collectors.JSONFault(err)
	hint := "the file is damaged here: get it again"
	switch {
	case errors.As(err, &syntax):
		at += syntax.Offset
		if at >= int64(len(data)) || errors.Is(err, io.ErrUnexpectedEOF) {
			at, msg, hint = int64(len(data)), "the file ends within a JSON value", "the file is cut: get it again"
		} else {
			at--
		}
	case errors.As(err, &typ):
		at += typ.Offset - 1
	}
	at = max(0, min(at, int64(len(data))))
	line := bytes.Count(data[:at], []byte("\n")) + 1
	column := int(at) - bytes.LastIndexByte(data[:at], '\n')
	e := p.in.Syntax(line, column, msg)
	e.Expected, e.Found, e.Hint = expected, found, hint
	return e
}

// plain is a JSON string as text, and anything else as it is written.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// component reads the entries of one component.
func (p *parser) component(data []byte, key string, c *component) error {
	if len(c.Ranks) > 0 && c.Ranks[0].Data != nil {
		for i, r := range c.Ranks {
			if r.Data == nil {
				continue
			}
			one := *r.Data
			if one.Graph != nil {
				var nodes []flatNode
				for _, raw := range one.Graph {
					var n flatNode
					if err := p.decode(data, raw, &n); err != nil {
						return err
					}
					nodes = append(nodes, n)
				}
				one.Graph, one.Ranks = nil, []rank{{Rank: c.Ranks[i].Rank, Graph: nodes}}
			}
			name := plain(one.Type)
			if name == "" || name[0] == '[' {
				name = key
			}
			if err := p.component(data, name, &one); err != nil {
				return err
			}
		}
		return nil
	}
	p.name = c.Properties.ID
	if p.name == "" {
		p.name = strings.ToLower(key)
	}
	p.labels, p.unit, p.units, p.seen = nil, "", nil, map[launchKey]int{}
	if err := json.Unmarshal(c.Type, &p.labels); err != nil {
		p.labels = nil
	}
	if len(c.UnitRepr) > 0 && c.UnitRepr[0] == '"' {
		p.unit = plain(c.UnitRepr)
	} else if err := json.Unmarshal(c.UnitRepr, &p.units); err != nil {
		p.units = nil
	}
	for _, kv := range [][2]string{{"description", plain(c.Description)}, {"type", plain(c.Type)}, {"unit", plain(c.UnitRepr)}, {"unit value", plain(c.UnitValue)},
		{"threads", c.ThreadCount.String()}, {"processes", c.MPISize.String()}} {
		if kv[1] == "" {
			continue
		}
		if err := p.out.Put(&datasets.Attribute{Run: runID, Name: "component " + p.name + " " + kv[0], Value: kv[1]}); err != nil {
			return err
		}
	}
	if p.run.TimeMetric == "" && collectors.ParseUnit(p.unit).Base == "s" {
		p.run.TimeMetric, p.run.TimeInclusive = p.name+" inclusive", true
	}
	for i, r := range c.Ranks {
		p.run.FormatVersion = "flat"
		id := datasets.Null[int64]{}
		if r.Rank != nil {
			if n, err := r.Rank.Int64(); err == nil {
				id = datasets.Some(n)
			}
		}
		if err := p.flat(c, r.Graph, id); err != nil {
			return fmt.Errorf("rank %d: %w", i, err)
		}
	}
	for _, form := range []struct {
		list   []json.RawMessage
		ranked bool
	}{{c.MPI, true}, {c.UPCXX, true}, {c.Graph, false}} {
		for i, raw := range form.list {
			p.run.FormatVersion = "tree"
			id := datasets.Null[int64]{}
			if form.ranked {
				id = datasets.Some(int64(i))
			}
			var trees []treeNode
			if len(raw) > 0 && raw[0] == '[' {
				if err := p.decode(data, raw, &trees); err != nil {
					return err
				}
			} else {
				trees = make([]treeNode, 1)
				if err := p.decode(data, raw, &trees[0]); err != nil {
					return err
				}
			}
			for k := range trees {
				if err := p.tree(&trees[k], 0, id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
