package target_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/target"
)

func TestDrawnSizesLieBesideAndBetweenTheListedOnes(t *testing.T) {
	in := target.Inputs{Sizes: []string{"1024"}, Other: []string{"64", "256"}, Drawn: &target.Drawn{From: "8", To: "2000", Count: 3}}
	var all [][]string
	for seed := range uint64(200) {
		got := in.Draw(seed)
		if again := in.Draw(seed); !reflect.DeepEqual(got, again) {
			t.Fatalf("the seed %d draws %q, and then %q", seed, got, again)
		}
		var n []int
		for _, s := range got {
			v, err := strconv.Atoi(s)
			if err != nil || v < 8 || v > 2000 || slices.Contains([]string{"1024", "64", "256"}, s) {
				t.Fatalf("%q of the seed %d: %v", s, seed, err)
			}
			n = append(n, v)
		}
		// A loop in steps of two or more leaves a remainder at both.
		if len(n) != 3 || n[0] < 1008 || n[0] > 1040 || n[0]%2 == 0 || n[2] > 24 || n[2]%2 == 0 {
			t.Fatalf("the seed %d draws %d", seed, n)
		}
		all = append(all, got)
	}
	if !slices.ContainsFunc(all, func(s []string) bool { return s[0] != all[0][0] }) {
		t.Errorf("all seeds draw %s", all[0][0])
	}
}

func TestDrawnSizesKeepTheirForm(t *testing.T) {
	in := target.Inputs{Sizes: []string{"n=64,m=32,k=7"}, Drawn: &target.Drawn{From: "n=16,m=16,k=7", To: "n=128,m=64,k=7", Multiple: 16, Count: 20}}
	got := in.Draw(5)
	for _, s := range got {
		var n, m int
		if _, err := fmt.Sscanf(s, "n=%d,m=%d,k=7", &n, &m); err != nil || n%16 != 0 || m%16 != 0 || n < 16 || n > 128 || m < 16 || m > 64 {
			t.Errorf("%q (%v)", s, err)
		}
	}
	if slices.Sort(got); len(slices.Compact(got)) != 20 {
		t.Errorf("%d sizes of 20: %q", len(got), got)
	}
	// 16, 48 and 64 are all that is left.
	in = target.Inputs{Sizes: []string{"32"}, Drawn: &target.Drawn{From: "16", To: "64", Multiple: 16, Count: 20}}
	got = in.Draw(1)
	if slices.Sort(got); !slices.Equal(got, []string{"16", "48", "64"}) {
		t.Errorf("of few: %q", got)
	}
}

func TestBoundsOfDrawnSizesAreChecked(t *testing.T) {
	with := func(drawn string) string {
		return strings.Replace(least, `"{seed}"`, `"{seed}", "{size}"`, 1) + "[inputs]\nsizes = [\"64\", \"65\"]\n[inputs.drawn]\n" + drawn
	}
	if got, err := load(t, with("from = \"8\"\nto = \"100\"\n")); err != nil || *got.Inputs.Drawn != (target.Drawn{From: "8", To: "100", Multiple: 1, Count: target.DefaultDrawn}) {
		t.Fatalf("%+v, %v", got, err)
	}
	for drawn, says := range map[string]string{
		"to = \"100\"\n":                                   `inputs.drawn.from: "": give the least size`,
		"from = \"8\"\n":                                   `inputs.drawn.to: "": give the largest size`,
		"from = \"8x8\"\nto = \"100\"\n":                   `written as inputs.drawn.from ("8x8") is`,
		"from = \"8x8\"\nto = \"100x100\"\n":               `"8x8" is not written as the size "64" is`,
		"from = \"100\"\nto = \"8\"\n":                     "lies below",
		"from = \"64\"\nto = \"65\"\n":                     "no size from 64 to 65 that is not listed",
		"from = \"65\"\nto = \"70\"\nmultiple = 16\n":      "16 has no multiple from 65 to 70",
		"from = \"8\"\nto = \"100\"\nmultiple = 0\n":       "inputs.drawn.multiple: 0: give 1",
		"from = \"8\"\nto = \"100\"\ncount = 0\n":          "inputs.drawn.count: 0: give 1 to 100",
		"from = \"8\"\nto = \"99999999999999999999999\"\n": "is larger than",
		"from = \"8\"\nto = \"100\"\nstep = 2\n":           "here are from, to, multiple, count",
	} {
		if _, err := load(t, with(drawn)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", drawn, err, says)
		}
	}
	if _, err := load(t, least+"[inputs.drawn]\nfrom = \"8\"\nto = \"9\"\n"); err == nil || !strings.Contains(err.Error(), "inputs have no sizes") {
		t.Errorf("without sizes: %v", err)
	}
}
