package smi

import (
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

// fullNames are the places in nvidia-smi -q of the quantities that other forms
// of its output have too, without the titles that depend on the driver.
var fullNames = map[string]sensor{
	"power draw": {"power", watts, ""}, "average power draw": {"power.average", watts, average}, "instantaneous power draw": {"power.instant", watts, instant},
	"power limit": {"power.limit", watts, instant}, "current power limit": {"power.limit", watts, instant}, "enforced power limit": {"power.limit.enforced", watts, instant},
	"gpu current temp": {"temperature", celsius, instant}, "memory current temp": {"temperature.memory", celsius, instant},
	"fan speed":       {"fan", percent, instant},
	"clocks/graphics": {"clock.graphics", mega, instant}, "clocks/sm": {"clock.sm", mega, instant}, "clocks/memory": {"clock.memory", mega, instant}, "clocks/video": {"clock.video", mega, instant},
	"max clocks/sm": {"clock.sm.max", mega, instant}, "max clocks/memory": {"clock.memory.max", mega, instant}, "max clocks/graphics": {"clock.graphics.max", mega, instant},
	"utilization/gpu": {"utilization", percent, average}, "utilization/memory": {"utilization.memory", percent, average},
	"fb memory usage/total": {"memory.total", mebi, instant}, "fb memory usage/used": {"memory.used", mebi, instant}, "fb memory usage/free": {"memory.free", mebi, instant}, "fb memory usage/reserved": {"memory.reserved", mebi, instant},
	"tx throughput": {"pcie.tx", megaps, average}, "rx throughput": {"pcie.rx", megaps, average},
}

// full reads nvidia-smi -q: names and values, one below the other, with the
// depth of a section as its indentation. A loop (-l) writes it again and
// again.
func (l *log) full() error {
	var gpu, t int64 = -1, 0
	logs := int64(0)
	var sections []string // names by depth
	var depths []int
	err := l.each(func(text string) error {
		trimmed := strings.TrimSpace(text)
		switch {
		case trimmed == "":
			return nil
		case isLogTitle(text):
			gpu, t, sections, depths = -1, logs*1e9, nil, nil
			logs++
			return nil
		case logs == 0:
			return nil
		case l.cut(text):
			return nil
		}
		depth := len(text) - len(strings.TrimLeft(text, " \t"))
		if len(depths) > 64 && depth > depths[len(depths)-1] {
			return l.in.Syntax(l.r.Line, depth+1, "the sections are nested too deep")
		}
		for len(depths) > 0 && depths[len(depths)-1] >= depth {
			depths, sections = depths[:len(depths)-1], sections[:len(sections)-1]
		}
		if bus, ok := strings.CutPrefix(trimmed, "GPU "); ok && depth == 0 {
			n, err := l.gpu("", bus, "", nil)
			if err != nil {
				return err
			}
			gpu = n
			return l.fact(gpu, "pci.bus_id", bus)
		}
		name, value, ok := strings.Cut(trimmed, " : ")
		if !ok {
			depths, sections = append(depths, depth), append(sections, trimmed)
			return nil
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		c := delimited.Cell{Text: value, Line: l.r.Line, Column: strings.Index(text, value) + 1}
		if gpu < 0 {
			return l.preface(name, c, &t)
		}
		return l.entry(gpu, t, sections, name, c)
	})
	if err != nil {
		return err
	}
	if logs == 0 {
		return l.in.Syntax(max(l.r.Line, 1), 1, `there is no line "==============NVSMI LOG=============="`)
	}
	return l.finish()
}

// preface reads a line above the first GPU.
func (l *log) preface(name string, c delimited.Cell, t *int64) error {
	switch name {
	case "Timestamp":
		ns, date, zone, ok := when(c.Text, "date")
		if !ok {
			return l.r.Fault(c, "the time is none", "Mon Jan  2 15:04:05 2006")
		}
		*t = ns
		return l.begin(ns, date, zone)
	case "Driver Version":
		l.machine.Driver = c.Text
	}
	return l.about(name, c.Text)
}

// entry reads a line about a GPU.
func (l *log) entry(gpu, t int64, sections []string, name string, c delimited.Cell) error {
	path := strings.ToLower(strings.Join(append(append([]string{}, sections...), name), "/"))
	last := strings.ToLower(name)
	if n := len(sections); n > 0 {
		last = strings.ToLower(sections[n-1]) + "/" + last
	}
	module := strings.Contains(path, "module power") || strings.Contains(path, "memory power")
	if strings.Contains(path, "throttle reasons/") || strings.Contains(path, "event reasons/") {
		if v := active(c.Text); v.Valid {
			reason := strings.ReplaceAll(strings.ToLower(name), " ", "_")
			if reason == "idle" {
				reason = "gpu_idle"
			}
			return l.put(gpu, sensor{"throttle." + reason, plain, instant}, t, v)
		}
	}
	s, known := fullNames[last]
	if !known && !module {
		s, known = fullNames[strings.ToLower(name)]
	}
	switch name {
	case "Product Name":
		l.names[gpu] = c.Text
		if l.machine.GPU == "" {
			l.machine.GPU = c.Text
		}
	case "Performance State":
		if n, err := strconv.Atoi(strings.TrimPrefix(c.Text, "P")); err == nil {
			return l.put(gpu, sensor{"pstate", plain, instant}, t, datasets.Some(float64(n)))
		}
	}
	if known {
		if err := l.reading(gpu, s, t, c); err != nil {
			return err
		}
		switch s.name {
		case "memory.total":
			l.know("memory.total", s, c)
		case "clock.sm.max":
			l.know("clocks.max.sm", s, c)
		case "clock.memory.max":
			l.know("clocks.max.mem", s, c)
		}
		return nil
	}
	if number, said, ok := strings.Cut(c.Text, " "); ok {
		if u, is := unitOf(said); is {
			if _, err := collectors.ParseNumber(number, collectors.Dot, 0); err == nil {
				return l.reading(gpu, sensor{strings.ReplaceAll(strings.ReplaceAll(path, " ", "_"), "/", "."), u, instant}, t, c)
			}
		}
	}
	return l.fact(gpu, strings.ReplaceAll(strings.ReplaceAll(path, " ", "_"), "/", "."), c.Text)
}
