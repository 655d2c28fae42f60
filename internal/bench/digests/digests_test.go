package digests_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/internal/bench/digests"
)

// digesting makes this program digest a store instead of running tests.
const digesting = "ROOFLAB_TEST_DIGEST"

func TestMain(m *testing.M) {
	if os.Getenv(digesting) == "" {
		os.Exit(m.Run())
	}
	d, err := digests.Digest(context.Background(), os.Args[len(os.Args)-1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(d)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Memory does not grow with the samples: 40 MB of them, with and without
// inlined code, take less than the bound of 500 MB for 1 GB, and the digest
// keeps what it must. A process that digests starts with about 100 MB.
func TestDigestsKeepToTheirBounds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(digesting, "1")
	r := digests.Race{Ours: []string{self}, Bytes: 40e6, Rounds: 1, Seed: 3, Progress: func(line string) { t.Log(line) }}
	rep, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Results) != 4 {
		t.Errorf("%d results", len(rep.Results))
	}
	for _, x := range rep.Results {
		t.Logf("%+v", x)
		limit := 1.0
		if strings.HasSuffix(x.Name, "memory") {
			limit = 0.7
		}
		if x.Ratio <= 0 || x.Ratio > limit {
			t.Errorf("%s: %.3f of the bound", x.Name, x.Ratio)
		}
	}
}

func TestALostLineIsNoticed(t *testing.T) {
	hot := digests.Place{Kernel: "k", File: "a.cu", Line: 3}
	truth := digests.Truth{Rows: 2, Bytes: 40, Stalled: 100, Lines: map[digests.Place]int64{hot: 96, {Kernel: "k", File: "a.cu", Line: 4}: 4}}
	d := digests.Digested{RawRows: 2, RawBytes: 40, Stalled: 100, Lines: []digests.Place{hot}}
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
