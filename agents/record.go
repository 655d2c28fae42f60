package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
)

// Record says what a run was made of.
type Record struct {
	Rooflab string            `json:"rooflab"`
	Go      string            `json:"go"`
	Began   time.Time         `json:"began"`
	Machine datasets.Machine  `json:"machine"`
	Target  string            `json:"target_sha256"` // of the description
	Sources map[string]string `json:"sources_sha256"`
	Advisor string            `json:"advisor"`
	Seed    uint64            `json:"seed"` // of bootstraps; inputs have seeds of their own, drawn when they are made
}

func newRecord(t *target.Target, opt Options) (Record, error) {
	description, err := os.ReadFile(t.Path)
	if err != nil {
		return Record{}, fmt.Errorf("reading the target again: %w", err)
	}
	r := Record{Rooflab: version(), Go: runtime.Version(), Began: time.Now().UTC(), Machine: host.Machine(), Target: hash(description),
		Sources: map[string]string{}, Advisor: opt.Advisor.Name(), Seed: opt.Seed}
	for _, s := range t.Sources() {
		r.Sources[s.Path] = hash([]byte(s.Text))
	}
	return r, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// version is the version of the program, with the revision that it was built
// from where the build knows.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value
		}
	}
	return strings.TrimSpace(v)
}
