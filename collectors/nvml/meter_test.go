package nvml

import (
	"math"
	"testing"
)

// TestMeterOfTwoGPUs: the library counts 3 J more with each reading of a GPU, so
// that two GPUs take a multiple of 3 J, and 6 J at least.
func TestMeterOfTwoGPUs(t *testing.T) {
	library(t)
	m, err := OpenMeter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := m.GPUs(); len(got) != 2 || got[0] != "gpu0" || got[1] != "gpu1" {
		t.Errorf("GPUs %v", got)
	}
	end, err := m.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j, err := end()
	if err != nil || j < 6 || math.Mod(j, 3) != 0 {
		t.Errorf("%g J, %v", j, err)
	}
}
