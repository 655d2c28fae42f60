package chrometrace

import (
	"errors"
	"strconv"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// metadata reads an M event: names and numbers of processes and threads.
func (p *parser) metadata(e *event, args []byte) error {
	t := p.tracked[e.track]
	name := p.names.list[e.name]
	of := t.pid
	if len(name) > 7 && name[:7] == "thread_" {
		of += "/" + t.tid
	}
	if name == "" {
		name = "metadata"
	}
	if len(args) == 0 {
		return nil
	}
	_, err := members(args, func(key, value []byte) error {
		full := name + "[" + of + "]"
		if k := string(key); k != "name" && k != "labels" && k != "sort_index" {
			full += " " + text(append(append([]byte{'"'}, key...), '"'))
		}
		return p.out.Put(&datasets.Attribute{Run: runID, Name: full, Value: text(value)})
	})
	if errors.Is(err, errShape) {
		return nil
	}
	return err
}

// counter reads a C event: readings of sensors.
func (p *parser) counter(e *event, id, args []byte, line, column int) error {
	name := p.names.list[e.name]
	if id != nil {
		name += "[" + text(id) + "]"
	}
	if name == "" {
		name = "(unnamed)"
	}
	if e.ts == noTime || len(args) == 0 {
		p.warn("C", line, column, "a counter event without a time or a value is left out")
		return nil
	}
	series := 0
	_, _ = members(args, func(_, _ []byte) error { series++; return nil })
	pid := p.tracked[e.track].pid
	_, err := members(args, func(key, value []byte) error {
		sensor := name
		if k := string(key); series > 1 || k != "value" && k != name {
			sensor += "/" + text(append(append([]byte{'"'}, key...), '"'))
		}
		first, ok := p.sensors[sensor]
		if !ok {
			p.sensors[sensor] = pid
		} else if first != pid {
			sensor += " (pid " + pid + ")"
		}
		t := datasets.Telemetry{Run: runID, Sensor: sensor, TNs: e.ts, Kind: "instant"}
		f, err := strconv.ParseFloat(text(value), 64)
		switch {
		case err == nil && f-f == 0:
			t.Value = datasets.Some(f)
		case value[0] == '{' || value[0] == '[':
			p.warn("C"+sensor, line, column, "the value of the counter %s is no number: it is kept without one", collectors.Quote(sensor))
		}
		return p.out.Put(&t)
	})
	if errors.Is(err, errShape) {
		return nil
	}
	return err
}
