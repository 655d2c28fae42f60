package devices

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// Origin is where a ceiling comes from.
type Origin string

// Origins of ceilings, kept apart: a measured one is what a probe reached on
// that machine; a stated one is a theoretical figure that came with a profile
// or a data set; a theoretical one is this package's table.
const (
	Measured    Origin = "measured"
	Stated      Origin = "stated"
	Theoretical Origin = "theoretical"
)

// Ceiling is a limit of a run's machine.
type Ceiling struct {
	Name   string // a Precision or a Level; what the store names otherwise is as it is there ("fp64.core")
	Origin Origin
	Value
	Run int64 // that measured or stated it, 0 where it is not of a run
}

// Machine is the machine of a run as the store and the table know it.
type Machine struct {
	Run      int64
	Facts    Facts
	Device   Device
	Unknown  error    // why there is no Device: an AmbiguousError or an UnknownError
	Differs  []string // where the profile contradicts the table, in words
	Ceilings []Ceiling
}

// FromStore finds the machine of a run and its ceilings: those of the store,
// and those of the table where the device is known there, at the vendor's
// clock. A device that is not known is no error: Unknown says why, and the
// store's ceilings are there. Of a machine with a GPU it is the GPU, unless the
// run describes the CPU (its architecture is a CPU's).
func FromStore(ctx context.Context, s *datasets.Store, run int64) (*Machine, error) {
	m, id, err := machineOf(ctx, s, run)
	if err != nil {
		return nil, fmt.Errorf("finding the device of run %d in %s: %w", run, s.Path(), err)
	}
	if m.Ceilings, err = ceilingsOf(ctx, s, id); err != nil {
		return nil, fmt.Errorf("reading the ceilings of run %d's machine in %s: %w", run, s.Path(), err)
	}
	if m.Device, m.Unknown = Match(m.Facts); m.Unknown == nil {
		m.Differs = m.Facts.differs(m.Device)
		for _, l := range m.Device.Limits() {
			m.Ceilings = append(m.Ceilings, Ceiling{Name: l.Name, Origin: Theoretical, Value: l.Value})
		}
	}
	slices.SortStableFunc(m.Ceilings, func(a, b Ceiling) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), cmp.Compare(a.Name, b.Name),
			cmp.Compare(order[a.Origin], order[b.Origin]), cmp.Compare(b.Value.Value, a.Value.Value), cmp.Compare(a.Source, b.Source))
	})
	return m, nil
}

var order = map[Origin]int{Measured: 0, Stated: 1, Theoretical: 2}

// rank is the place of a limit in tables; others come last.
func rank(name string) int {
	if i := slices.Index(Precisions, Precision(name)); i >= 0 {
		return i
	}
	if i := slices.Index(Levels, Level(name)); i >= 0 {
		return len(Precisions) + i
	}
	return len(Precisions) + len(Levels)
}

// limitName is a level of the store as this package names it.
func limitName(level string) string {
	switch level {
	case "lds", "smem":
		return string(Shared)
	case "hbm":
		return string(DRAM)
	case "mall":
		return string(L3)
	}
	return level
}

func machineOf(ctx context.Context, s *datasets.Store, run int64) (*Machine, int64, error) {
	rows, err := s.Rows(ctx, `SELECT m.id, m.cpu, m.gpu, m.arch, m.units, m.mem_bytes FROM run u LEFT JOIN machine m ON m.id = u.machine_id WHERE u.id = ?`, run)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return nil, 0, err
		}
		return nil, 0, fmt.Errorf("the store has no run %d: Query \"SELECT id, tool FROM run\" lists them", run)
	}
	v := rows.Values()
	id, _ := v[0].(int64)
	cpu, _ := v[1].(string)
	gpu, _ := v[2].(string)
	m := &Machine{Run: run}
	m.Facts.Arch, _ = v[3].(string)
	if cpuArchs[strings.ToLower(m.Facts.Arch)] || gpu == "" && m.Facts.Arch == "" {
		m.Facts.Name = cpu
		return m, id, rows.Err()
	}
	m.Facts.Name = gpu
	m.Facts.Units, _ = v[4].(int64)
	m.Facts.MemBytes, _ = v[5].(int64)
	return m, id, rows.Err()
}

var cpuArchs = map[string]bool{"x86_64": true, "amd64": true, "i386": true, "i686": true, "aarch64": true, "arm64": true, "ppc64le": true, "ppc64": true, "riscv64": true, "s390x": true}

func ceilingsOf(ctx context.Context, s *datasets.Store, machine int64) ([]Ceiling, error) {
	rows, err := s.Rows(ctx, `SELECT run_id, level, value, unit, measured, clock_hz, source FROM ceiling WHERE machine_id = ? ORDER BY level, value DESC, source`, machine)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var cs []Ceiling
	for rows.Next() {
		v := rows.Values()
		c := Ceiling{Origin: Stated}
		c.Run, _ = v[0].(int64)
		level, _ := v[1].(string)
		c.Name = limitName(level)
		c.Value.Value, _ = v[2].(float64)
		c.Unit, _ = v[3].(string)
		c.How = "as the profile states it"
		if measured, _ := v[4].(bool); measured {
			c.Origin, c.How = Measured, "measured"
		}
		c.ClockHz, _ = v[5].(float64)
		c.Source, _ = v[6].(string)
		cs = append(cs, c)
	}
	return cs, rows.Err()
}

// differs says where facts contradict a device. Cores and memory of a CPU are
// the machine's, which may have several sockets.
func (f Facts) differs(d Device) []string {
	var out []string
	if d.Kind == CPU {
		return nil
	}
	if f.Arch != "" && d.ISA != "" && canonical(f.Arch) != d.ISA {
		out = append(out, fmt.Sprintf("the profile says %s, the table %s", f.Arch, d.ISA))
	}
	if f.Units > 0 && f.Units != int64(d.Units) {
		out = append(out, fmt.Sprintf("the profile says %d %ss, the table %d", f.Units, d.Unit, d.Units))
	}
	if f.MemBytes > 0 && d.MemBytes.Valid && !about(f.MemBytes, d.MemBytes.V) {
		out = append(out, fmt.Sprintf("the profile says %.4g GB of memory, the table %.4g GB", float64(f.MemBytes)/1e9, float64(d.MemBytes.V)/1e9))
	}
	return out
}

// Best is the ceiling of a name from the first origin that has one, in the order
// given; all origins, measured first, where none is given. Of several of one
// origin it is the highest: a probe can only fall short of a limit.
func (m *Machine) Best(name string, from ...Origin) (Ceiling, bool) {
	if len(from) == 0 {
		from = []Origin{Measured, Stated, Theoretical}
	}
	for _, o := range from {
		best, found := Ceiling{}, false
		for _, c := range m.Ceilings {
			if c.Name == name && c.Origin == o && (!found || c.Value.Value > best.Value.Value) {
				best, found = c, true
			}
		}
		if found {
			return best, true
		}
	}
	return Ceiling{}, false
}

// Records are the limits as rows of a store's table of ceilings, for a machine
// of that id: theoretical ones, without a run.
func (d Device) Records(machine int64) []datasets.Ceiling {
	var cs []datasets.Ceiling
	for _, l := range d.Limits() {
		c := datasets.Ceiling{Machine: machine, Level: l.Name, Value: l.Value.Value, Unit: l.Unit, Source: "device table: " + l.How + "; " + l.Source}
		if l.ClockHz > 0 && !math.IsInf(l.ClockHz, 0) {
			c.ClockHz = datasets.Some(l.ClockHz)
		}
		cs = append(cs, c)
	}
	return cs
}
