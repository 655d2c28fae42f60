package nvml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/rooflab/rooflab/collectors/nvml/sensors"
)

// Meter reads the energy counters of NVIDIA's GPUs, for those who measure by
// themselves. The counters are of whole GPUs and are refreshed every 20 to 100 ms,
// so that what is much shorter is not to be read from them.
type Meter struct{ gpus []string }

const energySensor = "energy"

// OpenMeter finds the GPUs. The error is a *collectors.MissingError where there
// are none, or where none counts its energy (before Volta).
func OpenMeter(ctx context.Context) (*Meter, error) {
	hello, err := hear(ctx)
	if err != nil {
		return nil, err
	}
	m := &Meter{}
	for _, g := range hello.GPUs {
		if energyOf(g) >= 0 {
			m.gpus = append(m.gpus, fmt.Sprintf("gpu%d", g.Index))
		}
	}
	if len(m.gpus) == 0 {
		return nil, unavailable("none of the GPUs counts its energy", "take a GPU of the Volta generation or later")
	}
	return m, nil
}

// energyOf is the place of the counter among a GPU's sensors, -1 for none.
func energyOf(g sensors.GPU) int {
	return slices.IndexFunc(g.Sensors, func(s sensors.Sensor) bool { return s.Name == energySensor })
}

// GPUs are the names of those that are read: gpu0, gpu1.
func (m *Meter) GPUs() []string { return slices.Clone(m.gpus) }

// Begin begins a reading. What it returns ends it and gives the joules that all
// GPUs took since.
func (m *Meter) Begin(ctx context.Context) (end func() (joules float64, err error), err error) {
	s, err := start(ctx, io.Discard, "sample", "--wait", "--rate", "1")
	if err != nil {
		return nil, err
	}
	s.begin()
	return func() (float64, error) {
		readings, err := s.end()
		if err != nil {
			return 0, fmt.Errorf("reading the energy of GPUs: %w", err)
		}
		sum, known := 0.0, false
		for i, g := range s.hello.GPUs {
			at := energyOf(g)
			if at < 0 || len(readings[i]) == 0 {
				continue
			}
			first, last := readings[i][0].Values[at], readings[i][len(readings[i])-1].Values[at]
			if first == nil || last == nil {
				return 0, fmt.Errorf("reading the energy of GPU %d: the driver did not say", g.Index)
			}
			if *last < *first || math.IsNaN(*last-*first) {
				return 0, fmt.Errorf("reading the energy of GPU %d: its counter went back from %g to %g J", g.Index, *first, *last)
			}
			sum, known = sum+*last-*first, true
		}
		if !known {
			return 0, errors.New("reading the energy of GPUs: the driver said nothing")
		}
		return sum, nil
	}, nil
}
