package ncurep

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rooflab/rooflab/datasets"
)

// session is what a report says of the machine and of how it was profiled.
type session struct {
	host    system // where the tool ran
	target  system // where the program ran
	devices map[int64]*device
	facts   [][2]string
	cmdline string

	sections []string // that were collected
	seen     map[string]bool
}

type system struct{ os, build, cpu, arch, name string }

// device is a GPU.
type device struct {
	name       string
	attributes map[string]value
}

func (s *session) device(id int64) *device {
	if s.devices == nil {
		s.devices = map[int64]*device{}
	}
	d, ok := s.devices[id]
	if !ok {
		d = &device{attributes: map[string]value{}}
		s.devices[id] = d
	}
	return d
}

// observe takes the attributes of a device from the metrics of a launch: older
// reports have them nowhere else.
func (s *session) observe(id int64, metric string, v value) {
	if name, ok := strings.CutPrefix(metric, deviceAttribute); ok {
		d := s.device(id)
		if _, known := d.attributes[name]; !known {
			d.attributes[name] = v
		}
	}
}

const deviceAttribute = "device__attribute_"

func (p *parser) readSession(fd field) error {
	s := &p.session
	return p.eachIn(fd, "a session", func(fd field) error {
		switch fd.num {
		case 2:
			seconds := uint64(0)
			err := p.number(fd, &seconds)
			if seconds > 0 && seconds < 1<<40 && !p.run.Started.Valid {
				p.run.Started = datasets.Some(time.Unix(int64(seconds), 0).UTC())
			}
			return err
		case 3:
			return p.readSystem(fd, &s.host)
		case 4:
			return p.readSystem(fd, &s.target)
		case 5:
			return p.eachIn(fd, "properties of devices", func(fd field) error { return p.pair(fd, "device property ") })
		case 6:
			return p.readDevice(fd)
		case 7:
			return p.fact(fd, "comments")
		case 8:
			return p.pair(fd, "version of ")
		case 9:
			return p.eachIn(fd, "the program", func(fd field) error {
				switch fd.num { // 4 is its environment, which is nobody else's business
				case 2:
					return p.fact(fd, "working directory")
				case 3:
					return p.fact(fd, "arguments")
				}
				return nil
			})
		case 10:
			return p.eachIn(fd, "the profiler's settings", func(fd field) error {
				switch fd.num {
				case 7:
					return p.fact(fd, "enabled sections")
				case 8:
					return p.fact(fd, "clock control")
				case 11:
					return p.fact(fd, "replay mode")
				}
				return nil
			})
		case 11:
			err := p.text(fd, &s.cmdline)
			s.cmdline = strings.TrimSpace(s.cmdline)
			s.facts = append(s.facts, [2]string{"ncu command line", s.cmdline})
			return err
		}
		return nil
	})
}

func (p *parser) fact(fd field, name string) error {
	v := ""
	err := p.text(fd, &v)
	p.session.facts = append(p.session.facts, [2]string{name, v})
	return err
}

// pair reads a key and a value.
func (p *parser) pair(fd field, prefix string) error {
	k, v := "", ""
	err := p.eachIn(fd, "a key and its value", func(fd field) error {
		switch fd.num {
		case 1:
			return p.text(fd, &k)
		case 2:
			return p.text(fd, &v)
		}
		return nil
	})
	if k != "" {
		p.session.facts = append(p.session.facts, [2]string{prefix + k, v})
	}
	if strings.HasPrefix(k, "Nsight Compute") && (p.run.ToolVersion == "" || strings.Contains(k, "Target")) {
		p.run.ToolVersion, _, _ = strings.Cut(v, " ")
	}
	return err
}

func (p *parser) readSystem(fd field, s *system) error {
	return p.eachIn(fd, "a system", func(fd field) error {
		switch fd.num {
		case 1:
			return p.text(fd, &s.os)
		case 2:
			return p.text(fd, &s.build)
		case 3:
			return p.text(fd, &s.cpu)
		case 4:
			return p.text(fd, &s.arch)
		case 5:
			return p.text(fd, &s.name)
		}
		return nil
	})
}

func (p *parser) readDevice(fd field) error {
	id, name, attributes := uint64(0), "", map[string]value{}
	err := p.eachIn(fd, "a device", func(fd field) error {
		switch fd.num {
		case 1:
			return p.number(fd, &id)
		case 2:
			return p.text(fd, &name)
		case 3:
			k, v := "", value{}
			err := p.eachIn(fd, "an attribute of a device", func(fd field) (err error) {
				switch fd.num {
				case 1:
					return p.text(fd, &k)
				case 2:
					v, err = p.value(fd, "an attribute of a device")
				}
				return err
			})
			attributes[strings.TrimPrefix(k, deviceAttribute)] = v
			return err
		}
		return nil
	})
	d := p.session.device(int64(id))
	d.name = name
	for k, v := range attributes {
		d.attributes[k] = v
	}
	return err
}

// putSession puts the machine and the facts about the run.
func (p *parser) putSession() error {
	s := &p.session
	sys := s.target
	if sys == (system{}) {
		sys = s.host
	}
	s.facts = append(s.facts, [][2]string{{"OS", sys.os}, {"OS build", sys.build}, {"architecture", sys.arch}, {"sections", strings.Join(s.sections, ",")}}...)
	m := datasets.Machine{ID: machineID, Host: sys.name, CPU: sys.cpu}
	if m.Host == "" {
		m.Host = p.process.host
	}
	ids := make([]int64, 0, len(s.devices))
	for id := range s.devices {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	for i, id := range ids {
		d := s.devices[id]
		if i == 0 {
			d.describe(&m)
		}
		if d.model() != s.devices[ids[0]].model() {
			p.once("gpus", "the machine has GPUs of several kinds, %s and %s: it is recorded as %s", m.GPU, d.model(), m.GPU)
		}
		names := slices.Sorted(maps.Keys(d.attributes))
		for _, name := range names {
			s.facts = append(s.facts, [2]string{fmt.Sprintf("device %d %s", id, name), d.attributes[name].String()})
		}
	}
	for _, f := range s.facts {
		if f[0] == "version of Display Driver Version" {
			m.Driver = f[1]
		}
		if f[1] == "" {
			continue
		}
		if err := p.out.Put(&datasets.Attribute{Run: runID, Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	p.policies()
	if m.Host+m.CPU+m.GPU+m.Arch == "" {
		return nil
	}
	p.run.Machine = machineID
	return p.out.Put(&m)
}

func (d *device) model() string {
	if v := d.attributes["display_name"]; v.s != "" {
		return v.s
	}
	return d.name
}

// describe fills in what a machine's record has room for. Clocks are in kHz.
func (d *device) describe(m *datasets.Machine) {
	m.GPU = d.model()
	number := func(name string) (float64, bool) {
		v := d.attributes[name]
		return v.f, (v.kind == integer || v.kind == floating) && v.f > 0 && v.f < math.MaxInt64/2
	}
	if major, ok := number("compute_capability_major"); ok {
		minor, _ := number("compute_capability_minor")
		m.Arch = fmt.Sprintf("cc%d.%d", int64(major), int64(minor))
	}
	if n, ok := number("multiprocessor_count"); ok {
		m.Units = datasets.Some(int64(n))
	}
	if khz, ok := number("clock_rate"); ok {
		m.ClockHz = datasets.Some(khz * 1000)
	}
	if khz, ok := number("memory_clock_rate"); ok {
		m.MemHz = datasets.Some(khz * 1000)
	}
	if n, ok := number("total_memory"); ok {
		m.MemBytes = datasets.Some(int64(n))
	}
}

// policies reads from ncu's command line how caches were treated and how
// kernels were replayed; what it does not say is ncu's default.
func (p *parser) policies() {
	if p.session.cmdline == "" {
		return
	}
	words := strings.FieldsFunc(p.session.cmdline, func(r rune) bool { return r == ' ' || r == '=' })
	option := func(name, unset string) string {
		for i, w := range words[:max(len(words)-1, 0)] {
			if w == "--"+name {
				return words[i+1]
			}
		}
		return unset
	}
	p.run.CachePolicy = strings.Replace(option("cache-control", "all"), "all", "flush-all", 1)
	p.run.ReplayPolicy = option("replay-mode", "kernel")
}
