package devices_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/devices"
)

// storeOf has a run for each machine, with ids in their order.
func storeOf(t *testing.T, machines []datasets.Machine, ceilings ...datasets.Ceiling) *datasets.Store {
	t.Helper()
	ctx := context.Background()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	im, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var records []datasets.Record
	for i := range machines {
		machines[i].ID = int64(i + 1)
		records = append(records, &machines[i], &datasets.Run{ID: int64(i + 1), Machine: int64(i + 1), Tool: "test", Format: "test", Status: datasets.RunOK})
	}
	for i := range ceilings {
		records = append(records, &ceilings[i])
	}
	for _, r := range records {
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Commit(datasets.Artefact{Path: "test", SHA256: "0"}); err != nil {
		t.Fatal(err)
	}
	return s
}

func machine(t *testing.T, s *datasets.Store, run int64) *devices.Machine {
	t.Helper()
	m, err := devices.FromStore(context.Background(), s, run)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFromStoreKeepsTheOriginsOfCeilingsApart(t *testing.T) {
	s := storeOf(t, []datasets.Machine{{GPU: "NVIDIA A100-SXM4-40GB", Arch: "cc8.0", Units: datasets.Some[int64](108), MemBytes: datasets.Some[int64](42505273344)}},
		datasets.Ceiling{Machine: 1, Run: 1, Level: "dram", Value: 1.37e12, Unit: "byte/s", Measured: true, Source: "triad"},
		datasets.Ceiling{Machine: 1, Run: 1, Level: "dram", Value: 1.41e12, Unit: "byte/s", Measured: true, Source: "triad, again"},
		datasets.Ceiling{Machine: 1, Level: "dram", Value: 1.5e12, Unit: "byte/s", ClockHz: datasets.Some(1.2e9), Source: "sysinfo"},
		datasets.Ceiling{Machine: 1, Run: 1, Level: "lds", Value: 1.8e13, Unit: "byte/s", Measured: true, Source: "probe"},
		datasets.Ceiling{Machine: 1, Run: 1, Level: "fp64.core", Value: 9e10, Unit: "flop/s", Measured: true, Source: "probe"})
	m := machine(t, s, 1)
	if m.Unknown != nil || m.Device.Name != "NVIDIA A100-SXM4-40GB" || len(m.Differs) != 0 {
		t.Fatalf("%v", m)
	}
	var dram []devices.Origin
	for _, c := range m.Ceilings {
		if c.Name == "dram" {
			dram = append(dram, c.Origin)
		}
	}
	if !slices.Equal(dram, []devices.Origin{devices.Measured, devices.Measured, devices.Stated, devices.Theoretical}) {
		t.Errorf("origins of dram: %v", dram)
	}
	for _, c := range []struct {
		name   string
		from   []devices.Origin
		want   float64
		origin devices.Origin
		source string
	}{
		{"dram", nil, 1.41e12, devices.Measured, "triad, again"},
		{"dram", []devices.Origin{devices.Stated, devices.Measured}, 1.5e12, devices.Stated, "sysinfo"},
		{"dram", []devices.Origin{devices.Theoretical}, 5120. / 8 * 2.43e9, devices.Theoretical, "white paper"},
		{"shared", nil, 1.8e13, devices.Measured, "probe"},
		{"fp64", nil, 108 * 64 * 1.41e9, devices.Theoretical, "table 4"},
		{"fp64.core", nil, 9e10, devices.Measured, "probe"},
	} {
		b, ok := m.Best(c.name, c.from...)
		if !ok || math.Abs(b.Value.Value/c.want-1) > 1e-12 || b.Origin != c.origin || !strings.Contains(b.Source, c.source) {
			t.Errorf("best %s of %v: %+v, %v", c.name, c.from, b, ok)
		}
	}
	if b, ok := m.Best("fp8.tensor"); ok {
		t.Errorf("A100 has FP8: %+v", b)
	}
	if b, ok := m.Best("fp64", devices.Stated, devices.Measured); ok {
		t.Errorf("a ceiling of another origin: %+v", b)
	}
	if page := m.Display().Data["text/html"].(string); !strings.Contains(page, "measured") || !strings.Contains(page, "stated") || !strings.Contains(page, "theoretical") {
		t.Error("the page does not keep the origins apart")
	}
}

func TestFromStoreSaysWhereProfileAndTableDisagree(t *testing.T) {
	s := storeOf(t, []datasets.Machine{
		{GPU: "NVIDIA GeForce RTX 3080", Arch: "cc8.6", Units: datasets.Some[int64](70), MemBytes: datasets.Some[int64](12 << 30)},
		{CPU: "Intel(R) Xeon(R) Platinum 8480+", Arch: "x86_64", Units: datasets.Some[int64](112)},
		{CPU: "AMD EPYC 7763 64-Core Processor", GPU: "AMD Instinct MI250X", Arch: "gfx90a:sramecc+", Units: datasets.Some[int64](110)},
		{CPU: "AMD EPYC 7763 64-Core Processor", GPU: "AMD Instinct MI250X", Arch: "x86_64", Units: datasets.Some[int64](64)},
		{GPU: "NVIDIA A100", Arch: "cc8.0"},
		{GPU: "Imaginary 9000"},
		{},
	}, datasets.Ceiling{Machine: 6, Run: 6, Level: "fp32", Value: 3e12, Unit: "flop/s", Measured: true})
	if m := machine(t, s, 1); m.Unknown != nil || len(m.Differs) != 2 || !strings.Contains(m.Differs[0], "70 SMs, the table 68") || !strings.Contains(m.String(), "12.88 GB") {
		t.Errorf("an RTX 3080 of 12 GB: %.400s", m)
	}
	// Two sockets are no contradiction, and the limits are those of one.
	if m := machine(t, s, 2); m.Device.Units != 56 || len(m.Differs) != 0 || !strings.Contains(m.String(), "one socket") {
		t.Errorf("two sockets: %.300s", m)
	}
	// A run that describes the CPU of a machine with a GPU is about the CPU.
	if g, c := machine(t, s, 3), machine(t, s, 4); g.Device.Kind != devices.GPU || c.Device.Name != "AMD EPYC 7763" {
		t.Errorf("GPU %.100s, CPU %.100s", g, c)
	}
	if m := machine(t, s, 5); m.Unknown == nil || devices.IsUnknown(m.Unknown) || len(m.Ceilings) != 0 {
		t.Errorf("one of several: %v", m)
	}
	// What was measured is there without the table.
	if m := machine(t, s, 6); !devices.IsUnknown(m.Unknown) || len(m.Ceilings) != 1 || !strings.Contains(m.String(), "Imaginary 9000") {
		t.Errorf("unknown device: %v", m)
	}
	if m := machine(t, s, 7); !devices.IsUnknown(m.Unknown) || !strings.Contains(m.Unknown.Error(), "nothing is known") {
		t.Errorf("no facts: %v", m)
	}
}

// The records go into a store and come back as stated ceilings.
func TestRecordsAreTheoreticalCeilings(t *testing.T) {
	d := find(t, "NVIDIA L4")
	cs := d.Records(1)
	if len(cs) != len(d.Limits()) {
		t.Fatalf("%d records of %d limits", len(cs), len(d.Limits()))
	}
	m := machine(t, storeOf(t, []datasets.Machine{{GPU: "NVIDIA L4"}}, cs...), 1)
	for _, l := range d.Limits() {
		b, ok := m.Best(l.Name, devices.Stated)
		if !ok || b.Value.Value != l.Value.Value || b.ClockHz != l.ClockHz || b.Unit != l.Unit || !strings.Contains(b.Source, l.How) {
			t.Errorf("%s: %+v, want %+v", l.Name, b, l)
		}
	}
	if _, ok := m.Best("dram", devices.Measured); ok {
		t.Error("a theoretical ceiling came back as measured")
	}
}
