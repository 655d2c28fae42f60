package collectors_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// kept counts the records that come through.
type kept int

func (k *kept) Put(datasets.Record) error { *k++; return nil }

// No parser gets a number into a store that no measurement can have.
func TestImpossibleNumbersDoNotComeThrough(t *testing.T) {
	minus := datasets.Some(int64(-1))
	for want, r := range map[string]datasets.Record{
		"size of a grid of -1":                 &datasets.Launch{Grid: [3]datasets.Null[int64]{1: minus}},
		"size of a block of -1":                &datasets.Launch{Block: [3]datasets.Null[int64]{2: minus}},
		"number of registers of -1":            &datasets.Launch{Regs: minus},
		"size of shared memory of -1":          &datasets.Launch{Smem: minus},
		"duration of -1":                       &datasets.Launch{DurNs: minus},
		"value of m is no finite number":       &datasets.Counter{Metric: "m", Value: datasets.Some(math.Inf(1))},
		"m was counted during 180 % of the":    &datasets.Counter{Metric: "m", Coverage: datasets.Some(180.0)},
		"a reading of s is no finite number":   &datasets.Telemetry{Sensor: "s", Value: datasets.Some(math.NaN())},
		"the machine has a memory of -1 bytes": &datasets.Machine{MemBytes: minus},
	} {
		var k kept
		err := collectors.NewOutput("a.csv", &k).Put(r)
		if err == nil || !strings.HasPrefix(err.Error(), "a.csv: ") || !strings.Contains(err.Error(), want) || k != 0 {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
	var k kept
	out := collectors.NewOutput("a.csv", &k)
	for _, r := range []datasets.Record{&datasets.Launch{StartNs: minus, Device: minus}, &datasets.Counter{Value: datasets.Some(-1.0), Coverage: datasets.Some(100.004)}, &datasets.Counter{Status: datasets.StatusNA}, &datasets.Telemetry{}} {
		if err := out.Put(r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if k != 4 {
		t.Errorf("%d records came through, want 4", k)
	}
}

// The error tells as far as the file was read.
func TestImpossibleNumbersHaveALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	collectors.Register(collectors.Format{Name: "impossible", Detect: func(collectors.Head) collectors.Confidence { return collectors.No },
		Parse: func(_ context.Context, in *collectors.Input, out *collectors.Output) error {
			for range 2 {
				if _, _, _, err := in.Line(); err != nil {
					return err
				}
			}
			return out.Put(&datasets.Launch{DurNs: datasets.Some(int64(-5))})
		}})
	var k kept
	_, _, err := collectors.ParseFile(t.Context(), path, collectors.Options{Format: "impossible"}, &k)
	if err == nil || !strings.HasPrefix(err.Error(), path+":2: a launch has a duration of -5; ") {
		t.Error(err)
	}
}
