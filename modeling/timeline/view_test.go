package timeline_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/timeline"
)

func view(t testing.TB, s *datasets.Store, opt timeline.ViewOptions) *timeline.View {
	t.Helper()
	v, err := run(t, s, 1, timeline.Options{}).View(context.Background(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Whatever the resolution, the bars hold all launches and all of their time;
// there are no more of them than steps, for each class of a stream that has
// short work, and each piece of long work.
func TestViewsAreBoundedAndLoseNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var rows []row
	var total time.Duration
	for stream := range int64(3) {
		at := int64(0)
		for range 2000 {
			dur := 1 + rng.Int64N(50)
			if rng.IntN(100) == 0 {
				dur = 20000
			}
			rows = append(rows, row{name: names[rng.IntN(3)], start: at, dur: dur, stream: stream})
			total += time.Duration(dur)
			at += dur + rng.Int64N(30)
		}
	}
	s := storeOf(t, nil, rows)
	for _, bins := range []int{10, 100, 1000, 1 << 20} {
		v := view(t, s, timeline.ViewOptions{Bins: bins})
		launches, merged, busy := 0, 0, time.Duration(0)
		for _, l := range v.Lanes {
			if len(l.Bars) > 2*bins+60 { // compute and communication, and the long ones
				t.Errorf("%d bins: %s has %d bars", bins, l.Title, len(l.Bars))
			}
			for i, b := range l.Bars {
				launches += b.Launches
				busy += b.Busy
				if b.Launches > 1 {
					merged += b.Launches
				}
				if b.From >= b.To || i > 0 && b.From < l.Bars[i-1].From || b.Launch == 0 {
					t.Fatalf("%d bins: bar %+v", bins, b)
				}
			}
		}
		if launches != len(rows) || busy != total || merged != v.Merged {
			t.Errorf("%d bins: %d launches of %d, busy for %d of %d, %d merged, which is said to be %d", bins, launches, len(rows), busy, total, merged, v.Merged)
		}
		if (v.Merged > 0) != (bins < 1<<20) || v.Merged > 0 != strings.Contains(strings.Join(v.Notes, ""), "merged with their neighbours") {
			t.Errorf("%d bins: %d merged, %q", bins, v.Merged, v.Notes)
		}
	}
}

func TestViewsOfAWindow(t *testing.T) {
	s := storeOf(t, nil, []row{
		{name: "a", start: 0, dur: 100, stream: 1}, {name: "b", start: 150, dur: 100, stream: 1}, {name: "a", start: 400, dur: 100, stream: 2},
		{name: "[CUDA memset]", start: 170, dur: 10, device: 0, stream: 3},
	})
	v := view(t, s, timeline.ViewOptions{From: datasets.Some[int64](50), To: datasets.Some[int64](200), Lanes: 2})
	if len(v.Lanes) != 3 || !v.Lanes[0].Marks || v.Lanes[1].Title != "stream 1" || len(v.Lanes[1].Bars) != 2 || len(v.Lanes[2].Bars) != 0 {
		t.Fatalf("%+v", v.Lanes)
	}
	if b := v.Lanes[1].Bars; b[0].From != 50 || b[0].To != 100 || b[1].From != 150 || b[1].To != 200 || b[1].Name != "b" || b[1].Busy != 100 {
		t.Errorf("%+v", b)
	}
	if g := v.Lanes[0].Gaps; len(g) != 1 || g[0].From != 100 {
		t.Errorf("gaps %+v", g)
	}
	if len(v.Names) != 2 || v.Names[0].Name != "a" || len(v.Notes) != 1 || v.Notes[0] != "1 streams with less work are not shown" {
		t.Errorf("%+v %q", v.Names, v.Notes)
	}
	tl := run(t, s, 1, timeline.Options{})
	if _, err := tl.View(context.Background(), s, timeline.ViewOptions{From: datasets.Some[int64](9), To: datasets.Some[int64](9)}); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("%v", err)
	}
}
