package main_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

func TestBenchDigestComparesWithBounds(t *testing.T) {
	out, err := exec.Command(binary, "bench", "digest", "--samples", "5", "--shape", "plain,deep", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var rep struct {
		Results []struct {
			Name, Unit                string
			Ours, Peer, Ratio, Target float64
		}
	}
	if err := json.Unmarshal(out, &rep); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	memory := 0
	for _, r := range rep.Results {
		if strings.HasSuffix(r.Name, "peak memory") {
			memory++
			if r.Peer != 500 || r.Unit != "MB" || r.Ours < 20 || r.Ratio > 1 {
				t.Errorf("%+v", r)
			}
		}
	}
	if memory != 2 || len(rep.Results) != 4 {
		t.Errorf("%s", out)
	}
	if out, err := exec.Command(binary, "bench", "digest", "--shape", "round").CombinedOutput(); err == nil || !strings.Contains(string(out), "there are plain, kernels") {
		t.Errorf("%v %s", err, out)
	}
	if out, err := exec.Command(binary, "bench", "digest", "--samples", "0").CombinedOutput(); err == nil || !strings.Contains(string(out), "must be 1 at least") {
		t.Errorf("%v %s", err, out)
	}
}
