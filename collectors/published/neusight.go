package published

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

var neusight = collectors.Format{
	Name: "neusight", Version: 1,
	About:  "NeuSight: measured operators of neural networks on GPUs (CSV)",
	Detect: header("OPName,Latency,Device,Torch Version"),
	Parse:  parseNeuSight,
}

// Latency is in milliseconds: NeuSight's predictor is trained on torch events.
var neusightMetrics = []metric{
	{"Latency", "ms", "s", 1e-3}, {"Warps per SM", "warp/SM", "warp/SM", 1}, {"Blocks per SM", "block/SM", "block/SM", 1},
}

func parseNeuSight(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	t, err := open(in, "OPName", "Latency", "Device", "Kernel Name", "Grid x", "Grid y", "Grid z", "Block x", "Block y", "Block z")
	if err != nil {
		return err
	}
	known := []string{"OPName", "Latency", "Device", "Kernel Name", "Warps per SM", "Blocks per SM", "Grid x", "Grid y", "Grid z", "Block x", "Block y", "Block z",
		"Torch Version", "CUDNN Version", "CUDA Version"}
	var sizes []string // B, M, N, K, H ...: the operator's arguments, which differ by operator
	for _, c := range t.header {
		if !contains(known, c) && c != "" {
			sizes = append(sizes, c)
		}
	}
	runs, ops, kernels := regions{}, regions{}, regions{}
	launch := datasets.Launch{}
	sequence := map[int64]int64{}
	for {
		if err := t.next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		device, op, kernel := t.text("Device"), t.text("OPName"), t.text("Kernel Name")
		run, first := runs.id(device)
		if first {
			if err := put(out, &datasets.Machine{ID: run, GPU: device, Driver: t.text("CUDA Version")},
				&datasets.Run{ID: run, Machine: run, Tool: "torch", ToolVersion: strings.TrimPrefix(t.text("Torch Version"), "p"), Format: "neusight",
					Status: datasets.RunOK, TimeMetric: "Latency", TimeInclusive: true}); err != nil {
				return err
			}
			if err := t.attributes(out, datasets.Attribute{Run: run}, "Torch Version", "CUDNN Version", "CUDA Version"); err != nil {
				return err
			}
		}
		o, first := ops.id(device + "\x1f" + op)
		if first {
			if err := put(out, &datasets.Region{ID: 2*o - 1, Run: run, Kind: datasets.KindRange, Raw: op, Short: op}); err != nil {
				return err
			}
		}
		k, first := kernels.id(device + "\x1f" + op + "\x1f" + kernel)
		if first {
			if err := put(out, &datasets.Region{ID: 2 * k, Run: run, Parent: 2*o - 1, Kind: datasets.KindKernel, Raw: kernel, Short: collectors.ShortName(kernel)},
				&datasets.Attribute{Run: run, Region: 2 * k, Name: "program", Value: op}); err != nil {
				return err
			}
		}
		launch = datasets.Launch{ID: launch.ID + 1, Run: run, Region: 2 * k, Sequence: datasets.Some(sequence[run])}
		sequence[run]++
		for i, axis := range []string{"x", "y", "z"} {
			if launch.Grid[i], err = t.integer("Grid " + axis); err != nil {
				return err
			}
			if launch.Block[i], err = t.integer("Block " + axis); err != nil {
				return err
			}
		}
		ms, err := t.number("Latency")
		if err != nil {
			return err
		}
		launch.DurNs = duration(ms, 1e6)
		if err := out.Put(&launch); err != nil {
			return err
		}
		if err := t.counters(out, datasets.Counter{Run: run, Region: 2 * k, Launch: launch.ID}, neusightMetrics); err != nil {
			return err
		}
		if err := t.attributes(out, datasets.Attribute{Run: run, Region: 2 * k, Launch: launch.ID}, sizes...); err != nil {
			return err
		}
	}
	if launch.ID == 0 {
		return out.Put(&datasets.Run{ID: 1, Tool: "torch", Format: "neusight", Status: datasets.RunEmpty, Error: "the table has no rows"})
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

var neusightDevice = collectors.Format{
	Name: "neusight-device", Version: 1,
	About: "NeuSight: peaks of one GPU (JSON)",
	Detect: func(h collectors.Head) collectors.Confidence {
		var keys map[string]any
		if h.Whole && h.Has(`"Mem_Bw"`) && json.Unmarshal(h.Bytes, &keys) == nil && keys["Device"] != nil && keys["Mem_Bw"] != nil && keys["SingleFLOPs"] != nil {
			return collectors.Certain
		}
		return collectors.No
	},
	Parse: parseNeuSightDevice,
}

// parseNeuSightDevice reads memory in gigabytes, bandwidth in GB/s, work in
// GFLOP/s, clock in MHz and the second-level cache in MB; all are datasheet
// values, which is what "theoretical" means.
func parseNeuSightDevice(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	j := collectors.NewJSON(in)
	var fields map[string]json.RawMessage
	if err := j.Decode(&fields); err != nil {
		return j.Wrap(err)
	}
	value := func(key string) (datasets.Null[float64], error) {
		raw, ok := fields[key]
		if !ok || string(raw) == "null" {
			return datasets.Null[float64]{}, nil
		}
		v, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
		if err != nil {
			e := j.Syntax(fmt.Sprintf("the value of %q", key))
			e.Expected, e.Found = "a number", collectors.Quote(string(raw))
			return datasets.Null[float64]{}, e
		}
		return datasets.Some(v), nil
	}
	v := map[string]datasets.Null[float64]{}
	for _, k := range []string{"Dev_Mem", "Mem_Bw", "Num_Sm", "Core_Per_SM", "Freq", "SingleFLOPs", "L2Cache"} {
		var err error
		if v[k], err = value(k); err != nil {
			return err
		}
	}
	var name string
	if err := json.Unmarshal(fields["Device"], &name); err != nil {
		e := j.Syntax(`the value of "Device"`)
		e.Expected, e.Found = "a text", collectors.Quote(string(fields["Device"]))
		return e
	}
	m := datasets.Machine{ID: 1, GPU: name}
	if n := v["Num_Sm"]; n.Valid {
		m.Units = datasets.Some(int64(n.V))
	}
	if n := v["Freq"]; n.Valid {
		m.ClockHz = datasets.Some(n.V * 1e6)
	}
	if n := v["Dev_Mem"]; n.Valid {
		m.MemBytes = datasets.Some(int64(n.V * 1e9))
	}
	if err := put(out, &m, &datasets.Run{ID: 1, Machine: 1, Tool: "NeuSight", Format: "neusight-device", Status: datasets.RunOK}); err != nil {
		return err
	}
	const source = "NeuSight device description"
	if n := v["Mem_Bw"]; n.Valid {
		if err := out.Put(&datasets.Ceiling{Machine: 1, Run: 1, Level: "dram", Value: n.V * 1e9, Unit: "byte/s", Source: source}); err != nil {
			return err
		}
	}
	if n := v["SingleFLOPs"]; n.Valid {
		if err := out.Put(&datasets.Ceiling{Machine: 1, Run: 1, Level: "fp32", Value: n.V * 1e9, Unit: "flop/s", ClockHz: m.ClockHz, Source: source}); err != nil {
			return err
		}
	}
	for _, k := range []string{"Core_Per_SM", "L2Cache"} {
		if n := v[k]; n.Valid {
			if err := out.Put(&datasets.Attribute{Run: 1, Name: k, Value: strconv.FormatFloat(n.V, 'g', -1, 64)}); err != nil {
				return err
			}
		}
	}
	return nil
}
