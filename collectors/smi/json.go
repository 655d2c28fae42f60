package smi

import (
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// roofline is a result of gpu-roofline. Clocks, temperatures and powers are 0
// where the tool could not read them.
type roofline struct {
	Device      string      `json:"device_name"`
	Gflops      *float64    `json:"peak_gflops"`
	Bandwidth   *float64    `json:"peak_bandwidth_gbps"`
	Ridge       *float64    `json:"ridge_point"`
	Clock       float64     `json:"clock_mhz"`
	Temperature float64     `json:"temperature_c"`
	Power       float64     `json:"power_watts"`
	Placements  []placement `json:"placements"`
}

// placement is a kernel of the tool under its roofline.
type placement struct {
	Name       string          `json:"name"`
	Intensity  *float64        `json:"arithmetic_intensity"`
	Gflops     *float64        `json:"achieved_gflops"`
	Bandwidth  *float64        `json:"achieved_bandwidth_gbps"`
	Efficiency *float64        `json:"efficiency"`
	Bottleneck json.RawMessage `json:"bottleneck"`
	Median     *float64        `json:"median_us"`
	Stddev     *float64        `json:"stddev_us"`
	CV         *float64        `json:"cv"`
}

// sample is a point of a trajectory, or a line of the monitor.
type sample struct {
	Elapsed     *float64        `json:"elapsed_secs"`
	Timestamp   string          `json:"timestamp"`
	Index       *int64          `json:"sample_index"`
	Clock       float64         `json:"clock_mhz"`
	Temperature float64         `json:"temperature_c"`
	Power       float64         `json:"power_watts"`
	Utilization *float64        `json:"utilization_pct"`
	Gflops      *float64        `json:"measured_gflops"`
	Bandwidth   *float64        `json:"measured_bandwidth_gbps"`
	MonGflops   *float64        `json:"gflops"`
	MonBand     *float64        `json:"bandwidth_gbps"`
	Status      json.RawMessage `json:"status"`
}

// dynamic is a result over time; its members are beside those of a roofline.
type dynamic struct {
	Burst       *roofline       `json:"burst"`
	Sustained   *roofline       `json:"sustained"`
	Equilibrium *float64        `json:"equilibrium_time_secs"`
	Drop        *float64        `json:"net_ceiling_drop_pct"`
	Trajectory  []sample        `json:"thermal_trajectory"`
	Tensions    json.RawMessage `json:"tensions"`
}

// document is an object of a file, seen as each of them.
type document struct {
	roofline roofline
	dynamic  dynamic
	sample   sample
}

// UnmarshalJSON reads the object three times: the members of the three have
// names in common.
func (d *document) UnmarshalJSON(b []byte) error {
	return errors.Join(json.Unmarshal(b, &d.roofline), json.Unmarshal(b, &d.dynamic), json.Unmarshal(b, &d.sample))
}

// json reads a result of gpu-roofline, or a monitor's log: an object a line.
func (l *log) json() error {
	j := collectors.NewJSON(l.in)
	documents := 0
	launches, regions := int64(0), map[string]int64{}
	for {
		var d document
		err := j.Decode(&d)
		if errors.Is(err, io.EOF) && documents > 0 {
			break
		}
		if err != nil {
			return j.Wrap(err)
		}
		documents++
		switch {
		case d.sample.Index != nil || d.sample.Timestamp != "":
			if err := l.sample(j, &d.sample); err != nil {
				return err
			}
		case d.dynamic.Burst != nil || d.dynamic.Sustained != nil || d.roofline.Gflops != nil:
			if documents > 1 {
				return j.Syntax("the file goes on after its object")
			}
			if err := l.roofs(&d, &launches, regions); err != nil {
				return err
			}
			for i := range d.dynamic.Trajectory {
				if err := l.sample(j, &d.dynamic.Trajectory[i]); err != nil {
					return err
				}
			}
		default:
			e := j.Syntax("the object that ends here is no result of gpu-roofline")
			e.Expected = "peak_gflops, burst and sustained, or sample_index"
			return e
		}
	}
	return l.end()
}

// roofs puts the ceilings, and the kernels that were placed under them.
func (l *log) roofs(d *document, launches *int64, regions map[string]int64) error {
	l.machine.GPU = d.roofline.Device
	for _, part := range []struct {
		name string
		r    *roofline
	}{{"burst", d.dynamic.Burst}, {"sustained", d.dynamic.Sustained}, {"", &d.roofline}} {
		if part.r == nil {
			continue
		}
		source := "gpu-roofline"
		if part.name != "" {
			source += " " + part.name
		}
		var clock datasets.Null[float64]
		if part.r.Clock > 0 {
			clock = datasets.Some(part.r.Clock * 1e6)
		}
		for _, c := range []struct {
			v                 *float64
			level, unit, note string
		}{{part.r.Gflops, "fp32", "flop/s", ": " + singlePrecision}, {part.r.Bandwidth, "dram", "byte/s", ""}} {
			if c.v == nil || *c.v <= 0 {
				continue
			}
			l.ceilings = true
			if err := l.out.Put(&datasets.Ceiling{Machine: machineID, Run: runID, Level: c.level, Value: giga(*c.v), Unit: c.unit, Measured: true, ClockHz: clock, Source: source + c.note}); err != nil {
				return err
			}
		}
		if part.r.Ridge != nil {
			if err := l.about(join(part.name, "ridge_point"), decimal(*part.r.Ridge)); err != nil {
				return err
			}
		}
		for i := range part.r.Placements {
			if err := l.place(part.name, &part.r.Placements[i], launches, regions); err != nil {
				return err
			}
		}
	}
	for _, f := range []struct {
		name string
		v    *float64
	}{{"equilibrium_time_secs", d.dynamic.Equilibrium}, {"net_ceiling_drop_pct", d.dynamic.Drop}} {
		if f.v != nil {
			if err := l.about(f.name, decimal(*f.v)); err != nil {
				return err
			}
		}
	}
	if s := string(d.dynamic.Tensions); s != "" && s != "[]" && s != "null" {
		return l.about("tensions", s)
	}
	return nil
}

// place puts a kernel of the benchmark.
func (l *log) place(part string, p *placement, launches *int64, regions map[string]int64) error {
	region, ok := regions[p.Name]
	if !ok {
		region = int64(len(regions) + 1)
		regions[p.Name] = region
		if err := l.out.Put(&datasets.Region{ID: region, Run: runID, Kind: datasets.KindKernel, Raw: p.Name, Short: collectors.ShortName(p.Name)}); err != nil {
			return err
		}
	}
	*launches++
	launch := datasets.Launch{ID: *launches, Run: runID, Region: region, Sequence: datasets.Some(*launches - 1)}
	if p.Median != nil && *p.Median >= 0 && *p.Median < 9e15 {
		launch.DurNs = datasets.Some(int64(math.Round(*p.Median * 1e3)))
		l.run.TimeMetric, l.run.TimeInclusive = "median_us", true
	}
	if err := l.out.Put(&launch); err != nil {
		return err
	}
	for _, f := range [][2]string{{"part", part}, {"bottleneck", string(p.Bottleneck)}} {
		if f[1] == "" {
			continue
		}
		if err := l.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: launch.ID, Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		name      string
		v         *float64
		exp       int
		unit, raw string
	}{
		{"arithmetic_intensity", p.Intensity, 0, "flop/byte", "flop/byte"}, {"achieved_gflops", p.Gflops, 9, "flop/s", "Gflop/s"}, {"achieved_bandwidth_gbps", p.Bandwidth, 9, "byte/s", "GB/s"},
		{"efficiency", p.Efficiency, 0, "", ""}, {"median_us", p.Median, -6, "s", "us"}, {"stddev_us", p.Stddev, -6, "s", "us"}, {"cv", p.CV, 0, "", ""},
	} {
		if c.v == nil {
			continue
		}
		raw := decimal(*c.v)
		v, err := collectors.ParseNumber(raw, collectors.Dot, c.exp)
		if err != nil {
			return err
		}
		if err := l.out.Put(&datasets.Counter{Run: runID, Region: region, Launch: launch.ID, Metric: c.name, Value: datasets.Some(v), Unit: c.unit, RawValue: raw, RawUnit: c.raw, Status: datasets.StatusOK}); err != nil {
			return err
		}
	}
	return nil
}

// sample puts a point of a trajectory.
func (l *log) sample(j *collectors.JSON, s *sample) error {
	var t int64
	switch {
	case s.Elapsed != nil && math.Abs(*s.Elapsed) < 9e9:
		t = int64(math.Round(*s.Elapsed * 1e9))
	case s.Timestamp != "":
		ns, date, zone, ok := when(s.Timestamp, "date")
		if !ok {
			e := j.Syntax("the time of the sample that ends here is none")
			e.Found = collectors.Quote(s.Timestamp)
			return e
		}
		t = ns
		if err := l.begin(ns, date, zone); err != nil {
			return err
		}
	default:
		return j.Syntax("the sample that ends here has no time")
	}
	for _, c := range []struct {
		sensor sensor
		v      float64
	}{{sensor{"clock.sm", mega, instant}, s.Clock}, {sensor{"temperature", celsius, instant}, s.Temperature}, {sensor{"power", watts, ""}, s.Power}} {
		v := datasets.Null[float64]{}
		if c.v != 0 {
			n, err := collectors.ParseNumber(decimal(c.v), collectors.Dot, c.sensor.unit.Exp10)
			if err != nil {
				return err
			}
			v = datasets.Some(n)
		} else {
			l.once(c.sensor.name, "%s is 0, which the tool writes where it cannot read it: the readings are kept without a value", c.sensor.name)
		}
		if l.names[0] == "" {
			l.names[0] = l.machine.GPU
		}
		if err := l.put(0, c.sensor, t, v); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		sensor sensor
		v      *float64
	}{
		{sensor{"flops", collectors.Unit{Base: "flop/s"}, average}, pick(s.Gflops, s.MonGflops)},
		{sensor{"bandwidth", collectors.Unit{Base: "byte/s"}, average}, pick(s.Bandwidth, s.MonBand)},
	} {
		if c.v == nil {
			continue
		}
		if err := l.put(0, c.sensor, t, datasets.Some(giga(*c.v))); err != nil {
			return err
		}
	}
	if s.Utilization != nil && (*s.Utilization != 0 || s.Clock != 0) {
		if err := l.put(0, sensor{"utilization", percent, average}, t, datasets.Some(*s.Utilization)); err != nil {
			return err
		}
	}
	return nil
}

func pick(a, b *float64) *float64 {
	if a != nil {
		return a
	}
	return b
}

func join(part, name string) string {
	if part == "" {
		return name
	}
	return part + "." + name
}

// giga is the float64 nearest to 1e9 times a number as it was written.
func giga(v float64) float64 {
	n, err := collectors.ParseNumber(decimal(v), collectors.Dot, 9)
	if err != nil {
		return v * 1e9
	}
	return n
}

func decimal(v float64) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
