package generated_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/stalls/generated"
)

// digesting makes this program digest a store instead of running tests.
const digesting = "ROOFLAB_TEST_DIGEST"

func TestMain(m *testing.M) {
	if os.Getenv(digesting) == "" {
		os.Exit(m.Run())
	}
	d, err := generated.Digest(context.Background(), os.Args[len(os.Args)-1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(d)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Memory does not grow with the samples, nor with kernels, launches or code:
// small tables of the shapes that 1 GB is measured with take far less than the
// 500 MB that it may take, and the digest is a thousandth and keeps what it
// must. The process that digests is one of its own; it starts with about 100 MB.
func TestDigestsKeepToTheirBounds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range []generated.Shape{{Name: "plain", Kernels: 8, Instructions: 3000}, {Name: "inlined", Kernels: 8, Instructions: 3000, Depth: 3},
		{Name: "kernels", Kernels: 300, Instructions: 700}, {Name: "launches", Kernels: 2, Instructions: 2000, Sampled: 10}} {
		shape.Bytes, shape.Seed = 10e6, 3
		store := filepath.Join(t.TempDir(), "store.db")
		truth, err := generated.Generate(t.Context(), store, shape)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(self, store)
		c.Env = append(os.Environ(), digesting+"=1")
		var errs strings.Builder
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, errs.String())
		}
		var d generated.Digested
		if err := json.Unmarshal(out, &d); err != nil {
			t.Fatal(err)
		}
		if err := truth.Check(d); err != nil {
			t.Errorf("%s: %v", shape.Name, err)
		}
		t.Logf("%s: %.0f MB, %d bytes of %d, %d hot lines", shape.Name, d.PeakMB, d.Bytes, d.RawBytes, len(truth.Hot(generated.Least)))
		if d.PeakMB < 20 || d.PeakMB > 350 || float64(d.Bytes) > 0.001*float64(truth.Bytes) || len(truth.Hot(generated.Least)) < 3 {
			t.Errorf("%s: peak memory %.0f MB, %d bytes of %d, %d hot lines", shape.Name, d.PeakMB, d.Bytes, d.RawBytes, len(truth.Hot(generated.Least)))
		}
	}
}

func TestALostLineIsNoticed(t *testing.T) {
	hot := generated.Place{Kernel: "k", File: "a.cu", Line: 3}
	truth := generated.Truth{Rows: 2, Bytes: 40, Stalled: 100, Lines: map[generated.Place]int64{hot: 96, {Kernel: "k", File: "a.cu", Line: 4}: 4}}
	d := generated.Digested{RawRows: 2, RawBytes: 40, Stalled: 100, Lines: []generated.Place{hot}}
	if err := truth.Check(d); err != nil {
		t.Error(err)
	}
	d.Lines = nil
	if err := truth.Check(d); err == nil || !strings.Contains(err.Error(), "lacks a.cu:3 of k, which holds 96 of 100") {
		t.Error(err)
	}
	d.Stalled = 101
	if err := truth.Check(d); err == nil {
		t.Error("samples that are counted twice pass")
	}
}
