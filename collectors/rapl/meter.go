package rapl

import (
	"strings"
	"sync"

	"github.com/rooflab/rooflab/collectors/host"
)

// Meter reads the energy of a machine's processors and their memory, for those
// who measure by themselves: the packages, and the memory, which is no part of
// them. Domains that another one contains (core, uncore, packages in psys) and
// other ways to the same counter (mmio) are left out, so that nothing counts
// twice. The counters are of the whole machine: what else runs is in them.
type Meter struct {
	mu      sync.Mutex
	domains []*domain
}

// Open finds the counters of a system. The error is a
// *collectors.MissingError where there are none, or where they may not be read.
func Open(s host.System) (*Meter, error) {
	all, missing := domains(s)
	if missing != nil {
		return nil, missing
	}
	m := &Meter{}
	var psys []*domain
	for _, d := range all {
		top, below, nested := strings.Cut(d.name, "/")
		switch {
		case strings.HasPrefix(d.name, "package-") && (!nested || below == "dram"):
			m.domains = append(m.domains, d)
		case top == "psys" && !nested:
			psys = append(psys, d)
		}
	}
	if len(m.domains) == 0 { // a machine that shows the whole of it only
		m.domains = psys
	}
	if len(m.domains) == 0 {
		return nil, unusable
	}
	return m, nil
}

// Domains are the names of what is summed: package-0, package-0/dram.
func (m *Meter) Domains() []string {
	var out []string
	for _, d := range m.domains {
		out = append(out, d.name)
	}
	return out
}

// Joules is the energy since Open. Between two calls no counter may wrap twice,
// which takes some minutes at full power.
func (m *Meter) Joules() (float64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := 0.0
	for _, d := range m.domains {
		if err := d.update(); err != nil {
			return 0, err
		}
		sum += float64(d.total) / 1e6
	}
	return sum, nil
}
