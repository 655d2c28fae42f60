package stalls_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/stalls"
)

// A kernel whose loop loads, multiplies and stores.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	s, err := datasets.Open(filepath.Join(dir, "s.duckdb"))
	check(err)
	defer s.Close()
	records := []datasets.Record{
		&datasets.Run{ID: 1, Tool: "ncu", Format: "ncu-rep", Status: datasets.RunOK},
		kernel(1, "scale"), launch(1, 1),
		sass(1, "LDG", "scale.cu", 4), sass(2, "FMUL", "scale.cu", 5), sass(3, "STG", "scale.cu", 6),
		&datasets.Code{ID: 4, Run: 1, Region: 1, ISA: "source", File: "scale.cu", Line: n(5), Text: "  float y = a * x;"},
		sample(1, 1, "selected", 5, 0), sample(1, 1, "lg_throttle", 10, 10),
		sample(1, 2, "stall_long_sb", 70, 60), sample(1, 2, "wait", 5, 0), sample(1, 3, "wait", 15, 5),
	}
	_, err = s.ImportAll(context.Background(), []datasets.Profile{{Records: records, Artefact: datasets.Artefact{Path: "scale.ncu-rep", SHA256: "1", Kind: "ncu-rep", ParserVersion: 1}}})
	check(err)

	a, err := stalls.FromStore(context.Background(), s, stalls.Options{})
	check(err)
	k := a.Kernels[0]
	for _, c := range k.Dominant() {
		r, _ := stalls.LookUp(c.Reason)
		fmt.Printf("%s, %.0f %%: %s\n", r.Name, 100*k.Share(r.Name), r.Meaning)
	}
	d, err := k.Digest(stalls.DigestOptions{Bytes: 600})
	check(err)
	fmt.Print(d)
	e := d.Statements[2].Evidence[1]
	fmt.Println(e.File, e.Line.V, e.Reason, e.Samples, "of", e.Of, "code", e.Codes)
	// Output:
	// long_scoreboard, 70 %: The warp waits for data from global, local, surface or texture memory (through L1TEX).
	// S1 kernel scale (run 1, 1 launch): 105 PC samples, 5 issued, 100 stalled (95.2 %, 75 in cycles without an issue)
	// S2 reasons, of its stalls: long_scoreboard 70.0 % (dominant), wait 20.0 %, lg_throttle 10.0 %
	// S3 scale.cu:5 75.0 %: long_scoreboard 93.3 %, wait 6.7 % | float y = a * x;
	// S4 scale.cu:6 15.0 %: wait 100.0 %
	// S5 scale.cu:4 10.0 %: lg_throttle 100.0 %
	// S6 FMUL at +0x10 (scale.cu:5) 75.0 %: long_scoreboard 93.3 %
	// S7 FP32 instructions 75.0 %: long_scoreboard 93.3 %
	// S8 store global instructions 15.0 %: wait 100.0 %
	// S9 load global instructions 10.0 %: lg_throttle 100.0 %
	// scale.cu 5 long_scoreboard 70 of 75 code [2]
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
