package nvml

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/nvml/sensors"
	"github.com/rooflab/rooflab/datasets"
)

// facts describes the GPUs of this machine, as attributes of a run; nothing
// where there is none, or no driver.
func facts() []host.Fact {
	hello, err := hear(context.Background())
	if err != nil {
		return nil
	}
	var m datasets.Machine
	return describe(hello, &m)
}

// describe completes the machine by the first GPU and returns facts of all:
// clocks in Hz, limits of power in W, memory in bytes.
func describe(hello sensors.Hello, m *datasets.Machine) []host.Fact {
	var found []host.Fact
	add := func(name, value string) {
		if value != "" {
			found = append(found, host.Fact{Name: name, Value: value})
		}
	}
	positive := func(name string, v float64) {
		if v > 0 {
			add(name, strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	m.Driver = hello.Driver
	add("gpu.driver", hello.Driver)
	add("nvml.version", hello.NVML)
	add("gpu.cuda_driver", hello.CUDA)
	for i, g := range hello.GPUs {
		p := fmt.Sprintf("gpu.%d.", g.Index)
		add(p+"name", g.Name)
		add(p+"uuid", g.UUID)
		add(p+"pci", g.PCI)
		add(p+"architecture", g.Architecture)
		if g.Major > 0 {
			add(p+"compute_capability", fmt.Sprintf("%d.%d", g.Major, g.Minor))
		}
		positive(p+"sms", float64(g.SMs))
		positive(p+"cores", float64(g.Cores))
		positive(p+"memory", float64(g.MemoryBytes))
		positive(p+"clock.sm.max", g.MaxSM)
		positive(p+"clock.graphics.max", g.MaxGraphics)
		positive(p+"clock.memory.max", g.MaxMemory)
		positive(p+"clock.graphics.applications", g.AppGraphics)
		positive(p+"clock.memory.applications", g.AppMemory)
		positive(p+"power.limit", g.PowerLimit)
		positive(p+"power.limit.default", g.PowerDefault)
		add(p+"ecc", g.ECC)
		add(p+"mig", g.MIG)
		add(p+"persistence", g.Persistence)
		add(p+"unsupported", strings.Join(g.Unsupported, " "))
		if i == 0 {
			complete(m, g)
		}
	}
	return found
}

func complete(m *datasets.Machine, g sensors.GPU) {
	m.GPU, m.Arch = g.Name, ""
	m.Units, m.ClockHz, m.MemHz, m.MemBytes = datasets.Null[int64]{}, datasets.Null[float64]{}, datasets.Null[float64]{}, datasets.Null[int64]{}
	if g.Major > 0 {
		m.Arch = fmt.Sprintf("cc%d.%d", g.Major, g.Minor)
	}
	if g.SMs > 0 {
		m.Units = datasets.Some(int64(g.SMs))
	}
	if g.MaxSM > 0 {
		m.ClockHz = datasets.Some(g.MaxSM)
	}
	if g.MaxMemory > 0 {
		m.MemHz = datasets.Some(g.MaxMemory)
	}
	if g.MemoryBytes > 0 {
		m.MemBytes = datasets.Some(int64(g.MemoryBytes))
	}
}
