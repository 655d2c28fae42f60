package stalls_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/ncurep"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/stalls"
)

const reports = "../../../shared/samples/ncu_rep"

// imported is a store with the real reports.
func imported(t *testing.T) *datasets.Store {
	t.Helper()
	files, err := filepath.Glob(reports + "/*.ncu-rep")
	if err != nil || len(files) != 2 {
		t.Fatalf("%d reports in %s (%v): the folder shared/ must lie beside the repository", len(files), reports, err)
	}
	s := open(t)
	for _, f := range files {
		if _, err := collectors.ImportFile(t.Context(), s, f, collectors.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Counts of these reports, by pandas from the Parquet files that rooflab export
// wrote: pc_sample joined with launch, region and code, summed by line, by
// reason and by opcode.
func TestRealReports(t *testing.T) {
	t.Parallel()
	a := analysis(t, imported(t), stalls.Options{})
	if len(a.Kernels) != 2 {
		t.Fatalf("%d kernels", len(a.Kernels))
	}
	for _, tt := range []struct {
		kernel                              string
		samples, stalled, notIssued, csv    int64
		launches                            []int64
		lines                               map[int64][2]int64 // samples, stalled
		reasons                             map[string]int64
		fp64, storeGlobal, loadGlobal, mufu int64
		hottest                             int64 // stalled samples of one DMUL
		offset                              int64
		dominantOfLine                      string
		hotLine                             int64
	}{
		{"stencil2d", 699981, 689588, 582577, 17639, []int64{175209, 174907, 174818, 175047},
			map[int64][2]int64{7: {1865, 1865}, 8: {4922, 4350}, 9: {2221, 1621}, 11: {11135, 8442}, 12: {669154, 663133}, 14: {10684, 10177}},
			map[string]int64{"long_scoreboard": 464525, "short_scoreboard": 170260, "tex_throttle": 17643, "wait": 16719, "no_instruction": 980, "misc": 1},
			371937 + 197921, 56820, 2407, 0, 371937, 704, "long_scoreboard", 12},
		{"nvkernel__Z9stencil2dIdEvPKT_PS0_mm_F2L5_6", 697265, 657448, 285733, 60675, []int64{174354, 174204, 174399, 174308},
			map[int64][2]int64{5: {3285, 3285}, 6: {5213, 4742}, 11: {13454, 11277}, 12: {160462, 134439}, 13: {514851, 503705}},
			map[string]int64{"long_scoreboard": 364558, "short_scoreboard": 125800, "wait": 91760, "not_selected": 28155, "lg_throttle": 4, "gmma": 0},
			263893 + 168272, 47107, 2247, 7292, 263893, 8848, "long_scoreboard", 13},
	} {
		k, err := a.Kernel(tt.kernel)
		if err != nil {
			t.Fatal(err)
		}
		if k.Samples != tt.samples || k.Stalled() != tt.stalled || k.NotIssued != datasets.Some(tt.notIssued) || k.RawBytes != tt.csv || k.Repeated != 0 {
			t.Errorf("%s: %d samples, %d stalled, %v not issued, %d bytes, %d repeated", tt.kernel, k.Samples, k.Stalled(), k.NotIssued, k.RawBytes, k.Repeated)
		}
		if len(k.Launches) != len(tt.launches) {
			t.Fatalf("%s: %d launches", tt.kernel, len(k.Launches))
		}
		for i, n := range tt.launches {
			if k.Launches[i].Samples != n {
				t.Errorf("%s, launch %d: %d samples, want %d", tt.kernel, i, k.Launches[i].Samples, n)
			}
		}
		if len(k.Lines) != len(tt.lines) {
			t.Errorf("%s: %d lines", tt.kernel, len(k.Lines))
		}
		for _, l := range k.Lines {
			if w := tt.lines[l.Line.V]; l.Samples != w[0] || l.Stalled() != w[1] || l.Share != float64(w[1])/float64(tt.stalled) {
				t.Errorf("%s: %d, %d stalled, share %g; want %v", l.Name(), l.Samples, l.Stalled(), l.Share, w)
			}
		}
		for r, n := range tt.reasons {
			if k.Of(r) != n {
				t.Errorf("%s, %s: %d, want %d", tt.kernel, r, k.Of(r), n)
			}
		}
		types := map[stalls.Class]int64{}
		for _, ty := range k.Types {
			types[ty.Class] = ty.Stalled()
		}
		if types[stalls.FP64] != tt.fp64 || types[stalls.StoreGlobal] != tt.storeGlobal || types[stalls.LoadGlobal] != tt.loadGlobal || types[stalls.Special] != tt.mufu {
			t.Errorf("%s: types %v", tt.kernel, types)
		}
		if in := k.Instructions[0]; in.Opcode != "DMUL" || in.Offset.V != tt.offset || in.Stalled() != tt.hottest || in.Class != stalls.FP64 {
			t.Errorf("%s: the hottest instruction is %s at %d with %d", tt.kernel, in.Opcode, in.Offset.V, in.Stalled())
		}
		if d := k.Lines[0].Dominant(stalls.DefaultDominant); k.Lines[0].Line.V != tt.hotLine || len(d) != 1 || d[0].Reason != tt.dominantOfLine {
			t.Errorf("%s: the hottest line %s waits for %v", tt.kernel, k.Lines[0].Name(), d)
		}
		if d := k.Dominant(); len(d) != 1 || d[0].Reason != "long_scoreboard" {
			t.Errorf("%s: dominant %v", tt.kernel, d)
		}
		sumsAreTheKernels(t, k)
	}
}

// What a digest says about the real reports is found in the store again.
func TestEvidenceOfRealReportsIsInTheStore(t *testing.T) {
	t.Parallel()
	s := imported(t)
	d, err := analysis(t, s, stalls.Options{}).Digest(stalls.DigestOptions{Bytes: 20000, Reduction: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	checkEvidence(t, s, d, 20)
	if !strings.Contains(d.Text, "stencil-2d-util.h:13 76.6 %: long_scoreboard 72.4 %") {
		t.Errorf("%s", d.Text)
	}
}

// One launch alone is the same as that launch among several.
func TestLaunchesOfRealReportsAlone(t *testing.T) {
	t.Parallel()
	s := imported(t)
	all := analysis(t, s, stalls.Options{Kernel: "stencil2d"})
	by := analysis(t, s, stalls.Options{Kernel: "stencil2d", ByLaunch: true})
	if len(all.Kernels) != 1 || len(by.Kernels) != 4 {
		t.Fatalf("%d and %d kernels", len(all.Kernels), len(by.Kernels))
	}
	var line12 int64
	for _, k := range by.Kernels {
		one := analysis(t, s, stalls.Options{Launch: k.Launch})
		if len(one.Kernels) != 1 || one.Kernels[0].Samples != k.Samples || one.Kernels[0].Lines[0].Samples != k.Lines[0].Samples {
			t.Errorf("launch %d: %v", k.Launch, one)
		}
		line12 += k.Lines[0].Samples
		sumsAreTheKernels(t, k)
	}
	if line12 != 669154 { // as above
		t.Errorf("line 12 has %d samples over the launches", line12)
	}
}

func TestPageStandsAlone(t *testing.T) {
	t.Parallel()
	k := analysis(t, imported(t), stalls.Options{Kernel: "stencil2d"}).Kernels[0]
	src := strings.Repeat("\n", 10) + "  if (i > 0 && j < n)\n    b[i] = .25 * (a[i - 1] + a[i + 1]); // <script>alert(1)</script>\n"
	k.Source(k.Lines[0].File, src)
	page := k.Page()
	for _, not := range []string{"<script", "http:", "https:", "src=", "url("} {
		if strings.Contains(page, not) {
			t.Errorf("the page holds %s", not)
		}
	}
	for _, want := range []string{"<!DOCTYPE html>", "color-scheme", "96.2 %", "b[i] = .25 * (a[i - 1] + a[i + 1]); // &lt;script&gt;", "long_scoreboard"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if l := k.Listing(); !strings.Contains(l, " 96.2% ##########     12 |     b[i] = .25 * (a[i - 1] + a[i + 1]);") || !strings.Contains(l, "<- long_scoreboard 70%") {
		t.Errorf("%s", l)
	}
	if dir := os.Getenv("STALLS_PAGE"); dir != "" { // to look at it
		if err := os.WriteFile(dir, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
