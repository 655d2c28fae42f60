package stockgonb

import (
	"os"
	"strings"
	"testing"
)

func TestVersionIsThePinnedOne(t *testing.T) {
	data, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "github.com/janpfeifer/gonb " + Version + "\n"; !strings.Contains(string(data), want) {
		t.Errorf("go.mod does not require %q", want)
	}
}

func TestBuildGivesProgramsThatRun(t *testing.T) {
	k, err := Build(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{k.Binary, k.Tools + "/goimports"} {
		info, err := os.Stat(path)
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	// Built already: nothing is said, nothing changes.
	var log strings.Builder
	again, err := Build(t.Context(), &log)
	if err != nil || again != k || log.Len() != 0 {
		t.Errorf("again: %+v, %v, %q", again, err, log.String())
	}
}
