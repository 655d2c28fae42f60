package rapl

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
)

// TestMeterCountsNothingTwice moves the counters by hand: package-0 wraps, 2.32885
// J, its memory takes 3 J and package-1 takes 1 J; the same package by way of mmio
// moves too and is not counted again.
func TestMeterCountsNothingTwice(t *testing.T) {
	s, dir := zones(t, twoPackages())
	m, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(m.Domains(), " "); got != "package-0 package-0/dram package-1 package-1/dram" {
		t.Errorf("domains %s", got)
	}
	if j, err := m.Joules(); err != nil || j != 0 {
		t.Errorf("%g J at the start, %v", j, err)
	}
	for path, text := range map[string]string{"intel-rapl:0": "2000000", "intel-rapl:0:0": "8000000", "intel-rapl:1": "1000100", "intel-rapl-mmio:0": "5000000"} {
		if err := os.WriteFile(filepath.Join(dir, path, "energy_uj"), []byte(text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if j, err := m.Joules(); err != nil || math.Abs(j-6.32885) > 1e-9 {
		t.Errorf("%g J, want 6.32885, %v", j, err)
	}
	if err := os.Remove(filepath.Join(dir, "intel-rapl:1/energy_uj")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Joules(); err == nil {
		t.Error("a counter that is gone is no error")
	}
}

func TestNoMeter(t *testing.T) {
	for name, s := range map[string]host.System{"nothing": host.At(t.TempDir()), "only a core": onlyCore(t)} {
		_, err := Open(s)
		var missing *collectors.MissingError
		if !errors.As(err, &missing) || missing.Fix == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func onlyCore(t *testing.T) host.System {
	s, _ := zones(t, map[string]string{"intel-rapl:0/name": "core", "intel-rapl:0/energy_uj": "1", "intel-rapl:0/max_energy_range_uj": "100"})
	return s
}
