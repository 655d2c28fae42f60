package chart_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/timeline"
	"github.com/rooflab/rooflab/modeling/timeline/chart"
)

// made is a trace of n rounds on two devices, 100 µs each: a copy to the
// device, a long and a short kernel, a reduction on another stream, and a gap.
func made(t testing.TB, n int) (*datasets.Store, *timeline.Timeline) {
	t.Helper()
	ctx := context.Background()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	im, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	put := func(r datasets.Record) {
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	put(&datasets.Run{ID: 1, Tool: "nsys", Format: "nsys-sqlite", Status: datasets.RunOK})
	for i, r := range []datasets.Region{{Kind: datasets.KindRange, Raw: "[CUDA memcpy Host-to-Device]"}, {Kind: datasets.KindKernel, Raw: "gemm</script><b>"}, {Kind: datasets.KindKernel, Raw: "tiny"},
		{Kind: datasets.KindKernel, Raw: "ncclDevKernel_AllReduce"}, {Kind: datasets.KindFunction, Raw: "cudaLaunchKernel", Module: "CUDA API"}} {
		r.ID, r.Run, r.Short = int64(i+1), 1, r.Raw
		put(&r)
	}
	id := int64(0)
	add := func(region, device, stream, start, dur int64, call string) {
		id++
		l := datasets.Launch{ID: id, Run: 1, Region: region, StartNs: datasets.Some(start), DurNs: datasets.Some(dur), ToolID: call, PID: datasets.Some[int64](1)}
		if region < 5 {
			l.Device, l.Stream = datasets.Some(device), datasets.Some(stream)
		}
		put(&l)
	}
	for i := range int64(n) {
		for d := range int64(2) {
			at := 5_000_000 + i*100_000 + d*3_000
			call := fmt.Sprint(2*i + d + 1)
			add(1, d, 7, at, 20_000, "")
			add(2, d, 7, at+20_000, 40_000, "")
			add(3, d, 7, at+61_000, 4_000, "")
			add(4, d, 9, at+40_000, 30_000, "")
			add(5, 0, 0, at+72_000, 5_000, call)
			add(3, d, 7, at+90_000, 2_000, call)
		}
	}
	if err := im.Commit(datasets.Artefact{Path: "made up", SHA256: strings.Repeat("0", 64), Kind: "test", ParserVersion: 1}); err != nil {
		t.Fatal(err)
	}
	tl, err := timeline.Analyse(ctx, s, 1, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, tl
}

func view(t testing.TB, n int, opt timeline.ViewOptions) *timeline.View {
	t.Helper()
	s, tl := made(t, n)
	v, err := tl.View(context.Background(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func picture(t testing.TB, v *timeline.View) image.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.png")
	if err := chart.Save(v, path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// area counts the pixels of a colour left of the legend, which takes 2.2 of 9
// inches and margins.
func area(img image.Image, c color.RGBA) (n int) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Min.X+b.Dx()*73/100; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			if uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(bl>>8) == c.B {
				n++
			}
		}
	}
	return n
}

// In the picture of one round, areas are in the proportions of durations: gemm runs
// for 40 µs, the reduction for 30, both at full height; the copy for 20 at 0.30/0.88 of
// it; the gap before the last kernel is 20 µs at 0.4/0.88.
func TestAreasAreInProportionToTime(t *testing.T) {
	img := picture(t, view(t, 1, timeline.ViewOptions{}))
	gemm := float64(area(img, color.RGBA{0x00, 0x72, 0xb2, 255}))
	for what, c := range map[string]struct {
		color.RGBA
		ratio float64
	}{
		"communication": {color.RGBA{0xf0, 0xe4, 0x42, 255}, 30. / 40},
		"copies":        {color.RGBA{0x76, 0x76, 0x76, 255}, 20. / 40 * 0.30 / 0.88},
		"host wait":     {color.RGBA{0xd5, 0x5e, 0x00, 255}, 20. / 40 * 0.40 / 0.88},
	} {
		if got := float64(area(img, c.RGBA)) / gemm; got < 0.85*c.ratio || got > 1.15*c.ratio {
			t.Errorf("%s has %.3f of gemm's area, want %.3f within 15 %%", what, got, c.ratio)
		}
	}
}

// Whatever the length of the trace, the picture and the page have their size.
func TestPagesAreBounded(t *testing.T) {
	short, long := view(t, 300, timeline.ViewOptions{Bins: 200}), view(t, 6000, timeline.ViewOptions{Bins: 200})
	a, err := chart.HTML(short)
	if err != nil {
		t.Fatal(err)
	}
	b, err := chart.HTML(long)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 2*len(a) {
		t.Errorf("300 rounds take %d bytes and 6000 take %d", len(a), len(b))
	}
	if !strings.Contains(b, "launches shorter than") {
		t.Error("that launches are merged is not said")
	}
	if picture(t, long).Bounds() != picture(t, short).Bounds() {
		t.Error("the picture grows with the trace")
	}
}

// The page holds the view's bars, refers to nothing outside of it, and names
// cannot break out of it.
func TestThePageHoldsItsData(t *testing.T) {
	v := view(t, 3, timeline.ViewOptions{})
	page, err := chart.Page(v)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(page, "</script>") != 1 || strings.Contains(page, "<b>") {
		t.Error("a kernel's name is markup of the page")
	}
	for _, outside := range []string{"http:", "https:", "src=", "@import", "@ID@"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page holds %q", outside)
		}
	}
	m := regexp.MustCompile(`(?s)const data=(\{.*?\});\n`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	var data struct {
		From, To int64
		Lanes    []string
		Names    []string
		Bars     [][9]int64
	}
	if err := json.Unmarshal([]byte(m[1]), &data); err != nil {
		t.Fatal(err)
	}
	if want := []string{"device 0 gaps", "stream 7", "stream 9", "device 1 gaps", "stream 7", "stream 9"}; !slices.Equal(data.Lanes, want) {
		t.Errorf("lanes %q, want %q", data.Lanes, want)
	}
	if data.From != 0 || data.To != 295_000 {
		t.Errorf("from %d to %d", data.From, data.To)
	}
	// Three rounds of gemm on device 0, by hand: at 20, 120 and 220 µs.
	var gemm []int64
	for _, b := range data.Bars {
		if b[0] == 1 && data.Names[b[3]] == "gemm</script><b>" {
			gemm = append(gemm, b[1], b[2])
		}
	}
	if want := []int64{20_000, 40_000, 120_000, 40_000, 220_000, 40_000}; !slices.Equal(gemm, want) {
		t.Errorf("gemm at %d, want %d", gemm, want)
	}
	b, err := chart.Interactive(v)
	if err != nil || b.Data["text/html"] == "" || !strings.HasPrefix(b.Data["text/plain"].(string), "timeline of 295 µs, 6 lanes") {
		t.Errorf("%v %v", err, b.Data["text/plain"])
	}
}

func TestNothingToDraw(t *testing.T) {
	if _, err := chart.Plot(&timeline.View{}); err == nil {
		t.Error("an empty view is drawn")
	}
	if _, err := chart.HTML(nil); err == nil {
		t.Error("no view is drawn")
	}
	if err := chart.Save(view(t, 1, timeline.ViewOptions{}), filepath.Join(t.TempDir(), "x.xyz")); err == nil || !strings.Contains(err.Error(), "writing the timeline to") {
		t.Errorf("%v", err)
	}
}
