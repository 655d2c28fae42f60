package roofline

import (
	"fmt"
	"strings"
)

// nvidia reads Nsight Compute's counters, from Volta (cc 7.0) to Blackwell (cc
// 12.x), under the names that its roofline sections use (SpeedOfLight_
// RooflineChart and SpeedOfLight_Hierarchical{Double,Single,Half,Tensor}-
// RooflineChart) and those that people ask for alone with --metrics. What
// differs between architectures and versions is which of them are there, so
// each quantity is a list of ways, most direct first.
type nvidia struct {
	counters
	opt Options
}

// isNVIDIA tells ncu's counters, unit__name.
func isNVIDIA(metrics map[string]float64) bool {
	for name := range metrics {
		if strings.Contains(name, "__") {
			return true
		}
	}
	return false
}

const pct = ".pct_of_peak_sustained_elapsed"

// leastPercent is the least percentage of a peak that a ceiling is computed
// from: tools print two decimals, so that below it the ceiling would be off by
// more than 1 %.
const leastPercent = 0.5

// once reads a quantity the first time that it is asked for: those of one launch
// are made of few counters, in many ways.
func (c nvidia) once(key string, read func() Quantity) Quantity {
	q, ok := c.opt.memo[key]
	if !ok {
		q = read()
		c.opt.memo[key] = q
	}
	return q
}

// time is the duration of the launch in seconds.
func (c nvidia) time() Quantity { return c.once("time", c.readTime) }

func (c nvidia) readTime() Quantity {
	q := best(
		c.duration(),
		ratio(c.first("sm__cycles_elapsed.max", "sm__cycles_elapsed.avg", "Elapsed Cycles"), c.frequency("sm")),
		c.first(TimeCounter),
		c.opt.launch.ownTime(),
	)
	if q.OK && !(q.Value > 0) {
		return missing(q.From + " is not positive")
	}
	return q
}

func (c nvidia) duration() Quantity {
	return c.first("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max", "gpu__time_duration_measured_user.sum", "Duration")
}

// frequency is the clock of a unit as the profile gives it, cycle/s. Those of
// an SM are one clock domain.
func (c nvidia) frequency(unit string) Quantity {
	names := []string{unit + "__cycles_elapsed.avg.per_second"}
	switch unit {
	case "sm", "l1tex", "smsp":
		names = append(names, "sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second", "SM Frequency")
	case "dram":
		names = append(names, "DRAM Frequency")
	}
	return c.first(names...)
}

// rate is the clock of a unit, cycle/s.
func (c nvidia) rate(unit string) Quantity {
	return c.once("rate "+unit, func() Quantity { return c.readRate(unit) })
}

func (c nvidia) readRate(unit string) Quantity {
	q := c.frequency(unit)
	if q.OK {
		return q
	}
	cycles := []string{unit + "__cycles_elapsed.avg", unit + "__cycles_elapsed.max"}
	switch unit {
	case "l1tex", "smsp":
		cycles = append(cycles, "sm__cycles_elapsed.avg", "sm__cycles_elapsed.max")
	}
	return best(q, ratio(c.first(cycles...), best(c.duration(), c.first(TimeCounter), c.opt.launch.ownTime())))
}

// clock is that of the SMs.
func (c nvidia) clock() Quantity { return c.rate("sm") }

// instances is how many of a unit the device has.
func (c nvidia) instances(unit string) Quantity {
	sms := c.first("device__attribute_multiprocessor_count", "launch__sm_count")
	switch unit {
	case "sm", "l1tex":
		return sms
	case "smsp":
		// Four on every architecture since Maxwell.
		return product(best(c.first("device__attribute_num_schedulers_per_multiprocessor"), known(4, "4")), sms)
	case "lts":
		return c.first("device__attribute_l2s_count")
	}
	return missing("the number of units " + unit + " is not measured")
}

func unitOf(counter string) string {
	unit, _, _ := strings.Cut(strings.TrimPrefix(counter, "derived__"), "__")
	return unit
}

// count is a counter summed over the device, in whichever of ncu's forms it
// is there: as it is, per second, per cycle, or as the mean of the instances.
func (c nvidia) count(name string) Quantity {
	return c.once(name, func() Quantity { return c.readCount(name) })
}

// has says whether there is a counter in any form.
func (c nvidia) has(name string) bool {
	if len(c.opt.stems) == 0 {
		for metric := range c.counters {
			stem, _, _ := strings.Cut(metric, ".")
			c.opt.stems[stem] = true
		}
	}
	return c.opt.stems[name]
}

func (c nvidia) readCount(name string) Quantity {
	q := c.sum(1, name+".sum")
	if q.OK || !c.has(name) {
		return q
	}
	unit := unitOf(name)
	return best(q,
		product(c.first(name+".sum.per_second"), c.time()),
		product(c.first(name+".sum.per_cycle_elapsed"), c.rate(unit), c.time()),
		product(c.first(name+".avg"), c.instances(unit)),
		product(c.first(name+".avg.per_second"), c.instances(unit), c.time()),
		product(c.first(name+".avg.per_cycle_elapsed"), c.instances(unit), c.rate(unit), c.time()),
	)
}

// counts adds counters that must all be there.
func (c nvidia) counts(weight float64, names ...string) Quantity {
	total := c.count(names[0])
	for _, n := range names[1:] {
		total = plus(total, c.count(n))
	}
	return times(weight, total)
}

// most is the highest rate of a counter over the device, per second: what the
// profile says of its peak, or the count and the percentage of the peak that
// it is.
func (c nvidia) most(name string) Quantity {
	return c.once("most "+name, func() Quantity { return c.readMost(name) })
}

func (c nvidia) readMost(name string) Quantity {
	if !c.has(name) {
		return missing(name + ".sum.peak_sustained" + notMeasured)
	}
	unit := unitOf(name)
	q := product(c.first(name+".sum.peak_sustained"), c.rate(unit))
	if q.OK {
		return q
	}
	percent := c.first(name+".sum"+pct, name+".avg"+pct)
	if percent.OK && percent.Value < leastPercent {
		percent = missing(fmt.Sprintf("%s is %g, too little to compute the peak from", percent.From, percent.Value))
	}
	return best(q,
		c.first(name+".sum.peak_sustained_elapsed.per_second", name+".sum.peak_sustained.per_second"),
		product(c.first(name+".avg.peak_sustained"), c.instances(unit), c.rate(unit)),
		ratio(times(100, c.count(name)), product(c.time(), percent)),
	)
}

// busy is the use of the SM's busiest unit.
func (c nvidia) busy() Quantity {
	q := c.first("sm__throughput.avg.pct_of_peak_sustained_elapsed", "Compute (SM) Throughput")
	if q.OK {
		q.From += " / 100"
		q.Value /= 100
	}
	return q
}

// capability is the compute capability, 8.6 as 86, 0 where it is not known.
func (c nvidia) capability() int {
	major, minor := c.first("device__attribute_compute_capability_major"), c.first("device__attribute_compute_capability_minor")
	if major.OK && minor.OK {
		return int(10*major.Value + minor.Value)
	}
	var a, b int
	if n, _ := fmt.Sscanf(c.opt.launch.Arch, "cc%d.%d", &a, &b); n == 2 {
		return 10*a + b
	}
	return 0
}
