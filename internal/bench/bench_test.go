package bench_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/internal/bench"
)

func TestCompareTakesMediansAndQuartiles(t *testing.T) {
	// Sorted 1 2 3 4 10: the quartiles of type 7 lie at the places 1, 2 and 3
	// of 0 to 4. Sorted 2 4: at 0.25, 0.5 and 0.75 of the way from 2 to 4.
	r, err := bench.Compare("cell", "peer", "s", []float64{10, 1, 3, 2, 4}, []float64{4, 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.Ours != 3 || r.OursSpread != [2]float64{2, 4} || r.OursN != 5 {
		t.Errorf("ours: median %v, quartiles %v, n %d; want 3, [2 4], 5", r.Ours, r.OursSpread, r.OursN)
	}
	if r.Peer != 3 || r.PeerSpread != [2]float64{2.5, 3.5} || r.PeerN != 2 {
		t.Errorf("peer: median %v, quartiles %v, n %d; want 3, [2.5 3.5], 2", r.Peer, r.PeerSpread, r.PeerN)
	}
	if math.Abs(r.Ratio-1) > 1e-12 {
		t.Errorf("ratio %v, want 3/3", r.Ratio)
	}
}

func TestCompareRefusesWhatHasNoRatio(t *testing.T) {
	for name, s := range map[string][2][]float64{
		"nothing of ours": {nil, {1}}, "nothing of the peer": {{1}, nil}, "a peer that takes nothing": {{1}, {0}},
	} {
		if r, err := bench.Compare("cell", "peer", "s", s[0], s[1]); err == nil {
			t.Errorf("%s: got %+v, want an error", name, r)
		}
	}
}

func TestReportTellsWhichTargetsWereMissed(t *testing.T) {
	r := bench.Report{Machine: "here", Notes: []string{"measured so"}, Results: []bench.Result{
		{Name: "good", Ratio: 1, Target: 1}, {Name: "bad", Ratio: 1.01, Target: 1}, {Name: "free", Ratio: 7},
	}}
	missed := r.Missed()
	if len(missed) != 1 || missed[0].Name != "bad" {
		t.Errorf("missed %+v, want bad alone", missed)
	}
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"machine: here", "measured so", "<= 1 ok", "<= 1 MISSED"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &table)
		}
	}
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var back struct{ Results []map[string]any }
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"name", "ours", "peer", "peer_name", "unit", "ratio"} {
		if _, ok := back.Results[0][key]; !ok {
			t.Errorf("the JSON of a result lacks %q: %s", key, &out)
		}
	}
}
