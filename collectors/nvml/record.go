package nvml

import (
	"fmt"
	"math"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/nvml/sensors"
	"github.com/rooflab/rooflab/datasets"
)

// recorder turns readings into records.
type recorder struct {
	hello    sensors.Hello
	start    int64               // the time of the readings' clock at which the command began
	readings [][]sensors.Reading // by GPU
	broken   error               // why they are not whole
}

// column is one sensor over time, NaN where it did not answer.
type column struct {
	sensors.Sensor
	values []float64
}

// columns returns the times in seconds since the start and the sensors of a
// GPU. Cumulative ones count from the first reading.
func (rec *recorder) columns(gpu int) (times []float64, all []column) {
	rs := rec.readings[gpu]
	for _, r := range rs {
		times = append(times, float64(r.T-rec.start)/1e9)
	}
	for k, s := range rec.hello.GPUs[gpu].Sensors {
		c := column{Sensor: s, values: make([]float64, len(rs))}
		for n, r := range rs {
			c.values[n] = math.NaN()
			if v := r.Values[k]; v != nil {
				c.values[n] = *v
			}
		}
		if s.Kind == "cumulative" && len(rs) > 0 {
			first := c.values[0] // nothing is known without a beginning
			for n := range c.values {
				c.values[n] -= first
			}
		}
		all = append(all, c)
	}
	return times, all
}

func (rec *recorder) write(out *collectors.Output, wall time.Duration) error {
	if err := out.Put(&datasets.Counter{Run: 1, Region: 1, Launch: 1, Metric: "time.wall", Unit: "s", Value: datasets.Some(wall.Seconds()), Status: datasets.StatusOK}); err != nil {
		return err
	}
	for i := range rec.hello.GPUs {
		if err := rec.writeGPU(out, i); err != nil {
			return err
		}
	}
	return nil
}

func (rec *recorder) writeGPU(out *collectors.Output, i int) error {
	gpu := rec.hello.GPUs[i]
	name := fmt.Sprintf("gpu%d", gpu.Index)
	times, all := rec.columns(i)
	named := map[string][]float64{}
	for _, c := range all {
		named[c.Name] = c.values
		for n, v := range c.values {
			t := datasets.Telemetry{Run: 1, Sensor: name + "." + c.Name, TNs: rec.readings[i][n].T - rec.start, Unit: c.Unit, Kind: c.Kind}
			if !math.IsNaN(v) {
				t.Value = datasets.Some(v)
			}
			if err := out.Put(&t); err != nil {
				return err
			}
		}
	}
	// put writes a counter that is made of a sensor's readings: a sum or a peak
	// of a part of them would be wrong, not partly right.
	put := func(metric, instance, unit string, v float64, known bool) error {
		c := datasets.Counter{Run: 1, Region: 1, Launch: 1, Metric: metric, Instance: instance, Unit: unit}
		switch {
		case !known:
			c.Status = datasets.StatusUnsupported
		case rec.broken != nil:
			c.Status = datasets.StatusMissing
		case math.IsNaN(v):
			c.Status = datasets.StatusNA
		default:
			c.Value, c.Status = datasets.Some(v), datasets.StatusOK
		}
		return out.Put(&c)
	}
	power := "power.instant"
	if named[power] == nil {
		power = "power"
	}
	joules, mean := integrate(times, named[power])
	_, meanClock := integrate(times, named["clock.sm"])
	for _, c := range []struct {
		metric, unit string
		v            float64
		of           string // the sensor
	}{
		{"energy.counter", "J", lastOf(named["energy"]), "energy"},
		{"energy.integral", "J", joules, power},
		{"power.mean", "W", mean, power},
		{"power.max", "W", maxOf(named[power]), power},
		{"temperature.max", "degC", maxOf(named["temperature"]), "temperature"},
		{"memory.used.max", "byte", maxOf(named["memory.used"]), "memory.used"},
		{"clock.sm.mean", "Hz", meanClock, "clock.sm"},
		{"pcie.tx", "byte", lastOf(named["pcie.tx"]), "pcie.tx"},
		{"pcie.rx", "byte", lastOf(named["pcie.rx"]), "pcie.rx"},
	} {
		if err := put(c.metric, name, c.unit, c.v, named[c.of] != nil); err != nil {
			return err
		}
	}
	bits := named["throttle_reasons"]
	if bits == nil || rec.broken != nil {
		return put("throttle", name, "%", math.NaN(), bits != nil)
	}
	for _, reason := range rec.reasons(bits) {
		if err := put("throttle", name+" "+reason.Name, "%", shareOf(bits, reason.Bit), true); err != nil {
			return err
		}
	}
	return nil
}

// reasons are those that were seen: what never happened is no line. A bit that
// has no name, since the driver is newer, is named by its value.
func (rec *recorder) reasons(bits []float64) []sensors.Reason {
	var seen uint64
	for _, b := range bits {
		if !math.IsNaN(b) {
			seen |= uint64(b)
		}
	}
	var found []sensors.Reason
	for _, r := range rec.hello.Reasons {
		if seen&r.Bit != 0 {
			found = append(found, r)
			seen &^= r.Bit
		}
	}
	for bit := uint64(1); seen != 0; bit <<= 1 {
		if seen&bit != 0 {
			found = append(found, sensors.Reason{Bit: bit, Name: fmt.Sprintf("%#x", bit)})
			seen &^= bit
		}
	}
	return found
}

// integrate returns the integral of v over t by the trapezoidal rule, and the
// mean. Readings without an answer are left out; of fewer than two nothing is known.
func integrate(t, v []float64) (integral, mean float64) {
	last, first := -1, -1
	for i := range v {
		if math.IsNaN(v[i]) {
			continue
		}
		if last >= 0 {
			integral += (t[i] - t[last]) * (v[i] + v[last]) / 2
		} else {
			first = i
		}
		last = i
	}
	if last <= first || t[last] <= t[first] {
		return math.NaN(), math.NaN()
	}
	return integral, integral / (t[last] - t[first])
}

func maxOf(v []float64) float64 {
	most := math.NaN()
	for _, x := range v {
		if math.IsNaN(most) || x > most {
			most = x
		}
	}
	return most
}

func lastOf(v []float64) float64 {
	for i := len(v) - 1; i >= 0; i-- {
		if !math.IsNaN(v[i]) {
			return v[i]
		}
	}
	return math.NaN()
}

// shareOf is in how many percent of the readings a bit was set.
func shareOf(v []float64, bit uint64) float64 {
	set, all := 0, 0
	for _, x := range v {
		if math.IsNaN(x) {
			continue
		}
		all++
		if uint64(x)&bit != 0 {
			set++
		}
	}
	if all == 0 {
		return math.NaN()
	}
	return 100 * float64(set) / float64(all)
}
